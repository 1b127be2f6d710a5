/* evaluation.c - what `antler evaluate` prints and writes about one run: lines, metrics.json, its summary. */
#include "cli/evaluation.h"
#include "cli/foreign.h"

#include "cli/answer.h"
#include "cli/cmd_lyapunov.h"
#include "cli/measuring.h"
#include "cli/metrics.h"
#include "cli/runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { METRICS_PATH = 4096 };

/* The options as they were for the delay vectors, or without them. */
static antler_measure_opts measure_opts(const cli_evaluation *e, bool embedded)
{
    antler_measure_opts opts = e->opts->measure;
    if (!embedded)
        opts.embed_dim = 1;
    return opts;
}

static json_t *free_run_json(const cli_evaluation *e)
{
    const antler_evaluate_result *r = e->result;
    json_t *run = json_pack("{s:I, s:I, s:b}", "steps", (json_int_t)r->free_steps, "warmup",
                            (json_int_t)r->warmup, "diverged", r->diverged);
    if (r->missing > 0)
        json_object_set_new(
            run, "missing",
            json_pack("{s:I, s:I}", "values", (json_int_t)r->missing, "of", (json_int_t)r->true_values));
    json_object_set_new(run, "left_range", json_boolean(r->left_range));
    json_object_set_new(run, "reach", cli_json_real(r->reach));
    json_object_set_new(run, "spread", cli_json_real(r->spread));
    if (r->diverged) {
        json_object_set_new(run, "diverged_step", json_integer((json_int_t)r->diverged_step));
        json_object_set_new(run, "diverged_trajectory", json_integer((json_int_t)r->diverged_trajectory + 1));
    }
    return run;
}

/* "rows" or "Lyapunov times" of a measure that is a time; NULL for any other. */
static const char *time_unit(const cli_evaluation *e, size_t measure)
{
    if (strcmp(antler_measure_at(measure)->unit, "rows") != 0)
        return NULL;
    return e->opts->rmse.exponent > 0.0 ? "Lyapunov times" : "rows";
}

/* The value, and what it depends on. */
static json_t *forecast_json(const cli_evaluation *e, size_t measure)
{
    const antler_rmse_result *r = &e->result->forecasts[measure];
    const char *time = time_unit(e, measure);
    if (r->windows == 0)
        return json_pack("{s:n, s:I, s:I}", "value", "n", (json_int_t)r->steps, "windows", (json_int_t)0);
    json_t *json =
        json_pack("{s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:s}", "value", cli_json_real(r->mean), "median",
                  cli_json_real(r->median), "sd", cli_json_real(r->sd), "n", (json_int_t)r->steps, "windows",
                  (json_int_t)r->windows, "diverged_windows", (json_int_t)r->diverged, "warmup",
                  (json_int_t)r->warmup, "units", e->opts->user_units ? "user" : "model");
    json_object_set_new(json, "persistence", cli_json_real(r->persistence));
    json_object_set_new(json, "average", cli_json_real(r->average));
    if (time != NULL) {
        json_object_set_new(json, "unit", json_string(time));
        json_object_set_new(json, "exponent", json_real(e->opts->rmse.exponent));
        json_object_set_new(json, "censored_windows", json_integer((json_int_t)r->censored));
    }
    return json;
}

/*
 * One value per measure, as in the row of metrics.csv; what was not requested is left out, and what has no
 * value is null.  JSON has no infinities.
 */
static json_t *summary_json(const cli_evaluation *e)
{
    json_t *summary = json_object();
    for (size_t i = 0; i < antler_measure_count(); i++) {
        const char *name = antler_measure_at(i)->name;
        const double value = e->result->values[i];
        if (isinf(value))
            json_object_set_new(summary, name, json_string(value > 0.0 ? "inf" : "-inf"));
        else if (antler_evaluate_wants(e->opts, i))
            json_object_set_new(summary, name, cli_json_real(value));
    }
    return summary;
}

