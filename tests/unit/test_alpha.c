/* Estimates of alpha (spec 10) against plain loops, on random models of all shapes. */
#include "check.h"

#include "base/random.h"
#include "model/handle.h"
#include "model/spectral_norm.h"
#include "solve/alpha_estimate.h"
#include "train/break_even.h"

#include <stdlib.h>

enum { MAX_DIM = 9, MAX_TOTAL = 1024 };

typedef struct shape {
    size_t M, N, L, rank, batch, T;
    bool clipped;
} shape;

static const shape shapes[] = {
    {1, 1, 1, 0, 1, 1, false},  {1, 3, 4, 0, 2, 9, true},   {3, 3, 8, 0, 3, 20, false},
    {5, 2, 12, 0, 2, 30, true}, {2, 6, 7, 0, 4, 11, false}, {6, 4, 10, 2, 3, 25, false},
    {4, 4, 9, 1, 2, 15, true},  {8, 3, 5, 0, 2, 10, true},  {3, 2, 6, 0, 3, 2000, true}, /* two tiles */
};

typedef struct fixture {
    ant_model_layout layout;
    double parameters[MAX_TOTAL];
    double *x; /* (batch, T, N) */
} fixture;

/* Weights of a size that keeps the Jacobian within `spread` of diag A. */
static void draw(const shape *s, double spread, fixture *f)
{
    const ant_model_dims dims = {
        .kind = ANT_MODEL_SHPLRNN, .M = s->M, .N = s->N, .L = s->L, .rank = s->rank, .clipped = s->clipped};
    ant_stream stream = ant_stream_open(7, (uint32_t)(s->M * 100 + s->L), 0, ANT_PURPOSE_PARAMETERS);
    double pair[2];
    CHECK_OK(ant_model_layout_make(&dims, &f->layout));
    assert_true(f->layout.total <= MAX_TOTAL);
    for (size_t i = 0; i < f->layout.total; i++) {
        ant_stream_normal_pair(&stream, pair);
        const bool weight = i < f->layout.b && i >= f->layout.Abar + s->M;
        f->parameters[i] = pair[0] * (weight ? spread : 1.0);
    }
    for (size_t m = 0; m < s->M && spread < 0.5; m++)
        f->parameters[f->layout.Abar + m] = 1.5;
    f->x = malloc(s->batch * s->T * s->N * sizeof *f->x);
    for (size_t i = 0; i < s->batch * s->T * s->N; i++) {
        ant_stream_normal_pair(&stream, pair);
        f->x[i] = pair[0];
    }
}

static antler_status norm_of(const shape *s, const fixture *f, ant_alpha_method method, double *norm)
{
    ant_alpha_estimator *e = NULL;
    CHECK_OK(ant_alpha_create(&f->layout.dims, method, s->batch, &e));
    antler_status status = ant_alpha_begin(e, f->parameters);
    for (size_t i = 0; status == ANTLER_OK && i < s->batch * s->T; i++)
        status = ant_alpha_add(e, i / s->T, f->x + i * s->N);
    if (status == ANTLER_OK)
        status = ant_alpha_norm(e, norm);
    ant_alpha_free(e);
    return status;
}

/* ---- plain loops ---------------------------------------------------------------------------------- */

/* out = a b; a: (n, k), b: (k, m) */
static void multiply(size_t n, size_t k, size_t m, const double *a, const double *b, double *out)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < m; j++) {
            double sum = 0.0;
            for (size_t q = 0; q < k; q++)
                sum += a[i * k + q] * b[q * m + j];
            out[i * m + j] = sum;
        }
    }
}

/* The largest singular value of a (rows, cols), by many steps of the power method on a^T a. */
static double plain_sigma(size_t rows, size_t cols, const double *a)
{
    double v[64], u[64], size = 0.0;
    for (size_t j = 0; j < cols; j++)
        v[j] = 1.0 + 0.37 * (double)j;
    for (int step = 0; step < 3000; step++) {
        multiply(rows, cols, 1, a, v, u);
        size = 0.0;
        for (size_t j = 0; j < cols; j++) {
            v[j] = 0.0;
            for (size_t i = 0; i < rows; i++)
                v[j] += a[i * cols + j] * u[i];
            size += v[j] * v[j];
        }
        size = sqrt(size);
        for (size_t j = 0; j < cols && size > 0.0; j++)
            v[j] /= size;
    }
    return sqrt(size);
}

