/* tangent_simd.c - QR of tangent vectors, once per instruction set. */
#include "measure/tangent.h"

#include <math.h>
#include <string.h>

#define PASTE(name, level)  name##_##level
#define EXPAND(name, level) PASTE(name, level)

/* sum_m a_m b_m from entry `first`, a multiple of the lanes, on. */
static double dot(const double *a, const double *b, size_t first, size_t Mp)
{
    ant_lanes sum = {0.0};
    for (size_t m = first; m < Mp; m += ANT_LANES)
        sum += *(const ant_lanes *)(a + m) * *(const ant_lanes *)(b + m);
    double all = 0.0;
    for (int i = 0; i < ANT_LANES; i++)
        all += sum[i];
    return all;
}

/* row -= tau (row . v) v: the reflection in the plane orthogonal to v. */
static void reflect(double *row, const double *v, double tau, size_t first, size_t Mp)
{
    const double factor = tau * dot(row, v, first, Mp);
    for (size_t m = first; m < Mp; m += ANT_LANES)
        *(ant_lanes *)(row + m) -= *(const ant_lanes *)(v + m) * factor;
}

/* Squares below this lose digits to underflow, down to a norm of 0 for a vector that has a direction. */
#define SMALL_SQUARE 1e-280

/* v <- v / largest |v|, so that squares are of order 1; returns that largest entry. */
static double rescale(double *v, size_t first, size_t Mp)
{
    double largest = 0.0;
    for (size_t m = first; m < Mp; m++)
        largest = fmax(largest, fabs(v[m]));
    for (size_t m = first; m < Mp && largest > 0.0; m++)
        v[m] /= largest;
    return largest;
}

/* The reflector that takes entries k, k+1, ... of `row` to one number at k; returns the logarithm of its
 * magnitude. */
static double make_reflector(const double *row, size_t k, size_t Mp, double *v, double *tau)
{
    memset(v, 0, Mp * sizeof *v);
    memcpy(v + k, row + k, (Mp - k) * sizeof *v);
    const size_t first = k / ANT_LANES * ANT_LANES;
    double square = dot(v, v, first, Mp), scale = 1.0;
    if (square < SMALL_SQUARE) {
        scale = rescale(v, first, Mp);
        square = dot(v, v, first, Mp);
    }
    const double length = sqrt(square);
    v[k] += v[k] > 0.0 ? length : -length; /* adds in magnitude: no cancellation */
    const double reflected = dot(v, v, first, Mp);
    *tau = reflected > 0.0 ? 2.0 / reflected : 0.0;
    return log(length) + (scale == 1.0 ? 0.0 : log(scale));
}

static void orthonormalise(ant_tangent *t, double *logs)
{
    const size_t count = t->count, Mp = t->stride;
    for (size_t k = 0; k < count; k++) {
        double *v = t->reflector + k * Mp;
        const size_t first = k / ANT_LANES * ANT_LANES;
        logs[k] = make_reflector(t->P + k * Mp, k, Mp, v, &t->tau[k]);
        for (size_t j = k + 1; j < count; j++)
            reflect(t->P + j * Mp, v, t->tau[k], first, Mp);
    }
    memset(t->P, 0, count * Mp * sizeof *t->P);
    for (size_t k = count; k-- > 0;) { /* row k of Q is H_0 ... H_k e_k */
        const size_t first = k / ANT_LANES * ANT_LANES;
        t->P[k * Mp + k] = 1.0;
        for (size_t j = k; j < count; j++)
            reflect(t->P + j * Mp, t->reflector + k * Mp, t->tau[k], first, Mp);
    }
}

const ant_tangent_kernels EXPAND(ant_tangent_kernels, ANT_SIMD) = {orthonormalise};