/* D_stsp, D_stsp^DE, D_H and moments; a free run that diverged has none of them. */
static void add_orbit_json(const cli_evaluation *e, json_t *root)
{
    const antler_evaluate_result *r = e->result;
    const antler_measure_result *m = &r->plain;
    const antler_measure_opts plain = measure_opts(e, false), embedded = measure_opts(e, true);
    if (r->diverged)
        return;
    if (e->opts->with_dstsp)
        json_object_set_new(root, "dstsp", cli_json_dstsp(&plain, m));
    if (r->has_embedded)
        json_object_set_new(root, "dstsp_embedded", cli_json_dstsp(&embedded, &r->embedded));
    json_object_set_new(root, "hellinger", cli_json_hellinger(&plain, m));
    json_object_set_new(root, "true", cli_json_moments(m->mean_true, m->sd_true, m->dim));
    json_object_set_new(root, "generated", cli_json_moments(m->mean_generated, m->sd_generated, m->dim));
}

/* The floor of every measure that has one. */
static json_t *floors_json(const antler_floors *floors)
{
    json_t *json = json_pack("{s:I, s:o, s:o}", "rows", (json_int_t)floors->rows, "correlation",
                             cli_json_real(floors->correlation), "shift", cli_json_real(floors->shift));
    for (size_t i = 0; i < antler_measure_count(); i++) {
        if (!isnan(floors->values[i]))
            json_object_set_new(json, antler_measure_at(i)->name, cli_json_real(floors->values[i]));
    }
    return json;
}

json_t *cli_verdict_json(const antler_verdict *v)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:s, s:s}", "kind", antler_verdict_name(v->kind), "figure",
                     v->figure, "value", cli_json_real(v->value), "floor", cli_json_real(v->floor), "limit",
                     cli_json_real(v->limit), "text", v->text, "advice", v->advice);
}

json_t *cli_evaluation_json(const cli_evaluation *e)
{
    const antler_evaluate_result *r = e->result;
    json_t *names = json_array();
    for (size_t i = 0; i < antler_model_dim(e->model); i++)
        json_array_append_new(names, json_string(antler_model_name(e->model, i)));
    json_t *root = json_pack("{s:s, s:s, s:o, s:b, s:o}", "run", e->run, "data",
                             cli_foreign_shown(antler_series_origin(e->truth, 0)), "variables", names,
                             "diverged", r->diverged, "free_run", free_run_json(e));
    if (root == NULL)
        return NULL;
    if (e->opts->with_verdict) {
        json_object_set_new(root, "verdict", cli_verdict_json(&r->verdict));
        json_object_set_new(root, "floors", floors_json(&r->floors));
        if (r->rmse.windows > 0)
            json_object_set_new(root, "skill",
                                json_pack("{s:o, s:I}", "value", cli_json_real(r->rmse.skill), "steps",
                                          (json_int_t)r->rmse.skill_steps));
    }
    add_orbit_json(e, root);
    for (size_t i = 0; i < antler_measure_count(); i++) {
        if (antler_measure_at(i)->forecast && antler_evaluate_wants(e->opts, i))
            json_object_set_new(root, antler_measure_at(i)->name, forecast_json(e, i));
    }
    if (r->lyapunov.count > 0)
        json_object_set_new(root, "lyapunov", cli_json_lyapunov(&r->lyapunov));
    json_object_set_new(root, "summary", summary_json(e));
    json_object_set_new(root, "antler", json_string(antler_version()));
    json_object_set_new(root, "stamp", json_string(e->stamp.text));
    return root;
}

static bool metrics_path(const char *folder, char path[METRICS_PATH])
{
    return snprintf(path, METRICS_PATH, "%s/metrics.json", folder) < METRICS_PATH;
}

/* Whether `file` is the model.npz of a fit: trials.csv is beside it.  folder: (METRICS_PATH) receives its
 * folder. */
