/*
 * Solving and training on the GPU against the CPU: every awkward shape, whole updates, the same bytes twice
 * and alone, and runs that go on elsewhere.
 */
#include "gpu/gpu.h"

#include "base/random.h"

#include <unistd.h>

typedef struct shape {
    size_t M, N, L, K, rank;
    bool clipped;
    size_t T, batch, warmup;
    antler_solver solver;
    double alpha; /* of a shPLRNN */
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
        s.gtf_alpha = c->alpha;
    s.threads = 4;
    return s;
}

/* Weights at which forced orbits stay bounded.  deficient: two rows of B are the same. */
static void draw_parameters(const shape *c, bool deficient, double *theta, size_t total)
{
    ant_stream stream = ant_stream_open(7, 1, (uint32_t)(c->M * 1000 + c->N), ANT_PURPOSE_OBSERVATION_NOISE);
    double *B = theta + total - c->N * c->M;
    ant_stream_normals(&stream, theta, total);
    if (c->model != ANTLER_MODEL_SHPLRNN) {
        for (size_t i = 0; i < total; i++)
            theta[i] *= 0.5;
        for (size_t m = 0; m < c->M && c->model == ANTLER_MODEL_LSSM; m++)
            theta[m] = m % 3 == 2 ? theta[m] : 3.0 + theta[m]; /* decays near 1, and others */
        return;
    }
    for (size_t i = 0; i < total - c->N * c->M; i++)
        theta[i] *= 0.4 / sqrt((double)(c->rank > 0 ? c->rank : c->L > c->M ? c->L : c->M));
    for (size_t n = 0; n < c->N && n < c->M; n++)
        B[n * c->M + n] += 4.0;
    for (size_t m = 0; m < c->M && deficient; m++)
        B[c->M + m] = B[m];
}

/* Solve a shape beside plain loops on the CPU. */
static void solve_shape(const shape *c, const antler_settings *settings, bool deficient,
                        antler_solve_report *told)
{
    const antler_precision precision = settings->precision;
    const double tolerance = precision == ANTLER_PRECISION_DOUBLE ? 1e-9 : 1e-4;
    const antler_settings s = *settings;
    antler_problem *problem = NULL;
    antler_solve_report report = {0};
    double states = NAN, gradient = NAN;
    REQUIRE_OK(antler_problem_create(&s, c->N, c->K, &problem));
    const size_t total = antler_problem_parameter_total(problem), rows = c->batch * (c->T + 1);
    double *theta = calloc(total, sizeof *theta), *x = calloc(rows * c->N, sizeof *x),
           *inputs = calloc(rows * c->K + 1, sizeof *inputs);
    draw_parameters(c, deficient, theta, total);
    for (size_t i = 0; i < rows * c->N; i++)
        x[i] = sin(0.1 * (double)(i / c->N) * (1.0 + 0.3 * (double)(i % c->N)) + (double)(i % c->N));
    for (size_t i = 0; i < rows * c->K; i++)
        inputs[i] = cos(0.21 * (double)i);
    antler_problem_set_parameters(problem, theta);
    antler_problem_set_data(problem, x, inputs);
    const antler_status status = antler_problem_check(problem, &report, &states, &gradient);
    EXPECT(status == ANTLER_OK && states <= tolerance && gradient <= tolerance,
           "model %d M %zu N %zu L %zu K %zu rank %zu clipped %d T %zu B %zu Tw %zu solver %d %s%s: status "
           "%d, states "
           "%.2e, gradient "
           "%.2e, %d iterations, outcome %d (%s)",
           (int)c->model, c->M, c->N, c->L, c->K, c->rank, c->clipped, c->T, c->batch, c->warmup,
           (int)c->solver, precision == ANTLER_PRECISION_DOUBLE ? "double" : "float",
           deficient ? ", deficient" : "", (int)status, states, gradient, report.iterations,
           (int)report.outcome, antler_problem_choice(problem));
    antler_problem_free(problem);
    free(theta);
    free(x);
    free(inputs);
    *told = report;
}

static void check_shape(const shape *c, antler_precision precision, bool deficient)
{
    const antler_settings s = settings_for(c, precision);
    antler_solve_report report;
    solve_shape(c, &s, deficient, &report);
}

