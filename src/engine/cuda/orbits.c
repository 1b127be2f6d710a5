/* orbits.c - many orbits of one model at once, in tiles of steps that fit into memory and report progress. */
#include "base/machine.h"
#include "engine/cuda/engine_cuda.h"
#include "engine/cuda/map.h"

#include <stdlib.h>
#include <string.h>

/* Of one launch: about so many numbers written, and at most so many steps. */
enum { TILE_NUMBERS = 1 << 24, TILE_STEPS = 1 << 16 };

typedef struct orbit_tiles {
    const ant_engine_orbits *work;
    ant_cuda_map map;
    ant_cuda_kernel kernel;
    ant_cuda_buffer x, s, last, xhat, states, finite;
    double *inputs;       /* (count, rows + tile, K): of one launch */
    double *some, *other; /* (count, tile, N), (count, tile, latent): as the GPU writes them */
    unsigned *good;       /* (count): steps of the launch before the first whose state is not finite */
    size_t tile;          /* steps of one launch */
    double last_report;
} orbit_tiles;

static antler_status allocate_host(orbit_tiles *p)
{
    const ant_engine_orbits *w = p->work;
    const size_t N = w->map->N, count = w->count;
    p->tile = TILE_NUMBERS / (count * (N + w->latent)) + 1;
    p->tile = p->tile < TILE_STEPS ? p->tile : TILE_STEPS;
    p->tile = p->tile < w->steps ? p->tile : w->steps;
    p->inputs = malloc((count * (w->rows + p->tile) * w->map->K + 1) * sizeof *p->inputs);
    p->some = malloc(count * p->tile * N * sizeof *p->some);
    p->other = malloc((count * p->tile * w->latent + 1) * sizeof *p->other);
    p->good = malloc(count * sizeof *p->good);
    if (p->inputs == NULL || p->some == NULL || p->other == NULL || p->good == NULL)
        return ant_fail_memory(count * (p->tile * (N + w->latent)) * sizeof(double), "the orbits");
    return ANTLER_OK;
}

static antler_status allocate(orbit_tiles *p)
{
    const ant_engine_orbits *w = p->work;
    const size_t N = w->map->N, n = w->map->n, K = w->map->K, count = w->count;
    ant_cuda_device *device = p->map.device;
    ANT_TRY(allocate_host(p));
    ANT_TRY(ant_cuda_alloc(device, count * w->rows * N * sizeof(double), "the warm-up", &p->x));
    ANT_TRY(ant_cuda_alloc(device, count * (w->rows + p->tile) * K * sizeof(double), "the inputs", &p->s));
    ANT_TRY(ant_cuda_alloc(device, count * n * sizeof(double), "the states", &p->last));
    ANT_TRY(ant_cuda_alloc(device, count * p->tile * N * sizeof(double), "the orbits", &p->xhat));
    ANT_TRY(ant_cuda_alloc(device, count * p->tile * w->latent * sizeof(double), "the states", &p->states));
    ANT_TRY(ant_cuda_alloc(device, count * sizeof *p->good, "the states", &p->finite));
    for (size_t o = 0; o < count; o++)
        w->finite[o] = w->steps;
    if (w->rows == 0)
        return ant_cuda_upload(device, p->last.address, w->from, count * n * sizeof(double));
    return ant_cuda_upload(device, p->x.address, w->x, count * w->rows * N * sizeof(double));
}

/* The inputs of warm-up rows (first launch only) and of steps first .. first+steps-1. */
static antler_status upload_inputs(orbit_tiles *p, size_t rows, size_t first, size_t steps)
{
    const ant_engine_orbits *w = p->work;
    const size_t K = w->map->K, all = w->rows + w->steps;
    const size_t begin = rows > 0 ? 0 : w->rows + first, taken = rows + steps;
    if (K == 0)
        return ANTLER_OK;
    for (size_t o = 0; o < w->count; o++)
        memcpy(p->inputs + o * taken * K, w->s + (o * all + begin) * K, taken * K * sizeof *p->inputs);
    return ant_cuda_upload(p->map.device, p->s.address, p->inputs, w->count * taken * K * sizeof *p->inputs);
}

