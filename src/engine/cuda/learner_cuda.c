/*
 * learner_cuda.c - all runs of a training on the GPU, for every kind of model: its pass (pass.h), then the
 * rest of an update (kernels/update_kernels.cuh).
 *
 * Twenty updates are one graph, so that nothing waits for the host.  The host synchronises only for logs,
 * checkpoints and checks.
 */
#include "base/random.h"
#include "engine/cuda/engine_cuda.h"
#include "engine/cuda/strength_cuda.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GRAPH_UPDATES = 20 }; /* even, so that the parity after a graph is that before it */

/* Enumerations and sums of the engine that kernels/abi.h repeats. */
#define SAME_TALLY(field, index) (offsetof(ant_tally, field) == (index) * sizeof(double))
_Static_assert(sizeof(ant_tally) == TALLY * sizeof(double), "ant_tally");
_Static_assert(SAME_TALLY(updates, TALLY_UPDATES) && SAME_TALLY(loss, TALLY_LOSS) &&
                   SAME_TALLY(mar, TALLY_MAR) && SAME_TALLY(readout, TALLY_READOUT) &&
                   SAME_TALLY(singular, TALLY_SINGULAR) && SAME_TALLY(iterations, TALLY_ITERATIONS) &&
                   SAME_TALLY(fallbacks, TALLY_FALLBACKS) && SAME_TALLY(lr, TALLY_LR) &&
                   SAME_TALLY(gradient_norm, TALLY_NORM),
               "ant_tally");
_Static_assert((int)ANT_DIVERGED_NOT == OUTCOME_RUNNING && (int)ANT_DIVERGED_LOSS == OUTCOME_LOSS &&
                   (int)ANT_DIVERGED_GRADIENT == OUTCOME_GRADIENT && (int)ANT_DIVERGED_MAR == OUTCOME_MAR &&
                   (int)ANT_DIVERGED_READOUT == OUTCOME_READOUT &&
                   (int)ANT_DIVERGED_SINGULAR == OUTCOME_SINGULAR && (int)ANT_DIVERGED_NORM == OUTCOME_NORM &&
                   (int)ANT_DIVERGED_PARAMETER == OUTCOME_PARAMETER,
               "ant_divergence");
_Static_assert((int)ANTLER_SCHEDULE_COSINE == SCHEDULE_COSINE &&
                   (int)ANTLER_SCHEDULE_EXPONENTIAL == SCHEDULE_EXPONENTIAL &&
                   (int)ANTLER_SCHEDULE_CONSTANT == SCHEDULE_CONSTANT,
               "antler_schedule");
_Static_assert((int)ANT_PURPOSE_WINDOWS == PURPOSE_WINDOWS &&
                   (int)ANT_PURPOSE_TRAINING_NOISE == PURPOSE_NOISE,
               "ant_purpose");

typedef struct learner {
    ant_engine_learning work;
    ant_cuda_device *device;
    const ant_cuda_kind *kind;
    ant_cuda_pass pass;
    ant_cuda_program *program; /* update.cu; NULL: the pass has these kernels */
    ant_cuda_kernel prepare, update;
    ant_cuda_grid grid;
    struct update_args args;
    ant_cuda_store store;
    ant_cuda_strength strength;            /* estimates of the strength of forcing; empty: there are none */
    bool prepared;                         /* weights and windows are those of the parameters */
    ant_cu_graph_exec one[2], many, whole; /* one update from either parity, many updates, one solve */
} learner;

/* ---- creation ------------------------------------------------------------------------------------- */

/* Where the launches find their arrays. */
static void point_at(const ant_cuda_store *store, const ant_cuda_pass *pass, struct update_args *args)
{
    args->parameters = store->parameters.address;
    args->good = store->good.address;
    args->gradient = store->gradient.address;
    args->raw = store->raw.address;
    args->m = store->m.address;
    args->v = store->v.address;
    args->kept = store->kept.address;
    args->scratch = store->scratch.address;
    args->weights = pass->weights;
    args->sums = pass->sums;
    args->facts = store->facts.address;
    args->arrived = store->arrived.address;
    args->update = store->counters.address;
    args->outcome = store->outcomes.address;
    args->tally = store->tallies.address;
    args->runs = store->runs.address;
    args->x = store->x.address;
    args->s = store->s.address;
    args->row = store->row.address;
    args->start = store->start.address;
    args->window_x = store->window_x.address;
    args->window_s = store->window_s.address;
    args->alphas = store->alphas.address;
}

