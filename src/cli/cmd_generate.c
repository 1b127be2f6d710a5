/* cmd_generate.c - `antler generate`: free runs of a trained model, written to a file. */
#include "cli/command.h"
#include "cli/data_options.h"
#include "cli/foreign.h"
#include "cli/measuring.h"
#include "cli/progress.h"
#include "cli/start_options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct settings {
    cli_list data;
    const char *out, *latent, *input_file, *inputs_end, *device;
    antler_generate_opts generate;
    size_t first, trajectory; /* counted from 1 */
    cli_load load;
    bool standardised, quiet;
} settings;

#define AT(field) offsetof(settings, field)
static const cli_option options[] = {
    {"data", CLI_FILES, "FILE",
     "Data for the warm-up: the model warms up on the first rows and then runs free. Default: start at "
     "the latent state 0.",
     AT(data), NULL},
    {"out", CLI_FILE, "FILE",
     "Where to write: .npy, .npz (keeps names and dt) or .csv (with names; dt is in FILE.json beside it).",
     AT(out), NULL},
    {"steps", CLI_COUNT, "ROWS", "Rows to generate. Default 10000.", AT(generate.steps), NULL},
    {"orbits", CLI_COUNT, "N",
     "Number of orbits, which begin at rows spread evenly over the data; one trajectory each. Default 1.",
     AT(generate.orbits), NULL},
    {"device", CLI_CHOICE, "auto|cpu|cuda",
     "Where to run; a GPU runs many orbits side by side. Default auto.", AT(device), cli_devices},
    {"warmup", CLI_COUNT, "ROWS", CLI_WARMUP_HELP, AT(generate.start.warmup), NULL},
    {"first", CLI_COUNT, "ROW", "Row of the data at which the warm-up begins, counted from 1. Default 1.",
     AT(first), NULL},
    {"trajectory", CLI_COUNT, "NUMBER", "Trajectory of the data, counted from 1. Default 1.", AT(trajectory),
     NULL},
    {"latent", CLI_FILE, "FILE", "Also write the latent states.", AT(latent), NULL},
    {"standardised", CLI_FLAG, NULL,
     "Write in the standardised units of the model. Default: in the units of the user's data.",
     AT(standardised), NULL},
    {"model-units", CLI_FLAG, NULL, CLI_MODEL_UNITS_HELP, AT(generate.start.model_units), NULL},
    {"input-file", CLI_FILE, "FILE",
     "Inputs of the free steps, one row each. Default: the rows of the data that follow the warm-up.",
     AT(input_file), NULL},
    {"inputs-end", CLI_CHOICE, "stop|hold|repeat", CLI_INPUTS_END_HELP " Default stop.", AT(inputs_end),
     cli_inputs_ends},
    CLI_LOAD_OPTIONS(settings, load),
    {"quiet", CLI_FLAG, NULL, "No progress and no summary.", AT(quiet), NULL},
};
#undef AT

/* What a run reads. */
typedef struct sources {
    antler_model *model;
    antler_series *data, *inputs;
} sources;

static int load_sources(settings *s, const char *path, sources *from)
{
    antler_settings of_run;
    const antler_status status = antler_model_load(path, &from->model);
    int code = status == ANTLER_OK ? CLI_DONE : cli_fail(status);
    if (code == CLI_DONE && s->data.count > 0)
        code = cli_load_from_run(path, &of_run, &s->load);
    if (code == CLI_DONE && s->data.count > 0)
        code = cli_series_load(&s->data, &s->load, &from->data);
    if (code == CLI_DONE && s->input_file != NULL) {
        const cli_list file = {.items = {s->input_file}, .count = 1};
        const cli_load plain = {.time = s->load.time};
        code = cli_series_load(&file, &plain, &from->inputs);
    }
    s->generate.start.context = from->data;
    s->generate.start.inputs = from->inputs;
    return code;
}

static void print_size(const settings *s, const antler_series *orbit)
{
    printf("%s: ", s->out);
    if (antler_series_count(orbit) > 1)
        printf("%zu orbits of ", antler_series_count(orbit));
    printf("%zu x %zu, in %s units\n", antler_series_length(orbit, 0), antler_series_dim(orbit),
           s->standardised ? "the model's" : "user");
}

