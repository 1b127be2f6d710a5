/* spectrum.h - power spectra of the variables of two orbits and the distance between them. */
#ifndef ANT_MEASURE_SPECTRUM_H
#define ANT_MEASURE_SPECTRUM_H

#include "base/status.h"

/* Whether `sigma` is a smoothing width that antler_power_spectrum accepts. */
antler_status ant_spectrum_check_smoothing(double sigma);

/*
 * D_H of one variable.  A constant has no spectrum: it is at distance 0 from another constant and at
 * distance 1 from everything else.
 * x, y: (length) numbers, `stride` apart; work: (2 (length/2 + 1)).
 */
antler_status ant_spectrum_distance(const double *x, const double *y, size_t length, size_t stride,
                                    double sigma, double *work, double *distance);

#endif
