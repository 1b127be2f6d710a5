/*
 * channels.c - what many observed variables cost: CPU time of gradient calls and of whole updates.
 *
 *     channels [seconds per row] [float|double] [threads] [flow|stop] [M] [missing, in per cent] [N]
 *
 * L 100, T 100, batch 16.  The data are sums of four oscillations with noise.  `update` has the optimiser as
 * well.
 */
#include "base/machine.h"
#include "base/random.h"
#include "need.h"
#include "solve/solve.h"
#include "train/optimiser.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct shape {
    size_t M, N, L, T, batch;
    ant_teacher teacher;
    int threads;
    double seconds, missing;
} shape;

typedef struct times {
    double solve, update; /* the fastest, in seconds of all threads */
    const char *kernels;
    size_t calls;
} times;

/* x: (rows, N) */
static void make_data(const shape *k, double *x, size_t rows)
{
    ant_stream stream = ant_stream_open(2, 0, 0, ANT_PURPOSE_OBSERVATION_NOISE);
    const size_t waves = 4;
    for (size_t t = 0; t < rows; t++) {
        for (size_t n = 0; n < k->N; n++) {
            double noise[2], sum = 0.0;
            for (size_t i = 0; i < waves; i++)
                sum += cos(0.7 * (double)(n * (i + 1))) *
                       sin(0.05 * (double)t * (1.0 + 0.3 * (double)i) + (double)n);
            ant_stream_normal_pair(&stream, noise);
            x[t * k->N + n] = sum / sqrt((double)waves) + 0.05 * noise[0];
            if (ant_stream_uniform(&stream) < k->missing)
                x[t * k->N + n] = (double)NAN;
        }
    }
}

static double cpu_seconds(int threads)
{
    struct timespec time;
    clock_gettime(threads > 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The fastest of repeated calls, for one precision. */
#define TIME_IN(real, suffix)                                                                                \
    static times time##suffix(const shape *k, const double *data)                                            \
    {                                                                                                        \
        const ant_model_dims dims = {.M = k->M, .N = k->N, .L = k->L};                                       \
        const size_t row = (k->T + 1) * k->N;                                                                \
        ant_model_layout layout;                                                                             \
        must(ant_model_layout_make(&dims, &layout));                                                         \
        const size_t total = layout.total;                                                                   \
        real *theta = need(total, sizeof *theta), *g = need(total, sizeof *g);                               \
        real *x = need(k->batch * row, sizeof *x);                                                           \
        double *moments = need(2 * total, sizeof *moments);                                                  \
        const real **window = need(k->batch, sizeof *window);                                                \
        ant_solve_plan##suffix *plan;                                                                        \
        must(ant_model_initialise##suffix(&layout, (ant_initialisation){.kappa = 0.95}, 1, 0, theta));       \
        for (size_t i = 0; i < k->batch * row; i++)                                                          \
            x[i] = (real)data[i];                                                                            \
        for (size_t i = 0; i < k->batch; i++)                                                                \
            window[i] = x + i * row;                                                                         \
        ant_solve_options o;                                                                                 \
        ant_solve_options_default(&o);                                                                       \
        o.threads = k->threads;                                                                              \
        o.teacher = k->teacher;                                                                              \
        o.patterns = k->missing > 0.0 ? SIZE_MAX : 0;                                                        \
        must(ant_solve_plan_create##suffix(&dims, k->T, k->batch, &o, &plan));                               \
        antler_settings settings;                                                                            \
        antler_settings_default(&settings);                                                                  \
        settings.updates = 1000000;                                                                          \
        times best = {.solve = INFINITY, .update = INFINITY};                                                \
        const double start = ant_seconds();                                                                  \
        for (; ant_seconds() - start < k->seconds || best.calls < 3; best.calls++) {                         \
            ant_solve_report report;                                                                         \
            const double begin = cpu_seconds(k->threads);                                                    \
            must(ant_solve_gradient##suffix(plan, theta, window, NULL, 0.15, g, &report));                   \
            best.solve = fmin(best.solve, cpu_seconds(k->threads) - begin);                                  \
            const ant_step step =                                                                            \
                ant_step_make(&settings, best.calls + 1, ant_gradient_norm##suffix(total, g));               \
            ant_step_apply##suffix(&step, total, g, moments, moments + total, theta);                        \
            best.update = fmin(best.update, cpu_seconds(k->threads) - begin);                                \
            best.kernels = report.kernels;                                                                   \
        }                                                                                                    \
        ant_solve_plan_free##suffix(plan);                                                                   \
        free(theta);                                                                                         \
        free(g);                                                                                             \
        free(x);                                                                                             \
        free(moments);                                                                                       \
        free(window);                                                                                        \
        return best;                                                                                         \
    }
TIME_IN(float, _f32)
TIME_IN(double, _f64)

int main(int argc, char **argv)
{
    const double seconds = argc > 1 ? atof(argv[1]) : 1.0;
    const bool single = argc <= 2 || strcmp(argv[2], "float") == 0;
    const int threads = argc > 3 ? atoi(argv[3]) : 1;
    const bool flow = argc <= 4 || strcmp(argv[4], "flow") == 0;
    const size_t only = argc > 5 ? strtoul(argv[5], NULL, 10) : 0;
    const double missing = argc > 6 ? 0.01 * atof(argv[6]) : 0.0;
    const size_t only_N = argc > 7 ? strtoul(argv[7], NULL, 10) : 0;
    const size_t latents[] = {10, 20, 50}, channels[] = {8, 16, 32, 64, 128, 256, 500, 1000, 2000, 4000};
    printf("  M    N  solve, ms  update, ms  (%s, %d thread%s, %s, CPU time)\n", single ? "float" : "double",
           threads, threads > 1 ? "s" : "", flow ? "flow" : "stop");
    for (size_t i = 0; i < sizeof latents / sizeof *latents; i++) {
        for (size_t j = 0; j < sizeof channels / sizeof *channels && (only == 0 || only == latents[i]); j++) {
            if (only_N != 0 && only_N != channels[j])
                continue;
            const shape k = {.M = latents[i],
                             .N = channels[j],
                             .L = 100,
                             .T = 100,
                             .batch = 16,
                             .teacher = flow ? ANT_TEACHER_FLOW : ANT_TEACHER_STOP,
                             .threads = threads,
                             .seconds = seconds,
                             .missing = missing};
            double *x = need(k.batch * (k.T + 1) * k.N, sizeof *x);
            make_data(&k, x, k.batch * (k.T + 1));
            const times best = single ? time_f32(&k, x) : time_f64(&k, x);
            printf("%3zu %4zu %10.2f %11.2f  %s, %zu calls\n", k.M, k.N, 1e3 * best.solve, 1e3 * best.update,
                   best.kernels, best.calls);
            fflush(stdout);
            free(x);
        }
    }
    return 0;
}