static const shape shapes[] = {
    {1, 1, 1, 0, 0, false, 1, 1, 0, ANTLER_SOLVER_AUTO, 0.2, ANTLER_MODEL_SHPLRNN},
    {1, 1, 3, 0, 0, false, 2, 1, 0, ANTLER_SOLVER_SHOOTING, 0.2, ANTLER_MODEL_SHPLRNN},
    {2, 1, 5, 0, 0, false, 37, 3, 5, ANTLER_SOLVER_SHOOTING, 0.3, ANTLER_MODEL_SHPLRNN},
    {3, 3, 20, 2, 0, false, 100, 1, 0, ANTLER_SOLVER_SHOOTING, 0.2, ANTLER_MODEL_SHPLRNN},
    {4, 3, 50, 0, 0, false, 1000, 1, 0, ANTLER_SOLVER_SHOOTING, 0.15, ANTLER_MODEL_SHPLRNN},
    {4, 3, 50, 0, 0, false, 1025, 1, 512, ANTLER_SOLVER_AUTO, 0.15, ANTLER_MODEL_SHPLRNN},
    {5, 3, 50, 0, 0, false, 200, 17, 0, ANTLER_SOLVER_AUTO, 0.15, ANTLER_MODEL_SHPLRNN},
    {3, 7, 30, 0, 0, false, 61, 3, 0, ANTLER_SOLVER_SHOOTING, 0.2, ANTLER_MODEL_SHPLRNN},
    {5, 3, 33, 2, 2, true, 77, 3, 10, ANTLER_SOLVER_SHOOTING, 0.2, ANTLER_MODEL_SHPLRNN},
    {10, 6, 128, 0, 0, false, 500, 1, 250, ANTLER_SOLVER_SHOOTING, 0.1, ANTLER_MODEL_SHPLRNN},
    {16, 3, 50, 0, 0, false, 301, 1, 0, ANTLER_SOLVER_SHOOTING, 0.15, ANTLER_MODEL_SHPLRNN},
    {8, 3, 40, 1, 0, true, 5003, 2, 1000, ANTLER_SOLVER_SHOOTING, 0.15, ANTLER_MODEL_SHPLRNN},
    {10, 6, 128, 0, 0, false, 20000, 1, 9000, ANTLER_SOLVER_AUTO, 0.1, ANTLER_MODEL_SHPLRNN},
    {17, 5, 40, 1, 0, true, 90, 3, 0, ANTLER_SOLVER_AUTO, 0.2, ANTLER_MODEL_SHPLRNN},
    {24, 6, 64, 0, 0, false, 150, 1, 0, ANTLER_SOLVER_SHOOTING, 0.3, ANTLER_MODEL_SHPLRNN},
    {20, 5, 300, 1, 0, true, 5000, 1, 2000, ANTLER_SOLVER_SHOOTING, 0.2, ANTLER_MODEL_SHPLRNN},
    {32, 6, 128, 0, 0, false, 7001, 1, 3000, ANTLER_SOLVER_SHOOTING, 0.2, ANTLER_MODEL_SHPLRNN},
    {33, 4, 40, 0, 0, false, 120, 1, 0, ANTLER_SOLVER_SHOOTING, 0.3, ANTLER_MODEL_SHPLRNN},
    {40, 45, 50, 0, 0, false, 64, 3, 0, ANTLER_SOLVER_AUTO, 0.3, ANTLER_MODEL_SHPLRNN},
    /* whole sequences by one warp and several, many variables */
    {5, 5, 250, 0, 0, true, 61, 16, 7, ANTLER_SOLVER_SEQUENTIAL, 0.3, ANTLER_MODEL_SHPLRNN},
    {8, 3, 512, 1, 0, true, 33, 3, 33, ANTLER_SOLVER_SEQUENTIAL, 0.2, ANTLER_MODEL_SHPLRNN},
    {9, 4, 70, 0, 0, false, 5, 200, 2, ANTLER_SOLVER_SEQUENTIAL, 0.2, ANTLER_MODEL_SHPLRNN},
    {16, 64, 512, 0, 0, false, 50, 16, 0, ANTLER_SOLVER_SEQUENTIAL, 0.3, ANTLER_MODEL_SHPLRNN},
    {5, 35, 150, 1, 2, true, 61, 3, 7, ANTLER_SOLVER_SEQUENTIAL, 0.2, ANTLER_MODEL_SHPLRNN},
    {20, 128, 200, 0, 0, false, 30, 4, 0, ANTLER_SOLVER_SEQUENTIAL, 0.2, ANTLER_MODEL_SHPLRNN},
    {8, 40, 60, 0, 0, false, 701, 1, 100, ANTLER_SOLVER_SHOOTING, 0.2, ANTLER_MODEL_SHPLRNN},
    {64, 3, 50, 0, 0, false, 200, 1, 0, ANTLER_SOLVER_SHOOTING, 0.3, ANTLER_MODEL_SHPLRNN},
    {128, 3, 50, 0, 0, false, 130, 1, 0, ANTLER_SOLVER_SHOOTING, 0.3, ANTLER_MODEL_SHPLRNN},
};

/* Under a sanitizer: a short one for every path of the kernels, of sizes that are in the cache already.  Full
 * matrices as a whole, in tiles, in large ones and by tensor cores, inputs and low rank, N > M, diagonals, no
 * segments. */
