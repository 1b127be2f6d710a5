/* cmd_simulate.c - `antler simulate`: orbits of the built-in systems, as files. */
#include "cli/command.h"
#include "cli/progress.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct settings {
    bool list, pair, all_variables, quiet;
    size_t length;
    double dt, transient, t0, noise, tolerance;
    const char *initial, *standardise, *out;
    cli_list parameters;
    uint64_t seed;
} settings;

/* The test file of a pair must not share random numbers with any train file: its seed is the pair's plus
 * 2^63. */
static const uint64_t test_seed_offset = UINT64_C(1) << 63;

static const char *const on_off[] = {"on", "off", NULL};

#define AT(field) offsetof(settings, field)
static const cli_option options[] = {
    {"out", CLI_FILE, "FILE", "Where to write: .npy, .npz (keeps names, dt and scaling) or .csv.", AT(out),
     NULL},
    {"length", CLI_COUNT, "ROWS", "Number of rows. Default: the system's, see --list.", AT(length), NULL},
    {"dt", CLI_REAL, "TIME", "Time between rows. Default: the system's.", AT(dt), NULL},
    {"transient", CLI_REAL, "TIME", "Time to integrate before the first row. Default: the system's.",
     AT(transient), NULL},
    {"initial", CLI_TEXT, "X,Y,...", "State before the transient. Default: drawn from the seed.", AT(initial),
     NULL},
    {"t0", CLI_REAL, "TIME",
     "Time before the transient. Default: 0, or drawn from the seed where the equations depend on time.",
     AT(t0), NULL},
    {"param", CLI_TEXTS, "NAME=VALUE", "Change a parameter of the equations; may be repeated.",
     AT(parameters), NULL},
    {"noise", CLI_REAL, "FRACTION",
     "Gaussian noise, as a fraction of each variable's standard deviation. Default 0; 0.05 in the train file "
     "of a pair.",
     AT(noise), NULL},
    {"standardise", CLI_CHOICE, "on|off",
     "Mean 0 and standard deviation 1 per variable, after the noise. Default on.", AT(standardise), on_off},
    {"all-variables", CLI_FLAG, NULL, "Also write the variables that are hidden by default.",
     AT(all_variables), NULL},
    {"seed", CLI_SEED, "NUMBER", "Of initial state, t0 and noise. Same seed, same bytes. Default 1.",
     AT(seed), NULL},
    {"tolerance", CLI_REAL, "REL", "Relative tolerance of the integrator. Default 1e-12.", AT(tolerance),
     NULL},
    {"pair", CLI_FLAG, NULL,
     "Write two files, NAME_train and NAME_test: a noisy orbit, and a clean one from another start.",
     AT(pair), NULL},
    {"list", CLI_FLAG, NULL, "Explain the systems, or the one named.", AT(list), NULL},
    {"quiet", CLI_FLAG, NULL, "No progress and no summary.", AT(quiet), NULL},
};
#undef AT

