/* Missing values in training windows (spec 12): every solver against plain loops, and differences. */
#include "solve_support.h"
#include "unit/check.h"

/* What is set to NaN: bursts of whole rows, single values, one variable for half of the time, or all of
 * these.
 */
enum { BURSTS, VALUES, DEAD, ALL, KINDS_OF_GAPS };

static void lose(problem *p, int kind, uint64_t seed)
{
    const size_t N = p->layout.dims.N, rows = p->T + 1;
    ant_stream stream = ant_stream_open(seed, 1, 2, ANT_PURPOSE_OBSERVATION_NOISE);
    for (size_t i = 0; i < p->batch; i++) {
        double *x = p->x + i * rows * N;
        size_t burst = 0;
        for (size_t t = 0; t < rows; t++) {
            if (burst == 0 && ant_stream_uniform(&stream) < 0.1)
                burst = 1 + (size_t)(8.0 * ant_stream_uniform(&stream));
            for (size_t n = 0; n < N; n++) {
                const bool single = ant_stream_uniform(&stream) < 0.3, dead = n == 0 && t > rows / 2;
                if ((burst > 0 && (kind == BURSTS || kind == ALL)) ||
                    (single && (kind == VALUES || kind == ALL)) || (dead && (kind == DEAD || kind == ALL)))
                    x[t * N + n] = NAN;
            }
            burst -= burst > 0;
        }
    }
    p->x[(p->warmup + 1) * N] = 0.3; /* something is observed after the warm-up */
}

static ant_solve_options options_for(const problem *p, ant_solver solver)
{
    ant_solve_options o;
    ant_solve_options_default(&o);
    o.solver = solver;
    o.warmup = p->warmup;
    o.interval = p->interval;
    o.patterns = SIZE_MAX;
    o.threads = 1;
    o.fallback = false;
    o.max_iterations = (int)p->T + 1;
    return o;
}

