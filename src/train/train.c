/* train.c - training on disk: new runs, and runs that resume. */
#include "base/sized.h"
#include "comm/comm.h"
#include "train/folder.h"
#include "train/problem.h"
#include "train/ranks_of_training.h"
#include "train/settings.h"

#include "base/machine.h"
#include "base/path.h"
#include "data/notes.h"

#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The runs of one call and their folders. */
typedef struct job {
    antler_trainer *trainer;
    char base[ANT_PATH_MAX];
    size_t only; /* the requested run; 0: all */
    size_t first, last;
    bool resume, overwrite; /* what happens to runs that exist; neither: an error */
    double lease;           /* seconds; 0: not shared with other processes */
    pthread_mutex_t mutex;  /* of `prepared` */
    bool prepared;          /* all runs have folders */
    ant_folder *folders;    /* (runs of the trainer); locks are held to the end of the call */
    ant_notes notes;        /* on the data; reported once nothing can be refused any more */
    ant_comm *comm;         /* the ranks of this call; NULL: none */
    bool together; /* they share each run, and rank 0 has the folders; else each has runs of its own */
} job;

/* Whether this rank reads and writes the folders of first .. last. */
static bool has_folders(const job *s)
{
    return !s->together || ant_comm_rank(s->comm) == 0;
}

static ant_folder *folder_of(void *cookie, const ant_run *run)
{
    return &((job *)cookie)->folders[run->number - 1];
}

/* Runs of a shared training are taken one by one, when there is room to train them. */
static antler_status on_claim(void *cookie, ant_run *run)
{
    const job *s = cookie;
    ant_folder_owner owner = ANT_OWNER_SELF;
    char path[ANT_PATH_MAX];
    run->elsewhere = run->before = false;
    if (s->lease == 0.0)
        return ANTLER_OK;
    ANT_TRY(ant_folder_name(s->base, run->number, path));
    ANT_TRY(ant_path_make_folders(path));
    ANT_TRY(ant_folder_claim(folder_of(cookie, run), path, s->lease, false, &owner));
    run->elsewhere = owner == ANT_OWNER_OTHER;
    run->before = owner == ANT_OWNER_NONE_ENDED;
    return ANTLER_OK;
}

static antler_status on_open(void *cookie, ant_run *run)
{
    job *s = cookie;
    char path[ANT_PATH_MAX];
    bool is_run = false;
    ANT_TRY(ant_folder_name(s->base, run->number, path));
    ANT_TRY(ant_folder_is_run(path, &is_run));
    pthread_mutex_lock(&s->mutex);
    const bool later = !s->prepared && !(s->resume && is_run);
    pthread_mutex_unlock(&s->mutex);
    if (later || folder_of(cookie, run)->log != NULL)
        return ANTLER_OK;
    return ant_folder_open(folder_of(cookie, run), s->trainer, run);
}

/* Refuse runs that exist and folders that cannot be made, before anything is changed or a GPU is started. */
static antler_status check_folders(const job *s)
{
    for (size_t i = s->first; i <= s->last; i++) {
        char path[ANT_PATH_MAX];
        bool is_run = false;
        ANT_TRY(ant_folder_name(s->base, i, path));
        ANT_TRY(ant_folder_may_begin(path));
        ANT_TRY(ant_folder_is_run(path, &is_run));
        ANT_CHECK(s->resume || s->overwrite || !is_run, ANTLER_ERROR_ARGUMENT,
                  "%s: this run exists; --resume continues it, --overwrite replaces it, and "
                  "another name keeps it",
                  path);
    }
    return ANTLER_OK;
}

/* Take the locks of all runs; `make`: also of those whose folders do not exist yet. */
static antler_status lock_folders(job *s, bool make)
{
    for (size_t i = s->first; i <= s->last; i++) {
        char path[ANT_PATH_MAX];
        bool exists = false;
        ANT_TRY(ant_folder_name(s->base, i, path));
        if (make)
            ANT_TRY(ant_folder_make(&s->folders[i - 1], path));
        else
            ANT_TRY(ant_path_exists(path, &exists));
        if (exists)
            ANT_TRY(ant_folder_lock(&s->folders[i - 1], path));
    }
    return ANTLER_OK;
}

