/*
 * yaml.h - a settings file as texts, not yet converted: one per setting that the file names, the
 * lists of files, and for a sweep the grid.
 */
#ifndef ANT_TRAIN_YAML_H
#define ANT_TRAIN_YAML_H

#include "train/settings.h"

enum { ANT_YAML_KEYS_MAX = 128 };

/* A list of texts, as libcyaml fills it. */
typedef struct ant_yaml_list {
    char **items;
    uint32_t count;
} ant_yaml_list;

typedef struct ant_yaml_grid {
    ant_yaml_list of[ANT_YAML_KEYS_MAX]; /* by setting; count 0: not in the grid */
} ant_yaml_grid;

typedef struct ant_yaml {
    char *of[ANT_YAML_KEYS_MAX];            /* by setting; NULL: not in the file, or a list */
    ant_yaml_list lists[ANT_YAML_KEYS_MAX]; /* by setting, of paths that are lists; count 0: none */
    ant_yaml_grid *grid;                    /* NULL: none */
    char *test;                             /* of a sweep: data to evaluate on */
} ant_yaml;

/*
 * Read a document.  `sweep`: `grid` and `test` are keys too.  Faults of YAML, unknown, repeated and
 * misplaced keys are ANTLER_ERROR_FORMAT with the file and line.  *yaml stays NULL for an empty document.
 */
antler_status ant_yaml_read(const char *text, const char *path, bool sweep, ant_yaml **yaml);

void ant_yaml_free(ant_yaml *yaml);

/* Store the values of the document in `settings`; faults name the line. */
antler_status ant_yaml_apply(const ant_yaml *yaml, const char *text, const char *path,
                             antler_settings *settings);

/* The line, from 1, that begins with this key; 0 when there is none. */
int ant_yaml_line(const char *text, const char *key);

#endif
