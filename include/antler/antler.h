/*
 * antler.h - reconstruct dynamical systems from time series.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Introduction
 * ------------
 * Antler works on series: one or many trajectories, each a `T x N` table of numbers with time running
 * down the rows, optionally with a `T x K` table of known inputs beside it.  This header is the whole
 * public interface of the library.  It has ten parts, in the order in which a program needs them:
 *
 *    1  version         which library is this
 *    2  status          what a call returns, and the message that belongs to it
 *    3  series          read, check, standardise and write data
 *    4  systems         simulate the built-in dynamical systems
 *    5  measures        compare a generated orbit with a true one
 *    6  models          load a trained model, run it free, evaluate it
 *    7  training        settings, runs, checkpoints, resume
 *    8  solving         the solver on arrays: states, loss, gradient
 *    9  devices         the GPUs of this machine, and whether they can be used
 *   10  fitting         from data to a model without settings
 *
 * A complete use, without error handling:
 *
 *     antler_simulate_opts o;
 *     antler_series *truth = NULL, *other = NULL;
 *     antler_measure_opts m;
 *     antler_measure_result r;
 *
 *     antler_simulate_opts_default("lorenz63", &o);
 *     antler_simulate(&o, &truth);                // 100,000 steps, standardised
 *     o.seed = 2;
 *     antler_simulate(&o, &other);                // another orbit of the same system
 *     antler_measure_opts_default(&m);
 *     if (antler_measure(truth, other, &m, &r) != ANTLER_OK)
 *         fprintf(stderr, "%s\n", antler_message());
 *     printf("D_stsp = %g\n", r.dstsp);
 *     antler_measure_result_clear(&r);
 *     antler_series_free(other);
 *     antler_series_free(truth);
 *
 * Conventions
 * -----------
 * - Every function that can fail returns an antler_status.  Output arguments come last and are written
 *   only on success, unless the comment says otherwise.
 * - Arrays are row-major with time first; the shape is given for each argument: `x: (T, N)`.
 * - `_create`, `_load` and `antler_simulate` return a new object, which the caller frees with `_free`.
 *   `_free` accepts NULL.  Arrays passed in are copied or only read during the call, never kept; the one
 *   exception is antler_series_append_view.
 * - NULL, where the comment does not allow it, and an index out of range are ANTLER_ERROR_ARGUMENT.  A
 *   function without a status then returns 0, false, NaN, "" or NULL, or does nothing.
 * - Option structs are filled by their `_default` function first; then change what you need.
 * - A program that was compiled with an older header keeps working.  Every struct that it hands over begins
 *   with `struct_size`, its sizeof there: fields beyond it have their defaults, and nothing is
 *   written beyond it.  `_default` and functions that fill a result set it; their last argument, the size,
 *   is given by the macros at the end of this header.  A size that the library does not know is
 *   ANTLER_ERROR_ARGUMENT.
 * - Later fields come at the end of a struct.  A struct that is part of another keeps its size, and later
 *   fields take from its `room`, which is 0.  antler_progress, antler_array_info and
 *   antler_system_parameter do not change.
 * - The library never prints and never exits.  Its only global state is the last message of each
 *   thread.  Different objects may be used from different threads; one object from one thread at a
 *   time, except that functions taking a `const` object may run concurrently.
 */
#ifndef ANTLER_H
#define ANTLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(ANTLER_BUILD) && defined(__GNUC__)
#define ANTLER_API __attribute__((visibility("default")))
#else
#define ANTLER_API
#endif

/* ===================================================================================================
 * 1  Version
 * ================================================================================================= */

#define ANTLER_VERSION_MAJOR 0
#define ANTLER_VERSION_MINOR 1
#define ANTLER_VERSION_PATCH 0

/* True when the header is at least version x.y.z. */
#define ANTLER_VERSION_GE(x, y, z)                                                                           \
    (ANTLER_VERSION_MAJOR > (x) || (ANTLER_VERSION_MAJOR == (x) && ANTLER_VERSION_MINOR > (y)) ||            \
     (ANTLER_VERSION_MAJOR == (x) && ANTLER_VERSION_MINOR == (y) && ANTLER_VERSION_PATCH >= (z)))

/* "0.1.0": the version of the library that is running, which may be newer than this header. */
ANTLER_API const char *antler_version(void);

/* One line for bug reports: version, git revision, compiler, flags, instruction sets in use. */
ANTLER_API const char *antler_build_info(void);

/* `room` in a struct that is part of another: words of 8 bytes, all 0, for later fields. */
#define ANTLER_ROOM 8

/* ===================================================================================================
 * 2  Status
 * ================================================================================================= */

/*
 * Zero: done.  Positive: the call ran to its end and this is the numerical
 * outcome; all objects are intact and results are filled in as far as they exist.  Negative: the call
 * could not do its work because of the caller (argument, format, data), the machine (memory, I/O,
 * device) or a fault in Antler itself.
 *
 * The numbers are part of the interface and do not change.
 */
#define ANTLER_STATUS_LIST(X)                                                                                \
    X(OK, 0, "done")                                                                                         \
    X(NOT_CONVERGED, 1, "an iteration did not converge within its limit")                                    \
    X(DIVERGED, 2, "the orbit left every bound")                                                             \
    X(NON_FINITE, 3, "a result is not finite")                                                               \
    X(CANCELLED, 4, "stopped by the caller")                                                                 \
    X(ERROR_ARGUMENT, -1, "an argument is out of its range")                                                 \
    X(ERROR_NOT_FOUND, -2, "there is no such file, system or name")                                          \
    X(ERROR_FORMAT, -3, "the file is not in a format that Antler reads")                                     \
    X(ERROR_DATA, -4, "the data cannot be used as they are")                                                 \
    X(ERROR_MEMORY, -5, "out of memory")                                                                     \
    X(ERROR_IO, -6, "the system could not read or write")                                                    \
    X(ERROR_DEVICE, -7, "the device failed")                                                                 \
    X(ERROR_INTERNAL, -8, "a fault in Antler")

typedef enum antler_status {
#define ANTLER_STATUS_ENUM(name, value, text) ANTLER_##name = value,
    ANTLER_STATUS_LIST(ANTLER_STATUS_ENUM)
#undef ANTLER_STATUS_ENUM
} antler_status;

/* "ERROR_FORMAT" for ANTLER_ERROR_FORMAT; "UNKNOWN" for a number that is not in the list. */
ANTLER_API const char *antler_status_name(antler_status status);

/* The general text of a status, from the list above. */
ANTLER_API const char *antler_status_text(antler_status status);

/*
 * The message of the last call on this thread that did not return ANTLER_OK: what is wrong, where,
 * and a remedy.  No newline at the end.  Valid until the next such call on this thread;
 * never NULL.
 */
ANTLER_API const char *antler_message(void);

/*
 * The candidate that is nearest to a misspelled word, for "did you mean" messages; NULL when none is
 * near enough.
 */
ANTLER_API const char *antler_nearest(const char *word, const char *const *candidates, size_t count);

/*
 * Replace the file `path` by this text.  It appears whole or not at all; an old file stays until then.  A
 * symbolic link is replaced, too; into a device or a FIFO the text is written.
 */
ANTLER_API antler_status antler_write_file(const char *path, const char *text);

/*
 * Long calls report through this.  `what` names the work, `fraction` runs from 0 to 1.  The function
 * is called on the caller's thread, at most about twenty times a second.  Return 0 to continue; anything
 * else stops the work soon and the call returns ANTLER_CANCELLED.
 */
typedef int (*antler_progress_fn)(void *cookie, const char *what, double fraction);

typedef struct antler_progress {
    antler_progress_fn fn; /* NULL: silent */
    void *cookie;
} antler_progress;

/* Where to compute.  Section 9 describes the GPUs. */
typedef enum antler_device {
    ANTLER_DEVICE_AUTO, /* the GPU where there is one and the work is large enough; else the CPU */
    ANTLER_DEVICE_CPU,
    ANTLER_DEVICE_CUDA, /* the first GPU, or ANTLER_ERROR_DEVICE with the reason */
} antler_device;

ANTLER_API const char *antler_device_name(antler_device device); /* "auto", "cpu", "cuda" */

/* The library's own kernels, which compile for long, need no more than this. */
#ifndef ANTLER_STATUS_ONLY

/* ===================================================================================================
 * 3  Series
 * ================================================================================================= */

/*
 * A series set: one or many trajectories of the same N variables and the same K inputs, of equal or
 * unequal length, with names, the sampling interval, and the standardisation that was applied.
 * Values are held in the type in which they were read (float stays float), so a file needs about as
 * much memory as it has bytes.
 */
typedef struct antler_series antler_series;

/* Make an empty set for `dim` >= 1 variables and `input_dim` >= 0 inputs. */
ANTLER_API antler_status antler_series_create(size_t dim, size_t input_dim, antler_series **series);

ANTLER_API void antler_series_free(antler_series *series);

/*
 * Append one trajectory, copied.  x: (length, dim); inputs: (length, input_dim), NULL when
 * input_dim is 0.
 */
ANTLER_API antler_status antler_series_append(antler_series *series, size_t length, const double *x,
                                              const double *inputs);

/* A table in the caller's memory, in any order and of any number type. */
typedef struct antler_view {
    size_t struct_size;    /* set by antler_view_default */
    const void *values;    /* row 0, column 0; aligned for its type */
    const char *dtype;     /* as NumPy writes it: "float64", "float32", "int16", ... */
    ptrdiff_t row_step;    /* bytes from one row to the next */
    ptrdiff_t column_step; /* bytes from one column to the next */
} antler_view;

ANTLER_API void antler_view_default(antler_view *view, size_t struct_size);

/*
 * Append one trajectory without a copy: the values must neither move nor change until the
 * series is freed.  x: (length, dim); inputs: (length, input_dim), NULL when input_dim is 0.
 */
ANTLER_API antler_status antler_series_append_view(antler_series *series, size_t length, const antler_view *x,
                                                   const antler_view *inputs);

ANTLER_API size_t antler_series_count(const antler_series *series);     /* trajectories */
ANTLER_API size_t antler_series_dim(const antler_series *series);       /* N */
ANTLER_API size_t antler_series_input_dim(const antler_series *series); /* K */
ANTLER_API size_t antler_series_length(const antler_series *series, size_t trajectory);
ANTLER_API size_t antler_series_total_length(const antler_series *series); /* sum over trajectories */

/* Where a trajectory came from: "train.npz:x_001", "weather.csv", "lorenz63"; "" when appended. */
ANTLER_API const char *antler_series_origin(const antler_series *series, size_t trajectory);

/* The type of the stored values as NumPy writes it: "float64", "float32", "int16", ... */
ANTLER_API const char *antler_series_dtype(const antler_series *series, size_t trajectory);

/* Variables are 0 .. dim-1, inputs dim .. dim+input_dim-1.  Unnamed ones are called x1 .. xN, s1 .. sK. */
ANTLER_API const char *antler_series_name(const antler_series *series, size_t variable);
ANTLER_API antler_status antler_series_set_name(antler_series *series, size_t variable, const char *name);

/* The time between two rows; 0 when unknown. */
ANTLER_API double antler_series_dt(const antler_series *series);
ANTLER_API antler_status antler_series_set_dt(antler_series *series, double dt);

typedef enum antler_time_kind {
    ANTLER_TIME_NONE,   /* the rows have no times */
    ANTLER_TIME_NUMBER, /* numbers in the unit of the column */
    ANTLER_TIME_EPOCH,  /* the same, counted from 1970-01-01 UTC */
    ANTLER_TIME_DATE,   /* dates; as numbers: microseconds since 1970-01-01 UTC */
} antler_time_kind;

/*
 * The time axis that a file had beside its variables: row k of a trajectory is at start + k * step, or, where
 * `months` is not 0, k * months of the calendar after start.
 */
typedef struct antler_time_axis {
    antler_time_kind kind;
    char name[64]; /* of the column */
    char unit[16]; /* of dt: "ms", "s", "min", "h", "d", "month", "yr", ...; "" when it is not known */
    double step;   /* dt, of dates in microseconds; of months their mean length */
    size_t months; /* between two rows; 0: they do not follow the months of the calendar */
} antler_time_axis;

