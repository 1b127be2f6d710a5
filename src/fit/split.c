/* split.c - cut the end of each trajectory off. */
#include "fit/split.h"

#include <stdlib.h>

/* Append rows first .. first+count-1 of a trajectory to a set of the same columns. */
static antler_status append(const antler_series *from, size_t trajectory, size_t first, size_t count,
                            antler_series *to)
{
    const size_t N = antler_series_dim(from), K = antler_series_input_dim(from);
    double *x = malloc((count * (N + K) + 1) * sizeof *x);
    if (x == NULL)
        return ant_fail_memory(count * (N + K) * sizeof *x, "held-back rows");
    antler_status status =
        antler_series_read_f64(from, trajectory, first, count, x, K > 0 ? x + count * N : NULL);
    if (status == ANTLER_OK)
        status = antler_series_append(to, count, x, K > 0 ? x + count * N : NULL);
    free(x);
    return status;
}

static antler_status create_like(const antler_series *from, antler_series **to)
{
    const size_t N = antler_series_dim(from), K = antler_series_input_dim(from);
    ANT_TRY(antler_series_create(N, K, to));
    for (size_t i = 0; i < N + K; i++)
        ANT_TRY(antler_series_set_name(*to, i, antler_series_name(from, i)));
    return antler_series_set_dt(*to, antler_series_dt(from));
}

antler_status ant_series_split(const antler_series *series, double share, antler_series **others,
                               antler_series **held_back)
{
    ANT_CHECK(share > 0.0 && share < 1.0, ANTLER_ERROR_ARGUMENT,
              "validation: a share between 0 and 1, not %g", share);
    ANT_TRY(create_like(series, others));
    ANT_TRY(create_like(series, held_back));
    for (size_t i = 0; i < antler_series_count(series); i++) {
        const size_t length = antler_series_length(series, i), back = (size_t)(share * (double)length);
        ANT_TRY(append(series, i, 0, length - back, *others));
        if (back > 0)
            ANT_TRY(append(series, i, length - back, back, *held_back));
    }
    return ANTLER_OK;
}