static const ant_model_dims shapes[] = {
    {.M = 3, .N = 3, .L = 6},           {.M = 5, .N = 3, .L = 9, .K = 2},
    {.M = 2, .N = 5, .L = 7},           {.M = 4, .N = 3, .L = 10, .clipped = true},
    {.M = 6, .N = 1, .L = 12},          {.M = 7, .N = 4, .L = 20, .rank = 3},
    {.M = 1, .N = 2, .L = 4, .K = 1},   {.M = 10, .N = 8, .L = 18},
    {.M = 3, .N = 70, .L = 8},          {.M = 17, .N = 5, .L = 33, .clipped = true, .free_diagonal = true},
    {.M = 4, .N = 4, .L = 18},          {.M = 12, .N = 10, .L = 40},
    {.M = 20, .N = 18, .L = 50, .K = 1}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void check_answer(const answer *a, const char *what, size_t shape, int gaps, int bits,
                         double tolerance)
{
    if (a->status != ANTLER_OK || !(a->agreement.states <= tolerance) ||
        !(a->agreement.gradient <= tolerance) || !(a->agreement.loss <= tolerance))
        fail_msg("%s, shape %zu, gaps %d, %d bits: %s %s, states %g gradient %g loss %g", what, shape, gaps,
                 bits, antler_status_name(a->status), a->status == ANTLER_OK ? "" : antler_message(),
                 a->agreement.states, a->agreement.gradient, a->agreement.loss);
}

/* Batches that fill lanes and those that do not, segments in lanes and alone, threads, both teachers. */
static void check_solvers(int bits)
{
    static const ant_solver solvers[] = {ANT_SOLVER_AUTO, ANT_SOLVER_SEQUENTIAL, ANT_SOLVER_SHOOTING,
                                         ANT_SOLVER_DEER, ANT_SOLVER_QUASI_DEER};
    const double tolerance = bits == 64 ? 1e-9 : 2e-3;
    for (size_t i = 0; i < SHAPES * KINDS_OF_GAPS; i++) {
        const size_t shape = i % SHAPES, batch = i % 3 == 0 ? 1 : i % 3 == 1 ? 3 : 19;
        const int gaps = (int)(i / SHAPES);
        problem p = random_problem(shapes[shape], 45, batch, i % 2 ? 11 : 0, 0.4, 100 + i);
        p.interval = i % 7 == 3 ? 4 : 0;
        lose(&p, gaps, i);
        for (size_t k = 0; k < 7; k++) { /* sequential and shooting again, by linear pieces */
            const bool pieces = k >= 5;
            const ant_solver solver = solvers[pieces ? k - 4 : k];
            ant_solve_options o = options_for(&p, solver);
            o.pieces = pieces ? ANT_PIECES_ALWAYS : ANT_PIECES_NEVER;
            o.threads = 1 + (int)(i + k) % 3;
            if (FOR_RACES && o.threads == 1)
                continue;
            o.teacher = (i + k) % 2 ? ANT_TEACHER_STOP : ANT_TEACHER_FLOW;
            o.tolerance = bits == 64 ? 1e-12 : 1e-5;
            o.segments = solver == ANT_SOLVER_SHOOTING ? (i % 2 ? 3 : 21) : 0;
            o.lanes = o.segments > 3;
            answer a = solve(&p, &o, bits, true);
            check_answer(&a, pieces ? "pieces" : ant_solver_name(solver), shape, gaps, bits, tolerance);
            answer_free(&a);
        }
        problem_free(&p);
    }
}

/* Two threads on one sequence, by linear pieces: models with a short and with a long memory, and a warm-up in
 * which rows are complete and incomplete. */
static void test_two_threads(void **state)
{
    (void)state;
    for (size_t i = 0; i < 16; i++) {
        const ant_model_dims d = i % 4 < 2 ? shapes[1] : (ant_model_dims){.M = 6, .N = 2, .L = 20};
        const int bits = i % 2 ? 32 : 64;
        problem p = random_problem(d, 2304, 1, i % 8 < 4 ? 1000 : 0, 0.3, 400 + i);
        for (size_t m = 0; m < d.M && i >= 8; m++)
            p.parameters[p.layout.Abar + m] = 3.0;
        for (size_t k = 0; k < d.M * d.L && i >= 8; k++)
            p.parameters[p.layout.W + k] *= 0.05;
        lose(&p, (int)(i / 4), i);
        ant_solve_options o = options_for(&p, ANT_SOLVER_SHOOTING);
        o.pieces = ANT_PIECES_ALWAYS;
        o.segments = o.threads = 2;
        o.teacher = i % 3 ? ANT_TEACHER_FLOW : ANT_TEACHER_STOP;
        answer a = solve(&p, &o, bits, true);
        check_answer(&a, "two threads", i, (int)(i / 4), bits, bits == 64 ? 1e-8 : 5e-3);
        assert_non_null(strstr(a.report.kernels, "piece"));
        answer_free(&a);
        problem_free(&p);
    }
}

/* `auto` takes linear pieces for a model that they suit, with gaps as without. */
static void test_choice(void **state)
{
    (void)state;
    problem p = random_problem((ant_model_dims){.M = 4, .N = 3, .L = 128}, 400, 1, 0, 0.3, 9);
    ant_solve_options o = options_for(&p, ANT_SOLVER_AUTO);
    for (size_t k = 0; k < 4 * 128; k++)
        p.parameters[p.layout.W + k] *= 0.05;
    lose(&p, VALUES, 3);
    answer with = solve(&p, &o, 64, true);
    check_answer(&with, "auto", 0, VALUES, 64, 1e-10);
    assert_non_null(strstr(with.report.kernels, "piece"));
    answer_free(&with);
    problem_free(&p);
}

static void test_solvers_double(void **state)
{
    (void)state;
    check_solvers(64);
}

static void test_solvers_single(void **state)
{
    (void)state;
    check_solvers(32);
}

/* ---- differences --------------------------------------------------------------------------------------- */

static void check_differences(problem *p, ant_teacher teacher, const char *what)
{
    ant_solve_options o = options_for(p, ANT_SOLVER_REFERENCE);
    o.teacher = teacher;
    answer a = solve(p, &o, 64, false), single = solve(p, &o, 32, false);
    assert_int_equal(a.status, ANTLER_OK);
    assert_true(largest(a.gradient, p->layout.total) > 1e-4);
    check_slopes(p, &o, a.gradient, 5e-7, what);
    assert_true(relative_error(single.gradient, a.gradient, p->layout.total) < 2e-3);
    answer_free(&a);
    answer_free(&single);
}

/* Row 0 complete, in part, and missing whole. */
static void lose_first(problem *p, size_t variant)
{
    const size_t N = p->layout.dims.N;
    for (size_t n = 0; n < N; n++)
        p->x[n] = variant % 3 == 0 || (variant % 3 == 1 && n == 0) ? 0.4 + 0.1 * (double)n : NAN;
}

static void test_gradient(void **state)
{
    (void)state;
    for (size_t i = 0; i < 7 * 3; i++) {
        problem p = random_problem(shapes[i % 7], 14, 2, i % 2 ? 3 : 0, 0.35, 7 + i);
        lose(&p, (int)(i % KINDS_OF_GAPS), 50 + i);
        lose_first(&p, i / 7);
        check_differences(&p, ANT_TEACHER_FLOW, "shplrnn");
        problem_free(&p);
    }
}

/* The LSSM and the Mamba-2 take their own predictions for what is missing. */
static void test_linear_gradient(void **state)
{
    (void)state;
    const ant_model_dims kinds[] = {{.kind = ANT_MODEL_LSSM, .M = 4, .N = 3, .L = 6, .K = 1},
                                    {.kind = ANT_MODEL_MAMBA2, .M = 4, .N = 2, .L = 5}};
    for (size_t i = 0; i < 12; i++) {
        problem p = random_problem(kinds[i % 2], i % 2 ? 9 : 13, 2, i % 4 < 2 ? 3 : 0, 0.0, 30 + i);
        lose(&p, (int)(i % KINDS_OF_GAPS), 80 + i);
        lose_first(&p, i / 4);
        check_differences(&p, ANT_TEACHER_FLOW, i % 2 ? "mamba2" : "lssm");
        problem_free(&p);
    }
}

/* The number of threads changes nothing, and `scan` is refused by name. */
static void test_linear_threads(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        const ant_model_dims d = {.kind = i % 2 ? ANT_MODEL_MAMBA2 : ANT_MODEL_LSSM, .M = 8, .N = 2, .L = 6};
        problem p = random_problem(d, 70, 40, 5, 0.0, 3 + i);
        lose(&p, ALL, i);
        ant_solve_options o = options_for(&p, ANT_SOLVER_AUTO);
        answer one = solve(&p, &o, i < 2 ? 64 : 32, true);
        o.threads = 3;
        answer three = solve(&p, &o, i < 2 ? 64 : 32, false);
        check_answer(&one, "auto", i, ALL, i < 2 ? 64 : 32, i < 2 ? 1e-12 : 1e-5);
        assert_int_equal(one.report.solver, ANT_SOLVER_REFERENCE);
        assert_memory_equal(one.gradient, three.gradient, p.layout.total * sizeof(double));
        o.solver = ANT_SOLVER_SCAN;
        answer refused = solve(&p, &o, 64, false);
        assert_int_equal(refused.status, ANTLER_ERROR_ARGUMENT);
        assert_non_null(strstr(antler_message(), "take auto"));
        answer_free(&one);
        answer_free(&three);
        answer_free(&refused);
        problem_free(&p);
    }
}

