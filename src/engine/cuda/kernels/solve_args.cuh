// solve_args.cuh - the arguments of solve.cu, sums.cu and deer.cu (abi_solve.h), and what they store of every
// time t.
// alone: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0
#ifndef ANT_SOLVE_ARGS_CUH
#define ANT_SOLVE_ARGS_CUH

#include "shape.cuh"

// From 17 latent units on, hidden activity and its adjoint are stored for the gradient; below they are
// recomputed.
#define KEEP_HIDDEN (M > 16)

// With many variables, threads share them; otherwise a thread or a warp takes all of a time.
#define MANY_VARIABLES (N >= 32 && M <= 32 && !PATTERNS)

// The row of time t in p.rows.
#define AT_Z      0  // z_t
#define AT_FORCED MP // z~_t
// z-bar_t; later the direct part of v_{t+1}: a segment then writes only where it alone has read.
#define AT_TEACHER (2 * MP)
#define AT_V       (3 * MP)      // dloss / dz_t
#define AT_GUESS   AT_V          // before that, z_t as found by deer.cu
#define AT_W       (4 * MP)      // dloss / dz~_t
#define AT_E       (5 * MP)      // x_t - B z_t
#define AT_Y       (5 * MP + NP) // dloss / de_t
#define ROW        (5 * MP + 2 * NP)

#define ABI_REAL(name) name
#include "abi_solve.h"

struct forcing { // a_t of spec 2
    int warmup;
#if FORCING == FORCING_SPARSE
    int interval;
#else
    real alpha;
#endif
    __device__ __forceinline__ real at(int t) const
    {
#if FORCING == FORCING_SPARSE
        return t == 0 ? real(0) : t <= warmup || t % interval == 0 ? real(1) : real(0);
#else
        return t == 0 ? real(0) : t <= warmup ? real(1) : alpha;
#endif
    }
};

// pack: of the replica, in global memory.
INLINE forcing forcing_of(const solve_args &p, const real *pack)
{
#if FORCING == FORCING_SPARSE
    return {p.warmup, p.interval};
#elif FORCING == FORCING_VARIED
    return {p.warmup, __ldg(pack + PACK_1 + 1)};
#else
    return {p.warmup, p.alpha};
#endif
}

INLINE real strength(const solve_args &p, const real *pack, int t)
{
    return forcing_of(p, pack).at(t);
}

// ---- missing values (spec 12) -----------------------------------------------------------------------------

#if PATTERNS
// A row without any value has B_o+ = 0: it is forced with every strength, and nothing changes.

// The weights of pattern 0, which is that of complete rows; those of the others follow.
INLINE const real *first_pattern(const solve_args &p, int replica)
{
    return p.pack + (size_t)p.replicas * PACK + (size_t)replica * p.patterns * PATTERN_SIZE;
}

// The pattern of row t.  sequence: counted over all replicas
INLINE unsigned pattern_of(const solve_args &p, size_t sequence, int t)
{
    const size_t steps = (size_t)p.replicas * p.batch * p.T;
    return __ldg(p.masks + steps * MASKS + sequence * (p.T + 1) + t);
}

INLINE const real *pattern_weights(const solve_args &p, const real *first, size_t sequence, int t)
{
    return first + (size_t)pattern_of(p, sequence, t) * PATTERN_SIZE;
}

INLINE bool is_missing(real x)
{
    return x != x;
}
#endif

// What is missing counts as 0.
INLINE real observed_or_zero(real x)
{
#if PATTERNS
    return is_missing(x) ? real(0) : x;
#else
    return x;
#endif
}

// 2 / (observed values of the batch after the warm-up).
INLINE double loss_weight(const solve_args &p, int replica)
{
#if PATTERNS
    const double values = (double)N * (double)(p.T - p.warmup) * (double)p.batch;
    return 2 / (values - (double)__ldg(p.arrived + (size_t)replica * BARRIER_WORDS + MISSING_WORD));
#else
    return p.weight;
#endif
}

#endif
