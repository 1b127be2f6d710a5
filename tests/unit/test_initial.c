/* Initial values by name: their distributions, the spectrum behind A, and a gradient for every parameter. */
#include "solve_problem.h"
#include "unit/check.h"

#include "model/draw.h"
#include "model/kind.h"
#include "model/lanczos.h"
#include "model/svd.h"
#include "train/initialisation.h"

#include <stdio.h>
#include <string.h>

enum { SEEDS = 40 };

static const ant_initialisation standard = {.id = ANT_INITIALISATION_STANDARD},
                                memory = {.id = ANT_INITIALISATION_MEMORY, .kappa = 0.9};

static ant_model_layout layout_of(ant_model_dims dims)
{
    ant_model_layout layout;
    CHECK_OK(ant_model_layout_make(&dims, &layout));
    return layout;
}

/* Parameters of SEEDS seeds, one after the other: (SEEDS, total). */
static double *draw_all(const ant_model_layout *layout, ant_initialisation how)
{
    double *all = get(SEEDS * layout->total, sizeof *all);
    for (size_t seed = 0; seed < SEEDS; seed++)
        CHECK_OK(ant_model_initialise_f64(layout, how, seed, 1, all + seed * layout->total));
    return all;
}

/* The slice is uniform in +-bound: all values inside, mean 0, variance bound^2 / 3, values up to the bound.
 */
static void check_uniform(const ant_model_layout *layout, const double *all, const char *name, double bound)
{
    const ant_model_slice *slice = ant_model_layout_find(layout, name);
    double sum = 0.0, square = 0.0, top = 0.0;
    for (size_t seed = 0; seed < SEEDS; seed++) {
        for (size_t i = 0; i < slice->count; i++) {
            const double value = all[seed * layout->total + slice->offset + i] / bound;
            sum += value;
            square += value * value;
            top = fmax(top, fabs(value));
        }
    }
    const double count = (double)(SEEDS * slice->count), five = 5.0 / sqrt(count); /* standard errors */
    if (!(top <= 1.0 && top > 1.0 - 20.0 / count))
        fail_msg("%s: the largest value is %g bounds", name, top);
    CHECK_NEAR(sum / count, 0.0, five * sqrt(1.0 / 3.0));
    CHECK_NEAR(square / count, 1.0 / 3.0, five * sqrt(4.0 / 45.0));
}

static void check_zero(const ant_model_layout *layout, const double *all, const char *name)
{
    const ant_model_slice *slice = ant_model_layout_find(layout, name);
    for (size_t seed = 0; seed < SEEDS; seed++)
        assert_true(largest(all + seed * layout->total + slice->offset, slice->count) == 0.0);
}

/* For both names, `scale` 1 and 1 - kappa: W, V, C, B, h, and b, which is drawn for the clipped form only. */
static void shplrnn_has_the_named_distributions(void **state)
{
    (void)state;
    for (int variant = 0; variant < 4; variant++) {
        const ant_initialisation how = variant & 1 ? standard : memory;
        const double scale = variant & 1 ? 1.0 : 0.1;
        const bool clipped = variant & 2;
        const ant_model_layout layout =
            layout_of((ant_model_dims){.M = 6, .N = 4, .L = 40, .K = 3, .clipped = clipped});
        double *all = draw_all(&layout, how);
        check_uniform(&layout, all, "W", scale / sqrt(40.0));
        check_uniform(&layout, all, "V", scale / sqrt(6.0));
        check_uniform(&layout, all, "C", scale / sqrt(3.0));
        if (clipped)
            check_uniform(&layout, all, "b", scale / sqrt(40.0));
        else
            check_zero(&layout, all, "b");
        check_zero(&layout, all, "h");
        for (size_t i = 0; i < 24; i++)
            assert_true(all[layout.B + i] == (i / 6 == i % 6 ? 1.0 : 0.0));
        free(all);
    }
}

