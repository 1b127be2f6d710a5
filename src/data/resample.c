/* resample.c - linear and cubic interpolation in time. */
#include "data/resample.h"

#include <math.h>

/* The slope of x over time at row i: of a parabola through three rows, or of the line to one neighbour. */
static double slope(const ant_resample *r, const double *x, size_t i)
{
    const bool has_left = i > 0 && !isnan(x[i - 1]) && r->stamps[i] - r->stamps[i - 1] <= r->widest;
    const bool has_right =
        i + 1 < r->rows && !isnan(x[i + 1]) && r->stamps[i + 1] - r->stamps[i] <= r->widest;
    const double h_left = has_left ? r->stamps[i] - r->stamps[i - 1] : 1.0;
    const double h_right = has_right ? r->stamps[i + 1] - r->stamps[i] : 1.0;
    const double left = has_left ? (x[i] - x[i - 1]) / h_left : 0.0;
    const double right = has_right ? (x[i + 1] - x[i]) / h_right : 0.0;
    if (has_left && has_right)
        return (h_right * left + h_left * right) / (h_left + h_right);
    return has_left ? left : right;
}

/* The value at time t between rows i and i + 1. */
static double between(const ant_resample *r, const double *x, size_t i, double t)
{
    const double h = r->stamps[i + 1] - r->stamps[i];
    if (h > r->widest || isnan(x[i]) || isnan(x[i + 1]))
        return NAN;
    const double u = (t - r->stamps[i]) / h;
    if (!r->cubic)
        return x[i] + u * (x[i + 1] - x[i]);
    const double v = 1.0 - u;
    return v * v * ((1.0 + 2.0 * u) * x[i] + u * h * slope(r, x, i)) +
           u * u * ((1.0 + 2.0 * v) * x[i + 1] - v * h * slope(r, x, i + 1));
}

void ant_resample_column(const ant_resample *r, const double *x, double *out, size_t out_step)
{
    const double near = 1e-6 * r->step; /* times that differ less are the same */
    size_t i = 0;
    for (size_t k = 0; k < r->count; k++) {
        const double t = r->first + (double)k * r->step;
        while (i + 1 < r->rows && r->stamps[i + 1] <= t + near)
            i++;
        const bool there = fabs(r->stamps[i] - t) <= near;
        out[k * out_step] = there ? x[i] : i + 1 < r->rows ? between(r, x, i, t) : NAN;
    }
}
