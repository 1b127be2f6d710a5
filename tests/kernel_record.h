/*
 * kernel_record.h - what the compiler said of each kernel, by everything that it depends on.
 *
 * tests/kernels.csv has a row for each kernel of each compilation: the key (ant_nvrtc_key), source,
 * architecture and macros, then registers, bytes of shared memory, stack and spills.  A source without
 * kernels, such as a header alone, has one row in which the kernel is "-".  So `.ci/run` need not compile
 * what has not changed, and a change of registers is seen in the difference of two commits.
 */
#ifndef ANT_KERNEL_RECORD_H
#define ANT_KERNEL_RECORD_H

#include "base/hash.h"

#include <stdbool.h>

typedef struct kernel_row {
    char key[ANT_HASH_TEXT], source[64], variant[512], kernel[128];
    int sm, registers, shared, stack, spilled;
} kernel_row;

typedef struct kernel_rows {
    kernel_row *row; /* (count) */
    size_t count, room;
} kernel_rows;

void kernel_rows_add(kernel_rows *rows, const kernel_row *row);

/* In the order of the file.  No file: no rows.  false: a line that is none of a record. */
bool kernel_rows_read(const char *path, kernel_rows *rows);

bool kernel_rows_write(const char *path, const kernel_rows *rows);

/* The first row with this key and how many follow it, or NULL. */
const kernel_row *kernel_rows_find(const kernel_rows *rows, const char *key, size_t *count);

#endif
