/* patterns_cuda.c - compiles kernels/patterns.cu, uploads the patterns of the data, and launches it. */
#include "engine/cuda/patterns_cuda.h"

enum { BLOCKS_PER_MULTIPROCESSOR = 8 }; /* of rows, and of patterns; they take further work afterwards */

const char *ant_cuda_patterns_option(const ant_engine_learning *work)
{
    return work->lacks != NULL ? "-DPATTERNS=1" : NULL;
}

size_t ant_cuda_patterns_count(const ant_engine_learning *work)
{
    return work->lacks != NULL ? work->lacks->count + 1 : 0;
}

static antler_status check(const ant_engine_learning *work)
{
    ANT_CHECK(work->lacks->count <= ANT_ENGINE_PATTERNS, ANTLER_ERROR_ARGUMENT,
              "the GPU takes up to %d patterns of missing values, and there are %zu; use device: cpu",
              ANT_ENGINE_PATTERNS, work->lacks->count);
    return ant_cuda_check_gaps(work);
}

static antler_status compile(ant_cuda_pass *pass, ant_cuda_patterns *q, struct pattern_variant *facts)
{
    const char *const more[] = {ant_cuda_patterns_option(pass->work)};
    ANT_TRY(ant_cuda_compile_shape(pass->device, "patterns.cu", pass->work, more, 1, &q->program));
    ANT_TRY(ant_cuda_program_kernel(q->program, "find_patterns", &q->kernel));
    ANT_TRY(ant_cuda_read_facts(pass->device, q->program, "pattern_facts", facts, sizeof *facts));
    ANT_CHECK((size_t)facts->args_bytes == sizeof q->args, ANTLER_ERROR_INTERNAL,
              "pattern_args has %d bytes in the kernels and %zu here", facts->args_bytes, sizeof q->args);
    q->size = (size_t)facts->size;
    return ant_cuda_kernel_allow_shared(pass->device, &q->kernel, (size_t)facts->shared_bytes);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Blocks of rows, then those of patterns. */
static void divide(const ant_cuda_pass *pass, const struct pattern_variant *facts, ant_cuda_patterns *q)
{
    const ant_engine_learning *w = pass->work;
    const size_t rows = w->settings->batch_size * (w->settings->sequence_length + 1),
                 threads = (size_t)facts->threads, warps = (size_t)facts->warps,
                 most = BLOCKS_PER_MULTIPROCESSOR * (size_t)pass->device->multiprocessors;
    const size_t row_blocks = least(w->replicas * ((rows + threads - 1) / threads), most);
    const size_t items = w->replicas * ant_cuda_patterns_count(w);
    q->grid = ant_cuda_grid_1d((unsigned)(row_blocks + least((items + warps - 1) / warps, most)),
                               (unsigned)facts->threads);
    q->grid.shared = (size_t)facts->shared_bytes;
    q->args = (struct pattern_args){.T = (int)w->settings->sequence_length,
                                    .batch = (int)w->settings->batch_size,
                                    .replicas = (int)w->replicas,
                                    .warmup = (int)w->settings->warmup,
                                    .patterns = (int)ant_cuda_patterns_count(w),
                                    .buckets = (int)w->lacks->buckets,
                                    .row_blocks = (int)row_blocks};
}

static antler_status upload(ant_cuda_pass *pass, const void *from, size_t bytes, ant_cuda_buffer *buffer)
{
    pass->bytes += bytes;
    return ant_cuda_alloc_from(pass->device, from, bytes, "the patterns of missing values", buffer);
}

antler_status ant_cuda_patterns_create(ant_cuda_pass *pass, ant_cuda_patterns *q)
{
    const ant_lacks *lacks = pass->work->lacks;
    struct pattern_variant facts;
    if (lacks == NULL)
        return ANTLER_OK;
    ANT_TRY(check(pass->work));
    ANT_TRY(compile(pass, q, &facts));
    divide(pass, &facts, q);
    ANT_TRY(upload(pass, lacks->bits, lacks->count * lacks->words * sizeof *lacks->bits, &q->bits));
    ANT_TRY(upload(pass, lacks->table, lacks->buckets * sizeof *lacks->table, &q->table));
    const size_t blocks = q->grid.grid[0] - (size_t)q->args.row_blocks;
    return ant_cuda_pass_take(pass, blocks * (size_t)facts.scratch * sizeof(double),
                              "the patterns of missing values", &q->scratch);
}

void ant_cuda_patterns_point(const ant_cuda_pass *pass, ant_cu_pointer pack, ant_cu_pointer of_row,
                             ant_cuda_patterns *q)
{
    q->args.pack = pack;
    q->args.x = pass->buffers.x;
    q->args.of_row = of_row;
    q->args.arrived = pass->buffers.arrived;
    q->args.bits = q->bits.address;
    q->args.table = q->table.address;
    q->args.scratch = q->scratch.address;
}

void ant_cuda_patterns_clear(ant_cuda_device *device, ant_cuda_patterns *q)
{
    ant_cuda_free(device, &q->bits);
    ant_cuda_free(device, &q->table);
    ant_cuda_free(device, &q->scratch);
    ant_cuda_program_free(q->program);
    q->program = NULL;
}

antler_status ant_cuda_patterns_launch(ant_cuda_device *device, ant_cuda_patterns *q)
{
    if (q->program == NULL)
        return ANTLER_OK;
    return ant_cuda_launch(device, &q->kernel, q->grid, ANT_CUDA_ARGS(&q->args));
}
