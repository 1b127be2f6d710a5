/*
 * Free runs, RMSE and Lyapunov exponents on the GPU engine, whose kernels the fake driver runs on the CPU,
 * against the CPU's own path.
 */
#include "model_support.h"

static int use_fake(void **state)
{
    (void)state;
    setenv("ANTLER_CUDA_DRIVER", FAKE_CUDA_LIBRARY, 1);
    setenv("ANTLER_NVRTC", FAKE_NVRTC_LIBRARY, 1);
    setenv("ANTLER_CACHE", "/proc/nothing", 1);
    return 0;
}

/* The sizes for which tests/fake/kernels.cmake has kernels. */
static const ant_model_dims small = {.M = 3, .N = 2, .L = 8, .K = 1, .clipped = true};
static const ant_model_dims large = {.M = 33, .N = 3, .L = 40, .rank = 4};
static const ant_model_dims linear = {.kind = ANT_MODEL_LSSM, .M = 3, .N = 2, .L = 7};
static const ant_model_dims driven = {.kind = ANT_MODEL_LSSM, .M = 3, .N = 2, .L = 7, .K = 2};
static const ant_model_dims tiny = {.kind = ANT_MODEL_MAMBA2, .M = 4, .N = 1, .L = 9};
static const ant_model_dims odd = {.kind = ANT_MODEL_MAMBA2, .M = 12, .N = 3, .L = 37, .K = 2};
static const ant_model_dims mamba2_7k = {.kind = ANT_MODEL_MAMBA2, .M = 16, .N = 6, .L = 128};
static const ant_model_dims wide = {.kind = ANT_MODEL_MAMBA2, .M = 32, .N = 2, .L = 20};

static antler_series *make_data(const ant_model_dims *d, size_t length, uint64_t seed)
{
    double *x = malloc(length * (d->N + d->K) * sizeof *x);
    fill_random(x, length * (d->N + d->K), seed);
    antler_series *series = series_make(length, d->N, x, d->K, d->K == 0 ? NULL : x + length * d->N);
    free(x);
    return series;
}

static void check_same(const antler_series *a, const antler_series *b, double tolerance)
{
    assert_int_equal(antler_series_count(a), antler_series_count(b));
    for (size_t i = 0; i < antler_series_count(a); i++) {
        const size_t rows = antler_series_length(a, i), dim = antler_series_dim(a);
        assert_int_equal(rows, antler_series_length(b, i));
        double *x = malloc(2 * rows * dim * sizeof *x), *y = x + rows * dim;
        CHECK_OK(antler_series_read_f64(a, i, 0, rows, x, NULL));
        CHECK_OK(antler_series_read_f64(b, i, 0, rows, y, NULL));
        for (size_t k = 0; k < rows * dim; k++)
            CHECK_NEAR(y[k], x[k], tolerance * (1.0 + fabs(x[k])));
        free(x);
    }
}

static void compare_orbits(const ant_model_dims *dims, size_t orbits, size_t steps)
{
    antler_model *model = model_random(dims, 5);
    antler_series *data = make_data(dims, 60, 3), *a = NULL, *b = NULL, *za = NULL, *zb = NULL;
    antler_generate_opts opts;
    antler_generate_opts_default(&opts);
    opts.start.context = data;
    opts.start.warmup = 4;
    opts.start.inputs_end = ANTLER_INPUTS_REPEAT;
    opts.start.first = orbits == 1 ? 0 : 2;
    opts.steps = steps;
    opts.orbits = orbits;
    opts.device = ANTLER_DEVICE_CPU;
    CHECK_OK(antler_generate(model, &opts, &a, &za));
    assert_int_equal(antler_series_count(a), orbits);
    opts.device = ANTLER_DEVICE_CUDA;
    CHECK_OK(antler_generate(model, &opts, &b, &zb));
    check_same(a, b, 1e-11);
    check_same(za, zb, 1e-11);
    antler_series_free(b);
    CHECK_OK(antler_generate(model, &opts, &b, NULL));
    check_same(a, b, 1e-11);
    antler_series_free(a);
    antler_series_free(b);
    antler_series_free(za);
    antler_series_free(zb);
    antler_series_free(data);
    antler_model_free(model);
}

