/*
 * Estimates of the strength of forcing (spec 10) on the GPU engine with the fake driver, beside those of the
 * CPU: awkward shapes, all methods, rows that repeat, models without an estimate, and the same bytes again.
 */
#include "unit/training.h"

#include "base/random.h"
#include "strength_device.h"

enum { REPLICAS = 2, MAX_TOTAL = 1024 };

typedef struct shape { /* of estimated() in tests/fake/kernels.cmake */
    size_t M, N, L, K, rank;
    bool clipped, single;
    size_t T, batch;
    bool free_diagonal;
} shape;

typedef struct fixture {
    antler_settings settings;
    ant_model_layout layout;
    double parameters[REPLICAS * MAX_TOTAL]; /* (REPLICAS, total) */
    double *x, *s;                           /* (REPLICAS, batch, T+1, N), (batch, T, K) */
    size_t values;                           /* of one replica in x */
} fixture;

static double rounded(const shape *c, double value)
{
    return c->single ? (double)(float)value : value;
}

static void draw(const shape *c, antler_alpha_method method, double spread, fixture *f)
{
    const ant_model_dims dims = {.kind = ANT_MODEL_SHPLRNN,
                                 .M = c->M,
                                 .N = c->N,
                                 .L = c->L,
                                 .K = c->K,
                                 .rank = c->rank,
                                 .clipped = c->clipped,
                                 .free_diagonal = c->free_diagonal};
    ant_stream stream = ant_stream_open(11, (uint32_t)(c->M * 100 + c->L), 0, ANT_PURPOSE_PARAMETERS);
    double pair[2];
    CHECK_OK(ant_model_layout_make(&dims, &f->layout));
    assert_true(f->layout.total <= MAX_TOTAL);
    antler_settings s = plain_settings();
    s.device = ANTLER_DEVICE_CUDA;
    s.precision = c->single ? ANTLER_PRECISION_FLOAT : ANTLER_PRECISION_DOUBLE;
    s.latent_dim = c->M;
    s.hidden_dim = c->L;
    s.rank = c->rank;
    s.clipped = c->clipped;
    s.sequence_length = c->T;
    s.batch_size = c->batch;
    s.diagonal = c->free_diagonal ? ANTLER_DIAGONAL_FREE : ANTLER_DIAGONAL_TANH;
    s.gtf_alpha_method = method;
    f->settings = s;
    f->values = c->batch * (c->T + 1) * c->N;
    f->x = malloc(REPLICAS * f->values * sizeof *f->x);
    f->s = calloc(c->batch * c->T * c->K + 1, sizeof *f->s);
    for (size_t i = 0; i < REPLICAS * f->layout.total; i++) {
        ant_stream_normal_pair(&stream, pair);
        const size_t at = i % f->layout.total;
        const bool weight = at >= f->layout.Abar + c->M && at < f->layout.b;
        f->parameters[i] = rounded(c, pair[0] * (weight ? spread : 1.0));
    }
    for (size_t i = 0; i < REPLICAS * f->values; i++) {
        ant_stream_normal_pair(&stream, pair);
        f->x[i] = rounded(c, pair[0]);
    }
}

static void clear(fixture *f)
{
    free(f->x);
    free(f->s);
}

/* Both replicas as on the CPU, and the same bytes again. */
static void compare(const fixture *f, double tolerance)
{
    double got[REPLICAS], again[REPLICAS], want = 0.0;
    CHECK_OK(estimate_on_device(&f->settings, &f->layout, REPLICAS, f->parameters, f->x, f->s, got));
    if (!FOR_RACES) { /* the same launches have the same races */
        CHECK_OK(estimate_on_device(&f->settings, &f->layout, REPLICAS, f->parameters, f->x, f->s, again));
        assert_memory_equal(got, again, sizeof got);
    }
    for (size_t i = 0; i < REPLICAS; i++) {
        CHECK_OK(estimate_on_cpu(&f->settings, &f->layout, f->parameters + i * f->layout.total,
                                 f->x + i * f->values, &want));
        assert_true(want > 0.0);
        CHECK_NEAR(got[i], want, tolerance);
    }
}

