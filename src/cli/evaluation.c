#include "cli/evaluation.h"

#include "cli/cmd_lyapunov.h"
#include "cli/measuring.h"
#include "cli/metrics.h"
#include "cli/runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { METRICS_PATH = 4096 };

const char *const cli_evaluation_names[CLI_EVALUATION_METRICS] = {"dstsp", "dstsp_embedded", "hellinger",
                                                                  "rmse",  "lyapunov_max",   "kaplan_yorke"};

bool cli_evaluation_asks(const antler_evaluate_opts *opts, size_t metric)
{
    const bool asked[CLI_EVALUATION_METRICS] = {
        opts->with_dstsp, opts->measure.embed_dim > 1, true,
        opts->with_rmse,  opts->with_lyapunov,         opts->with_lyapunov};
    return asked[metric];
}

void cli_evaluation_metrics(const cli_evaluation *e, double *values)
{
    const antler_evaluate_result *r = e->result;
    const bool lost = r->lyapunov.diverged_step > 0, judged = r->lyapunov.count > 0;
    values[0] = !e->opts->with_dstsp ? NAN : r->diverged ? INFINITY : r->plain.dstsp;
    values[1] = !r->has_embedded ? NAN : r->diverged ? INFINITY : r->embedded.dstsp;
    values[2] = r->diverged ? INFINITY : r->plain.hellinger;
    values[3] = r->rmse.windows == 0 ? NAN : r->rmse.mean;
    values[4] = !judged ? NAN : lost ? INFINITY : r->lyapunov.exponents[0];
    values[5] = !judged ? NAN : lost ? INFINITY : r->lyapunov.kaplan_yorke;
}

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
    if (r->diverged) {
        json_object_set_new(run, "diverged_step", json_integer((json_int_t)r->diverged_step));
        json_object_set_new(run, "diverged_trajectory", json_integer((json_int_t)r->diverged_trajectory + 1));
    }
    return run;
}

static json_t *rmse_json(const cli_evaluation *e)
{
    const antler_rmse_result *r = &e->result->rmse;
    return json_pack("{s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:s}", "value", cli_json_real(r->mean), "median",
                     cli_json_real(r->median), "sd", cli_json_real(r->sd), "n",
                     (json_int_t)e->opts->rmse.steps, "windows", (json_int_t)r->windows, "diverged_windows",
                     (json_int_t)r->diverged, "warmup", (json_int_t)r->warmup, "units",
                     e->opts->user_units ? "user" : "model");
}

/* One value per measure, as in the row of metrics.csv; what was not measured is left out.  JSON has no
 * infinities. */
static json_t *summary_json(const cli_evaluation *e)
{
    double values[CLI_EVALUATION_METRICS];
    json_t *summary = json_object();
    cli_evaluation_metrics(e, values);
    for (size_t i = 0; i < CLI_EVALUATION_METRICS; i++) {
        if (isinf(values[i]))
            json_object_set_new(summary, cli_evaluation_names[i],
                                json_string(values[i] > 0.0 ? "inf" : "-inf"));
        else if (!isnan(values[i]))
            json_object_set_new(summary, cli_evaluation_names[i], json_real(values[i]));
    }
    return summary;
}

json_t *cli_evaluation_json(const cli_evaluation *e)
{
    const antler_evaluate_result *r = e->result;
    const antler_measure_opts plain = measure_opts(e, false), embedded = measure_opts(e, true);
    json_t *names = json_array();
    for (size_t i = 0; i < antler_model_dim(e->model); i++)
        json_array_append_new(names, json_string(antler_model_name(e->model, i)));
    json_t *root =
        json_pack("{s:s, s:s, s:o, s:b, s:o}", "run", e->run, "data", antler_series_origin(e->truth, 0),
                  "variables", names, "diverged", r->diverged, "free_run", free_run_json(e));
    if (root == NULL)
        return NULL;
    if (e->opts->with_dstsp && !r->diverged)
        json_object_set_new(root, "dstsp", cli_json_dstsp(&plain, &r->plain));
    if (r->has_embedded && !r->diverged)
        json_object_set_new(root, "dstsp_embedded", cli_json_dstsp(&embedded, &r->embedded));
    if (!r->diverged) {
        const antler_measure_result *m = &r->plain;
        json_object_set_new(root, "hellinger", cli_json_hellinger(&plain, m));
        json_object_set_new(root, "true", cli_json_moments(m->mean_true, m->sd_true, m->dim));
        json_object_set_new(root, "generated", cli_json_moments(m->mean_generated, m->sd_generated, m->dim));
    }
    if (r->rmse.windows > 0)
        json_object_set_new(root, "rmse", rmse_json(e));
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

int cli_evaluation_write(const cli_evaluation *e, const json_t *json)
{
    char path[METRICS_PATH];
    if (!cli_run_is_folder(e->run))
        return CLI_DONE;
    if (!metrics_path(e->run, path))
        return cli_usage_error("%s: the name is too long", e->run);
    if (json == NULL) { /* no reason to stop */
        fprintf(stderr, "antler: %s is not written: a name is not UTF-8\n", path);
        return CLI_DONE;
    }
    char *text = json_dumps(json, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17));
    const int code = text == NULL ? CLI_MACHINE : cli_write_file(path, text);
    free(text);
    return code;
}

