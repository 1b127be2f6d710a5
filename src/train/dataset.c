/* dataset.c - packing the training data, its fingerprint, and the numbering of windows. */
#include "train/dataset.h"

#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Mean and sd of the values as they are, and the scaling from packed values to user units. */
static antler_status choose_scaling(const antler_series *series, bool standardise, ant_dataset *d,
                                    double *shift, double *divisor)
{
    d->scaled = antler_series_scaling(series, d->mean, d->scale);
    for (size_t v = 0; v < d->N; v++) {
        antler_variable_stats stats = {.mean = 0.0, .sd = 1.0};
        if (standardise)
            ANT_TRY(antler_series_stats(series, v, &stats));
        shift[v] = stats.mean;
        divisor[v] = stats.sd;
        const double mean = d->scaled ? d->mean[v] : 0.0, scale = d->scaled ? d->scale[v] : 1.0;
        d->mean[v] = stats.mean * scale + mean;
        d->scale[v] = stats.sd * scale;
    }
    d->scaled = d->scaled || standardise;
    return ANTLER_OK;
}

/* FNV-1a over the packed bytes, eight at a time. */
static uint64_t fingerprint(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *from = bytes;
    for (size_t i = 0; i < count; i += 8) {
        uint64_t word = 0;
        memcpy(&word, from + i, count - i < 8 ? count - i : 8);
        hash = (hash ^ word) * UINT64_C(1099511628211);
    }
    return hash;
}

static antler_status allocate(ant_dataset *d, const antler_series *series, size_t real_bytes)
{
    const size_t trajectories = antler_series_count(series);
    for (size_t i = 0; i < trajectories; i++) {
        const size_t length = antler_series_length(series, i);
        if (length > d->T) {
            d->count++;
            d->rows += length;
        }
    }
    d->row = calloc(d->count, sizeof *d->row);
    d->start = calloc(d->count + 1, sizeof *d->start);
    d->mean = calloc(d->N, sizeof *d->mean);
    d->scale = calloc(d->N, sizeof *d->scale);
    d->names = calloc(d->N + d->K, sizeof *d->names);
    d->x = calloc(d->rows * d->N, real_bytes);
    d->s = d->K == 0 ? NULL : calloc(d->rows * d->K, real_bytes);
    if (d->row == NULL || d->start == NULL || d->mean == NULL || d->scale == NULL || d->names == NULL ||
        d->x == NULL || (d->K > 0 && d->s == NULL))
        return ant_fail_memory(d->rows * (d->N + d->K) * real_bytes, "the training data");
    for (size_t v = 0; v < d->N + d->K; v++) {
        d->names[v] = strdup(antler_series_name(series, v));
        if (d->names[v] == NULL)
            return ant_fail_memory(64, "the names of variables");
    }
    return ANTLER_OK;
}

static antler_status pack(ant_dataset *d, const antler_series *series, antler_precision precision,
                          const double *shift, const double *divisor)
{
    size_t row = 0, used = 0;
    for (size_t i = 0; i < antler_series_count(series); i++) {
        const size_t length = antler_series_length(series, i);
        if (length <= d->T)
            continue;
        ANT_TRY(precision == ANTLER_PRECISION_FLOAT
                    ? ant_dataset_pack_f32(d, series, i, row, shift, divisor)
                    : ant_dataset_pack_f64(d, series, i, row, shift, divisor));
        d->row[used] = row;
        d->start[used + 1] = d->start[used] + (length - d->T);
        used++;
        row += length;
    }
    return ANTLER_OK;
}

/* Everything that makes these data what they are, as training sees it. */
static void hash_data(ant_dataset *d, size_t real_bytes)
{
    const uint64_t sizes[] = {d->N, d->K, d->T, d->count, d->rows, real_bytes, d->scaled};
    ant_hash hash = ant_hash_add(ant_hash_begin(), sizes, sizeof sizes);
    hash = ant_hash_add(hash, &d->dt, sizeof d->dt);
    hash = ant_hash_add(hash, d->start, (d->count + 1) * sizeof *d->start);
    for (size_t v = 0; v < d->N + d->K; v++)
        hash = ant_hash_add_text(hash, d->names[v]);
    if (d->scaled) {
        hash = ant_hash_add(hash, d->mean, d->N * sizeof *d->mean);
        hash = ant_hash_add(hash, d->scale, d->N * sizeof *d->scale);
    }
    hash = ant_hash_add(hash, d->x, d->rows * d->N * real_bytes);
    if (d->K > 0)
        hash = ant_hash_add(hash, d->s, d->rows * d->K * real_bytes);
    ant_hash_print(hash, d->hash);
}

