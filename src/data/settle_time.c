/*
 * settle_time.c - the time axis of a table: recognised, checked and made even.
 *
 * A column is the time axis when --time names it, when it holds dates, or when its name means time; then
 * what does not fit is refused.  A column whose name may mean time counts only when it is in order, and the
 * first column only when it rises by the same amount in every row while no other column does.
 */
#include "data/number.h"
#include "data/resample.h"
#include "data/serial_days.h"
#include "data/stamps.h"
#include "data/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FEWEST_ROWS = 3, FEWEST_WEAK = 10, TEXT = 64 };

static const double mean_month = 30.436875 * 86400e6; /* microseconds; 400 years have 146097 days */

/* A table while its time axis is found. */
typedef struct settling {
    ant_table *table;
    const antler_load_opts *opts;
    double *stamps; /* (rows) owned */
    size_t rows;
    double resolution; /* of the stamps */
    ant_stamps found;
    double *months;      /* (rows) owned; NULL unless the stamps may follow the calendar */
    const double *ticks; /* (rows) what is studied: the stamps, or the months in which they lie */
    int month_day;
    antler_time_axis axis;
    double unit_length; /* of the axis' unit, in units of the ticks; 1 for numbers */
} settling;

/* ---- texts ------------------------------------------------------------------------------------------- */

static const char *stamp_text(const settling *s, double stamp, char text[TEXT])
{
    char date[ANT_DATE_ROOM];
    if (s->axis.kind == ANTLER_TIME_DATE)
        ant_date_write(stamp, &s->table->style, date);
    else
        snprintf(date, sizeof date, "%.15g", stamp);
    snprintf(text, TEXT, "%s", date);
    return text;
}

/* A length of time with its unit: "10 min". */
static const char *length_text(const settling *s, double length, char text[TEXT])
{
    snprintf(text, TEXT, "%.6g%s%s", length / s->unit_length, s->axis.unit[0] == '\0' ? "" : " ",
             s->axis.unit);
    return text;
}

/* ---- kind and unit ----------------------------------------------------------------------------------- */

/* Numbers that count from 1970, between 1980 and 2100, in one of four units. */
static bool is_epoch(const settling *s)
{
    static const struct {
        const char *unit;
        double factor;
    } units[] = {{"s", 1.0}, {"ms", 1e3}, {"us", 1e6}, {"ns", 1e9}};
    const double least = 3.2e8, most = 4.1e9;
    const char *known = s->axis.unit;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (s->stamps[0] >= least * units[i].factor && s->stamps[s->rows - 1] <= most * units[i].factor &&
            (known[0] == '\0' || strcmp(known, units[i].unit) == 0))
            return true;
    return false;
}

static const char *epoch_unit(double stamp)
{
    return stamp < 1e11 ? "s" : stamp < 1e14 ? "ms" : stamp < 1e17 ? "us" : "ns";
}

/* The largest unit that is not longer than the step. */
static const char *unit_of_dates(double step)
{
    static const char *const units[] = {"d", "h", "min"};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (step >= ant_time_unit_length(units[i]))
            return units[i];
    return "s";
}

static void begin_axis(settling *s)
{
    ant_table *table = s->table;
    s->unit_length = 1.0;
    s->axis = (antler_time_axis){.kind = table->dates ? ANTLER_TIME_DATE : ANTLER_TIME_NUMBER};
    snprintf(s->axis.name, sizeof s->axis.name, "%s", table->time_name == NULL ? "time" : table->time_name);
    if (!ant_series_name_is_fit(s->axis.name)) /* cut within a character */
        snprintf(s->axis.name, sizeof s->axis.name, "time");
    snprintf(s->axis.unit, sizeof s->axis.unit, "%s", table->time_unit);
}

