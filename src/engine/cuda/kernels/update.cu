// update.cu - everything of a shPLRNN's update but the solve (step.cuh): its gradient from the sums that solve.cu leaves, its
// regularisers (SPEC 5), and its weights (pack.cuh).
//
// variant: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DRANK=0 -DLEARN_THREADS=256
// variant: -DREAL_BITS=32 -DM=10 -DN=6 -DL=128 -DK=0 -DCLIPPED=0 -DRANK=0 -DLEARN_THREADS=256
// variant: -DREAL_BITS=32 -DM=128 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DRANK=0 -DLEARN_THREADS=512
// variant: -DREAL_BITS=64 -DM=5 -DN=3 -DL=50 -DK=2 -DCLIPPED=1 -DRANK=2 -DLEARN_THREADS=256
// variant: -DREAL_BITS=64 -DM=3 -DN=128 -DL=20 -DK=0 -DCLIPPED=0 -DRANK=0 -DLEARN_THREADS=256
// spills: prepare update (the arguments of functions that are compiled once)
#include "pack.cuh"

// ---- regularisers (SPEC 5) --------------------------------------------------------------------------------

struct penalties { // scale of each kind of term
    double decay, W, V, h, B;
    int p, first; // regularised units are first .. M-1
};

INLINE penalties find_penalties(const learn_problem &p)
{
    penalties c;
    const double scale = p.units > 0 ? p.mar / p.units : 0;
    c.decay = c.h = scale;
    c.W = scale * (p.initial_scale ? 1.0 / (3.0 * L) : 1.0) / L;
    c.V = scale * (p.initial_scale ? 1.0 / (3.0 * M) : 1.0) / L;
    c.B = p.units > 0 ? p.readout / ((double)N * p.units) : 0;
    c.p = p.power;
    c.first = M - p.units;
    return c;
}

#if RANK > 0
INLINE double full_W(const real *theta, int m, int l)
{
    double sum = 0;
    for (int k = 0; k < RANK; k++)
        sum += (double)theta[THETA_W + m * RANK + k] * (double)theta[THETA_WR + k * L + l];
    return sum;
}

// Terms of W = WL WR, whose slopes pass on to both factors.
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

// What the gradient of one replica is made from.
struct model_gradient {
    const real *theta;
    const double *kept, *sums;
    const double *through; // (N, M): what flow_back found
    penalties scale;
};

// Slope of all terms at parameter i; adds its values to `sum`.
INLINE double penalty_at(const learn_problem &p, const model_gradient &g, int i, terms &sum)
{
    const penalties &c = g.scale;
    const double x = (double)g.theta[i];
    double slope = 0;
    if (p.mar > 0 && p.units > 0) {
        double scale = 0;
        if (i < THETA_W) {
            if (i >= c.first)
                slope += penalty_decay(x, c.decay, c.p, sum.mar);
        } else if (i < THETA_V) {
#if RANK > 0
            const int at = i < THETA_WR ? i - THETA_W : i - THETA_WR;
            slope += i < THETA_WR ? slope_WL(c, g.theta, at / RANK, at % RANK) : slope_WR(c, g.theta, at / L, at % L);
#else
            scale = (i - THETA_W) / L >= c.first ? c.W : 0;
#endif
        } else if (i < THETA_b) {
            scale = (i - THETA_V) % M >= c.first ? c.V : 0;
        } else if (i >= THETA_h && i < THETA_C) {
            scale = i - THETA_h >= c.first ? c.h : 0;
        }
        slope += penalty(x, scale, c.p, sum.mar);
    }
    if (i >= THETA_B) {
        if (p.readout > 0 && p.units > 0 && (i - THETA_B) % M >= c.first)
            slope += penalty(x, c.B, c.p, sum.readout);
        if (p.singular > 0)
            slope += g.kept[KEPT_PULL + i - THETA_B];
    }
    return slope;
}

// Terms that belong to no one parameter.
INLINE void penalise_more(const learn_problem &p, const model_gradient &g, terms &sum)
{
#if RANK > 0
    if (p.mar > 0)
#pragma unroll 1
        for (int i = threadIdx.x; i < p.units * L; i += LEARN_THREADS)
            sum.mar += g.scale.W * power_of(full_W(g.theta, g.scale.first + i / L, i % L), g.scale.p);
#endif
}