static const shape few_shapes[] = {
    {1, 1, 3, 0, 0, false, 2, 1, 0, ANTLER_SOLVER_SHOOTING, 0.2, ANTLER_MODEL_SHPLRNN},
    {4, 3, 50, 0, 0, false, 300, 1, 0, ANTLER_SOLVER_SHOOTING, 0.15, ANTLER_MODEL_SHPLRNN},
    {10, 6, 128, 0, 0, false, 60, 1, 20, ANTLER_SOLVER_SHOOTING, 0.1, ANTLER_MODEL_SHPLRNN},
    {16, 3, 50, 0, 0, false, 60, 1, 0, ANTLER_SOLVER_SHOOTING, 0.15, ANTLER_MODEL_SHPLRNN},
    {5, 3, 33, 2, 2, true, 40, 3, 10, ANTLER_SOLVER_SHOOTING, 0.2, ANTLER_MODEL_SHPLRNN},
    {3, 7, 30, 0, 0, false, 31, 3, 0, ANTLER_SOLVER_SHOOTING, 0.2, ANTLER_MODEL_SHPLRNN},
    {20, 5, 300, 1, 0, true, 40, 1, 10, ANTLER_SOLVER_SHOOTING, 0.2, ANTLER_MODEL_SHPLRNN},
    {33, 4, 40, 0, 0, false, 40, 1, 0, ANTLER_SOLVER_SHOOTING, 0.3, ANTLER_MODEL_SHPLRNN},
    {128, 3, 50, 0, 0, false, 16, 1, 0, ANTLER_SOLVER_SHOOTING, 0.3, ANTLER_MODEL_SHPLRNN},
    {5, 3, 50, 0, 0, false, 20, 5, 0, ANTLER_SOLVER_AUTO, 0.15, ANTLER_MODEL_SHPLRNN},
    {17, 5, 40, 1, 0, true, 12, 3, 0, ANTLER_SOLVER_AUTO, 0.2, ANTLER_MODEL_SHPLRNN},
    {5, 5, 250, 0, 0, true, 9, 2, 3, ANTLER_SOLVER_SEQUENTIAL, 0.3, ANTLER_MODEL_SHPLRNN},
    {16, 64, 512, 0, 0, false, 7, 2, 0, ANTLER_SOLVER_SEQUENTIAL, 0.3, ANTLER_MODEL_SHPLRNN},
};

/* Newton's method on all steps at once. */
static const shape deer_shapes[] = {
    {1, 1, 3, 0, 0, false, 50, 2, 0, ANTLER_SOLVER_DEER, 0.3, ANTLER_MODEL_SHPLRNN},
    {4, 3, 50, 0, 0, false, 1, 3, 0, ANTLER_SOLVER_DEER, 0.3, ANTLER_MODEL_SHPLRNN},
    {4, 3, 50, 0, 0, false, 5003, 1, 1000, ANTLER_SOLVER_DEER, 0.15, ANTLER_MODEL_SHPLRNN},
    {3, 7, 30, 0, 0, false, 61, 3, 0, ANTLER_SOLVER_DEER, 0.2, ANTLER_MODEL_SHPLRNN},
    {5, 3, 33, 2, 2, true, 77, 3, 10, ANTLER_SOLVER_DEER, 0.2, ANTLER_MODEL_SHPLRNN},
    {4, 3, 50, 0, 0, false, 30, 1100, 0, ANTLER_SOLVER_DEER, 0.3, ANTLER_MODEL_SHPLRNN},
    {10, 6, 128, 0, 0, false, 20000, 1, 9000, ANTLER_SOLVER_DEER, 0.1, ANTLER_MODEL_SHPLRNN},
    {17, 5, 40, 1, 0, true, 901, 2, 0, ANTLER_SOLVER_DEER, 0.2, ANTLER_MODEL_SHPLRNN},
    {32, 4, 40, 0, 0, false, 1201, 1, 0, ANTLER_SOLVER_DEER, 0.3, ANTLER_MODEL_SHPLRNN},
    {64, 3, 50, 0, 0, false, 2000, 1, 0, ANTLER_SOLVER_DEER, 0.3, ANTLER_MODEL_SHPLRNN},
    {100, 3, 50, 0, 0, false, 700, 2, 0, ANTLER_SOLVER_DEER, 0.3, ANTLER_MODEL_SHPLRNN},
    {128, 3, 50, 0, 0, false, 1300, 1, 0, ANTLER_SOLVER_DEER, 0.3, ANTLER_MODEL_SHPLRNN},
    {4, 3, 50, 0, 0, false, 2000, 2, 0, ANTLER_SOLVER_QUASI_DEER, 0.6, ANTLER_MODEL_SHPLRNN},
    {10, 6, 128, 1, 0, true, 3001, 1, 300, ANTLER_SOLVER_QUASI_DEER, 0.6, ANTLER_MODEL_SHPLRNN},
    {128, 3, 50, 0, 0, false, 300, 1, 0, ANTLER_SOLVER_QUASI_DEER, 0.6, ANTLER_MODEL_SHPLRNN},
};

/* Segments of one warp and of several, columns held by one lane and by several, sequences that are not cut.
 */