/* User units are a scaling, too, by 1: a file that keeps it says so. */
static antler_status mark_user_units(antler_series *orbit)
{
    const size_t N = antler_series_dim(orbit);
    double *scaling = cli_memory(2 * N, sizeof *scaling, "a scaling");
    for (size_t i = 0; i < N; i++)
        scaling[N + i] = 1.0;
    const antler_status status = antler_series_apply_scaling(orbit, scaling, scaling + N);
    free(scaling);
    return status;
}

/* Write what there is, also of an orbit that diverged. */
static int write_orbit(const settings *s, antler_status run, antler_series *orbit,
                       const antler_series *latent)
{
    if (run == ANTLER_DIVERGED) {
        fprintf(stderr, "antler: %s; ", antler_message());
        if (antler_series_count(orbit) == 0)
            fputs("there is nothing to write\n", stderr);
        else
            fprintf(stderr, "the %zu rows before it are in %s\n", antler_series_total_length(orbit), s->out);
    }
    if (antler_series_count(orbit) == 0)
        return CLI_NUMBERS;
    antler_status status = s->standardised ? ANTLER_OK : mark_user_units(orbit);
    if (status == ANTLER_OK)
        status = antler_series_save(orbit, s->out);
    if (status == ANTLER_OK && s->latent != NULL)
        status = antler_series_save(latent, s->latent);
    if (status != ANTLER_OK)
        return cli_fail(status);
    if (!s->quiet && run == ANTLER_OK)
        print_size(s, orbit);
    return run == ANTLER_OK ? CLI_DONE : CLI_NUMBERS;
}

static int run(const cli_command *self, int argc, char **argv)
{
    settings s = {.inputs_end = "stop", .first = 1, .trajectory = 1};
    antler_generate_opts_default(&s.generate);
    size_t count = 0;
    int code = CLI_DONE;
    if (!cli_parse(self, argc, argv, &s, &count, &code))
        return code;
    if (s.out == NULL)
        return cli_usage_error("'antler generate' needs --out FILE, for example --out free.npy");
    if (s.first == 0 || s.trajectory == 0)
        return cli_usage_error("--first and --trajectory count from 1");
    s.generate.start.first = s.first - 1;
    s.generate.start.trajectory = s.trajectory - 1;
    s.generate.start.inputs_end = cli_inputs_end(s.inputs_end);
    s.generate.device = cli_device(s.device);
    s.generate.user_units = !s.standardised;
    sources from = {0};
    antler_series *orbit = NULL, *latent = NULL;
    cli_progress progress;
    s.generate.progress = cli_progress_begin(&progress, s.quiet);
    code = load_sources(&s, argv[0], &from);
    antler_status status = ANTLER_OK;
    if (code == CLI_DONE)
        status = antler_generate(from.model, &s.generate, &orbit, s.latent == NULL ? NULL : &latent);
    cli_progress_end(&progress);
    if (code == CLI_DONE && status == ANTLER_OK && !s.quiet) {
        cli_load_notes(from.data);
        cli_load_notes(from.inputs);
    }
    if (code == CLI_DONE)
        code = orbit == NULL ? cli_fail(status) : write_orbit(&s, status, orbit, latent);
    antler_series_free(latent);
    antler_series_free(orbit);
    antler_series_free(from.inputs);
    antler_series_free(from.data);
    antler_model_free(from.model);
    return code;
}

const cli_command cli_generate = {
    .name = "generate",
    .summary = "let a trained model run free and write its orbit",
    .arguments = "RUN",
    .description =
        "Warm a model up on data, then let it run free and write what it generates. RUN is a run folder, a "
        "model.npz or a checkpoint.\n\nRow t of the data holds x_t and the inputs of the step to row t. With "
        "a "
        "warm-up of W rows, rows 1 to W + 1 of the data are used, and the first row written corresponds to "
        "row W "
        "+ 2.\n\nWhere --columns or --inputs is not given, the settings of the run say which columns of the "
        "data are "
        "taken.\n\nAn orbit that leaves every bound ends there: what came before is written and the exit "
        "code "
        "is 1.",
    .examples = "  $ antler generate Results/lorenz63/fo/001 --data test.npy --steps 300000 --out free.npy\n"
                "  $ antler generate model.npz --data weather.csv --inputs wind --inputs-end hold "
                "--out free.csv\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .minimum = 1,
    .maximum = 1,
    .run = run,
};
