/*
 * learner.c - all runs of a training on the GPU (kernels/solve.cu and update.cu).
 *
 * An update is two launches: solve, and everything else.  Twenty updates are one graph, so that nothing waits
 * for the host, which only looks when it wants to.
 */
#include "engine/cuda/engine_cuda.h"
#include "engine/cuda/solver.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    GRAPH_UPDATES = 20,   /* even, so that the counters' halves are back in place */
    WINDOW_VALUES = 8192, /* that one block copies */
    SMALL_TOTAL = 4096,   /* parameters up to which few threads are enough */
};

/* learn_problem of kernels/learn.cuh. */
typedef struct learn_problem {
    int T, batch, replicas, trajectories;
    int parity, draws, steps;
    int flow, adam, schedule;
    int units, power, initial_scale, padding;
    uint64_t seed, updates;
    double noise, beta1, beta2, epsilon, start_lr, end_lr, gradient_clip, limit;
    double mar, readout, singular;
    ant_cu_pointer parameters, good, gradient, raw, m, v, pinv, pull, work, pack, sums, facts, arrived,
        update, outcome, tally, runs, x, s, row, start, window_x, window_s;
} learn_problem;

_Static_assert(sizeof(ant_engine_tally) == 10 * sizeof(double), "TALLY of learn.cuh");

typedef struct learner {
    ant_engine_learning work;
    ant_cuda_device *device;
    ant_cuda_solver solver;
    ant_cuda_program *program;
    ant_cuda_kernel prepare, update;
    ant_cuda_grid grid;
    learn_problem problem;
    ant_cuda_buffer parameters, good, gradient, raw, m, v, pinv, pull, scratch, counters, outcomes, tallies,
        runs, x, s, row, start;
    size_t bytes;
    bool prepared;                         /* weights and windows belong to the parameters */
    ant_cu_graph_exec one[2], many, whole; /* an update from either parity, many, and a solve */
    void *host;                            /* for conversions */
    size_t host_bytes;
} learner;

/* ---- creation ------------------------------------------------------------------------------------- */

static antler_status take(learner *l, size_t bytes, const char *purpose, ant_cuda_buffer *buffer)
{
    ANT_TRY(ant_cuda_alloc(l->device, bytes, purpose, buffer));
    l->bytes += bytes;
    return ant_cuda_fill_async(l->device, buffer->address, 0, bytes);
}

static antler_status upload(learner *l, const void *from, size_t bytes, const char *purpose,
                            ant_cuda_buffer *buffer)
{
    l->bytes += bytes;
    return ant_cuda_alloc_from(l->device, from, bytes, purpose, buffer);
}

static antler_status allocate(learner *l, size_t scratch)
{
    const ant_engine_learning *w = &l->work;
    const size_t R = w->replicas, all = R * w->total, real = l->solver.real_bytes;
    ANT_TRY(take(l, all * real, "the parameters", &l->parameters));
    ANT_TRY(take(l, all * real, "the parameters", &l->good));
    ANT_TRY(take(l, all * real, "the gradient", &l->gradient));
    ANT_TRY(take(l, all * real, "the gradient", &l->raw));
    ANT_TRY(take(l, all * sizeof(double), "the moments", &l->m));
    ANT_TRY(take(l, all * sizeof(double), "the moments", &l->v));
    ANT_TRY(take(l, R * w->M * w->N * sizeof(double), "the pseudo-inverse", &l->pinv));
    ANT_TRY(take(l, R * (w->M * w->N + 1) * sizeof(double), "a regulariser", &l->pull));
    ANT_TRY(take(l, R * scratch * sizeof(double), "the pseudo-inverse", &l->scratch));
    ANT_TRY(take(l, 2 * R * sizeof(unsigned), "counters", &l->counters));
    ANT_TRY(take(l, 2 * R * sizeof(int), "outcomes", &l->outcomes));
    ANT_TRY(take(l, R * sizeof(ant_engine_tally), "counters", &l->tallies));
    return upload(l, w->runs, R * sizeof *w->runs, "names of streams", &l->runs);
}

