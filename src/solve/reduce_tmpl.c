/* reduce_tmpl.c - many observed variables reduced to as many as there are latent units (reduce.h). */
#include "solve/reduce_gaps.h"

#include "model/thin_qr.h"

#include <string.h>

enum {
    ROWS = 64,                 /* rows of x that one part projects; a multiple of all lanes */
    BLOCK = ANT_REDUCE_BLOCK,  /* variables of a part of the rests */
    TILE = 128 / sizeof(real), /* rows whose rests stay in the cache */
    FLUSH = 256,               /* rows after which the sums of a block go over to double */
};

/* Less work than this, in multiplications, is done before others wake. */
#define SHARED_LEAST 1e6

/* One pass over x, which threads share. */
typedef struct pass {
    reduction *r;
    const shooting *solved;
    const real *const *x;
    real *gradient;  /* NULL: the squares alone */
    const double *P; /* R+ */
    bool flow;
} pass;

static size_t blocks_of(const reduction *r)
{
    return (r->layout.dims.N + BLOCK - 1) / BLOCK;
}

static size_t scratch_count(const reduction *r)
{
    return (r->layout.dims.M + TILE) * BLOCK;
}

bool ANT_FN(ant_reduction_fits)(const ant_model_layout *layout, const ant_solve_options *options)
{
    const ant_model_dims *d = &layout->dims;
    const ant_solver solver = options->solver;
    return (solver == ANT_SOLVER_AUTO || solver == ANT_SOLVER_SEQUENTIAL || solver == ANT_SOLVER_SHOOTING) &&
           ANT_FN(ant_forcing_many)(d->M, d->N) && layout->B + d->N * d->M == layout->total;
}

void ANT_FN(ant_reduction_carve)(reduction *r, ant_arena *arena)
{
    const size_t M = r->layout.dims.M, N = r->layout.dims.N, values = r->batch * r->rows * M;
    r->stride = blocks_of(r) * BLOCK;
    r->wide = (M + r->kernels->lanes - 1) / r->kernels->lanes * r->kernels->lanes;
    r->b64 = ant_arena_take(arena, N * M, sizeof *r->b64);
    r->u64 = ant_arena_take(arena, M * ant_thin_qr_width(N), sizeof *r->u64);
    r->r64 = ant_arena_take(arena, M * M, sizeof *r->r64);
    r->gram = ant_arena_take(arena, M * M, sizeof *r->gram);
    r->work = ant_arena_take(arena, M, sizeof *r->work);
    r->u = ant_arena_take(arena, M * r->stride, sizeof *r->u);
    r->parameters = ant_arena_take(arena, r->narrow.total, sizeof *r->parameters);
    r->gradient = ant_arena_take(arena, r->narrow.total, sizeof *r->gradient);
    r->x = ant_arena_take(arena, values, sizeof *r->x);
    r->z = ant_arena_take(arena, values, sizeof *r->z);
    r->q = ant_arena_take(arena, r->batch * r->rows * r->wide, sizeof *r->q);
    r->turn = ant_arena_take(arena, M * M, sizeof *r->turn);
    r->of_z = ant_arena_take(arena, M * r->wide, sizeof *r->of_z);
    r->of_pulled = ant_arena_take(arena, M * r->wide, sizeof *r->of_pulled);
    r->pulled = ant_arena_take(arena, values, sizeof *r->pulled);
    r->window = ant_arena_take(arena, r->batch, sizeof *r->window);
    r->scratch = ant_arena_take(arena, r->workers * scratch_count(r), sizeof *r->scratch);
    r->sums = ant_arena_take(arena, r->workers * M * BLOCK, sizeof *r->sums);
    r->square = ant_arena_take(arena, blocks_of(r), sizeof *r->square);
    if (r->gaps.kernels != NULL)
        ANT_FN(ant_reduce_gaps_carve)(r, arena);
}

/* The team, or NULL where the work is too little to be shared. */
static ant_team *team_for(const reduction *r, ant_team *team)
{
    const double values = (double)(r->batch * r->rows) * (double)r->layout.dims.N;
    return values * (double)r->layout.dims.M < SHARED_LEAST ? NULL : team;
}

static void project_part(void *cookie, size_t part, size_t worker)
{
    const pass *a = cookie;
    const reduction *r = a->r;
    const size_t M = r->layout.dims.M, N = r->layout.dims.N, parts = (r->rows + ROWS - 1) / ROWS;
    const size_t sequence = part / parts, first = part % parts * ROWS;
    const size_t count = r->rows - first < ROWS ? r->rows - first : ROWS;
    const real *x = a->x[sequence] + first * N;
    if (r->gaps.kernels != NULL)
        ANT_FN(ant_reduce_gaps_project)(r, sequence, first, count, x, worker);
    else
        r->kernels->project(M, N, count, x, r->u, r->stride, r->x + (sequence * r->rows + first) * M);
}

