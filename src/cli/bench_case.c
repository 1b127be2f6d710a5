/* bench_case.c - one case of `antler bench`: a model, sequences, repeated solves and their median. */
#include "cli/bench.h"

#include "cli/command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TRAIN_LENGTH = 200, TRAIN_BATCH = 16, REPEATS = 1000, UPDATES = 200 };

/* Of a model of the bench's own. The M - N directions that are not forced must forget: with kappa near 1 a
 * brief training on short windows leaves some of them growing, and a long solve is not finite. */
static const double OWN_KAPPA = 0.9;

static antler_status set(antler_settings *s, const char *name, const char *value)
{
    char assignment[128];
    snprintf(assignment, sizeof assignment, "%s=%s", name, value);
    return antler_settings_set(s, assignment);
}

static antler_status fill_settings(const cli_bench_case *c, antler_settings *s)
{
    antler_settings_default(s);
    s->initialisation = ANTLER_INITIALISATION_MEMORY;
    s->start_lr = 1e-3;
    s->validation = 0.0;
    s->latent_dim = c->latent;
    s->hidden_dim = c->hidden;
    s->threads = (size_t)c->threads;
    s->device = c->device;
    antler_status status = ANTLER_OK;
    if (c->model == NULL) {
        s->kappa = OWN_KAPPA;
    } else {
        s->rank = antler_model_rank(c->model);
        s->clipped = antler_model_clipped(c->model);
        s->diagonal = antler_model_free_diagonal(c->model) ? ANTLER_DIAGONAL_FREE : ANTLER_DIAGONAL_TANH;
        status = set(s, "model", antler_model_kind(c->model));
    }
    if (s->model == ANTLER_MODEL_SHPLRNN)
        s->gtf_alpha = c->alpha;
    if (status == ANTLER_OK)
        status = set(s, "precision", c->precision);
    return status != ANTLER_OK ? status : set(s, "solver", c->solver);
}

/* An orbit with 5 % noise, standardised, long enough for `batch` windows of T + 1 rows one after the other.
 */
static antler_status make_orbit(const cli_bench_case *c, antler_series **series)
{
    antler_simulate_opts o;
    const antler_status status = antler_simulate_opts_default(c->system, &o);
    if (status != ANTLER_OK)
        return status;
    o.length = c->batch * (c->length + 1);
    if (o.length < 10000)
        o.length = 10000;
    o.noise = 0.05;
    o.tolerance = 1e-9;
    return antler_simulate(&o, series);
}

/* Train with short windows, so that the forced dynamics are those of a trained model. Without updates there
 * is no model: a problem begins with initial values. */
static antler_status train(const cli_bench_case *c, const antler_settings *settings,
                           const antler_series *series, antler_model **model)
{
    antler_settings s = *settings;
    antler_trainer *trainer = NULL;
    if (c->updates == 0)
        return ANTLER_OK;
    s.solver = ANTLER_SOLVER_SEQUENTIAL;
    s.device = ANTLER_DEVICE_CPU;
    s.sequence_length = TRAIN_LENGTH;
    s.batch_size = TRAIN_BATCH;
    s.updates = c->updates;
    s.standardise = false;
    antler_status status = antler_trainer_create(&s, series, &trainer);
    if (status == ANTLER_OK)
        status = antler_trainer_run(trainer, NULL, NULL);
    if (status == ANTLER_OK)
        status = antler_trainer_model(trainer, 1, model);
    antler_trainer_free(trainer);
    return status;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void summarise(double *times, size_t count, cli_bench_result *r)
{
    qsort(times, count, sizeof *times, ascending);
    r->repeats = count;
    r->best = times[0];
    r->median = times[count / 2];
    for (size_t i = 0; i < count; i++)
        times[i] = fabs(times[i] - r->median);
    qsort(times, count, sizeof *times, ascending);
    r->noise = 1.48 * times[count / 2] / r->median;
}

static antler_status measure(const cli_bench_case *c, antler_problem *problem, cli_bench_result *r)
{
    static double times[REPEATS];
    antler_solve_report report = {0};
    double spent = 0.0;
    size_t count = 0;
    antler_status status = antler_problem_solve(problem, &report); /* warms caches and threads */
    while (status == ANTLER_OK && count < REPEATS && (spent < c->seconds || count < 3)) {
        status = antler_problem_solve(problem, &report);
        times[count++] = report.seconds;
        spent += report.seconds;
    }
    if (status != ANTLER_OK)
        return status;
    summarise(times, count, r);
    r->iterations = report.iterations;
    r->fallbacks = report.fallbacks;
    r->states_differ = r->gradient_differs = r->update = NAN;
    if (c->update)
        status = antler_problem_time_update(problem, UPDATES, &r->update);
    if (status != ANTLER_OK)
        return status;
    return c->check ? antler_problem_check(problem, &report, &r->states_differ, &r->gradient_differs)
                    : ANTLER_OK;
}

/* Multiply-adds that a step needs, forward, backward and for the gradient: W and V of a shPLRNN, else all
 * parameters. */
static double step_work(const cli_bench_case *c, const antler_problem *problem)
{
    const bool forced = c->model == NULL || strcmp(antler_model_kind(c->model), "shplrnn") == 0;
    return forced ? 6.0 * (double)c->latent * (double)c->hidden
                  : 3.0 * (double)antler_problem_parameter_total(problem);
}

static antler_status solve(const cli_bench_case *c, const antler_settings *settings,
                           const antler_series *series, const antler_model *model, double peak,
                           cli_bench_result *r)
{
    antler_settings s = *settings;
    antler_problem *problem = NULL;
    const size_t rows = c->batch * (c->length + 1), dim = antler_series_dim(series);
    double *x = cli_memory(rows * dim, sizeof *x, "the data of a case");
    s.sequence_length = c->length;
    s.batch_size = c->batch;
    s.warmup = (size_t)(c->warmup * (double)c->length);
    antler_status status = antler_series_read_f64(series, 0, 0, rows, x, NULL);
    if (status == ANTLER_OK)
        status = antler_problem_create(&s, dim, 0, &problem);
    if (status == ANTLER_OK && model != NULL)
        status = antler_problem_set_model(problem, model);
    if (status == ANTLER_OK) {
        antler_problem_set_data(problem, x, NULL);
        status = measure(c, problem, r);
    }
    if (status == ANTLER_OK) {
        const double steps = (double)c->length * (double)c->batch;
        const double work = step_work(c, problem) * steps;
        r->ns_per_step = 1e9 * r->median / steps;
        r->of_peak = work / r->median / (peak * (c->threads > 0 ? c->threads : antler_threads()));
        r->bytes = (double)antler_problem_bytes(problem);
        snprintf(r->choice, sizeof r->choice, "%s", antler_problem_choice(problem));
    }
    antler_problem_free(problem);
    free(x);
    return status;
}

antler_status cli_bench_run(const cli_bench_case *c, double peak, cli_bench_result *result)
{
    antler_settings settings;
    antler_series *orbit = NULL;
    antler_model *trained = NULL;
    antler_status status = fill_settings(c, &settings);
    if (status == ANTLER_OK && c->series == NULL)
        status = make_orbit(c, &orbit);
    if (status == ANTLER_OK && c->model == NULL)
        status = train(c, &settings, c->series == NULL ? orbit : c->series, &trained);
    if (status == ANTLER_OK)
        status = solve(c, &settings, c->series == NULL ? orbit : c->series,
                       c->model == NULL ? trained : c->model, peak, result);
    antler_model_free(trained);
    antler_series_free(orbit);
    return status;
}
