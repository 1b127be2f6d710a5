#include "engine/cuda/map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTIONS = 8 };

/* One thread per hidden unit, in whole warps. */
static unsigned choose_threads(const ant_engine_map *map)
{
    const size_t most = map->L > map->M ? map->L : map->M;
    const size_t threads = (most + 31) / 32 * 32;
    return threads > 256 ? 256 : (unsigned)threads;
}

/* As many threads per latent unit as there are, in powers of two within a warp. */
static unsigned choose_parts(const ant_engine_map *map, unsigned threads)
{
    unsigned parts = 32;
    while (parts > 1 && parts * map->M > threads)
        parts /= 2;
    return parts;
}

static antler_status compile(ant_cuda_map *made, const ant_engine_map *map, size_t count)
{
    char text[OPTIONS][32];
    const char *options[OPTIONS];
    const struct {
        const char *name;
        size_t value;
    } macros[OPTIONS] = {{"M", map->M},
                         {"N", map->N},
                         {"L", map->L},
                         {"K", map->K},
                         {"CLIPPED", map->clipped ? 1 : 0},
                         {"THREADS", made->threads},
                         {"PARTS", choose_parts(map, made->threads)},
                         {"COUNT", count}};
    for (size_t i = 0; i < OPTIONS; i++) {
        snprintf(text[i], sizeof text[i], "-D%s=%zu", macros[i].name, macros[i].value);
        options[i] = text[i];
    }
    return ant_cuda_program_create(made->device, "orbit.cu", options, OPTIONS, &made->program);
}

static double *append(double *to, const double *from, size_t count)
{
    memcpy(to, from, count * sizeof *to);
    return to + count;
}

/* The transpose, packed.  from: (rows, stride); to: (cols, rows) */
static double *append_transposed(double *to, const double *from, size_t rows, size_t cols, size_t stride)
{
    for (size_t j = 0; j < cols; j++)
        for (size_t i = 0; i < rows; i++)
            *to++ = from[i * stride + j];
    return to;
}

/* from: (rows, stride); to: (rows, cols) */
static double *append_rows(double *to, const double *from, size_t rows, size_t cols, size_t stride)
{
    for (size_t i = 0; i < rows; i++)
        to = append(to, from + i * stride, cols);
    return to;
}

/* In the order of `struct parameters` in orbit.cu. */
static void pack(const ant_engine_map *map, double *to)
{
    const size_t M = map->M, N = map->N, L = map->L, K = map->K;
    to = append(to, map->A, M);
    to = append(to, map->h, M);
    to = append(to, map->b, L);
    to = append_rows(to, map->Vt, M, L, map->l_stride);
    to = append_transposed(to, map->Wt, L, M, map->m_stride);
    to = append_transposed(to, map->Vt, M, L, map->l_stride);
    to = append_rows(to, map->Wt, L, M, map->m_stride);
    to = append_rows(to, map->Ct, K, M, map->m_stride);
    *to++ = 0.0; /* so that no array is empty when K = 0 */
    to = append(to, map->B, N * M);
    append(to, map->pinv, M * N);
}

static antler_status upload(ant_cuda_map *made, const ant_engine_map *map)
{
    const size_t M = map->M, numbers = 2 * M + map->L + 4 * M * map->L + map->K * M + 1 + 2 * M * map->N;
    double *packed = malloc(numbers * sizeof *packed);
    if (packed == NULL)
        return ant_fail_memory(numbers * sizeof *packed, "the packed parameters");
    pack(map, packed);
    const antler_status status = ant_cuda_alloc_from(made->device, packed, numbers * sizeof *packed,
                                                     "the parameters", &made->parameters);
    free(packed);
    return status;
}

antler_status ant_cuda_map_open(ant_cuda_device *device, const ant_engine_map *map, size_t count,
                                ant_cuda_map *made)
{
    *made = (ant_cuda_map){.device = device, .threads = choose_threads(map)};
    /* State, hidden units and slopes of an orbit must fit into 48 kB of shared memory. */
    ANT_CHECK(
        4 * map->M + 2 * map->L + map->N <= 6000, ANTLER_ERROR_DEVICE,
        "a model with M = %zu, L = %zu and N = %zu is too large for the GPU's kernel; compute on the CPU",
        map->M, map->L, map->N);
    ANT_TRY(compile(made, map, count));
    return upload(made, map);
}

void ant_cuda_map_clear(ant_cuda_map *map)
{
    if (map->device != NULL)
        ant_cuda_free(map->device, &map->parameters);
    ant_cuda_program_free(map->program);
    *map = (ant_cuda_map){0};
}
