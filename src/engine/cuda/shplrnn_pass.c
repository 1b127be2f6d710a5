/* shplrnn_pass.c - the pass of a shPLRNN (kernels/solve.cu, then sums.cu): division of work, compiled
   variants, buffers, arguments. */
#include "engine/cuda/shplrnn_pass.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* `bytes`: the size of solve_args as the kernel was compiled. */
static antler_status check_args(const ant_cuda_solver *s, int bytes)
{
    const size_t here = s->real_bytes == sizeof(float) ? sizeof(solve_args_f32) : sizeof(solve_args_f64);
    ANT_CHECK((size_t)bytes == here, ANTLER_ERROR_INTERNAL,
              "solve_args has %d bytes in the kernels and %zu here", bytes, here);
    return ANTLER_OK;
}

/* Compile the plan's variant and read its facts; *shared: bytes of a block. */
static antler_status compile(ant_cuda_solver *s, const ant_engine_learning *work, size_t *shared)
{
    char warps[32], newton[32], segmented[32], shared_limit[32];
    const char *more[6] = {warps, newton, segmented, shared_limit};
    size_t count = s->plan.shares ? 1 : 4;
    if (ant_cuda_deer_wanted(work->settings) && s->plan.segments > 1)
        more[count++] = "-DGUESSED=1";
    if (work->lacks != NULL)
        more[count++] = ant_cuda_patterns_option(work);
    struct solve_variant *facts = &s->facts;
    snprintf(warps, sizeof warps, "-DWARPS=%d", s->plan.warps);
    snprintf(newton, sizeof newton, "-DNEWTON=%d", s->plan.newton);
    snprintf(segmented, sizeof segmented, "-DSEGMENTED=%d", s->plan.segments > 1);
    snprintf(shared_limit, sizeof shared_limit, "-DSHARED_LIMIT=%d", s->device->shared_per_block);
    ant_cuda_program_free(s->program);
    s->program = NULL;
    const char *source = s->plan.shares ? "sequences.cu" : "solve.cu";
    ANT_TRY(ant_cuda_compile_shape(s->device, source, work, more, count, &s->program));
    ANT_TRY(ant_cuda_program_kernel(s->program, "solve", &s->kernel));
    ANT_TRY(ant_cuda_read_facts(s->device, s->program, "solve_facts", facts, sizeof *facts));
    *shared = (size_t)facts->shared_bytes;
    return check_args(s, facts->args_bytes);
}

static int groups(const ant_cuda_plan *plan)
{
    return (plan->blocks + plan->group - 1) / plan->group;
}

/* The largest blocks for which there is enough shared memory. */
static antler_status choose(ant_cuda_solver *s, const ant_engine_learning *work)
{
    size_t shared = 0;
    for (int most = 16; most >= 1; most /= 2) {
        ant_cuda_plan_choose(work, s->device->multiprocessors, most, &s->plan);
        if (s->plan.warps != most && most < 16 && s->program != NULL)
            continue; /* this variant did not fit */
        ANT_TRY(compile(s, work, &shared));
        if (shared <= (size_t)s->device->shared_per_block)
            break;
    }
    ANT_CHECK(shared <= (size_t)s->device->shared_per_block, ANTLER_ERROR_DEVICE,
              "a model of M = %zu and L = %zu needs %zu bytes of shared memory, and %s has %d; use the CPU",
              work->M, work->L, shared, s->device->name, s->device->shared_per_block);
    const size_t records = (size_t)((1 + s->plan.group + groups(&s->plan)) * s->facts.record) * s->real_bytes;
    s->grid.shared = shared;
    s->staged = s->plan.segments > 1 && shared + records <= (size_t)s->device->shared_per_block;
    if (s->staged)
        s->grid.shared += records;
    return ant_cuda_kernel_allow_shared(s->device, &s->kernel, s->grid.shared);
}

/* Compile sums.cu into the cache while solve.cu is compiled.  A failure here occurs again, and is reported,
   in `load_sums`. */