static antler_status upload_data(learner *l)
{
    const ant_engine_learning *w = &l->work;
    const size_t real = l->solver.real_bytes;
    if (w->x == NULL)
        return ANTLER_OK;
    uint64_t *row = calloc(w->trajectories, sizeof *row);
    if (row == NULL)
        return ant_fail_memory(w->trajectories * sizeof *row, "the training data");
    for (size_t i = 0; i < w->trajectories; i++)
        row[i] = w->row[i];
    antler_status status = upload(l, row, w->trajectories * sizeof *row, "the training data", &l->row);
    free(row);
    if (status == ANTLER_OK)
        status =
            upload(l, w->start, (w->trajectories + 1) * sizeof *w->start, "the training data", &l->start);
    if (status == ANTLER_OK)
        status = upload(l, w->x, w->rows * w->N * real, "the training data", &l->x);
    if (status == ANTLER_OK && w->K > 0)
        status = upload(l, w->s, w->rows * w->K * real, "the training data", &l->s);
    return status;
}

static void describe(learner *l)
{
    const ant_engine_learning *w = &l->work;
    const antler_settings *s = w->settings;
    l->problem = (learn_problem){
        .T = (int)s->sequence_length,
        .batch = (int)s->batch_size,
        .replicas = (int)w->replicas,
        .trajectories = (int)w->trajectories,
        .draws = w->x != NULL,
        .steps = 1,
        .flow = s->teacher == ANTLER_TEACHER_FLOW,
        .adam = s->optimiser == ANTLER_OPTIMISER_ADAM,
        .schedule = (int)s->schedule,
        .units = (int)s->regularised_units,
        .power = (int)s->MAR_p,
        .initial_scale = s->MAR_initial_scale,
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
        .parameters = l->parameters.address,
        .good = l->good.address,
        .gradient = l->gradient.address,
        .raw = l->raw.address,
        .m = l->m.address,
        .v = l->v.address,
        .pinv = l->pinv.address,
        .pull = l->pull.address,
        .work = l->scratch.address,
        .pack = l->solver.packs.address,
        .sums = l->solver.totals.address,
        .facts = l->solver.facts.address,
        .arrived = l->solver.arrived.address,
        .update = l->counters.address,
        .outcome = l->outcomes.address,
        .tally = l->tallies.address,
        .runs = l->runs.address,
        .x = l->x.address,
        .s = l->s.address,
        .row = l->row.address,
        .start = l->start.address,
        .window_x = l->solver.x.address,
        .window_s = l->solver.s.address,
    };
}

static unsigned threads_of(const ant_engine_learning *work)
{
    return work->total <= SMALL_TOTAL ? 256 : 512;
}

/* The macros of update.cu beside those of the shape. */
typedef struct update_options {
    char rank[32], threads[32];
    const char *more[2];
} update_options;

static void name_options(const ant_engine_learning *work, update_options *options)
{
    snprintf(options->rank, sizeof options->rank, "-DRANK=%zu", work->rank);
    snprintf(options->threads, sizeof options->threads, "-DLEARN_THREADS=%u", threads_of(work));
    options->more[0] = options->rank;
    options->more[1] = options->threads;
}

/* Have update.cu in the cache by the time that solve.cu is compiled: the compiler takes as long for either.
   Whatever goes wrong here happens again, and is told, in `compile`. */
static void *compile_ahead(void *opaque)
{
    const learner *l = opaque;
    update_options options;
    void *image = NULL;
    size_t size = 0;
    name_options(&l->work, &options);
    (void)ant_cuda_image_shape(l->device->sm, "update.cu", &l->work, options.more, 2, &image, &size);
    free(image);
    return NULL;
}

/* Load update.cu; *scratch: doubles of global scratch per run. */
static antler_status compile(learner *l, size_t *scratch)
{
    const ant_engine_learning *w = &l->work;
    const unsigned threads = threads_of(w);
    update_options options;
    int facts[3] = {0};
    ant_cu_pointer address = 0;
    name_options(w, &options);
    ANT_TRY(ant_cuda_compile_shape(l->device, "update.cu", w, options.more, 2, &l->program));
    ANT_TRY(ant_cuda_program_kernel(l->program, "prepare", &l->prepare));
    ANT_TRY(ant_cuda_program_kernel(l->program, "update", &l->update));
    ANT_TRY(ant_cuda_program_global(l->program, "update_facts", &address, NULL));
    ANT_TRY(ant_cuda_download(l->device, facts, address, sizeof facts));
    ANT_CHECK((size_t)facts[2] == w->total, ANTLER_ERROR_INTERNAL, "update.cu has %d parameters, not %zu",
              facts[2], w->total);
    const size_t values = w->replicas * w->settings->batch_size * (w->settings->sequence_length + 1) * w->N;
    const size_t copying = w->x == NULL ? 0 : (values + WINDOW_VALUES - 1) / WINDOW_VALUES;
    const size_t most = (size_t)(2 * l->device->multiprocessors);
    l->grid = ant_cuda_grid_1d((unsigned)(w->replicas + (copying < most ? copying : most)), threads);
    l->grid.shared = (size_t)facts[0];
    *scratch = (size_t)facts[1];
    ANT_TRY(ant_cuda_kernel_allow_shared(l->device, &l->prepare, l->grid.shared));
    return ant_cuda_kernel_allow_shared(l->device, &l->update, l->grid.shared);
}

