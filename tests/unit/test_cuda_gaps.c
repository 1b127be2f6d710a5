/*
 * Missing values (spec 12) on the GPU engine with the fake driver: trainings and problems as on the CPU, the
 * same bytes after stops, and a sentence where the GPU does not take them.
 */
#include "unit/training.h"

typedef enum lost { LOST_ROWS, LOST_VALUES, LOST_VARIABLE, LOST_BEGINNING, LOST_KINDS } lost;

/* A fixed stream of numbers in [0, 1). */
static double uniform(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 40) / (double)(1 << 24);
}

/* Lose bursts of whole rows, single values, the first variable in half of the stretches, or what a table
   begins with and the last variable of every third row.  x: (rows, dim) */
static void lose(lost kind, size_t rows, size_t dim, double *x)
{
    uint64_t state = 7 + (uint64_t)kind;
    size_t burst = 0;
    for (size_t t = 0; t < rows; t++) {
        if (kind == LOST_ROWS && burst == 0 && uniform(&state) < 0.12)
            burst = 1 + (size_t)(6.0 * uniform(&state));
        for (size_t n = 0; n < dim; n++) {
            const bool missing = kind == LOST_ROWS       ? burst > 0
                                 : kind == LOST_VALUES   ? uniform(&state) < 0.3
                                 : kind == LOST_VARIABLE ? n == 0 && t / 7 % 2 == 1
                                                         : t < 5 || (n == dim - 1 && t % 3 == 0);
            x[t * dim + n] = missing ? (double)NAN : x[t * dim + n];
        }
        burst -= burst > 0;
    }
}

/* A rotation that drifts, in two trajectories, with values lost. */
static antler_series *make_gaps(lost kind, size_t rows, size_t dim, size_t inputs)
{
    antler_series *whole = make_series(rows, dim, inputs), *series = NULL;
    double *x = calloc(rows * dim, sizeof *x), *s = calloc(rows * inputs + 1, sizeof *s);
    assert_true(x != NULL && s != NULL);
    CHECK_OK(antler_series_create(dim, inputs, &series));
    for (size_t i = 0; i < antler_series_count(whole); i++) {
        const size_t length = antler_series_length(whole, i);
        CHECK_OK(antler_series_read_f64(whole, i, 0, length, x, inputs == 0 ? NULL : s));
        lose(kind, length, dim, x);
        CHECK_OK(antler_series_append(series, length, x, inputs == 0 ? NULL : s));
    }
    antler_series_free(whole);
    free(x);
    free(s);
    return series;
}

static void compare_gaps(antler_settings s, lost kind, size_t dim, size_t inputs, double tolerance,
                         double agreement, const char *choice, double passes)
{
    antler_series *series = make_gaps(kind, 90, dim, inputs);
    compare_on((comparison){.settings = s,
                            .run = s.runs,
                            .tolerance = tolerance,
                            .agreement = agreement,
                            .choice = choice,
                            .passes = passes},
               series);
    antler_series_free(series);
}

/* Whole sequences, segments, and Newton on all steps, with its full and its diagonal Jacobian. */
static void trains_as_on_the_cpu(void **state)
{
    (void)state;
    for (int kind = 0; kind < LOST_KINDS; kind++) {
        antler_settings s = plain_settings();
        s.warmup = kind == LOST_VALUES ? 3 : 0;
        compare_gaps(s, (lost)kind, 2, 0, 1e-8, 1e-10, "sequential on the GPU", 0.0);
        s.runs = 1;
        s.batch_size = 2;
        s.solver = ANTLER_SOLVER_SHOOTING;
        compare_gaps(s, (lost)kind, 2, 0, 1e-8, 1e-10, "shooting on the GPU, 4 segments", 4.0);
        s.solver = ANTLER_SOLVER_DEER;
        s.batch_size = 1;
        compare_gaps(s, (lost)kind, 2, 0, 1e-8, 1e-10, "deer on the GPU", 4.0);
        s.solver = ANTLER_SOLVER_QUASI_DEER;
        compare_gaps(s, (lost)kind, 2, 0, 1e-7, 1e-8, "quasi-deer on the GPU", 9.0);
    }
}

