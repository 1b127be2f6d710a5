/* test_systems.c - simulated orbits against exact ones, symmetries, seeds, noise and bad options. */
#include "golden_case.h"

#include "data/systems/systems.h"

static antler_simulate_opts plain_opts(const char *system)
{
    antler_simulate_opts o;
    CHECK_OK(antler_simulate_opts_default(system, &o));
    o.transient = 0.0;
    o.standardise = false;
    o.all_variables = true;
    return o;
}

/* Simulate and return the values: (length, dim), freed by the test. */
static double *simulate(const antler_simulate_opts *o)
{
    antler_series *series = NULL;
    CHECK_OK(antler_simulate(o, &series));
    const size_t dim = antler_series_dim(series);
    assert_int_equal(antler_series_count(series), 1);
    assert_int_equal(antler_series_length(series, 0), o->length);
    double *x = malloc(o->length * dim * sizeof *x);
    assert_non_null(x);
    CHECK_OK(antler_series_read_f64(series, 0, 0, o->length, x, NULL));
    antler_series_free(series);
    return x;
}

/* ---- exact orbits ---------------------------------------------------------------------------------- */

static void check_golden(const char *system)
{
    char name[64];
    snprintf(name, sizeof name, "system_%s", system);
    golden_array expected = golden_read(name, "trajectory");
    antler_simulate_opts o = plain_opts(system);
    o.dt = golden_number(name, "dt");
    o.length = (size_t)golden_number(name, "steps") + 1;
    o.has_t0 = true;
    o.t0 = golden_number(name, "t0");
    o.has_initial = true;
    memcpy(o.initial, expected.values, expected.columns * sizeof *o.initial);
    assert_int_equal(expected.rows, o.length);
    double *got = simulate(&o);
    for (size_t j = 0; j < expected.columns; j++) {
        double low = INFINITY, high = -INFINITY, worst = 0.0;
        for (size_t k = 0; k < expected.rows; k++) {
            const double value = expected.values[k * expected.columns + j];
            low = fmin(low, value);
            high = fmax(high, value);
            worst = fmax(worst, fabs(got[k * expected.columns + j] - value));
        }
        print_message("%s variable %zu: largest error %.2g of its range\n", system, j, worst / (high - low));
        assert_true(worst <= 1e-7 * (high - low));
    }
    free(got);
    free(expected.values);
}

static void test_golden_lorenz63(void **state)
{
    (void)state;
    check_golden("lorenz63");
}

static void test_golden_lorenz96(void **state)
{
    (void)state;
    check_golden("lorenz96");
}

static void test_golden_neuron(void **state)
{
    (void)state;
    check_golden("neuron");
}

/* With x and y at zero Lorenz-63 is dz/dt = -beta z; Roessler with a = b = 0 and z = 0 is a rotation. */
static void test_linear_known_answers(void **state)
{
    (void)state;
    antler_simulate_opts o = plain_opts("lorenz63");
    o.has_initial = true;
    o.initial[2] = 3.0;
    o.length = 501;
    double *x = simulate(&o);
    for (size_t k = 0; k < o.length; k++) {
        assert_true(x[3 * k] == 0.0 && x[3 * k + 1] == 0.0);
        assert_true(fabs(x[3 * k + 2] - 3.0 * exp(-8.0 / 3.0 * (double)k * o.dt)) < 1e-10);
    }
    free(x);

    o = plain_opts("roessler");
    CHECK_OK(antler_simulate_opts_set(&o, "a", 0.0));
    CHECK_OK(antler_simulate_opts_set(&o, "b", 0.0));
    o.has_initial = true;
    o.initial[0] = 2.0;
    o.length = 1001;
    x = simulate(&o);
    for (size_t k = 0; k < o.length; k++) {
        const double t = (double)k * o.dt;
        assert_true(fabs(x[3 * k] - 2.0 * cos(t)) < 1e-9);
        assert_true(fabs(x[3 * k + 1] - 2.0 * sin(t)) < 1e-9);
    }
    free(x);
}