/* Copy back the results of steps first .. first+steps-1. */
static antler_status collect(orbit_tiles *p, size_t first, size_t steps)
{
    const ant_engine_orbits *w = p->work;
    const size_t N = w->map->N, latent = w->latent, bytes = w->count * steps * sizeof(double);
    ant_cuda_device *device = p->map.device;
    ANT_TRY(ant_cuda_download(device, p->some, p->xhat.address, bytes * N));
    ANT_TRY(ant_cuda_download(device, p->other, p->states.address, bytes * latent));
    ANT_TRY(ant_cuda_download(device, p->good, p->finite.address, w->count * sizeof *p->good));
    for (size_t o = 0; o < w->count; o++) {
        memcpy(w->xhat + (o * w->steps + first) * N, p->some + o * steps * N, steps * N * sizeof(double));
        if (latent > 0)
            memcpy(w->states + (o * w->steps + first) * latent, p->other + o * steps * latent,
                   steps * latent * sizeof(double));
        if (p->good[o] < steps && w->finite[o] == w->steps)
            w->finite[o] = first + p->good[o];
    }
    return ANTLER_OK;
}

static antler_status run_tile(orbit_tiles *p, size_t first, size_t steps)
{
    const ant_engine_orbits *w = p->work;
    unsigned rows = first == 0 ? (unsigned)w->rows : 0, count = (unsigned)steps, width = (unsigned)w->latent;
    ant_cuda_device *device = p->map.device;
    ant_cuda_grid grid = ant_cuda_grid_1d((unsigned)w->count, p->map.threads);
    grid.shared = p->map.shared_bytes;
    ANT_TRY(upload_inputs(p, rows, first, steps));
    ANT_TRY(ant_cuda_launch(device, &p->kernel, grid,
                            ANT_CUDA_ARGS(&p->map.parameters.address, &rows, &count, &width, &p->x.address,
                                          &p->s.address, &p->last.address, &p->xhat.address,
                                          &p->states.address, &p->last.address, &p->finite.address)));
    return collect(p, first, steps);
}

static antler_status run(orbit_tiles *p, ant_cuda_device *device)
{
    const ant_engine_orbits *w = p->work;
    const ant_engine_report *r = &w->report;
    ANT_TRY(ant_cuda_map_open(device, w->map, 0, &p->map));
    ANT_TRY(ant_cuda_program_kernel(p->map.program, "orbits", &p->kernel));
    ANT_TRY(ant_cuda_kernel_allow_shared(device, &p->kernel, p->map.shared_bytes));
    ANT_TRY(allocate(p));
    for (size_t first = 0; first < w->steps; first += p->tile) {
        ANT_TRY(run_tile(p, first, w->steps - first < p->tile ? w->steps - first : p->tile));
        if (ant_progress_due(&p->last_report))
            ANT_TRY(ant_progress_report(r->progress, r->what,
                                        r->begin + r->span * (double)first / (double)w->steps));
    }
    return ANTLER_OK;
}

antler_status ant_cuda_orbits(const ant_engine_orbits *work)
{
    orbit_tiles p = {.work = work};
    ant_cuda_device *device = NULL;
    ANT_TRY(ant_cuda_borrow(&device));
    const antler_status status = run(&p, device);
    ant_cuda_buffer *const buffers[] = {&p.x, &p.s, &p.last, &p.xhat, &p.states, &p.finite};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        ant_cuda_free(device, buffers[i]);
    ant_cuda_map_clear(&p.map);
    ant_cuda_return();
    free(p.inputs);
    free(p.some);
    free(p.other);
    free(p.good);
    return status;
}
