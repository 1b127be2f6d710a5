/* Layout, initialisation, step, Jacobian and regularisers of the shPLRNN. */
#include "solve_support.h"

#include "model/svd.h"

static ant_model_layout layout_of(ant_model_dims dims)
{
    ant_model_layout layout;
    assert_int_equal(ant_model_layout_make(&dims, &layout), ANTLER_OK);
    return layout;
}

static void test_layout(void **state)
{
    (void)state;
    const ant_model_layout full = layout_of((ant_model_dims){.M = 5, .N = 3, .L = 7, .K = 2});
    const char *const names[] = {"Abar", "W", "V", "b", "h", "C", "B"};
    assert_int_equal(full.slices, 7);
    size_t next = 0;
    for (size_t i = 0; i < full.slices; i++) {
        assert_string_equal(full.slice[i].name, names[i]);
        assert_int_equal(full.slice[i].offset, next);
        next += full.slice[i].rows * full.slice[i].cols;
    }
    assert_int_equal(full.total, next);
    const ant_model_layout low = layout_of((ant_model_dims){.M = 5, .N = 3, .L = 7, .rank = 2});
    assert_null(ant_model_layout_find(&low, "W"));
    assert_null(ant_model_layout_find(&low, "C"));
    assert_int_equal(ant_model_layout_find(&low, "WR")->rows, 2);
    assert_int_equal(ant_model_layout_find(&low, "WR")->cols, 7);
}

static void test_bad_dimensions(void **state)
{
    (void)state;
    ant_model_layout layout;
    const ant_model_dims bad[] = {{.M = 0, .N = 1, .L = 1},
                                  {.M = 1, .N = 0, .L = 1},
                                  {.M = 1, .N = 1, .L = 0},
                                  {.M = 3, .N = 1, .L = 9, .rank = 4},
                                  {.M = 9, .N = 1, .L = 3, .rank = 4},
                                  {.M = (size_t)1 << 40, .N = 1, .L = 1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(ant_model_layout_make(&bad[i], &layout), ANTLER_ERROR_ARGUMENT);
}

static void test_initialise(void **state)
{
    (void)state;
    const double kappa = 0.9;
    const ant_model_layout layout = layout_of((ant_model_dims){.M = 6, .N = 4, .L = 40, .K = 3});
    double *a = get(layout.total, sizeof *a), *b = get(layout.total, sizeof *b);
    float *single = get(layout.total, sizeof *single);
    assert_int_equal(ant_model_initialise_f64(&layout, (ant_initialisation){.kappa = kappa}, 7, 1, a),
                     ANTLER_OK);
    assert_int_equal(ant_model_initialise_f32(&layout, (ant_initialisation){.kappa = kappa}, 7, 1, single),
                     ANTLER_OK);
    assert_int_equal(ant_model_initialise_f64(&layout, (ant_initialisation){.kappa = kappa}, 7, 2, b),
                     ANTLER_OK);
    assert_memory_not_equal(a, b, layout.total * sizeof *a);
    for (size_t i = 0; i < layout.total; i++)
        assert_true(fabs(a[i] - (double)single[i]) <= 1e-6);
    for (size_t m = 0; m < 6; m++)
        assert_true(fabs(tanh(a[layout.Abar + m]) - kappa) < 1e-12);
    const struct {
        size_t offset, count;
        double bound;
    } uniform[] = {
        {layout.W, 240, 0.1 / sqrt(40.0)}, {layout.V, 240, 0.1 / sqrt(6.0)}, {layout.C, 18, 0.1 / sqrt(3.0)}};
    for (size_t k = 0; k < 3; k++) {
        const double top = largest(a + uniform[k].offset, uniform[k].count);
        assert_true(top <= uniform[k].bound && top > 0.7 * uniform[k].bound);
    }
    assert_true(largest(a + layout.b, 40) == 0.0 && largest(a + layout.h, 6) == 0.0);
    for (size_t n = 0; n < 4; n++) {
        for (size_t m = 0; m < 6; m++)
            assert_true(a[layout.B + n * 6 + m] == (n == m ? 1.0 : 0.0));
    }
    assert_int_equal(ant_model_initialise_f64(&layout, (ant_initialisation){.kappa = 1.0}, 7, 1, a),
                     ANTLER_ERROR_ARGUMENT);
    free(a);
    free(b);
    free(single);
}

static void test_initialise_narrow(void **state)
{
    (void)state;
    const ant_model_layout layout = layout_of((ant_model_dims){.M = 3, .N = 8, .L = 4});
    double *a = get(layout.total, sizeof *a);
    assert_int_equal(ant_model_initialise_f64(&layout, (ant_initialisation){.kappa = 0.9995}, 3, 0, a),
                     ANTLER_OK);
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < 3; j++) {
            double dot = 0.0;
            for (size_t n = 0; n < 8; n++)
                dot += a[layout.B + n * 3 + i] * a[layout.B + n * 3 + j];
            assert_true(fabs(dot - (i == j ? 1.0 : 0.0)) < 1e-14);
        }
    }
    free(a);
}