static void orbits_side_by_side(void **state)
{
    (void)state;
    compare_orbits(&small, 3, 10);
    compare_orbits(&small, 1, 1);
    compare_orbits(&large, 2, 3);
    compare_orbits(&linear, 3, 10);
    compare_orbits(&driven, 3, 10);
    compare_orbits(&tiny, 3, 10);
    compare_orbits(&odd, 2, 9);
    compare_orbits(&mamba2_7k, 1, 5);
    compare_orbits(&wide, 2, 4);
}

/* Several orbits begin where one alone would. */
static void orbits_begin_at_their_rows(void **state)
{
    (void)state;
    antler_model *model = model_random(&small, 5);
    antler_series *data = make_data(&small, 31, 3), *many = NULL, *one = NULL;
    antler_generate_opts opts;
    antler_generate_opts_default(&opts);
    opts.start.context = data;
    opts.start.warmup = 10;
    opts.start.inputs_end = ANTLER_INPUTS_HOLD;
    opts.steps = 7;
    opts.orbits = 0;
    CHECK_FAILS(antler_generate(model, &opts, &many, NULL), ANTLER_ERROR_ARGUMENT, "0 orbits");
    opts.orbits = 3;
    opts.start.inputs = data; /* row 0 on, for all of them */
    CHECK_OK(antler_generate(model, &opts, &many, NULL));
    opts.orbits = 1;
    for (size_t i = 0; i < 3; i++) {
        opts.start.first = 10 * i; /* 31 rows leave 20 beyond a warm-up of 11 */
        CHECK_OK(antler_generate(model, &opts, &one, NULL));
        double got[7 * 2], want[7 * 2];
        CHECK_OK(antler_series_read_f64(many, i, 0, 7, got, NULL));
        CHECK_OK(antler_series_read_f64(one, 0, 0, 7, want, NULL));
        assert_memory_equal(got, want, sizeof got);
        antler_series_free(one);
    }
    opts.orbits = 2;
    opts.start.context = NULL;
    antler_series_free(many);
    CHECK_FAILS(antler_generate(model, &opts, &many, NULL), ANTLER_ERROR_ARGUMENT, "would all be the same");
    antler_series_free(data);
    antler_model_free(model);
}

/* Three orbits of a model with these h fail with that sentence, on both machines. */
static void check_diverging(const double *h, const char *sentence)
{
    antler_model *model = NULL;
    CHECK_OK(ant_model_create(&small, &model));
    const double B[] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0}, A[] = {0.99, 0.99, 0.99};
    model_set(model, "B", B);
    model_set(model, "A", A);
    model_set(model, "h", h);
    antler_series *data = make_data(&small, 40, 3);
    antler_generate_opts opts;
    antler_generate_opts_default(&opts);
    opts.start.context = data;
    opts.start.inputs = data;
    opts.start.warmup = 0;
    opts.steps = 5;
    opts.orbits = 3;
    for (int device = 0; device < 2; device++) {
        double x[3 * 5 * 2];
        size_t done[3];
        opts.device = device == 0 ? ANTLER_DEVICE_CPU : ANTLER_DEVICE_CUDA;
        CHECK_FAILS(antler_generate_into(model, &opts, x, NULL, done), ANTLER_DIVERGED, sentence);
        assert_int_equal(done[0], done[1]);
    }
    antler_series_free(data);
    antler_model_free(model);
}

/* An observation passes the bound, or a state that nobody sees is no longer finite. */
static void diverging_orbits(void **state)
{
    (void)state;
    const double seen[] = {1e9, 0.0, 0.0}, unseen[] = {0.0, 0.0, 1e308};
    check_diverging(seen, "3 of 3 orbits diverged, orbit 1 at step 1 of 5");
    check_diverging(unseen, "3 of 3 orbits diverged, orbit 1 at step 2 of 5");
}

