/* sweep.c - `antler sweep`: every combination of a grid, with all its runs, and their statistics. */
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/training.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct settings {
    cli_list set;
    bool resume, overwrite, list, quiet;
} settings;

#define AT(field) offsetof(settings, field)
static const cli_option options[] = {
    {"set", CLI_TEXTS, "NAME=VALUE", "Change a setting that is not in the grid; may be repeated.", AT(set),
     NULL},
    {"resume", CLI_FLAG, NULL, "Go on with a sweep that was stopped; finished runs are kept.", AT(resume),
     NULL},
    {"overwrite", CLI_FLAG, NULL, "Replace runs of the same name.", AT(overwrite), NULL},
    {"list", CLI_FLAG, NULL, "Print the combinations and train nothing.", AT(list), NULL},
    {"quiet", CLI_FLAG, NULL, "No progress and no summary.", AT(quiet), NULL},
};
#undef AT

/* The columns of metrics.csv after the keys of the grid; a value that does not exist is NaN. */
static const char *const metric_names[] = {"loss", "iterations", "fallbacks", "seconds"};
enum { METRICS = sizeof metric_names / sizeof metric_names[0] };

typedef struct run_metrics {
    double of[METRICS];
    bool diverged;
} run_metrics;

/* All runs of all combinations: (combinations, runs). */
typedef struct sweep {
    const antler_grid *grid;
    size_t runs;
    run_metrics *metrics;
    char folder[1400]; /* of the experiment */
} sweep;

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

/* What the last row of log.csv says, and whether there is a diverged.txt. */
static void read_run(const char *folder, run_metrics *metrics)
{
    static const size_t columns[METRICS] = {1, 6, 7, 11}; /* of log.csv */
    char path[1600], line[1024], last[1024] = "";
    struct stat info;
    snprintf(path, sizeof path, "%s/diverged.txt", folder);
    metrics->diverged = stat(path, &info) == 0;
    snprintf(path, sizeof path, "%s/log.csv", folder);
    FILE *log = fopen(path, "r");
    while (log != NULL && fgets(line, sizeof line, log) != NULL)
        memcpy(last, line, sizeof last);
    if (log != NULL)
        fclose(log);
    for (size_t m = 0; m < METRICS; m++)
        metrics->of[m] = metrics->diverged ? NAN : field(last, columns[m]);
}

static void print_number(FILE *file, double value)
{
    if (isfinite(value))
        fprintf(file, ",%.10g", value);
    else
        fputc(',', file);
}

/* Keys and values of the grid may hold commas and quotes. */
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

static void print_keys(FILE *file, const antler_grid *grid, size_t combination)
{
    for (size_t k = 0; k < antler_grid_key_count(grid); k++) {
        print_text(file, antler_grid_value(grid, combination, k));
        fputc(',', file);
    }
}

static void write_metrics(const sweep *s, FILE *file)
{
    for (size_t k = 0; k < antler_grid_key_count(s->grid); k++)
        fprintf(file, "%s,", antler_grid_key(s->grid, k));
    fputs("name,run,diverged", file);
    for (size_t m = 0; m < METRICS; m++)
        fprintf(file, ",%s", metric_names[m]);
    fputc('\n', file);
    for (size_t i = 0; i < antler_grid_count(s->grid) * s->runs; i++) {
        antler_settings one;
        if (antler_grid_settings(s->grid, i / s->runs, &one) != ANTLER_OK)
            continue;
        print_keys(file, s->grid, i / s->runs);
        print_text(file, one.name);
        fprintf(file, ",%zu,%d", i % s->runs + 1, s->metrics[i].diverged ? 1 : 0);
        for (size_t m = 0; m < METRICS; m++)
            print_number(file, s->metrics[i].of[m]);
        fputc('\n', file);
    }
}

static void write_statistics(const sweep *s, FILE *file)
{
    for (size_t k = 0; k < antler_grid_key_count(s->grid); k++)
        fprintf(file, "%s,", antler_grid_key(s->grid, k));
    fputs("metric,runs,diverged,median,mad,mean,sem\n", file);
    double *values = calloc(s->runs, sizeof *values);
    for (size_t i = 0; i < antler_grid_count(s->grid) && values != NULL; i++) {
        for (size_t m = 0; m < METRICS; m++) {
            antler_statistics stats;
            size_t diverged = 0;
            for (size_t r = 0; r < s->runs; r++) {
                values[r] = s->metrics[i * s->runs + r].of[m];
                diverged += s->metrics[i * s->runs + r].diverged ? 1 : 0;
            }
            if (antler_statistics_of(values, s->runs, &stats) != ANTLER_OK)
                continue;
            print_keys(file, s->grid, i);
            fprintf(file, "%s,%zu,%zu", metric_names[m], s->runs, diverged);
            print_number(file, stats.median);
            print_number(file, stats.mad);
            print_number(file, stats.mean);
            print_number(file, stats.sem);
            fputc('\n', file);
        }
    }
    free(values);
}

/* Under a temporary name first: a table is whole or old, never half. */
static int write_table(const sweep *s, const char *name, void (*write)(const sweep *, FILE *))
{
    char path[1500], temporary[1520];
    snprintf(path, sizeof path, "%s/%s", s->folder, name);
    snprintf(temporary, sizeof temporary, "%s.part", path);
    FILE *file = fopen(temporary, "w");
    if (file != NULL) {
        write(s, file);
        const bool good = fflush(file) == 0 && !ferror(file) && fsync(fileno(file)) == 0;
        if (fclose(file) == 0 && good && rename(temporary, path) == 0)
            return CLI_DONE;
    }
    fprintf(stderr, "antler: %s: cannot be written: %s\n", path, strerror(errno));
    (void)unlink(temporary);
    return CLI_MACHINE;
}

