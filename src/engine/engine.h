/*
 * engine.h - work that another machine than the CPU can take over, as a coarse table.
 *
 * Rooms describe a whole piece of work (a million sums, many orbits) and ask for an engine; NULL means: do it
 * yourself, on the CPU, which is the reference for every engine.  Only src/engine/cuda knows what is behind
 * it.
 */
#ifndef ANT_ENGINE_ENGINE_H
#define ANT_ENGINE_ENGINE_H

#include "base/status.h"

/* Reports of a call that is one part of a longer work: fractions run from `begin` to `begin + span`. */
typedef struct ant_engine_report {
    antler_progress progress;
    const char *what;
    double begin, span;
} ant_engine_report;

/*
 * log_sum_i = log sum_t 2^(-|x_i - y_t|^2 / 2) over all points, where x_i and y_t are sample i and point t
 * after (value - centre) scale; -infinity where that is below the range of a double.
 */
typedef struct ant_engine_kernel_sums {
    const double *points;         /* (length, dim) */
    const double *centre, *scale; /* (dim) */
    const double *samples;        /* (count, dim) */
    size_t length, dim, count;
    ant_engine_report report;
    double *log_sum; /* (count) */
} ant_engine_kernel_sums;

typedef struct ant_engine {
    const char *name; /* "cuda" */

    /* What it runs on: "NVIDIA H200".  Valid for the life of the process. */
    const char *(*device)(void);

    /* Each log sum is good to 2e-4 and, taken over many samples, free of bias: docs/gpu.md. */
    antler_status (*kernel_sums)(const ant_engine_kernel_sums *work);
} ant_engine;

/*
 * The engine for a wish; NULL: the CPU.  AUTO takes the GPU when there is a usable one and `worth` is true,
 * else silently the CPU; CUDA fails with the reason when there is none.
 */
antler_status ant_engine_choose(antler_device wish, bool worth, const ant_engine **engine);

#endif