/* Make the folders of those runs that have none yet, or of all. */
static antler_status prepare_folders(job *s)
{
    ANT_TRY(lock_folders(s, true));
    ANT_TRY(check_folders(s)); /* another process may have made runs before the locks were taken */
    for (size_t i = s->first; i <= s->last; i++) {
        const char *path = s->folders[i - 1].path;
        bool is_run = false;
        ANT_TRY(ant_folder_is_run(path, &is_run));
        if (!s->resume || !is_run)
            ANT_TRY(ant_folder_begin(path, &s->trainer->settings));
    }
    return ANTLER_OK;
}

/* The same for one run of a shared training, which this process has taken. */
static antler_status prepare_folder(const job *s, const char *path)
{
    bool is_run = false;
    ANT_TRY(ant_folder_is_run(path, &is_run));
    return is_run ? ANTLER_OK : ant_folder_begin(path, &s->trainer->settings);
}

static antler_status on_prepare(void *cookie, const ant_run *run)
{
    job *s = cookie;
    if (s->lease > 0.0)
        return prepare_folder(s, folder_of(cookie, run)->path);
    pthread_mutex_lock(&s->mutex);
    const antler_status status = s->prepared ? ANTLER_OK : prepare_folders(s);
    s->prepared = s->prepared || status == ANTLER_OK;
    pthread_mutex_unlock(&s->mutex);
    return status;
}

/* A run that closes without an outcome, because the device gives it up to the CPU, stays taken. */
static void on_close(void *cookie, ant_run *run)
{
    const job *s = cookie;
    ant_folder *folder = folder_of(cookie, run);
    const bool ended = run->status == ANTLER_DIVERGED ||
                       (run->status == ANTLER_OK && run->update == s->trainer->settings.updates);
    ant_folder_close(folder);
    if (s->lease == 0.0)
        return;
    run->elsewhere = folder->lease != NULL && ant_lease_is_lost(folder->lease);
    if (ended || run->status != ANTLER_OK)
        ant_folder_yield(folder, ended);
}

static antler_status on_row(void *cookie, const ant_run *run, const antler_train_row *row)
{
    return ant_folder_row(folder_of(cookie, run), row);
}

static antler_status on_save(void *cookie, const ant_run *run)
{
    return ant_folder_save(folder_of(cookie, run), ((job *)cookie)->trainer, run);
}

static antler_status on_diverged(void *cookie, const ant_run *run)
{
    return ant_folder_diverged(folder_of(cookie, run), ((job *)cookie)->trainer, run);
}

static const char *on_folder(void *cookie, const ant_run *run)
{
    return folder_of(cookie, run)->path;
}

/* What loading found, and the trajectories that no window fits into. */
static antler_status collect_notes(job *s, const antler_settings *settings, const antler_series *series)
{
    enum { MOST = 12 };
    char text[1024];
    const size_t notes = antler_series_note_count(series);
    for (size_t i = 0; i < notes && i < MOST; i++)
        ANT_TRY(ant_notes_add(&s->notes, "%s", antler_series_note(series, i)));
    if (notes > MOST)
        ANT_TRY(ant_notes_add(&s->notes, "and %zu more; 'antler info FILE' has all", notes - MOST));
    if (antler_settings_unused(settings, series, text, sizeof text))
        ANT_TRY(ant_notes_add(&s->notes, "%s", text));
    return ANTLER_OK;
}

/* Which runs are this rank's, and settings that follow from the number of ranks. */
static void divide(job *s, antler_settings *settings)
{
    const size_t rank = ant_comm_rank(s->comm), ranks = ant_comm_size(s->comm), runs = s->last - s->first + 1;
    if (s->comm == NULL)
        return;
    s->together = runs < ranks && ant_settings_can_share(settings);
    if (s->together && settings->device == ANTLER_DEVICE_AUTO)
        settings->device = ANTLER_DEVICE_CPU;
    ant_settings_resolve_ranks(
        settings, settings->threads > 0 ? ranks * settings->threads : ant_comm_all_threads(s->comm),
        s->together);
    if (settings->threads == 0)
        settings->threads = ant_comm_threads(s->comm);
    if (s->together)
        return;
    const size_t first = s->first;
    s->first = first + ant_comm_begin(runs, rank, ranks);
    s->last = first + ant_comm_begin(runs, rank + 1, ranks) - 1;
}

