/* gradient_tmpl.c - the gradient call: from parameters and windows to loss, gradient and report. */
#include "base/random.h"
#include "solve/plan.h"

#include <string.h>

typedef ANT_FN(ant_cell_plan) cell_plan;

antler_status ANT_FN(ant_plan_call)(cell_plan *plan, const real *parameters, const real *const *x,
                                    double alpha, solve_call *call)
{
    const ant_model_dims *d = &plan->layout.dims;
    ANT_CHECK(alpha >= 0.0 && alpha <= 1.0, ANTLER_ERROR_ARGUMENT,
              "the forcing strength alpha must lie in [0, 1], not %g", alpha);
    if (plan->cell->derive != NULL)
        plan->cell->derive(&plan->layout, parameters, ANT_FN(ant_plan_uses_newton)(plan), plan->derived);
    const size_t warmup = plan->options.warmup;
    for (size_t t = 0; t <= plan->T; t++)
        plan->strength[t] = ant_forcing_strength(&plan->options, alpha, t);
    *call = (solve_call){
        .layout = &plan->layout,
        .parameters = parameters,
        .derived = plan->derived,
        .forcing = &plan->forcing,
        .T = plan->T,
        .warmup = warmup,
        .strength = plan->strength,
        .alpha = alpha,
        .weight = (real)(2.0 / ((double)d->N * (double)(plan->T - warmup) * (double)plan->batch)),
        .teacher = plan->options.teacher,
        .cell = plan->cell,
    };
    ANT_TRY(ANT_FN(ant_forcing_set)(&plan->forcing, parameters + plan->layout.B));
    if (plan->options.patterns == 0)
        return ANTLER_OK;
    ANT_TRY(ANT_FN(ant_patterns_find)(&plan->patterns, &plan->forcing, x, warmup));
    call->patterns = &plan->patterns;
    call->weight = (real)(2.0 / (double)plan->patterns.values);
    return ANTLER_OK;
}

/* How many values the loss is the mean of. */
static double loss_values(const cell_plan *plan)
{
    if (plan->options.patterns > 0)
        return (double)(plan->narrowed ? plan->reduction.gaps.values : plan->patterns.values);
    return (double)plan->layout.dims.N * (double)(plan->T - plan->options.warmup) * (double)plan->batch;
}

/* to = from + B_o+ (x_o - B_o from): the state nearest to `from` that agrees with an incomplete row. */
static void project(const solve_call *p, uint32_t pattern, const real *x, const real *from, real *to)
{
    const size_t M = p->layout->dims.M, N = p->layout->dims.N;
    const real *pinv = ANT_FN(ant_pattern_pinv)(p->patterns, pattern);
    memcpy(to, from, M * sizeof *to);
    for (size_t n = 0; n < N; n++) {
        real error = x[n];
        for (size_t m = 0; m < M; m++)
            error -= p->forcing->B[n * M + m] * from[m];
        for (size_t m = 0; m < M && x[n] == x[n]; m++)
            to[m] += pinv[m * N + n] * error;
    }
}

/*
 * The first guess of Newton: z_0 = B+ x_0 always, the rest by options->start.  Of an incomplete row, `pinv`
 * is the guess before it, projected onto what is observed.
 */
static void guess(const cell_plan *plan, const solve_call *p, const real *x, size_t sequence, real *z)
{
    const size_t M = plan->layout.dims.M, N = plan->layout.dims.N;
    const uint32_t *pattern = ANT_FN(ant_patterns_of)(p->patterns, sequence);
    ant_stream stream = ant_stream_open(plan->options.seed, (uint32_t)sequence, 0, ANT_PURPOSE_NEWTON_START);
    for (size_t t = 0; t <= p->T; t++) {
        if (t == 0 || plan->options.start == ANT_START_PINV) {
            if (t > 0 && pattern != NULL && pattern[t] != 0)
                project(p, pattern[t], x + t * N, z + (t - 1) * M, z + t * M);
            else
                ANT_FN(ant_reference_teacher)(p, pattern, t, x + t * N, z + t * M);
            continue;
        }
        for (size_t m = 0; m < M; m++) {
            double pair[2] = {0.0, 0.0};
            if (plan->options.start == ANT_START_NORMAL)
                ant_stream_normal_pair(&stream, pair);
            z[t * M + m] = (real)pair[0];
        }
    }
}