/* The time axis of a set, which lives as long as the set; its kind is ANTLER_TIME_NONE without one. */
ANTLER_API const antler_time_axis *antler_series_time(const antler_series *series);

/* The time of the first row of a trajectory; NaN when it is not known. */
ANTLER_API double antler_series_start(const antler_series *series, size_t trajectory);

/* Where rows follow the months of the calendar: the day of the month, 31 for the last; else 0. */
ANTLER_API int antler_series_month_day(const antler_series *series, size_t trajectory);

/* The time of a row as the file writes it: "2024-03-31 14:30:00", "0.25".  The row may lie behind the last
 * one. */
ANTLER_API antler_status antler_series_time_text(const antler_series *series, size_t trajectory, size_t row,
                                                 char *text, size_t bytes);

/* How many values of the variables are missing: a missing value is NaN. */
ANTLER_API size_t antler_series_missing(const antler_series *series);

/* What loading decided or found, one sentence each: the time axis, gaps, missing and suspicious values. */
ANTLER_API size_t antler_series_note_count(const antler_series *series);
ANTLER_API const char *antler_series_note(const antler_series *series, size_t index); /* "" past the end */

/*
 * Read rows first .. first+count-1 of a trajectory as double or float.  x: (count, dim);
 * inputs: (count, input_dim), or NULL: not read.
 */
ANTLER_API antler_status antler_series_read_f64(const antler_series *series, size_t trajectory, size_t first,
                                                size_t count, double *x, double *inputs);
ANTLER_API antler_status antler_series_read_f32(const antler_series *series, size_t trajectory, size_t first,
                                                size_t count, float *x, float *inputs);

/*
 * Subtract the mean and divide by the standard deviation (1/T) of each variable, taken over all
 * trajectories together.  A constant variable is ANTLER_ERROR_DATA.  Inputs are not changed.
 * The scaling is stored, saved with .npz and .csv, and composed with an earlier one, so
 * user = value * scale + mean always gives the user's units.
 */
ANTLER_API antler_status antler_series_standardise(antler_series *series);

/* Apply a given standardisation, for example the one of the training data.  mean, scale: (dim). */
ANTLER_API antler_status antler_series_apply_scaling(antler_series *series, const double *mean,
                                                     const double *scale);

/* The scaling that turns values back into user units.  mean, scale: (dim).  False: none was applied. */
ANTLER_API bool antler_series_scaling(const antler_series *series, double *mean, double *scale);

typedef struct antler_variable_stats {
    size_t struct_size; /* set by the library */
    double mean, sd;    /* over the finite values; sd with 1/T */
    double min, max;    /* over the finite values */
    size_t nan, inf;    /* how many values are NaN, +-Inf */
    size_t bad_row;     /* the first such row, counted from 0 within bad_trajectory */
    size_t bad_trajectory;
} antler_variable_stats;

/* Statistics of variable or input `variable`, over all trajectories. */
ANTLER_API antler_status antler_series_stats(const antler_series *series, size_t variable,
                                             antler_variable_stats *stats, size_t struct_size);

/*
 * Check that the data can be used.  ANTLER_ERROR_DATA, with the place and the remedy in the message, when a
 * value is NaN or infinite (which row and column, how many), a variable is constant, a trajectory has
 * more columns than rows (it looks transposed) or fewer than `min_length` rows.
 */
ANTLER_API antler_status antler_series_check(const antler_series *series, size_t min_length);

/*
 * The same for a training that masks missing values, as it does by default: NaN of a variable is a missing
 * value, and a variable needs one that is there.
 */
ANTLER_API antler_status antler_series_check_gaps(const antler_series *series, size_t min_length);

typedef enum antler_header {
    ANTLER_HEADER_AUTO, /* a first line that is not numeric is the header */
    ANTLER_HEADER_YES,
    ANTLER_HEADER_NO,
} antler_header;

typedef enum antler_resample {
    ANTLER_RESAMPLE_LINEAR, /* on the line between two neighbours */
    ANTLER_RESAMPLE_CUBIC,  /* on a cubic polynomial with the slopes of parabolas through three neighbours */
} antler_resample;

typedef struct antler_load_opts {
    size_t struct_size;         /* set by antler_load_opts_default */
    bool transpose;             /* the file has variables in rows: N x T.  Default false */
    const char *columns;        /* variables to take: names or 1-based numbers and ranges, "x,y" or "1-3".
                                   "-x,-2": all but these.  NULL: all that are not inputs */
    const char *inputs;         /* columns that are inputs, in the same form.  NULL: none, but an .npz
                                   keeps its own inputs `s` */
    char delimiter;             /* of a .csv or .tsv; 0: detected.  Default 0 */
    antler_header header;       /* of a .csv or .tsv.  Default ANTLER_HEADER_AUTO */
    double dt;                  /* overrides the file's; 0: the file's.  Default 0 */
    uint64_t max_bytes;         /* what compressed archives and pipes may take in memory beyond the size of
                                   their files.  0: 8e9.  Default 0 */
    const char *missing_values; /* numbers and words that stand for a missing value: "-9999,NA".  Empty cells,
                                   NA, nan and null always do.  NULL: no others */
    const char *time;     /* the column with the times of rows, by name or number; "none": there is none.
                             NULL: recognised (docs/files.md) */
    const char *resample; /* interpolate to even times this far apart: "0.5", "10min".  NULL: as they are */
    antler_resample resample_method; /* Default ANTLER_RESAMPLE_LINEAR */
    const char *subject;             /* the column that tells trajectories apart.  NULL: none */
    const char *key; /* arrays of an .npz to take: names and globs, "train" or "a,b" or "run_*".  NULL: those
                        of docs/files.md */
} antler_load_opts;

ANTLER_API void antler_load_opts_default(antler_load_opts *opts, size_t struct_size);

/*
 * Load one or more files into one set.  Each of `patterns` is a path or a glob ("day-*.npy", in
 * alphabetical order).  By their endings:
 *   .npy          versions 1-3, C and Fortran order, f4, f8, integers, either byte order;
 *                 1-D is N = 1, 2-D is T x N, 3-D is trajectories x T x N; pickles are refused
 *   .npz          one array, or arrays of like names, are the trajectories; in files written by Antler
 *                 x_000, x_001, ... with inputs s_000, ..., names, dt and scaling
 *   .csv .tsv     numbers in text, # comments, with or without a header; also .txt and .dat, and the same
 *                 compressed with gzip (.csv.gz); dt, scaling and inputs are taken from FILE.json beside it,
 * if Antler wrote that An ending of another kind is decided by the first bytes.  The path "-" is the standard
 * input.  All files must have the same N.  A column of times is recognised, checked and left out of the
 * variables; rows that are missing between two times become NaN. `opts` may be NULL.  Structural faults
 * (truncated, ragged, not a number in line 17) are ANTLER_ERROR_FORMAT; values are judged by
 * antler_series_check.
 */
ANTLER_API antler_status antler_series_load(const char *const *patterns, size_t count,
                                            const antler_load_opts *opts, antler_series **series);

/*
 * Write to `path`; the ending chooses the format.  .npz keeps everything; .csv keeps names in its header,
 * and dt, scaling and the number of inputs in PATH.json beside it, of a single trajectory; .npy keeps values
 * only: one trajectory as T x N, several of equal length as trajectories x T x N, no inputs.  What the format
 * cannot hold is ANTLER_ERROR_ARGUMENT with the remedy, except dt, names and scaling, which .npy drops. The
 * file appears under its name only when it is complete and on disk; an old file of that name stays whole
 * until then.
 */
ANTLER_API antler_status antler_series_save(const antler_series *series, const char *path);

/*
 * What a file is that the library does not read, and the program antler-convert of the Python package does:
 * "an Excel workbook".  By its first bytes and its ending; also a folder (Zarr).  NULL: any other file, and
 * one that cannot be opened.
 */
ANTLER_API const char *antler_file_foreign(const char *path);

/* One array inside a file, as found on disk. */
typedef struct antler_array_info {
    char key[128];  /* "" in a .npy and in text */
    char dtype[16]; /* "float64", "int32", ... */
    size_t rank;    /* number of axes, at most 8 */
    size_t shape[8];
    bool fortran;   /* column-major on disk */
    uint64_t bytes; /* of the values */
} antler_array_info;

typedef struct antler_file_info {
    size_t struct_size; /* set by the library */
    char format[48];    /* "NumPy array 1.0", "NumPy archive (npz)", "comma-separated text", ... */
    uint64_t bytes;     /* of the file */
    size_t array_count;
    antler_array_info *arrays; /* freed by antler_file_info_clear */
} antler_file_info;

/* What is in this file, from its headers alone (text files are read through). */
ANTLER_API antler_status antler_file_inspect(const char *path, antler_file_info *info, size_t struct_size);
ANTLER_API void antler_file_info_clear(antler_file_info *info);

/* ===================================================================================================
 * 4  Systems
 * ================================================================================================= */

#define ANTLER_SYSTEM_MAX_DIM        64
#define ANTLER_SYSTEM_MAX_PARAMETERS 24

typedef struct antler_system_parameter {
    const char *name;
    double value;        /* default */
    const char *meaning; /* "Rayleigh number"; may hold a unit */
} antler_system_parameter;

/* What a built-in system is.  All strings are static. */
typedef struct antler_system_info {
    const char *name;                          /* "lorenz63" */
    const char *title;                         /* "Lorenz-63: three coupled equations of convection" */
    const char *equations;                     /* plain text, may have several lines */
    const char *source;                        /* where the equations and constants come from */
    size_t dim;                                /* of the state */
    size_t observed;                           /* the first `observed` variables are the default output */
    const char *const *variables;              /* (dim) names */
    const antler_system_parameter *parameters; /* (parameter_count) */
    size_t parameter_count;
    double dt;        /* default sampling interval */
    size_t length;    /* default number of rows */
    double transient; /* time cut from the start by default, in the system's time unit */
    double period;    /* of an explicit time dependence, over which seeds draw t0; 0: autonomous */
    double lyapunov;  /* largest Lyapunov exponent with the default parameters, per unit of time; 0: not
                         chaotic */
} antler_system_info;

ANTLER_API size_t antler_system_count(void);
ANTLER_API const antler_system_info *antler_system_at(size_t index); /* NULL past the end */

/* ANTLER_ERROR_NOT_FOUND names the nearest system. */
ANTLER_API antler_status antler_system_find(const char *name, const antler_system_info **info);

typedef struct antler_simulate_opts {
    size_t struct_size; /* set by antler_simulate_opts_default */
    const char *system;
    double parameters[ANTLER_SYSTEM_MAX_PARAMETERS]; /* in the order of antler_system_info */
    size_t length;                         /* rows to write, the first at the end of the transient.  >= 1 */
    double dt;                             /* > 0 */
    double transient;                      /* >= 0, time integrated and discarded before the first row */
    bool has_initial;                      /* false: the initial state is drawn from the seed */
    double initial[ANTLER_SYSTEM_MAX_DIM]; /* state before the transient */
    bool has_t0;        /* false: 0 for autonomous systems, else drawn from the seed over a period */
    double t0;          /* time before the transient */
    bool all_variables; /* also those that the default output leaves out.  Default false */
    double noise;       /* Gaussian noise added to every variable, as a fraction of that variable's
                           standard deviation.  >= 0, default 0 */
    bool standardise;   /* mean 0 and standard deviation 1 per variable, after the noise.  Default true */
    double tolerance;   /* relative, per step; default 1e-12, in [1e-14, 1e-3] */
    uint64_t seed;      /* of the initial state, t0 and noise.  Default 1 */
    antler_progress progress;
} antler_simulate_opts;

/* Fill in the defaults of a system.  ANTLER_ERROR_NOT_FOUND when there is none of that name. */
ANTLER_API antler_status antler_simulate_opts_default(const char *system, antler_simulate_opts *opts,
                                                      size_t struct_size);

/* Set a parameter by name.  ANTLER_ERROR_NOT_FOUND names the nearest one. */
ANTLER_API antler_status antler_simulate_opts_set(antler_simulate_opts *opts, const char *parameter,
                                                  double value);