static const shape few_deer_shapes[] = {
    {4, 3, 50, 0, 0, false, 10, 3, 0, ANTLER_SOLVER_DEER, 0.3, ANTLER_MODEL_SHPLRNN},
    {4, 3, 50, 0, 0, false, 200, 1, 50, ANTLER_SOLVER_DEER, 0.15, ANTLER_MODEL_SHPLRNN},
    {5, 3, 33, 2, 2, true, 40, 3, 10, ANTLER_SOLVER_DEER, 0.2, ANTLER_MODEL_SHPLRNN},
    {10, 6, 128, 0, 0, false, 60, 1, 20, ANTLER_SOLVER_DEER, 0.1, ANTLER_MODEL_SHPLRNN},
    {32, 4, 40, 0, 0, false, 40, 1, 0, ANTLER_SOLVER_DEER, 0.3, ANTLER_MODEL_SHPLRNN},
    {64, 3, 50, 0, 0, false, 20, 1, 0, ANTLER_SOLVER_DEER, 0.3, ANTLER_MODEL_SHPLRNN},
    {128, 3, 50, 0, 0, false, 13, 1, 0, ANTLER_SOLVER_DEER, 0.3, ANTLER_MODEL_SHPLRNN},
    {4, 3, 50, 0, 0, false, 60, 2, 0, ANTLER_SOLVER_QUASI_DEER, 0.6, ANTLER_MODEL_SHPLRNN},
    {10, 6, 128, 1, 0, true, 60, 1, 10, ANTLER_SOLVER_QUASI_DEER, 0.6, ANTLER_MODEL_SHPLRNN},
};

/* The kinds that are linear in their state. */
static const shape linear_shapes[] = {
    {1, 1, 1, 0, 0, false, 1, 1, 0, ANTLER_SOLVER_AUTO, 0, ANTLER_MODEL_LSSM},
    {2, 3, 37, 1, 0, false, 33, 3, 5, ANTLER_SOLVER_AUTO, 0, ANTLER_MODEL_LSSM},
    {5, 2, 9, 3, 0, false, 1000, 1, 100, ANTLER_SOLVER_SCAN, 0, ANTLER_MODEL_LSSM},
    {10, 6, 128, 0, 0, false, 777, 2, 300, ANTLER_SOLVER_AUTO, 0, ANTLER_MODEL_LSSM},
    {4, 3, 50, 0, 0, false, 20000, 1, 0, ANTLER_SOLVER_AUTO, 0, ANTLER_MODEL_LSSM},
    {10, 6, 128, 0, 0, false, 81920, 1, 16384, ANTLER_SOLVER_AUTO, 0, ANTLER_MODEL_LSSM},
    {10, 6, 128, 0, 0, false, 3001, 40, 7, ANTLER_SOLVER_AUTO, 0, ANTLER_MODEL_LSSM},
    {3, 40, 20, 2, 0, false, 100, 300, 10, ANTLER_SOLVER_AUTO, 0, ANTLER_MODEL_LSSM},
    {33, 7, 300, 0, 0, false, 500, 1, 0, ANTLER_SOLVER_AUTO, 0, ANTLER_MODEL_LSSM},
    {128, 3, 50, 0, 0, false, 130, 2, 0, ANTLER_SOLVER_AUTO, 0, ANTLER_MODEL_LSSM},
    {150, 20, 600, 1, 0, false, 70, 1, 0, ANTLER_SOLVER_AUTO, 0, ANTLER_MODEL_LSSM},
};

/* One segment and several; a model wider than a warp. */
static const shape few_linear_shapes[] = {
    {1, 1, 1, 0, 0, false, 1, 1, 0, ANTLER_SOLVER_AUTO, 0, ANTLER_MODEL_LSSM},
    {2, 3, 37, 1, 0, false, 33, 3, 5, ANTLER_SOLVER_AUTO, 0, ANTLER_MODEL_LSSM},
    {10, 6, 128, 0, 0, false, 100, 2, 40, ANTLER_SOLVER_AUTO, 0, ANTLER_MODEL_LSSM},
    {33, 7, 300, 0, 0, false, 40, 1, 0, ANTLER_SOLVER_AUTO, 0, ANTLER_MODEL_LSSM},
};

/* Around the lengths of segments, 28 steps in double and 60 in float. */
static const shape mamba2_shapes[] = {
    {4, 1, 5, 1, 0, false, 1, 1, 0, ANTLER_SOLVER_AUTO, 0, ANTLER_MODEL_MAMBA2},
    {12, 3, 37, 2, 0, false, 61, 3, 20, ANTLER_SOLVER_AUTO, 0, ANTLER_MODEL_MAMBA2},
    {16, 6, 128, 0, 0, false, 29, 2, 0, ANTLER_SOLVER_SCAN, 0, ANTLER_MODEL_MAMBA2},
    {16, 6, 128, 0, 0, false, 60, 5, 59, ANTLER_SOLVER_AUTO, 0, ANTLER_MODEL_MAMBA2},
    {32, 6, 128, 0, 0, false, 59, 5, 0, ANTLER_SOLVER_AUTO, 0, ANTLER_MODEL_MAMBA2},
    {32, 6, 128, 0, 0, false, 5000, 1, 1000, ANTLER_SOLVER_AUTO, 0, ANTLER_MODEL_MAMBA2},
    {16, 6, 128, 0, 0, false, 81920, 1, 16384, ANTLER_SOLVER_AUTO, 0, ANTLER_MODEL_MAMBA2},
    {20, 9, 200, 0, 0, false, 200, 100, 0, ANTLER_SOLVER_AUTO, 0, ANTLER_MODEL_MAMBA2},
};

