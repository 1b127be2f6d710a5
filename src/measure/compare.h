/* compare.h - antler_measure between two sets of data, which may both have missing values (spec 12). */
#ifndef ANT_MEASURE_COMPARE_H
#define ANT_MEASURE_COMPARE_H

#include "base/status.h"

/* As antler_measure, where NaN in `generated` is a missing value and not a divergence. */
antler_status ant_measure_data(const antler_series *truth, const antler_series *generated,
                               const antler_measure_opts *opts, antler_measure_result *result);

#endif
