/* metrics.c - measures of many runs as tables: metrics.csv, statistics.csv, lines on the terminal. */
#include "cli/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

antler_statistics cli_metrics_statistics(const cli_metrics *m, size_t index)
{
    antler_statistics s = {.median = NAN, .mad = NAN, .mean = NAN, .sem = NAN};
    double *column = cli_memory(m->count, sizeof *column, "the statistics");
    for (size_t i = 0; i < m->count; i++)
        column[i] = m->values[i * m->metrics + index];
    const antler_status status = antler_statistics_of(column, m->count, &s);
    if (status != ANTLER_OK)
        cli_end(cli_fail(status));
    free(column);
    return s;
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
        const antler_statistics s = cli_metrics_statistics(m, k);
        fprintf(out, "%s,%zu,%zu", m->names[k], s.count, s.diverged);
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
        return cli_no_memory("a table");
    table(m, folder, out);
    return cli_write_stream(path, out, &text);
}

int cli_metrics_write(const cli_metrics *m, const char *folder)
{
    const int code = write_table(m, folder, "metrics.csv", metrics_table);
    return code != CLI_DONE ? code : write_table(m, folder, "statistics.csv", statistics_table);
}

static int column_width(const cli_metrics *m, size_t metric)
{
    const int length = (int)strlen(m->names[metric]), least = 14;
    return length > least ? length : least;
}

void cli_metrics_print_runs(const cli_metrics *m)
{
    int width = 8;
    for (size_t i = 0; i < m->count; i++)
        width = (int)strlen(m->runs[i]) > width ? (int)strlen(m->runs[i]) : width;
    printf("%-*s", width, "run");
    for (size_t k = 0; k < m->metrics; k++)
        printf(" %*s", column_width(m, k), m->names[k]);
    putchar('\n');
    for (size_t i = 0; i < m->count; i++) {
        printf("%-*s", width, m->runs[i]);
        for (size_t k = 0; k < m->metrics; k++) {
            if (isnan(m->values[i * m->metrics + k]))
                printf(" %*s", column_width(m, k), "-");
            else
                printf(" %*.5g", column_width(m, k), m->values[i * m->metrics + k]);
        }
        if (m->verdicts != NULL)
            printf("  %s\n", antler_verdict_name(m->verdicts[i]));
        else
            puts(m->diverged[i] ? "  diverged" : "");
    }
}

void cli_metrics_print(const cli_metrics *m)
{
    printf("%-16s %12s %10s %12s %10s %6s %9s\n", "metric", "median", "MAD", "mean", "sem", "runs",
           "diverged");
    for (size_t k = 0; k < m->metrics; k++) {
        const antler_statistics s = cli_metrics_statistics(m, k);
        if (s.count > 0)
            printf("%-16s %12.5g %10.2g %12.5g %10.2g %6zu %9zu\n", m->names[k], s.median, s.mad, s.mean,
                   s.sem, s.count, s.diverged);
    }
}