/* Solve a y = c in place, with pivots; a: (n, n), c: (n). */
static void plain_solve(size_t n, double *a, double *c)
{
    for (size_t k = 0; k < n; k++) {
        size_t pivot = k;
        for (size_t i = k + 1; i < n; i++)
            pivot = fabs(a[i * n + k]) > fabs(a[pivot * n + k]) ? i : pivot;
        for (size_t j = 0; j <= n; j++) {
            double *top = j < n ? &a[k * n + j] : &c[k], *other = j < n ? &a[pivot * n + j] : &c[pivot];
            const double swap = *top;
            *top = *other;
            *other = swap;
        }
        for (size_t i = 0; i < n; i++) {
            const double factor = i == k ? 0.0 : a[i * n + k] / a[k * n + k];
            for (size_t j = 0; j < n; j++)
                a[i * n + j] -= factor * a[k * n + j];
            c[i] -= factor * c[k];
        }
    }
    for (size_t i = 0; i < n; i++)
        c[i] /= a[i * n + i];
}

/* B+ x by the normal equations: (B^T B)^-1 B^T x, or B^T (B B^T)^-1 x when M > N. */
static void plain_teacher(const fixture *f, const double *x, double *z)
{
    const size_t M = f->layout.dims.M, N = f->layout.dims.N;
    const double *B = f->parameters + f->layout.B;
    double Bt[MAX_DIM * MAX_DIM], square[MAX_DIM * MAX_DIM], y[MAX_DIM];
    for (size_t i = 0; i < N * M; i++)
        Bt[i % M * N + i / M] = B[i];
    if (M <= N) {
        multiply(M, N, M, Bt, B, square);
        multiply(M, N, 1, Bt, x, z);
        plain_solve(M, square, z);
    } else {
        multiply(N, M, N, B, Bt, square);
        memcpy(y, x, N * sizeof *y);
        plain_solve(N, square, y);
        multiply(M, N, 1, Bt, y, z);
    }
}

static void plain_jacobian(const fixture *f, const double *x, double *J)
{
    double z[MAX_DIM], hidden[64];
    plain_teacher(f, x, z);
    ant_shplrnn_jacobian_f64(&f->layout, f->parameters, z, J, hidden);
}

/* sum += log J by the series of log(I + X), for J near the unit matrix. */
static void plain_log_add(size_t M, const double *J, double *sum)
{
    double X[MAX_DIM * MAX_DIM], power[MAX_DIM * MAX_DIM], next[MAX_DIM * MAX_DIM];
    for (size_t i = 0; i < M * M; i++)
        X[i] = power[i] = J[i] - (i % (M + 1) == 0 ? 1.0 : 0.0);
    for (int k = 1; k < 400; k++) {
        for (size_t i = 0; i < M * M; i++)
            sum[i] += power[i] * (k % 2 == 1 ? 1.0 : -1.0) / k;
        multiply(M, M, M, power, X, next);
        memcpy(power, next, M * M * sizeof *power);
    }
}

static double plain_exp_sigma(size_t M, const double *L)
{
    double sum[MAX_DIM * MAX_DIM] = {0}, term[MAX_DIM * MAX_DIM] = {0}, next[MAX_DIM * MAX_DIM];
    for (size_t m = 0; m < M; m++)
        term[m * M + m] = 1.0;
    for (int k = 1; k < 60; k++) {
        for (size_t i = 0; i < M * M; i++)
            sum[i] += term[i];
        multiply(M, M, M, term, L, next);
        for (size_t i = 0; i < M * M; i++)
            term[i] = next[i] / k;
    }
    return plain_sigma(M, M, sum);
}

static double plain_bound(const shape *s, const fixture *f)
{
    const double *p = f->parameters;
    double W[256], largest = 0.0;
    if (s->rank > 0)
        multiply(s->M, s->rank, s->L, p + f->layout.WL, p + f->layout.WR, W);
    else
        memcpy(W, p + f->layout.W, s->M * s->L * sizeof *W);
    for (size_t m = 0; m < s->M; m++)
        largest = fmax(largest, fabs(tanh(p[f->layout.Abar + m])));
    return largest + plain_sigma(s->M, s->L, W) * plain_sigma(s->L, s->M, p + f->layout.V);
}

