/* test_systems.c - simulated orbits against exact ones, symmetries and known statistics. */
#include "golden_case.h"
#include "simulated.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_lorenz63),      cmocka_unit_test(test_golden_lorenz96),
        cmocka_unit_test(test_golden_neuron),        cmocka_unit_test(test_linear_known_answers),
        cmocka_unit_test(test_forcing_known_answer), cmocka_unit_test(test_lorenz63_symmetry),
        cmocka_unit_test(test_lorenz96_time_enters), cmocka_unit_test(test_transient_is_cut),
        cmocka_unit_test(test_output_is_described),  cmocka_unit_test(test_all_variables),
        cmocka_unit_test(test_lorenz63_statistics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
