/* cmd_bench.c - `antler bench solve`: forward and backward time of the solvers over a grid of sizes. */
#include "cli/bench.h"
#include "cli/command.h"
#include "cli/measuring.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

typedef struct settings {
    const char *latent, *hidden, *length, *batch, *solvers, *system, *precision, *device, *model, *data;
    double alpha, warmup, seconds;
    size_t updates;
    int threads;
    bool json, no_check, update;
    antler_model *loaded;  /* NULL: trained first */
    antler_series *series; /* NULL: simulated */
} settings;

static const char *const precisions[] = {"float", "double", NULL};

#define AT(field) offsetof(settings, field)
static const cli_option options[] = {
    {"latent-dim", CLI_TEXT, "LIST", "M, one or several: 4,16. Default 5.", AT(latent), NULL},
    {"hidden-dim", CLI_TEXT, "LIST", "L. Default 50.", AT(hidden), NULL},
    {"length", CLI_TEXT, "LIST", "T, steps of a sequence. Default 512,4096,32768.", AT(length), NULL},
    {"batch", CLI_TEXT, "LIST", "Sequences at once. Default 1.", AT(batch), NULL},
    {"solver", CLI_TEXT, "LIST",
     "auto, sequential, shooting, deer, quasi-deer, scan, reference. Default auto,sequential,shooting; auto "
     "for a model that is linear in its state.",
     AT(solvers), NULL},
    {"system", CLI_TEXT, "NAME", "System whose orbit is learnt. Default lorenz63.", AT(system), NULL},
    {"alpha", CLI_REAL, "A", "Forcing strength. Default 0.15.", AT(alpha), NULL},
    {"warmup", CLI_REAL, "FRACTION", "Warm-up as a fraction of T. Default 0.", AT(warmup), NULL},
    {"updates", CLI_COUNT, "N",
     "Updates of training before the first solve, so that the dynamics are those of a trained model. Default "
     "500.",
     AT(updates), NULL},
    {"precision", CLI_CHOICE, "float|double", "Default float.", AT(precision), precisions},
    {"threads", CLI_INT, "N", "Threads; 0 for all. Default 0.", AT(threads), NULL},
    {"seconds", CLI_REAL, "S", "Seconds for which each case is repeated; the median is reported. Default 1.",
     AT(seconds), NULL},
    {"device", CLI_CHOICE, "auto|cpu|cuda", "Where to solve. Default cpu.", AT(device), cli_devices},
    {"update", CLI_FLAG, NULL,
     "On a GPU, also time whole updates: windows, solve, gradient, regularisers, step.", AT(update), NULL},
    {"model", CLI_FILE, "RUN",
     "Solve with this model (a run or its model.npz) instead of training one; needs --data.", AT(model),
     NULL},
    {"data", CLI_FILE, "FILE",
     "Sequences come from this series, from its first row on, in the units of the model.", AT(data), NULL},
    {"no-check", CLI_FLAG, NULL, "Do not compare with the reference solver, which needs time and memory.",
     AT(no_check), NULL},
    {"json", CLI_FLAG, NULL, "Print one JSON object instead of a table.", AT(json), NULL},
};
#undef AT

enum { LIST = 32 };

/* "4,16" -> numbers; the count, or 0 when a part is no whole number. */
static size_t read_list(const char *text, size_t values[LIST])
{
    size_t count = 0;
    for (;;) {
        char part[32];
        const size_t length = strcspn(text, ",");
        if (count == LIST || length == 0 || length >= sizeof part)
            return 0;
        snprintf(part, sizeof part, "%.*s", (int)length, text);
        if (!cli_read_count(part, &values[count++]) || values[count - 1] == 0)
            return 0;
        if (text[length] == '\0')
            return count;
        text += length + 1;
    }
}

static void print_head(double peak, const char *precision, int threads, bool cpu)
{
    if (!cpu) {
        puts("Times are medians of weights + forward + backward + gradient on the device's clock; states and "
             "gradient: "
             "largest\nrelative difference from plain sequential loops in double.");
        printf("%4s %5s %8s %5s  %-11s %10s %10s %9s %6s %9s %9s %9s\n", "M", "L", "T", "B", "solver", "time",
               "update", "ns/step", "iter.", "memory", "states", "gradient");
        return;
    }
    printf("One core multiplies and adds %.3g G %ss per second (measured); times are medians of forward + "
           "backward.\n",
           1e-9 * peak, precision);
    printf("%4s %5s %8s %5s  %-11s %10s %9s %6s %8s %9s %9s %9s\n", "M", "L", "T", "B", "solver", "time",
           "ns/step", "iter.", threads == 1 ? "of peak" : "of peak*", "memory", "states", "gradient");
}