static const shape few_mamba2_shapes[] = {
    {4, 1, 5, 1, 0, false, 1, 1, 0, ANTLER_SOLVER_AUTO, 0, ANTLER_MODEL_MAMBA2},
    {12, 3, 37, 2, 0, false, 61, 2, 20, ANTLER_SOLVER_AUTO, 0, ANTLER_MODEL_MAMBA2},
    {16, 6, 128, 0, 0, false, 29, 2, 0, ANTLER_SOLVER_SCAN, 0, ANTLER_MODEL_MAMBA2},
    {32, 6, 128, 0, 0, false, 61, 1, 0, ANTLER_SOLVER_AUTO, 0, ANTLER_MODEL_MAMBA2},
};

/* Too wide in double for the shared memory that there is today. */
static const shape wide_mamba2 = {
    64, 3, 50, 0, 0, false, 130, 1, 0, ANTLER_SOLVER_AUTO, 0, ANTLER_MODEL_MAMBA2};

typedef struct shape_list {
    const shape *first;
    size_t count;
} shape_list;

#define SHAPE_LIST(list) ((shape_list){list, sizeof list / sizeof list[0]})

/* All of them, or the few under a sanitizer. */
static void check_shapes(shape_list all, shape_list few, antler_precision precision)
{
    const shape_list list = gpu_sanitized() ? few : all;
    for (size_t i = 0; i < list.count; i++)
        check_shape(&list.first[i], precision, false);
}

static void shapes_in_double(void)
{
    check_shapes(SHAPE_LIST(shapes), SHAPE_LIST(few_shapes), ANTLER_PRECISION_DOUBLE);
}

static void shapes_in_float(void)
{
    check_shapes(SHAPE_LIST(shapes), SHAPE_LIST(few_shapes), ANTLER_PRECISION_FLOAT);
}

/* Sparse forcing, and a strength that each replica reads from its weights: segments, whole sequences, deer.
 */
static void rules_of_forcing(void)
{
    static const shape some[] = {
        {4, 3, 50, 0, 0, false, 300, 1, 40, ANTLER_SOLVER_SHOOTING, 0.15, ANTLER_MODEL_SHPLRNN},
        {5, 3, 50, 0, 0, false, 20, 5, 0, ANTLER_SOLVER_AUTO, 0.15, ANTLER_MODEL_SHPLRNN},
        {33, 4, 40, 0, 0, false, 40, 1, 0, ANTLER_SOLVER_SHOOTING, 0.3, ANTLER_MODEL_SHPLRNN},
        {4, 3, 50, 0, 0, false, 200, 1, 50, ANTLER_SOLVER_DEER, 0.15, ANTLER_MODEL_SHPLRNN},
    };
    for (size_t i = 0; i < 2 * sizeof some / sizeof some[0]; i++) {
        const shape *c = &some[i / 2];
        antler_solve_report report;
        antler_settings s = settings_for(c, i / 2 % 2 ? ANTLER_PRECISION_DOUBLE : ANTLER_PRECISION_FLOAT);
        if (i % 2 == 0)
            s.forcing_interval = 7;
        else
            s.gtf_alpha_schedule = ANTLER_ALPHA_SCHEDULE_LINEAR;
        solve_shape(c, &s, false, &report);
    }
}

static void lssm_in_double(void)
{
    check_shapes(SHAPE_LIST(linear_shapes), SHAPE_LIST(few_linear_shapes), ANTLER_PRECISION_DOUBLE);
}

static void lssm_in_float(void)
{
    check_shapes(SHAPE_LIST(linear_shapes), SHAPE_LIST(few_linear_shapes), ANTLER_PRECISION_FLOAT);
}

static void mamba2_in_double(void)
{
    check_shapes(SHAPE_LIST(mamba2_shapes), SHAPE_LIST(few_mamba2_shapes), ANTLER_PRECISION_DOUBLE);
}

static void mamba2_in_float(void)
{
    check_shapes(SHAPE_LIST(mamba2_shapes), SHAPE_LIST(few_mamba2_shapes), ANTLER_PRECISION_FLOAT);
}

