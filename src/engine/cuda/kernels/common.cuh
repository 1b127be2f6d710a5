// common.cuh - number types, vectors of four, warps and team barriers: what every kernel needs.
//
// Compile-time macros, set by the host: REAL_BITS (32 or 64).
#ifndef ANT_COMMON_CUH
#define ANT_COMMON_CUH

#include "ptx.cuh"

#if REAL_BITS == 64
typedef double real;
#define EPSILON 2.220446049250313e-16
#else
typedef float real;
#define EPSILON 1.1920929e-7f
#endif

// What a pass leaves of every replica, beside the gradient: FACTS doubles.  Those that it does not write are
// as `prepare` left them: converged, and 0.  FACT_FALLBACKS: sequences that did not converge, where they are
// counted.
enum {
    FACT_ITERATIONS,
    FACT_LAST_JUMP,
    FACT_ITERATIONS_BACK,
    FACT_JUMP_BACK,
    FACT_CONVERGED,
    FACT_LOSS,
    FACT_FALLBACKS,
    FACTS = 8
};

// Words by which the blocks of a replica's team meet: the count of their barrier, then what border.cuh keeps
// there.
#define BARRIER_WORDS 64

struct alignas(16) real4 {
    real a[4];
};

struct alignas(2 * REAL_BITS / 8) real2 {
    real a[2];
};

INLINE real2 load2(const real *from)
{
    return *reinterpret_cast<const real2 *>(from);
}

INLINE real4 load4(const real *from)
{
    return *reinterpret_cast<const real4 *>(from);
}

// What nobody writes during the launch.
INLINE real4 load4_constant(const real *from)
{
    real4 value;
    const uint4 *words = reinterpret_cast<const uint4 *>(from);
    uint4 *to = reinterpret_cast<uint4 *>(&value);
#pragma unroll
    for (int i = 0; i < (int)(sizeof(real4) / sizeof(uint4)); i++)
        to[i] = __ldg(words + i);
    return value;
}

INLINE void store4(real *to, const real4 &value)
{
    *reinterpret_cast<real4 *>(to) = value;
}

INLINE bool is_finite(real a)
{
    return a - a == 0;
}

// Magnitudes as bits, rounded up to float: their order is that of the numbers, and a NaN is the largest of
// all.
INLINE unsigned magnitude_bits(double a)
{
    return __float_as_uint(__double2float_ru(fabs(a))) & 0x7fffffffu;
}

INLINE unsigned magnitude_bits(float a)
{
    return __float_as_uint(a) & 0x7fffffffu;
}

INLINE double warp_sum(double a)
{
#pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1)
        a += __shfl_xor_sync(ALL_LANES, a, offset);
    return a;
}

#endif
