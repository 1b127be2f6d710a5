/*
 * mixture_cuda.c - sums of Gaussian kernels on the GPU: packing, choice of the kernel, far samples
 * (kernels/mixture.cu).
 *
 * Samples near the centre go through the product form in float.  A sample for which that form is not accurate
 * enough, because it or all points are far away, is computed again in double from differences; so no sample
 * is lost, as on the CPU.  The choice depends on the sample and the points alone.
 */
#include "base/machine.h"
#include "engine/cuda/engine_cuda.h"
#include "engine/cuda/kernels/abi.h"
#include "engine/cuda/program.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    NEAR_BATCH = 1 << 18, /* samples of one launch */
    FAR_BATCH = 1 << 15,  /* samples of one launch of the far kernel */
    FAR_BLOCKS = 1024,    /* blocks of a launch, so that few samples also use the whole GPU */
    LARGEST_DIM = 4096,   /* a point must fit into the far kernel's shared memory */
};

/* |x|^2 / 2 up to which a sample is near.  The float sums of its exponents stay below 2^11, where rounding
   is at most 2^-14 (docs/gpu.md). */
#define NEAR 1024.0f

/* A smaller sum has lost too much to underflow: up to 2^30 points below 2^-126 are then 2^-24 of it. */
#define TINY 0x1p-72

/* Beyond |y|^2 / 2 = 10^5 a point is too far from every near sample: its kernel is 0. */
#define UNREACHED 1e5

typedef struct sums {
    const ant_engine_kernel_sums *work;
    ant_cuda_device *device;
    ant_cuda_program *program;
    ant_cuda_kernel near, far;
    size_t rows; /* of a packed tile */
    double bias; /* added to all exponents */
    ant_cuda_buffer points, samples, results;
    float *packed;    /* (batch tiles, rows, MIXTURE_TILE) */
    double *shift;    /* (batch): exponents that were subtracted, in double */
    double *result;   /* (batch) */
    size_t *far_list; /* (count) */
    size_t far_count, batch;
    double last_report;
} sums;

static size_t tiles_for(size_t count)
{
    return (count + MIXTURE_TILE - 1) / MIXTURE_TILE;
}

static double scaled(const ant_engine_kernel_sums *w, const double *values, size_t i, size_t k)
{
    return (values[i * w->dim + k] - w->centre[k]) * w->scale[k];
}

static antler_status report(sums *s, double fraction)
{
    const ant_engine_report *r = &s->work->report;
    if (!ant_progress_due(&s->last_report))
        return ANTLER_OK;
    return ant_progress_report(r->progress, r->what, r->begin + r->span * fraction);
}

/* ---- points -------------------------------------------------------------------------------------- */

/* One tile: row 0 is -|y|^2/2 of the rounded coordinates, which are used as the points from here on. */
static void pack_points(const ant_engine_kernel_sums *w, size_t tile, size_t rows, float *packed)
{
    float *to = packed + tile * rows * MIXTURE_TILE; // (rows, MIXTURE_TILE)
    for (size_t j = 0; j < MIXTURE_TILE; j++) {
        const size_t t = tile * MIXTURE_TILE + j;
        double half_square = t < w->length ? 0.0 : INFINITY;
        for (size_t k = 0; k + 1 < rows; k++) {
            const float y = t < w->length && k < w->dim ? (float)scaled(w, w->points, t, k) : 0.0f;
            half_square += 0.5 * (double)y * (double)y;
            to[(k + 1) * MIXTURE_TILE + j] = y;
        }
        const bool reached = half_square <= UNREACHED;
        to[j] = reached ? (float)-half_square : (float)-UNREACHED;
        for (size_t k = 0; !reached && k + 1 < rows; k++)
            to[(k + 1) * MIXTURE_TILE + j] = 0.0f;
    }
}

