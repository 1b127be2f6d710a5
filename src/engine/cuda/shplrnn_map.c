/* shplrnn_map.c - a shPLRNN, and models that run as one, for kernels/orbit.cu. */
#include "engine/cuda/map.h"

/* One thread per hidden unit, in whole warps. */
static unsigned choose_threads(const ant_engine_map *map, size_t count)
{
    const size_t most = map->L > map->M ? map->L : map->M;
    const size_t threads = (most + 31) / 32 * 32;
    (void)count;
    return threads > 256 ? 256 : (unsigned)threads;
}

/* Threads per latent unit: as many as there are, a power of two within a warp. */
static unsigned choose_parts(const ant_engine_map *map, unsigned threads)
{
    unsigned parts = 32;
    while (parts > 1 && parts * map->M > threads)
        parts /= 2;
    return parts;
}

static size_t choose_macros(const ant_engine_map *map, unsigned threads, ant_cuda_macro *macros)
{
    macros[0] = (ant_cuda_macro){"CLIPPED", map->shplrnn.clipped ? 1 : 0};
    macros[1] = (ant_cuda_macro){"DRIVEN", map->shplrnn.Et != NULL ? 1 : 0};
    macros[2] = (ant_cuda_macro){"PARTS", choose_parts(map, threads)};
    return 3;
}

static size_t count_numbers(const ant_engine_map *map)
{
    const size_t M = map->M, N = map->N, L = map->L, K = map->K;
    const size_t driven = map->shplrnn.Et != NULL ? K * L : 0;
    return 2 * M + L + 4 * M * L + K * M + 1 + driven + 1 + 2 * M * N;
}

/* In the order of `struct parameters` in orbit.cu; no array is empty there. */
static void pack(const ant_engine_map *map, double *to)
{
    const ant_engine_shplrnn *p = &map->shplrnn;
    const size_t M = map->M, N = map->N, L = map->L, K = map->K;
    to = ant_cuda_append(to, p->A, M);
    to = ant_cuda_append(to, p->h, M);
    to = ant_cuda_append(to, p->b, L);
    to = ant_cuda_append_rows(to, p->Vt, M, L, p->l_stride);
    to = ant_cuda_append_transposed(to, p->Wt, L, M, p->m_stride);
    to = ant_cuda_append_transposed(to, p->Vt, M, L, p->l_stride);
    to = ant_cuda_append_rows(to, p->Wt, L, M, p->m_stride);
    to = ant_cuda_append_rows(to, p->Ct, K, M, p->m_stride);
    *to++ = 0.0;
    if (p->Et != NULL)
        to = ant_cuda_append_rows(to, p->Et, K, L, p->l_stride);
    *to++ = 0.0;
    to = ant_cuda_append(to, p->B, N * M);
    ant_cuda_append(to, p->pinv, M * N);
}

const ant_cuda_form ant_cuda_form_shplrnn = {
    .source = "orbit.cu",
    .threads = choose_threads,
    .macros = choose_macros,
    .numbers = count_numbers,
    .pack = pack,
};
