/* test_flows.c - right-hand sides of the chaotic flows at known states, and their Lyapunov exponents. */
#include "check.h"

#include "data/systems/systems.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIM = ANTLER_SYSTEM_MAX_DIM };

typedef struct flow {
    const ant_system *system;
    double parameters[ANTLER_SYSTEM_MAX_PARAMETERS];
} flow;

static flow find(const char *name)
{
    flow f = {.system = NULL};
    CHECK_OK(ant_system_find(name, &f.system));
    for (size_t i = 0; i < f.system->info.parameter_count; i++)
        f.parameters[i] = f.system->info.parameters[i].value;
    return f;
}

static double parameter(const flow *f, const char *name)
{
    for (size_t i = 0; i < f->system->info.parameter_count; i++)
        if (strcmp(f->system->info.parameters[i].name, name) == 0)
            return f->parameters[i];
    fail_msg("%s has no parameter %s", f->system->info.name, name);
    return NAN;
}

/* ---- fixed points and divergence --------------------------------------------------------------------- */

static void check_fixed_point(const flow *f, const double *x)
{
    double rate[DIM];
    f->system->rhs(0.0, x, f->parameters, rate);
    for (size_t i = 0; i < f->system->info.dim; i++) {
        if (!(fabs(rate[i]) < 1e-9))
            print_error("%s: d%s/dt is %g at a fixed point\n", f->system->info.name,
                        f->system->info.variables[i], rate[i]);
        assert_true(fabs(rate[i]) < 1e-9);
    }
}

/* Fixed points other than the origin depend on every parameter, except for those checked by the divergence.
 */
static void test_fixed_points(void **state)
{
    (void)state;
    flow f = find("chen"); /* x = y = sqrt(b z), z = 2c - a */
    const double high = 2.0 * parameter(&f, "c") - parameter(&f, "a");
    const double side = sqrt(parameter(&f, "b") * high);
    check_fixed_point(&f, (double[]){-side, -side, high});

    f = find("chua"); /* y = 0, z = -x, m1 x + m0 - m1 = 0 beyond x = 1 */
    const double outer = (parameter(&f, "m1") - parameter(&f, "m0")) / parameter(&f, "m1");
    assert_true(outer > 1.0);
    check_fixed_point(&f, (double[]){outer, 0.0, -outer});
    check_fixed_point(&f, (double[]){-outer, 0.0, outer});

    f = find("burke_shaw"); /* y = -x, z = 1/s, x^2 = v/s */
    const double s = parameter(&f, "s"), x = sqrt(parameter(&f, "v") / s);
    check_fixed_point(&f, (double[]){x, -x, 1.0 / s});

    f = find("halvorsen"); /* x = y = z = -(a + 8) */
    const double all = -(parameter(&f, "a") + 8.0);
    check_fixed_point(&f, (double[]){all, all, all});

    f = find("rucklidge"); /* x = 0, z = y^2 = lambda */
    const double root = sqrt(parameter(&f, "lambda"));
    check_fixed_point(&f, (double[]){0.0, -root, root * root});

    f = find("sprott_b");
    check_fixed_point(&f, (double[]){1.0, 1.0, 0.0});
    check_fixed_point(&f, (double[]){-1.0, -1.0, 0.0});

    f = find("hyperroessler"); /* y = -z, x z = -b, w = c z / d, -b/z - a z + c z / d = 0 */
    const double b = parameter(&f, "b"), ratio = parameter(&f, "c") / parameter(&f, "d");
    const double z = sqrt(b / (ratio - parameter(&f, "a")));
    check_fixed_point(&f, (double[]){-b / z, -z, z, ratio * z});
}

/* The sum of the diagonal of the Jacobian, by central differences. */
static double divergence(const flow *f, const double *x)
{
    const double step = 1e-5;
    double sum = 0.0, moved[DIM], above[DIM], below[DIM];
    for (size_t i = 0; i < f->system->info.dim; i++) {
        memcpy(moved, x, f->system->info.dim * sizeof *x);
        moved[i] = x[i] + step;
        f->system->rhs(0.0, moved, f->parameters, above);
        moved[i] = x[i] - step;
        f->system->rhs(0.0, moved, f->parameters, below);
        sum += (above[i] - below[i]) / (2.0 * step);
    }
    return sum;
}

static void test_divergence(void **state)
{
    (void)state;
    static const double x[] = {1.3, -0.4, 2.1, 0.7};
    static const struct {
        const char *name;
        double expected;
    } cases[] = {
        {"burke_shaw", -10.0 - 1.0},
        {"chen", -35.0 - 3.0 + 28.0},
        {"chua", -9.0 * 2.0 / 7.0 - 1.0},
        {"dadras", -3.0 + 1.7 - 9.0},
        {"halvorsen", -3.0 * 1.27},
        {"hyperroessler", 0.25 + 1.3 + 0.05},
        {"lorenz84", -0.25 + 2.0 * (1.3 - 1.0)},
        {"rucklidge", -2.0 - 1.0},
        {"sprott_b", -1.0},
        {"thomas", -3.0 * 0.18},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const flow f = find(cases[i].name);
        if (!(fabs(divergence(&f, x) - cases[i].expected) < 1e-7))
            print_error("%s: divergence %g\n", cases[i].name, divergence(&f, x));
        assert_true(fabs(divergence(&f, x) - cases[i].expected) < 1e-7);
    }
}