static void describe(learner *l)
{
    const ant_engine_learning *w = &l->work;
    const antler_settings *s = w->settings;
    l->args = (struct update_args){
        .T = (int)s->sequence_length,
        .batch = (int)s->batch_size,
        .replicas = (int)w->replicas,
        .trajectories = (int)l->store.ranges,
        .draws = w->x != NULL,
        .steps = 1,
        .flow = s->teacher == ANTLER_TEACHER_FLOW,
        .adam = s->optimiser == ANTLER_OPTIMISER_ADAM,
        .schedule = (int)s->schedule,
        .units = (int)s->regularised_units,
        .power = (int)s->MAR_p,
        .initial_scale = s->MAR_initial_scale,
        .free_diagonal = s->diagonal == ANTLER_DIAGONAL_FREE,
        .seed = s->seed,
        .updates = s->updates,
        .noise = s->noise,
        .beta1 = s->beta1,
        .beta2 = s->beta2,
        .epsilon = s->epsilon,
        .start_lr = s->start_lr,
        .end_lr = s->end_lr,
        .gradient_clip = s->gradient_clip,
        .limit = w->limit,
        .mar = s->MAR_lambda,
        .readout = s->readout_lambda,
        .singular = s->singular_lambda,
        .latent = s->latent_lambda,
        .observation = s->observation_lambda,
        .condition = s->condition_lambda,
        .alpha_by_update = w->alphas != NULL,
        .alpha = s->gtf_alpha,
    };
    point_at(&l->store, &l->pass, &l->args);
}

/* The macros of update.cu besides those of the shape. */
typedef struct update_options {
    char rank[32], threads[32];
    const char *more[2];
} update_options;

static void name_options(const ant_engine_learning *work, update_options *options)
{
    snprintf(options->rank, sizeof options->rank, "-DRANK=%zu", work->rank);
    snprintf(options->threads, sizeof options->threads, "-DUPDATE_THREADS=%u", ant_cuda_update_threads(work));
    options->more[0] = options->rank;
    options->more[1] = options->threads;
}

/* Compile it into the cache while the pass is compiled: both take equally long.  A failure here occurs
   again, and is reported, in `load_update`. */
static void *compile_ahead(void *opaque)
{
    const learner *l = opaque;
    update_options options;
    void *image = NULL;
    size_t size = 0;
    name_options(&l->work, &options);
    (void)ant_cuda_image_shape(l->device->sm, l->kind->update, &l->work, options.more, 2, &image, &size);
    free(image);
    return NULL;
}

/* The compiler needs no context, which may still be starting; so compile first. */
static antler_status create_pass(learner *l)
{
    pthread_t beside;
    const bool started = l->kind->update != NULL && pthread_create(&beside, NULL, compile_ahead, l) == 0;
    antler_status status = l->kind->compile == NULL ? ANTLER_OK : l->kind->compile(&l->pass);
    if (status == ANTLER_OK)
        status = ant_cuda_store_runs(&l->store, &l->work);
    l->pass.buffers = ant_cuda_store_buffers(&l->store);
    if (status == ANTLER_OK)
        status = l->kind->create(&l->pass);
    if (started)
        pthread_join(beside, NULL);
    return status;
}

/* Blocks that draw windows: one for each tile that a block copies, as far as they run at the same time. */
static size_t drawing_blocks(const learner *l)
{
    const ant_engine_learning *w = &l->work;
    const size_t T = w->settings->sequence_length, values = (T + 1) * w->N, inputs = T * w->K;
    const size_t part = COPY_EACH * (size_t)ant_cuda_update_threads(w);
    const size_t parts = ((values > inputs ? values : inputs) + part - 1) / part;
    const size_t items = w->x == NULL ? 0 : w->replicas * w->settings->batch_size * parts;
    const size_t most = 2 * (size_t)l->device->multiprocessors;
    return items < most ? items : most;
}

