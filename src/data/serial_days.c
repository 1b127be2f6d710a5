/* serial_days.c - days since 1899-12-30, as spreadsheets store dates, become microseconds since 1970. */
#include "data/serial_days.h"

#include <math.h>
#include <stdlib.h>

enum { FEWEST_ROWS = 3 };

static const double first_day = 25569.0, last_day = 73050.0; /* 1970-01-01 and 2100-01-01 */
static const double day = 86400e6;

static bool in_range(const double *stamps, size_t rows)
{
    for (size_t i = 0; i < rows; i++)
        if (!(stamps[i] >= first_day && stamps[i] <= last_day))
            return false;
    return rows >= FEWEST_ROWS;
}

bool ant_serial_days_likely(const double *stamps, size_t rows)
{
    if (!in_range(stamps, rows))
        return false;
    const double step = (stamps[rows - 1] - stamps[0]) / (double)(rows - 1);
    const double minutes = step * 1440.0, decimal = step * 1e4;
    return step > 0.0 && step < 1.0 && rint(minutes) >= 1.0 && fabs(minutes - rint(minutes)) < 1e-3 &&
           fabs(decimal - rint(decimal)) > 0.01;
}

/* The coarsest of minutes, seconds and milliseconds that all stamps are close to: spreadsheets write few
 * digits. */
static double unit_of(const double *stamps, size_t rows)
{
    static const double units[] = {60e6, 1e6};
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        double farthest = 0.0;
        for (size_t i = 0; i < rows; i++) {
            const double count = (stamps[i] - first_day) * day / units[u];
            farthest = fmax(farthest, fabs(count - rint(count)));
        }
        if (farthest < 0.15)
            return units[u];
    }
    return 1e3;
}

/* Make them microseconds since 1970, rounded to that unit. */
static void convert(double *stamps, size_t rows, ant_date_style *style)
{
    const double unit = unit_of(stamps, rows);
    *style = (ant_date_style){.blank = true};
    for (size_t i = 0; i < rows; i++) {
        stamps[i] = rint((stamps[i] - first_day) * day / unit) * unit;
        style->clock = style->clock || fmod(stamps[i], day) != 0.0;
    }
}

/* The column is a claim to time by its name, which is that of a date and has no unit. */
static bool is_candidate(const ant_table *table)
{
    return table->time != ANT_NO_COLUMN && table->stamps == NULL && table->part.count == 1 && !table->dates &&
           table->claim >= ANT_TIME_STRONG && table->time_unit[0] == '\0' && table->time_name != NULL &&
           ant_time_name_is_date(table->time_name);
}

antler_status ant_serial_days_settle(ant_table *table)
{
    if (!is_candidate(table))
        return ANTLER_OK;
    const size_t rows = table->part.length;
    double *stamps = malloc(rows * sizeof *stamps);
    if (stamps == NULL)
        return ant_fail_memory(rows * sizeof *stamps, "the times");
    ant_column_read_f64(&table->part.columns[table->time], 0, 0, rows, stamps, 1);
    antler_status status = ANTLER_OK;
    if (in_range(stamps, rows)) {
        convert(stamps, rows, &table->style);
        table->dates = true;
        status = ant_table_to_doubles(table);
        double *values = table->part.buffers[0]; // (rows, width)
        for (size_t i = 0; status == ANTLER_OK && i < rows; i++)
            values[i * table->width + table->time] = stamps[i];
        if (status == ANTLER_OK)
            status = ant_notes_add(
                &table->notes,
                "%s: column '%s' holds days since 1899-12-30, as spreadsheets store dates, and is "
                "read as dates",
                table->part.origin, table->time_name);
    }
    free(stamps);
    return status;
}
