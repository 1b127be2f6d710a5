/* mamba2_pass.c - the pass of a Mamba-2 (kernels/mamba2.cu): segments, six launches. */
#include "engine/cuda/pass.h"

#include <stdio.h>
#include <stdlib.h>

/* A kernel and its launch. */
typedef struct launch_plan {
    ant_cuda_kernel kernel;
    ant_cuda_grid grid;
} launch_plan;

typedef struct mamba2 {
    ant_cuda_program *program;
    struct mamba2_variant facts;
    unsigned columns; /* steps that a block has in shared memory, with the halo */
    launch_plan fill, forward, scan, readout, backward, reduce;
    bool gaps; /* x may lack values: `fill` comes first */
    ant_cuda_buffer weights, states, adjoints, decays, slopes, v, partial, squares;
    ant_cuda_buffer filled, errors, tape, path; /* of `fill` */
    struct mamba2_args args;
    char choice[240];
} mamba2;

static antler_status compile(ant_cuda_pass *pass, mamba2 *m, unsigned columns)
{
    char column_option[32], limit[32], threads[32];
    const char *const more[] = {column_option, limit, threads, "-DGAPS=1"};
    snprintf(column_option, sizeof column_option, "-DCOLUMNS=%u", columns);
    snprintf(limit, sizeof limit, "-DSHARED_LIMIT=%d", pass->device->shared_per_block);
    snprintf(threads, sizeof threads, "-DUPDATE_THREADS=%u", ant_cuda_update_threads(pass->work));
    ant_cuda_program_free(m->program);
    m->program = NULL;
    m->columns = columns;
    ANT_TRY(
        ant_cuda_compile_shape(pass->device, "mamba2.cu", pass->work, more, m->gaps ? 4 : 3, &m->program));
    ANT_TRY(ant_cuda_read_facts(pass->device, m->program, "mamba2_facts", &m->facts, sizeof m->facts));
    ANT_CHECK((size_t)m->facts.args_bytes == sizeof m->args, ANTLER_ERROR_INTERNAL,
              "mamba2_args has %d bytes in the kernels and %zu here", m->facts.args_bytes, sizeof m->args);
    return ANTLER_OK;
}

static bool fits(const ant_cuda_pass *pass, const mamba2 *m)
{
    const int limit = pass->device->shared_per_block;
    return m->facts.fill_bytes <= limit && m->facts.forward_bytes <= limit &&
           m->facts.readout_bytes <= limit && m->facts.backward_bytes <= limit;
}

/* The widest blocks for which there is enough shared memory.  In double, arithmetic dominates, and more
   narrow blocks run at the same time. */
static antler_status choose_columns(ant_cuda_pass *pass, mamba2 *m)
{
    if (pass->real_bytes == sizeof(float))
        ANT_TRY(compile(pass, m, 64));
    if (m->program == NULL || !fits(pass, m))
        ANT_TRY(compile(pass, m, 32));
    ANT_CHECK(fits(pass, m), ANTLER_ERROR_DEVICE,
              "a mamba2 of latent_dim %zu needs %d bytes of shared memory, and %s has %d; use device: cpu",
              pass->work->M,
              m->facts.readout_bytes > m->facts.backward_bytes ? m->facts.readout_bytes
                                                               : m->facts.backward_bytes,
              pass->device->name, pass->device->shared_per_block);
    return ANTLER_OK;
}

/* One of the three kernels over segments: as many blocks of a run as fit beside those of the other runs. */
static antler_status plan_segments(const ant_cuda_pass *pass, const mamba2 *m, const char *name, int shared,
                                   size_t segments, launch_plan *to)
{
    const unsigned threads = 4 * m->columns;
    int resident = 0;
    ANT_TRY(ant_cuda_program_kernel(m->program, name, &to->kernel));
    ANT_TRY(ant_cuda_kernel_allow_shared(pass->device, &to->kernel, (size_t)shared));
    ANT_TRY(ant_cuda_kernel_occupancy(pass->device, &to->kernel, threads, (size_t)shared, &resident));
    ANT_CHECK(resident >= 1, ANTLER_ERROR_DEVICE,
              "the GPU %s has no room for a block of '%s'; use device: cpu", pass->device->name, name);
    const size_t runs = pass->work->settings->runs,
                 all = (size_t)resident * (size_t)pass->device->multiprocessors;
    const size_t most = all > runs ? all / runs : 1;
    to->grid = ant_cuda_grid_1d((unsigned)(segments < most ? segments : most), threads);
    to->grid.grid[1] = (unsigned)pass->work->replicas;
    to->grid.shared = (size_t)shared;
    return ANTLER_OK;
}

