/*
 * series.h - inside a series set: parts, columns, and how values are reached.
 *
 * A part comes from one array: one trajectory, or many of equal length (a 3-D array).  Each of
 * its columns stores where its values are, so that row-major, column-major and transposed arrays,
 * columns left out and inputs from another array are all read in place, never copied.
 *
 *     part 0                              part 1
 *     | trajectory 0 | trajectory 1 |     | trajectory 2 |
 *       column v: first + trajectory * trajectory_step + row * row_step
 */
#ifndef ANT_DATA_SERIES_H
#define ANT_DATA_SERIES_H

#include "base/status.h"
#include "data/date.h"
#include "data/dtype.h"
#include "data/mapping.h"
#include "data/notes.h"
#include "data/time_name.h"

/* Variables and inputs together.  More columns than that are a mistake: a table that lies on its side. */
enum { ANT_SERIES_MAX_DIM = 1 << 20 };

typedef struct ant_column {
    const unsigned char *first; /* value of trajectory 0, row 0; aligned for its type */
    ptrdiff_t row_step;         /* bytes from one row to the next */
    ptrdiff_t trajectory_step;  /* bytes from one trajectory to the next */
    ant_dtype dtype;
    double shift, divisor; /* value = (stored - shift) / divisor; 0 and 1: as stored */
} ant_column;

typedef struct ant_part {
    size_t first;        /* number of its first trajectory in the set */
    size_t count;        /* trajectories */
    size_t length;       /* rows of each */
    ant_column *columns; /* (dim + input_dim), variables first; owned */
    void *buffers[2];    /* where the values lie; owned, may be NULL */
    ant_mapping mapping; /* or they lie in a file; owned, may be empty */
    char *origin;        /* owned */
    double start;  /* time of row 0 where the set has a time axis; NaN: unknown.  Of dates in microseconds
                      since 1970, else in the unit of the column that they were read from */
    int month_day; /* where rows follow the calendar: the day of the month, 31: its last */
} ant_part;

struct antler_series {
    size_t dim, input_dim;
    size_t part_count, part_capacity;
    ant_part *parts;
    size_t count;        /* trajectories */
    size_t total_length; /* rows */
    char **names;        /* (dim + input_dim) */
    double dt;
    antler_time_axis time; /* ant_part_time gives the time of a row */
    ant_date_style style;  /* of its dates */
    ant_notes notes;
    bool scaled;
    double *mean, *scale; /* (dim): user = value * scale + mean */
};

/* A set with the names, scaling and dt of `series`, without a trajectory or a time axis.  *made is to be
 * freed also when this fails. */
antler_status ant_series_like(const antler_series *series, antler_series **made);

/* Add a part, which the set owns from now on, also when this fails.  `first` is filled in here. */
antler_status ant_series_add_part(antler_series *series, ant_part part);

void ant_part_free(ant_part *part);

/* The part that holds this trajectory, which must exist. */
const ant_part *ant_series_part(const antler_series *series, size_t trajectory);

/* The number of the trajectory with the most rows, the first of equal ones. */
size_t ant_series_longest(const antler_series *series);

/* Rows of a trajectory that a share at its end has. */
size_t ant_series_last_rows(size_t length, double share);

/*
 * Split every trajectory: the last rows by `share`, and all rows before them.  Both sets share the values of
 * `series`, which must outlive them; a trajectory without rows is left out of its set.
 */
antler_status ant_series_split(const antler_series *series, double share, antler_series **first,
                               antler_series **last);

/* A set of those trajectories that have at least so many rows.  It shares the values of `series`, which must
   outlive it. */
antler_status ant_series_long(const antler_series *series, size_t rows, antler_series **made);

/* Keep the last rows of every trajectory by `share`, or all but them; trajectories without rows go. */
void ant_series_keep(antler_series *series, double share, bool last);

/* The time of a row of a part, which may lie behind its last. */
double ant_part_time(const antler_series *series, const ant_part *part, size_t row);

/* The time of a row as text; the set has a time axis.  Returns the length.  text: (ANT_TIME_ROOM) */
enum { ANT_TIME_ROOM = ANT_DATE_ROOM };
size_t ant_series_time_text(const antler_series *series, size_t trajectory, size_t row, char *text);

/* Let the newest part begin at the time of this row of another set, which may lie behind its last; nothing
   where that has no time axis. */
void ant_series_continue_time(antler_series *series, const antler_series *from, size_t trajectory,
                              size_t row);

/* Set where the newest part came from: a file, a system.  Shown by antler_series_origin. */
antler_status ant_series_set_origin(antler_series *series, const char *origin);

/* Record that values = (user - mean) / scale, without changing them.  mean, scale: (dim). */
void ant_series_set_scaling(antler_series *series, const double *mean, const double *scale);

/* A name that can stand in a header line: UTF-8, not empty, no control characters. */
bool ant_series_name_is_fit(const char *name);

/* Statistics of variables first .. first+count-1 in one pass.  stats: (count). */
antler_status ant_series_stats_range(const antler_series *series, size_t first, size_t count,
                                     antler_variable_stats *stats);

/* Read rows of one column; out[i * step] receives row first + i.  Defined in read_tmpl.c. */
void ant_column_read_f64(const ant_column *column, size_t trajectory, size_t first, size_t count, double *out,
                         size_t step);
void ant_column_read_f32(const ant_column *column, size_t trajectory, size_t first, size_t count, float *out,
                         size_t step);

#endif
