/* test_lyapunov.c - Lyapunov exponents against known answers and a plain computation. */
#include "model_support.h"

#include "base/machine.h"
#include "measure/tangent.h"
#include "model/shplrnn.h"

static antler_lyapunov_opts options(size_t transient, size_t steps)
{
    antler_lyapunov_opts opts;
    antler_lyapunov_opts_default(&opts);
    opts.transient = transient;
    opts.steps = steps;
    return opts;
}

static int falling(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* z' = A z + G z + h for any G, by phi(z) - phi(-z) = z; it rests at a point away from 0. */
static antler_model *linear(size_t M, const double *A, const double *G)
{
    antler_model *model = model_make(M, M, 2 * M, 0);
    double *W = model->parameters + model->layout.W, *V = model->parameters + model->layout.V;
    for (size_t i = 0; i < M; i++) {
        V[i * M + i] = 1.0;
        V[(M + i) * M + i] = -1.0;
        model->parameters[model->layout.h + i] = 1.0 + (double)i;
        model->parameters[model->layout.B + i * M + i] = 1.0;
        for (size_t j = 0; j < M; j++) {
            W[i * 2 * M + j] = G[i * M + j];
            W[i * 2 * M + M + j] = -G[i * M + j];
        }
    }
    model_set(model, "A", A);
    return model;
}

static void test_linear_map_has_the_logs_of_its_eigenvalues(void **state)
{
    (void)state;
    /* Triangular: eigenvalues 0.9, -0.5, 0.2 in an order that has to be sorted. */
    const double A[] = {0.1, 0.2, 0.3}, G[] = {0.1, 0.7, -0.4, 0.0, -0.7, 0.3, 0.0, 0.0, 0.6};
    antler_model *model = linear(3, A, G);
    model->dt = 0.25;
    for (size_t interval = 1; interval <= 7; interval += 3) {
        antler_lyapunov_opts opts = options(500, 1000);
        opts.interval = interval;
        antler_lyapunov_result r;
        CHECK_OK(antler_lyapunov(model, &opts, &r));
        assert_int_equal(r.count, 3);
        CHECK_NEAR(r.exponents[0], log(0.9), 1e-9);
        CHECK_NEAR(r.exponents[1], log(0.5), 1e-9);
        CHECK_NEAR(r.exponents[2], log(0.2), 1e-9);
        CHECK_NEAR(r.sum, log(0.09), 1e-9);
        CHECK_NEAR(r.dt, 0.25, 0.0);
        CHECK_NEAR(r.kaplan_yorke, 0.0, 0.0);
        CHECK_NEAR(r.error[0] + r.spread[0], 0.0, 1e-9);
        antler_lyapunov_result_clear(&r);
    }
    antler_model_free(model);
    /* A turn by 1 radian, shrunk to 0.8: a pair of complex eigenvalues. */
    const double turn[] = {0.8 * cos(1.0), -0.8 * sin(1.0), 0.8 * sin(1.0), 0.8 * cos(1.0)};
    model = linear(2, (double[]){0.0, 0.0}, turn);
    antler_lyapunov_opts opts = options(100, 777);
    antler_lyapunov_result r;
    CHECK_OK(antler_lyapunov(model, &opts, &r));
    CHECK_NEAR(r.exponents[0], log(0.8), 1e-9);
    CHECK_NEAR(r.exponents[1], log(0.8), 1e-9);
    antler_lyapunov_result_clear(&r);
    antler_model_free(model);
}

/* The tent map stretches by mu everywhere: mu z - 2 mu phi(z - 1/2), with A z + (mu - A) phi(z) for mu z. */
static void test_tent_map(void **state)
{
    (void)state;
    const double mu = 1.9;
    antler_model *model = model_make(1, 1, 2, 0);
    model_set(model, "A", (double[]){0.4});
    model_set(model, "W", (double[]){mu - 0.4, -2.0 * mu});
    model_set(model, "V", (double[]){1.0, 1.0});
    model_set(model, "b", (double[]){0.0, -0.5});
    model_set(model, "B", (double[]){1.0});
    antler_lyapunov_opts opts = options(100, 5000);
    opts.start.state = (double[]){0.3};
    antler_lyapunov_result r;
    CHECK_OK(antler_lyapunov(model, &opts, &r));
    CHECK_NEAR(r.exponents[0], log(mu), 1e-12);
    CHECK_NEAR(r.kaplan_yorke, 1.0, 0.0);
    antler_lyapunov_result_clear(&r);
    antler_model_free(model);
}

/* Six units: the tent map, one that hardly forgets, one that forgets fast; these are observed.  Then three
   that filter the first and keep 0.98, 0.6 and 0.3 of their value. */
static antler_model *tent_with_filters(void)
{
    antler_model *model = model_make(6, 3, 2, 0);
    model_set(model, "A", (double[]){0.4, 0.9999, 0.2, 0.98, 0.6, 0.3});
    model_set(model, "W", (double[]){1.5, -3.8, 0.0, 0.0, 0.0, 0.0, 0.5, 0.1, -0.3, 0.2, 0.1, 0.4});
    model_set(model, "V", (double[]){1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0});
    model_set(model, "b", (double[]){0.0, -0.5});
    for (size_t i = 0; i < 3; i++)
        model->parameters[model->layout.B + i * 6 + i] = 1.0;
    return model;
}

static void test_filters_without_forcing_do_not_count(void **state)
{
    (void)state;
    antler_model *model = tent_with_filters();
    antler_lyapunov_opts opts = options(100, 5000);
    opts.start.state = (double[]){0.3, 0.0, 0.0, 0.0, 0.0, 0.0};
    antler_lyapunov_result r;
    CHECK_OK(antler_lyapunov(model, &opts, &r));
    const double sum = log(1.9) + log(0.9999) + log(0.98) + log(0.6);
    CHECK_NEAR(r.kaplan_yorke, 4.0 + sum / fabs(log(0.3)), 1e-4);
    assert_int_equal(r.unforced_count, 3);
    const double alone[] = {NAN, NAN, log(0.98), log(0.6), log(0.3), NAN};
    for (size_t k = 0; k < 6; k++) {
        assert_true(isnan(alone[k]) == isnan(r.unforced[k]));
        if (!isnan(alone[k]))
            CHECK_NEAR(r.unforced[k], alone[k], 1e-9);
    }
    CHECK_NEAR(r.kaplan_yorke_reduced, 2.0 + (log(1.9) + log(0.9999)) / fabs(log(0.2)), 1e-4);
    antler_lyapunov_result_clear(&r);
    opts.exponents = 3; /* not all are known: nothing is left out */
    CHECK_OK(antler_lyapunov(model, &opts, &r));
    assert_int_equal(r.unforced_count, 0);
    CHECK_NEAR(r.kaplan_yorke_reduced, r.kaplan_yorke, 0.0);
    antler_lyapunov_result_clear(&r);
    antler_model_free(model);
}

/* z_0' = tent(z_1), z_1' = z_0: the unit that is not observed takes part, and is not left out. */
static void test_hidden_units_of_the_system_count(void **state)
{
    (void)state;
    antler_model *model = model_make(2, 1, 3, 0);
    model_set(model, "A", (double[]){0.0, 0.0});
    model_set(model, "W", (double[]){1.9, -3.8, 0.0, 0.0, 0.0, 1.0});
    model_set(model, "V", (double[]){0.0, 1.0, 0.0, 1.0, 1.0, 0.0});
    model_set(model, "b", (double[]){0.0, -0.5, 0.0});
    model_set(model, "B", (double[]){1.0, 0.0});
    antler_lyapunov_opts opts = options(100, 5000);
    opts.start.state = (double[]){0.3, 0.4};
    antler_lyapunov_result r;
    CHECK_OK(antler_lyapunov(model, &opts, &r));
    CHECK_NEAR(r.exponents[1], 0.5 * log(1.9), 1e-3);
    assert_int_equal(r.unforced_count, 0);
    CHECK_NEAR(r.kaplan_yorke_reduced, 2.0, 0.0);
    antler_lyapunov_result_clear(&r);
    antler_model_free(model);
}

/* Gram-Schmidt on columns, twice; q: (M, M) row-major.  Adds log|R_kk|. */
static void plain_qr(double *q, size_t M, double *logs)
{
    for (size_t k = 0; k < M; k++) {
        for (int pass = 0; pass < 2; pass++) {
            for (size_t j = 0; j < k; j++) {
                double product = 0.0;
                for (size_t i = 0; i < M; i++)
                    product += q[i * M + j] * q[i * M + k];
                for (size_t i = 0; i < M; i++)
                    q[i * M + k] -= product * q[i * M + j];
            }
        }
        double square = 0.0;
        for (size_t i = 0; i < M; i++)
            square += q[i * M + k] * q[i * M + k];
        for (size_t i = 0; i < M; i++)
            q[i * M + k] /= sqrt(square);
        logs[k] += 0.5 * log(square);
    }
}

/* Exponents over `steps` from z, by the plain Jacobian; the unsorted sums / steps.  s: (steps, K). */
static void plain_exponents(const antler_model *model, double *z, const double *s, size_t steps, double *logs)
{
    const ant_model_dims *d = &model->layout.dims;
    const size_t M = d->M;
    double *q = calloc(3 * M * M + M + d->L + d->rank, sizeof *q);
    double *J = q + M * M, *product = J + M * M, *next = product + M * M, *hidden = next + M;
    for (size_t k = 0; k < M; k++) {
        q[k * M + k] = 1.0;
        logs[k] = 0.0;
    }
    for (size_t t = 0; t < steps; t++) {
        ant_shplrnn_jacobian_f64(&model->layout, model->parameters, z, J, hidden);
        ant_shplrnn_step_f64(&model->layout, model->parameters, z, s + t * d->K, next, hidden);
        memcpy(z, next, M * sizeof *z);
        memset(product, 0, M * M * sizeof *product);
        for (size_t i = 0; i < M; i++) {
            for (size_t k = 0; k < M; k++) {
                for (size_t j = 0; j < M; j++)
                    product[i * M + j] += J[i * M + k] * q[k * M + j];
            }
        }
        memcpy(q, product, M * M * sizeof *q);
        plain_qr(q, M, logs);
    }
    for (size_t k = 0; k < M; k++)
        logs[k] /= (double)steps;
    free(q);
}

static void test_random_models_follow_the_plain_computation(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 3, 5, 8, 9, 16, 17, 33};
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
        enum { STEPS = 40 };
        const ant_model_dims dims = {
            .M = sizes[i / 2], .N = 2, .L = 7 + 5 * (i / 2), .K = i % 3, .clipped = i % 2 == 1};
        antler_model *model = model_random(&dims, 40 + i);
        double z[33], start[33], want[33], s[STEPS * 2];
        fill_random(z, dims.M, i);
        memcpy(start, z, sizeof z);
        fill_random(s, STEPS * 2, i + 1);
        plain_exponents(model, z, s, STEPS, want);
        qsort(want, dims.M, sizeof *want, falling);
        antler_series *inputs = dims.K == 0 ? NULL : series_make(STEPS, dims.K, s, 0, NULL);
        antler_lyapunov_opts opts = options(0, STEPS);
        opts.start.state = start;
        opts.start.inputs = inputs;
        antler_lyapunov_result r;
        CHECK_OK(antler_lyapunov(model, &opts, &r));
        for (size_t k = 0; k < dims.M; k++)
            CHECK_NEAR(r.exponents[k], want[k], 1e-6);
        antler_lyapunov_result_clear(&r);
        antler_series_free(inputs);
        antler_model_free(model);
    }
}

