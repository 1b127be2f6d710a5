/* largest.h - the largest magnitude of a row, for the line and the piece kernels. */
#ifndef ANT_SOLVE_LARGEST_H
#define ANT_SOLVE_LARGEST_H

#include "solve/vector.h"

/* max|a_i|; NaN when one is. */
static double largest_of(const real *a, size_t count)
{
    vector top = {0};
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        top = grow(top, *(const vector_loose *)(a + i));
    double size = vector_largest(top);
    for (; i < count; i++)
        size = fabs((double)a[i]) <= size ? size : fabs((double)a[i]);
    return size;
}

#endif