/* Load the kernels of update_kernels.cuh and allocate what they need. */
static antler_status load_update(learner *l)
{
    const ant_engine_learning *w = &l->work;
    struct update_variant facts;
    if (l->kind->update != NULL) {
        update_options options;
        name_options(w, &options);
        ANT_TRY(ant_cuda_compile_shape(l->device, l->kind->update, w, options.more, 2, &l->program));
    }
    const ant_cuda_program *program = l->program != NULL ? l->program : l->pass.update;
    ANT_TRY(ant_cuda_program_kernel(program, "prepare", &l->prepare));
    ANT_TRY(ant_cuda_program_kernel(program, "update", &l->update));
    ANT_TRY(ant_cuda_read_facts(l->device, program, "update_facts", &facts, sizeof facts));
    ANT_CHECK((size_t)facts.total == w->total, ANTLER_ERROR_INTERNAL,
              "the kernels have %d parameters, not %zu", facts.total, w->total);
    ANT_CHECK((size_t)facts.args_bytes == sizeof l->args, ANTLER_ERROR_INTERNAL,
              "update_args has %d bytes in the kernels and %zu here", facts.args_bytes, sizeof l->args);
    ANT_TRY(ant_cuda_store_update(&l->store, w, (size_t)facts.kept, (size_t)facts.scratch));
    l->grid = ant_cuda_grid_1d((unsigned)(w->replicas + drawing_blocks(l)), ant_cuda_update_threads(w));
    l->grid.shared = (size_t)facts.shared_bytes;
    ANT_TRY(ant_cuda_kernel_allow_shared(l->device, &l->prepare, l->grid.shared));
    return ant_cuda_kernel_allow_shared(l->device, &l->update, l->grid.shared);
}

static void destroy(learner *l)
{
    for (int i = 0; i < 2; i++)
        ant_cuda_graph_free(l->device, l->one[i]);
    ant_cuda_graph_free(l->device, l->many);
    ant_cuda_graph_free(l->device, l->whole);
    ant_cuda_store_free(&l->store);
    ant_cuda_strength_clear(l->device, &l->strength);
    ant_cuda_program_free(l->program);
    l->kind->destroy(&l->pass);
    free(l);
}

static antler_status build(learner *l)
{
    const ant_engine_learning *w = &l->work;
    const size_t real = w->settings->precision == ANTLER_PRECISION_FLOAT ? sizeof(float) : sizeof(double);
    l->pass = (ant_cuda_pass){.device = l->device, .work = w, .real_bytes = real};
    l->store = (ant_cuda_store){.device = l->device, .real_bytes = real};
    ANT_TRY(create_pass(l));
    ANT_TRY(load_update(l));
    if (ant_cuda_strength_wanted(w->settings))
        ANT_TRY(ant_cuda_strength_create(l->device, w, &l->store, l->pass.weights, &l->strength));
    ANT_TRY(ant_cuda_store_data(&l->store, w));
    describe(l);
    const size_t batch = w->settings->batch_size, rows = batch * (w->settings->sequence_length + 1);
    size_t widest = l->pass.row > w->K ? l->pass.row : w->K;
    widest = widest > w->N ? widest : w->N;
    return ant_cuda_store_host(&l->store, rows * widest > w->total ? rows * widest : w->total);
}

static antler_status create(const ant_engine_learning *work, void **opaque)
{
    const ant_cuda_kind *kind = ant_cuda_kind_of(work);
    ANT_CHECK(kind != NULL, ANTLER_ERROR_ARGUMENT,
              "the GPU does not train this kind of model; use device: cpu");
    learner *l = calloc(1, sizeof *l);
    if (l == NULL)
        return ant_fail_memory(sizeof *l, "a learner");
    l->kind = kind;
    l->work = *work;
    antler_status status = ant_cuda_borrow(&l->device);
    if (status != ANTLER_OK) {
        free(l);
        return status;
    }
    status = build(l);
    if (status == ANTLER_OK)
        *opaque = l;
    else
        destroy(l);
    ant_cuda_return();
    return status;
}

static void release(void *opaque)
{
    learner *l = opaque;
    ant_cuda_device *device = NULL;
    if (l == NULL || ant_cuda_borrow(&device) != ANTLER_OK)
        return;
    destroy(l);
    ant_cuda_return();
}

static const char *solver(const void *opaque)
{
    return ((const learner *)opaque)->pass.solver;
}

