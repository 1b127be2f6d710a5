/* info_model.c - `antler info RUN`: what a model or a checkpoint contains. */
#include "cli/info_model.h"

#include "cli/info_files.h"
#include "cli/measuring.h"
#include "cli/runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool cli_info_is_model(const antler_file_info *info)
{
    bool format = false, kind = false;
    for (size_t i = 0; i < info->array_count; i++) {
        format = format || strcmp(info->arrays[i].key, "format") == 0;
        kind = kind || strcmp(info->arrays[i].key, "kind") == 0;
    }
    return format && kind;
}

static size_t number_count(const antler_model *model)
{
    size_t sum = 0;
    antler_parameter p;
    for (size_t i = 0; antler_model_parameter_at(model, i, &p) == ANTLER_OK; i++)
        sum += p.rows * p.columns;
    return sum;
}

static void print_dimensions(const antler_model *model)
{
    printf("  dimensions N = %zu variables, M = %zu latent, L = %zu hidden, K = %zu inputs",
           antler_model_dim(model), antler_model_latent_dim(model), antler_model_hidden_dim(model),
           antler_model_input_dim(model));
    if (antler_model_rank(model) > 0)
        printf(", rank %zu", antler_model_rank(model));
    printf("; %zu numbers\n  variables  ", number_count(model));
    const size_t dim = antler_model_dim(model), all = dim + antler_model_input_dim(model);
    for (size_t i = 0; i < all; i++)
        printf("%s%s", i == 0 ? "" : i == dim ? "; inputs " : ", ", antler_model_name(model, i));
    putchar('\n');
    if (antler_model_dt(model) > 0.0)
        printf("  dt         %g\n", antler_model_dt(model));
}

static void print_scaling(const antler_model *model)
{
    const size_t dim = antler_model_dim(model);
    double *scaling = cli_memory(2 * dim, sizeof *scaling, "a scaling");
    if (!antler_model_scaling(model, scaling, scaling + dim)) {
        puts("  user units as they were: the data were not scaled");
    } else {
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

typedef struct range {
    double min, max, rms;
} range;

static range range_of(const antler_parameter *p)
{
    range r = {.min = INFINITY, .max = -INFINITY};
    const size_t count = p->rows * p->columns;
    for (size_t i = 0; i < count; i++) {
        r.min = fmin(r.min, p->values[i]);
        r.max = fmax(r.max, p->values[i]);
        r.rms += p->values[i] * p->values[i] / (double)count;
    }
    r.rms = sqrt(r.rms);
    return r;
}

static void print_parameters(const antler_model *model)
{
    antler_parameter p;
    printf("\n%-10s %14s %11s %11s %11s\n", "parameter", "shape", "min", "max", "rms");
    for (size_t i = 0; antler_model_parameter_at(model, i, &p) == ANTLER_OK; i++) {
        char shape[64];
        if (p.axes == 1)
            snprintf(shape, sizeof shape, "%zu", p.rows);
        else
            snprintf(shape, sizeof shape, "%zu x %zu", p.rows, p.columns);
        const range r = range_of(&p);
        printf("%-10s %14s %11.4g %11.4g %11.4g\n", p.name, shape, r.min, r.max, r.rms);
    }
}

static void print_model(const char *path, const antler_model *model)
{
    printf("%s: %s model%s%s, trained in %s\n", path, antler_model_kind(model),
           antler_model_clipped(model) ? ", clipped" : "",
           antler_model_free_diagonal(model) ? ", free diagonal" : "",
           antler_model_precision(model) == 32 ? "float" : "double");
    print_dimensions(model);
    print_scaling(model);
    if (antler_model_provenance(model)[0] != '\0')
        printf("  made by    %s\n", antler_model_provenance(model));
    print_parameters(model);
    if (antler_model_settings(model)[0] != '\0')
        printf("\nsettings\n%s", antler_model_settings(model));
}

static json_t *model_json(const char *path, const antler_model *model)
{
    const size_t dim = antler_model_dim(model), inputs = antler_model_input_dim(model);
    json_t *names = json_array(), *input_names = json_array(), *parameters = json_object();
    for (size_t i = 0; i < dim + inputs; i++)
        json_array_append_new(i < dim ? names : input_names, json_string(antler_model_name(model, i)));
    antler_parameter p;
    for (size_t i = 0; antler_model_parameter_at(model, i, &p) == ANTLER_OK; i++)
        json_object_set_new(parameters, p.name,
                            p.axes == 1 ? json_pack("[I]", (json_int_t)p.rows)
                                        : json_pack("[I, I]", (json_int_t)p.rows, (json_int_t)p.columns));
    json_t *root = json_pack(
        "{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:i, s:f, s:o, s:o, s:o, s:s, s:s}", "file", path,
        "kind", antler_model_kind(model), "dim", (json_int_t)dim, "latent_dim",
        (json_int_t)antler_model_latent_dim(model), "hidden_dim", (json_int_t)antler_model_hidden_dim(model),
        "input_dim", (json_int_t)inputs, "rank", (json_int_t)antler_model_rank(model), "clipped",
        antler_model_clipped(model), "free_diagonal", antler_model_free_diagonal(model), "precision",
        antler_model_precision(model), "dt", antler_model_dt(model), "names", names, "input_names",
        input_names, "parameters", parameters, "settings", antler_model_settings(model), "provenance",
        antler_model_provenance(model));
    double *scaling = cli_memory(2 * dim, sizeof *scaling, "a scaling");
    if (root != NULL && antler_model_scaling(model, scaling, scaling + dim)) {
        json_object_set_new(root, "mean", cli_json_reals(scaling, dim));
        json_object_set_new(root, "scale", cli_json_reals(scaling + dim, dim));
    }
    free(scaling);
    return root;
}

/* What the training of a run folder has left beside its model. */
static void print_run(const char *path)
{
    json_t *run = cli_info_run(path), *part;
    const char *key;
    if (cli_json_failed())
        cli_end(cli_no_memory("the description of a run"));
    json_object_foreach(run, key, part)
    {
        putchar('\n');
        cli_info_print(part);
    }
    json_decref(run);
}

int cli_info_model(const char *path, json_t **json)
{
    antler_model *model = NULL;
    const antler_status status = antler_model_load(path, &model);
    if (status != ANTLER_OK)
        return cli_fail(status);
    bool run = false;
    const int code = cli_run_is_folder(path, &run);
    if (json == NULL) {
        print_model(path, model);
        if (run)
            print_run(path);
    } else {
        *json = model_json(path, model);
        if (run && *json != NULL)
            json_object_set_new(*json, "run", cli_info_run(path));
    }
    antler_model_free(model);
    return code;
}
