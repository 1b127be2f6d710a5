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
#include "data/dtype.h"

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
    char *origin;        /* owned */
} ant_part;

struct antler_series {
    size_t dim, input_dim;
    size_t part_count, part_capacity;
    ant_part *parts;
    size_t count;        /* trajectories */
    size_t total_length; /* rows */
    char **names;        /* (dim + input_dim) */
    double dt;
    bool scaled;
    double *mean, *scale; /* (dim): user = value * scale + mean */
};

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