/* Once the step is known. */
static void choose_unit(settling *s, double step)
{
    if (s->axis.months > 0) {
        const bool years = s->axis.months % 12 == 0;
        snprintf(s->axis.unit, sizeof s->axis.unit, "%s", years ? "yr" : "month");
        s->unit_length = years ? 12.0 : 1.0;
    } else if (s->axis.kind == ANTLER_TIME_DATE) {
        snprintf(s->axis.unit, sizeof s->axis.unit, "%s", unit_of_dates(step));
        s->unit_length = ant_time_unit_length(s->axis.unit);
    } else if (s->table->claim >= ANT_TIME_WEAK && is_epoch(s)) {
        s->axis.kind = ANTLER_TIME_EPOCH;
        snprintf(s->axis.unit, sizeof s->axis.unit, "%s", epoch_unit(s->stamps[0]));
    }
}

/* ---- refusals ---------------------------------------------------------------------------------------- */

/* Times of a clock that was changed: in the night to a Sunday the step to this row is `by` longer than
 * `usual`. */
static bool is_clock_change(const settling *s, size_t row, double usual, double by)
{
    static const double hour = 3600e6, second = 1e6, day = 86400e6, first_sunday = 3.0; /* 1970-01-04 */
    if (s->axis.kind != ANTLER_TIME_DATE || s->axis.months > 0 || s->found.order == ANT_STAMPS_MISSING)
        return false;
    const double days = floor(s->stamps[row] / day), of_day = s->stamps[row] - days * day;
    const double step = s->stamps[row] - s->stamps[row - 1];
    return fmod(days - first_sunday, 7.0) == 0.0 && of_day <= 3.0 * hour && usual <= hour &&
           fabs(step - usual - by * hour) < second;
}

/* A grid in rows: columns of longitude and latitude. */
static bool has_places(const ant_table *table)
{
    static const char *const words[] = {"lat", "latitude", "lon", "longitude"};
    for (size_t v = 0; table->labels.names != NULL && v < table->dim; v++)
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (table->labels.names[v] != NULL && strcasecmp(table->labels.names[v], words[i]) == 0)
                return true;
    return false;
}

static antler_status fail_order(const settling *s)
{
    char now[TEXT], before[TEXT];
    const size_t row = s->found.fault;
    stamp_text(s, s->stamps[row], now);
    stamp_text(s, row > 0 ? s->stamps[row - 1] : 0.0, before);
    if (s->found.order == ANT_STAMPS_MISSING)
        return ant_fail(
            ANTLER_ERROR_DATA,
            "column '%s' is the time axis, but row %zu has no time; fill it in, or leave the row out",
            s->axis.name, row + 1);
    if (row > 1 && is_clock_change(s, row, s->stamps[1] - s->stamps[0], -1.0))
        return ant_fail(
            ANTLER_ERROR_DATA,
            "column '%s' is the time axis, but row %zu (%s) comes an hour too early after %s; where the "
            "clocks went back to winter time, write times in UTC, or with their offset, as in 02:00+01:00",
            s->axis.name, row + 1, now, before);
    if (s->found.order == ANT_STAMPS_DOUBLED && has_places(s->table))
        return ant_fail(
            ANTLER_ERROR_DATA,
            "column '%s' is the time axis, but row %zu has the same time as the row before (%s); make one "
            "column of each place, or take the rows of one",
            s->axis.name, row + 1, now);
    if (s->found.order == ANT_STAMPS_DOUBLED)
        return ant_fail(
            ANTLER_ERROR_DATA,
            "column '%s' is the time axis, but row %zu has the same time as the row before (%s); remove "
            "one of them, or name the column of subjects with --subject",
            s->axis.name, row + 1, now);
    if (s->found.faults == s->rows - 1)
        return ant_fail(
            ANTLER_ERROR_DATA,
            "column '%s' is the time axis and runs backwards from row 1 on (%s, then %s); reverse the "
            "rows",
            s->axis.name, before, now);
    return ant_fail(
        ANTLER_ERROR_DATA,
        "column '%s' is the time axis, but row %zu (%s) is earlier than the row before (%s); sort the "
        "rows, name the column of subjects with --subject, or give --time none if this is no time",
        s->axis.name, row + 1, now, before);
}