/* All norms of one sequence that go through rows.  norms: by method; explog where `near` the unit matrix. */
static void plain_sequence(const shape *s, const fixture *f, size_t sequence, bool near, double *norms)
{
    const size_t square = s->M * s->M;
    double J[MAX_DIM * MAX_DIM], mean[MAX_DIM * MAX_DIM] = {0}, logs[MAX_DIM * MAX_DIM] = {0}, sum = 0.0;
    for (size_t t = 0; t < s->T; t++) {
        plain_jacobian(f, f->x + (sequence * s->T + t) * s->N, J);
        const double sigma = plain_sigma(s->M, s->M, J);
        norms[ANT_ALPHA_BATCH_MAXIMUM] = fmax(norms[ANT_ALPHA_BATCH_MAXIMUM], sigma);
        sum += log(sigma) / (double)s->T;
        for (size_t i = 0; i < square; i++)
            mean[i] += J[i] / (double)s->T;
        if (near)
            plain_log_add(s->M, J, logs);
    }
    for (size_t i = 0; i < square; i++)
        logs[i] /= (double)s->T;
    norms[ANT_ALPHA_PRODUCT_UPPER_BOUND] = fmax(norms[ANT_ALPHA_PRODUCT_UPPER_BOUND], exp(sum));
    norms[ANT_ALPHA_ARITHMETIC_MEAN] = fmax(norms[ANT_ALPHA_ARITHMETIC_MEAN], plain_sigma(s->M, s->M, mean));
    norms[ANT_ALPHA_EXPLOG] = fmax(norms[ANT_ALPHA_EXPLOG], plain_exp_sigma(s->M, logs));
}

static void compare_with_plain(const shape *s, double spread, bool near)
{
    fixture f;
    double norms[ANT_ALPHA_METHODS] = {0}, got = 0.0;
    draw(s, spread, &f);
    norms[ANT_ALPHA_JACOBIAN_UPPER_BOUND] = plain_bound(s, &f);
    for (size_t i = 0; i < s->batch; i++)
        plain_sequence(s, &f, i, near, norms);
    for (int method = 1; method < ANT_ALPHA_METHODS; method++) {
        if (method == ANT_ALPHA_EXPLOG && !near)
            continue;
        CHECK_OK(norm_of(s, &f, (ant_alpha_method)method, &got));
        CHECK_NEAR(got, norms[method], 1e-7 * norms[method]);
    }
    free(f.x);
}

static void test_random_shapes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        compare_with_plain(&shapes[i], 1.0, false);
}

/* The logarithm by a series needs Jacobians near the unit matrix. */
static void test_random_shapes_explog(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        if (shapes[i].T < 100)
            compare_with_plain(&shapes[i], 0.25, true);
    }
}

/* One row repeated: exp(log J) = J, also with negative and complex eigenvalues. */
static void test_explog_of_one_pattern(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        shape s = shapes[i];
        fixture f;
        double got = 0.0, want = 0.0;
        s.T = 5;
        draw(&s, 1.0, &f);
        for (size_t k = s.N; k < s.batch * s.T * s.N; k++)
            f.x[k] = f.x[k - s.N];
        CHECK_OK(norm_of(&s, &f, ANT_ALPHA_EXPLOG, &got));
        CHECK_OK(norm_of(&s, &f, ANT_ALPHA_BATCH_MAXIMUM, &want));
        CHECK_NEAR(got, want, 1e-9 * want);
        free(f.x);
    }
}

/* A model of two units whose Jacobian is [a 1; 0 a] has no basis of eigenvectors. */
static void test_refusals(void **state)
{
    const shape s = {.M = 2, .N = 2, .L = 1, .batch = 1, .T = 1};
    fixture f;
    double norm = 0.0;
    ant_alpha_estimator *e = NULL;
    (void)state;
    draw(&s, 1.0, &f);
    double *p = f.parameters;
    p[f.layout.Abar] = p[f.layout.Abar + 1] = 0.5;
    p[f.layout.W] = p[f.layout.V + 1] = 1.0;
    p[f.layout.W + 1] = p[f.layout.V] = 0.0;
    p[f.layout.b] = 1e3;
    CHECK_FAILS(norm_of(&s, &f, ANT_ALPHA_EXPLOG, &norm), ANTLER_NOT_CONVERGED, "eigenvectors");
    CHECK_OK(norm_of(&s, &f, ANT_ALPHA_BATCH_MAXIMUM, &norm));
    p[f.layout.W] = INFINITY;
    for (int method = 1; method < ANT_ALPHA_METHODS; method++)
        CHECK_FAILS(norm_of(&s, &f, (ant_alpha_method)method, &norm), ANTLER_NON_FINITE, "not finite");
    ant_model_dims dims = f.layout.dims;
    CHECK_FAILS(ant_alpha_create(&dims, ANT_ALPHA_CONSTANT, 1, &e), ANTLER_ERROR_ARGUMENT, "methods");
    dims.kind = ANT_MODEL_LSSM;
    CHECK_FAILS(ant_alpha_create(&dims, ANT_ALPHA_EXPLOG, 1, &e), ANTLER_ERROR_ARGUMENT, "shplrnn");
    free(f.x);
}

