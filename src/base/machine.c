/* machine.c - the instruction set, the number of threads, the clock and reports of progress. */
#include "base/machine.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <omp.h>

static ant_cpu_level detected_level(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    if (avx2 && avx512)
        return ANT_CPU_AVX512;
    if (avx2)
        return ANT_CPU_AVX2;
#endif
    return ANT_CPU_BASE;
}

ant_cpu_level ant_cpu_level_best(void)
{
    const ant_cpu_level detected = detected_level();
    const char *mask = getenv("ANTLER_CPU");
    if (mask == NULL)
        return detected;
    for (ant_cpu_level level = ANT_CPU_BASE; level < detected; level++) {
        if (strcmp(mask, ant_cpu_level_name(level)) == 0)
            return level;
    }
    return detected;
}

const char *ant_cpu_level_name(ant_cpu_level level)
{
    static const char *const names[] = {"base", "avx2", "avx512"};
    return names[level];
}

int ant_threads_resolve(int requested)
{
    const int wanted = requested > 0 ? requested : omp_get_max_threads();
    return wanted < 1 ? 1 : wanted > 1024 ? 1024 : wanted;
}

double ant_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool ant_progress_due(double *last)
{
    const double now = ant_seconds();
    if (now - *last < 0.05)
        return false;
    *last = now;
    return true;
}

antler_status ant_progress_report(antler_progress progress, const char *what, double fraction)
{
    if (progress.fn == NULL || progress.fn(progress.cookie, what, fraction) == 0)
        return ANTLER_OK;
    return ant_fail(ANTLER_CANCELLED, "%s: stopped at %.0f %%", what, 100.0 * fraction);
}

int antler_threads(void)
{
    return ant_threads_resolve(0);
}
