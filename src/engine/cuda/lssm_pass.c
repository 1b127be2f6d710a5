/* lssm_pass.c - the pass of a LSSM (kernels/lssm.cu): segments, four launches. */
#include "engine/cuda/pass.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    LEAST_SEGMENT = 32,  /* steps; below, a block has too little work */
    MEASURED_PER_MP = 2, /* segments with a loss for every multiprocessor */
    WORKERS_PER_MP = 4,  /* blocks of all runs together */
    SEGMENT_UNIT = 16,   /* steps */
};

typedef struct lssm {
    ant_cuda_program *program;
    ant_cuda_kernel kernel[LSSM_KERNELS];
    ant_cuda_grid grid[LSSM_KERNELS];
    struct lssm_variant facts;
    ant_cuda_buffer weights, states, adjoint, errors, ends, adjoint_ends, partial, squares, filled;
    bool gaps; /* x may lack values: LSSM_FILL comes first */
    struct lssm_args args;
    char choice[320];
} lssm;

static int first_kernel(const lssm *l)
{
    return l->gaps ? LSSM_FILL : LSSM_FORWARD;
}

static antler_status compile(lssm *l, const ant_cuda_pass *pass)
{
    static const char *const names[LSSM_KERNELS] = {"fill_gaps", "forward_segments", "readout_segments",
                                                    "backward_segments", "reduce_blocks"};
    char threads[32];
    const char *const more[] = {threads, "-DGAPS=1"};
    snprintf(threads, sizeof threads, "-DUPDATE_THREADS=%u", ant_cuda_update_threads(pass->work));
    ANT_TRY(ant_cuda_compile_shape(pass->device, "lssm.cu", pass->work, more, l->gaps ? 2 : 1, &l->program));
    for (int i = first_kernel(l); i < LSSM_KERNELS; i++)
        ANT_TRY(ant_cuda_program_kernel(l->program, names[i], &l->kernel[i]));
    ANT_TRY(ant_cuda_read_facts(pass->device, l->program, "lssm_facts", &l->facts, sizeof l->facts));
    ANT_CHECK((size_t)l->facts.args_bytes == sizeof l->args, ANTLER_ERROR_INTERNAL,
              "lssm_args has %d bytes in the kernels and %zu here", l->facts.args_bytes, sizeof l->args);
    return ANTLER_OK;
}