antler_status ANT_FN(ant_reduction_begin)(reduction *r, ant_team *team, const real *parameters,
                                          const real *const *x)
{
    const size_t M = r->layout.dims.M, N = r->layout.dims.N, width = ant_thin_qr_width(N);
    for (size_t i = 0; i < N * M; i++)
        r->b64[i] = (double)parameters[r->layout.B + i];
    ANT_TRY(ant_thin_qr(N, M, r->b64, r->u64, r->r64, r->work));
    memset(r->u, 0, M * r->stride * sizeof *r->u);
    for (size_t m = 0; m < M; m++) {
        for (size_t n = 0; n < N; n++)
            r->u[m * r->stride + n] = (real)r->u64[m * width + n];
    }
    memcpy(r->parameters, parameters, r->narrow.B * sizeof *parameters); /* B is the last slice */
    for (size_t i = 0; i < M * M; i++)
        r->parameters[r->narrow.B + i] = (real)r->r64[i];
    for (size_t i = 0; i < r->batch; i++)
        r->window[i] = r->x + i * r->rows * M;
    if (r->gaps.kernels != NULL)
        ANT_FN(ant_reduce_gaps_begin)(r);
    pass a = {.r = r, .x = x};
    ant_team_run(team_for(r, team), r->batch * ((r->rows + ROWS - 1) / ROWS), project_part, &a);
    if (r->gaps.kernels != NULL)
        ANT_FN(ant_reduce_gaps_count)(r);
    return ANTLER_OK;
}

/* How z and a w enter q, of_z = c turn^T and of_pulled = -(B+ B+^T turn)^T, in rows padded with zeros. */
static void weigh_matrices(const reduction *r, const solve_call *p, const shooting *solved)
{
    const size_t M = r->layout.dims.M;
    const double *P = p->forcing->pinv64;
    ant_multiply(M, M, M, P, M, 1, P, 1, M, r->gram); /* B+ B+^T = R+ R+^T */
    ANT_FN(ant_shooting_turn)(solved, r->turn);
    memset(r->of_z, 0, M * r->wide * sizeof *r->of_z);
    memset(r->of_pulled, 0, M * r->wide * sizeof *r->of_pulled);
    for (size_t k = 0; k < M; k++) {
        for (size_t m = 0; m < M; m++) {
            double sum = 0.0;
            for (size_t j = 0; j < M; j++)
                sum += r->gram[m * M + j] * (double)r->turn[j * M + k];
            r->of_z[k * r->wide + m] = p->weight * r->turn[m * M + k];
            r->of_pulled[k * r->wide + m] = (real)-sum;
        }
    }
    if (r->gaps.any)
        ANT_FN(ant_reduce_gaps_weigh_matrices)(r, P);
}

/* q_t of one sequence. */
static void weigh_part(void *cookie, size_t sequence, size_t worker)
{
    const pass *a = cookie;
    const reduction *r = a->r;
    const size_t M = r->layout.dims.M, wide = r->wide, seen = r->warmup + 1;
    real *q = r->q + sequence * r->rows * wide, *z = r->z + sequence * r->rows * M;
    real *pulled = a->flow ? r->pulled + sequence * r->rows * M : NULL;
    if (r->gaps.any) {
        ANT_FN(ant_reduce_gaps_weigh)(r, a->solved, a->P, a->flow, sequence, worker);
        return;
    }
    memset(q, 0, r->rows * wide * sizeof *q);
    ANT_FN(ant_shooting_rows)(a->solved, sequence, z + M, pulled);
    r->kernels->rest(M, wide, r->rows - seen, wide, q + seen * wide, z + seen * M, r->of_z, wide,
                     q + seen * wide, wide);
    if (!a->flow)
        return;
    r->kernels->rest(M, wide, r->rows - 1, wide, q, pulled, r->of_pulled, wide, q, wide);
    for (size_t m = 0; m < M; m++) { /* w_0 */
        double sum = 0.0;
        for (size_t k = 0; k < M; k++)
            sum += r->gram[m * M + k] * (double)a->solved->first[sequence * M + k];
        q[m] += (real)sum;
    }
}

