/* late.h - whether free runs stay on the attractor: their last rows, after many steps, against the data. */
#ifndef ANT_MEASURE_LATE_H
#define ANT_MEASURE_LATE_H

#include "measure/projection.h"

/*
 * A model can follow the data for thousands of rows and end in a point or on another orbit, and from one
 * start earlier than from another.  Four free runs begin at rows spread over the longest trajectory of
 * `starts`, each twice as long as the truth or 40,000 steps; as many of the last rows of each as the truth
 * has give one D_stsp.
 *
 * truth: rows in the model's units, already projected where there is a projection.  opts: as for the other
 * D_stsp of the same rows.  NaN where there are
 * known inputs, which end with the data, or too few rows; infinite where a run diverges; 20 or more where
 * they end in points.
 */
antler_status ant_late_dstsp(const antler_model *model, const antler_series *starts, size_t steps,
                             const antler_series *truth, const ant_projection *projection,
                             const antler_measure_opts *opts, double *dstsp);

/* Of models that a fit compares after their training; and of those that are chosen or judged, once. */
enum { ANT_LATE_STEPS = 40000, ANT_LATE_STEPS_LONG = 100000 };

/* D_stsp of runs that end in points. */
#define ANT_LATE_COLLAPSED 20.0

/* Replaces a verdict that the ends of long free runs contradict, by the limits of D_stsp.  late: NaN is
 * unknown; embedded: of delay vectors. */
void ant_verdict_on_late(const antler_floors *floors, bool embedded, double late, antler_verdict *verdict);

#endif
