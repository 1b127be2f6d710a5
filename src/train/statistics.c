/* statistics.c - median, MAD, mean and standard error over runs. */
#include "base/sized.h"

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
    const double low = values[(count - 1) / 2], high = values[count / 2];
    return low == high ? low : 0.5 * (low + high); /* both may be infinite */
}

/* Mean and standard error of the finite ones among known values.  known: (count) */
static void fill_moments(const double *known, antler_statistics *s)
{
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < s->count; i++) {
        sum += isfinite(known[i]) ? known[i] : 0.0;
        s->diverged += isfinite(known[i]) ? 0 : 1;
    }
    const size_t finite = s->count - s->diverged;
    if (finite > 0)
        s->mean = sum / (double)finite;
    for (size_t i = 0; i < s->count; i++)
        squares += isfinite(known[i]) ? (known[i] - s->mean) * (known[i] - s->mean) : 0.0;
    if (finite > 1)
        s->sem = sqrt(squares / (double)(finite - 1) / (double)finite);
}

antler_status(antler_statistics_of)(const double *values, size_t count, antler_statistics *statistics,
                                    size_t struct_size)
{
    ANT_NEED(statistics != NULL && (values != NULL || count == 0));
    ANT_RESULT(antler_statistics, statistics, struct_size, antler_statistics_of(values, count, &whole),
               (void)0);
    antler_statistics s = {.struct_size = sizeof s, .median = NAN, .mad = NAN, .mean = NAN, .sem = NAN};
    double *known = malloc((count + 1) * sizeof *known);
    if (known == NULL)
        return ant_fail_memory((count + 1) * sizeof *known, "statistics");
    for (size_t i = 0; i < count; i++) {
        if (!isnan(values[i]))
            known[s.count++] = values[i];
    }
    if (s.count > 0) {
        fill_moments(known, &s);
        s.median = median_of(known, s.count);
        for (size_t i = 0; i < s.count; i++)
            known[i] = fabs(known[i] - s.median);
        if (isfinite(s.median))
            s.mad = median_of(known, s.count);
    }
    free(known);
    *statistics = s;
    return ANTLER_OK;
}
