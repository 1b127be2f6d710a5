/* deer.c - the launch of kernels/deer.cu: compilation, division of work, buffers, arguments. */
#include "engine/cuda/deer.h"

#include "base/random.h"
#include "engine/cuda/patterns_cuda.h"

#include <stdio.h>

enum {
    LATENT_MOST = 256, /* one thread of a block for each */
    SEGMENT_STEPS = 4, /* in a segment, at least */
    SEGMENTS_PAY = 3,  /* a segment is traversed twice, a whole sequence once */
};

_Static_assert((int)ANTLER_START_PINV == START_PINV && (int)ANTLER_START_ZERO == START_ZERO &&
                   (int)ANTLER_START_NORMAL == START_NORMAL,
               "antler_start");
_Static_assert((int)ANT_PURPOSE_NEWTON_START == PURPOSE_NEWTON_START, "ant_purpose");

bool ant_cuda_deer_wanted(const antler_settings *settings)
{
    return settings->solver == ANTLER_SOLVER_DEER || settings->solver == ANTLER_SOLVER_QUASI_DEER;
}

static bool is_diagonal(const ant_cuda_pass *pass)
{
    return pass->work->settings->solver == ANTLER_SOLVER_QUASI_DEER;
}

static const char *name_of(const ant_cuda_pass *pass)
{
    return is_diagonal(pass) ? "quasi-deer" : "deer";
}

static antler_status compile(ant_cuda_pass *pass, ant_cuda_deer *d)
{
    char shared_limit[32];
    const char *const more[] = {is_diagonal(pass) ? "-DDIAGONAL=1" : "-DDIAGONAL=0", shared_limit,
                                ant_cuda_patterns_option(pass->work)};
    const size_t bytes = pass->real_bytes == sizeof(float) ? sizeof(deer_args_f32) : sizeof(deer_args_f64);
    struct deer_variant facts;
    ANT_CHECK(pass->work->M <= LATENT_MOST, ANTLER_ERROR_DEVICE,
              "%s on the GPU takes up to %d latent units, not %zu; use solver: shooting or device: cpu",
              name_of(pass), LATENT_MOST, pass->work->M);
    snprintf(shared_limit, sizeof shared_limit, "-DSHARED_LIMIT=%d", pass->device->shared_per_block);
    ANT_TRY(ant_cuda_compile_shape(pass->device, "deer.cu", pass->work, more, more[2] != NULL ? 3 : 2,
                                   &d->program));
    ANT_TRY(ant_cuda_program_kernel(d->program, "deer", &d->kernel));
    ANT_TRY(ant_cuda_read_facts(pass->device, d->program, "deer_facts", &facts, sizeof facts));
    ANT_CHECK((size_t)facts.args_bytes == bytes, ANTLER_ERROR_INTERNAL,
              "deer_args has %d bytes in the kernels and %zu here", facts.args_bytes, bytes);
    ANT_CHECK(facts.shared_bytes <= pass->device->shared_per_block, ANTLER_ERROR_DEVICE,
              "a model of M = %zu and L = %zu needs %d bytes of shared memory, and %s has %d; use solver: "
              "shooting",
              pass->work->M, pass->work->L, facts.shared_bytes, pass->device->name,
              pass->device->shared_per_block);
    d->block_segments = facts.segments;
    d->map = facts.map;
    d->grid = ant_cuda_grid_1d(1, (unsigned)facts.threads);
    d->grid.shared = (size_t)facts.shared_bytes;
    d->grid.cooperative = true;
    return ant_cuda_kernel_allow_shared(pass->device, &d->kernel, d->grid.shared);
}

