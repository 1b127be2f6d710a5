/*
 * mixture_simd.c - sums of Gaussian kernels, the loops behind D_stsp (spec 8).
 *
 * Compiled once per instruction set; mixture_vector.h holds what differs.  The hot loop, sum_products, costs
 * per vector of kernels `dim` multiply-adds for the exponent and about ten instructions for the power.  It is
 * bound by the multiply-add units: docs/benchmarks.md has the count and the measurements.
 *
 * Each step is written for the whole group before the next step begins, so that dependent instructions are
 * far apart and the processor can overlap independent ones.
 */
#include "measure/mixture_simd.h"

#include "measure/mixture_vector.h"

enum { GROUP = ANT_MIXTURE_GROUP };
_Static_assert(ANT_MIXTURE_STEP % VEC_STEP == 0, "the orbit is padded to whole steps");

#define PASTE(name, level)  name##_##level
#define EXPAND(name, level) PASTE(name, level)

/* One step for every sample of the group, or for every orbit vector of a step. */
#define EACH_SAMPLE _Pragma("GCC unroll 4") for (size_t s = 0; s < GROUP; s++)
#define EACH_VECTOR _Pragma("GCC unroll 2") for (size_t v = 0; v < VEC_STEP; v++)

/* total += 2^t.  total, t: (GROUP) */
ANT_INLINE void add_powers(vec *total, const vec *t)
{
    const vec rounder = vec_set(VEC_ROUNDER);
    vec z[GROUP], k[GROUP], f[GROUP], p[GROUP];
    EACH_SAMPLE f[s] = vec_bound(t[s]);
    EACH_SAMPLE z[s] = vec_add(f[s], rounder);
    EACH_SAMPLE k[s] = vec_sub(z[s], rounder);
    EACH_SAMPLE f[s] = vec_sub(f[s], k[s]);
    EACH_SAMPLE p[s] = vec_add(f[s], vec_set(vec_polynomial[VEC_DEGREE - 1]));
    _Pragma("GCC unroll 8") for (size_t j = VEC_DEGREE - 1; j > 0; j--)
    {
        EACH_SAMPLE p[s] = vec_fma(p[s], f[s], vec_set(vec_polynomial[j - 1]));
    }
    EACH_SAMPLE z[s] = vec_power(z[s], k[s]);
    EACH_SAMPLE total[s] = vec_fma(p[s], z[s], total[s]);
}

/* sums: (GROUP, W) */
ANT_INLINE void add_to_sums(const vec *total, double *sums)
{
    EACH_SAMPLE
    {
        const vec sum = vec_add(vec_load(sums + s * VEC_WIDTH), total[s]);
        vec_store(sums + s * VEC_WIDTH, sum);
    }
}

/* t = c + x . y for the next orbit vectors.  t: (VEC_STEP, GROUP); orbit: (VEC_STEP, dim + 1, W) */
ANT_INLINE void products(const double *orbit, size_t dim, const double *group, vec t[VEC_STEP][GROUP])
{
    const size_t stride = (dim + 1) * VEC_WIDTH;
    EACH_VECTOR
    {
        EACH_SAMPLE t[v][s] = vec_load(orbit + v * stride);
    }
    for (size_t i = 0; i < dim; i++, group += GROUP) {
        orbit += VEC_WIDTH;
        vec y[VEC_STEP];
        EACH_VECTOR y[v] = vec_load(orbit + v * stride);
        EACH_SAMPLE
        {
            EACH_VECTOR t[v][s] = vec_fma(vec_set(group[s]), y[v], t[v][s]);
        }
    }
}

static void sum_products(const double *orbit, size_t vectors, size_t dim, const double *groups,
                         size_t group_count, double *sums)
{
    for (size_t g = 0; g < group_count; g++, groups += dim * GROUP, sums += GROUP * VEC_WIDTH) {
        vec total[GROUP], t[VEC_STEP][GROUP];
        EACH_SAMPLE total[s] = vec_set(0.0);
        for (size_t n = 0; n < vectors; n += VEC_STEP) {
            products(orbit + n * (dim + 1) * VEC_WIDTH, dim, groups, t);
            EACH_VECTOR add_powers(total, t[v]);
        }
        add_to_sums(total, sums);
    }
}

/* q = sum_i weight_i (x_i - y_i)^2, from differences: no digits are lost however far the orbit is from 0. */
ANT_INLINE void distances(const double *orbit, size_t dim, const double *weight, const double *group, vec *q)
{
    EACH_SAMPLE q[s] = vec_set(0.0);
    for (size_t i = 0; i < dim; i++, orbit += VEC_WIDTH, group += GROUP) {
        const vec y = vec_load(orbit), w = vec_set(weight[i]);
        vec difference[GROUP];
        EACH_SAMPLE difference[s] = vec_sub(vec_set(group[s]), y);
        EACH_SAMPLE q[s] = vec_fma(vec_mul(difference[s], w), difference[s], q[s]);
    }
}

static void nearest(const double *orbit, size_t vectors, size_t dim, const double *weight,
                    const double *groups, size_t group_count, double *least)
{
    for (size_t g = 0; g < group_count; g++, groups += dim * GROUP, least += GROUP * VEC_WIDTH) {
        vec best[GROUP], q[GROUP];
        EACH_SAMPLE best[s] = vec_load(least + s * VEC_WIDTH);
        for (size_t n = 0; n < vectors; n++) {
            distances(orbit + n * dim * VEC_WIDTH, dim, weight, groups, q);
            EACH_SAMPLE best[s] = vec_min(q[s], best[s]);
        }
        EACH_SAMPLE vec_store(least + s * VEC_WIDTH, best[s]);
    }
}

static void sum_distances(const double *orbit, size_t vectors, size_t dim, const double *weight,
                          const double *groups, size_t group_count, const double *shift, double *sums)
{
    for (size_t g = 0; g < group_count;
         g++, groups += dim * GROUP, shift += GROUP, sums += GROUP * VEC_WIDTH) {
        vec total[GROUP], t[GROUP];
        EACH_SAMPLE total[s] = vec_set(0.0);
        for (size_t n = 0; n < vectors; n++) {
            distances(orbit + n * dim * VEC_WIDTH, dim, weight, groups, t);
            EACH_SAMPLE t[s] = vec_max(vec_sub(vec_set(shift[s]), t[s]), vec_set(VEC_LEAST));
            add_powers(total, t);
        }
        add_to_sums(total, sums);
    }
}

const ant_mixture_kernels EXPAND(ant_mixture_kernels, ANT_SIMD) = {VEC_WIDTH, sum_products, nearest,
                                                                   sum_distances};