/* ---- Lyapunov exponents ------------------------------------------------------------------------------- */

/* One step of the classical Runge-Kutta method, which shares nothing with the integrator of the library. */
static void step(const flow *f, double t, double h, double *x)
{
    const size_t dim = f->system->info.dim;
    const double *p = f->parameters;
    double rate[4][DIM], at[DIM];
    f->system->rhs(t, x, p, rate[0]);
    for (int stage = 1; stage < 4; stage++) {
        const double part = stage < 3 ? 0.5 * h : h;
        for (size_t i = 0; i < dim; i++)
            at[i] = x[i] + part * rate[stage - 1][i];
        f->system->rhs(t + part, at, p, rate[stage]);
    }
    for (size_t i = 0; i < dim; i++)
        x[i] += h / 6.0 * (rate[0][i] + 2.0 * rate[1][i] + 2.0 * rate[2][i] + rate[3][i]);
}

/* Scale the difference y - x to the length `size`.  Returns the logarithm of its growth. */
static double shorten(const double *x, double *y, size_t dim, double size)
{
    double squares = 0.0;
    for (size_t i = 0; i < dim; i++)
        squares += (y[i] - x[i]) * (y[i] - x[i]);
    for (size_t i = 0; i < dim; i++)
        y[i] = x[i] + (y[i] - x[i]) * size / sqrt(squares);
    return log(sqrt(squares) / size);
}

/* Mean growth rate of the distance of two close orbits over `time` units after the transient. */
static double growth_rate(const flow *f, const double *start, double time)
{
    const antler_system_info *info = &f->system->info;
    const double h = info->dt / 4.0, size = 1e-7 * f->system->spread[0];
    double x[DIM], y[DIM], t = 0.0, sum = 0.0;
    memcpy(x, start, info->dim * sizeof *x);
    for (; t < info->transient; t += h)
        step(f, t, h, x);
    memcpy(y, x, info->dim * sizeof *y);
    y[0] += size;
    const double settled = t + 0.02 * time, end = settled + time;
    for (; t < end; t += h) {
        step(f, t, h, x);
        step(f, t, h, y);
        const double grown = shorten(x, y, info->dim, size);
        sum += t < settled ? 0.0 : grown;
    }
    return sum / time;
}

/* The table against 500 Lyapunov times from each of four starts: the estimate scatters by up to 3 %.  With a
   sanitizer a tenth of that, judged by its sign. */
static void test_exponents(void **state)
{
    (void)state;
    for (size_t i = 0; i < antler_system_count(); i++) {
        const antler_system_info *info = antler_system_at(i);
        const flow f = find(info->name);
        if (info->lyapunov == 0.0 || info->period > 0.0)
            continue;
        double mean = 0.0;
        for (size_t k = 0; k < 4; k++) {
            double start[DIM];
            for (size_t j = 0; j < info->dim; j++)
                start[j] =
                    f.system->centre[j] + (0.5 * (double)((k + 2 * j) % 4) - 0.75) * f.system->spread[j];
            mean += 0.25 * growth_rate(&f, start, (SANITIZED ? 50.0 : 500.0) / info->lyapunov);
        }
        print_message("%-14s %.4g in the table, %.4g here\n", info->name, info->lyapunov, mean);
        assert_true(fabs(mean / info->lyapunov - 1.0) < (SANITIZED ? 1.0 : 0.08));
    }
}

/* Over whole periods of the forcing; a shorter orbit, because the forcing is slow and the chaos strong. */
static void test_exponent_of_forced_system(void **state)
{
    (void)state;
    const flow f = find("lorenz96");
    const double rate =
        growth_rate(&f, (double[]){3.0, 3.5, 2.0, 4.0, 1.0, 3.1}, 40.0 * f.system->info.period);
    print_message("lorenz96 %.4g in the table, %.4g here\n", f.system->info.lyapunov, rate);
    assert_true(fabs(rate / f.system->info.lyapunov - 1.0) < 0.08);
}

/* The default neuron bursts periodically: no direction grows. */
static void test_neuron_is_not_chaotic(void **state)
{
    (void)state;
    const flow f = find("neuron");
    assert_true(f.system->info.lyapunov == 0.0);
    assert_true(growth_rate(&f, (double[]){-45.0, 0.3, 0.05}, 5000.0) < 1e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed_points),
        cmocka_unit_test(test_divergence),
        cmocka_unit_test(test_exponents),
        cmocka_unit_test(test_exponent_of_forced_system),
        cmocka_unit_test(test_neuron_is_not_chaotic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
