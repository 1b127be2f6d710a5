/*
 * runner.h - a model packed for running: weights in double, transposed and padded for vector units.
 *
 * One state is too small to fill a vector register, so lanes run over the hidden units in V z and over
 * the latent units in W phi.  Rows are padded with zeros to whole lanes; a low-rank W is multiplied out.
 * The kernel is compiled per instruction set; the same machine gives the same bits in every run.
 */
#ifndef ANT_MODEL_RUNNER_H
#define ANT_MODEL_RUNNER_H

#include "base/arena.h"
#include "base/lanes.h"
#include "model/handle.h"

typedef struct ant_runner ant_runner;

/* One table per instruction set (runner_simd.c). */
typedef struct ant_runner_kernels {
    /* `count` free steps from z0.  s: (count, K) or NULL when K = 0; z: (count, M). */
    void (*steps)(const ant_runner *runner, const double *z0, const double *s, size_t count, double *z);
} ant_runner_kernels;

extern const ant_runner_kernels ant_runner_kernels_base, ant_runner_kernels_avx2, ant_runner_kernels_avx512;

struct ant_runner {
    size_t M, N, L, K;
    size_t Mp, Lp; /* M and L, padded */
    bool clipped;
    double *A, *h;    /* (Mp) */
    double *Wt;       /* (Lp, Mp) */
    double *Vt;       /* (M, Lp) */
    double *b;        /* (Lp) */
    double *Ct;       /* (K, Mp) */
    double *B;        /* (N, M) */
    double *pinv;     /* (M, N): B+ */
    double *hidden;   /* (Lp): scratch of the kernel */
    double *state[2]; /* (Mp): scratch of the kernel */
    double *next;     /* (M): scratch of the warm-up */
    double *error;    /* (N): scratch of the forcing */
    const ant_runner_kernels *kernels;
    ant_arena arena;
};

/* Pack a model.  ANTLER_NON_FINITE when a parameter is NaN or infinite.  One runner serves one thread. */
antler_status ant_runner_create(const antler_model *model, ant_runner **runner);
void ant_runner_free(ant_runner *runner);

/* `count` free steps from z0.  s: (count, K) or NULL when K = 0; z: (count, M), not overlapping z0. */
void ant_runner_steps(const ant_runner *runner, const double *z0, const double *s, size_t count, double *z);

/* xhat = B z.  z: (count, M); x: (count, N). */
void ant_runner_observe(const ant_runner *runner, const double *z, size_t count, double *x);

/*
 * Warm-up (SPEC 2): z_0 = B+ x_0, then each of the other rows forces with strength 1.  On return z is the
 * forced state of the last row, from which the next step is free.  x: (rows, N), rows >= 1;
 * s: (rows, K) or NULL, row t beside x_t; z: (M).
 */
void ant_runner_warm(const ant_runner *runner, const double *x, const double *s, size_t rows, double *z);

#endif