/* Train one combination; *stopped when the user wants to end. */
static int train_one(const settings *given, sweep *s, size_t combination, bool *stopped)
{
    antler_settings one;
    antler_status status = antler_grid_settings(s->grid, combination, &one);
    if (status != ANTLER_OK)
        return cli_fail(status);
    char folder[1400], label[200];
    struct stat info;
    snprintf(folder, sizeof folder, "%.1200s/%s", s->folder, one.name);
    snprintf(label, sizeof label, "[%zu/%zu] %.150s: ", combination + 1, antler_grid_count(s->grid),
             one.name);
    cli_training training;
    antler_train_result result = {.finished = 0};
    cli_training_begin(&training, given->quiet, label);
    const antler_train_events events = cli_training_events(&training);
    status = given->resume && stat(folder, &info) == 0
                 ? antler_train_resume(folder, &one, &events, &result)
                 : antler_train(&one, 0, given->overwrite, &events, &result);
    cli_training_end(&training);
    *stopped = status == ANTLER_CANCELLED;
    if (status != ANTLER_OK && status != ANTLER_DIVERGED && !*stopped)
        return cli_fail(status);
    for (size_t r = 0; r < s->runs; r++) {
        char run[1500];
        snprintf(run, sizeof run, "%s/%03zu", folder, r + 1);
        read_run(run, &s->metrics[combination * s->runs + r]);
    }
    return CLI_DONE;
}

static int train_all(const settings *given, const char *path, sweep *s)
{
    size_t diverged = 0;
    const size_t total = antler_grid_count(s->grid) * s->runs;
    for (size_t i = 0; i < total; i++) {
        s->metrics[i].diverged = false;
        for (size_t m = 0; m < METRICS; m++)
            s->metrics[i].of[m] = NAN;
    }
    for (size_t i = 0; i < antler_grid_count(s->grid); i++) {
        bool stopped = false;
        int code = train_one(given, s, i, &stopped);
        if (code == CLI_DONE && stopped) {
            printf("Stopped; nothing is lost. Go on with:\n  antler sweep %s --resume\n", path);
            return CLI_DONE;
        }
        if (code == CLI_DONE)
            code = write_table(s, "metrics.csv", write_metrics);
        if (code == CLI_DONE)
            code = write_table(s, "statistics.csv", write_statistics);
        if (code != CLI_DONE)
            return code;
    }
    for (size_t i = 0; i < total; i++)
        diverged += s->metrics[i].diverged ? 1 : 0;
    if (!given->quiet)
        printf("%zu combinations, %zu runs; %s/metrics.csv and statistics.csv\n", antler_grid_count(s->grid),
               total, s->folder);
    if (diverged > 0)
        fprintf(stderr, "antler: %zu of %zu runs diverged\n", diverged, total);
    return diverged > 0 ? CLI_NUMBERS : CLI_DONE;
}

static int list_grid(const antler_grid *grid)
{
    for (size_t i = 0; i < antler_grid_count(grid); i++) {
        for (size_t k = 0; k < antler_grid_key_count(grid); k++)
            printf("%s%s=%s", k == 0 ? "" : " ", antler_grid_key(grid, k), antler_grid_value(grid, i, k));
        putchar('\n');
    }
    return CLI_DONE;
}

static int run(const cli_command *self, int argc, char **argv)
{
    settings given = {.resume = false};
    size_t count = 0;
    antler_grid *grid = NULL;
    int code = cli_parse(self, argc, argv, &given, &count);
    if (code >= 0)
        return code;
    if (given.resume && given.overwrite)
        return cli_usage_error("--resume keeps what is there, --overwrite replaces it; give one of them");
    const antler_status status = antler_grid_load(argv[0], given.set.items, given.set.count, &grid);
    if (status != ANTLER_OK)
        return cli_fail(status);
    if (given.list) {
        code = list_grid(grid);
    } else {
        const antler_settings *base = antler_grid_base(grid);
        sweep s = {.grid = grid, .runs = base->runs};
        snprintf(s.folder, sizeof s.folder, "%s/%s", base->results, base->experiment);
        s.metrics = calloc(antler_grid_count(grid) * base->runs, sizeof *s.metrics);
        code = s.metrics == NULL
                   ? cli_usage_error("out of memory for %zu combinations", antler_grid_count(grid))
                   : train_all(&given, argv[0], &s);
        free(s.metrics);
    }
    antler_grid_free(grid);
    return code;
}

const cli_command cli_sweep = {
    .name = "sweep",
    .summary = "train every combination of a grid of settings",
    .arguments = "GRID.yaml",
    .description =
        "A grid file is a settings file with a mapping 'grid:' of lists. Every combination of its values is "
        "trained, with all its runs, in <results>/<experiment>/<name>_<key>-<value>..., and the tables "
        "metrics.csv (one row per run) and statistics.csv (median, MAD, mean, standard error, diverged "
        "runs) appear in <results>/<experiment>. They grow as the sweep goes on.\n\n"
        "Ctrl-C stops as in 'antler train'; --resume goes on.",
    .examples = "  $ antler sweep examples/sweep.yaml --list\n"
                "  $ antler sweep examples/sweep.yaml --set runs=10\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .minimum = 1,
    .maximum = 1,
    .run = run,
};
