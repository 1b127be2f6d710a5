/*
 * `deer` and `quasi-deer` on the fake GPU, which runs the kernels of deer.cu and solve.cu on the CPU: beside
 * plain loops, and beside the CPU's own Newton method, whose iterations, outcome and fallbacks are the same;
 * and what becomes of a Newton method that overflows.
 */
#include "unit/training.h"

#include "base/random.h"

/* Five blocks, so that segments are joined within blocks and between them. */
static int use_five(void **state)
{
    setenv("FAKE_CUDA_MULTIPROCESSORS", "5", 1);
    return use_fake(state);
}

typedef struct shape {
    size_t M, N, L, K, rank;
    bool clipped;
    size_t T, batch, warmup;
    antler_solver solver;
    antler_precision precision;
    const char *choice; /* what the GPU says of its solver */
} shape;

#define DEER  ANTLER_SOLVER_DEER
#define QUASI ANTLER_SOLVER_QUASI_DEER
#define F64   ANTLER_PRECISION_DOUBLE
#define F32   ANTLER_PRECISION_FLOAT
#define SCALE 0.8 /* of weights at which forced orbits stay bounded and units switch */

static const shape shapes[] = {
    {1, 1, 3, 0, 0, false, 1, 1, 0, DEER, F64, "whole sequences"},
    {1, 1, 3, 0, 0, false, 50, 2, 0, DEER, F64, "12 segments"},
    {3, 2, 8, 0, 0, false, 2, 21, 0, DEER, F64, "whole sequences"},
    {3, 2, 8, 0, 0, false, 163, 1, 0, DEER, F64, "40 segments per sequence joined with full matrices"},
    {3, 2, 8, 0, 0, false, 77, 3, 30, DEER, F64, "13 segments"}, /* sequences begin inside blocks */
    /* more sequences than segments fit */
    {3, 2, 8, 0, 0, false, 13, 50, 2, DEER, F64, "whole sequences"},
    {3, 2, 8, 0, 0, false, 97, 1, 0, QUASI, F64, "24 segments per sequence joined with diagonals"},
    {3, 2, 8, 0, 0, false, 29, 3, 5, QUASI, F64, "7 segments"},
    {3, 2, 8, 0, 0, false, 83, 2, 30, DEER, F32, "20 segments"},
    {2, 3, 6, 1, 2, true, 61, 3, 10, DEER, F64, "13 segments"},
    {7, 2, 40, 1, 0, true, 61, 1, 11, DEER, F64, "15 segments"},
    {7, 2, 40, 1, 0, true, 61, 2, 11, QUASI, F64, "15 segments"},
    {33, 2, 8, 0, 0, false, 43, 1, 7, DEER, F64, "5 segments"},
};

static antler_settings settings_of(const shape *c)
{
    antler_settings s = plain_settings();
    s.precision = c->precision;
    s.latent_dim = c->M;
    s.hidden_dim = c->L;
    s.rank = c->rank;
    s.clipped = c->clipped;
    s.sequence_length = c->T;
    s.batch_size = c->batch;
    s.warmup = c->warmup;
    s.solver = c->solver;
    s.gtf_alpha = 0.4;
    s.runs = 1;
    return s;
}

/* What a device found of a shape, with weights of size `scale`. */
typedef struct found {
    antler_status status;
    antler_solve_report report;
    double states, gradient; /* distance from plain loops */
    char choice[400];
} found;

static found solve(antler_settings s, const shape *c, antler_device device, double scale)
{
    found f = {.states = NAN, .gradient = NAN};
    antler_problem *problem = NULL;
    s.device = device;
    CHECK_OK(antler_problem_create(&s, c->N, c->K, &problem));
    const size_t total = antler_problem_parameter_total(problem), rows = c->batch * (c->T + 1);
    double *theta = calloc(total, sizeof *theta), *x = calloc(rows * c->N, sizeof *x),
           *inputs = calloc(rows * c->K + 1, sizeof *inputs);
    assert_true(theta != NULL && x != NULL && inputs != NULL);
    ant_stream stream = ant_stream_open(7, 1, (uint32_t)c->M, ANT_PURPOSE_OBSERVATION_NOISE);
    ant_stream_normals(&stream, theta, total);
    for (size_t i = 0; i < total - c->N * c->M; i++)
        theta[i] *= scale / sqrt((double)(c->rank > 0 ? c->rank : c->L > c->M ? c->L : c->M));
    for (size_t n = 0; n < c->N && n < c->M; n++)
        theta[total - c->N * c->M + n * c->M + n] += 4.0;
    for (size_t i = 0; i < rows * c->N; i++)
        x[i] = sin(0.1 * (double)(i / c->N) * (1.0 + 0.3 * (double)(i % c->N)) + (double)(i % c->N));
    for (size_t i = 0; i < rows * c->K; i++)
        inputs[i] = cos(0.21 * (double)i);
    antler_problem_set_parameters(problem, theta);
    antler_problem_set_data(problem, x, c->K > 0 ? inputs : NULL);
    f.status = antler_problem_check(problem, &f.report, &f.states, &f.gradient);
    snprintf(f.choice, sizeof f.choice, "%s", antler_problem_choice(problem));
    antler_problem_free(problem);
    free(theta);
    free(x);
    free(inputs);
    return f;
}

