/* mamba2_pass.c - the pass of a Mamba-2 (kernels/mamba2.cu): time in chunks, six launches. */
#include "engine/cuda/pass.h"

#include <stdio.h>
#include <stdlib.h>

/* mamba2_problem of kernels/mamba2_shape.cuh. */
typedef struct mamba2_problem {
    int T, batch, warmup, replicas, chunks, blocks;
    double weight;
    ant_cu_pointer x, s, weights, states, adjoints, decays, slopes, v, partial, squares, raw, facts;
} mamba2_problem;

/* mamba2_facts of kernels/mamba2.cu. */
enum {
    FACT_WEIGHTS,
    FACT_STATES,
    FACT_SLOPES,
    FACT_STEPS,
    FACT_ENTER,
    FACT_SCAN,
    FACT_CROSS,
    FACT_LEAVE,
    FACT_GATHER,
    FACT_PROBLEM,
    FACTS
};

enum { HEADS = 8, SCAN_THREADS = 1024, SCAN_SIDE = 32, GATHER_THREADS = 256, GATHER_SIDE = 32 };

/* A kernel and its launch. */
typedef struct stage {
    ant_cuda_kernel kernel;
    ant_cuda_grid grid;
} stage;

typedef struct mamba2 {
    ant_cuda_program *program;
    int facts[FACTS];
    unsigned columns; /* steps that a block has in shared memory, with the halo */
    stage enter, scan, cross, leave, gather;
    ant_cuda_buffer weights, states, adjoints, decays, slopes, v, partial, squares;
    mamba2_problem problem;
    char choice[160];
} mamba2;

static antler_status compile(ant_cuda_pass *pass, mamba2 *m, unsigned columns)
{
    char column_option[32], room[32], threads[32];
    const char *const more[] = {column_option, room, threads};
    snprintf(column_option, sizeof column_option, "-DCOLUMNS=%u", columns);
    snprintf(room, sizeof room, "-DROOM=%d", pass->device->shared_per_block);
    snprintf(threads, sizeof threads, "-DLEARN_THREADS=%u", ant_cuda_update_threads(pass->work));
    ant_cuda_program_free(m->program);
    m->program = NULL;
    m->columns = columns;
    ANT_TRY(ant_cuda_compile_shape(pass->device, "mamba2.cu", pass->work, more, 3, &m->program));
    ANT_TRY(ant_cuda_pass_facts(pass->device, m->program, "mamba2_facts", m->facts, FACTS));
    ANT_CHECK((size_t)m->facts[FACT_PROBLEM] == sizeof m->problem, ANTLER_ERROR_INTERNAL,
              "mamba2_problem has %d bytes in the kernels and %zu here", m->facts[FACT_PROBLEM],
              sizeof m->problem);
    return ANTLER_OK;
}

static bool fits(const ant_cuda_pass *pass, const mamba2 *m)
{
    const int room = pass->device->shared_per_block;
    return m->facts[FACT_ENTER] <= room && m->facts[FACT_CROSS] <= room && m->facts[FACT_LEAVE] <= room;
}

/* The widest blocks whose shared memory there is.  In double most time goes into arithmetic, and narrow
   blocks leave more of it to run beside each other. */
static antler_status choose_columns(ant_cuda_pass *pass, mamba2 *m)
{
    if (pass->real_bytes == sizeof(float))
        ANT_TRY(compile(pass, m, 64));
    if (m->program == NULL || !fits(pass, m))
        ANT_TRY(compile(pass, m, 32));
    ANT_CHECK(fits(pass, m), ANTLER_ERROR_DEVICE,
              "a mamba2 of latent_dim %zu needs %d bytes of shared memory, and %s has %d; use device: cpu",
              pass->work->M,
              m->facts[FACT_CROSS] > m->facts[FACT_LEAVE] ? m->facts[FACT_CROSS] : m->facts[FACT_LEAVE],
              pass->device->name, pass->device->shared_per_block);
    return ANTLER_OK;
}

/* One of the three kernels that walk through chunks: as many blocks of a run as find room beside those of
   the other runs. */
static antler_status plan_walk(const ant_cuda_pass *pass, const mamba2 *m, const char *name, int shared,
                               size_t chunks, stage *to)
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
    to->grid = ant_cuda_grid_1d((unsigned)(chunks < most ? chunks : most), threads);
    to->grid.grid[1] = (unsigned)pass->work->replicas;
    to->grid.shared = (size_t)shared;
    return ANTLER_OK;
}