static void *compile_sums_ahead(void *opaque)
{
    const ant_cuda_pass *pass = opaque;
    void *image = NULL;
    size_t size = 0;
    const char *const more[] = {ant_cuda_patterns_option(pass->work)};
    (void)ant_cuda_image_shape(pass->device->sm, "sums.cu", pass->work, more, more[0] != NULL, &image, &size);
    free(image);
    return NULL;
}

static antler_status load_sums(ant_cuda_solver *s, const ant_engine_learning *work)
{
    struct sum_variant facts;
    const char *const more[] = {ant_cuda_patterns_option(work)};
    ANT_TRY(ant_cuda_compile_shape(s->device, "sums.cu", work, more, more[0] != NULL, &s->summing));
    ANT_TRY(ant_cuda_program_kernel(s->summing, "sum_gradient", &s->sum));
    ANT_TRY(ant_cuda_read_facts(s->device, s->summing, "sum_facts", &facts, sizeof facts));
    ANT_CHECK(facts.shared_bytes <= s->device->shared_per_block, ANTLER_ERROR_DEVICE,
              "the sums of a model of M = %zu and L = %zu need %d bytes of shared memory, and %s has %d; use "
              "the CPU",
              work->M, work->L, facts.shared_bytes, s->device->name, s->device->shared_per_block);
    s->sum_grid = ant_cuda_grid_1d(1, (unsigned)facts.threads);
    s->sum_grid.shared = (size_t)facts.shared_bytes;
    ANT_TRY(ant_cuda_kernel_allow_shared(s->device, &s->sum, s->sum_grid.shared));
    return check_args(s, facts.args_bytes);
}

/* How many blocks can be resident at the same time. */
static antler_status count_resident(const ant_cuda_solver *s, const ant_cuda_kernel *kernel, unsigned threads,
                                    size_t shared, int *most)
{
    int resident = 0;
    ANT_TRY(ant_cuda_kernel_occupancy(s->device, kernel, threads, shared, &resident));
    *most = resident * s->device->multiprocessors;
    ANT_CHECK(*most >= 1 && s->device->cooperative, ANTLER_ERROR_DEVICE,
              "the GPU %s cannot run the solver: its blocks have to be resident together; use the CPU",
              s->device->name);
    return ANTLER_OK;
}

/* As many teams at the same time as fit; they take the other replicas afterwards. */
static ant_cuda_grid team_grid(const ant_cuda_solver *s, int blocks, int most, unsigned threads,
                               size_t shared)
{
    const int fit = most / blocks;
    const int teams = s->replicas < (size_t)fit ? (int)s->replicas : fit;
    ant_cuda_grid grid = ant_cuda_grid_1d((unsigned)(teams * blocks), threads);
    grid.shared = shared;
    grid.cooperative = true;
    return grid;
}

static antler_status choose_grids(ant_cuda_solver *s)
{
    int most = 0;
    ANT_TRY(count_resident(s, &s->kernel, (unsigned)s->facts.threads, s->grid.shared, &most));
    if (s->plan.shares) {
        const size_t shared = s->grid.shared;
        s->grid =
            ant_cuda_grid_1d((unsigned)(s->replicas * (size_t)s->plan.blocks), (unsigned)s->facts.threads);
        s->grid.shared = shared;
    } else {
        if (s->plan.segments == 1 && s->plan.blocks > most)
            s->plan.blocks = most;
        ANT_CHECK(s->plan.blocks <= most, ANTLER_ERROR_DEVICE,
                  "the GPU %s has room for %d blocks, not for %d", s->device->name, most, s->plan.blocks);
        s->grid = team_grid(s, s->plan.blocks, most, (unsigned)s->facts.threads, s->grid.shared);
    }
    const unsigned threads = s->sum_grid.block[0];
    ANT_TRY(count_resident(s, &s->sum, threads, s->sum_grid.shared, &most));
    s->sum_blocks = s->plan.sum_blocks < most ? s->plan.sum_blocks : most;
    s->sum_grid = team_grid(s, s->sum_blocks, most, threads, s->sum_grid.shared);
    return ANTLER_OK;
}

