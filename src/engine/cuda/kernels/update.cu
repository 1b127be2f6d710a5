// update.cu - the update of a shPLRNN, for update_kernels.cuh: its gradient from the sums of sums.cu, its
// regularisers (spec 5, spec 10), and its weights (pack.cuh).
//
// variant: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DRANK=0 -DUPDATE_THREADS=544
// variant: -DREAL_BITS=32 -DM=10 -DN=6 -DL=128 -DK=0 -DCLIPPED=0 -DRANK=0 -DUPDATE_THREADS=768
// variant: -DREAL_BITS=32 -DM=128 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DRANK=0 -DUPDATE_THREADS=768
// variant: -DREAL_BITS=64 -DM=5 -DN=3 -DL=50 -DK=2 -DCLIPPED=1 -DRANK=2 -DUPDATE_THREADS=512
// variant: -DREAL_BITS=64 -DM=3 -DN=128 -DL=20 -DK=0 -DCLIPPED=0 -DRANK=0 -DUPDATE_THREADS=608
// variant: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DRANK=0 -DUPDATE_THREADS=544 -DFORCING=1
// spills: prepare update (the arguments of functions that are compiled once)
#include "pack.cuh"

// ---- regularisers (spec 5) --------------------------------------------------------------------------------

struct penalties {         // scale of each kind of term
    double decay, W, V, B; // decay: also of h
    int p, first;          // regularised units are first .. M-1
};

// One lane for each of the four.
INLINE void find_scales(const update_args &p, double *scale)
{
    const int lane = threadIdx.x % 32;
    const double W = L * (p.initial_scale ? 3.0 * L : 1.0), V = L * (p.initial_scale ? 3.0 * M : 1.0);
    const double terms = lane == 0 ? 1 : lane == 1 ? W : lane == 2 ? V : N;
    if (lane < 4)
        scale[lane] = p.units > 0 ? (lane == 3 ? p.readout : p.mar) / (terms * p.units) : 0;
}

INLINE penalties read_scales(const update_args &p, const double *scale)
{
    return {scale[0], scale[1], scale[2], scale[3], p.power, M - p.units};
}

#if RANK > 0
INLINE double full_W(const real *theta, int m, int l)
{
    double sum = 0;
    for (int k = 0; k < RANK; k++)
        sum += (double)theta[THETA_W + m * RANK + k] * (double)theta[THETA_WR + k * L + l];
    return sum;
}

// Terms of W = WL WR: their slopes with respect to both factors.
INLINE double slope_WL(const penalties &c, const real *theta, int m, int k)
{
    double sum = 0;
    for (int l = 0; l < L && m >= c.first; l++)
        sum += c.W * power_slope(full_W(theta, m, l), c.p) * (double)theta[THETA_WR + k * L + l];
    return sum;
}

INLINE double slope_WR(const penalties &c, const real *theta, int k, int l)
{
    double sum = 0;
    for (int m = c.first; m < M; m++)
        sum += c.W * power_slope(full_W(theta, m, l), c.p) * (double)theta[THETA_W + m * RANK + k];
    return sum;
}
#endif

// ---- gradient ---------------------------------------------------------------------------------------------

// What the gradient of one replica is made of.
struct model_gradient {
    const real *theta;
    const double *kept, *sums;
    double *through;     // (N, M): the part of dB through B+
    const double *scale; // of the regularisers
};

// The mean squares of 1 - A, W, V, h and b (spec 10) at parameter i, with a factored W in penalise_more.
INLINE double latent_penalty_at(const update_args &p, const model_gradient &g, int i, terms &sum)
{
    if (i < THETA_W)
        return penalty_decay(p.free_diagonal, g.kept[KEPT_A + i], p.latent / M, 2, sum.mar);
#if RANK > 0
    const penalties c = {0, p.latent / (M * L), 0, 0, 2, 0};
    if (i < THETA_WR)
        return slope_WL(c, g.theta, (i - THETA_W) / RANK, (i - THETA_W) % RANK);
    if (i < THETA_V)
        return slope_WR(c, g.theta, (i - THETA_WR) / L, (i - THETA_WR) % L);
#endif
    const double count = i < THETA_b ? M * L : i < THETA_h ? L : M;
    return i < THETA_C ? penalty((double)g.theta[i], p.latent / count, 2, sum.mar) : 0;
}

// Slope of all terms at parameter i; adds their values to `sum`.
INLINE double penalty_at(const update_args &p, const model_gradient &g, int i, terms &sum)
{
    const penalties c = read_scales(p, g.scale);
    const double x = (double)g.theta[i];
    double slope = 0;
    if (p.mar > 0 && p.units > 0) {
        double scale = 0;
        if (i < THETA_W) {
            if (i >= c.first)
                slope += penalty_decay(p.free_diagonal, g.kept[KEPT_A + i], c.decay, c.p, sum.mar);
        } else if (i < THETA_V) {
#if RANK > 0
            const int at = i < THETA_WR ? i - THETA_W : i - THETA_WR;
            slope += i < THETA_WR ? slope_WL(c, g.theta, at / RANK, at % RANK)
                                  : slope_WR(c, g.theta, at / L, at % L);
#else
            scale = (i - THETA_W) / L >= c.first ? c.W : 0;
#endif
        } else if (i < THETA_b) {
            scale = (i - THETA_V) % M >= c.first ? c.V : 0;
        } else if (i >= THETA_h && i < THETA_C) {
            scale = i - THETA_h >= c.first ? c.decay : 0;
        }
        slope += penalty(x, scale, c.p, sum.mar);
    }
    if (p.latent > 0)
        slope += latent_penalty_at(p, g, i, sum);
    if (i >= THETA_B) {
        if (p.readout > 0 && p.units > 0 && (i - THETA_B) % M >= c.first)
            slope += penalty(x, c.B, c.p, sum.readout);
        if (p.observation > 0)
            slope += penalty(x, p.observation / (N * M), 2, sum.readout);
        if (needs_values(p))
            slope += g.kept[KEPT_SINGULAR_GRADIENT + i - THETA_B];
    }
    return slope;
}

