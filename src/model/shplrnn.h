/*
 * shplrnn.h - the shallow piecewise-linear RNN (spec 1, Eq. shplrnn_nonlinear), packed for running.
 *
 *     z_t = A o z_{t-1} + W phi(V z_{t-1} + b) + C s_t + h        xhat_t = B z_t        A: decay.h
 *
 * One state is too small to fill a vector register, so lanes run over the hidden units in V z and over
 * the latent units in W phi.  Rows are padded with zeros to whole lanes; a low-rank W is multiplied out.
 * The kernels are compiled per instruction set; the same machine gives the same bits in every run.
 */
#ifndef ANT_MODEL_SHPLRNN_H
#define ANT_MODEL_SHPLRNN_H

#include "model/runner.h"

typedef struct ant_shplrnn_runner ant_shplrnn_runner;

/* One table per instruction set (shplrnn_simd.c). */
typedef struct ant_shplrnn_kernels {
    /* `count` free steps from z0.  s: (count, K) or NULL when K = 0; z: (count, M). */
    void (*steps)(const ant_shplrnn_runner *runner, const double *z0, const double *s, size_t count,
                  double *z);
    /* next_k = J(z) vector_k.  vectors, next: (count, Mp); scratch: ant_shplrnn_push_scratch(). */
    void (*push)(const ant_shplrnn_runner *runner, const double *z, size_t count, const double *vectors,
                 double *next, double *scratch);
} ant_shplrnn_kernels;

extern const ant_shplrnn_kernels ant_shplrnn_kernels_base, ant_shplrnn_kernels_avx2,
    ant_shplrnn_kernels_avx512;

struct ant_shplrnn_runner {
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
    double *work;     /* of the pseudo-inverse */
    double *B_o;      /* (N, M): the rows of B that a row of data has; scratch */
    double *pinv_o;   /* (M, N): its pseudo-inverse; scratch */
    const ant_shplrnn_kernels *kernels;
};

/* Slope and weight (Lp each), and the transposed Jacobian (M, Mp). */
static inline size_t ant_shplrnn_push_scratch(const ant_shplrnn_runner *runner)
{
    return 2 * runner->Lp + runner->M * runner->Mp;
}

#endif
