/* kernel_tmpl.c - the kernels for the instruction set of this CPU. */
#include "solve/kernel.h"

typedef ANT_FN(ant_kernels) kernels;

#define DECLARE(name, level) extern const kernels ANT_LEVEL_EXPAND(ANT_FN(name), level);
#if defined(__x86_64__)
#define DECLARE_ALL(name) DECLARE(name, base) DECLARE(name, avx2) DECLARE(name, avx512)
#define CHOOSE(name, level)                                                                                  \
    ((level) == ANT_CPU_AVX512 ? &ANT_LEVEL_EXPAND(ANT_FN(name), avx512)                                     \
     : (level) == ANT_CPU_AVX2 ? &ANT_LEVEL_EXPAND(ANT_FN(name), avx2)                                       \
                               : &ANT_LEVEL_EXPAND(ANT_FN(name), base))
#else
#define DECLARE_ALL(name)   DECLARE(name, base)
#define CHOOSE(name, level) ((void)(level), &ANT_LEVEL_EXPAND(ANT_FN(name), base))
#endif
DECLARE_ALL(ant_lane)
#if defined(__x86_64__)
DECLARE(ant_lane_pairs, avx512)
DECLARE(ant_lane_quads, avx512)
#endif
DECLARE_ALL(ant_line)
DECLARE_ALL(ant_piece)

const kernels *ANT_FN(ant_kernels_lane)(ant_cpu_level level)
{
    return CHOOSE(ant_lane, level);
}

const kernels *ANT_FN(ant_kernels_lane_rows)(ant_cpu_level level, size_t rows)
{
#if defined(__x86_64__)
    if (level == ANT_CPU_AVX512)
        return rows == 2   ? &ANT_LEVEL_EXPAND(ANT_FN(ant_lane_pairs), avx512)
               : rows == 4 ? &ANT_LEVEL_EXPAND(ANT_FN(ant_lane_quads), avx512)
                           : NULL;
#endif
    (void)level;
    (void)rows;
    return NULL;
}

const kernels *ANT_FN(ant_kernels_line)(ant_cpu_level level)
{
    return CHOOSE(ant_line, level);
}

const kernels *ANT_FN(ant_kernels_piece)(ant_cpu_level level)
{
    return CHOOSE(ant_piece, level);
}
