/*
 * mixture_simd.h - the inner loops of the mixture density, built once per instruction set.
 *
 * All loops work on a group of ANT_MIXTURE_GROUP samples against vectors of W orbit points, W being the
 * `width` of the instruction set.  Exponents are in base 2.  Arrays are aligned to 64 bytes; `vectors` is a
 * multiple of ANT_MIXTURE_STEP.
 *
 *     groups  (group_count, dim, GROUP)      the samples, coordinate by coordinate
 *     orbit   (vectors, rows, W)             the points, W of them side by side
 *     sums    (group_count, GROUP, W)        added to: one partial sum per lane
 *
 * What is added to a lane, and in which order, depends only on the sample, the orbit, `vectors` and the
 * instruction set: not on the other samples of the call.
 */
#ifndef ANT_MEASURE_MIXTURE_SIMD_H
#define ANT_MEASURE_MIXTURE_SIMD_H

#include <stddef.h>

enum {
    ANT_MIXTURE_GROUP = 4, /* samples that share each load of an orbit vector */
    ANT_MIXTURE_STEP = 2,  /* orbit vectors that may be taken at a time */
};

typedef struct ant_mixture_kernels {
    size_t width; /* W */

    /*
     * sums += 2^(c_t + x . y_t), in `dim` multiply-adds.  Row 0 of the orbit holds c_t, rows 1 .. dim hold
     * y_t.  Powers from 2^-960 to 2^960 are good to 3e-13; smaller ones add at most 2^-960.
     */
    void (*sum_products)(const double *orbit, size_t vectors, size_t dim, const double *groups,
                         size_t group_count, double *sums);

    /* nearest = min(nearest, q_t) with q_t = sum_i weight_i (x_i - y_ti)^2.  nearest: as sums; orbit: dim
     * rows. */
    void (*nearest)(const double *orbit, size_t vectors, size_t dim, const double *weight,
                    const double *groups, size_t group_count, double *nearest);

    /* sums += 2^(shift - q_t).  shift: (group_count, GROUP), at most the smallest q_t of the sample. */
    void (*sum_distances)(const double *orbit, size_t vectors, size_t dim, const double *weight,
                          const double *groups, size_t group_count, const double *shift, double *sums);
} ant_mixture_kernels;

extern const ant_mixture_kernels ant_mixture_kernels_base;
#if defined(__x86_64__)
extern const ant_mixture_kernels ant_mixture_kernels_avx2, ant_mixture_kernels_avx512;
#endif

#endif
