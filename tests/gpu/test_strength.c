/*
 * Estimates of the strength of forcing (spec 10) on the GPU against those of the CPU: awkward shapes, all
 * methods, the same bytes again and alone, and trainings that stop.
 */
#include "gpu/gpu.h"

#include "base/random.h"
#include "strength_device.h"

typedef struct shape {
    size_t M, N, L, K, rank;
    bool clipped, single;
    size_t T, batch;
} shape;

static const shape shapes[] = {
    {1, 1, 1, 0, 0, false, false, 1, 1},      {3, 2, 8, 0, 0, false, false, 140, 3},
    {2, 5, 31, 1, 0, true, true, 33, 4},      {5, 5, 250, 0, 0, true, true, 200, 16},
    {5, 3, 50, 2, 2, true, false, 2000, 2},   {8, 3, 64, 0, 3, false, true, 77, 5},
    {16, 20, 130, 0, 0, false, false, 50, 3}, {33, 2, 40, 0, 0, true, true, 20, 2},
    {64, 3, 50, 0, 0, false, true, 12, 2},    {70, 4, 33, 0, 0, false, false, 6, 1},
};

typedef struct fixture {
    antler_settings settings;
    ant_model_layout layout;
    size_t replicas, values;    /* values of one replica in x */
    double *parameters, *x, *s; /* (replicas, total), (replicas, batch, T+1, N), (batch, T, K) */
} fixture;

static void describe(const shape *c, int method, fixture *f)
{
    antler_settings *s = &f->settings;
    antler_settings_default(s);
    s->device = ANTLER_DEVICE_CUDA;
    s->precision = c->single ? ANTLER_PRECISION_FLOAT : ANTLER_PRECISION_DOUBLE;
    s->latent_dim = c->M;
    s->hidden_dim = c->L;
    s->rank = c->rank;
    s->clipped = c->clipped;
    s->sequence_length = c->T;
    s->batch_size = c->batch;
    s->runs = f->replicas;
    s->gtf_alpha_method = (antler_alpha_method)method;
}

/* Weights of about the size at which norms are near 1. */
static antler_status draw(const shape *c, int method, size_t replicas, fixture *f)
{
    const ant_model_dims dims = {.kind = ANT_MODEL_SHPLRNN,
                                 .M = c->M,
                                 .N = c->N,
                                 .L = c->L,
                                 .K = c->K,
                                 .rank = c->rank,
                                 .clipped = c->clipped};
    ant_stream stream = ant_stream_open(5, (uint32_t)(c->M * 1000 + c->L), 0, ANT_PURPOSE_PARAMETERS);
    *f = (fixture){.replicas = replicas, .values = c->batch * (c->T + 1) * c->N};
    describe(c, method, f);
    ANT_TRY(ant_model_layout_make(&dims, &f->layout));
    const size_t total = f->layout.total;
    f->parameters = malloc(replicas * total * sizeof *f->parameters);
    f->x = malloc(replicas * f->values * sizeof *f->x);
    f->s = calloc(c->batch * c->T * c->K + 1, sizeof *f->s);
    ant_stream_normals(&stream, f->parameters, replicas * total);
    ant_stream_normals(&stream, f->x, replicas * f->values);
    for (size_t i = 0; i < replicas * total; i++) {
        const bool weight = i % total >= f->layout.Abar + c->M && i % total < f->layout.b;
        f->parameters[i] *= weight ? 1.5 / sqrt(sqrt((double)(c->L * c->M))) : 1.0;
        f->parameters[i] = c->single ? (double)(float)f->parameters[i] : f->parameters[i];
    }
    for (size_t i = 0; i < replicas * f->values; i++)
        f->x[i] = c->single ? (double)(float)f->x[i] : f->x[i];
    return ANTLER_OK;
}

static void clear(fixture *f)
{
    free(f->parameters);
    free(f->x);
    free(f->s);
}

/* W of low rank is rounded to the precision of the training on the GPU. */
static double tolerance_of(const shape *c)
{
    return c->single && c->rank > 0 ? 1e-6 : 1e-8;
}

static void compare(const shape *c, int method)
{
    enum { REPLICAS = 3 };
    fixture f;
    double got[REPLICAS] = {0}, again[REPLICAS] = {0}, alone = 0.0, want = 0.0;
    REQUIRE_OK(draw(c, method, REPLICAS, &f));
    const size_t total = f.layout.total;
    REQUIRE_OK(estimate_on_device(&f.settings, &f.layout, REPLICAS, f.parameters, f.x, f.s, got));
    REQUIRE_OK(estimate_on_device(&f.settings, &f.layout, REPLICAS, f.parameters, f.x, f.s, again));
    REQUIRE_OK(estimate_on_device(&f.settings, &f.layout, 1, f.parameters + 2 * total, f.x + 2 * f.values,
                                  f.s, &alone));
    EXPECT(memcmp(got, again, sizeof got) == 0 && memcmp(&alone, &got[2], sizeof alone) == 0,
           "M %zu L %zu method %d: other bytes", c->M, c->L, method);
    for (size_t i = 0; i < REPLICAS; i++) {
        const antler_status status =
            estimate_on_cpu(&f.settings, &f.layout, f.parameters + i * total, f.x + i * f.values, &want);
        EXPECT(status >= 0 && fabs(got[i] - want) <= tolerance_of(c),
               "M %zu N %zu L %zu T %zu B %zu method %d: alpha %.12g, on the CPU %.12g (status %d)", c->M,
               c->N, c->L, c->T, c->batch, method, got[i], want, (int)status);
    }
    clear(&f);
}

