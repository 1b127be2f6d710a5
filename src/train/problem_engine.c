/* problem_engine.c - a problem that is solved on an engine, as one replica of a learner. */
#include "base/machine.h"
#include "train/agreement.h"
#include "train/problem.h"

#include <math.h>
#include <stdlib.h>

typedef struct problem {
    ant_problem_config config;
    const ant_learner_ops *ops;
    void *learner;
    double *parameters, *nothing; /* (total): nothing is zero */
    double *x, *s;                /* (batch, T+1, N), (batch, T, K) */
    double *states, *gradient;    /* (batch, T, M), (total) */
    ant_lacks lacks;              /* missing values of x */
    bool sent;                    /* the learner has x and s */
    bool fresh;                   /* states and gradient are those of the last solve */
    antler_status fault;          /* of a call without a status; returned by the next solve */
    double seconds;
} problem;

static void release(void *opaque)
{
    problem *p = opaque;
    if (p == NULL)
        return;
    if (p->learner != NULL)
        p->ops->free(p->learner);
    free(p->parameters);
    free(p->nothing);
    free(p->x);
    free(p->s);
    free(p->states);
    free(p->gradient);
    ant_lacks_free(&p->lacks);
    free(p);
}

static antler_status take_memory(problem *p)
{
    const ant_model_dims *d = &p->config.layout.dims;
    const size_t T = p->config.T, batch = p->config.batch, total = p->config.layout.total;
    p->parameters = calloc(total, sizeof *p->parameters);
    p->nothing = calloc(total, sizeof *p->nothing);
    p->x = calloc(batch * (T + 1) * d->N, sizeof *p->x);
    p->s = calloc(batch * T * d->K + 1, sizeof *p->s);
    p->states = calloc(batch * T * d->M, sizeof *p->states);
    p->gradient = calloc(total, sizeof *p->gradient);
    if (p->parameters == NULL || p->nothing == NULL || p->x == NULL || p->s == NULL || p->states == NULL ||
        p->gradient == NULL)
        return ant_fail_memory(batch * (T + 1) * (d->N + d->M) * sizeof *p->x, "a problem");
    return ANTLER_OK;
}

/* Its data come by set_windows. */
static antler_status create_learner(problem *p, void **learner)
{
    static const uint32_t name = 1;
    ant_engine_learning work = ant_learning_describe(&p->config.settings, &p->config.layout);
    work.replicas = 1;
    work.runs = &name;
    work.lacks = p->lacks.count > 0 ? &p->lacks : NULL;
    return p->ops->create(&work, learner);
}

static antler_status create(const ant_problem_config *config, void **opaque)
{
    problem *p = calloc(1, sizeof *p);
    if (p == NULL)
        return ant_fail_memory(sizeof *p, "a problem");
    p->config = *config;
    p->ops = config->engine->learner;
    p->config.settings.runs = 1;
    antler_status status = take_memory(p);
    if (status == ANTLER_OK)
        status = create_learner(p, &p->learner);
    if (status != ANTLER_OK) {
        release(p);
        return status;
    }
    *opaque = p;
    return ANTLER_OK;
}

static const char *choice(const void *opaque)
{
    const problem *p = opaque;
    return p->ops->choice(p->learner);
}

static size_t bytes(const void *opaque)
{
    const problem *p = opaque;
    return p->ops->bytes(p->learner);
}

static void send_parameters(problem *p)
{
    p->fresh = false;
    p->fault = p->ops->put(p->learner, 0, 0, p->parameters, p->nothing, p->nothing);
}

static antler_status initialise(void *opaque)
{
    problem *p = opaque;
    ANT_TRY(ant_model_initialise_f64(&p->config.layout, p->config.initialisation, p->config.seed, 1,
                                     p->parameters));
    send_parameters(p);
    return p->fault;
}

/* Rounded to the precision: the comparison starts from the same numbers. */
static void copy(const problem *p, const double *from, size_t count, double *to)
{
    const bool single = p->config.settings.precision == ANTLER_PRECISION_FLOAT;
    for (size_t i = 0; i < count; i++)
        to[i] = single ? (double)(float)from[i] : from[i];
}

static void set_parameters(void *opaque, const double *parameters)
{
    problem *p = opaque;
    copy(p, parameters, p->config.layout.total, p->parameters);
    send_parameters(p);
}

static void set_data(void *opaque, const double *x, const double *inputs)
{
    problem *p = opaque;
    const ant_model_dims *d = &p->config.layout.dims;
    copy(p, x, p->config.batch * (p->config.T + 1) * d->N, p->x);
    if (d->K > 0)
        copy(p, inputs, p->config.batch * p->config.T * d->K, p->s);
    p->fresh = p->sent = false;
}