static void destroy(learner *l)
{
    ant_cuda_buffer *const buffers[] = {
        &l->parameters, &l->good,     &l->gradient, &l->raw,  &l->m, &l->v, &l->pinv, &l->pull, &l->scratch,
        &l->counters,   &l->outcomes, &l->tallies,  &l->runs, &l->x, &l->s, &l->row,  &l->start};
    for (int i = 0; i < 2; i++)
        ant_cuda_graph_free(l->device, l->one[i]);
    ant_cuda_graph_free(l->device, l->many);
    ant_cuda_graph_free(l->device, l->whole);
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        ant_cuda_free(l->device, buffers[i]);
    ant_cuda_program_free(l->program);
    ant_cuda_solver_destroy(&l->solver);
    free(l->host);
    free(l);
}

static antler_status build(learner *l)
{
    const ant_engine_learning *w = &l->work;
    size_t scratch = 0;
    pthread_t beside;
    const bool started = pthread_create(&beside, NULL, compile_ahead, l) == 0;
    const antler_status status = ant_cuda_solver_create(l->device, w, &l->solver);
    if (started)
        pthread_join(beside, NULL);
    ANT_TRY(status);
    ANT_TRY(compile(l, &scratch));
    ANT_TRY(allocate(l, scratch));
    ANT_TRY(upload_data(l));
    describe(l);
    const size_t batch = w->settings->batch_size, rows = batch * (w->settings->sequence_length + 1);
    const size_t widest = (size_t)l->solver.row > w->K ? (size_t)l->solver.row : w->K;
    l->host_bytes = (rows * widest > w->total ? rows * widest : w->total) * l->solver.real_bytes;
    l->host = malloc(l->host_bytes);
    return l->host == NULL ? ant_fail_memory(l->host_bytes, "copies from the GPU") : ANTLER_OK;
}

static antler_status create(const ant_engine_learning *work, void **opaque)
{
    learner *l = calloc(1, sizeof *l);
    if (l == NULL)
        return ant_fail_memory(sizeof *l, "a learner");
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
    return ((const learner *)opaque)->solver.plan.solver;
}

static const char *choice(const void *opaque)
{
    return ((const learner *)opaque)->solver.plan.choice;
}

static size_t device_bytes(const void *opaque)
{
    const learner *l = opaque;
    return l->bytes + l->solver.bytes;
}

/* ---- states --------------------------------------------------------------------------------------- */

static void narrow(const learner *l, const double *from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (l->solver.real_bytes == sizeof(float))
            ((float *)l->host)[i] = (float)from[i];
        else
            ((double *)l->host)[i] = from[i];
    }
}

static double wide(const learner *l, size_t i)
{
    return l->solver.real_bytes == sizeof(float) ? (double)((const float *)l->host)[i]
                                                 : ((const double *)l->host)[i];
}

static antler_status write_real(learner *l, const ant_cuda_buffer *to, size_t first, const double *from,
                                size_t count)
{
    narrow(l, from, count);
    return ant_cuda_upload(l->device, to->address + first * l->solver.real_bytes, l->host,
                           count * l->solver.real_bytes);
}

static antler_status read_real(learner *l, const ant_cuda_buffer *from, size_t first, double *to,
                               size_t count)
{
    ANT_TRY(ant_cuda_download(l->device, l->host, from->address + first * l->solver.real_bytes,
                              count * l->solver.real_bytes));
    for (size_t i = 0; i < count; i++)
        to[i] = wide(l, i);
    return ANTLER_OK;
}

