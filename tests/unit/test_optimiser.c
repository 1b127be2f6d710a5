/* test_optimiser.c - Adam and RAdam against formulas written down independently, and the schedules. */
#include "check.h"
#include "train/optimiser.h"

/* f(x) = sum a_i (x_i - c_i)^2 / 2 */
static const double curvature[3] = {1.0, 25.0, 0.04}, centre[3] = {1.0, -2.0, 3.0};

static antler_settings settings_for(antler_optimiser optimiser)
{
    antler_settings s;
    antler_settings_default(&s);
    s.optimiser = optimiser;
    s.updates = 400;
    s.start_lr = 0.05;
    s.end_lr = 0.001;
    s.gradient_clip = 0.0;
    return s;
}

/* One parameter's whole history, recomputed from the definition of the moments as weighted sums. */
static double independent_step(const antler_settings *s, const double *gradients, int t, double lr)
{
    long double m = 0.0L, v = 0.0L;
    for (int k = 1; k <= t; k++) {
        m += (1.0L - s->beta1) * powl(s->beta1, t - k) * gradients[k];
        v += (1.0L - s->beta2) * powl(s->beta2, t - k) * gradients[k] * gradients[k];
    }
    const long double m_hat = m / (1.0L - powl(s->beta1, t)), v_hat = v / (1.0L - powl(s->beta2, t));
    if (s->optimiser == ANTLER_OPTIMISER_ADAM)
        return (double)(lr * m_hat / (sqrtl(v_hat) + s->epsilon));
    const long double infinite = 2.0L / (1.0L - s->beta2) - 1.0L;
    const long double rho = infinite - 2.0L * t * powl(s->beta2, t) / (1.0L - powl(s->beta2, t));
    if (rho <= 5.0L)
        return (double)(lr * m_hat);
    const long double r =
        sqrtl((rho - 4.0L) * (rho - 2.0L) * infinite / ((infinite - 4.0L) * (infinite - 2.0L) * rho));
    return (double)(lr * r * m_hat / (sqrtl(v_hat) + s->epsilon));
}

static void follow(antler_optimiser optimiser)
{
    const antler_settings s = settings_for(optimiser);
    double x[3] = {0}, m[3] = {0}, v[3] = {0}, g[3], y[3] = {0};
    float xf[3] = {0}, gf[3];
    double mf[3] = {0}, vf[3] = {0};
    static double history[3][401];
    for (int t = 1; t <= 400; t++) {
        for (int i = 0; i < 3; i++) {
            g[i] = curvature[i] * (x[i] - centre[i]);
            gf[i] = (float)(curvature[i] * ((double)xf[i] - centre[i]));
            history[i][t] = g[i];
        }
        const ant_step step = ant_step_make(&s, (size_t)t, ant_gradient_norm_f64(3, g));
        ant_step_apply_f64(&step, 3, g, m, v, x);
        ant_step_apply_f32(&step, 3, gf, mf, vf, xf);
        for (int i = 0; i < 3; i++) {
            y[i] -= independent_step(&s, history[i], t, ant_learning_rate(&s, (size_t)t));
            CHECK_NEAR(x[i], y[i], 1e-11);
            CHECK_NEAR((double)xf[i], x[i], 2e-4);
        }
    }
}

static void adam_follows_its_formula(void **state)
{
    (void)state;
    follow(ANTLER_OPTIMISER_ADAM);
}

static void radam_follows_its_formula(void **state)
{
    (void)state;
    follow(ANTLER_OPTIMISER_RADAM);
}

static void a_quadratic_is_minimised(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++) {
        antler_settings s = settings_for(which == 0 ? ANTLER_OPTIMISER_ADAM : ANTLER_OPTIMISER_RADAM);
        double x[3] = {0}, m[3] = {0}, v[3] = {0}, g[3];
        s.updates = 5000;
        for (size_t t = 1; t <= s.updates; t++) {
            for (int i = 0; i < 3; i++)
                g[i] = curvature[i] * (x[i] - centre[i]);
            const ant_step step = ant_step_make(&s, t, ant_gradient_norm_f64(3, g));
            ant_step_apply_f64(&step, 3, g, m, v, x);
        }
        for (int i = 0; i < 3; i++)
            CHECK_NEAR(x[i], centre[i], 1e-3);
    }
}

static void long_gradients_are_shortened(void **state)
{
    (void)state;
    antler_settings s = settings_for(ANTLER_OPTIMISER_ADAM);
    const float g[2] = {3.0f, 4.0f};
    CHECK_NEAR(ant_gradient_norm_f32(2, g), 5.0, 0.0);
    s.gradient_clip = 2.5;
    CHECK_NEAR(ant_step_make(&s, 1, 5.0).shorten, 0.5, 0.0);
    CHECK_NEAR(ant_step_make(&s, 1, 2.5).shorten, 1.0, 0.0);
    s.gradient_clip = 0.0;
    CHECK_NEAR(ant_step_make(&s, 1, 1e9).shorten, 1.0, 0.0);
    /* The moments see the shortened gradient. */
    s.gradient_clip = 2.5;
    double m[2] = {0}, v[2] = {0};
    float x[2] = {0};
    const ant_step step = ant_step_make(&s, 1, 5.0);
    ant_step_apply_f32(&step, 2, g, m, v, x);
    CHECK_NEAR(m[0], 0.1 * 1.5, 1e-15);
    CHECK_NEAR(v[1], 0.001 * 4.0, 1e-15);
}

static void schedules_meet_both_ends(void **state)
{
    (void)state;
    antler_settings s;
    antler_settings_default(&s);
    s.updates = 101;
    s.start_lr = 1e-2;
    s.end_lr = 1e-4;
    for (int k = 0; k < 2; k++) {
        s.schedule = k == 0 ? ANTLER_SCHEDULE_COSINE : ANTLER_SCHEDULE_EXPONENTIAL;
        CHECK_NEAR(ant_learning_rate(&s, 1), 1e-2, 1e-17);
        CHECK_NEAR(ant_learning_rate(&s, 101), 1e-4, 1e-17);
        CHECK_NEAR(ant_learning_rate(&s, 51), k == 0 ? 0.5 * (1e-2 + 1e-4) : 1e-3, 1e-15);
        for (size_t t = 2; t <= 101; t++)
            assert_true(ant_learning_rate(&s, t) < ant_learning_rate(&s, t - 1));
    }
    s.schedule = ANTLER_SCHEDULE_CONSTANT;
    assert_true(ant_learning_rate(&s, 77) == 1e-2);
    s.updates = 1;
    s.schedule = ANTLER_SCHEDULE_COSINE;
    assert_true(ant_learning_rate(&s, 1) == 1e-2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adam_follows_its_formula), cmocka_unit_test(radam_follows_its_formula),
        cmocka_unit_test(a_quadratic_is_minimised), cmocka_unit_test(long_gradients_are_shortened),
        cmocka_unit_test(schedules_meet_both_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