/* A block for each sequence. */
static antler_status plan_fill(const ant_cuda_pass *pass, mamba2 *m)
{
    if (!m->gaps)
        return ANTLER_OK;
    ANT_TRY(ant_cuda_program_kernel(m->program, "fill_gaps", &m->fill.kernel));
    m->fill.grid = ant_cuda_grid_1d((unsigned)pass->work->settings->batch_size, 4 * m->columns);
    m->fill.grid.grid[1] = (unsigned)pass->work->replicas;
    m->fill.grid.shared = (size_t)m->facts.fill_bytes;
    return ant_cuda_kernel_allow_shared(pass->device, &m->fill.kernel, m->fill.grid.shared);
}

static antler_status plan(ant_cuda_pass *pass, mamba2 *m)
{
    const ant_engine_learning *w = pass->work;
    const size_t T = w->settings->sequence_length, batch = w->settings->batch_size;
    const size_t steps = (size_t)m->facts.steps, segments = (T + steps - 1) / steps;
    ANT_TRY(plan_fill(pass, m));
    ANT_TRY(
        plan_segments(pass, m, "forward_segments", m->facts.forward_bytes, batch * segments, &m->forward));
    ANT_TRY(
        plan_segments(pass, m, "readout_segments", m->facts.readout_bytes, batch * segments, &m->readout));
    ANT_TRY(
        plan_segments(pass, m, "backward_segments", m->facts.backward_bytes, batch * segments, &m->backward));
    if (m->backward.grid.grid[0] < m->readout.grid.grid[0]) /* they add to the same sums */
        m->readout.grid.grid[0] = m->backward.grid.grid[0];
    m->backward.grid.grid[0] = m->readout.grid.grid[0];
    ANT_TRY(ant_cuda_program_kernel(m->program, "scan", &m->scan.kernel));
    ANT_TRY(ant_cuda_program_kernel(m->program, "reduce_blocks", &m->reduce.kernel));
    m->scan.grid =
        ant_cuda_grid_1d((unsigned)(m->facts.states + SCAN_SIDE - 1) / SCAN_SIDE, SCAN_SIDE * SCAN_SIDE);
    m->scan.grid.grid[1] = (unsigned)(w->replicas * batch);
    m->reduce.grid =
        ant_cuda_grid_1d((unsigned)(w->total + REDUCE_SIDE - 1) / REDUCE_SIDE, 32 * REDUCE_WARPS);
    m->reduce.grid.grid[1] = (unsigned)w->replicas;
    m->scan.grid.shared = (size_t)m->facts.scan_bytes;
    m->reduce.grid.shared = (size_t)m->facts.reduce_bytes;
    m->args = (struct mamba2_args){
        .T = (int)T,
        .batch = (int)batch,
        .warmup = (int)w->settings->warmup,
        .replicas = (int)w->replicas,
        .segments = (int)segments,
        .blocks = (int)m->readout.grid.grid[0],
        .weight = 2.0 / ((double)w->N * (double)(T - w->settings->warmup) * (double)batch),
    };
    snprintf(
        m->choice, sizeof m->choice,
        "scan on the GPU: the mamba2 is linear in its state%s; %zu segment%s of %zu steps per sequence, %u "
        "block%s per run",
        ant_cuda_gaps_remark(w), segments, segments == 1 ? "" : "s", steps, m->readout.grid.grid[0],
        m->readout.grid.grid[0] == 1 ? "" : "s");
    return ANTLER_OK;
}

static antler_status allocate_fill(ant_cuda_pass *pass, mamba2 *m)
{
    const ant_engine_learning *w = pass->work;
    const size_t T = w->settings->sequence_length, sequences = w->replicas * w->settings->batch_size,
                 steps = sequences * T * pass->real_bytes, rows = sequences * (T + 1) * pass->real_bytes;
    if (!m->gaps)
        return ANTLER_OK;
    ANT_TRY(ant_cuda_pass_take(pass, rows * w->N, "predictions of missing values", &m->filled));
    ANT_TRY(ant_cuda_pass_take(pass, steps * w->N, "the errors of missing values", &m->errors));
    ANT_TRY(ant_cuda_pass_take(pass, steps * (size_t)m->facts.tape, "plain steps", &m->tape));
    return ant_cuda_pass_take(pass, rows * (size_t)m->facts.states, "the states of plain steps", &m->path);
}

