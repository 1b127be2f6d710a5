/*
 * checkpoint.c - a run's whole state as a NumPy archive: the arrays of its model (model/file.h) and
 *
 *     run, update          uint64
 *     m, v (total)         float64, moments of the optimiser in the order of the parameters
 *     alpha                float64, the strength of forcing, where it is estimated (spec 10)
 *     tally (10)           float64, the sums of its log and its checks
 *     data_hash            text, of the packed training data (dataset.h)
 *     choice, history      texts: solver, kernels and device, and where they changed (run.h)
 *     best (total), best_update, validation (7), held_back_hash
 *                          with validation: parameters and update of the best model, its three measures and
 *                          its score, those that the log does not have yet, and what they were measured on
 *
 * Older builds wrote a 64-bit `fingerprint` in place of data_hash, and neither text.
 */
#include "model/file.h"
#include "train/folder.h"
#include "train/settings.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEPT = 2 };

/* The array `tally`: sums since the last row of the log, the checks since then, and sums since the start. */
enum { TALLY = 10 };

static void list_tally(ant_run *run, double *tally[TALLY])
{
    ant_tally *t = &run->tally;
    double *const list[TALLY] = {&t->updates,
                                 &t->loss,
                                 &t->mar,
                                 &t->readout,
                                 &t->singular,
                                 &t->iterations,
                                 &run->states_agree,
                                 &run->gradient_agrees,
                                 &t->fallbacks,
                                 &t->seconds};
    memcpy(tally, list, sizeof list);
}

/* The array `validation` of a run. */
enum { VALIDATION = 7 };

static void list_validation(ant_run *run, double *list[VALIDATION])
{
    ant_validation_measures *best = &run->best.measures, *now = &run->validation;
    double *const all[VALIDATION] = {&best->dstsp,          &best->hellinger, &best->prediction_error,
                                     &run->best.score,      &now->dstsp,      &now->hellinger,
                                     &now->prediction_error};
    memcpy(list, all, sizeof all);
}

/* The update in "update-0000000100.npz", ten digits; 0 for any other name, which is not ours. */
static unsigned long long update_of(const char *name)
{
    static const char stem[] = "update-", digits[] = "0123456789";
    if (strncmp(name, stem, strlen(stem)) != 0)
        return 0;
    const char *number = name + strlen(stem);
    const size_t length = strspn(number, digits);
    return length >= 10 && strcmp(number + length, ".npz") == 0 ? strtoull(number, NULL, 10) : 0;
}

/* *update: the newest checkpoint older than it was; 0: none.  A folder that cannot be read is not an empty
 * one. */