/* ---- the definition ------------------------------------------------------------------------------------ */

/* With nothing missing, a plan for missing values gives the bytes of a plan without. */
static void test_complete_data(void **state)
{
    (void)state;
    for (size_t i = 0; i < 6 * SHAPES; i++) {
        problem p = random_problem(shapes[i % SHAPES], 40, i % 2 ? 2 : 18, 5, 0.3, i);
        static const ant_solver solvers[] = {ANT_SOLVER_REFERENCE,  ANT_SOLVER_DEER,
                                             ANT_SOLVER_SEQUENTIAL, ANT_SOLVER_SHOOTING,
                                             ANT_SOLVER_SEQUENTIAL, ANT_SOLVER_SHOOTING};
        ant_solve_options o = options_for(&p, solvers[i / SHAPES]);
        o.pieces = i / SHAPES < 4 ? ANT_PIECES_NEVER : ANT_PIECES_ALWAYS;
        answer with = solve(&p, &o, 32, false);
        o.patterns = 0;
        answer without = solve(&p, &o, 32, false);
        assert_int_equal(with.status, ANTLER_OK);
        assert_true(with.report.loss == without.report.loss);
        assert_memory_equal(with.gradient, without.gradient, p.layout.total * sizeof(double));
        assert_memory_equal(with.states, without.states, p.batch * p.T * p.layout.dims.M * sizeof(double));
        answer_free(&with);
        answer_free(&without);
        problem_free(&p);
    }
}

/* Two equal rows of B: B_o is singular where both are observed and not where one is missing. */
static void test_singular(void **state)
{
    (void)state;
    const ant_model_dims d = {.M = 2, .N = 3, .L = 1};
    problem p = random_problem(d, 2, 1, 0, 1.0, 1);
    memset(p.parameters, 0, p.layout.total * sizeof *p.parameters); /* z_{t+1} = 0 */
    const double B[] = {1, 0, 1, 0, 0, 2}, x[] = {3, 5, NAN, NAN, 7, 4, 1, NAN, NAN};
    memcpy(p.parameters + p.layout.B, B, sizeof B);
    memcpy(p.x, x, sizeof x);
    for (size_t m = 0; m < d.M; m++)
        p.parameters[p.layout.Abar + m] = 20.0; /* A = 1: the forced state is the next one */
    for (int pieces = 0; pieces < 2; pieces++) {
        ant_solve_options o = options_for(&p, pieces ? ANT_SOLVER_SEQUENTIAL : ANT_SOLVER_REFERENCE);
        o.pieces = ANT_PIECES_ALWAYS;
        answer a = solve(&p, &o, 64, true);
        assert_int_equal(a.status, ANTLER_OK);
        const double expected[] = {4, 0, 7, 2}; /* the mean of 3 and 5; then both from row 1 */
        for (size_t i = 0; i < 4; i++)
            assert_true(fabs(a.states[i] - expected[i]) < 1e-12);
        /* observed after row 0: 7, 4 of row 1 and 1 of row 2 */
        assert_true(fabs(a.report.loss - (9.0 + 16.0 + 36.0) / 3.0) < 1e-12);
        check_answer(&a, "singular", 0, pieces, 64, 1e-12);
        answer_free(&a);
    }
    problem_free(&p);
}

