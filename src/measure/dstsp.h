/* dstsp.h - D_stsp of two series sets by the estimator that the options name (spec 8). */
#ifndef ANT_MEASURE_DSTSP_H
#define ANT_MEASURE_DSTSP_H

#include "base/status.h"

/* Whether the options that this estimator uses are in their ranges. */
antler_status ant_dstsp_check(const antler_measure_opts *opts);

/* Fill in the fields of the result from `dstsp` to `bins_filled`.  Values must be finite. */
antler_status ant_dstsp(const antler_series *truth, const antler_series *generated,
                        const antler_measure_opts *opts, antler_measure_result *result);

#endif