static antler_status plan(ant_cuda_pass *pass, mamba2 *m)
{
    const ant_engine_learning *w = pass->work;
    const size_t T = w->settings->sequence_length, batch = w->settings->batch_size;
    const size_t steps = (size_t)m->facts[FACT_STEPS], chunks = (T + steps - 1) / steps;
    ANT_TRY(plan_walk(pass, m, "enter", m->facts[FACT_ENTER], batch * chunks, &m->enter));
    ANT_TRY(plan_walk(pass, m, "cross", m->facts[FACT_CROSS], batch * chunks, &m->cross));
    ANT_TRY(plan_walk(pass, m, "leave", m->facts[FACT_LEAVE], batch * chunks, &m->leave));
    if (m->leave.grid.grid[0] < m->cross.grid.grid[0]) /* they add to the same sums */
        m->cross.grid.grid[0] = m->leave.grid.grid[0];
    m->leave.grid.grid[0] = m->cross.grid.grid[0];
    ANT_TRY(ant_cuda_program_kernel(m->program, "scan", &m->scan.kernel));
    ANT_TRY(ant_cuda_program_kernel(m->program, "gather", &m->gather.kernel));
    m->scan.grid =
        ant_cuda_grid_1d((unsigned)(m->facts[FACT_STATES] + SCAN_SIDE - 1) / SCAN_SIDE, SCAN_THREADS);
    m->scan.grid.grid[1] = (unsigned)(w->replicas * batch);
    m->gather.grid = ant_cuda_grid_1d((unsigned)(w->total + GATHER_SIDE - 1) / GATHER_SIDE, GATHER_THREADS);
    m->gather.grid.grid[1] = (unsigned)w->replicas;
    m->scan.grid.shared = (size_t)m->facts[FACT_SCAN];
    m->gather.grid.shared = (size_t)m->facts[FACT_GATHER];
    m->problem = (mamba2_problem){
        .T = (int)T,
        .batch = (int)batch,
        .warmup = (int)w->settings->warmup,
        .replicas = (int)w->replicas,
        .chunks = (int)chunks,
        .blocks = (int)m->cross.grid.grid[0],
        .weight = 2.0 / ((double)w->N * (double)(T - w->settings->warmup) * (double)batch),
    };
    snprintf(m->choice, sizeof m->choice,
             "scan on the GPU: the mamba2 is linear in its state; %zu chunks of %zu steps per sequence, %u "
             "blocks per run",
             chunks, steps, m->cross.grid.grid[0]);
    return ANTLER_OK;
}

static antler_status allocate(ant_cuda_pass *pass, mamba2 *m)
{
    const ant_engine_learning *w = pass->work;
    const size_t R = w->replicas, real = pass->real_bytes, T = w->settings->sequence_length;
    const size_t sequences = R * w->settings->batch_size, chunks = sequences * (size_t)m->problem.chunks;
    const size_t states = (size_t)m->facts[FACT_STATES], blocks = R * (size_t)m->problem.blocks;
    ANT_TRY(ant_cuda_pass_take(pass, R * (size_t)m->facts[FACT_WEIGHTS] * real, "the weights", &m->weights));
    ANT_TRY(ant_cuda_pass_take(pass, chunks * states * real, "the states between chunks", &m->states));
    ANT_TRY(ant_cuda_pass_take(pass, chunks * states * real, "the states between chunks", &m->adjoints));
    ANT_TRY(ant_cuda_pass_take(pass, chunks * HEADS * real, "the states between chunks", &m->decays));
    ANT_TRY(ant_cuda_pass_take(pass, chunks * (size_t)m->facts[FACT_SLOPES] * m->columns * real,
                               "the slopes of all steps", &m->slopes));
    ANT_TRY(ant_cuda_pass_take(pass, sequences * (T + 1) * w->M * real, "the outputs of all steps", &m->v));
    ANT_TRY(ant_cuda_pass_take(pass, blocks * w->total * real, "sums over time", &m->partial));
    return ant_cuda_pass_take(pass, blocks * sizeof(double), "sums of squares", &m->squares);
}

static void describe(ant_cuda_pass *pass, mamba2 *m)
{
    mamba2_problem *p = &m->problem;
    p->x = pass->place.x;
    p->s = pass->place.s;
    p->weights = m->weights.address;
    p->states = m->states.address;
    p->adjoints = m->adjoints.address;
    p->decays = m->decays.address;
    p->slopes = m->slopes.address;
    p->v = m->v.address;
    p->partial = m->partial.address;
    p->squares = m->squares.address;
    p->raw = pass->place.raw;
    p->facts = pass->place.facts;
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
                                        &m->slopes,  &m->v,      &m->partial,  &m->squares};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        ant_cuda_free(pass->device, buffers[i]);
    ant_cuda_program_free(m->program);
    free(m);
}

static antler_status start(ant_cuda_pass *pass, mamba2 *m, const stage *next)
{
    return ant_cuda_launch(pass->device, &next->kernel, next->grid, ANT_CUDA_ARGS(&m->problem));
}

static antler_status start_scan(ant_cuda_pass *pass, mamba2 *m, int back)
{
    return ant_cuda_launch(pass->device, &m->scan.kernel, m->scan.grid, ANT_CUDA_ARGS(&m->problem, &back));
}

static antler_status launch(ant_cuda_pass *pass)
{
    mamba2 *m = pass->own;
    ANT_TRY(start(pass, m, &m->enter));
    ANT_TRY(start_scan(pass, m, 0));
    ANT_TRY(start(pass, m, &m->cross));
    ANT_TRY(start_scan(pass, m, 1));
    ANT_TRY(start(pass, m, &m->leave));
    return start(pass, m, &m->gather);
}

const ant_cuda_kind ant_cuda_kind_mamba2 = {
    .create = create,
    .destroy = destroy,
    .launch = launch,
};
