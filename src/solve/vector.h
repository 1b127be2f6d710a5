/*
 * vector.h - one SIMD vector of reals, as wide as the instruction set of the translation unit offers.
 * Vector types are extensions of GCC and clang.
 */
#ifndef ANT_SOLVE_VECTOR_H
#define ANT_SOLVE_VECTOR_H

#include "base/real.h"

#include <stdint.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(ANT_LANE_ROWS) /* of AVX-512, whose vectors hold so many rows of all lanes (lane_wide.h) */
#define VECTOR_BYTES (64 / ANT_LANE_ROWS)
#elif defined(ANT_SIMD_AVX512)
#define VECTOR_BYTES 64
#elif defined(ANT_SIMD_AVX2)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

typedef real vector __attribute__((vector_size(VECTOR_BYTES)));
/* A vector in memory of any alignment. */
typedef real vector_loose __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(real))));
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
#define NEVER_INLINE __attribute__((noinline))

/*
 * Common M, for which kernels have code of constant size.  x86 without AVX2 goes without: few machines are
 * left, and this code took a quarter of the time in which the library compiles.
 */
#if defined(ANT_SIMD_BASE) && defined(__x86_64__)
#define COMMON_SIZES(CASE)
#else
#define COMMON_SIZES(CASE) CASE(3) CASE(4) CASE(5) CASE(6) CASE(10)
#endif

static ALWAYS_INLINE vector splat(real x)
{
    return x - (vector){0};
}

/* x where the mask is set, else 0. */
static ALWAYS_INLINE vector masked(vector_mask mask, vector x)
{
    return (vector)((vector_mask)x & mask);
}

static ALWAYS_INLINE vector relu(vector x)
{
    return masked(x > 0, x);
}

/* max(size, |x|) of a size that is not negative; NaN stays once it is there, as its bits are the largest. */
static ALWAYS_INLINE vector grow(vector size, vector x)
{
    const vector_mask other = (vector_mask)x & MAGNITUDE_BITS, most = (vector_mask)size;
    const vector_mask keep = most >= other;
    return (vector)((most & keep) | (other & ~keep));
}

static ALWAYS_INLINE vector magnitude(vector x)
{
    return (vector)((vector_mask)x & MAGNITUDE_BITS);
}

/* `count` reals from memory of any alignment, then zeros. */
static ALWAYS_INLINE vector load_lanes(const real *from, const size_t count)
{
#if VECTOR_BYTES == 64 && ANT_REAL == 32
    return (vector)_mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1), from);
#elif VECTOR_BYTES == 64
    return (vector)_mm512_maskz_loadu_pd((__mmask8)((1u << count) - 1), from);
#else
    vector x = {0};
    for (size_t i = 0; i < count; i++)
        x[i] = from[i];
    return x;
#endif
}

/* The first `count` lanes to memory of any alignment. */
static ALWAYS_INLINE void store_lanes(real *to, vector x, const size_t count)
{
#if VECTOR_BYTES == 64 && ANT_REAL == 32
    _mm512_mask_storeu_ps(to, (__mmask16)((1u << count) - 1), (__m512)x);
#elif VECTOR_BYTES == 64
    _mm512_mask_storeu_pd(to, (__mmask8)((1u << count) - 1), (__m512d)x);
#else
    for (size_t i = 0; i < count; i++)
        to[i] = x[i];
#endif
}

/* Bit i is set where lane i is above 0. */
static ALWAYS_INLINE uint64_t positive_bits(vector x)
{
#if VECTOR_BYTES == 64 && ANT_REAL == 32
    return _mm512_cmp_ps_mask((__m512)x, _mm512_setzero_ps(), _CMP_GT_OQ);
#elif VECTOR_BYTES == 64
    return _mm512_cmp_pd_mask((__m512d)x, _mm512_setzero_pd(), _CMP_GT_OQ);
#elif VECTOR_BYTES == 32 && ANT_REAL == 32
    return (uint64_t)_mm256_movemask_ps((__m256)(x > 0));
#elif VECTOR_BYTES == 32
    return (uint64_t)_mm256_movemask_pd((__m256d)(x > 0));
#elif defined(__SSE2__) && ANT_REAL == 32
    return (uint64_t)_mm_movemask_ps((__m128)(x > 0));
#elif defined(__SSE2__)
    return (uint64_t)_mm_movemask_pd((__m128d)(x > 0));
#else
    uint64_t bits = 0;
    for (int i = 0; i < LANES; i++)
        bits |= (uint64_t)(x[i] > 0) << i;
    return bits;
#endif
}

/* The vector with lanes i and i ^ k exchanged. */
#define EXCHANGE_2(k) 0 ^ (k), 1 ^ (k)
#define EXCHANGE_4(k) EXCHANGE_2(k), 2 ^ (k), 3 ^ (k)
#define EXCHANGE_8(k) EXCHANGE_4(k), 4 ^ (k), 5 ^ (k), 6 ^ (k), 7 ^ (k)
#define EXCHANGE_16(k)                                                                                       \
    EXCHANGE_8(k), 8 ^ (k), 9 ^ (k), 10 ^ (k), 11 ^ (k), 12 ^ (k), 13 ^ (k), 14 ^ (k), 15 ^ (k)
#define EXCHANGED_BY(list, x, k) __builtin_shufflevector(x, x, list(k))
#if VECTOR_BYTES * 8 == 2 * ANT_REAL
#define EXCHANGED(x, k) EXCHANGED_BY(EXCHANGE_2, x, k)
#elif VECTOR_BYTES * 8 == 4 * ANT_REAL
#define EXCHANGED(x, k) EXCHANGED_BY(EXCHANGE_4, x, k)
#elif VECTOR_BYTES * 8 == 8 * ANT_REAL
#define EXCHANGED(x, k) EXCHANGED_BY(EXCHANGE_8, x, k)
#else
#define EXCHANGED(x, k) EXCHANGED_BY(EXCHANGE_16, x, k)
#endif

/* The sum of all lanes, in each of them. */
static ALWAYS_INLINE vector spread_sum(vector x)
{
    x += EXCHANGED(x, 1);
    if (LANES > 2)
        x += EXCHANGED(x, 2 % LANES);
    if (LANES > 4)
        x += EXCHANGED(x, 4 % LANES);
    if (LANES > 8)
        x += EXCHANGED(x, 8 % LANES);
    return x;
}

static inline double vector_sum(vector x)
{
    double even = 0.0, odd = 0.0; /* two sums: each addition depends on the one before */
    for (int i = 0; i < LANES; i += 2) {
        even += (double)x[i];
        odd += (double)x[i + 1];
    }
    return even + odd;
}

/* Vectors of `width` numbers that hold `count` of them. */
static inline size_t vectors(size_t count, size_t width)
{
    return (count + width - 1) / width;
}

/* The largest element of a vector of magnitudes; NaN when one is. */
static inline double vector_largest(vector x)
{
    double top = 0.0;
    for (int i = 0; i < LANES; i++)
        top = (double)x[i] <= top ? top : (double)x[i];
    return top;
}

static ALWAYS_INLINE void copy_reals(real *to, const real *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = from[i];
}

#endif
