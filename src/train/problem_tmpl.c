/* problem_tmpl.c - parameters, sequences and a plan in one precision. */
#include "base/arena.h"
#include "base/real.h"
#include "train/forcing_rule.h"
#include "train/problem.h"

#include <stdlib.h>

typedef struct problem {
    ant_problem_config config;
    ANT_FN(ant_solve_plan) * plan;
    ant_arena arena;
    real *parameters, *gradient;       /* (total) */
    real *x;                           /* (batch, T+1, N) */
    real *inputs;                      /* (batch, T, K) */
    real *z;                           /* (T, M), for copies */
    const real **x_rows, **input_rows; /* (batch) */
    unsigned char *drawn;              /* (batch, T): scheduled sampling of the last update; empty without */
    bool gaps;                         /* x has missing values */
} problem;

static void carve(problem *p, ant_arena *arena)
{
    const ant_model_dims *d = &p->config.layout.dims;
    const size_t T = p->config.T, batch = p->config.batch, total = p->config.layout.total;
    p->parameters = ant_arena_take(arena, total, sizeof *p->parameters);
    p->gradient = ant_arena_take(arena, total, sizeof *p->gradient);
    p->x = ant_arena_take(arena, batch * (T + 1) * d->N, sizeof *p->x);
    p->inputs = ant_arena_take(arena, batch * T * d->K, sizeof *p->inputs);
    p->z = ant_arena_take(arena, T * d->M, sizeof *p->z);
    p->x_rows = ant_arena_take(arena, batch, sizeof *p->x_rows);
    p->input_rows = ant_arena_take(arena, batch, sizeof *p->input_rows);
    p->drawn = ant_arena_take(arena, p->config.options.sampling ? batch * T : 0, sizeof *p->drawn);
}

static void release(void *opaque)
{
    problem *p = opaque;
    if (p == NULL)
        return;
    ANT_FN(ant_solve_plan_free)(p->plan);
    ant_arena_destroy(&p->arena);
    free(p);
}

static antler_status create(const ant_problem_config *config, void **opaque)
{
    problem *p = calloc(1, sizeof *p);
    if (p == NULL)
        return ant_fail_memory(sizeof *p, "a problem");
    p->config = *config;
    const size_t T = config->T, batch = config->batch;
    const ant_model_dims *d = &p->config.layout.dims;
    ant_arena counting;
    ant_arena_count(&counting);
    carve(p, &counting);
    antler_status status = ant_arena_create(&p->arena, counting.used);
    if (status == ANTLER_OK)
        status = ANT_FN(ant_solve_plan_create)(d, T, batch, &config->options, &p->plan);
    if (status != ANTLER_OK) {
        release(p);
        return status;
    }
    carve(p, &p->arena);
    for (size_t i = 0; i < batch; i++) {
        p->x_rows[i] = p->x + i * (T + 1) * d->N;
        p->input_rows[i] = p->inputs + i * T * d->K;
    }
    if (config->options.sampling)
        ant_sampling_draw(&p->config.settings, 1, (uint32_t)p->config.settings.updates, p->drawn);
    *opaque = p;
    return ANTLER_OK;
}

static const char *choice(const void *opaque)
{
    return ANT_FN(ant_solve_plan_choice)(((const problem *)opaque)->plan);
}

static size_t bytes(const void *opaque)
{
    const problem *p = opaque;
    return p->arena.capacity + ANT_FN(ant_solve_plan_bytes)(p->plan);
}

static antler_status initialise(void *opaque)
{
    problem *p = opaque;
    return ANT_FN(ant_model_initialise)(&p->config.layout, p->config.initialisation, p->config.seed, 1,
                                        p->parameters);
}

static void convert(const double *from, size_t count, real *to)
{
    for (size_t i = 0; i < count; i++)
        to[i] = (real)from[i];
}

static void set_parameters(void *opaque, const double *parameters)
{
    problem *p = opaque;
    convert(parameters, p->config.layout.total, p->parameters);
}

static void set_data(void *opaque, const double *x, const double *inputs)
{
    problem *p = opaque;
    const ant_model_dims *d = &p->config.layout.dims;
    const size_t values = p->config.batch * (p->config.T + 1) * d->N;
    convert(x, values, p->x);
    p->gaps = false;
    for (size_t i = 0; i < values; i++)
        p->gaps = p->gaps || isnan(x[i]);
    if (d->K > 0)
        convert(inputs, p->config.batch * p->config.T * d->K, p->inputs);
}

/* Only data with missing values need a plan for them. */
static antler_status fit_plan(problem *p)
{
    ant_solve_options *o = &p->config.options;
    if ((o->patterns > 0) == p->gaps)
        return ANTLER_OK;
    ANT_FN(ant_solve_plan) *plan = NULL;
    o->patterns = p->gaps ? SIZE_MAX : 0;
    ANT_TRY(ANT_FN(ant_solve_plan_create)(&p->config.layout.dims, p->config.T, p->config.batch, o, &plan));
    ANT_FN(ant_solve_plan_free)(p->plan);
    p->plan = plan;
    return ANTLER_OK;
}

static antler_status solve(void *opaque, ant_solve_report *report, ant_solve_agreement *agreement)
{
    problem *p = opaque;
    ANT_TRY(fit_plan(p));
    if (p->config.options.sampling)
        ANT_TRY(ANT_FN(ant_solve_sample)(p->plan, p->drawn));
    const real *const *inputs = p->config.layout.dims.K > 0 ? p->input_rows : NULL;
    if (agreement != NULL)
        return ANT_FN(ant_solve_check)(p->plan, p->parameters, p->x_rows, inputs, p->config.alpha,
                                       p->gradient, report, agreement);
    return ANT_FN(ant_solve_gradient)(p->plan, p->parameters, p->x_rows, inputs, p->config.alpha, p->gradient,
                                      report);
}

static void states(const void *opaque, size_t sequence, double *z)
{
    const problem *p = opaque;
    ANT_FN(ant_solve_states)(p->plan, sequence, p->z);
    for (size_t i = 0; i < p->config.T * p->config.layout.dims.M; i++)
        z[i] = (double)p->z[i];
}

static antler_status adjoint(void *opaque, size_t sequence, double *v)
{
    problem *p = opaque;
    const real *const *s = p->config.layout.dims.K > 0 ? p->input_rows : NULL;
    ANT_TRY(fit_plan(p));
    ANT_TRY(ANT_FN(ant_solve_adjoint)(p->plan, p->parameters, p->x_rows, s, sequence, p->config.alpha, p->z));
    for (size_t i = 0; i < p->config.T * p->config.layout.dims.M; i++)
        v[i] = (double)p->z[i];
    return ANTLER_OK;
}

static void gradient(const void *opaque, double *out)
{
    const problem *p = opaque;
    for (size_t i = 0; i < p->config.layout.total; i++)
        out[i] = (double)p->gradient[i];
}

const ant_problem_ops ANT_FN(ant_problem_ops) = {
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
};