static antler_settings sized(size_t M, size_t L)
{
    antler_settings s = plain_settings();
    s.latent_dim = M;
    s.hidden_dim = L;
    s.updates = COMPARED;
    s.log_interval = 1;
    return s;
}

/* The sizes of tests/fake/kernels.cmake. */
static void all_shapes(void **state)
{
    (void)state;
    antler_settings s = sized(1, 3); /* one */
    s.runs = 1;
    compare_gaps(s, LOST_ROWS, 1, 0, 1e-8, 1e-10, "sequential on the GPU", 0.0);
    s = sized(2, 6); /* rich: fewer latent units than variables, inputs, clipped, low rank */
    s.runs = 1;
    s.clipped = true;
    s.rank = 2;
    compare_gaps(s, LOST_VALUES, 3, 1, 1e-8, 1e-10, "sequential on the GPU", 0.0);
    s = sized(3, 8); /* single */
    s.runs = 1;
    s.batch_size = 2;
    s.solver = ANTLER_SOLVER_SHOOTING;
    s.precision = ANTLER_PRECISION_FLOAT;
    compare_gaps(s, LOST_VALUES, 2, 0, 2e-3, 1e-4, "shooting on the GPU", 4.0);
    s = sized(33, 8); /* wide */
    s.runs = 1;
    s.batch_size = 2;
    s.solver = ANTLER_SOLVER_SHOOTING;
    compare_gaps(s, LOST_VALUES, 2, 0, 1e-7, 1e-9, "with diagonals", 4.5);
    s.solver = ANTLER_SOLVER_DEER;
    compare_gaps(s, LOST_VARIABLE, 2, 0, 1e-7, 1e-9, "deer on the GPU", 4.0);
}

static void tangents_of_all_forms(void **state)
{
    (void)state;
    antler_settings s = sized(3, 8); /* whole */
    s.runs = 1;
    s.batch_size = 1;
    s.sequence_length = 40;
    s.solver = ANTLER_SOLVER_SHOOTING;
    compare_gaps(s, LOST_VALUES, 2, 0, 1e-7, 1e-9, "with full matrices", 4.5);
    s.latent_dim = 7; /* tiles */
    s.hidden_dim = 40;
    s.clipped = true;
    compare_gaps(s, LOST_VALUES, 2, 1, 1e-7, 1e-9, "with full matrices", 4.5);
    s.latent_dim = 11; /* tensor */
    s.precision = ANTLER_PRECISION_FLOAT;
    compare_gaps(s, LOST_VALUES, 2, 1, 2e-3, 1e-4, "with full matrices", 4.5);
}

/* Sparse forcing, and every estimate of the strength, which leaves out incomplete rows. */
static void rules_of_forcing(void **state)
{
    (void)state;
    antler_settings s = plain_settings();
    s.runs = 1;
    s.batch_size = 2;
    s.solver = ANTLER_SOLVER_SHOOTING;
    s.forcing_interval = 4;
    compare_gaps(s, LOST_VALUES, 2, 0, 1e-8, 1e-10, "shooting on the GPU", 4.0);
    for (int method = 1; method <= ANTLER_ALPHA_ARITHMETIC_MEAN; method++) {
        s = plain_settings();
        s.initialisation = ANTLER_INITIALISATION_STANDARD;
        s.kappa = 0.9995;
        s.gtf_alpha_method = (antler_alpha_method)method;
        s.gtf_alpha_interval = 2;
        s.gtf_alpha_decay = 0.5;
        compare_gaps(s, LOST_VALUES, 2, 0, 1e-8, 1e-10, "sequential on the GPU", 0.0);
        compare_gaps(s, LOST_BEGINNING, 2, 0, 1e-8, 1e-10, "sequential on the GPU", 0.0);
    }
}

