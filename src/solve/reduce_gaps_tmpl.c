/* reduce_gaps_tmpl.c - many observed variables reduced, of which rows lack some (reduce.h has the formulas).
 */
#include "solve/reduce_gaps.h"

#include <string.h>

enum {
    WORD = 64,
    BLOCK = ANT_REDUCE_BLOCK,
    ROWS = 4,    /* that are projected together */
    FLUSH = 256, /* rows after which sums go over to double */
    LISTED = 64, /* rows whose missing values are listed together; divides FLUSH */
};

/* Of a pivot of G to 1: below, x' would lose two digits, and B_o is taken as it is (patterns_tmpl.c). */
#define LEAST_PIVOT (1.0 / 64.0)

typedef ANT_FN(ant_reduce_gaps) gaps;

/* Scratch of a worker. */
typedef struct buffers {
    real *clean;     /* (ROWS, N) */
    real *gram;      /* (M, wide) */
    real *v;         /* (M, lanes) */
    real *filled;    /* (BLOCK, wide): sums of U D */
    uint32_t *index; /* (index_count) */
} buffers;

static buffers buffers_of(const reduction *r, size_t worker)
{
    const size_t M = r->layout.dims.M;
    real *at = r->gaps.scratch + worker * r->gaps.scratch_count;
    buffers b = {.clean = at, .index = r->gaps.index + worker * r->gaps.index_count};
    b.gram = b.clean + ROWS * r->stride;
    b.v = b.gram + M * r->wide;
    b.filled = b.v + M * r->gaps.kernels->lanes;
    return b;
}

static size_t triangle(size_t M)
{
    return M * (M + 1) / 2;
}

void ANT_FN(ant_reduce_gaps_carve)(reduction *r, ant_arena *arena)
{
    gaps *g = &r->gaps;
    const size_t M = r->layout.dims.M, rows = r->batch * r->rows, lanes = g->kernels->lanes;
    g->words = r->stride / WORD;
    g->tiles = (r->rows + lanes - 1) / lanes;
    g->scratch_count = ROWS * r->stride + (M + BLOCK) * r->wide + M * lanes;
    g->bits = ant_arena_take(arena, rows * g->words, sizeof *g->bits);
    g->missing = ant_arena_take(arena, rows, sizeof *g->missing);
    g->pivot = ant_arena_take(arena, r->batch * g->tiles, sizeof *g->pivot);
    g->factor = ant_arena_take(arena, r->batch * g->tiles * triangle(M) * lanes, sizeof *g->factor);
    g->rows_of_u = ant_arena_take(arena, r->stride * r->wide, sizeof *g->rows_of_u);
    g->error = ant_arena_take(arena, rows * r->wide, sizeof *g->error);
    g->h = ant_arena_take(arena, rows * r->wide, sizeof *g->h);
    g->z = ant_arena_take(arena, rows * r->wide, sizeof *g->z);
    g->y = ant_arena_take(arena, rows * r->wide, sizeof *g->y);
    g->square = ant_arena_take(arena, r->batch, sizeof *g->square);
    g->sums = ant_arena_take(arena, r->batch * M * r->wide, sizeof *g->sums);
    g->pinv = ant_arena_take(arena, M * r->wide, sizeof *g->pinv);
    g->of_pulled = ant_arena_take(arena, M * r->wide, sizeof *g->of_pulled);
    g->scratch = ant_arena_take(arena, r->workers * g->scratch_count, sizeof *g->scratch);
    g->index_count = (r->stride > LISTED * BLOCK ? r->stride : LISTED * BLOCK) + ANT_REDUCE_SLACK;
    g->index = ant_arena_take(arena, r->workers * g->index_count, sizeof *g->index);
    g->total = ant_arena_take(arena, r->workers * BLOCK * r->wide, sizeof *g->total);
}

void ANT_FN(ant_reduce_gaps_begin)(reduction *r)
{
    const size_t M = r->layout.dims.M;
    memset(r->gaps.rows_of_u, 0, r->stride * r->wide * sizeof *r->gaps.rows_of_u);
    for (size_t n = 0; n < r->layout.dims.N; n++) {
        for (size_t m = 0; m < M; m++)
            r->gaps.rows_of_u[n * r->wide + m] = r->u[m * r->stride + n];
    }
}

/* ---- x' ------------------------------------------------------------------------------------------------ */

