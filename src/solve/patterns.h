/*
 * patterns.h - missing values: which variables a row has, and B_o+ for each such pattern (spec 12).
 *
 * A value of x that is NaN is missing.  Rows that lack the same variables share a pattern; B_o are the rows
 * of B that belong to the others.  B_o+ is stored as (M, N), with zeros in the columns of what is missing,
 * and errors are 0 there, so all products have the shapes of the complete case.  Patterns are found anew in
 * each gradient call, because B changes.  Internal to solve; for templates only.
 *
 * Kernels that derive something of their own from a pattern (kernel.h) need no B_o+ where B has full rank
 * with N <= M and what is missing is not nearly a combination of the other rows of B.  Such a pattern is
 * `simple`, and its B_o+ is made where it is used.
 */
#ifndef ANT_SOLVE_PATTERNS_H
#define ANT_SOLVE_PATTERNS_H

#include "solve/forcing.h"

#include <stdint.h>

typedef struct ANT_FN(ant_patterns) {
    size_t M, N, rows, batch; /* rows: T + 1 */
    size_t capacity, count;   /* patterns of incomplete rows */
    size_t words;             /* of bits of one pattern */
    uint32_t *missing;        /* (capacity): how many variables it lacks */
    uint32_t *of_row;         /* (batch, rows): 0 for a complete row, else 1 + its pattern */
    bool *gappy;              /* (batch): a row of the sequence is incomplete */
    uint64_t *bits;           /* (capacity + 1, words): set for what is missing; the last is scratch */
    bool *empty;              /* (capacity): nothing is observed */
    bool *under, *over;       /* (capacity): B_o+ B_o is not I; B_o B_o+ is not I */
    bool *simple;             /* (capacity + 1): see above, by 1 + pattern; not where nothing is observed */
    bool *made;               /* (capacity): B_o+ is there */
    bool all_simple;          /* all patterns of this call are */
    uint64_t *hard;           /* (words): the variables without which a pattern is not simple */
    real *pinv;               /* (capacity, M, N): B_o+ */
    size_t turned_count;      /* reals of `turned` per pattern */
    real *turned;             /* (capacity, turned_count): what kernels derive from B_o+ (kernel.h) */
    uint32_t *table;          /* (buckets): hash table of 1 + pattern; 0: free */
    size_t buckets;           /* a power of two, more than twice the capacity */
    uint32_t *direct;         /* (2^N): 1 + pattern by its bits, for few variables; NEW: not seen yet */
    size_t values;            /* observed after the warm-up, in the whole batch */
    double *gram, *inverse;   /* (k, k), k = min(M, N): scratch of pinv */
    double *p64, *product;    /* (M, N), (M, N) */
    real *terms;              /* (M + ant_pattern_terms(M, N)): scratch of one thread */
    ANT_FN(ant_forcing) rest; /* scratch of pinv by singular values, for B_o that is close to singular */
} ANT_FN(ant_patterns);

/* How many patterns `rows` rows of N variables can have, at most `most`. */
size_t ANT_FN(ant_patterns_capacity)(size_t N, size_t rows, size_t most);

/* Memory for at most `most` patterns; fewer where the sizes allow no more.  turned: reals that kernels keep
 * per pattern */
void ANT_FN(ant_patterns_carve)(ANT_FN(ant_patterns) * patterns, ant_arena *arena, size_t M, size_t N,
                                size_t rows, size_t batch, size_t most, size_t turned);

/*
 * Find the patterns of a batch and their B_o+.  x: (batch) pointers to (rows, N); f: B and B+ of this call.
 * ANTLER_ERROR_ARGUMENT when no value is observed after the warm-up, or when there are more than `most`.
 */
antler_status ANT_FN(ant_patterns_find)(ANT_FN(ant_patterns) * patterns, const ANT_FN(ant_forcing) * f,
                                        const real *const *x, size_t warmup);

/* Make B_o+ of a pattern, or of all, unless it is there.  By one thread at a time. */
void ANT_FN(ant_patterns_make)(ANT_FN(ant_patterns) * patterns, const ANT_FN(ant_forcing) * f,
                               uint32_t pattern);
void ANT_FN(ant_patterns_make_all)(ANT_FN(ant_patterns) * patterns, const ANT_FN(ant_forcing) * f);

/* The pattern of each row of a sequence: (rows); NULL: all are complete. */
static inline const uint32_t *ANT_FN(ant_patterns_of)(const ANT_FN(ant_patterns) * patterns, size_t sequence)
{
    return patterns == NULL || !patterns->gappy[sequence] ? NULL
                                                          : patterns->of_row + sequence * patterns->rows;
}

/* B_o+ of an incomplete row, pattern > 0, which has been made.  (M, N) */
static inline const real *ANT_FN(ant_pattern_pinv)(const ANT_FN(ant_patterns) * patterns, uint32_t pattern)
{
    return patterns->pinv + (size_t)(pattern - 1) * patterns->M * patterns->N;
}

static inline bool ANT_FN(ant_pattern_empty)(const ANT_FN(ant_patterns) * patterns, uint32_t pattern)
{
    return patterns->empty[pattern - 1];
}

static inline bool ANT_FN(ant_pattern_lacks)(const ANT_FN(ant_patterns) * patterns, uint32_t pattern,
                                             size_t variable)
{
    const uint64_t *bits = patterns->bits + (size_t)(pattern - 1) * patterns->words;
    return (bits[variable / 64] >> variable % 64 & 1) != 0;
}

/* Whether a value is missing.  x: (count) */
bool ANT_FN(ant_any_missing)(size_t count, const real *x);

/* Reals of scratch of ant_pattern_add. */
static inline size_t ANT_FN(ant_pattern_terms)(size_t M, size_t N)
{
    return 3 * (M + N);
}

/*
 * Add to dB what one incomplete row gives through B_o+, where dloss/dB_o+ = scale w e^T (Golub and Pereyra
 * 1973, for a matrix of rank 1):
 *     -p q^T + r u^T + g m^T    p = B_o+^T w    q = B_o+ e     r = e - B_o q
 *                               u = B_o+ p      g = B_o+^T q   m = w - B_o^T p
 * w: (M); e: (N), where NaN and missing values count as 0; dB: (N, M); terms: scratch.
 */
void ANT_FN(ant_pattern_add)(const ANT_FN(ant_patterns) * patterns, uint32_t pattern, const real *B,
                             const real *w, const real *e, double scale, real *terms, double *dB);

#endif
