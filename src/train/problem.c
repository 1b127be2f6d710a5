/* problem.c - antler_problem: the solver on arrays. */
#include "train/problem.h"
#include "base/machine.h"
#include "base/sized.h"
#include "model/kind.h"
#include "train/forcing_rule.h"
#include "train/learning.h"

#include <math.h>
#include <stdlib.h>

struct antler_problem {
    const ant_problem_ops *ops;
    void *self;
    ant_model_layout layout;
    size_t T, batch;
};

ant_solve_options ant_settings_solver(const antler_settings *settings, int threads)
{
    ant_solve_options o;
    ant_solve_options_default(&o);
    o.solver = (ant_solver)settings->solver;
    o.start = (ant_start)settings->start;
    o.teacher = (ant_teacher)settings->teacher;
    o.adjoint = (ant_adjoint)settings->adjoint;
    o.warmup = settings->warmup;
    o.interval = settings->forcing_interval;
    o.tolerance = settings->tolerance;
    o.max_iterations = (int)settings->max_iterations;
    o.fallback = settings->fallback;
    o.segments = settings->segments;
    o.sampling = ant_settings_sample(settings);
    o.threads = threads;
    o.seed = settings->seed;
    return o;
}

size_t ant_settings_inner_threads(const antler_settings *settings)
{
    const size_t threads = (size_t)ant_threads_resolve((int)settings->threads);
    return settings->runs < threads ? threads / settings->runs : 1;
}

void ant_settings_resolve_segments(antler_settings *settings)
{
    if (settings->segments == 0 && settings->model == ANTLER_MODEL_SHPLRNN)
        settings->segments =
            ant_solve_segments((ant_solver)settings->solver, settings->sequence_length, settings->batch_size,
                               (int)ant_settings_inner_threads(settings));
}

bool ant_settings_can_share(const antler_settings *settings)
{
    return settings->model == ANTLER_MODEL_SHPLRNN && settings->device != ANTLER_DEVICE_CUDA &&
           (settings->solver == ANTLER_SOLVER_AUTO || settings->solver == ANTLER_SOLVER_SEQUENTIAL ||
            settings->solver == ANTLER_SOLVER_SHOOTING);
}

void ant_settings_resolve_ranks(antler_settings *settings, size_t threads, bool together)
{
    enum { PAIR = 2, LEAST = 4 }; /* segments: a pair is for two threads of one process */
    const size_t inner = together ? threads : settings->runs < threads ? threads / settings->runs : 1;
    if (settings->segments != 0 || settings->model != ANTLER_MODEL_SHPLRNN)
        return;
    settings->segments = ant_solve_segments((ant_solver)settings->solver, settings->sequence_length,
                                            settings->batch_size, (int)inner);
    if (together && settings->segments == PAIR && settings->sequence_length >= LEAST * ANT_SHORTEST_SEGMENT)
        settings->segments = LEAST;
}

_Static_assert((int)ANTLER_MODEL_SHPLRNN == (int)ANT_MODEL_SHPLRNN &&
                   (int)ANTLER_MODEL_MAMBA2 == (int)ANT_MODEL_MAMBA2,
               "kinds of models");

ant_model_dims ant_settings_dims(const antler_settings *settings, size_t N, size_t K)
{
    return (ant_model_dims){.kind = (ant_model_id)settings->model,
                            .M = settings->latent_dim,
                            .N = N,
                            .L = settings->hidden_dim,
                            .K = K,
                            .rank = settings->rank,
                            .clipped = settings->clipped,
                            .free_diagonal = settings->diagonal == ANTLER_DIAGONAL_FREE};
}

_Static_assert((int)ANTLER_INITIALISATION_MEMORY == (int)ANT_INITIALISATION_MEMORY &&
                   (int)ANTLER_INITIALISATION_STANDARD == (int)ANT_INITIALISATION_STANDARD &&
                   (int)ANTLER_INITIAL_A_RANDOM == (int)ANT_INITIAL_A_RANDOM &&
                   (int)ANTLER_INITIAL_WEIGHTS_UNIFORM == (int)ANT_INITIAL_WEIGHTS_UNIFORM &&
                   (int)ANTLER_INITIAL_B_KAIMING == (int)ANT_INITIAL_B_KAIMING,
               "initial values");

