/*
 * bins.h - D_stsp from histograms, the older form of published tables (spec 8).
 *
 * `bins` intervals per axis span [min - margin sd, max + margin sd] of the true orbit.  Generated points
 * outside that box are left out.  With counts c, c', cells B = bins^d and Laplace constant e:
 *     p = (c + e) / (sum c + e B),   q = (c' + e) / (sum c' + e B),   D = sum_cells p log(p / q)
 * Only occupied cells are stored; the empty ones enter in closed form.
 */
#ifndef ANT_MEASURE_BINS_H
#define ANT_MEASURE_BINS_H

#include "measure/embed.h"

/* Whether bins, bin_margin and bin_laplace are in their ranges. */
antler_status ant_bins_check(const antler_measure_opts *opts);

/* sd: (dim) of the true points, with 1/T.  `filled`: cells occupied by either orbit. */
antler_status ant_bins_dstsp(const ant_points *truth, const ant_points *generated, const double *sd,
                             const antler_measure_opts *opts, double *dstsp, size_t *filled);

#endif
