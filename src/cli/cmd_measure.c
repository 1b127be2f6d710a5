/* cmd_measure.c - `antler measure`: does a generated orbit have the right attractor and spectrum? */
#include "cli/command.h"
#include "cli/data_options.h"
#include "cli/foreign.h"
#include "cli/measuring.h"
#include "cli/progress.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct settings {
    cli_list truth, generated;
    cli_measuring measuring;
    cli_load load;
    bool measures, json, quiet;
    bool mixed; /* only one of the orbits keeps a scaling */
} settings;

#define AT(field) offsetof(settings, field)
static const cli_option options[] = {
    {"true", CLI_FILES, "FILE", "The true orbit: a file or a glob; may be repeated.", AT(truth), NULL},
    {"generated", CLI_FILES, "FILE", "The orbit to judge; may be repeated.", AT(generated), NULL},
    CLI_MEASURING_OPTIONS(settings, measuring),
    CLI_LOAD_OPTIONS(settings, load),
    {"measures", CLI_FLAG, NULL, "Print the table of all measures as Markdown, and measure nothing.",
     AT(measures), NULL},
    {"json", CLI_FLAG, NULL, "Print one JSON object instead of a table.", AT(json), NULL},
    {"quiet", CLI_FLAG, NULL, "No progress.", AT(quiet), NULL},
};
#undef AT

static int print_json(const settings *s, const antler_series *truth, const antler_measure_result *r)
{
    json_t *names = json_array();
    for (size_t i = 0; i < r->dim; i++)
        json_array_append_new(names, json_string(antler_series_name(truth, i)));
    return cli_json_print(
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:s}", "dstsp", cli_json_dstsp(&s->measuring.opts, r),
                  "hellinger", cli_json_hellinger(&s->measuring.opts, r), "variables", names, "true",
                  cli_json_moments(r->mean_true, r->sd_true, r->dim), "generated",
                  cli_json_moments(r->mean_generated, r->sd_generated, r->dim), "antler", antler_version()));
}

static void print_table(const settings *s, const antler_series *truth, const antler_measure_result *r)
{
    cli_print_dstsp(&s->measuring.opts, r, NAN);
    cli_print_hellinger(&s->measuring.opts, r, NAN);
    if (s->mixed)
        puts("units     as they are: only one of the two keeps a scaling");
    printf("\n%-16s %11s %11s %11s %11s %11s\n", "variable", "mean true", "generated", "sd true", "generated",
           "D_H");
    for (size_t i = 0; i < r->dim; i++)
        printf("%-16s %11.4g %11.4g %11.4g %11.4g %11.4g\n", antler_series_name(truth, i), r->mean_true[i],
               r->mean_generated[i], r->sd_true[i], r->sd_generated[i], r->hellinger_each[i]);
}

/* docs/measures.md has this table; a test compares the two. */
static int print_measures(bool json)
{
    static const char *const better[] = {"smaller", "", "larger"};
    json_t *all = json_array();
    for (size_t i = 0; i < antler_measure_count(); i++) {
        const antler_measure_info *m = antler_measure_at(i);
        json_array_append_new(all, json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", m->name, "label", m->label,
                                             "unit", m->unit, "better", better[m->better + 1], "meaning",
                                             m->meaning));
    }
    if (json)
        return cli_json_print(all);
    json_decref(all);
    puts("| measure | column | unit | better | meaning |\n| --- | --- | --- | --- | --- |");
    for (size_t i = 0; i < antler_measure_count(); i++) {
        const antler_measure_info *m = antler_measure_at(i);
        printf("| %s | `%s` | %s | %s | %s |\n", m->label, m->name, m->unit, better[m->better + 1],
               m->meaning);
    }
    return CLI_DONE;
}

/*
 * The generated orbit in the units of the true one, where both files keep a scaling: with user = value * sg +
 * mg and user = value * st + mt, value_t = (value_g - (mt - mg) / sg) / (st / sg).
 */
static antler_status to_units_of(const antler_series *truth, antler_series *generated, bool *mixed)
{
    const size_t N = antler_series_dim(truth);
    double *t = cli_memory(4 * N, sizeof *t, "a scaling"), *g = t + 2 * N; /* means, then scales */
    antler_status status = ANTLER_OK;
    if (antler_series_dim(generated) != N) { /* antler_measure reports the dimensions */
        free(t);
        return ANTLER_OK;
    }
    const bool true_scaled = antler_series_scaling(truth, t, t + N);
    const bool scaled = antler_series_scaling(generated, g, g + N);
    *mixed = true_scaled != scaled;
    if (true_scaled && scaled && memcmp(t, g, 2 * N * sizeof *t) != 0) {
        for (size_t i = 0; i < N; i++) {
            t[i] = (t[i] - g[i]) / g[N + i];
            t[N + i] /= g[N + i];
        }
        status = antler_series_apply_scaling(generated, t, t + N);
    }
    free(t);
    return status;
}

/* Both orbits, in the units of the true one. */
static int load_both(settings *s, antler_series **truth, antler_series **generated)
{
    int code = cli_series_load(&s->truth, &s->load, truth);
    antler_status status = ANTLER_OK;
    if (code == CLI_DONE)
        code = cli_series_load(&s->generated, &s->load, generated);
    if (code == CLI_DONE)
        status = to_units_of(*truth, *generated, &s->mixed);
    return status == ANTLER_OK ? code : cli_fail(status);
}

static int run(const cli_command *self, int argc, char **argv)
{
    settings s = {.measuring = cli_measuring_default()};
    size_t count = 0;
    int code = CLI_DONE;
    if (!cli_parse(self, argc, argv, &s, &count, &code))
        return code;
    code = cli_measuring_finish(&s.measuring);
    if (code != CLI_DONE)
        return code;
    if (s.measures)
        return print_measures(s.json);
    if (s.truth.count == 0 || s.generated.count == 0)
        return cli_usage_error("'antler measure' needs --true FILE and --generated FILE");

    antler_series *truth = NULL, *generated = NULL;
    antler_measure_result result = {0};
    cli_progress progress;
    s.measuring.opts.progress = cli_progress_begin(&progress, s.quiet);
    code = load_both(&s, &truth, &generated);
    const antler_status status =
        code == CLI_DONE ? antler_measure(truth, generated, &s.measuring.opts, &result) : ANTLER_OK;
    cli_progress_end(&progress);
    if (status == ANTLER_OK && !s.quiet)
        cli_load_notes(truth);
    if (status != ANTLER_OK)
        code = cli_fail(status);
    else if (code == CLI_DONE && s.json)
        code = print_json(&s, truth, &result);
    else if (code == CLI_DONE)
        print_table(&s, truth, &result);
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
        "over the variables.\n\nBoth files must have the same columns in the same units. A standardised file "
        "that "
        "keeps its scaling (.npz, .csv of Antler) is converted to user units first.",
    .examples = "  $ antler measure --true test.npy --generated free.npy\n"
                "  $ antler measure --true test.npy --generated 'runs/*/free.npy' --embed 3,10 --json\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .run = run,
};
