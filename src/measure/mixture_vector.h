/*
 * mixture_vector.h - one vector of doubles and the table step of 2^t, for each instruction set.
 *
 * 2^t = table[j] * 2^n * p(f) with t = n + j/ENTRIES + f, |f| <= 1/(2 ENTRIES).  The caller rounds by adding
 * and subtracting VEC_ROUNDER, whose last bit is worth 1/ENTRIES: in z = t + VEC_ROUNDER the lowest bits of
 * the number are j, and n is above them.  p is monic; its leading coefficient is in the table.  The
 * constants come from scripts/exp2_polynomial.py.
 *
 *     VEC_STEP         orbit vectors that the hot loop takes at a time.  Multiply-adds of one exponent wait
 * for each other, so GROUP * VEC_STEP of them must be under way to fill the units: 4 where one fits into a
 * cycle, 8 where two do vec_bound(t)     t, raised where the table step needs it so that tiny powers do not
 * wrap around vec_power(z, k)  table[j] * 2^n, from z as above and k = z - VEC_ROUNDER
 */
#ifndef ANT_MEASURE_MIXTURE_VECTOR_H
#define ANT_MEASURE_MIXTURE_VECTOR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define ANT_INLINE static inline __attribute__((always_inline))
#else
#define ANT_INLINE static inline
#endif

#define VEC_LEAST (-960.0) /* smaller exponents are as good as minus infinity; the table stays normal */

#if defined(ANT_SIMD_AVX512)

#include <immintrin.h>

typedef __m512d vec;
enum { VEC_WIDTH = 8, VEC_DEGREE = 5, VEC_STEP = 1 };
#define VEC_ROUNDER 0x1.8p49 /* ENTRIES = 8 */
static const double vec_polynomial[VEC_DEGREE] = {0x1.7704d0d7621bfp+9, 0x1.03f177a660dd2p+9,
                                                  0x1.685b9b0e0a274p+7, 0x1.4d0a96ba84a24p+5,
                                                  0x1.cdbc96de433a5p+2}; /* error 2.9e-13 */
static const double vec_table[8] = {0x1.5d81ff36292abp-10, 0x1.7d2415e43d8a0p-10, 0x1.9fa31d1e67eadp-10,
                                    0x1.c5416b16f107cp-10, 0x1.ee475705467a4p-10, 0x1.0d81e2215a0ecp-9,
                                    0x1.25e65cff2bc41p-9,  0x1.4080045603dbcp-9};

#define vec_set(x)       _mm512_set1_pd(x)
#define vec_load(p)      _mm512_load_pd(p)
#define vec_store(p, a)  _mm512_store_pd(p, a)
#define vec_add(a, b)    _mm512_add_pd(a, b)
#define vec_sub(a, b)    _mm512_sub_pd(a, b)
#define vec_mul(a, b)    _mm512_mul_pd(a, b)
#define vec_fma(a, b, c) _mm512_fmadd_pd(a, b, c)
#define vec_min(a, b)    _mm512_min_pd(a, b)
#define vec_max(a, b)    _mm512_max_pd(a, b)

/* vscalefpd takes any finite exponent, floors it to n, and underflows to zero as it should. */
#define vec_bound(t) (t)

ANT_INLINE vec vec_power(vec z, vec k)
{
    return _mm512_scalef_pd(_mm512_permutexvar_pd(_mm512_castpd_si512(z), _mm512_loadu_pd(vec_table)), k);
}

#elif defined(ANT_SIMD_AVX2)

#include <immintrin.h>

typedef __m256d vec;
enum { VEC_WIDTH = 4, VEC_DEGREE = 7, VEC_STEP = 2 };
#define VEC_ROUNDER 0x1.8p51 /* ENTRIES = 2 */
static const double vec_polynomial[VEC_DEGREE] = {
    0x1.0050b9ea444d5p+16, 0x1.635418fa4a1d8p+15, 0x1.ec9703fc281f3p+13, 0x1.c73feec712b9ap+11,
    0x1.3b8e0b633aa13p+9,  0x1.5df65e186d053p+6,  0x1.43c7a1237a2bfp+3}; /* error 1.6e-13 */