static bool is_of_fit(const char *file, char *folder)
{
    char table[METRICS_PATH];
    const char *slash = strrchr(file, '/');
    const int length = slash == NULL ? 1 : (int)(slash - file);
    if (strcmp(slash == NULL ? file : slash + 1, "model.npz") != 0 || length >= METRICS_PATH)
        return false;
    snprintf(folder, METRICS_PATH, "%.*s", length, slash == NULL ? "." : file);
    return snprintf(table, sizeof table, "%.*s/trials.csv", length, folder) < METRICS_PATH &&
           access(table, F_OK) == 0;
}

int cli_evaluation_write(const cli_evaluation *e, const json_t *json)
{
    char path[METRICS_PATH], fit[METRICS_PATH];
    bool is_folder = false;
    const int found = cli_run_is_folder(e->run, &is_folder);
    const bool of_fit = found == CLI_DONE && !is_folder && is_of_fit(e->run, fit);
    if (found != CLI_DONE || (!is_folder && !of_fit))
        return found;
    if (!metrics_path(of_fit ? fit : e->run, path))
        return cli_usage_error("%s: the name is too long", e->run);
    if (json == NULL && !cli_json_failed()) { /* no reason to stop */
        fprintf(stderr, "antler: %s is not written: a name is not UTF-8\n", path);
        return CLI_DONE;
    }
    return cli_json_write(path, json);
}

/* The inverse of summary_json; false when something is missing or no number.  values: (ANTLER_MEASURE_MAX) */
static bool read_summary(const json_t *summary, const antler_evaluate_opts *opts, double *values)
{
    for (size_t i = 0; i < ANTLER_MEASURE_MAX; i++)
        values[i] = NAN;
    for (size_t i = 0; i < antler_measure_count(); i++) {
        const json_t *value = json_object_get(summary, antler_measure_at(i)->name);
        const char *text = json_string_value(value);
        if (json_is_null(value) || (value == NULL && !antler_evaluate_wants(opts, i)))
            continue;
        if (json_is_real(value))
            values[i] = json_real_value(value);
        else if (text != NULL && (strcmp(text, "inf") == 0 || strcmp(text, "-inf") == 0))
            values[i] = text[0] == '-' ? -INFINITY : INFINITY;
        else
            return false;
    }
    return true;
}

bool cli_evaluation_read(const char *folder, const cli_stamp *stamp, const antler_evaluate_opts *opts,
                         double *values, bool *diverged)
{
    char path[METRICS_PATH];
    if (!metrics_path(folder, path))
        return false;
    json_t *root = cli_json_load(path);
    const char *own = json_string_value(json_object_get(root, "stamp"));
    const json_t *has_diverged = json_object_get(root, "diverged");
    double found[ANTLER_MEASURE_MAX];
    const bool good = own != NULL && own[0] != '\0' && strcmp(own, stamp->text) == 0 &&
                      json_is_boolean(has_diverged) &&
                      read_summary(json_object_get(root, "summary"), opts, found);
    if (good) {
        memcpy(values, found, sizeof found);
        *diverged = json_is_true(has_diverged);
    }
    json_decref(root);
    return good;
}

/* "RMSE(128)" for the label "RMSE(n)". */
static void print_label(const char *label, size_t steps)
{
    const char *n = strstr(label, "(n)");
    if (n == NULL)
        printf("%s", label);
    else
        printf("%.*s(%zu)", (int)(n - label), label, steps);
}

static void print_windows(const antler_rmse_result *r, bool time)
{
    printf("  windows    %zu, each after a warm-up of %zu rows", r->windows, r->warmup);
    if (r->diverged > 0)
        printf("; %zu diverged", r->diverged);
    if (time)
        printf("; %zu were valid to their end, after %zu rows", r->censored, r->steps);
    putchar('\n');
}

