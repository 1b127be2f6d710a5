/*
 * save_npz.c - a series as a NumPy archive; npz.h says what the arrays mean.
 *
 * Trajectories are read in tiles while the archive is written, so none is held as a whole.
 */
#include "data/archive.h"
#include "data/save.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Which values an array of the archive takes. */
typedef struct selection {
    const antler_series *series;
    size_t trajectory;
    bool inputs;
} selection;

static void give_rows(const void *cookie, size_t first, size_t count, double *out)
{
    const selection *s = cookie;
    ant_save_rows(s->series, s->trajectory, s->inputs, first, count, out);
}

static antler_status add_trajectory(ant_archive *archive, const antler_series *series, size_t trajectory,
                                    bool inputs)
{
    char key[32];
    const selection s = {series, trajectory, inputs};
    const size_t width = inputs ? series->input_dim : series->dim;
    snprintf(key, sizeof key, "%c_%03zu", inputs ? 's' : 'x', trajectory);
    return ant_archive_add_rows(archive, key, antler_series_length(series, trajectory), width,
                                ant_save_tile_rows(width), give_rows, &s, sizeof s);
}

/* The times of a trajectory: numbers, or dates. */
static antler_status add_times(ant_archive *archive, const antler_series *series, size_t trajectory)
{
    char key[32] = "time";
    const ant_part *part = ant_series_part(series, trajectory);
    const size_t length = part->length;
    const bool dates = series->time.kind == ANTLER_TIME_DATE;
    double *numbers = malloc(length * sizeof *numbers);
    int64_t *stamps = malloc(length * sizeof *stamps);
    antler_status status = ANTLER_OK;
    if (series->count > 1)
        snprintf(key, sizeof key, "time_%03zu", trajectory);
    if (numbers == NULL || stamps == NULL)
        status = ant_fail_memory(2 * length * sizeof *numbers, "the times");
    for (size_t i = 0; i < length && status == ANTLER_OK; i++) {
        numbers[i] = ant_part_time(series, part, i);
        stamps[i] = fabs(numbers[i]) < 9e18 ? (int64_t)rint(numbers[i]) : INT64_MIN; /* NaT */
    }
    if (status == ANTLER_OK)
        status = dates ? ant_archive_add_dates(archive, key, length, stamps)
                       : ant_archive_add(archive, key, ANT_F64, 1, &length, numbers);
    free(numbers);
    free(stamps);
    return status;
}

/* The time axis: the times of every trajectory, and the name and unit of the axis. */
static antler_status add_axis(ant_archive *archive, const antler_series *series)
{
    const char *const name[] = {series->time.name}, *const unit[] = {series->time.unit};
    if (series->time.kind == ANTLER_TIME_NONE)
        return ANTLER_OK;
    for (size_t k = 0; k < series->count; k++)
        ANT_TRY(add_times(archive, series, k));
    ANT_TRY(ant_archive_add_texts(archive, "time_name", 1, 1, name));
    return unit[0][0] == '\0' ? ANTLER_OK : ant_archive_add_texts(archive, "time_unit", 1, 1, unit);
}

static antler_status add_all(ant_archive *archive, const antler_series *series)
{
    const char *const *names = (const char *const *)series->names;
    for (size_t k = 0; k < series->count; k++) {
        ANT_TRY(add_trajectory(archive, series, k, false));
        if (series->input_dim != 0)
            ANT_TRY(add_trajectory(archive, series, k, true));
    }
    ANT_TRY(ant_archive_add_texts(archive, "names", 1, series->dim, names));
    if (series->input_dim != 0)
        ANT_TRY(ant_archive_add_texts(archive, "input_names", 1, series->input_dim, names + series->dim));
    if (series->dt != 0.0)
        ANT_TRY(ant_archive_add(archive, "dt", ANT_F64, 0, NULL, &series->dt));
    if (series->scaled) {
        ANT_TRY(ant_archive_add(archive, "mean", ANT_F64, 1, &series->dim, series->mean));
        ANT_TRY(ant_archive_add(archive, "scale", ANT_F64, 1, &series->dim, series->scale));
    }
    return add_axis(archive, series);
}

antler_status ant_save_npz(const antler_series *series, const char *path)
{
    ant_archive *archive = NULL;
    ANT_TRY(ant_archive_create(path, &archive));
    const antler_status status = add_all(archive, series);
    if (status == ANTLER_OK)
        return ant_archive_commit(archive);
    ant_archive_abort(archive);
    return status;
}
