/* forcing_tmpl.c - B+ and the gradient through it (forcing.h), once per gradient call and in double. */
#include "solve/forcing.h"

#include "model/svd.h"

#include <string.h>

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Doubles of a product in ant_forcing_pinv_gradient. */
static size_t term_count(size_t M, size_t N)
{
    const size_t most = M > N ? M : N;
    return ANT_FN(ant_forcing_many)(M, N) ? N * M : most * most;
}

void ANT_FN(ant_forcing_carve)(ANT_FN(ant_forcing) * f, ant_arena *arena, size_t M, size_t N)
{
    const size_t k = least(M, N), square = term_count(M, N);
    f->M = M;
    f->N = N;
    f->pinv = ant_arena_take(arena, M * N, sizeof *f->pinv);
    f->pinv64 = ant_arena_take(arena, M * N, sizeof *f->pinv64);
    f->b64 = ant_arena_take(arena, N * M, sizeof *f->b64);
    f->u = ant_arena_take(arena, N * k, sizeof *f->u);
    f->sigma = ant_arena_take(arena, k, sizeof *f->sigma);
    f->vt = ant_arena_take(arena, k * M, sizeof *f->vt);
    f->work = ant_arena_take(arena, ant_svd_work(N, M), sizeof *f->work);
    f->terms = ant_arena_take(arena, 3 * square, sizeof *f->terms);
}

antler_status ANT_FN(ant_forcing_set)(ANT_FN(ant_forcing) * f, const real *B)
{
    const size_t M = f->M, N = f->N;
    f->B = B;
    for (size_t i = 0; i < N * M; i++)
        f->b64[i] = f->exact != NULL ? f->exact[i] : (double)B[i];
    ANT_TRY(ant_svd(N, M, f->b64, f->u, f->sigma, f->vt, f->work));
    for (size_t i = 1; i < least(M, N) && f->exact != NULL; i++) /* the rank of the larger matrix */
        f->sigma[i] = f->sigma[i] > (double)f->variables * DBL_EPSILON * f->sigma[0] ? f->sigma[i] : 0.0;
    ant_svd_pinv(N, M, f->u, f->sigma, f->vt, f->pinv64);
    for (size_t i = 0; i < M * N; i++)
        f->pinv[i] = (real)f->pinv64[i];
    return ANTLER_OK;
}

void ANT_FN(ant_forcing_pinv_gradient)(const ANT_FN(ant_forcing) * f, const double *G, double *dB)
{
    const size_t M = f->M, N = f->N, square = term_count(M, N);
    const double *P = f->pinv64;
    double *first = f->terms, *second = first + square, *third = second + square;
    /* -B+^T G B+^T */
    if (ANT_FN(ant_forcing_many)(M, N)) {
        ant_multiply(M, N, M, G, N, 1, P, 1, N, first);
        ant_multiply(N, M, M, P, 1, N, first, M, 1, second);
    } else {
        ant_multiply(N, M, N, P, 1, N, G, N, 1, first);
        ant_multiply(N, N, M, first, N, 1, P, 1, N, second);
    }
    for (size_t i = 0; i < N * M; i++)
        dB[i] -= second[i];
    if (M < N || f->exact != NULL) { /* (I - B B+) G^T B+ B+^T */
        ant_multiply(M, N, M, P, N, 1, P, 1, N, first);
        ant_multiply(N, M, M, G, 1, N, first, M, 1, second); /* (N, M) */
        ant_multiply(M, N, M, P, N, 1, second, M, 1, first); /* B+ times it, (M, M) */
        ant_multiply(N, M, M, f->b64, M, 1, first, M, 1, third);
        for (size_t i = 0; i < N * M; i++)
            dB[i] += second[i] - third[i];
    }
    if (M > N) { /* B+^T B+ G^T (I - B+ B) */
        ant_multiply(N, M, N, P, 1, N, P, N, 1, first);
        ant_multiply(N, N, M, first, N, 1, G, 1, N, second); /* (N, M) */
        ant_multiply(N, M, N, second, M, 1, P, N, 1, first); /* it times B+, (N, N) */
        ant_multiply(N, N, M, first, N, 1, f->b64, M, 1, third);
        for (size_t i = 0; i < N * M; i++)
            dB[i] += second[i] - third[i];
    }
}
