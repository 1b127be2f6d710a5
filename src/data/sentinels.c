/* sentinels.c - missing values: by name, and by their looks. */
#include "data/sentinels.h"
#include "data/extremes.h"
#include "data/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TILE_ROWS = 4096, MOST_NUMBERS = 64 };

/* Past the next word of a list; *word .. *end is it. */
static const char *next_word(const char *p, const char **word, const char **end)
{
    p += strspn(p, " ");
    *word = p;
    p += strcspn(p, ",");
    *end = p;
    while (*end > *word && (*end)[-1] == ' ')
        (*end)--;
    return *p == '\0' ? NULL : p + 1;
}

bool ant_sentinels_has_word(const char *list, const char *text, size_t length)
{
    const char *word, *end;
    for (const char *p = list; p != NULL;) {
        p = next_word(p, &word, &end);
        if ((size_t)(end - word) == length && length > 0 && memcmp(word, text, length) == 0)
            return true;
    }
    return false;
}

/* The numbers of a list; words are for text only. */
static antler_status read_numbers(const char *list, double numbers[MOST_NUMBERS], size_t *count)
{
    const char *word, *end, *stop;
    *count = 0;
    for (const char *p = list; p != NULL;) {
        double value = 0.0;
        p = next_word(p, &word, &end);
        ANT_CHECK(word < end, ANTLER_ERROR_ARGUMENT,
                  "'%s' is not a list of missing values; write them with commas, as in -9999,-999", list);
        if (ant_number_read(word, end, &value, &stop) != ANT_NUMBER_READ || stop != end)
            continue;
        ANT_CHECK(*count < MOST_NUMBERS, ANTLER_ERROR_ARGUMENT, "more than %d numbers for missing values",
                  MOST_NUMBERS);
        numbers[(*count)++] = value;
    }
    return ANTLER_OK;
}

static bool is_one_of(double value, const double *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (value == numbers[i])
            return true;
    return false;
}

/* Whether the column has one of the numbers; with `set`, they become NaN, which only floats can hold. */
static bool sweep(const ant_part *part, size_t column, const double *numbers, size_t count, bool set)
{
    const ant_column *c = &part->columns[column];
    double tile[TILE_ROWS];
    for (size_t k = 0; k < part->count; k++)
        for (size_t row = 0; row < part->length; row += TILE_ROWS) {
            const size_t n = part->length - row < TILE_ROWS ? part->length - row : TILE_ROWS;
            ant_column_read_f64(c, k, row, n, tile, 1);
            for (size_t i = 0; i < n; i++) {
                if (!is_one_of(tile[i], numbers, count))
                    continue;
                if (!set)
                    return true;
                unsigned char *at = (unsigned char *)(uintptr_t)c->first + (ptrdiff_t)k * c->trajectory_step +
                                    (ptrdiff_t)(row + i) * c->row_step;
                if (c->dtype == ANT_F32)
                    *(float *)(void *)at = NAN;
                else
                    *(double *)(void *)at = NAN;
            }
        }
    return false;
}

antler_status ant_sentinels_apply(const char *list, ant_table *table)
{
    double numbers[MOST_NUMBERS], wanted[MOST_NUMBERS];
    size_t count = 0;
    if (list == NULL)
        return ANTLER_OK;
    ANT_TRY(read_numbers(list, numbers, &count));
    for (size_t v = 0; v < table->dim + table->input_dim && count > 0; v++) {
        const ant_dtype dtype = table->part.columns[v].dtype;
        for (size_t i = 0; i < count; i++) /* a stored float equals the float of the list's number */
            wanted[i] = dtype == ANT_F32 ? (double)(float)numbers[i] : numbers[i];
        if (!sweep(&table->part, v, wanted, count, false))
            continue;
        if (dtype != ANT_F32 && dtype != ANT_F64)
            ANT_TRY(ant_table_to_doubles(table));
        ANT_TRY(ant_mapping_write(&table->part.mapping));
        sweep(&table->part, v, wanted, count, true);
    }
    return ANTLER_OK;
}

/* ---- looks ------------------------------------------------------------------------------------------- */

