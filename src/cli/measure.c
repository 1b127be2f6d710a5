/* measure.c - `antler measure`: does a generated orbit have the right attractor and spectrum? */
#include "cli/command.h"
#include "cli/load.h"
#include "cli/progress.h"

#include <stddef.h>
#include <string.h>

#include <jansson.h>

typedef struct settings {
    cli_list truth, generated;
    const char *dstsp, *embed;
    antler_measure_opts measure;
    cli_load load;
    bool json, quiet;
} settings;

static const char *const kinds[] = {"gmm", "gmm-silverman", "bins", NULL};

#define AT(field) offsetof(settings, field)
static const cli_option options[] = {
    {"true", CLI_FILES, "FILE", "The true orbit: a file or a glob; may be repeated.", AT(truth), NULL},
    {"generated", CLI_FILES, "FILE", "The orbit to judge; may be repeated.", AT(generated), NULL},
    {"dstsp", CLI_CHOICE, "KIND",
     "Estimator of D_stsp: gmm (as printed in the paper), gmm-silverman (bandwidth squared) or bins. Default "
     "gmm.",
     AT(dstsp), kinds},
    {"embed", CLI_TEXT, "M,TAU", "Compare delay vectors of M values, TAU rows apart.", AT(embed), NULL},
    {"samples", CLI_COUNT, "N", "Monte Carlo samples for gmm. Default 1000000.", AT(measure.samples), NULL},
    {"seed", CLI_SEED, "NUMBER", "Of those samples. Default 1.", AT(measure.seed), NULL},
    {"bins", CLI_COUNT, "N", "Bins per axis for bins. Default 30.", AT(measure.bins), NULL},
    {"bin-margin", CLI_REAL, "SD",
     "Bins reach this far beyond the true orbit, in standard deviations. Default 0.1.",
     AT(measure.bin_margin), NULL},
    {"bin-laplace", CLI_REAL, "COUNT", "Added to every bin. Default 1e-5.", AT(measure.bin_laplace), NULL},
    {"smoothing", CLI_REAL, "BINS",
     "Width of the Gaussian that smooths power spectra; 0 for none. Default 20.", AT(measure.smoothing),
     NULL},
    {"threads", CLI_INT, "N", "Threads; 0 for all. Default 0.", AT(measure.threads), NULL},
    CLI_LOAD_OPTIONS(settings, load),
    {"json", CLI_FLAG, NULL, "Print one JSON object instead of a table.", AT(json), NULL},
    {"quiet", CLI_FLAG, NULL, "No progress.", AT(quiet), NULL},
};
#undef AT

static json_t *numbers(const double *values, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, json_real(values[i]));
    return array;
}

static json_t *dstsp_json(const settings *s, const antler_measure_result *r)
{
    const antler_measure_opts *o = &s->measure;
    json_t *d = json_pack("{s:f, s:s, s:I, s:I, s:I, s:I, s:I, s:f}", "value", r->dstsp, "variant",
                          antler_dstsp_kind_name(o->dstsp), "dim", (json_int_t)r->dstsp_dim, "true_points",
                          (json_int_t)r->true_points, "generated_points", (json_int_t)r->generated_points,
                          "embed_dim", (json_int_t)o->embed_dim, "embed_delay", (json_int_t)o->embed_delay,
                          "seconds", r->seconds);
    if (o->dstsp == ANTLER_DSTSP_BINS) {
        json_object_set_new(d, "bins", json_integer((json_int_t)o->bins));
        json_object_set_new(d, "bin_margin", json_real(o->bin_margin));
        json_object_set_new(d, "bin_laplace", json_real(o->bin_laplace));
        json_object_set_new(d, "bins_filled", json_integer((json_int_t)r->bins_filled));
        return d;
    }
    json_object_set_new(d, "standard_error", json_real(r->dstsp_error));
    json_object_set_new(d, "samples", json_integer((json_int_t)o->samples));
    json_object_set_new(d, "seed", json_integer((json_int_t)o->seed));
    json_object_set_new(d, "bandwidth", json_real(r->bandwidth));
    json_object_set_new(d, "kernels", json_real(r->kernels));
    json_object_set_new(d, "kernels_per_second", json_real(r->seconds > 0.0 ? r->kernels / r->seconds : 0.0));
    json_object_set_new(d, "threads", json_integer(r->threads));
    json_object_set_new(d, "cpu", json_string(r->cpu));
    return d;
}

static int print_json(const settings *s, const antler_series *truth, const antler_measure_result *r)
{
    json_t *names = json_array();
    for (size_t i = 0; i < r->dim; i++)
        json_array_append_new(names, json_string(antler_series_name(truth, i)));
    json_t *root = json_pack("{s:o, s:{s:f, s:o, s:f, s:I}, s:o, s:{s:o, s:o}, s:{s:o, s:o}, s:s}", "dstsp",
                             dstsp_json(s, r), "hellinger", "value", r->hellinger, "each",
                             numbers(r->hellinger_each, r->dim), "smoothing", s->measure.smoothing, "rows",
                             (json_int_t)r->hellinger_rows, "variables", names, "true", "mean",
                             numbers(r->mean_true, r->dim), "sd", numbers(r->sd_true, r->dim), "generated",
                             "mean", numbers(r->mean_generated, r->dim), "sd",
                             numbers(r->sd_generated, r->dim), "antler", antler_version());
    if (root == NULL)
        return cli_usage_error("the result could not be written as JSON");
    json_dumpf(root, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17));
    putchar('\n');
    json_decref(root);
    return CLI_DONE;
}