static antler_status fail_uneven(settling *s)
{
    char least[TEXT], most[TEXT], middle[TEXT];
    choose_unit(s, s->found.middle);
    const double offered = s->found.middle / s->unit_length;
    const bool dates = s->axis.kind == ANTLER_TIME_DATE;
    return ant_fail(
        ANTLER_ERROR_DATA,
        "its rows are not evenly spaced in time: the steps of column '%s' are %s to %s, their median "
        "%s; give --resample %.2g%s to interpolate, or --time none to take the rows as they are",
        s->axis.name, length_text(s, s->found.least, least), length_text(s, s->found.most, most),
        length_text(s, s->found.middle, middle), offered, dates ? s->axis.unit : "");
}

/* ---- recognition ------------------------------------------------------------------------------------- */

/* The relative rounding of numbers of this type. */
static double digits_of(const ant_column *column)
{
    return column->dtype == ANT_F32 ? 0x1p-23 : 0x1p-52;
}

/* Whether the values change by the same amount, within 1 %, from row to row.  Takes no memory. */
static bool is_ramp(const ant_column *column, size_t rows)
{
    enum { TILE = 1024 };
    double tile[TILE], first, last;
    ant_column_read_f64(column, 0, 0, 1, &first, 1);
    ant_column_read_f64(column, 0, rows - 1, 1, &last, 1);
    const double step = (last - first) / (double)(rows - 1);
    const double slack = 0.01 * fabs(step) + 4.0 * digits_of(column) * fmax(fabs(first), fabs(last));
    double before = first;
    for (size_t row = 1; row < rows; row += TILE) {
        const size_t n = rows - row < TILE ? rows - row : TILE;
        ant_column_read_f64(column, 0, row, n, tile, 1);
        for (size_t i = 0; i < n; before = tile[i++])
            if (!(fabs(tile[i] - before - step) <= slack))
                return false;
    }
    return step != 0.0;
}

/* Whether the first column may be time: it rises evenly in enough rows, and no other variable is a ramp. */
static bool is_only_ramp(const ant_table *table)
{
    const size_t rows = table->part.length;
    if (rows < FEWEST_WEAK || !is_ramp(&table->part.columns[table->time], rows))
        return false;
    for (size_t v = 0; v < table->dim; v++)
        if (v != table->time && is_ramp(&table->part.columns[v], rows))
            return false;
    return true;
}

/* Whether the column is the time axis; a fault of what must be one is refused. */
static antler_status recognise(settling *s, bool *accepted)
{
    const ant_time_claim claim = s->table->claim;
    const bool unread =
        s->table->stamps == NULL && s->table->time >= s->table->dim && s->found.order == ANT_STAMPS_MISSING;
    const bool resampled = s->opts->resample != NULL;
    *accepted = false;
    if (claim == ANT_TIME_NO_CLAIM)
        return ANTLER_OK;
    if (claim == ANT_TIME_FIRST) { /* is_only_ramp has seen the values */
        *accepted = s->found.faults == 0 && s->found.even && s->found.gaps == 0;
        return ANTLER_OK;
    }
    if (claim <= ANT_TIME_STRONG && (s->rows < FEWEST_ROWS || unread))
        return ANTLER_OK;
    if (claim == ANT_TIME_WEAK && (s->rows < FEWEST_WEAK || 20 * s->found.faults > s->rows)) {
        *accepted = s->found.faults == 0 && s->found.even;
        return ANTLER_OK;
    }
    if (s->found.faults > 0)
        return fail_order(s);
    if (!s->found.even && !resampled)
        return fail_uneven(s);
    *accepted = true;
    return ANTLER_OK;
}

/* ---- even rows --------------------------------------------------------------------------------------- */

static antler_status allocate_rows(const settling *s, size_t rows, double **values)
{
    ANT_CHECK(
        rows / 10 <= s->rows + 100000, ANTLER_ERROR_DATA,
        "the times of column '%s' need %zu rows, but there are %zu; give the parts between long gaps as "
        "several files, or a longer --resample",
        s->axis.name, rows, s->rows);
    const size_t bytes = rows * s->table->width * sizeof **values;
    *values = malloc(bytes);
    return *values == NULL ? ant_fail_memory(bytes, "the values") : ANTLER_OK;
}