static void wide_in_float_alone(void)
{
    shape wide = wide_mamba2;
    wide.T = gpu_size(wide.T, 61);
    const antler_settings s = settings_for(&wide, ANTLER_PRECISION_DOUBLE);
    antler_problem *problem = NULL;
    check_shape(&wide, ANTLER_PRECISION_FLOAT, false);
    const antler_status status = antler_problem_create(&s, wide.N, wide.K, &problem);
    EXPECT(status == ANTLER_OK ||
               (status == ANTLER_ERROR_DEVICE && strstr(antler_message(), "use device: cpu") != NULL),
           "status %d: %s", (int)status, antler_message());
    antler_problem_free(problem);
}

/* Iterations, outcome and fallbacks of Newton's method are those of the CPU, too; in float one iteration may
   differ. */
static void compare_deer(antler_precision precision)
{
    const shape_list list = gpu_sanitized() ? SHAPE_LIST(few_deer_shapes) : SHAPE_LIST(deer_shapes);
    for (size_t i = 0; i < list.count; i++) {
        const shape *c = &list.first[i];
        antler_settings s = settings_for(c, precision);
        antler_solve_report here = {0}, cpu = {0};
        solve_shape(c, &s, false, &here);
        s.device = ANTLER_DEVICE_CPU;
        solve_shape(c, &s, false, &cpu);
        EXPECT(
            here.outcome == cpu.outcome && here.fallbacks == cpu.fallbacks &&
                abs(here.iterations - cpu.iterations) <= (precision == ANTLER_PRECISION_FLOAT ? 1 : 0),
            "M %zu T %zu B %zu solver %d: outcome %d, %d iterations, %zu fallbacks; on the CPU %d, %d, %zu",
            c->M, c->T, c->batch, (int)c->solver, (int)here.outcome, here.iterations, here.fallbacks,
            (int)cpu.outcome, cpu.iterations, cpu.fallbacks);
    }
}

static void deer_in_double(void)
{
    compare_deer(ANTLER_PRECISION_DOUBLE);
}

static void deer_in_float(void)
{
    compare_deer(ANTLER_PRECISION_FLOAT);
}

/* B without full rank: small singular values count as zero, as on the CPU. */
static void deficient_readout(void)
{
    static const shape cases[] = {
        {4, 3, 12, 0, 0, false, 40, 2, 0, ANTLER_SOLVER_AUTO, 0.3, ANTLER_MODEL_SHPLRNN},
        {3, 3, 12, 0, 0, false, 40, 2, 0, ANTLER_SOLVER_AUTO, 0.3, ANTLER_MODEL_SHPLRNN},
        {2, 5, 12, 0, 0, false, 40, 2, 0, ANTLER_SOLVER_AUTO, 0.3, ANTLER_MODEL_SHPLRNN}};
    for (size_t i = 0; i < 3; i++)
        check_shape(&cases[i], ANTLER_PRECISION_DOUBLE, true);
}

/* ---- training ------------------------------------------------------------------------------------- */

static antler_series *make_series(void)
{
    antler_simulate_opts o;
    antler_series *series = NULL;
    if (antler_simulate_opts_default("lorenz63", &o) != ANTLER_OK)
        return NULL;
    o.length = 4000;
    o.tolerance = 1e-9;
    if (antler_simulate(&o, &series) != ANTLER_OK)
        EXPECT(false, "%s", antler_message());
    return series;
}

static antler_settings training(antler_precision precision, antler_model_kind_id model)
{
    const bool forced = model == ANTLER_MODEL_SHPLRNN;
    const size_t steps = gpu_size(60, 24);
    const shape small = {4, 3, 20, 0, 0, false, steps, 5, 0, ANTLER_SOLVER_AUTO, 0.2, model};
    antler_settings s = settings_for(&small, precision);
    s.updates = gpu_size(50, 6);
    s.runs = gpu_size(3, 2);
    s.log_interval = gpu_size(7, 2);
    s.checkpoint_interval = gpu_size(20, 4);
    s.noise = 0.02;
    if (model == ANTLER_MODEL_MAMBA2)
        return s;
    s.kappa = 0.9;
    s.MAR_lambda = 0.1;
    s.regularised_units = 1;
    s.readout_lambda = forced ? 0.1 : 0.0;
    s.singular_lambda = forced ? 0.01 : 0.0;
    return s;
}

typedef struct seen {
    antler_train_row row[256];
    size_t rows, asked, stop_at;
} seen;

/* Rows of all runs: of the first update, the last, and those between that are due. */
static size_t rows_due(const antler_settings *s)
{
    size_t rows = 0;
    for (size_t update = 1; update <= s->updates; update++)
        rows += update == 1 || update == s->updates || update % s->log_interval == 0;
    return rows * s->runs;
}

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

