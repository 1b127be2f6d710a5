/*
 * vector.h - one SIMD vector of reals, as wide as the instruction set of the translation unit offers.
 * The only place of this room that uses compiler extensions (vector types of GCC and clang).
 */
#ifndef ANT_SOLVE_VECTOR_H
#define ANT_SOLVE_VECTOR_H

#include "base/real.h"

#include <stdint.h>

#if defined(ANT_SIMD_AVX512)
#define VECTOR_BYTES 64
#elif defined(ANT_SIMD_AVX2)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

typedef real vector __attribute__((vector_size(VECTOR_BYTES)));
#if ANT_REAL == 32
#define MAGNITUDE_BITS INT32_MAX
typedef int32_t vector_mask __attribute__((vector_size(VECTOR_BYTES)));
#else
#define MAGNITUDE_BITS INT64_MAX
typedef int64_t vector_mask __attribute__((vector_size(VECTOR_BYTES)));
#endif

enum { LANES = VECTOR_BYTES / sizeof(real) };

#if defined(ANT_SANITIZE) /* instrumented, the inlined whole takes minutes to compile */
#define ALWAYS_INLINE inline
#else
#define ALWAYS_INLINE inline __attribute__((always_inline))
#endif

static ALWAYS_INLINE vector splat(real x)
{
    return x - (vector){0};
}

/* x where the mask is set, else 0. */
static ALWAYS_INLINE vector select(vector_mask mask, vector x)
{
    return (vector)((vector_mask)x & mask);
}

static ALWAYS_INLINE vector relu(vector x)
{
    return select(x > 0, x);
}

/* max(size, |x|); NaN stays once it is there. */
static ALWAYS_INLINE vector grow(vector size, vector x)
{
    const vector magnitude = (vector)((vector_mask)x & MAGNITUDE_BITS);
    const vector_mask keep = (magnitude <= size) | (size != size);
    return (vector)(((vector_mask)size & keep) | ((vector_mask)magnitude & ~keep));
}

static inline double vector_sum(vector x)
{
    double sum = 0.0;
    for (int i = 0; i < LANES; i++)
        sum += (double)x[i];
    return sum;
}

/* The largest element of a vector of magnitudes; NaN when one is. */
static inline double vector_largest(vector x)
{
    double top = 0.0;
    for (int i = 0; i < LANES; i++)
        top = (double)x[i] <= top ? top : (double)x[i];
    return top;
}

#endif