/* Numbers that programs write for a missing value. */
static const double usual[] = {-9999.0, 9999.0,  -999.0, 999.0, -99999.0, 99999.0,  -99.0,
                               -999.9,  -9999.9, -99.9,  999.9, 32767.0,  -32768.0, 65535.0,
                               1e20,    -1e20,   1e30,   -1e30, -8888.0,  -7777.0,  -9998.0};
enum { USUAL = sizeof usual / sizeof *usual, LONG_RUN = 50 };

/* What one pass over a variable finds. */
typedef struct looks {
    size_t values, missing;
    size_t counts[USUAL];
    double least, most;             /* of all values */
    double inner_least, inner_most; /* of those that are none of the usual numbers */
    size_t repeats;                 /* values that equal the one before, outside long runs */
    size_t long_values;             /* values within long runs */
    size_t run;                     /* of equal values, the longest */
    size_t run_first, run_trajectory;
    double run_value;
    struct spread {
        double count, mean, squares; /* of distances from the mean */
    } halves[2]; /* of those that are none of the usual numbers, by halves of trajectories */
} looks;

static void widen(struct spread *s, double value)
{
    const double distance = value - s->mean;
    s->count += 1.0;
    s->mean += distance / s->count;
    s->squares += distance * (value - s->mean);
}

/* half: of its trajectory, 0 or 1 */
static void look_at_value(looks *l, double value, size_t half)
{
    l->values++;
    l->least = fmin(l->least, value);
    l->most = fmax(l->most, value);
    const double smallest = 99.0;
    for (size_t i = 0; i < USUAL && fabs(value) >= smallest; i++)
        if (value == usual[i] || value == (double)(float)usual[i]) {
            l->counts[i]++;
            return;
        }
    l->inner_least = fmin(l->inner_least, value);
    l->inner_most = fmax(l->inner_most, value);
    widen(&l->halves[half], value);
}

/* A run of equal values ends before row `end`. */
static void end_run(looks *l, double value, size_t run, size_t end, size_t trajectory)
{
    if (isnan(value) || run == 0)
        return;
    if (run >= LONG_RUN)
        l->long_values += run;
    else
        l->repeats += run - 1;
    if (run <= l->run)
        return;
    l->run = run;
    l->run_first = end - run;
    l->run_trajectory = trajectory;
    l->run_value = value;
}

static void look_at_trajectory(const ant_part *part, size_t column, size_t local, looks *l)
{
    double tile[TILE_ROWS], before = NAN;
    size_t run = 0;
    for (size_t row = 0; row < part->length; row += TILE_ROWS) {
        const size_t n = part->length - row < TILE_ROWS ? part->length - row : TILE_ROWS;
        ant_column_read_f64(&part->columns[column], local, row, n, tile, 1);
        for (size_t i = 0; i < n; i++) {
            if (tile[i] != before) {
                end_run(l, before, run, row + i, part->first + local);
                run = 0;
            }
            run++;
            before = tile[i];
            if (isnan(before))
                l->missing++;
            else
                look_at_value(l, before, row + i >= part->length / 2);
        }
    }
    end_run(l, before, run, part->length, part->first + local);
}

static looks look_at(const antler_series *series, size_t variable)
{
    looks l = {.least = INFINITY, .most = -INFINITY, .inner_least = INFINITY, .inner_most = -INFINITY};
    for (size_t p = 0; p < series->part_count; p++)
        for (size_t local = 0; local < series->parts[p].count; local++)
            look_at_trajectory(&series->parts[p], variable, local, &l);
    return l;
}

/* Where one of the usual numbers lies far outside the other values. */
typedef struct suspect {
    size_t count, variables;
    size_t first;       /* variable */
    double least, most; /* of its other values */
} suspect;

/* A usual number is suspect where it is farther from the other values than they reach. */
static void suspect_numbers(size_t variable, const looks *l, suspect suspects[USUAL])
{
    const double range = l->inner_most - l->inner_least;
    for (size_t i = 0; i < USUAL && range >= 0.0; i++) {
        const bool outside = usual[i] < l->inner_least - range || usual[i] > l->inner_most + range;
        suspect *s = &suspects[i];
        if (l->counts[i] == 0 || !outside)
            continue;
        if (s->variables++ == 0) {
            s->first = variable;
            s->least = l->inner_least;
            s->most = l->inner_most;
        }
        s->count += l->counts[i];
    }
}