static void low_rank_has_the_variance_of_the_full_form(void **state)
{
    (void)state;
    const ant_model_layout layout = layout_of((ant_model_dims){.M = 20, .N = 3, .L = 50, .rank = 10});
    double *all = draw_all(&layout, standard), square = 0.0;
    for (size_t seed = 0; seed < SEEDS; seed++) {
        const double *WL = all + seed * layout.total + layout.WL, *WR = all + seed * layout.total + layout.WR;
        for (size_t i = 0; i < 1000; i++) {
            double w = 0.0;
            for (size_t k = 0; k < 10; k++)
                w += WL[i / 50 * 10 + k] * WR[k * 50 + i % 50];
            square += w * w;
        }
    }
    CHECK_NEAR(square / (1000.0 * SEEDS), 1.0 / 150.0, 0.05 / 150.0);
    free(all);
}

static void narrow_models_read_out_by_orthonormal_columns(void **state)
{
    (void)state;
    const ant_model_layout layout = layout_of((ant_model_dims){.M = 3, .N = 8, .L = 4});
    double *a = get(layout.total, sizeof *a);
    CHECK_OK(ant_model_initialise_f64(&layout, standard, 3, 1, a));
    for (size_t k = 0; k < 9; k++) {
        double dot = 0.0;
        for (size_t n = 0; n < 8; n++)
            dot += a[layout.B + n * 3 + k / 3] * a[layout.B + n * 3 + k % 3];
        CHECK_NEAR(dot, k / 3 == k % 3 ? 1.0 : 0.0, 1e-14);
    }
    free(a);
}

static void lssm_has_the_named_distributions(void **state)
{
    (void)state;
    const ant_model_layout layout =
        layout_of((ant_model_dims){.kind = ANT_MODEL_LSSM, .M = 6, .N = 4, .L = 40, .K = 3});
    for (int variant = 0; variant < 2; variant++) {
        const double scale = variant ? 1.0 : 0.1;
        double *all = draw_all(&layout, variant ? standard : memory);
        check_uniform(&layout, all, "U", scale / sqrt(4.0));
        check_uniform(&layout, all, "V", scale / sqrt(6.0));
        check_uniform(&layout, all, "C", scale / sqrt(3.0));
        check_uniform(&layout, all, "B", scale / sqrt(40.0));
        check_zero(&layout, all, "b");
        check_zero(&layout, all, "h");
        free(all);
    }
}

static void mamba2_has_one_start(void **state)
{
    (void)state;
    const ant_model_layout layout =
        layout_of((ant_model_dims){.kind = ANT_MODEL_MAMBA2, .M = 8, .N = 3, .L = 12});
    double *a = draw_all(&layout, standard), *b = draw_all(&layout, memory);
    assert_memory_equal(a, b, SEEDS * layout.total * sizeof *a);
    free(a);
    free(b);
}

/* Lanczos against the decomposition, from one column to more columns than it takes steps. */
static void largest_singular_values_are_those_of_the_decomposition(void **state)
{
    (void)state;
    static const size_t shapes[][2] = {{1, 1}, {2, 2},   {3, 3},   {5, 2},
                                       {2, 7}, {10, 10}, {64, 64}, {320, 320}};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        const size_t rows = shapes[k][0], cols = shapes[k][1], least = rows < cols ? rows : cols;
        double *a = get(rows * cols, sizeof *a), *u = get(rows * least, sizeof *u),
               *s = get(least, sizeof *s), *vt = get(least * cols, sizeof *vt),
               *work = get(ant_svd_work(rows, cols), sizeof *work),
               *scratch = get(ant_lanczos_work(rows, cols), sizeof *scratch);
        ant_stream stream = ant_stream_open(k, 0, 0, ANT_PURPOSE_PARAMETERS);
        ant_stream_normals(&stream, a, rows * cols);
        const double found = ant_largest_square(rows, cols, a, scratch);
        if (!SANITIZED || least < 100) { /* instrumented, the decomposition of the largest takes long */
            CHECK_OK(ant_svd(rows, cols, a, u, s, vt, work));
            CHECK_NEAR(found / (s[0] * s[0]), 1.0, 1e-12);
        }
        memset(a, 0, rows * cols * sizeof *a);
        assert_true(ant_largest_square(rows, cols, a, scratch) == 0.0);
        free(a);
        free(u);
        free(s);
        free(vt);
        free(work);
        free(scratch);
    }
}

