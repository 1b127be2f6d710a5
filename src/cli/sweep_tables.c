/* sweep_tables.c - metrics.csv and statistics.csv of a sweep. */
#include "cli/metrics.h"
#include "cli/sweep.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LINE = 1024 };

static const char *const training_names[CLI_SWEEP_TRAINING] = {"loss", "iterations", "fallbacks", "seconds"};
static const size_t log_columns[CLI_SWEEP_TRAINING] = {1, 6, 7, 11};

static const char *metric_name(size_t metric)
{
    return metric < CLI_SWEEP_TRAINING ? training_names[metric]
                                       : antler_measure_at(metric - CLI_SWEEP_TRAINING)->name;
}

static size_t metric_count(void)
{
    return CLI_SWEEP_TRAINING + antler_measure_count();
}

/* Field `index`, from 0, of a line of comma-separated numbers; NaN when it is empty. */
static double field(const char *line, size_t index)
{
    for (; index > 0 && line != NULL; index--) {
        line = strchr(line, ',');
        line = line == NULL ? NULL : line + 1;
    }
    char *end = NULL;
    const double value = line == NULL ? NAN : strtod(line, &end);
    return line == NULL || end == line ? NAN : value;
}

/* The last line of a log; "" when there is none. */
static int read_last(const char *path, char last[LINE])
{
    char line[LINE];
    last[0] = '\0';
    FILE *log = cli_open(path);
    if (log == NULL)
        return errno == ENOENT ? CLI_DONE : cli_file_error(path, "opened");
    while (fgets(line, sizeof line, log) != NULL)
        memcpy(last, line, sizeof line);
    const int code = ferror(log) ? cli_file_error(path, "read") : CLI_DONE;
    fclose(log);
    return code;
}

int cli_sweep_read_run(const char *folder, cli_sweep_run *run)
{
    char path[1600], last[LINE];
    struct stat info;
    snprintf(path, sizeof path, "%.1500s/diverged.txt", folder);
    run->diverged = stat(path, &info) == 0;
    if (!run->diverged && errno != ENOENT)
        return cli_file_error(path, "examined");
    snprintf(path, sizeof path, "%.1500s/log.csv", folder);
    const int code = read_last(path, last);
    for (size_t m = 0; m < CLI_SWEEP_METRICS; m++)
        run->of[m] = NAN;
    for (size_t m = 0; m < CLI_SWEEP_TRAINING; m++)
        run->of[m] = field(last, log_columns[m]);
    if (run->diverged)
        run->of[0] = INFINITY;
    return code;
}

static void print_number(FILE *file, double value)
{
    if (isnan(value))
        fputc(',', file);
    else
        fprintf(file, ",%.10g", value);
}

/* Values of the grid may hold commas and quotes. */
static void print_text(FILE *file, const char *text)
{
    if (strpbrk(text, ",\"\n") == NULL) {
        fputs(text, file);
        return;
    }
    fputc('"', file);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', file);
        fputc(*text, file);
    }
    fputc('"', file);
}

static void print_head(FILE *file, const antler_grid *grid)
{
    for (size_t k = 0; k < antler_grid_key_count(grid); k++)
        fprintf(file, "%s,", antler_grid_key(grid, k));
}

static void print_values(FILE *file, const antler_grid *grid, size_t combination)
{
    for (size_t k = 0; k < antler_grid_key_count(grid); k++) {
        print_text(file, antler_grid_value(grid, combination, k));
        fputc(',', file);
    }
}

static void metrics_table(const cli_sweep_table *s, FILE *file)
{
    print_head(file, s->grid);
    fputs("name,run,diverged", file);
    for (size_t m = 0; m < metric_count(); m++)
        fprintf(file, ",%s", metric_name(m));
    fputc('\n', file);
    for (size_t i = 0; i < antler_grid_count(s->grid) * s->runs; i++) {
        antler_settings one;
        if (!cli_ok(antler_grid_settings(s->grid, i / s->runs, &one)))
            continue;
        print_values(file, s->grid, i / s->runs);
        print_text(file, one.name);
        fprintf(file, ",%zu,%d", i % s->runs + 1, s->of[i].diverged ? 1 : 0);
        for (size_t m = 0; m < metric_count(); m++)
            print_number(file, s->of[i].of[m]);
        fputc('\n', file);
    }
}

/* One row; nothing when the metric was not measured in this combination. */
static void statistics_row(const cli_sweep_table *s, size_t combination, size_t metric, double *values,
                           FILE *file)
{
    antler_statistics stats;
    for (size_t r = 0; r < s->runs; r++)
        values[r] = s->of[combination * s->runs + r].of[metric];
    const antler_status status = antler_statistics_of(values, s->runs, &stats);
    if (status != ANTLER_OK)
        cli_end(cli_fail(status));
    if (stats.count == 0)
        return;
    print_values(file, s->grid, combination);
    fprintf(file, "%s,%zu,%zu", metric_name(metric), stats.count, stats.diverged);
    print_number(file, stats.median);
    print_number(file, stats.mad);
    print_number(file, stats.mean);
    print_number(file, stats.sem);
    fputc('\n', file);
}

static void statistics_table(const cli_sweep_table *s, FILE *file)
{
    print_head(file, s->grid);
    fputs("metric,runs,diverged,median,mad,mean,sem\n", file);
    double *values = cli_memory(s->runs, sizeof *values, "the statistics");
    for (size_t i = 0; i < antler_grid_count(s->grid) * metric_count(); i++)
        statistics_row(s, i / metric_count(), i % metric_count(), values, file);
    free(values);
}

static int write_table(const cli_sweep_table *s, const char *name,
                       void (*table)(const cli_sweep_table *, FILE *))
{
    char path[1600], *text = NULL;
    size_t bytes = 0;
    snprintf(path, sizeof path, "%.1500s/%s", s->folder, name);
    FILE *file = open_memstream(&text, &bytes);
    if (file == NULL)
        return cli_no_memory("a table");
    table(s, file);
    return cli_write_stream(path, file, &text);
}

int cli_sweep_write(const cli_sweep_table *sweep)
{
    const int code = write_table(sweep, "metrics.csv", metrics_table);
    return code != CLI_DONE ? code : write_table(sweep, "statistics.csv", statistics_table);
}