/* Low rank: the entries of WL WR have the variance of a full W. */
static void test_initialise_low_rank(void **state)
{
    (void)state;
    const ant_model_layout layout = layout_of((ant_model_dims){.M = 60, .N = 3, .L = 200, .rank = 20});
    double *a = get(layout.total, sizeof *a), square = 0.0;
    assert_int_equal(ant_model_initialise_f64(&layout, (ant_initialisation){.kappa = 0.9}, 5, 0, a),
                     ANTLER_OK);
    for (size_t m = 0; m < 60; m++) {
        for (size_t l = 0; l < 200; l++) {
            double w = 0.0;
            for (size_t k = 0; k < 20; k++)
                w += a[layout.WL + m * 20 + k] * a[layout.WR + k * 200 + l];
            square += w * w;
        }
    }
    assert_true(fabs(square / 12000.0 / (0.01 / 600.0) - 1.0) < 0.1);
    free(a);
}

static void test_jacobian(void **state)
{
    (void)state;
    for (int variant = 0; variant < 8; variant++) {
        const ant_model_dims dims = {.M = 5,
                                     .N = 2,
                                     .L = 11,
                                     .K = 2,
                                     .rank = variant & 1 ? 3 : 0,
                                     .clipped = variant & 2,
                                     .free_diagonal = variant & 4};
        problem p = random_problem(dims, 1, 1, 0, 0.1, 11);
        double z[5] = {0.3, -1.0, 0.7, 2.0, -0.2}, s[2] = {0.5, -0.5}, jacobian[25], hidden[16], up[5],
               down[5];
        ant_shplrnn_jacobian_f64(&p.layout, p.parameters, z, jacobian, hidden);
        for (size_t j = 0; j < 5; j++) {
            const double step = 1e-7, keep = z[j];
            z[j] = keep + step;
            ant_shplrnn_step_f64(&p.layout, p.parameters, z, s, up, hidden);
            z[j] = keep - step;
            ant_shplrnn_step_f64(&p.layout, p.parameters, z, s, down, hidden);
            z[j] = keep;
            for (size_t i = 0; i < 5; i++)
                assert_true(fabs((up[i] - down[i]) / (2 * step) - jacobian[i * 5 + j]) < 1e-7);
        }
        problem_free(&p);
    }
}

/* A clipped model is bounded in its hidden part: |phi(a+b) - phi(a)| <= |b|. */
static void test_clipped_is_bounded(void **state)
{
    (void)state;
    const ant_model_dims dims = {.M = 1, .N = 1, .L = 3, .clipped = true};
    const ant_model_layout layout = layout_of(dims);
    double theta[16] = {0}, z = 1e6, next, hidden[3];
    for (size_t l = 0; l < 3; l++) {
        theta[layout.W + l] = 1.0;
        theta[layout.V + l] = (double)l - 1.0;
        theta[layout.b + l] = 0.5;
    }
    ant_shplrnn_step_f64(&layout, theta, &z, NULL, &next, hidden);
    assert_true(fabs(next) <= 1.5);
}