/*
 * A of `standard` is inside (0, 1).  K has the eigenvalues 1 .. 5 and the diagonal 2 for large M
 * (Marchenko and Pastur), so A comes near 2/5; its trace is the sum of all eigenvalues over the largest.
 */
static void decay_has_the_spectrum_of_a_random_matrix(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 5, 30, 150};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        const size_t M = sizes[k];
        const ant_model_layout layout = layout_of((ant_model_dims){.M = M, .N = 1, .L = 1});
        double *all = draw_all(&layout, standard), mean = 0.0;
        for (size_t seed = 0; seed < SEEDS; seed++) {
            const double *Abar = all + seed * layout.total + layout.Abar;
            double trace = 0.0;
            for (size_t i = 0; i < M; i++) {
                const double A = tanh(Abar[i]);
                assert_true(A > 0.0 && A <= 0.9995 * (1.0 + 1e-12));
                assert_true((float)tanh((double)(float)Abar[i]) < 1.0f);
                trace += A;
            }
            assert_true(trace >= (M == 1 ? 0.9995 - 1e-12 : 1.0)); /* lambda_max is one of the eigenvalues */
            mean += trace / (double)(M * SEEDS);
        }
        if (M == 1)
            CHECK_NEAR(mean, 0.9995, 1e-12);
        if (M == 150)
            CHECK_NEAR(mean, 0.4, 0.02);
        free(all);
    }
}

/* By its definition, with K formed and decomposed. */
static void decay_is_the_normalised_diagonal(void **state)
{
    (void)state;
    enum { M = 7 };
    const ant_model_layout layout = layout_of((ant_model_dims){.M = M, .N = 2, .L = 5});
    double R[M * M], K[M * M], u[M * M], s[M], vt[M * M], *work = get(ant_svd_work(M, M), sizeof *work),
                                                          *a = get(layout.total, sizeof *a);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        ant_stream stream = ant_draw_stream(&layout, &layout.slice[0], seed, 1);
        ant_stream_normals(&stream, R, M * M);
        for (size_t i = 0; i < M * M; i++) {
            K[i] = i / M == i % M ? 1.0 : 0.0;
            for (size_t k = 0; k < M; k++)
                K[i] += R[k * M + i / M] * R[k * M + i % M] / M;
        }
        CHECK_OK(ant_svd(M, M, K, u, s, vt, work)); /* K is positive definite: s is its spectrum */
        CHECK_OK(ant_model_initialise_f64(&layout, standard, seed, 1, a));
        for (size_t i = 0; i < M; i++)
            CHECK_NEAR(tanh(a[layout.Abar + i]), K[i * M + i] / s[0], 1e-12);
    }
    free(work);
    free(a);
}

static void precisions_and_runs(void **state)
{
    (void)state;
    const ant_model_layout layout = layout_of((ant_model_dims){.M = 6, .N = 4, .L = 9, .clipped = true});
    double *a = get(layout.total, sizeof *a), *b = get(layout.total, sizeof *b);
    float *single = get(layout.total, sizeof *single);
    CHECK_OK(ant_model_initialise_f64(&layout, standard, 7, 1, a));
    CHECK_OK(ant_model_initialise_f32(&layout, standard, 7, 1, single));
    CHECK_OK(ant_model_initialise_f64(&layout, standard, 7, 2, b));
    for (size_t i = 0; i < layout.total; i++)
        assert_true(single[i] == (float)a[i]);
    for (size_t i = 0; i < layout.Abar + 6; i++)
        assert_true(a[i] != b[i]);
    free(a);
    free(b);
    free(single);
}