/* Rows that are missing between two stamps become rows of NaN. */
static antler_status fill_gaps(settling *s)
{
    const size_t width = s->table->width, rows = s->rows + s->found.gap_rows;
    double *values = NULL;
    ANT_TRY(allocate_rows(s, rows, &values));
    for (size_t i = 0; i < rows * width; i++)
        values[i] = NAN;
    size_t at = 0;
    for (size_t first = 0, next; first < s->rows; first = next) {
        for (next = first + 1; next < s->rows; next++)
            if (ant_stamps_steps(s->ticks[next] - s->ticks[next - 1], s->found.step) > 1)
                break;
        for (size_t j = 0; j < width; j++)
            ant_column_read_f64(&s->table->part.columns[j], 0, first, next - first, values + at * width + j,
                                width);
        at += next - first;
        if (next < s->rows)
            at += ant_stamps_steps(s->ticks[next] - s->ticks[next - 1], s->found.step) - 1;
    }
    ant_table_set_rows(s->table, values, rows);
    return ANTLER_OK;
}

/* "0.5", "10min" or "10 min", in the unit of the stamps. */
static antler_status read_step(settling *s, double *step)
{
    const char *text = s->opts->resample, *end = text + strlen(text), *stop;
    char unit[ANT_UNIT_ROOM] = "";
    const bool number =
        ant_number_read(text, end, step, &stop) == ANT_NUMBER_READ && *step > 0.0 && isfinite(*step);
    stop += strspn(stop, " ");
    const bool named = number && stop < end && ant_time_unit(stop, strlen(stop), unit);
    ANT_CHECK(number && (stop == end || named), ANTLER_ERROR_ARGUMENT,
              "--resample: '%s' is not a length of time, such as 0.5 or 10min", text);
    const double own = ant_time_unit_length(s->axis.unit), given = ant_time_unit_length(unit);
    ANT_CHECK(!named || given > 0.0, ANTLER_ERROR_ARGUMENT,
              "--resample: '%s' has no fixed length; give it in days, such as 30d", text);
    ANT_CHECK(!named || own > 0.0, ANTLER_ERROR_ARGUMENT,
              "--resample: '%s' has a unit, but that of column '%s' is not known; give a number in its unit",
              text, s->axis.name);
    *step *= named ? given / own * s->unit_length : s->unit_length;
    return ANTLER_OK;
}

static antler_status resample(settling *s)
{
    double step = 0.0, *values = NULL;
    ANT_TRY(read_step(s, &step));
    const size_t width = s->table->width;
    const double rows = floor((s->stamps[s->rows - 1] - s->stamps[0]) / step + 1e-6) + 1.0;
    ANT_TRY(allocate_rows(s, rows < 1e15 ? (size_t)rows : (size_t)1e15, &values));
    const ant_resample r = {.stamps = s->stamps,
                            .rows = s->rows,
                            .first = s->stamps[0],
                            .step = step,
                            .count = (size_t)rows,
                            .widest = 3.0 * s->found.middle,
                            .cubic = s->opts->resample_method == ANTLER_RESAMPLE_CUBIC};
    double *column = malloc(s->rows * sizeof *column);
    if (column == NULL) {
        free(values);
        return ant_fail_memory(s->rows * sizeof *column, "a column");
    }
    for (size_t j = 0; j < width; j++) {
        ant_column_read_f64(&s->table->part.columns[j], 0, 0, s->rows, column, 1);
        ant_resample_column(&r, column, values + j, width);
    }
    free(column);
    ant_table_set_rows(s->table, values, r.count);
    s->found.step = step;
    choose_unit(s, step);
    return ANTLER_OK;
}

/* ---- notes ------------------------------------------------------------------------------------------- */