INLINE double singular_term(const learn_problem &p, int replica)
{
    return p.singular > 0 ? p.kept[(size_t)replica * KEPT + KEPT_VALUE] : 0;
}

// What flows to B through B+, given G = dloss/dB+ (Golub and Pereyra 1973; solve/forcing.h): out (N, M).
INLINE void flow_back(const real *theta, const double *P, const double *G, double *work)
{
    double *out = work, *B = out + N * M, *first = B + N * M, *second = first + SMALL * SMALL, *third = second + N * M;
#pragma unroll 1
    for (int i = threadIdx.x; i < N * M; i += LEARN_THREADS)
        B[i] = (double)theta[THETA_B + i];
    // -B+^T G B+^T, by way of the smaller of the two products
#if M >= N
    multiply(N, M, N, P, 1, N, G, N, 1, first);
    multiply(N, N, M, first, N, 1, P, 1, N, out);
#else
    multiply(M, N, M, G, N, 1, P, 1, N, first);
    multiply(N, M, M, P, 1, N, first, M, 1, out);
#endif
#if M < N // (I - B B+) G^T B+ B+^T
    multiply(M, N, M, P, N, 1, P, 1, N, first);
    multiply(N, M, M, G, 1, N, first, M, 1, second);
    multiply(M, N, M, P, N, 1, second, M, 1, first);
    multiply(N, M, M, B, M, 1, first, M, 1, third);
#elif M > N // B+^T B+ G^T (I - B+ B)
    multiply(N, M, N, P, 1, N, P, N, 1, first);
    multiply(N, N, M, first, N, 1, G, 1, N, second);
    multiply(N, M, N, second, M, 1, P, N, 1, first);
    multiply(N, N, M, first, N, 1, B, M, 1, third);
#endif
#pragma unroll 1
    for (int i = threadIdx.x; i < N * M; i += LEARN_THREADS) {
#if M == N
        out[i] = -out[i];
#else
        out[i] = second[i] - third[i] - out[i];
#endif
    }
    __syncthreads();
}

INLINE model_gradient open_gradient(const learn_problem &p, int replica, double *work)
{
    model_gradient g;
    g.theta = p.parameters + (size_t)replica * TOTAL;
    g.kept = p.kept + (size_t)replica * KEPT;
    g.sums = p.sums + (size_t)replica * SUMS;
    g.through = work;
    g.scale = find_penalties(p);
    if (p.flow)
        flow_back(g.theta, g.kept + KEPT_PINV, g.sums + SUM_P, work);
    return g;
}

// dloss / d parameter i.
INLINE double gradient_at(const learn_problem &p, const model_gradient &g, int i)
{
    const real *theta = g.theta;
    const double *sums = g.sums;
    if (i < THETA_W) {
        const double a = tanh((double)theta[i]);
        return sums[SUM_A + i] * (1 - a * a);
    }
#if RANK > 0
    if (i < THETA_V) {
        const int at = i < THETA_WR ? i - THETA_W : i - THETA_WR;
        double sum = 0;
        if (i < THETA_WR)
            for (int l = 0; l < L; l++)
                sum += sums[SUM_W + at / RANK * LP + l] * (double)theta[THETA_WR + at % RANK * L + l];
        else
            for (int m = 0; m < M; m++)
                sum += sums[SUM_W + m * LP + at % L] * (double)theta[THETA_W + m * RANK + at / L];
        return sum;
    }
#else
    if (i < THETA_V)
        return sums[SUM_W + (i - THETA_W) / L * LP + (i - THETA_W) % L];
#endif
    if (i < THETA_b)
        return sums[SUM_V + (i - THETA_V) % M * LP + (i - THETA_V) / M];
    if (i < THETA_h)
        return sums[SUM_b + i - THETA_b];
    if (i < THETA_B)
        return sums[SUM_h + i - THETA_h]; // and C, which follows in both orders
    return (p.flow ? g.through[i - THETA_B] : 0) - sums[SUM_B + i - THETA_B];
}

#include "step.cuh"