static size_t divided(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

/* Segments and blocks depend on the settings and the GPU alone, never on how many runs there are. */
static void divide(lssm *l, const ant_cuda_pass *pass)
{
    const antler_settings *s = pass->work->settings;
    const size_t processors = (size_t)pass->device->multiprocessors, tile = (size_t)l->facts.tile;
    const size_t T = s->sequence_length, measured = (T - s->warmup) * s->batch_size * s->runs;
    size_t segment_steps = divided(measured, MEASURED_PER_MP * processors);
    segment_steps = segment_steps < LEAST_SEGMENT ? LEAST_SEGMENT : segment_steps;
    segment_steps = segment_steps > tile ? (segment_steps + tile / 2) / tile * tile
                                         : divided(segment_steps, SEGMENT_UNIT) * SEGMENT_UNIT;
    const size_t segments = divided(T, segment_steps), items = s->batch_size * segments;
    const size_t most = divided(WORKERS_PER_MP * processors, s->runs);
    l->args.segment_steps = (int)segment_steps;
    l->args.segments = (int)segments;
    l->args.workers = (int)(items < most ? items : most);
    snprintf(
        l->choice, sizeof l->choice,
        "scan on the GPU: the lssm is linear in its state%s; %zu segment%s of %zu steps per sequence, %d "
        "block%s per run",
        ant_cuda_gaps_remark(pass->work), segments, segments == 1 ? "" : "s", segment_steps, l->args.workers,
        l->args.workers == 1 ? "" : "s");
}

static antler_status allocate(lssm *l, ant_cuda_pass *pass)
{
    const ant_engine_learning *work = pass->work;
    const size_t R = work->replicas, sequences = R * work->settings->batch_size,
                 T = work->settings->sequence_length, real = pass->real_bytes;
    const size_t latent = (size_t)l->facts.latent, observed = (size_t)l->facts.observed;
    const size_t records = sequences * (size_t)l->args.segments * latent,
                 workers = R * (size_t)l->args.workers;
    const struct {
        ant_cuda_buffer *buffer;
        size_t bytes;
        const char *purpose;
    } wanted[] = {
        {&l->weights, R * (size_t)l->facts.pack * real, "the weights"},
        {&l->states, sequences * (T + 1) * latent * real, "the states of all steps"},
        {&l->adjoint, sequences * T * latent * real, "the adjoint of all steps"},
        {&l->errors, sequences * T * observed * real, "the errors of all steps"},
        {&l->ends, records * real, "the ends of segments"},
        {&l->adjoint_ends, records * real, "the ends of segments"},
        {&l->partial, workers * work->total * real, "sums over time"},
        {&l->squares, workers * sizeof(double), "sums of squares"},
        {&l->filled, l->gaps ? sequences * (T + 1) * work->N * real : 0, "predictions of missing values"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        ANT_TRY(ant_cuda_pass_take(pass, wanted[i].bytes, wanted[i].purpose, wanted[i].buffer));
    return ANTLER_OK;
}

static void describe(lssm *l, const ant_cuda_pass *pass)
{
    const antler_settings *s = pass->work->settings;
    struct lssm_args *p = &l->args;
    p->T = (int)s->sequence_length;
    p->batch = (int)s->batch_size;
    p->warmup = (int)s->warmup;
    p->replicas = (int)pass->work->replicas;
    p->free_diagonal = s->diagonal == ANTLER_DIAGONAL_FREE;
    p->weight =
        2.0 / ((double)pass->work->N * (double)s->batch_size * (double)(s->sequence_length - s->warmup));
    p->parameters = pass->buffers.parameters;
    p->weights = l->weights.address;
    p->x = pass->buffers.x;
    p->s = pass->buffers.s;
    p->states = l->states.address;
    p->adjoint = l->adjoint.address;
    p->errors = l->errors.address;
    p->ends = l->ends.address;
    p->adjoint_ends = l->adjoint_ends.address;
    p->partial = l->partial.address;
    p->squares = l->squares.address;
    p->raw = pass->buffers.raw;
    p->facts = pass->buffers.facts;
    p->filled = l->filled.address;
    p->arrived = pass->buffers.arrived;
}

static antler_status set_grids(lssm *l, const ant_cuda_pass *pass)
{
    const size_t R = pass->work->replicas, workers = R * (size_t)l->args.workers;
    const size_t blocks[LSSM_KERNELS] = {R * pass->work->settings->batch_size, workers, workers,
                                         workers * (size_t)l->facts.roles,
                                         R * divided(pass->work->total, REDUCE_SIDE)};
    for (int i = first_kernel(l); i < LSSM_KERNELS; i++) {
        const int threads = i == LSSM_REDUCE ? l->facts.reduce_threads : l->facts.threads;
        l->grid[i] = ant_cuda_grid_1d((unsigned)blocks[i], (unsigned)threads);
        l->grid[i].shared = (size_t)l->facts.shared_bytes[i];
        ANT_TRY(ant_cuda_kernel_allow_shared(pass->device, &l->kernel[i], l->grid[i].shared));
    }
    return ANTLER_OK;
}

static antler_status create(ant_cuda_pass *pass)
{
    const size_t T = pass->work->settings->sequence_length;
    ANT_CHECK(T < INT32_MAX / 2, ANTLER_ERROR_ARGUMENT,
              "sequence_length %zu is too long for the GPU; use device: cpu", T);
    lssm *l = pass->own = calloc(1, sizeof *l);
    if (l == NULL)
        return ant_fail_memory(sizeof *l, "a solver");
    l->gaps = pass->work->lacks != NULL;
    ANT_TRY(ant_cuda_check_gaps(pass->work));
    ANT_TRY(compile(l, pass));
    divide(l, pass);
    ANT_TRY(allocate(l, pass));
    describe(l, pass);
    pass->solver = "scan";
    pass->choice = l->choice;
    pass->update = l->program;
    pass->weights = l->weights.address;
    pass->states = l->states.address;
    pass->row = (size_t)l->facts.latent;
    return set_grids(l, pass);
}

static void destroy(ant_cuda_pass *pass)
{
    lssm *l = pass->own;
    if (l == NULL)
        return;
    ant_cuda_buffer *const buffers[] = {&l->weights,      &l->states,  &l->adjoint, &l->errors, &l->ends,
                                        &l->adjoint_ends, &l->partial, &l->squares, &l->filled};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        ant_cuda_free(pass->device, buffers[i]);
    ant_cuda_program_free(l->program);
    free(l);
}

static antler_status launch(ant_cuda_pass *pass)
{
    lssm *l = pass->own;
    for (int i = first_kernel(l); i < LSSM_KERNELS; i++)
        ANT_TRY(ant_cuda_launch(pass->device, &l->kernel[i], l->grid[i], ANT_CUDA_ARGS(&l->args)));
    return ANTLER_OK;
}

const ant_cuda_kind ant_cuda_kind_lssm = {
    .create = create,
    .destroy = destroy,
    .launch = launch,
};