static antler_status note_axis(settling *s)
{
    char first[TEXT], last[TEXT], step[TEXT], day[ANT_DATE_ROOM] = "";
    const ant_date_style plain = {.clock = true, .blank = true};
    const char *origin = s->table->part.origin;
    if (s->axis.kind == ANTLER_TIME_EPOCH) {
        char date[ANT_DATE_ROOM];
        ant_date_write(s->stamps[0] * ant_time_unit_length(s->axis.unit), &plain, date);
        snprintf(day, sizeof day, " (since 1970: %.30s)", date);
    }
    const bool by_place = s->table->claim == ANT_TIME_FIRST, array = s->table->stamps != NULL;
    return ant_notes_add(
        &s->table->notes, "%s: %s%s%s is the time axis: %s%s to %s, dt %s%s", origin,
        by_place ? "the first column rises evenly and"
        : array  ? "array '"
                 : "column '",
        by_place ? "" : s->axis.name, by_place ? "" : "'", stamp_text(s, s->stamps[0], first), day,
        stamp_text(s, s->stamps[s->rows - 1], last), length_text(s, s->found.step, step),
        array || s->table->claim >= ANT_TIME_DATES ? "" : " (--time none makes it a variable)");
}

static antler_status note_gaps(settling *s)
{
    char length[TEXT], at[TEXT], least[TEXT], most[TEXT];
    const ant_stamps *f = &s->found;
    const char *origin = s->table->part.origin;
    if (f->gaps > 0)
        ANT_TRY(ant_notes_add(
            &s->table->notes,
            "%s: %zu gap%s in time: %zu row%s missing and become%s NaN, the longest %zu (%s) after "
            "row %zu (%s)%s",
            origin, f->gaps, f->gaps == 1 ? "" : "s", f->gap_rows, f->gap_rows == 1 ? " is" : "s are",
            f->gap_rows == 1 ? "s" : "", f->longest,
            length_text(s, (double)(f->longest + 1) * f->step, length), f->longest_after + 1,
            stamp_text(s, s->stamps[f->longest_after], at),
            is_clock_change(s, f->longest_after + 1, f->step, 1.0)
                ? "; where the clocks went to summer time none is missing: write times in UTC, or with their "
                  "offset"
                : ""));
    if (f->deviation > 0.02)
        ANT_TRY(ant_notes_add(
            &s->table->notes,
            "%s: the time steps vary from %s to %s and are taken as even; --resample interpolates", origin,
            length_text(s, f->least, least), length_text(s, f->most, most)));
    return ANTLER_OK;
}

/* ---- the whole --------------------------------------------------------------------------------------- */

/* A first column without a name that counts the rows is no variable: pandas writes its index so. */
static antler_status drop_row_index(ant_table *table)
{
    char *const *names = table->labels.names;
    const bool unnamed = names != NULL && (names[0] == NULL || strcmp(names[0], "Unnamed: 0") == 0);
    if (!unnamed || table->dim < 2 || !is_ramp(&table->part.columns[0], table->part.length))
        return ANTLER_OK;
    ant_table_drop(table, 0);
    return ant_notes_add(&table->notes,
                         "%s: the first column, which has no name, counts the rows and is left out",
                         table->part.origin);
}

/* The axis is accepted: its column goes, and the rows become even. */
static antler_status adopt(settling *s)
{
    ant_table *table = s->table;
    if (table->time != ANT_NO_COLUMN)
        ant_table_drop(table, table->time);
    if (!ant_columns_are_named(s->opts))
        ANT_TRY(drop_row_index(table));
    choose_unit(s, s->found.even ? s->found.step : s->found.middle);
    if (s->opts->resample != NULL)
        ANT_TRY(resample(s));
    else if (s->found.gaps > 0)
        ANT_TRY(fill_gaps(s));
    if (!table->one_of_many)
        ANT_TRY(note_axis(s));
    if (s->opts->resample == NULL)
        ANT_TRY(note_gaps(s));
    s->axis.step = s->axis.months > 0 ? s->found.step * mean_month : s->found.step;
    table->axis = s->axis;
    table->part.start = s->stamps[0];
    table->part.month_day = s->month_day;
    const double dt = s->found.step / s->unit_length, own = table->labels.dt;
    table->labels.dt = fabs(own - dt) <= 1e-3 * dt ? own : dt; /* a file that gives dt has all its digits */
    return ANTLER_OK;
}