static void print_row(const cli_bench_case *c, const cli_bench_result *r)
{
    char states[16] = "-", gradient[16] = "-", update[16] = "-";
    if (!isnan(r->states_differ)) {
        snprintf(states, sizeof states, "%.1e", r->states_differ);
        snprintf(gradient, sizeof gradient, "%.1e", r->gradient_differs);
    }
    if (!isnan(r->update))
        snprintf(update, sizeof update, "%.4g ms", 1e3 * r->update);
    if (c->device != ANTLER_DEVICE_CPU) {
        printf("%4zu %5zu %8zu %5zu  %-11s %7.4g ms %10s %9.4g %6d %6.4g MB %9s %9s%s\n     %s\n", c->latent,
               c->hidden, c->length, c->batch, c->solver, 1e3 * r->median, update, r->ns_per_step,
               r->iterations, 1e-6 * r->bytes, states, gradient, r->fallbacks > 0 ? "  not converged" : "",
               r->choice);
        fflush(stdout);
        return;
    }
    printf("%4zu %5zu %8zu %5zu  %-11s %7.3g ms %9.4g %6d %7.1f%% %6.4g MB %9s %9s%s\n", c->latent, c->hidden,
           c->length, c->batch, c->solver, 1e3 * r->median, r->ns_per_step, r->iterations, 100.0 * r->of_peak,
           1e-6 * r->bytes, states, gradient, r->fallbacks > 0 ? "  fell back to sequential" : "");
    fflush(stdout);
}

static json_t *row_json(const cli_bench_case *c, const cli_bench_result *r)
{
    json_t *row =
        json_pack("{s:I, s:I, s:I, s:I, s:s, s:s, s:f, s:f, s:f, s:I, s:f, s:i, s:I, s:f, s:f}", "latent_dim",
                  (json_int_t)c->latent, "hidden_dim", (json_int_t)c->hidden, "length", (json_int_t)c->length,
                  "batch", (json_int_t)c->batch, "solver", c->solver, "choice", r->choice, "seconds_median",
                  r->median, "seconds_best", r->best, "noise", r->noise, "repeats", (json_int_t)r->repeats,
                  "ns_per_step", r->ns_per_step, "iterations", r->iterations, "fallbacks",
                  (json_int_t)r->fallbacks, "fraction_of_peak", r->of_peak, "bytes", r->bytes);
    json_object_set_new(row, "device", json_string(antler_device_name(c->device)));
    json_object_set_new(row, "seconds_update", isnan(r->update) ? json_null() : json_real(r->update));
    json_object_set_new(row, "states_differ",
                        isnan(r->states_differ) ? json_null() : json_real(r->states_differ));
    json_object_set_new(row, "gradient_differs",
                        isnan(r->gradient_differs) ? json_null() : json_real(r->gradient_differs));
    return row;
}

/* Next solver's name out of a comma-separated list. */
static bool next_word(const char **text, char word[16])
{
    const size_t length = strcspn(*text, ",");
    if (length == 0 || length > 15)
        return false;
    snprintf(word, 16, "%.*s", (int)length, *text);
    *text += length + ((*text)[length] == ',');
    return true;
}

static int run_solvers(const settings *s, cli_bench_case *c, double peak, json_t *rows)
{
    char word[16];
    for (const char *rest = s->solvers; *rest != '\0';) {
        if (!next_word(&rest, word))
            return cli_usage_error("--solver: '%s' is not a list of solvers", s->solvers);
        c->solver = word;
        cli_bench_result result;
        const antler_status status = cli_bench_run(c, peak, &result);
        if (status != ANTLER_OK)
            return cli_fail(status);
        if (rows != NULL)
            json_array_append_new(rows, row_json(c, &result));
        else
            print_row(c, &result);
    }
    return CLI_DONE;
}

typedef struct grid {
    size_t latent[LIST], hidden[LIST], length[LIST], batch[LIST];
    size_t latents, hiddens, lengths, batches;
} grid;

static int run_grid(const settings *s, const grid *g, double peak, json_t *rows)
{
    for (size_t i = 0; i < g->latents * g->hiddens * g->lengths * g->batches; i++) {
        cli_bench_case c = {.latent = g->latent[i / (g->hiddens * g->lengths * g->batches)],
                            .hidden = g->hidden[i / (g->lengths * g->batches) % g->hiddens],
                            .length = g->length[i / g->batches % g->lengths],
                            .batch = g->batch[i % g->batches],
                            .system = s->system,
                            .alpha = s->alpha,
                            .warmup = s->warmup,
                            .updates = s->updates,
                            .precision = s->precision,
                            .threads = s->threads,
                            .seconds = s->seconds,
                            .device = cli_device(s->device),
                            .model = s->loaded,
                            .series = s->series,
                            .update = s->update,
                            .check = !s->no_check};
        const int code = run_solvers(s, &c, peak, rows);
        if (code != CLI_DONE)
            return code;
    }
    return CLI_DONE;
}