static antler_status allocate(ant_cuda_pass *pass, mamba2 *m)
{
    const ant_engine_learning *w = pass->work;
    const size_t R = w->replicas, real = pass->real_bytes, T = w->settings->sequence_length;
    const size_t sequences = R * w->settings->batch_size, segments = sequences * (size_t)m->args.segments;
    const size_t states = (size_t)m->facts.states, blocks = R * (size_t)m->args.blocks;
    ANT_TRY(allocate_fill(pass, m));
    ANT_TRY(ant_cuda_pass_take(pass, R * (size_t)m->facts.pack * real, "the weights", &m->weights));
    ANT_TRY(ant_cuda_pass_take(pass, segments * states * real, "the states between segments", &m->states));
    ANT_TRY(ant_cuda_pass_take(pass, segments * states * real, "the states between segments", &m->adjoints));
    ANT_TRY(
        ant_cuda_pass_take(pass, segments * MAMBA2_HEADS * real, "the states between segments", &m->decays));
    ANT_TRY(ant_cuda_pass_take(pass, segments * (size_t)m->facts.slopes * m->columns * real,
                               "the slopes of all steps", &m->slopes));
    ANT_TRY(ant_cuda_pass_take(pass, sequences * (T + 1) * w->M * real, "the outputs of all steps", &m->v));
    ANT_TRY(ant_cuda_pass_take(pass, blocks * w->total * real, "sums over time", &m->partial));
    return ant_cuda_pass_take(pass, blocks * sizeof(double), "sums of squares", &m->squares);
}

static void describe(ant_cuda_pass *pass, mamba2 *m)
{
    struct mamba2_args *p = &m->args;
    p->x = pass->buffers.x;
    p->s = pass->buffers.s;
    p->weights = m->weights.address;
    p->states = m->states.address;
    p->adjoints = m->adjoints.address;
    p->decays = m->decays.address;
    p->slopes = m->slopes.address;
    p->v = m->v.address;
    p->partial = m->partial.address;
    p->squares = m->squares.address;
    p->raw = pass->buffers.raw;
    p->facts = pass->buffers.facts;
    p->filled = m->filled.address;
    p->errors = m->errors.address;
    p->tape = m->tape.address;
    p->path = m->path.address;
    p->arrived = pass->buffers.arrived;
    pass->solver = "scan";
    pass->choice = m->choice;
    pass->update = m->program;
    pass->weights = m->weights.address;
    pass->states = m->v.address;
    pass->row = pass->work->M;
}

static antler_status create(ant_cuda_pass *pass)
{
    enum { LONGEST = INT32_MAX / 64, MOST_SEQUENCES = 65535 }; /* of a grid's second axis */
    const antler_settings *s = pass->work->settings;
    ANT_CHECK(s->sequence_length < LONGEST, ANTLER_ERROR_ARGUMENT,
              "sequence_length %zu is too long for the GPU; use device: cpu", s->sequence_length);
    ANT_CHECK(pass->work->replicas * s->batch_size <= MOST_SEQUENCES, ANTLER_ERROR_ARGUMENT,
              "%zu runs of batch_size %zu are too many for the GPU; use device: cpu", pass->work->replicas,
              s->batch_size);
    mamba2 *m = pass->own = calloc(1, sizeof *m);
    if (m == NULL)
        return ant_fail_memory(sizeof *m, "a solver");
    m->gaps = pass->work->lacks != NULL;
    ANT_TRY(ant_cuda_check_gaps(pass->work));
    ANT_TRY(choose_columns(pass, m));
    ANT_TRY(plan(pass, m));
    ANT_TRY(allocate(pass, m));
    describe(pass, m);
    return ANTLER_OK;
}

static void destroy(ant_cuda_pass *pass)
{
    mamba2 *m = pass->own;
    if (m == NULL)
        return;
    ant_cuda_buffer *const buffers[] = {&m->weights, &m->states, &m->adjoints, &m->decays,
                                        &m->slopes,  &m->v,      &m->partial,  &m->squares,
                                        &m->filled,  &m->errors, &m->tape,     &m->path};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        ant_cuda_free(pass->device, buffers[i]);
    ant_cuda_program_free(m->program);
    free(m);
}

static antler_status start(ant_cuda_pass *pass, mamba2 *m, const launch_plan *next)
{
    return ant_cuda_launch(pass->device, &next->kernel, next->grid, ANT_CUDA_ARGS(&m->args));
}

static antler_status start_scan(ant_cuda_pass *pass, mamba2 *m, int back)
{
    return ant_cuda_launch(pass->device, &m->scan.kernel, m->scan.grid, ANT_CUDA_ARGS(&m->args, &back));
}

static antler_status launch(ant_cuda_pass *pass)
{
    mamba2 *m = pass->own;
    if (m->gaps)
        ANT_TRY(start(pass, m, &m->fill));
    ANT_TRY(start(pass, m, &m->forward));
    ANT_TRY(start_scan(pass, m, 0));
    ANT_TRY(start(pass, m, &m->readout));
    ANT_TRY(start_scan(pass, m, 1));
    ANT_TRY(start(pass, m, &m->backward));
    return start(pass, m, &m->reduce);
}

const ant_cuda_kind ant_cuda_kind_mamba2 = {
    .create = create,
    .destroy = destroy,
    .launch = launch,
};