/* Every parameter has a gradient at the start; the data have no symmetry that would cancel one. */
static void check_alive(const antler_settings *s, size_t N, size_t K)
{
    const ant_model_layout layout = layout_of((ant_model_dims){.kind = (ant_model_id)s->model,
                                                               .M = s->latent_dim,
                                                               .N = N,
                                                               .L = s->hidden_dim,
                                                               .K = K,
                                                               .rank = s->rank,
                                                               .clipped = s->clipped});
    const size_t rows = s->batch_size * (s->sequence_length + 1);
    double *x = get(rows * N, sizeof *x), *inputs = get(rows * K + 1, sizeof *inputs),
           *gradient = get(layout.total, sizeof *gradient);
    antler_problem *p = NULL;
    antler_solve_report report;
    for (size_t i = 0; i < rows * N; i++)
        x[i] = sin(0.11 * (double)i) + 0.7 * cos(0.37 * (double)i + 1.0);
    for (size_t i = 0; i < rows * K; i++)
        inputs[i] = sin(0.05 * (double)i);
    CHECK_OK(antler_problem_create(s, N, K, &p));
    antler_problem_set_data(p, x, K == 0 ? NULL : inputs);
    CHECK_OK(antler_problem_solve(p, &report));
    antler_problem_gradient(p, gradient);
    for (size_t i = 0; i < layout.slices; i++) {
        const ant_model_slice *slice = &layout.slice[i];
        const double top = largest(gradient + slice->offset, slice->count);
        if (!(isfinite(top) && top > 0.0))
            fail_msg("model %d, initialisation %d, clipped %d, rank %zu: %s has no gradient", (int)s->model,
                     (int)s->initialisation, s->clipped, s->rank, slice->name);
    }
    antler_problem_free(p);
    free(x);
    free(inputs);
    free(gradient);
}

static void no_start_is_dead(void **state)
{
    (void)state;
    for (int variant = 0; variant < 3 * 2 * 2 * 2 * 2; variant++) {
        antler_settings s;
        antler_settings_default(&s);
        s.device = ANTLER_DEVICE_CPU;
        s.threads = 1;
        s.model = (antler_model_kind_id)(variant / 16);
        s.initialisation = (antler_initialisation)(variant & 1);
        s.precision = (antler_precision)(variant >> 1 & 1);
        s.clipped = s.model == ANTLER_MODEL_SHPLRNN && (variant & 4);
        s.rank = s.model == ANTLER_MODEL_SHPLRNN && (variant & 8) ? 2 : 0;
        s.latent_dim = 4;
        s.hidden_dim = 30;
        s.sequence_length = 50;
        s.batch_size = 4;
        check_alive(&s, 3, 0);
        check_alive(&s, 3, 2);
        check_alive(&s, 6, 0); /* fewer latent units than variables */
    }
}

static void keep_loss(void *loss, const antler_train_row *row)
{
    *(double *)loss = row->loss;
}

static double last_loss(const antler_series *series, antler_initialisation how, uint64_t seed)
{
    antler_settings s;
    antler_trainer *trainer = NULL;
    double loss = NAN;
    const antler_train_events events = {.struct_size = sizeof events, .cookie = &loss, .row = keep_loss};
    antler_settings_default(&s);
    s.model = ANTLER_MODEL_LSSM;
    s.initialisation = how;
    s.seed = seed;
    s.latent_dim = 10;
    s.hidden_dim = 32;
    s.sequence_length = 100;
    s.batch_size = 8;
    s.updates = SANITIZED ? 20 : 1500;
    s.start_lr = 1e-3;
    s.validation = 0.0;
    s.device = ANTLER_DEVICE_CPU;
    s.threads = 1;
    CHECK_OK(antler_trainer_create(&s, series, &trainer));
    CHECK_OK(antler_trainer_run(trainer, &events, NULL));
    antler_trainer_free(trainer);
    return loss;
}

