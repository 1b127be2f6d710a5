/*
 * solve.c - forward and backward time of the solvers beside a plain C version, in one run.
 *
 *     bench_solve [M L system T threads updates seconds]     system: 63 or 96
 *
 * The model is trained for `updates` steps of Adam first (T = 200, batch 16), so that the forced
 * dynamics are those of a model in use.  Every time is the best of several runs.
 */
#include "plain_solve.h"

#include "base/machine.h"
#include "base/random.h"
#include "need.h"
#include "solve/forcing.h"
#include "solve/solve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LEG = 4096 };

typedef struct setup {
    ant_model_layout layout;
    size_t T, warmup, rows;
    double alpha;
    int threads;
    float *theta, *x; /* (total), (rows, N) */
} setup;

static void derivative(size_t N, double t, const double *x, double *out)
{
    if (N == 3) {
        out[0] = 10.0 * (x[1] - x[0]);
        out[1] = x[0] * (28.0 - x[2]) - x[1];
        out[2] = x[0] * x[1] - 8.0 / 3.0 * x[2];
        return;
    }
    for (size_t i = 0; i < N; i++)
        out[i] = (x[(i + 1) % N] - x[(i + N - 2) % N]) * x[(i + N - 1) % N] - x[i] + 14.0 +
                 12.0 * sin(6.283185307179586 / 75.0 * t);
}

/* Lorenz-63 or the forced Lorenz-96 by Runge-Kutta, standardised, with 5 % noise.  x: (rows, N) */
static void simulate(size_t N, size_t rows, float *x)
{
    double state[6] = {1.0, 1.2, 20.0, 2.0, 1.0, 3.0}, k[4][6], y[6];
    const double dt = N == 3 ? 0.01 : 0.005;
    for (size_t t = 0; t < rows + 1000; t++) {
        for (size_t n = 0; n < N && t >= 1000; n++)
            x[(t - 1000) * N + n] = (float)state[n];
        const double time = (double)t * dt, part[4] = {0.0, 0.5, 0.5, 1.0};
        for (int j = 0; j < 4; j++) {
            for (size_t n = 0; n < N; n++)
                y[n] = state[n] + (j > 0 ? dt * part[j] * k[j - 1][n] : 0.0);
            derivative(N, time + part[j] * dt, y, k[j]);
        }
        for (size_t n = 0; n < N; n++)
            state[n] += dt / 6.0 * (k[0][n] + 2.0 * k[1][n] + 2.0 * k[2][n] + k[3][n]);
    }
    ant_stream stream = ant_stream_open(1, 0, 0, ANT_PURPOSE_OBSERVATION_NOISE);
    for (size_t n = 0; n < N; n++) {
        double mean = 0.0, square = 0.0;
        for (size_t t = 0; t < rows; t++) {
            mean += (double)x[t * N + n] / (double)rows;
            square += (double)x[t * N + n] * (double)x[t * N + n] / (double)rows;
        }
        const double sd = sqrt(square - mean * mean);
        for (size_t t = 0; t < rows; t++) {
            double noise[2];
            ant_stream_normal_pair(&stream, noise);
            x[t * N + n] = (float)(((double)x[t * N + n] - mean) / sd + 0.05 * noise[0]);
        }
    }
}

/* Adam with a cosine schedule from 1e-3, windows drawn at random. */
static void train(setup *s, size_t updates)
{
    enum { T = 200, BATCH = 16 };
    const size_t total = s->layout.total, N = s->layout.dims.N;
    float *g = need(total, sizeof *g), *m = need(total, sizeof *m), *v = need(total, sizeof *v);
    const float *x[BATCH];
    ant_solve_options o;
    ant_solve_plan_f32 *plan;
    ant_solve_report report = {0};
    ant_solve_options_default(&o);
    o.threads = s->threads;
    o.warmup = 50;
    must(ant_solve_plan_create_f32(&s->layout.dims, T, BATCH, &o, &plan));
    const double begin = ant_seconds();
    for (size_t u = 1; u <= updates; u++) {
        ant_stream stream = ant_stream_open(2, 0, (uint32_t)u, ANT_PURPOSE_INITIAL_STATE);
        for (size_t i = 0; i < BATCH; i++)
            x[i] = s->x + ant_stream_below(&stream, s->rows - T) * N;
        must(ant_solve_gradient_f32(plan, s->theta, x, NULL, s->alpha, g, &report));
        const double rate = 1e-3 * 0.5 * (1.0 + cos(3.14159 * (double)u / (double)updates));
        for (size_t i = 0; i < total; i++) {
            m[i] = 0.9f * m[i] + 0.1f * g[i];
            v[i] = 0.999f * v[i] + 0.001f * g[i] * g[i];
            const double mean = (double)m[i] / (1.0 - pow(0.9, (double)u));
            const double spread = sqrt((double)v[i] / (1.0 - pow(0.999, (double)u)));
            s->theta[i] -= (float)(rate * mean / (spread + 1e-8));
        }
    }
    if (updates > 0)
        printf("trained %zu updates (T = 200, batch 16): loss %.3g, %.3f ms each, %s\n", updates, report.loss,
               1e3 * (ant_seconds() - begin) / (double)updates, ant_solve_plan_choice_f32(plan));
    ant_solve_plan_free_f32(plan);
    free(g);
    free(m);
    free(v);
}