/* RMSE of windows that end with the data, after a warm-up. */
static void compare_rmse(const ant_model_dims *dims, size_t warmup)
{
    antler_model *model = model_random(dims, 7);
    antler_series *data = make_data(dims, 80, 4);
    antler_rmse_opts opts;
    antler_rmse_result cpu, gpu;
    antler_rmse_opts_default(&opts);
    opts.steps = 4;
    opts.windows = 3;
    opts.warmup = warmup;
    opts.device = ANTLER_DEVICE_CPU;
    CHECK_OK(antler_rmse(model, data, &opts, &cpu));
    opts.device = ANTLER_DEVICE_CUDA;
    CHECK_OK(antler_rmse(model, data, &opts, &gpu));
    assert_int_equal(gpu.windows, cpu.windows);
    CHECK_NEAR(gpu.mean, cpu.mean, 1e-11 * cpu.mean);
    CHECK_NEAR(gpu.median, cpu.median, 1e-11 * cpu.median);
    CHECK_NEAR(gpu.sd, cpu.sd, 1e-10 * cpu.mean);
    antler_series_free(data);
    antler_model_free(model);
}

static void rmse_windows(void **state)
{
    (void)state;
    compare_rmse(&small, 5);
    compare_rmse(&large, 5);
    compare_rmse(&linear, 5);
    compare_rmse(&driven, 5);
    compare_rmse(&driven, 0);
    compare_rmse(&tiny, 5);
    compare_rmse(&tiny, 0);
    compare_rmse(&odd, 3);
    compare_rmse(&mamba2_7k, 2);
    compare_rmse(&wide, 2);
}

/* The long orbits of an evaluation: trajectories of two lengths, so that they go in two groups. */
static void compare_evaluation(const ant_model_dims *dims)
{
    static const size_t lengths[] = {30, 30, 45};
    antler_model *model = model_random(dims, 7);
    antler_series *data = make_data(dims, lengths[0], 4);
    double x[45 * 8];
    for (size_t i = 1; i < 3; i++) {
        fill_random(x, lengths[i] * (dims->N + dims->K), 4 + i);
        CHECK_OK(antler_series_append(data, lengths[i], x, dims->K == 0 ? NULL : x + lengths[i] * dims->N));
    }
    antler_evaluate_opts opts;
    antler_evaluate_result cpu, gpu;
    antler_evaluate_opts_default(&opts);
    opts.measure.dstsp = ANTLER_DSTSP_BINS;
    opts.measure.smoothing = 1.0;
    opts.warmup = 4;
    opts.with_rmse = opts.with_lyapunov = false;
    opts.measure.device = ANTLER_DEVICE_CPU;
    CHECK_OK(antler_evaluate(model, data, &opts, &cpu));
    opts.measure.device = ANTLER_DEVICE_CUDA;
    CHECK_OK(antler_evaluate(model, data, &opts, &gpu));
    assert_int_equal(cpu.free_steps, 3 * (30 + 30 + 45));
    assert_int_equal(gpu.free_steps, cpu.free_steps);
    assert_int_equal(gpu.warmup, 4);
    CHECK_NEAR(gpu.plain.dstsp, cpu.plain.dstsp, 1e-9);
    CHECK_NEAR(gpu.plain.hellinger, cpu.plain.hellinger, 1e-9);
    for (size_t n = 0; n < dims->N; n++)
        CHECK_NEAR(gpu.plain.mean_generated[n], cpu.plain.mean_generated[n], 1e-11);
    antler_evaluate_result_clear(&cpu);
    antler_evaluate_result_clear(&gpu);
    antler_series_free(data);
    antler_model_free(model);
}

static void long_orbits_of_an_evaluation(void **state)
{
    (void)state;
    compare_evaluation(&small);
    compare_evaluation(&driven);
    compare_evaluation(&tiny);
}

static void compare_lyapunov(const ant_model_dims *dims, size_t exponents, size_t transient, size_t steps,
                             size_t interval)
{
    antler_model *model = model_random(dims, 9);
    antler_series *inputs = dims->K == 0 ? NULL : make_data(dims, 7, 6);
    antler_lyapunov_opts opts;
    antler_lyapunov_result cpu, gpu;
    const size_t latent = antler_model_state_dim(model);
    double *z0 = malloc(latent * sizeof *z0);
    fill_random(z0, latent, 11);
    antler_lyapunov_opts_default(&opts);
    opts.start.state = z0;
    opts.start.inputs = inputs;
    opts.exponents = exponents;
    opts.transient = transient;
    opts.steps = steps;
    opts.interval = interval;
    opts.device = ANTLER_DEVICE_CPU;
    CHECK_OK(antler_lyapunov(model, &opts, &cpu));
    opts.device = ANTLER_DEVICE_CUDA;
    CHECK_OK(antler_lyapunov(model, &opts, &gpu));
    assert_int_equal(gpu.count, cpu.count);
    for (size_t k = 0; k < cpu.count; k++) {
        CHECK_NEAR(gpu.exponents[k], cpu.exponents[k], 1e-8 * (1.0 + fabs(cpu.exponents[k])));
        CHECK_NEAR(gpu.error[k], cpu.error[k], 1e-7);
        CHECK_NEAR(gpu.spread[k], cpu.spread[k], 1e-7);
    }
    CHECK_NEAR(gpu.kaplan_yorke, cpu.kaplan_yorke, 1e-6);
    antler_lyapunov_result_clear(&cpu);
    antler_lyapunov_result_clear(&gpu);
    free(z0);
    antler_series_free(inputs);
    antler_model_free(model);
}

