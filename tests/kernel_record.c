/* kernel_record.c - the rows of tests/kernels.csv: read, written, found. */
#include "kernel_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 1024 };

static const char HEAD[] = "key,source,sm,macros,kernel,registers,shared_bytes,stack_bytes,spilled_bytes";

void kernel_rows_add(kernel_rows *rows, const kernel_row *row)
{
    if (rows->count == rows->room) {
        rows->room = 2 * rows->room + 64;
        rows->row = realloc(rows->row, rows->room * sizeof *rows->row);
        if (rows->row == NULL)
            abort();
    }
    rows->row[rows->count++] = *row;
}

bool kernel_rows_read(const char *path, kernel_rows *rows)
{
    char line[LINE];
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return true;
    bool good = fgets(line, sizeof line, file) != NULL && strncmp(line, HEAD, sizeof HEAD - 1) == 0;
    while (good && fgets(line, sizeof line, file) != NULL) {
        kernel_row row = {0};
        good = sscanf(line, "%32[^,],%63[^,],%d,%511[^,],%127[^,],%d,%d,%d,%d", row.key, row.source, &row.sm,
                      row.variant, row.kernel, &row.registers, &row.shared, &row.stack, &row.spilled) == 9;
        if (good)
            kernel_rows_add(rows, &row);
    }
    fclose(file);
    return good;
}

bool kernel_rows_write(const char *path, const kernel_rows *rows)
{
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return false;
    fprintf(file, "%s\n", HEAD);
    for (size_t i = 0; i < rows->count; i++) {
        const kernel_row *row = &rows->row[i];
        fprintf(file, "%s,%s,%d,%s,%s,%d,%d,%d,%d\n", row->key, row->source, row->sm, row->variant,
                row->kernel, row->registers, row->shared, row->stack, row->spilled);
    }
    return fclose(file) == 0;
}

const kernel_row *kernel_rows_find(const kernel_rows *rows, const char *key, size_t *count)
{
    size_t first = 0;
    while (first < rows->count && strcmp(rows->row[first].key, key) != 0)
        first++;
    *count = 0;
    while (first + *count < rows->count && strcmp(rows->row[first + *count].key, key) == 0)
        ++*count;
    return *count == 0 ? NULL : &rows->row[first];
}
