/* cmd_measure.c - `antler measure`: does a generated orbit have the right attractor and spectrum? */
#include "cli/command.h"
#include "cli/data_options.h"
#include "cli/measuring.h"
#include "cli/progress.h"

#include <math.h>
#include <stddef.h>

typedef struct settings {
    cli_list truth, generated;
    cli_measuring measuring;
    cli_load load;
    bool measures, json, quiet;
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
    printf("\n%-16s %11s %11s %11s %11s %11s\n", "variable", "mean true", "generated", "sd true", "generated",
           "D_H");
    for (size_t i = 0; i < r->dim; i++)
        printf("%-16s %11.4g %11.4g %11.4g %11.4g %11.4g\n", antler_series_name(truth, i), r->mean_true[i],
               r->mean_generated[i], r->sd_true[i], r->sd_generated[i], r->hellinger_each[i]);
}

/* docs/measures.md has this table; a test compares the two. */
static int print_measures(void)
{
    static const char *const better[] = {"smaller", "", "larger"};
    puts("| measure | column | unit | better | meaning |\n| --- | --- | --- | --- | --- |");
    for (size_t i = 0; i < antler_measure_count(); i++) {
        const antler_measure_info *m = antler_measure_at(i);
        printf("| %s | `%s` | %s | %s | %s |\n", m->label, m->name, m->unit, better[m->better + 1],
               m->meaning);
    }
    return CLI_DONE;
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
        return print_measures();
    if (s.truth.count == 0 || s.generated.count == 0)
        return cli_usage_error("'antler measure' needs --true FILE and --generated FILE");

    const antler_load_opts load = cli_load_opts(&s.load);
    antler_series *truth = NULL, *generated = NULL;
    antler_measure_result result = {0};
    cli_progress progress;
    s.measuring.opts.progress = cli_progress_begin(&progress, s.quiet);
    antler_status status = antler_series_load(s.truth.items, s.truth.count, &load, &truth);
    if (status == ANTLER_OK)
        status = antler_series_check(truth, 2);
    if (status == ANTLER_OK)
        status = antler_series_load(s.generated.items, s.generated.count, &load, &generated);
    if (status == ANTLER_OK)
        status = antler_measure(truth, generated, &s.measuring.opts, &result);
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