static uint64_t *bits_of(const reduction *r, size_t sequence, size_t t)
{
    return r->gaps.bits + (sequence * r->rows + t) * r->gaps.words;
}

static real *factor_of(const reduction *r, size_t sequence, size_t tile)
{
    const gaps *g = &r->gaps;
    return g->factor + (sequence * g->tiles + tile) * triangle(r->layout.dims.M) * g->kernels->lanes;
}

/* Whether some, but not all, of a row is missing. */
static bool is_partial(const reduction *r, size_t sequence, size_t t)
{
    const uint32_t missing = r->gaps.missing[sequence * r->rows + t];
    return missing > 0 && missing < r->layout.dims.N;
}

static bool is_empty(const reduction *r, size_t sequence, size_t t)
{
    return r->gaps.missing[sequence * r->rows + t] == r->layout.dims.N;
}

/* Rows t .. end-1 are those of a tile; false: none of them is partial, and it has no L. */
static bool tile_rows(const reduction *r, size_t sequence, size_t tile, size_t *t, size_t *end)
{
    const size_t lanes = r->gaps.kernels->lanes;
    bool partial = false;
    *t = tile * lanes;
    *end = *t + lanes < r->rows ? *t + lanes : r->rows;
    for (size_t i = *t; i < *end; i++)
        partial |= is_partial(r, sequence, i);
    return partial;
}

/* G of each row of a tile, I where it is complete or empty.  out: (M (M+1) / 2, lanes) */
static void set_grams(const reduction *r, size_t sequence, size_t first, size_t end, const buffers *b,
                      real *out)
{
    const size_t M = r->layout.dims.M, lanes = r->gaps.kernels->lanes;
    memset(out, 0, triangle(M) * lanes * sizeof *out);
    for (size_t i = 0; i < M; i++) {
        for (size_t k = 0; k < lanes; k++)
            out[(triangle(i) + i) * lanes + k] = 1;
    }
    for (size_t t = first; t < end; t++) {
        if (!is_partial(r, sequence, t))
            continue;
        const size_t count = r->gaps.kernels->list(r->gaps.words, bits_of(r, sequence, t), 0, b->index);
        r->gaps.kernels->gram(M, r->wide, count, b->index, r->gaps.rows_of_u, b->gram);
        real *own = out + t - first;
        for (size_t i = 0; i < M; i++) {
            for (size_t j = 0; j <= i; j++)
                own[(triangle(i) + j) * lanes] -= b->gram[i * r->wide + j];
        }
    }
}

/* Rows of M reals, `stride` apart, to lanes and back.  v: (M, lanes) */
static void to_lanes(size_t M, size_t lanes, size_t rows, const real *from, size_t stride, real *v)
{
    for (size_t k = 0; k < rows; k++) {
        for (size_t m = 0; m < M; m++)
            v[m * lanes + k] = from[k * stride + m];
    }
}

static void from_lanes(size_t M, size_t lanes, size_t rows, const real *v, real *to, size_t stride)
{
    for (size_t k = 0; k < rows; k++) {
        for (size_t m = 0; m < M; m++)
            to[k * stride + m] = v[m * lanes + k];
    }
}

/* x' = G^-1 U_o^T x_o of the rows of a tile, from U_o^T x_o. */
static void solve_tile(const reduction *r, size_t sequence, size_t tile, const buffers *b)
{
    const gaps *g = &r->gaps;
    const size_t M = r->layout.dims.M, lanes = g->kernels->lanes;
    double *pivot = &g->pivot[sequence * g->tiles + tile];
    size_t t, end;
    *pivot = 1.0;
    if (!tile_rows(r, sequence, tile, &t, &end))
        return;
    real *l = factor_of(r, sequence, tile), *x = r->x + (sequence * r->rows + t) * M;
    set_grams(r, sequence, t, end, b, l);
    *pivot = g->kernels->factor(M, l);
    memset(b->v, 0, M * lanes * sizeof *b->v);
    to_lanes(M, lanes, end - t, x, M, b->v);
    g->kernels->solve(M, l, b->v);
    from_lanes(M, lanes, end - t, b->v, x, M);
}

