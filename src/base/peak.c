/* peak.c - the rate at which one core of this machine can multiply and add, measured. */
#include "base/machine.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { CHAINS = 12, ROUNDS = 200000, RUNS = 7 };

/*
 * CHAINS independent sums hide the latency of the units.  The sums stay near 0 and are returned, so that the
 * compiler has to compute them.
 */
#define PEAK_LOOP(name, target, vector, set, multiply_add, first)                                            \
    target static double name(void)                                                                          \
    {                                                                                                        \
        vector sum[CHAINS];                                                                                  \
        const vector a = set(1e-3), b = set(1e-3);                                                           \
        for (int chain = 0; chain < CHAINS; chain++)                                                         \
            sum[chain] = set(1e-3 * chain);                                                                  \
        for (int round = 0; round < ROUNDS; round++) {                                                       \
            _Pragma("GCC unroll 12") for (int chain = 0; chain < CHAINS; chain++) sum[chain] =               \
                multiply_add(sum[chain], a, b);                                                              \
        }                                                                                                    \
        double total = 0.0;                                                                                  \
        for (int chain = 0; chain < CHAINS; chain++)                                                         \
            total += first(sum[chain]);                                                                      \
        return total;                                                                                        \
    }

typedef double pair __attribute__((vector_size(16)));
#define PAIR_SET(x)                ((pair){(x), (x)})
#define PAIR_MULTIPLY_ADD(s, a, b) ((s) * (a) + (b))
#define PAIR_FIRST(v)              ((v)[0])
PEAK_LOOP(run_base, , pair, PAIR_SET, PAIR_MULTIPLY_ADD, PAIR_FIRST)

#if defined(__x86_64__)
PEAK_LOOP(run_avx2, __attribute__((target("avx2,fma"))), __m256d, _mm256_set1_pd, _mm256_fmadd_pd,
          _mm256_cvtsd_f64)
PEAK_LOOP(run_avx512, __attribute__((target("avx512f"))), __m512d, _mm512_set1_pd, _mm512_fmadd_pd,
          _mm512_cvtsd_f64)
#endif

double ant_peak_rate(ant_cpu_level level)
{
    double (*run)(void) = run_base;
    int width = 2;
#if defined(__x86_64__)
    if (level == ANT_CPU_AVX2) {
        run = run_avx2;
        width = 4;
    } else if (level == ANT_CPU_AVX512) {
        run = run_avx512;
        width = 8;
    }
#endif
    double best = 0.0;
    for (int k = 0; k < RUNS; k++) {
        const double begin = ant_seconds();
        volatile double kept = run();
        (void)kept;
        const double rate = (double)CHAINS * ROUNDS * width / (ant_seconds() - begin);
        best = rate > best ? rate : best;
    }
    return best;
}

double antler_peak_rate(antler_precision precision)
{
    return ant_peak_rate(ant_cpu_level_best()) * (precision == ANTLER_PRECISION_FLOAT ? 2.0 : 1.0);
}