/*
 * Integrate with an adaptive Runge-Kutta 5(4) method and sample at multiples of dt.  The series has
 * one trajectory, names and dt.  Same options, same bytes.  ANTLER_DIVERGED when the state leaves all
 * bounds, with the time at which it did; no series is made then.
 */
ANTLER_API antler_status antler_simulate(const antler_simulate_opts *opts, antler_series **series);

/* ===================================================================================================
 * 5  Measures
 * ================================================================================================= */

/* The estimators of D_stsp, the Kullback-Leibler divergence of the two state distributions. */
typedef enum antler_dstsp_kind {
    ANTLER_DSTSP_GMM,           /* Gaussian mixtures, covariance f * variance: as printed in the paper */
    ANTLER_DSTSP_GMM_SILVERMAN, /* the same with f^2, the usual reading of Silverman's rule */
    ANTLER_DSTSP_BINS,          /* histogram with Laplace smoothing, as in older tables */
    ANTLER_DSTSP_GMM_FIXED,     /* Gaussian mixtures of a given variance, the same along all axes */
} antler_dstsp_kind;

/* "gmm", "gmm-silverman", "bins", "gmm-fixed" */
ANTLER_API const char *antler_dstsp_kind_name(antler_dstsp_kind kind);

typedef struct antler_measure_opts {
    size_t struct_size; /* set by antler_measure_opts_default */
    antler_dstsp_kind dstsp;
    size_t samples;     /* Monte Carlo samples of the mixtures.  Default 1,000,000 */
    uint64_t seed;      /* of those samples.  Default 1 */
    size_t bins;        /* per axis, for `bins`.  Default 30 */
    double bin_margin;  /* axes span [min - margin*sd, max + margin*sd] of the truth.  Default 0.1 */
    double bin_laplace; /* added to every count.  Default 1e-5 */
    size_t embed_dim;   /* m of the delay embedding; 1: none.  Default 1 */
    size_t embed_delay; /* tau in rows.  Default 1 */
    double smoothing;   /* width of the Gaussian that smooths power spectra, in frequency bins;
                           0: none.  Default 20 */
    int threads;        /* 0: as many as OpenMP offers.  Default 0 */
    antler_progress progress;
    antler_device device; /* of the Gaussian mixtures.  On the GPU D_stsp agrees with the CPU's to 1e-5.
                             Default ANTLER_DEVICE_AUTO */
    double variance;      /* of the Gaussians of `gmm-fixed`; 0: 1.  Default 0 */
    const double *unit;   /* (N): of that variance, what 1 is in the units of each variable; NULL: 1.
                             antler_evaluate sets it, so that the variance is in the units of its report */
    bool match_noise;     /* A free run has no measurement noise.  True: where white noise is seen on the true
                             orbit, the generated one gets the same level before the two are compared.
                             Default false */
    uint64_t room[ANTLER_ROOM];
} antler_measure_opts;

ANTLER_API void antler_measure_opts_default(antler_measure_opts *opts, size_t struct_size);

typedef struct antler_measure_result {
    size_t struct_size; /* set by the library */
    double dstsp;       /* D_stsp, or its delay-embedded form when embed_dim > 1 */
    double dstsp_error; /* standard error of the Monte Carlo mean; 0 for `bins` */
    double bandwidth;   /* the factor on the variances: f or f^2; the variance itself for `gmm-fixed`; 0 for
                           `bins` */
    size_t dstsp_dim;   /* d = m N */
    size_t true_points; /* T1, after embedding; delay vectors with a missing value are left out */
    size_t generated_points; /* T2, after embedding */
    double kernels;          /* Gaussian kernels evaluated; 0 for `bins` */
    double seconds;          /* spent on D_stsp */
    const char *cpu;         /* instruction set that evaluated them: "avx512", "avx2", "base" */
    int threads;             /* that were used */
    const char *device;      /* the GPU's name; NULL: it was the CPU */
    double break_even;       /* kernels from which ANTLER_DEVICE_AUTO takes a GPU on this machine */
    size_t bins_filled;      /* occupied by either orbit, for `bins` */
    double hellinger;        /* D_H, mean over the variables */
    size_t hellinger_rows;   /* rows compared: the shorter of the two, over all pairs of trajectories; with
                                missing values, the longest stretch without */
    size_t dim;              /* N: length of the arrays below, freed by antler_measure_result_clear */
    double *hellinger_each;  /* (N) */
    double *mean_true, *mean_generated; /* (N) */
    double *sd_true, *sd_generated;     /* (N), with 1/T */
    uint64_t room[ANTLER_ROOM];
} antler_measure_result;

/*
 * Compare a generated set with the true one; both must have the same N.  Delay vectors never cross
 * from one trajectory into the next.  D_H compares trajectory i with trajectory i, cut to the shorter.
 * A generated orbit that is not finite is ANTLER_DIVERGED, with the row in the message.
 */
ANTLER_API antler_status antler_measure(const antler_series *truth, const antler_series *generated,
                                        const antler_measure_opts *opts, antler_measure_result *result,
                                        size_t struct_size);
ANTLER_API void antler_measure_result_clear(antler_measure_result *result);

/* The table of measures.  ----------------------------------------------------------------------- */

/*
 * One row of the table: a number that antler_evaluate gives for a model.  Command line, Python, plots,
 * reports and documentation read names and labels here.  All strings are static.
 */
typedef struct antler_measure_info {
    const char *name;    /* column of metrics.csv, key of `summary` in metrics.json: "dstsp" */
    const char *label;   /* "D_stsp", "RMSE(n)": `_` lowers and `^` raises the word after it; n: its steps */
    const char *unit;    /* "nats", "rows"; "" for a number without unit */
    int better;          /* -1: smaller is better, 1: larger is better, 0: neither */
    int digits;          /* significant digits of the value in a line of text */
    const char *json;    /* its place in metrics.json: "rmse.value", "lyapunov.exponents.0" */
    const char *meaning; /* one line */
    bool standard;       /* measured unless an option leaves it out */
    bool forecast;       /* of windows of free steps, as RMSE(n) */
    size_t steps;        /* of such a forecast, by default; 0: as many as RMSE(n) has */
} antler_measure_info;

/* No more rows than this; the length of arrays that have one element per measure. */
#define ANTLER_MEASURE_MAX 32

ANTLER_API size_t antler_measure_count(void);
ANTLER_API const antler_measure_info *antler_measure_at(size_t index); /* NULL past the end */

/* The index of a measure; antler_measure_count() when there is none of that name. */
ANTLER_API size_t antler_measure_index(const char *name);

/* The value that stands for a model that diverged: infinite, and negative where larger is better. */
ANTLER_API double antler_measure_worst(size_t index);

/* The same on arrays.  ------------------------------------------------------------------- */

/*
 * Delay vectors xi_t = [x_t, x_{t-tau}, ..., x_{t-(m-1)tau}] for t = (m-1)tau .. length-1.
 * x: (length, dim); out: (length - (m-1)tau, m dim).  length must exceed (m-1)tau.
 */
ANTLER_API antler_status antler_embed(const double *x, size_t length, size_t dim, size_t m, size_t tau,
                                      double *out);

/* f = (T1 (d+2) / 4)^(-1/(d+4)) for GMM, f^2 for GMM_SILVERMAN; 0 for the others. */
ANTLER_API double antler_bandwidth(antler_dstsp_kind kind, size_t true_points, size_t dim);

/*
 * log of the mixture density (1/T) sum_t N(sample; x_t, diag(variance)), by log-sum-exp, so that
 * samples far from the orbit keep a finite value.
 * x: (length, dim); variance: (dim), > 0; samples: (count, dim); log_density: (count).
 */
ANTLER_API antler_status antler_log_density(const double *x, size_t length, size_t dim,
                                            const double *variance, const double *samples, size_t count,
                                            int threads, antler_progress progress, double *log_density);

/*
 * D_stsp for explicit samples: the mean of log p - log q over them.
 * x: (true_points, dim); y: (generated_points, dim); variance: (dim); samples: (count, dim).
 * error: standard error of the mean; may be NULL.
 */
ANTLER_API antler_status antler_dstsp_samples(const double *x, size_t true_points, const double *y,
                                              size_t generated_points, size_t dim, const double *variance,
                                              const double *samples, size_t count, int threads,
                                              antler_progress progress, double *dstsp, double *error);

/*
 * Draw from the mixture on the orbit: a point at random plus N(0, diag(variance)).
 * x: (length, dim); samples: (count, dim).
 */
ANTLER_API antler_status antler_mixture_samples(const double *x, size_t length, size_t dim,
                                                const double *variance, size_t count, uint64_t seed,
                                                double *samples);

/*
 * Power spectrum of one variable: standardised (1/(T-1)), |rfft|^2, smoothed by a Gaussian of `sigma`
 * bins (radius 4 sigma, reflected at the ends), normalised to sum 1.
 * x: (length), every `stride`-th number; spectrum: (length/2 + 1).
 */
ANTLER_API antler_status antler_power_spectrum(const double *x, size_t length, size_t stride, double sigma,
                                               double *spectrum);

/* Hellinger distance of two normalised spectra.  p, q: (count). */
ANTLER_API double antler_hellinger(const double *p, const double *q, size_t count);

/*
 * A forecast measure ("rmse", "smape", ...) of one forecast: true rows against predicted ones, in the units
 * in which they stand.  x, xhat: (length, dim).  `naive`: the mean absolute difference of neighbouring rows
 * that MASE divides by; 0: that of x itself.  A predicted value that is not finite means that the forecast
 * diverged there: ANTLER_DIVERGED, and the value is infinite; a time of validity ends there.
 * ANTLER_ERROR_DATA when a true value is not finite or the measure is not defined for these rows.
 */
ANTLER_API antler_status antler_forecast_error(const char *measure, const double *x, const double *xhat,
                                               size_t length, size_t dim, double naive, double *value);

/* ===================================================================================================
 * 6  Models
 * ================================================================================================= */

/*
 * A trained (or freshly initialised) model: its parameters under the paper's letters, the scaling of
 * the data that it was trained on, their names and dt, and the settings of its training.
 */
typedef struct antler_model antler_model;

/*
 * Load from a model file (.npz), a checkpoint, or a run folder (its latest model).
 * numpy.load reads the same file.
 */
ANTLER_API antler_status antler_model_load(const char *path, antler_model **model);

/* The same from the bytes of such a file in memory, which are only read during the call. */
ANTLER_API antler_status antler_model_load_memory(const void *bytes, size_t size, antler_model **model);

/* Write the model as .npz; appears whole or not at all. */
ANTLER_API antler_status antler_model_save(const antler_model *model, const char *path);

ANTLER_API void antler_model_free(antler_model *model);

ANTLER_API const char *antler_model_kind(const antler_model *model);   /* "shplrnn", ... */
ANTLER_API size_t antler_model_dim(const antler_model *model);         /* N */
ANTLER_API size_t antler_model_latent_dim(const antler_model *model);  /* M */
ANTLER_API size_t antler_model_hidden_dim(const antler_model *model);  /* L */
ANTLER_API size_t antler_model_input_dim(const antler_model *model);   /* K */
ANTLER_API size_t antler_model_rank(const antler_model *model);        /* of W = WL WR; 0: W in full */
ANTLER_API bool antler_model_clipped(const antler_model *model);       /* W [phi(V z + b) - phi(V z)] */
ANTLER_API bool antler_model_free_diagonal(const antler_model *model); /* A was trained itself, not Abar */
ANTLER_API int antler_model_precision(const antler_model *model);      /* of training: 32 or 64 bits */
ANTLER_API double antler_model_dt(const antler_model *model);          /* 0 when unknown */
ANTLER_API const char *antler_model_name(const antler_model *model, size_t variable); /* as in series */

/*
 * Numbers of the state that a free run carries from step to step, as antler_generate writes them: M latent
 * units of a shplrnn or lssm; of a mamba2 the last inputs of its convolution, the states of its heads, and
 * the last observation.
 */
ANTLER_API size_t antler_model_state_dim(const antler_model *model);

/* The settings of its training, as YAML text; "" when unknown. */
ANTLER_API const char *antler_model_settings(const antler_model *model);

/* antler_build_info() of the build that made it; "" when unknown. */
ANTLER_API const char *antler_model_provenance(const antler_model *model);