/* An empty row is missing for the narrow model, too; any other NaN stays apart from what is missing. */
static void mark_row(const reduction *r, size_t sequence, size_t t)
{
    const size_t M = r->layout.dims.M;
    const bool empty = is_empty(r, sequence, t);
    real *x = r->x + (sequence * r->rows + t) * M;
    for (size_t m = 0; m < M; m++)
        x[m] = empty ? (real)NAN : x[m] == x[m] ? x[m] : (real)INFINITY;
    if (empty)
        memset(bits_of(r, sequence, t), 0, r->gaps.words * sizeof *r->gaps.bits);
}

void ANT_FN(ant_reduce_gaps_project)(const reduction *r, size_t sequence, size_t first, size_t count,
                                     const real *x, size_t worker)
{
    const gaps *g = &r->gaps;
    const size_t M = r->layout.dims.M, N = r->layout.dims.N, lanes = g->kernels->lanes;
    const buffers b = buffers_of(r, worker);
    for (size_t t = first, rows; t < first + count; t += rows) {
        rows = first + count - t < ROWS ? first + count - t : ROWS;
        for (size_t i = 0; i < rows; i++)
            g->missing[sequence * r->rows + t + i] = (uint32_t)g->kernels->clean(
                N, x + (t - first + i) * N, b.clean + i * N, bits_of(r, sequence, t + i), g->words);
        r->kernels->project(M, N, rows, b.clean, r->u, r->stride, r->x + (sequence * r->rows + t) * M);
    }
    for (size_t tile = first / lanes; tile * lanes < first + count; tile++)
        solve_tile(r, sequence, tile, &b);
    for (size_t t = first; t < first + count; t++)
        mark_row(r, sequence, t);
}

void ANT_FN(ant_reduce_gaps_count)(reduction *r)
{
    gaps *g = &r->gaps;
    g->any = false;
    g->full_rank = true;
    g->values = r->batch * (r->rows - 1 - r->warmup) * r->layout.dims.N;
    for (size_t i = 0; i < r->batch * r->rows; i++) {
        g->any |= g->missing[i] > 0;
        g->values -= i % r->rows > r->warmup ? g->missing[i] : 0;
    }
    for (size_t i = 0; i < r->batch * g->tiles; i++)
        g->full_rank &= g->pivot[i] > LEAST_PIVOT;
}

/* ---- the loss ------------------------------------------------------------------------------------------ */

/* e'^T G e' of the rows of a tile; G e' takes the place of e'.  v: (M, lanes); e: (rows, M) */
static double metric_of_tile(const reduction *r, size_t sequence, size_t tile, real *v, real *e)
{
    const gaps *g = &r->gaps;
    const size_t M = r->layout.dims.M, lanes = g->kernels->lanes;
    size_t t, end;
    double sum = 0.0;
    if (tile_rows(r, sequence, tile, &t, &end)) {
        memset(v, 0, M * lanes * sizeof *v);
        to_lanes(M, lanes, end - t, e + t * M, M, v);
        sum = g->kernels->apply(M, factor_of(r, sequence, tile), v);
        from_lanes(M, lanes, end - t, v, e + t * M, M);
        return sum;
    }
    for (size_t i = t * M; i < end * M; i++)
        sum += (double)e[i] * (double)e[i];
    return sum;
}

typedef struct metric_pass {
    reduction *r;
    shooting *solved;
} metric_pass;

static void metric_part(void *cookie, size_t sequence, size_t worker)
{
    const metric_pass *a = cookie;
    reduction *r = a->r;
    const size_t M = r->layout.dims.M, seen = (r->warmup + 1) * M, values = r->rows * M;
    const buffers b = buffers_of(r, worker);
    real *kept = r->gaps.error + sequence * r->rows * r->wide, *e = r->z + sequence * values;
    memset(kept, 0, r->rows * r->wide * sizeof *kept);
    ANT_FN(ant_shooting_errors)(a->solved, sequence, e);
    memset(e, 0, seen * sizeof *e);
    for (size_t t = 0; t < r->rows; t++) {
        for (size_t m = 0; m < M; m++)
            kept[t * r->wide + m] = -e[t * M + m]; /* as z is kept with the factor -c_t */
    }
    double sum = 0.0;
    for (size_t tile = 0; tile < r->gaps.tiles; tile++)
        sum += metric_of_tile(r, sequence, tile, b.v, e);
    r->gaps.square[sequence] = sum;
    ANT_FN(ant_shooting_set_errors)(a->solved, sequence, e);
}

