/*
 * fft.h - discrete Fourier transforms of any length in double precision.
 *
 *     X_k = sum_j x_j exp(-2 pi i j k / n)
 *
 * Lengths whose prime factors are at most 13 use a mixed-radix transform, all others Bluestein's
 * chirp transform; both take O(n log n).  A plan is made once and can be executed any number of times.  A
 * plan holds its own working memory, so one plan serves one thread at a time.
 */
#ifndef ANT_MEASURE_FFT_H
#define ANT_MEASURE_FFT_H

#include "base/status.h"

typedef struct ant_complex {
    double re, im;
} ant_complex;

/* exp(-2 pi i k / n), correct to about one unit in the last place for every k.  n < 2^60. */
ant_complex ant_root_of_unity(size_t k, size_t n);

typedef struct ant_fft ant_fft;

/* length >= 1. */
antler_status ant_fft_create(size_t length, ant_fft **plan);
void ant_fft_free(ant_fft *plan);

/* Transform in place.  data: (length). */
void ant_fft_forward(ant_fft *plan, ant_complex *data);

typedef struct ant_rfft ant_rfft;

/* length >= 1. */
antler_status ant_rfft_create(size_t length, ant_rfft **plan);
void ant_rfft_free(ant_rfft *plan);

/* Transform real numbers; the other half follows from symmetry.  x: (length); out: (length/2 + 1). */
void ant_rfft_forward(ant_rfft *plan, const double *x, ant_complex *out);

#endif