/* Shapes of all kinds, and matrices on which an iteration could stop early or never. */
static void test_spectral_norm(void **state)
{
    static const struct {
        size_t rows, cols;
        double a[9], norm;
    } cases[] = {
        {1, 1, {-3.0}, 3.0},
        {1, 3, {2.0, -3.0, 6.0}, 7.0},
        {3, 1, {2.0, -3.0, 6.0}, 7.0},
        {3, 3, {0.0}, 0.0},
        {3, 3, {0.9, 0, 0, 0, 0.9, 0, 0, 0, 0.9}, 0.9},              /* a threefold value */
        {3, 3, {0, 2, 0, 0, 0, 2, 2, 0, 0}, 2.0},                    /* twice a permutation */
        {3, 3, {1, 2, 2, 2, 4, 4, 2, 4, 4}, 9.0},                    /* of rank one */
        {3, 3, {1, 0, 0, 0, 1 - 1e-9, 0, 0, 0, 1e-9}, 1.0},          /* two values that are close */
        {3, 3, {1e-30, 0, 0, 0, 3, 4e-200, 0, 4e-200, 1e-200}, 3.0}, /* tiny entries */
        {2, 3, {3, 0, 0, 0, 0, 5}, 5.0},
        {3, 2, {3, 0, 0, 4, 0, 3}, 5.0},
    };
    double work[64], norm = 0.0;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_true(ant_spectral_norm_work(cases[i].rows, cases[i].cols) <= 64);
        CHECK_OK(ant_spectral_norm(cases[i].rows, cases[i].cols, cases[i].a, &norm, work));
        CHECK_NEAR(norm, cases[i].norm, 1e-14 * cases[i].norm);
    }
    const double bad[2] = {1.0, NAN};
    CHECK_FAILS(ant_spectral_norm(1, 2, bad, &norm, work), ANTLER_NON_FINITE, "not finite");
}

static void test_rule(void **state)
{
    (void)state;
    CHECK_NEAR(ant_alpha_of_norm(4.0), 0.75, 0.0);
    CHECK_NEAR(ant_alpha_of_norm(0.5), 0.0, 0.0);
    CHECK_NEAR(ant_alpha_of_norm(0.0), 0.0, 0.0);
    CHECK_NEAR(ant_alpha_next(0.2, 0.5, 0.999), 0.5, 0.0);
    CHECK_NEAR(ant_alpha_next(1.0, 0.5, 0.9), 0.95, 1e-15);
    CHECK_NEAR(ant_alpha_next(0.5, 0.5, 0.9), 0.5, 1e-15);
}

/* ---- in training ---------------------------------------------------------------------------------- */

enum { WINDOW = 40, LAST = 150 };

/* One trajectory of one window, so every update sees the same rows. */
static antler_settings training_settings(ant_alpha_method method)
{
    antler_settings s;
    antler_settings_default(&s);
    s.precision = ANTLER_PRECISION_DOUBLE;
    s.device = ANTLER_DEVICE_CPU;
    s.latent_dim = 3;
    s.hidden_dim = 10;
    s.sequence_length = WINDOW;
    s.batch_size = 2;
    s.kappa = 0.9;
    s.standardise = false;
    s.validation = 0.0;
    s.start_lr = 0.05;
    s.schedule = ANTLER_SCHEDULE_CONSTANT;
    s.optimiser = ANTLER_OPTIMISER_ADAM;
    s.log_interval = 1;
    s.gtf_alpha_method = (antler_alpha_method)method;
    s.threads = 1;
    return s;
}

