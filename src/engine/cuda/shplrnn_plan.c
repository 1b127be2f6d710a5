/* shplrnn_plan.c - how the work of a shPLRNN is divided on the GPU. */
#include "engine/cuda/shplrnn_pass.h"

#include <stdio.h>

enum {
    LONG = 1024,     /* steps from which segments pay */
    MANY = 132,      /* sequences from which there is enough work without segments */
    IDLE_LONG = 256, /* steps from which they pay where each sequence finds IDLE_SEGMENTS idle warps */
    IDLE_SEGMENTS = 8,
    SHOOTING_WARPS = 8,     /* of a block with segments, at most */
    SHORT_CHAIN = 16,       /* blocks up to which groups, which cost a barrier, do not pay */
    NEWTON_LARGEST = 32,    /* latent units up to which border matrices are full */
    ROWS_MOST = 32,         /* latent units up to which the warps of a block can share a sequence */
    WARPS_MOST = 8,         /* of a block of sequences.cu */
    WEIGHTS_MOST = 128,     /* registers of a thread of it for weights */
    WARP_WEIGHTS_MOST = 88, /* the same of a warp per sequence (REGISTER_LIMIT of products.cuh) */
    FEW_UNITS = 2,          /* hidden units of a thread that take little beside the rest of a step */
    FEW_ROWS = 8,           /* latent units up to which a state is exchanged in registers (REPLICATED) */
    STEPS_OF_SUMS = 32,     /* steps below which another block of sums.cu does not pay */
};

static int least(size_t a, size_t b)
{
    return (int)(a < b ? a : b);
}

/* One warp per sequence; as few warps in a block as still give every run its own multiprocessors. */
static void choose_warp_per_sequence(const ant_engine_learning *work, int multiprocessors, int most_warps,
                                     ant_cuda_plan *plan)
{
    const size_t batch = work->settings->batch_size, runs = work->settings->runs;
    plan->warps = least(runs * ((batch + 3) / 4) <= (size_t)multiprocessors ? 4 : 8, (size_t)most_warps);
    plan->blocks = least((batch + (size_t)plan->warps - 1) / (size_t)plan->warps, (size_t)multiprocessors);
}

/* Registers for the weights of a thread of sequences.cu where `warps` share the hidden units. */
static size_t weights_of(const ant_engine_learning *work, size_t warps)
{
    const size_t groups = (work->L + 31) / 32, held = (groups + warps - 1) / warps;
    return 3 * work->M * held * (work->settings->precision == ANTLER_PRECISION_FLOAT ? 1 : 2);
}

/* Whether the weights fit into the registers of a warp. */
static bool fits_warp(const ant_engine_learning *work)
{
    const size_t units = (work->L + 31) / 32,
                 words = work->settings->precision == ANTLER_PRECISION_FLOAT ? 1 : 2;
    return 2 * work->M * units * words <= WARP_WEIGHTS_MOST;
}

/* Whether a block is better than a warp for each of many sequences: the weights do not fit into a warp, or
   steps are so short that their latency counts. */
static bool sharing_pays(const ant_engine_learning *work)
{
    return !fits_warp(work) || (work->L <= 32 * FEW_UNITS && work->M <= FEW_ROWS);
}

/* The warps of a block of sequences.cu: as few as have room for their weights in registers or, with a
   multiprocessor for each sequence, as give a thread few hidden units.  0: a warp per sequence is better,
   there are too many weights, or the projection changes from step to step. */
static int choose_sharing_warps(const ant_engine_learning *work, int multiprocessors)
{
    const antler_settings *s = work->settings;
    const bool varies = work->lacks != NULL || s->forcing_interval > 0,
               few = s->runs * s->batch_size <= (size_t)multiprocessors;
    size_t warps = 1;
    while (warps < WARPS_MOST &&
           (weights_of(work, warps) > WEIGHTS_MOST || (few && work->L > 32 * FEW_UNITS * warps)))
        warps *= 2;
    const bool possible = !varies && work->M <= ROWS_MOST && weights_of(work, warps) <= WEIGHTS_MOST;
    return possible && (few || sharing_pays(work)) ? (int)warps : 0;
}