/* |det| by elimination with pivots.  a: (M, M), overwritten. */
static double log_determinant(double *a, size_t M)
{
    double sum = 0.0;
    for (size_t k = 0; k < M; k++) {
        size_t pivot = k;
        for (size_t i = k + 1; i < M; i++)
            pivot = fabs(a[i * M + k]) > fabs(a[pivot * M + k]) ? i : pivot;
        for (size_t j = 0; j < M; j++) {
            const double swap = a[k * M + j];
            a[k * M + j] = a[pivot * M + j];
            a[pivot * M + j] = swap;
        }
        sum += log(fabs(a[k * M + k]));
        for (size_t i = k + 1; i < M; i++) {
            const double factor = a[i * M + k] / a[k * M + k];
            for (size_t j = k; j < M; j++)
                a[i * M + j] -= factor * a[k * M + j];
        }
    }
    return sum;
}

static void test_sum_is_the_mean_log_determinant(void **state)
{
    (void)state;
    enum { M = 6, STEPS = 700 };
    const ant_model_dims dims = {.M = M, .N = 2, .L = 20, .clipped = true};
    antler_model *model = model_random(&dims, 8);
    double z[M] = {0.3, -0.2, 0.1, 0.5, -0.7, 0.2}, start[M], next[M], hidden[20], J[M * M], sum = 0.0;
    memcpy(start, z, sizeof z);
    for (size_t t = 0; t < STEPS; t++) {
        ant_shplrnn_jacobian_f64(&model->layout, model->parameters, z, J, hidden);
        sum += log_determinant(J, M);
        ant_shplrnn_step_f64(&model->layout, model->parameters, z, NULL, next, hidden);
        memcpy(z, next, sizeof z);
    }
    for (size_t interval = 1; interval <= 3; interval++) {
        antler_lyapunov_opts opts = options(0, STEPS);
        opts.start.state = start;
        opts.interval = interval;
        antler_lyapunov_result r;
        CHECK_OK(antler_lyapunov(model, &opts, &r));
        CHECK_NEAR(r.sum, sum / STEPS, 1e-7);
        for (size_t k = 1; k < M; k++)
            assert_true(r.exponents[k - 1] >= r.exponents[k]);
        antler_lyapunov_result_clear(&r);
    }
    antler_model_free(model);
}