/* Values of x after the warm-up that are not missing. */
static size_t count_observed(const problem *p)
{
    const size_t N = p->config.layout.dims.N, row = (p->config.T + 1) * N;
    size_t count = 0;
    for (size_t i = 0; i < p->config.batch * row; i++)
        count += i % row / N > p->config.settings.warmup && !isnan(p->x[i]);
    return count;
}

/* A learner is made for the patterns of missing values that x has. */
static antler_status fit_learner(problem *p)
{
    const bool had = p->lacks.count > 0;
    const size_t rows = p->config.batch * (p->config.T + 1), N = p->config.layout.dims.N;
    ant_lacks_free(&p->lacks);
    ANT_TRY(ant_lacks_find(p->x, rows, N, false, &p->lacks));
    const char *limit = ant_learning_gap_limit(&p->config.settings, &p->lacks);
    ANT_CHECK(limit == NULL, ANTLER_ERROR_ARGUMENT,
              "x has missing values (NaN) %s, which the GPU does not take; set device: cpu", limit);
    ANT_CHECK(count_observed(p) > 0, ANTLER_ERROR_ARGUMENT,
              "no value of the batch is observed after the warm-up, so there is no loss; give other windows");
    if (!had && p->lacks.count == 0)
        return ANTLER_OK;
    void *learner = NULL;
    ANT_TRY(create_learner(p, &learner));
    p->ops->free(p->learner);
    p->learner = learner;
    return p->ops->put(p->learner, 0, 0, p->parameters, p->nothing, p->nothing);
}

static antler_status send_data(problem *p)
{
    if (p->sent)
        return ANTLER_OK;
    ANT_TRY(fit_learner(p));
    ANT_TRY(p->ops->set_windows(p->learner, 0, p->x, p->s));
    p->sent = true;
    return ANTLER_OK;
}

static antler_status fetch(problem *p)
{
    if (!p->fresh)
        ANT_TRY(p->ops->inspect(p->learner, 0, p->states, p->gradient));
    p->fresh = true;
    return ANTLER_OK;
}

static antler_status solve(void *opaque, ant_solve_report *report, ant_solve_agreement *agreement)
{
    problem *p = opaque;
    antler_solve_report found;
    ANT_TRY(p->fault);
    ANT_TRY(send_data(p));
    p->fresh = false;
    ANT_TRY(p->ops->solve(p->learner, &found));
    p->seconds = found.seconds;
    *report = (ant_solve_report){.loss = found.loss,
                                 .outcome = found.outcome,
                                 .iterations = found.iterations,
                                 .last_change = found.last_change,
                                 .fallbacks = p->config.settings.fallback ? found.fallbacks : 0,
                                 .kernels = "cuda"};
    ANT_CHECK(
        isfinite(found.loss), ANTLER_NON_FINITE,
        "the loss or its gradient is not finite: use a larger alpha, a smaller learning rate or the clipped "
        "model");
    ANT_CHECK(found.outcome == ANTLER_OK || p->config.settings.fallback, report->outcome,
              "%s did not converge within %d iterations; the last change was %g", p->ops->solver(p->learner),
              report->iterations, report->last_change);
    if (agreement == NULL)
        return ANTLER_OK;
    ANT_TRY(fetch(p));
    return ant_agreement_compare(&p->config.settings, &p->config.layout, p->config.alpha, p->parameters, p->x,
                                 p->s, p->states, p->gradient, agreement);
}

static void states(const void *opaque, size_t sequence, double *z)
{
    problem *p = *(problem *const *)(const void *)&opaque; /* fetched from the device on demand */
    const size_t count = p->config.T * p->config.layout.dims.M;
    if (fetch(p) != ANTLER_OK)
        return;
    for (size_t i = 0; i < count; i++)
        z[i] = p->states[sequence * count + i];
}

/* In plain loops on the CPU, in double. */
static antler_status adjoint(void *opaque, size_t sequence, double *v)
{
    const problem *p = opaque;
    const ant_model_dims *d = &p->config.layout.dims;
    const size_t T = p->config.T;
    ant_solve_plan_f64 *plan = NULL;
    ant_solve_options options = p->config.options;
    options.solver = ANT_SOLVER_REFERENCE;
    options.patterns = p->lacks.count;
    ANT_TRY(ant_solve_plan_create_f64(d, T, p->config.batch, &options, &plan));
    const double *x[] = {p->x + sequence * (T + 1) * d->N}, *s[] = {p->s + sequence * T * d->K};
    const antler_status status =
        ant_solve_adjoint_f64(plan, p->parameters, x, d->K == 0 ? NULL : s, 0, p->config.alpha, v);
    ant_solve_plan_free_f64(plan);
    return status;
}

