/*
 * stats.c - mean, deviation and extremes of each variable, in one pass over the data.
 *
 * Tiles of rows are summed by the corrected two-pass formula and merged pairwise (Chan, Golub and
 * LeVeque, The American Statistician 37, 1983), so neither a large offset nor 1e8 rows cost digits.
 * Where the extremes say that squares or sums may have left the range of double, the variable is read again
 * in units of its own size.
 */
#include "data/series.h"

#include "base/sized.h"

#include <math.h>
#include <stdlib.h>

enum { TILE_VALUES = 32768, TILE_ROWS_MAX = 4096, TILE_ROWS_MIN = 64 };

typedef struct moments {
    double count, mean, m2; /* m2: sum of squared deviations */
} moments;

static moments merge(moments a, moments b)
{
    if (b.count == 0.0)
        return a;
    if (a.count == 0.0)
        return b;
    const double count = a.count + b.count, delta = b.mean - a.mean;
    return (moments){.count = count,
                     .mean = a.mean + delta * (b.count / count),
                     .m2 = a.m2 + b.m2 + delta * delta * (a.count * (b.count / count))};
}

/* values: (count), all finite */
static moments tile_moments(const double *values, size_t count)
{
    if (count == 0)
        return (moments){0};
    const double n = (double)count;
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    const double guess = sum / n;
    double rest = 0.0, squares = 0.0;
    for (size_t i = 0; i < count; i++) {
        const double d = values[i] - guess;
        rest += d;
        squares += d * d;
    }
    return (moments){.count = n, .mean = guess + rest / n, .m2 = squares - rest * (rest / n)};
}

/* Count and remove what is not finite; follow the extremes.  Returns how many values are left. */
static size_t sift(double *values, size_t count, size_t trajectory, size_t first, antler_variable_stats *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const double value = values[i];
        if (isfinite(value)) {
            s->min = value < s->min ? value : s->min;
            s->max = value > s->max ? value : s->max;
            values[kept++] = value;
            continue;
        }
        if (s->nan + s->inf == 0) {
            s->bad_row = first + i;
            s->bad_trajectory = trajectory;
        }
        if (isnan(value))
            s->nan++;
        else
            s->inf++;
    }
    return kept;
}

/* Scan one trajectory for `count` columns, in units of 2^unit.  tile: (TILE_ROWS_MAX) */
static void scan_trajectory(const ant_part *part, size_t local, size_t first, size_t count, int unit,
                            double *tile, moments *sums, antler_variable_stats *stats)
{
    size_t rows = TILE_VALUES / count;
    rows = rows < TILE_ROWS_MIN ? TILE_ROWS_MIN : rows > TILE_ROWS_MAX ? TILE_ROWS_MAX : rows;
    for (size_t row = 0; row < part->length; row += rows) {
        const size_t n = part->length - row < rows ? part->length - row : rows;
        for (size_t j = 0; j < count; j++) {
            ant_column_read_f64(&part->columns[first + j], local, row, n, tile, 1);
            const size_t kept = sift(tile, n, part->first + local, row, &stats[j]);
            for (size_t i = 0; unit != 0 && i < kept; i++)
                tile[i] = scalbn(tile[i], -unit);
            sums[j] = merge(sums[j], tile_moments(tile, kept));
        }
    }
}

static void scan(const antler_series *series, size_t first, size_t count, int unit, double *tile,
                 moments *sums, antler_variable_stats *stats)
{
    for (size_t j = 0; j < count; j++) {
        sums[j] = (moments){0};
        stats[j] = (antler_variable_stats){.struct_size = sizeof *stats, .min = INFINITY, .max = -INFINITY};
    }
    for (size_t p = 0; p < series->part_count; p++)
        for (size_t local = 0; local < series->parts[p].count; local++)
            scan_trajectory(&series->parts[p], local, first, count, unit, tile, sums, stats);
}

static void conclude(const moments *sums, antler_variable_stats *s)
{
    if (sums->count == 0.0)
        s->min = s->max = NAN;
    s->mean = sums->count > 0.0 ? sums->mean : NAN;
    s->sd = sums->count > 0.0 ? sqrt(fmax(sums->m2, 0.0) / sums->count) : NAN;
}

/*
 * The power of two in whose units squares and sums are safe; 0: they are already.  Beyond these bounds the
 * sum of squares of 2^40 values may overflow, or squares of deviations lose digits to underflow.  Values are
 * less than 2^54 of their spread, whatever their offset, so in units of the spread nothing overflows.
 */
static int safe_unit(const antler_variable_stats *s)
{
    static const double largest = 0x1p+490, smallest = 0x1p-450;
    const double reach = fmax(fabs(s->min), fabs(s->max));
    const double half = s->max / 2 - s->min / 2; /* the whole may overflow */
    if (reach > largest)
        return ilogb(half > 0.0 ? half : reach);
    const double spread = s->max - s->min;
    return spread > 0.0 && spread < smallest ? ilogb(spread) : 0;
}

/* Mean and deviation of a variable whose extremes are known, in units of 2^unit.  Rounding must not carry
   them beyond what the extremes allow, which may be beyond what a double can hold. */
static void rescan(const antler_series *series, size_t variable, int unit, double *tile,
                   antler_variable_stats *s)
{
    moments sums;
    antler_variable_stats scaled;
    scan(series, variable, 1, unit, tile, &sums, &scaled);
    conclude(&sums, &scaled);
    s->mean = fmin(fmax(scalbn(scaled.mean, unit), s->min), s->max);
    const double half = scalbn(s->max, -unit) / 2 - scalbn(s->min, -unit) / 2;
    s->sd = scalbn(fmin(scaled.sd, half), unit);
}

antler_status ant_series_stats_range(const antler_series *series, size_t first, size_t count,
                                     antler_variable_stats *stats)
{
    moments *sums = malloc(count * sizeof *sums);
    double *tile = malloc(TILE_ROWS_MAX * sizeof *tile);
    if (sums == NULL || tile == NULL) {
        free(sums);
        free(tile);
        return ant_fail_memory(count * sizeof *sums + TILE_ROWS_MAX * sizeof *tile, "statistics");
    }
    scan(series, first, count, 0, tile, sums, stats);
    for (size_t j = 0; j < count; j++) {
        conclude(&sums[j], &stats[j]);
        const int unit = safe_unit(&stats[j]);
        if (unit != 0)
            rescan(series, first + j, unit, tile, &stats[j]);
    }
    free(sums);
    free(tile);
    return ANTLER_OK;
}

antler_status(antler_series_stats)(const antler_series *series, size_t variable, antler_variable_stats *stats,
                                   size_t struct_size)
{
    ANT_CHECK(series != NULL && stats != NULL && variable < series->dim + series->input_dim,
              ANTLER_ERROR_ARGUMENT, "there is no variable %zu to take statistics of", variable);
    ANT_RESULT(antler_variable_stats, stats, struct_size, antler_series_stats(series, variable, &whole),
               (void)0);
    return ant_series_stats_range(series, variable, 1, stats);
}
