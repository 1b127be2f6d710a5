/*
 * fft_stage.h - one stage of the mixed-radix transform (Stockham, decimation in frequency).
 *
 * The data are `stride` interleaved sub-transforms of length radix * m.  A stage splits each into
 * `radix` sub-transforms of length m and multiplies by the twiddle factors; writing to other memory
 * sorts the result on the way, so no separate reordering is needed.
 *
 *     y[j + s (p q + k)] = root^(q k) sum_l x[j + s (q + m l)] exp(-2 pi i k l / p)
 *     0 <= j < s, 0 <= q < m, 0 <= k < p
 */
#ifndef ANT_MEASURE_FFT_STAGE_H
#define ANT_MEASURE_FFT_STAGE_H

#include "measure/fft.h"

/* The largest prime that has a butterfly. */
enum { ANT_FFT_LARGEST_RADIX = 13 };

typedef struct ant_fft_stage {
    size_t radix;             /* p: 2, 3, 4, 5 have code of their own; others to ANT_FFT_LARGEST_RADIX */
    size_t m;                 /* length of the sub-transforms after the stage */
    size_t stride;            /* s: number of interleaved sub-transforms before it */
    const ant_complex *roots; /* (s p m): exp(-2 pi i k / (s p m)) */
} ant_fft_stage;

/* x, y: (s p m), not overlapping. */
void ant_fft_stage_run(const ant_fft_stage *stage, const ant_complex *x, ant_complex *y);

#endif
