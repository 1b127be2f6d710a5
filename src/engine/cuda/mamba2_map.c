/* mamba2_map.c - a Mamba-2 that runs free, for kernels/mamba2_orbit.cu. */
#include "engine/cuda/kernels/abi.h"
#include "engine/cuda/map.h"

#include <math.h>

/* Sizes that follow from the width: channels of the recurrence, of the convolution, rows of proj_in. */
typedef struct sizes {
    size_t inner, conv, proj;
} sizes;

static sizes sizes_of(const ant_engine_map *map)
{
    const size_t inner = 2 * map->M, conv = inner + 2 * MAMBA2_STATE;
    return (sizes){inner, conv, inner + conv + MAMBA2_HEADS};
}

/* Every tangent vector has a warp, so there are more threads. */
static unsigned choose_threads(const ant_engine_map *map, size_t count)
{
    (void)map;
    return count > 0 ? 512 : 256;
}

static size_t count_numbers(const ant_engine_map *map)
{
    const size_t M = map->M, N = map->N, L = map->L;
    const sizes z = sizes_of(map);
    return N * M + M + map->K * M + 1 + 2 * M + M * z.proj + MAMBA2_TAPS * z.conv + z.conv +
           3 * MAMBA2_HEADS + M * z.inner + M * L + L + N * L + N;
}

/* proj_out diag(norm_w): (M, inner) */
static double *append_block_end(double *to, const ant_engine_map *map)
{
    const ant_engine_mamba2 *p = &map->mamba2;
    const size_t inner = sizes_of(map).inner;
    for (size_t i = 0; i < map->M * inner; i++)
        *to++ = p->proj_out[i] * p->norm_w[i % inner];
    return to;
}

/* The readout as one matrix: out_W W2 (N, L), and out_W b2 + out_b (N). */
static void append_readout(double *to, const ant_engine_map *map)
{
    const ant_engine_mamba2 *p = &map->mamba2;
    const size_t M = map->M, N = map->N, L = map->L;
    double *bias = to + N * L;
    for (size_t n = 0; n < N; n++) {
        const double *row = p->out_W + n * M;
        bias[n] = p->out_b[n];
        for (size_t d = 0; d < M; d++)
            bias[n] += row[d] * p->b2[d];
        for (size_t l = 0; l < L; l++) {
            double sum = 0.0;
            for (size_t d = 0; d < M; d++)
                sum += row[d] * p->W2[d * L + l];
            to[n * L + l] = sum;
        }
    }
}

/* In the order of `struct parameters` in mamba2_orbit.cu; no array is empty there. */
static void pack(const ant_engine_map *map, double *to)
{
    const ant_engine_mamba2 *p = &map->mamba2;
    const size_t M = map->M, N = map->N, L = map->L, K = map->K;
    const sizes z = sizes_of(map);
    to = ant_cuda_append_transposed(to, p->in_W, M, N, N);
    to = ant_cuda_append(to, p->in_b, M);
    to = ant_cuda_append_transposed(to, p->C, M, K, K);
    *to++ = 0.0;
    to = ant_cuda_append(to, p->ln_w, M);
    to = ant_cuda_append(to, p->ln_b, M);
    to = ant_cuda_append_transposed(to, p->proj_in, z.proj, M, M);
    to = ant_cuda_append_transposed(to, p->conv_W, z.conv, MAMBA2_TAPS, MAMBA2_TAPS);
    to = ant_cuda_append(to, p->conv_b, z.conv);
    to = ant_cuda_append(to, p->dt_bias, MAMBA2_HEADS);
    for (size_t h = 0; h < MAMBA2_HEADS; h++)
        *to++ = -exp(p->A_log[h]);
    to = ant_cuda_append(to, p->skip, MAMBA2_HEADS);
    to = append_block_end(to, map);
    to = ant_cuda_append_transposed(to, p->W1, L, M, M);
    to = ant_cuda_append(to, p->b1, L);
    append_readout(to, map);
}

const ant_cuda_form ant_cuda_form_mamba2 = {
    .source = "mamba2_orbit.cu",
    .threads = choose_threads,
    .numbers = count_numbers,
    .pack = pack,
};
