/* Scheduled sampling (spec 15): Newton's method against plain steps, plain steps against the definition,
 * differences, draws.
 */
#include "solve_support.h"

#include "train/forcing_rule.h"

static ant_solve_options options_for(const problem *p, ant_solver solver)
{
    ant_solve_options o;
    ant_solve_options_default(&o);
    o.solver = solver;
    o.warmup = p->warmup;
    o.threads = 1;
    o.sampling = true;
    o.fallback = false;
    o.max_iterations = (int)p->T + 2;
    return o;
}

static void draw(problem *p, double share, uint64_t seed)
{
    ant_stream stream = ant_stream_open(seed, 3, 4, ANT_PURPOSE_SAMPLING);
    p->drawn = get(p->batch * p->T, 1);
    for (size_t i = 0; i < p->batch * p->T; i++)
        p->drawn[i] = ant_stream_uniform(&stream) < share;
}

static void lose_values(problem *p, double share, uint64_t seed)
{
    ant_stream stream = ant_stream_open(seed, 5, 6, ANT_PURPOSE_SAMPLING);
    for (size_t i = 0; i < p->batch * (p->T + 1) * p->layout.dims.N; i++)
        p->x[i] = ant_stream_uniform(&stream) < share ? NAN : p->x[i];
    p->x[(p->warmup + 1) * p->layout.dims.N] = 0.3; /* something is observed after the warm-up */
}