/* With equal components the advection of Lorenz-96 vanishes: dx/dt = -x + F0 + A sin(omega t). */
static void test_forcing_known_answer(void **state)
{
    (void)state;
    antler_simulate_opts o = plain_opts("lorenz96");
    const double force = 3.0, amplitude = 2.0, omega = 1.5, t0 = 0.7;
    CHECK_OK(antler_simulate_opts_set(&o, "F0", force));
    CHECK_OK(antler_simulate_opts_set(&o, "A", amplitude));
    CHECK_OK(antler_simulate_opts_set(&o, "omega", omega));
    o.has_initial = o.has_t0 = true;
    o.t0 = t0;
    o.transient = 0.25;
    o.length = 200;
    for (size_t i = 0; i < 6; i++)
        o.initial[i] = 1.0;
    const double gain = amplitude / (1.0 + omega * omega);
    const double start = 1.0 - force - gain * (sin(omega * t0) - omega * cos(omega * t0));
    double *x = simulate(&o);
    for (size_t k = 0; k < o.length; k++) {
        const double s = o.transient + (double)k * o.dt, t = t0 + s;
        const double exact = force + gain * (sin(omega * t) - omega * cos(omega * t)) + start * exp(-s);
        for (size_t i = 0; i < 6; i++)
            assert_true(fabs(x[6 * k + i] - exact) < 1e-10);
    }
    free(x);
}

/* ---- symmetries and structure ------------------------------------------------------------------------ */

static void test_lorenz63_symmetry(void **state)
{
    (void)state;
    antler_simulate_opts o = plain_opts("lorenz63");
    o.has_initial = true;
    o.initial[0] = 1.0, o.initial[1] = -2.0, o.initial[2] = 20.0;
    o.length = 2000;
    double *x = simulate(&o);
    o.initial[0] = -1.0, o.initial[1] = 2.0;
    double *mirrored = simulate(&o);
    for (size_t k = 0; k < o.length; k++) {
        assert_true(mirrored[3 * k] == -x[3 * k]);
        assert_true(mirrored[3 * k + 1] == -x[3 * k + 1]);
        assert_true(mirrored[3 * k + 2] == x[3 * k + 2]);
    }
    free(mirrored);
    free(x);
}

/* Only t0 differs, so only the forcing does; after one period it is the same again. */
static void test_lorenz96_time_enters(void **state)
{
    (void)state;
    antler_simulate_opts o = plain_opts("lorenz96");
    o.length = 100;
    o.has_t0 = true;
    o.t0 = 10.0;
    double *x = simulate(&o);
    o.t0 = 30.0;
    double *later = simulate(&o);
    o.t0 = 85.0;
    double *one_period = simulate(&o);
    assert_true(fabs(x[6 * 99] - later[6 * 99]) > 1e-3);
    for (size_t i = 0; i < 6; i++) {
        assert_true(x[i] == later[i]);
        assert_true(fabs(x[6 * 99 + i] - one_period[6 * 99 + i]) < 1e-9);
    }
    free(one_period);
    free(later);
    free(x);
}

/* A transient is what plain rows would have been: cutting 1.5 time units is starting at row 150. */
static void test_transient_is_cut(void **state)
{
    (void)state;
    antler_simulate_opts o = plain_opts("lorenz63");
    o.length = 160;
    double *whole = simulate(&o);
    o.transient = 1.5;
    o.length = 10;
    double *cut = simulate(&o);
    for (size_t i = 0; i < 30; i++)
        assert_true(fabs(cut[i] - whole[150 * 3 + i]) < 1e-8);
    free(cut);
    free(whole);
}

static void test_output_is_described(void **state)
{
    (void)state;
    antler_simulate_opts o;
    antler_series *series = NULL;
    CHECK_OK(antler_simulate_opts_default("neuron", &o));
    o.length = 2000;
    CHECK_OK(antler_simulate(&o, &series));
    assert_int_equal(antler_series_dim(series), 2);
    assert_string_equal(antler_series_name(series, 0), "V");
    assert_string_equal(antler_series_name(series, 1), "n");
    assert_string_equal(antler_series_origin(series, 0), "neuron");
    assert_true(antler_series_dt(series) == 0.025);
    double mean[2], scale[2];
    assert_true(antler_series_scaling(series, mean, scale));
    assert_true(mean[0] < -20.0 && mean[0] > -70.0 && scale[0] > 1.0);
    for (size_t j = 0; j < 2; j++) {
        antler_variable_stats stats;
        CHECK_OK(antler_series_stats(series, j, &stats));
        assert_true(fabs(stats.mean) < 1e-12 && fabs(stats.sd - 1.0) < 1e-12);
    }
    antler_series_free(series);
}

/* Dropping variables does not change the others. */
static void test_all_variables(void **state)
{
    (void)state;
    antler_simulate_opts o = plain_opts("neuron");
    o.length = 500;
    o.noise = 0.05;
    double *all = simulate(&o);
    o.all_variables = false;
    double *observed = simulate(&o);
    for (size_t k = 0; k < o.length; k++)
        for (size_t j = 0; j < 2; j++)
            assert_true(observed[2 * k + j] == all[3 * k + j]);
    free(observed);
    free(all);
}

