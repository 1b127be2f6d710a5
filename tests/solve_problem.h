/* solve_problem.h - problems in double, solved in either precision: for the solver tests and the golden
 * runner. */
#ifndef ANT_TESTS_SOLVE_PROBLEM_H
#define ANT_TESTS_SOLVE_PROBLEM_H

#include "solve/solve.h"

#include <math.h>
#include <stdlib.h>

/* A problem with its parameters and data, in double. */
typedef struct problem {
    ant_model_layout layout;
    /* Make a plan for the layout; NULL: that of the kind of model. */
    antler_status (*plan_f32)(const ant_model_layout *layout, size_t T, size_t batch,
                              const ant_solve_options *options, ant_solve_plan_f32 **plan);
    antler_status (*plan_f64)(const ant_model_layout *layout, size_t T, size_t batch,
                              const ant_solve_options *options, ant_solve_plan_f64 **plan);
    size_t T, batch, warmup, interval; /* interval: of sparse forcing; 0: none */
    double alpha;
    double *parameters;   /* (total) */
    double *x;            /* (batch, T+1, N) */
    double *s;            /* (batch, T, K) */
    unsigned char *drawn; /* (batch, T): rows of scheduled sampling; NULL: none */
} problem;

/* What a run gives, in double. */
typedef struct answer {
    antler_status status;
    ant_solve_report report;
    double *states;   /* (batch, T, M) */
    double *gradient; /* (total) */
    ant_solve_agreement agreement;
} answer;

static inline void *get(size_t count, size_t size)
{
    void *memory = calloc(count == 0 ? 1 : count, size);
    if (memory == NULL)
        abort();
    return memory;
}

static inline void problem_free(problem *p)
{
    free(p->parameters);
    free(p->x);
    free(p->s);
    free(p->drawn);
}

static inline void answer_free(answer *a)
{
    free(a->states);
    free(a->gradient);
}

#define SOLVE_IN(real, suffix)                                                                               \
    static inline answer solve##suffix(const problem *p, const ant_solve_options *o, bool check)             \
    {                                                                                                        \
        const ant_model_dims *d = &p->layout.dims;                                                           \
        const size_t rows = (p->T + 1) * d->N, inputs = p->T * d->K, states = p->T * d->M;                   \
        answer a = {.states = get(p->batch * states, sizeof(double)),                                        \
                    .gradient = get(p->layout.total, sizeof(double))};                                       \
        real *theta = get(p->layout.total, sizeof(real)), *g = get(p->layout.total, sizeof(real));           \
        real *x = get(p->batch * rows, sizeof(real)), *s = get(p->batch * inputs, sizeof(real));             \
        real *z = get(states, sizeof(real));                                                                 \
        const real **xs = get(p->batch, sizeof *xs), **ss = get(p->batch, sizeof *ss);                       \
        for (size_t i = 0; i < p->layout.total; i++)                                                         \
            theta[i] = (real)p->parameters[i];                                                               \
        for (size_t i = 0; i < p->batch * rows; i++)                                                         \
            x[i] = (real)p->x[i];                                                                            \
        for (size_t i = 0; i < p->batch * inputs; i++)                                                       \
            s[i] = (real)p->s[i];                                                                            \
        for (size_t i = 0; i < p->batch; i++) {                                                              \
            xs[i] = x + i * rows;                                                                            \
            ss[i] = s + i * inputs;                                                                          \
        }                                                                                                    \
        ant_solve_plan##suffix *plan = NULL;                                                                 \
        a.status = p->plan##suffix != NULL ? p->plan##suffix(&p->layout, p->T, p->batch, o, &plan)           \
                                           : ant_solve_plan_create##suffix(d, p->T, p->batch, o, &plan);     \
        if (a.status == ANTLER_OK && p->drawn != NULL)                                                       \
            a.status = ant_solve_sample##suffix(plan, p->drawn);                                             \
        if (a.status == ANTLER_OK && check)                                                                  \
            a.status = ant_solve_check##suffix(plan, theta, xs, d->K > 0 ? ss : NULL, p->alpha, g,           \
                                               &a.report, &a.agreement);                                     \
        else if (a.status == ANTLER_OK)                                                                      \
            a.status =                                                                                       \
                ant_solve_gradient##suffix(plan, theta, xs, d->K > 0 ? ss : NULL, p->alpha, g, &a.report);   \
        for (size_t i = 0; i < p->batch && a.status >= 0; i++) {                                             \
            ant_solve_states##suffix(plan, i, z);                                                            \
            for (size_t k = 0; k < states; k++)                                                              \
                a.states[i * states + k] = (double)z[k];                                                     \
        }                                                                                                    \
        for (size_t i = 0; i < p->layout.total; i++)                                                         \
            a.gradient[i] = (double)g[i];                                                                    \
        ant_solve_plan_free##suffix(plan);                                                                   \
        free(theta);                                                                                         \
        free(g);                                                                                             \
        free(x);                                                                                             \
        free(s);                                                                                             \
        free(z);                                                                                             \
        free(xs);                                                                                            \
        free(ss);                                                                                            \
        return a;                                                                                            \
    }
SOLVE_IN(float, _f32)
SOLVE_IN(double, _f64)

static inline answer solve(const problem *p, const ant_solve_options *o, int bits, bool check)
{
    return bits == 32 ? solve_f32(p, o, check) : solve_f64(p, o, check);
}

static inline double largest(const double *a, size_t count)
{
    double size = 0.0;
    for (size_t i = 0; i < count; i++)
        size = fmax(size, fabs(a[i]));
    return size;
}

/* max|a - b| / max|b|, or NaN when a value is. */
static inline double relative_error(const double *a, const double *b, size_t count)
{
    double gap = 0.0;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(a[i]) || !isfinite(b[i]))
            return NAN;
        gap = fmax(gap, fabs(a[i] - b[i]));
    }
    const double scale = largest(b, count);
    return scale > 0.0 ? gap / scale : gap;
}

#endif