/* Exact steps in plain loops for one sequence; adds to sums unless NULL; returns the sum of squares. */
static double solve_plain(const solve_call *p, const real *x, const real *s, ANT_FN(ant_trajectory) * y,
                          double *sums)
{
    ANT_FN(ant_reference_forward)(p, x, s, y);
    if (sums != NULL) {
        ANT_FN(ant_reference_adjoint)(p, s, y);
        ANT_FN(ant_reference_accumulate)(p, x, s, y, 0, p->T, y->scratch, sums);
    }
    return ANT_FN(ant_reference_square)(p, y);
}

/* One sequence by Newton, with its part of the report; returns the sum of squares. */
static double solve_newton(cell_plan *plan, const solve_call *p, const real *x, const real *s,
                           size_t sequence, double *sums, ant_solve_report *report)
{
    int iterations;
    double change;
    guess(plan, p, x, sequence, plan->one.z);
    const antler_status outcome =
        ANT_FN(ant_newton_solve)(&plan->newton, p, x, s, plan->options.tolerance,
                                 plan->options.max_iterations, &plan->one, &iterations, &change);
    if (iterations > report->iterations)
        report->iterations = iterations;
    if (!(change <= report->last_change))
        report->last_change = change;
    if (outcome != ANTLER_OK) {
        report->outcome = outcome > report->outcome ? outcome : report->outcome;
        if (plan->options.fallback) {
            report->fallbacks++;
            return solve_plain(p, x, s, &plan->one, sums);
        }
    }
    if (sums != NULL)
        ANT_FN(ant_newton_gradient)(&plan->newton, p, x, s, &plan->one, sums);
    return ANT_FN(ant_reference_square)(p, &plan->one);
}

static double solve_by_sequence(cell_plan *plan, const solve_call *p, const real *const *x,
                                const real *const *s, double *sums, ant_solve_report *report)
{
    const size_t row = (plan->T + 1) * plan->layout.dims.M;
    const bool newton = ANT_FN(ant_plan_uses_newton)(plan);
    double square = 0.0;
    for (size_t i = 0; i < plan->batch; i++) {
        const real *inputs = s == NULL ? NULL : s[i];
        plan->one.z = plan->states + i * row;
        plan->one.pattern = ANT_FN(ant_patterns_of)(p->patterns, i);
        square += newton ? solve_newton(plan, p, x[i], inputs, i, sums, report)
                         : solve_plain(p, x[i], inputs, &plan->one, sums);
    }
    return square;
}

/* Exact steps by the fast kernels: the attempt if its segments merge, else the plan's own choice. */
static ANT_FN(ant_shooting) * solve_forward(cell_plan *plan, const solve_call *p, const real *const *x,
                                            const real *const *s, ant_solve_report *report)
{
    ANT_FN(ant_shooting) *used = &plan->shooting, *attempt = &plan->attempt;
    if (attempt->kernels != NULL) {
        ant_solve_report tried = *report;
        if (ANT_FN(ant_shooting_forward)(attempt, p, x, s, &plan->options, true, &tried)) {
            *report = tried;
            used = attempt;
        }
    }
    if (used == &plan->shooting) {
        if (p->patterns != NULL && used->kernels->pattern_count == NULL)
            ANT_FN(ant_patterns_make_all)(p->patterns, p->forcing);
        ANT_FN(ant_shooting_forward)(used, p, x, s, &plan->options, false, report);
    }
    plan->solved = used;
    report->kernels = used->kernels->name;
    report->segments = used->segments;
    return used;
}

static double solve_by_kernels(cell_plan *plan, const solve_call *p, const real *const *x,
                               const real *const *s, double *sums, ant_solve_report *report)
{
    ANT_FN(ant_shooting) *used = solve_forward(plan, p, x, s, report);
    const double square = ANT_FN(ant_shooting_square)(used, p);
    if (sums != NULL)
        ANT_FN(ant_shooting_gradient)(used, p, x, sums, report);
    return square;
}

