/* cmd_info.c - `antler info`: the contents of files and models, this build, and its GPUs. */
#include "cli/answer.h"
#include "cli/command.h"
#include "cli/data_options.h"
#include "cli/foreign.h"
#include "cli/info_devices.h"
#include "cli/info_files.h"
#include "cli/info_model.h"
#include "cli/runs.h"
#include "cli/sketch.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct settings {
    bool check, complete, json, devices;
    const char *sketch;
    cli_load load;
} settings;

#define AT(field) offsetof(settings, field)
static const cli_option options[] = {
    {"check", CLI_FLAG, NULL, "Also check that the data can be used; exit code 2 and a message when not.",
     AT(check), NULL},
    {"complete", CLI_FLAG, NULL, "--check, where a missing value is a fault, too; training masks it.",
     AT(complete), NULL},
    {"sketch", CLI_TEXT, "X,Y", "Draw one variable against another in the terminal, by name or number.",
     AT(sketch), NULL},
    CLI_LOAD_OPTIONS(settings, load),
    {"devices", CLI_FLAG, NULL, "List the GPUs of this machine, and whether they can be used.", AT(devices),
     NULL},
    {"json", CLI_FLAG, NULL, "Print one JSON object; of several files an array of them.", AT(json), NULL},
};
#undef AT

static void print_bytes(uint64_t bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    double value = (double)bytes;
    size_t unit = 0;
    for (; value >= 1000.0 && unit < 4; unit++)
        value /= 1000.0;
    printf(unit == 0 ? "%.0f %s" : "%.3g %s", value, units[unit]);
}

static void print_arrays(const antler_file_info *info)
{
    for (size_t i = 0; i < info->array_count; i++) {
        const antler_array_info *array = &info->arrays[i];
        printf("  array      %s%s", array->key, array->key[0] ? "  " : "");
        for (size_t k = 0; k < array->rank; k++)
            printf("%s%zu", k ? " x " : "", array->shape[k]);
        printf("%s%s, ", array->rank == 0 ? "a single number of " : " ", array->dtype);
        print_bytes(array->bytes);
        puts(array->fortran ? ", Fortran order" : "");
    }
}

/* Digits that show how a variable changes: more than four where it varies little around a large mean. */
static int digits_of(const antler_variable_stats *stats)
{
    enum { FEWEST = 4, MOST = 15 };
    const double ratio = fabs(stats->mean) / stats->sd;
    if (!(ratio > 100.0))
        return FEWEST;
    return isinf(ratio) ? FEWEST : (int)fmin(MOST, FEWEST + floor(log10(ratio)));
}

static antler_status print_variables(const antler_series *series)
{
    enum { MOST = 256 };
    const size_t dim = antler_series_dim(series), all = dim + antler_series_input_dim(series);
    printf("\n%-16s %11s %11s %11s %11s\n", "variable", "mean", "sd", "min", "max");
    for (size_t i = 0; i < all && i < MOST; i++) {
        antler_variable_stats stats;
        const antler_status status = antler_series_stats(series, i, &stats);
        if (status != ANTLER_OK)
            return status;
        const int digits = digits_of(&stats);
        printf("%-16s %11.*g %11.4g %11.*g %11.*g%s", antler_series_name(series, i), digits, stats.mean,
               stats.sd, digits, stats.min, digits, stats.max, i >= dim ? "  input" : "");
        if (stats.nan > 0)
            printf("  %zu missing", stats.nan);
        if (stats.inf > 0)
            printf("%s%zu infinite", stats.nan > 0 ? ", " : "  ", stats.inf);
        if (stats.nan + stats.inf > 0)
            printf(", first in row %zu", stats.bad_row + 1);
        putchar('\n');
    }
    if (all > MOST)
        printf("... and %zu more\n", all - MOST);
    return ANTLER_OK;
}

/* From when to when a trajectory goes, where its times are known. */
static void print_span(const antler_series *series, size_t trajectory)
{
    char first[64], last[64];
    const size_t rows = antler_series_length(series, trajectory);
    if (antler_series_time(series)->kind == ANTLER_TIME_NONE ||
        antler_series_time_text(series, trajectory, 0, first, sizeof first) != ANTLER_OK ||
        antler_series_time_text(series, trajectory, rows - 1, last, sizeof last) != ANTLER_OK)
        return;
    printf(", %s to %s", first, last);
}

/* The time axis; of several trajectories, where each came from and how long it is. */
static void print_trajectories(const antler_series *series)
{
    enum { MOST = 20 };
    const antler_time_axis *time = antler_series_time(series);
    const size_t count = antler_series_count(series);
    if (time->kind != ANTLER_TIME_NONE) {
        printf("  time       column '%s'", time->name);
        if (count == 1)
            print_span(series, 0);
        putchar('\n');
    }
    for (size_t i = 0; count > 1 && i < count && i < MOST; i++) {
        printf("  trajectory %zu: %s, %zu rows", i + 1, cli_foreign_shown(antler_series_origin(series, i)),
               antler_series_length(series, i));
        print_span(series, i);
        putchar('\n');
    }
    if (count > MOST)
        printf("  ...        and %zu more\n", count - MOST);
}

