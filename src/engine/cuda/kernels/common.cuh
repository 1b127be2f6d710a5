// common.cuh - number types, vectors of four, warps and team barriers: what every kernel needs.
//
// Compile-time macros, set by the host: REAL_BITS (32 or 64).
#ifndef ANT_COMMON_CUH
#define ANT_COMMON_CUH

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
    FACT_ROUNDS_BACK,
    FACT_JUMP_BACK,
    FACT_CONVERGED,
    FACT_LOSS,
    FACT_FALLBACKS,
    FACTS = 8
};

// Words by which the blocks of a replica's team meet: the count of their barrier, then what border.cuh keeps
// there.
#define MEETING_WORDS 64

// The dynamic shared memory of a launch; tests/fake/emulate.h has its own.
#ifndef DYNAMIC_BYTES
#define DYNAMIC_BYTES extern __shared__ __align__(16) unsigned char bytes[]
#endif

#define ALL_LANES 0xffffffffu
#define INLINE    static __device__ __forceinline__

// threadIdx.x, asked for anew: what follows from it is then computed where it is needed, and not kept in
// registers from the start of the kernel on, where it would crowd out the weights.
INLINE int own_thread()
{
    int thread;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    return thread;
}

// The number of this warp, asked for by all of its lanes: the compiler then knows that they agree on it, and
// that branches on it do not part them.
INLINE int own_warp()
{
    return __shfl_sync(ALL_LANES, own_thread() / 32, 0);
}

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

// Copies from global to shared memory that run beside the work; each lane waits for its own.
template <class number> INLINE void copy_ahead(number *to, const number *from)
{
    const unsigned address = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(address), "l"(from), "n"(sizeof(number))
                 : "memory");
}

INLINE void copy_quad_ahead(uint4 *to, const uint4 *from) // 16 bytes, past the first-level cache
{
    const unsigned address = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
}

INLINE void copy_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int PENDING> INLINE void copy_wait() // until all but the last PENDING groups are there
{
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

#if REAL_BITS == 32
// C (16, 8) += A (16, 8) B (8, 8) by the tensor cores, of numbers whose last 13 bits do not count.  Lane 4 g
// + q has of A (g, q), (g + 8, q), (g, q + 4), (g + 8, q + 4), of B (q, g), (q + 4, g), of C (g, 2 q), (g, 2
// q + 1), (g + 8, 2 q), (g + 8, 2 q + 1).
INLINE void multiply_tiles(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#endif

// Words that carry a tag, so that who waits for one sees whether it is there, without a fence, which would
// wait for everything else that the writer has under way.  In global memory between blocks:
INLINE void leave_word(unsigned long long *to, unsigned word, unsigned tag)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to), "l"((unsigned long long)tag << 32 | word)
                 : "memory");
}

INLINE unsigned long long look_at_word(const unsigned long long *from)
{
    unsigned long long value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
    return value;
}

// In shared memory between the warps of a block; atomic operations, which compute-sanitizer's racecheck knows
// as such.
INLINE void leave_near(unsigned long long *to, unsigned word, unsigned tag)
{
    const unsigned address = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("{ .reg .b64 before; atom.relaxed.cta.shared.exch.b64 before, [%0], %1; }" ::"r"(address),
                 "l"((unsigned long long)tag << 32 | word)
                 : "memory");
}

INLINE unsigned long long look_near(unsigned long long *from)
{
    const unsigned address = (unsigned)__cvta_generic_to_shared(from);
    unsigned long long value;
    asm volatile("atom.relaxed.cta.shared.cas.b64 %0, [%1], 0, 0;" : "=l"(value) : "r"(address) : "memory");
    return value;
}

// All blocks of a team wait for each other.  What a block wrote before its __syncthreads goes out with the
// release of its first thread.  `arrived` starts at zero in every launch; `phase`, in shared memory, counts
// the barriers passed.  What any thread of the team wrote before is visible to all after.
INLINE void team_barrier(unsigned *arrived, unsigned blocks, unsigned &phase)
{
    __syncthreads();
    if (own_thread() == 0) {
        const unsigned target = ++phase * blocks;
        unsigned seen = blocks == 1 ? target : 0;
        if (seen < target)
            asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(arrived) : "memory");
        while (seen < target)
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(arrived) : "memory");
    }
    __syncthreads();
}

#endif