static void compare_training(antler_precision precision, antler_model_kind_id model, antler_solver solver,
                             double tolerance)
{
    antler_series *series = make_series();
    antler_settings s = training(precision, model);
    seen on[2] = {{.rows = 0}, {.rows = 0}};
    s.solver = solver;
    s.check_interval = gpu_size(25, 3);
    for (int i = 0; i < 2; i++) {
        antler_trainer *trainer = NULL;
        const antler_train_events events = {.struct_size = sizeof events, .cookie = &on[i], .row = see_row};
        s.device = i == 0 ? ANTLER_DEVICE_CPU : ANTLER_DEVICE_CUDA;
        REQUIRE_OK(antler_trainer_create(&s, series, &trainer));
        REQUIRE_OK(antler_trainer_run(trainer, &events, NULL));
        antler_trainer_free(trainer);
    }
    EXPECT(on[0].rows == on[1].rows && on[0].rows == rows_due(&s), "%zu rows, not %zu", on[1].rows,
           rows_due(&s));
    for (size_t i = 0; i < on[1].rows; i++) {
        for (size_t k = 0; k < on[0].rows; k++) {
            const antler_train_row *g = &on[1].row[i], *c = &on[0].row[k];
            if (g->run != c->run || g->update != c->update)
                continue;
            EXPECT_NEAR(g->loss, c->loss, tolerance * c->loss);
            EXPECT_NEAR(g->mar, c->mar, tolerance * c->mar);
            EXPECT_NEAR(g->singular, c->singular, tolerance * (c->singular + 1e-6));
            EXPECT_NEAR(g->gradient_norm, c->gradient_norm, 10 * tolerance * c->gradient_norm);
            EXPECT_NEAR(g->lr, c->lr, 1e-12 * c->lr);
        }
        if (!isnan(on[1].row[i].states_agree))
            EXPECT(on[1].row[i].states_agree < 1e-4 && on[1].row[i].gradient_agrees < 1e-3,
                   "the check of run %zu found %g and %g", on[1].row[i].run, on[1].row[i].states_agree,
                   on[1].row[i].gradient_agrees);
    }
    antler_series_free(series);
}

static void fifty_updates_in_double(void)
{
    compare_training(ANTLER_PRECISION_DOUBLE, ANTLER_MODEL_SHPLRNN, ANTLER_SOLVER_AUTO, 1e-7);
    compare_training(ANTLER_PRECISION_DOUBLE, ANTLER_MODEL_SHPLRNN, ANTLER_SOLVER_SHOOTING, 1e-6);
    compare_training(ANTLER_PRECISION_DOUBLE, ANTLER_MODEL_SHPLRNN, ANTLER_SOLVER_DEER, 1e-6);
    compare_training(ANTLER_PRECISION_DOUBLE, ANTLER_MODEL_LSSM, ANTLER_SOLVER_AUTO, 1e-7);
    compare_training(ANTLER_PRECISION_DOUBLE, ANTLER_MODEL_MAMBA2, ANTLER_SOLVER_AUTO, 1e-7);
}

static void fifty_updates_in_float(void)
{
    compare_training(ANTLER_PRECISION_FLOAT, ANTLER_MODEL_SHPLRNN, ANTLER_SOLVER_AUTO, 2e-3);
    compare_training(ANTLER_PRECISION_FLOAT, ANTLER_MODEL_LSSM, ANTLER_SOLVER_AUTO, 2e-3);
    compare_training(ANTLER_PRECISION_FLOAT, ANTLER_MODEL_MAMBA2, ANTLER_SOLVER_AUTO, 2e-3);
}

/* All bytes of a file; the caller frees them. */
static unsigned char *read_all(const char *folder, const char *name, size_t *size)
{
    char path[600];
    snprintf(path, sizeof path, "%s/experiment/%s", folder, name);
    FILE *file = fopen(path, "rb");
    unsigned char *bytes = file == NULL ? NULL : malloc(1 << 20);
    *size = bytes == NULL ? 0 : fread(bytes, 1, 1 << 20, file);
    if (file != NULL)
        fclose(file);
    return bytes;
}

static void same_file(const char *folder, const char *a, const char *b)
{
    size_t first = 0, second = 0;
    unsigned char *x = read_all(folder, a, &first), *y = read_all(folder, b, &second);
    EXPECT(first > 0 && first == second && memcmp(x, y, first) == 0, "%s and %s differ (%zu and %zu bytes)",
           a, b, first, second);
    free(x);
    free(y);
}

/* Train under a name; `run` 0: all.  Stops at the stop_at-th question and goes on from the folder. */
static void train_folder(antler_settings s, const antler_series *series, const char *name, size_t run,
                         size_t stop_at, antler_device resume_on)
{
    seen w = {.stop_at = stop_at};
    const antler_train_events events = {
        .struct_size = sizeof events, .cookie = &w, .row = see_row, .stop = ask};
    char folder[1200];
    snprintf(s.name, sizeof s.name, "%s", name);
    const antler_status status = antler_train_series(&s, series, run, true, &events, NULL);
    EXPECT(status == (stop_at == 0 ? ANTLER_OK : ANTLER_CANCELLED), "%s: status %d: %s", name, (int)status,
           antler_message());
    if (stop_at == 0)
        return;
    snprintf(folder, sizeof folder, "%s/%s/%s", s.results, s.experiment, name);
    s.device = resume_on;
    REQUIRE_OK(antler_train_resume_series(folder, &s, series, NULL, NULL));
}