/* user = value * scale + mean.  mean, scale: (N).  False: the data were not scaled. */
ANTLER_API bool antler_model_scaling(const antler_model *model, double *mean, double *scale);

/* One parameter: row-major, rows x columns; a vector has axes = 1 and columns = 1. */
typedef struct antler_parameter {
    size_t struct_size; /* set by the library */
    const char *name;   /* the paper's letter: "A", "W", "V", "b", "h", "C", "B" */
    size_t axes, rows, columns;
    const double *values; /* valid as long as the model */
} antler_parameter;

ANTLER_API size_t antler_model_parameter_count(const antler_model *model); /* kinds, not numbers */
ANTLER_API antler_status antler_model_parameter_at(const antler_model *model, size_t index,
                                                   antler_parameter *parameter, size_t struct_size);

/* Running a model.  ------------------------------------------------------------------------------- */

/*
 * Units.  A model works in the units of its training data after standardising.  A series that is given
 * to a model is converted: values without a scaling are in user units; values with a scaling are first
 * converted to user units; then the model's scaling is applied.  A model without a scaling takes
 * values without conversion.
 */

/* Warm up over as many rows as in training; where that is unknown or 0: 100 rows when M > N, else none. */
#define ANTLER_WARMUP_AUTO SIZE_MAX

/* The inputs after the last row that was given. */
typedef enum antler_inputs_end {
    ANTLER_INPUTS_STOP,   /* an error: ANTLER_ERROR_DATA with the number of missing rows */
    ANTLER_INPUTS_HOLD,   /* keep the last row */
    ANTLER_INPUTS_REPEAT, /* begin again at the first free row */
} antler_inputs_end;

ANTLER_API const char *antler_inputs_end_name(antler_inputs_end end); /* "stop", "hold", "repeat" */

/*
 * Where a run begins.  With a context: z = B+ x of row `first`, then `warmup` more rows force the model
 * with strength 1 (a lssm or mamba2 begins at 0 and reads these rows); the first free row follows them,
 * at row first + warmup + 1 of the context.  With from_end the warm-up ends at the last row of the
 * trajectory, and the first free row goes on after it; AUTO then warms up on 100 rows at least, where there
 * are so many. Without a context: at `state`, and the first free row is one step after it.
 */
typedef struct antler_run_start {
    size_t struct_size;           /* set by antler_run_start_default */
    const antler_series *context; /* NULL: begin at `state`.  Default NULL */
    size_t trajectory, first;     /* in the context.  Default 0, 0 */
    size_t warmup;                /* rows.  Default ANTLER_WARMUP_AUTO */
    bool model_units;             /* the context's values are in the model's units.  Default false */
    const double *state;          /* (antler_model_state_dim), when there is no context; NULL: 0.
                                     Default NULL */
    const antler_series *inputs;  /* row 0 drives the first free step: its inputs or, when it has none, its
                                     variables.  NULL: the rows of the context that follow the warm-up;
                                     without a context they are 0.  Default NULL */
    antler_inputs_end inputs_end; /* default ANTLER_INPUTS_STOP */
    size_t from_end;              /* 1: go on after the last row of the trajectory; `first` is not used, and
                                     free steps with inputs need `inputs`.  Default 0 */
    uint64_t room[ANTLER_ROOM - 1];
} antler_run_start;

ANTLER_API void antler_run_start_default(antler_run_start *start, size_t struct_size);

typedef struct antler_generate_opts {
    size_t struct_size; /* set by antler_generate_opts_default */
    antler_run_start start;
    size_t steps;    /* rows to generate, >= 1.  Default 10,000 */
    bool user_units; /* false: the orbit is in the model's units and has their scaling.  Default false */
    antler_progress progress;
    size_t orbits;        /* >= 1.  More than one: their warm-ups begin at rows spread evenly from `first` to
                             the last with enough rows after it for a warm-up and the inputs.  Default 1 */
    antler_device device; /* a GPU runs orbits side by side.  Default ANTLER_DEVICE_AUTO */
} antler_generate_opts;

ANTLER_API void antler_generate_opts_default(antler_generate_opts *opts, size_t struct_size);

/*
 * Run free.  `orbit` receives one trajectory per orbit of the N observed variables, with names and dt;
 * `latent` the states (antler_model_state_dim) beside it, unless it is NULL.  Same model, start and device,
 * same numbers.
 *
 * ANTLER_DIVERGED, with the step in the message, when a value is not finite or a variable is farther than
 * 10^6 (times the largest value of the context, where that is above 1) from 0 in the model's units.  The
 * rows before that step are kept: `orbit` and `latent` are made also then, without a trajectory when
 * the first step diverged.  Of several orbits those that did not diverge are kept whole.
 */
ANTLER_API antler_status antler_generate(const antler_model *model, const antler_generate_opts *opts,
                                         antler_series **orbit, antler_series **latent);

/*
 * The same into arrays of the caller.  x: (orbits, steps, N); z: (orbits, steps, antler_model_state_dim), or
 * NULL; done: (orbits): the number of rows before the step at which an orbit diverged; the rows from there on
 * are undefined.
 */
ANTLER_API antler_status antler_generate_into(const antler_model *model, const antler_generate_opts *opts,
                                              double *x, double *z, size_t *done);

typedef struct antler_lyapunov_opts {
    size_t struct_size; /* set by antler_lyapunov_opts_default */
    antler_run_start start;
    size_t steps;     /* over which exponents are averaged, >= 1.  Default 20,000 */
    size_t transient; /* free steps before them.  Default 1,000 */
    size_t interval;  /* steps between two orthonormalisations, >= 1.  Default 1, which is always safe */
    size_t exponents; /* the leading ones; 0: all of up to 256 states, else 32.  Default 0 */
    antler_progress progress;
    antler_device device; /* AUTO takes a GPU for many or long tangent vectors.  Default AUTO */
    uint64_t room[ANTLER_ROOM];
} antler_lyapunov_opts;

ANTLER_API void antler_lyapunov_opts_default(antler_lyapunov_opts *opts, size_t struct_size);

typedef struct antler_lyapunov_result {
    size_t struct_size;    /* set by the library */
    size_t count;          /* exponents: length of the arrays, freed by antler_lyapunov_result_clear */
    double *exponents;     /* falling, natural logarithm per step.  -infinity: a direction vanishes */
    double *error;         /* standard error, from the means of ten equal parts of the run */
    double *spread;        /* how far the running estimate still moved in the last half of the run */
    double dt;             /* exponents / dt are per unit of time; 0 when unknown */
    double sum;            /* of the exponents: how fast volumes grow */
    double kaplan_yorke;   /* dimension of the attractor by Kaplan and Yorke; 0 for a fixed point.  At least
                              `count` when not even that many exponents sum to less than 0 */
    size_t steps;          /* that were averaged */
    size_t diverged_step;  /* counted from 1 at the start of the transient; 0: it did not diverge */
    double *unforced;      /* (count): of an exponent that belongs to a latent direction without forcing, the
                              exponent of that direction alone; NaN: it belongs to the system */
    size_t unforced_count; /* how many of them are not NaN */
    double kaplan_yorke_reduced; /* the dimension without these exponents */
    uint64_t room[ANTLER_ROOM];
} antler_lyapunov_result;

/*
 * Lyapunov exponents along a free orbit, by orthonormalising tangent vectors (QR).
 * ANTLER_DIVERGED as in antler_generate; the arrays are NaN then.
 */
ANTLER_API antler_status antler_lyapunov(const antler_model *model, const antler_lyapunov_opts *opts,
                                         antler_lyapunov_result *result, size_t struct_size);
ANTLER_API void antler_lyapunov_result_clear(antler_lyapunov_result *result);

typedef struct antler_rmse_opts {
    size_t struct_size;   /* set by antler_rmse_opts_default */
    size_t steps;         /* n, >= 1.  Default 128 */
    size_t windows;       /* spread evenly over the series; fewer when it has fewer.  >= 1, default 100 */
    size_t warmup;        /* T_w rows before each.  Default ANTLER_WARMUP_AUTO */
    bool model_units;     /* the values of the series are in the model's units.  Default false */
    bool user_units;      /* report in user units.  Default false */
    antler_device device; /* a GPU runs the windows side by side.  Default ANTLER_DEVICE_AUTO */
    double exponent;      /* the largest Lyapunov exponent of the true system, per unit of time; where it is
                             given, times are in Lyapunov times, 1/exponent.  0: unknown.  Default 0 */
    uint64_t room[ANTLER_ROOM];
} antler_rmse_opts;

ANTLER_API void antler_rmse_opts_default(antler_rmse_opts *opts, size_t struct_size);

typedef struct antler_rmse_result {
    size_t struct_size; /* set by the library */
    double mean;        /* RMSE(n), mean over the windows; infinite when one diverged */
    double median;      /* over the windows, a diverged one counted as infinite */
    double sd;          /* between windows, 1/(windows - 1) */
    size_t windows;     /* that were used */
    size_t diverged;    /* of them */
    size_t warmup;      /* rows that were used */
    size_t steps;       /* n */
    size_t censored;    /* windows that ended before their value was reached: a lower bound stands for it */
    double persistence; /* the same measure of a forecast that repeats the last row before the window */
    double average;     /* the same measure of a forecast that repeats the mean of the series */
    double skill;       /* 1 - squared error of the model / the smaller of those two forecasts, over the first
                           1, 2, 4, ... steps, where it is largest; NaN: no error to compare with */
    size_t skill_steps; /* where that is */
    uint64_t room[ANTLER_ROOM];
} antler_rmse_result;

/*
 * RMSE(n) = sqrt(1/n sum_k |x_k - xhat_k|^2) of n free steps after a warm-up, over windows of a series
 * that the model has not seen.  Not divided by N.  ANTLER_DIVERGED when a window diverged.
 */
ANTLER_API antler_status antler_rmse(const antler_model *model, const antler_series *series,
                                     const antler_rmse_opts *opts, antler_rmse_result *result,
                                     size_t struct_size);

/* The same for any forecast measure of the table, by its name: "smape", "mase", ... */
ANTLER_API antler_status antler_forecast(const antler_model *model, const antler_series *series,
                                         const char *measure, const antler_rmse_opts *opts,
                                         antler_rmse_result *result, size_t struct_size);

/* The verdict.  ----------------------------------------------------------------------------------- */

/* What an evaluation concludes: ANTLER_VERDICT_<name>, its name in files, what it means. */
#define ANTLER_VERDICT_LIST(X)                                                                               \
    X(NONE, "none", "nothing was judged")                                                                    \
    X(GOOD, "good", "the model differs from the data about as much as parts of the data from each other")    \
    X(CLOSE, "close", "the model resembles the data, and a difference can be measured")                      \
    X(FAR, "far", "the model stays within the data's range, and its long-term behaviour is another")         \
    X(UNDERTRAINED, "undertrained", "the model is not close, and its training had not come to an end")       \
    X(COLLAPSED, "collapsed", "the free run ends near a point: its variance is lost")                        \
    X(LEFT_RANGE, "left_range", "the free run leaves the data's range")                                      \
    X(DIVERGED, "diverged", "the free run leaves all bounds")                                                \
    X(TOO_SHORT, "too_short", "the data are too short, or change too much, to judge a model by them")        \
    X(NOISE, "noise",                                                                                        \
      "the rows of the data do not depend on the rows before them: there is nothing to predict")

typedef enum antler_verdict_kind {
#define ANTLER_VERDICT_ENUM(name, word, meaning) ANTLER_VERDICT_##name,
    ANTLER_VERDICT_LIST(ANTLER_VERDICT_ENUM)
#undef ANTLER_VERDICT_ENUM
} antler_verdict_kind;

ANTLER_API const char *antler_verdict_name(antler_verdict_kind kind);    /* "good", ... */
ANTLER_API const char *antler_verdict_meaning(antler_verdict_kind kind); /* one line */

