/* golden_case.h - arrays and settings of the cases under tests/golden, for unit tests. */
#ifndef GOLDEN_CASE_H
#define GOLDEN_CASE_H

#include "check.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct golden_array {
    size_t rows, columns;
    double *values; /* (rows, columns), freed by the test */
} golden_array;

static inline golden_array golden_read(const char *name, const char *array)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/golden/%s/%s.npy", TEST_DATA, name, array);
    const char *patterns[] = {path};
    antler_series *series = NULL;
    CHECK_OK(antler_series_load(patterns, 1, NULL, &series));
    golden_array a = {antler_series_length(series, 0), antler_series_dim(series), NULL};
    a.values = malloc(a.rows * a.columns * sizeof *a.values);
    assert_non_null(a.values);
    CHECK_OK(antler_series_read_f64(series, 0, 0, a.rows, a.values, NULL));
    antler_series_free(series);
    return a;
}

/* The number behind `key` in case.txt. */
static inline double golden_number(const char *name, const char *key)
{
    char path[1024], line[256];
    snprintf(path, sizeof path, "%s/golden/%s/case.txt", TEST_DATA, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    const size_t length = strlen(key);
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, length) == 0 && line[length] == ' ') {
            fclose(file);
            return strtod(line + length, NULL);
        }
    }
    fclose(file);
    fail_msg("%s has no %s", path, key);
    return 0.0;
}

#endif