#define vec_set(x)       _mm256_set1_pd(x)
#define vec_load(p)      _mm256_load_pd(p)
#define vec_store(p, a)  _mm256_store_pd(p, a)
#define vec_add(a, b)    _mm256_add_pd(a, b)
#define vec_sub(a, b)    _mm256_sub_pd(a, b)
#define vec_mul(a, b)    _mm256_mul_pd(a, b)
#define vec_fma(a, b, c) _mm256_fmadd_pd(a, b, c)
#define vec_min(a, b)    _mm256_min_pd(a, b)
#define vec_max(a, b)    _mm256_max_pd(a, b)
#define vec_bound(t)     vec_max(t, vec_set(VEC_LEAST))

/*
 * The bits of z, shifted so that n meets the exponent field, are added to the bits of table[j].  j arrives in
 * the fraction at the same time, so the entries are stored less j.  vpermilpd selects by bit 1: hence z + z.
 */
ANT_INLINE vec vec_power(vec z, vec k)
{
    (void)k;
    const long long even = 0x3eeff5ebf04e10d6, odd = 0x3eee997e05831831;
    const __m256d table = _mm256_castsi256_pd(_mm256_setr_epi64x(even, odd, even, odd));
    const __m256i bits = _mm256_castpd_si256(z);
    const __m256d entry = _mm256_permutevar_pd(table, _mm256_add_epi64(bits, bits));
    return _mm256_castsi256_pd(_mm256_add_epi64(_mm256_castpd_si256(entry), _mm256_slli_epi64(bits, 51)));
}

#else /* any processor: two doubles in the vector extension of GCC and clang, without a table */

typedef double vec __attribute__((vector_size(16)));
typedef int64_t vec_bits __attribute__((vector_size(16)));
enum { VEC_WIDTH = 2, VEC_DEGREE = 9, VEC_STEP = 1 };
#define VEC_ROUNDER 0x1.8p52
static const double vec_polynomial[VEC_DEGREE] = {
    0x1.2ca7e481062a0p+23, 0x1.a0cc27ce31142p+22, 0x1.20e6e9750e95cp+21,
    0x1.0b008c6371464p+19, 0x1.7224c0d3ab190p+16, 0x1.9a8098d8855a6p+13,
    0x1.7b61e36dac560p+10, 0x1.2c8a9d78db18cp+7,  0x1.a204445cabd9ap+3}; /* error 1.3e-14 */

#define vec_set(x)       ((vec){(x), (x)})
#define vec_store(p, a)  memcpy(p, &(a), sizeof(vec))
#define vec_add(a, b)    ((a) + (b))
#define vec_sub(a, b)    ((a) - (b))
#define vec_mul(a, b)    ((a) * (b))
#define vec_fma(a, b, c) ((a) * (b) + (c))
#define vec_bound(t)     vec_max(t, vec_set(VEC_LEAST))

ANT_INLINE vec vec_load(const double *p)
{
    vec a;
    memcpy(&a, p, sizeof a);
    return a;
}

/* a where the mask is all ones, b where it is zero. */
ANT_INLINE vec vec_select(vec_bits mask, vec a, vec b)
{
    return (vec)(((vec_bits)a & mask) | ((vec_bits)b & ~mask));
}

ANT_INLINE vec vec_min(vec a, vec b)
{
    return vec_select((vec_bits)(a < b), a, b);
}

ANT_INLINE vec vec_max(vec a, vec b)
{
    return vec_select((vec_bits)(a > b), a, b);
}

ANT_INLINE vec vec_power(vec z, vec k)
{
    (void)k;
    return (vec)((vec_bits)vec_set(0x1.b3f420f3811fdp-24) + ((vec_bits)z << 52));
}

#endif

#endif