/* Load and check everything that can be wrong before anything is written. */
static antler_status load_and_check(job *s, const antler_settings *own, const antler_series *given)
{
    antler_series *loaded = NULL;
    antler_settings divided = *own;
    const antler_settings *settings = &divided;
    divide(s, &divided);
    ANT_TRY(antler_settings_check(settings, NULL));
    if (given == NULL)
        ANT_TRY(antler_settings_series(settings, &loaded));
    antler_status status = antler_trainer_create(settings, given == NULL ? loaded : given, &s->trainer);
    if (status == ANTLER_OK)
        status = collect_notes(s, settings, given == NULL ? loaded : given);
    if (status == ANTLER_OK && s->first > s->last && !s->together)
        status = ant_notes_add(&s->notes, "this rank has no run: there are more ranks than runs, and %s",
                               settings->device == ANTLER_DEVICE_CUDA ? "a GPU trains whole runs"
                                                                      : "this solver is not shared by ranks");
    if (status == ANTLER_OK) {
        s->trainer->ranks = ant_comm_size(s->comm);
        s->trainer->comm = s->together ? s->comm : NULL;
    }
    antler_series_free(loaded);
    if (status != ANTLER_OK)
        return status;
    ANT_CHECK(pthread_mutex_init(&s->mutex, NULL) == 0, ANTLER_ERROR_MEMORY, "a mutex could not be made");
    s->folders = calloc(settings->runs, sizeof *s->folders);
    if (s->folders == NULL) {
        pthread_mutex_destroy(&s->mutex);
        return ant_fail_memory(settings->runs * sizeof *s->folders, "the folders of runs");
    }
    return ANTLER_OK;
}

static antler_status work(job *s, const antler_train_events *events, antler_train_result *result)
{
    const ant_run_hooks hooks = {.cookie = s,
                                 .claim = on_claim,
                                 .open = on_open,
                                 .prepare = on_prepare,
                                 .close = on_close,
                                 .row = on_row,
                                 .save = on_save,
                                 .diverged = on_diverged,
                                 .folder = on_folder};
    antler_train_result counts = {.struct_size = sizeof counts, .run = s->only};
    snprintf(counts.folder, sizeof counts.folder, "%.1399s", s->base);
    for (size_t i = 0; i < s->notes.count && events != NULL && events->note != NULL; i++)
        events->note(events->cookie, s->notes.texts[i]);
    antler_status status = ANTLER_OK;
    if (s->first <= s->last)
        status =
            ant_trainer_train(s->trainer, s->first, s->last, has_folders(s) ? &hooks : NULL, events, &counts);
    if (!s->together) /* else all have the same outcome */
        status = ant_ranks_collect(s->comm, status, &counts);
    if (result != NULL)
        *result = counts;
    return status;
}

static void finish(job *s)
{
    for (size_t i = 0; s->folders != NULL && i < s->trainer->settings.runs; i++)
        ant_folder_yield(&s->folders[i], false);
    if (s->folders != NULL)
        pthread_mutex_destroy(&s->mutex);
    free(s->folders);
    ant_notes_clear(&s->notes);
    antler_trainer_free(s->trainer);
}

/* The loading of all ranks has this status, and where they share runs, they have loaded the same. */
static antler_status agree_on_data(const job *s, antler_status status)
{
    status = ant_comm_agree(s->comm, status);
    return status == ANTLER_OK && s->together ? ant_ranks_compare(s->comm, s->trainer) : status;
}

/* Whether all ranks can go on; else *status is the failure of one. */
static bool agree(const job *s, antler_status *status)
{
    *status = ant_comm_agree(s->comm, *status);
    return *status == ANTLER_OK;
}

static antler_status name_base(const antler_settings *s, char base[ANT_PATH_MAX])
{
    const int length = snprintf(base, ANT_PATH_MAX, "%s/%s/%s", s->results, s->experiment, s->name);
    ANT_CHECK(length > 0 && length < 1400, ANTLER_ERROR_ARGUMENT, "results: the path is too long");
    return ANTLER_OK;
}

