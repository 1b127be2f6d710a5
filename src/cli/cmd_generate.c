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

#define NOT_GIVEN SIZE_MAX

static const char *const places[] = {"start", "end", "zero", NULL};

typedef struct settings {
    cli_list data;
    const char *out, *latent, *input_file, *inputs_end, *device;
    const char *from; /* NULL: by the other options */
    antler_generate_opts generate;
    size_t first, trajectory; /* counted from 1; NOT_GIVEN */
    cli_load load;
    bool standardised, quiet;
} settings;

#define AT(field) offsetof(settings, field)
static const cli_option options[] = {
    {"data", CLI_FILES, "FILE",
     "Data for the warm-up. Default: the data of the training, where they are known.", AT(data), NULL},
    {"from", CLI_CHOICE, "start|end|zero",
     "Where to begin: after a warm-up on the first rows of the data, after their last row, or at the latent "
     "state 0 without data. Default: start with --data, --first or --orbits, and for a model with inputs but "
     "no --input-file; else end.",
     AT(from), places},
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
    {"trajectory", CLI_COUNT, "NUMBER",
     "Trajectory of the data, counted from 1. Default 1, and from the end the last.", AT(trajectory), NULL},
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

/* The data that the training of the model was on; *data stays NULL where they are not known. */
static int load_training_data(const settings *s, const char *path, antler_series **data)
{
    antler_settings of_run;
    bool found = false;
    const int code = cli_settings_of_run(path, &of_run, &found);
    if (code != CLI_DONE || !found || of_run.data[0] == '\0')
        return code;
    of_run.holdout = 0.0; /* the last row of the file is the last */
    antler_status status = cli_load_to_settings(&s->load, &of_run);
    if (status == ANTLER_OK)
        status = antler_settings_series(&of_run, data);
    if (status == ANTLER_ERROR_NOT_FOUND)
        return cli_usage_error(
            "%s: the data of its training cannot be taken (%s): give --data FILE, or --from zero "
            "to begin without data",
            path, antler_message());
    return status == ANTLER_OK ? CLI_DONE : cli_fail(status);
}

static int load_data(settings *s, const char *path, sources *from)
{
    const bool zero = s->from != NULL && strcmp(s->from, "zero") == 0;
    antler_settings of_run;
    if (zero)
        return CLI_DONE;
    if (s->data.count == 0) {
        const int code = load_training_data(s, path, &from->data);
        const bool needed =
            s->from != NULL || s->first != NOT_GIVEN || s->trajectory != NOT_GIVEN || s->generate.orbits > 1;
        if (code == CLI_DONE && from->data == NULL && needed)
            return cli_usage_error("%s: the data of its training are not known; give --data FILE", path);
        return code;
    }
    const int code = cli_load_from_run(path, &of_run, &s->load);
    return code == CLI_DONE ? cli_series_load(&s->data, &s->load, &from->data) : code;
}

/* Where in the data the free run begins. */
static void choose_start(settings *s, const sources *from)
{
    antler_run_start *start = &s->generate.start;
    const bool no_inputs = antler_model_input_dim(from->model) == 0 || s->input_file != NULL;
    const bool spread = s->first != NOT_GIVEN || s->generate.orbits > 1;
    start->context = from->data;
    start->inputs = from->inputs;
    start->from_end =
        s->from != NULL ? strcmp(s->from, "end") == 0 : s->data.count == 0 && !spread && no_inputs;
    start->from_end = start->from_end && from->data != NULL;
    start->first = s->first == NOT_GIVEN ? 0 : s->first - 1;
    start->trajectory = s->trajectory != NOT_GIVEN ? s->trajectory - 1
                        : start->from_end          ? antler_series_count(from->data) - 1
                                                   : 0;
}

static int load_sources(settings *s, const char *path, sources *from)
{
    const antler_status status = antler_model_load(path, &from->model);
    int code = status == ANTLER_OK ? CLI_DONE : cli_fail(status);
    if (code == CLI_DONE)
        code = load_data(s, path, from);
    if (code == CLI_DONE && s->input_file != NULL) {
        const cli_list file = {.items = {s->input_file}, .count = 1};
        const cli_load plain = {.time = s->load.time};
        code = cli_series_load(&file, &plain, &from->inputs);
    }
    if (code == CLI_DONE)
        choose_start(s, from);
    return code;
}

/* Which rows of the data the first row follows. */
static void print_start(const settings *s, const antler_series *orbit)
{
    const antler_run_start *start = &s->generate.start;
    char time[64] = "";
    if (start->context == NULL) {
        printf("  begins at the latent state 0\n");
        return;
    }
    const char *origin = cli_foreign_shown(antler_series_origin(start->context, start->trajectory));
    if (antler_series_count(orbit) > 1) {
        printf("  begin at rows spread evenly over %s\n", origin);
        return;
    }
    if (antler_series_time(orbit)->kind != ANTLER_TIME_NONE)
        cli_ok(antler_series_time_text(orbit, 0, 0, time, sizeof time));
    if (start->from_end)
        printf("  goes on after the last row of %s", origin);
    else
        printf("  begins after a warm-up from row %zu of %s on", start->first + 1, origin);
    printf("%s%s", time[0] == '\0' ? "" : ", at ", time);
    puts(s->from == NULL && !start->from_end ? "; --from end goes on after the last row" : "");
}

static void print_size(const settings *s, const antler_series *orbit)
{
    printf("%s: ", s->out);
    if (antler_series_count(orbit) > 1)
        printf("%zu orbits of ", antler_series_count(orbit));
    printf("%zu x %zu, in %s units\n", antler_series_length(orbit, 0), antler_series_dim(orbit),
           s->standardised ? "the model's" : "user");
    print_start(s, orbit);
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

/* Options that contradict each other. */
static int check_places(const settings *s)
{
    const bool end = s->from != NULL && strcmp(s->from, "end") == 0;
    const bool zero = s->from != NULL && strcmp(s->from, "zero") == 0;
    if (end && s->first != NOT_GIVEN)
        return cli_usage_error(
            "--from end goes on after the last row, and --first names another; give one of them");
    if (end && s->generate.orbits > 1)
        return cli_usage_error("--orbits begin at rows spread over the data; leave out --from end");
    if (zero &&
        (s->data.count > 0 || s->first != NOT_GIVEN || s->trajectory != NOT_GIVEN || s->generate.orbits > 1))
        return cli_usage_error(
            "--from zero takes no data; leave out --data, --first, --trajectory and --orbits");
    return CLI_DONE;
}

static int run(const cli_command *self, int argc, char **argv)
{
    settings s = {.inputs_end = "stop", .first = NOT_GIVEN, .trajectory = NOT_GIVEN};
    antler_generate_opts_default(&s.generate);
    size_t count = 0;
    int code = CLI_DONE;
    if (!cli_parse(self, argc, argv, &s, &count, &code))
        return code;
    if (s.out == NULL)
        return cli_usage_error("'antler generate' needs --out FILE, for example --out free.npy");
    if (s.first == 0 || s.trajectory == 0)
        return cli_usage_error("--first and --trajectory count from 1");
    code = check_places(&s);
    if (code != CLI_DONE)
        return code;
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
        if (s.data.count > 0) /* a training has shown those of its own data */
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
        "model.npz or a checkpoint.\n\nWithout --data the run goes on after the last row of the data of the "
        "training, as in Python, and so do its times. With --data it begins at the first rows, so that it "
        "can be "
        "compared with them; --from end goes on after the last one. Where the data of a training are not "
        "known, "
        "as "
        "of a model.npz alone, it begins at the latent state 0.\n\nRow t of the data holds x_t and the "
        "inputs of "
        "the step to row t. From the start, with a warm-up of W rows, rows 1 to W + 1 of the data are used, "
        "and "
        "the "
        "first row written corresponds to row W + 2. From the end the warm-up takes 100 rows at "
        "least.\n\nWhere "
        "--columns or --inputs is not given, the settings of the run say which columns of the data are "
        "taken.\n\nAn orbit that leaves every bound ends there: what came before is written and the exit "
        "code "
        "is 1.",
    .examples = "  $ antler generate Results/weather/model.npz --out free.csv\n"
                "  $ antler generate Results/lorenz63/fo/001 --data test.npy --steps 300000 --out free.npy\n"
                "  $ antler generate model.npz --data weather.csv --inputs wind --inputs-end hold "
                "--out free.csv\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .minimum = 1,
    .maximum = 1,
    .run = run,
};