static void test_every_instruction_set(void **state)
{
    (void)state;
    const ant_tangent_kernels *kernels[3] = {&ant_tangent_kernels_base};
    const ant_shplrnn_kernels *maps[3] = {&ant_shplrnn_kernels_base};
    size_t count = 1;
#if defined(__x86_64__)
    if (ant_cpu_level_best() >= ANT_CPU_AVX2) {
        maps[count] = &ant_shplrnn_kernels_avx2;
        kernels[count++] = &ant_tangent_kernels_avx2;
    }
    if (ant_cpu_level_best() >= ANT_CPU_AVX512) {
        maps[count] = &ant_shplrnn_kernels_avx512;
        kernels[count++] = &ant_tangent_kernels_avx512;
    }
#endif
    const ant_model_dims dims = {.M = 11, .N = 2, .L = 21};
    antler_model *model = model_random(&dims, 4);
    ant_runner *runner = NULL;
    CHECK_OK(ant_runner_create(model, &runner));
    double z[11], logs[3][11];
    fill_random(z, 11, 2);
    for (size_t i = 0; i < count; i++) {
        ant_tangent tangent;
        CHECK_OK(ant_tangent_create(runner, 11, &tangent));
        ((ant_shplrnn_runner *)runner->self)->kernels = maps[i];
        for (int step = 0; step < 3; step++) {
            ant_tangent_push(&tangent, z, NULL);
            kernels[i]->orthonormalise(&tangent, logs[i]);
        }
        for (size_t a = 0; a < 11; a++) { /* orthonormal rows, and nothing in the padding */
            for (size_t b = 0; b < 11; b++) {
                double product = 0.0;
                for (size_t m = 0; m < tangent.stride; m++)
                    product += tangent.P[a * tangent.stride + m] * tangent.P[b * tangent.stride + m];
                CHECK_NEAR(product, a == b ? 1.0 : 0.0, 1e-13);
            }
            for (size_t m = 11; m < tangent.stride; m++)
                CHECK_NEAR(tangent.P[a * tangent.stride + m], 0.0, 0.0);
        }
        for (size_t k = 0; k < 11; k++)
            CHECK_NEAR(logs[i][k], logs[0][k], 1e-10);
        ant_tangent_destroy(&tangent);
    }
    ant_runner_free(runner);
    antler_model_free(model);
}