/* One note for each number that occurs at least twice. */
static antler_status note_numbers(const antler_series *series, const suspect suspects[USUAL],
                                  ant_notes *notes)
{
    for (size_t i = 0; i < USUAL; i++) {
        const suspect *s = &suspects[i];
        char others[64] = "";
        if (s->count < 2)
            continue;
        if (s->variables > 1)
            snprintf(others, sizeof others, " and %zu more variable%s", s->variables - 1,
                     s->variables == 2 ? "" : "s");
        ANT_TRY(ant_notes_add(
            notes,
            "%g occurs %zu times in %s%s, far outside its other values (%g to %g); if it means that a value "
            "is missing, give --missing %g",
            usual[i], s->count, series->names[s->first], others, s->least, s->most, usual[i]));
    }
    return ANTLER_OK;
}

/* A long row of equal values in a variable that changes nearly everywhere else. */
static antler_status note_run(const antler_series *series, size_t variable, const looks *l, ant_notes *notes)
{
    const double elsewhere = (double)(l->values - l->long_values);
    if (l->long_values == 0 || elsewhere < 0.1 * (double)l->values || (double)l->repeats > 0.1 * elsewhere)
        return ANTLER_OK;
    return ant_notes_add(notes,
                         "%s is %g in %zu rows on end, from row %zu of %s on, and changes nearly everywhere "
                         "else; if the sensor was dead, make these values nan",
                         series->names[variable], l->run_value, l->run, l->run_first + 1,
                         antler_series_origin(series, l->run_trajectory));
}

/* A variable whose spread is another one in the second half: its units, or its sensor, may have changed. */
static antler_status note_change(const antler_series *series, size_t variable, const looks *l,
                                 ant_notes *notes)
{
    static const double fewest = 100.0, most = 30.0;
    const double first = sqrt(l->halves[0].squares / l->halves[0].count);
    const double second = sqrt(l->halves[1].squares / l->halves[1].count);
    const double ratio = fmax(first / second, second / first);
    if (l->halves[0].count < fewest || l->halves[1].count < fewest || !isfinite(ratio) || ratio < most)
        return ANTLER_OK;
    return ant_notes_add(
        notes,
        "the standard deviation of %s is %.3g in the first half of the rows and %.3g in the "
        "second; if its units or its sensor changed, give one part, or bring both to one unit",
        series->names[variable], first, second);
}

/* The distance of the means of the halves, in the larger standard deviation within them; 0: too few rows. */
static double shift_of(const looks *l)
{
    static const double fewest = 100.0;
    const struct spread *a = &l->halves[0], *b = &l->halves[1];
    const double spread = sqrt(fmax(a->squares / a->count, b->squares / b->count));
    const double shift = fabs(a->mean - b->mean) / spread;
    return a->count < fewest || b->count < fewest || !isfinite(shift) ? 0.0 : shift;
}

/* Variables whose mean is another one in the second half: the farthest is named.  A line has 3.5, stationary
 * data of many oscillations less than 0.5. */
static antler_status note_shift(const antler_series *series, const looks *all, ant_notes *notes)
{
    static const double most = 1.5;
    size_t farthest = 0, shifted = 0;
    char others[64] = "";
    for (size_t v = 0; v < series->dim; v++) {
        shifted += shift_of(&all[v]) > most;
        farthest = shift_of(&all[v]) > shift_of(&all[farthest]) ? v : farthest;
    }
    if (shifted == 0)
        return ANTLER_OK;
    if (shifted > 1)
        snprintf(others, sizeof others, " (and %zu more variable%s likewise)", shifted - 1,
                 shifted == 2 ? "" : "s");
    return ant_notes_add(
        notes,
        "the mean of %s is %.4g in the first half of the rows and %.4g in the second%s; if it drifts, remove "
        "the trend or take differences; if its units or its sensor changed, bring both parts to one unit",
        series->names[farthest], all[farthest].halves[0].mean, all[farthest].halves[1].mean, others);
}