static void compare_method(int method)
{
    const size_t count = sizeof shapes / sizeof shapes[0];
    for (size_t i = 0; i < count; i++) {
        const bool large = shapes[i].M * shapes[i].T * shapes[i].batch > 1000;
        if (!large || !gpu_sanitized())
            compare(&shapes[i], method);
    }
}

static void jacobian_upper_bound(void)
{
    compare_method(ANTLER_ALPHA_JACOBIAN_UPPER_BOUND);
}

static void batch_maximum(void)
{
    compare_method(ANTLER_ALPHA_BATCH_MAXIMUM);
}

static void product_upper_bound(void)
{
    compare_method(ANTLER_ALPHA_PRODUCT_UPPER_BOUND);
}

static void explog(void)
{
    compare_method(ANTLER_ALPHA_EXPLOG);
}

static void arithmetic_mean(void)
{
    compare_method(ANTLER_ALPHA_ARITHMETIC_MEAN);
}

/* ---- trainings ------------------------------------------------------------------------------------- */

typedef struct told {
    size_t calls, every; /* stop at every so many questions; 0: never */
    double last;         /* strength of the last row */
} told;

static void keep_row(void *cookie, const antler_train_row *row)
{
    ((told *)cookie)->last = row->alpha;
}

static int stop(void *cookie)
{
    told *t = cookie;
    return t->every > 0 && ++t->calls % t->every == 0;
}

static void train(const antler_settings *s, const antler_series *series, told *t, double *b, size_t count)
{
    const antler_train_events events = {
        .struct_size = sizeof events, .cookie = t, .row = keep_row, .stop = stop};
    antler_trainer *trainer = NULL;
    antler_model *model = NULL;
    antler_parameter p;
    REQUIRE_OK(antler_trainer_create(s, series, &trainer));
    antler_status status = ANTLER_CANCELLED;
    while (status == ANTLER_CANCELLED)
        status = antler_trainer_run(trainer, &events, NULL);
    REQUIRE_OK(status);
    REQUIRE_OK(antler_trainer_model(trainer, 2, &model));
    REQUIRE_OK(antler_model_parameter_at(model, 1, &p));
    memcpy(b, p.values, count * sizeof *b);
    antler_model_free(model);
    antler_trainer_free(trainer);
}

/* Stopped again and again: the bytes of a training that is not, weights and strength. */
static void same_bytes_after_stops(void)
{
    enum { ROWS = 600, L = 50, M = 4 };
    static double x[2 * ROWS];
    double once[M * L] = {0}, again[M * L] = {0};
    antler_series *series = NULL;
    for (size_t t = 0; t < ROWS; t++) {
        x[2 * t] = cos(0.2 * (double)t) + 0.3 * cos(0.07 * (double)t);
        x[2 * t + 1] = sin(0.2 * (double)t);
    }
    REQUIRE_OK(antler_series_create(2, 0, &series));
    REQUIRE_OK(antler_series_append(series, ROWS, x, NULL));
    for (int method = 1; method <= ANTLER_ALPHA_ARITHMETIC_MEAN; method++) {
        antler_settings s;
        told whole = {0}, parts = {.every = 1};
        antler_settings_default(&s);
        s.device = ANTLER_DEVICE_CUDA;
        s.latent_dim = M;
        s.hidden_dim = L;
        s.sequence_length = 60;
        s.batch_size = 4;
        s.runs = 2;
        s.updates = gpu_size(230, 12);
        s.log_interval = 23;
        s.start_lr = 1e-3;
        s.validation = 0.0;
        s.initialisation = ANTLER_INITIALISATION_STANDARD;
        s.gtf_alpha_method = (antler_alpha_method)method;
        s.gtf_alpha_interval = 3;
        s.gtf_alpha_decay = 0.9;
        train(&s, series, &whole, once, M * L);
        s.log_interval = 7; /* other calls of the learner */
        train(&s, series, &parts, again, M * L);
        EXPECT(memcmp(once, again, sizeof once) == 0 && whole.last == parts.last && whole.last < 1.0,
               "method %d: other bytes after stops, alpha %.17g and %.17g", method, whole.last, parts.last);
    }
    antler_series_free(series);
}

int main(int argc, char **argv)
{
    static const gpu_test tests[] = {
        GPU_TEST(jacobian_upper_bound), GPU_TEST(batch_maximum),
        GPU_TEST(product_upper_bound),  GPU_TEST(explog),
        GPU_TEST(arithmetic_mean),      GPU_TEST(same_bytes_after_stops),
    };
    return gpu_main(tests, sizeof tests / sizeof tests[0], argc, argv);
}