static const shape plain = {3, 2, 8, 0, 0, false, false, 140, 3, false}; /* two blocks per sequence */

static void test_all_methods(void **state)
{
    (void)state;
    for (int method = 1; method <= ANTLER_ALPHA_ARITHMETIC_MEAN; method++) {
        fixture f;
        draw(&plain, (antler_alpha_method)method, 1.0, &f);
        compare(&f, 1e-9);
        clear(&f);
    }
}

/* One latent unit, more variables than units, low rank, inputs, single precision, more units than lanes. */
static void test_awkward_shapes(void **state)
{
    static const struct {
        shape shape;
        int methods[5]; /* 0: no more */
    } cases[] = {
        {{3, 2, 8, 0, 0, false, false, 1, 1, false}, {1, 2, 3, 4, 5}},
        {{3, 2, 8, 0, 0, false, false, 33, 2, true}, {1, 2, 3, 4, 5}},
        {{2, 3, 6, 1, 2, true, false, 20, 3, false}, {1, 3, 4, 5}},
        {{1, 1, 3, 0, 0, false, false, 7, 2, true}, {2, 4}},
        {{3, 2, 8, 0, 0, false, true, 20, 3, false}, {3}},
        {{33, 2, 8, 0, 0, false, false, 9, 2, false}, {1, 3, 4}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t k = 0; k < 5 && cases[i].methods[k] != 0; k++) {
            fixture f;
            draw(&cases[i].shape, (antler_alpha_method)cases[i].methods[k], 1.0, &f);
            compare(&f, 1e-9);
            clear(&f);
        }
    }
}

/* Of thousands of matrices each one has its logarithm: a method that does not end is seen in one of a
 * thousand. */
static void test_many_logarithms(void **state)
{
    static const shape alpha = {5, 3, 16, 0, 0, false, false, 60, 4, false};
    (void)state;
    for (uint32_t number = 1; number <= (SANITIZED ? 1 : 8); number++) {
        fixture f;
        draw(&alpha, ANTLER_ALPHA_EXPLOG, 0.4, &f);
        ant_stream stream = ant_stream_open(12, number, 0, ANT_PURPOSE_PARAMETERS);
        ant_stream_normals(&stream, f.parameters, REPLICAS * f.layout.total);
        ant_stream_normals(&stream, f.x, REPLICAS * f.values);
        compare(&f, 1e-8);
        clear(&f);
    }
}

/* Rows that do not change, and units that are all off: J = diag A, with equal entries. */
static void test_few_patterns(void **state)
{
    (void)state;
    for (int method = 2; method <= ANTLER_ALPHA_ARITHMETIC_MEAN; method++) {
        fixture f;
        draw(&plain, (antler_alpha_method)method, 1.0, &f);
        for (size_t i = 2; i < f.values; i++)
            f.x[i] = f.x[i - 2];
        for (size_t l = 0; l < 8; l++)
            f.parameters[f.layout.total + f.layout.b + l] = -1e3;
        for (size_t m = 0; m < 3; m++)
            f.parameters[f.layout.total + f.layout.Abar + m] = 0.5;
        double got[REPLICAS], want = 0.0;
        CHECK_OK(estimate_on_device(&f.settings, &f.layout, REPLICAS, f.parameters, f.x, NULL, got));
        CHECK_OK(estimate_on_cpu(&f.settings, &f.layout, f.parameters, f.x, &want));
        CHECK_NEAR(got[0], want, 1e-9);
        CHECK_NEAR(got[1], 0.0, 0.0);
        clear(&f);
    }
}

/* [a 1; 0 a] has no basis of eigenvectors: `explog` leaves the strength as it is, also for the CPU; the other
   replica has its estimate. */
