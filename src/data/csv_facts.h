/* csv_facts.h - what the comment lines "# antler: key=value" of a text file say. */
#ifndef ANT_DATA_CSV_FACTS_H
#define ANT_DATA_CSV_FACTS_H

#include "base/status.h"

typedef struct ant_csv_said {
    double dt;            /* 0: not given */
    double *mean, *scale; /* owned; NULL: not given */
    size_t mean_count, scale_count;
    size_t inputs;
    bool header;
} ant_csv_said;

/* Take in a comment line, # included.  Comments that are not Antler's are passed over. */
antler_status ant_csv_said_read(ant_csv_said *said, const char *line, const char *end, uint64_t number);

void ant_csv_said_clear(ant_csv_said *said);

#endif
