/* The free run: steps against the plain map, warm-up, units, inputs, divergence. */
#include "model_support.h"

#include "base/machine.h"
#include "model/shplrnn.h"

static const size_t shapes[][5] = {/* M, N, L, K, rank */
                                   {1, 1, 1, 0, 0},   {1, 3, 7, 2, 0},   {2, 1, 8, 0, 1},  {5, 3, 50, 0, 0},
                                   {7, 2, 9, 1, 3},   {8, 8, 16, 3, 0},  {9, 4, 33, 0, 9}, {17, 5, 40, 2, 5},
                                   {31, 6, 70, 0, 0}, {64, 3, 128, 1, 0}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static ant_model_dims shape(size_t i, bool clipped)
{
    return (ant_model_dims){.M = shapes[i][0],
                            .N = shapes[i][1],
                            .L = shapes[i][2],
                            .K = shapes[i][3],
                            .rank = shapes[i][4],
                            .clipped = clipped};
}

/* Twelve steps of one kernel table against ant_shplrnn_step. */
static void check_kernel(const antler_model *model, const ant_shplrnn_kernels *kernels, uint64_t seed)
{
    enum { STEPS = 12 };
    const ant_model_dims *d = &model->layout.dims;
    double *z0 = malloc((d->M + STEPS * (d->K + d->M + d->N) + d->M + d->L + d->rank) * sizeof *z0);
    double *s = z0 + d->M, *got = s + STEPS * d->K, *x = got + STEPS * d->M, *want = x + STEPS * d->N,
           *hidden = want + d->M;
    fill_random(z0, d->M + STEPS * d->K, seed);
    ant_runner *runner = NULL;
    CHECK_OK(ant_runner_create(model, &runner));
    ((ant_shplrnn_runner *)runner->self)->kernels = kernels;
    ant_runner_steps(runner, z0, s, STEPS, got, x);
    for (size_t t = 0; t < STEPS; t++) {
        ant_shplrnn_step_f64(&model->layout, model->parameters, t == 0 ? z0 : got + (t - 1) * d->M,
                             s + t * d->K, want, hidden);
        for (size_t m = 0; m < d->M; m++)
            CHECK_NEAR(got[t * d->M + m], want[m], 1e-13 * (1.0 + fabs(want[m])));
    }
    ant_runner_free(runner);
    free(z0);
}

static void test_steps_follow_the_plain_map(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * SHAPES; i++) {
        const ant_model_dims dims = shape(i / 2, i % 2 == 1);
        antler_model *model = model_random(&dims, 100 + i);
        check_kernel(model, &ant_shplrnn_kernels_base, i);
#if defined(__x86_64__)
        if (ant_cpu_level_best() >= ANT_CPU_AVX2)
            check_kernel(model, &ant_shplrnn_kernels_avx2, i);
        if (ant_cpu_level_best() >= ANT_CPU_AVX512)
            check_kernel(model, &ant_shplrnn_kernels_avx512, i);
#endif
        antler_model_free(model);
    }
}

static void test_same_start_same_bits(void **state)
{
    (void)state;
    const ant_model_dims dims = {.M = 5, .N = 3, .L = 50, .clipped = true};
    antler_model *model = model_random(&dims, 3);
    antler_generate_opts opts;
    antler_generate_opts_default(&opts);
    opts.steps = 1000; /* not a multiple of the pieces */
    antler_series *first = NULL, *second = NULL, *latent = NULL;
    CHECK_OK(antler_generate(model, &opts, &first, &latent));
    CHECK_OK(antler_generate(model, &opts, &second, NULL));
    double *a = series_values(first), *b = series_values(second), *z = series_values(latent);
    assert_int_equal(antler_series_length(first, 0), 1000);
    assert_memory_equal(a, b, 3000 * sizeof *a);
    assert_string_equal(antler_series_name(latent, 4), "z5");
    for (size_t t = 0; t < 1000; t++) {
        double x[3];
        ant_shplrnn_observe_f64(&model->layout, model->parameters, z + 5 * t, x);
        for (size_t n = 0; n < 3; n++)
            CHECK_NEAR(a[3 * t + n], x[n], 1e-13);
    }
    free(a);
    free(b);
    free(z);
    antler_series_free(first);
    antler_series_free(second);
    antler_series_free(latent);
    antler_model_free(model);
}

