/* dstsp_case.h - one timed case of the D_stsp benchmark. */
#ifndef ANT_BENCH_DSTSP_CASE_H
#define ANT_BENCH_DSTSP_CASE_H

#include "base/machine.h"

#include <jansson.h>

enum { BENCH_MAX_REPEATS = 101 };

typedef struct bench_case {
    ant_cpu_level level;
    int threads;
    size_t dim, points;
    double target_seconds; /* the number of samples is chosen so that one run takes about this */
    int repeats;
    double peak; /* multiply-adds per second and core at this level */
} bench_case;

typedef struct bench_result {
    size_t samples;
    double seconds[BENCH_MAX_REPEATS]; // (repeats), sorted
    double median, noise;              /* noise: 1.48 MAD over the median */
    double rate, best_rate;            /* kernels per second: of the median, of the fastest run */
    double cpu_seconds;                /* processor time of the run that took the least */
    double core_rate;                  /* kernels per second of processor time in that run */
    double of_peak; /* multiply-adds per second of processor time, over the peak of a core */
    double check;   /* mean log density of the first 64 samples */
} bench_result;

/* Time antler_log_density.  False, with a sentence on stderr, when a call fails. */
bool bench_case_run(const bench_case *c, bench_result *result);

/* A new object for the JSON file, or NULL. */
json_t *bench_case_json(const bench_case *c, const bench_result *result);

#endif
