/* cmd_info.c - `antler info`: the contents of files and models, this build, and its GPUs. */
#include "cli/command.h"
#include "cli/data_options.h"
#include "cli/info_devices.h"
#include "cli/info_model.h"
#include "cli/runs.h"
#include "cli/sketch.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

typedef struct settings {
    bool check, json, devices;
    const char *sketch;
    cli_load load;
} settings;

#define AT(field) offsetof(settings, field)
static const cli_option options[] = {
    {"check", CLI_FLAG, NULL, "Also check that the data can be used; exit code 2 and a message when not.",
     AT(check), NULL},
    {"sketch", CLI_TEXT, "X,Y", "Draw one variable against another in the terminal, by name or number.",
     AT(sketch), NULL},
    CLI_LOAD_OPTIONS(settings, load),
    {"devices", CLI_FLAG, NULL, "List the GPUs of this machine, and whether they can be used.", AT(devices),
     NULL},
    {"json", CLI_FLAG, NULL, "Print one JSON object per file, or one for the devices.", AT(json), NULL},
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

static antler_status print_variables(const antler_series *series)
{
    const size_t dim = antler_series_dim(series), inputs = antler_series_input_dim(series);
    printf("\n%-16s %11s %11s %11s %11s\n", "variable", "mean", "sd", "min", "max");
    for (size_t i = 0; i < dim + inputs; i++) {
        antler_variable_stats stats;
        const antler_status status = antler_series_stats(series, i, &stats);
        if (status != ANTLER_OK)
            return status;
        printf("%-16s %11.4g %11.4g %11.4g %11.4g%s", antler_series_name(series, i), stats.mean, stats.sd,
               stats.min, stats.max, i >= dim ? "  input" : "");
        if (stats.nan + stats.inf > 0)
            printf("  %zu NaN, %zu Inf, first in row %zu", stats.nan, stats.inf, stats.bad_row + 1);
        putchar('\n');
    }
    return ANTLER_OK;
}

static void print_series(const antler_series *series)
{
    const size_t count = antler_series_count(series), dim = antler_series_dim(series);
    printf("  series     %zu trajector%s, %zu rows in all, N = %zu", count, count == 1 ? "y" : "ies",
           antler_series_total_length(series), dim);
    if (antler_series_input_dim(series) > 0)
        printf(", K = %zu", antler_series_input_dim(series));
    if (antler_series_dt(series) > 0.0)
        printf(", dt %g", antler_series_dt(series));
    putchar('\n');
    double *scaling = calloc(2 * dim, sizeof *scaling);
    if (scaling != NULL && antler_series_scaling(series, scaling, scaling + dim)) {
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

static json_t *real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
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

static json_t *series_json(const antler_series *series)
{
    json_t *lengths = json_array(), *variables = json_array();
    for (size_t i = 0; i < antler_series_count(series); i++)
        json_array_append_new(lengths, json_integer((json_int_t)antler_series_length(series, i)));
    const size_t dim = antler_series_dim(series), all = dim + antler_series_input_dim(series);
    for (size_t i = 0; i < all; i++) {
        antler_variable_stats v;
        if (antler_series_stats(series, i, &v) != ANTLER_OK)
            continue;
        json_array_append_new(variables, json_pack("{s:s, s:b, s:o, s:o, s:o, s:o, s:I, s:I}", "name",
                                                   antler_series_name(series, i), "input", i >= dim, "mean",
                                                   real_or_null(v.mean), "sd", real_or_null(v.sd), "min",
                                                   real_or_null(v.min), "max", real_or_null(v.max), "nan",
                                                   (json_int_t)v.nan, "inf", (json_int_t)v.inf));
    }
    return json_pack("{s:o, s:I, s:I, s:f, s:o}", "lengths", lengths, "dim", (json_int_t)dim, "input_dim",
                     (json_int_t)(all - dim), "dt", antler_series_dt(series), "variables", variables);
}

static int print_json(const char *path, const antler_file_info *info, const antler_series *series)
{
    json_t *root = json_pack("{s:s, s:s, s:I, s:o}", "file", path, "format", info->format, "bytes",
                             (json_int_t)info->bytes, "arrays", arrays_json(info));
    if (root == NULL)
        return cli_usage_error("%s: the name cannot be written as JSON because it is not UTF-8", path);
    json_object_set_new(root, "series", series == NULL ? json_null() : series_json(series));
    json_dumpf(root, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17));
    putchar('\n');
    json_decref(root);
    return CLI_DONE;
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

/* A file whose arrays are no series is still described, unless an option needs a series. */
static int describe(const settings *s, const char *path)
{
    if (cli_run_is_folder(path))
        return cli_info_model(path, s->json);
    const antler_load_opts load = cli_load_opts(&s->load);
    antler_file_info info = {0};
    antler_series *series = NULL;
    int code = CLI_DONE;
    antler_status status = antler_file_inspect(path, &info);
    if (status == ANTLER_OK && cli_info_is_model(&info)) {
        antler_file_info_clear(&info);
        return cli_info_model(path, s->json);
    }
    if (status == ANTLER_OK) {
        const antler_status loaded = antler_series_load(&path, 1, &load, &series);
        if (loaded != ANTLER_OK && (s->check || s->sketch != NULL || loaded != ANTLER_ERROR_DATA))
            status = loaded;
    }
    if (status == ANTLER_OK && s->check)
        status = antler_series_check(series, 2);
    if (status != ANTLER_OK) {
        code = cli_fail(status);
    } else if (s->json) {
        code = print_json(path, &info, series);
    } else {
        printf("%s: %s, ", path, info.format);
        print_bytes(info.bytes);
        putchar('\n');
        print_arrays(&info);
        if (series != NULL) {
            print_series(series);
            status = print_variables(series);
            code = status != ANTLER_OK ? cli_fail(status) : s->sketch != NULL ? sketch(s, series) : CLI_DONE;
        }
    }
    antler_series_free(series);
    antler_file_info_clear(&info);
    return code;
}

static int run(const cli_command *self, int argc, char **argv)
{
    settings s = {0};
    size_t count = 0;
    int code = CLI_DONE;
    if (!cli_parse(self, argc, argv, &s, &count, &code))
        return code;
    if (s.devices && count > 0)
        return cli_usage_error("--devices describes this machine and takes no file");
    if (s.devices)
        return cli_info_devices(s.json);
    if (count == 0)
        puts(antler_build_info());
    int worst = CLI_DONE;
    for (size_t i = 0; i < count; i++) {
        const int one = describe(&s, argv[i]);
        if (one > worst)
            worst = one;
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
        "parameters, scaling, settings and origin. Without a file: version, compiler and instruction sets, "
        "or with --devices the GPUs.",
    .examples = "  $ antler info train.npz\n  $ antler info Results/lorenz63/fo/001\n  $ antler info --check "
                "measurements.csv\n"
                "  $ antler info lorenz63.npz --sketch x,z\n  $ antler info --devices\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .maximum = SIZE_MAX,
    .run = run,
};