/* The caller's arrays receive what a series would, also up to a divergence and in user units. */
static void test_into_arrays_of_the_caller(void **state)
{
    (void)state;
    enum { STEPS = 700 };
    const ant_model_dims dims = {.M = 4, .N = 2, .L = 9, .clipped = true};
    const double mean[] = {10.0, -3.0}, scale[] = {2.0, 0.5};
    static double x[STEPS * 2], z[STEPS * 4];
    antler_model *model = model_random(&dims, 8);
    CHECK_OK(ant_model_set_scaling(model, mean, scale));
    antler_generate_opts opts;
    antler_generate_opts_default(&opts);
    opts.steps = STEPS;
    opts.user_units = true;
    antler_series *orbit = NULL, *latent = NULL;
    size_t done = 0;
    CHECK_OK(antler_generate(model, &opts, &orbit, &latent));
    CHECK_OK(antler_generate_into(model, &opts, x, z, &done));
    double *want_x = series_values(orbit), *want_z = series_values(latent);
    assert_int_equal(done, STEPS);
    assert_memory_equal(x, want_x, sizeof x);
    assert_memory_equal(z, want_z, sizeof z);
    opts.user_units = false;
    CHECK_OK(antler_generate_into(model, &opts, x, NULL, &done));
    CHECK_NEAR(x[11] * scale[1] + mean[1], want_x[11], 1e-12);
    opts.steps = 0;
    CHECK_FAILS(antler_generate_into(model, &opts, x, NULL, &done), ANTLER_ERROR_ARGUMENT, "0 steps");
    free(want_x);
    free(want_z);
    antler_series_free(orbit);
    antler_series_free(latent);
    antler_model_free(model);
}

/* With one row in B, or one column, B+ = B^T / |B|^2: the warm-up of spec 2 by hand. */
static void check_warmup(size_t M, size_t N)
{
    enum { ROWS = 6 };
    const ant_model_dims dims = {.M = M, .N = N, .L = 6};
    antler_model *model = model_random(&dims, 17 + M);
    const double *B = model->parameters + model->layout.B;
    double x[ROWS * 4], z[4] = {0}, next[4], hidden[6], square = 0.0, xhat[4];
    fill_random(x, ROWS * N, 5);
    for (size_t i = 0; i < N * M; i++)
        square += B[i] * B[i];
    for (size_t t = 0; t < ROWS; t++) {
        if (t > 0) {
            ant_shplrnn_step_f64(&model->layout, model->parameters, z, NULL, next, hidden);
            memcpy(z, next, M * sizeof *z);
        }
        ant_shplrnn_observe_f64(&model->layout, model->parameters, z, xhat);
        for (size_t m = 0; m < M; m++) {
            for (size_t n = 0; n < N; n++)
                z[m] += B[n * M + m] / square * (x[t * N + n] - xhat[n]);
        }
    }
    ant_shplrnn_step_f64(&model->layout, model->parameters, z, NULL, next, hidden);
    ant_shplrnn_observe_f64(&model->layout, model->parameters, next, xhat);

    antler_series *context = series_make(ROWS, N, x, 0, NULL), *orbit = NULL;
    antler_generate_opts opts;
    antler_generate_opts_default(&opts);
    opts.start.context = context;
    opts.start.warmup = ROWS - 1;
    opts.steps = 1;
    CHECK_OK(antler_generate(model, &opts, &orbit, NULL));
    double *got = series_values(orbit);
    for (size_t n = 0; n < N; n++)
        CHECK_NEAR(got[n], xhat[n], 1e-12);
    free(got);
    opts.start.warmup = ROWS;
    CHECK_FAILS(antler_generate(model, &opts, &orbit, NULL), ANTLER_ERROR_DATA, "there are 6");
    antler_series_free(orbit);
    antler_series_free(context);
    antler_model_free(model);
}

static void test_warmup_forces_with_strength_one(void **state)
{
    (void)state;
    check_warmup(4, 1);
    check_warmup(1, 4);
}

/* z' = z / 2 + s, observed as it is. */
static antler_model *driven(void)
{
    antler_model *model = model_make(1, 1, 1, 1);
    model_set(model, "A", (double[]){0.5});
    model_set(model, "C", (double[]){1.0});
    model_set(model, "B", (double[]){1.0});
    return model;
}

/* Free rows after the warm-up for a way to end the inputs, by hand. */
static void check_driven(const antler_model *model, antler_generate_opts *opts, antler_inputs_end end,
                         double z, const double *inputs, size_t steps)
{
    opts->start.inputs_end = end;
    opts->steps = steps;
    antler_series *orbit = NULL;
    CHECK_OK(antler_generate(model, opts, &orbit, NULL));
    double *got = series_values(orbit);
    for (size_t t = 0; t < steps; t++) {
        z = 0.5 * z + inputs[t];
        CHECK_NEAR(got[t], z, 1e-14);
    }
    free(got);
    antler_series_free(orbit);
}

