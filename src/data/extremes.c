/* extremes.c - find spikes and saturation, from a sorted sample of each variable and a pass over it. */
#include "data/extremes.h"
#include "data/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE = 16384, TILE_ROWS = 4096, LEVELS = 48, AROUND = 2, WINDOW = 2 * AROUND + 1 };

static const double spike_deviations = 6.0, fewest_distinct = 64, least_pile = 0.005, most_pile = 1.0 / 3.0,
                    pile_ratio = 5.0, spike_share = 0.005;

/* What a sorted sample shows. */
typedef struct sample {
    double values[SAMPLE];
    double distances[SAMPLE]; /* from the median, sorted */
    size_t count, distinct;
    double middle, deviation; /* the median, and the standard deviation by the median distance from it */
} sample;

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool is_known(double value, const double *known, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (value == known[i] || value == (double)(float)known[i])
            return true;
    return false;
}

/* A value of the variable by its number among the rows of all trajectories. */
static double value_at(const antler_series *series, size_t variable, size_t number)
{
    double value = NAN;
    size_t p = 0;
    for (; number >= series->parts[p].count * series->parts[p].length; p++)
        number -= series->parts[p].count * series->parts[p].length;
    const ant_part *part = &series->parts[p];
    ant_column_read_f64(&part->columns[variable], number / part->length, number % part->length, 1, &value, 1);
    return value;
}

/* All rows or, of many, some that are spread over all without a period: multiples of the golden ratio. */
static void take_sample(const antler_series *series, size_t variable, const double *known, size_t known_count,
                        sample *s)
{
    static const double golden = 0.61803398874989485;
    const size_t rows = series->total_length, most = series->dim > 64 ? 64 * SAMPLE / series->dim : SAMPLE;
    const size_t wanted = rows < most ? rows : most;
    *s = (sample){.count = 0};
    for (size_t i = 0; i < wanted; i++) {
        const double share = (double)i * golden;
        const size_t number = wanted == rows ? i : (size_t)((share - floor(share)) * (double)rows);
        const double value = value_at(series, variable, number);
        if (isfinite(value) && !is_known(value, known, known_count))
            s->values[s->count++] = value;
    }
    qsort(s->values, s->count, sizeof *s->values, by_value);
    for (size_t i = 0; i < s->count; i++) {
        s->distinct += i == 0 || s->values[i] != s->values[i - 1];
        s->distances[i] = fabs(s->values[i] - s->values[s->count / 2]);
    }
    qsort(s->distances, s->count, sizeof *s->distances, by_value);
    s->middle = s->count == 0 ? NAN : s->values[s->count / 2];
    s->deviation = s->count == 0 ? 0.0 : 1.4826 * s->distances[s->count / 2];
}

/* ---- saturation -------------------------------------------------------------------------------------- */

/* Whether values pile up at the largest (`high`) or the smallest value.  Zero is no fault of a sensor: rain
 * has no less. */
static bool piles_up(const sample *s, bool high)
{
    if (s->count == 0 || (double)s->distinct < fewest_distinct)
        return false;
    const double *v = s->values;
    const double extreme = high ? v[s->count - 1] : v[0];
    const double range = v[s->count - 1 - s->count / 100] - v[s->count / 100];
    size_t same = 0, near = 0;
    while (same < s->count && v[high ? s->count - 1 - same : same] == extreme)
        same++;
    const double next = v[high ? s->count - 1 - same : same];
    const double width = fmax(0.005 * range, fabs(next - extreme));
    while (same + near < s->count &&
           fabs(v[high ? s->count - 1 - same - near : same + near] - extreme) <= width)
        near++;
    const double share = (double)same / (double)s->count;
    return extreme != 0.0 && same >= 10 && share >= least_pile && share <= most_pile &&
           (double)same >= pile_ratio * (double)near;
}

/* How often a value occurs, and its first row. */
typedef struct occurrences {
    size_t count, row, trajectory;
} occurrences;

static void count_value(const ant_part *part, size_t variable, double value, occurrences *found)
{
    double tile[TILE_ROWS];
    for (size_t local = 0; local < part->count; local++)
        for (size_t row = 0; row < part->length; row += TILE_ROWS) {
            const size_t n = part->length - row < TILE_ROWS ? part->length - row : TILE_ROWS;
            ant_column_read_f64(&part->columns[variable], local, row, n, tile, 1);
            for (size_t i = 0; i < n; i++)
                if (tile[i] == value && found->count++ == 0) {
                    found->row = row + i;
                    found->trajectory = part->first + local;
                }
        }
}