/* --model and --data. */
static int load(settings *s, grid *g)
{
    antler_load_opts opts;
    antler_load_opts_default(&opts);
    if ((s->model != NULL) && s->data == NULL)
        return cli_usage_error("--model needs --data, the series that its sequences are taken from");
    antler_status status = ANTLER_OK;
    if (s->data != NULL)
        status = antler_series_load(&s->data, 1, &opts, &s->series);
    if (status == ANTLER_OK && s->model != NULL)
        status = antler_model_load(s->model, &s->loaded);
    if (status != ANTLER_OK)
        return cli_fail(status);
    if (s->loaded != NULL) {
        g->latents = g->hiddens = 1;
        g->latent[0] = antler_model_latent_dim(s->loaded);
        g->hidden[0] = antler_model_hidden_dim(s->loaded);
    }
    const bool forced = s->loaded == NULL || strcmp(antler_model_kind(s->loaded), "shplrnn") == 0;
    if (s->solvers == NULL)
        s->solvers = forced ? "auto,sequential,shooting" : "auto";
    return CLI_DONE;
}

static int run(const cli_command *self, int argc, char **argv)
{
    settings s = {.latent = "5",
                  .hidden = "50",
                  .length = "512,4096,32768",
                  .batch = "1",
                  .system = "lorenz63",
                  .precision = "float",
                  .device = "cpu",
                  .alpha = 0.15,
                  .updates = 500,
                  .seconds = 1.0};
    size_t count = 0;
    int code = CLI_DONE;
    if (!cli_parse(self, argc, argv, &s, &count, &code))
        return code;
    if (strcmp(argv[0], "solve") != 0)
        return cli_usage_error("there is no benchmark '%s'; there is 'solve'", argv[0]);
    grid g = {.latents = read_list(s.latent, g.latent),
              .hiddens = read_list(s.hidden, g.hidden),
              .lengths = read_list(s.length, g.length),
              .batches = read_list(s.batch, g.batch)};
    if (g.latents * g.hiddens * g.lengths * g.batches == 0)
        return cli_usage_error(
            "--latent-dim, --hidden-dim, --length and --batch take lists of whole numbers such as 4,16");
    code = load(&s, &g);
    if (code != CLI_DONE) {
        antler_series_free(s.series);
        return code;
    }
    const double peak = antler_peak_rate(strcmp(s.precision, "float") == 0 ? ANTLER_PRECISION_FLOAT
                                                                           : ANTLER_PRECISION_DOUBLE);
    json_t *rows = s.json ? json_array() : NULL;
    if (!s.json)
        print_head(peak, s.precision, s.threads, strcmp(s.device, "cpu") == 0);
    code = run_grid(&s, &g, peak, rows);
    if (code == CLI_DONE && s.json) {
        json_t *root =
            json_pack("{s:s, s:s, s:f, s:s, s:f, s:f, s:i, s:O}", "antler", antler_build_info(), "system",
                      s.system, "peak_multiply_adds_per_second", peak, "precision", s.precision, "alpha",
                      s.alpha, "warmup", s.warmup, "threads", s.threads, "cases", rows);
        code = cli_json_print(root);
    } else if (code == CLI_DONE && strcmp(s.device, "cpu") == 0) {
        puts("of peak: multiply-adds that one pass needs (6 M L a step; 3 for every parameter where the "
             "model is "
             "linear in its state) against the peak of the threads in use.\n"
             "states, gradient: largest relative difference from plain sequential loops in the same "
             "precision.");
    }
    json_decref(rows);
    antler_model_free(s.loaded);
    antler_series_free(s.series);
    return code;
}

static const char *complete(size_t index)
{
    return index == 0 ? "solve" : NULL;
}

const cli_command cli_bench = {
    .name = "bench",
    .summary = "time the solvers over a grid of sizes",
    .arguments = "solve",
    .description =
        "Time one solve, forward and backward, of every combination of latent and hidden units, length, "
        "batch and "
        "solver, on a model that is trained briefly before. Each time is shown with the fraction of the "
        "processor's peak that it reaches, the memory that it needs, and the largest difference from plain "
        "sequential loops.",
    .examples = "  $ antler bench solve --latent-dim 4,16 --length 512,32768\n"
                "  $ antler bench solve --system lorenz96 --latent-dim 10 --hidden-dim 128 --alpha 0.08 "
                "--warmup 0.5 --json\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .minimum = 1,
    .maximum = 1,
    .complete = complete,
    .run = run,
};