/* At the default kappa and learning rate the LSSM hardly leaves `memory`. */
static void lssm_learns_lorenz63_from_standard(void **state)
{
    (void)state;
    antler_simulate_opts o;
    antler_series *series = NULL;
    CHECK_OK(antler_simulate_opts_default("lorenz63", &o));
    o.length = 3000;
    CHECK_OK(antler_simulate(&o, &series));
    for (uint64_t seed = 1; seed <= (SANITIZED ? 1 : 3); seed++) {
        const double ours = last_loss(series, ANTLER_INITIALISATION_STANDARD, seed),
                     other = last_loss(series, ANTLER_INITIALISATION_MEMORY, seed);
        assert_true(isfinite(ours) && isfinite(other));
        if (!SANITIZED && !(ours < 0.1 * other))
            fail_msg("seed %d: the loss is %g, but %g with memory", (int)seed, ours, other);
    }
    antler_series_free(series);
}

/* ---- parts ---------------------------------------------------------------------------------------- */

/* Both vectors have the same numbers in this slice. */
static bool same_slice(const ant_model_layout *layout, const char *name, const double *a, const double *b)
{
    const ant_model_slice *slice = ant_model_layout_find(layout, name);
    return memcmp(a + slice->offset, b + slice->offset, slice->count * sizeof *a) == 0;
}

/* A part by name is that of the start which has it; the other parts stay. */
static void parts_are_those_of_the_named_starts(void **state)
{
    (void)state;
    const ant_model_layout layout =
        layout_of((ant_model_dims){.M = 5, .N = 3, .L = 7, .K = 2, .clipped = true});
    ant_initialisation random_A = memory, uniform = memory, kappa = standard, small = standard;
    random_A.A = ANT_INITIAL_A_RANDOM;
    uniform.weights = ANT_INITIAL_WEIGHTS_UNIFORM;
    kappa.A = ANT_INITIAL_A_KAPPA;
    small.weights = ANT_INITIAL_WEIGHTS_SMALL;
    kappa.kappa = small.kappa = memory.kappa;
    double *m = draw_all(&layout, memory), *s = draw_all(&layout, standard), *a = draw_all(&layout, random_A),
           *u = draw_all(&layout, uniform), *k = draw_all(&layout, kappa), *w = draw_all(&layout, small);
    static const char *const names[] = {"W", "V", "b", "C"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_true(same_slice(&layout, names[i], a, m) && same_slice(&layout, names[i], w, m));
        assert_true(same_slice(&layout, names[i], u, s) && same_slice(&layout, names[i], k, s));
        assert_false(same_slice(&layout, names[i], m, s));
    }
    assert_true(same_slice(&layout, "Abar", a, s) && same_slice(&layout, "Abar", w, s));
    assert_true(same_slice(&layout, "Abar", u, m) && same_slice(&layout, "Abar", k, m));
    assert_false(same_slice(&layout, "Abar", m, s));
    double *const all[] = {m, s, a, u, k, w};
    for (size_t i = 0; i < 6; i++)
        free(all[i]);
}

