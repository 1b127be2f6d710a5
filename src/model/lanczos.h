/* lanczos.h - the largest singular value of a dense matrix, without forming or decomposing a product. */
#ifndef ANT_MODEL_LANCZOS_H
#define ANT_MODEL_LANCZOS_H

#include <stddef.h>

/* Doubles of scratch for a (rows, cols) matrix. */
size_t ant_lanczos_work(size_t rows, size_t cols);

/*
 * lambda_max(a^T a), the square of the largest singular value, by Lanczos' method from a constant vector.
 * Plain loops on one thread: the same bytes whatever the number of threads, which BLAS does not promise.
 * a: (rows, cols), finite; work: ant_lanczos_work() doubles.
 */
double ant_largest_square(size_t rows, size_t cols, const double *a, double *work);

#endif
