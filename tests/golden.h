/* golden.h - what the golden runner's checks share: a case folder, its arrays, and the verdicts. */
#ifndef ANT_TESTS_GOLDEN_H
#define ANT_TESTS_GOLDEN_H

#include <stdbool.h>
#include <stddef.h>

typedef struct golden_case {
    const char *folder;
    char name[128]; /* last part of the folder's path */
    double worst;   /* largest error over tolerance so far */
    bool broken;    /* something could not be read or computed */
} golden_case;

typedef struct golden_array {
    double *values;              /* flat, C order; NULL when the file is absent */
    size_t count;                /* of all values */
    size_t outer, rows, columns; /* shape (outer, rows, columns); missing axes are 1 */
} golden_array;

/* A number from case.txt, or `otherwise` when the key is not there. */
double golden_number(const golden_case *c, const char *key, double otherwise);

/* The words after `key` in case.txt; false when it is not there. */
bool golden_word(const golden_case *c, const char *key, char *word, size_t bytes);

bool golden_has(const golden_case *c, const char *file);

/* Load FILE.npy of the folder; a fault is printed and marks the case as broken. */
golden_array golden_load(golden_case *c, const char *file);
void golden_free(golden_array *array);

/* Largest |got - want| / max |want| against a tolerance; prints one line. */
void golden_compare(golden_case *c, const char *quantity, const char *how, const double *got,
                    const double *want, size_t count, double tolerance);

/* Print why the case cannot be judged and mark it. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void golden_broken(golden_case *c, const char *format, ...);

/* One kind of case.  `matches` looks at the folder, `check` compares; a NULL check is a kind to come. */
typedef struct golden_kind {
    const char *name;
    bool (*matches)(const golden_case *c);
    void (*check)(golden_case *c);
} golden_kind;

/* A case of a model, or of estimates of alpha, on the GPU. */
void golden_check_device(golden_case *c);
void golden_alpha_device(golden_case *c);

/* The model of a case, from PREFIX + letter arrays; a fault marks the case as broken.  B is I without one. */
struct antler_model *golden_model(golden_case *c, const char *prefix);

/* The free run of a case of kind shPLRNN, where it has one. */
void golden_generate(golden_case *c);

extern const golden_kind golden_lyapunov, golden_shplrnn, golden_regularisers, golden_lssm, golden_mamba2;
extern const golden_kind golden_system, golden_dstsp, golden_dstsp_embedded, golden_hellinger, golden_alpha;

#endif