/* Where no data have a say, `auto` is `memory`, and its kappa is the paper's. */
ant_initialisation ant_settings_initialisation(const antler_settings *settings)
{
    static const double paper_kappa = 0.9995;
    const bool standard = settings->initialisation == ANTLER_INITIALISATION_STANDARD;
    return (ant_initialisation){.id = standard ? ANT_INITIALISATION_STANDARD : ANT_INITIALISATION_MEMORY,
                                .kappa = settings->kappa > 0.0 ? settings->kappa : paper_kappa,
                                .A = (ant_initial_A)settings->initialise_A,
                                .weights = (ant_initial_weights)settings->initialise_weights,
                                .B = (ant_initial_B)settings->initialise_B};
}

antler_status antler_problem_create(const antler_settings *settings, size_t dim, size_t input_dim,
                                    antler_problem **problem)
{
    ANT_NEED(settings != NULL && problem != NULL);
    ANT_OPTIONS(antler_settings, settings);
    const antler_settings *s = settings;
    const ant_model_dims dims = ant_settings_dims(s, dim, input_dim);
    ant_problem_config config = {.options = ant_settings_solver(s, ant_threads_resolve((int)s->threads)),
                                 .T = s->sequence_length,
                                 .batch = s->batch_size,
                                 .alpha = s->gtf_alpha,
                                 .initialisation = ant_settings_initialisation(s),
                                 .seed = s->seed,
                                 .settings = *s};
    ANT_TRY(antler_settings_check(s, NULL));
    ANT_CHECK(s->forcing_interval_method == ANTLER_INTERVAL_GIVEN || s->forcing_interval > 0,
              ANTLER_ERROR_ARGUMENT,
              "forcing_interval_method finds the interval at the start of a training; here set "
              "forcing_interval");
    ANT_TRY(ant_model_layout_make(&dims, &config.layout));
    config.settings.runs = 1;
    ANT_TRY(ant_learning_engine(&config.settings, &config.engine));
    antler_problem *p = calloc(1, sizeof *p);
    if (p == NULL)
        return ant_fail_memory(sizeof *p, "a problem");
    p->ops = config.engine != NULL                    ? &ant_problem_ops_engine
             : s->precision == ANTLER_PRECISION_FLOAT ? &ant_problem_ops_f32
                                                      : &ant_problem_ops_f64;
    p->layout = config.layout;
    p->T = config.T;
    p->batch = config.batch;
    antler_status status = p->ops->create(&config, &p->self);
    if (status == ANTLER_OK)
        status = p->ops->initialise(p->self);
    if (status != ANTLER_OK) {
        antler_problem_free(p);
        return status;
    }
    *problem = p;
    return ANTLER_OK;
}

void antler_problem_free(antler_problem *problem)
{
    if (problem != NULL)
        problem->ops->free(problem->self);
    free(problem);
}

const char *antler_problem_choice(const antler_problem *problem)
{
    return problem == NULL ? "" : problem->ops->choice(problem->self);
}

size_t antler_problem_bytes(const antler_problem *problem)
{
    return problem == NULL ? 0 : problem->ops->bytes(problem->self);
}

size_t antler_problem_parameter_total(const antler_problem *problem)
{
    return problem == NULL ? 0 : problem->layout.total;
}

void antler_problem_initialise(antler_problem *problem)
{
    if (problem == NULL)
        return;
    (void)problem->ops->initialise(problem->self); /* without memory, the parameters stay as they are */
}

void antler_problem_set_parameters(antler_problem *problem, const double *parameters)
{
    if (problem == NULL || parameters == NULL)
        return;
    problem->ops->set_parameters(problem->self, parameters);
}

