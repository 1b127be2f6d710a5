/*
 * Missing values (spec 12) on the GPU against the CPU: random masks on awkward shapes by every solver, whole
 * trainings, and the same bytes twice and after a stop.
 */
#include "gpu/gpu.h"

#include "base/random.h"

typedef enum lost { LOST_ROWS, LOST_VALUES, LOST_VARIABLE, LOST_MOST, LOST_KINDS } lost;

/* Lose bursts of whole rows, 30 % of the values, the first variable in half of the stretches, or nine values
   of ten and all of the first rows.  x: (rows, N) */
static void lose(lost kind, size_t rows, size_t N, double *x)
{
    ant_stream stream =
        ant_stream_open(11, (uint32_t)kind, (uint32_t)(rows + N), ANT_PURPOSE_OBSERVATION_NOISE);
    size_t burst = 0;
    for (size_t t = 0; t < rows; t++) {
        if (kind == LOST_ROWS && burst == 0 && ant_stream_uniform(&stream) < 0.1)
            burst = 1 + (size_t)(12.0 * ant_stream_uniform(&stream));
        for (size_t n = 0; n < N; n++) {
            const double u = ant_stream_uniform(&stream);
            const bool missing = kind == LOST_ROWS       ? burst > 0
                                 : kind == LOST_VALUES   ? u < 0.3
                                 : kind == LOST_VARIABLE ? n == 0 && t / 20 % 2 == 1
                                                         : u < 0.9 || t < 3;
            x[t * N + n] = missing ? (double)NAN : x[t * N + n];
        }
        burst -= burst > 0;
    }
}

typedef struct shape {
    size_t M, N, L, K, rank;
    bool clipped;
    size_t T, batch, warmup;
    antler_solver solver;
    antler_model_kind_id model;
} shape;

static antler_settings settings_for(const shape *c, antler_precision precision)
{
    antler_settings s;
    antler_settings_default(&s);
    s.device = ANTLER_DEVICE_CUDA;
    s.precision = precision;
    s.model = c->model;
    s.latent_dim = c->M;
    s.hidden_dim = c->L;
    s.rank = c->rank;
    s.clipped = c->clipped;
    s.sequence_length = c->T;
    s.batch_size = c->batch;
    s.warmup = c->warmup;
    s.solver = c->solver;
    if (c->model == ANTLER_MODEL_SHPLRNN)
        s.gtf_alpha = 0.3;
    if (c->solver == ANTLER_SOLVER_QUASI_DEER && precision == ANTLER_PRECISION_FLOAT)
        s.tolerance = 1e-6; /* its own default leaves more than the comparison allows */
    s.threads = 4;
    return s;
}

/* Weights at which orbits stay bounded, forced or not.  deficient: two rows of B are the same. */
static void draw_parameters(const shape *c, bool deficient, double *theta, size_t total)
{
    ant_stream stream = ant_stream_open(7, 2, (uint32_t)(c->M * 1000 + c->N), ANT_PURPOSE_OBSERVATION_NOISE);
    double *B = theta + total - c->N * c->M;
    ant_stream_normals(&stream, theta, total);
    for (size_t i = 0; i < total - c->N * c->M; i++)
        theta[i] *= 0.4 / sqrt((double)(c->rank > 0 ? c->rank : c->L > c->M ? c->L : c->M));
    for (size_t n = 0; n < c->N && n < c->M && c->model == ANTLER_MODEL_SHPLRNN; n++)
        B[n * c->M + n] += 4.0;
    for (size_t m = 0; m < c->M && deficient; m++)
        B[c->M + m] = B[m];
}

