/* problem.h - the table behind antler_problem: one implementation per precision (problem_tmpl.c). */
#ifndef ANT_TRAIN_PROBLEM_H
#define ANT_TRAIN_PROBLEM_H

#include "engine/engine.h"
#include "solve/solve.h"

typedef struct ant_problem_config {
    ant_model_layout layout;
    ant_solve_options options;
    size_t T, batch;
    double alpha;
    ant_initialisation initialisation;
    uint64_t seed;
    antler_settings settings; /* as they were given */
    const ant_engine *engine; /* NULL: the CPU */
} ant_problem_config;

typedef struct ant_problem_ops {
    antler_status (*create)(const ant_problem_config *config, void **problem);
    void (*free)(void *problem);
    const char *(*choice)(const void *problem);
    size_t (*bytes)(const void *problem);
    antler_status (*initialise)(void *problem);
    void (*set_parameters)(void *problem, const double *parameters); /* (total) */
    void (*set_data)(void *problem, const double *x,
                     const double *inputs); /* (batch, T+1, N), (batch, T, K) */
    antler_status (*solve)(void *problem, ant_solve_report *report, ant_solve_agreement *agreement);
    void (*states)(const void *problem, size_t sequence, double *z);     /* (T, M) */
    antler_status (*adjoint)(void *problem, size_t sequence, double *v); /* (T, M) */
    void (*gradient)(const void *problem, double *gradient);             /* (total) */
    /* Of the last solve, by the clock of the device; NULL: by the clock of the host. */
    double (*seconds)(const void *problem);
    /* Of one whole update, the mean of `updates`; NULL: not offered. */
    antler_status (*time_update)(const void *problem, size_t updates, double *seconds);
} ant_problem_ops;

/* The dimensions of the model from the settings, for N variables and K inputs. */
ant_model_dims ant_settings_dims(const antler_settings *settings, size_t N, size_t K);

/* How the settings draw initial values. */
ant_initialisation ant_settings_initialisation(const antler_settings *settings);

/* Threads inside each run: min(runs, threads) runs are trained at once and share all of them. */
size_t ant_settings_inner_threads(const antler_settings *settings);

/* Choose the segments where they are not given, for the threads inside a run; linear models have none. */
void ant_settings_resolve_segments(antler_settings *settings);

/* Whether ranks can share the windows and segments of one run; else they can share runs alone. */
bool ant_settings_can_share(const antler_settings *settings);

/* The same for ranks with so many threads in all; together: they share each run, one run after the other. */
void ant_settings_resolve_ranks(antler_settings *settings, size_t threads, bool together);

/* The options of the solver from the settings, for `threads` threads. */
ant_solve_options ant_settings_solver(const antler_settings *settings, int threads);

extern const ant_problem_ops ant_problem_ops_f32, ant_problem_ops_f64, ant_problem_ops_engine;

#endif