/*
 * Two rows of B are nearly parallel, and one of them is missing in every row: each B_o+ is well conditioned,
 * and B+ is not, so what is derived from B+ would be lost to rounding.  Also with all but one missing.
 */
static void test_nearly_singular(void **state)
{
    (void)state;
    static const ant_model_dims d[] = {{.M = 3, .N = 3, .L = 12},
                                       {.M = 5, .N = 3, .L = 12},
                                       {.M = 10, .N = 6, .L = 24},
                                       {.M = 12, .N = 10, .L = 30}};
    const double apart[] = {1e-1, 1e-3, 1e-6, 1e-10};
    for (size_t i = 0; i < 4 * 4 * 4; i++) {
        const size_t M = d[i % 4].M, N = d[i % 4].N;
        const int bits = i / 16 % 2 ? 32 : 64;
        problem p = random_problem(d[i % 4], 40, 3, i % 3 ? 0 : 7, 0.4, 900 + i);
        double *B = p.parameters + p.layout.B;
        for (size_t m = 0; m < M; m++)
            B[M + m] = B[m] + apart[i / 4 % 4] * B[M + m];
        lose(&p, VALUES, i);
        for (size_t t = 0; t < p.batch * (p.T + 1); t++) {
            for (size_t n = 0; n < N; n++) {
                const bool alone = t % 5 == 0 && n != t / 5 % N;
                p.x[t * N + n] = n == t % 2 || alone ? NAN : p.x[t * N + n];
            }
        }
        p.x[(p.warmup + 1) * N + 2] = 0.3;
        ant_solve_options o = options_for(&p, ANT_SOLVER_SEQUENTIAL);
        o.pieces = ANT_PIECES_ALWAYS;
        o.teacher = i / 32 ? ANT_TEACHER_STOP : ANT_TEACHER_FLOW;
        answer a = solve(&p, &o, bits, true);
        check_answer(&a, "nearly singular", i, VALUES, bits, bits == 64 ? 1e-11 : 2e-4);
        answer_free(&a);
        problem_free(&p);
    }
}

static void test_nothing_observed(void **state)
{
    (void)state;
    const ant_model_id kinds[] = {ANT_MODEL_SHPLRNN, ANT_MODEL_LSSM};
    for (size_t k = 0; k < 2; k++) {
        problem p =
            random_problem((ant_model_dims){.kind = kinds[k], .M = 3, .N = 2, .L = 4}, 10, 1, 4, 0.3, 1);
        for (size_t i = 5 * 2; i < 11 * 2; i++)
            p.x[i] = NAN;
        ant_solve_options o = options_for(&p, ANT_SOLVER_AUTO);
        answer a = solve(&p, &o, 64, false);
        assert_int_equal(a.status, ANTLER_ERROR_ARGUMENT);
        assert_non_null(strstr(antler_message(), "no value of the batch is observed after the warm-up"));
        answer_free(&a);
        problem_free(&p);
    }
}

/* NaN without a plan for it, or more patterns than the plan has memory for, are not taken for data. */
static void test_unexpected(void **state)
{
    (void)state;
    problem p = random_problem(shapes[1], 20, 2, 0, 0.3, 1);
    lose(&p, VALUES, 3);
    ant_solve_options o = options_for(&p, ANT_SOLVER_SEQUENTIAL);
    o.patterns = 0;
    answer a = solve(&p, &o, 64, false);
    assert_int_equal(a.status, ANTLER_NON_FINITE);
    o.patterns = 1;
    answer b = solve(&p, &o, 64, false);
    assert_int_equal(b.status, ANTLER_ERROR_ARGUMENT);
    answer_free(&a);
    answer_free(&b);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solvers_double),   cmocka_unit_test(test_solvers_single),
        cmocka_unit_test(test_two_threads),      cmocka_unit_test(test_choice),
        cmocka_unit_test(test_gradient),         cmocka_unit_test(test_linear_gradient),
        cmocka_unit_test(test_linear_threads),   cmocka_unit_test(test_complete_data),
        cmocka_unit_test(test_singular),         cmocka_unit_test(test_nearly_singular),
        cmocka_unit_test(test_nothing_observed), cmocka_unit_test(test_unexpected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
