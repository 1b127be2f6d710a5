/* strength_cuda.c - compiles kernels/strength.cu, divides its work, and launches it. */
#include "engine/cuda/strength_cuda.h"

#include "engine/cuda/patterns_cuda.h"

#include <stdio.h>

_Static_assert((int)ANTLER_ALPHA_CONSTANT == ALPHA_CONSTANT &&
                   (int)ANTLER_ALPHA_JACOBIAN_UPPER_BOUND == ALPHA_JACOBIAN_UPPER_BOUND &&
                   (int)ANTLER_ALPHA_BATCH_MAXIMUM == ALPHA_BATCH_MAXIMUM &&
                   (int)ANTLER_ALPHA_PRODUCT_UPPER_BOUND == ALPHA_PRODUCT_UPPER_BOUND &&
                   (int)ANTLER_ALPHA_EXPLOG == ALPHA_EXPLOG &&
                   (int)ANTLER_ALPHA_ARITHMETIC_MEAN == ALPHA_ARITHMETIC_MEAN,
               "antler_alpha_method");

enum {
    THREADS = 128,                 /* of a block */
    SEGMENT = 32,                  /* rows of a warp, at most */
    BLOCKS_PER_MULTIPROCESSOR = 8, /* blocks take further work afterwards */
    SCRATCH_MOST = 1 << 28,        /* bytes of scratch of all blocks */
};

bool ant_cuda_strength_wanted(const antler_settings *s)
{
    return s->gtf_alpha_method != ANTLER_ALPHA_CONSTANT;
}

static antler_status compile(ant_cuda_device *device, const ant_engine_learning *work, ant_cuda_strength *e,
                             struct strength_variant *facts)
{
    char rank[32], threads[32], method[32];
    const char *const more[] = {rank, threads, method, ant_cuda_patterns_option(work)};
    snprintf(rank, sizeof rank, "-DRANK=%zu", work->rank);
    snprintf(threads, sizeof threads, "-DUPDATE_THREADS=%d", THREADS);
    snprintf(method, sizeof method, "-DMETHOD=%d", (int)work->settings->gtf_alpha_method);
    ANT_TRY(ant_cuda_compile_shape(device, "strength.cu", work, more, more[3] != NULL ? 4 : 3, &e->program));
    ANT_TRY(ant_cuda_program_kernel(e->program, "estimate", &e->kernel));
    ANT_TRY(ant_cuda_read_facts(device, e->program, "strength_facts", facts, sizeof *facts));
    ANT_CHECK((size_t)facts->args_bytes == sizeof e->args, ANTLER_ERROR_INTERNAL,
              "strength_args has %d bytes in the kernels and %zu here", facts->args_bytes, sizeof e->args);
    return ant_cuda_kernel_allow_shared(device, &e->kernel, (size_t)facts->shared_bytes);
}

/* Blocks of the grid: as many as there are parts, as far as they and their scratch fit. */
static size_t count_blocks(const ant_cuda_device *device, const struct strength_variant *facts, size_t items)
{
    size_t most = BLOCKS_PER_MULTIPROCESSOR * (size_t)device->multiprocessors;
    const size_t scratch = (size_t)facts->scratch * sizeof(double);
    if (scratch > 0 && most > SCRATCH_MOST / scratch)
        most = SCRATCH_MOST / scratch > 0 ? SCRATCH_MOST / scratch : 1;
    return items < most ? items : most;
}

static antler_status take(ant_cuda_device *device, ant_cuda_strength *e, size_t bytes,
                          ant_cuda_buffer *buffer)
{
    e->bytes += bytes;
    ANT_TRY(ant_cuda_alloc(device, bytes, "estimates of alpha", buffer));
    return ant_cuda_fill_async(device, buffer->address, 0, bytes);
}

/* The division of rows depends on the settings alone: a run gives the same bytes alone and beside others. */
static antler_status divide(ant_cuda_device *device, const ant_engine_learning *work,
                            const struct strength_variant *facts, ant_cuda_strength *e)
{
    const size_t T = work->settings->sequence_length, batch = work->settings->batch_size, R = work->replicas;
    const size_t warps = (size_t)facts->warps, block = warps * SEGMENT;
    const size_t parts = facts->reads_rows ? (T + block - 1) / block : 1;
    const size_t items = facts->reads_rows ? R * batch * parts : R;
    ANT_CHECK(items <= INT32_MAX, ANTLER_ERROR_ARGUMENT,
              "estimates of alpha for %zu runs of %zu sequences are too many for the GPU; use device: cpu", R,
              batch);
    const size_t blocks = count_blocks(device, facts, items);
    e->args.parts = (int)parts;
    e->args.segment = (int)((T + parts * warps - 1) / (parts * warps));
    e->grid = ant_cuda_grid_1d((unsigned)blocks, THREADS);
    e->grid.shared = (size_t)facts->shared_bytes;
    ANT_TRY(take(device, e, R * batch * parts * warps * (size_t)facts->width * sizeof(double), &e->partial));
    ANT_TRY(take(device, e, R * batch * sizeof(double), &e->norms));
    ANT_TRY(take(device, e, R * (batch + 1) * sizeof(unsigned), &e->arrived));
    return take(device, e, blocks * (size_t)facts->scratch * sizeof(double), &e->scratch);
}

antler_status ant_cuda_strength_create(ant_cuda_device *device, const ant_engine_learning *work,
                                       const ant_cuda_store *store, ant_cu_pointer weights,
                                       ant_cuda_strength *e)
{
    const antler_settings *s = work->settings;
    struct strength_variant facts;
    ANT_TRY(compile(device, work, e, &facts));
    ANT_TRY(divide(device, work, &facts, e));
    e->args = (struct strength_args){
        .T = (int)s->sequence_length,
        .batch = (int)s->batch_size,
        .replicas = (int)work->replicas,
        .parts = e->args.parts,
        .segment = e->args.segment,
        .interval = s->gtf_alpha_interval,
        .updates = s->updates,
        .decay = s->gtf_alpha_decay,
        .parameters = store->parameters.address,
        .kept = store->kept.address,
        .x = store->window_x.address,
        .update = store->counters.address,
        .outcome = store->outcomes.address,
        .weights = weights,
        .alphas = store->alphas.address,
        .partial = e->partial.address,
        .norms = e->norms.address,
        .arrived = e->arrived.address,
        .scratch = e->scratch.address,
    };
    return ANTLER_OK;
}

void ant_cuda_strength_clear(ant_cuda_device *device, ant_cuda_strength *e)
{
    ant_cuda_buffer *const buffers[] = {&e->partial, &e->norms, &e->arrived, &e->scratch};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        ant_cuda_free(device, buffers[i]);
    ant_cuda_program_free(e->program);
    e->program = NULL;
}

antler_status ant_cuda_strength_launch(ant_cuda_device *device, ant_cuda_strength *e, int parity)
{
    e->args.parity = parity;
    return ant_cuda_launch(device, &e->kernel, e->grid, ANT_CUDA_ARGS(&e->args));
}