typedef struct antler_verdict {
    size_t struct_size; /* set by the library */
    antler_verdict_kind kind;
    const char *figure; /* what decided: the name of a measure of the table, or "skill", "spread", "reach",
                           "dstsp_late", "dstsp_narrow", "dstsp_whole", "hellinger_whole", "loss_fall",
                           "travel", "correlation_times", "shift", "white"; "" for none */
    double value;       /* of that figure */
    double floor;       /* of that figure where it is a measure; NaN: none */
    double limit;       /* it was compared with this */
    char text[320];     /* one sentence: what was found */
    char advice[320];   /* what to do next */
    uint64_t room[ANTLER_ROOM];
} antler_verdict;

/*
 * The same measures between parts of the true series: no model can be expected to be better.  The series is
 * cut into 2, 4 and 8 equal parts, which form two sets in turn; floors are means over these cuts, both ways.
 */
typedef struct antler_floors {
    size_t struct_size;                /* set by the library */
    double values[ANTLER_MEASURE_MAX]; /* of the measures of orbits; of forecasts the better one of
                                          persistence and average.  NaN: none */
    size_t rows;                       /* of the series, over all trajectories */
    double correlation; /* rows until the autocorrelation falls below 1/e, of the slowest variable or, where
                           that is slower, of the amplitude of all (antler_look, slow) */
    size_t slowest;     /* that variable; N: the amplitude */
    double shift;       /* difference of the means of first and second halves, in standard deviations, of
                           the variable where it is largest */
    size_t shifted;     /* that variable */
    size_t white;  /* 1: the rows before a row say nothing about it, as far as is seen; 0: they do, or that
                      is not known */
    double narrow; /* D_stsp, or D_stsp^DE where that is measured, of a copy of the series with half the
                      spread: rows whose limits let it pass cannot judge a model.  0: not known */
    uint64_t room[ANTLER_ROOM - 2];
} antler_floors;

/* A training so far, as in the columns of log.csv. */
typedef struct antler_loss_curve {
    size_t struct_size;               /* set by antler_loss_curve_default */
    size_t count;                     /* rows */
    const double *update, *loss, *lr; /* (count) */
} antler_loss_curve;

ANTLER_API void antler_loss_curve_default(antler_loss_curve *curve, size_t struct_size);

typedef struct antler_evaluate_opts {
    size_t struct_size;          /* set by antler_evaluate_opts_default */
    antler_measure_opts measure; /* embed_dim > 1 selects D_stsp^DE.  Its progress and
                                    device are used throughout */
    antler_rmse_opts rmse;
    antler_lyapunov_opts lyapunov; /* its start is not used: the free run's is */
    bool with_dstsp;               /* D_stsp without embedding.  Default true */
    bool with_rmse;                /* RMSE(n) and all other forecast measures.  Default true */
    bool with_lyapunov;            /* default true */
    size_t steps;     /* T2 of each free run; 0: three times the rows of its trajectory.  Default 0 */
    size_t warmup;    /* before the free run.  Default ANTLER_WARMUP_AUTO */
    bool model_units; /* the values of the truth are in the model's units.  Default false */
    bool user_units;  /* RMSE, means and standard deviations in user units.  Default false */
    antler_inputs_end inputs_end;       /* default ANTLER_INPUTS_REPEAT: T2 is longer than the truth */
    size_t horizon[ANTLER_MEASURE_MAX]; /* steps of each forecast measure; 0: the table's, where that is 0
                                           rmse.steps.  Default 0 */
    double range_factor; /* a free run has diverged where a value is farther from the middle of its variable's
                            range in the truth than this many half ranges.  0: no such limit.  Default 5 */
    bool with_verdict;   /* floors and verdict.  Default true */
    const antler_floors *floors; /* those of the same truth and options, from the result of another model, so
                                    that they are not measured again; NULL: they are.  Default NULL */
    const antler_loss_curve *training; /* of this model, for the verdict; NULL: unknown.  Default NULL */
} antler_evaluate_opts;

ANTLER_API void antler_evaluate_opts_default(antler_evaluate_opts *opts, size_t struct_size);

/* Whether an evaluation with these options includes a measure of the table. */
ANTLER_API bool antler_evaluate_wants(const antler_evaluate_opts *opts, size_t index);

typedef struct antler_evaluate_result {
    size_t struct_size;              /* set by the library */
    bool diverged;                   /* the free run did, or ended too far away to be measured */
    size_t diverged_step;            /* counted from 1; 0 when it stayed finite */
    size_t diverged_trajectory;      /* of the truth, from 0 */
    size_t free_steps;               /* T2, over all trajectories */
    size_t warmup;                   /* rows that were used */
    antler_measure_result plain;     /* D_stsp and D_H; dstsp is NaN without with_dstsp */
    bool has_embedded;               /* D_stsp^DE was requested and measured */
    antler_measure_result embedded;  /* its dstsp fields only */
    antler_rmse_result rmse;         /* windows is 0 when it was not measured */
    antler_lyapunov_result lyapunov; /* count is 0 when it was not measured */
    double
        values[ANTLER_MEASURE_MAX]; /* of all measures of the table.  NaN: not measured; infinite: diverged */
    antler_rmse_result
        forecasts[ANTLER_MEASURE_MAX]; /* the windows behind the forecast measures; windows is 0
                                          for the others, and where the series is too short */
    double reach;          /* the farthest value of the free runs from the middle of its variable's range in
                              the truth, in half ranges */
    size_t reach_variable; /* where that was */
    bool left_range;       /* the reach exceeds range_factor: diverged is true, too */
    double spread;         /* standard deviation in the second halves of the free runs over that of the truth:
                              root of the mean square over the variables, each at most 1.  NaN: diverged */
    size_t missing,
        true_values;      /* missing values (NaN) of the truth, which all measures leave out; all values */
    antler_floors floors; /* with_verdict only */
    antler_verdict verdict;
} antler_evaluate_result;

/*
 * Evaluate a model on a true series that it has not seen: one free run per trajectory, each begun by a
 * warm-up on its first rows, compared with the whole; RMSE(n) and the other forecast measures; Lyapunov
 * exponents; floors and a verdict.  Divergence is an outcome: the status is ANTLER_DIVERGED when the free run
 * diverged or left the range of the truth, and everything that exists is filled in.
 */
ANTLER_API antler_status antler_evaluate(const antler_model *model, const antler_series *truth,
                                         const antler_evaluate_opts *opts, antler_evaluate_result *result,
                                         size_t struct_size);
ANTLER_API void antler_evaluate_result_clear(antler_evaluate_result *result);

/* Floors of D_stsp, D_stsp^DE and D_H, as far as these options select them, as antler_evaluate has them. */
ANTLER_API antler_status antler_floors_of(const antler_series *truth, const antler_evaluate_opts *opts,
                                          antler_floors *floors, size_t struct_size);

/*
 * The verdict on a result that has values, floors, reach and spread.  antler_evaluate does this, too.
 * training: NULL when unknown; then no model is called undertrained.
 */
ANTLER_API antler_status antler_judge(const antler_evaluate_result *result, const antler_loss_curve *training,
                                      antler_verdict *verdict, size_t struct_size);

/*
 * The verdict alone, from a short evaluation: 20,000 samples, no Lyapunov exponents, warm-up and forecasts
 * that fit into the rows.  floors: with rows = 0 they are measured and kept here; otherwise those of the same
 * truth.  A model that diverges is an outcome, and the status ANTLER_OK.
 */
ANTLER_API antler_status antler_verdict_on(const antler_model *model, const antler_series *truth,
                                           const antler_loss_curve *training, int threads,
                                           antler_floors *floors, antler_verdict *verdict, size_t floors_size,
                                           size_t verdict_size);

/* ===================================================================================================
 * 7  Training
 * ================================================================================================= */

/*
 * Train from memory, without any file:
 *
 *     antler_settings s;
 *     antler_trainer *trainer = NULL;
 *     antler_model *model = NULL;
 *
 *     antler_settings_default(&s);
 *     antler_settings_set(&s, "latent_dim=5");            // or s.latent_dim = 5
 *     antler_trainer_create(&s, series, &trainer);        // checks settings and data
 *     antler_trainer_run(trainer, NULL, NULL);
 *     antler_trainer_model(trainer, 1, &model);           // runs count from 1
 *     antler_trainer_free(trainer);
 *
 * or on disk, with checkpoints and exact resume: antler_train and antler_train_resume.
 */

typedef enum antler_precision { ANTLER_PRECISION_FLOAT, ANTLER_PRECISION_DOUBLE } antler_precision;

typedef enum antler_model_kind_id {
    ANTLER_MODEL_SHPLRNN, /* nonlinear recurrence, trained by generalised teacher forcing */
    ANTLER_MODEL_LSSM,    /* linear recurrence with a nonlinear readout, trained by a scan */
    ANTLER_MODEL_MAMBA2,  /* a Mamba-2 block with the same readout, trained by a scan over tiles of time */
} antler_model_kind_id;

typedef enum antler_solver {
    ANTLER_SOLVER_AUTO,       /* sequential or shooting, by sizes and segments; scan where it can be */
    ANTLER_SOLVER_REFERENCE,  /* plain loops on one thread: the reference of the others */
    ANTLER_SOLVER_SEQUENTIAL, /* exact steps in time order */
    ANTLER_SOLVER_DEER,       /* Newton over all time steps at once, as published */
    ANTLER_SOLVER_QUASI_DEER, /* the same with the diagonal of the Jacobian */
    ANTLER_SOLVER_SHOOTING,   /* exact steps in segments of time that are joined at their borders */
    ANTLER_SOLVER_SCAN,       /* of lssm and mamba2: tiles of time, joined by one affine scan */
} antler_solver;

typedef enum antler_start { ANTLER_START_PINV, ANTLER_START_ZERO, ANTLER_START_NORMAL } antler_start;

/* Initial values (docs/spec.md, 4 and 10).  A mamba2 has its own, the same for both. */
/* The diagonal A of shplrnn and lssm. */
typedef enum antler_diagonal {
    ANTLER_DIAGONAL_TANH, /* A = tanh(Abar), within (-1, 1); Abar is the parameter */
    ANTLER_DIAGONAL_FREE  /* A is the parameter */
} antler_diagonal;

typedef enum antler_initialisation {
    ANTLER_INITIALISATION_MEMORY,   /* A = kappa, the other weights of order 1 - kappa */
    ANTLER_INITIALISATION_STANDARD, /* A from a random matrix, the other weights of order 1 */
    ANTLER_INITIALISATION_AUTO      /* one of them, by sizes and data */
} antler_initialisation;

/* Parts of the initial values; `auto` is what the initialisation has. */
typedef enum antler_initial_A {
    ANTLER_INITIAL_A_AUTO,
    ANTLER_INITIAL_A_KAPPA, /* A = kappa */
    ANTLER_INITIAL_A_RANDOM /* from a random positive definite matrix */
} antler_initial_A;
typedef enum antler_initial_weights {
    ANTLER_INITIAL_WEIGHTS_AUTO,
    ANTLER_INITIAL_WEIGHTS_SMALL,  /* of order 1 - kappa */
    ANTLER_INITIAL_WEIGHTS_UNIFORM /* of order 1 */
} antler_initial_weights;
typedef enum antler_initial_B {
    ANTLER_INITIAL_B_AUTO,
    ANTLER_INITIAL_B_IDENTITY,
    ANTLER_INITIAL_B_ORTHONORMAL,
    ANTLER_INITIAL_B_KAIMING
} antler_initial_B;

typedef enum antler_teacher { ANTLER_TEACHER_FLOW, ANTLER_TEACHER_STOP } antler_teacher;

/* Where the strength of forcing comes from: gtf_alpha, or an estimate from Jacobians at the teacher states.
 */
typedef enum antler_alpha_method {
    ANTLER_ALPHA_CONSTANT,
    ANTLER_ALPHA_JACOBIAN_UPPER_BOUND,
    ANTLER_ALPHA_BATCH_MAXIMUM,
    ANTLER_ALPHA_PRODUCT_UPPER_BOUND,
    ANTLER_ALPHA_EXPLOG,
    ANTLER_ALPHA_ARITHMETIC_MEAN,
} antler_alpha_method;

/* Way from gtf_alpha to gtf_alpha_end over the updates. */
typedef enum antler_alpha_schedule {
    ANTLER_ALPHA_SCHEDULE_CONSTANT,
    ANTLER_ALPHA_SCHEDULE_LINEAR,
    ANTLER_ALPHA_SCHEDULE_EXPONENTIAL,
    ANTLER_ALPHA_SCHEDULE_COSINE,
} antler_alpha_schedule;