antler_status ant_dataset_create(const antler_series *series, size_t steps, bool standardise,
                                 antler_precision precision, ant_dataset **dataset)
{
    const size_t real_bytes = precision == ANTLER_PRECISION_FLOAT ? sizeof(float) : sizeof(double);
    ant_dataset *d = calloc(1, sizeof *d);
    if (d == NULL)
        return ant_fail_memory(sizeof *d, "the training data");
    d->N = antler_series_dim(series);
    d->K = antler_series_input_dim(series);
    d->T = steps;
    d->dt = antler_series_dt(series);
    double *shift = calloc(2 * d->N, sizeof *shift);
    antler_status status = shift == NULL ? ant_fail_memory(2 * d->N * sizeof *shift, "the training data")
                                         : allocate(d, series, real_bytes);
    if (status == ANTLER_OK && d->count == 0)
        status = ant_fail(ANTLER_ERROR_ARGUMENT, "no trajectory has the %zu rows of a window", steps + 1);
    if (status == ANTLER_OK)
        status = choose_scaling(series, standardise, d, shift, shift + d->N);
    if (status == ANTLER_OK)
        status = pack(d, series, precision, shift, shift + d->N);
    free(shift);
    if (status != ANTLER_OK) {
        ant_dataset_free(d);
        return status;
    }
    d->fingerprint = fingerprint(UINT64_C(14695981039346656037), d->x, d->rows * d->N * real_bytes);
    if (d->K > 0)
        d->fingerprint = fingerprint(d->fingerprint, d->s, d->rows * d->K * real_bytes);
    hash_data(d, real_bytes);
    *dataset = d;
    return ANTLER_OK;
}

void ant_dataset_free(ant_dataset *dataset)
{
    if (dataset == NULL)
        return;
    for (size_t v = 0; dataset->names != NULL && v < dataset->N + dataset->K; v++)
        free(dataset->names[v]);
    free(dataset->names);
    free(dataset->row);
    free(dataset->eligible);
    ant_lacks_free(&dataset->lacks);
    free(dataset->start);
    free(dataset->mean);
    free(dataset->scale);
    free(dataset->x);
    free(dataset->s);
    free(dataset);
}

/* ---- missing values --------------------------------------------------------------------------------- */

static bool has_value(const ant_dataset *d, bool single, size_t row)
{
    bool has = false;
    for (size_t i = row * d->N; i < (row + 1) * d->N; i++)
        has = has || !(single ? isnan(((const float *)d->x)[i]) : isnan(((const double *)d->x)[i]));
    return has;
}

/* observed: (rows + 1), the number of rows with a value before each */
static antler_status list_starts(ant_dataset *d, size_t warmup, const size_t *observed)
{
    d->eligible = malloc((size_t)d->start[d->count] * sizeof *d->eligible);
    if (d->eligible == NULL)
        return ant_fail_memory((size_t)d->start[d->count] * sizeof *d->eligible, "the starts of windows");
    for (size_t i = 0; i < d->count; i++) {
        const size_t last = d->row[i] + (size_t)(d->start[i + 1] - d->start[i]);
        for (size_t row = d->row[i]; row < last; row++) {
            const bool begins = observed[row + 1] > observed[row];
            if (begins && observed[row + d->T + 1] > observed[row + warmup + 1])
                d->eligible[d->eligible_count++] = row;
        }
    }
    ANT_CHECK(
        d->eligible_count > 0, ANTLER_ERROR_DATA,
        "no window of %zu rows begins with an observed value and has one after its warm-up of %zu steps: "
        "too much is missing",
        d->T + 1, warmup);
    return ANTLER_OK;
}

antler_status ant_dataset_find_gaps(ant_dataset *d, antler_precision precision, size_t warmup)
{
    const bool single = precision == ANTLER_PRECISION_FLOAT;
    ANT_TRY(ant_lacks_find(d->x, d->rows, d->N, single, &d->lacks));
    if (d->lacks.missing == 0)
        return ANTLER_OK;
    size_t *observed = calloc(d->rows + 1, sizeof *observed);
    if (observed == NULL)
        return ant_fail_memory(d->rows * sizeof *observed, "missing values");
    for (size_t row = 0; row < d->rows; row++)
        observed[row + 1] = observed[row] + has_value(d, single, row);
    const antler_status status = list_starts(d, warmup, observed);
    free(observed);
    return status;
}

ant_windows ant_dataset_windows(const ant_dataset *dataset)
{
    return (ant_windows){.count = dataset->count,
                         .row = dataset->row,
                         .start = dataset->start,
                         .eligible = dataset->eligible,
                         .eligible_count = dataset->eligible_count};
}

size_t ant_windows_row(const ant_windows *w, uint64_t number)
{
    size_t low = 0, high = w->count; /* start[low] <= number < start[high] */
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (w->start[middle] <= number)
            low = middle;
        else
            high = middle;
    }
    return w->row[low] + (size_t)(number - w->start[low]);
}

void ant_windows_draw(const ant_windows *w, uint64_t seed, uint32_t run, uint32_t update, size_t batch,
                      size_t *rows)
{
    ant_stream stream = ant_stream_open(seed, run, update, ANT_PURPOSE_WINDOWS);
    const uint64_t starts = w->eligible == NULL ? w->start[w->count] : w->eligible_count;
    for (size_t i = 0; i < batch; i++) {
        const uint64_t number = ant_stream_below(&stream, starts);
        rows[i] = w->eligible == NULL ? ant_windows_row(w, number) : w->eligible[number];
    }
}
