// pack.cuh - packs the parameters of a replica into the weights that solve.cu reads (PACK_* of shape.cuh).
// alone: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DRANK=0 -DUPDATE_THREADS=544
#ifndef ANT_PACK_CUH
#define ANT_PACK_CUH

#include "pinv.cuh"
#include "project.cuh"

INLINE real weight_W(const real *theta, int m, int l)
{
#if RANK > 0
    double sum = 0;
    for (int k = 0; k < RANK; k++)
        sum += (double)theta[THETA_W + m * RANK + k] * (double)theta[THETA_WR + k * L + l];
    return (real)sum;
#else
    return theta[THETA_W + m * L + l];
#endif
}

// V at (l, m) and W at (m, l); zero in the padding.
INLINE real2 weights_at(const real *theta, int m, int l)
{
    if (m >= M || l >= L)
        return {real(0), real(0)};
    return {theta[THETA_V + l * M + m], weight_W(theta, m, l)};
}

// The weights that do not depend on B+, by all threads but the side warp.
INLINE void pack_plain(const update_args &p, const real *theta, double alpha, real *pack, double *A)
{
    constexpr int step = UPDATE_THREADS - 32 * SIDE_WARP;
    for_entries(
        share{(int)threadIdx.x, MP * LS, step},
        [&](int i) { return weights_at(theta, i / (4 * LS) * 4 + i % 4, i / 4 % LS); },
        [&](int i, const real2 &both) {
            pack[PACK_V + i] = both.a[0];
            pack[PACK_W + i] = both.a[1];
        });
    for_entries(
        share{(int)threadIdx.x, MP * LP, step},
        [&](int i) { return weights_at(theta, i / 4 % MP, i / (4 * MP) * 4 + i % 4); },
        [&](int i, const real2 &both) {
            pack[PACK_VR + i] = both.a[0];
            pack[PACK_WR + i] = both.a[1];
        });
#pragma unroll 1
    for (int l = threadIdx.x; l < LP; l += step)
        pack[PACK_b + l] = l < L ? theta[THETA_b + l] : real(0);
#pragma unroll 1
    for (int m = threadIdx.x; m < MP; m += step) {
        const double a = decay_of(p.free_diagonal, (double)theta[THETA_ABAR + (m < M ? m : 0)]);
        if (m < M)
            A[m] = a;
        pack[PACK_A1 + m] = m < M ? (real)(a - 1) : real(0);
        pack[PACK_h + m] = m < M ? theta[THETA_h + m] : real(0);
        for (int k = 0; k < K; k++)
            pack[PACK_C + k * MP + m] = m < M ? theta[THETA_C + m * K + k] : real(0);
    }
    if (threadIdx.x < 4)
        pack[PACK_1 + threadIdx.x] = threadIdx.x == 0                                ? real(1)
                                     : threadIdx.x == 1 && FORCING == FORCING_VARIED ? (real)alpha
                                                                                     : real(0);
}

// B, B+, B+ B, and the product for pack_projected.
INLINE void pack_pinv(const real *theta, const double *pinv, double *product, real *pack)
{
    make_product(theta, pinv, product);
#pragma unroll 1
    for (int i = threadIdx.x; i < M * MP; i += UPDATE_THREADS) {
        const int row = i / MP, col = i % MP;
        double sum = 0;
#pragma unroll 2
        for (int n = 0; n < N && col < M; n++)
            sum += pinv[row * N + n] * (double)theta[THETA_B + n * M + col];
        pack[PACK_Q + i] = (real)sum;
    }
#pragma unroll 1
    for (int i = threadIdx.x; i < N * MP; i += UPDATE_THREADS) {
        const int n = i / MP, m = i % MP;
        pack[PACK_B + i] = m < M ? theta[THETA_B + n * M + m] : real(0);
        pack[PACK_P + i] = m < M ? (real)pinv[m * N + n] : real(0);
    }
}

// The strength of forcing in the next update, which is number memory.next from 0.
INLINE double next_alpha(const update_args &p, int replica, const update_shared &memory)
{
#if FORCING == FORCING_VARIED
    const unsigned long long last = p.updates > 0 ? p.updates - 1 : 0;
    return p.alphas[p.alpha_by_update ? (memory.next < last ? memory.next : last) : replica];
#else
    return p.alpha;
#endif
}

// All weights of one replica, by one block.
INLINE void make_weights(const update_args &p, int replica, update_shared &memory)
{
    const real *theta = block_theta(p, replica, memory);
    double *pinv = block_scratch(p, replica, memory), *scratch = pinv + M * N,
           *kept = p.kept + (size_t)replica * KEPT;
    real *pack = p.weights + (size_t)replica * PACK;
    const double alpha = next_alpha(p, replica, memory);
    if (in_side_warp())
        find_pinv(theta + THETA_B, needs_values(p), scratch, memory, pinv);
    if (!SIDE_WARP || !in_side_warp())
        pack_plain(p, theta, alpha, pack, kept + KEPT_A);
    __syncthreads();
    if (memory.flag != 0)
        pinv_by_jacobi(p, scratch, memory, pinv, kept + KEPT_SINGULAR_GRADIENT);
#pragma unroll 1
    for (int i = threadIdx.x; i < M * N; i += UPDATE_THREADS)
        kept[KEPT_PINV + i] = pinv[i];
    pack_pinv(theta, pinv, scratch, pack);
    __syncthreads();
    pack_projected(theta, scratch, alpha, pack);
}

#endif