static const char *choice(const void *opaque)
{
    return ((const learner *)opaque)->pass.choice;
}

static size_t device_bytes(const void *opaque)
{
    const learner *l = opaque;
    return l->store.bytes + l->pass.bytes + l->strength.bytes;
}

/* ---- states --------------------------------------------------------------------------------------- */

static antler_status write_alpha(learner *l, size_t replica, double alpha)
{
    l->prepared = false; /* the weights depend on it */
    return ant_cuda_upload(l->device, l->store.alphas.address + replica * sizeof alpha, &alpha, sizeof alpha);
}

static antler_status put_state(learner *l, size_t replica, size_t update, const double *parameters,
                               const double *m, const double *v)
{
    const size_t total = l->work.total, first = replica * total;
    const unsigned done = (unsigned)update;
    const int fresh[2] = {0, 0};
    ANT_TRY(ant_cuda_store_write(&l->store, l->store.parameters.address, first, parameters, total));
    ANT_TRY(ant_cuda_store_write(&l->store, l->store.good.address, first, parameters, total));
    ANT_TRY(ant_cuda_upload(l->device, l->store.m.address + first * sizeof *m, m, total * sizeof *m));
    ANT_TRY(ant_cuda_upload(l->device, l->store.v.address + first * sizeof *v, v, total * sizeof *v));
    ANT_TRY(
        ant_cuda_upload(l->device, l->store.outcomes.address + replica * sizeof fresh, fresh, sizeof fresh));
    l->prepared = false;
    if (ant_cuda_alpha_varies(l->work.settings) && !l->args.alpha_by_update)
        ANT_TRY(write_alpha(l, replica, l->work.settings->gtf_alpha));
    const size_t at = (size_t)l->args.parity * l->work.replicas + replica;
    return ant_cuda_upload(l->device, l->store.counters.address + at * sizeof done, &done, sizeof done);
}

static antler_status get_state(learner *l, size_t replica, double *parameters, double *m, double *v)
{
    const size_t total = l->work.total, first = replica * total;
    ANT_TRY(ant_cuda_store_read(&l->store, l->store.parameters.address, first, parameters, total));
    ANT_TRY(ant_cuda_download(l->device, m, l->store.m.address + first * sizeof *m, total * sizeof *m));
    return ant_cuda_download(l->device, v, l->store.v.address + first * sizeof *v, total * sizeof *v);
}

/* ---- work ----------------------------------------------------------------------------------------- */

/* Weights, and windows where they are drawn. */
static antler_status prepare(learner *l)
{
    if (!l->prepared)
        ANT_TRY(ant_cuda_launch(l->device, &l->prepare, l->grid, ANT_CUDA_ARGS(&l->args)));
    l->prepared = true;
    return ANTLER_OK;
}

static antler_status launch_update(learner *l)
{
    if (l->strength.program != NULL)
        ANT_TRY(ant_cuda_strength_launch(l->device, &l->strength, l->args.parity));
    ANT_TRY(l->kind->launch(&l->pass));
    ANT_TRY(ant_cuda_launch(l->device, &l->update, l->grid, ANT_CUDA_ARGS(&l->args)));
    l->args.parity = 1 - l->args.parity;
    return ANTLER_OK;
}

/* Record `updates` updates that start at the present parity, which does not change. */
static antler_status record(learner *l, int updates, ant_cu_graph_exec *graph)
{
    const int parity = l->args.parity;
    ANT_TRY(ant_cuda_graph_begin(l->device));
    antler_status status = ANTLER_OK;
    for (int i = 0; i < updates && status == ANTLER_OK; i++)
        status = launch_update(l);
    l->args.parity = parity;
    const antler_status ended = ant_cuda_graph_end(l->device, graph);
    return status == ANTLER_OK ? ended : status;
}

static antler_status launch_graph(learner *l, int updates)
{
    ant_cu_graph_exec *graph = updates == 1 ? &l->one[l->args.parity] : &l->many;
    if (*graph == NULL)
        ANT_TRY(record(l, updates, graph));
    ANT_TRY(ant_cuda_graph_launch(l->device, *graph));
    l->args.parity ^= updates & 1;
    return ANTLER_OK;
}