/* What loading decided or found. */
static void print_notes(const antler_series *series)
{
    for (size_t i = 0; i < antler_series_note_count(series); i++)
        printf("  note       %s\n", cli_foreign_shown(antler_series_note(series, i)));
}

static void print_series(const antler_series *series)
{
    const size_t count = antler_series_count(series), dim = antler_series_dim(series);
    printf("  series     %zu trajector%s, %zu rows in all, N = %zu", count, count == 1 ? "y" : "ies",
           antler_series_total_length(series), dim);
    if (antler_series_input_dim(series) > 0)
        printf(", K = %zu", antler_series_input_dim(series));
    if (antler_series_dt(series) > 0.0)
        printf(", dt %g%s%s", antler_series_dt(series),
               antler_series_time(series)->unit[0] == '\0' ? "" : " ", antler_series_time(series)->unit);
    putchar('\n');
    print_trajectories(series);
    double *scaling = cli_memory(2 * dim, sizeof *scaling, "a scaling");
    if (antler_series_scaling(series, scaling, scaling + dim)) {
        fputs("  user units value * (", stdout);
        for (size_t i = 0; i < dim; i++)
            printf("%s%.6g", i ? ", " : "", scaling[dim + i]);
        fputs(") + (", stdout);
        for (size_t i = 0; i < dim; i++)
            printf("%s%.6g", i ? ", " : "", scaling[i]);
        puts(")");
    }
    free(scaling);
}

static json_t *arrays_json(const antler_file_info *info)
{
    json_t *arrays = json_array();
    for (size_t i = 0; i < info->array_count; i++) {
        const antler_array_info *a = &info->arrays[i];
        json_t *shape = json_array();
        for (size_t k = 0; k < a->rank; k++)
            json_array_append_new(shape, json_integer((json_int_t)a->shape[k]));
        json_array_append_new(arrays, json_pack("{s:s, s:s, s:o, s:b, s:I}", "key", a->key, "dtype", a->dtype,
                                                "shape", shape, "fortran_order", a->fortran, "bytes",
                                                (json_int_t)a->bytes));
    }
    return arrays;
}

/* The time axis with the first time of each trajectory; null without one. */
static json_t *time_json(const antler_series *series)
{
    static const char *const kinds[] = {"none", "number", "epoch", "date"};
    const antler_time_axis *time = antler_series_time(series);
    if (time->kind == ANTLER_TIME_NONE)
        return json_null();
    json_t *starts = json_array();
    for (size_t i = 0; i < antler_series_count(series); i++) {
        char text[64] = "";
        antler_series_time_text(series, i, 0, text, sizeof text);
        json_array_append_new(starts, json_string(text));
    }
    return json_pack("{s:s, s:s, s:s, s:o}", "kind", kinds[time->kind], "name", time->name, "unit",
                     time->unit, "start", starts);
}

static json_t *series_json(const antler_series *series)
{
    json_t *lengths = json_array(), *variables = json_array();
    for (size_t i = 0; i < antler_series_count(series); i++)
        json_array_append_new(lengths, json_integer((json_int_t)antler_series_length(series, i)));
    const size_t dim = antler_series_dim(series), all = dim + antler_series_input_dim(series);
    for (size_t i = 0; i < all; i++) {
        antler_variable_stats v;
        const antler_status status = antler_series_stats(series, i, &v);
        if (status != ANTLER_OK)
            cli_end(cli_fail(status));
        json_array_append_new(variables, json_pack("{s:s, s:b, s:o, s:o, s:o, s:o, s:I, s:I}", "name",
                                                   antler_series_name(series, i), "input", i >= dim, "mean",
                                                   cli_json_real(v.mean), "sd", cli_json_real(v.sd), "min",
                                                   cli_json_real(v.min), "max", cli_json_real(v.max), "nan",
                                                   (json_int_t)v.nan, "inf", (json_int_t)v.inf));
    }
    json_t *notes = json_array();
    for (size_t i = 0; i < antler_series_note_count(series); i++)
        json_array_append_new(notes, json_string(cli_foreign_shown(antler_series_note(series, i))));
    return json_pack("{s:o, s:I, s:I, s:f, s:o, s:I, s:o, s:o}", "lengths", lengths, "dim", (json_int_t)dim,
                     "input_dim", (json_int_t)(all - dim), "dt", antler_series_dt(series), "time",
                     time_json(series), "missing", (json_int_t)antler_series_missing(series), "variables",
                     variables, "notes", notes);
}

