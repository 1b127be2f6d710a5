/* kernel_tmpl.c - which kernels this CPU gets. */
#include "solve/kernel.h"

typedef ANT_FN(ant_kernels) kernels;

#define DECLARE(name, level) extern const kernels ANT_LEVEL_EXPAND(ANT_FN(name), level);
DECLARE(ant_lane, base)
DECLARE(ant_line, base)
#if defined(__x86_64__)
DECLARE(ant_lane, avx2)
DECLARE(ant_lane, avx512)
DECLARE(ant_line, avx2)
DECLARE(ant_line, avx512)
#endif

const kernels *ANT_FN(ant_kernels_lane)(ant_cpu_level level)
{
#if defined(__x86_64__)
    if (level == ANT_CPU_AVX512)
        return &ANT_LEVEL_EXPAND(ANT_FN(ant_lane), avx512);
    if (level == ANT_CPU_AVX2)
        return &ANT_LEVEL_EXPAND(ANT_FN(ant_lane), avx2);
#endif
    (void)level;
    return &ANT_LEVEL_EXPAND(ANT_FN(ant_lane), base);
}

const kernels *ANT_FN(ant_kernels_line)(ant_cpu_level level)
{
#if defined(__x86_64__)
    if (level == ANT_CPU_AVX512)
        return &ANT_LEVEL_EXPAND(ANT_FN(ant_line), avx512);
    if (level == ANT_CPU_AVX2)
        return &ANT_LEVEL_EXPAND(ANT_FN(ant_line), avx2);
#endif
    (void)level;
    return &ANT_LEVEL_EXPAND(ANT_FN(ant_line), base);
}
