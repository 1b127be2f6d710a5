/* store.c - allocates the buffers of a learner, and converts between their precision and double. */
#include "engine/cuda/store.h"

#include <stdlib.h>

static antler_status take(ant_cuda_store *store, size_t bytes, const char *purpose, ant_cuda_buffer *buffer)
{
    ANT_TRY(ant_cuda_alloc(store->device, bytes, purpose, buffer));
    store->bytes += bytes;
    return ant_cuda_fill_async(store->device, buffer->address, 0, bytes);
}

static antler_status upload(ant_cuda_store *store, const void *from, size_t bytes, const char *purpose,
                            ant_cuda_buffer *buffer)
{
    store->bytes += bytes;
    return ant_cuda_alloc_from(store->device, from, bytes, purpose, buffer);
}

antler_status ant_cuda_store_runs(ant_cuda_store *store, const ant_engine_learning *w)
{
    const size_t R = w->replicas, all = R * w->total, real = store->real_bytes;
    const size_t sequences = R * w->settings->batch_size, T = w->settings->sequence_length;
    ANT_TRY(take(store, all * real, "the parameters", &store->parameters));
    ANT_TRY(take(store, all * real, "the parameters", &store->good));
    ANT_TRY(take(store, all * real, "the gradient", &store->gradient));
    ANT_TRY(take(store, all * real, "the gradient", &store->raw));
    ANT_TRY(take(store, all * sizeof(double), "the moments", &store->m));
    ANT_TRY(take(store, all * sizeof(double), "the moments", &store->v));
    ANT_TRY(take(store, sequences * (T + 1) * w->N * real, "the windows", &store->window_x));
    ANT_TRY(take(store, sequences * T * w->K * real, "the inputs", &store->window_s));
    ANT_TRY(take(store, R * FACTS * sizeof(double), "facts of a solve", &store->facts));
    ANT_TRY(take(store, R * BARRIER_WORDS * sizeof(unsigned), "barriers", &store->arrived));
    ANT_TRY(take(store, 2 * R * sizeof(unsigned), "counters", &store->counters));
    ANT_TRY(take(store, 2 * R * sizeof(int), "outcomes", &store->outcomes));
    ANT_TRY(take(store, R * sizeof(ant_tally), "counters", &store->tallies));
    ANT_TRY(upload(store, w->runs, R * sizeof *w->runs, "names of streams", &store->runs));
    if (w->alphas != NULL)
        return upload(store, w->alphas, w->settings->updates * sizeof *w->alphas, "strengths of forcing",
                      &store->alphas);
    return ant_cuda_alpha_varies(w->settings)
               ? take(store, R * sizeof(double), "strengths of forcing", &store->alphas)
               : ANTLER_OK;
}

antler_status ant_cuda_store_update(ant_cuda_store *store, const ant_engine_learning *w, size_t kept,
                                    size_t scratch)
{
    ANT_TRY(take(store, w->replicas * kept * sizeof(double), "the weights", &store->kept));
    return take(store, w->replicas * scratch * sizeof(double), "the weights", &store->scratch);
}

/*
 * Where windows begin: ranges of rows, each with its first row and the number of the window there; the
 * last entry of `start` is the number of all.  Without missing values these are the trajectories.  With NULL
 * for the arrays it only counts.
 */
static size_t list_ranges(const ant_engine_learning *w, uint64_t *row, uint64_t *start)
{
    size_t count = 0;
    const size_t numbered = w->eligible == NULL ? w->trajectories : w->eligible_count;
    for (size_t i = 0; i < numbered; i++) {
        if (w->eligible != NULL && i > 0 && w->eligible[i] == w->eligible[i - 1] + 1)
            continue;
        if (row != NULL) {
            row[count] = w->eligible == NULL ? w->row[i] : w->eligible[i];
            start[count] = w->eligible == NULL ? w->start[i] : i;
        }
        count++;
    }
    if (row != NULL)
        start[count] = w->eligible == NULL ? w->start[w->trajectories] : w->eligible_count;
    return count;
}

