/* plain_solve.h - the yardstick: forward and backward of one sequence in plain C, one thread, float. */
#ifndef ANT_BENCH_PLAIN_SOLVE_H
#define ANT_BENCH_PLAIN_SOLVE_H

#include <stddef.h>

typedef struct plain_problem {
    size_t M, N, L, T, warmup;
    float alpha;
    const float *A, *W, *V, *b, *h, *B; /* (M), (M,L), (M,L): V transposed, (L), (M), (N,M) */
    const float *pinv;                  /* (M,N) */
    const float *x;                     /* (T+1, N) */
    float *z, *forced, *phi;            /* (T+1, M), (T, M), (T, L): kept by the forward pass */
    float *dA, *dW, *dV, *db, *dh, *dB; /* gradients in the same shapes; B+ is a constant (`stop`) */
} plain_problem;

/* Returns the loss and fills the gradients. */
double plain_gradient(plain_problem *p);

#endif