/* Whether the dates are a whole number of months apart, most of them the same. */
static antler_status study_months(settling *s, bool *even)
{
    *even = false;
    s->months = malloc(s->rows * sizeof *s->months);
    if (s->months == NULL)
        return ant_fail_memory(s->rows * sizeof *s->months, "the months");
    if (!ant_date_months(s->stamps, s->rows, &s->table->style, s->months, &s->month_day))
        return ANTLER_OK;
    ANT_TRY(ant_stamps_study(s->months, s->rows, 0.0, &s->found));
    *even = s->found.even && s->found.step == rint(s->found.step);
    for (size_t i = 1; i < s->rows && *even; i++)
        *even = fmod(s->months[i] - s->months[0], s->found.step) == 0.0;
    return ANTLER_OK;
}

/* Months, quarters and years of the calendar are even, though they have not the same number of days. */
static antler_status study(settling *s)
{
    const size_t fewest =
        s->table->axis.months > 0 ? 2 : FEWEST_ROWS; /* a short subject follows the longest */
    bool even = false;
    if (s->table->dates && s->opts->resample == NULL && s->rows >= fewest)
        ANT_TRY(study_months(s, &even));
    s->ticks = even ? s->months : s->stamps;
    s->axis.months = even ? (size_t)s->found.step : 0;
    return even ? ANTLER_OK : ant_stamps_study(s->stamps, s->rows, s->resolution, &s->found);
}

/* A column of times that could be days of a spreadsheet, but is not called a date. */
static antler_status note_serial_days(settling *s)
{
    ant_table *table = s->table;
    if (table->dates || table->one_of_many || table->claim < ANT_TIME_STRONG || table->time_unit[0] != '\0' ||
        !ant_serial_days_likely(s->stamps, s->rows))
        return ANTLER_OK;
    return ant_notes_add(
        &table->notes,
        "%s: column '%s' may hold days since 1899-12-30, as spreadsheets store dates; if so, call "
        "it date",
        table->part.origin, s->axis.name);
}

static antler_status settle(settling *s)
{
    bool accepted = false;
    const ant_column *column = s->table->stamps != NULL ? NULL : &s->table->part.columns[s->table->time];
    if (column != NULL)
        ant_column_read_f64(column, 0, 0, s->rows, s->stamps, 1);
    else
        memcpy(s->stamps, s->table->stamps, s->rows * sizeof *s->stamps);
    begin_axis(s);
    const double digits = column != NULL ? digits_of(column) : 0x1p-52;
    s->resolution = s->table->dates ? 0.5 : digits * fmax(fabs(s->stamps[0]), fabs(s->stamps[s->rows - 1]));
    if (s->rows < 2) {
        s->found.step = 0.0;
        return ANTLER_OK;
    }
    ANT_TRY(study(s));
    ANT_TRY(recognise(s, &accepted));
    if (accepted)
        ANT_TRY(note_serial_days(s));
    return accepted ? adopt(s) : ANTLER_OK;
}

antler_status ant_table_settle_time(ant_table *table, const antler_load_opts *opts)
{
    settling s = {.table = table, .opts = opts, .rows = table->part.length};
    antler_status status = ANTLER_OK;
    const bool one = (table->time != ANT_NO_COLUMN || table->stamps != NULL) && table->part.count == 1;
    ANT_CHECK(table->claim != ANT_TIME_GIVEN || one, ANTLER_ERROR_ARGUMENT,
              "--time: an array of many trajectories has no column of times that fits all of them");
    if (one && (table->claim != ANT_TIME_FIRST || is_only_ramp(table))) {
        s.stamps = malloc(s.rows * sizeof *s.stamps);
        status = s.stamps == NULL ? ant_fail_memory(s.rows * sizeof *s.stamps, "the times") : settle(&s);
        free(s.stamps);
        free(s.months);
    }
    if (status == ANTLER_OK && opts->resample != NULL && table->axis.kind == ANTLER_TIME_NONE)
        status = ant_fail(
            ANTLER_ERROR_ARGUMENT,
            "--resample needs times, and no column was recognised as the time axis; name it with --time");
    if (status == ANTLER_OK && table->time != ANT_NO_COLUMN && table->time >= table->dim + table->input_dim)
        ant_table_drop(table, table->time); /* it was read for its times alone */
    table->time = ANT_NO_COLUMN;
    return status;
}
