/*
 * ranks_tmpl.c - ranks that share the slots of a gradient call: what they exchange, and when.
 *
 * A rank has consecutive slots, and so consecutive groups.  After a pass every rank has the results of all
 * groups, with the states at their ends and their maps, or with the gradients at their starts.  What follows
 * is the same small computation on all of them, so that no rank waits for another to decide.  The sums of
 * slots are not added on the way: every rank has those of all slots at the end and folds them from slot 0 on.
 * So the number of ranks changes no bit.
 */
#include "solve/scan.h"
#include "solve/shooting.h"

#include <string.h>

static size_t first_slot(const shooting *sh, size_t rank)
{
    return ant_comm_begin(sh->slots, rank, ant_comm_size(sh->ranks.comm));
}

static size_t first_group(const shooting *sh, size_t rank)
{
    const size_t first = first_slot(sh, rank) * sh->in_slot;
    return first < sh->groups ? first : sh->groups;
}

void ANT_FN(ant_ranks_divide)(shooting *sh)
{
    if (sh->paired || sh->slots == 1)
        sh->ranks.comm = NULL; /* every rank computes all of it */
    const size_t rank = ant_comm_rank(sh->ranks.comm);
    sh->ranks.first = first_group(sh, rank);
    sh->ranks.end = first_group(sh, rank + 1);
    sh->ranks.first_slot = first_slot(sh, rank);
    sh->ranks.slots = first_slot(sh, rank + 1) - sh->ranks.first_slot;
}

void ANT_FN(ant_ranks_carve)(shooting *sh, ant_arena *arena)
{
    ANT_FN(ant_shooting_ranks) *k = &sh->ranks;
    const size_t M = sh->layout->dims.M, values = M * sh->kernels->lanes, size = ant_comm_size(k->comm);
    const size_t most = sizeof(pass_result) + (values + (sh->joined ? M * M + 1 : 0)) * sizeof(real);
    k->slot = ant_arena_take(arena, size + 1, sizeof *k->slot);
    k->group = ant_arena_take(arena, size + 1, sizeof *k->group);
    k->ends = ant_arena_take(arena, sh->groups * values, sizeof *k->ends);
    k->mail = ant_arena_take(arena, sh->groups * most, 1);
    for (size_t r = 0; r <= size && k->mail != NULL; r++) {
        k->slot[r] = first_slot(sh, r);
        k->group[r] = first_group(sh, r);
    }
}

/* A part of the mail of a group: written of the own groups, read of the others. */
static unsigned char *pass_on(unsigned char *mail, bool own, void *values, size_t bytes)
{
    memcpy(own ? (void *)mail : values, own ? values : (void *)mail, bytes);
    return mail + bytes;
}

/* The last state of every lane; a segment may be one step shorter than its group. */
static void keep_end(shooting *sh, size_t g, real *end)
{
    const size_t M = sh->layout->dims.M, lanes = sh->kernels->lanes;
    for (size_t i = 0; i < lanes; i++) {
        const size_t id = g * lanes + i, segment = (id < sh->total ? id : 0) % sh->segments;
        const size_t steps = lanes == 1 ? sh->group[g].length
                                        : ant_scan_border(sh->T, sh->segments, segment + 1) -
                                              ant_scan_border(sh->T, sh->segments, segment);
        for (size_t m = 0; m < M; m++)
            end[m * lanes + i] = sh->group[g].z[(ANT_FN(ant_legs_of)(sh, steps) * M + m) * lanes + i];
    }
}

/* What the forward pass left: with `own` into the mail, else out of it. */
static void mail_forward(shooting *sh, size_t unit, bool own)
{
    const size_t M = sh->layout->dims.M, values = M * sh->kernels->lanes;
    for (size_t g = 0; g < sh->groups; g++) {
        unsigned char *mail = sh->ranks.mail + g * unit;
        real *end = sh->ranks.ends + g * values;
        if (ANT_FN(ant_group_is_own)(sh, g) != own)
            continue;
        if (own)
            keep_end(sh, g, end);
        mail = pass_on(mail, own, &sh->result[g], sizeof(pass_result));
        mail = pass_on(mail, own, end, values * sizeof *end);
        if (!sh->joined)
            continue;
        mail = pass_on(mail, own, &sh->joins.mapped[g], sizeof *sh->joins.mapped);
        pass_on(mail, own, sh->group[g].map, M * M * sizeof(real));
    }
}

void ANT_FN(ant_ranks_share_forward)(shooting *sh)
{
    const size_t M = sh->layout->dims.M, values = M * sh->kernels->lanes;
    const size_t unit = sizeof(pass_result) + values * sizeof(real) +
                        (sh->joined ? sizeof *sh->joins.mapped + M * M * sizeof(real) : 0);
    mail_forward(sh, unit, true);
    (void)ant_comm_share(sh->ranks.comm, sh->ranks.mail, unit, sh->ranks.group); /* the caller checks */
    mail_forward(sh, unit, false);
}

static void mail_backward(shooting *sh, size_t unit, bool own)
{
    const size_t values = sh->layout->dims.M * sh->kernels->lanes;
    for (size_t g = 0; g < sh->groups; g++) {
        unsigned char *mail = sh->ranks.mail + g * unit;
        if (ANT_FN(ant_group_is_own)(sh, g) != own)
            continue;
        mail = pass_on(mail, own, &sh->result[g], sizeof(pass_result));
        pass_on(mail, own, sh->group[g].border, values * sizeof(real));
    }
}

void ANT_FN(ant_ranks_share_backward)(shooting *sh)
{
    const size_t values = sh->layout->dims.M * sh->kernels->lanes;
    const size_t unit = sizeof(pass_result) + values * sizeof(real);
    if (sh->ranks.comm == NULL)
        return;
    mail_backward(sh, unit, true);
    (void)ant_comm_share(sh->ranks.comm, sh->ranks.mail, unit, sh->ranks.group);
    mail_backward(sh, unit, false);
}

void ANT_FN(ant_ranks_share_squares)(shooting *sh)
{
    if (sh->ranks.comm != NULL)
        (void)ant_comm_share(sh->ranks.comm, sh->square, sizeof *sh->square, sh->ranks.group);
}

void ANT_FN(ant_ranks_share_sums)(shooting *sh)
{
    const size_t count = ANT_FN(ant_sums_count)(sh->layout);
    if (sh->ranks.comm == NULL)
        return;
    (void)ant_comm_share(sh->ranks.comm, sh->sums, count * sizeof *sh->sums, sh->ranks.slot);
    if (sh->kernels->join != NULL)
        (void)ant_comm_share(sh->ranks.comm, sh->scratch, sh->scratch_count * sizeof *sh->scratch,
                             sh->ranks.slot);
}
