// common.cuh - what every kernel of a model needs: vectors of two and four numbers, magnitudes, sums over a
// warp.
//
// Macro from the host: REAL_BITS (32 or 64).
// alone: -DREAL_BITS=32
#ifndef ANT_COMMON_CUH
#define ANT_COMMON_CUH

#include "ptx.cuh"
#include "real.cuh"

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

// Through the read-only cache: for memory that no thread writes during the launch.
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

// Magnitudes as bits, rounded up to float: they have the order of the numbers, and NaN is the largest.
INLINE unsigned magnitude_bits(double a)
{
    return __float_as_uint(__double2float_ru(fabs(a))) & 0x7fffffffu;
}

INLINE unsigned magnitude_bits(float a)
{
    return __float_as_uint(a) & 0x7fffffffu;
}

template <class number> INLINE number warp_sum(number a)
{
#pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1)
        a += __shfl_xor_sync(ALL_LANES, a, offset);
    return a;
}

#endif