static antler_status upload_points(sums *s)
{
    const size_t tiles = tiles_for(s->work->length), bytes = tiles * s->rows * MIXTURE_TILE * sizeof(float);
    float *packed = malloc(bytes);
    if (packed == NULL)
        return ant_fail_memory(bytes, "the packed orbit");
#pragma omp parallel for num_threads(ant_threads_ready(ant_threads_resolve(0)))
    for (size_t tile = 0; tile < tiles; tile++)
        pack_points(s->work, tile, s->rows, packed);
    const antler_status status = ant_cuda_alloc_from(s->device, packed, bytes, "the orbit", &s->points);
    free(packed);
    return status;
}

/* ---- near samples -------------------------------------------------------------------------------- */

/* One tile of the batch that starts at `first`; a far sample is packed as 0 and has an infinite shift. */
static void pack_samples(sums *s, size_t first, size_t count, size_t tile)
{
    const ant_engine_kernel_sums *w = s->work;
    float *to = s->packed + tile * s->rows * MIXTURE_TILE; // (rows, MIXTURE_TILE)
    for (size_t j = 0; j < MIXTURE_TILE; j++) {
        const size_t i = tile * MIXTURE_TILE + j;
        double half_square = 0.0;
        for (size_t k = 0; k + 1 < s->rows; k++) {
            const float x = i < count && k < w->dim ? (float)scaled(w, w->samples, first + i, k) : 0.0f;
            half_square += 0.5 * (double)x * (double)x;
            to[(k + 1) * MIXTURE_TILE + j] = x;
        }
        const bool near = half_square <= (double)NEAR;
        const float shift = near ? (float)(half_square - s->bias) : 0.0f;
        to[j] = shift;
        s->shift[i] = near ? half_square - (double)shift : INFINITY;
        for (size_t k = 0; !near && k + 1 < s->rows; k++)
            to[(k + 1) * MIXTURE_TILE + j] = 0.0f;
    }
}

/* log sum = log(result) - ln 2 shift; samples for which this is not accurate go on the list. */
static void finish_near(sums *s, size_t first, size_t count)
{
    const double ln_2 = 0.69314718055994530942;
    for (size_t i = 0; i < count; i++) {
        const double sum = s->result[i];
        if (sum >= TINY && sum <= DBL_MAX && isfinite(s->shift[i]))
            s->work->log_sum[first + i] = log(sum) - ln_2 * s->shift[i];
        else
            s->far_list[s->far_count++] = first + i;
    }
}

static antler_status near_batch(sums *s, size_t first, size_t count)
{
    const size_t tiles = tiles_for(count);
    unsigned point_tiles = (unsigned)tiles_for(s->work->length);
#pragma omp parallel for num_threads(ant_threads_ready(ant_threads_resolve(0)))
    for (size_t tile = 0; tile < tiles; tile++)
        pack_samples(s, first, count, tile);
    ANT_TRY(ant_cuda_upload(s->device, s->samples.address, s->packed,
                            tiles * s->rows * MIXTURE_TILE * sizeof(float)));
    ANT_TRY(ant_cuda_launch(
        s->device, &s->near, ant_cuda_grid_1d((unsigned)tiles, MIXTURE_NEAR_THREADS),
        ANT_CUDA_ARGS(&s->points.address, &point_tiles, &s->samples.address, &s->results.address)));
    ANT_TRY(ant_cuda_download(s->device, s->result, s->results.address, count * sizeof *s->result));
    finish_near(s, first, count);
    return ANTLER_OK;
}

static antler_status near_allocate(sums *s)
{
    const size_t numbers = tiles_for(s->batch) * MIXTURE_TILE;
    s->packed = malloc(numbers * s->rows * sizeof *s->packed);
    s->shift = malloc(numbers * sizeof *s->shift);
    s->result = malloc(numbers * sizeof *s->result);
    s->far_list = malloc(s->work->count * sizeof *s->far_list);
    if (s->packed == NULL || s->shift == NULL || s->result == NULL || s->far_list == NULL)
        return ant_fail_memory(numbers * s->rows * sizeof *s->packed, "the packed samples");
    ANT_TRY(ant_cuda_alloc(s->device, numbers * s->rows * sizeof *s->packed, "the samples", &s->samples));
    return ant_cuda_alloc(s->device, numbers * sizeof *s->result, "the sums", &s->results);
}

