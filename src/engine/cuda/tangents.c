/* tangents.c - tangent vectors along an orbit, in tiles of steps that report progress (kernels/orbit.cuh). */
#include "base/machine.h"
#include "engine/cuda/engine_cuda.h"
#include "engine/cuda/kernels/abi.h"
#include "engine/cuda/map.h"

#include <stdlib.h>
#include <string.h>

enum { TILE = 1024 };

typedef struct tangents {
    ant_engine_tangents *work;
    ant_cuda_map map;
    ant_cuda_kernel kernel;
    ant_cuda_buffer s, state, vectors, scratch, logs, progress;
    unsigned near;  /* the vectors fit into shared memory */
    size_t shared;  /* bytes of it */
    double *inputs; /* (TILE, K) */
    struct orbit_progress at;
} tangents;

/* The vectors without the padding of their rows. */
static antler_status upload_vectors(tangents *t)
{
    const ant_engine_tangents *w = t->work;
    const size_t n = w->map->n, bytes = w->count * n * sizeof(double);
    double *packed = malloc(bytes);
    if (packed == NULL)
        return ant_fail_memory(bytes, "the tangent vectors");
    for (size_t k = 0; k < w->count; k++)
        memcpy(packed + k * n, w->vectors + k * w->stride, n * sizeof *packed);
    const antler_status status =
        ant_cuda_alloc_from(t->map.device, packed, bytes, "the tangent vectors", &t->vectors);
    free(packed);
    return status;
}

/* Shared memory holds what a step keeps, then the vectors, then the scratch, as far as they fit. */
static antler_status divide_shared(tangents *t)
{
    ant_cuda_device *device = t->map.device;
    const size_t vectors = t->work->count * t->work->map->n * sizeof(double);
    const size_t all = (size_t)(device->shared_per_block - t->kernel.static_shared);
    ANT_CHECK(t->map.shared_bytes <= all, ANTLER_ERROR_DEVICE,
              "%zu tangent vectors are too many for the GPU's kernel; compute on the CPU", t->work->count);
    t->shared = t->map.shared_bytes;
    t->near = t->shared + vectors <= all;
    t->shared += t->near ? vectors : 0;
    if (t->shared + t->map.scratch_bytes <= all)
        t->shared += t->map.scratch_bytes;
    else
        ANT_TRY(ant_cuda_alloc(device, t->map.scratch_bytes, "the Jacobian", &t->scratch));
    return ant_cuda_kernel_allow_shared(device, &t->kernel, t->shared);
}

static antler_status prepare(tangents *t)
{
    const ant_engine_tangents *w = t->work;
    const size_t K = w->map->K;
    ant_cuda_device *device = t->map.device;
    t->inputs = malloc((TILE * K + 1) * sizeof *t->inputs);
    if (t->inputs == NULL)
        return ant_fail_memory(TILE * K * sizeof *t->inputs, "the inputs");
    ANT_TRY(ant_cuda_alloc(device, TILE * K * sizeof(double), "the inputs", &t->s));
    ANT_TRY(ant_cuda_alloc(device, TILE * w->count * sizeof(double), "the logarithms", &t->logs));
    ANT_TRY(ant_cuda_alloc_from(device, w->from, w->map->n * sizeof(double), "the state", &t->state));
    ANT_TRY(ant_cuda_alloc_from(device, &t->at, sizeof t->at, "the progress", &t->progress));
    ANT_TRY(upload_vectors(t));
    return divide_shared(t);
}

static antler_status run_tile(tangents *t, size_t count)
{
    ant_engine_tangents *w = t->work;
    ant_cuda_device *device = t->map.device;
    const size_t K = w->map->K, before = t->at.events;
    unsigned steps = (unsigned)count, transient = (unsigned)w->transient;
    unsigned all = (unsigned)(w->transient + w->steps), interval = (unsigned)w->interval;
    if (K > 0) {
        w->inputs(w->cookie, t->at.done, count, t->inputs);
        ANT_TRY(ant_cuda_upload(device, t->s.address, t->inputs, count * K * sizeof(double)));
    }
    ant_cuda_grid grid = ant_cuda_grid_1d(1, t->map.threads);
    grid.shared = t->shared;
    /* The kernel counts events from the start; this buffer starts with those of the tile. */
    ant_cu_pointer logs = t->logs.address - before * w->count * sizeof(double);
    ANT_TRY(ant_cuda_launch(device, &t->kernel, grid,
                            ANT_CUDA_ARGS(&t->map.parameters.address, &steps, &transient, &all, &interval,
                                          &w->limit, &t->s.address, &t->state.address, &t->vectors.address,
                                          &t->near, &t->scratch.address, &logs, &t->progress.address)));
    ANT_TRY(ant_cuda_download(device, &t->at, t->progress.address, sizeof t->at));
    return ant_cuda_download(device, w->logs + before * w->count, t->logs.address,
                             (t->at.events - before) * w->count * sizeof(double));
}

static antler_status run(tangents *t, ant_cuda_device *device)
{
    ant_engine_tangents *w = t->work;
    const ant_engine_report *r = &w->report;
    const size_t all = w->transient + w->steps;
    double last_report = 0.0;
    ANT_TRY(ant_cuda_map_open(device, w->map, w->count, &t->map));
    ANT_TRY(ant_cuda_program_kernel(t->map.program, "tangents", &t->kernel));
    ANT_TRY(prepare(t));
    while (t->at.done < all && t->at.bad == 0) {
        ANT_TRY(run_tile(t, all - t->at.done < TILE ? all - t->at.done : TILE));
        if (ant_progress_due(&last_report))
            ANT_TRY(ant_progress_report(r->progress, r->what,
                                        r->begin + r->span * (double)t->at.done / (double)all));
    }
    w->bad_step = t->at.bad;
    return ANTLER_OK;
}

antler_status ant_cuda_tangents(ant_engine_tangents *work)
{
    tangents t = {.work = work};
    ant_cuda_device *device = NULL;
    ANT_CHECK(work->transient + work->steps < UINT32_MAX / 2 && work->interval < UINT32_MAX / 2,
              ANTLER_ERROR_DEVICE, "%zu steps are too many for the GPU's kernel; compute on the CPU",
              work->transient + work->steps);
    ANT_TRY(ant_cuda_borrow(&device));
    const antler_status status = run(&t, device);
    ant_cuda_buffer *const buffers[] = {&t.s, &t.state, &t.vectors, &t.scratch, &t.logs, &t.progress};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        ant_cuda_free(device, buffers[i]);
    ant_cuda_map_clear(&t.map);
    ant_cuda_return();
    free(t.inputs);
    return status;
}