static void lyapunov_exponents(void **state)
{
    (void)state;
    compare_lyapunov(&small, 0, 3, 12, 1);
    compare_lyapunov(&small, 0, 0, 11, 3); /* the last interval is shorter */
    compare_lyapunov(&small, 0, 4, 9, 6);
    compare_lyapunov(&large, 0, 0, 1, 1);
    compare_lyapunov(&linear, 0, 3, 12, 1);
    compare_lyapunov(&driven, 0, 3, 12, 2);
    compare_lyapunov(&tiny, 7, 3, 10, 1);
    compare_lyapunov(&odd, 3, 2, 9, 2);
    compare_lyapunov(&mamba2_7k, 32, 0, 2, 1); /* vectors in shared memory, work outside of it */
    compare_lyapunov(&wide, 20, 1, 3, 1);      /* the other way round */
}

/* Squares of the vectors underflow between two orthonormalisations. */
static void lyapunov_of_a_strong_contraction(void **state)
{
    (void)state;
    static const double A[] = {0.4, 0.3, 0.2}, z0[] = {1.0, 1.0, 1.0};
    antler_model *model = NULL;
    CHECK_OK(ant_model_create(&small, &model));
    model_set(model, "A", A);
    antler_lyapunov_opts opts;
    antler_lyapunov_result r;
    antler_lyapunov_opts_default(&opts);
    opts.start.state = z0;
    opts.transient = 0;
    opts.steps = 800;
    opts.interval = 400;
    opts.device = ANTLER_DEVICE_CUDA;
    CHECK_OK(antler_lyapunov(model, &opts, &r));
    for (size_t k = 0; k < 3; k++)
        CHECK_NEAR(r.exponents[k], log(A[k]), 1e-12);
    antler_lyapunov_result_clear(&r);
    antler_model_free(model);
}

static void lyapunov_of_a_diverging_orbit(void **state)
{
    (void)state;
    antler_model *model = NULL;
    CHECK_OK(ant_model_create(&small, &model));
    const double B[] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0}, A[] = {0.99, 0.5, 0.2}, h[] = {3e5, 0.0, 0.0};
    model_set(model, "B", B);
    model_set(model, "A", A);
    model_set(model, "h", h);
    antler_lyapunov_opts opts;
    antler_lyapunov_result cpu, gpu;
    antler_lyapunov_opts_default(&opts);
    opts.transient = 2;
    opts.steps = 30;
    opts.device = ANTLER_DEVICE_CPU;
    CHECK_FAILS(antler_lyapunov(model, &opts, &cpu), ANTLER_DIVERGED, "at step 4");
    opts.device = ANTLER_DEVICE_CUDA;
    CHECK_FAILS(antler_lyapunov(model, &opts, &gpu), ANTLER_DIVERGED, "at step 4");
    assert_int_equal(gpu.diverged_step, cpu.diverged_step);
    antler_lyapunov_result_clear(&cpu);
    antler_lyapunov_result_clear(&gpu);
    antler_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orbits_side_by_side),
        cmocka_unit_test(orbits_begin_at_their_rows),
        cmocka_unit_test(diverging_orbits),
        cmocka_unit_test(rmse_windows),
        cmocka_unit_test(long_orbits_of_an_evaluation),
        cmocka_unit_test(lyapunov_exponents),
        cmocka_unit_test(lyapunov_of_a_diverging_orbit),
        cmocka_unit_test(lyapunov_of_a_strong_contraction),
    };
    return cmocka_run_group_tests(tests, use_fake, NULL);
}
