/*
 * golden.c - check folders of golden vectors: `golden DIR...`; on the GPU, those of models: `golden --device
 * cuda DIR...`.
 *
 * A folder is one case: case.txt with `key value` lines, and float64 .npy arrays from an independent
 * implementation.  Prints the largest relative error per quantity; exit code 0 when all cases pass, 1
 * when one is above its tolerance, 2 when one cannot be read.  Kinds that this build does not have are
 * skipped by name.
 */
#include "golden.h"

#include <antler/antler.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void golden_broken(golden_case *c, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("  %-28s BROKEN: ", c->name);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
    c->broken = true;
}

bool golden_word(const golden_case *c, const char *key, char *word, size_t bytes)
{
    char path[4096], line[1024];
    snprintf(path, sizeof path, "%s/case.txt", c->folder);
    FILE *file = fopen(path, "r");
    bool found = false;
    const size_t length = strlen(key);
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        found = strncmp(line, key, length) == 0 && line[length] == ' ';
        if (found) {
            line[strcspn(line, "\r\n")] = '\0';
            snprintf(word, bytes, "%s", line + length + 1);
        }
    }
    if (file != NULL)
        fclose(file);
    return found;
}

double golden_number(const golden_case *c, const char *key, double otherwise)
{
    char word[128];
    return golden_word(c, key, word, sizeof word) ? strtod(word, NULL) : otherwise;
}

bool golden_has(const golden_case *c, const char *file)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.npy", c->folder, file);
    return access(path, R_OK) == 0;
}

static antler_status read_all(const antler_series *series, golden_array *array)
{
    array->outer = antler_series_count(series);
    array->rows = antler_series_length(series, 0);
    array->columns = antler_series_dim(series);
    array->count = array->outer * array->rows * array->columns;
    array->values = malloc(array->count * sizeof *array->values);
    if (array->values == NULL)
        return ANTLER_ERROR_MEMORY;
    for (size_t i = 0; i < array->outer; i++) {
        const antler_status status = antler_series_read_f64(
            series, i, 0, array->rows, array->values + i * array->rows * array->columns, NULL);
        if (status != ANTLER_OK)
            return status;
    }
    return ANTLER_OK;
}

golden_array golden_load(golden_case *c, const char *file)
{
    char path[4096];
    golden_array array = {0};
    antler_series *series = NULL;
    snprintf(path, sizeof path, "%s/%s.npy", c->folder, file);
    const char *const paths[] = {path};
    antler_status status = antler_series_load(paths, 1, NULL, &series);
    if (status == ANTLER_OK)
        status = read_all(series, &array);
    if (status != ANTLER_OK)
        golden_broken(c, "%s.npy: %s", file, antler_message());
    antler_series_free(series);
    return array;
}

void golden_free(golden_array *array)
{
    free(array->values);
    *array = (golden_array){0};
}

void golden_compare(golden_case *c, const char *quantity, const char *how, const double *got,
                    const double *want, size_t count, double tolerance)
{
    double largest = 0.0, difference = 0.0;
    bool finite = true;
    for (size_t i = 0; i < count; i++) {
        finite = finite && isfinite(got[i]) && isfinite(want[i]);
        largest = fmax(largest, fabs(want[i]));
        difference = fmax(difference, fabs(got[i] - want[i]));
    }
    const double error = !finite ? INFINITY : largest > 0.0 ? difference / largest : difference;
    const bool good = error <= tolerance;
    printf("  %-28s %-24s %-20s %9.2e  (tolerance %.0e)  %s\n", c->name, quantity, how, error, tolerance,
           good ? "ok" : "TOO LARGE");
    c->worst = fmax(c->worst, good ? 0.0 : 2.0);
}

static const golden_kind *const kinds[] = {
    &golden_alpha,    &golden_system,  &golden_dstsp_embedded, &golden_dstsp,  &golden_hellinger,
    &golden_lyapunov, &golden_shplrnn, &golden_lssm,           &golden_mamba2, &golden_regularisers,
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

typedef struct tally {
    int passed, failed, broken, skipped;
} tally;

static bool is_model(const golden_kind *kind)
{
    return kind == &golden_shplrnn || kind == &golden_lssm || kind == &golden_mamba2;
}

static void check_folder(const char *folder, bool on_device, tally *sum)
{
    golden_case c = {.folder = folder};
    size_t end = strlen(folder);
    while (end > 1 && folder[end - 1] == '/')
        end--;
    size_t begin = end;
    while (begin > 0 && folder[begin - 1] != '/')
        begin--;
    snprintf(c.name, sizeof c.name, "%.*s", (int)(end - begin), folder + begin);

    const golden_kind *kind = NULL;
    for (int i = 0; i < KINDS && kind == NULL; i++)
        kind = kinds[i]->matches(&c) ? kinds[i] : NULL;
    if (kind == NULL) {
        golden_broken(&c, "%s is no folder of a known kind of golden vectors", folder);
    } else if (kind->check == NULL) {
        printf("  %-28s skipped: this build has no '%s'\n", c.name, kind->name);
        sum->skipped++;
        return;
    } else if (on_device && kind == &golden_alpha) {
        golden_alpha_device(&c);
    } else if (on_device && !is_model(kind)) {
        sum->skipped++;
        return;
    } else if (on_device) {
        golden_check_device(&c);
    } else {
        kind->check(&c);
    }
    sum->broken += c.broken;
    sum->failed += !c.broken && c.worst > 1.0;
    sum->passed += !c.broken && c.worst <= 1.0;
}

int main(int argc, char **argv)
{
    tally sum = {0};
    const bool on_device = argc > 2 && strcmp(argv[1], "--device") == 0 && strcmp(argv[2], "cuda") == 0;
    const int first = on_device ? 3 : 1;
    if (argc <= first) {
        fprintf(stderr, "usage: golden [--device cuda] DIR...\n");
        return 2;
    }
    for (int i = first; i < argc; i++)
        check_folder(argv[i], on_device, &sum);
    printf("golden: %d passed, %d failed, %d broken, %d skipped\n", sum.passed, sum.failed, sum.broken,
           sum.skipped);
    return sum.broken > 0 ? 2 : sum.failed > 0 ? 1 : 0;
}