/* Stopped after every call of the learner: the same bytes. */
static void check_bytes(antler_settings s, size_t dim, size_t inputs)
{
    antler_series *series = make_gaps(LOST_VALUES, 90, dim, inputs);
    double once[PARAMETERS_MAX] = {0}, again[PARAMETERS_MAX] = {0};
    seen first = {.rows = 0}, second = {.stop_after = 1};
    s.device = ANTLER_DEVICE_CUDA;
    s.log_interval = 1;
    s.noise = 0.05;
    CHECK_OK(train(&s, series, s.runs, &first, once));
    CHECK_OK(train(&s, series, s.runs, &second, again));
    assert_memory_equal(once, again, sizeof once);
    assert_int_equal(first.rows, second.rows);
    for (size_t i = 0; i < first.rows; i++)
        assert_true(first.row[i].loss == second.row[i].loss);
    antler_series_free(series);
}

static void same_bytes_after_stops(void **state)
{
    (void)state;
    check_bytes(plain_settings(), 2, 0);
}

/* ---- problems --------------------------------------------------------------------------------------------
 */

typedef struct shape {
    size_t T, batch, warmup;
} shape;

static double *make_windows(const antler_settings *s, size_t N)
{
    const size_t count = s->batch_size * (s->sequence_length + 1) * N;
    double *x = calloc(count, sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < count; i++)
        x[i] = sin(0.3 * (double)i) + 0.2 * cos(1.7 * (double)(i % 11));
    return x;
}

/* States and gradient as by plain loops; both teachers. */
static void check_problem(antler_settings s, size_t N, const double *x)
{
    for (int teacher = 0; teacher < 2; teacher++) {
        antler_problem *p = NULL;
        antler_solve_report report, on_cpu;
        double states = 1.0, gradient = 1.0;
        s.teacher = teacher == 0 ? ANTLER_TEACHER_FLOW : ANTLER_TEACHER_STOP;
        s.device = ANTLER_DEVICE_CUDA;
        CHECK_OK(antler_problem_create(&s, N, 0, &p));
        antler_problem_initialise(p);
        antler_problem_set_data(p, x, NULL);
        CHECK_OK(antler_problem_check(p, &report, &states, &gradient));
        CHECK_NEAR(states, 0.0, 1e-10);
        CHECK_NEAR(gradient, 0.0, 1e-10);
        antler_problem_free(p);
        s.device = ANTLER_DEVICE_CPU;
        CHECK_OK(antler_problem_create(&s, N, 0, &p));
        antler_problem_initialise(p);
        antler_problem_set_data(p, x, NULL);
        CHECK_OK(antler_problem_solve(p, &on_cpu));
        CHECK_NEAR(report.loss, on_cpu.loss, 1e-12 * on_cpu.loss);
        antler_problem_free(p);
    }
}

/* One step, around a warp's 32 rows, and a window of which nothing is observed. */
static void awkward_windows(void **state)
{
    static const shape shapes[] = {{1, 5, 0}, {2, 6, 1}, {31, 5, 0}, {32, 6, 4}, {33, 5, 32}};
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        antler_settings s = plain_settings();
        s.runs = 1;
        s.sequence_length = shapes[i].T;
        s.batch_size = shapes[i].batch;
        s.warmup = shapes[i].warmup;
        double *x = make_windows(&s, 2);
        const size_t row = (s.sequence_length + 1) * 2;
        lose(LOST_VALUES, s.batch_size * (s.sequence_length + 1), 2, x);
        x[row - 1] = 0.4; /* the loss has a value */
        for (size_t k = 0; k < row; k++)
            x[(s.batch_size - 1) * row + k] = NAN;
        s.solver = ANTLER_SOLVER_SEQUENTIAL;
        check_problem(s, 2, x);
        if (s.sequence_length == 31) {
            s.solver = ANTLER_SOLVER_SHOOTING;
            check_problem(s, 2, x);
        }
        free(x);
    }
}