antler_status(antler_train_series)(const antler_settings *settings, const antler_series *series, size_t run,
                                   bool overwrite, const antler_train_events *events,
                                   antler_train_result *result, size_t struct_size)
{
    ANT_NEED(settings != NULL);
    ANT_RESULT(antler_train_result, result, struct_size,
               antler_train_series(settings, series, run, overwrite, events, &whole), (void)0);
    ANT_OPTIONS(antler_settings, settings);
    ANT_OPTIONS_PART(antler_train_events, events);
    ANT_TRY(ant_settings_are_readable(settings));
    job s = {.only = settings->runs == 1 ? 1 : run,
             .first = run == 0 ? 1 : run,
             .last = run == 0 ? settings->runs : run,
             .overwrite = overwrite,
             .comm = ant_comm_world()};
    ANT_CHECK(run <= settings->runs, ANTLER_ERROR_ARGUMENT,
              "there is no run %zu; the settings have runs: %zu", run, settings->runs);
    ANT_TRY(name_base(settings, s.base));
    antler_status status = agree_on_data(&s, load_and_check(&s, settings, series));
    if (status == ANTLER_OK && has_folders(&s))
        status = check_folders(&s);
    if (status == ANTLER_OK && has_folders(&s))
        status = lock_folders(&s, false);
    if (agree(&s, &status))
        status = work(&s, events, result);
    finish(&s);
    return status;
}

antler_status(antler_train)(const antler_settings *settings, size_t run, bool overwrite,
                            const antler_train_events *events, antler_train_result *result,
                            size_t struct_size)
{
    ANT_NEED(settings != NULL);
    return (antler_train_series)(settings, NULL, run, overwrite, events, result, struct_size);
}

/* Split "Results/e/n/002" into base and number; false when the last part is no number. */
static bool split_run(const char *folder, char base[ANT_PATH_MAX], size_t *run)
{
    snprintf(base, ANT_PATH_MAX, "%s", folder);
    for (size_t n = strlen(base); n > 1 && base[n - 1] == '/'; n--)
        base[n - 1] = '\0';
    char *slash = strrchr(base, '/');
    const char *name = slash == NULL ? base : slash + 1;
    char *end = NULL;
    if (!isdigit((unsigned char)name[0]))
        return false;
    *run = (size_t)strtoull(name, &end, 10);
    if (*end != '\0' || *run == 0)
        return false;
    if (slash == NULL)
        snprintf(base, ANT_PATH_MAX, ".");
    else
        *slash = '\0';
    return true;
}

/* Which runs a folder means: itself, or all below it (*run = 0).  config: a config.yaml of them. */
static antler_status locate(const char *folder, char base[ANT_PATH_MAX], size_t *run,
                            char config[ANT_PATH_MAX + 16])
{
    char real[ANT_PATH_MAX], path[ANT_PATH_MAX];
    ANT_CHECK(strlen(folder) < ANT_PATH_MAX - 256, ANTLER_ERROR_ARGUMENT, "%.200s: the path is too long",
              folder);
    bool is_run = false;
    ANT_TRY(ant_folder_is_run(folder, &is_run));
    if (is_run) {
        char *resolved = realpath(folder, NULL);
        snprintf(real, sizeof real, "%s", resolved == NULL ? folder : resolved);
        free(resolved);
        ANT_CHECK(split_run(folder, base, run) || split_run(real, base, run), ANTLER_ERROR_ARGUMENT,
                  "%s: the folder of a run is named by its number, such as 001", folder);
        snprintf(config, ANT_PATH_MAX + 16, "%s/config.yaml", folder);
        return ANTLER_OK;
    }
    *run = 0;
    snprintf(base, ANT_PATH_MAX, "%s", folder);
    for (size_t i = 1; i <= 9999; i++) {
        ANT_TRY(ant_folder_name(folder, i, path));
        ANT_TRY(ant_folder_is_run(path, &is_run));
        if (is_run) {
            snprintf(config, ANT_PATH_MAX + 16, "%s/config.yaml", path);
            return ANTLER_OK;
        }
    }
    return ant_fail(ANTLER_ERROR_NOT_FOUND,
                    "%s: holds no run; give a folder such as Results/experiment/run/001, or the one above it",
                    folder);
}