static antler_status put_state(learner *l, size_t replica, size_t update, const double *parameters,
                               const double *m, const double *v)
{
    const size_t total = l->work.total, first = replica * total;
    const unsigned done = (unsigned)update;
    const int fresh[2] = {0, 0};
    ANT_TRY(write_real(l, &l->parameters, first, parameters, total));
    ANT_TRY(write_real(l, &l->good, first, parameters, total));
    ANT_TRY(ant_cuda_upload(l->device, l->m.address + first * sizeof *m, m, total * sizeof *m));
    ANT_TRY(ant_cuda_upload(l->device, l->v.address + first * sizeof *v, v, total * sizeof *v));
    ANT_TRY(ant_cuda_upload(l->device, l->outcomes.address + replica * sizeof fresh, fresh, sizeof fresh));
    l->prepared = false;
    const size_t at = (size_t)l->problem.parity * l->work.replicas + replica;
    return ant_cuda_upload(l->device, l->counters.address + at * sizeof done, &done, sizeof done);
}

static antler_status get_state(learner *l, size_t replica, double *parameters, double *m, double *v)
{
    const size_t total = l->work.total, first = replica * total;
    ANT_TRY(read_real(l, &l->parameters, first, parameters, total));
    ANT_TRY(ant_cuda_download(l->device, m, l->m.address + first * sizeof *m, total * sizeof *m));
    return ant_cuda_download(l->device, v, l->v.address + first * sizeof *v, total * sizeof *v);
}

/* ---- work ----------------------------------------------------------------------------------------- */

/* Weights, and windows where they are drawn. */
static antler_status prepare(learner *l)
{
    if (!l->prepared)
        ANT_TRY(ant_cuda_launch(l->device, &l->prepare, l->grid, ANT_CUDA_ARGS(&l->problem)));
    l->prepared = true;
    return ANTLER_OK;
}

static antler_status launch_update(learner *l)
{
    ANT_TRY(ant_cuda_solver_launch(&l->solver));
    ANT_TRY(ant_cuda_launch(l->device, &l->update, l->grid, ANT_CUDA_ARGS(&l->problem)));
    l->problem.parity = 1 - l->problem.parity;
    return ANTLER_OK;
}

/* Record `updates` updates that begin at the present parity, which stays as it is. */
static antler_status record(learner *l, int updates, ant_cu_graph_exec *graph)
{
    const int parity = l->problem.parity;
    ANT_TRY(ant_cuda_graph_begin(l->device));
    antler_status status = ANTLER_OK;
    for (int i = 0; i < updates && status == ANTLER_OK; i++)
        status = launch_update(l);
    l->problem.parity = parity;
    const antler_status ended = ant_cuda_graph_end(l->device, graph);
    return status == ANTLER_OK ? ended : status;
}

static antler_status launch_graph(learner *l, int updates)
{
    ant_cu_graph_exec *graph = updates == 1 ? &l->one[l->problem.parity] : &l->many;
    if (*graph == NULL)
        ANT_TRY(record(l, updates, graph));
    ANT_TRY(ant_cuda_graph_launch(l->device, *graph));
    l->problem.parity ^= updates & 1;
    return ANTLER_OK;
}

static antler_status read_outcomes(learner *l, ant_engine_outcome *outcomes)
{
    const size_t R = l->work.replicas;
    int *fates = malloc(R * 2 * sizeof *fates);
    unsigned *done = malloc(R * sizeof *done);
    antler_status status =
        fates == NULL || done == NULL
            ? ant_fail_memory(R * 12, "outcomes")
            : ant_cuda_download(l->device, fates, l->outcomes.address, R * 2 * sizeof *fates);
    if (status == ANTLER_OK)
        status = ant_cuda_download(l->device, done,
                                   l->counters.address + (size_t)l->problem.parity * R * sizeof *done,
                                   R * sizeof *done);
    for (size_t i = 0; i < R && status == ANTLER_OK; i++)
        outcomes[i] = (ant_engine_outcome){
            .update = done[i], .fate = (ant_engine_fate)fates[2 * i], .parameter = (size_t)fates[2 * i + 1]};
    free(fates);
    free(done);
    return status;
}

static antler_status run_updates(learner *l, size_t updates, ant_engine_tally *tallies,
                                 ant_engine_outcome *outcomes)
{
    const size_t bytes = l->work.replicas * sizeof *tallies;
    l->problem.steps = 1;
    ANT_TRY(ant_cuda_upload(l->device, l->tallies.address, tallies, bytes));
    ANT_TRY(prepare(l));
    while (updates > 0) {
        const int count = updates >= GRAPH_UPDATES && l->problem.parity == 0 ? GRAPH_UPDATES : 1;
        ANT_TRY(launch_graph(l, count));
        updates -= (size_t)count;
    }
    ANT_TRY(ant_cuda_download(l->device, tallies, l->tallies.address, bytes));
    return read_outcomes(l, outcomes);
}

