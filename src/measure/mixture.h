/*
 * mixture.h - the log density of a Gaussian mixture on an orbit, at many samples (spec 8).
 *
 * The inner loops are in mixture_simd.c; this divides the work: which samples take which loop, tiles
 * that fit the caches, threads, progress.
 */
#ifndef ANT_MEASURE_MIXTURE_H
#define ANT_MEASURE_MIXTURE_H

#include "engine/engine.h"

/* The mixture (1/length) sum_t N(x_t, diag(variance)). */
typedef struct ant_mixture {
    const double *x;        // (length, dim)
    const double *variance; // (dim)
    size_t length, dim;
} ant_mixture;

/*
 * Log density at each sample.  samples: (count, dim); log_density: (count), overwritten in any case.
 *
 * The value of a sample depends on the mixture, that sample and the instruction set, and on nothing else: not
 * on the number of threads, nor on the other samples.  Against exact arithmetic it is good to 1e-12 of
 * max(1, |log density|).  ANTLER_NON_FINITE when a sample is so far away that its log density is below the
 * range of a double; its value is -inf then and the others are good.
 *
 * An engine other than NULL takes the sums over; engine.h says how good its values are.
 *
 * Arguments must be valid: finite values, normal positive variances, no empty array.
 */
antler_status ant_mixture_log_density(const ant_engine *engine, const ant_mixture *mixture,
                                      const double *samples, size_t count, int threads,
                                      ant_engine_report report, double *log_density);

/* antler_mixture_samples with a number of threads; 0: as many as OpenMP offers. */
antler_status ant_mixture_samples(const double *x, size_t length, size_t dim, const double *variance,
                                  size_t count, uint64_t seed, int threads, double *samples);

/*
 * antler_dstsp_samples on an engine: the mean of log p - log q over samples, and its standard error.
 * The arrays are checked.  samples: (count, dim of p); error: may be NULL.
 */
antler_status ant_mixture_divergence(const ant_engine *engine, const ant_mixture *p, const ant_mixture *q,
                                     const double *samples, size_t count, int threads,
                                     antler_progress progress, double *divergence, double *error);

#endif
