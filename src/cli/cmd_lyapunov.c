/* cmd_lyapunov.c - `antler lyapunov`: all Lyapunov exponents of a trained model. */
#include "cli/cmd_lyapunov.h"

#include "cli/data_options.h"
#include "cli/foreign.h"
#include "cli/measuring.h"
#include "cli/progress.h"
#include "cli/start_options.h"

#include <math.h>
#include <stddef.h>

typedef struct settings {
    cli_list data;
    const char *inputs_end, *device;
    antler_lyapunov_opts lyapunov;
    cli_load load;
    bool json, quiet;
} settings;

#define AT(field) offsetof(settings, field)
static const cli_option options[] = {
    {"steps", CLI_COUNT, "N", "Steps over which the exponents are averaged. Default 20000.",
     AT(lyapunov.steps), NULL},
    {"transient", CLI_COUNT, "N", "Free steps before them. Default 1000.", AT(lyapunov.transient), NULL},
    {"interval", CLI_COUNT, "N",
     "Steps between two orthonormalisations. Default 1, which is always safe; more is faster.",
     AT(lyapunov.interval), NULL},
    {"exponents", CLI_COUNT, "N",
     "How many of the leading exponents. Default: all of up to 256 states, else 32.", AT(lyapunov.exponents),
     NULL},
    {"data", CLI_FILES, "FILE",
     "Rows on which the model warms up before the transient. Default: start at the latent state 0.", AT(data),
     NULL},
    {"warmup", CLI_COUNT, "ROWS", CLI_WARMUP_HELP, AT(lyapunov.start.warmup), NULL},
    {"model-units", CLI_FLAG, NULL, CLI_MODEL_UNITS_HELP, AT(lyapunov.start.model_units), NULL},
    {"inputs-end", CLI_CHOICE, "stop|hold|repeat",
     CLI_INPUTS_END_HELP " Default repeat. Without data the inputs are 0.", AT(inputs_end), cli_inputs_ends},
    {"device", CLI_CHOICE, "auto|cpu|cuda",
     "Where to compute; auto takes a GPU from 1024 numbers in all tangent vectors on (32 exponents of M = "
     "32) "
     "when it pays. Default auto.",
     AT(device), cli_devices},
    CLI_LOAD_OPTIONS(settings, load),
    {"json", CLI_FLAG, NULL, "Print one JSON object instead of a table.", AT(json), NULL},
    {"quiet", CLI_FLAG, NULL, "No progress.", AT(quiet), NULL},
};
#undef AT

json_t *cli_json_lyapunov(const antler_lyapunov_result *r)
{
    const bool diverged = r->diverged_step > 0;
    json_t *root = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I}", "exponents", cli_json_reals(r->exponents, r->count),
        "standard_error", cli_json_reals(r->error, r->count), "spread", cli_json_reals(r->spread, r->count),
        "unforced", cli_json_reals(r->unforced, r->count), "sum", cli_json_real(r->sum), "kaplan_yorke",
        diverged ? json_null() : cli_json_real(r->kaplan_yorke), "kaplan_yorke_reduced",
        diverged ? json_null() : cli_json_real(r->kaplan_yorke_reduced), "steps", (json_int_t)r->steps);
    if (r->diverged_step > 0)
        json_object_set_new(root, "diverged_step", json_integer((json_int_t)r->diverged_step));
    if (r->dt > 0.0) {
        json_t *per_time = json_array();
        for (size_t k = 0; k < r->count; k++)
            json_array_append_new(per_time, cli_json_real(r->exponents[k] / r->dt));
        json_object_set_new(root, "dt", json_real(r->dt));
        json_object_set_new(root, "exponents_per_time", per_time);
    }
    return root;
}

void cli_print_lyapunov(const antler_lyapunov_result *r)
{
    if (r->diverged_step > 0) {
        printf("Lyapunov  none: the orbit diverged at step %zu\n", r->diverged_step);
        return;
    }
    printf("Lyapunov exponents, natural logarithm, over %zu steps\n", r->steps);
    printf("  %3s %12s %12s %12s", "", "per step", "error", "spread");
    printf(r->dt > 0.0 ? " %14s\n" : "\n", "per time");
    for (size_t k = 0; k < r->count; k++) {
        printf("  %3zu %12.5g %12.1e %12.1e", k + 1, r->exponents[k], r->error[k], r->spread[k]);
        if (r->dt > 0.0)
            printf(" %14.5g", r->exponents[k] / r->dt);
        puts(isnan(r->unforced[k]) ? "" : "  *");
    }
    printf("  sum %12.5g\n", r->sum);
    printf("  Kaplan-Yorke dimension %.4g", r->kaplan_yorke);
    printf(r->dt > 0.0 ? ", dt %g\n" : "\n", r->dt);
    if (r->unforced_count > 0)
        printf("  %.4g without *, latent directions that the data do not force\n", r->kaplan_yorke_reduced);
}

static int run(const cli_command *self, int argc, char **argv)
{
    settings s = {.inputs_end = "repeat"};
    antler_lyapunov_opts_default(&s.lyapunov);
    size_t count = 0;
    int code = CLI_DONE;
    if (!cli_parse(self, argc, argv, &s, &count, &code))
        return code;
    s.lyapunov.start.inputs_end = cli_inputs_end(s.inputs_end);
    s.lyapunov.device = cli_device(s.device);
    antler_settings of_run;
    antler_model *model = NULL;
    antler_series *data = NULL;
    antler_lyapunov_result result = {0};
    cli_progress progress;
    s.lyapunov.progress = cli_progress_begin(&progress, s.quiet);
    antler_status status = antler_model_load(argv[0], &model);
    if (status == ANTLER_OK && s.data.count > 0)
        code = cli_load_from_run(argv[0], &of_run, &s.load);
    if (status == ANTLER_OK && s.data.count > 0 && code == CLI_DONE)
        code = cli_series_load(&s.data, &s.load, &data);
    s.lyapunov.start.context = data;
    if (status == ANTLER_OK && code == CLI_DONE)
        status = antler_lyapunov(model, &s.lyapunov, &result);
    cli_progress_end(&progress);
    code = status == ANTLER_OK ? code : cli_fail(status);
    if (code == CLI_DONE && !s.quiet)
        cli_load_notes(data);
    if (code == CLI_DONE && s.json)
        code = cli_json_print(cli_json_lyapunov(&result));
    else if (code == CLI_DONE)
        cli_print_lyapunov(&result);
    antler_lyapunov_result_clear(&result);
    antler_series_free(data);
    antler_model_free(model);
    return code;
}

const cli_command cli_lyapunov = {
    .name = "lyapunov",
    .summary = "compute the Lyapunov exponents of a trained model",
    .arguments = "RUN",
    .description =
        "Follow a free orbit of the model and average how fast nearby orbits separate in every direction, by "
        "QR of the products of Jacobians. RUN is a run folder, a model.npz or a checkpoint.\n\nBeside each "
        "exponent stand the standard error from ten parts of the run, and the spread of the running estimate "
        "over its last half: when it is not small, give more --steps.",
    .examples = "  $ antler lyapunov Results/lorenz63/fo/001\n"
                "  $ antler lyapunov model.npz --data test.npy --steps 100000 --json\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .minimum = 1,
    .maximum = 1,
    .run = run,
};
