/*
 * gaps.c - what missing values cost: CPU time of gradient calls with gaps over that of complete data.
 *
 *     gaps [seconds per row] [float|double] [threads] [M]
 *
 * Both calls are timed in turn, so that a busy machine affects them alike; the ratio is that of the fastest.
 * The model follows sines of different speeds, weakly nonlinear, with a few hidden units switching per step.
 */
#include "base/machine.h"
#include "base/random.h"
#include "need.h"
#include "solve/solve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef enum lost { SINGLE, ROWS, CHANNEL } lost;

typedef struct shape {
    size_t M, N, L, T, batch;
    ant_teacher teacher;
} shape;

/* Loses `share` of x: single values, bursts of 20 whole rows, or the first variable in bursts of 100 rows. */
static void lose(double *x, size_t rows, size_t N, lost how, double share)
{
    ant_stream stream = ant_stream_open(3, 0, 0, ANT_PURPOSE_OBSERVATION_NOISE);
    const size_t burst = how == SINGLE ? 1 : how == ROWS ? 20 : 100;
    for (size_t t = 0; t < rows; t += burst) {
        const bool drop = ant_stream_uniform(&stream) < share;
        for (size_t i = t; i < t + burst && i < rows; i++) {
            for (size_t n = 0; n < N; n++) {
                const bool gone =
                    how == SINGLE ? ant_stream_uniform(&stream) < share : drop && (how == ROWS || n == 0);
                x[i * N + n] = gone ? (double)NAN : x[i * N + n];
            }
        }
    }
}

/* Sines with noise.  x: (rows, N) */
static void make_data(double *x, size_t rows, size_t N)
{
    ant_stream stream = ant_stream_open(2, 0, 0, ANT_PURPOSE_OBSERVATION_NOISE);
    for (size_t t = 0; t < rows; t++) {
        for (size_t n = 0; n < N; n++) {
            double noise[2];
            ant_stream_normal_pair(&stream, noise);
            x[t * N + n] = sin(0.05 * (double)t * (1.0 + 0.3 * (double)n)) + 0.05 * noise[0];
        }
    }
}