/* Where the interval of sparse forcing comes from: forcing_interval, ln 2 / lyapunov_exponent, or the first
 * minimum over the lag of a function of the data. */
typedef enum antler_interval_method {
    ANTLER_INTERVAL_GIVEN,
    ANTLER_INTERVAL_PREDICTABILITY,
    ANTLER_INTERVAL_AUTOCORRELATION,
    ANTLER_INTERVAL_MUTUAL_INFORMATION,
} antler_interval_method;

/* What is done with missing values, NaN of a variable: no loss and no forcing there, trajectories cut at
 * incomplete rows, short gaps filled linearly and longer ones masked, or an error. */
typedef enum antler_missing {
    ANTLER_MISSING_MASK,
    ANTLER_MISSING_SPLIT,
    ANTLER_MISSING_INTERPOLATE,
    ANTLER_MISSING_REFUSE,
} antler_missing;

typedef enum antler_adjoint { ANTLER_ADJOINT_FULL, ANTLER_ADJOINT_DIAGONAL } antler_adjoint;
typedef enum antler_optimiser { ANTLER_OPTIMISER_RADAM, ANTLER_OPTIMISER_ADAM } antler_optimiser;

typedef enum antler_schedule {
    ANTLER_SCHEDULE_COSINE,
    ANTLER_SCHEDULE_EXPONENTIAL,
    ANTLER_SCHEDULE_CONSTANT,
} antler_schedule;

/*
 * All settings of a training.  The fields bear the names of the YAML file and of --set; defaults,
 * bounds and meanings come from antler_setting_at and are listed in docs/settings.md.  A plain struct: copy
 * it by assignment.
 */
typedef struct antler_settings {
    size_t struct_size; /* set by antler_settings_default */
    /* Where results go.  These do not change what is computed. */
    char experiment[128], name[128];
    char results[1024];
    size_t runs;
    size_t threads; /* 0: all */
    antler_device device;
    size_t log_interval, checkpoint_interval;

    /* Data */
    char data[8192]; /* paths or globs, one per line; not needed by antler_trainer_create */
    char columns[1024], inputs[1024];
    bool transpose;
    double dt;
    bool standardise;
    size_t max_bytes; /* as in antler_load_opts */
    char missing_values[256], time[128], resample[64];
    antler_resample resample_method;
    char subject[128], key[256];
    antler_missing missing;
    size_t missing_interpolate; /* rows of the longest gap that is filled */

    /* Model */
    antler_model_kind_id model;
    size_t latent_dim, hidden_dim, rank;
    bool clipped;
    antler_diagonal diagonal;
    antler_initialisation initialisation;
    double kappa; /* 0: chosen; config.yaml has the number */
    antler_initial_A initialise_A;
    antler_initial_weights initialise_weights;
    antler_initial_B initialise_B;

    /* Forcing and windows */
    size_t sequence_length, batch_size, warmup;
    double gtf_alpha;
    antler_alpha_method gtf_alpha_method;
    size_t gtf_alpha_interval;
    double gtf_alpha_decay;
    antler_alpha_schedule gtf_alpha_schedule;
    double gtf_alpha_end;
    size_t forcing_interval; /* 0: every step is forced */
    antler_interval_method forcing_interval_method;
    double lyapunov_exponent;
    antler_teacher teacher;
    double noise;

    /* Solver */
    antler_solver solver;
    antler_adjoint adjoint;
    antler_start start;
    double tolerance;
    size_t max_iterations;
    bool fallback;
    size_t segments; /* 0: chosen from the threads; config.yaml has the number */
    size_t check_interval;

    /* Optimisation */
    size_t updates;
    antler_optimiser optimiser;
    double beta1, beta2, epsilon;
    double start_lr, end_lr;
    antler_schedule schedule;
    double gradient_clip;

    /* Validation */
    double validation;
    char validation_data[8192]; /* as `data` */
    size_t validation_interval; /* 0: chosen; config.yaml has the number */
    double holdout;             /* share of `data` that antler_settings_series leaves out */
    char test_data[8192];       /* as `data` */

    /* Regularisers */
    double MAR_lambda;
    size_t MAR_p;
    bool MAR_initial_scale;
    size_t regularised_units;
    double readout_lambda, singular_lambda;
    double latent_lambda, observation_lambda, condition_lambda;

    antler_precision precision;
    uint64_t seed;

    /* Scheduled sampling */
    double sampling_start, sampling_end; /* 0, both: none */
} antler_settings;

/* One row of the table behind the settings.  All strings are static. */
typedef struct antler_setting_info {
    const char *name;
    const char *group;              /* "data", "model", ... */
    const char *kind;               /* "whole number", "number", "true or false", "text", ... */
    const char *const *choices;     /* NULL-terminated; NULL when the value is not one of a list */
    const char *standard;           /* the default, as text; "" for none */
    double lowest, highest;         /* of numbers; -+infinity when unbounded */
    bool lowest_open, highest_open; /* the bound itself is not allowed */
    const char *meaning;
} antler_setting_info;

ANTLER_API size_t antler_setting_count(void);
ANTLER_API const antler_setting_info *antler_setting_at(size_t index); /* NULL past the end */

/* sizeof(antler_settings), for callers that only use the functions below. */
ANTLER_API size_t antler_settings_bytes(void);

ANTLER_API void antler_settings_default(antler_settings *settings, size_t struct_size);

/*
 * Read a YAML file over the defaults.  An unknown key names the line and the nearest valid one; a value
 * of the wrong type or out of its bounds names the line.
 */
ANTLER_API antler_status antler_settings_load(const char *path, antler_settings *settings,
                                              size_t struct_size);

/* Set one by text: "gtf_alpha=0.15", "data=a.npy,b.npy".  On failure nothing is changed. */
ANTLER_API antler_status antler_settings_set(antler_settings *settings, const char *assignment);

/* The value of one as text that antler_settings_set accepts. */
ANTLER_API antler_status antler_settings_get(const antler_settings *settings, const char *name, char *text,
                                             size_t bytes);

/*
 * Check every bound and all combinations, and the data unless `series` is
 * NULL.  ANTLER_ERROR_ARGUMENT with a message that names the settings, or ANTLER_ERROR_DATA.
 */
ANTLER_API antler_status antler_settings_check(const antler_settings *settings, const antler_series *series);

/*
 * A sentence on the trajectories that are shorter than a window, after those rows that validation holds back,
 * and so do not contribute to a training.  Returns false, and writes "", when there are none.
 */
ANTLER_API bool antler_settings_unused(const antler_settings *settings, const antler_series *series,
                                       char *text, size_t bytes);

/* Write all settings as commented YAML; appears whole or not at all. */
ANTLER_API antler_status antler_settings_write(const antler_settings *settings, const char *path);

/* Load the data that the settings name, with their columns, inputs, transpose and dt, without the last rows
   of `holdout`. */
ANTLER_API antler_status antler_settings_series(const antler_settings *settings, antler_series **series);

/* Load the rows for a test after training: those of `holdout` or of test_data.  NULL when there are none. */
ANTLER_API antler_status antler_settings_test(const antler_settings *settings, antler_series **series);

/* A row of the log, one per log interval.  Sums and means are over the updates since the last row. */
typedef struct antler_train_row {
    size_t run;                           /* from 1 */
    size_t update, updates;               /* done, and to do */
    double loss;                          /* mean squared error, mean over the interval */
    double mar, readout, singular;        /* regularising terms with their weights, mean over the interval:
                                             of the latent model, the entries and the singular values of B */
    double total;                         /* sum of the four */
    double iterations;                    /* of Newton or shooting; mean over the interval.  NaN
                                             for models that are solved by one scan */
    size_t fallbacks;                     /* sequences solved again, since the start */
    double lr, alpha;                     /* of this update; alpha is NaN for models that are not forced */
    double gradient_norm;                 /* of this update, before clipping */
    double seconds;                       /* of training, since the start */
    double states_agree, gradient_agrees; /* largest relative difference from the reference in the
                                             interval; NaN when no check was made */
    const char *solver;                   /* in use */
    double val_dstsp, val_hellinger, val_prediction_error; /* on the held-back rows, of the last validation
                                             since the row before; NaN: none, infinite: diverged */
} antler_train_row;

/* A validation: what the model of a run does on the held-back rows (docs/spec.md, 14). */
typedef struct antler_validation {
    size_t struct_size; /* set by the library */
    size_t update;      /* of the model */
    double score;       /* 0: as good as the data themselves; smaller is better; infinite: diverged */
    double dstsp, hellinger, prediction_error;
} antler_validation;

/* The begin or the end of one run. */
typedef struct antler_train_note {
    size_t run;  /* from 1 */
    size_t runs; /* of this call */
    size_t update, updates;
    antler_status status; /* OK, CANCELLED, DIVERGED or an error; OK when it begins */
    const char *text;     /* begin: the solver and why it was chosen; end: the message unless OK */
    const char *folder;   /* of the run; "" in memory */
} antler_train_note;

/*
 * How a training reports.  Every function may be NULL.  With several runs they are called from several
 * threads: begin, row and end one at a time, `stop` and `save` at any time.
 */
typedef struct antler_train_events {
    size_t struct_size; /* set by antler_train_events_default */
    void *cookie;
    void (*begin)(void *cookie, const antler_train_note *note);
    void (*row)(void *cookie, const antler_train_row *row);
    void (*end)(void *cookie, const antler_train_note *note);
    int (*stop)(void *cookie); /* called before each run and after each update; non-zero: stop */
    void (*note)(void *cookie, const char *text); /* before the first run: what to know about the data */
    int (*save)(void *cookie); /* called after each update; another number than before: write a checkpoint
                                  and go on */
    uint64_t room[ANTLER_ROOM - 1];
} antler_train_events;

ANTLER_API void antler_train_events_default(antler_train_events *events, size_t struct_size);

/*
 * A ready-made `stop`, for callers whose own functions are expensive to call: `flag` points to an int, and
 * the training stops once another thread has made it non-zero.
 */
ANTLER_API int antler_stop_when_set(void *flag);

/* The same for `save`: the answer is the int behind that flag, which another thread raises by 1 at each
 * request. */
ANTLER_API int antler_save_when_raised(void *flag);

/* Outcome of all runs. */
typedef struct antler_train_result {
    size_t struct_size;                         /* set by the library */
    size_t finished, stopped, diverged, failed; /* runs */
    size_t run;                                 /* the only one of this call; 0: all */
    char folder[1400];                          /* "Results/<experiment>/<name>", "" in memory */
    size_t elsewhere; /* runs that another process has or has taken over (antler_train_shared) */
    size_t before;    /* runs that had ended before this call (antler_train_shared) */
} antler_train_result;

typedef struct antler_trainer antler_trainer;

/*
 * Check the settings against the series and prepare `settings->runs` runs.  Data are packed once in the
 * precision of training, standardised where the settings say so; the series is only read.
 */
ANTLER_API antler_status antler_trainer_create(const antler_settings *settings, const antler_series *series,
                                               antler_trainer **trainer);
ANTLER_API void antler_trainer_free(antler_trainer *trainer);

/*
 * Train all runs to their end, several at a time.  ANTLER_CANCELLED when stopped: call again to continue
 * with the same result.  ANTLER_DIVERGED when a run diverged; the others have finished.  `events`
 * and `result` may be NULL.
 */
ANTLER_API antler_status antler_trainer_run(antler_trainer *trainer, const antler_train_events *events,
                                            antler_train_result *result, size_t struct_size);

/* The present model of one run (of a diverged one, the last good model). */
ANTLER_API antler_status antler_trainer_model(const antler_trainer *trainer, size_t run,
                                              antler_model **model);

/*
 * The validation with the lowest score of one run so far, and the model that it judged; `validation` may be
 * NULL.  ANTLER_ERROR_ARGUMENT when there was none.
 */
ANTLER_API antler_status antler_trainer_best_model(const antler_trainer *trainer, size_t run,
                                                   antler_validation *validation, antler_model **model,
                                                   size_t struct_size);

