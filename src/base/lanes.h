/*
 * lanes.h - as many doubles as one register of the instruction set holds, for *_simd.c files.
 *
 * This is the vector extension of GCC and clang, the compilers that the build accepts.  Arrays are
 * aligned to 64 bytes (see arena.h) and their rows padded to ANT_LANES_MAX numbers, so that they serve every
 * instruction set.  Lanes are never passed by value: how that is done depends on the instruction set.
 */
#ifndef ANT_BASE_LANES_H
#define ANT_BASE_LANES_H

#include <stddef.h>

enum { ANT_LANES_MAX = 8 };

#if defined(ANT_SIMD_AVX512)
#define ANT_LANES 8
#elif defined(ANT_SIMD_AVX2)
#define ANT_LANES 4
#elif defined(ANT_SIMD_BASE)
#define ANT_LANES 2
#endif

#if defined(ANT_LANES)
typedef double ant_lanes __attribute__((vector_size(ANT_LANES * sizeof(double)), may_alias));
#endif

/* Entries of a padded row that holds `count` numbers. */
static inline size_t ant_lanes_pad(size_t count)
{
    return (count + ANT_LANES_MAX - 1) / ANT_LANES_MAX * ANT_LANES_MAX;
}

#endif