static double cpu_seconds(int threads)
{
    struct timespec time;
    clock_gettime(threads > 1 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Time of both calls in turn, for one precision: best[0] complete, best[1] with gaps. */
#define RACE_IN(real, suffix)                                                                                \
    static void race##suffix(const shape *k, const double *complete, const double *gappy, double seconds,    \
                             int threads, double best[2], const char *kernels[2])                            \
    {                                                                                                        \
        const ant_model_dims dims = {.M = k->M, .N = k->N, .L = k->L};                                       \
        const size_t row = (k->T + 1) * k->N;                                                                \
        ant_model_layout layout;                                                                             \
        must(ant_model_layout_make(&dims, &layout));                                                         \
        real *theta = need(layout.total, sizeof *theta), *g = need(layout.total, sizeof *g);                 \
        real *x = need(2 * k->batch * row, sizeof *x);                                                       \
        const real **window = need(2 * k->batch, sizeof *window);                                            \
        ant_solve_plan##suffix *plan[2];                                                                     \
        must(ant_model_initialise##suffix(&layout, (ant_initialisation){.kappa = 0.95}, 1, 0, theta));       \
        ant_stream stream = ant_stream_open(5, 0, 0, ANT_PURPOSE_OBSERVATION_NOISE);                         \
        for (size_t i = 0; i < k->L; i++)                                                                    \
            theta[layout.b + i] = (real)(0.3 * (ant_stream_uniform(&stream) - 0.5));                         \
        for (size_t i = 0; i < layout.dims.N * layout.dims.M; i++)                                           \
            theta[layout.B + i] += (real)(0.2 * (ant_stream_uniform(&stream) - 0.5));                        \
        for (size_t i = 0; i < 2 * k->batch * row; i++)                                                      \
            x[i] = (real)(i < k->batch * row ? complete[i] : gappy[i - k->batch * row]);                     \
        for (size_t i = 0; i < 2 * k->batch; i++)                                                            \
            window[i] = x + i * row;                                                                         \
        for (int gaps = 0; gaps < 2; gaps++) {                                                               \
            ant_solve_options o;                                                                             \
            ant_solve_options_default(&o);                                                                   \
            o.threads = threads;                                                                             \
            o.teacher = k->teacher;                                                                          \
            o.patterns = gaps ? SIZE_MAX : 0;                                                                \
            must(ant_solve_plan_create##suffix(&dims, k->T, k->batch, &o, &plan[gaps]));                     \
            best[gaps] = 1e9;                                                                                \
        }                                                                                                    \
        for (double start = ant_seconds(); ant_seconds() - start < seconds;) {                               \
            for (int call = 0; call < 4; call++) {                                                           \
                const int gaps = call / 2;                                                                   \
                ant_solve_report report;                                                                     \
                const double begin = cpu_seconds(threads);                                                   \
                must(ant_solve_gradient##suffix(plan[gaps], theta, window + (size_t)gaps * k->batch, NULL,   \
                                                0.15, g, &report));                                          \
                best[gaps] = fmin(best[gaps], cpu_seconds(threads) - begin);                                 \
                kernels[gaps] = report.kernels;                                                              \
            }                                                                                                \
        }                                                                                                    \
        for (int gaps = 0; gaps < 2; gaps++)                                                                 \
            ant_solve_plan_free##suffix(plan[gaps]);                                                         \
        free(theta);                                                                                         \
        free(g);                                                                                             \
        free(x);                                                                                             \
        free(window);                                                                                        \
    }
RACE_IN(float, _f32)
RACE_IN(double, _f64)

static void print_row(const shape *k, lost how, double share, double seconds, bool single, int threads)
{
    static const char *const names[] = {"values", "rows", "channel"};
    const size_t rows = k->batch * (k->T + 1);
    double *x = need(2 * rows * k->N, sizeof *x), *gappy = x + rows * k->N, best[2];
    const char *kernels[2];
    make_data(x, rows, k->N);
    memcpy(gappy, x, rows * k->N * sizeof *x);
    lose(gappy, rows, k->N, how, share);
    if (single)
        race_f32(k, x, gappy, seconds, threads, best, kernels);
    else
        race_f64(k, x, gappy, seconds, threads, best, kernels);
    printf("%3zu %3zu %4zu %5zu %3zu %-5s %-8s %6.1f %9.3f %9.3f %6.2f  %s, %s\n", k->M, k->N, k->L, k->T,
           k->batch, k->teacher == ANT_TEACHER_FLOW ? "flow" : "stop", names[how], 1e2 * share, 1e3 * best[0],
           1e3 * best[1], best[1] / best[0], kernels[0], kernels[1]);
    fflush(stdout);
    free(x);
}

int main(int argc, char **argv)
{
    const double seconds = argc > 1 ? atof(argv[1]) : 0.5;
    const bool single = argc > 2 && strcmp(argv[2], "float") == 0;
    const int threads = argc > 3 ? atoi(argv[3]) : 1;
    const size_t only = argc > 4 ? strtoul(argv[4], NULL, 10) : 0;
    const size_t sizes[][3] = {{3, 3, 50}, {5, 3, 50}, {5, 5, 250}, {10, 6, 128}, {20, 10, 100}};
    const struct {
        lost how;
        double share;
    } gaps[] = {{SINGLE, 0.001}, {SINGLE, 0.01}, {SINGLE, 0.1}, {SINGLE, 0.3},
                {SINGLE, 0.7},   {ROWS, 0.3},    {ROWS, 0.7},   {CHANNEL, 0.5}};
    printf(
        "  M   N    L     T   B teacher lost        %%  complete      gaps  ratio  (%s, %d thread%s, ms)\n",
        single ? "float" : "double", threads, threads > 1 ? "s" : "");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int form = 0; form < 4 && (only == 0 || only == sizes[i][0]); form++) {
            const shape k = {.M = sizes[i][0],
                             .N = sizes[i][1],
                             .L = sizes[i][2],
                             .T = form < 2 ? 200 : 4096,
                             .batch = form < 2 ? 16 : 1,
                             .teacher = form % 2 == 0 ? ANT_TEACHER_FLOW : ANT_TEACHER_STOP};
            for (size_t j = 0; j < sizeof gaps / sizeof *gaps; j++)
                print_row(&k, gaps[j].how, gaps[j].share, seconds, single, threads);
        }
    }
    return 0;
}
