/*
 * The GPU engine on the fake driver, which runs its kernels on the CPU: the same packing, choice of loops and
 * arithmetic as on a GPU, compared with the CPU's own path.
 */
#include "engine/engine.h"
#include "measure/mixture.h"
#include "unit/check.h"

#include "base/random.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const antler_progress silent;

static int use_fake(void **state)
{
    (void)state;
    setenv("ANTLER_CUDA_DRIVER", FAKE_CUDA_LIBRARY, 1);
    setenv("ANTLER_NVRTC", FAKE_NVRTC_LIBRARY, 1);
    setenv("ANTLER_CACHE", "/proc/nothing", 1);
    return 0;
}

/* Ranks on a machine with three GPUs take one each.  In children, because a GPU stays open; so this comes
 * first. */
static void gpu_for_each_rank(void **state)
{
    (void)state;
    static const char *const names[] = {"Imaginary GPU", "Imaginary GPU 1", "Imaginary GPU 2"};
    for (size_t place = 0; place < 5; place++) {
        const pid_t child = fork();
        if (child == 0) {
            const ant_engine *engine = NULL;
            setenv("FAKE_CUDA_DEVICES", "3", 1);
            ant_engine_number(place);
            /* `auto` waits for the start of the GPU, so that no thread is left at the end */
            const bool good = ant_engine_choose(ANTLER_DEVICE_AUTO, true, &engine) == ANTLER_OK &&
                              engine != NULL && strcmp(engine->device(), names[place % 3]) == 0;
            _exit(good ? 0 : 1);
        }
        int outcome = 1;
        assert_true(child > 0 && waitpid(child, &outcome, 0) == child);
        assert_int_equal(outcome, 0);
    }
}

/* Points of a curve, in units and with offsets that differ from axis to axis.  x: (length, dim) */
static void make_orbit(double *x, size_t length, size_t dim, double phase)
{
    for (size_t t = 0; t < length; t++)
        for (size_t k = 0; k < dim; k++)
            x[t * dim + k] =
                (double)(k + 1) * (10.0 + sin(0.1 * (double)t * (1.0 + 0.2 * (double)k) + phase));
}

static void compare(size_t dim, size_t length, size_t count, double width, double farther, double tolerance)
{
    double *x = malloc(length * dim * sizeof *x), *variance = malloc(dim * sizeof *variance);
    double *samples = malloc(count * dim * sizeof *samples);
    double *cpu = malloc(count * sizeof *cpu), *gpu = malloc(count * sizeof *gpu);
    make_orbit(x, length, dim, 0.0);
    for (size_t k = 0; k < dim; k++)
        variance[k] = width * (double)((k + 1) * (k + 1));
    CHECK_OK(antler_mixture_samples(x, length, dim, variance, count, 7, samples));
    for (size_t i = 0; i < count; i += 5) /* every fifth sample leaves the orbit */
        samples[i * dim] += farther * (double)(i % 4);
    const ant_mixture mixture = {x, variance, length, dim};
    const ant_engine_report report = {silent, "test", 0.0, 1.0};
    const ant_engine *engine = NULL;
    CHECK_OK(ant_engine_choose(ANTLER_DEVICE_CUDA, false, &engine));
    assert_non_null(engine);
    assert_string_equal(engine->device(), "Imaginary GPU");
    CHECK_OK(ant_mixture_log_density(NULL, &mixture, samples, count, 1, report, cpu));
    CHECK_OK(ant_mixture_log_density(engine, &mixture, samples, count, 1, report, gpu));
    double bias = 0.0;
    for (size_t i = 0; i < count; i++) {
        CHECK_NEAR(gpu[i], cpu[i], tolerance * fmax(1.0, fabs(cpu[i])));
        bias += gpu[i] - cpu[i];
    }
    CHECK_NEAR(bias / (double)count, 0.0, 0.3 * tolerance);
    free(x);
    free(variance);
    free(samples);
    free(cpu);
    free(gpu);
}

static void near_samples(void **state)
{
    (void)state;
    compare(3, 300, 200, 0.1, 0.0, 2e-6);  /* several tiles, the last ones in part */
    compare(3, 128, 128, 0.1, 0.0, 2e-6);  /* exactly one tile */
    compare(3, 1, 1, 0.1, 0.0, 2e-6);      /* the least there is */
    compare(30, 150, 130, 0.5, 0.0, 5e-6); /* in slices */
}

static void far_samples(void **state)
{
    (void)state;
    compare(3, 200, 150, 1e-3, 2.0, 5e-5); /* narrow kernels, and samples that underflow */
    compare(3, 200, 50, 0.1, 1e4, 5e-5);   /* samples far out */
    compare(30, 140, 40, 0.5, 1e3, 5e-5);
}

static void unreachable_samples(void **state)
{
    (void)state;
    const double x[] = {0.0, 0.0, 0.0, 1.0, 1.0, 1.0}, variance[] = {1.0, 1.0, 1.0};
    const double samples[] = {1e200, 0.0, 0.0, 0.5, 0.5, 0.5};
    const ant_mixture mixture = {x, variance, 2, 3};
    const ant_engine_report report = {silent, "test", 0.0, 1.0};
    const ant_engine *engine = NULL;
    double cpu[2], gpu[2];
    CHECK_OK(ant_engine_choose(ANTLER_DEVICE_CUDA, false, &engine));
    CHECK_FAILS(ant_mixture_log_density(NULL, &mixture, samples, 2, 1, report, cpu), ANTLER_NON_FINITE,
                "sample 0");
    CHECK_FAILS(ant_mixture_log_density(engine, &mixture, samples, 2, 1, report, gpu), ANTLER_NON_FINITE,
                "sample 0");
    assert_true(isinf(gpu[0]));
    CHECK_NEAR(gpu[1], cpu[1], 1e-6);
}