static void same_bytes(void)
{
    char folder[] = "/tmp/antler-gpu-XXXXXX", command[100];
    antler_series *series = make_series();
    EXPECT(mkdtemp(folder) != NULL, "no folder");
    static const antler_model_kind_id models[] = {ANTLER_MODEL_SHPLRNN, ANTLER_MODEL_SHPLRNN,
                                                  ANTLER_MODEL_LSSM, ANTLER_MODEL_MAMBA2};
    for (int variant = 0; variant < 4; variant++) {
        antler_settings s = training(ANTLER_PRECISION_FLOAT, models[variant]);
        snprintf(s.results, sizeof s.results, "%s", folder);
        s.solver = variant == 1 ? ANTLER_SOLVER_SHOOTING : ANTLER_SOLVER_AUTO;
        s.seed = 17 + (uint64_t)variant;
        train_folder(s, series, "one", 0, 0, s.device);
        train_folder(s, series, "two", 0, 0, s.device);
        train_folder(s, series, "alone", 2, 0, s.device);
        train_folder(s, series, "stopped", 0, 3, ANTLER_DEVICE_CUDA);
        for (int run = 1; run <= (int)s.runs; run++) {
            char a[64], b[64];
            snprintf(a, sizeof a, "one/%03d/model.npz", run);
            snprintf(b, sizeof b, "two/%03d/model.npz", run);
            same_file(folder, a, b);
            snprintf(b, sizeof b, "stopped/%03d/model.npz", run);
            same_file(folder, a, b);
        }
        same_file(folder, "one/002/model.npz", "alone/002/model.npz");
    }
    antler_series_free(series);
    snprintf(command, sizeof command, "rm -r %s", folder);
    EXPECT(system(command) == 0, "the folder stays");
}

/* Begun on one machine and finished on the other: near to what either does alone. */
static void go_on_elsewhere(antler_model_kind_id model)
{
    char folder[] = "/tmp/antler-gpu-XXXXXX", command[100], path[200];
    antler_series *series = make_series();
    EXPECT(mkdtemp(folder) != NULL, "no folder");
    antler_settings s = training(ANTLER_PRECISION_DOUBLE, model);
    snprintf(s.results, sizeof s.results, "%s", folder);
    s.runs = 1;
    s.device = ANTLER_DEVICE_CPU;
    train_folder(s, series, "cpu", 0, 0, s.device);
    train_folder(s, series, "cpu_gpu", 0, gpu_size(20, 3), ANTLER_DEVICE_CUDA);
    s.device = ANTLER_DEVICE_CUDA;
    train_folder(s, series, "gpu_cpu", 0, 3, ANTLER_DEVICE_CPU);
    const char *const names[] = {"cpu", "cpu_gpu", "gpu_cpu"};
    antler_model *models[3] = {NULL};
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/experiment/%s/001", folder, names[i]);
        REQUIRE_OK(antler_model_load(path, &models[i]));
    }
    for (size_t k = 0; k < antler_model_parameter_count(models[0]); k++) {
        antler_parameter p[3];
        for (int i = 0; i < 3; i++)
            REQUIRE_OK(antler_model_parameter_at(models[i], k, &p[i]));
        for (size_t e = 0; e < p[0].rows * p[0].columns; e++) {
            EXPECT_NEAR(p[1].values[e], p[0].values[e], 1e-6);
            EXPECT_NEAR(p[2].values[e], p[0].values[e], 1e-6);
        }
    }
    for (int i = 0; i < 3; i++)
        antler_model_free(models[i]);
    antler_series_free(series);
    snprintf(command, sizeof command, "rm -r %s", folder);
    EXPECT(system(command) == 0, "the folder stays");
}

static void goes_on_elsewhere(void)
{
    go_on_elsewhere(ANTLER_MODEL_SHPLRNN);
    go_on_elsewhere(ANTLER_MODEL_LSSM);
    go_on_elsewhere(ANTLER_MODEL_MAMBA2);
}

int main(int argc, char **argv)
{
    static const gpu_test tests[] = {
        GPU_TEST(shapes_in_double),        GPU_TEST(shapes_in_float),        GPU_TEST(deer_in_double),
        GPU_TEST(deer_in_float),           GPU_TEST(mamba2_in_double),       GPU_TEST(mamba2_in_float),
        GPU_TEST(wide_in_float_alone),     GPU_TEST(lssm_in_double),         GPU_TEST(lssm_in_float),
        GPU_TEST(fifty_updates_in_double), GPU_TEST(fifty_updates_in_float), GPU_TEST(same_bytes),
        GPU_TEST(goes_on_elsewhere),       GPU_TEST(deficient_readout),      GPU_TEST(rules_of_forcing),
    };
    return gpu_main(tests, sizeof tests / sizeof tests[0], argc, argv);
}
