/* test_simulate.c - seeds, noise, options and outcomes of antler_simulate, and the table of systems. */
#include "simulated.h"

#include "data/systems/systems.h"

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
        const size_t bits =
            system->info.dim < 6 ? system->info.dim : 6; /* every corner up to six variables */
        for (unsigned corner = 0; corner < 1u << bits; corner++) {
            o.has_initial = true;
            for (size_t j = 0; j < system->info.dim; j++)
                o.initial[j] = system->centre[j] + (corner >> j % bits & 1u ? 1.0 : -1.0) * system->spread[j];
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
    /* z = exp(50 t) passes 1e6 times its typical size of 10 at t = 0.3224. */
    antler_simulate_opts o = plain_opts("lorenz63");
    CHECK_OK(antler_simulate_opts_set(&o, "beta", -50.0));
    o.has_initial = true;
    o.initial[2] = 1.0;
    expect_failure(&o, ANTLER_DIVERGED, "lorenz63 left every bound 0.32");
    /* The same in ever faster oscillations, which must not take long. */
    o.initial[0] = o.initial[1] = 1.0;
    expect_failure(&o, ANTLER_DIVERGED, "left every bound 0.3");
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
        cmocka_unit_test(test_same_seed_same_bytes), cmocka_unit_test(test_every_start_is_safe),
        cmocka_unit_test(test_noise_has_its_size),   cmocka_unit_test(test_t0_is_drawn_over_the_period),
        cmocka_unit_test(test_bad_options),          cmocka_unit_test(test_names),
        cmocka_unit_test(test_table_is_sound),       cmocka_unit_test(test_divergence_is_an_outcome),
        cmocka_unit_test(test_progress_and_cancel),  cmocka_unit_test(test_extreme_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