static json_t *file_json(const char *path, const antler_file_info *info, const antler_series *series)
{
    json_t *root = json_pack("{s:s, s:s, s:I, s:o}", "file", path, "format", info->format, "bytes",
                             (json_int_t)info->bytes, "arrays", arrays_json(info));
    json_object_set_new(root, "series", series == NULL ? json_null() : series_json(series));
    return root;
}

/* "x", "3" -> index of the variable. */
static bool find_variable(const antler_series *series, const char *word, size_t length, size_t *index)
{
    for (size_t i = 0; i < antler_series_dim(series); i++) {
        const char *name = antler_series_name(series, i);
        char number[24];
        snprintf(number, sizeof number, "%zu", i + 1);
        *index = i;
        if ((strlen(name) == length && strncmp(name, word, length) == 0) ||
            (strlen(number) == length && strncmp(number, word, length) == 0))
            return true;
    }
    return false;
}

static int sketch(const settings *s, const antler_series *series)
{
    size_t across = 0, up = 0;
    const char *comma = strchr(s->sketch, ',');
    if (comma == NULL || !find_variable(series, s->sketch, (size_t)(comma - s->sketch), &across) ||
        !find_variable(series, comma + 1, strlen(comma + 1), &up))
        return cli_usage_error(
            "--sketch: '%s' does not name two variables of the file, such as %s,%s or 1,%zu", s->sketch,
            antler_series_name(series, 0), antler_series_name(series, antler_series_dim(series) - 1),
            antler_series_dim(series));
    putchar('\n');
    const antler_status status = cli_sketch(series, across, up);
    return status == ANTLER_OK ? CLI_DONE : cli_fail(status);
}

/* What is known of a file before it is loaded; of the standard input, which is read once, nothing. */
static antler_status inspect(const char *path, antler_file_info *info)
{
    if (strcmp(path, "-") != 0)
        return antler_file_inspect(path, info);
    snprintf(info->format, sizeof info->format, "standard input");
    return ANTLER_OK;
}

/* Of several trajectories a training leaves out those that are too short. */
static size_t least_rows(const antler_series *series)
{
    size_t longest = 0;
    for (size_t i = 0; i < antler_series_count(series); i++)
        longest = antler_series_length(series, i) > longest ? antler_series_length(series, i) : longest;
    return longest > 1 && antler_series_count(series) > 1 ? 1 : 2;
}

/* unloaded: why there is no series. */
static int print_file(const settings *s, const char *path, const antler_file_info *info,
                      const antler_series *series, const char *unloaded)
{
    printf("%s: %s", path, info->format);
    if (info->bytes > 0) { /* what comes through a pipe has no size */
        printf(", ");
        print_bytes(info->bytes);
    }
    putchar('\n');
    print_arrays(info);
    if (series == NULL) {
        printf("  series     none: %s\n", unloaded);
        return CLI_DONE;
    }
    print_series(series);
    print_notes(series);
    const antler_status status = print_variables(series);
    return status != ANTLER_OK ? cli_fail(status) : s->sketch != NULL ? sketch(s, series) : CLI_DONE;
}

/*
 * A data file, in *json or where that is NULL on standard output.  A file whose arrays are no series is still
 * described, unless an option needs a series.
 */
static int describe_data(const settings *s, const char *path, json_t **json)
{
    const cli_list files = {.items = {path}, .count = 1};
    antler_file_info info = {0};
    antler_series *series = NULL;
    char unloaded[1024] = "";
    int code = CLI_DONE;
    const char *foreign = antler_file_foreign(path);
    antler_status status = ANTLER_OK;
    if (foreign != NULL) {
        struct stat seen;
        snprintf(info.format, sizeof info.format, "%s", foreign);
        info.bytes = stat(path, &seen) == 0 && S_ISREG(seen.st_mode) ? (uint64_t)seen.st_size : 0;
    } else
        status = inspect(path, &info);
    if (status == ANTLER_OK && cli_info_is_model(&info)) {
        antler_file_info_clear(&info);
        return cli_info_model(path, json);
    }
    if (status == ANTLER_OK && (foreign != NULL || s->check || s->sketch != NULL))
        code = cli_series_load(&files, &s->load, &series);
    else if (status == ANTLER_OK) {
        const antler_load_opts load = cli_load_opts(&s->load);
        const antler_status loaded = antler_series_load(files.items, 1, &load, &series);
        status = loaded == ANTLER_ERROR_DATA ? ANTLER_OK : loaded;
        if (loaded != ANTLER_OK)
            snprintf(unloaded, sizeof unloaded, "%s", antler_message());
    }
    if (status == ANTLER_OK && code == CLI_DONE && s->check)
        status = s->complete ? antler_series_check(series, least_rows(series))
                             : antler_series_check_gaps(series, least_rows(series));
    if (status != ANTLER_OK)
        code = cli_fail(status);
    else if (code == CLI_DONE && json != NULL)
        *json = file_json(path, &info, series);
    else if (code == CLI_DONE)
        code = print_file(s, path, &info, series, unloaded);
    antler_series_free(series);
    antler_file_info_clear(&info);
    return code;
}