/* Whether a setting was found from the data, so that the one given need not name it. */
static bool is_found(const ant_setting *setting, const antler_settings *own, const antler_settings *given)
{
    const char *name = setting->info.name;
    if (strcmp(name, "forcing_interval") == 0)
        return own->forcing_interval_method != ANTLER_INTERVAL_GIVEN;
    if (strcmp(name, "segments") == 0)
        return given->segments == 0;
    if (strcmp(name, "initialisation") == 0)
        return given->initialisation == ANTLER_INITIALISATION_AUTO;
    return strcmp(name, "kappa") == 0 && given->kappa == 0.0;
}

static antler_status check_same(const antler_settings *own, const antler_settings *given, const char *config)
{
    for (size_t i = 0; given != NULL && i < ant_setting_count(); i++) {
        const ant_setting *setting = ant_setting_at(i);
        if (setting->place || is_found(setting, own, given) || ant_setting_equal(setting, own, given))
            continue;
        char before[ANT_SETTING_TEXT_MAX], now[ANT_SETTING_TEXT_MAX];
        ant_setting_print(setting, own, before);
        ant_setting_print(setting, given, now);
        return ant_fail(
            ANTLER_ERROR_ARGUMENT,
            "%s: the run began with %s: %.100s, not %.100s; a run resumes as it began, so leave the "
            "setting or begin a new run",
            config, setting->info.name, before, now);
    }
    return ANTLER_OK;
}

static antler_status load_config(const char *config, antler_settings *own)
{
    char *text = NULL;
    ANT_TRY(ant_settings_read_file(config, &text));
    const antler_status status = ant_settings_parse_run(text, config, own);
    free(text);
    return status;
}

/* What a resume is about: which runs, with their own settings and the data. */
static antler_status begin_resume(job *s, const char *folder, const antler_settings *settings,
                                  const antler_series *series)
{
    size_t run = 0;
    char config[ANT_PATH_MAX + 16];
    antler_settings own;
    ANT_TRY(locate(folder, s->base, &run, config));
    ANT_TRY(load_config(config, &own));
    ant_settings_resolve_segments(&own); /* of a run without: by the threads with which it began */
    antler_settings given;
    if (settings != NULL) {
        ANT_TRY(ant_settings_are_readable(settings));
        given = *settings;
        if (given.validation_interval == 0) /* config.yaml has the number that was chosen */
            given.validation_interval = own.validation_interval;
        ANT_TRY(check_same(&own, &given, config));
    }
    ANT_CHECK(run <= own.runs, ANTLER_ERROR_ARGUMENT, "%s: there is no run %zu; the settings have runs: %zu",
              config, run, own.runs);
    if (settings != NULL) { /* a run may resume on another device, and on more or fewer threads */
        own.device = settings->device;
        own.threads = settings->threads;
    }
    s->only = own.runs == 1 ? 1 : run;
    s->first = run == 0 ? 1 : run;
    s->last = run == 0 ? own.runs : run;
    return load_and_check(s, &own, series);
}

antler_status(antler_train_resume_series)(const char *folder, const antler_settings *settings,
                                          const antler_series *series, const antler_train_events *events,
                                          antler_train_result *result, size_t struct_size)
{
    ANT_NEED(folder != NULL);
    ANT_RESULT(antler_train_result, result, struct_size,
               antler_train_resume_series(folder, settings, series, events, &whole), (void)0);
    ANT_OPTIONS(antler_settings, settings);
    ANT_OPTIONS_PART(antler_train_events, events);
    job s = {.resume = true, .comm = ant_comm_world()};
    antler_status status = agree_on_data(&s, begin_resume(&s, folder, settings, series));
    if (status == ANTLER_OK && has_folders(&s))
        status = lock_folders(&s, false);
    if (agree(&s, &status))
        status = work(&s, events, result);
    finish(&s);
    return status;
}

