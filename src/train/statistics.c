/* statistics.c - median, MAD, mean and standard error over runs. */
#include "base/status.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* values: (count), count > 0, sorted in place */
static double median_of(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return count % 2 == 1 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

antler_status antler_statistics_of(const double *values, size_t count, antler_statistics *statistics)
{
    antler_statistics s = {.median = NAN, .mad = NAN, .mean = NAN, .sem = NAN};
    double *finite = malloc((count + 1) * sizeof *finite);
    if (finite == NULL)
        return ant_fail_memory((count + 1) * sizeof *finite, "statistics");
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < count; i++) {
        if (isfinite(values[i])) {
            finite[s.count++] = values[i];
            sum += values[i];
        }
    }
    if (s.count > 0) {
        s.mean = sum / (double)s.count;
        s.median = median_of(finite, s.count);
        for (size_t i = 0; i < s.count; i++) {
            squares += (finite[i] - s.mean) * (finite[i] - s.mean);
            finite[i] = fabs(finite[i] - s.median);
        }
        s.mad = median_of(finite, s.count);
        if (s.count > 1)
            s.sem = sqrt(squares / (double)(s.count - 1) / (double)s.count);
    }
    free(finite);
    *statistics = s;
    return ANTLER_OK;
}