static void test_inputs_drive_the_step_into_their_row(void **state)
{
    (void)state;
    antler_model *model = driven();
    const double x[] = {1, 2, 3, 4, 5}, s[] = {10, 20, 30, 40, 50};
    antler_series *context = series_make(5, 1, x, 1, s), *orbit = NULL;
    antler_generate_opts opts;
    antler_generate_opts_default(&opts);
    opts.start.context = context;
    opts.start.warmup = 1; /* rows 0 and 1; the first free step is driven by row 2 */
    check_driven(model, &opts, ANTLER_INPUTS_STOP, 2.0, (double[]){30, 40, 50}, 3);
    check_driven(model, &opts, ANTLER_INPUTS_HOLD, 2.0, (double[]){30, 40, 50, 50, 50}, 5);
    check_driven(model, &opts, ANTLER_INPUTS_REPEAT, 2.0, (double[]){30, 40, 50, 30, 40, 50, 30}, 7);
    opts.start.inputs_end = ANTLER_INPUTS_STOP;
    opts.steps = 4;
    CHECK_FAILS(antler_generate(model, &opts, &orbit, NULL), ANTLER_ERROR_DATA, "3 follow the warm-up");
    antler_series *own = series_make(2, 1, (double[]){7, 8}, 0, NULL);
    opts.start.inputs = own;
    check_driven(model, &opts, ANTLER_INPUTS_REPEAT, 2.0, (double[]){7, 8, 7}, 3);
    opts.start.context = NULL;
    check_driven(model, &opts, ANTLER_INPUTS_HOLD, 0.0, (double[]){7, 8, 8}, 3);
    opts.start.inputs = NULL;
    opts.start.state = (double[]){4.0};
    check_driven(model, &opts, ANTLER_INPUTS_STOP, 4.0, (double[]){0, 0, 0}, 3);
    antler_series_free(own);
    antler_series_free(context);
    antler_model_free(model);
}

/* One free step from the end of a context, and from the row `first` of it with `warmup` rows: the same bits.
 */
static void check_end(const antler_model *model, const antler_series *context, size_t requested, size_t first,
                      size_t warmup)
{
    antler_generate_opts end, place;
    antler_generate_opts_default(&end);
    end.start.context = context;
    end.steps = 5;
    place = end;
    end.start.from_end = true;
    end.start.first = 3; /* not used */
    end.start.warmup = requested;
    place.start.first = first;
    place.start.warmup = warmup;
    antler_series *found = NULL, *wanted = NULL;
    CHECK_OK(antler_generate(model, &end, &found, NULL));
    CHECK_OK(antler_generate(model, &place, &wanted, NULL));
    double *got = series_values(found), *want = series_values(wanted);
    assert_memory_equal(got, want, 5 * sizeof *got);
    free(got);
    free(want);
    antler_series_free(found);
    antler_series_free(wanted);
}

static void test_from_the_end(void **state)
{
    (void)state;
    enum { ROWS = 400 };
    static const char settings[] = "warmup: 150\n";
    const ant_model_dims dims = {.M = 3, .N = 1, .L = 6, .clipped = true};
    double x[ROWS];
    antler_model *model = model_random(&dims, 4), *forced = driven();
    fill_random(x, ROWS, 6);
    antler_series *context = series_make(ROWS, 1, x, 0, NULL), *few = series_make(20, 1, x, 0, NULL);
    antler_series *with_inputs = series_make(ROWS, 1, x, 1, x), *orbit = NULL;
    check_end(model, context, ANTLER_WARMUP_AUTO, ROWS - 101, 100);
    check_end(model, context, 7, ROWS - 8, 7);
    check_end(model, few, ANTLER_WARMUP_AUTO, 0, 19);
    model->settings = malloc(sizeof settings);
    memcpy(model->settings, settings, sizeof settings);
    check_end(model, context, ANTLER_WARMUP_AUTO, ROWS - 151, 150);

    antler_generate_opts opts;
    antler_generate_opts_default(&opts);
    opts.start.context = few;
    opts.start.from_end = true;
    opts.start.warmup = 20;
    CHECK_FAILS(antler_generate(model, &opts, &orbit, NULL), ANTLER_ERROR_DATA, "there are 20");
    opts.start.warmup = 0;
    opts.orbits = 2;
    CHECK_FAILS(antler_generate(model, &opts, &orbit, NULL), ANTLER_ERROR_ARGUMENT, "only one goes on");
    opts.orbits = 1;
    opts.start.context = with_inputs;
    CHECK_FAILS(antler_generate(forced, &opts, &orbit, NULL), ANTLER_ERROR_DATA, "--input-file");
    opts.start.inputs = few;
    check_driven(forced, &opts, ANTLER_INPUTS_STOP, x[ROWS - 1], x, 3); /* its variables are the inputs */
    antler_series_free(context);
    antler_series_free(few);
    antler_series_free(with_inputs);
    antler_model_free(model);
    antler_model_free(forced);
}

