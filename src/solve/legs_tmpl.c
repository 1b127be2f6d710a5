/*
 * legs_tmpl.c - segments too long for all of their states to be kept.
 *
 * Such a segment is divided into legs of sh->leg steps.  Of each leg only the first state is kept; row k of
 * the group's z belongs to leg k.  Forward, a worker computes the states of one leg after the other in the
 * same small memory, and their squared errors with them.  Backward, it makes the states of each leg again
 * from its first one, from the last leg on.  So the memory of a sequence does not grow with its length, the
 * forward work is done twice, and what a leg needs stays in the cache.
 *
 * A segment that starts again merges at the end of the first leg whose last state is the stored one, to the
 * merge tolerance.
 */
#include "solve/shooting.h"

#include <string.h>

size_t ANT_FN(ant_legs_of)(const shooting *sh, size_t steps)
{
    return sh->leg == 0 ? steps : (steps + sh->leg - 1) / sh->leg;
}

/* Bytes of all states, errors and masks, where they are kept.  The same for kernels without masks. */
static double kept_bytes(const shooting *sh)
{
    enum { WORD = 64 };
    const ant_model_dims *d = &sh->layout->dims;
    const size_t words = (d->L + WORD - 1) / WORD * (d->clipped ? 2 : 1);
    const double row = (double)(2 * d->M + d->N) * sizeof(real) + (double)words * sizeof(uint64_t);
    return (double)sh->T * (double)sh->batch * row;
}

size_t ANT_FN(ant_legs_choose)(const shooting *sh, size_t given)
{
    const bool able = sh->kernels->lanes == 1 && !sh->pulls;
    const bool needed = given > 0 || kept_bytes(sh) > ANT_KEPT_MOST;
    return able && needed ? (given > 0 ? given : ANT_LEG_STEPS) : 0;
}

void ANT_FN(ant_legs_carve)(shooting *sh, ant_arena *arena, size_t workers)
{
    const size_t leg = sh->leg;
    const bool counting = sh->group == NULL;
    sh->legs = ant_arena_take(arena, workers, sizeof *sh->legs);
    for (size_t k = 0; k < workers; k++) {
        const group own = ANT_FN(ant_group_carve)(sh, arena, leg);
        if (!counting)
            sh->legs[k] = own;
    }
}

/* Strengths and weights of a leg, for kernels that do not know the time. */
static void set_time(const shooting *sh, const solve_call *p, group *leg)
{
    for (size_t i = 0; i <= leg->length && !sh->kernels->knows_time; i++) {
        const size_t t = leg->begin + i;
        leg->weight[i] = i > 0 && t > sh->warmup ? p->weight : 0;
        if (i < leg->length)
            leg->strength[i] = (real)p->strength[t];
    }
}

/* Leg k of a group in the memory of a worker, with its first state. */
static group leg_of(const shooting *sh, const solve_call *p, const group *g, size_t k, size_t worker)
{
    const ant_model_dims *d = &sh->layout->dims;
    const size_t first = k * sh->leg, rest = g->length - first;
    group leg = sh->legs[worker];
    leg.begin = g->begin + first;
    leg.length = rest < sh->leg ? rest : sh->leg;
    leg.x = g->x + first * d->N;
    leg.s = d->K == 0 ? g->s : g->s + first * d->K;
    leg.pattern = g->pattern == NULL ? NULL : g->pattern + first;
    memcpy(leg.z, g->z + k * d->M, d->M * sizeof *leg.z);
    set_time(sh, p, &leg);
    return leg;
}

/* max|a - b|; NaN where one is. */
static double largest_gap(const real *a, const real *b, size_t M)
{
    double gap = 0.0;
    for (size_t m = 0; m < M && !isnan(gap); m++) {
        const double one = fabs((double)a[m] - (double)b[m]);
        gap = one <= gap ? gap : one;
    }
    return gap;
}

/* Add the result of a leg to that of the group. */
static void add_result(pass_result *all, const pass_result *leg)
{
    all->steps += leg->steps;
    all->switches += leg->switches;
    all->refused = leg->refused;
    all->size = leg->size <= all->size ? all->size : leg->size;
}