/* Lorenz-63 lives in a known box, visits both wings equally and has a known mean of z. */
static void test_lorenz63_statistics(void **state)
{
    (void)state;
    antler_simulate_opts o = plain_opts("lorenz63");
    o.transient = 100.0;
    o.length = 100000;
    double *x = simulate(&o);
    double mean_x = 0.0, mean_z = 0.0;
    for (size_t k = 0; k < o.length; k++) {
        assert_true(fabs(x[3 * k]) < 21.0 && fabs(x[3 * k + 1]) < 29.0);
        assert_true(x[3 * k + 2] > 0.0 && x[3 * k + 2] < 50.0);
        mean_x += x[3 * k] / (double)o.length;
        mean_z += x[3 * k + 2] / (double)o.length;
    }
    assert_true(fabs(mean_x) < 0.6);
    assert_true(fabs(mean_z - 23.55) < 0.1);
    free(x);
}

/* ---- seeds and noise --------------------------------------------------------------------------------- */

static void test_same_seed_same_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < antler_system_count(); i++) {
        antler_simulate_opts o = plain_opts(antler_system_at(i)->name);
        const size_t numbers = 300 * antler_system_at(i)->dim;
        o.length = 300;
        o.transient = 3.0;
        o.noise = 0.1;
        o.seed = 77;
        double *a = simulate(&o), *b = simulate(&o);
        assert_memory_equal(a, b, numbers * sizeof *a);
        o.seed = 78;
        double *c = simulate(&o);
        assert_memory_not_equal(a, c, numbers * sizeof *a);
        free(c);
        free(b);
        free(a);
    }
}

/* The corners of every box and many seeds lead to bounded orbits that are not constant. */
static void test_every_start_is_safe(void **state)
{
    (void)state;
    for (size_t i = 0; i < antler_system_count(); i++) {
        const ant_system *system = NULL;
        CHECK_OK(ant_system_find(antler_system_at(i)->name, &system));
        antler_simulate_opts o = plain_opts(system->info.name);
        o.standardise = true;
        o.length = 200;
        o.dt = 1.0;
        o.tolerance = 1e-6;
        for (unsigned corner = 0; corner < 1u << system->info.dim; corner++) {
            o.has_initial = true;
            for (size_t j = 0; j < system->info.dim; j++)
                o.initial[j] = system->centre[j] + (corner >> j & 1u ? 1.0 : -1.0) * system->spread[j];
            free(simulate(&o));
        }
        o.has_initial = false;
        for (o.seed = 0; o.seed < 40; o.seed++)
            free(simulate(&o));
    }
}

static void test_noise_has_its_size(void **state)
{
    (void)state;
    antler_simulate_opts o = plain_opts("lorenz63");
    o.length = 40000;
    o.dt = 0.1;
    o.tolerance = 1e-6;
    double *clean = simulate(&o);
    o.noise = 0.05;
    double *noisy = simulate(&o);
    double same_row = 0.0, next_row = 0.0, size[3];
    for (size_t j = 0; j < 3; j++) {
        double mean = 0.0, variance = 0.0, noise_mean = 0.0, noise_square = 0.0;
        for (size_t k = 0; k < o.length; k++)
            mean += clean[3 * k + j] / (double)o.length;
        for (size_t k = 0; k < o.length; k++) {
            const double difference = noisy[3 * k + j] - clean[3 * k + j];
            variance += pow(clean[3 * k + j] - mean, 2.0) / (double)o.length;
            noise_mean += difference / (double)o.length;
            noise_square += difference * difference / (double)o.length;
        }
        size[j] = sqrt(variance);
        /* Four standard errors of the estimates, which are 1/sqrt(T) and 1/sqrt(2T). */
        assert_true(fabs(noise_mean) < 0.05 * size[j] * 4.0 / 200.0);
        assert_true(fabs(sqrt(noise_square) / (0.05 * size[j]) - 1.0) < 4.0 / 283.0);
    }
    /* Noise of different variables and of neighbouring rows is independent. */
    for (size_t k = 0; k + 1 < o.length; k++) {
        const double here = (noisy[3 * k] - clean[3 * k]) / (0.05 * size[0]);
        same_row += here * (noisy[3 * k + 1] - clean[3 * k + 1]) / (0.05 * size[1]) / (double)o.length;
        next_row += here * (noisy[3 * k + 3] - clean[3 * k + 3]) / (0.05 * size[0]) / (double)o.length;
    }
    assert_true(fabs(same_row) < 4.0 / 200.0);
    assert_true(fabs(next_row) < 4.0 / 200.0);
    free(noisy);
    free(clean);
}