double ANT_FN(ant_reduction_metric)(reduction *r, ant_team *team, shooting *solved)
{
    metric_pass a = {.r = r, .solved = solved};
    double sum = 0.0;
    ant_team_run(team, r->batch, metric_part, &a);
    for (size_t i = 0; i < r->batch; i++)
        sum += r->gaps.square[i];
    return sum;
}

/* ---- dB ------------------------------------------------------------------------------------------------ */

void ANT_FN(ant_reduce_gaps_weigh_matrices)(const reduction *r, const double *P)
{
    const gaps *g = &r->gaps;
    const size_t M = r->layout.dims.M;
    memset(g->pinv, 0, M * r->wide * sizeof *g->pinv);
    memset(g->of_pulled, 0, M * r->wide * sizeof *g->of_pulled);
    for (size_t k = 0; k < M; k++) {
        for (size_t m = 0; m < M; m++) {
            double sum = 0.0;
            for (size_t j = 0; j < M; j++)
                sum += P[j * M + m] * (double)r->turn[j * M + k];
            g->of_pulled[k * r->wide + m] = (real)-sum;
            g->pinv[k * r->wide + m] = (real)-P[m * M + k];
        }
    }
}

/* h_t of one sequence.  spare: (rows, wide) */
static void set_h(const reduction *r, const shooting *solved, const double *P, size_t sequence,
                  const buffers *b, real *spare)
{
    const gaps *g = &r->gaps;
    const size_t M = r->layout.dims.M, wide = r->wide, lanes = g->kernels->lanes;
    const size_t row = sequence * r->rows * M;
    real *h = g->h + sequence * r->rows * wide, *v = b->v;
    memset(h, 0, r->rows * wide * sizeof *h);
    memset(spare, 0, r->rows * wide * sizeof *spare);
    r->kernels->rest(M, wide, r->rows - 1, wide, spare, r->pulled + row, g->of_pulled, wide, spare, wide);
    for (size_t m = 0; m < M; m++) { /* w_0 */
        double sum = 0.0;
        for (size_t k = 0; k < M; k++)
            sum += P[k * M + m] * (double)solved->first[sequence * M + k];
        spare[m] += (real)sum;
    }
    for (size_t tile = 0, t, end; tile < g->tiles; tile++) {
        const bool partial = tile_rows(r, sequence, tile, &t, &end);
        memset(v, 0, M * lanes * sizeof *v);
        to_lanes(M, lanes, end - t, spare + t * wide, wide, v);
        if (partial)
            g->kernels->solve(M, factor_of(r, sequence, tile), v);
        from_lanes(M, lanes, end - t, v, h + t * wide, wide);
        from_lanes(M, lanes, end - t, v, r->pulled + row + t * M, M);
    }
}

/* y_t of one sequence.  y: (rows, wide) */
static void set_y(const reduction *r, size_t sequence, real *y)
{
    const size_t M = r->layout.dims.M, wide = r->wide;
    memset(y, 0, r->rows * wide * sizeof *y);
    r->kernels->rest(M, wide, r->rows, wide, y, r->window[sequence], r->gaps.pinv, wide, y, wide);
    for (size_t t = 0; t < r->rows; t++) {
        if (!is_empty(r, sequence, t))
            continue;
        memset(y + t * wide, 0, wide * sizeof *y);
    }
}

/* The sums of D_t over one sequence. */
static void sum_products(const reduction *r, bool flow, size_t sequence, real *sums)
{
    const gaps *g = &r->gaps;
    const size_t M = r->layout.dims.M, wide = r->wide;
    double *total = g->sums + sequence * M * wide;
    memset(total, 0, M * wide * sizeof *total);
    for (size_t t = 0; t < r->rows; t += FLUSH) {
        const size_t count = r->rows - t < FLUSH ? r->rows - t : FLUSH, row = sequence * r->rows + t;
        memset(sums, 0, M * wide * sizeof *sums);
        r->kernels->outer(M, count, wide, g->error + row * wide, wide, g->z + row * wide, wide, sums);
        if (flow)
            r->kernels->outer(M, count, wide, g->h + row * wide, wide, g->y + row * wide, wide, sums);
        for (size_t i = 0; i < M * wide; i++)
            total[i] += (double)sums[i];
    }
}