static antler_status allocate(ant_cuda_solver *s, ant_cuda_pass *pass)
{
    const size_t R = s->replicas, sequences = R * s->batch, moments = sequences * (s->T + 1),
                 steps = sequences * s->T;
    const size_t blocks = (size_t)s->plan.blocks, real = s->real_bytes;
    const size_t kept = s->facts.keeps_hidden ? steps * (size_t)s->facts.hidden * real : 0;
    const size_t patterns = ant_cuda_patterns_count(pass->work);
    const size_t weights = (size_t)s->facts.pack + patterns * s->patterns.size,
                 words = steps * (size_t)s->facts.masks + (patterns > 0 ? moments : 0);
    const struct {
        ant_cuda_buffer *buffer;
        size_t bytes;
        const char *purpose;
    } wanted[] = {
        {&s->packs, R * weights * real, "the weights"},
        {&s->rows, moments * (size_t)s->facts.row * real, "the states of all steps"},
        {&s->mask, words * sizeof(unsigned), "the active units of all steps"},
        {&s->phi, kept, "the hidden units of all steps"},
        {&s->delta, kept, "the hidden units of all steps"},
        {&s->records, R * 4 * blocks * (size_t)s->facts.record * real, "the borders of segments"},
        {&s->starts, R * 2 * blocks * pass->work->M * real / sizeof(float) * sizeof(uint64_t),
         "the borders of segments"},
        {&s->partial, R * (size_t)s->sum_blocks * (size_t)s->facts.sums * real, "sums over time"},
        {&s->squares, R * blocks * sizeof(double), "sums of squares"},
        {&s->totals, R * (size_t)s->facts.sums * sizeof(double), "sums over time"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        ANT_TRY(ant_cuda_pass_take(pass, wanted[i].bytes, wanted[i].purpose, wanted[i].buffer));
    return ANTLER_OK;
}

/* After `deer` without fallback its trajectory is used as it is: one pass. */
static int most_passes(const antler_settings *set)
{
    return ant_cuda_deer_wanted(set) && !set->fallback ? 1 : (int)set->max_iterations;
}

static solve_args_f64 describe(ant_cuda_solver *s, const ant_cuda_pass *pass)
{
    const ant_engine_learning *work = pass->work;
    const antler_settings *set = work->settings;
    const size_t measured = set->sequence_length - set->warmup;
    const bool single = set->precision == ANTLER_PRECISION_FLOAT;
    const solve_args_f64 p = {
        .T = (int)s->T,
        .batch = (int)s->batch,
        .warmup = (int)set->warmup,
        .segments = s->plan.segments,
        .blocks = s->plan.blocks,
        .max_iterations = most_passes(set),
        .flow = set->teacher == ANTLER_TEACHER_FLOW,
        .replicas = (int)s->replicas,
        .group = s->plan.group,
        .staged = s->staged,
        .sum_blocks = s->sum_blocks,
        .fallback = set->fallback ? s->plan.segments + 1
                                  : 0, /* from the teacher, exact after as many passes as segments */
        .interval = (int)set->forcing_interval,
        .patterns = (int)ant_cuda_patterns_count(work),
        .alpha = set->gtf_alpha,
        .tolerance = set->tolerance > 0.0 ? set->tolerance
                     : single             ? 1e-6
                                          : 1e-12,
        .freeze =
            single ? 1e-3 : 1e-6, /* Newton's next step is then below the tolerance also with the old X */
        .weight = 2.0 / ((double)work->N * (double)measured * (double)s->batch),
        .pack = s->packs.address,
        .x = pass->buffers.x,
        .s = pass->buffers.s,
        .rows = s->rows.address,
        .masks = s->mask.address,
        .hidden = s->phi.address,
        .delta = s->delta.address,
        .records = s->records.address,
        .starts = s->starts.address,
        .partial = s->partial.address,
        .squares = s->squares.address,
        .sums = s->totals.address,
        .arrived = pass->buffers.arrived,
        .facts = pass->buffers.facts,
    };
    if (single)
        s->args.f32 = ant_cuda_solve_args_narrow(&p);
    else
        s->args.f64 = p;
    return p;
}

static antler_status compile_pass(ant_cuda_pass *pass)
{
    const ant_engine_learning *work = pass->work;
    const antler_settings *set = work->settings;
    ANT_CHECK(set->sequence_length < INT32_MAX / 64 && set->batch_size <= INT32_MAX / set->sequence_length,
              ANTLER_ERROR_ARGUMENT,
              "sequence_length %zu with batch_size %zu is too long for the GPU; use device: cpu",
              set->sequence_length, set->batch_size);
    ANT_CHECK(set->forcing_interval <= INT32_MAX, ANTLER_ERROR_ARGUMENT,
              "forcing_interval %zu is too long for the GPU; use device: cpu", set->forcing_interval);
    ant_cuda_solver *s = pass->own = calloc(1, sizeof *s);
    if (s == NULL)
        return ant_fail_memory(sizeof *s, "a solver");
    *s = (ant_cuda_solver){.device = pass->device,
                           .T = set->sequence_length,
                           .batch = set->batch_size,
                           .replicas = work->replicas,
                           .real_bytes = pass->real_bytes};
    pthread_t beside;
    const bool started = pthread_create(&beside, NULL, compile_sums_ahead, pass) == 0;
    const antler_status status = choose(s, work);
    if (started)
        pthread_join(beside, NULL);
    return status == ANTLER_OK ? load_sums(s, work) : status;
}

static antler_status create(ant_cuda_pass *pass)
{
    ant_cuda_solver *s = pass->own;
    ANT_TRY(choose_grids(s));
    ANT_TRY(ant_cuda_patterns_create(pass, &s->patterns));
    ANT_TRY(allocate(s, pass));
    const size_t steps = s->replicas * s->batch * s->T;
    ant_cuda_patterns_point(pass, s->packs.address,
                            s->mask.address + steps * (size_t)s->facts.masks * sizeof(unsigned),
                            &s->patterns);
    const solve_args_f64 args = describe(s, pass);
    pass->solver = s->plan.solver;
    pass->choice = s->plan.choice;
    if (ant_cuda_deer_wanted(pass->work->settings))
        ANT_TRY(ant_cuda_deer_create(pass, &args, s->plan.segments, &s->deer));
    pass->weights = s->packs.address;
    pass->sums = s->totals.address;
    pass->states = s->rows.address;
    pass->row = (size_t)s->facts.row;
    return ANTLER_OK;
}

static void destroy(ant_cuda_pass *pass)
{
    ant_cuda_solver *s = pass->own;
    if (s == NULL)
        return;
    ant_cuda_buffer *const buffers[] = {&s->packs,   &s->rows,   &s->mask,    &s->phi,     &s->delta,
                                        &s->records, &s->starts, &s->partial, &s->squares, &s->totals};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        ant_cuda_free(pass->device, buffers[i]);
    ant_cuda_deer_clear(pass->device, &s->deer);
    ant_cuda_patterns_clear(pass->device, &s->patterns);
    ant_cuda_program_free(s->program);
    ant_cuda_program_free(s->summing);
    free(s);
}

static antler_status launch(ant_cuda_pass *pass)
{
    ant_cuda_solver *s = pass->own;
    ANT_TRY(ant_cuda_patterns_launch(pass->device, &s->patterns));
    if (s->deer.program != NULL)
        ANT_TRY(ant_cuda_deer_launch(pass->device, &s->deer));
    ANT_TRY(ant_cuda_launch(pass->device, &s->kernel, s->grid, ANT_CUDA_ARGS(&s->args)));
    return ant_cuda_launch(pass->device, &s->sum, s->sum_grid, ANT_CUDA_ARGS(&s->args));
}

const ant_cuda_kind ant_cuda_kind_shplrnn = {
    .update = "update.cu",
    .compile = compile_pass,
    .create = create,
    .destroy = destroy,
    .launch = launch,
};
