/*
 * matrix_function.h - logarithm and exponential of small square matrices, in double, without allocation.
 *
 * The logarithm of a real matrix is complex where an eigenvalue is negative.  Its principal branch has the
 * argument pi there.  (-pi is as good; an eigenvalue solver in complex arithmetic decides by rounding which
 * of the two it is.)
 */
#ifndef ANT_SOLVE_MATRIX_FUNCTION_H
#define ANT_SOLVE_MATRIX_FUNCTION_H

#include "base/arena.h"

typedef struct ant_matrix_function {
    size_t M;
    double *vectors;   /* (M, M): eigenvectors */
    double *value_re;  /* (M): eigenvalues */
    double *value_im;  /* (M) */
    double *right;     /* (M, 2M): right-hand sides */
    double *square[3]; /* (2M, 2M): complex matrices as real ones */
    double *work;
} ant_matrix_function;

void ant_matrix_function_carve(ant_matrix_function *f, ant_arena *arena, size_t M);

/*
 * log a, by eigenvalues.  a: (M, M), overwritten; log: (2, M, M), real and imaginary part.  Eigenvalues of
 * modulus 0 count as the least normal number.  ANTLER_NON_FINITE when `a` is not finite; ANTLER_NOT_CONVERGED
 * when there is no well-conditioned basis of eigenvectors.
 */
antler_status ant_matrix_log(ant_matrix_function *f, double *a, double *log);

/* The largest singular value of exp a.  a: (2, M, M), real and imaginary part. */
antler_status ant_matrix_exp_norm(ant_matrix_function *f, const double *a, double *norm);

#endif
