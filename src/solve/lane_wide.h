/*
 * lane_wide.h - vectors that hold one, two or four rows of a product for all lanes.
 *
 * A group may have fewer lanes than the vectors of the instruction set hold numbers.  Then ROWS rows of a
 * product share a vector, lane by lane: [row 0 of lane 0, row 1 of lane 0, row 0 of lane 1, ...].  As many
 * weights, neighbours in memory, are read as one broadcast; what they are multiplied with holds every lane
 * ROWS times.  Each number is computed as with one row in a vector, so all give the same bits.  For the lane
 * kernels only.
 */
#ifndef ANT_SOLVE_LANE_WIDE_H
#define ANT_SOLVE_LANE_WIDE_H

#include "solve/vector.h"

#include <stddef.h>
#include <string.h>

#if defined(ANT_LANE_ROWS)
enum { ROWS = ANT_LANE_ROWS, WIDE_BYTES = 64 };
#else
enum { ROWS = 1, WIDE_BYTES = VECTOR_BYTES };
#endif
enum { WIDE = WIDE_BYTES / sizeof(real) };

typedef real wide __attribute__((vector_size(WIDE_BYTES)));
#if ANT_REAL == 32
typedef int32_t wide_mask __attribute__((vector_size(WIDE_BYTES)));
#else
typedef int64_t wide_mask __attribute__((vector_size(WIDE_BYTES)));
#endif

/* Vectors that hold `rows` rows. */
static ALWAYS_INLINE size_t wides(size_t rows)
{
    return (rows + ROWS - 1) / ROWS;
}

/* x where the mask is set, else 0. */
static ALWAYS_INLINE wide wide_masked(wide_mask mask, wide x)
{
    return (wide)((wide_mask)x & mask);
}

#if !defined(ANT_LANE_ROWS)

/* The weights of ROWS rows, for all lanes. */
static ALWAYS_INLINE wide weights_at(const real *w)
{
    return splat(*w);
}

/* Every lane ROWS times; and the same of row `which`, a constant. */
static ALWAYS_INLINE wide repeated(vector x)
{
    return x;
}

static ALWAYS_INLINE wide row_repeated(wide x, const size_t which)
{
    (void)which;
    return x;
}

/* Rows 0 .. ROWS-1 as one vector, and back; those beyond `rows` are 0, and not stored. */
static ALWAYS_INLINE wide rows_load(const vector *from, size_t rows)
{
    (void)rows;
    return *from;
}

static ALWAYS_INLINE void rows_store(vector *to, wide x, size_t rows)
{
    (void)rows;
    *to = x;
}

#else

#if ANT_REAL == 32
#define COUNTED       ((wide_mask){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
#define PERMUTE(x, i) ((wide)_mm512_permutexvar_ps((__m512i)(i), (__m512)(x)))
#else
#define COUNTED       ((wide_mask){0, 1, 2, 3, 4, 5, 6, 7})
#define PERMUTE(x, i) ((wide)_mm512_permutexvar_pd((__m512i)(i), (__m512d)(x)))
#endif

static ALWAYS_INLINE wide weights_at(const real *w)
{
#if ANT_REAL == 32 && ANT_LANE_ROWS == 2
    double both;
    memcpy(&both, w, sizeof both);
    return (wide)_mm512_castpd_ps(_mm512_set1_pd(both));
#elif ANT_REAL == 32
    return (wide)_mm512_broadcast_f32x4(_mm_loadu_ps(w));
#elif ANT_LANE_ROWS == 2
    return (wide)_mm512_broadcast_f64x2(_mm_loadu_pd(w));
#else
    return (wide)_mm512_broadcast_f64x4(_mm256_loadu_pd(w));
#endif
}

static ALWAYS_INLINE wide repeated(vector x)
{
#if ANT_REAL == 32 && ANT_LANE_ROWS == 2
    const __m512 low = _mm512_castps256_ps512((__m256)x);
#elif ANT_REAL == 32
    const __m512 low = _mm512_castps128_ps512((__m128)x);
#elif ANT_LANE_ROWS == 2
    const __m512d low = _mm512_castpd256_pd512((__m256d)x);
#else
    const __m512d low = _mm512_castpd128_pd512((__m128d)x);
#endif
    return PERMUTE(low, COUNTED / ROWS);
}

static ALWAYS_INLINE wide row_repeated(wide x, const size_t which)
{
#if ANT_REAL == 32 && ANT_LANE_ROWS == 2
    return (wide)(which == 0 ? _mm512_moveldup_ps((__m512)x) : _mm512_movehdup_ps((__m512)x));
#elif ANT_REAL == 64 && ANT_LANE_ROWS == 2
    return (wide)(which == 0 ? _mm512_movedup_pd((__m512d)x) : _mm512_permute_pd((__m512d)x, 0xff));
#elif ANT_REAL == 32
    return (wide)(which == 0   ? _mm512_permute_ps((__m512)x, 0x00)
                  : which == 1 ? _mm512_permute_ps((__m512)x, 0x55)
                  : which == 2 ? _mm512_permute_ps((__m512)x, 0xaa)
                               : _mm512_permute_ps((__m512)x, 0xff));
#else
    return (wide)(which == 0   ? _mm512_permutex_pd((__m512d)x, 0x00)
                  : which == 1 ? _mm512_permutex_pd((__m512d)x, 0x55)
                  : which == 2 ? _mm512_permutex_pd((__m512d)x, 0xaa)
                               : _mm512_permutex_pd((__m512d)x, 0xff));
#endif
}

/* Which numbers of ROWS vectors, one after the other, `rows` of them fill. */
static ALWAYS_INLINE uint32_t rows_filled(size_t rows)
{
    return rows >= ROWS ? (1u << WIDE) - 1 : (1u << rows * LANES) - 1;
}

static ALWAYS_INLINE wide rows_load(const vector *from, size_t rows)
{
#if ANT_REAL == 32
    const __m512 x = _mm512_maskz_loadu_ps((__mmask16)rows_filled(rows), from);
#else
    const __m512d x = _mm512_maskz_loadu_pd((__mmask8)rows_filled(rows), from);
#endif
    return PERMUTE(x, COUNTED % ROWS * LANES + COUNTED / ROWS);
}

static ALWAYS_INLINE void rows_store(vector *to, wide x, size_t rows)
{
    const wide apart = PERMUTE(x, COUNTED % LANES * ROWS + COUNTED / LANES);
#if ANT_REAL == 32
    _mm512_mask_storeu_ps(to, (__mmask16)rows_filled(rows), (__m512)apart);
#else
    _mm512_mask_storeu_pd(to, (__mmask8)rows_filled(rows), (__m512d)apart);
#endif
}

#endif

/* All of x (count), ROWS times: in `room` (count), or x itself where a vector holds one row. */
static ALWAYS_INLINE const wide *all_repeated(size_t count, const vector *x, wide *room)
{
    if (ROWS == 1)
        return (const wide *)x;
    for (size_t i = 0; i < count; i++)
        room[i] = repeated(x[i]);
    return room;
}

#endif