static antler_status note_pile(const antler_series *series, size_t variable, const sample *s, bool high,
                               ant_notes *notes)
{
    const double value = high ? s->values[s->count - 1] : s->values[0];
    occurrences found = {0};
    for (size_t p = 0; p < series->part_count; p++)
        count_value(&series->parts[p], variable, value, &found);
    const ant_c_locale before = ant_c_locale_begin();
    char text[ANT_NUMBER_ROOM];
    ant_number_write(value, text);
    ant_c_locale_end(before);
    return ant_notes_add(
        notes,
        "%s is exactly %s, its %s value, in %zu of %zu rows, first in row %zu of %s; if the sensor "
        "saturates there, or the number means a missing value, give --missing %s",
        series->names[variable], text, high ? "largest" : "smallest", found.count, series->total_length,
        found.row + 1, antler_series_origin(series, found.trajectory), text);
}

/* ---- spikes ------------------------------------------------------------------------------------------ */

/* Values at one level of distance: half an octave each, the first one below the threshold. */
typedef struct level {
    size_t single, others;
    size_t row, trajectory; /* of the first single one */
    double value;
    double nearest, farthest; /* of all, in units of the threshold */
} level;

/* The level of a distance in units of the threshold; below 0: not counted. */
static int level_of(double distance)
{
    const double octaves = 2.0 * log2(distance) + 1.0;
    return octaves < 0.0 ? -1 : octaves >= LEVELS - 1 ? LEVELS - 1 : (int)octaves;
}

/* distances: (WINDOW) of the rows around the one in the middle; NaN: no row, or missing */
static bool is_single(const double distances[WINDOW])
{
    size_t near = 0, sides = 0;
    for (int side = -1; side <= 1; side += 2) {
        const double one = distances[AROUND + side], two = distances[AROUND + 2 * side];
        const double half = 0.5 * distances[AROUND];
        sides += !(isnan(one) && isnan(two));
        near += one < half || two < half;
    }
    return near > 0 && near == sides;
}

/* The distances around a row, in units of the threshold. */
static void read_around(const ant_part *part, size_t variable, size_t local, size_t row, double middle,
                        double threshold, double distances[WINDOW])
{
    for (size_t i = 0; i < WINDOW; i++) {
        distances[i] = NAN;
        if (row + i < AROUND || row + i - AROUND >= part->length)
            continue;
        ant_column_read_f64(&part->columns[variable], local, row + i - AROUND, 1, &distances[i], 1);
        distances[i] = fabs(distances[i] - middle) / threshold;
    }
}

/* Count the far values of one trajectory. */
static void find_far(const ant_part *part, size_t variable, size_t local, const sample *s,
                     const double *known, size_t known_count, level levels[LEVELS])
{
    const double threshold = spike_deviations * s->deviation;
    double tile[TILE_ROWS], distances[WINDOW];
    for (size_t row = 0; row < part->length; row += TILE_ROWS) {
        const size_t n = part->length - row < TILE_ROWS ? part->length - row : TILE_ROWS;
        ant_column_read_f64(&part->columns[variable], local, row, n, tile, 1);
        for (size_t i = 0; i < n; i++) {
            const double distance = fabs(tile[i] - s->middle) / threshold;
            if (!(distance >= 0.7) || !isfinite(distance))
                continue;
            const int at = level_of(distance);
            if (at < 0 || is_known(tile[i], known, known_count))
                continue;
            read_around(part, variable, local, row + i, s->middle, threshold, distances);
            const bool single = is_single(distances);
            level *l = &levels[at];
            if (single && l->single == 0) {
                l->row = row + i;
                l->trajectory = part->first + local;
                l->value = tile[i];
            }
            l->nearest = l->single + l->others == 0 ? distance : fmin(l->nearest, distance);
            l->farthest = fmax(l->farthest, distance);
            l->single += single;
            l->others += !single;
        }
    }
}

/*
 * Whether `count` values at `nearest` or farther are more than the tail of the distribution.  The largest
 * values of a heavy tail are far from each other, too: of one that falls with the power -a of the distance,
 * the logarithm of the ratio of the `count`-th and the next is above g by chance with probability exp(-count
 * a g). a: from the largest other values of the sample (Hill 1975).  nearest, below: distances, of these
 * values and of the farthest other one
 */