static int newton_iterations(const antler_settings *s, const double *x)
{
    antler_problem *p = NULL;
    antler_solve_report report;
    CHECK_OK(antler_problem_create(s, 2, 0, &p));
    antler_problem_initialise(p);
    antler_problem_set_data(p, x, NULL);
    CHECK_OK(antler_problem_solve(p, &report));
    antler_problem_free(p);
    return report.iterations;
}

/* Newton's method begins at the guess of the CPU: it takes as many iterations. */
static void same_guess(void **state)
{
    (void)state;
    for (int kind = 0; kind < LOST_KINDS; kind++) {
        antler_settings s = plain_settings();
        s.runs = s.batch_size = 1;
        s.sequence_length = 60;
        s.gtf_alpha = 0.8;
        s.solver = ANTLER_SOLVER_DEER;
        double *x = make_windows(&s, 2);
        lose((lost)kind, s.sequence_length + 1, 2, x);
        for (size_t i = 0; i < 24 && kind == LOST_ROWS; i++)
            x[50 + i] = NAN; /* a long gap */
        s.device = ANTLER_DEVICE_CUDA;
        const int here = newton_iterations(&s, x);
        s.device = ANTLER_DEVICE_CPU;
        assert_int_equal(here, newton_iterations(&s, x));
        free(x);
    }
}

/* Two rows of B are parallel, so that B_o of a row that has just these loses rank. */
static void singular_readout(void **state)
{
    enum { M = 2, N = 3 };
    (void)state;
    antler_settings s = plain_settings();
    s.runs = 1;
    s.solver = ANTLER_SOLVER_SEQUENTIAL;
    s.device = ANTLER_DEVICE_CUDA;
    s.latent_dim = M; /* rich */
    s.hidden_dim = 6;
    s.clipped = true;
    s.rank = 2;
    antler_problem *p = NULL;
    antler_solve_report report;
    double states = 1.0, gradient = 1.0;
    double *x = make_windows(&s, N), *inputs = calloc(s.batch_size * s.sequence_length, sizeof *inputs);
    assert_non_null(inputs);
    lose(LOST_VALUES, s.batch_size * (s.sequence_length + 1), N, x);
    x[N * 3] = x[N * 3 + 1] = 0.3;
    x[N * 3 + 2] = NAN;
    CHECK_OK(antler_problem_create(&s, N, 1, &p));
    const size_t total = antler_problem_parameter_total(p);
    double *parameters = calloc(total, sizeof *parameters);
    assert_non_null(parameters);
    for (size_t i = 0; i < total; i++)
        parameters[i] = 0.5 * sin(1.3 * (double)i);
    for (size_t m = 0; m < M; m++) /* B is the last parameter */
        parameters[total - N * M + M + m] = 2.0 * parameters[total - N * M + m];
    antler_problem_set_parameters(p, parameters);
    antler_problem_set_data(p, x, inputs);
    CHECK_OK(antler_problem_check(p, &report, &states, &gradient));
    CHECK_NEAR(states, 0.0, 1e-10);
    CHECK_NEAR(gradient, 0.0, 1e-10);
    antler_problem_free(p);
    free(parameters);
    free(inputs);
    free(x);
}

/* A problem takes data with gaps, complete data, and gaps again, and says where there is no loss. */
static void check_changes(antler_settings s, size_t N, size_t K)
{
    antler_problem *p = NULL;
    antler_solve_report complete, report, again;
    s.runs = 1;
    s.device = ANTLER_DEVICE_CUDA;
    const size_t values = s.batch_size * (s.sequence_length + 1) * N;
    double *x = make_windows(&s, N),
           *inputs = calloc(s.batch_size * s.sequence_length * K + 1, sizeof *inputs);
    assert_non_null(inputs);
    CHECK_OK(antler_problem_create(&s, N, K, &p));
    antler_problem_initialise(p);
    antler_problem_set_data(p, x, inputs);
    CHECK_OK(antler_problem_solve(p, &complete));
    const double kept = x[5];
    x[5] = NAN;
    antler_problem_set_data(p, x, inputs);
    CHECK_OK(antler_problem_solve(p, &report));
    assert_true(isfinite(report.loss) && report.loss != complete.loss);
    x[5] = kept;
    antler_problem_set_data(p, x, inputs);
    CHECK_OK(antler_problem_solve(p, &again));
    assert_true(again.loss == complete.loss);
    for (size_t i = 0; i < values; i++)
        x[i] = NAN;
    antler_problem_set_data(p, x, inputs);
    CHECK_FAILS(
        antler_problem_solve(p, &report), ANTLER_ERROR_ARGUMENT,
        "no value of the batch is observed after the warm-up, so there is no loss; give other windows");
    antler_problem_free(p);
    free(x);
    free(inputs);
}