/* Both devices say the same of the same problem; returns what the GPU said. */
static found compare(const antler_settings *s, const shape *c, double scale)
{
    const found cpu = solve(*s, c, ANTLER_DEVICE_CPU, scale), gpu = solve(*s, c, ANTLER_DEVICE_CUDA, scale);
    const int slack = c->precision == F32 ? 1 : 0;
    if (gpu.status != cpu.status || gpu.report.outcome != cpu.report.outcome ||
        abs(gpu.report.iterations - cpu.report.iterations) > slack ||
        gpu.report.fallbacks != cpu.report.fallbacks)
        fail_msg(
            "M %zu T %zu B %zu solver %d: status %d, outcome %d, %d iterations, %zu fallbacks; on the CPU "
            "%d, %d, %d, %zu",
            c->M, c->T, c->batch, (int)c->solver, (int)gpu.status, (int)gpu.report.outcome,
            gpu.report.iterations, gpu.report.fallbacks, (int)cpu.status, (int)cpu.report.outcome,
            cpu.report.iterations, cpu.report.fallbacks);
    return gpu;
}

static void same_iterations_and_answer(void **state)
{
    static const size_t for_races[] = {0, 2, 3, 4, 6, 9, 10, 11, 12}; /* the others run the code of these */
    const size_t count =
        FOR_RACES ? sizeof for_races / sizeof for_races[0] : sizeof shapes / sizeof shapes[0];
    (void)state;
    for (size_t k = 0; k < count; k++) {
        const size_t i = FOR_RACES ? for_races[k] : k;
        const shape *c = &shapes[i];
        const antler_settings s = settings_of(c);
        const found f = compare(&s, c, SCALE);
        const double tolerance = c->precision == F32 ? 1e-4 : 1e-9;
        assert_int_equal(f.status, ANTLER_OK);
        assert_int_equal(f.report.outcome, ANTLER_OK);
        if (!(f.states <= tolerance && f.gradient <= tolerance))
            fail_msg("shape %zu: states %g, gradient %g", i, f.states, f.gradient);
        if (strstr(f.choice, c->choice) == NULL)
            fail_msg("shape %zu: '%s' does not contain '%s'", i, f.choice, c->choice);
    }
}

static void other_first_guesses(void **state)
{
    (void)state;
    shape c = shapes[4];
    if (SANITIZED) {
        c.T = 29;
        c.warmup = 5;
    }
    antler_settings s = settings_of(&c);
    const int from_teacher = compare(&s, &c, SCALE).report.iterations;
    s.start = ANTLER_START_ZERO;
    const found zero = compare(&s, &c, SCALE);
    s.start = ANTLER_START_NORMAL;
    const found normal = compare(&s, &c, SCALE);
    assert_true(zero.states < 1e-9 && normal.states < 1e-9);
    assert_true(from_teacher > 1 && normal.report.iterations >= from_teacher);
}

/* Too few iterations: what is left is solved by exact steps and counted, or without fallback, used and told.
 */
static void gives_up_like_the_cpu(void **state)
{
    (void)state;
    static const size_t cases[] = {4, 9, 7, 12}; /* for races two, one of each form of a model */
    for (size_t i = 0; i < (FOR_RACES ? 2 : sizeof cases / sizeof cases[0]); i++) {
        shape c = shapes[cases[i]];
        c.T = 29; /* exact steps take a pass for every segment */
        c.warmup = 5;
        antler_settings s = settings_of(&c);
        s.max_iterations = 1;
        const found f = compare(&s, &c, SCALE);
        assert_int_equal(f.report.outcome, ANTLER_NOT_CONVERGED);
        assert_int_equal(f.report.fallbacks, c.batch);
        assert_int_equal(f.report.iterations, 1);
        assert_true(f.states < 1e-9 && f.gradient < 1e-9);
        s.fallback = false;
        const found left = solve(s, &c, ANTLER_DEVICE_CUDA, SCALE),
                    cpu = solve(s, &c, ANTLER_DEVICE_CPU, SCALE);
        assert_int_equal(left.status, ANTLER_NOT_CONVERGED);
        assert_int_equal(cpu.status, ANTLER_NOT_CONVERGED);
        CHECK_NEAR(left.report.last_change, cpu.report.last_change, 1e-6 * cpu.report.last_change);
    }
}