/* B B^T = I for M >= N, B^T B = I for M < N; Kaiming: variance 2/M. */
static void readouts_by_name(void **state)
{
    (void)state;
    for (size_t M = 2; M <= 6; M += 2) {
        enum { N = 4 };
        const ant_model_layout layout = layout_of((ant_model_dims){.M = M, .N = N, .L = 3});
        double B[N * 6], u[N * N], s[N], vt[N * 6], work[256], *theta = get(layout.total, sizeof *theta);
        const size_t rank = M < N ? M : N;
        assert_true(ant_svd_work(N, M) <= 256);
        ant_initialisation how = {.kappa = 0.9, .B = ANT_INITIAL_B_ORTHONORMAL};
        CHECK_OK(ant_model_initialise_f64(&layout, how, 3, 1, theta));
        memcpy(B, theta + layout.B, N * M * sizeof *B);
        CHECK_OK(ant_svd(N, M, B, u, s, vt, work));
        for (size_t i = 0; i < rank; i++)
            CHECK_NEAR(s[i], 1.0, 1e-14);
        assert_true(theta[layout.B] != 1.0);
        how.B = ANT_INITIAL_B_IDENTITY;
        const antler_status status = ant_model_initialise_f64(&layout, how, 3, 1, theta);
        assert_int_equal(status, M < N ? ANTLER_ERROR_ARGUMENT : ANTLER_OK);
        for (size_t i = 0; i < N * M && M >= N; i++)
            assert_true(theta[layout.B + i] == (i / M == i % M ? 1.0 : 0.0));
        how.B = ANT_INITIAL_B_KAIMING;
        double *all = draw_all(&layout, how), square = 0.0, count = (double)(SEEDS * N * M);
        for (size_t seed = 0; seed < SEEDS; seed++) {
            for (size_t i = 0; i < N * M; i++)
                square += pow(all[seed * layout.total + layout.B + i], 2.0);
        }
        CHECK_NEAR(square / count * (double)M / 2.0, 1.0, 5.0 * sqrt(2.0 / count));
        free(all);
        free(theta);
    }
}

/* ---- auto ----------------------------------------------------------------------------------------- */

/* Rows of x_t = phi x_{t-1} + noise, the autocorrelation of which is phi^lag, in N equal variables. */
static antler_series *remembering(double phi, size_t N, size_t rows)
{
    double *x = get(rows * N, sizeof *x), value = 0.0;
    ant_stream stream = ant_stream_open(9, 0, 0, ANT_PURPOSE_OBSERVATION_NOISE);
    for (size_t t = 0; t < rows; t++) {
        double pair[2];
        ant_stream_normal_pair(&stream, pair);
        value = phi * value + pair[0];
        for (size_t n = 0; n < N; n++)
            x[t * N + n] = value;
    }
    antler_series *series = NULL;
    CHECK_OK(antler_series_create(N, 0, &series));
    CHECK_OK(antler_series_append(series, rows, x, NULL));
    free(x);
    return series;
}

/* phi^lag = 1/e at lag -1/ln(phi); a memory beyond the limit is not measured. */
static void memory_is_that_of_the_process(void **state)
{
    (void)state;
    for (int precision = 0; precision < 2; precision++) {
        for (size_t memory_rows = 5; memory_rows <= 20; memory_rows *= 2) {
            antler_series *series = remembering(exp(-1.0 / (double)memory_rows), 2, 40000);
            ant_dataset *d = NULL;
            CHECK_OK(ant_dataset_create(series, 200, true, (antler_precision)precision, &d));
            CHECK_NEAR((double)ant_memory_rows(d, (antler_precision)precision, 200), (double)memory_rows,
                       0.25 * (double)memory_rows);
            assert_int_equal(ant_memory_rows(d, (antler_precision)precision, memory_rows / 2),
                             memory_rows / 2 + 1);
            ant_dataset_free(d);
            antler_series_free(series);
        }
    }
}

typedef struct auto_case {
    antler_model_kind_id model;
    bool clipped;
    size_t M, N, T, warmup, memory;
    antler_initialisation name;
    double kappa;
} auto_case;

