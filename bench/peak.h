/* peak.h - the rate at which one core of this machine can multiply and add, measured. */
#ifndef ANT_BENCH_PEAK_H
#define ANT_BENCH_PEAK_H

#include "base/machine.h"

/* Multiply-adds of doubles per second on one core with the instructions of this level: the best of several
 * runs. */
double bench_peak_rate(ant_cpu_level level);

#endif