static antler_status upload_ranges(ant_cuda_store *store, const ant_engine_learning *w)
{
    store->ranges = list_ranges(w, NULL, NULL);
    const size_t bytes = (store->ranges + 1) * sizeof(uint64_t);
    uint64_t *row = malloc(bytes), *start = malloc(bytes);
    antler_status status = ANTLER_OK;
    if (row == NULL || start == NULL) {
        status = ant_fail_memory(2 * bytes, "the training data");
    } else {
        list_ranges(w, row, start);
        status = upload(store, row, bytes - sizeof *row, "the training data", &store->row);
    }
    if (status == ANTLER_OK)
        status = upload(store, start, bytes, "the training data", &store->start);
    free(row);
    free(start);
    return status;
}

antler_status ant_cuda_store_data(ant_cuda_store *store, const ant_engine_learning *w)
{
    const size_t real = store->real_bytes;
    if (w->x == NULL)
        return ANTLER_OK;
    antler_status status = upload_ranges(store, w);
    if (status == ANTLER_OK)
        status = upload(store, w->x, w->rows * w->N * real, "the training data", &store->x);
    if (status == ANTLER_OK && w->K > 0)
        status = upload(store, w->s, w->rows * w->K * real, "the training data", &store->s);
    return status;
}

antler_status ant_cuda_store_host(ant_cuda_store *store, size_t count)
{
    const size_t bytes = count * store->real_bytes;
    store->host = malloc(bytes);
    return store->host == NULL ? ant_fail_memory(bytes, "copies from the GPU") : ANTLER_OK;
}

void ant_cuda_store_free(ant_cuda_store *store)
{
    ant_cuda_buffer *const buffers[] = {
        &store->parameters, &store->good,     &store->gradient, &store->raw,   &store->m,
        &store->v,          &store->window_x, &store->window_s, &store->facts, &store->arrived,
        &store->counters,   &store->outcomes, &store->tallies,  &store->runs,  &store->kept,
        &store->alphas,     &store->scratch,  &store->x,        &store->s,     &store->row,
        &store->start};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        ant_cuda_free(store->device, buffers[i]);
    free(store->host);
    store->host = NULL;
}

ant_cuda_learner_buffers ant_cuda_store_buffers(const ant_cuda_store *store)
{
    return (ant_cuda_learner_buffers){.parameters = store->parameters.address,
                                      .x = store->window_x.address,
                                      .s = store->window_s.address,
                                      .raw = store->raw.address,
                                      .facts = store->facts.address,
                                      .arrived = store->arrived.address};
}

static double wide(const ant_cuda_store *store, size_t i)
{
    return store->real_bytes == sizeof(float) ? (double)((const float *)store->host)[i]
                                              : ((const double *)store->host)[i];
}

antler_status ant_cuda_store_write(ant_cuda_store *store, ant_cu_pointer to, size_t first, const double *from,
                                   size_t count)
{
    const size_t real = store->real_bytes;
    for (size_t i = 0; i < count; i++) {
        if (real == sizeof(float))
            ((float *)store->host)[i] = (float)from[i];
        else
            ((double *)store->host)[i] = from[i];
    }
    return ant_cuda_upload(store->device, to + first * real, store->host, count * real);
}

antler_status ant_cuda_store_read(ant_cuda_store *store, ant_cu_pointer from, size_t first, double *to,
                                  size_t count)
{
    const size_t real = store->real_bytes;
    ANT_TRY(ant_cuda_download(store->device, store->host, from + first * real, count * real));
    for (size_t i = 0; i < count; i++)
        to[i] = wide(store, i);
    return ANTLER_OK;
}

antler_status ant_cuda_store_read_heads(ant_cuda_store *store, ant_cu_pointer from, size_t sequences,
                                        size_t T, size_t row, size_t head, double *to)
{
    ANT_TRY(
        ant_cuda_download(store->device, store->host, from, sequences * (T + 1) * row * store->real_bytes));
    for (size_t i = 0; i < sequences; i++)
        for (size_t t = 0; t < T; t++)
            for (size_t m = 0; m < head; m++)
                to[(i * T + t) * head + m] = wide(store, (i * (T + 1) + t + 1) * row + m);
    return ANTLER_OK;
}