/* A folder, a file of a training, or data. */
static int describe(const settings *s, const char *path, json_t **json)
{
    json_t *found = NULL;
    bool is_folder = false, has = false;
    int code = cli_run_is_folder(path, &is_folder);
    if (code == CLI_DONE && is_folder)
        code = cli_run_has_model(path, &has);
    if (code != CLI_DONE)
        return code;
    if (is_folder && antler_file_foreign(path) == NULL) {
        if (has)
            return cli_info_model(path, json);
        found = cli_info_folder(path);
        if (found == NULL && !cli_json_failed())
            return cli_usage_error("%s: there is no model.npz here and no run below it", path);
    } else if (!s->check && s->sketch == NULL) {
        found = cli_info_file(path);
    }
    if (cli_json_failed()) {
        json_decref(found);
        return cli_no_memory("the description of a file");
    }
    if (found == NULL)
        return describe_data(s, path, json);
    if (json != NULL) {
        *json = found;
        return CLI_DONE;
    }
    cli_info_print(found);
    json_decref(found);
    return CLI_DONE;
}

/* One object, or of several files an array of them; a file that cannot be described has its fault there. */
static int describe_json(const settings *s, char *const *paths, size_t count)
{
    json_t *all = json_array();
    int worst = CLI_DONE;
    for (size_t i = 0; i < count; i++) {
        json_t *one = NULL;
        int code = describe(s, paths[i], &one);
        if (code == CLI_DONE && cli_json_failed())
            code = cli_no_memory("the description of a file");
        else if (code == CLI_DONE && one == NULL)
            code = cli_usage_error("%s: cannot be written as JSON: a name is not UTF-8", paths[i]);
        if (code != CLI_DONE)
            one = json_pack("{s:s%, s:s%, s:i}", "file", paths[i], strlen(paths[i]), "error",
                            cli_last_error(), strlen(cli_last_error()), "exit_code", code);
        json_array_append_new(all, one == NULL ? json_null() : one);
        worst = code > worst ? code : worst;
        if (cli_json_failed()) { /* the fault alone is printed */
            json_decref(all);
            return code > CLI_DONE ? code : cli_no_memory("the description of a file");
        }
    }
    const int code = cli_json_print(count == 1 ? json_incref(json_array_get(all, 0)) : json_incref(all));
    json_decref(all);
    return worst > code ? worst : code;
}

static int print_build(bool json)
{
    if (json)
        return cli_json_print(
            json_pack("{s:s, s:s}", "antler", antler_version(), "build", antler_build_info()));
    puts(antler_build_info());
    return CLI_DONE;
}

static int run(const cli_command *self, int argc, char **argv)
{
    settings s = {0};
    size_t count = 0;
    int code = CLI_DONE;
    if (!cli_parse(self, argc, argv, &s, &count, &code))
        return code;
    s.check = s.check || s.complete;
    if (s.devices && count > 0)
        return cli_usage_error("--devices describes this machine and takes no file");
    if (s.devices)
        return cli_info_devices(s.json);
    if (s.sketch != NULL && s.json)
        return cli_usage_error("--sketch draws in the terminal; leave out --json");
    if (count == 0)
        return print_build(s.json);
    if (s.json)
        return describe_json(&s, argv, count);
    int worst = CLI_DONE;
    for (size_t i = 0; i < count && !cli_json_failed(); i++) {
        const int one = describe(&s, argv[i], NULL);
        worst = one > worst ? one : worst;
    }
    return worst;
}

const cli_command cli_info = {
    .name = "info",
    .summary = "describe a file, a trained model, or this build",
    .arguments = "[FILE|RUN...]",
    .description =
        "Describe a file: format, arrays, trajectories, names, sampling interval, scaling, and the "
        "mean, "
        "spread and bad values of every variable; of a run folder or a model file: kind, dimensions, "
        "parameters, scaling, settings, origin, and what its training left. Every file that Antler writes is "
        "described: settings, log.csv, verdict.json, metrics.json and .csv, statistics.csv, trials.csv, "
        "plan.csv, reports, and folders of runs. Without a file: version, compiler and instruction sets, "
        "or with --devices the GPUs.",
    .examples = "  $ antler info train.npz\n  $ antler info Results/lorenz63/fo/001\n  $ antler info "
                "Results/lorenz63\n  $ antler info --check "
                "measurements.csv\n"
                "  $ antler info lorenz63.npz --sketch x,z\n  $ antler info --devices\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .maximum = SIZE_MAX,
    .run = run,
};