/* z' = z / 2: the next value is half the last one of the context, in the model's units. */
static double next_value(const antler_model *model, const antler_series *context, bool model_units,
                         bool user_units, bool *scaled)
{
    antler_generate_opts opts;
    antler_generate_opts_default(&opts);
    opts.start.context = context;
    opts.start.model_units = model_units;
    opts.start.warmup = antler_series_length(context, 0) - 1;
    opts.user_units = user_units;
    opts.steps = 1;
    antler_series *orbit = NULL;
    CHECK_OK(antler_generate(model, &opts, &orbit, NULL));
    double value, mean, scale;
    CHECK_OK(antler_series_read_f64(orbit, 0, 0, 1, &value, NULL));
    *scaled = antler_series_scaling(orbit, &mean, &scale);
    antler_series_free(orbit);
    return value;
}

static void test_units(void **state)
{
    (void)state;
    antler_model *model = model_make(1, 1, 1, 0);
    model_set(model, "A", (double[]){0.5});
    model_set(model, "B", (double[]){1.0});
    antler_series *raw = series_make(3, 1, (double[]){1, 2, 18}, 0, NULL);
    bool scaled;
    CHECK_NEAR(next_value(model, raw, false, true, &scaled), 9.0, 1e-14); /* the model knows no units */
    assert_false(scaled);
    const double mean = 10.0, scale = 4.0; /* 18 is 2 in the model's units, so the next is 1, or 14 */
    CHECK_OK(ant_model_set_scaling(model, &mean, &scale));
    CHECK_NEAR(next_value(model, raw, false, false, &scaled), 1.0, 1e-14);
    assert_true(scaled);
    CHECK_NEAR(next_value(model, raw, false, true, &scaled), 14.0, 1e-14);
    assert_false(scaled);
    CHECK_NEAR(next_value(model, raw, true, false, &scaled), 9.0, 1e-14);
    const double other_mean = 8.0, other_scale = 5.0; /* another scaling of the same data is undone */
    CHECK_OK(antler_series_apply_scaling(raw, &other_mean, &other_scale));
    CHECK_NEAR(next_value(model, raw, false, true, &scaled), 14.0, 1e-13);
    antler_series_free(raw);
    antler_model_free(model);
}

/* z' = z / 2 + 1.5 phi(z) doubles: it passes 10^6 in step 20 and the rows before are kept. */
static void test_divergence_keeps_what_was_good(void **state)
{
    (void)state;
    antler_model *model = model_make(1, 1, 1, 0);
    model_set(model, "A", (double[]){0.5});
    model_set(model, "W", (double[]){1.5});
    model_set(model, "V", (double[]){1.0});
    model_set(model, "B", (double[]){1.0});
    antler_generate_opts opts;
    antler_generate_opts_default(&opts);
    opts.start.state = (double[]){1.0};
    opts.steps = 1000;
    antler_series *orbit = NULL, *latent = NULL;
    CHECK_FAILS(antler_generate(model, &opts, &orbit, &latent), ANTLER_DIVERGED, "step 20 of 1000");
    assert_int_equal(antler_series_length(orbit, 0), 19);
    assert_int_equal(antler_series_length(latent, 0), 19);
    double *x = series_values(orbit);
    for (size_t t = 0; t < 19; t++)
        CHECK_NEAR(x[t], ldexp(1.0, (int)t + 1), 1e-9);
    free(x);
    antler_series_free(orbit);
    antler_series_free(latent);
    opts.start.state = (double[]){1e300};
    CHECK_FAILS(antler_generate(model, &opts, &orbit, NULL), ANTLER_DIVERGED, "step 1 ");
    assert_int_equal(antler_series_count(orbit), 0);
    antler_series_free(orbit);
    antler_series *large = series_make(2, 1, (double[]){1, 1000}, 0, NULL); /* moves the limit to 10^9 */
    opts.start.context = large;
    opts.start.warmup = 1;
    CHECK_FAILS(antler_generate(model, &opts, &orbit, NULL), ANTLER_DIVERGED, "step 20 ");
    antler_series_free(orbit);
    antler_series_free(large);
    antler_model_free(model);
}

