/*
 * mixture_density.c - the log density of a Gaussian mixture at many samples.
 *
 * With coordinates centred on the orbit and scaled by sqrt(log2(e) / variance), a kernel is 2^t with
 *     t = -|x - y|^2 / 2 = (x . y - |y|^2 / 2) - |x|^2 / 2.
 * The bracket is `dim` multiply-adds; the last term is the same for the whole orbit and is applied to the
 * logarithm of the sum.  Samples near the centre, |x|^2 / 2 <= NEAR, take this form: the sum cannot overflow
 * and rounding costs about NEAR * 2^-53.
 *
 * The others, and those whose sum came out below TINY because the orbit is far from them, take the
 * differences x - y in the caller's units, in two steps: the nearest point first, then the sum relative to
 * it.  That is the exact log-sum-exp and loses no sample.  The choice is made sample by sample.
 */
#include "measure/mixture.h"

#include "base/arena.h"
#include "base/machine.h"
#include "measure/mixture_simd.h"

#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include <omp.h>

enum {
    GROUP = ANT_MIXTURE_GROUP,
    SAMPLE_TILE = 256,        /* samples that one thread takes at a time */
    ORBIT_TILE_BYTES = 16384, /* of the orbit, read by all samples of a tile while it is in the L1 cache */
};

#define NEAR      900.0
#define TINY      0x1p-800
#define UNREACHED 1e6 /* a point with |y|^2 / 2 above this adds nothing to a near sample */

static const double log2_e = 1.4426950408889634074, ln_2 = 0.69314718055994530942;

/* What one thread needs for a tile of samples. */
typedef struct workspace {
    double *groups; // (SAMPLE_TILE / GROUP, dim, GROUP)
    double *lanes;  // (SAMPLE_TILE / GROUP, GROUP, W)
    double *offset; // (SAMPLE_TILE): |x|^2 / 2 of near samples, the nearest distance of far ones
} workspace;

typedef enum loop_kind { SUM_PRODUCTS, NEAREST, SUM_DISTANCES } loop_kind;

typedef struct density {
    const ant_mixture *mixture;
    const double *samples; // (count, dim)
    double *log_density;   // (count)
    size_t count;
    const ant_mixture_kernels *kernels;
    int threads;
    double *centre, *scale, *weight; // (dim)
    double log_norm;                 /* of length * sqrt(det(2 pi Sigma)) */
    size_t *order;                   // (count): near samples first, far ones after them
    size_t near;
    workspace *workspaces; // (threads)

    const double *orbit; // (vectors, rows, W), packed for the samples that are computed
    size_t vectors, rows, vectors_per_tile;

    ant_engine_report report;
    double work;        /* in units of samples * vectors, of all passes */
    atomic_size_t done; /* of it */
    double reported;    /* the last fraction and its time: of the calling thread only */
    double report_time;
    atomic_bool stop;
    antler_status status;
} density;

static const ant_mixture_kernels *best_kernels(void)
{
#if defined(__x86_64__)
    switch (ant_cpu_level_best()) {
    case ANT_CPU_AVX512:
        return &ant_mixture_kernels_avx512;
    case ANT_CPU_AVX2:
        return &ant_mixture_kernels_avx2;
    case ANT_CPU_BASE:
        break;
    }
#endif
    return &ant_mixture_kernels_base;
}

/* ---- progress --------------------------------------------------------------------------------- */

/* Count work and report it, if this is the calling thread.  False: stop. */
static bool advance(density *d, size_t work)
{
    const size_t done = atomic_fetch_add(&d->done, work) + work;
    if (omp_get_thread_num() == 0 && d->status == ANTLER_OK && ant_progress_due(&d->report_time)) {
        d->reported = fmax(d->reported, fmin((double)done / d->work, 1.0));
        d->status = ant_progress_report(d->report.progress, d->report.what,
                                        d->report.begin + d->report.span * d->reported);
        if (d->status != ANTLER_OK)
            atomic_store(&d->stop, true);
    }
    return !atomic_load(&d->stop);
}

/* ---- packing ---------------------------------------------------------------------------------- */

