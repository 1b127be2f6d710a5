/* tile_tmpl.c - the tile kernels for the instruction set of this CPU. */
#include "solve/tile.h"

#define PASTE(name, level)  name##_##level
#define EXPAND(name, level) PASTE(name, level)

typedef ANT_FN(ant_tile_kernels) kernels;

extern const kernels EXPAND(ANT_FN(ant_tile), base);
#if defined(__x86_64__)
extern const kernels EXPAND(ANT_FN(ant_tile), avx2);
extern const kernels EXPAND(ANT_FN(ant_tile), avx512);
#endif

const kernels *ANT_FN(ant_tile_kernels_of)(ant_cpu_level level)
{
#if defined(__x86_64__)
    if (level == ANT_CPU_AVX512)
        return &EXPAND(ANT_FN(ant_tile), avx512);
    if (level == ANT_CPU_AVX2)
        return &EXPAND(ANT_FN(ant_tile), avx2);
#endif
    (void)level;
    return &EXPAND(ANT_FN(ant_tile), base);
}
