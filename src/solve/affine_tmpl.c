/* affine_tmpl.c - maps with full or diagonal matrices for scan.h. */
#include "solve/affine.h"

#include "solve/scan.h"

#include <string.h>

typedef ANT_FN(ant_affine) affine;

static size_t total_count(size_t M)
{
    return 2 * (M * M + M); /* a map and memory to build the next */
}

void ANT_FN(ant_affine_carve)(ANT_FN(ant_affine_work) * work, ant_arena *arena, size_t M)
{
    work->totals = ant_arena_take(arena, work->segments * total_count(M), sizeof(real));
    work->borders = ant_arena_take(arena, work->segments * M, sizeof(real));
}

static size_t time_of(const affine *a, size_t i)
{
    return a->reverse ? a->T - 1 - i : i;
}

/* out = J in, transposed in reverse, plus offset unless it is NULL.  in, out: (M, cols) */
static void multiply(const affine *a, size_t t, const real *in, size_t cols, const real *offset, real *out)
{
    const size_t M = a->M;
    for (size_t i = 0; i < M; i++) {
        real *row = out + i * cols;
        for (size_t c = 0; c < cols; c++)
            row[c] = offset != NULL ? offset[i] : 0;
        if (a->diagonal) {
            for (size_t c = 0; c < cols; c++)
                row[c] += a->diagonals[t * M + i] * in[i * cols + c];
            continue;
        }
        const real *J = a->jacobian + t * M * M;
        for (size_t j = 0; j < M; j++) {
            const real factor = a->reverse ? J[j * M + i] : J[i * M + j];
            for (size_t c = 0; c < cols; c++)
                row[c] += factor * in[j * cols + c];
        }
    }
}

/* A total is a matrix, a vector, and memory for the next of each.  A diagonal matrix is stored in one column.
 */
static void compose(void *context, size_t first, size_t last, void *total)
{
    const affine *a = context;
    const size_t M = a->M, cols = a->diagonal ? 1 : M;
    real *matrix = total, *vector = matrix + M * M, *next_matrix = vector + M,
         *next_vector = next_matrix + M * M;
    memset(matrix, 0, (M * M + M) * sizeof *matrix);
    for (size_t m = 0; m < M; m++)
        matrix[a->diagonal ? m : m * M + m] = 1;
    for (size_t i = first; i < last; i++) {
        const size_t t = time_of(a, i);
        multiply(a, t, matrix, cols, NULL, next_matrix);
        multiply(a, t, vector, 1, a->offset + t * M, next_vector);
        memcpy(matrix, next_matrix, M * cols * sizeof *matrix);
        memcpy(vector, next_vector, M * sizeof *vector);
    }
}

static void act(void *context, const void *total, const void *from, void *to)
{
    const affine *a = context;
    const size_t M = a->M;
    const real *matrix = total, *vector = matrix + M * M, *in = from;
    real *out = to;
    for (size_t i = 0; i < M; i++) {
        out[i] = vector[i];
        for (size_t j = 0; j < M && !a->diagonal; j++)
            out[i] += matrix[i * M + j] * in[j];
        if (a->diagonal)
            out[i] += matrix[i] * in[i];
    }
}

static void sweep(void *context, size_t first, size_t last, const void *from)
{
    const affine *a = context;
    const real *in = from;
    for (size_t i = first; i < last; i++) {
        const size_t t = time_of(a, i);
        real *out = a->state + (a->reverse ? t : t + 1) * a->M;
        multiply(a, t, in, 1, a->offset + t * a->M, out);
        in = out;
    }
}

void ANT_FN(ant_affine_run)(const ANT_FN(ant_affine_work) * work, affine *a, size_t count, const real *first)
{
    memcpy(work->borders, first, a->M * sizeof *first);
    ant_scan scan = {.count = count,
                     .segments = work->segments,
                     .context = a,
                     .compose = compose,
                     .act = act,
                     .sweep = sweep,
                     .totals = (unsigned char *)work->totals,
                     .total_bytes = total_count(a->M) * sizeof(real),
                     .borders = (unsigned char *)work->borders,
                     .state_bytes = a->M * sizeof(real)};
    ant_scan_run(&scan, work->team);
}

double ANT_FN(ant_newton_tolerance)(double given)
{
    const double tolerance = sizeof(real) == sizeof(float) ? 1e-4 : 1e-10;
    return given > 0.0 ? given : tolerance;
}

antler_status ANT_FN(ant_affine_newton)(const ANT_FN(ant_affine_work) * work, affine *a,
                                        void (*linearise)(void *cookie), void *cookie, double tolerance,
                                        int max_iterations, real *z, int *iterations, double *last_change)
{
    antler_status outcome = ANTLER_NOT_CONVERGED;
    memset(a->state, 0, a->M * sizeof *a->state);
    *iterations = 0;
    *last_change = 0.0;
    while (outcome == ANTLER_NOT_CONVERGED && *iterations < max_iterations) {
        linearise(cookie);
        ANT_FN(ant_affine_run)(work, a, a->T, a->state);
        double change = 0.0;
        for (size_t i = a->M; i < (a->T + 1) * a->M; i++) {
            z[i] += a->state[i];
            const double size = fabs((double)a->state[i]);
            change = size <= change ? change : size; /* lets NaN through */
        }
        (*iterations)++;
        *last_change = change;
        if (!isfinite(change))
            outcome = ANTLER_NON_FINITE;
        else if (change < tolerance)
            outcome = ANTLER_OK;
    }
    linearise(cookie);
    return outcome;
}