static antler_status read_strengths(learner *l, ant_outcome *outcomes)
{
    const size_t R = l->work.replicas;
    double *alphas = malloc(R * sizeof *alphas);
    if (alphas == NULL)
        return ant_fail_memory(R * sizeof *alphas, "strengths of forcing");
    const antler_status status =
        ant_cuda_download(l->device, alphas, l->store.alphas.address, R * sizeof *alphas);
    for (size_t i = 0; i < R && status == ANTLER_OK; i++)
        outcomes[i].alpha = alphas[i];
    free(alphas);
    return status;
}

static antler_status read_outcomes(learner *l, ant_outcome *outcomes)
{
    const size_t R = l->work.replicas;
    int *ends = malloc(R * 2 * sizeof *ends);
    unsigned *done = malloc(R * sizeof *done);
    antler_status status =
        ends == NULL || done == NULL
            ? ant_fail_memory(R * 12, "outcomes")
            : ant_cuda_download(l->device, ends, l->store.outcomes.address, R * 2 * sizeof *ends);
    if (status == ANTLER_OK)
        status = ant_cuda_download(l->device, done,
                                   l->store.counters.address + (size_t)l->args.parity * R * sizeof *done,
                                   R * sizeof *done);
    for (size_t i = 0; i < R && status == ANTLER_OK; i++)
        outcomes[i] = (ant_outcome){.update = done[i],
                                    .diverged = (ant_divergence)ends[2 * i],
                                    .parameter = (size_t)ends[2 * i + 1],
                                    .states_agree = NAN,
                                    .gradient_agrees = NAN};
    free(ends);
    free(done);
    return status == ANTLER_OK && l->strength.program != NULL ? read_strengths(l, outcomes) : status;
}

static antler_status run_updates(learner *l, size_t updates, ant_tally *tallies, ant_outcome *outcomes)
{
    const size_t bytes = l->work.replicas * sizeof *tallies;
    l->args.steps = 1;
    ANT_TRY(ant_cuda_upload(l->device, l->store.tallies.address, tallies, bytes));
    ANT_TRY(prepare(l));
    while (updates > 0) {
        const int count = updates >= GRAPH_UPDATES && l->args.parity == 0 ? GRAPH_UPDATES : 1;
        ANT_TRY(launch_graph(l, count));
        updates -= (size_t)count;
    }
    ANT_TRY(ant_cuda_download(l->device, tallies, l->store.tallies.address, bytes));
    return read_outcomes(l, outcomes);
}

static antler_status get_windows(learner *l, size_t replica, double *x, double *s)
{
    const ant_engine_learning *w = &l->work;
    const size_t batch = w->settings->batch_size, T = w->settings->sequence_length;
    const size_t values = batch * (T + 1) * w->N, inputs = batch * T * w->K;
    ANT_TRY(prepare(l));
    ANT_TRY(ant_cuda_store_read(&l->store, l->store.window_x.address, replica * values, x, values));
    return w->K == 0 ? ANTLER_OK
                     : ant_cuda_store_read(&l->store, l->store.window_s.address, replica * inputs, s, inputs);
}

static antler_status put_windows(learner *l, size_t replica, const double *x, const double *s)
{
    const ant_engine_learning *w = &l->work;
    const size_t batch = w->settings->batch_size, T = w->settings->sequence_length;
    const size_t values = batch * (T + 1) * w->N, inputs = batch * T * w->K;
    ANT_TRY(ant_cuda_store_write(&l->store, l->store.window_x.address, replica * values, x, values));
    return w->K == 0
               ? ANTLER_OK
               : ant_cuda_store_write(&l->store, l->store.window_s.address, replica * inputs, s, inputs);
}

/* Weights, solve and gradient as one graph. */
static antler_status record_solve(learner *l)
{
    ANT_TRY(ant_cuda_graph_begin(l->device));
    antler_status status = ant_cuda_launch(l->device, &l->prepare, l->grid, ANT_CUDA_ARGS(&l->args));
    if (status == ANTLER_OK)
        status = l->kind->launch(&l->pass);
    if (status == ANTLER_OK)
        status = ant_cuda_launch(l->device, &l->update, l->grid, ANT_CUDA_ARGS(&l->args));
    const antler_status ended = ant_cuda_graph_end(l->device, &l->whole);
    return status == ANTLER_OK ? ended : status;
}