static void test_t0_is_drawn_over_the_period(void **state)
{
    (void)state;
    antler_simulate_opts o = plain_opts("lorenz96");
    o.has_initial = true;
    o.length = 2;
    double *first = simulate(&o);
    o.seed = 2;
    double *second = simulate(&o);
    assert_memory_equal(first, second, 6 * sizeof *first);
    assert_memory_not_equal(first, second, 12 * sizeof *first);
    free(second);
    /* No frequency, no period: t0 is 0 and the forcing is constant. */
    CHECK_OK(antler_simulate_opts_set(&o, "omega", 0.0));
    second = simulate(&o);
    o.has_t0 = true;
    o.t0 = 12.5;
    double *third = simulate(&o);
    assert_memory_equal(second, third, 12 * sizeof *second);
    free(third);
    free(second);
    free(first);
}

/* ---- failures ----------------------------------------------------------------------------------------- */

static void expect_failure(const antler_simulate_opts *o, antler_status status, const char *part)
{
    antler_series *series = NULL;
    CHECK_FAILS(antler_simulate(o, &series), status, part);
    assert_null(series);
}

#define EXPECT_BAD(field, value, part)                                                                       \
    do {                                                                                                     \
        antler_simulate_opts bad_opts = plain_opts("lorenz63");                                              \
        bad_opts.field = (value);                                                                            \
        expect_failure(&bad_opts, ANTLER_ERROR_ARGUMENT, (part));                                            \
    } while (0)

static void test_bad_options(void **state)
{
    (void)state;
    EXPECT_BAD(length, 0, "at least one row");
    EXPECT_BAD(length, SIZE_MAX / 8, "fewer");
    EXPECT_BAD(dt, 0.0, "dt is 0");
    EXPECT_BAD(dt, -1.0, "dt is -1");
    EXPECT_BAD(dt, NAN, "dt is");
    EXPECT_BAD(dt, INFINITY, "dt is inf");
    EXPECT_BAD(dt, 1e307, "lower dt");
    EXPECT_BAD(transient, -1.0, "transient is -1");
    EXPECT_BAD(transient, NAN, "transient");
    EXPECT_BAD(noise, -0.1, "noise is -0.1");
    EXPECT_BAD(noise, INFINITY, "noise is inf");
    EXPECT_BAD(tolerance, 1e-15, "1e-14 to 1e-3");
    EXPECT_BAD(tolerance, 0.1, "1e-14 to 1e-3");
    EXPECT_BAD(tolerance, NAN, "1e-14 to 1e-3");
    EXPECT_BAD(parameters[1], NAN, "parameter rho of lorenz63");

    antler_simulate_opts o = plain_opts("lorenz63");
    o.has_initial = true;
    o.initial[2] = INFINITY;
    expect_failure(&o, ANTLER_ERROR_ARGUMENT, "initial value of z");
    o = plain_opts("lorenz63");
    o.has_t0 = true;
    o.t0 = NAN;
    expect_failure(&o, ANTLER_ERROR_ARGUMENT, "t0");
    o = plain_opts("lorenz63");
    o.length = 1;
    o.noise = 0.1;
    expect_failure(&o, ANTLER_ERROR_ARGUMENT, "more rows");
    o.noise = 0.0;
    o.standardise = true;
    expect_failure(&o, ANTLER_ERROR_ARGUMENT, "switch standardising off");
    o.standardise = false;
    free(simulate(&o));
    o.length = 10;
    o.standardise = true;
    o.has_initial = true; /* the fixed point at the origin */
    expect_failure(&o, ANTLER_ERROR_DATA, "lorenz63: ");
}

static void test_names(void **state)
{
    (void)state;
    antler_simulate_opts o = plain_opts("lorenz63");
    const antler_system_info *info = NULL;
    CHECK_FAILS(antler_system_find("lorentz63", &info), ANTLER_ERROR_NOT_FOUND, "did you mean 'lorenz63'?");
    CHECK_FAILS(antler_system_find("quite another thing", &info), ANTLER_ERROR_NOT_FOUND,
                "lorenz63, lorenz96, neuron, roessler");
    assert_int_equal(antler_system_find(NULL, &info), ANTLER_ERROR_ARGUMENT);
    assert_null(info);
    CHECK_FAILS(antler_simulate_opts_set(&o, "roh", 1.0), ANTLER_ERROR_NOT_FOUND, "did you mean 'rho'?");
    o.system = "nothing of the kind";
    expect_failure(&o, ANTLER_ERROR_NOT_FOUND, "nothing of the kind");
    assert_null(antler_system_at(antler_system_count()));
}