/* `printed` has the windows that were described last. */
static void print_forecast(const cli_evaluation *e, size_t measure, const antler_rmse_result **printed)
{
    const antler_measure_info *info = antler_measure_at(measure);
    const antler_rmse_result *r = &e->result->forecasts[measure], *last = *printed;
    const char *time = time_unit(e, measure);
    print_label(info->label, r->steps);
    if (r->windows == 0) {
        printf(" none: no trajectory has room for %zu steps\n", r->steps);
        return;
    }
    putchar(' ');
    printf("%.*g", info->digits, r->mean);
    printf(time == NULL ? "%s" : " %s", time == NULL ? "" : time);
    printf(", median %.*g", info->digits, r->median);
    if (e->opts->with_verdict)
        printf(", last row %.3g, mean %.3g", r->persistence, r->average);
    puts(time != NULL ? "" : e->opts->user_units ? ", in user units" : ", in the model's units");
    const bool same = last != NULL && last->windows == r->windows && last->warmup == r->warmup &&
                      last->diverged == r->diverged;
    if (!same || time != NULL)
        print_windows(r, time != NULL);
    *printed = r;
}

static void print_forecasts(const cli_evaluation *e)
{
    const antler_rmse_result *printed = NULL;
    for (size_t i = 0; i < antler_measure_count(); i++) {
        if (antler_measure_at(i)->forecast && antler_evaluate_wants(e->opts, i))
            print_forecast(e, i, &printed);
    }
}

static void print_variables(const cli_evaluation *e)
{
    const antler_measure_result *m = &e->result->plain;
    printf("\n%-16s %11s %11s %11s %11s %11s\n", "variable", "mean true", "generated", "sd true", "generated",
           "D_H");
    for (size_t i = 0; i < m->dim; i++)
        printf("%-16s %11.4g %11.4g %11.4g %11.4g %11.4g\n", antler_model_name(e->model, i), m->mean_true[i],
               m->mean_generated[i], m->sd_true[i], m->sd_generated[i], m->hellinger_each[i]);
    if (!e->opts->user_units)
        puts("Means and sds are in the model's units; --user-units gives those of the data.");
}

static double floor_of(const cli_evaluation *e, const char *measure)
{
    return e->opts->with_verdict ? e->result->floors.values[antler_measure_index(measure)] : NAN;
}

static void print_verdict(const cli_evaluation *e)
{
    const antler_verdict *v = &e->result->verdict;
    if (e->opts->with_verdict)
        printf("verdict   %s: %s\n  next       %s\n", antler_verdict_name(v->kind), v->text, v->advice);
}

void cli_evaluation_print(const cli_evaluation *e)
{
    const antler_evaluate_result *r = e->result;
    const antler_measure_opts plain = measure_opts(e, false), embedded = measure_opts(e, true);
    puts(e->run);
    print_verdict(e);
    printf("free run  %zu rows after a warm-up of %zu", r->free_steps, r->warmup);
    if (r->left_range)
        printf("; left the range of the data at step %zu\n", r->diverged_step);
    else if (r->diverged && r->diverged_step == 0)
        puts("; too far from the truth to be measured");
    else if (r->diverged)
        printf("; diverged at step %zu\n", r->diverged_step);
    else
        putchar('\n');
    if (r->missing > 0)
        printf("  missing    %zu of %zu true values (%.2g %%), left out of all measures\n", r->missing,
               r->true_values, 100.0 * (double)r->missing / (double)r->true_values);
    if (!r->diverged && e->opts->with_dstsp)
        cli_print_dstsp(&plain, &r->plain, floor_of(e, "dstsp"));
    if (!r->diverged && r->has_embedded)
        cli_print_dstsp(&embedded, &r->embedded, floor_of(e, "dstsp_embedded"));
    if (!r->diverged)
        cli_print_hellinger(&plain, &r->plain, floor_of(e, "hellinger"));
    print_forecasts(e);
    if (r->lyapunov.count > 0)
        cli_print_lyapunov(&r->lyapunov);
    if (!r->diverged)
        print_variables(e);
}
