/* need.h - a benchmark ends at the first failure. */
#ifndef ANT_BENCH_NEED_H
#define ANT_BENCH_NEED_H

#include <antler/antler.h>

#include <stdio.h>
#include <stdlib.h>

static inline void must(antler_status status)
{
    if (status != ANTLER_OK) {
        fprintf(stderr, "%s\n", antler_message());
        exit(1);
    }
}

/* Memory of zeros. */
static inline void *need(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(3);
    }
    return memory;
}

#endif