static void check_term(const char *name, ant_regulariser r, int bits)
{
    const ant_model_layout layout = layout_of((ant_model_dims){.M = 6, .N = 3, .L = 12});
    double *theta = get(layout.total, sizeof *theta), *expected = get(layout.total, sizeof *expected);
    double *found = get(layout.total, sizeof *found), value,
           *work = get(ant_regulariser_work(&layout.dims), 8);
    float *theta32 = get(layout.total, 4), *found32 = get(layout.total, 4);
    char prefix[64];
    assert_true(golden_slices("regularisers", "param", &layout, theta));
    assert_true(golden_read("regularisers", name, &value, 1));
    snprintf(prefix, sizeof prefix, "%s_grad", name);
    assert_true(golden_slices("regularisers", prefix, &layout, expected));
    r.units = 2;
    ant_regulariser_terms terms;
    if (bits == 64) {
        assert_int_equal(ant_regulariser_add_f64(&layout, &r, theta, found, work, &terms), ANTLER_OK);
    } else {
        for (size_t i = 0; i < layout.total; i++)
            theta32[i] = (float)theta[i];
        assert_int_equal(ant_regulariser_add_f32(&layout, &r, theta32, found32, work, &terms), ANTLER_OK);
        for (size_t i = 0; i < layout.total; i++)
            found[i] = (double)found32[i];
    }
    const double tolerance = bits == 64 ? 1e-12 : 1e-5, sum = terms.mar + terms.readout + terms.singular;
    assert_true(fabs(sum / value - 1.0) < tolerance);
    assert_true(relative_error(found, expected, layout.total) < tolerance);
    free(theta);
    free(expected);
    free(found);
    free(work);
    free(theta32);
    free(found32);
}

static void test_regularisers_golden(void **state)
{
    (void)state;
    for (int bits = 32; bits <= 64; bits += 32) {
        check_term("mar_p1", (ant_regulariser){.mar = 1.0, .p = 1}, bits);
        check_term("mar_p2", (ant_regulariser){.mar = 1.0, .p = 2}, bits);
        check_term("mar_p1_initscale", (ant_regulariser){.mar = 1.0, .p = 1, .initial_scale = true}, bits);
        check_term("mar_p2_initscale", (ant_regulariser){.mar = 1.0, .p = 2, .initial_scale = true}, bits);
        check_term("readout_p1", (ant_regulariser){.readout = 1.0, .p = 1}, bits);
        check_term("readout_p2", (ant_regulariser){.readout = 1.0, .p = 2}, bits);
        check_term("readout_sv", (ant_regulariser){.singular = 1.0, .p = 1}, bits);
    }
}

/* Every term by central differences, full and low rank, M <, =, > N. */
static void test_regularisers_differences(void **state)
{
    (void)state;
    for (int variant = 0; variant < 144; variant++) {
        const ant_model_dims dims = {.M = 4,
                                     .N = (size_t)(2 + 2 * (variant % 3)),
                                     .L = 7,
                                     .rank = variant / 3 % 2 ? 2 : 0,
                                     .free_diagonal = variant >= 72};
        const int term = variant / 6 % 6;
        const ant_regulariser r = {.mar = term == 0 ? 1.5 : 0.0,
                                   .readout = term == 1 ? 0.7 : 0.0,
                                   .singular = term == 2 ? 2.0 : 0.0,
                                   .latent = term == 3 ? 1.1 : 0.0,
                                   .observation = term == 4 ? 0.9 : 0.0,
                                   .condition = term == 5 ? 0.3 : 0.0,
                                   .units = 3,
                                   .p = 1 + variant / 36 % 2,
                                   .initial_scale = variant % 2};
        problem p = random_problem(dims, 1, 1, 0, 0.1, 100 + (uint64_t)variant);
        double *gradient = get(p.layout.total, 8), *work = get(ant_regulariser_work(&dims), 8);
        ant_regulariser_terms terms, up, down;
        assert_int_equal(ant_regulariser_check(&r, &dims), ANTLER_OK);
        assert_int_equal(ant_regulariser_add_f64(&p.layout, &r, p.parameters, gradient, work, &terms),
                         ANTLER_OK);
        for (size_t i = 0; i < p.layout.total; i++) {
            const double step = 1e-6, keep = p.parameters[i];
            p.parameters[i] = keep + step;
            ant_regulariser_add_f64(&p.layout, &r, p.parameters, NULL, work, &up);
            p.parameters[i] = keep - step;
            ant_regulariser_add_f64(&p.layout, &r, p.parameters, NULL, work, &down);
            p.parameters[i] = keep;
            const double slope =
                (up.mar + up.readout + up.singular - down.mar - down.readout - down.singular) / (2 * step);
            assert_true(fabs(slope - gradient[i]) < 1e-6 * fmax(1.0, fabs(slope)));
        }
        assert_true(terms.mar + terms.readout + terms.singular > 0.0);
        free(gradient);
        free(work);
        problem_free(&p);
    }
}