/* ---- far samples --------------------------------------------------------------------------------- */

typedef struct far_state {
    ant_cuda_buffer points, samples, least, sums;
    double *packed;       /* (dim, batch) */
    double *least_of_all; /* (2, segments, batch): nearest distances, then sums */
    size_t batch, segments;
} far_state;

static antler_status far_allocate(sums *s, far_state *f)
{
    const ant_engine_kernel_sums *w = s->work;
    f->batch = s->far_count < FAR_BATCH ? s->far_count : FAR_BATCH;
    const size_t blocks = (f->batch + MIXTURE_FAR_THREADS - 1) / MIXTURE_FAR_THREADS;
    f->segments = (FAR_BLOCKS + blocks - 1) / blocks;
    const size_t numbers = f->segments * f->batch, point_bytes = w->length * w->dim * sizeof(double);
    double *points = malloc(point_bytes); // (length, dim)
    f->packed = malloc(f->batch * w->dim * sizeof *f->packed);
    f->least_of_all = malloc(2 * numbers * sizeof *f->least_of_all);
    antler_status status = ANTLER_OK;
    if (points == NULL || f->packed == NULL || f->least_of_all == NULL)
        status = ant_fail_memory(point_bytes, "the orbit in double");
    for (size_t i = 0; status == ANTLER_OK && i < w->length * w->dim; i++)
        points[i] = scaled(w, w->points, i / w->dim, i % w->dim);
    if (status == ANTLER_OK)
        status = ant_cuda_alloc_from(s->device, points, point_bytes, "the orbit in double", &f->points);
    free(points);
    ANT_TRY(status);
    ANT_TRY(ant_cuda_alloc(s->device, f->batch * w->dim * sizeof(double), "the far samples", &f->samples));
    ANT_TRY(ant_cuda_alloc(s->device, numbers * sizeof(double), "the distances", &f->least));
    return ant_cuda_alloc(s->device, numbers * sizeof(double), "the sums", &f->sums);
}

/* Combine the segments of the points: the nearest of all, and the sums relative to it. */
static double far_log_sum(const far_state *f, size_t count, size_t i)
{
    const double ln_2 = 0.69314718055994530942;
    const double *least = f->least_of_all, *part = least + f->segments * count;
    double nearest = INFINITY, sum = 0.0;
    for (size_t k = 0; k < f->segments; k++)
        nearest = fmin(nearest, least[k * count + i]);
    if (!isfinite(nearest))
        return -INFINITY;
    for (size_t k = 0; k < f->segments; k++)
        if (isfinite(least[k * count + i]))
            sum += part[k * count + i] * exp2(nearest - least[k * count + i]);
    return log(sum) - ln_2 * nearest;
}

static antler_status far_batch(sums *s, far_state *f, const size_t *list, size_t count)
{
    const ant_engine_kernel_sums *w = s->work;
    unsigned length = (unsigned)w->length, samples = (unsigned)count;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < w->dim; k++)
            f->packed[k * count + i] = scaled(w, w->samples, list[i], k);
    ANT_TRY(ant_cuda_upload(s->device, f->samples.address, f->packed, count * w->dim * sizeof(double)));
    ant_cuda_grid grid = ant_cuda_grid_1d((unsigned)((count + MIXTURE_FAR_THREADS - 1) / MIXTURE_FAR_THREADS),
                                          MIXTURE_FAR_THREADS);
    grid.grid[1] = (unsigned)f->segments;
    ANT_TRY(ant_cuda_launch(s->device, &s->far, grid,
                            ANT_CUDA_ARGS(&f->points.address, &length, &f->samples.address, &samples,
                                          &f->least.address, &f->sums.address)));
    const size_t numbers = f->segments * count;
    ANT_TRY(ant_cuda_download(s->device, f->least_of_all, f->least.address, numbers * sizeof(double)));
    ANT_TRY(
        ant_cuda_download(s->device, f->least_of_all + numbers, f->sums.address, numbers * sizeof(double)));
    for (size_t i = 0; i < count; i++)
        w->log_sum[list[i]] = far_log_sum(f, count, i);
    return ANTLER_OK;
}