/* How many runs could be taken, without taking them; the others are counted. */
static antler_status look_at_runs(const job *s, size_t *open, antler_train_result *counts)
{
    *open = 0;
    for (size_t i = s->first; i <= s->last; i++) {
        char path[ANT_PATH_MAX];
        ant_folder_owner owner = ANT_OWNER_SELF;
        ant_lease_view view;
        ANT_TRY(ant_folder_name(s->base, i, path));
        ANT_TRY(ant_folder_look(path, &owner, &view));
        *open += owner == ANT_OWNER_SELF;
        counts->elsewhere += owner == ANT_OWNER_OTHER;
        counts->before += owner == ANT_OWNER_NONE_ENDED;
    }
    return ANTLER_OK;
}

/* Only where something can be taken, data are loaded. */
static antler_status share(job *s, const antler_settings *settings, const antler_train_events *events,
                           antler_train_result *result)
{
    antler_train_result counts = {.struct_size = sizeof counts};
    size_t open = 0;
    bool begun = false;
    ANT_TRY(look_at_runs(s, &open, &counts));
    snprintf(counts.folder, sizeof counts.folder, "%.1399s", s->base);
    if (open == 0 && result != NULL)
        *result = counts;
    if (open == 0)
        return ANTLER_OK;
    ANT_TRY(antler_train_begun(s->base, settings->runs, &begun));
    ANT_TRY(begun ? begin_resume(s, counts.folder, settings, NULL) : load_and_check(s, settings, NULL));
    return work(s, events, result);
}

antler_status(antler_train_shared)(const antler_settings *settings, double lease,
                                   const antler_train_events *events, antler_train_result *result,
                                   size_t struct_size)
{
    ANT_NEED(settings != NULL);
    ANT_RESULT(antler_train_result, result, struct_size, antler_train_shared(settings, lease, events, &whole),
               (void)0);
    ANT_OPTIONS(antler_settings, settings);
    ANT_OPTIONS_PART(antler_train_events, events);
    ANT_TRY(ant_settings_are_readable(settings));
    ANT_TRY(ant_folder_check_lease(lease));
    job s = {.resume = true, .lease = lease, .first = 1, .last = settings->runs};
    ANT_TRY(name_base(settings, s.base));
    const antler_status status = share(&s, settings, events, result);
    finish(&s);
    return status;
}

antler_status antler_train_begun(const char *folder, size_t runs, bool *begun)
{
    ANT_NEED(folder != NULL && begun != NULL);
    *begun = false;
    for (size_t i = 1; i <= runs && !*begun; i++) {
        char path[ANT_PATH_MAX];
        ANT_TRY(ant_folder_name(folder, i, path));
        ANT_TRY(ant_folder_is_run(path, begun));
    }
    return ANTLER_OK;
}

antler_status(antler_train_resume_check)(const char *folder, const antler_settings *settings,
                                         const antler_series *series, antler_train_result *result,
                                         size_t struct_size)
{
    ANT_NEED(folder != NULL && result != NULL);
    ANT_RESULT(antler_train_result, result, struct_size,
               antler_train_resume_check(folder, settings, series, &whole), (void)0);
    ANT_OPTIONS(antler_settings, settings);
    job s = {.resume = true};
    *result = (antler_train_result){.struct_size = sizeof *result};
    antler_status status = begin_resume(&s, folder, settings, series);
    for (size_t i = s.first; i <= s.last && status == ANTLER_OK && i > 0; i++) {
        char path[ANT_PATH_MAX];
        ant_run *run = &s.trainer->runs[i - 1];
        bool is_run = false, found = false;
        status = ant_folder_name(s.base, i, path);
        if (status == ANTLER_OK)
            status = ant_folder_is_run(path, &is_run);
        if (status == ANTLER_OK && is_run)
            status = ant_checkpoint_restore(path, s.trainer, run, &found);
        if (status != ANTLER_OK)
            break;
        if (found && run->update == s.trainer->settings.updates)
            result->finished++;
        else
            result->stopped++;
    }
    finish(&s);
    return status;
}

antler_status(antler_train_resume)(const char *folder, const antler_settings *settings,
                                   const antler_train_events *events, antler_train_result *result,
                                   size_t struct_size)
{
    ANT_NEED(folder != NULL);
    return (antler_train_resume_series)(folder, settings, NULL, events, result, struct_size);
}