/* The standard error and the spread of a map of the line, whose slope at each state is known, by plain loops.
 */
static void test_error_and_spread_are_those_of_ten_parts(void **state)
{
    (void)state;
    enum { STEPS = 40, PARTS = 10, LENGTH = STEPS / PARTS };
    const double A = 0.9, W = -2.1,
                 h = 1.0; /* slopes 0.9 below 0, -1.2 above: few digits are lost in 40 steps */
    antler_model *model = model_make(1, 1, 1, 0);
    model_set(model, "A", &A);
    model_set(model, "W", &W);
    model_set(model, "V", (double[]){1.0});
    model_set(model, "h", &h);
    model_set(model, "B", (double[]){1.0});
    antler_lyapunov_opts opts = options(3, STEPS);
    antler_lyapunov_result r;
    CHECK_OK(antler_lyapunov(model, &opts, &r));
    double z = 0.0, sum = 0.0, squares = 0.0, parts[PARTS] = {0}, least = INFINITY, most = -INFINITY;
    for (int t = 0; t < 3 + STEPS; t++) {
        if (t >= 3) {
            const double slope = log(fabs(z > 0.0 ? A + W : A));
            sum += slope;
            parts[(t - 3) / LENGTH] += slope / LENGTH;
        }
        if (t >= 3 + STEPS / 2 - 1) {
            least = fmin(least, sum / (t - 2));
            most = fmax(most, sum / (t - 2));
        }
        z = A * z + W * fmax(z, 0.0) + h;
    }
    for (int i = 0; i < PARTS; i++)
        squares += (parts[i] - sum / STEPS) * (parts[i] - sum / STEPS);
    CHECK_NEAR(r.exponents[0], sum / STEPS, 1e-9);
    assert_true(squares > 1e-3);
    CHECK_NEAR(r.error[0], sqrt(squares / (PARTS * (PARTS - 1))), 1e-9);
    CHECK_NEAR(r.spread[0], most - least, 1e-9);
    antler_lyapunov_result_clear(&r);
    antler_model_free(model);
}

