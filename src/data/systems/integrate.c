/* integrate.c - ARKODE from row to row; its failures become statuses with a message. */
#include "data/systems/integrate.h"

#include "base/machine.h"

#include <math.h>
#include <string.h>

#include <arkode/arkode_erkstep.h>
#include <nvector/nvector_serial.h>

/*
 * A variable that is so many times its typical size has left every attractor that anyone would want to
 * reconstruct.  No more than that: runaways often oscillate the faster the farther they get, and the last
 * decades before overflow would take hours.
 */
static const double far_away = 1e6;

/* So many steps that do not move the clock mean that the step has shrunk to nothing. */
enum { STUCK_STEPS = 16 };

/* Steps between two checks of the clock for a progress report. */
enum { REPORT_STEPS = 64 };

typedef struct solver {
    const ant_integration *job;
    SUNContext context;
    N_Vector state;     /* (dim) */
    N_Vector tolerance; /* (dim), absolute */
    void *erk;
    double now; /* time since the end of the transient; the transient itself is negative */
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

/* The callback of ARKODE.  Positive: the rate is not finite here. */
static int rate_of_change(realtype time, N_Vector state, N_Vector rate, void *cookie)
{
    const ant_integration *job = ((const solver *)cookie)->job;
    const double t = job->t0 + job->transient + time;
    job->system->rhs(t, N_VGetArrayPointer(state), job->parameters, N_VGetArrayPointer(rate));
    return all_finite(N_VGetArrayPointer(rate), job->system->info.dim) ? 0 : 1;
}

/* Keeps ARKODE from printing: failures are reported by status and message. */
static void ignore_message(int code, const char *module, const char *function, char *message, void *cookie)
{
    (void)code, (void)module, (void)function, (void)message, (void)cookie;
}

/* The first variable out of bounds or not a number; dim when there is none. */
static size_t first_beyond(const solver *s)
{
    const ant_system *system = s->job->system;
    const double *state = N_VGetArrayPointer(s->state);
    size_t i = 0;
    while (i < system->info.dim && fabs(state[i]) <= far_away * system->spread[i])
        i++;
    return i;
}

static antler_status fail_diverged(const solver *s)
{
    const antler_system_info *info = &s->job->system->info;
    const double elapsed = s->now + s->job->transient;
    const size_t beyond = first_beyond(s);
    if (beyond < info->dim)
        return ant_fail(ANTLER_DIVERGED,
                        "%s left every bound %g time units after its start (%s is %g): check the parameters "
                        "and the initial state",
                        info->name, elapsed, info->variables[beyond], N_VGetArrayPointer(s->state)[beyond]);
    return ant_fail(ANTLER_DIVERGED,
                    "%s has a rate of change that is not finite %g time units after its start: check the "
                    "parameters and the initial state",
                    info->name, elapsed);
}

static antler_status fail_step(const solver *s, int flag)
{
    const char *name = s->job->system->info.name;
    switch (flag) {
    case ARK_RHSFUNC_FAIL:
    case ARK_FIRST_RHSFUNC_ERR:
    case ARK_REPTD_RHSFUNC_ERR:
    case ARK_UNREC_RHSFUNC_ERR:
        return fail_diverged(s);
    case ARK_MEM_FAIL:
        return ant_fail(ANTLER_ERROR_MEMORY, "out of memory in the integrator of %s", name);
    case ARK_ERR_FAILURE:
    case ARK_TOO_MUCH_ACC:
    case ARK_TOO_CLOSE:
    case ARK_SUCCESS:
        return ant_fail(ANTLER_NOT_CONVERGED,
                        "%s: no step is small enough for the tolerance %g, %g time units after the start: "
                        "raise the tolerance or check the parameters",
                        name, s->job->tolerance, s->now + s->job->transient);
    default:
        return ant_fail(ANTLER_ERROR_INTERNAL, "%s: the integrator failed with ARKODE code %d", name, flag);
    }
}

static antler_status report(solver *s)
{
    const ant_integration *job = s->job;
    if (job->progress.fn == NULL || s->steps++ % REPORT_STEPS != 0 || !ant_progress_due(&s->last_report))
        return ANTLER_OK;
    const double whole = job->transient + (double)(job->length - 1) * job->dt;
    return ant_progress_report(job->progress, "simulating", (s->now + job->transient) / whole);
}

/* Integrate to `target`, which lies ahead, and stop exactly there. */
static antler_status advance(solver *s, double target)
{
    if (ERKStepSetStopTime(s->erk, target) != ARK_SUCCESS)
        return ant_fail(ANTLER_ERROR_INTERNAL, "the integrator refused the stop time %g", target);
    int stuck = 0;
    while (s->now < target) {
        ANT_TRY(report(s));
        const double before = s->now;
        const int flag = ERKStepEvolve(s->erk, target, s->state, &s->now, ARK_ONE_STEP);
        if (flag < 0)
            return fail_step(s, flag);
        if (first_beyond(s) < s->job->system->info.dim)
            return fail_diverged(s);
        stuck = s->now > before ? 0 : stuck + 1;
        if (stuck == STUCK_STEPS)
            return fail_step(s, ARK_SUCCESS);
    }
    return ANTLER_OK;
}

static antler_status solver_create(solver *s, const ant_integration *job)
{
    const size_t dim = job->system->info.dim;
    *s = (solver){.job = job, .now = -job->transient};
    if (SUNContext_Create(NULL, &s->context) != 0)
        return ant_fail(ANTLER_ERROR_MEMORY, "out of memory: the integrator has no context");
    s->state = N_VNew_Serial((sunindextype)dim, s->context);
    s->tolerance = N_VNew_Serial((sunindextype)dim, s->context);
    /* Fused linear combinations save a quarter of the time on systems this small. */
    if (s->state == NULL || s->tolerance == NULL || N_VEnableFusedOps_Serial(s->state, SUNTRUE) != 0)
        return ant_fail_memory(2 * dim * sizeof(double), "the state of the integrator");
    memcpy(N_VGetArrayPointer(s->state), job->initial, dim * sizeof(double));
    for (size_t i = 0; i < dim; i++)
        N_VGetArrayPointer(s->tolerance)[i] = job->tolerance * job->system->spread[i];

    s->erk = ERKStepCreate(rate_of_change, s->now, s->state, s->context);
    if (s->erk == NULL)
        return ant_fail(ANTLER_ERROR_MEMORY, "out of memory: the integrator could not be made");
    if (ERKStepSetErrHandlerFn(s->erk, ignore_message, NULL) != ARK_SUCCESS ||
        ERKStepSetUserData(s->erk, s) != ARK_SUCCESS ||
        ERKStepSetTableNum(s->erk, ARKODE_DORMAND_PRINCE_7_4_5) != ARK_SUCCESS ||
        ERKStepSVtolerances(s->erk, job->tolerance, s->tolerance) != ARK_SUCCESS)
        return ant_fail(ANTLER_ERROR_INTERNAL, "the integrator refused its settings");
    return ANTLER_OK;
}

static void solver_destroy(solver *s)
{
    if (s->erk != NULL)
        ERKStepFree(&s->erk);
    if (s->state != NULL)
        N_VDestroy(s->state);
    if (s->tolerance != NULL)
        N_VDestroy(s->tolerance);
    if (s->context != NULL)
        SUNContext_Free(&s->context);
}

antler_status ant_integrate(const ant_integration *job, double *x)
{
    const size_t dim = job->system->info.dim;
    solver s;
    antler_status status = solver_create(&s, job);
    for (size_t k = 0; k < job->length && status == ANTLER_OK; k++) {
        status = advance(&s, (double)k * job->dt);
        if (status == ANTLER_OK)
            memcpy(x + k * dim, N_VGetArrayPointer(s.state), dim * sizeof *x);
    }
    solver_destroy(&s);
    return status;
}