/* By the settings and the GPU alone, as shplrnn_plan.c: enough segments for all blocks of a run. */
static antler_status divide(ant_cuda_pass *pass, ant_cuda_deer *d)
{
    const antler_settings *set = pass->work->settings;
    const ant_cuda_device *device = pass->device;
    int resident = 0;
    ANT_TRY(ant_cuda_kernel_occupancy(pass->device, &d->kernel, d->grid.block[0], d->grid.shared, &resident));
    ANT_CHECK(resident >= 1 && device->cooperative, ANTLER_ERROR_DEVICE,
              "the GPU %s cannot run the solver: its blocks have to be resident together; use the CPU",
              device->name);
    const size_t processors = (size_t)device->multiprocessors, block_segments = (size_t)d->block_segments;
    const size_t most = set->runs < processors ? processors / set->runs : 1;
    size_t segments = most * block_segments / set->batch_size;
    if (segments > set->sequence_length / SEGMENT_STEPS)
        segments = set->sequence_length / SEGMENT_STEPS;
    if (segments < SEGMENTS_PAY)
        segments = 1;
    const size_t blocks = (segments * set->batch_size + block_segments - 1) / block_segments;
    d->segments = (int)segments;
    d->blocks = (int)(blocks < most ? blocks : most);
    const size_t fit = (size_t)resident * processors / (size_t)d->blocks, replicas = pass->work->replicas;
    d->grid.grid[0] = (unsigned)((replicas < fit ? replicas : fit) * (size_t)d->blocks);
    return ANTLER_OK;
}

static antler_status allocate(ant_cuda_pass *pass, ant_cuda_deer *d)
{
    const size_t R = pass->work->replicas, batch = pass->work->settings->batch_size;
    const size_t maps = R * ((size_t)d->segments * batch + (size_t)d->blocks) * (size_t)d->map;
    ANT_TRY(ant_cuda_pass_take(pass, maps * pass->real_bytes, "the maps of segments", &d->maps));
    return ant_cuda_pass_take(pass, R * 3 * batch * sizeof(unsigned), "changes", &d->changes);
}

static void describe(const ant_cuda_pass *pass, const solve_args_f64 *args, ant_cuda_deer *d)
{
    const antler_settings *set = pass->work->settings;
    const bool single = set->precision == ANTLER_PRECISION_FLOAT;
    deer_args_f64 p = {.solve = *args,
                       .seed = set->seed,
                       .start = (int64_t)set->start,
                       .maps = d->maps.address,
                       .changes = d->changes.address};
    p.solve.segments = d->segments;
    p.solve.blocks = d->blocks;
    p.solve.max_iterations = (int)set->max_iterations;
    p.solve.fallback = set->fallback;
    p.solve.tolerance = set->tolerance > 0.0 ? set->tolerance : single ? 1e-4 : 1e-10; /* as on the CPU */
    if (single)
        d->args.f32 = (deer_args_f32){.solve = ant_cuda_solve_args_narrow(&p.solve),
                                      .seed = p.seed,
                                      .start = p.start,
                                      .maps = p.maps,
                                      .changes = p.changes};
    else
        d->args.f64 = p;
}

antler_status ant_cuda_deer_create(ant_cuda_pass *pass, const solve_args_f64 *args, int solve_segments,
                                   ant_cuda_deer *deer)
{
    ANT_TRY(compile(pass, deer));
    ANT_TRY(divide(pass, deer));
    ANT_TRY(allocate(pass, deer));
    describe(pass, args, deer);
    pass->solver = name_of(pass);
    pass->choice = deer->choice;
    char division[100] = "whole sequences";
    if (deer->segments > 1)
        snprintf(division, sizeof division, "%d segments per sequence joined with %s", deer->segments,
                 is_diagonal(pass) ? "diagonals" : "full matrices");
    snprintf(deer->choice, sizeof deer->choice,
             "%s on the GPU, Newton's method on all steps, %s, because the settings say so; %d block%s of %u "
             "warps per run, then %d segments for loss and gradient",
             pass->solver, division, deer->blocks, deer->blocks == 1 ? "" : "s", deer->grid.block[0] / 32,
             solve_segments);
    return ANTLER_OK;
}

void ant_cuda_deer_clear(ant_cuda_device *device, ant_cuda_deer *deer)
{
    ant_cuda_free(device, &deer->maps);
    ant_cuda_free(device, &deer->changes);
    ant_cuda_program_free(deer->program);
}

antler_status ant_cuda_deer_launch(ant_cuda_device *device, ant_cuda_deer *deer)
{
    return ant_cuda_launch(device, &deer->kernel, deer->grid, ANT_CUDA_ARGS(&deer->args));
}