static void choose_sequential(const ant_engine_learning *work, int multiprocessors, int most_warps,
                              ant_cuda_plan *plan)
{
    const antler_settings *s = work->settings;
    const size_t steps = s->batch_size * s->sequence_length, own = (size_t)multiprocessors / s->runs;
    plan->newton = 0;
    plan->segments = 1;
    plan->solver = "sequential";
    plan->warps = choose_sharing_warps(work, multiprocessors);
    plan->shares = plan->warps > 0;
    plan->blocks = (int)s->batch_size;
    if (!plan->shares)
        choose_warp_per_sequence(work, multiprocessors, most_warps, plan);
    plan->sum_blocks = least(own > 0 ? own : 1, (steps + STEPS_OF_SUMS - 1) / STEPS_OF_SUMS);
}

/* Blocks of one run that are resident beside those of the others. */
static int blocks_of_run(const antler_settings *s, int multiprocessors)
{
    return s->runs < (size_t)multiprocessors ? multiprocessors / (int)s->runs : 1;
}

/* Warps for the segments of one sequence. */
static size_t most_segments(const antler_settings *s, int multiprocessors, size_t warps)
{
    return (size_t)blocks_of_run(s, multiprocessors) * warps / s->batch_size;
}

static void choose_shooting(const ant_engine_learning *work, int multiprocessors, int most_warps,
                            ant_cuda_plan *plan)
{
    const antler_settings *s = work->settings;
    plan->newton = work->M <= NEWTON_LARGEST;
    plan->warps = least(SHOOTING_WARPS, (size_t)most_warps);
    plan->blocks = blocks_of_run(s, multiprocessors);
    plan->segments = least(s->sequence_length > 1 ? s->sequence_length / 2 : 1,
                           most_segments(s, multiprocessors, (size_t)plan->warps));
    plan->sum_blocks = plan->blocks;
    plan->solver = "shooting";
}

/* As many groups as blocks in a group, where that is shorter than one chain over all blocks. */
static int choose_group(int blocks)
{
    int group = 1;
    while (group * group < blocks)
        group++;
    return blocks <= SHORT_CHAIN ? blocks : group;
}

/* Whether `auto` cuts sequences into segments. */
static bool segments_pay(const ant_engine_learning *work, int multiprocessors)
{
    const antler_settings *s = work->settings;
    if (s->sequence_length >= LONG)
        return s->batch_size < MANY;
    return s->sequence_length >= IDLE_LONG && fits_warp(work) &&
           most_segments(s, multiprocessors, SHOOTING_WARPS) >= IDLE_SEGMENTS;
}

void ant_cuda_plan_choose(const ant_engine_learning *work, int multiprocessors, int most_warps,
                          ant_cuda_plan *plan)
{
    const antler_settings *s = work->settings;
    const bool wanted = s->solver == ANTLER_SOLVER_SHOOTING || ant_cuda_deer_wanted(s);
    *plan = (ant_cuda_plan){.segments = 1};
    if (wanted || (s->solver == ANTLER_SOLVER_AUTO && segments_pay(work, multiprocessors)))
        choose_shooting(work, multiprocessors, most_warps, plan);
    if (plan->segments <= 1)
        choose_sequential(work, multiprocessors, most_warps, plan);
    plan->group = choose_group(plan->blocks);
    if (plan->segments == 1) {
        snprintf(plan->choice, sizeof plan->choice,
                 "sequential on the GPU, %s, because %s; %d block%s of %d warp%s per run",
                 plan->shares ? "a block per sequence" : "a warp per sequence",
                 s->solver == ANTLER_SOLVER_SEQUENTIAL ? "the settings say so"
                 : s->sequence_length < IDLE_LONG      ? "sequences are short"
                                                       : "there are many sequences",
                 plan->blocks, plan->blocks == 1 ? "" : "s", plan->warps, plan->warps == 1 ? "" : "s");
        return;
    }
    snprintf(plan->choice, sizeof plan->choice,
             "shooting on the GPU, %d segments per sequence joined by Newton's method with %s, because "
             "%s; %d block%s of %d warps per run",
             plan->segments, plan->newton ? "full matrices" : "diagonals",
             wanted ? "the settings say so" : "sequences are long and few", plan->blocks,
             plan->blocks == 1 ? "" : "s", plan->warps);
}
