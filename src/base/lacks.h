/*
 * lacks.h - the patterns of missing values of a table (spec 12): the sets of variables that its rows lack,
 * each once, with a hash table that finds them.
 */
#ifndef ANT_BASE_LACKS_H
#define ANT_BASE_LACKS_H

#include "base/status.h"

typedef struct ant_lacks {
    size_t words;    /* of bits of one pattern: one per 64 variables */
    size_t count;    /* patterns, without that of complete rows */
    size_t missing;  /* values */
    uint64_t *bits;  /* (count, words): bit n is set where variable n is missing; in order of appearance */
    size_t buckets;  /* a power of two above twice the count */
    uint32_t *table; /* (buckets): 1 + pattern; 0: free */
} ant_lacks;

/* The patterns of the rows of x (rows, N), in which NaN is a missing value; single: float, else double. */
antler_status ant_lacks_find(const void *x, size_t rows, size_t N, bool single, ant_lacks *lacks);
void ant_lacks_free(ant_lacks *lacks);

/* Where a search in the table begins; it goes on with the next buckets, and after the last with the first. */
size_t ant_lacks_bucket(const ant_lacks *lacks, const uint64_t *bits);

#endif
