/* settings_check.c - checks of settings, of their combinations, and of the data, before any work begins. */
#include "train/settings.h"

#include "base/sized.h"
#include "data/excerpt.h"
#include "data/missing.h"
#include "measure/validation.h"
#include "model/kind.h"
#include "train/forcing_rule.h"
#include "train/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bounds also hold for fields that a program has set. */
static antler_status check_each(const antler_settings *s)
{
    ANT_TRY(ant_settings_are_readable(s));
    for (size_t i = 0; i < ant_setting_count(); i++) {
        const ant_setting *setting = ant_setting_at(i);
        char text[ANT_SETTING_TEXT_MAX];
        antler_settings scratch;
        if (setting->kind != ANT_SETTING_CHOICE && setting->kind != ANT_SETTING_TEXT &&
            setting->kind != ANT_SETTING_PATHS && setting->kind != ANT_SETTING_BOOL) {
            ant_setting_print(setting, s, text);
            ANT_TRY(ant_setting_store(setting, text, &scratch));
        }
    }
    return ANTLER_OK;
}

/* Experiment and name become one folder each. */
static antler_status check_folder(const char *setting, const char *text)
{
    char shown[ANT_EXCERPT_ROOM];
    ANT_CHECK(text[0] != '\0' && strpbrk(text, "/\n") == NULL && strcmp(text, ".") != 0 &&
                  strcmp(text, "..") != 0,
              ANTLER_ERROR_ARGUMENT, "%s: '%s' cannot be the name of one folder", setting,
              ant_excerpt(text, strlen(text), shown));
    return ANTLER_OK;
}

/* Settings that not every kind of model has, by name, and the reason why the others do not. */
enum {
    SHPLRNN = 1 << ANTLER_MODEL_SHPLRNN,
    LSSM = 1 << ANTLER_MODEL_LSSM,
    MAMBA2 = 1 << ANTLER_MODEL_MAMBA2,
    NEWTON = 1 << 30 /* any model that deer solves */
};

typedef struct limited {
    const char *name;
    unsigned models;     /* that have it */
    const char *instead; /* "a lssm ..." */
} limited;

static const char no_matrix[] = "has no W", no_forcing[] = "reads the data directly and is not forced",
                  no_newton[] = "is linear in its state and solved by one scan",
                  no_units[] = "has no units to regularise", no_readout[] = "has no readout of this kind",
                  no_diagonal[] = "has no diagonal A of this kind",
                  own_start[] = "has the initial values of its authors",
                  no_intake[] = "is forced by the data and does not take them in";

static const limited limited_settings[] = {
    {"rank", SHPLRNN, no_matrix},
    {"clipped", SHPLRNN, no_matrix},
    {"diagonal", SHPLRNN | LSSM, no_diagonal},
    {"kappa", SHPLRNN | LSSM, own_start},
    {"initialise_A", SHPLRNN | LSSM, own_start},
    {"initialise_weights", SHPLRNN | LSSM, own_start},
    {"initialise_B", SHPLRNN, no_readout},
    {"gtf_alpha", SHPLRNN, no_forcing},
    {"gtf_alpha_method", SHPLRNN, no_forcing},
    {"gtf_alpha_interval", SHPLRNN, no_forcing},
    {"gtf_alpha_decay", SHPLRNN, no_forcing},
    {"gtf_alpha_schedule", SHPLRNN, no_forcing},
    {"gtf_alpha_end", SHPLRNN, no_forcing},
    {"forcing_interval", SHPLRNN, no_forcing},
    {"forcing_interval_method", SHPLRNN, no_forcing},
    {"lyapunov_exponent", SHPLRNN, no_forcing},
    {"teacher", SHPLRNN, no_forcing},
    {"adjoint", SHPLRNN, no_newton},
    {"start", SHPLRNN, no_newton},
    {"tolerance", SHPLRNN | NEWTON, no_newton},
    {"max_iterations", SHPLRNN | NEWTON, no_newton},
    {"fallback", SHPLRNN | NEWTON, no_newton},
    {"segments", SHPLRNN | NEWTON, no_newton},
    {"sampling_start", LSSM | MAMBA2, no_intake},
    {"sampling_end", LSSM | MAMBA2, no_intake},
    {"MAR_lambda", SHPLRNN | LSSM, no_units},
    {"MAR_p", SHPLRNN | LSSM, no_units},
    {"MAR_initial_scale", SHPLRNN, no_matrix},
    {"regularised_units", SHPLRNN | LSSM, no_units},
    {"readout_lambda", SHPLRNN, no_readout},
    {"singular_lambda", SHPLRNN, no_readout},
    {"latent_lambda", SHPLRNN, no_matrix},
    {"observation_lambda", SHPLRNN, no_readout},
    {"condition_lambda", SHPLRNN, no_readout},
};

