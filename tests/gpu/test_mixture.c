/*
 * Sums of Gaussian kernels on the GPU against the CPU's: values, awkward sizes, samples far away, the same
 * bytes twice, and D_stsp at the published size, whose time is printed.
 */
#include "gpu/gpu.h"

#include "base/machine.h"
#include "base/random.h"
#include "engine/engine.h"
#include "measure/mixture.h"

static const antler_progress silent;

typedef struct problem {
    size_t dim, length, count;
    double *x, *variance, *samples; /* (length, dim), (dim), (count, dim) */
    double *cpu, *gpu;              /* (count) */
} problem;

static void free_problem(problem *p)
{
    free(p->x);
    free(p->variance);
    free(p->samples);
    free(p->cpu);
    free(p->gpu);
}

/* A noisy curve with units and offsets that differ from axis to axis. */
static problem make_problem(size_t dim, size_t length, size_t count, double width, double farther)
{
    problem p = {dim,
                 length,
                 count,
                 malloc(length * dim * sizeof(double)),
                 malloc(dim * sizeof(double)),
                 malloc(count * dim * sizeof(double)),
                 malloc(count * sizeof(double)),
                 malloc(count * sizeof(double))};
    ant_stream stream = ant_stream_open(dim, 0, 0, ANT_PURPOSE_OBSERVATION_NOISE);
    for (size_t t = 0; t < length; t++) {
        for (size_t k = 0; k < dim; k++)
            p.x[t * dim + k] = (double)(k % 7 + 1) * (3.0 + sin(0.01 * (double)t * (1.0 + 0.13 * (double)k)) +
                                                      0.1 * ant_stream_uniform(&stream));
    }
    for (size_t k = 0; k < dim; k++)
        p.variance[k] = width * (double)((k % 7 + 1) * (k % 7 + 1));
    EXPECT(antler_mixture_samples(p.x, length, dim, p.variance, count, 7, p.samples) == ANTLER_OK, "%s",
           antler_message());
    for (size_t i = 0; i < count; i += 5) /* every fifth sample leaves the orbit */
        p.samples[i * dim] += farther * (double)(i % 4);
    return p;
}

static antler_status densities(const problem *p, antler_device device, double *out)
{
    const ant_mixture mixture = {p->x, p->variance, p->length, p->dim};
    const ant_engine_report report = {silent, "test", 0.0, 1.0};
    const ant_engine *engine = NULL;
    ANT_TRY(ant_engine_choose(device, true, &engine));
    return ant_mixture_log_density(engine, &mixture, p->samples, p->count, 0, report, out);
}

/* Every sample within the tolerance, and their mean within a hundredth of it plus rounding. */
static void compare(size_t dim, size_t length, size_t count, double width, double farther, double tolerance)
{
    problem p = make_problem(dim, length, count, width, farther);
    double worst = 0.0, bias = 0.0;
    REQUIRE_OK(densities(&p, ANTLER_DEVICE_CPU, p.cpu));
    REQUIRE_OK(densities(&p, ANTLER_DEVICE_CUDA, p.gpu));
    for (size_t i = 0; i < count; i++) {
        const double error = fabs(p.gpu[i] - p.cpu[i]) / fmax(1.0, fabs(p.cpu[i]));
        worst = error > worst || isnan(error) ? error : worst;
        bias += (p.gpu[i] - p.cpu[i]) / (double)count;
    }
    printf("  d = %zu, T = %zu, n = %zu: largest error %.2e, mean %.2e\n", dim, length, count, worst, bias);
    EXPECT(worst <= tolerance, "d = %zu: a log density is off by %g", dim, worst);
    EXPECT(fabs(bias) <= tolerance / 3.0, "d = %zu: log densities are off by %g on average", dim, bias);
    free_problem(&p);
}

static void near_samples(void)
{
    const size_t dims[] = {1, 2, 3, 6, 18, 24, 25, 32, 33, 100};
    for (size_t i = 0; i < sizeof dims / sizeof dims[0]; i++)
        compare(dims[i], gpu_size(3001, 301), gpu_size(1001, 151), 0.2, 0.0, 2e-5);
    compare(3, 128, 128, 0.2, 0.0, 2e-5);
    compare(3, 1, 1, 0.2, 0.0, 2e-5);
    compare(18, 129, 127, 0.2, 0.0, 2e-5);
}

static void far_samples(void)
{
    const size_t length = gpu_size(2000, 200), count = gpu_size(1500, 150);
    compare(3, length, count, 1e-4, 0.5, 2e-4); /* narrow kernels: |x|^2 is large, or the sum underflows */
    compare(18, length, count, 0.2, 1e3, 2e-4); /* samples far out */
    compare(40, gpu_size(500, 150), gpu_size(300, 130), 0.2, 1e3, 2e-4);
}

static void same_bytes_twice(void)
{
    problem p = make_problem(18, gpu_size(5000, 300), gpu_size(20000, 200), 0.2, 0.0);
    REQUIRE_OK(densities(&p, ANTLER_DEVICE_CUDA, p.cpu));
    REQUIRE_OK(densities(&p, ANTLER_DEVICE_CUDA, p.gpu));
    EXPECT(memcmp(p.cpu, p.gpu, p.count * sizeof *p.cpu) == 0, "two runs differ");
    problem part = p; /* a sample does not depend on its neighbours */
    part.samples = p.samples + 77 * p.dim;
    part.count = 100;
    REQUIRE_OK(densities(&part, ANTLER_DEVICE_CUDA, p.gpu));
    EXPECT(memcmp(p.cpu + 77, p.gpu, 100 * sizeof *p.cpu) == 0, "a sample depends on the others");
    free_problem(&p);
}

/* n = 10^6, T1 = 10^5, T2 = 3 10^5, d = 18: 4 10^11 kernels.  One sample in 500 is checked. */
static void published_size(void)
{
    enum { STEP = 2000 };
    const size_t lengths[] = {100000, 300000};
    double seconds = 0.0;
    for (int k = 0; k < 2; k++) {
        problem p = make_problem(18, lengths[k], 1000000, 0.2, 0.0);
        double begin = ant_seconds();
        REQUIRE_OK(densities(&p, ANTLER_DEVICE_CUDA, p.gpu));
        seconds += ant_seconds() - begin;
        problem few = p;
        few.count = p.count / STEP;
        few.samples = malloc(few.count * p.dim * sizeof(double));
        for (size_t i = 0; i < few.count; i++)
            memcpy(few.samples + i * p.dim, p.samples + i * STEP * p.dim, p.dim * sizeof(double));
        REQUIRE_OK(densities(&few, ANTLER_DEVICE_CPU, p.cpu));
        double worst = 0.0;
        for (size_t i = 0; i < few.count; i++)
            worst = fmax(worst, fabs(p.gpu[i * STEP] - p.cpu[i]));
        EXPECT(worst < 2e-5, "a log density is off by %g", worst);
        free(few.samples);
        free_problem(&p);
    }
    printf("  n = 10^6, T = 4 10^5, d = 18: %.3f s, %.3g kernels/s\n", seconds, 4e11 / seconds);
}

int main(int argc, char **argv)
{
    static const gpu_test tests[] = {
        GPU_TEST(near_samples),
        GPU_TEST(far_samples),
        GPU_TEST(same_bytes_twice),
        GPU_TEST_NEEDS(published_size, GPU_ALONE | GPU_PLAIN),
    };
    return gpu_main(tests, sizeof tests / sizeof tests[0], argc, argv);
}
