/* shplrnn_plan.c - how the work of a shPLRNN is divided on the GPU. */
#include "engine/cuda/shplrnn_pass.h"

#include <stdio.h>

enum {
    LONG = 1024,         /* steps from which segments pay */
    MANY = 132,          /* sequences from which there is enough work without segments */
    SHORT_CHAIN = 16,    /* blocks up to which groups, which cost a barrier, do not pay */
    NEWTON_LARGEST = 32, /* latent units up to which border matrices are full */
};

static int least(size_t a, size_t b)
{
    return (int)(a < b ? a : b);
}

/* One warp per sequence; as few warps in a block as still give every run its own multiprocessors. */
static void choose_sequential(const ant_engine_learning *work, int multiprocessors, int most_warps,
                              ant_cuda_plan *plan)
{
    const size_t batch = work->settings->batch_size, runs = work->settings->runs;
    plan->warps = least(runs * ((batch + 3) / 4) <= (size_t)multiprocessors ? 4 : 8, (size_t)most_warps);
    plan->newton = 0;
    plan->segments = 1;
    plan->blocks = least((batch + (size_t)plan->warps - 1) / (size_t)plan->warps, (size_t)multiprocessors);
    plan->solver = "sequential";
}

static void choose_shooting(const ant_engine_learning *work, int multiprocessors, int most_warps,
                            ant_cuda_plan *plan)
{
    const antler_settings *s = work->settings;
    plan->newton = work->M <= NEWTON_LARGEST;
    plan->warps = least(8, (size_t)most_warps);
    plan->blocks = s->runs < (size_t)multiprocessors ? multiprocessors / (int)s->runs : 1;
    const size_t workers = (size_t)plan->blocks * (size_t)plan->warps;
    plan->segments = least(s->sequence_length > 1 ? s->sequence_length / 2 : 1, workers / s->batch_size);
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

void ant_cuda_plan_choose(const ant_engine_learning *work, int multiprocessors, int most_warps,
                          ant_cuda_plan *plan)
{
    const antler_settings *s = work->settings;
    const bool wanted = s->solver == ANTLER_SOLVER_SHOOTING || ant_cuda_deer_wanted(s);
    const bool pays = s->sequence_length >= LONG && s->batch_size < MANY;
    *plan = (ant_cuda_plan){.segments = 1};
    if (wanted || (s->solver == ANTLER_SOLVER_AUTO && pays))
        choose_shooting(work, multiprocessors, most_warps, plan);
    if (plan->segments <= 1)
        choose_sequential(work, multiprocessors, most_warps, plan);
    plan->group = choose_group(plan->blocks);
    if (plan->segments == 1) {
        snprintf(plan->choice, sizeof plan->choice,
                 "sequential on the GPU, a warp per sequence, because %s; %d block%s of %d warps per run",
                 s->solver == ANTLER_SOLVER_SEQUENTIAL ? "the settings say so"
                 : s->sequence_length < LONG           ? "sequences are short"
                                                       : "there are many sequences",
                 plan->blocks, plan->blocks == 1 ? "" : "s", plan->warps);
        return;
    }
    snprintf(plan->choice, sizeof plan->choice,
             "shooting on the GPU, %d segments per sequence joined by Newton's method with %s, because "
             "%s; %d block%s of %d warps per run",
             plan->segments, plan->newton ? "full matrices" : "diagonals",
             wanted ? "the settings say so" : "sequences are long and few", plan->blocks,
             plan->blocks == 1 ? "" : "s", plan->warps);
}