/* Defaults of earlier versions, which config.yaml of their runs has. */
#define FORMER_KAPPA 0.9995
#define FORMER_ALPHA 0.15

static bool has_former_default(const char *name, const antler_settings *s)
{
    return (strcmp(name, "kappa") == 0 && s->kappa == FORMER_KAPPA) ||
           (strcmp(name, "gtf_alpha") == 0 && s->gtf_alpha == FORMER_ALPHA);
}

static bool model_has(const limited *l, const antler_settings *s)
{
    const bool newton = (l->models & NEWTON) != 0 && s->solver == ANTLER_SOLVER_DEER;
    return newton || (l->models >> s->model & 1u) != 0 || has_former_default(l->name, s);
}

/* scan is for models that are linear in their state, and without scheduled sampling they have no other. */
static antler_status check_solver(const antler_settings *s, const ant_model_kind *kind)
{
    const bool general = s->solver == ANTLER_SOLVER_AUTO || s->solver == ANTLER_SOLVER_REFERENCE,
               newton =
                   s->solver == ANTLER_SOLVER_DEER && s->model == ANTLER_MODEL_LSSM && ant_settings_sample(s);
    ANT_CHECK(general || newton || (s->solver == ANTLER_SOLVER_SCAN) == !kind->forced, ANTLER_ERROR_ARGUMENT,
              kind->forced
                  ? "solver: scan is for models that are linear in their state, and a %s is not; take "
                    "auto"
                  : "solver: this one is for the shplrnn; a %s is linear in its state, so take auto, "
                    "scan or reference",
              kind->name);
    ANT_CHECK(s->solver != ANTLER_SOLVER_SCAN || !ant_settings_sample(s), ANTLER_ERROR_ARGUMENT,
              "solver: scan cannot do scheduled sampling, where a %s takes its own predictions in; take "
              "auto%s",
              kind->name, s->model == ANTLER_MODEL_LSSM ? " or deer" : "");
    return ANTLER_OK;
}

/* A setting that the model does not have must have its default: it would have no effect. */
static antler_status check_kind(const antler_settings *s)
{
    const ant_model_kind *kind = ant_model_kind_of((ant_model_id)s->model);
    antler_settings standard;
    antler_settings_default(&standard);
    for (size_t i = 0; i < sizeof limited_settings / sizeof limited_settings[0]; i++) {
        const limited *l = &limited_settings[i];
        const ant_setting *setting = NULL;
        ANT_TRY(ant_setting_find(l->name, &setting));
        if (model_has(l, s) || ant_setting_equal(setting, s, &standard))
            continue;
        char value[ANT_SETTING_TEXT_MAX];
        ant_setting_print(setting, s, value);
        return ant_fail(
            ANTLER_ERROR_ARGUMENT,
            "%s is %.40s, which does nothing with model: %s, because it %s; leave the setting out", l->name,
            value, kind->name, l->instead);
    }
    return check_solver(s, kind);
}

/* A kappa that no initial value depends on would have no effect. */
static antler_status check_initialisation(const antler_settings *s)
{
    const ant_initialisation how = ant_settings_initialisation(s);
    if (s->kappa == 0.0 || s->kappa == FORMER_KAPPA)
        return ANTLER_OK;
    ANT_CHECK(ant_initialisation_uses_kappa(&how), ANTLER_ERROR_ARGUMENT,
              "kappa is %g, which does nothing with %s; leave one of them out", s->kappa,
              s->initialisation == ANTLER_INITIALISATION_STANDARD
                  ? "initialisation: standard"
                  : "initialise_A: random and initialise_weights: uniform");
    return ANTLER_OK;
}