static const ant_model_dims shapes[] = {
    {.kind = ANT_MODEL_LSSM, .M = 1, .N = 1, .L = 1},
    {.kind = ANT_MODEL_LSSM, .M = 4, .N = 2, .L = 6, .K = 2},
    {.kind = ANT_MODEL_LSSM, .M = 2, .N = 5, .L = 9},
    {.kind = ANT_MODEL_LSSM, .M = 10, .N = 6, .L = 33, .K = 1},
    {.kind = ANT_MODEL_LSSM, .M = 7, .N = 3, .L = 20, .free_diagonal = true}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Lengths around tiles and slots, shares from nothing to all, with and without missing values, segments. */
static void test_newton_equals_plain_steps(void **state)
{
    (void)state;
    static const size_t lengths[] = {1, 2, 63, 64, 65, 300};
    static const double shares[] = {0.0, 0.3, 0.7, 1.0};
    for (size_t i = 0; i < SHAPES * 6 * 4; i++) {
        const size_t T = lengths[i / SHAPES % 6];
        const int bits = i % 2 ? 32 : 64;
        problem p =
            random_problem(shapes[i % SHAPES], T, 1 + i % 3, i % 4 == 3 ? T - 1 : T / 3, 0.0, 100 + i);
        draw(&p, shares[i / SHAPES / 6], i);
        if (i % 3 == 1)
            lose_values(&p, 0.2, i);
        ant_solve_options o = options_for(&p, ANT_SOLVER_DEER);
        o.patterns = i % 3 == 1 ? SIZE_MAX : 0;
        o.tolerance = bits == 64 ? 1e-12 : 1e-5;
        o.segments = T < 64 ? 1 : 1 + i % 5;
        answer a = solve(&p, &o, bits, true);
        const double tolerance = bits == 64 ? 1e-10 : 3e-4;
        if (a.status != ANTLER_OK || !(a.agreement.states < tolerance) ||
            !(a.agreement.gradient < tolerance) || !(a.agreement.loss < tolerance))
            fail_msg("case %zu, T %zu, %d bits: %s, states %g, gradient %g, loss %g", i, T, bits,
                     antler_status_name(a.status), a.agreement.states, a.agreement.gradient,
                     a.agreement.loss);
        assert_int_equal(a.report.solver, ANT_SOLVER_DEER);
        assert_true(a.report.iterations >= 1 && a.report.fallbacks == 0);
        answer_free(&a);
        problem_free(&p);
    }
}

/* z_{t+1} = A z_t + U x~_t + C s_{t+1} + h and the mean squared error, written down once more. */
static double by_definition(const problem *p, double *z)
{
    const ant_model_layout *at = &p->layout;
    const ant_model_dims *d = &at->dims;
    const double *q = p->parameters;
    double square = 0.0;
    for (size_t i = 0; i < p->batch; i++) {
        double own[8] = {0};
        for (size_t t = 0; t < p->T; t++) {
            const double *x = p->x + (i * (p->T + 1) + t) * d->N, *s = p->s + (i * p->T + t) * d->K;
            double *next = z + (i * p->T + t) * d->M;
            const bool drawn = t > 0 && p->drawn[i * p->T + t];
            for (size_t m = 0; m < d->M; m++) {
                next[m] = q[at->h + m] + (t > 0 ? tanh(q[at->Abar + m]) * (next - d->M)[m] : 0.0);
                for (size_t n = 0; n < d->N; n++)
                    next[m] += q[at->U + m * d->N + n] * (drawn ? own[n] : x[n]);
                for (size_t k = 0; k < d->K; k++)
                    next[m] += q[at->C + m * d->K + k] * s[k];
            }
            memset(own, 0, sizeof own);
            for (size_t l = 0; l < d->L; l++) {
                double hidden = q[at->b + l];
                for (size_t m = 0; m < d->M; m++)
                    hidden += q[at->V + l * d->M + m] * next[m];
                for (size_t n = 0; n < d->N && hidden > 0.0; n++)
                    own[n] += q[at->B + n * d->L + l] * hidden;
            }
            for (size_t n = 0; n < d->N && t + 1 > p->warmup; n++)
                square += (own[n] - x[d->N + n]) * (own[n] - x[d->N + n]);
        }
    }
    return square / (double)(d->N * (p->T - p->warmup) * p->batch);
}

static void test_definition(void **state)
{
    (void)state;
    for (size_t i = 0; i < 6; i++) {
        problem p = random_problem(shapes[1 + i % 2], 90, 3, 10, 0.0, 7 + i);
        draw(&p, 0.25 + 0.25 * (double)(i / 2), i);
        const size_t count = p.batch * p.T * p.layout.dims.M;
        double *z = get(count, sizeof *z);
        const double loss = by_definition(&p, z);
        const ant_solver solvers[] = {ANT_SOLVER_AUTO, ANT_SOLVER_DEER};
        for (size_t k = 0; k < 2; k++) {
            const ant_solve_options o = options_for(&p, solvers[k]);
            answer a = solve(&p, &o, 64, false);
            assert_int_equal(a.status, ANTLER_OK);
            assert_int_equal(a.report.solver, k == 0 ? ANT_SOLVER_REFERENCE : ANT_SOLVER_DEER);
            assert_true(relative_error(a.states, z, count) < 1e-10);
            CHECK_NEAR(a.report.loss, loss, 1e-10 * loss);
            answer_free(&a);
        }
        free(z);
        problem_free(&p);
    }
}

static void test_gradient(void **state)
{
    (void)state;
    const ant_model_dims mamba2 = {.kind = ANT_MODEL_MAMBA2, .M = 4, .N = 2, .L = 5};
    for (size_t i = 0; i < 12; i++) {
        const bool lssm = i % 3 < 2;
        problem p =
            random_problem(lssm ? shapes[1 + i % 4] : mamba2, lssm ? 20 : 9, 2, i % 2 ? 3 : 0, 0.0, i);
        draw(&p, 0.5, 60 + i);
        if (i % 4 == 3)
            lose_values(&p, 0.2, i);
        ant_solve_options o = options_for(&p, i % 3 == 1 ? ANT_SOLVER_DEER : ANT_SOLVER_REFERENCE);
        o.patterns = i % 4 == 3 ? SIZE_MAX : 0;
        answer a = solve(&p, &o, 64, false);
        assert_int_equal(a.status, ANTLER_OK);
        check_slopes(&p, &o, a.gradient, 5e-7, lssm ? "lssm" : "mamba2");
        answer_free(&a);
        problem_free(&p);
    }
}

/* With nothing drawn a plan for sampling gives the bytes of plain steps. */
static void test_nothing_drawn(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const ant_model_dims mamba2 = {.kind = ANT_MODEL_MAMBA2, .M = 8, .N = 3, .L = 6, .K = 1};
        problem p = random_problem(i == 0 ? shapes[3] : mamba2, 70, 1, 5, 0.0, 3);
        draw(&p, 0.0, 1);
        ant_solve_options o = options_for(&p, ANT_SOLVER_REFERENCE);
        answer with = solve(&p, &o, 32, false);
        free(p.drawn);
        p.drawn = NULL;
        o.sampling = false;
        answer without = solve(&p, &o, 32, false);
        assert_int_equal(with.status, ANTLER_OK);
        assert_true(with.report.loss == without.report.loss);
        assert_memory_equal(with.gradient, without.gradient, p.layout.total * sizeof(double));
        assert_memory_equal(with.states, without.states, p.T * p.layout.dims.M * sizeof(double));
        answer_free(&with);
        answer_free(&without);
        problem_free(&p);
    }
}

static void test_threads_do_not_matter(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        problem p = random_problem(shapes[3], i == 0 ? 3000 : 70, i == 0 ? 1 : 40, 9, 0.0, 5);
        draw(&p, 0.6, 2);
        ant_solve_options o = options_for(&p, i == 0 ? ANT_SOLVER_DEER : ANT_SOLVER_AUTO);
        o.segments = i == 0 ? 4 : 0;
        answer one = solve(&p, &o, 32, false);
        o.threads = 3;
        answer three = solve(&p, &o, 32, false);
        assert_int_equal(one.status, ANTLER_OK);
        assert_true(one.report.loss == three.report.loss);
        assert_memory_equal(one.gradient, three.gradient, p.layout.total * sizeof(double));
        answer_free(&one);
        answer_free(&three);
        problem_free(&p);
    }
}

