#include "cli/statistics.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* values: (count), sorted on return */
static double median_of(double *values, size_t count)
{
    qsort(values, count, sizeof *values, rising);
    const double low = values[(count - 1) / 2], high = values[count / 2];
    return low == high ? low : 0.5 * (low + high);
}

/* Mean and standard error of the finite values. */
static void moments(const double *values, size_t count, cli_statistics *s)
{
    double sum = 0.0, squares = 0.0;
    size_t finite = 0;
    for (size_t i = 0; i < count; i++) {
        sum += isfinite(values[i]) ? values[i] : 0.0;
        finite += isfinite(values[i]) ? 1 : 0;
    }
    s->mean = finite == 0 ? NAN : sum / (double)finite;
    for (size_t i = 0; i < count; i++)
        squares += isfinite(values[i]) ? (values[i] - s->mean) * (values[i] - s->mean) : 0.0;
    s->sem = finite < 2 ? NAN : sqrt(squares / (double)(finite - 1) / (double)finite);
    s->diverged = count - finite;
}

cli_statistics cli_statistics_of(const double *values, size_t count, size_t stride)
{
    cli_statistics s = {.median = NAN, .mad = NAN, .mean = NAN, .sem = NAN};
    double *known = malloc((count + 1) * sizeof *known);
    for (size_t i = 0; known != NULL && i < count; i++) {
        if (!isnan(values[i * stride]))
            known[s.runs++] = values[i * stride];
    }
    if (s.runs > 0) {
        moments(known, s.runs, &s);
        s.median = median_of(known, s.runs);
        for (size_t i = 0; i < s.runs; i++)
            known[i] = known[i] == s.median ? 0.0 : fabs(known[i] - s.median);
        s.mad = isinf(s.median) ? NAN : median_of(known, s.runs);
    }
    free(known);
    return s;
}

int cli_write_file(const char *path, const char *text)
{
    char temporary[4096];
    const int length = snprintf(temporary, sizeof temporary, "%s.%ld.tmp", path, (long)getpid());
    if (length < 0 || (size_t)length >= sizeof temporary)
        return cli_usage_error("%s: the name is too long", path);
    FILE *file = fopen(temporary, "w");
    bool good = file != NULL && fputs(text, file) >= 0 && fflush(file) == 0 && fsync(fileno(file)) == 0;
    if (file != NULL)
        good = fclose(file) == 0 && good;
    if (good && rename(temporary, path) == 0)
        return -1;
    fprintf(stderr, "antler: %s: cannot write: %s\n", path, strerror(errno));
    remove(temporary);
    return CLI_MACHINE;
}

static void add_number(FILE *out, double value)
{
    if (isnan(value))
        fputs(",", out); /* an empty field: not measured */
    else
        fprintf(out, ",%.10g", value);
}

/* A field in quotes where CSV needs them. */
static void add_text(FILE *out, const char *text)
{
    if (strpbrk(text, ",\"\n") == NULL) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text != '\0'; text++)
        fprintf(out, *text == '"' ? "\"\"" : "%c", *text);
    fputc('"', out);
}

/* Name a run as seen from the folder that the tables are in. */
static const char *name_within(const char *run, const char *folder)
{
    const size_t length = strlen(folder);
    return strncmp(run, folder, length) == 0 && run[length] == '/' ? run + length + 1 : run;
}

static void metrics_table(const cli_metrics *m, const char *folder, FILE *out)
{
    fputs("run,diverged", out);
    for (size_t k = 0; k < m->metrics; k++)
        fprintf(out, ",%s", m->names[k]);
    fputc('\n', out);
    for (size_t i = 0; i < m->count; i++) {
        add_text(out, name_within(m->runs[i], folder));
        fputs(m->diverged[i] ? ",1" : ",0", out);
        for (size_t k = 0; k < m->metrics; k++)
            add_number(out, m->values[i * m->metrics + k]);
        fputc('\n', out);
    }
}

static void statistics_table(const cli_metrics *m, const char *folder, FILE *out)
{
    (void)folder;
    fputs("metric,runs,diverged,median,mad,mean,sem\n", out);
    for (size_t k = 0; k < m->metrics; k++) {
        const cli_statistics s = cli_statistics_of(m->values + k, m->count, m->metrics);
        fprintf(out, "%s,%zu,%zu", m->names[k], s.runs, s.diverged);
        add_number(out, s.median);
        add_number(out, s.mad);
        add_number(out, s.mean);
        add_number(out, s.sem);
        fputc('\n', out);
    }
}

static int write_table(const cli_metrics *m, const char *folder, const char *name,
                       void (*table)(const cli_metrics *m, const char *folder, FILE *out))
{
    char path[4096], *text = NULL;
    size_t bytes = 0;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return cli_usage_error("%s: the name is too long", folder);
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL)
        return CLI_MACHINE;
    table(m, folder, out);
    const int code = fclose(out) == 0 ? cli_write_file(path, text) : CLI_MACHINE;
    free(text);
    return code;
}

int cli_metrics_write(const cli_metrics *m, const char *folder)
{
    const int code = write_table(m, folder, "metrics.csv", metrics_table);
    return code >= 0 ? code : write_table(m, folder, "statistics.csv", statistics_table);
}

void cli_metrics_print_runs(const cli_metrics *m)
{
    int width = 8;
    for (size_t i = 0; i < m->count; i++)
        width = (int)strlen(m->runs[i]) > width ? (int)strlen(m->runs[i]) : width;
    printf("%-*s", width, "run");
    for (size_t k = 0; k < m->metrics; k++)
        printf(" %14s", m->names[k]);
    putchar('\n');
    for (size_t i = 0; i < m->count; i++) {
        printf("%-*s", width, m->runs[i]);
        for (size_t k = 0; k < m->metrics; k++) {
            if (isnan(m->values[i * m->metrics + k]))
                printf(" %14s", "-");
            else
                printf(" %14.5g", m->values[i * m->metrics + k]);
        }
        puts(m->diverged[i] ? "  diverged" : "");
    }
}

void cli_metrics_print(const cli_metrics *m)
{
    printf("%-16s %12s %10s %12s %10s %6s %9s\n", "metric", "median", "MAD", "mean", "sem", "runs",
           "diverged");
    for (size_t k = 0; k < m->metrics; k++) {
        const cli_statistics s = cli_statistics_of(m->values + k, m->count, m->metrics);
        if (s.runs > 0)
            printf("%-16s %12.5g %10.2g %12.5g %10.2g %6zu %9zu\n", m->names[k], s.median, s.mad, s.mean,
                   s.sem, s.runs, s.diverged);
    }
}