static void list_system(const antler_system_info *system)
{
    printf("%s - %s\n", system->name, system->title);
    for (const char *line = system->equations; *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        printf("    %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
    printf("  variables   ");
    for (size_t i = 0; i < system->dim; i++)
        printf("%s%s%s", i ? ", " : "", system->variables[i],
               i >= system->observed ? " (hidden by default)" : "");
    printf("\n  defaults    %zu rows, dt %g, transient %g\n", system->length, system->dt, system->transient);
    printf("  lyapunov    %.3g per unit of time, the largest exponent\n", system->lyapunov);
    for (size_t i = 0; i < system->parameter_count; i++)
        printf("  %-11s %-10.6g %s\n", system->parameters[i].name, system->parameters[i].value,
               system->parameters[i].meaning);
    printf("  source      %s\n", system->source);
}

static int list_systems(const char *only)
{
    if (only != NULL) {
        const antler_system_info *system = NULL;
        const antler_status status = antler_system_find(only, &system);
        if (status != ANTLER_OK)
            return cli_fail(status);
        list_system(system);
        return CLI_DONE;
    }
    for (size_t i = 0; i < antler_system_count(); i++) {
        if (i > 0)
            putchar('\n');
        list_system(antler_system_at(i));
    }
    return CLI_DONE;
}

static int read_initial(const settings *s, const antler_system_info *system, antler_simulate_opts *opts)
{
    const char *text = s->initial;
    size_t count = 0;
    while (count <= system->dim) {
        char number[64];
        const size_t length = strcspn(text, ",");
        snprintf(number, sizeof number, "%.*s", (int)(length < 63 ? length : 63), text);
        double value;
        if (!cli_read_real(number, &value))
            return cli_usage_error("--initial: '%s' is not a number", number);
        if (count < system->dim)
            opts->initial[count] = value;
        count++;
        if (text[length] == '\0')
            break;
        text += length + 1;
    }
    if (count != system->dim)
        return cli_usage_error("--initial: %s has %zu variables, so it needs %zu numbers separated by commas",
                               system->name, system->dim, system->dim);
    opts->has_initial = true;
    return CLI_DONE;
}

static int set_parameters(const cli_list *parameters, antler_simulate_opts *opts)
{
    for (size_t i = 0; i < parameters->count; i++) {
        const char *item = parameters->items[i];
        const char *equals = strchr(item, '=');
        char name[64];
        double value;
        if (equals == NULL || (size_t)(equals - item) >= sizeof name || !cli_read_real(equals + 1, &value))
            return cli_usage_error("--param: '%s' is not of the form NAME=VALUE, such as rho=24", item);
        snprintf(name, sizeof name, "%.*s", (int)(equals - item), item);
        const antler_status status = antler_simulate_opts_set(opts, name, value);
        if (status != ANTLER_OK)
            return cli_fail(status);
    }
    return CLI_DONE;
}

/* Settings that were not given hold NaN or SIZE_MAX: the system's defaults stay. */
static int fill_opts(const settings *s, const char *name, antler_simulate_opts *opts)
{
    const antler_system_info *system = NULL;
    antler_status status = antler_system_find(name, &system);
    if (status == ANTLER_OK)
        status = antler_simulate_opts_default(name, opts);
    if (status != ANTLER_OK)
        return cli_fail(status);
    if (s->length != SIZE_MAX)
        opts->length = s->length;
    if (!isnan(s->dt))
        opts->dt = s->dt;
    if (!isnan(s->transient))
        opts->transient = s->transient;
    if (!isnan(s->noise))
        opts->noise = s->noise;
    if (!isnan(s->tolerance))
        opts->tolerance = s->tolerance;
    if (!isnan(s->t0)) {
        opts->has_t0 = true;
        opts->t0 = s->t0;
    }
    opts->seed = s->seed;
    opts->all_variables = s->all_variables;
    opts->standardise = strcmp(s->standardise, "on") == 0;
    if (s->initial != NULL) {
        const int code = read_initial(s, system, opts);
        if (code != CLI_DONE)
            return code;
    }
    return set_parameters(&s->parameters, opts);
}

static int write_one(const settings *s, antler_simulate_opts *opts, const char *path)
{
    cli_progress progress;
    antler_series *series = NULL;
    opts->progress = cli_progress_begin(&progress, s->quiet);
    antler_status status = antler_simulate(opts, &series);
    cli_progress_end(&progress);
    if (status == ANTLER_OK)
        status = antler_series_save(series, path);
    if (status == ANTLER_OK && !s->quiet) {
        printf("%s: %s, %zu x %zu, dt %g", path, opts->system, antler_series_length(series, 0),
               antler_series_dim(series), opts->dt);
        if (opts->noise > 0.0)
            printf(", noise %g %%", 100.0 * opts->noise);
        printf("%s, seed %llu\n", opts->standardise ? ", standardised" : "", (unsigned long long)opts->seed);
    }
    antler_series_free(series);
    return status == ANTLER_OK ? CLI_DONE : cli_fail(status);
}

/* "folder/name.npy" -> "folder/name_train.npy" */
static bool insert_before_ending(const char *path, const char *part, char *out, size_t bytes)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash == NULL ? path : slash, '.');
    const size_t stem = dot == NULL ? strlen(path) : (size_t)(dot - path);
    const int length = snprintf(out, bytes, "%.*s%s%s", (int)stem, path, part, path + stem);
    return length > 0 && (size_t)length < bytes;
}

static int write_pair(const settings *s, antler_simulate_opts *opts)
{
    char train[4096], test[4096];
    if (!insert_before_ending(s->out, "_train", train, sizeof train) ||
        !insert_before_ending(s->out, "_test", test, sizeof test))
        return cli_usage_error("--out: the name is too long");
    if (s->initial != NULL || !isnan(s->t0))
        return cli_usage_error(
            "--pair draws two different starts from the seed; leave out --initial and --t0");
    if (s->seed >= test_seed_offset)
        return cli_usage_error("--seed: with --pair it must be below 2^63");
    if (isnan(s->noise))
        opts->noise = 0.05;
    const int code = write_one(s, opts, train);
    if (code != CLI_DONE)
        return code;
    opts->noise = 0.0;
    opts->seed += test_seed_offset;
    return write_one(s, opts, test);
}

static int run(const cli_command *self, int argc, char **argv)
{
    settings s = {.length = SIZE_MAX,
                  .dt = NAN,
                  .transient = NAN,
                  .t0 = NAN,
                  .noise = NAN,
                  .tolerance = NAN,
                  .standardise = "on",
                  .seed = 1};
    size_t count = 0;
    int code = CLI_DONE;
    if (!cli_parse(self, argc, argv, &s, &count, &code))
        return code;
    if (s.list)
        return list_systems(count > 0 ? argv[0] : NULL);
    if (count == 0)
        return cli_usage_error(
            "'antler simulate' needs the name of a system; 'antler simulate --list' explains them");
    antler_simulate_opts opts;
    code = fill_opts(&s, argv[0], &opts);
    if (code != CLI_DONE)
        return code;
    if (s.out == NULL)
        return cli_usage_error("'antler simulate' needs --out FILE, for example --out %s.npy", opts.system);
    return s.pair ? write_pair(&s, &opts) : write_one(&s, &opts, s.out);
}

static const char *complete(size_t index)
{
    const antler_system_info *system = antler_system_at(index);
    return system == NULL ? NULL : system->name;
}

const cli_command cli_simulate = {
    .name = "simulate",
    .summary = "simulate a built-in dynamical system and write its orbit",
    .arguments = "SYSTEM",
    .description =
        "Integrate a built-in system with an adaptive Runge-Kutta 5(4) method, sample it every dt, add noise "
        "and "
        "standardise, and write the orbit to a file.\n\n'antler simulate --list' explains the systems, their "
        "equations, parameters and defaults.",
    .examples = "  $ antler simulate lorenz63 --length 100000 --noise 0.05 --seed 1 --out train.npy\n"
                "  $ antler simulate lorenz96 --pair --out lorenz96.npz\n"
                "  $ antler simulate lorenz63 --param rho=24 --out other.csv\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .maximum = 1,
    .complete = complete,
    .run = run,
};