/* One rule for the strength of forcing: constant, by schedule, estimated, or sparse. */
static antler_status check_forcing(const antler_settings *s)
{
    const bool estimated = s->gtf_alpha_method != ANTLER_ALPHA_CONSTANT,
               scheduled = s->gtf_alpha_schedule != ANTLER_ALPHA_SCHEDULE_CONSTANT,
               predicted = s->forcing_interval_method == ANTLER_INTERVAL_PREDICTABILITY;
    ANT_CHECK(!estimated || !scheduled, ANTLER_ERROR_ARGUMENT,
              "gtf_alpha_schedule does nothing where gtf_alpha_method estimates the strength; leave one of "
              "them out");
    ANT_CHECK(
        !ant_forcing_is_sparse(s) || (!estimated && !scheduled), ANTLER_ERROR_ARGUMENT,
        "%s does nothing with sparse forcing, whose strength is 0 or 1; leave it or forcing_interval out",
        estimated ? "gtf_alpha_method" : "gtf_alpha_schedule");
    ANT_CHECK(scheduled || s->gtf_alpha_end == 0.0, ANTLER_ERROR_ARGUMENT,
              "gtf_alpha_end is %g, which does nothing with gtf_alpha_schedule: constant; set a schedule",
              s->gtf_alpha_end);
    ANT_CHECK(
        s->gtf_alpha_schedule != ANTLER_ALPHA_SCHEDULE_EXPONENTIAL ||
            (s->gtf_alpha > 0.0 && s->gtf_alpha_end > 0.0),
        ANTLER_ERROR_ARGUMENT,
        "gtf_alpha_schedule: exponential needs gtf_alpha and gtf_alpha_end above 0; take linear or cosine");
    ANT_CHECK(!predicted || s->lyapunov_exponent > 0.0, ANTLER_ERROR_ARGUMENT,
              "forcing_interval_method: predictability needs lyapunov_exponent, above 0");
    ANT_CHECK(predicted || s->lyapunov_exponent == 0.0, ANTLER_ERROR_ARGUMENT,
              "lyapunov_exponent is %g, which does nothing without forcing_interval_method: predictability",
              s->lyapunov_exponent);
    return ANTLER_OK;
}

/* What the GPU does not offer; `auto` takes the CPU. */
static antler_status check_device(const antler_settings *s)
{
    if (s->device != ANTLER_DEVICE_CUDA)
        return ANTLER_OK;
    ANT_CHECK(s->solver != ANTLER_SOLVER_REFERENCE, ANTLER_ERROR_ARGUMENT,
              "solver: reference is plain loops on one thread of the CPU; use device: cpu with it");
    ANT_CHECK(s->adjoint == ANTLER_ADJOINT_FULL, ANTLER_ERROR_ARGUMENT,
              "adjoint: diagonal is not on the GPU, whose gradient is exact; use device: cpu with it");
    ANT_CHECK(!ant_settings_sample(s), ANTLER_ERROR_ARGUMENT,
              "scheduled sampling (sampling_start, sampling_end) is not on the GPU; use device: cpu with it");
    return ANTLER_OK;
}

static antler_status check_model(const antler_settings *s)
{
    ANT_TRY(check_kind(s));
    ANT_TRY(check_initialisation(s));
    ANT_TRY(check_forcing(s));
    ANT_TRY(check_device(s));
    ANT_CHECK(
        s->model != ANTLER_MODEL_MAMBA2 || s->latent_dim % 4 == 0, ANTLER_ERROR_ARGUMENT,
        "latent_dim is %zu, but a mamba2 divides it among its heads, so it must be a multiple of 4; the "
        "paper has 16 and 32",
        s->latent_dim);
    const size_t smaller = s->latent_dim < s->hidden_dim ? s->latent_dim : s->hidden_dim;
    ANT_CHECK(s->rank <= smaller, ANTLER_ERROR_ARGUMENT,
              "rank is %zu, above min(latent_dim, hidden_dim) = %zu; lower it, or 0 for the full W", s->rank,
              smaller);
    ANT_CHECK(s->regularised_units <= s->latent_dim, ANTLER_ERROR_ARGUMENT,
              "regularised_units is %zu, but there are only latent_dim = %zu units", s->regularised_units,
              s->latent_dim);
    ANT_CHECK(s->regularised_units > 0 || s->MAR_lambda == 0.0, ANTLER_ERROR_ARGUMENT,
              "MAR_lambda is %g, but regularised_units is 0; set it to the number of units", s->MAR_lambda);
    ANT_CHECK(s->regularised_units > 0 || s->readout_lambda == 0.0, ANTLER_ERROR_ARGUMENT,
              "readout_lambda is %g, but regularised_units is 0; set it to the number of units",
              s->readout_lambda);
    return ANTLER_OK;
}