/* Constant variables, which a training refuses; the first is named. */
static antler_status note_constant(const antler_series *series, const looks *all, ant_notes *notes)
{
    size_t first = 0, constant = 0;
    char others[64] = "";
    for (size_t v = 0; v < series->dim; v++) {
        if (all[v].values < 2 || all[v].least != all[v].most)
            continue;
        first = constant++ == 0 ? v : first;
    }
    if (constant == 0)
        return ANTLER_OK;
    if (constant > 1)
        snprintf(others, sizeof others, ", and %zu more variable%s constant", constant - 1,
                 constant == 2 ? " is" : "s are");
    return ant_notes_add(
        notes, "%s is %g in all rows%s; it carries no dynamics, so choose the others with --columns",
        series->names[first], all[first].least, others);
}

static antler_status note_direction(const antler_series *series, ant_notes *notes)
{
    const size_t rows =
        antler_series_count(series) == 0 ? 0 : antler_series_length(series, ant_series_longest(series));
    return rows == 0 || series->dim <= rows
               ? ANTLER_OK
               : ant_notes_add(
                     notes,
                     "%zu columns but only %zu row%s, so it looks transposed; if time runs along the "
                     "rows, use --transpose",
                     series->dim, rows, rows == 1 ? "" : "s");
}

/* How many values of each variable are missing; of many variables, the first ones and the sum. */
static antler_status note_missing(const antler_series *series, const looks *all, ant_notes *notes)
{
    enum { MOST_NAMED = 8 };
    size_t variables = 0, missing = 0;
    for (size_t v = 0; v < series->dim; v++) {
        const looks *l = &all[v];
        missing += l->missing;
        if (l->missing > 0 && variables++ < MOST_NAMED)
            ANT_TRY(ant_notes_add(notes, "%zu of %zu values of %s are missing (%.3g %%)", l->missing,
                                  l->missing + l->values, series->names[v],
                                  100.0 * (double)l->missing / (double)(l->missing + l->values)));
    }
    if (variables > MOST_NAMED)
        ANT_TRY(ant_notes_add(notes, "%zu values are missing in all, in %zu of %zu variables", missing,
                              variables, series->dim));
    return ANTLER_OK;
}

/* Spikes and saturation, besides the numbers that have a note of their own. */
static antler_status note_extremes(const antler_series *series, const suspect suspects[USUAL],
                                   ant_notes *notes)
{
    double noted[USUAL];
    size_t count = 0;
    for (size_t i = 0; i < USUAL; i++)
        if (suspects[i].count >= 2)
            noted[count++] = usual[i];
    return ant_extremes_notes(series, noted, count, notes);
}

/* What may be a fault of the data comes first: of many notes, commands show the first ones. */
antler_status ant_sentinels_notes(const antler_series *series, ant_notes *notes)
{
    suspect suspects[USUAL] = {0};
    looks *all = malloc(series->dim * sizeof *all);
    antler_status status = ANTLER_OK;
    if (all == NULL)
        return ant_fail_memory(series->dim * sizeof *all, "the looks of variables");
    for (size_t v = 0; v < series->dim; v++) {
        all[v] = look_at(series, v);
        suspect_numbers(v, &all[v], suspects);
    }
    status = note_direction(series, notes);
    if (status == ANTLER_OK)
        status = note_numbers(series, suspects, notes);
    if (status == ANTLER_OK)
        status = note_constant(series, all, notes);
    if (status == ANTLER_OK)
        status = note_extremes(series, suspects, notes);
    if (status == ANTLER_OK)
        status = note_shift(series, all, notes);
    for (size_t v = 0; v < series->dim && status == ANTLER_OK; v++) {
        status = note_run(series, v, &all[v], notes);
        if (status == ANTLER_OK)
            status = note_change(series, v, &all[v], notes);
    }
    if (status == ANTLER_OK)
        status = note_missing(series, all, notes);
    free(all);
    return status;
}