/* Whether the smallest singular value of R is far from those that count as zero: then B_o+ = R+ U_o+. */
static bool has_full_rank(const ANT_FN(ant_forcing) * f)
{
    return f->sigma[f->M - 1] > 1e-8 * f->sigma[0];
}

/*
 * Many variables: solve with as many as there are latent units (reduce.h).  Gives the sum of squares.
 * plan->narrowed becomes false where missing values take the rank of B: nothing is solved then.
 */
static antler_status solve_reduced(cell_plan *plan, const real *parameters, const real *const *x,
                                   const real *const *s, double alpha, real *gradient,
                                   ant_solve_report *report, double *square)
{
    cell_plan *narrow = plan->narrow;
    ANT_FN(ant_reduction) *r = &plan->reduction;
    double *sums = gradient == NULL ? NULL : narrow->sums;
    solve_call call;
    ANT_TRY(ANT_FN(ant_reduction_begin)(r, plan->team, parameters, x));
    plan->narrowed = !r->gaps.any || r->gaps.full_rank;
    if (!plan->narrowed)
        return ANTLER_OK;
    ANT_TRY(ANT_FN(ant_plan_call)(narrow, r->parameters, r->window, alpha, &call));
    plan->narrowed = !r->gaps.any || has_full_rank(call.forcing);
    if (!plan->narrowed)
        return ANTLER_OK;
    call.weight = (real)(2.0 / loss_values(plan));
    ANT_FN(ant_shooting) *used = solve_forward(narrow, &call, r->window, s, report);
    *square = r->gaps.any ? ANT_FN(ant_reduction_metric)(r, plan->team, used)
                          : ANT_FN(ant_shooting_square)(used, &call);
    if (gradient == NULL) {
        *square += ANT_FN(ant_reduction_square)(r, plan->team, x);
        return ANTLER_OK;
    }
    ANT_FN(ant_shooting_gradient)(used, &call, r->window, sums, report);
    ANT_FN(ant_sums_finish)(&call, sums, r->gradient);
    *square += ANT_FN(ant_reduction_gradient)(r, plan->team, &call, used, x, gradient);
    return ANTLER_OK;
}

/* The status of the call; loss and gradient are known. */
static antler_status judge(const cell_plan *plan, const real *gradient, const ant_solve_report *report)
{
    bool finite = isfinite(report->loss);
    for (size_t i = 0; i < plan->layout.total && gradient != NULL; i++)
        finite = finite && isfinite(gradient[i]);
    ANT_CHECK(finite, ANTLER_NON_FINITE,
              "the loss or its gradient is not finite: use a larger alpha, a smaller learning rate or "
              "the clipped model");
    ANT_CHECK(report->outcome == ANTLER_OK || plan->options.fallback, report->outcome,
              "%s did not converge within %d iterations; the last change was %g",
              ant_solver_name(report->solver), report->iterations, report->last_change);
    return ANTLER_OK;
}

/* The call of a plan with many variables; plan->narrowed is false where it is still to be solved. */
static antler_status gradient_reduced(cell_plan *plan, const real *parameters, const real *const *x,
                                      const real *const *s, double alpha, real *gradient,
                                      ant_solve_report *report)
{
    double square = NAN;
    if (gradient != NULL)
        ant_team_begin_call(plan->team);
    const antler_status status = solve_reduced(plan, parameters, x, s, alpha, gradient, report, &square);
    if (gradient != NULL)
        ant_team_end_call(plan->team);
    ANT_TRY(status);
    if (!plan->narrowed)
        return ANTLER_OK;
    report->loss = square / loss_values(plan);
    return judge(plan, gradient, report);
}

