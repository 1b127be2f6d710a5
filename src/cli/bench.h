/* bench.h - one case of the solver benchmark. */
#ifndef ANT_CLI_BENCH_H
#define ANT_CLI_BENCH_H

#include <antler/antler.h>

typedef struct cli_bench_case {
    size_t latent, hidden, length, batch; /* M, L, T, B */
    const char *solver, *system, *precision;
    antler_device device;
    const antler_model *model;   /* to solve with; NULL: one is trained briefly */
    const antler_series *series; /* its data; NULL: the system is simulated */
    double alpha;
    double warmup; /* fraction of T */
    size_t updates;
    int threads;
    double seconds; /* of repetitions */
    bool check;
    bool update; /* time whole updates, too */
} cli_bench_case;

typedef struct cli_bench_result {
    double median, best, noise; /* seconds; noise: 1.48 MAD over the median */
    size_t repeats;
    double ns_per_step; /* of one sequence */
    int iterations;
    size_t fallbacks;
    double of_peak;
    double bytes;
    double states_differ, gradient_differs; /* NaN when not checked */
    double update;                          /* seconds of a whole update; NaN when not timed */
    char choice[512];
} cli_bench_result;

/* Simulate, train briefly, and time.  peak: multiply-adds per second of one core. */
antler_status cli_bench_run(const cli_bench_case *c, double peak, cli_bench_result *result);

#endif
