/*
 * gaps_cuda.c - what missing values cost on the GPU: time of whole updates with gaps over that with complete
 * data.
 *
 *     gaps_cuda [updates] [float|double] [shplrnn|lssm|mamba2]
 *
 * Complete data and data with gaps are timed in turn; the figures are the fastest of five.  Windows of more
 * than 200 steps take fewer updates, 20 at least.  The data are
 * sines of different speeds with noise; the model is the untrained one of the settings.
 */
#include "base/random.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TURNS = 5, KINDS = 5, LEAST = 20 };

static const struct {
    const char *name;
    double share; /* of single values, of bursts of 20 whole rows, or of stretches of the first variable */
    int burst, variables;
} kinds[KINDS] = {
    {"complete", 0.0, 1, 0},    {"rows 30 %", 0.3, 20, 0},  {"one variable", 0.5, 100, 1},
    {"values 10 %", 0.1, 0, 0}, {"values 30 %", 0.3, 0, 0},
};

static void must(antler_status status)
{
    if (status < 0) {
        fprintf(stderr, "%s\n", antler_message());
        exit(status == ANTLER_ERROR_DEVICE ? 3 : 1);
    }
}

/* x: (rows, N) */
static void make_data(double *x, size_t rows, size_t N, size_t kind)
{
    ant_stream noise = ant_stream_open(2, 0, 0, ANT_PURPOSE_OBSERVATION_NOISE),
               gaps = ant_stream_open(3, 0, 0, ANT_PURPOSE_OBSERVATION_NOISE);
    bool drop = false;
    for (size_t t = 0; t < rows; t++) {
        if (kinds[kind].burst > 0 && t % (size_t)kinds[kind].burst == 0)
            drop = ant_stream_uniform(&gaps) < kinds[kind].share;
        for (size_t n = 0; n < N; n++) {
            double pair[2];
            ant_stream_normal_pair(&noise, pair);
            if (kinds[kind].burst == 0)
                drop = ant_stream_uniform(&gaps) < kinds[kind].share;
            const bool gone = drop && (kinds[kind].variables == 0 || n < (size_t)kinds[kind].variables);
            x[t * N + n] =
                gone ? (double)NAN : sin(0.05 * (double)t * (1.0 + 0.3 * (double)n)) + 0.05 * pair[0];
        }
    }
}

static antler_problem *make_problem(const antler_settings *s, size_t N, size_t kind)
{
    antler_problem *problem = NULL;
    antler_solve_report report;
    const size_t rows = s->batch_size * (s->sequence_length + 1);
    double *x = calloc(rows * N, sizeof *x);
    if (x == NULL)
        exit(3);
    make_data(x, rows, N, kind);
    must(antler_problem_create(s, N, 0, &problem));
    antler_problem_initialise(problem);
    antler_problem_set_data(problem, x, NULL);
    must(antler_problem_solve(problem, &report));
    free(x);
    return problem;
}

static const char *const models[] = {
    [ANTLER_MODEL_SHPLRNN] = "shplrnn", [ANTLER_MODEL_LSSM] = "lssm", [ANTLER_MODEL_MAMBA2] = "mamba2"};

static const char *name_of(const antler_settings *s)
{
    if (s->model != ANTLER_MODEL_SHPLRNN)
        return models[s->model];
    return s->teacher == ANTLER_TEACHER_FLOW ? "flow" : "stop";
}

static void print_row(const antler_settings *s, size_t N, size_t at_200)
{
    const size_t fewer = at_200 * 200 / s->sequence_length, updates = fewer < LEAST ? LEAST : fewer;
    antler_problem *problem[KINDS];
    double best[KINDS];
    for (size_t k = 0; k < KINDS; k++) {
        problem[k] = make_problem(s, N, k);
        best[k] = INFINITY;
    }
    for (int turn = 0; turn < TURNS; turn++) {
        for (size_t k = 0; k < KINDS; k++) {
            double seconds = 0.0;
            must(antler_problem_time_update(problem[k], updates, &seconds));
            best[k] = fmin(best[k], seconds);
        }
    }
    printf("| %zu, %zu, %zu | %zu, %zu | %s | %.1f us |", s->latent_dim, N, s->hidden_dim, s->sequence_length,
           s->batch_size, name_of(s), 1e6 * best[0]);
    for (size_t k = 1; k < KINDS; k++)
        printf(" %.3f |", best[k] / best[0]);
    printf("\n");
    fflush(stdout);
    for (size_t k = 0; k < KINDS; k++)
        antler_problem_free(problem[k]);
}

int main(int argc, char **argv)
{
    static const struct {
        size_t M, N, L, T, batch;
        antler_model_kind_id model;
    } shapes[] = {{5, 3, 50, 200, 16, ANTLER_MODEL_LSSM},       {10, 6, 128, 200, 16, ANTLER_MODEL_LSSM},
                  {10, 6, 128, 32768, 1, ANTLER_MODEL_LSSM},    {3, 3, 50, 200, 16, ANTLER_MODEL_SHPLRNN},
                  {5, 3, 50, 200, 16, ANTLER_MODEL_SHPLRNN},    {10, 6, 128, 200, 16, ANTLER_MODEL_SHPLRNN},
                  {20, 10, 100, 200, 16, ANTLER_MODEL_SHPLRNN}, {4, 3, 50, 4096, 1, ANTLER_MODEL_SHPLRNN},
                  {10, 6, 128, 32768, 1, ANTLER_MODEL_SHPLRNN}, {16, 3, 50, 32768, 1, ANTLER_MODEL_SHPLRNN}};
    const size_t updates = argc > 1 ? strtoul(argv[1], NULL, 10) : 400;
    printf("| M, N, L | T, B | teacher or kind | an update, complete |");
    for (size_t k = 1; k < KINDS; k++)
        printf(" %s |", kinds[k].name);
    printf("\n| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        if (argc > 3 && strcmp(argv[3], models[shapes[i].model]) != 0)
            continue;
        const int teachers = shapes[i].model == ANTLER_MODEL_SHPLRNN ? 2 : 1;
        for (int teacher = 0; teacher < teachers; teacher++) {
            antler_settings s;
            antler_settings_default(&s);
            s.device = ANTLER_DEVICE_CUDA;
            s.precision =
                argc > 2 && strcmp(argv[2], "double") == 0 ? ANTLER_PRECISION_DOUBLE : ANTLER_PRECISION_FLOAT;
            s.model = shapes[i].model;
            s.latent_dim = shapes[i].M;
            s.hidden_dim = shapes[i].L;
            s.sequence_length = shapes[i].T;
            s.batch_size = shapes[i].batch;
            s.gtf_alpha = shapes[i].model == ANTLER_MODEL_SHPLRNN ? 0.15 : s.gtf_alpha;
            s.teacher = teacher == 0 ? ANTLER_TEACHER_FLOW : ANTLER_TEACHER_STOP;
            print_row(&s, shapes[i].N, updates);
        }
    }
    return 0;
}