/* Where Newton's method does not converge, plain steps solve the sequence, or the status says so. */
static void test_not_converged(void **state)
{
    (void)state;
    problem p = random_problem(shapes[3], 200, 3, 0, 0.0, 11);
    draw(&p, 0.9, 4);
    ant_solve_options o = options_for(&p, ANT_SOLVER_DEER);
    o.max_iterations = 1;
    answer stopped = solve(&p, &o, 64, false);
    assert_int_equal(stopped.status, ANTLER_NOT_CONVERGED);
    assert_non_null(strstr(antler_message(), "deer did not converge within 1 iterations"));
    o.fallback = true;
    answer again = solve(&p, &o, 64, true);
    assert_int_equal(again.status, ANTLER_OK);
    assert_int_equal(again.report.fallbacks, 3);
    assert_int_equal(again.report.outcome, ANTLER_NOT_CONVERGED);
    assert_true(again.agreement.gradient < 1e-12 && again.agreement.states == 0.0);
    answer_free(&stopped);
    answer_free(&again);
    problem_free(&p);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        ant_model_id kind;
        ant_solver solver;
        bool sampling, drawn;
        const char *words;
    } cases[] = {{ANT_MODEL_LSSM, ANT_SOLVER_SCAN, true, false, "scan cannot do scheduled sampling"},
                 {ANT_MODEL_MAMBA2, ANT_SOLVER_SCAN, true, false, "scan cannot do scheduled sampling"},
                 {ANT_MODEL_MAMBA2, ANT_SOLVER_DEER, true, false, "take auto, scan or reference"},
                 {ANT_MODEL_LSSM, ANT_SOLVER_QUASI_DEER, true, false, "take auto, scan or reference"},
                 {ANT_MODEL_LSSM, ANT_SOLVER_DEER, false, false, "take auto, scan or reference"},
                 {ANT_MODEL_LSSM, ANT_SOLVER_AUTO, false, true, "made without scheduled sampling"},
                 {ANT_MODEL_SHPLRNN, ANT_SOLVER_AUTO, true, true, "lssm and mamba2"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        problem p =
            random_problem((ant_model_dims){.kind = cases[i].kind, .M = 4, .N = 2, .L = 5}, 9, 1, 0, 0.3, i);
        if (cases[i].drawn)
            draw(&p, 0.5, 1);
        ant_solve_options o = options_for(&p, cases[i].solver);
        o.sampling = cases[i].sampling;
        answer a = solve(&p, &o, 64, false);
        assert_int_equal(a.status, ANTLER_ERROR_ARGUMENT);
        if (strstr(antler_message(), cases[i].words) == NULL)
            fail_msg("case %zu: %s", i, antler_message());
        answer_free(&a);
        problem_free(&p);
    }
}

/* The share moves on a line; a draw depends on seed, run and update alone. */
static void test_draws(void **state)
{
    (void)state;
    enum { ROWS = 40000 };
    unsigned char *a = get(ROWS, 1), *b = get(ROWS, 1);
    antler_settings s;
    antler_settings_default(&s);
    s.batch_size = 4;
    s.sequence_length = ROWS / 4;
    s.updates = 11;
    assert_false(ant_settings_sample(&s));
    s.sampling_start = 0.2;
    s.sampling_end = 0.8;
    assert_true(ant_settings_sample(&s));
    for (uint32_t update = 1; update <= 11; update += 5) {
        double count = 0.0;
        ant_sampling_draw(&s, 2, update, a);
        for (size_t i = 0; i < ROWS; i++)
            count += a[i];
        const double share = 0.2 + 0.06 * (update - 1);
        CHECK_NEAR(count / ROWS, share, 4.0 * sqrt(share * (1.0 - share) / ROWS));
    }
    ant_sampling_draw(&s, 2, 3, a);
    ant_sampling_draw(&s, 2, 3, b);
    assert_memory_equal(a, b, ROWS);
    for (size_t variant = 0; variant < 3; variant++) {
        s.seed = variant == 0 ? 2 : 1;
        ant_sampling_draw(&s, variant == 1 ? 3 : 2, variant == 2 ? 4 : 3, b);
        assert_memory_not_equal(a, b, ROWS);
    }
    free(a);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_newton_equals_plain_steps),
                                       cmocka_unit_test(test_definition),
                                       cmocka_unit_test(test_gradient),
                                       cmocka_unit_test(test_nothing_drawn),
                                       cmocka_unit_test(test_threads_do_not_matter),
                                       cmocka_unit_test(test_not_converged),
                                       cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_draws)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
