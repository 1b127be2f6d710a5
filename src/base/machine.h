/* machine.h - properties of this machine: threads, instruction sets, a clock. */
#ifndef ANT_BASE_MACHINE_H
#define ANT_BASE_MACHINE_H

#include "base/status.h"

/* Instruction sets that have kernels of their own, in rising order. */
typedef enum ant_cpu_level {
    ANT_CPU_BASE,   /* what the compiler targets by default */
    ANT_CPU_AVX2,   /* AVX2 and FMA */
    ANT_CPU_AVX512, /* AVX-512 F, DQ, BW, VL */
} ant_cpu_level;

/*
 * The highest level that this CPU has and ANTLER_CPU allows.  The environment variable (base, avx2 or
 * avx512) only lowers the level: for tests and bug reports.  Other values are ignored.
 */
ant_cpu_level ant_cpu_level_best(void);

const char *ant_cpu_level_name(ant_cpu_level level);

/* Multiply-adds of doubles per second on one core with this level's instructions: the best of several runs.
 */
double ant_peak_rate(ant_cpu_level level);

/* Threads to use for a request: 0: as many as OpenMP offers.  At least 1, at most 1024. */
int ant_threads_resolve(int requested);

/*
 * How many of `wanted` threads a parallel region of this thread may have: all, or as many as could be
 * started; 1 within a parallel region, and in a child of fork(2) whose parent has used threads.  Every region
 * of more than one thread calls this.  The values that it computes must not depend on the result.
 */
int ant_threads_ready(int wanted);

/* So many threads could not be started: for antler_threads_refused. */
void ant_threads_note_refused(int count);

/* Seconds on a clock that never goes back. */
double ant_seconds(void);

/* Whether a progress report is due: at most one in 50 ms.  `last` starts at 0 and is kept by the caller. */
bool ant_progress_due(double *last);

/* Report; ANTLER_CANCELLED when the callback does not return 0. */
antler_status ant_progress_report(antler_progress progress, const char *what, double fraction);

#endif