static void auto_follows_its_rule(void **state)
{
    (void)state;
    const antler_initialisation memory_name = ANTLER_INITIALISATION_MEMORY,
                                standard_name = ANTLER_INITIALISATION_STANDARD;
    const auto_case cases[] = {
        {ANTLER_MODEL_SHPLRNN, false, 3, 3, 200, 0, 5, memory_name, 0.9},
        {ANTLER_MODEL_SHPLRNN, true, 5, 3, 200, 100, 5, memory_name, 0.9},
        {ANTLER_MODEL_SHPLRNN, false, 3, 3, 20, 0, 300, memory_name, 0.9995},
        {ANTLER_MODEL_SHPLRNN, true, 5, 2, 20, 5, 300, memory_name, 0.9995},
        {ANTLER_MODEL_SHPLRNN, false, 5, 2, 1500, 1000, 5, memory_name, 0.9995},
        {ANTLER_MODEL_SHPLRNN, false, 2, 2, 1500, 1000, 5, memory_name, 0.9},
        {ANTLER_MODEL_SHPLRNN, false, 2, 4, 20, 0, 300, standard_name, 0.0},
        {ANTLER_MODEL_SHPLRNN, true, 2, 4, 20, 0, 5, memory_name, 0.9},
        {ANTLER_MODEL_LSSM, false, 2, 2, 20, 0, 300, standard_name, 0.0},
        {ANTLER_MODEL_MAMBA2, false, 4, 2, 20, 0, 5, memory_name, 0.0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const auto_case *c = &cases[i];
        antler_series *series = remembering(exp(-1.0 / (double)c->memory), c->N, 20000);
        ant_dataset *d = NULL;
        char reason[256] = "";
        antler_settings s;
        antler_settings_default(&s);
        s.model = c->model;
        s.clipped = c->clipped;
        s.latent_dim = c->M;
        s.sequence_length = c->T;
        s.warmup = c->warmup;
        CHECK_OK(ant_dataset_create(series, c->T, true, s.precision, &d));
        ant_initialisation_resolve(&s, d, reason, sizeof reason);
        if (s.initialisation != c->name || s.kappa != c->kappa)
            fail_msg("case %zu: %s", i, reason);
        assert_non_null(strstr(reason, c->kappa > 0.0             ? "memory with kappa"
                                       : c->name == standard_name ? "standard"
                                                                  : ""));
        CHECK_OK(antler_settings_check(&s, NULL));
        ant_dataset_free(d);
        antler_series_free(series);
    }
}

/* What was given stays, and is completed: a kappa means `memory`, and `memory` alone the kappa of the paper.
 */
static void given_starts_are_kept(void **state)
{
    (void)state;
    const antler_initialisation standard_name = ANTLER_INITIALISATION_STANDARD,
                                memory_name = ANTLER_INITIALISATION_MEMORY;
    const struct {
        antler_initialisation given;
        double kappa;
        antler_initialisation kept;
        double with;
    } cases[] = {{ANTLER_INITIALISATION_AUTO, 0.5, memory_name, 0.5},
                 {memory_name, 0.0, memory_name, 0.9995},
                 {memory_name, 0.7, memory_name, 0.7},
                 {standard_name, 0.0, standard_name, 0.0}};
    antler_series *series = remembering(0.5, 2, 500);
    ant_dataset *d = NULL;
    CHECK_OK(ant_dataset_create(series, 20, true, ANTLER_PRECISION_FLOAT, &d));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char reason[256] = "old";
        antler_settings s;
        antler_settings_default(&s);
        s.initialisation = cases[i].given;
        s.kappa = cases[i].kappa;
        ant_initialisation_resolve(&s, d, reason, sizeof reason);
        assert_true(s.initialisation == cases[i].kept && s.kappa == cases[i].with && reason[0] == '\0');
    }
    antler_settings s;
    char reason[256];
    antler_settings_default(&s);
    s.initialise_A = ANTLER_INITIAL_A_RANDOM;
    s.initialise_weights = ANTLER_INITIAL_WEIGHTS_UNIFORM;
    ant_initialisation_resolve(&s, d, reason, sizeof reason);
    CHECK_OK(antler_settings_check(&s, NULL)); /* no kappa that nothing uses */
    ant_dataset_free(d);
    antler_series_free(series);
}

static void keep_text(void *text, const antler_train_note *note)
{
    snprintf(text, 512, "%s", note->text);
}