/* The inverse of summary_json; false when something is missing or no number. */
static bool read_summary(const json_t *summary, const antler_evaluate_opts *opts, double *values)
{
    for (size_t i = 0; i < CLI_EVALUATION_METRICS; i++) {
        const json_t *value = json_object_get(summary, cli_evaluation_names[i]);
        const char *text = json_string_value(value);
        if (value == NULL && !cli_evaluation_asks(opts, i))
            values[i] = NAN;
        else if (json_is_real(value))
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
    json_t *root = json_load_file(path, 0, NULL);
    const char *own = json_string_value(json_object_get(root, "stamp"));
    const json_t *lost = json_object_get(root, "diverged");
    double found[CLI_EVALUATION_METRICS];
    const bool good = own != NULL && own[0] != '\0' && strcmp(own, stamp->text) == 0 &&
                      json_is_boolean(lost) && read_summary(json_object_get(root, "summary"), opts, found);
    if (good) {
        memcpy(values, found, sizeof found);
        *diverged = json_is_true(lost);
    }
    json_decref(root);
    return good;
}

static void print_rmse(const cli_evaluation *e)
{
    const antler_rmse_result *r = &e->result->rmse;
    printf("RMSE(%zu) %.6g, median %.6g, in %s units\n", e->opts->rmse.steps, r->mean, r->median,
           e->opts->user_units ? "user" : "the model's");
    printf("  windows    %zu, each after a warm-up of %zu rows", r->windows, r->warmup);
    if (r->diverged > 0)
        printf("; %zu diverged", r->diverged);
    putchar('\n');
}

static void print_variables(const cli_evaluation *e)
{
    const antler_measure_result *m = &e->result->plain;
    printf("\n%-16s %11s %11s %11s %11s %11s\n", "variable", "mean true", "generated", "sd true", "generated",
           "D_H");
    for (size_t i = 0; i < m->dim; i++)
        printf("%-16s %11.4g %11.4g %11.4g %11.4g %11.4g\n", antler_model_name(e->model, i), m->mean_true[i],
               m->mean_generated[i], m->sd_true[i], m->sd_generated[i], m->hellinger_each[i]);
}

void cli_evaluation_print(const cli_evaluation *e)
{
    const antler_evaluate_result *r = e->result;
    const antler_measure_opts plain = measure_opts(e, false), embedded = measure_opts(e, true);
    printf("%s\nfree run  %zu rows after a warm-up of %zu", e->run, r->free_steps, r->warmup);
    if (r->diverged && r->diverged_step == 0)
        puts("; too far from the truth to be measured");
    else if (r->diverged)
        printf("; diverged at step %zu\n", r->diverged_step);
    else
        putchar('\n');
    if (!r->diverged && e->opts->with_dstsp)
        cli_print_dstsp(&plain, &r->plain);
    if (!r->diverged && r->has_embedded)
        cli_print_dstsp(&embedded, &r->embedded);
    if (!r->diverged)
        cli_print_hellinger(&plain, &r->plain);
    if (r->rmse.windows > 0)
        print_rmse(e);
    if (r->lyapunov.count > 0)
        cli_print_lyapunov(&r->lyapunov);
    if (!r->diverged)
        print_variables(e);
}