/*
 * Train on disk: each run in <results>/<experiment>/<name>/<001>/ with config.yaml, log.csv, model.npz,
 * with validation best.npz, and checkpoints/.  `run` > 0: only this one.  A run that exists is an error
 * unless `overwrite`.
 */
ANTLER_API antler_status antler_train(const antler_settings *settings, size_t run, bool overwrite,
                                      const antler_train_events *events, antler_train_result *result,
                                      size_t struct_size);

/* The same on a series in memory instead of the files that `settings->data` names. */
ANTLER_API antler_status antler_train_series(const antler_settings *settings, const antler_series *series,
                                             size_t run, bool overwrite, const antler_train_events *events,
                                             antler_train_result *result, size_t struct_size);

/*
 * Continue a stopped run, or all runs of a folder, to the same bytes as without a stop.
 * `settings` may be NULL; otherwise all that change what is computed must equal the run's own.
 */
ANTLER_API antler_status antler_train_resume(const char *folder, const antler_settings *settings,
                                             const antler_train_events *events, antler_train_result *result,
                                             size_t struct_size);

/* The same on a series in memory, which must hold the values that the run began with. */
ANTLER_API antler_status antler_train_resume_series(const char *folder, const antler_settings *settings,
                                                    const antler_series *series,
                                                    const antler_train_events *events,
                                                    antler_train_result *result, size_t struct_size);

/*
 * Train those runs of a training that are left, together with any number of other processes and machines that
 * make the same call on the same folder.  Each run is claimed by a lease, which is renewed while it is
 * trained and expires `lease` seconds after the last renewal; a run whose owner is dead is taken over.
 * Returns when nothing is left to take: result->elsewhere runs are then with others.  A run that was lost to
 * another process is among them, and `end` of the events has the sentence.
 */
ANTLER_API antler_status antler_train_shared(const antler_settings *settings, double lease,
                                             const antler_train_events *events, antler_train_result *result,
                                             size_t struct_size);

typedef enum antler_claim_state {
    ANTLER_CLAIM_OPEN,  /* nobody has it, and it has not ended in a shared training */
    ANTLER_CLAIM_HELD,  /* another process has it */
    ANTLER_CLAIM_ENDED, /* its training has ended: finished or diverged */
} antler_claim_state;

/* Who has a run of a shared training; holder: "node17 (pid 4242), renewed 12 s ago", "" where nobody is
 * known.
 */
ANTLER_API antler_status antler_claim_look(const char *run, antler_claim_state *state, char *holder,
                                           size_t bytes);

typedef struct antler_claim antler_claim;

/*
 * Claim a run that has ended, to add files to it.  *claim is NULL when another process has it.  `check`
 * before each write: ANTLER_ERROR_ARGUMENT when the claim was lost.  `release` accepts NULL.
 */
ANTLER_API antler_status antler_claim_take(const char *run, double lease, antler_claim **claim);
ANTLER_API antler_status antler_claim_check(antler_claim *claim);
ANTLER_API void antler_claim_release(antler_claim *claim);

/*
 * Ranks: processes that a launcher of MPI has started together, such as mpiexec or srun.  A program that
 * joins them shares its trainings: from then on antler_train, antler_train_series and both kinds of
 * antler_train_resume are calls that all ranks make in the same order, with the same arguments, from the
 * thread that joined.  MPI is opened at run time, by `join` alone, and by it only below a launcher.
 */

/*
 * Whether a launcher has started this process with others; false also where ANTLER_MPI is "none".  place:
 * NULL, or the number of this process among those on its machine, from 0.
 */
ANTLER_API bool antler_ranks_launched(size_t *place);

/* Join.  rank: from 0; ranks: how many.  Without a launcher: rank 0 of 1.  ERROR_IO: MPI cannot be opened. */
ANTLER_API antler_status antler_ranks_join(size_t *rank, size_t *ranks);

/* False after a failure that this rank may have alone: the others wait for it, and antler_ranks_end_all ends
 * them. */
ANTLER_API bool antler_ranks_agree(void);

/* End MPI on all ranks, which wait for each other; or end all processes at once, with this exit code. */
ANTLER_API void antler_ranks_leave(void);
ANTLER_API void antler_ranks_end_all(int code);

/*
 * Whether one of the runs 1 to `runs` in a folder has begun and can resume.  A process that was killed early
 * can leave the folder without any.
 */
ANTLER_API antler_status antler_train_begun(const char *folder, size_t runs, bool *begun);

/*
 * Whether runs can resume, without changing anything: settings, data and checkpoints go together.  series:
 * NULL for the data of the settings.  result: how many of the runs are finished, and how many are not
 * (stopped).
 */
ANTLER_API antler_status antler_train_resume_check(const char *folder, const antler_settings *settings,
                                                   const antler_series *series, antler_train_result *result,
                                                   size_t struct_size);

/*
 * The rows that a training with these settings holds back, of `series` or of the files of validation_data;
 * NULL without validation.  They may share the values of `series`, which must outlive them.
 */
ANTLER_API antler_status antler_settings_held_back(const antler_settings *settings,
                                                   const antler_series *series, antler_series **held_back);

/* Sweeps.  ----------------------------------------------------------------------------------------- */

/*
 * A grid: settings as in a file for training, plus
 *     grid:
 *       gtf_alpha: [0.1, 0.2]
 *       latent_dim: [5, 10]
 *     test: test.npy          # optional: data to evaluate each trained model on
 * Every combination is a training of its own, with `runs` runs, named after its values.
 */
typedef struct antler_grid antler_grid;

/* Read and check: every combination must pass antler_settings_check.  `set`: (count) "name=value". */
ANTLER_API antler_status antler_grid_load(const char *path, const char *const *set, size_t count,
                                          antler_grid **grid);
ANTLER_API void antler_grid_free(antler_grid *grid);

ANTLER_API size_t antler_grid_count(const antler_grid *grid);                /* combinations */
ANTLER_API size_t antler_grid_key_count(const antler_grid *grid);            /* settings that vary */
ANTLER_API const char *antler_grid_key(const antler_grid *grid, size_t key); /* their names */
ANTLER_API const char *antler_grid_test(const antler_grid *grid);            /* "" for none */
ANTLER_API const antler_settings *antler_grid_base(const antler_grid *grid); /* without the grid */

/* The settings of one combination, with their own `name`; the last key varies fastest. */
ANTLER_API antler_status antler_grid_settings(const antler_grid *grid, size_t index,
                                              antler_settings *settings, size_t struct_size);

/* The value of a key in one combination, as text. */
ANTLER_API const char *antler_grid_value(const antler_grid *grid, size_t index, size_t key);

/*
 * Statistics of a metric over runs.  NaN: not measured, left out.  Infinite: the run diverged; it counts
 * as infinite in median and MAD, so no run is dropped; mean and sem are over the others.
 */
typedef struct antler_statistics {
    size_t struct_size; /* set by the library */
    size_t count;       /* values that are not NaN */
    size_t diverged;    /* of them */
    double median, mad; /* median absolute deviation from the median; NaN when the median is infinite */
    double mean, sem;   /* standard error of the mean; NaN for fewer than two values */
} antler_statistics;

ANTLER_API antler_status antler_statistics_of(const double *values, size_t count,
                                              antler_statistics *statistics, size_t struct_size);

/* ===================================================================================================
 * 8  Solving
 * ================================================================================================= */

/*
 * The solver alone: states of a model along its data, loss and exact
 * gradient.  A problem is made for sizes and a solver, holds parameters and sequences, and can be solved
 * repeatedly:
 *
 *     antler_settings s;
 *     antler_problem *problem = NULL;
 *     antler_solve_report report;
 *
 *     antler_settings_default(&s);
 *     s.latent_dim = 5, s.hidden_dim = 50, s.sequence_length = 1000, s.batch_size = 1;
 *     antler_problem_create(&s, 3, 0, &problem);
 *     antler_problem_initialise(problem);                 // or antler_problem_set_parameters
 *     antler_problem_set_data(problem, x, NULL);          // x: (1, 1001, 3)
 *     antler_problem_solve(problem, &report);
 *     antler_problem_gradient(problem, gradient);
 *     antler_problem_free(problem);
 */
typedef struct antler_problem antler_problem;

/* The result of a solve. */
typedef struct antler_solve_report {
    size_t struct_size;    /* set by the library */
    double loss;           /* mean squared error of the observed values after the warm-up */
    antler_status outcome; /* of the parallel solver before any fallback: OK, NOT_CONVERGED, NON_FINITE */
    int iterations;        /* of Newton or shooting; 0 for sequential */
    double last_change;    /* max|dz| of the last iteration, or the largest jump left at a border */
    size_t fallbacks;      /* sequences that were solved again sequentially */
    double seconds;        /* forward and backward */
} antler_solve_report;

/*
 * The settings of model, forcing, windows and solver, precision, threads, initial values and seed are
 * used; initialisation: auto is memory here, as there are no data to choose by. All memory is allocated here;
 * solving allocates nothing.
 */
ANTLER_API antler_status antler_problem_create(const antler_settings *settings, size_t dim, size_t input_dim,
                                               antler_problem **problem);
ANTLER_API void antler_problem_free(antler_problem *problem);

/* Which solver and kernels are in use, and why. */
ANTLER_API const char *antler_problem_choice(const antler_problem *problem);

/* Memory of the problem in bytes. */
ANTLER_API size_t antler_problem_bytes(const antler_problem *problem);

/*
 * Parameters are one vector, in this order:
 *   shplrnn   Abar (M), W (M, L) or WL (M, r) and WR (r, L), V (L, M), b (L), h (M), C (M, K), B (N, M)
 *   lssm      Abar (M), U (M, N), V (L, M), b (L), h (M), C (M, K), B (N, L)
 *   mamba2    the parameters of its model in the order of antler_model_parameter_at
 */
ANTLER_API size_t antler_problem_parameter_total(const antler_problem *problem);
ANTLER_API void antler_problem_initialise(antler_problem *problem); /* by initialisation, kappa and seed */
ANTLER_API void antler_problem_set_parameters(antler_problem *problem, const double *parameters);

/* Copy the parameters of a model of the same sizes. */
ANTLER_API antler_status antler_problem_set_model(antler_problem *problem, const antler_model *model);

/*
 * x: (batch, T+1, N), where NaN is a missing value (docs/spec.md, section 12); inputs: (batch, T, K), NULL
 * when K is 0.  Copied into the precision.  The GPU takes missing values of a shPLRNN; of other models a
 * solve is then an error.
 */
ANTLER_API void antler_problem_set_data(antler_problem *problem, const double *x, const double *inputs);

/* ANTLER_NON_FINITE or, without fallback, ANTLER_NOT_CONVERGED are outcomes; the report is filled then too.
 */
ANTLER_API antler_status antler_problem_solve(antler_problem *problem, antler_solve_report *report,
                                              size_t struct_size);

/* Solve, and compare with plain sequential loops: largest relative difference of states and gradient. */
ANTLER_API antler_status antler_problem_check(antler_problem *problem, antler_solve_report *report,
                                              double *states_differ, double *gradient_differs,
                                              size_t struct_size);

/*
 * Seconds of one whole update on the GPU - windows, weights, solve, gradient, regularisers, step, counters -
 * as the mean of `updates` in a row, at a learning rate so small that the parameters do not change.
 * ANTLER_ERROR_ARGUMENT on the CPU.
 */
ANTLER_API antler_status antler_problem_time_update(antler_problem *problem, size_t updates, double *seconds);

/*
 * Of the last solve.  z: (T, M) of one sequence; gradient: (parameter_total).  States of more than 4 GiB are
 * not kept on the CPU but made again, so neither parameters nor data may have been set since.
 */
ANTLER_API void antler_problem_states(const antler_problem *problem, size_t sequence, double *z);
ANTLER_API void antler_problem_gradient(const antler_problem *problem, double *gradient);

/*
 * Adjoint states: v_t = dloss/dz_t for t = 1 .. T of one sequence, through all steps that follow, for the
 * present data and parameters; along the exact trajectory, in plain sequential loops.  v: (T, M).
 * ANTLER_ERROR_ARGUMENT for kinds of models that do not offer them.
 */
ANTLER_API antler_status antler_problem_adjoint(antler_problem *problem, size_t sequence, double *v);