static void data_may_change(void **state)
{
    (void)state;
    antler_settings s = plain_settings();
    s.batch_size = 5;
    check_changes(s, 2, 0);
}

/* ---- kinds that take in their own predictions -------------------------------------------------------------
 */

/* `lssm lacking` of tests/fake/kernels.cmake; many: `lssm lacking_many`. */
static antler_settings lssm_settings(bool many, size_t T, size_t batch, size_t warmup)
{
    antler_settings s = plain_settings();
    s.model = ANTLER_MODEL_LSSM;
    s.runs = 1;
    s.latent_dim = many ? 4 : 3;
    s.hidden_dim = many ? 140 : 8;
    s.sequence_length = T;
    s.batch_size = batch;
    s.warmup = warmup;
    return s;
}

static void lssm_trains_as_on_the_cpu(void **state)
{
    (void)state;
    for (int kind = 0; kind < LOST_KINDS; kind++) {
        antler_settings s = lssm_settings(false, 40, 3, kind == LOST_VALUES ? 7 : 0);
        s.runs = 2;
        s.updates = COMPARED;
        s.log_interval = 1;
        s.MAR_lambda = 0.3;
        s.regularised_units = 2;
        compare_gaps(s, (lost)kind, 2, 0, 1e-10, 1e-12, "predictions of missing values come first", 0.0);
    }
    antler_settings s = lssm_settings(false, 70, 2, 10); /* lacking_wide */
    s.latent_dim = 2;
    s.hidden_dim = 37;
    s.precision = ANTLER_PRECISION_FLOAT;
    s.updates = COMPARED;
    s.log_interval = 1;
    compare_gaps(s, LOST_VALUES, 3, 1, 2e-5, 2e-5, "predictions of missing values come first", 0.0);
}

/* Compare a problem with plain loops.  s: inputs or NULL */
static void check_linear(antler_settings s, size_t N, size_t K, const double *x, double tolerance)
{
    antler_problem *p = NULL;
    antler_solve_report report, on_cpu;
    double states = 1.0, gradient = 1.0;
    double *inputs = calloc(s.batch_size * s.sequence_length * K + 1, sizeof *inputs);
    assert_non_null(inputs);
    for (size_t i = 0; i < s.batch_size * s.sequence_length * K; i++)
        inputs[i] = cos(0.7 * (double)i);
    for (int device = 0; device < 2; device++) {
        s.device = device == 0 ? ANTLER_DEVICE_CPU : ANTLER_DEVICE_CUDA;
        CHECK_OK(antler_problem_create(&s, N, K, &p));
        const size_t total = antler_problem_parameter_total(p);
        double *parameters = calloc(total, sizeof *parameters);
        assert_non_null(parameters);
        for (size_t i = 0; i < total; i++)
            parameters[i] = 0.4 * sin(1.3 * (double)i);
        antler_problem_set_parameters(p, parameters);
        antler_problem_set_data(p, x, K == 0 ? NULL : inputs);
        CHECK_OK(device == 0 ? antler_problem_solve(p, &on_cpu)
                             : antler_problem_check(p, &report, &states, &gradient));
        antler_problem_free(p);
        free(parameters);
    }
    CHECK_NEAR(states, 0.0, tolerance);
    CHECK_NEAR(gradient, 0.0, tolerance);
    CHECK_NEAR(report.loss, on_cpu.loss, tolerance * on_cpu.loss);
    free(inputs);
}