/* A = 0 and W of rank one: all directions but one are lost in the first step. */
static void test_singular_jacobian(void **state)
{
    (void)state;
    antler_model *model = model_make(3, 1, 1, 0);
    model_set(model, "W", (double[]){0.5, 0.25, 0.125});
    model_set(model, "V", (double[]){1.0, 0.0, 0.0});
    model_set(model, "b", (double[]){1.0});
    model_set(model, "B", (double[]){1.0, 0.0, 0.0});
    antler_lyapunov_opts opts = options(10, 100);
    antler_lyapunov_result r;
    CHECK_OK(antler_lyapunov(model, &opts, &r));
    CHECK_NEAR(r.exponents[0], log(0.5), 1e-12);
    assert_true(r.exponents[1] < -30.0 && r.exponents[2] < -30.0);
    assert_false(isnan(r.exponents[2]) || isnan(r.error[2]) || isnan(r.spread[2]));
    CHECK_NEAR(r.kaplan_yorke, 0.0, 0.0);
    antler_lyapunov_result_clear(&r);
    antler_model_free(model);
}

/* Vectors that shrink to where their squares underflow keep their direction and their logarithm. */
static void test_strong_contraction(void **state)
{
    (void)state;
    static const double A[] = {0.4, 0.3, 0.2};
    antler_model *model = model_make(3, 1, 1, 0);
    model_set(model, "A", A);
    model_set(model, "B", (double[]){1.0, 0.0, 0.0});
    antler_lyapunov_opts opts = options(0, 1600);
    opts.interval = 400;
    antler_lyapunov_result r;
    CHECK_OK(antler_lyapunov(model, &opts, &r));
    for (size_t k = 0; k < 3; k++) {
        CHECK_NEAR(r.exponents[k], log(A[k]), 1e-12);
        CHECK_NEAR(r.spread[k], 0.0, 1e-12);
    }
    antler_lyapunov_result_clear(&r);
    antler_model_free(model);
}

