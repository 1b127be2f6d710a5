/* Free runs, RMSE windows and Lyapunov exponents on the GPU against the CPU, over many shapes. */
#include "gpu/gpu.h"

#include "base/machine.h"
#include "base/random.h"
#include "model/handle.h"

static const ant_model_dims shapes[] = {
    {.M = 1, .N = 1, .L = 1},
    {.M = 3, .N = 2, .L = 8, .K = 1, .clipped = true},
    {.M = 5, .N = 3, .L = 50},
    {.M = 10, .N = 6, .L = 128, .rank = 7},
    {.M = 4, .N = 7, .L = 33, .K = 3},
    {.M = 33, .N = 3, .L = 70},
    {.M = 64, .N = 5, .L = 300, .clipped = true},
    {.M = 128, .N = 3, .L = 50},
    {.kind = ANT_MODEL_LSSM, .M = 10, .N = 6, .L = 128},
    {.kind = ANT_MODEL_LSSM, .M = 40, .N = 3, .L = 20},
    {.kind = ANT_MODEL_LSSM, .M = 10, .N = 6, .L = 128, .K = 2},
    {.kind = ANT_MODEL_MAMBA2, .M = 4, .N = 1, .L = 1},
    {.kind = ANT_MODEL_MAMBA2, .M = 12, .N = 3, .L = 37, .K = 2},
    {.kind = ANT_MODEL_MAMBA2, .M = 16, .N = 6, .L = 128},
    {.kind = ANT_MODEL_MAMBA2, .M = 32, .N = 6, .L = 128},
    {.kind = ANT_MODEL_MAMBA2, .M = 64, .N = 40, .L = 300, .K = 3},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* A model whose steps neither explode nor vanish. */
static antler_model *make_model(const ant_model_dims *dims, uint64_t seed)
{
    antler_model *model = NULL;
    if (ant_model_create(dims, &model) != ANTLER_OK)
        return NULL;
    ant_stream stream = ant_stream_open(seed, 0, 0, ANT_PURPOSE_PARAMETERS);
    for (size_t i = 0; i < model->layout.slices; i++) {
        const ant_model_slice *slice = &model->layout.slice[i];
        const double width = slice->axes == 2 ? 1.0 / sqrt((double)slice->cols) : 1.0;
        for (size_t j = 0; j < slice->count; j++)
            model->parameters[slice->offset + j] = width * (2.0 * ant_stream_uniform(&stream) - 1.0);
    }
    ant_model_refresh(model);
    return model;
}

static antler_series *make_data(const ant_model_dims *d, size_t length)
{
    antler_series *series = NULL;
    double *x = malloc(length * (d->N + d->K) * sizeof *x);
    ant_stream stream = ant_stream_open(3, 1, 0, ANT_PURPOSE_INITIAL_STATE);
    for (size_t i = 0; i < length * (d->N + d->K); i++)
        x[i] = 2.0 * ant_stream_uniform(&stream) - 1.0;
    if (antler_series_create(d->N, d->K, &series) == ANTLER_OK)
        (void)antler_series_append(series, length, x, d->K == 0 ? NULL : x + length * d->N);
    free(x);
    return series;
}

/* Largest difference of two arrays, relative to 1 + the value. */
static double difference(const double *a, const double *b, size_t count)
{
    double worst = 0.0;
    for (size_t i = 0; i < count; i++) {
        const double error = fabs(a[i] - b[i]) / (1.0 + fabs(b[i]));
        worst = error > worst || isnan(error) ? error : worst;
    }
    return worst;
}

static void check_orbits(const ant_model_dims *d, size_t orbits, size_t steps)
{
    antler_model *model = make_model(d, 5);
    antler_series *data = make_data(d, 400);
    antler_generate_opts opts;
    antler_generate_opts_default(&opts);
    opts.start.context = data;
    opts.start.warmup = gpu_size(20, 3);
    opts.start.inputs_end = ANTLER_INPUTS_REPEAT;
    opts.steps = steps;
    opts.orbits = orbits;
    const size_t n = antler_model_state_dim(model), observed = orbits * steps * d->N,
                 latent = orbits * steps * n;
    double *x = calloc(2 * observed, sizeof *x), *z = calloc(2 * latent, sizeof *z);
    size_t *done = calloc(2 * orbits, sizeof *done);
    opts.device = ANTLER_DEVICE_CPU;
    double begin = ant_seconds();
    REQUIRE_OK(antler_generate_into(model, &opts, x, z, done));
    const double cpu_seconds = ant_seconds() - begin;
    opts.device = ANTLER_DEVICE_CUDA;
    begin = ant_seconds();
    REQUIRE_OK(antler_generate_into(model, &opts, x + observed, z + latent, done + orbits));
    printf("  %s M = %zu, L = %zu, %zu orbits of %zu steps: CPU %.3f s, GPU %.3f s\n",
           antler_model_kind(model), d->M, d->L, orbits, steps, cpu_seconds, ant_seconds() - begin);
    EXPECT(memcmp(done, done + orbits, orbits * sizeof *done) == 0, "M = %zu: orbits end elsewhere", d->M);
    const double worst = difference(z + latent, z, latent);
    EXPECT(worst < 1e-9, "M = %zu, L = %zu: states differ by %g", d->M, d->L, worst);
    EXPECT(difference(x + observed, x, observed) < 1e-9, "M = %zu: observations differ", d->M);
    free(x);
    free(z);
    free(done);
    antler_series_free(data);
    antler_model_free(model);
}

static void orbits_of_all_shapes(void)
{
    for (size_t i = 0; i < SHAPES; i++)
        check_orbits(&shapes[i], gpu_size(7, 2), gpu_size(60, 5));
    check_orbits(&shapes[2], gpu_size(500, 10), gpu_size(100, 5));
}

/* So many rows that they come in several launches; one long orbit must not notice the seams. */
static void orbits_in_pieces(void)
{
    check_orbits(&shapes[1], 600, 7000);
}

static void rmse_of_all_shapes(void)
{
    for (size_t i = 0; i < SHAPES; i++) {
        const ant_model_dims *d = &shapes[i];
        antler_model *model = make_model(d, 7);
        antler_series *data = make_data(d, 500);
        antler_rmse_opts opts;
        antler_rmse_result cpu, got;
        antler_rmse_opts_default(&opts);
        opts.steps = gpu_size(30, 4);
        opts.windows = gpu_size(40, 2);
        opts.warmup = gpu_size(50, 3);
        opts.device = ANTLER_DEVICE_CPU;
        REQUIRE_OK(antler_rmse(model, data, &opts, &cpu));
        opts.device = ANTLER_DEVICE_CUDA;
        REQUIRE_OK(antler_rmse(model, data, &opts, &got));
        EXPECT_NEAR(got.mean, cpu.mean, 1e-9 * cpu.mean);
        EXPECT_NEAR(got.median, cpu.median, 1e-9 * cpu.mean);
        antler_series_free(data);
        antler_model_free(model);
    }
}

static void check_lyapunov(const ant_model_dims *d, size_t transient, size_t steps, size_t interval)
{
    antler_model *model = make_model(d, 9);
    antler_series *data = make_data(d, 400);
    antler_lyapunov_opts opts;
    antler_lyapunov_result cpu, got;
    antler_lyapunov_opts_default(&opts);
    opts.start.context = data;
    opts.start.warmup = gpu_size(20, 3);
    opts.exponents = d->kind == ANT_MODEL_MAMBA2 ? 32 : 0; /* its last ones are rounding */
    opts.transient = transient;
    opts.steps = steps;
    opts.interval = interval;
    opts.device = ANTLER_DEVICE_CPU;
    double begin = ant_seconds();
    REQUIRE_OK(antler_lyapunov(model, &opts, &cpu));
    const double cpu_seconds = ant_seconds() - begin;
    opts.device = ANTLER_DEVICE_CUDA;
    begin = ant_seconds();
    REQUIRE_OK(antler_lyapunov(model, &opts, &got));
    printf("  %s M = %zu, L = %zu, %zu exponents, %zu steps: CPU %.3f s, GPU %.3f s\n",
           antler_model_kind(model), d->M, d->L, cpu.count, transient + steps, cpu_seconds,
           ant_seconds() - begin);
    for (size_t k = 0; k < cpu.count; k++)
        EXPECT_NEAR(got.exponents[k], cpu.exponents[k], 1e-6 * (1.0 + fabs(cpu.exponents[k])));
    antler_lyapunov_result_clear(&cpu);
    antler_lyapunov_result_clear(&got);
    antler_series_free(data);
    antler_model_free(model);
}

static void lyapunov_of_kind(ant_model_id kind)
{
    for (size_t i = 0; i < SHAPES; i++)
        if (shapes[i].kind == kind)
            check_lyapunov(&shapes[i], gpu_size(20, 1), i >= 6 ? gpu_size(300, 2) : gpu_size(1500, 4), 1);
}

static void lyapunov_of_shplrnn(void)
{
    lyapunov_of_kind(ANT_MODEL_SHPLRNN);
    check_lyapunov(&shapes[2], 0, gpu_size(217, 7), 4);
}

static void lyapunov_of_lssm(void)
{
    lyapunov_of_kind(ANT_MODEL_LSSM);
}

static void lyapunov_of_mamba2(void)
{
    lyapunov_of_kind(ANT_MODEL_MAMBA2);
}

int main(int argc, char **argv)
{
    static const gpu_test tests[] = {
        GPU_TEST(orbits_of_all_shapes), GPU_TEST_NEEDS(orbits_in_pieces, GPU_PLAIN),
        GPU_TEST(rmse_of_all_shapes),   GPU_TEST(lyapunov_of_shplrnn),
        GPU_TEST(lyapunov_of_lssm),     GPU_TEST(lyapunov_of_mamba2),
    };
    return gpu_main(tests, sizeof tests / sizeof tests[0], argc, argv);
}