/*
 * Multiply-adds per second that one core reaches in registers, measured now (some 20 ms), with the
 * instruction set in use: the peak that benchmarks refer to.
 */
ANTLER_API double antler_peak_rate(antler_precision precision);

/* The number of threads for a request of 0. */
ANTLER_API int antler_threads(void);

/* How many of the threads that were requested could not be started, for want of memory or because of a limit;
   0: none.  Fewer threads did their work, with the same result. */
ANTLER_API int antler_threads_refused(void);

/* ===================================================================================================
 * 9  Devices
 * ================================================================================================= */

/*
 * Antler uses NVIDIA GPUs through two libraries that it opens when they are needed: the driver (libcuda)
 * and the run-time compiler NVRTC (`pip install nvidia-cuda-nvrtc`).  Neither is needed on the
 * CPU.  Where they are not found, ANTLER_CUDA_DRIVER and ANTLER_NVRTC name the files.
 * Compiled kernels are kept in ANTLER_CACHE, else XDG_CACHE_HOME/antler, else ~/.cache/antler.
 */

/* How many GPUs there are.  ANTLER_ERROR_DEVICE, with 0 and the reason in antler_message(), when none. */
ANTLER_API antler_status antler_device_count(size_t *count);

typedef struct antler_device_info {
    size_t struct_size; /* set by the library */
    size_t ordinal;     /* from 0, after CUDA_VISIBLE_DEVICES */
    char name[128];     /* "NVIDIA H200" */
    int capability_major, capability_minor;
    size_t multiprocessors;
    size_t memory, memory_free; /* bytes */
    char problem[512];          /* why its kernels cannot be compiled; "": it can be used */
} antler_device_info;

/* Describe one GPU.  ANTLER_ERROR_DEVICE when it is not there or does not answer. */
ANTLER_API antler_status antler_device_at(size_t index, antler_device_info *info, size_t struct_size);

typedef struct antler_device_software {
    size_t struct_size;             /* set by the library */
    int driver_major, driver_minor; /* newest CUDA version that the driver supports; 0: no driver */
    int nvrtc_major, nvrtc_minor;   /* 0: no NVRTC */
    char nvrtc_path[1024];          /* as it was opened */
    char driver_problem[512], nvrtc_problem[512]; /* why it cannot be used; "": it can */
    char cache_path[1024], cache_problem[512];    /* folder of compiled kernels; why it is not used */
} antler_device_software;

/* The two libraries, and the folder of compiled kernels.  Cannot fail: a problem is part of the result. */
ANTLER_API void antler_device_software_get(antler_device_software *software, size_t struct_size);

/* ===================================================================================================
 * 10  Fitting
 * ================================================================================================= */

/* What the data say about the model that they need. */
typedef struct antler_look {
    size_t struct_size;        /* set by the library */
    size_t trajectories, rows; /* rows in all */
    size_t usual;              /* nine of ten rows are in trajectories of so many rows or more */
    size_t dim, input_dim;
    double dt;        /* 0: unknown */
    double decay;     /* rows after which the autocorrelation falls below 1/e */
    double slow;      /* the same of mean squares over ten times `decay`, where these change slowly; 0: not */
    double period;    /* rows to the first maximum of the autocorrelation after it crossed 0; 0: none */
    double noise;     /* standard deviation of white noise on the data, in units of theirs: at most this */
    size_t dimension; /* principal components that carry more than half a percent of the variance */
    size_t delay;     /* rows between two values of a delay vector: half of `decay` */
    double error;     /* of the nearest neighbour's future, `delay` rows ahead; NaN: too few rows */
    double error_delays; /* the same with neighbours of delay vectors of three rows */
    bool hidden;  /* delays help much: one row does not determine the next, so there are hidden variables */
    size_t white; /* as in antler_floors: 1: there is nothing to predict */
    uint64_t room[ANTLER_ROOM - 1];
} antler_look;

ANTLER_API antler_status antler_look_at(const antler_series *series, antler_look *look, size_t struct_size);

typedef struct antler_fit_opts {
    size_t struct_size; /* set by antler_fit_opts_default */
    const antler_settings
        *base;         /* data, results, experiment, seed, device, threads, precision and all that no
                          candidate decides; read during the call.  NULL: the defaults.  Default NULL */
    bool around;       /* try `base` and settings near it, instead of candidates chosen from the data.
                          Default false */
    double minutes;    /* budget; 0: 2 with a GPU, 5 without.  Turned into numbers of updates at the start,
                          which are kept in plan.csv.  Default 0 */
    double validation; /* share of each trajectory that is held back at its end.  Default 0.2 */
} antler_fit_opts;

ANTLER_API void antler_fit_opts_default(antler_fit_opts *opts, size_t struct_size);

/* A trial of a fit: one candidate, trained with several runs.  Measures are those of its best run. */
typedef struct antler_fit_note {
    size_t rung, rungs, trial, trials; /* from 1 */
    const antler_settings *settings;
    const char *reason;                        /* why it is tried */
    double score;                              /* of its best run on the held-back rows; smaller is better */
    double dstsp, hellinger, prediction_error; /* there */
    bool leads;                                /* no trial is better so far */
} antler_fit_note;

typedef struct antler_fit_events {
    size_t struct_size; /* set by antler_fit_events_default */
    void *cookie;
    void (*looked)(void *cookie, const antler_look *look);
    void (*begin)(void *cookie, const antler_fit_note *note); /* of a trial; its score is infinite */
    void (*end)(void *cookie, const antler_fit_note *note);
    antler_train_events train; /* of the training of a trial; `stop` ends the fit with the best so far */
} antler_fit_events;

ANTLER_API void antler_fit_events_default(antler_fit_events *events, size_t struct_size);

typedef struct antler_fit_result {
    size_t struct_size; /* set by the library */
    antler_look look;
    size_t run;        /* the best run of the best trial, from 1 */
    size_t trials;     /* that were made */
    double validation; /* share that was held back */
    double score;
    double dstsp, hellinger, prediction_error;                   /* on the held-back rows */
    double dstsp_floor, hellinger_floor, prediction_error_floor; /* of the data themselves */
    antler_verdict verdict; /* of antler_evaluate on the held-back rows */
    char reason[200];
    char folder[1400];     /* of the fit: model.npz, settings.yaml (which trains the best trial again),
                              trials.csv,     plan.csv */
    char run_folder[1500]; /* of the best run */
} antler_fit_result;

/*
 * From data to a model: train candidates side by side, judge their free runs on held-back rows, refine the
 * best. Everything is in <results>/<experiment>; a fit that was stopped continues there, to the same choice.
 * ANTLER_CANCELLED: stopped; the result is the best so far.  ANTLER_DIVERGED: all models diverged.  `events`
 * may be NULL.
 */
ANTLER_API antler_status antler_fit(const antler_series *series, const antler_fit_opts *opts,
                                    const antler_fit_events *events, antler_fit_result *result,
                                    size_t struct_size);

/* ===================================================================================================
 * Sizes
 * ================================================================================================= */

/*
 * Functions that write into a struct of the program take its size as their last argument.  These macros
 * give it: a program calls them without it, and a later library, whose structs have more fields, writes no
 * further than the program's struct.
 */
#define antler_view_default(...)      antler_view_default(__VA_ARGS__, sizeof(antler_view))
#define antler_series_stats(...)      antler_series_stats(__VA_ARGS__, sizeof(antler_variable_stats))
#define antler_load_opts_default(...) antler_load_opts_default(__VA_ARGS__, sizeof(antler_load_opts))
#define antler_file_inspect(...)      antler_file_inspect(__VA_ARGS__, sizeof(antler_file_info))
#define antler_simulate_opts_default(...)                                                                    \
    antler_simulate_opts_default(__VA_ARGS__, sizeof(antler_simulate_opts))
#define antler_measure_opts_default(...) antler_measure_opts_default(__VA_ARGS__, sizeof(antler_measure_opts))
#define antler_measure(...)              antler_measure(__VA_ARGS__, sizeof(antler_measure_result))
#define antler_model_parameter_at(...)   antler_model_parameter_at(__VA_ARGS__, sizeof(antler_parameter))
#define antler_run_start_default(...)    antler_run_start_default(__VA_ARGS__, sizeof(antler_run_start))
#define antler_generate_opts_default(...)                                                                    \
    antler_generate_opts_default(__VA_ARGS__, sizeof(antler_generate_opts))
#define antler_lyapunov_opts_default(...)                                                                    \
    antler_lyapunov_opts_default(__VA_ARGS__, sizeof(antler_lyapunov_opts))
#define antler_lyapunov(...)           antler_lyapunov(__VA_ARGS__, sizeof(antler_lyapunov_result))
#define antler_rmse_opts_default(...)  antler_rmse_opts_default(__VA_ARGS__, sizeof(antler_rmse_opts))
#define antler_rmse(...)               antler_rmse(__VA_ARGS__, sizeof(antler_rmse_result))
#define antler_forecast(...)           antler_forecast(__VA_ARGS__, sizeof(antler_rmse_result))
#define antler_loss_curve_default(...) antler_loss_curve_default(__VA_ARGS__, sizeof(antler_loss_curve))
#define antler_evaluate_opts_default(...)                                                                    \
    antler_evaluate_opts_default(__VA_ARGS__, sizeof(antler_evaluate_opts))
#define antler_evaluate(...)             antler_evaluate(__VA_ARGS__, sizeof(antler_evaluate_result))
#define antler_floors_of(...)            antler_floors_of(__VA_ARGS__, sizeof(antler_floors))
#define antler_judge(...)                antler_judge(__VA_ARGS__, sizeof(antler_verdict))
#define antler_verdict_on(...)           antler_verdict_on(__VA_ARGS__, sizeof(antler_floors), sizeof(antler_verdict))
#define antler_settings_default(...)     antler_settings_default(__VA_ARGS__, sizeof(antler_settings))
#define antler_settings_load(...)        antler_settings_load(__VA_ARGS__, sizeof(antler_settings))
#define antler_train_events_default(...) antler_train_events_default(__VA_ARGS__, sizeof(antler_train_events))
#define antler_trainer_run(...)          antler_trainer_run(__VA_ARGS__, sizeof(antler_train_result))
#define antler_trainer_best_model(...)   antler_trainer_best_model(__VA_ARGS__, sizeof(antler_validation))
#define antler_train(...)                antler_train(__VA_ARGS__, sizeof(antler_train_result))
#define antler_train_series(...)         antler_train_series(__VA_ARGS__, sizeof(antler_train_result))
#define antler_train_shared(...)         antler_train_shared(__VA_ARGS__, sizeof(antler_train_result))
#define antler_train_resume(...)         antler_train_resume(__VA_ARGS__, sizeof(antler_train_result))
#define antler_train_resume_series(...)  antler_train_resume_series(__VA_ARGS__, sizeof(antler_train_result))
#define antler_train_resume_check(...)   antler_train_resume_check(__VA_ARGS__, sizeof(antler_train_result))
#define antler_grid_settings(...)        antler_grid_settings(__VA_ARGS__, sizeof(antler_settings))
#define antler_statistics_of(...)        antler_statistics_of(__VA_ARGS__, sizeof(antler_statistics))
#define antler_problem_solve(...)        antler_problem_solve(__VA_ARGS__, sizeof(antler_solve_report))
#define antler_problem_check(...)        antler_problem_check(__VA_ARGS__, sizeof(antler_solve_report))
#define antler_device_at(...)            antler_device_at(__VA_ARGS__, sizeof(antler_device_info))
#define antler_device_software_get(...)                                                                      \
    antler_device_software_get(__VA_ARGS__, sizeof(antler_device_software))
#define antler_look_at(...)            antler_look_at(__VA_ARGS__, sizeof(antler_look))
#define antler_fit_opts_default(...)   antler_fit_opts_default(__VA_ARGS__, sizeof(antler_fit_opts))
#define antler_fit_events_default(...) antler_fit_events_default(__VA_ARGS__, sizeof(antler_fit_events))
#define antler_fit(...)                antler_fit(__VA_ARGS__, sizeof(antler_fit_result))

#endif /* ANTLER_STATUS_ONLY */

#ifdef __cplusplus
}
#endif

#endif /* ANTLER_H */
