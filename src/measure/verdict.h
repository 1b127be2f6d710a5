/* verdict.h - the verdict on a result of which the names of the variables are known. */
#ifndef ANT_MEASURE_VERDICT_H
#define ANT_MEASURE_VERDICT_H

#include "base/status.h"

/* As antler_judge; the sentences call the variables by the names of this series.  named: NULL for numbers */
antler_status ant_judge(const antler_evaluate_result *result, const antler_loss_curve *training,
                        const antler_series *named, antler_verdict *verdict);

#endif