antler_status antler_problem_set_model(antler_problem *problem, const antler_model *model)
{
    ANT_NEED(problem != NULL && model != NULL);
    const ant_model_dims *a = &problem->layout.dims, *b = &model->layout.dims;
    ANT_CHECK(
        a->kind == b->kind && a->M == b->M && a->N == b->N && a->L == b->L && a->K == b->K &&
            a->rank == b->rank && a->clipped == b->clipped && a->free_diagonal == b->free_diagonal,
        ANTLER_ERROR_ARGUMENT,
        "the model (%s, M = %zu, N = %zu, L = %zu, K = %zu, rank %zu%s%s) is of another kind or size than "
        "the problem (%s, M = %zu, N = %zu, L = %zu, K = %zu, rank %zu%s%s)",
        antler_model_kind(model), b->M, b->N, b->L, b->K, b->rank, b->clipped ? ", clipped" : "",
        b->free_diagonal ? ", free diagonal" : "", ant_model_kind_of(a->kind)->name, a->M, a->N, a->L, a->K,
        a->rank, a->clipped ? ", clipped" : "", a->free_diagonal ? ", free diagonal" : "");
    problem->ops->set_parameters(problem->self, model->parameters);
    return ANTLER_OK;
}

void antler_problem_set_data(antler_problem *problem, const double *x, const double *inputs)
{
    if (problem == NULL || x == NULL || (inputs == NULL && problem->layout.dims.K > 0))
        return;
    problem->ops->set_data(problem->self, x, inputs);
}

static antler_status solve(antler_problem *problem, antler_solve_report *report,
                           ant_solve_agreement *agreement)
{
    ant_solve_report r = {0};
    const double begin = ant_seconds();
    const antler_status status = problem->ops->solve(problem->self, &r, agreement);
    if (report != NULL && status >= 0)
        *report = (antler_solve_report){.struct_size = sizeof *report,
                                        .loss = r.loss,
                                        .outcome = r.outcome,
                                        .iterations = r.iterations,
                                        .last_change = r.last_change,
                                        .fallbacks = r.fallbacks,
                                        .seconds = problem->ops->seconds != NULL
                                                       ? problem->ops->seconds(problem->self)
                                                       : ant_seconds() - begin};
    return status;
}

antler_status(antler_problem_solve)(antler_problem *problem, antler_solve_report *report, size_t struct_size)
{
    ANT_NEED(problem != NULL);
    ANT_RESULT(antler_solve_report, report, struct_size, antler_problem_solve(problem, &whole), (void)0);
    return solve(problem, report, NULL);
}

antler_status(antler_problem_check)(antler_problem *problem, antler_solve_report *report,
                                    double *states_differ, double *gradient_differs, size_t struct_size)
{
    ANT_NEED(problem != NULL && states_differ != NULL && gradient_differs != NULL);
    ANT_RESULT(antler_solve_report, report, struct_size,
               antler_problem_check(problem, &whole, states_differ, gradient_differs), (void)0);
    ant_solve_agreement agreement = {0};
    ANT_TRY(solve(problem, report, &agreement));
    *states_differ = agreement.states;
    *gradient_differs = agreement.gradient;
    return ANTLER_OK;
}

antler_status antler_problem_time_update(antler_problem *problem, size_t updates, double *seconds)
{
    ANT_NEED(problem != NULL && seconds != NULL);
    ANT_CHECK(problem->ops->time_update != NULL && updates > 0, ANTLER_ERROR_ARGUMENT,
              "whole updates are timed on the GPU; on the CPU, 'antler train' logs the seconds");
    return problem->ops->time_update(problem->self, updates, seconds);
}

void antler_problem_states(const antler_problem *problem, size_t sequence, double *z)
{
    if (problem == NULL || z == NULL || sequence >= problem->batch)
        return;
    problem->ops->states(problem->self, sequence, z);
}

antler_status antler_problem_adjoint(antler_problem *problem, size_t sequence, double *v)
{
    ANT_NEED(problem != NULL && v != NULL);
    ANT_CHECK(sequence < problem->batch, ANTLER_ERROR_ARGUMENT, "there is no sequence %zu; the batch has %zu",
              sequence, problem->batch);
    return problem->ops->adjoint(problem->self, sequence, v);
}

void antler_problem_gradient(const antler_problem *problem, double *gradient)
{
    if (problem == NULL || gradient == NULL)
        return;
    problem->ops->gradient(problem->self, gradient);
}