static void test_divergence_and_faults(void **state)
{
    (void)state;
    antler_model *model = model_make(1, 1, 1, 0);
    model_set(model, "A", (double[]){0.5});
    model_set(model, "W", (double[]){1.5});
    model_set(model, "V", (double[]){1.0});
    model_set(model, "B", (double[]){1.0});
    antler_lyapunov_opts opts = options(5, 1000);
    opts.start.state = (double[]){1.0};
    antler_lyapunov_result r;
    CHECK_FAILS(antler_lyapunov(model, &opts, &r), ANTLER_DIVERGED, "step 20");
    assert_int_equal(r.diverged_step, 20);
    assert_true(isnan(r.exponents[0]));
    antler_lyapunov_result_clear(&r);
    opts.steps = 0;
    CHECK_FAILS(antler_lyapunov(model, &opts, &r), ANTLER_ERROR_ARGUMENT, "at least one step");
    opts.steps = 10;
    opts.interval = 0;
    CHECK_FAILS(antler_lyapunov(model, &opts, &r), ANTLER_ERROR_ARGUMENT, "interval");
    antler_model_free(model);
}

/* Fewer vectors than states begin orthonormal, too, and find the same leading exponents. */
static void test_leading_vectors(void **state)
{
    (void)state;
    const ant_model_dims dims = {.M = 11, .N = 2, .L = 21};
    antler_model *model = model_random(&dims, 4);
    ant_runner *runner = NULL;
    CHECK_OK(ant_runner_create(model, &runner));
    for (size_t count = 1; count < 11; count += 3) {
        ant_tangent tangent;
        CHECK_OK(ant_tangent_create(runner, count, &tangent));
        for (size_t a = 0; a < count; a++) {
            for (size_t b = 0; b < count; b++) {
                double product = 0.0;
                for (size_t m = 0; m < tangent.stride; m++)
                    product += tangent.P[a * tangent.stride + m] * tangent.P[b * tangent.stride + m];
                CHECK_NEAR(product, a == b ? 1.0 : 0.0, 1e-13);
            }
        }
        ant_tangent_destroy(&tangent);
    }
    ant_runner_free(runner);
    antler_lyapunov_opts opts = options(2000, 5000);
    antler_lyapunov_result all, few;
    CHECK_OK(antler_lyapunov(model, &opts, &all));
    opts.exponents = 3;
    CHECK_OK(antler_lyapunov(model, &opts, &few));
    assert_int_equal(all.count, 11);
    assert_int_equal(few.count, 3);
    for (size_t k = 0; k < 3; k++)
        CHECK_NEAR(few.exponents[k], all.exponents[k], 1e-3 * (1.0 + fabs(all.exponents[k])));
    antler_lyapunov_result_clear(&all);
    antler_lyapunov_result_clear(&few);
    antler_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear_map_has_the_logs_of_its_eigenvalues),
        cmocka_unit_test(test_tent_map),
        cmocka_unit_test(test_filters_without_forcing_do_not_count),
        cmocka_unit_test(test_hidden_units_of_the_system_count),
        cmocka_unit_test(test_random_models_follow_the_plain_computation),
        cmocka_unit_test(test_sum_is_the_mean_log_determinant),
        cmocka_unit_test(test_every_instruction_set),
        cmocka_unit_test(test_leading_vectors),
        cmocka_unit_test(test_error_and_spread_are_those_of_ten_parts),
        cmocka_unit_test(test_singular_jacobian),
        cmocka_unit_test(test_strong_contraction),
        cmocka_unit_test(test_divergence_and_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