/* One contender: the plain version (plan == NULL) or a plan; `best` is its fastest run so far. */
typedef struct contender {
    ant_solver solver;
    int threads;
    size_t leg; /* steps after which states are made again backward; 0: by the size */
    ant_solve_plan_f32 *plan;
    ant_solve_report report;
    float *gradient; /* (total) */
    double best;
} contender;

typedef struct plain {
    plain_problem problem;
    ant_arena arena;
    ant_forcing_f32 forcing;
    float *A, *V, *dV;
} plain;

static void plain_open(const setup *s, float *gradient, plain *c)
{
    const ant_model_dims *d = &s->layout.dims;
    const ant_model_layout *y = &s->layout;
    *c = (plain){.A = need(d->M, sizeof(float)),
                 .V = need(d->M * d->L, sizeof(float)),
                 .dV = need(d->M * d->L, sizeof(float))};
    ant_arena_count(&c->arena);
    ant_forcing_carve_f32(&c->forcing, &c->arena, d->M, d->N);
    must(ant_arena_create(&c->arena, c->arena.used));
    ant_forcing_carve_f32(&c->forcing, &c->arena, d->M, d->N);
    must(ant_forcing_set_f32(&c->forcing, s->theta + y->B));
    for (size_t i = 0; i < d->M; i++)
        c->A[i] = tanhf(s->theta[y->Abar + i]);
    for (size_t i = 0; i < d->L * d->M; i++) /* contiguous inner loops want V transposed */
        c->V[i % d->M * d->L + i / d->M] = s->theta[y->V + i];
    c->problem = (plain_problem){.M = d->M,
                                 .N = d->N,
                                 .L = d->L,
                                 .T = s->T,
                                 .warmup = s->warmup,
                                 .alpha = (float)s->alpha,
                                 .A = c->A,
                                 .W = s->theta + y->W,
                                 .V = c->V,
                                 .b = s->theta + y->b,
                                 .h = s->theta + y->h,
                                 .B = s->theta + y->B,
                                 .pinv = c->forcing.pinv,
                                 .x = s->x,
                                 .z = need((s->T + 1) * d->M, sizeof(float)),
                                 .forced = need(s->T * d->M, sizeof(float)),
                                 .phi = need(s->T * d->L, sizeof(float)),
                                 .dA = gradient + y->Abar,
                                 .dW = gradient + y->W,
                                 .dV = c->dV,
                                 .db = gradient + y->b,
                                 .dh = gradient + y->h,
                                 .dB = gradient + y->B};
}

/* Bring the plain gradients into the layout of the parameters and give everything back. */
static void plain_close(const setup *s, float *gradient, plain *c)
{
    const ant_model_dims *d = &s->layout.dims;
    for (size_t i = 0; i < d->M; i++)
        gradient[s->layout.Abar + i] *= 1.0f - c->A[i] * c->A[i];
    for (size_t i = 0; i < d->L * d->M; i++)
        gradient[s->layout.V + i] = c->dV[i % d->M * d->L + i / d->M];
    free(c->A);
    free(c->V);
    free(c->dV);
    free(c->problem.z);
    free(c->problem.forced);
    free(c->problem.phi);
    ant_arena_destroy(&c->arena);
}

static void contender_open(const setup *s, contender *c)
{
    ant_solve_options o;
    ant_solve_options_default(&o);
    o.solver = c->solver;
    o.threads = c->threads;
    o.leg = c->leg;
    o.warmup = s->warmup;
    o.teacher = ANT_TEACHER_STOP; /* as the plain version */
    c->best = 1e9;
    c->gradient = need(s->layout.total, sizeof(float));
    must(ant_solve_plan_create_f32(&s->layout.dims, s->T, 1, &o, &c->plan));
}

static void contender_print(const setup *s, const contender *c, double plain_seconds, const float *expected)
{
    double gap = 0.0, scale = 0.0;
    for (size_t i = 0; i < s->layout.total; i++) {
        gap = fmax(gap, fabs((double)c->gradient[i] - (double)expected[i]));
        scale = fmax(scale, fabs((double)expected[i]));
    }
    printf("%-11s %7d %9.3f %9.1f %7.2f %6d %9zu %8.1f %9.1e  %zu x %s\n",
           c->leg > 0 ? "auto, legs" : ant_solver_name(c->solver), c->threads, 1e3 * c->best,
           1e9 * c->best / (double)s->T, plain_seconds / c->best, c->report.iterations,
           c->report.repeated_steps, 1e-6 * (double)ant_solve_plan_bytes_f32(c->plan), gap / scale,
           c->report.segments, c->report.kernels);
}

