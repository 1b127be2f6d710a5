/* lacks.c - finds the patterns of missing values of a table (lacks.h). */
#include "base/lacks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 64, LEAST_BUCKETS = 16 };

size_t ant_lacks_bucket(const ant_lacks *lacks, const uint64_t *bits)
{
    uint64_t hash = 0;
    for (size_t w = 0; w < lacks->words; w++)
        hash = (hash ^ bits[w]) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(hash >> 32) & (lacks->buckets - 1);
}

/* The bucket of these bits, or the free one where they belong. */
static size_t find_bucket(const ant_lacks *l, const uint64_t *bits)
{
    size_t bucket = ant_lacks_bucket(l, bits);
    while (l->table[bucket] != 0 &&
           memcmp(l->bits + (l->table[bucket] - 1) * l->words, bits, l->words * sizeof *bits) != 0)
        bucket = (bucket + 1) & (l->buckets - 1);
    return bucket;
}

/* Twice the buckets; there is memory for half as many patterns, and for the bits of one row. */
static antler_status grow(ant_lacks *l)
{
    const size_t buckets = l->buckets == 0 ? LEAST_BUCKETS : 2 * l->buckets,
                 bytes = l->words * sizeof *l->bits;
    uint32_t *table = calloc(buckets, sizeof *table);
    uint64_t *bits = realloc(l->bits, (buckets / 2 + 1) * bytes);
    l->bits = bits != NULL ? bits : l->bits;
    if (table == NULL || bits == NULL) {
        free(table);
        return ant_fail_memory(buckets * (sizeof *table + bytes), "the patterns of missing values");
    }
    free(l->table);
    l->table = table;
    l->buckets = buckets;
    for (size_t k = 0; k < l->count; k++)
        l->table[find_bucket(l, l->bits + k * l->words)] = (uint32_t)(k + 1);
    return ANTLER_OK;
}

/* Which values of a row are missing, as bits; returns how many. */
static size_t read_row(const void *x, size_t row, size_t N, bool single, size_t words, uint64_t *bits)
{
    size_t missing = 0;
    memset(bits, 0, words * sizeof *bits);
    for (size_t n = 0; n < N; n++) {
        const size_t i = row * N + n;
        const bool is_missing =
            single ? isnan(((const float *)x)[i]) != 0 : isnan(((const double *)x)[i]) != 0;
        bits[n / WORD] |= (uint64_t)is_missing << n % WORD;
        missing += is_missing;
    }
    return missing;
}

antler_status ant_lacks_find(const void *x, size_t rows, size_t N, bool single, ant_lacks *l)
{
    *l = (ant_lacks){.words = (N + WORD - 1) / WORD};
    antler_status status = grow(l);
    for (size_t row = 0; row < rows && status == ANTLER_OK; row++) {
        uint64_t *bits = l->bits + l->count * l->words;
        const size_t missing = read_row(x, row, N, single, l->words, bits), bucket = find_bucket(l, bits);
        l->missing += missing;
        if (missing == 0 || l->table[bucket] != 0)
            continue;
        l->table[bucket] = (uint32_t)++l->count;
        if (2 * l->count >= l->buckets)
            status = grow(l);
    }
    if (status != ANTLER_OK)
        ant_lacks_free(l);
    return status;
}

void ant_lacks_free(ant_lacks *lacks)
{
    free(lacks->bits);
    free(lacks->table);
    *lacks = (ant_lacks){0};
}