static int stop(void *cookie, const char *what, double fraction)
{
    (void)cookie;
    (void)what;
    (void)fraction;
    return 1;
}

static void measure_on_the_engine(void **state)
{
    (void)state;
    enum { LENGTH = 200, DIM = 3 };
    double x[LENGTH * DIM], y[LENGTH * DIM];
    antler_series *truth = NULL, *generated = NULL;
    antler_measure_opts opts;
    antler_measure_result cpu, gpu;
    make_orbit(x, LENGTH, DIM, 0.0);
    make_orbit(y, LENGTH, DIM, 0.3);
    CHECK_OK(antler_series_create(DIM, 0, &truth));
    CHECK_OK(antler_series_create(DIM, 0, &generated));
    CHECK_OK(antler_series_append(truth, LENGTH, x, NULL));
    CHECK_OK(antler_series_append(generated, LENGTH, y, NULL));
    antler_measure_opts_default(&opts);
    opts.samples = 300;
    opts.device = ANTLER_DEVICE_CPU;
    CHECK_OK(antler_measure(truth, generated, &opts, &cpu));
    assert_null(cpu.device);
    opts.device = ANTLER_DEVICE_CUDA;
    CHECK_OK(antler_measure(truth, generated, &opts, &gpu));
    assert_string_equal(gpu.device, "Imaginary GPU");
    CHECK_NEAR(gpu.dstsp, cpu.dstsp, 1e-6);
    CHECK_NEAR(gpu.dstsp_error, cpu.dstsp_error, 1e-6);
    antler_measure_result_clear(&gpu);
    opts.device = ANTLER_DEVICE_AUTO; /* too little work to pay */
    CHECK_OK(antler_measure(truth, generated, &opts, &gpu));
    assert_null(gpu.device);
    assert_true(gpu.kernels < gpu.break_even);
    antler_measure_result_clear(&gpu);
    opts.device = ANTLER_DEVICE_CUDA;
    opts.progress.fn = stop;
    assert_int_equal(antler_measure(truth, generated, &opts, &gpu), ANTLER_CANCELLED);
    antler_measure_result_clear(&gpu);
    antler_measure_result_clear(&cpu);
    antler_series_free(truth);
    antler_series_free(generated);
}

static void no_memory_on_the_device(void **state)
{
    (void)state;
    const double x[] = {0.0, 0.0, 0.0}, variance[] = {1.0, 1.0, 1.0};
    const ant_mixture mixture = {x, variance, 1, 3};
    const ant_engine_report report = {silent, "test", 0.0, 1.0};
    const ant_engine *engine = NULL;
    double gpu[1];
    CHECK_OK(ant_engine_choose(ANTLER_DEVICE_CUDA, false, &engine));
    setenv("FAKE_CUDA", "full", 1);
    CHECK_FAILS(ant_mixture_log_density(engine, &mixture, x, 1, 1, report, gpu), ANTLER_ERROR_DEVICE,
                "for the orbit were requested");
    setenv("FAKE_CUDA", "lost", 1);
    CHECK_FAILS(ant_mixture_log_density(engine, &mixture, x, 1, 1, report, gpu), ANTLER_ERROR_DEVICE,
                "is lost");
    setenv("FAKE_CUDA", "", 1);
    CHECK_OK(ant_mixture_log_density(engine, &mixture, x, 1, 1, report, gpu));
}

/* The context starts beside other work: that it failed is seen by whoever needs it, and it is tried again. */
static void device_in_use(void **state)
{
    (void)state;
    const double x[] = {0.0, 0.0, 0.0}, variance[] = {1.0, 1.0, 1.0};
    const ant_mixture mixture = {x, variance, 1, 3};
    const ant_engine_report report = {silent, "test", 0.0, 1.0};
    const ant_engine *engine = NULL;
    double gpu[1];
    setenv("FAKE_CUDA", "held", 1);
    CHECK_OK(ant_engine_choose(ANTLER_DEVICE_AUTO, true, &engine));
    assert_null(engine);
    CHECK_OK(ant_engine_choose(ANTLER_DEVICE_CUDA, true, &engine));
    CHECK_FAILS(ant_mixture_log_density(engine, &mixture, x, 1, 1, report, gpu), ANTLER_ERROR_DEVICE,
                "another process holds the GPU");
    setenv("FAKE_CUDA", "", 1);
    CHECK_OK(ant_engine_choose(ANTLER_DEVICE_AUTO, true, &engine));
    assert_non_null(engine);
    CHECK_OK(ant_mixture_log_density(engine, &mixture, x, 1, 1, report, gpu));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpu_for_each_rank),
        cmocka_unit_test(device_in_use),
        cmocka_unit_test(near_samples),
        cmocka_unit_test(far_samples),
        cmocka_unit_test(unreachable_samples),
        cmocka_unit_test(measure_on_the_engine),
        cmocka_unit_test(no_memory_on_the_device),
    };
    return cmocka_run_group_tests(tests, use_fake, NULL);
}