static antler_status far_pass(sums *s)
{
    far_state f = {0};
    antler_status status = s->far_count == 0 ? ANTLER_OK : far_allocate(s, &f);
    for (size_t first = 0; first < s->far_count && status == ANTLER_OK; first += f.batch) {
        const size_t rest = s->far_count - first;
        status = far_batch(s, &f, s->far_list + first, rest < f.batch ? rest : f.batch);
        if (status == ANTLER_OK)
            status = report(s, 0.5 + 0.5 * (double)first / (double)s->far_count);
    }
    ant_cuda_free(s->device, &f.points);
    ant_cuda_free(s->device, &f.samples);
    ant_cuda_free(s->device, &f.least);
    ant_cuda_free(s->device, &f.sums);
    free(f.packed);
    free(f.least_of_all);
    return status;
}

/* ---- the whole call ------------------------------------------------------------------------------ */

static antler_status prepare(sums *s)
{
    char dimension[32];
    snprintf(dimension, sizeof dimension, "-DD=%zu", s->work->dim);
    const char *const options[] = {dimension};
    s->rows = MIXTURE_ROWS(s->work->dim);
    /* A sample of the mixture is about log2(e) dim / 2 away from its own point.  With that much added, the
       relevant exponents are near 0, where float is most accurate and farthest from underflow; 2^96 is small
       enough for 2^31 points. */
    s->bias = fmin(96.0, floor(0.72 * (double)s->work->dim));
    s->batch = s->work->count < NEAR_BATCH ? s->work->count : NEAR_BATCH;
    ANT_TRY(ant_cuda_program_create(s->device, "mixture.cu", options, 1, &s->program));
    ANT_TRY(ant_cuda_program_kernel(s->program, "near_sums", &s->near));
    ANT_TRY(ant_cuda_program_kernel(s->program, "far_sums", &s->far));
    ANT_TRY(upload_points(s));
    return near_allocate(s);
}

static antler_status run(sums *s)
{
    const size_t count = s->work->count;
    ANT_TRY(prepare(s));
    for (size_t first = 0; first < count; first += s->batch) {
        ANT_TRY(near_batch(s, first, count - first < s->batch ? count - first : s->batch));
        /* Far samples are rare; where they are not, their share is known early. */
        const double near_share = s->far_count * 10 < first + s->batch ? 1.0 : 0.5;
        ANT_TRY(report(s, near_share * (double)first / (double)count));
    }
    return far_pass(s);
}

antler_status ant_cuda_kernel_sums(const ant_engine_kernel_sums *work)
{
    ANT_CHECK(work->dim <= LARGEST_DIM && work->length < UINT32_MAX / 2, ANTLER_ERROR_DEVICE,
              "%zu points in %zu dimensions are too many for the GPU's kernel; compute on the CPU",
              work->length, work->dim);
    sums s = {.work = work};
    ANT_TRY(ant_cuda_borrow(&s.device));
    const antler_status status = run(&s);
    ant_cuda_free(s.device, &s.points);
    ant_cuda_free(s.device, &s.samples);
    ant_cuda_free(s.device, &s.results);
    ant_cuda_program_free(s.program);
    ant_cuda_return();
    free(s.packed);
    free(s.shift);
    free(s.result);
    free(s.far_list);
    return status;
}