/* Each window lacks one value, each in another row. */
static void check_each_row(antler_settings s, size_t N, size_t K, double tolerance)
{
    const size_t row = (s.sequence_length + 1) * N;
    double *x = make_windows(&s, N);
    for (size_t i = 0; i < s.batch_size; i++)
        x[i * row + i % (s.sequence_length + 1) * N + i % N] = NAN;
    check_linear(s, N, K, x, tolerance);
    free(x);
}

/* One step, around a tile, a window without a value, a dead variable, and rows without a value. */
static void check_awkward(antler_settings s, size_t N, size_t K, double tolerance)
{
    const size_t T = s.sequence_length, row = (T + 1) * N, batch = s.batch_size;
    double *x = make_windows(&s, N);
    lose(LOST_VALUES, batch * (T + 1), N, x);
    x[row - 1] = 0.4; /* the loss has a value */
    for (size_t k = 0; k < row && batch > 1; k++)
        x[(batch - 1) * row + k] = NAN;
    for (size_t t = 0; t <= T && batch > 2; t++) {
        x[row + t * N] = NAN; /* a dead variable, and the first row */
        for (size_t n = 0; n < N; n++)
            x[2 * row + t * N + n] = t % 7 == 3 || t == 0 || t == T ? (double)NAN : sin((double)(t + n));
    }
    check_linear(s, N, K, x, tolerance);
    free(x);
}