/* Newton's method that overflows: exact steps stay bounded, and take its place.  The guesses that it leaves
   are infinite, and a gap between infinite ends is no agreement. */
static void is_lost_like_the_cpu(void **state)
{
    (void)state;
    const shape c = {2, 3, 6, 1, 2, true, 61, 2, 0, DEER, F64, ""};
    const double scale = 100.0;
    antler_settings s = settings_of(&c);
    s.gtf_alpha = 0.0;
    s.max_iterations = 2;
    const found f = compare(&s, &c, scale);
    assert_int_equal(f.status, ANTLER_OK);
    assert_int_equal(f.report.outcome, ANTLER_NON_FINITE);
    assert_int_equal(f.report.fallbacks, 2);
    CHECK_NEAR(f.states, 0.0, 1e-9);
    CHECK_NEAR(f.gradient, 0.0, 1e-9);
    s.fallback = false;
    compare(&s, &c, scale);
}

/* The same without deer.cu before it: segments whose corrections overflow. */
static void shooting_is_lost_and_recovers(void **state)
{
    (void)state;
    const shape c = {7, 2, 40, 1, 0, true, 36, 1, 0, ANTLER_SOLVER_SHOOTING, F64, ""};
    antler_settings s = settings_of(&c);
    s.gtf_alpha = 0.0;
    s.max_iterations = 3;
    const found f = solve(s, &c, ANTLER_DEVICE_CUDA, 100.0);
    assert_int_equal(f.status, ANTLER_OK);
    assert_int_equal(f.report.fallbacks, 1);
    CHECK_NEAR(f.states, 0.0, 1e-9);
    CHECK_NEAR(f.gradient, 0.0, 1e-9);
}

/* An orbit that explodes: gaps are judged by the size of their own segment, not of what comes later. */
static void early_gaps_do_not_hide(void **state)
{
    (void)state;
    const shape c = {3, 2, 8, 0, 0, false, 16, 1, 0, ANTLER_SOLVER_SHOOTING, F64, ""};
    antler_settings s = settings_of(&c);
    s.gtf_alpha = 0.0;
    const found f = solve(s, &c, ANTLER_DEVICE_CUDA, 20.0);
    assert_int_equal(f.status, ANTLER_OK);
    CHECK_NEAR(f.states, 0.0, 1e-9);
    CHECK_NEAR(f.gradient, 0.0, 1e-9);
}

/* Whole updates of two runs: the same parameters, losses and logged iterations. */
static void trains_like_the_cpu(antler_settings s, size_t dim, size_t inputs, double tolerance)
{
    antler_series *series = make_series(400, dim, inputs);
    double cpu[PARAMETERS_MAX] = {0}, gpu[PARAMETERS_MAX] = {0};
    seen on_cpu = {.rows = 0}, on_gpu = {.rows = 0};
    s.device = ANTLER_DEVICE_CPU;
    CHECK_OK(train(&s, series, s.runs, &on_cpu, cpu));
    s.device = ANTLER_DEVICE_CUDA;
    CHECK_OK(train(&s, series, s.runs, &on_gpu, gpu));
    for (size_t i = 0; i < PARAMETERS_MAX; i++)
        CHECK_NEAR(gpu[i], cpu[i], tolerance);
    compare_rows(&on_gpu, &on_cpu, s.runs, tolerance);
    for (size_t i = 0; i < on_gpu.rows; i++) {
        for (size_t k = 0; k < on_cpu.rows; k++) {
            const antler_train_row *g = &on_gpu.row[i], *c = &on_cpu.row[k];
            if (g->run != c->run || g->update != c->update)
                continue;
            CHECK_NEAR(g->iterations, c->iterations, 1e-12);
            assert_true(g->iterations > 1.0);
            assert_int_equal(g->fallbacks, c->fallbacks);
        }
    }
    antler_series_free(series);
}

static void training(void **state)
{
    (void)state;
    antler_settings s = plain_settings();
    s.sequence_length = 61;
    s.batch_size = 2;
    s.updates = SANITIZED ? COMPARED : 5;
    s.log_interval = 1;
    s.solver = DEER;
    trains_like_the_cpu(s, 2, 0, 1e-7);
    s.solver = QUASI;
    s.max_iterations = 4; /* now and then that is too few */
    trains_like_the_cpu(s, 2, 0, 1e-7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_iterations_and_answer),
        cmocka_unit_test(other_first_guesses),
        cmocka_unit_test(gives_up_like_the_cpu),
        cmocka_unit_test(is_lost_like_the_cpu),
        cmocka_unit_test(shooting_is_lost_and_recovers),
        cmocka_unit_test(early_gaps_do_not_hide),
        cmocka_unit_test(training),
    };
    return cmocka_run_group_tests(tests, use_five, NULL);
}