static void test_faults(void **state)
{
    (void)state;
    const ant_model_dims dims = {.M = 3, .N = 2, .L = 4, .K = 1};
    antler_model *model = model_random(&dims, 1);
    antler_generate_opts opts;
    antler_generate_opts_default(&opts);
    antler_series *orbit = NULL;
    const double x[] = {1, 2, 3, 4, INFINITY, 6};
    antler_series *narrow = series_make(6, 1, x, 1, x), *plain = series_make(3, 2, x, 0, NULL);
    antler_series *bad = series_make(3, 2, x, 1, x);
    opts.start.context = narrow;
    CHECK_FAILS(antler_generate(model, &opts, &orbit, NULL), ANTLER_ERROR_DATA, "1 variable and the model 2");
    opts.start.context = plain;
    CHECK_FAILS(antler_generate(model, &opts, &orbit, NULL), ANTLER_ERROR_DATA, "0 inputs and the model 1");
    opts.start.context = bad;
    opts.start.warmup = 2;
    CHECK_FAILS(antler_generate(model, &opts, &orbit, NULL), ANTLER_ERROR_DATA, "row 3");
    opts.start.trajectory = 1;
    CHECK_FAILS(antler_generate(model, &opts, &orbit, NULL), ANTLER_ERROR_ARGUMENT, "no number 1");
    opts.start.context = NULL;
    opts.steps = 0;
    CHECK_FAILS(antler_generate(model, &opts, &orbit, NULL), ANTLER_ERROR_ARGUMENT, "at least 1");
    opts.steps = 5;
    model->parameters[model->layout.V + 4] = NAN;
    CHECK_FAILS(antler_generate(model, &opts, &orbit, NULL), ANTLER_NON_FINITE, "V is not finite in row 2");
    antler_series_free(narrow);
    antler_series_free(plain);
    antler_series_free(bad);
    antler_model_free(model);
}

static void test_handle(void **state)
{
    (void)state;
    const ant_model_dims dims = {.M = 3, .N = 2, .L = 4, .K = 1, .rank = 2, .clipped = true};
    antler_model *model = model_random(&dims, 1);
    assert_string_equal(antler_model_name(model, 1), "x2");
    assert_string_equal(antler_model_name(model, 2), "s1");
    CHECK_OK(ant_model_set_name(model, 1, "pressure"));
    assert_string_equal(antler_model_name(model, 1), "pressure");
    assert_int_equal(antler_model_rank(model), 2);
    assert_true(antler_model_clipped(model));
    static const char *const letters[] = {"A", "WL", "WR", "V", "b", "h", "C", "B"};
    assert_int_equal(antler_model_parameter_count(model), 8);
    antler_parameter p;
    for (size_t i = 0; i < 8; i++) {
        CHECK_OK(antler_model_parameter_at(model, i, &p));
        assert_string_equal(p.name, letters[i]);
    }
    CHECK_OK(antler_model_parameter_at(model, 0, &p));
    CHECK_NEAR(p.values[2], tanh(model->parameters[2]), 0.0);
    CHECK_FAILS(antler_model_parameter_at(model, 8, &p), ANTLER_ERROR_ARGUMENT, "no number 8");
    size_t rows = 0;
    assert_false(ant_model_setting_count(model, "warmup", &rows));
    static const char settings[] = "# warmup: 1\nold_warmup: 2\n  warmup: 3\nwarmup: 40\nwarmup_x: 5\n";
    model->settings = malloc(sizeof settings);
    memcpy(model->settings, settings, sizeof settings);
    assert_true(ant_model_setting_count(model, "warmup", &rows));
    assert_int_equal(rows, 40);
    antler_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_follow_the_plain_map),
        cmocka_unit_test(test_same_start_same_bits),
        cmocka_unit_test(test_into_arrays_of_the_caller),
        cmocka_unit_test(test_warmup_forces_with_strength_one),
        cmocka_unit_test(test_inputs_drive_the_step_into_their_row),
        cmocka_unit_test(test_from_the_end),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_divergence_keeps_what_was_good),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_handle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