static antler_status check_missing(const antler_settings *s)
{
    antler_settings standard;
    antler_settings_default(&standard);
    ANT_CHECK(
        s->missing == ANTLER_MISSING_INTERPOLATE || s->missing_interpolate == standard.missing_interpolate,
        ANTLER_ERROR_ARGUMENT,
        "missing_interpolate is %zu, which does nothing without missing: interpolate; leave one of them out",
        s->missing_interpolate);
    return ANTLER_OK;
}

static antler_status check_optimisation(const antler_settings *s)
{
    ANT_CHECK(s->schedule != ANTLER_SCHEDULE_EXPONENTIAL || s->end_lr > 0.0, ANTLER_ERROR_ARGUMENT,
              "end_lr is 0, which an exponential schedule never reaches; set it above 0 or take cosine");
    ANT_CHECK(s->schedule == ANTLER_SCHEDULE_CONSTANT || s->end_lr <= s->start_lr, ANTLER_ERROR_ARGUMENT,
              "end_lr is %g, above start_lr = %g; the learning rate falls", s->end_lr, s->start_lr);
    ANT_CHECK(s->warmup < s->sequence_length, ANTLER_ERROR_ARGUMENT,
              "warmup is %zu, but it must be below sequence_length = %zu: the loss needs at least one step",
              s->warmup, s->sequence_length);
    ANT_CHECK(s->adjoint == ANTLER_ADJOINT_FULL || s->solver == ANTLER_SOLVER_QUASI_DEER,
              ANTLER_ERROR_ARGUMENT,
              "adjoint: diagonal is for solver: quasi-deer only; the other solvers have an exact adjoint");
    ANT_CHECK(s->segments <= 1 ||
                  (s->solver != ANTLER_SOLVER_SEQUENTIAL && s->solver != ANTLER_SOLVER_REFERENCE),
              ANTLER_ERROR_ARGUMENT,
              "segments is %zu, which does nothing with this solver: it does not cut time; leave the setting "
              "out or take solver: auto",
              s->segments);
    ANT_CHECK(s->segments <= s->sequence_length, ANTLER_ERROR_ARGUMENT,
              "segments is %zu, above sequence_length = %zu; a segment has at least one step", s->segments,
              s->sequence_length);
    return ANTLER_OK;
}

bool ant_settings_validate(const antler_settings *s)
{
    return s->validation > 0.0 || s->validation_data[0] != '\0';
}

double ant_settings_share(const antler_settings *s)
{
    return s->validation_data[0] != '\0' ? 0.0 : s->validation;
}

static antler_status check_validation(const antler_settings *s)
{
    ANT_CHECK(s->validation_interval == 0 || ant_settings_validate(s), ANTLER_ERROR_ARGUMENT,
              "validation_interval is %zu, which does nothing without held-back rows; set validation to a "
              "share such as 0.2",
              s->validation_interval);
    return ANTLER_OK;
}

/* The share leaves enough rows at the end of the longest trajectory. */
static antler_status check_share(const antler_settings *s, size_t longest, size_t dim)
{
    const double share = ant_settings_share(s);
    const size_t needed = ant_validation_rows_needed(dim), held = ant_series_last_rows(longest, share);
    const double enough = ceil(100.0 * (double)needed / (double)longest) / 100.0;
    char remedy[64] = "0, because more than half of the rows would be held back";
    if (enough <= 0.5)
        snprintf(remedy, sizeof remedy, "%g or more, or to 0 for no validation", enough);
    ANT_CHECK(
        share == 0.0 || held >= needed, ANTLER_ERROR_ARGUMENT,
        "validation is %g, which holds back %zu rows of the longest trajectory, and %zu are needed; set "
        "it to %s",
        share, held, needed, remedy);
    return ANTLER_OK;
}