// Terms that belong to no single parameter.
INLINE void penalise_more(const update_args &p, const model_gradient &g, terms &sum)
{
#if RANK > 0
    const penalties c = read_scales(p, g.scale);
    if (p.mar > 0)
#pragma unroll 1
        for (int i = threadIdx.x; i < p.units * L; i += UPDATE_THREADS)
            sum.mar += c.W * power_of(full_W(g.theta, c.first + i / L, i % L), c.p);
    if (p.latent > 0)
#pragma unroll 1
        for (int i = threadIdx.x; i < M * L; i += UPDATE_THREADS)
            sum.mar += p.latent / (M * L) * power_of(full_W(g.theta, i / L, i % L), 2);
#endif
}

INLINE double singular_term(const update_args &p, const model_gradient &g)
{
    return needs_values(p) ? g.kept[KEPT_VALUE] : 0;
}

// The part of dB through B+ = P, given G = dloss/dP (Golub and Pereyra 1973; solve/forcing.h), as (N, M):
//
//     P^T P G^T (I - P B) - P^T G P^T  for M >= N,     (I - B P) G^T P P^T - P^T G P^T  for M < N.
//
// With rows along the smaller side, at_P and at_B, both are T G - U B - S P with T = P P^T, S = P G^T, U = T
// S^T.
INLINE void flow_back(const real *theta, const double *P, const double *G, double *out)
{
    double *T = out + N * M, *S = T + SMALL * SMALL, *U = S + SMALL * SMALL;
    constexpr int row = at_P(1, 0), col = at_P(0, 1);
#pragma unroll 1
    for (int i = side_thread(); i < 2 * SMALL * SMALL; i += SIDE_THREADS)
        T[i] =
            dot<TALL>(P + i / SMALL % SMALL * row, col, (i < SMALL * SMALL ? P : G) + i % SMALL * row, col);
    side_barrier();
#pragma unroll 1
    for (int i = side_thread(); i < SMALL * SMALL; i += SIDE_THREADS)
        U[i] = dot<SMALL>(T + i / SMALL * SMALL, 1, S + i % SMALL * SMALL, 1);
    side_barrier();
#pragma unroll 1
    for (int i = side_thread(); i < N * M; i += SIDE_THREADS) {
        const int s = i / TALL, t = i % TALL;
        double sum = -dot<SMALL>(S + s * SMALL, 1, P + t * col, row);
        if (M != N) { // else P B = I
            double through_B = 0;
#pragma unroll 4
            for (int k = 0; k < SMALL; k++)
                through_B += U[s * SMALL + k] * (double)theta[THETA_B + at_B(k, t)];
            sum += dot<SMALL>(T + s * SMALL, 1, G + t * col, row) - through_B;
        }
        out[at_B(s, t)] = sum;
    }
    side_barrier();
}

// Prefetch what the gradient needs, by all threads.
INLINE model_gradient begin_gradient(const update_args &p, int replica, double *scratch,
                                     update_shared &memory)
{
    const double *sums = p.sums + (size_t)replica * SUMS, *kept = p.kept + (size_t)replica * KEPT;
    prefetch<SUMS>(memory.own, sums);
    prefetch<KEPT>(memory.own + (PREFETCHED ? SUMS : 0), kept);
    model_gradient g;
    g.theta = block_theta(p, replica, memory);
    g.sums = PREFETCHED ? memory.own : sums;
    g.kept = PREFETCHED ? memory.own + SUMS : kept;
    g.through = scratch;
    g.scale = memory.scale;
    return g;
}

#define LATE_PARAMETERS (SIDE_WARP ? THETA_B : TOTAL)

INLINE void find_late_gradient(const update_args &p, const model_gradient &g)
{
    if (p.flow)
        flow_back(g.theta, g.kept + KEPT_PINV, g.sums + SUM_P, g.through);
}

// The sum that belongs to parameter i, without branches, so that loads for several parameters overlap.  C
// follows h in both orders.
INLINE int sum_of(int i)
{
    const int w = i - THETA_W, v = i - THETA_V;
    return i < THETA_W   ? SUM_A + i
           : i < THETA_V ? SUM_W + w / L * LP + w % L
           : i < THETA_b ? SUM_V + v % M * LP + v / M
           : i < THETA_h ? SUM_b + i - THETA_b
           : i < THETA_B ? SUM_h + i - THETA_h
                         : SUM_B + i - THETA_B;
}

// dloss / d parameter i.
INLINE double gradient_at(const update_args &p, const model_gradient &g, int i)
{
    const double *sums = g.sums;
#if RANK > 0
    if (i >= THETA_W && i < THETA_V) {
        const int at = i < THETA_WR ? i - THETA_W : i - THETA_WR;
        double sum = 0;
        if (i < THETA_WR)
            for (int l = 0; l < L; l++)
                sum += sums[SUM_W + at / RANK * LP + l] * (double)g.theta[THETA_WR + at % RANK * L + l];
        else
            for (int m = 0; m < M; m++)
                sum += sums[SUM_W + m * LP + at % L] * (double)g.theta[THETA_W + m * RANK + at / L];
        return sum;
    }
#endif
    const double sum = sums[sum_of(i)];
    if (i < THETA_W)
        return sum * decay_slope(p.free_diagonal, g.kept[KEPT_A + i]);
    if (i >= THETA_B)
        return (p.flow ? g.through[i - THETA_B] : 0) - sum;
    return sum;
}

#include "update_kernels.cuh"