static void lssm_awkward_windows(void **state)
{
    static const shape shapes[] = {{1, 1, 0},  {1, 4, 0},   {2, 4, 1}, {36, 4, 0},
                                   {37, 4, 9}, {38, 4, 37}, {75, 4, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        check_awkward(lssm_settings(false, shapes[i].T, shapes[i].batch, shapes[i].warmup), 2, 0, 1e-12);
        check_awkward(lssm_settings(true, shapes[i].T, shapes[i].batch, shapes[i].warmup), 3, 2, 1e-11);
    }
    check_each_row(lssm_settings(true, 75, 76, 9), 3, 2, 1e-11); /* of two tiles and a part */
}

/* `mamba2 lacking_small` of tests/fake/kernels.cmake: M 4, N 1, L 5, K 1. */
static antler_settings mamba2_settings(size_t T, size_t batch, size_t warmup)
{
    antler_settings s = lssm_settings(false, T, batch, warmup);
    s.model = ANTLER_MODEL_MAMBA2;
    s.kappa = 0.9995;
    s.latent_dim = 4;
    s.hidden_dim = 5;
    return s;
}

static void mamba2_trains_as_on_the_cpu(void **state)
{
    (void)state;
    for (int kind = 0; kind < LOST_KINDS; kind++) {
        antler_settings s = mamba2_settings(35, 2, kind == LOST_VALUES ? 7 : 0);
        s.runs = 2;
        s.updates = COMPARED;
        s.log_interval = 1;
        compare_gaps(s, (lost)kind, 1, 1, 1e-9, 1e-10, "predictions of missing values come first", 0.0);
    }
    antler_settings s = mamba2_settings(70, 1, 10); /* lacking_odd */
    s.latent_dim = 12;
    s.hidden_dim = 37;
    s.precision = ANTLER_PRECISION_FLOAT;
    s.updates = COMPARED;
    s.log_interval = 1;
    compare_gaps(s, LOST_VALUES, 3, 2, 1e-4, 1e-4, "predictions of missing values come first", 0.0);
}

static void mamba2_awkward_windows(void **state)
{
    static const shape shapes[] = {{1, 1, 0}, {2, 3, 1}, {27, 3, 0}, {29, 3, 28}, {33, 3, 5}};
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        check_awkward(mamba2_settings(shapes[i].T, shapes[i].batch, shapes[i].warmup), 1, 1, 1e-10);
    check_each_row(mamba2_settings(33, 34, 5), 1, 1, 1e-10);
    antler_settings s = mamba2_settings(31, 3, 4); /* lacking_double */
    s.latent_dim = 16;
    s.hidden_dim = 128;
    check_awkward(s, 6, 0, 1e-10);
}

static void kinds_stop_and_change(void **state)
{
    (void)state;
    antler_settings s = lssm_settings(false, 20, 3, 4);
    s.updates = 4;
    s.runs = 2;
    check_bytes(s, 2, 0);
    check_changes(s, 2, 0);
    s = mamba2_settings(20, 2, 4);
    s.updates = 4;
    check_bytes(s, 1, 1);
    check_changes(s, 1, 1);
}

/* ---- what the GPU does not take ---------------------------------------------------------------------------
 */

/* More patterns than the GPU takes of a shPLRNN: the first 11 variables count in binary. */
static antler_series *make_many_patterns(void)
{
    enum { WIDTH = 12, COUNT = 1100 };
    antler_series *series = NULL;
    double *x = calloc(COUNT * WIDTH, sizeof *x);
    assert_non_null(x);
    for (size_t t = 0; t < COUNT; t++)
        for (size_t n = 0; n < WIDTH; n++)
            x[t * WIDTH + n] = n < 11 && t >> n & 1 ? (double)NAN : sin(0.1 * (double)(t + n));
    CHECK_OK(antler_series_create(WIDTH, 0, &series));
    CHECK_OK(antler_series_append(series, COUNT, x, NULL));
    free(x);
    return series;
}

static void too_many_patterns(void **state)
{
    (void)state;
    antler_settings s = plain_settings();
    antler_series *series = make_many_patterns();
    antler_trainer *trainer = NULL;
    s.device = ANTLER_DEVICE_CUDA;
    CHECK_FAILS(antler_trainer_create(&s, series, &trainer), ANTLER_ERROR_ARGUMENT,
                "device: cuda does not take missing values in more than 1024 patterns");
    assert_null(trainer);
    s.model = ANTLER_MODEL_LSSM; /* only the forcing has patterns */
    CHECK_OK(antler_trainer_create(&s, series, &trainer));
    antler_trainer_free(trainer);
    antler_series_free(series);
}

static void auto_takes_the_cpu(void **state)
{
    (void)state;
    antler_settings s = plain_settings();
    antler_series *series = make_many_patterns();
    double cpu[PARAMETERS_MAX] = {0}, chosen[PARAMETERS_MAX] = {0};
    seen on_cpu = {.rows = 0}, w = {.rows = 0};
    s.batch_size = 2048; /* worth a GPU */
    s.updates = 2;
    s.device = ANTLER_DEVICE_AUTO;
    CHECK_OK(train(&s, series, 1, &w, chosen));
    assert_null(strstr(w.text, "Imaginary GPU"));
    assert_non_null(strstr(w.text, "but does not take missing values in more than 1024 patterns"));
    s.device = ANTLER_DEVICE_CPU;
    CHECK_OK(train(&s, series, 1, &on_cpu, cpu));
    assert_memory_equal(chosen, cpu, sizeof cpu);
    antler_series_free(series);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trains_as_on_the_cpu),
        cmocka_unit_test(all_shapes),
        cmocka_unit_test(tangents_of_all_forms),
        cmocka_unit_test(rules_of_forcing),
        cmocka_unit_test(same_bytes_after_stops),
        cmocka_unit_test(awkward_windows),
        cmocka_unit_test(same_guess),
        cmocka_unit_test(singular_readout),
        cmocka_unit_test(data_may_change),
        cmocka_unit_test(lssm_trains_as_on_the_cpu),
        cmocka_unit_test(lssm_awkward_windows),
        cmocka_unit_test(mamba2_trains_as_on_the_cpu),
        cmocka_unit_test(mamba2_awkward_windows),
        cmocka_unit_test(kinds_stop_and_change),
        cmocka_unit_test(too_many_patterns),
        cmocka_unit_test(auto_takes_the_cpu),
    };
    return cmocka_run_group_tests(tests, use_fake, NULL);
}