/* Every entry of the table keeps the promises of antler_system_info. */
static void test_table_is_sound(void **state)
{
    (void)state;
    for (size_t i = 0; i < antler_system_count(); i++) {
        const antler_system_info *info = antler_system_at(i), *found = NULL;
        CHECK_OK(antler_system_find(info->name, &found));
        assert_ptr_equal(found, info);
        assert_true(info->dim >= 1 && info->dim <= ANTLER_SYSTEM_MAX_DIM);
        assert_true(info->observed >= 1 && info->observed <= info->dim);
        assert_true(info->parameter_count <= ANTLER_SYSTEM_MAX_PARAMETERS);
        assert_true(info->dt > 0.0 && info->length >= 2 && info->transient >= 0.0 && info->period >= 0.0);
        assert_non_null(info->title);
        assert_non_null(info->equations);
        assert_non_null(info->source);
        for (size_t j = 0; j < info->dim; j++)
            assert_non_null(info->variables[j]);
        for (size_t j = 0; j < info->parameter_count; j++)
            assert_true(info->parameters[j].name != NULL && info->parameters[j].meaning != NULL);
    }
}

static void test_divergence_is_an_outcome(void **state)
{
    (void)state;
    /* z = exp(50 t) passes 1e12 at t = 0.5526. */
    antler_simulate_opts o = plain_opts("lorenz63");
    CHECK_OK(antler_simulate_opts_set(&o, "beta", -50.0));
    o.has_initial = true;
    o.initial[2] = 1.0;
    expect_failure(&o, ANTLER_DIVERGED, "lorenz63 left every bound 0.55");
    /* A start beyond every bound. */
    o.initial[0] = 1e200;
    expect_failure(&o, ANTLER_DIVERGED, "lorenz63");
    o = plain_opts("neuron");
    CHECK_OK(antler_simulate_opts_set(&o, "C", 0.0));
    expect_failure(&o, ANTLER_DIVERGED, "0 time units after its start");
}

typedef struct watch {
    int calls, stop_after;
    double last;
} watch;

static int on_progress(void *cookie, const char *what, double fraction)
{
    watch *w = cookie;
    assert_non_null(what);
    assert_true(fraction >= w->last && fraction <= 1.0);
    w->last = fraction;
    return ++w->calls >= w->stop_after;
}

static void test_progress_and_cancel(void **state)
{
    (void)state;
    antler_simulate_opts o = plain_opts("lorenz63");
    o.transient = 1e9; /* would take hours */
    watch w = {.stop_after = 3};
    o.progress = (antler_progress){on_progress, &w};
    expect_failure(&o, ANTLER_CANCELLED, "simulating");
    assert_int_equal(w.calls, 3);
    o.transient = 0.0;
    w = (watch){.stop_after = 1000000};
    o.length = 1000;
    free(simulate(&o));
    assert_true(w.calls >= 1);
}

static void test_extreme_steps(void **state)
{
    (void)state;
    antler_simulate_opts o = plain_opts("lorenz63");
    o.transient = 1.0;
    o.length = 3;
    o.dt = 1e-13; /* far below the rounding of the time itself */
    double *x = simulate(&o);
    assert_true(x[0] != x[3] && x[3] != x[6] && fabs(x[0] - x[6]) < 1e-10);
    free(x);
    o.has_t0 = true;
    o.t0 = 1e15; /* an autonomous system does not mind */
    x = simulate(&o);
    assert_true(x[0] != x[3]);
    free(x);
    o = plain_opts("lorenz63");
    o.dt = 20.0;
    o.length = 4;
    free(simulate(&o));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_lorenz63),
        cmocka_unit_test(test_golden_lorenz96),
        cmocka_unit_test(test_golden_neuron),
        cmocka_unit_test(test_linear_known_answers),
        cmocka_unit_test(test_forcing_known_answer),
        cmocka_unit_test(test_lorenz63_symmetry),
        cmocka_unit_test(test_lorenz96_time_enters),
        cmocka_unit_test(test_transient_is_cut),
        cmocka_unit_test(test_output_is_described),
        cmocka_unit_test(test_all_variables),
        cmocka_unit_test(test_lorenz63_statistics),
        cmocka_unit_test(test_same_seed_same_bytes),
        cmocka_unit_test(test_every_start_is_safe),
        cmocka_unit_test(test_noise_has_its_size),
        cmocka_unit_test(test_t0_is_drawn_over_the_period),
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_table_is_sound),
        cmocka_unit_test(test_divergence_is_an_outcome),
        cmocka_unit_test(test_progress_and_cancel),
        cmocka_unit_test(test_extreme_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
