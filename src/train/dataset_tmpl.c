/* dataset_tmpl.c - copy a trajectory into the pack, by way of double. */
#include "base/real.h"
#include "train/dataset.h"

#include <stdlib.h>

enum { TILE = 512 }; /* rows at a time */

antler_status ANT_FN(ant_dataset_pack)(ant_dataset *dataset, const antler_series *series, size_t trajectory,
                                       size_t row, const double *shift, const double *divisor)
{
    const size_t N = dataset->N, K = dataset->K, length = antler_series_length(series, trajectory);
    real *x = (real *)dataset->x + row * N;
    real *s = K == 0 ? NULL : (real *)dataset->s + row * K;
    double *values = malloc(TILE * (N + K) * sizeof *values);
    if (values == NULL)
        return ant_fail_memory(TILE * (N + K) * sizeof *values, "the training data");
    double *inputs = K == 0 ? NULL : values + TILE * N;
    antler_status status = ANTLER_OK;
    for (size_t first = 0; first < length && status == ANTLER_OK; first += TILE) {
        const size_t count = length - first < TILE ? length - first : TILE;
        status = antler_series_read_f64(series, trajectory, first, count, values, inputs);
        for (size_t i = 0; i < count * N && status == ANTLER_OK; i++)
            x[first * N + i] = /* one NaN for all, so that equal data have equal bytes */
                isnan(values[i]) ? (real)NAN : (real)((values[i] - shift[i % N]) / divisor[i % N]);
        for (size_t i = 0; i < count * K && status == ANTLER_OK; i++)
            s[first * K + i] = (real)inputs[i];
    }
    free(values);
    return status;
}