/* Solve a shape beside plain loops on the CPU. */
static void check(const shape *c, const antler_settings *s, lost kind, bool deficient)
{
    const double tolerance = s->precision == ANTLER_PRECISION_DOUBLE ? 1e-9 : 1e-4;
    antler_problem *problem = NULL;
    antler_solve_report report = {0};
    double states = NAN, gradient = NAN;
    REQUIRE_OK(antler_problem_create(s, c->N, c->K, &problem));
    const size_t total = antler_problem_parameter_total(problem), rows = c->batch * (c->T + 1);
    double *theta = calloc(total, sizeof *theta), *x = calloc(rows * c->N, sizeof *x),
           *inputs = calloc(rows * c->K + 1, sizeof *inputs);
    draw_parameters(c, deficient, theta, total);
    for (size_t i = 0; i < rows * c->N; i++)
        x[i] = sin(0.1 * (double)(i / c->N) * (1.0 + 0.3 * (double)(i % c->N)) + (double)(i % c->N));
    for (size_t i = 0; i < rows * c->K; i++)
        inputs[i] = cos(0.21 * (double)i);
    lose(kind, rows, c->N, x);
    x[(c->T + 1) * c->N - 1] = 0.3; /* the loss has a value */
    for (size_t i = 0; i < (c->T + 1) * c->N && c->batch > 2; i++)
        x[(c->T + 1) * c->N + i] = NAN; /* a window without any */
    if (c->model == ANTLER_MODEL_MAMBA2)
        antler_problem_initialise(problem);
    else
        antler_problem_set_parameters(problem, theta);
    antler_problem_set_data(problem, x, inputs);
    const antler_status status = antler_problem_check(problem, &report, &states, &gradient);
    EXPECT(status == ANTLER_OK && states <= tolerance && gradient <= tolerance,
           "M %zu N %zu L %zu K %zu rank %zu T %zu B %zu Tw %zu solver %d %s, lost %d%s: status %d, states "
           "%.2e, gradient %.2e, %d iterations, outcome %d (%s)",
           c->M, c->N, c->L, c->K, c->rank, c->T, c->batch, c->warmup, (int)c->solver,
           s->precision == ANTLER_PRECISION_DOUBLE ? "double" : "float", (int)kind,
           deficient ? ", deficient" : "", (int)status, states, gradient, report.iterations,
           (int)report.outcome, status == ANTLER_OK ? antler_problem_choice(problem) : antler_message());
    antler_problem_free(problem);
    free(theta);
    free(x);
    free(inputs);
}