void ANT_FN(ant_reduce_gaps_weigh)(const reduction *r, const shooting *solved, const double *P, bool flow,
                                   size_t sequence, size_t worker)
{
    const gaps *g = &r->gaps;
    const size_t M = r->layout.dims.M, wide = r->wide, row = sequence * r->rows, seen = r->warmup + 1;
    const buffers b = buffers_of(r, worker);
    real *q = r->q + row * wide, *z = r->z + row * M, *weighed = g->z + row * wide;
    ANT_FN(ant_shooting_rows)(solved, sequence, z + M, flow ? r->pulled + row * M : NULL);
    memset(weighed, 0, r->rows * wide * sizeof *weighed);
    r->kernels->rest(M, wide, r->rows - 1, wide, weighed + wide, z + M, r->of_z, wide, weighed + wide, wide);
    memset(q, 0, r->rows * wide * sizeof *q);
    if (flow) {
        set_h(r, solved, P, sequence, &b, g->y + row * wide);
        set_y(r, sequence, g->y + row * wide);
        r->kernels->rest(M, wide, r->rows, wide, q, r->pulled + row * M, g->pinv, wide, q, wide);
    }
    for (size_t i = seen * wide; i < r->rows * wide; i++)
        q[i] += weighed[i];
    sum_products(r, flow, sequence, b.gram);
}

void ANT_FN(ant_reduce_gaps_finish)(reduction *r)
{
    const size_t M = r->layout.dims.M;
    for (size_t m = 0; m < M; m++) {
        for (size_t k = 0; k < M; k++) {
            double sum = 0.0;
            for (size_t i = 0; i < r->batch; i++)
                sum += r->gaps.sums[(i * M + m) * r->wide + k];
            r->gradient[r->narrow.B + m * M + k] = (real)-sum;
        }
    }
}

void ANT_FN(ant_reduce_gaps_fill)(const reduction *r, bool flow, size_t first, size_t count, size_t worker,
                                  real *dB)
{
    const gaps *g = &r->gaps;
    const buffers b = buffers_of(r, worker);
    const size_t M = r->layout.dims.M, wide = r->wide, all = r->batch * r->rows;
    double *total = g->total + worker * BLOCK * wide;
    memset(b.filled, 0, BLOCK * wide * sizeof *b.filled);
    memset(total, 0, BLOCK * wide * sizeof *total);
    for (size_t row = 0; row < all; row += LISTED) {
        const size_t end = row + LISTED < all ? row + LISTED : all;
        size_t found = 0;
        for (size_t i = row; i < end; i++)
            found += g->kernels->list(BLOCK / WORD, g->bits + i * g->words + first / WORD,
                                      (uint32_t)((i - row) * BLOCK), b.index + found);
        const real *const rows[] = {g->error + row * wide, g->z + row * wide, g->h + row * wide,
                                    g->y + row * wide};
        g->kernels->fill(wide, flow, found, b.index, g->rows_of_u + first * wide, rows, b.filled);
        if (end % FLUSH == 0 || end == all)
            ANT_FN(ant_reduce_flush)(BLOCK * wide, b.filled, total);
    }
    for (size_t n = 0; n < count; n++) {
        for (size_t m = 0; m < M; m++)
            dB[n * M + m] = (real)((double)dB[n * M + m] + total[n * wide + m]);
    }
}

/* ---- the loops for the instruction set of this CPU ----------------------------------------------------- */

typedef ANT_FN(ant_reduce_gap_kernels) gap_kernels;

extern const gap_kernels ANT_LEVEL_EXPAND(ANT_FN(ant_reduce_gaps), base);
#if defined(__x86_64__)
extern const gap_kernels ANT_LEVEL_EXPAND(ANT_FN(ant_reduce_gaps), avx2);
extern const gap_kernels ANT_LEVEL_EXPAND(ANT_FN(ant_reduce_gaps), avx512);
#endif

const gap_kernels *ANT_FN(ant_reduce_gap_kernels_of)(ant_cpu_level level)
{
#if defined(__x86_64__)
    if (level == ANT_CPU_AVX512)
        return &ANT_LEVEL_EXPAND(ANT_FN(ant_reduce_gaps), avx512);
    if (level == ANT_CPU_AVX2)
        return &ANT_LEVEL_EXPAND(ANT_FN(ant_reduce_gaps), avx2);
#endif
    (void)level;
    return &ANT_LEVEL_EXPAND(ANT_FN(ant_reduce_gaps), base);
}