static antler_status solve_once(learner *l, antler_solve_report *report)
{
    double facts[FACTS], milliseconds = 0.0;
    l->args.steps = 0;
    if (l->whole == NULL)
        ANT_TRY(record_solve(l));
    ANT_TRY(ant_cuda_graph_launch(l->device, l->whole)); /* so that the GPU is busy when the clock starts */
    ANT_TRY(ant_cuda_timer_start(l->device));
    ANT_TRY(ant_cuda_graph_launch(l->device, l->whole));
    ANT_TRY(ant_cuda_timer_stop(l->device, &milliseconds));
    ANT_TRY(ant_cuda_download(l->device, facts, l->store.facts.address, sizeof facts));
    const bool converged = facts[FACT_CONVERGED] != 0.0;
    const antler_status outcome = converged                         ? ANTLER_OK
                                  : isfinite(facts[FACT_LAST_JUMP]) ? ANTLER_NOT_CONVERGED
                                                                    : ANTLER_NON_FINITE;
    *report = (antler_solve_report){.loss = facts[FACT_LOSS],
                                    .iterations = (int)facts[FACT_ITERATIONS],
                                    .outcome = outcome,
                                    .last_change = facts[FACT_LAST_JUMP],
                                    .fallbacks = converged ? 0 : (size_t)fmax(1.0, facts[FACT_FALLBACKS]),
                                    .seconds = 1e-3 * milliseconds};
    return ANTLER_OK;
}

static antler_status look(learner *l, size_t replica, double *states, double *gradient)
{
    const ant_engine_learning *w = &l->work;
    const size_t batch = w->settings->batch_size, T = w->settings->sequence_length, row = l->pass.row;
    const ant_cu_pointer own = l->pass.states + replica * batch * (T + 1) * row * l->pass.real_bytes;
    ANT_TRY(ant_cuda_store_read_heads(&l->store, own, batch, T, row, w->M, states));
    return ant_cuda_store_read(&l->store, l->store.raw.address, replica * w->total, gradient, w->total);
}

/* ---- the table: each call locks the GPU and unlocks it --------------------------------------------- */

#define WITH_GPU(call)                                                                                       \
    do {                                                                                                     \
        learner *l = opaque;                                                                                 \
        ant_cuda_device *device = NULL;                                                                      \
        ANT_TRY(ant_cuda_borrow(&device));                                                                   \
        const antler_status with_status = (call);                                                            \
        ant_cuda_return();                                                                                   \
        return with_status;                                                                                  \
    } while (0)

static antler_status put(void *opaque, size_t replica, size_t update, const double *parameters,
                         const double *m, const double *v)
{
    WITH_GPU(put_state(l, replica, update, parameters, m, v));
}

static antler_status get(void *opaque, size_t replica, double *parameters, double *m, double *v)
{
    WITH_GPU(get_state(l, replica, parameters, m, v));
}

static antler_status put_alpha(void *opaque, size_t replica, double alpha)
{
    WITH_GPU(write_alpha(l, replica, alpha));
}

static antler_status run(void *opaque, size_t updates, ant_tally *tallies, ant_outcome *outcomes)
{
    WITH_GPU(run_updates(l, updates, tallies, outcomes));
}

static antler_status windows(void *opaque, size_t replica, double *x, double *s)
{
    WITH_GPU(get_windows(l, replica, x, s));
}

static antler_status set_windows(void *opaque, size_t replica, const double *x, const double *s)
{
    WITH_GPU(put_windows(l, replica, x, s));
}

static antler_status solve(void *opaque, antler_solve_report *report)
{
    WITH_GPU(solve_once(l, report));
}

static antler_status inspect(void *opaque, size_t replica, double *states, double *gradient)
{
    WITH_GPU(look(l, replica, states, gradient));
}

const ant_learner_ops ant_cuda_learner_ops = {
    .asynchronous = true,
    .estimates = true,
    .create = create,
    .free = release,
    .solver = solver,
    .choice = choice,
    .bytes = device_bytes,
    .put = put,
    .get = get,
    .put_alpha = put_alpha,
    .run = run,
    .windows = windows,
    .set_windows = set_windows,
    .solve = solve,
    .inspect = inspect,
};