static antler_status get_windows(learner *l, size_t replica, double *x, double *s)
{
    const ant_engine_learning *w = &l->work;
    const size_t batch = w->settings->batch_size, T = w->settings->sequence_length;
    const size_t values = batch * (T + 1) * w->N, inputs = batch * T * w->K;
    ANT_TRY(prepare(l));
    ANT_TRY(read_real(l, &l->solver.x, replica * values, x, values));
    return w->K == 0 ? ANTLER_OK : read_real(l, &l->solver.s, replica * inputs, s, inputs);
}

static antler_status put_windows(learner *l, size_t replica, const double *x, const double *s)
{
    const ant_engine_learning *w = &l->work;
    const size_t batch = w->settings->batch_size, T = w->settings->sequence_length;
    const size_t values = batch * (T + 1) * w->N, inputs = batch * T * w->K;
    ANT_TRY(write_real(l, &l->solver.x, replica * values, x, values));
    return w->K == 0 ? ANTLER_OK : write_real(l, &l->solver.s, replica * inputs, s, inputs);
}

/* Weights, solve and gradient as one graph. */
static antler_status record_solve(learner *l)
{
    ANT_TRY(ant_cuda_graph_begin(l->device));
    antler_status status = ant_cuda_launch(l->device, &l->prepare, l->grid, ANT_CUDA_ARGS(&l->problem));
    if (status == ANTLER_OK)
        status = ant_cuda_solver_launch(&l->solver);
    if (status == ANTLER_OK)
        status = ant_cuda_launch(l->device, &l->update, l->grid, ANT_CUDA_ARGS(&l->problem));
    const antler_status ended = ant_cuda_graph_end(l->device, &l->whole);
    return status == ANTLER_OK ? ended : status;
}

static antler_status solve_once(learner *l, ant_engine_solved *solved)
{
    double facts[8], milliseconds = 0.0;
    l->problem.steps = 0;
    if (l->whole == NULL)
        ANT_TRY(record_solve(l));
    ANT_TRY(ant_cuda_timer_start(l->device));
    ANT_TRY(ant_cuda_graph_launch(l->device, l->whole));
    ANT_TRY(ant_cuda_timer_stop(l->device, &milliseconds));
    ANT_TRY(ant_cuda_download(l->device, facts, l->solver.facts.address, sizeof facts));
    *solved = (ant_engine_solved){.loss = facts[5],
                                  .iterations = (int)facts[0],
                                  .last_jump = facts[1],
                                  .converged = facts[4] != 0.0,
                                  .seconds = 1e-3 * milliseconds};
    return ANTLER_OK;
}

static antler_status look(learner *l, size_t replica, double *states, double *gradient)
{
    const ant_engine_learning *w = &l->work;
    const size_t batch = w->settings->batch_size, T = w->settings->sequence_length,
                 row = (size_t)l->solver.row;
    const size_t values = batch * (T + 1) * row, real = l->solver.real_bytes;
    ANT_TRY(ant_cuda_download(l->device, l->host, ant_cuda_solver_rows(&l->solver) + replica * values * real,
                              values * real));
    for (size_t i = 0; i < batch; i++)
        for (size_t t = 0; t < T; t++)
            for (size_t m = 0; m < w->M; m++)
                states[(i * T + t) * w->M + m] = wide(l, (i * (T + 1) + t + 1) * row + m);
    return read_real(l, &l->raw, replica * w->total, gradient, w->total);
}

/* ---- the table: each call takes the GPU and gives it back ------------------------------------------ */

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

static antler_status run(void *opaque, size_t updates, ant_engine_tally *tallies,
                         ant_engine_outcome *outcomes)
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

static antler_status solve(void *opaque, ant_engine_solved *solved)
{
    WITH_GPU(solve_once(l, solved));
}

static antler_status inspect(void *opaque, size_t replica, double *states, double *gradient)
{
    WITH_GPU(look(l, replica, states, gradient));
}

const ant_engine_learner_ops ant_cuda_learner_ops = {
    .create = create,
    .free = release,
    .solver = solver,
    .choice = choice,
    .bytes = device_bytes,
    .put = put,
    .get = get,
    .run = run,
    .windows = windows,
    .set_windows = set_windows,
    .solve = solve,
    .inspect = inspect,
};