static void test_no_logarithm(void **state)
{
    fixture f;
    double got[REPLICAS], want = 0.0;
    (void)state;
    draw(&plain, ANTLER_ALPHA_EXPLOG, 1.0, &f);
    double *p = f.parameters;
    const ant_model_layout *y = &f.layout;
    for (size_t i = 0; i < 3; i++)
        p[y->Abar + i] = i == 2 ? 0.1 : 0.5;
    for (size_t i = 0; i < 3 * 8; i++)
        p[y->W + i] = p[y->V + i] = 0.0;
    p[y->W] = 10.0;
    p[y->V + 1] = 1.0;
    p[y->b] = 1e3;
    CHECK_OK(estimate_on_device(&f.settings, &f.layout, REPLICAS, f.parameters, f.x, NULL, got));
    assert_int_equal(estimate_on_cpu(&f.settings, y, p, f.x, &want), ANTLER_NOT_CONVERGED);
    CHECK_NEAR(got[0], 0.0, 0.0);
    CHECK_OK(estimate_on_cpu(&f.settings, y, p + y->total, f.x + f.values, &want));
    CHECK_NEAR(got[1], want, 1e-9);
    clear(&f);
}

/* Replicas count their own updates: of two, the one whose next update is a multiple of the interval has an
   estimate; after its last update none has. */
static void test_due_by_own_updates(void **state)
{
    fixture f;
    const ant_engine *engine = NULL;
    const uint32_t runs[REPLICAS] = {1, 2};
    double zeros[MAX_TOTAL] = {0}, want[REPLICAS];
    ant_tally tallies[REPLICAS] = {{0}};
    ant_outcome outcomes[REPLICAS];
    void *learner = NULL;
    (void)state;
    draw(&plain, ANTLER_ALPHA_BATCH_MAXIMUM, 0.1, &f);
    f.settings.gtf_alpha_interval = 3;
    f.settings.gtf_alpha_decay = 0.0;
    f.settings.updates = 5;
    f.settings.start_lr = f.settings.end_lr = 1e-12;
    ant_engine_learning work = ant_learning_describe(&f.settings, &f.layout);
    work.replicas = REPLICAS;
    work.runs = runs;
    CHECK_OK(ant_learning_engine(&f.settings, &engine));
    const ant_learner_ops *ops = engine->learner;
    CHECK_OK(ops->create(&work, &learner));
    for (size_t i = 0; i < REPLICAS; i++) {
        const double *p = f.parameters + i * f.layout.total, *x = f.x + i * f.values;
        CHECK_OK(ops->put(learner, i, 1 + i, p, zeros, zeros));
        CHECK_OK(ops->put_alpha(learner, i, 0.9));
        CHECK_OK(ops->set_windows(learner, i, x, NULL));
        CHECK_OK(estimate_on_cpu(&f.settings, &f.layout, p, x, &want[i]));
        assert_true(fabs(want[i] - 0.9) > 1e-3);
    }
    CHECK_OK(ops->run(learner, 1, tallies, outcomes)); /* updates 2 and 3 */
    CHECK_NEAR(outcomes[0].alpha, 0.9, 0.0);
    CHECK_NEAR(outcomes[1].alpha, want[1], 1e-6);
    CHECK_OK(ops->run(learner, 1, tallies, outcomes)); /* updates 3 and 4 */
    CHECK_NEAR(outcomes[0].alpha, want[0], 1e-6);
    CHECK_OK(ops->run(learner, 9, tallies, outcomes));
    CHECK_OK(ops->put_alpha(learner, 0, 0.7));
    CHECK_OK(ops->run(learner, 3, tallies, outcomes)); /* both are at update 5, their last one */
    assert_int_equal(outcomes[0].update, 5);
    CHECK_NEAR(outcomes[0].alpha, 0.7, 0.0);
    ops->free(learner);
    clear(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_methods),     cmocka_unit_test(test_awkward_shapes),
        cmocka_unit_test(test_many_logarithms), cmocka_unit_test(test_few_patterns),
        cmocka_unit_test(test_no_logarithm),    cmocka_unit_test(test_due_by_own_updates),
    };
    return cmocka_run_group_tests(tests, use_fake, NULL);
}