/* A training with `auto` is the one with the names that it announces. */
static void auto_trains_what_it_names(void **state)
{
    (void)state;
    antler_series *series = remembering(0.5, 2, 500);
    double first[2] = {0.0, 0.0};
    for (int named = 0; named < 2; named++) {
        char text[512] = "";
        antler_settings s;
        antler_trainer *trainer = NULL;
        antler_model *model = NULL;
        antler_parameter p;
        const antler_train_events events = {.struct_size = sizeof events, .cookie = text, .begin = keep_text};
        antler_settings_default(&s);
        s.initialisation = named ? ANTLER_INITIALISATION_MEMORY : ANTLER_INITIALISATION_AUTO;
        s.kappa = named ? 0.9 : 0.0;
        s.latent_dim = 2;
        s.sequence_length = 40;
        s.updates = 3;
        s.validation = 0.0;
        s.device = ANTLER_DEVICE_CPU;
        s.threads = 1;
        CHECK_OK(antler_trainer_create(&s, series, &trainer));
        CHECK_OK(antler_trainer_run(trainer, &events, NULL));
        assert_int_equal(strstr(text, "initialisation: memory with kappa 0.9: the data forget") != NULL,
                         !named);
        CHECK_OK(antler_trainer_model(trainer, 1, &model));
        CHECK_OK(antler_model_parameter_at(model, 1, &p));
        first[named] = p.values[3];
        antler_model_free(model);
        antler_trainer_free(trainer);
    }
    assert_true(first[0] == first[1]);
    antler_series_free(series);
}

/* A problem has no data when its parameters are drawn: `auto` is `memory` there, as it is named. */
static void problems_begin_with_memory(void **state)
{
    (void)state;
    double *gradient[2];
    size_t total = 0;
    for (int named = 0; named < 2; named++) {
        antler_settings s;
        antler_problem *p = NULL;
        double x[21 * 2];
        antler_settings_default(&s);
        s.device = ANTLER_DEVICE_CPU;
        s.sequence_length = 20;
        s.batch_size = 1;
        if (named) {
            s.initialisation = ANTLER_INITIALISATION_MEMORY;
            s.kappa = 0.9995;
        }
        for (size_t i = 0; i < sizeof x / sizeof *x; i++)
            x[i] = cos((double)i);
        CHECK_OK(antler_problem_create(&s, 2, 0, &p));
        total = antler_problem_parameter_total(p);
        gradient[named] = get(total, sizeof **gradient);
        antler_problem_set_data(p, x, NULL);
        CHECK_OK(antler_problem_solve(p, NULL));
        antler_problem_gradient(p, gradient[named]);
        antler_problem_free(p);
    }
    assert_memory_equal(gradient[0], gradient[1], total * sizeof **gradient);
    free(gradient[0]);
    free(gradient[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shplrnn_has_the_named_distributions),
        cmocka_unit_test(low_rank_has_the_variance_of_the_full_form),
        cmocka_unit_test(narrow_models_read_out_by_orthonormal_columns),
        cmocka_unit_test(lssm_has_the_named_distributions),
        cmocka_unit_test(mamba2_has_one_start),
        cmocka_unit_test(largest_singular_values_are_those_of_the_decomposition),
        cmocka_unit_test(decay_has_the_spectrum_of_a_random_matrix),
        cmocka_unit_test(decay_is_the_normalised_diagonal),
        cmocka_unit_test(precisions_and_runs),
        cmocka_unit_test(no_start_is_dead),
        cmocka_unit_test(parts_are_those_of_the_named_starts),
        cmocka_unit_test(readouts_by_name),
        cmocka_unit_test(memory_is_that_of_the_process),
        cmocka_unit_test(auto_follows_its_rule),
        cmocka_unit_test(given_starts_are_kept),
        cmocka_unit_test(auto_trains_what_it_names),
        cmocka_unit_test(problems_begin_with_memory),
        cmocka_unit_test(lssm_learns_lorenz63_from_standard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