pass_result ANT_FN(ant_legs_forward)(shooting *sh, const solve_call *p, size_t g, double merge, bool trial,
                                     size_t worker, real *scratch)
{
    const size_t M = sh->layout->dims.M, count = ANT_FN(ant_legs_of)(sh, sh->group[g].length);
    group *own = &sh->group[g];
    double *square = sh->leg_square + g * ANT_FN(ant_legs_of)(sh, sh->leg_longest);
    pass_result result = {0};
    for (size_t k = 0; k < count && !result.merged && !result.refused; k++) {
        group leg = leg_of(sh, p, own, k, worker);
        const pass_result one = sh->kernels->forward(p, sh->packed, &leg, -1.0, trial, scratch);
        const real *last = leg.z + leg.length * M;
        real *stored = own->z + (k + 1) * M;
        add_result(&result, &one);
        square[k] = sh->kernels->square(p, &leg);
        result.gap = merge >= 0.0 ? largest_gap(last, stored, M) : 0.0;
        result.merged = merge >= 0.0 && result.gap <= merge;
        if (!result.merged)
            memcpy(stored, last, M * sizeof *stored);
    }
    return result;
}

double ANT_FN(ant_legs_square)(const shooting *sh, size_t g)
{
    const size_t count = ANT_FN(ant_legs_of)(sh, sh->group[g].length);
    const double *square = sh->leg_square + g * ANT_FN(ant_legs_of)(sh, sh->leg_longest);
    double sum = 0.0;
    for (size_t k = 0; k < count; k++)
        sum += square[k];
    return sum;
}

pass_result ANT_FN(ant_legs_backward)(shooting *sh, const solve_call *p, size_t g, bool loss, double floor,
                                      size_t worker, real *scratch, double *sums)
{
    enum { MANY = 65536 }; /* steps after which the sums of a kernel are added in double */
    const ANT_FN(ant_kernels) *kernels = sh->kernels;
    const size_t M = sh->layout->dims.M;
    group *own = &sh->group[g];
    pass_result result = {0};
    real *inject = sh->legs[worker].inject, *border = sh->legs[worker].border;
    memcpy(inject, own->inject, M * sizeof *inject);
    memset(sh->legs[worker].inject_last, 0, M * sizeof *inject);
    size_t since = 0;
    for (size_t k = ANT_FN(ant_legs_of)(sh, own->length); k-- > 0 && !result.merged;) {
        group leg = leg_of(sh, p, own, k, worker);
        kernels->forward(p, sh->packed, &leg, -1.0, false, scratch);
        const pass_result one = kernels->backward(p, sh->packed, &leg, loss, floor, scratch, sums);
        add_result(&result, &one);
        const bool vanished = leg.begin <= sh->warmup && one.gap <= (double)REAL_EPSILON * result.size;
        result.merged = one.merged || (loss && vanished); /* no loss enters before */
        memset(border, 0, result.merged ? M * sizeof *border : 0);
        memcpy(inject, border, M * sizeof *inject);
        since += one.steps;
        if (since >= MANY && kernels->close != NULL) {
            kernels->close(p, sh->packed, scratch, sums);
            kernels->open(&sh->layout->dims, scratch);
            since = 0;
        }
    }
    memcpy(own->border, border, M * sizeof *border);
    return result;
}

void ANT_FN(ant_legs_states)(const shooting *sh, const solve_call *p, size_t g, real *z)
{
    const size_t M = sh->layout->dims.M, count = ANT_FN(ant_legs_of)(sh, sh->group[g].length);
    for (size_t k = 0; k < count; k++) {
        group leg = leg_of(sh, p, &sh->group[g], k, 0);
        sh->kernels->forward(p, sh->packed, &leg, -1.0, false, sh->scratch);
        for (size_t i = 1; i <= leg.length; i++) {
            real *row = z + (k * sh->leg + i - 1) * M;
            memcpy(row, leg.z + i * M, M * sizeof *row);
            if (sh->kernels->leave != NULL)
                sh->kernels->leave(&sh->layout->dims, sh->packed, leg.z + i * M, row);
        }
    }
}
