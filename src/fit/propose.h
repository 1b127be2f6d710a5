/* propose.h - candidates: settings that may suit the data, each with its reason. */
#ifndef ANT_FIT_PROPOSE_H
#define ANT_FIT_PROPOSE_H

#include "base/random.h"
#include "base/status.h"

typedef struct ant_candidate {
    antler_settings settings;
    char reason[200];
} ant_candidate;

/* How many candidates there are for data that look so. */
size_t ant_propose_count(const antler_look *look);

/* Candidate `index` for data that look so; what it does not decide is as in `base`. */
ant_candidate ant_propose(const antler_look *look, const antler_settings *base, size_t index);

/* The candidate with one setting changed, which the stream draws; the reason names it. */
ant_candidate ant_vary(const antler_look *look, const antler_settings *from, ant_stream *stream);

#endif