static void print_dstsp(const settings *s, const antler_measure_result *r)
{
    const antler_measure_opts *o = &s->measure;
    const bool bins = o->dstsp == ANTLER_DSTSP_BINS;
    printf("%s %.6g", o->embed_dim > 1 ? "D_stsp^DE" : "D_stsp   ", r->dstsp);
    if (!bins)
        printf(" +- %.2g", r->dstsp_error);
    printf("\n  variant    %s", antler_dstsp_kind_name(o->dstsp));
    if (bins)
        printf(", %zu bins per axis, %zu filled, margin %g sd, Laplace %g\n", o->bins, r->bins_filled,
               o->bin_margin, o->bin_laplace);
    else
        printf(", %zu samples, seed %llu, covariance %.6g x variance\n", o->samples,
               (unsigned long long)o->seed, r->bandwidth);
    if (o->embed_dim > 1)
        printf("  embedding  m = %zu, tau = %zu rows\n", o->embed_dim, o->embed_delay);
    printf("  points     %zu true, %zu generated, d = %zu\n", r->true_points, r->generated_points,
           r->dstsp_dim);
    if (!bins)
        printf("  work       %.3g kernels in %.2f s: %.3g kernels/s on %d thread%s, %s\n", r->kernels,
               r->seconds, r->seconds > 0.0 ? r->kernels / r->seconds : 0.0, r->threads,
               r->threads == 1 ? "" : "s", r->cpu);
}

static void print_table(const settings *s, const antler_series *truth, const antler_measure_result *r)
{
    print_dstsp(s, r);
    printf("D_H       %.6g\n  smoothing  sigma = %g bins, %zu rows compared\n", r->hellinger,
           s->measure.smoothing, r->hellinger_rows);
    printf("\n%-16s %11s %11s %11s %11s %11s\n", "variable", "mean true", "generated", "sd true", "generated",
           "D_H");
    for (size_t i = 0; i < r->dim; i++)
        printf("%-16s %11.4g %11.4g %11.4g %11.4g %11.4g\n", antler_series_name(truth, i), r->mean_true[i],
               r->mean_generated[i], r->sd_true[i], r->sd_generated[i], r->hellinger_each[i]);
}

static int read_embedding(settings *s)
{
    char m[32];
    const char *comma = strchr(s->embed, ',');
    if (comma != NULL && (size_t)(comma - s->embed) < sizeof m) {
        snprintf(m, sizeof m, "%.*s", (int)(comma - s->embed), s->embed);
        if (cli_read_count(m, &s->measure.embed_dim) && cli_read_count(comma + 1, &s->measure.embed_delay))
            return -1;
    }
    return cli_usage_error("--embed: '%s' is not of the form M,TAU, such as 3,10", s->embed);
}

static int run(const cli_command *self, int argc, char **argv)
{
    settings s = {.dstsp = "gmm"};
    antler_measure_opts_default(&s.measure);
    size_t count = 0;
    int code = cli_parse(self, argc, argv, &s, &count);
    if (code < 0 && s.embed != NULL)
        code = read_embedding(&s);
    if (code >= 0)
        return code;
    if (s.truth.count == 0 || s.generated.count == 0)
        return cli_usage_error("'antler measure' needs --true FILE and --generated FILE");
    for (antler_dstsp_kind kind = ANTLER_DSTSP_GMM; kind <= ANTLER_DSTSP_BINS; kind++) {
        if (strcmp(antler_dstsp_kind_name(kind), s.dstsp) == 0)
            s.measure.dstsp = kind;
    }

    const antler_load_opts load = cli_load_opts(&s.load);
    antler_series *truth = NULL, *generated = NULL;
    antler_measure_result result = {0};
    cli_progress progress;
    s.measure.progress = cli_progress_begin(&progress, s.quiet);
    antler_status status = antler_series_load(s.truth.items, s.truth.count, &load, &truth);
    if (status == ANTLER_OK)
        status = antler_series_check(truth, 2);
    if (status == ANTLER_OK)
        status = antler_series_load(s.generated.items, s.generated.count, &load, &generated);
    if (status == ANTLER_OK)
        status = antler_measure(truth, generated, &s.measure, &result);
    cli_progress_end(&progress);
    if (status != ANTLER_OK)
        code = cli_fail(status);
    else if (s.json)
        code = print_json(&s, truth, &result);
    else
        print_table(&s, truth, &result), code = CLI_DONE;
    antler_measure_result_clear(&result);
    antler_series_free(generated);
    antler_series_free(truth);
    return code;
}

const cli_command cli_measure = {
    .name = "measure",
    .summary = "compare a generated orbit with the true one",
    .arguments = "",
    .description =
        "Measure whether a generated orbit has the attractor and the power spectrum of the true one.\n\n"
        "D_stsp is the Kullback-Leibler divergence between the two distributions in state space: 0 for the "
        "same "
        "attractor, above 1 for a different one. With --embed it is taken on delay vectors, for data that "
        "are only "
        "partially observed. D_H is the Hellinger distance between smoothed power spectra, from 0 (the same) "
        "to 1, mean "
        "over the variables.\n\nBoth files must have the same columns in the same units.",
    .examples = "  $ antler measure --true test.npy --generated free.npy\n"
                "  $ antler measure --true test.npy --generated 'runs/*/free.npy' --embed 3,10 --json\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .run = run,
};