static bool is_beyond_tail(const sample *s, size_t count, double nearest, double below)
{
    enum { TAIL = 20 };
    static const double chance = 1e-3;
    size_t others = s->count;
    while (others > 0 && s->distances[others - 1] >= (1.0 - 1e-9) * nearest) /* rounding */
        others--;
    const size_t tail = others / 5 < TAIL ? others / 5 : TAIL;
    if (tail == 0)
        return false;
    double logarithms = 0.0;
    for (size_t i = others - tail; i < others; i++)
        logarithms += log(s->distances[i] / s->distances[others - tail - 1]);
    const double gap = log(nearest / fmax(below, s->distances[others - 1]));
    return (double)count * gap * (double)tail > logarithms * log(1.0 / chance);
}

/* The farthest value below level `at`; 0: none was counted. */
static double farthest_below(const level levels[LEVELS], int at)
{
    double farthest = 0.0;
    while (at-- > 0)
        farthest = fmax(farthest, levels[at].farthest);
    return farthest;
}

/* The spikes of a variable: the highest levels, all of single values, above an empty one and beyond the tail;
 * 0: none.  first: of them in the order of the rows */
static size_t find_spikes(const antler_series *series, size_t variable, const sample *s, const double *known,
                          size_t known_count, level *first)
{
    level levels[LEVELS] = {0}, earliest = {.trajectory = SIZE_MAX};
    size_t found = 0, counted = 0;
    const double threshold = spike_deviations * s->deviation;
    if (s->count < 100 || !(s->deviation > 0.0))
        return 0;
    for (size_t p = 0; p < series->part_count; p++)
        for (size_t local = 0; local < series->parts[p].count; local++)
            find_far(&series->parts[p], variable, local, s, known, known_count, levels);
    for (int at = LEVELS - 1; at > 0 && levels[at].others == 0; at--) {
        const level *l = &levels[at];
        if (l->single > 0 && (l->trajectory < earliest.trajectory ||
                              (l->trajectory == earliest.trajectory && l->row < earliest.row)))
            earliest = *l;
        counted += l->single;
        if (l->single > 0 && levels[at - 1].single + levels[at - 1].others == 0 &&
            is_beyond_tail(s, counted, threshold * l->nearest, threshold * farthest_below(levels, at))) {
            found = counted;
            *first = earliest;
        }
    }
    return (double)found <= fmax(3.0, spike_share * (double)series->total_length) ? found : 0;
}

static antler_status note_spikes(const antler_series *series, size_t variable, size_t count,
                                 const level *first, const sample *s, ant_notes *notes)
{
    return ant_notes_add(
        notes,
        "%s has %zu spike%s, single values far from all others, the first %.6g in row %zu of %s, "
        "%.3g robust standard deviations from the median %.6g; if they are faults, make them nan",
        series->names[variable], count, count == 1 ? "" : "s", first->value, first->row + 1,
        antler_series_origin(series, first->trajectory), fabs(first->value - s->middle) / s->deviation,
        s->middle);
}

/* ---- both -------------------------------------------------------------------------------------------- */

/* Of many variables the first ones have notes of their own. */
typedef struct counts {
    size_t spikes, piles; /* variables */
} counts;

static antler_status note_variable(const antler_series *series, size_t variable, const sample *s,
                                   const double *known, size_t known_count, counts *all, ant_notes *notes)
{
    enum { MOST_NAMED = 4 };
    level first = {0};
    const size_t spikes = find_spikes(series, variable, s, known, known_count, &first);
    if (spikes > 0 && all->spikes++ < MOST_NAMED)
        ANT_TRY(note_spikes(series, variable, spikes, &first, s, notes));
    const bool low = piles_up(s, false), high = piles_up(s, true);
    const bool named = (low || high) && all->piles++ < MOST_NAMED;
    if (low && named)
        ANT_TRY(note_pile(series, variable, s, false, notes));
    if (high && named)
        ANT_TRY(note_pile(series, variable, s, true, notes));
    if (variable + 1 == series->dim && all->spikes > MOST_NAMED)
        ANT_TRY(ant_notes_add(notes, "%zu variables have such spikes in all", all->spikes));
    if (variable + 1 == series->dim && all->piles > MOST_NAMED)
        ANT_TRY(ant_notes_add(notes, "%zu variables have such values at an end of their range in all",
                              all->piles));
    return ANTLER_OK;
}

antler_status ant_extremes_notes(const antler_series *series, const double *known, size_t count,
                                 ant_notes *notes)
{
    sample *s = malloc(sizeof *s);
    counts all = {0};
    antler_status status = ANTLER_OK;
    if (s == NULL)
        return ant_fail_memory(sizeof *s, "a sample of a variable");
    for (size_t v = 0; v < series->dim && status == ANTLER_OK; v++) {
        take_sample(series, v, known, count, s);
        status = note_variable(series, v, s, known, count, &all, notes);
    }
    free(s);
    return status;
}