static antler_status check_series(const antler_settings *s, const antler_series *series)
{
    size_t whole = 0;
    ANT_CHECK(
        s->initialise_B != ANTLER_INITIAL_B_IDENTITY || s->latent_dim >= antler_series_dim(series),
        ANTLER_ERROR_ARGUMENT,
        "initialise_B: identity needs a latent unit for each of the %zu variables, but latent_dim is %zu; "
        "take orthonormal or kaiming",
        antler_series_dim(series), s->latent_dim);
    for (size_t i = 0; i < antler_series_count(series); i++) {
        const size_t length = antler_series_length(series, i);
        whole = length > whole ? length : whole;
    }
    ANT_TRY(check_share(s, whole, antler_series_dim(series)));
    const size_t longest = whole - ant_series_last_rows(whole, ant_settings_share(s));
    ANT_CHECK(longest > s->sequence_length, ANTLER_ERROR_ARGUMENT,
              "sequence_length is %zu, so a window takes %zu rows, but the longest trajectory has %zu%s; set "
              "sequence_length to at most %zu",
              s->sequence_length, s->sequence_length + 1, longest,
              longest < whole ? " without those held back for validation" : "",
              longest > 0 ? longest - 1 : 0);
    if (s->validation > 0.0 || s->validation_data[0] != '\0')
        ANT_TRY(ant_series_check_squares(series));
    return s->missing == ANTLER_MISSING_REFUSE
               ? antler_series_check(series, 1)
               : ant_series_check_gaps(series, 1, s->missing != ANTLER_MISSING_MASK);
}

static bool describe_unused(const antler_settings *s, const antler_series *series, char *text, size_t bytes)
{
    enum { MOST = 5 };
    const double share = ant_settings_share(s);
    const size_t count = antler_series_count(series);
    size_t unused = 0, used = 0;
    char names[512] = "";
    for (size_t i = 0; i < count; i++) {
        const size_t length = antler_series_length(series, i),
                     rows = length - ant_series_last_rows(length, share);
        if (rows > s->sequence_length)
            continue;
        if (unused++ >= MOST)
            continue;
        const char *origin = antler_series_origin(series, i);
        const int room = (int)sizeof names - (int)used;
        const int more = snprintf(names + used, sizeof names - used, "%s%.80s%strajectory %zu (%zu rows)",
                                  unused == 1 ? "" : ", ", origin, origin[0] == '\0' ? "" : " ", i + 1, rows);
        used += (size_t)(more < room ? more : room - 1);
    }
    if (unused > 0)
        snprintf(
            text, bytes,
            "%zu of %zu trajectories do%s not contribute, because a window takes %zu rows%s: %s%s; a shorter "
            "sequence_length uses them",
            unused, count, unused == 1 ? "es" : "", s->sequence_length + 1,
            share > 0.0 ? " besides those held back" : "", names, unused > MOST ? ", ..." : "");
    return unused > 0;
}

bool antler_settings_unused(const antler_settings *settings, const antler_series *series, char *text,
                            size_t bytes)
{
    if (settings == NULL || series == NULL || text == NULL || bytes == 0)
        return false;
    text[0] = '\0';
    antler_settings own;
    antler_settings_default(&own);
    if (ant_sized_known(settings->struct_size, sizeof own))
        ant_sized_copy(settings, settings->struct_size, &own, sizeof own);
    return describe_unused(&own, series, text, bytes);
}

antler_status antler_settings_check(const antler_settings *settings, const antler_series *series)
{
    ANT_NEED(settings != NULL);
    ANT_OPTIONS(antler_settings, settings);
    ANT_TRY(check_each(settings));
    ANT_TRY(check_folder("experiment", settings->experiment));
    ANT_TRY(check_folder("name", settings->name));
    ANT_TRY(check_model(settings));
    ANT_TRY(check_missing(settings));
    ANT_TRY(check_optimisation(settings));
    ANT_TRY(check_validation(settings));
    return series == NULL ? ANTLER_OK : check_series(settings, series);
}