static antler_status find_older(const char *folder, unsigned long long *update)
{
    const unsigned long long before = *update;
    char path[ANT_PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/checkpoints", folder);
    DIR *directory = opendir(path);
    *update = 0;
    if (directory == NULL && errno == ENOENT)
        return ANTLER_OK;
    ANT_CHECK(directory != NULL, ANTLER_ERROR_IO, "%s: cannot be opened: %s", path, strerror(errno));
    const struct dirent *entry;
    while (errno = 0, (entry = readdir(directory)) != NULL) {
        const unsigned long long found = update_of(entry->d_name);
        if (found < before && found > *update)
            *update = found;
    }
    const int reason = errno;
    closedir(directory);
    ANT_CHECK(reason == 0, ANTLER_ERROR_IO, "%s: cannot be read: %s", path, strerror(reason));
    return ANTLER_OK;
}

static void file_name(const char *folder, unsigned long long update, char path[ANT_PATH_MAX + 64])
{
    snprintf(path, ANT_PATH_MAX + 64, "%s/checkpoints/update-%010llu.npz", folder, update);
}

static antler_status add_text(ant_archive *archive, const char *key, const char *text)
{
    return text[0] == '\0' ? ANTLER_OK : ant_archive_add_texts(archive, key, 0, 1, &text);
}

static antler_status add_validation(ant_archive *archive, const antler_trainer *trainer, const ant_run *run)
{
    const uint64_t update = run->best.update;
    const size_t total = trainer->layout.total, count = VALIDATION;
    ant_run copy = *run;
    double *list[VALIDATION], values[VALIDATION];
    if (trainer->held_back == NULL)
        return ANTLER_OK;
    list_validation(&copy, list);
    for (size_t i = 0; i < VALIDATION; i++)
        values[i] = *list[i];
    ANT_TRY(ant_archive_add(archive, "best", ANT_F64, 1, &total, run->best.parameters));
    ANT_TRY(ant_archive_add(archive, "best_update", ANT_U64, 0, NULL, &update));
    ANT_TRY(ant_archive_add(archive, "validation", ANT_F64, 1, &count, values));
    return add_text(archive, "held_back_hash", trainer->held_back->hash);
}

static antler_status add_state(ant_archive *archive, const antler_trainer *trainer, const ant_run *run)
{
    const uint64_t number = run->number, update = run->update;
    const size_t total = trainer->layout.total, count = TALLY;
    ant_run copy = *run;
    double *tally[TALLY], values[TALLY];
    list_tally(&copy, tally);
    for (size_t i = 0; i < TALLY; i++)
        values[i] = *tally[i];
    ANT_TRY(ant_archive_add(archive, "run", ANT_U64, 0, NULL, &number));
    ANT_TRY(ant_archive_add(archive, "update", ANT_U64, 0, NULL, &update));
    ANT_TRY(ant_archive_add(archive, "m", ANT_F64, 1, &total, run->state.m));
    ANT_TRY(ant_archive_add(archive, "v", ANT_F64, 1, &total, run->state.v));
    ANT_TRY(ant_archive_add(archive, "tally", ANT_F64, 1, &count, values));
    if (trainer->settings.gtf_alpha_method != ANTLER_ALPHA_CONSTANT)
        ANT_TRY(ant_archive_add(archive, "alpha", ANT_F64, 0, NULL, &run->alpha));
    ANT_TRY(add_validation(archive, trainer, run));
    ANT_TRY(add_text(archive, "data_hash", trainer->dataset->hash));
    ANT_TRY(add_text(archive, "choice", run->choice));
    return add_text(archive, "history", run->history);
}

/* Remove all but the last checkpoints up to `update`.  One that cannot be removed is no error. */
static void remove_old(const char *folder, size_t update)
{
    char path[ANT_PATH_MAX + 64];
    unsigned long long old = update + 1ull;
    for (int i = 0; find_older(folder, &old) == ANTLER_OK && old > 0; i++) {
        file_name(folder, old, path);
        if (i >= KEPT)
            (void)unlink(path);
    }
}

antler_status ant_checkpoint_write(const char *folder, const antler_trainer *trainer, const ant_run *run)
{
    char path[ANT_PATH_MAX + 64];
    antler_model *model = NULL;
    ant_archive *archive = NULL;
    file_name(folder, run->update, path);
    ANT_TRY(ant_trainer_make_model(trainer, run, &model));
    antler_status status = ant_archive_create(path, &archive);
    if (status == ANTLER_OK)
        status = ant_model_add(model, archive);
    if (status == ANTLER_OK)
        status = add_state(archive, trainer, run);
    antler_model_free(model);
    if (status != ANTLER_OK) {
        ant_archive_abort(archive);
        return status;
    }
    ANT_TRY(ant_archive_commit(archive));
    remove_old(folder, run->update);
    return ANTLER_OK;
}

/* Copy a text of the archive, cut to the room that it has; "" when the archive is older than the key. */
static antler_status read_text(ant_npz *npz, const char *key, char *to, size_t bytes)
{
    char *text = NULL;
    to[0] = '\0';
    if (ant_npz_find(npz, key) == ANT_NPZ_NONE)
        return ANTLER_OK;
    ANT_TRY(ant_archive_read_text(npz, key, 0, &text));
    snprintf(to, bytes, "%s", text);
    free(text);
    return ANTLER_OK;
}

static antler_status check_data(ant_npz *npz, const antler_trainer *trainer)
{
    char hash[ANT_HASH_TEXT];
    uint64_t fingerprint = trainer->dataset->fingerprint;
    ANT_TRY(read_text(npz, "data_hash", hash, sizeof hash));
    if (hash[0] == '\0')
        ANT_TRY(ant_archive_read_raw(npz, "fingerprint", ANT_U64, 1, &fingerprint));
    const bool same = hash[0] == '\0' ? fingerprint == trainer->dataset->fingerprint
                                      : strcmp(hash, trainer->dataset->hash) == 0;
    ANT_CHECK(
        same, ANTLER_ERROR_DATA,
        "was trained on other data than %s holds now (values, names or dt differ); resume with the data "
        "that the run began with",
        trainer->settings.data);
    return ANTLER_OK;
}

/*
 * The settings that the checkpoint was trained with are those of now.  Where the files lie may change: the
 * data themselves are compared.
 */
static antler_status check_settings(const antler_model *model, const antler_settings *now)
{
    antler_settings then;
    if (model->settings == NULL)
        return ANTLER_OK;
    ANT_TRY(ant_settings_parse_run(model->settings, "settings", &then));
    if (then.segments == 0) /* it is older than this setting */
        then.segments = now->segments;
    for (size_t i = 0; i < ant_setting_count(); i++) {
        const ant_setting *setting = ant_setting_at(i);
        char before[ANT_SETTING_TEXT_MAX], after[ANT_SETTING_TEXT_MAX];
        if (setting->place || setting->kind == ANT_SETTING_PATHS || ant_setting_equal(setting, &then, now))
            continue;
        ant_setting_print(setting, &then, before);
        ant_setting_print(setting, now, after);
        return ant_fail(
            ANTLER_ERROR_ARGUMENT,
            "was trained with %s: %.100s, but config.yaml says %.100s; restore the line, or begin "
            "a new run",
            setting->info.name, before, after);
    }
    return ANTLER_OK;
}

static antler_status read_model(ant_npz *npz, const antler_trainer *trainer, ant_run *run)
{
    const size_t total = trainer->layout.total;
    antler_model *model = NULL;
    ANT_TRY(ant_model_read(npz, &model));
    antler_status status = check_settings(model, &trainer->settings);
    if (status == ANTLER_OK && model->layout.total != total)
        status = ant_fail(ANTLER_ERROR_FORMAT, "has other dimensions than its settings");
    if (status == ANTLER_OK)
        memcpy(run->state.parameters, model->parameters, total * sizeof *model->parameters);
    antler_model_free(model);
    return status;
}

static antler_status read_validation(ant_npz *npz, const antler_trainer *trainer, ant_run *run)
{
    char hash[ANT_HASH_TEXT];
    uint64_t update = 0;
    double *list[VALIDATION], values[VALIDATION];
    if (trainer->held_back == NULL)
        return ANTLER_OK;
    list_validation(run, list);
    ANT_TRY(read_text(npz, "held_back_hash", hash, sizeof hash));
    ANT_CHECK(strcmp(hash, trainer->held_back->hash) == 0, ANTLER_ERROR_DATA,
              "was validated on other rows than there are now; resume with the data that the run began with");
    ANT_TRY(ant_archive_read_raw(npz, "best", ANT_F64, trainer->layout.total, run->best.parameters));
    ANT_TRY(ant_archive_read_raw(npz, "best_update", ANT_U64, 1, &update));
    ANT_TRY(ant_archive_read_raw(npz, "validation", ANT_F64, VALIDATION, values));
    for (size_t i = 0; i < VALIDATION; i++)
        *list[i] = values[i];
    run->best.update = (size_t)update;
    return ANTLER_OK;
}

static antler_status read_state(ant_npz *npz, const antler_trainer *trainer, ant_run *run)
{
    const size_t total = trainer->layout.total;
    uint64_t number = 0, update = 0;
    double *tally[TALLY], values[TALLY];
    list_tally(run, tally);
    ANT_TRY(ant_archive_read_raw(npz, "run", ANT_U64, 1, &number));
    ANT_TRY(ant_archive_read_raw(npz, "update", ANT_U64, 1, &update));
    ANT_CHECK(number == run->number, ANTLER_ERROR_FORMAT, "belongs to run %llu; the folder was renamed",
              (unsigned long long)number);
    ANT_CHECK(update <= trainer->settings.updates, ANTLER_ERROR_FORMAT,
              "is of update %llu; the run has only %zu", (unsigned long long)update,
              trainer->settings.updates);
    ANT_TRY(read_model(npz, trainer, run));
    ANT_TRY(check_data(npz, trainer));
    ANT_TRY(ant_archive_read_raw(npz, "m", ANT_F64, total, run->state.m));
    ANT_TRY(ant_archive_read_raw(npz, "v", ANT_F64, total, run->state.v));
    ANT_TRY(ant_archive_read_raw(npz, "tally", ANT_F64, TALLY, values));
    for (size_t i = 0; i < TALLY; i++)
        *tally[i] = values[i];
    ANT_TRY(read_validation(npz, trainer, run));
    if (trainer->settings.gtf_alpha_method != ANTLER_ALPHA_CONSTANT)
        ANT_TRY(ant_archive_read_raw(npz, "alpha", ANT_F64, 1, &run->alpha));
    ANT_TRY(read_text(npz, "choice", run->choice, sizeof run->choice));
    ANT_TRY(read_text(npz, "history", run->history, sizeof run->history));
    run->update = (size_t)update;
    run->begun = true;
    return ANTLER_OK;
}

antler_status ant_checkpoint_remove_all(const char *folder)
{
    char path[ANT_PATH_MAX + 64];
    for (unsigned long long update = ~0ull;;) {
        ANT_TRY(find_older(folder, &update));
        if (update == 0)
            return ANTLER_OK;
        file_name(folder, update, path);
        ANT_CHECK(unlink(path) == 0, ANTLER_ERROR_IO, "%s: cannot be removed: %s", path, strerror(errno));
    }
}

antler_status ant_checkpoint_restore(const char *folder, const antler_trainer *trainer, ant_run *run,
                                     bool *found)
{
    antler_status status = ANTLER_OK;
    char path[ANT_PATH_MAX + 64];
    *found = false;
    /* An unreadable file can only come from a damaged disk; the one before it may still be whole. */
    for (unsigned long long update = ~0ull;;) {
        ant_npz *npz = NULL;
        ANT_TRY(find_older(folder, &update));
        if (update == 0)
            break;
        file_name(folder, update, path);
        status = ant_npz_open_file(&npz, path);
        if (status == ANTLER_OK) {
            status = read_state(npz, trainer, run);
            ant_npz_close(npz);
        }
        *found = status == ANTLER_OK;
        if (status != ANTLER_ERROR_FORMAT && status != ANTLER_ERROR_IO)
            break;
    }
    return status == ANTLER_OK ? ANTLER_OK : ant_fail_within(status, path);
}

static antler_status add_best(ant_archive *archive, const antler_trainer *trainer, const ant_run *run)
{
    const ant_validation_measures *m = &run->best.measures;
    const double measures[3] = {m->dstsp, m->hellinger, m->prediction_error};
    const uint64_t number = run->number, update = run->best.update;
    const size_t count = 3;
    antler_model *model = NULL;
    ANT_TRY(ant_trainer_make_best(trainer, run, &model));
    const antler_status status = ant_model_add(model, archive);
    antler_model_free(model);
    ANT_TRY(status);
    ANT_TRY(ant_archive_add(archive, "run", ANT_U64, 0, NULL, &number));
    ANT_TRY(ant_archive_add(archive, "update", ANT_U64, 0, NULL, &update));
    ANT_TRY(ant_archive_add(archive, "score", ANT_F64, 0, NULL, &run->best.score));
    return ant_archive_add(archive, "validation", ANT_F64, 1, &count, measures);
}

antler_status ant_checkpoint_write_best(const char *path, const antler_trainer *trainer, const ant_run *run)
{
    ant_archive *archive = NULL;
    ANT_TRY(ant_archive_create(path, &archive));
    const antler_status status = add_best(archive, trainer, run);
    if (status == ANTLER_OK)
        return ant_archive_commit(archive);
    ant_archive_abort(archive);
    return status;
}