/* A spiral that grows: Jacobians that fit it have norms above 1. */
static void fill_window(double *x)
{
    for (size_t t = 0; t <= WINDOW; t++) {
        const double radius = 0.2 * exp(0.06 * (double)t);
        x[2 * t] = radius * (cos(0.4 * (double)t) + 0.3 * cos(1.1 * (double)t));
        x[2 * t + 1] = radius * sin(0.4 * (double)t);
    }
}

static void keep_alpha(void *cookie, const antler_train_row *row)
{
    ((double *)cookie)[row->update] = row->alpha;
}

/* Train in memory.  alphas: (updates + 1), by update. */
static antler_model *train(const antler_settings *s, double *alphas)
{
    double x[2 * (WINDOW + 1)];
    antler_series *series = NULL;
    antler_trainer *trainer = NULL;
    antler_model *model = NULL;
    const antler_train_events events = {.struct_size = sizeof events, .cookie = alphas, .row = keep_alpha};
    fill_window(x);
    CHECK_OK(antler_series_create(2, 0, &series));
    CHECK_OK(antler_series_append(series, WINDOW + 1, x, NULL));
    CHECK_OK(antler_trainer_create(s, series, &trainer));
    CHECK_OK(antler_trainer_run(trainer, &events, NULL));
    CHECK_OK(antler_trainer_model(trainer, 1, &model));
    antler_trainer_free(trainer);
    antler_series_free(series);
    return model;
}

/* From a small start the bound is below 1 and alpha decays, on multiples of the interval. */
static void test_training_follows_the_rule(void **state)
{
    (void)state;
    double alphas[8] = {0};
    antler_settings s = training_settings(ANT_ALPHA_JACOBIAN_UPPER_BOUND);
    s.updates = 7;
    s.start_lr = s.end_lr = 1e-9;
    s.gtf_alpha_interval = 3;
    s.gtf_alpha_decay = 0.75;
    antler_model_free(train(&s, alphas));
    static const double want[8] = {0.0, 1.0, 1.0, 0.75, 0.75, 0.75, 0.5625, 0.5625};
    for (size_t i = 1; i < 8; i++)
        CHECK_NEAR(alphas[i], want[i], 1e-15);
}

/* Without decay, alpha of an update is the estimate for the model before it, at rows 1 to T. */
static void test_training_estimates_at_the_teacher_states(void **state)
{
    (void)state;
    for (int method = 1; method < ANT_ALPHA_METHODS; method++) {
        double alphas[LAST + 2] = {0}, x[2 * (WINDOW + 1)], norm = 0.0;
        antler_settings s = training_settings((ant_alpha_method)method);
        const shape one = {.M = 3, .N = 2, .L = 10, .batch = 1, .T = WINDOW};
        fixture f = {.x = x + 2};
        s.gtf_alpha_interval = LAST + 1; /* forced fully until then, which trains fastest */
        s.gtf_alpha_decay = 0.0;
        s.updates = LAST;
        antler_model *before = train(&s, alphas);
        s.updates = LAST + 1;
        antler_model_free(train(&s, alphas));
        fill_window(x);
        f.layout = before->layout;
        memcpy(f.parameters, before->parameters, f.layout.total * sizeof *f.parameters);
        CHECK_OK(norm_of(&one, &f, (ant_alpha_method)method, &norm));
        assert_true(alphas[LAST + 1] > 0.0);
        CHECK_NEAR(alphas[LAST + 1], ant_alpha_of_norm(norm), 1e-12);
        antler_model_free(before);
    }
}

static void test_auto_may_take_the_gpu(void **state)
{
    (void)state;
    antler_settings s = training_settings(ANT_ALPHA_CONSTANT);
    s.batch_size = 100000;
    s.hidden_dim = 1000;
    s.gtf_alpha_method = ANTLER_ALPHA_EXPLOG;
    assert_true(ant_break_even_reached(&s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_shapes),
        cmocka_unit_test(test_random_shapes_explog),
        cmocka_unit_test(test_explog_of_one_pattern),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_spectral_norm),
        cmocka_unit_test(test_rule),
        cmocka_unit_test(test_training_follows_the_rule),
        cmocka_unit_test(test_training_estimates_at_the_teacher_states),
        cmocka_unit_test(test_auto_may_take_the_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