antler_status ANT_FN(ant_cell_plan_gradient)(void *opaque, const real *parameters, const real *const *x,
                                             const real *const *s, double alpha, real *gradient,
                                             ant_solve_report *report)
{
    cell_plan *plan = opaque;
    *report =
        (ant_solve_report){.loss = NAN, .solver = plan->options.solver, .kernels = "plain", .segments = 1};
    plan->narrowed = plan->narrow != NULL;
    if (plan->narrowed) {
        const antler_status status = gradient_reduced(plan, parameters, x, s, alpha, gradient, report);
        if (plan->narrowed)
            return status;
    }
    solve_call call;
    ANT_TRY(ANT_FN(ant_plan_call)(plan, parameters, x, alpha, &call));
    double *sums = gradient == NULL ? NULL : plan->sums;
    if (sums != NULL)
        memset(sums, 0, ANT_FN(ant_sums_count)(&plan->layout) * sizeof *sums);
    double square;
    if (sums != NULL)
        ant_team_begin_call(plan->team);
    if (ANT_FN(ant_plan_uses_kernels)(plan)) {
        square = solve_by_kernels(plan, &call, x, s, sums, report);
    } else {
        square = solve_by_sequence(plan, &call, x, s, sums, report);
    }
    if (sums != NULL)
        ant_team_end_call(plan->team);
    report->loss = square / loss_values(plan);
    if (sums != NULL)
        ANT_FN(ant_sums_finish)(&call, sums, gradient);
    ANT_TRY(ant_comm_check(plan->options.comm));
    return judge(plan, gradient, report);
}

/* The call of plain loops, which read B_o+ of every pattern. */
static antler_status plain_call(cell_plan *plan, const real *parameters, const real *const *x, double alpha,
                                solve_call *p)
{
    ANT_TRY(ANT_FN(ant_plan_call)(plan, parameters, x, alpha, p));
    if (p->patterns != NULL)
        ANT_FN(ant_patterns_make_all)(p->patterns, p->forcing);
    return ANTLER_OK;
}

antler_status ANT_FN(ant_cell_plan_reference)(void *opaque, const real *parameters, const real *const *x,
                                              const real *const *s, double alpha,
                                              void (*seen)(void *cookie, size_t sequence, const real *z),
                                              void *cookie, real *gradient, double *loss)
{
    cell_plan *plan = opaque;
    const ant_model_dims *d = &plan->layout.dims;
    const size_t count = ANT_FN(ant_sums_count)(&plan->layout);
    double *sums = plan->sums + count, square = 0.0;
    solve_call p;
    ANT_TRY(ANT_FN(ant_plan_need_plain)(plan));
    ANT_TRY(plain_call(plan, parameters, x, alpha, &p));
    memset(sums, 0, count * sizeof *sums);
    for (size_t i = 0; i < plan->batch; i++) {
        plan->one.z = plan->own_z;
        plan->one.pattern = ANT_FN(ant_patterns_of)(p.patterns, i);
        square += solve_plain(&p, x[i], s == NULL ? NULL : s[i], &plan->one, sums);
        seen(cookie, i, plan->own_z + d->M);
    }
    ANT_FN(ant_sums_finish)(&p, sums, gradient);
    *loss = square / loss_values(plan);
    return ANTLER_OK;
}

antler_status ANT_FN(ant_cell_plan_adjoint)(void *opaque, const real *parameters, const real *const *x,
                                            const real *const *s, size_t sequence, double alpha, real *v)
{
    cell_plan *plan = opaque;
    const size_t M = plan->layout.dims.M;
    solve_call p;
    const real *inputs = s == NULL ? NULL : s[sequence];
    ANT_TRY(ANT_FN(ant_plan_need_plain)(plan));
    ANT_TRY(plain_call(plan, parameters, x, alpha, &p));
    plan->one.z = plan->own_z;
    plan->one.pattern = ANT_FN(ant_patterns_of)(p.patterns, sequence);
    ANT_FN(ant_reference_forward)(&p, x[sequence], inputs, &plan->one);
    ANT_FN(ant_reference_adjoint)(&p, inputs, &plan->one);
    memcpy(v, plan->one.adjoint + M, plan->T * M * sizeof *v);
    return ANTLER_OK;
}

void ANT_FN(ant_cell_plan_states)(const void *opaque, size_t sequence, real *z)
{
    const cell_plan *own = opaque, *plan = own->narrowed ? own->narrow : own;
    const size_t M = plan->layout.dims.M;
    if (ANT_FN(ant_plan_uses_kernels)(plan))
        ANT_FN(ant_shooting_states)(plan->solved, sequence, z);
    else
        memcpy(z, plan->states + (sequence * (plan->T + 1) + 1) * M, plan->T * M * sizeof *z);
}