static size_t round_up(size_t n, size_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

/* Rows per vector: the constants and the coordinates, or the coordinates alone. */
static void set_orbit_shape(density *d, size_t rows)
{
    const size_t width = d->kernels->width, points = d->mixture->length;
    d->rows = rows;
    d->vectors = round_up(points / width + (points % width != 0), ANT_MIXTURE_STEP);
    const size_t vectors = ORBIT_TILE_BYTES / sizeof(double) / width / rows;
    d->vectors_per_tile =
        vectors < ANT_MIXTURE_STEP ? ANT_MIXTURE_STEP : vectors / ANT_MIXTURE_STEP * ANT_MIXTURE_STEP;
}

/* Where row 0 of a point is in the packed orbit; the other rows follow at distances of W. */
static size_t packed_place(const density *d, size_t point)
{
    const size_t width = d->kernels->width;
    return point / width * d->rows * width + point % width;
}

/* The form for near samples: row 0 holds -|y|^2 / 2, then the scaled coordinates. */
static void pack_scaled(const density *d, double *orbit)
{
    const ant_mixture *m = d->mixture;
    const size_t width = d->kernels->width;
    for (size_t t = 0; t < d->vectors * width; t++) {
        double *place = orbit + packed_place(d, t);
        double half_square = t < m->length ? 0.0 : INFINITY;
        for (size_t i = 0; i < m->dim; i++) {
            const double y = t < m->length ? (m->x[t * m->dim + i] - d->centre[i]) * d->scale[i] : 0.0;
            half_square += 0.5 * y * y;
            place[(i + 1) * width] = y;
        }
        const bool reached = half_square <= UNREACHED;
        place[0] = reached ? -half_square : -UNREACHED;
        for (size_t i = 0; !reached && i < m->dim; i++)
            place[(i + 1) * width] = 0.0;
    }
}

/* The form for far samples: the caller's coordinates; what fills up the last vectors is infinitely far. */
static void pack_plain(const density *d, double *orbit)
{
    const ant_mixture *m = d->mixture;
    const size_t width = d->kernels->width;
    for (size_t t = 0; t < d->vectors * width; t++) {
        double *place = orbit + packed_place(d, t);
        for (size_t i = 0; i < m->dim; i++)
            place[i * width] = t < m->length ? m->x[t * m->dim + i] : INFINITY;
    }
}

static double half_square_of_sample(const density *d, size_t sample)
{
    const double *x = d->samples + sample * d->mixture->dim;
    double half_square = 0.0;
    for (size_t i = 0; i < d->mixture->dim; i++) {
        const double scaled = (x[i] - d->centre[i]) * d->scale[i];
        half_square += 0.5 * scaled * scaled;
    }
    return half_square;
}

/* ---- one tile of samples ----------------------------------------------------------------------- */

static double sum_of_lanes(const density *d, const workspace *w, size_t j)
{
    double sum = 0.0;
    for (size_t lane = 0; lane < d->kernels->width; lane++)
        sum += w->lanes[j * d->kernels->width + lane];
    return sum;
}

static double least_of_lanes(const density *d, const workspace *w, size_t j)
{
    double least = INFINITY;
    for (size_t lane = 0; lane < d->kernels->width; lane++)
        least = fmin(least, w->lanes[j * d->kernels->width + lane]);
    return least;
}

static void fill_lanes(const density *d, workspace *w, double value)
{
    for (size_t i = 0; i < SAMPLE_TILE * d->kernels->width; i++)
        w->lanes[i] = value;
}

/* Coordinate i of member j of the tile. */
static double *group_place(const density *d, workspace *w, size_t j, size_t i)
{
    return w->groups + (j / GROUP * d->mixture->dim + i) * GROUP + j % GROUP;
}

/* Apply a loop to the packed samples of a tile and the whole orbit.  False: stop. */
static bool sweep(density *d, workspace *w, size_t count, loop_kind kind)
{
    const ant_mixture_kernels *k = d->kernels;
    const size_t dim = d->mixture->dim, groups = (count + GROUP - 1) / GROUP;
    for (size_t v = 0; v < d->vectors; v += d->vectors_per_tile) {
        const double *orbit = d->orbit + v * d->rows * k->width;
        const size_t rest = d->vectors - v;
        const size_t vectors = rest < d->vectors_per_tile ? rest : d->vectors_per_tile;
        switch (kind) {
        case SUM_PRODUCTS:
            k->sum_products(orbit, vectors, dim, w->groups, groups, w->lanes);
            break;
        case NEAREST:
            k->nearest(orbit, vectors, dim, d->weight, w->groups, groups, w->lanes);
            break;
        case SUM_DISTANCES:
            k->sum_distances(orbit, vectors, dim, d->weight, w->groups, groups, w->offset, w->lanes);
            break;
        }
        if (!advance(d, vectors * count))
            return false;
    }
    return true;
}

/* order: (count), count <= SAMPLE_TILE.  A sample whose sum is too small is marked for the far samples by
 * NaN.
 */
static void near_tile(density *d, workspace *w, const size_t *order, size_t count)
{
    const size_t dim = d->mixture->dim;
    for (size_t j = 0; j < count; j++) {
        const double *x = d->samples + order[j] * dim;
        w->offset[j] = half_square_of_sample(d, order[j]);
        for (size_t i = 0; i < dim; i++)
            *group_place(d, w, j, i) = (x[i] - d->centre[i]) * d->scale[i];
    }
    fill_lanes(d, w, 0.0);
    if (!sweep(d, w, count, SUM_PRODUCTS))
        return;
    for (size_t j = 0; j < count; j++) {
        const double sum = sum_of_lanes(d, w, j);
        d->log_density[order[j]] = sum >= TINY ? log(sum) - ln_2 * w->offset[j] - d->log_norm : NAN;
    }
}

/* order: (count), count <= SAMPLE_TILE */
static void far_tile(density *d, workspace *w, const size_t *order, size_t count)
{
    const size_t dim = d->mixture->dim;
    for (size_t j = 0; j < count; j++) {
        for (size_t i = 0; i < dim; i++)
            *group_place(d, w, j, i) = d->samples[order[j] * dim + i];
    }
    fill_lanes(d, w, INFINITY);
    if (!sweep(d, w, count, NEAREST))
        return;
    for (size_t j = 0; j < count; j++)
        w->offset[j] = least_of_lanes(d, w, j);
    fill_lanes(d, w, 0.0);
    if (!sweep(d, w, count, SUM_DISTANCES))
        return;
    for (size_t j = 0; j < count; j++) {
        const bool representable = isfinite(w->offset[j]);
        d->log_density[order[j]] =
            representable ? log(sum_of_lanes(d, w, j)) - ln_2 * w->offset[j] - d->log_norm : -INFINITY;
    }
}

/* ---- all samples -------------------------------------------------------------------- */

typedef void tile_fn(density *d, workspace *w, const size_t *order, size_t count);

/* The samples order[first .. end), in tiles that threads take as they become free. */
static void run_tiles(density *d, size_t first, size_t end, tile_fn *tile)
{
    const size_t shares = 4 * (size_t)d->threads, even = round_up((end - first) / shares + 1, GROUP);
    const size_t tile_size = even < SAMPLE_TILE ? even : SAMPLE_TILE;
#pragma omp parallel for num_threads(ant_threads_ready(d->threads)) schedule(dynamic)
    for (size_t begin = first; begin < end; begin += tile_size) {
        const size_t rest = end - begin;
        if (!atomic_load(&d->stop))
            tile(d, &d->workspaces[omp_get_thread_num()], d->order + begin,
                 rest < tile_size ? rest : tile_size);
    }
}

/* Pack the orbit in one of its forms and compute the samples order[first .. end) with it. */
static antler_status run_samples(density *d, size_t first, size_t end, tile_fn *tile, size_t rows,
                                 void (*pack)(const density *d, double *orbit))
{
    if (first == end)
        return ANTLER_OK;
    ant_arena arena;
    set_orbit_shape(d, rows);
    ant_arena_count(&arena);
    (void)ant_arena_take(&arena, d->vectors * rows * d->kernels->width, sizeof(double));
    ANT_TRY(ant_arena_create(&arena, arena.used));
    double *orbit = ant_arena_take(&arena, d->vectors * rows * d->kernels->width, sizeof *orbit);
    pack(d, orbit);
    d->orbit = orbit;
    run_tiles(d, first, end, tile);
    ant_arena_destroy(&arena);
    return d->status;
}

/* Near samples to the front of the order, the others behind them. */
static void sort_samples(density *d)
{
    size_t far = d->count;
    for (size_t i = 0; i < d->count; i++) {
        if (half_square_of_sample(d, i) <= NEAR)
            d->order[d->near++] = i;
        else
            d->order[--far] = i;
    }
}

/* Near samples that were marked join the far ones. */
static void move_marked_samples(density *d)
{
    for (size_t j = d->near; j-- > 0;) {
        if (!isnan(d->log_density[d->order[j]]))
            continue;
        const size_t marked = d->order[j];
        d->order[j] = d->order[--d->near];
        d->order[d->near] = marked;
    }
}

static antler_status run(density *d)
{
    const double sweeps_of_far = 2.0;
    sort_samples(d);
    set_orbit_shape(d, d->mixture->dim);
    const double vectors = (double)d->vectors;
    d->work = vectors * ((double)d->near + sweeps_of_far * (double)(d->count - d->near));
    ANT_TRY(run_samples(d, 0, d->near, near_tile, d->mixture->dim + 1, pack_scaled));
    const size_t near_before = d->near;
    move_marked_samples(d);
    d->work += vectors * sweeps_of_far * (double)(near_before - d->near);
    return run_samples(d, d->near, d->count, far_tile, d->mixture->dim, pack_plain);
}

/* ---- the whole call ----------------------------------------------------------------------------- */

static void carve(ant_arena *arena, density *d)
{
    const size_t dim = d->mixture->dim;
    d->centre = ant_arena_take(arena, dim, sizeof *d->centre);
    d->scale = ant_arena_take(arena, dim, sizeof *d->scale);
    d->weight = ant_arena_take(arena, dim, sizeof *d->weight);
    d->order = ant_arena_take(arena, d->count, sizeof *d->order);
    d->workspaces = ant_arena_take(arena, (size_t)d->threads, sizeof *d->workspaces);
    for (int thread = 0; thread < d->threads; thread++) {
        workspace w;
        w.groups = ant_arena_take(arena, dim, SAMPLE_TILE * sizeof *w.groups);
        w.lanes = ant_arena_take(arena, d->kernels->width, SAMPLE_TILE * sizeof *w.lanes);
        w.offset = ant_arena_take(arena, SAMPLE_TILE, sizeof *w.offset);
        if (arena->base == NULL)
            continue;
        memset(w.groups, 0, dim * SAMPLE_TILE * sizeof *w.groups); /* a tile may leave lanes unused */
        memset(w.offset, 0, SAMPLE_TILE * sizeof *w.offset);
        d->workspaces[thread] = w;
    }
}

/* Centre, scales and the constant of the density. */
static void set_constants(density *d)
{
    const ant_mixture *m = d->mixture;
    const double two_pi = 6.283185307179586476925286766559;
    const double share = 1.0 / (double)m->length;
    memset(d->centre, 0, m->dim * sizeof *d->centre);
    for (size_t t = 0; t < m->length; t++) {
        for (size_t i = 0; i < m->dim; i++)
            d->centre[i] += share * m->x[t * m->dim + i];
    }
    d->log_norm = log((double)m->length);
    for (size_t i = 0; i < m->dim; i++) {
        d->scale[i] = sqrt(log2_e / m->variance[i]);
        d->weight[i] = 0.5 * log2_e / m->variance[i];
        d->log_norm += 0.5 * (log(two_pi) + log(m->variance[i]));
    }
}

static antler_status check_representable(const density *d)
{
    for (size_t i = 0; i < d->count; i++)
        ANT_CHECK(isfinite(d->log_density[i]), ANTLER_NON_FINITE,
                  "sample %zu lies so far from the orbit that its log density is below the range of a double",
                  i);
    return ANTLER_OK;
}

/* The same on an engine: it sums kernels of scaled distances, and the constant of the density is added here.
 */
static antler_status run_on_engine(const ant_engine *engine, density *d)
{
    const ant_engine_kernel_sums work = {.points = d->mixture->x,
                                         .centre = d->centre,
                                         .scale = d->scale,
                                         .samples = d->samples,
                                         .length = d->mixture->length,
                                         .dim = d->mixture->dim,
                                         .count = d->count,
                                         .report = d->report,
                                         .log_sum = d->log_density};
    ANT_TRY(engine->kernel_sums(&work));
    for (size_t i = 0; i < d->count; i++)
        d->log_density[i] -= d->log_norm;
    return ANTLER_OK;
}

antler_status ant_mixture_log_density(const ant_engine *engine, const ant_mixture *mixture,
                                      const double *samples, size_t count, int threads,
                                      ant_engine_report report, double *log_density)
{
    density d = {.mixture = mixture,
                 .samples = samples,
                 .log_density = log_density,
                 .count = count,
                 .kernels = best_kernels(),
                 .threads = ant_threads_resolve(threads),
                 .report = report,
                 .status = ANTLER_OK};
    ant_arena arena;
    ant_arena_count(&arena);
    carve(&arena, &d);
    ANT_CHECK(!arena.overflow, ANTLER_ERROR_MEMORY,
              "out of memory: %zu samples in %zu dimensions are too many", count, mixture->dim);
    ANT_TRY(ant_arena_create(&arena, arena.used));
    carve(&arena, &d);
    set_constants(&d);
    antler_status status = engine == NULL ? run(&d) : run_on_engine(engine, &d);
    ant_arena_destroy(&arena);
    if (status == ANTLER_OK)
        status = check_representable(&d);
    return status;
}