static void gradient(const void *opaque, double *out)
{
    problem *p = *(problem *const *)(const void *)&opaque;
    if (fetch(p) != ANTLER_OK)
        return;
    for (size_t i = 0; i < p->config.layout.total; i++)
        out[i] = p->gradient[i];
}

/* The sequences as trajectories of just one window each, so that every update draws the problem's own
 * windows. */
typedef struct timing {
    antler_settings settings;
    size_t *row;
    uint64_t *start;
    void *x, *s; /* in the precision */
    void *learner;
} timing;

static void *rounded(const problem *p, const double *from, size_t count)
{
    const bool single = p->config.settings.precision == ANTLER_PRECISION_FLOAT;
    void *to = calloc(count + 1, single ? sizeof(float) : sizeof(double));
    for (size_t i = 0; i < count && to != NULL; i++) {
        if (single)
            ((float *)to)[i] = (float)from[i];
        else
            ((double *)to)[i] = from[i];
    }
    return to;
}

/* Inputs are in the row to which their step goes, so those of the first row of a trajectory are unused. */
static void *packed_inputs(const problem *p)
{
    const size_t K = p->config.layout.dims.K, T = p->config.T, batch = p->config.batch;
    double *all = calloc(batch * (T + 1) * K + 1, sizeof *all);
    for (size_t i = 0; i < batch && all != NULL; i++) {
        for (size_t k = 0; k < T * K; k++)
            all[(i * (T + 1) + 1) * K + k] = p->s[i * T * K + k];
    }
    void *packed = all == NULL ? NULL : rounded(p, all, batch * (T + 1) * K);
    free(all);
    return packed;
}

static antler_status time_with(const problem *p, timing *t, size_t updates, double *result)
{
    static const uint32_t name = 1;
    const size_t T = p->config.T, batch = p->config.batch;
    ant_tally tally = {0};
    ant_outcome outcome;
    for (size_t i = 0; i < batch; i++) {
        t->row[i] = i * (T + 1);
        t->start[i + 1] = i + 1;
    }
    t->settings = p->config.settings;
    t->settings.start_lr = t->settings.end_lr = 1e-30;
    t->settings.schedule = ANTLER_SCHEDULE_CONSTANT;
    t->settings.updates = 3 * updates + 1;
    ant_engine_learning work = ant_learning_describe(&t->settings, &p->config.layout);
    work.replicas = 1;
    work.runs = &name;
    work.rows = batch * (T + 1);
    work.trajectories = batch;
    work.x = t->x;
    work.s = t->s;
    work.row = t->row;
    work.start = t->start;
    work.lacks = p->lacks.count > 0 ? &p->lacks : NULL;
    ANT_TRY(p->ops->create(&work, &t->learner));
    ANT_TRY(p->ops->put(t->learner, 0, 0, p->parameters, p->nothing, p->nothing));
    ANT_TRY(p->ops->run(t->learner, updates, &tally, &outcome)); /* records the graphs */
    const double begun = ant_seconds();
    ANT_TRY(p->ops->run(t->learner, updates, &tally, &outcome));
    *result = (ant_seconds() - begun) / (double)updates;
    ANT_CHECK(outcome.diverged == ANT_DIVERGED_NOT, ANTLER_NON_FINITE,
              "the loss or its gradient is not finite");
    return ANTLER_OK;
}

static antler_status time_update(const void *opaque, size_t updates, double *result)
{
    const problem *p = opaque;
    const size_t batch = p->config.batch, rows = batch * (p->config.T + 1);
    timing t = {.row = calloc(batch, sizeof *t.row),
                .start = calloc(batch + 1, sizeof *t.start),
                .x = rounded(p, p->x, rows * p->config.layout.dims.N),
                .s = packed_inputs(p)};
    const antler_status status = t.row == NULL || t.start == NULL || t.x == NULL || t.s == NULL
                                     ? ant_fail_memory(rows * sizeof(double), "a problem")
                                     : time_with(p, &t, updates, result);
    if (t.learner != NULL)
        p->ops->free(t.learner);
    free(t.row);
    free(t.start);
    free(t.x);
    free(t.s);
    return status;
}

static double seconds(const void *opaque)
{
    return ((const problem *)opaque)->seconds;
}

const ant_problem_ops ant_problem_ops_engine = {
    .create = create,
    .free = release,
    .choice = choice,
    .bytes = bytes,
    .initialise = initialise,
    .set_parameters = set_parameters,
    .set_data = set_data,
    .solve = solve,
    .states = states,
    .adjoint = adjoint,
    .gradient = gradient,
    .seconds = seconds,
    .time_update = time_update,
};
