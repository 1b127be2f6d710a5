/* Initial values by name: their distributions, the spectrum behind A, and a gradient for every parameter. */
#include "solve_problem.h"
#include "unit/check.h"

#include "model/draw.h"
#include "model/kind.h"
#include "model/lanczos.h"
#include "model/svd.h"

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
        CHECK_OK(ant_svd(rows, cols, a, u, s, vt, work));
        CHECK_NEAR(ant_largest_square(rows, cols, a, scratch) / (s[0] * s[0]), 1.0, 1e-12);
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
    const antler_train_events events = {.cookie = &loss, .row = keep_loss};
    antler_settings_default(&s);
    s.model = ANTLER_MODEL_LSSM;
    s.initialisation = how;
    s.seed = seed;
    s.latent_dim = 10;
    s.hidden_dim = 32;
    s.sequence_length = 100;
    s.batch_size = 8;
    s.updates = 1500;
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
    for (uint64_t seed = 1; seed <= 3; seed++) {
        const double ours = last_loss(series, ANTLER_INITIALISATION_STANDARD, seed),
                     other = last_loss(series, ANTLER_INITIALISATION_MEMORY, seed);
        if (!(ours < 0.1 * other))
            fail_msg("seed %d: the loss is %g, but %g with memory", (int)seed, ours, other);
    }
    antler_series_free(series);
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
        cmocka_unit_test(lssm_learns_lorenz63_from_standard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