/* Values that NumPy gives for the parameters of the golden case (M = 6, N = 3, L = 12). */
static void test_regularisers_of_the_field(void **state)
{
    (void)state;
    const ant_model_layout layout = layout_of((ant_model_dims){.M = 6, .N = 3, .L = 12});
    double *theta = get(layout.total, sizeof *theta), *work = get(ant_regulariser_work(&layout.dims), 8);
    const ant_regulariser r = {.p = 1, .latent = 2.0, .observation = 3.0, .condition = 0.5};
    ant_regulariser_terms terms;
    assert_true(golden_slices("regularisers", "param", &layout, theta));
    assert_int_equal(ant_regulariser_add_f64(&layout, &r, theta, NULL, work, &terms), ANTLER_OK);
    assert_true(fabs(terms.mar / 0.7834367059775895 - 1.0) < 1e-12);
    assert_true(fabs(terms.readout / 0.5374633704897849 - 1.0) < 1e-12);
    assert_true(fabs(terms.singular / 0.15961519382781927 - 1.0) < 1e-12);
    memset(theta + layout.B, 0, 6 * sizeof *theta); /* a row of zeros: no smallest singular value */
    assert_int_equal(ant_regulariser_add_f64(&layout, &r, theta, NULL, work, &terms), ANTLER_NON_FINITE);
    const ant_regulariser negative = {.p = 1, .condition = -1.0};
    assert_int_equal(ant_regulariser_check(&negative, &layout.dims), ANTLER_ERROR_ARGUMENT);
    free(theta);
    free(work);
}

static void test_subgradient_at_zero(void **state)
{
    (void)state;
    const ant_model_layout layout = layout_of((ant_model_dims){.M = 2, .N = 2, .L = 3});
    double theta[32] = {0}, gradient[32] = {0}, work[256];
    const ant_regulariser r = {.mar = 1.0, .readout = 1.0, .units = 2, .p = 1};
    ant_regulariser_terms terms;
    assert_true(ant_regulariser_work(&layout.dims) <= 256);
    assert_int_equal(ant_regulariser_add_f64(&layout, &r, theta, gradient, work, &terms), ANTLER_OK);
    for (size_t i = 2; i < layout.total; i++)
        assert_true(gradient[i] == 0.0);
    theta[layout.h] = NAN;
    assert_int_equal(ant_regulariser_add_f64(&layout, &r, theta, gradient, work, &terms), ANTLER_NON_FINITE);
}

static void test_svd(void **state)
{
    (void)state;
    ant_stream stream = ant_stream_open(5, 0, 0, ANT_PURPOSE_INITIAL_STATE);
    for (size_t rows = 1; rows < 7; rows++) {
        for (size_t cols = 1; cols < 7; cols++) {
            const size_t k = rows < cols ? rows : cols;
            double a[36], u[36], s[6], vt[36], work[512];
            assert_true(ant_svd_work(rows, cols) <= 512);
            ant_stream_normals(&stream, a, rows * cols);
            assert_int_equal(ant_svd(rows, cols, a, u, s, vt, work), ANTLER_OK);
            for (size_t i = 0; i < rows; i++) {
                for (size_t j = 0; j < cols; j++) {
                    double sum = 0.0;
                    for (size_t q = 0; q < k; q++)
                        sum += u[i * k + q] * s[q] * vt[q * cols + j];
                    assert_true(fabs(sum - a[i * cols + j]) < 1e-13);
                }
            }
        }
    }
    double bad[1] = {NAN}, u[1], s[1], vt[1], work[128];
    assert_int_equal(ant_svd(1, 1, bad, u, s, vt, work), ANTLER_NON_FINITE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_bad_dimensions),
        cmocka_unit_test(test_initialise),
        cmocka_unit_test(test_initialise_narrow),
        cmocka_unit_test(test_initialise_low_rank),
        cmocka_unit_test(test_jacobian),
        cmocka_unit_test(test_clipped_is_bounded),
        cmocka_unit_test(test_regularisers_golden),
        cmocka_unit_test(test_regularisers_differences),
        cmocka_unit_test(test_regularisers_of_the_field),
        cmocka_unit_test(test_subgradient_at_zero),
        cmocka_unit_test(test_svd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