/* Load the files of a list of paths, one per line. */
static antler_status load_files(const antler_settings *settings, const char *list, antler_series **series)
{
    const char *patterns[ANT_SETTING_TEXT_MAX / 2];
    size_t count = 0;
    antler_load_opts opts;
    antler_load_opts_default(&opts);
    opts.transpose = settings->transpose;
    opts.columns = settings->columns[0] == '\0' ? NULL : settings->columns;
    opts.inputs = settings->inputs[0] == '\0' ? NULL : settings->inputs;
    opts.dt = settings->dt;
    opts.max_bytes = settings->max_bytes;
    opts.missing_values = settings->missing_values[0] == '\0' ? NULL : settings->missing_values;
    opts.time = settings->time[0] == '\0' ? NULL : settings->time;
    opts.resample = settings->resample[0] == '\0' ? NULL : settings->resample;
    opts.resample_method = settings->resample_method;
    opts.subject = settings->subject[0] == '\0' ? NULL : settings->subject;
    opts.key = settings->key[0] == '\0' ? NULL : settings->key;
    char *paths = strdup(list);
    if (paths == NULL)
        return ant_fail_memory(strlen(list), "file names");
    char *rest = NULL;
    antler_status status = ANTLER_OK;
    for (char *path = strtok_r(paths, "\n", &rest); path != NULL; path = strtok_r(NULL, "\n", &rest)) {
        patterns[count++] = path;
        if (strcmp(path, "-") == 0)
            status = ant_fail(
                ANTLER_ERROR_ARGUMENT,
                "data: a training reads its data more than once, and '-' can be read only once; write "
                "it to a file");
    }
    if (status == ANTLER_OK)
        status = antler_series_load(patterns, count, &opts, series);
    free(paths);
    return status;
}

/* The rows of `holdout` leave enough at the end of the longest trajectory to measure a model on. */
static antler_status check_holdout(const antler_settings *s, const antler_series *series)
{
    const size_t longest = antler_series_length(series, ant_series_longest(series));
    const size_t needed = ant_validation_rows_needed(antler_series_dim(series));
    const size_t held = ant_series_last_rows(longest, s->holdout);
    ANT_CHECK(held >= needed, ANTLER_ERROR_ARGUMENT,
              "holdout is %g, which keeps %zu rows of the longest trajectory, and %zu are needed; set it "
              "higher, or "
              "to 0 and name files in test_data",
              s->holdout, held, needed);
    return ANTLER_OK;
}

antler_status antler_settings_series(const antler_settings *settings, antler_series **series)
{
    ANT_NEED(settings != NULL && series != NULL);
    ANT_OPTIONS(antler_settings, settings);
    ANT_TRY(ant_settings_are_readable(settings));
    ANT_CHECK(settings->data[0] != '\0', ANTLER_ERROR_ARGUMENT,
              "the settings name no data; add a line such as 'data: train.npy'");
    antler_series *loaded = NULL;
    ANT_TRY(load_files(settings, settings->data, &loaded));
    antler_status status = ANTLER_OK;
    if (settings->holdout > 0.0 && settings->test_data[0] == '\0')
        status = check_holdout(settings, loaded);
    if (status != ANTLER_OK) {
        antler_series_free(loaded);
        return status;
    }
    if (settings->holdout > 0.0 && settings->test_data[0] == '\0')
        ant_series_keep(loaded, settings->holdout, false);
    *series = loaded;
    return ANTLER_OK;
}

antler_status antler_settings_test(const antler_settings *settings, antler_series **series)
{
    ANT_NEED(settings != NULL && series != NULL);
    ANT_OPTIONS(antler_settings, settings);
    ANT_TRY(ant_settings_are_readable(settings));
    *series = NULL;
    if (settings->test_data[0] != '\0') {
        const antler_status status = load_files(settings, settings->test_data, series);
        return status == ANTLER_OK ? ANTLER_OK : ant_fail_within(status, "test_data");
    }
    if (settings->holdout == 0.0 || settings->data[0] == '\0')
        return ANTLER_OK;
    ANT_TRY(load_files(settings, settings->data, series));
    ant_series_keep(*series, settings->holdout, true);
    return ANTLER_OK;
}

antler_status ant_settings_validation_series(const antler_settings *settings, antler_series **series)
{
    return load_files(settings, settings->validation_data, series);
}