/* One thread: its own CPU time, which a busy machine does not lengthen; several: time on the wall. */
static double now(int threads)
{
    struct timespec time;
    if (threads > 1)
        return ant_seconds();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* A call and its time; two in a row, as in training: threads that sleep are woken by the first. */
static void run(const setup *s, contender *c)
{
    const float *x[1] = {s->x};
    for (int call = 0; call < 2; call++) {
        const double begin = now(c->threads);
        must(ant_solve_gradient_f32(c->plan, s->theta, x, NULL, s->alpha, c->gradient, &c->report));
        c->best = fmin(c->best, now(c->threads) - begin);
    }
}

/* All contenders in turn, many times over, so that a busy machine hits them alike. */
static void race(const setup *s, contender *all, size_t count, double seconds)
{
    float *expected = need(s->layout.total, sizeof *expected);
    plain yardstick;
    plain_open(s, expected, &yardstick);
    double best = 1e9, start = ant_seconds();
    for (size_t i = 0; i < count; i++)
        contender_open(s, &all[i]);
    do {
        const double begin = now(1);
        plain_gradient(&yardstick.problem);
        best = fmin(best, now(1) - begin);
        for (size_t i = 0; i < count; i++) {
            if (all[i].solver == ANT_SOLVER_DEER && all[i].best < 1e9)
                continue; /* far slower than the rest: once is enough */
            run(s, &all[i]);
        }
    } while (ant_seconds() - start < seconds);
    plain_close(s, expected, &yardstick);
    printf("%-11s %7s %9s %9s %7s %6s %9s %8s %9s\n", "solver", "threads", "ms", "ns/step", "x plain", "iter",
           "repeated", "MB", "gap");
    printf("%-11s %7d %9.3f %9.1f\n", "plain C", 1, 1e3 * best, 1e9 * best / (double)s->T);
    for (size_t i = 0; i < count; i++) {
        contender_print(s, &all[i], best, expected);
        ant_solve_plan_free_f32(all[i].plan);
        free(all[i].gradient);
    }
    free(expected);
}

int main(int argc, char **argv)
{
    const size_t M = argc > 1 ? strtoul(argv[1], NULL, 10) : 4,
                 L = argc > 2 ? strtoul(argv[2], NULL, 10) : 50;
    const bool forced = argc > 3 && strcmp(argv[3], "96") == 0;
    setup s = {.T = argc > 4 ? strtoul(argv[4], NULL, 10) : 32768,
               .threads = argc > 5 ? atoi(argv[5]) : 1,
               .alpha = forced ? 0.08 : 0.15};
    const size_t updates = argc > 6 ? strtoul(argv[6], NULL, 10) : 2000;
    const ant_model_dims dims = {.M = M, .N = forced ? 6 : 3, .L = L};
    s.warmup = forced ? s.T / 2 : 0;
    s.rows = (s.T < 100000 ? 100000 : s.T) + 1;
    must(ant_model_layout_make(&dims, &s.layout));
    s.theta = need(s.layout.total, sizeof(float));
    s.x = need(s.rows * dims.N, sizeof(float));
    simulate(dims.N, s.rows, s.x);
    must(ant_model_initialise_f32(&s.layout, (ant_initialisation){.kappa = 0.9995}, 1, 0, s.theta));
    train(&s, updates);
    printf("M %zu N %zu L %zu T %zu warmup %zu alpha %g\n", M, dims.N, L, s.T, s.warmup, s.alpha);
    contender all[] = {{.solver = ANT_SOLVER_AUTO, .threads = 1},
                       {.solver = ANT_SOLVER_SEQUENTIAL, .threads = 1},
                       {.solver = ANT_SOLVER_SHOOTING, .threads = 1},
                       {.solver = ANT_SOLVER_AUTO, .threads = 2},
                       {.solver = ANT_SOLVER_SHOOTING, .threads = 2},
                       {.solver = ANT_SOLVER_DEER, .threads = 2},
                       {.solver = ANT_SOLVER_AUTO, .threads = 1, .leg = LEG},
                       {.solver = ANT_SOLVER_AUTO, .threads = 2, .leg = LEG}};
    const size_t count = sizeof all / sizeof *all;
    race(&s, all, count, argc > 7 ? atof(argv[7]) : 5.0);
    free(s.theta);
    free(s.x);
    return 0;
}