static const shape shapes[] = {
    {1, 1, 3, 0, 0, false, 1, 1, 0, ANTLER_SOLVER_AUTO, ANTLER_MODEL_SHPLRNN},
    {1, 1, 3, 0, 0, false, 64, 3, 0, ANTLER_SOLVER_SHOOTING, ANTLER_MODEL_SHPLRNN},
    {3, 3, 20, 2, 0, false, 31, 3, 0, ANTLER_SOLVER_AUTO, ANTLER_MODEL_SHPLRNN},
    {3, 3, 20, 2, 0, false, 33, 3, 5, ANTLER_SOLVER_SHOOTING, ANTLER_MODEL_SHPLRNN},
    {4, 3, 50, 0, 0, false, 1025, 1, 512, ANTLER_SOLVER_AUTO, ANTLER_MODEL_SHPLRNN},
    {5, 3, 50, 0, 0, false, 200, 17, 0, ANTLER_SOLVER_AUTO, ANTLER_MODEL_SHPLRNN},
    {3, 7, 30, 0, 0, false, 61, 3, 0, ANTLER_SOLVER_SHOOTING, ANTLER_MODEL_SHPLRNN},
    {5, 3, 33, 2, 2, true, 77, 3, 10, ANTLER_SOLVER_SHOOTING, ANTLER_MODEL_SHPLRNN},
    {10, 6, 128, 0, 0, false, 500, 1, 250, ANTLER_SOLVER_SHOOTING, ANTLER_MODEL_SHPLRNN},
    {16, 3, 50, 0, 0, false, 301, 1, 0, ANTLER_SOLVER_SHOOTING, ANTLER_MODEL_SHPLRNN},
    {24, 6, 64, 0, 0, false, 150, 1, 0, ANTLER_SOLVER_SHOOTING, ANTLER_MODEL_SHPLRNN},
    {33, 4, 40, 0, 0, false, 120, 1, 0, ANTLER_SOLVER_SHOOTING, ANTLER_MODEL_SHPLRNN},
    {40, 9, 50, 0, 0, false, 64, 3, 0, ANTLER_SOLVER_AUTO, ANTLER_MODEL_SHPLRNN},
    {4, 3, 50, 0, 0, false, 400, 2, 50, ANTLER_SOLVER_DEER, ANTLER_MODEL_SHPLRNN},
    {33, 4, 40, 0, 0, false, 90, 1, 0, ANTLER_SOLVER_DEER, ANTLER_MODEL_SHPLRNN},
    {5, 3, 33, 1, 0, true, 60, 2, 0, ANTLER_SOLVER_QUASI_DEER, ANTLER_MODEL_SHPLRNN},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* Under a sanitizer the short ones, and one kind of mask each. */
static void check_shapes(antler_precision precision)
{
    for (size_t i = 0; i < SHAPES; i++) {
        const shape *c = &shapes[i];
        const antler_settings s = settings_for(c, precision);
        for (int kind = 0; kind < LOST_KINDS; kind++) {
            const bool small = c->T * c->batch * c->M < 1000 && kind == (int)(i % LOST_KINDS);
            if (small || !gpu_sanitized())
                check(c, &s, (lost)kind, false);
        }
    }
}

static void shapes_in_double(void)
{
    check_shapes(ANTLER_PRECISION_DOUBLE);
}

static void shapes_in_float(void)
{
    check_shapes(ANTLER_PRECISION_FLOAT);
}

/* LSSM and Mamba-2, which take in their own predictions. */
static const shape kinds[] = {
    {1, 1, 3, 0, 0, false, 1, 1, 0, ANTLER_SOLVER_AUTO, ANTLER_MODEL_LSSM},
    {5, 3, 50, 2, 0, false, 33, 3, 5, ANTLER_SOLVER_AUTO, ANTLER_MODEL_LSSM},
    {10, 6, 128, 0, 0, false, 257, 5, 64, ANTLER_SOLVER_AUTO, ANTLER_MODEL_LSSM},
    {10, 6, 128, 0, 0, false, 3000, 1, 500, ANTLER_SOLVER_AUTO, ANTLER_MODEL_LSSM},
    {64, 20, 300, 1, 0, false, 90, 3, 0, ANTLER_SOLVER_AUTO, ANTLER_MODEL_LSSM},
    {4, 1, 5, 1, 0, false, 1, 1, 0, ANTLER_SOLVER_AUTO, ANTLER_MODEL_MAMBA2},
    {12, 3, 37, 2, 0, false, 33, 3, 5, ANTLER_SOLVER_AUTO, ANTLER_MODEL_MAMBA2},
    {16, 6, 128, 0, 0, false, 61, 4, 60, ANTLER_SOLVER_AUTO, ANTLER_MODEL_MAMBA2},
    {16, 6, 128, 0, 0, false, 1000, 1, 200, ANTLER_SOLVER_AUTO, ANTLER_MODEL_MAMBA2},
    {32, 6, 128, 0, 0, false, 70, 2, 0, ANTLER_SOLVER_AUTO, ANTLER_MODEL_MAMBA2},
    {64, 3, 50, 0, 0, false, 40, 1, 0, ANTLER_SOLVER_AUTO, ANTLER_MODEL_MAMBA2},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static void check_kinds(antler_precision precision)
{
    for (size_t i = 0; i < KINDS; i++) {
        const antler_settings s = settings_for(&kinds[i], precision);
        for (int kind = 0; kind < LOST_KINDS; kind++) {
            const bool small = kinds[i].T * kinds[i].batch < 150 && kind == (int)(i % LOST_KINDS);
            if (small || !gpu_sanitized())
                check(&kinds[i], &s, (lost)kind, false);
        }
    }
}

static void kinds_in_double(void)
{
    check_kinds(ANTLER_PRECISION_DOUBLE);
}

static void kinds_in_float(void)
{
    check_kinds(ANTLER_PRECISION_FLOAT);
}

static void rules_of_forcing(void)
{
    static const shape some[] = {
        {4, 3, 50, 0, 0, false, 300, 1, 40, ANTLER_SOLVER_SHOOTING, ANTLER_MODEL_SHPLRNN},
        {5, 3, 50, 0, 0, false, 20, 5, 0, ANTLER_SOLVER_AUTO, ANTLER_MODEL_SHPLRNN},
        {4, 3, 50, 0, 0, false, 200, 1, 50, ANTLER_SOLVER_DEER, ANTLER_MODEL_SHPLRNN},
    };
    for (size_t i = 0; i < 2 * sizeof some / sizeof some[0]; i++) {
        antler_settings s = settings_for(&some[i / 2], ANTLER_PRECISION_DOUBLE);
        if (i % 2 == 0)
            s.forcing_interval = 7;
        else
            s.gtf_alpha_schedule = ANTLER_ALPHA_SCHEDULE_LINEAR;
        s.teacher = i < 3 ? ANTLER_TEACHER_FLOW : ANTLER_TEACHER_STOP;
        check(&some[i / 2], &s, LOST_VALUES, false);
    }
}

/* B without full rank: B_o of some patterns has none, either. */
static void deficient_readout(void)
{
    static const shape some[] = {{4, 3, 12, 0, 0, false, 40, 2, 0, ANTLER_SOLVER_AUTO, ANTLER_MODEL_SHPLRNN},
                                 {3, 3, 12, 0, 0, false, 40, 2, 0, ANTLER_SOLVER_AUTO, ANTLER_MODEL_SHPLRNN},
                                 {2, 5, 12, 0, 0, false, 40, 2, 0, ANTLER_SOLVER_AUTO, ANTLER_MODEL_SHPLRNN}};
    for (size_t i = 0; i < 3; i++) {
        const antler_settings s = settings_for(&some[i], ANTLER_PRECISION_DOUBLE);
        check(&some[i], &s, LOST_VALUES, true);
    }
}

/* ---- trainings --------------------------------------------------------------------------------------------
 */

static antler_series *make_series(lost kind)
{
    enum { LENGTH = 4000 };
    antler_simulate_opts o;
    antler_series *whole = NULL, *series = NULL;
    double *x = calloc(LENGTH * 3, sizeof *x);
    if (x == NULL || antler_simulate_opts_default("lorenz63", &o) != ANTLER_OK)
        return NULL;
    o.length = LENGTH;
    o.tolerance = 1e-9;
    if (antler_simulate(&o, &whole) != ANTLER_OK || antler_series_create(3, 0, &series) != ANTLER_OK ||
        antler_series_read_f64(whole, 0, 0, LENGTH, x, NULL) != ANTLER_OK)
        EXPECT(false, "%s", antler_message());
    lose(kind, LENGTH, 3, x);
    if (antler_series_append(series, LENGTH, x, NULL) != ANTLER_OK)
        EXPECT(false, "%s", antler_message());
    antler_series_free(whole);
    free(x);
    return series;
}

typedef struct seen {
    antler_train_row row[256];
    size_t rows, asked, stop_at;
} seen;

static void see_row(void *cookie, const antler_train_row *row)
{
    seen *w = cookie;
    if (w->rows < 256)
        w->row[w->rows++] = *row;
}

static int ask(void *cookie)
{
    seen *w = cookie;
    return w->stop_at > 0 && ++w->asked == w->stop_at;
}

static antler_settings training(antler_precision precision, antler_solver solver, antler_model_kind_id model)
{
    const shape small = {4, 3, 20, 0, 0, false, gpu_size(60, 24), 5, 4, solver, model};
    antler_settings s = settings_for(&small, precision);
    s.updates = gpu_size(50, 6);
    s.runs = gpu_size(3, 2);
    s.log_interval = gpu_size(7, 2);
    s.check_interval = gpu_size(25, 3);
    s.noise = 0.02;
    if (model != ANTLER_MODEL_MAMBA2)
        s.kappa = 0.9;
    s.validation = 0.0;
    return s;
}

enum { LAST = 60 }; /* numbers of the last parameter, at most */

/* Train to the end, over a stop where there is one.  B: the last parameter of run `run`, (LAST) */
static void train(const antler_settings *s, const antler_series *series, size_t run, seen *w, double *B)
{
    antler_trainer *trainer = NULL;
    antler_model *model = NULL;
    antler_parameter p;
    const antler_train_events events = {
        .struct_size = sizeof events, .cookie = w, .row = see_row, .stop = ask};
    REQUIRE_OK(antler_trainer_create(s, series, &trainer));
    antler_status status = ANTLER_CANCELLED;
    while (status == ANTLER_CANCELLED)
        status = antler_trainer_run(trainer, &events, NULL);
    EXPECT(status == ANTLER_OK, "%s", antler_message());
    REQUIRE_OK(antler_trainer_model(trainer, run, &model));
    REQUIRE_OK(antler_model_parameter_at(model, antler_model_parameter_count(model) - 1, &p));
    memcpy(B, p.values, p.rows * p.columns * sizeof *B);
    antler_model_free(model);
    antler_trainer_free(trainer);
}

static void compare_training(antler_precision precision, antler_solver solver, antler_model_kind_id model,
                             lost kind)
{
    const double tolerance = precision == ANTLER_PRECISION_DOUBLE ? 1e-6 : 2e-3;
    antler_series *series = make_series(kind);
    antler_settings s = training(precision, solver, model);
    seen gpu_rows = {.rows = 0}, cpu_rows = {.rows = 0};
    double here[LAST] = {0}, there[LAST] = {0};
    train(&s, series, 1, &gpu_rows, here);
    s.device = ANTLER_DEVICE_CPU;
    train(&s, series, 1, &cpu_rows, there);
    EXPECT(gpu_rows.rows == cpu_rows.rows && gpu_rows.rows > 0, "%zu rows, on the CPU %zu", gpu_rows.rows,
           cpu_rows.rows);
    for (size_t i = 0; i < gpu_rows.rows; i++) {
        const antler_train_row *g = &gpu_rows.row[i];
        EXPECT(!(g->gradient_agrees > (precision == ANTLER_PRECISION_DOUBLE ? 1e-7 : 1e-3)),
               "update %zu: the gradient differs by %g from plain loops", g->update, g->gradient_agrees);
        for (size_t k = 0; k < cpu_rows.rows; k++) {
            const antler_train_row *c = &cpu_rows.row[k];
            if (c->run == g->run && c->update == g->update)
                EXPECT_NEAR(g->loss, c->loss, tolerance * c->loss);
        }
    }
    for (size_t i = 0; i < LAST; i++)
        EXPECT_NEAR(here[i], there[i], tolerance);
    antler_series_free(series);
}

static void trains_in_double(void)
{
    compare_training(ANTLER_PRECISION_DOUBLE, ANTLER_SOLVER_AUTO, ANTLER_MODEL_SHPLRNN, LOST_VALUES);
    compare_training(ANTLER_PRECISION_DOUBLE, ANTLER_SOLVER_SHOOTING, ANTLER_MODEL_SHPLRNN, LOST_ROWS);
    compare_training(ANTLER_PRECISION_DOUBLE, ANTLER_SOLVER_DEER, ANTLER_MODEL_SHPLRNN, LOST_VARIABLE);
}

static void trains_in_float(void)
{
    compare_training(ANTLER_PRECISION_FLOAT, ANTLER_SOLVER_AUTO, ANTLER_MODEL_SHPLRNN, LOST_ROWS);
    compare_training(ANTLER_PRECISION_FLOAT, ANTLER_SOLVER_SHOOTING, ANTLER_MODEL_SHPLRNN, LOST_VALUES);
}

static void kinds_train(void)
{
    compare_training(ANTLER_PRECISION_DOUBLE, ANTLER_SOLVER_AUTO, ANTLER_MODEL_LSSM, LOST_VALUES);
    compare_training(ANTLER_PRECISION_FLOAT, ANTLER_SOLVER_AUTO, ANTLER_MODEL_LSSM, LOST_ROWS);
    compare_training(ANTLER_PRECISION_DOUBLE, ANTLER_SOLVER_AUTO, ANTLER_MODEL_MAMBA2, LOST_VALUES);
}

/* Twice, and over a stop. */
static void check_bytes(antler_model_kind_id model)
{
    antler_series *series = make_series(LOST_VALUES);
    antler_settings s = training(ANTLER_PRECISION_FLOAT, ANTLER_SOLVER_AUTO, model);
    seen first = {.rows = 0}, second = {.rows = 0}, stopped = {.stop_at = 2};
    double once[LAST] = {0}, again[LAST] = {0}, over[LAST] = {0};
    train(&s, series, 2, &first, once);
    train(&s, series, 2, &second, again);
    train(&s, series, 2, &stopped, over);
    EXPECT(memcmp(once, again, sizeof once) == 0, "twice: other bytes");
    EXPECT(memcmp(once, over, sizeof once) == 0, "after a stop: other bytes");
    antler_series_free(series);
}

static void same_bytes(void)
{
    check_bytes(ANTLER_MODEL_SHPLRNN);
    check_bytes(ANTLER_MODEL_LSSM);
    check_bytes(ANTLER_MODEL_MAMBA2);
}

int main(int argc, char **argv)
{
    const gpu_test tests[] = {
        GPU_TEST(shapes_in_double),  GPU_TEST(shapes_in_float),  GPU_TEST(rules_of_forcing),
        GPU_TEST(deficient_readout), GPU_TEST(trains_in_double), GPU_TEST(trains_in_float),
        GPU_TEST(kinds_in_double),   GPU_TEST(kinds_in_float),   GPU_TEST(kinds_train),
        GPU_TEST(same_bytes),
    };
    return gpu_main(tests, sizeof tests / sizeof tests[0], argc, argv);
}
