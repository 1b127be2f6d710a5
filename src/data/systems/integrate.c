/* integrate.c - from row to row; failures of the method become statuses with a message. */
#include "data/systems/integrate.h"

#include "base/machine.h"
#include "data/systems/dormand_prince.h"

#include <math.h>
#include <string.h>

/*
 * A variable that is so many times its typical size has left every attractor that could be reconstructed.  No
 * more than that: runaways often oscillate the faster the farther they get, and the last
 * decades before overflow would take hours.
 */
static const double far_away = 1e6;

/* So many steps that do not move the clock mean that the step has shrunk to nothing. */
enum { STUCK_STEPS = 16 };

/* Steps between two checks of the clock for a progress report. */
enum { REPORT_STEPS = 64 };

typedef struct solver {
    const ant_integration *job;
    ant_arena arena;
    ant_dp dp;         /* its time is that since the end of the transient; the transient itself is negative */
    double *tolerance; /* (dim), absolute */
    size_t steps;
    double last_report;
} solver;

static bool all_finite(const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i]))
            return false;
    }
    return true;
}

static bool rate_of_change(const void *cookie, double time, const double *state, double *rate)
{
    const ant_integration *job = cookie;
    job->system->rhs(job->t0 + job->transient + time, state, job->parameters, rate);
    return all_finite(rate, job->system->info.dim);
}

/* The first variable out of bounds or not a number; dim when there is none. */
static size_t first_beyond(const solver *s)
{
    const ant_system *system = s->job->system;
    const double *state = s->dp.y;
    size_t i = 0;
    while (i < system->info.dim && fabs(state[i]) <= far_away * system->spread[i])
        i++;
    return i;
}

static antler_status fail_diverged(const solver *s)
{
    const antler_system_info *info = &s->job->system->info;
    const double elapsed = s->dp.t + s->job->transient;
    const size_t beyond = first_beyond(s);
    if (beyond < info->dim)
        return ant_fail(ANTLER_DIVERGED,
                        "%s left every bound %g time units after its start (%s is %g): check the parameters "
                        "and the initial state",
                        info->name, elapsed, info->variables[beyond], s->dp.y[beyond]);
    return ant_fail(ANTLER_DIVERGED,
                    "%s has a rate of change that is not finite %g time units after its start: check the "
                    "parameters and the initial state",
                    info->name, elapsed);
}

static antler_status fail_step(const solver *s)
{
    return ant_fail(ANTLER_NOT_CONVERGED,
                    "%s: no step is small enough for the tolerance %g, %g time units after the start: "
                    "raise the tolerance or check the parameters",
                    s->job->system->info.name, s->job->tolerance, s->dp.t + s->job->transient);
}

static antler_status report(solver *s)
{
    const ant_integration *job = s->job;
    if (job->progress.fn == NULL || s->steps++ % REPORT_STEPS != 0 || !ant_progress_due(&s->last_report))
        return ANTLER_OK;
    const double whole = job->transient + (double)(job->length - 1) * job->dt;
    return ant_progress_report(job->progress, "simulating", (s->dp.t + job->transient) / whole);
}

/* Integrate to `target`, which lies ahead, and stop exactly there. */
static antler_status advance(solver *s, double target)
{
    int stuck = 0;
    while (s->dp.t < target) {
        ANT_TRY(report(s));
        const double before = s->dp.t;
        const ant_dp_outcome outcome = ant_dp_step(&s->dp, target);
        if (outcome == ANT_DP_TOO_SMALL)
            return fail_step(s);
        if (outcome == ANT_DP_NOT_FINITE || first_beyond(s) < s->job->system->info.dim)
            return fail_diverged(s);
        stuck = s->dp.t > before ? 0 : stuck + 1;
        if (stuck == STUCK_STEPS)
            return fail_step(s);
    }
    return ANTLER_OK;
}

static void carve(solver *s, size_t dim)
{
    ant_dp_carve(&s->dp, &s->arena, dim);
    s->tolerance = ant_arena_take(&s->arena, dim, sizeof *s->tolerance);
}

static antler_status solver_create(solver *s, const ant_integration *job)
{
    const size_t dim = job->system->info.dim;
    *s = (solver){.job = job};
    ant_arena_count(&s->arena);
    carve(s, dim);
    ANT_TRY(ant_arena_create(&s->arena, s->arena.used));
    carve(s, dim);
    memcpy(s->dp.y, job->initial, dim * sizeof(double));
    for (size_t i = 0; i < dim; i++)
        s->tolerance[i] = job->tolerance * job->system->spread[i];
    s->dp.t = -job->transient;
    s->dp.rate = rate_of_change;
    s->dp.cookie = job;
    s->dp.relative = job->tolerance;
    s->dp.absolute = s->tolerance;
    ant_dp_begin(&s->dp);
    return ANTLER_OK;
}

antler_status ant_integrate(const ant_integration *job, double *x)
{
    const size_t dim = job->system->info.dim;
    solver s;
    antler_status status = solver_create(&s, job);
    for (size_t k = 0; k < job->length && status == ANTLER_OK; k++) {
        status = advance(&s, (double)k * job->dt);
        if (status == ANTLER_OK)
            memcpy(x + k * dim, s.dp.y, dim * sizeof *x);
    }
    ant_arena_destroy(&s.arena);
    return status;
}