/* The rests of a block of variables: their squares, and with a gradient its rows of B. */
static void rest_part(void *cookie, size_t block, size_t worker)
{
    const pass *a = cookie;
    const reduction *r = a->r;
    const ANT_FN(ant_reduce_kernels) *k = r->kernels;
    const size_t M = r->layout.dims.M, N = r->layout.dims.N, first = block * BLOCK;
    const size_t count = N - first < BLOCK ? N - first : BLOCK;
    const size_t width = (count + k->lanes - 1) / k->lanes * k->lanes;
    const size_t begin = a->flow ? 0 : r->warmup + 1; /* rows before have no weight */
    const real *u = r->u + first;
    real *sums = r->scratch + worker * scratch_count(r), *rests = sums + M * BLOCK;
    double *total = r->sums + worker * M * BLOCK, square = 0.0;
    memset(sums, 0, M * width * sizeof *sums);
    memset(total, 0, M * width * sizeof *total);
    if (a->gradient != NULL) /* U dR */
        k->outer(M, M, width, r->gradient + r->narrow.B, M, u, r->stride, sums);
    for (size_t i = 0, since = 0; i < r->batch; i++) {
        const real *q = r->q + i * r->rows * r->wide;
        for (size_t t = begin, rows; t < r->rows; t += rows) {
            rows = r->rows - t < TILE ? r->rows - t : TILE;
            k->rest(M, N, rows, count, a->x[i] + t * N + first, r->window[i] + t * M, u, r->stride, rests,
                    width);
            if (r->gaps.any)
                r->gaps.kernels->blank(rows * width, rests);
            const size_t unseen = t > r->warmup ? 0 : r->warmup + 1 - t;
            if (unseen < rows)
                square += k->square((rows - unseen) * width, rests + unseen * width);
            if (a->gradient != NULL)
                k->outer(M, rows, width, q + t * r->wide, r->wide, rests, width, sums);
            since += rows;
            if (since >= FLUSH) {
                ANT_FN(ant_reduce_flush)(M * width, sums, total);
                since = 0;
            }
        }
    }
    ANT_FN(ant_reduce_flush)(M * width, sums, total);
    r->square[block] = square;
    for (size_t n = 0; n < count && a->gradient != NULL; n++) {
        for (size_t m = 0; m < M; m++)
            a->gradient[r->layout.B + (first + n) * M + m] = (real)total[m * width + n];
    }
    if (r->gaps.any && a->gradient != NULL)
        ANT_FN(ant_reduce_gaps_fill)(r, a->flow, first, count, worker, a->gradient + r->layout.B + first * M);
}

/* All rests; the sum of their squares. */
static double run_rests(pass *a, ant_team *team)
{
    double square = 0.0;
    ant_team_run(team_for(a->r, team), blocks_of(a->r), rest_part, a);
    for (size_t block = 0; block < blocks_of(a->r); block++)
        square += a->r->square[block];
    return square;
}

double ANT_FN(ant_reduction_square)(reduction *r, ant_team *team, const real *const *x)
{
    pass a = {.r = r, .x = x};
    return run_rests(&a, team);
}

double ANT_FN(ant_reduction_gradient)(reduction *r, ant_team *team, const solve_call *narrow,
                                      const shooting *solved, const real *const *x, real *gradient)
{
    pass a = {.r = r,
              .solved = solved,
              .x = x,
              .gradient = gradient,
              .P = narrow->forcing->pinv64,
              .flow = narrow->teacher == ANT_TEACHER_FLOW};
    weigh_matrices(r, narrow, solved);
    ant_team_run(team_for(r, team), r->batch, weigh_part, &a);
    if (r->gaps.any)
        ANT_FN(ant_reduce_gaps_finish)(r);
    memcpy(gradient, r->gradient, r->layout.B * sizeof *gradient);
    return run_rests(&a, team);
}

/* ---- the loops for the instruction set of this CPU ----------------------------------------------------- */

typedef ANT_FN(ant_reduce_kernels) reduce_kernels;

extern const reduce_kernels ANT_LEVEL_EXPAND(ANT_FN(ant_reduce), base);
#if defined(__x86_64__)
extern const reduce_kernels ANT_LEVEL_EXPAND(ANT_FN(ant_reduce), avx2);
extern const reduce_kernels ANT_LEVEL_EXPAND(ANT_FN(ant_reduce), avx512);
#endif

const reduce_kernels *ANT_FN(ant_reduce_kernels_of)(ant_cpu_level level)
{
#if defined(__x86_64__)
    if (level == ANT_CPU_AVX512)
        return &ANT_LEVEL_EXPAND(ANT_FN(ant_reduce), avx512);
    if (level == ANT_CPU_AVX2)
        return &ANT_LEVEL_EXPAND(ANT_FN(ant_reduce), avx2);
#endif
    (void)level;
    return &ANT_LEVEL_EXPAND(ANT_FN(ant_reduce), base);
}
