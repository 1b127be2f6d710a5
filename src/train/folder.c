/* folder.c - the folder of a run: made, locked, cleaned, written. */
#include "train/folder.h"
#include "base/path.h"
#include "train/settings.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "<folder>/<name>"; 64 bytes remain for the names that this file appends. */
static antler_status join(const char *folder, const char *name, char path[ANT_PATH_MAX])
{
    const int length = snprintf(path, ANT_PATH_MAX, "%s/%s", folder, name);
    ANT_CHECK(length > 0 && length < ANT_PATH_MAX - 64, ANTLER_ERROR_ARGUMENT, "%s: the path is too long",
              folder);
    return ANTLER_OK;
}

antler_status ant_folder_name(const char *base, size_t run, char path[ANT_PATH_MAX])
{
    char name[32];
    snprintf(name, sizeof name, "%03zu", run);
    return join(base, name, path);
}

antler_status ant_folder_is_run(const char *path, bool *is_run)
{
    char config[ANT_PATH_MAX];
    *is_run = false;
    ANT_TRY(join(path, "config.yaml", config));
    return ant_path_exists(config, is_run);
}

antler_status ant_folder_may_begin(const char *path)
{
    char there[ANT_PATH_MAX]; /* the longest part of the path that exists */
    struct stat info;
    snprintf(there, sizeof there, "%s", path);
    int found = stat(there, &info);
    while (found != 0 && (errno == ENOENT || errno == ENOTDIR) && strcmp(there, ".") != 0) {
        char *slash = strrchr(there, '/');
        if (slash == NULL)
            strcpy(there, ".");
        else
            slash[slash == there ? 1 : 0] = '\0';
        found = stat(there, &info);
    }
    if (found == 0 && !S_ISDIR(info.st_mode)) {
        errno = ENOTDIR;
        found = -1;
    }
    if (found != 0 || access(there, W_OK | X_OK) != 0)
        return ant_fail(ANTLER_ERROR_IO,
                        "%s: the folder cannot be made in %s: %s; the setting results selects another place",
                        path, there, strerror(errno));
    return ANTLER_OK;
}

/* ---- removing ---------------------------------------------------------------------------------------- */

/* Removes a file that may be missing. */
static antler_status remove_file(const char *folder, const char *name)
{
    char file[ANT_PATH_MAX];
    ANT_TRY(join(folder, name, file));
    if (unlink(file) != 0 && errno != ENOENT)
        return ant_fail(ANTLER_ERROR_IO, "%s: cannot be removed: %s", file, strerror(errno));
    return ANTLER_OK;
}

/* Whether `name` is ".<stem>XXXXXX", a temporary file of base/output.h, or libzip's of that, with ".XXXXXX".
 */
static bool is_temporary(const char *name, const char *stem)
{
    const size_t length = strlen(stem);
    if (name[0] != '.' || strncmp(name + 1, stem, length) != 0)
        return false;
    const char *rest = name + 1 + length;
    return strlen(rest) == 6 || (strlen(rest) == 13 && rest[6] == '.');
}

/* The same for ".update-0000000100.npz.XXXXXX". */
static bool is_temporary_checkpoint(const char *name)
{
    static const char stem[] = ".update-", end[] = ".npz.";
    if (strncmp(name, stem, strlen(stem)) != 0)
        return false;
    const char *rest = name + strlen(stem) + strspn(name + strlen(stem), "0123456789");
    return rest[0] == '.' && is_temporary(rest, end + 1);
}

/* A file, or the folder of a lease that never came to be, which holds one file at most. */
static void remove_entry(int parent, const char *name)
{
    if (unlinkat(parent, name, 0) == 0 || errno != EISDIR)
        return;
    const int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *inside = folder < 0 ? NULL : fdopendir(folder);
    if (inside == NULL) {
        if (folder >= 0)
            close(folder);
        return;
    }
    for (const struct dirent *entry = readdir(inside); entry != NULL; entry = readdir(inside)) {
        if (strchr(entry->d_name, ',') != NULL)
            (void)unlinkat(folder, entry->d_name, 0);
    }
    closedir(inside);
    (void)unlinkat(parent, name, AT_REMOVEDIR);
}

/* Remove what a killed process left half-written.  What stays does no harm. */
static void remove_temporary(const char *path)
{
    static const char *const stems[] = {"config.yaml.",  "model.npz.",    "best.npz.",     "log.csv.",
                                        "diverged.txt.", "metrics.json.", "verdict.json.", ".overwrite."};
    DIR *directory = opendir(path);
    if (directory == NULL)
        return;
    for (const struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        bool ours = is_temporary_checkpoint(entry->d_name) || ant_lease_is_temporary(entry->d_name);
        for (size_t i = 0; i < sizeof stems / sizeof stems[0]; i++)
            ours = ours || is_temporary(entry->d_name, stems[i]);
        if (ours)
            remove_entry(dirfd(directory), entry->d_name);
    }
    closedir(directory);
}

/* ---- the lock ---------------------------------------------------------------------------------------- */

antler_status ant_folder_check_lease(double seconds)
{
    ANT_CHECK(seconds >= 1.0 && seconds <= 86400.0, ANTLER_ERROR_ARGUMENT,
              "a lease of %g s: it must be between 1 s and a day (86400 s)", seconds);
    return ANTLER_OK;
}

/* The lock alone; none where another process, or another thread of this one, has it. */
static antler_status try_lock(const char *path, ant_lock **lock)
{
    char file[ANT_PATH_MAX];
    ANT_TRY(join(path, ".lock", file));
    const antler_status status = ant_lock_take(file, path, lock);
    return status == ANTLER_ERROR_ARGUMENT ? ANTLER_OK : status;
}

/* Who has a run of which `view` was read after an attempt to lock it.  Where there is a lease, it decides:
   the lock may still be with a process that was stopped and has lost the run. */
static ant_folder_owner find_owner(const ant_lease_view *view, const ant_lock *lock)
{
    switch (view->state) {
    case ANT_LEASE_NONE:
        return lock != NULL ? ANT_OWNER_SELF : ANT_OWNER_OTHER;
    case ANT_LEASE_FREE:
        return ANT_OWNER_SELF;
    case ANT_LEASE_ENDED:
        return ANT_OWNER_NONE_ENDED;
    case ANT_LEASE_HELD:
        if (view->here && view->locked && ant_lock_is_real(lock))
            return ANT_OWNER_SELF; /* the holder would still have the lock if it were alive */
        return ant_lease_is_expired(view) ? ANT_OWNER_SELF : ANT_OWNER_OTHER;
    default:
        return ANT_OWNER_OTHER;
    }
}

antler_status ant_folder_look(const char *path, ant_folder_owner *owner, ant_lease_view *view)
{
    ant_lock *lock = NULL;
    bool exists = false;
    *owner = ANT_OWNER_SELF;
    *view = (ant_lease_view){.state = ANT_LEASE_NONE};
    ANT_TRY(ant_path_exists(path, &exists));
    if (!exists)
        return ANTLER_OK;
    ANT_TRY(ant_lease_look(path, view));
    if (view->state == ANT_LEASE_NONE || view->state == ANT_LEASE_HELD)
        ANT_TRY(try_lock(path, &lock));
    *owner = find_owner(view, lock);
    ant_lock_release(lock);
    return ANTLER_OK;
}

antler_status ant_folder_claim(ant_folder *folder, const char *path, double seconds, bool all,
                               ant_folder_owner *owner)
{
    static const double PLAIN = 300.0; /* of a training that finds a lease and was started without one */
    ant_lease_view view;
    *owner = ANT_OWNER_SELF;
    if (folder->lock != NULL || folder->lease != NULL)
        return ANTLER_OK;
    snprintf(folder->path, sizeof folder->path, "%s", path);
    ANT_TRY(try_lock(path, &folder->lock));
    antler_status status = ant_lease_look(path, &view);
    if (status == ANTLER_OK)
        *owner = find_owner(&view, folder->lock);
    if (all && *owner == ANT_OWNER_NONE_ENDED)
        *owner = ANT_OWNER_SELF;
    if (status == ANTLER_OK && *owner == ANT_OWNER_SELF && (seconds > 0.0 || view.state != ANT_LEASE_NONE)) {
        status = ant_lease_take(path, &view, seconds > 0.0 ? seconds : PLAIN, ant_lock_is_real(folder->lock),
                                &folder->lease);
        *owner = folder->lease == NULL ? ANT_OWNER_OTHER : *owner;
    }
    if (status != ANTLER_OK || *owner != ANT_OWNER_SELF)
        ant_folder_yield(folder, false);
    return status;
}

antler_status ant_folder_lock(ant_folder *folder, const char *path)
{
    ant_folder_owner owner = ANT_OWNER_SELF;
    ant_lease_view view;
    ANT_TRY(ant_folder_claim(folder, path, 0.0, true, &owner));
    if (owner == ANT_OWNER_SELF)
        return ANTLER_OK;
    ANT_TRY(ant_lease_look(path, &view));
    if (view.state != ANT_LEASE_HELD)
        return ant_fail(ANTLER_ERROR_ARGUMENT,
                        "%s: another training uses this run at the moment; wait for it or stop it", path);
    return ant_fail(
        ANTLER_ERROR_ARGUMENT,
        "%s: another training uses this run at the moment, on %s (pid %ld); wait for it or stop it, "
        "and if it is dead, its lease ends within %g s",
        path, view.host, view.process, view.seconds);
}

antler_status ant_folder_make(ant_folder *folder, const char *path)
{
    ANT_TRY(ant_path_make_folders(path));
    return ant_folder_lock(folder, path);
}

void ant_folder_yield(ant_folder *folder, bool ended)
{
    ant_lease_release(folder->lease,
                      ended); /* first: who finds the lock free takes a lease for a dead one's */
    folder->lease = NULL;
    ant_lock_release(folder->lock);
    folder->lock = NULL;
}

/* ---- new runs, and runs in place of old ones --------------------------------------------------------- */

/* Remove the old run's files after its config.yaml has been replaced. */
static antler_status remove_old(const char *path)
{
    static const char *const names[] = {"model.npz",    "best.npz",     "log.csv",
                                        "diverged.txt", "metrics.json", "verdict.json"};
    char checkpoints[ANT_PATH_MAX];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        ANT_TRY(remove_file(path, names[i]));
    ANT_TRY(ant_checkpoint_remove_all(path));
    ANT_TRY(join(path, "checkpoints", checkpoints));
    ANT_TRY(ant_path_sync_folder(checkpoints)); /* removals reach the disk before that of .overwrite */
    ANT_TRY(ant_path_sync_folder(path));
    return remove_file(path, ".overwrite");
}

/* Finish a replacement that was cut off, or forget one that had not yet taken effect. */
static antler_status settle_overwrite(const char *path)
{
    char marker[ANT_PATH_MAX], config[ANT_PATH_MAX];
    bool replacing = false, replaced = false;
    ANT_TRY(join(path, ".overwrite", marker));
    ANT_TRY(join(path, "config.yaml", config));
    ANT_TRY(ant_path_exists(marker, &replacing));
    if (!replacing)
        return ANTLER_OK;
    ANT_TRY(ant_path_same_bytes(marker, config, &replaced));
    return replaced ? remove_old(path) : remove_file(path, ".overwrite");
}

antler_status ant_folder_begin(const char *path, const antler_settings *settings)
{
    char file[ANT_PATH_MAX];
    ANT_TRY(join(path, "checkpoints", file));
    ANT_TRY(ant_path_make_folders(file));
    ANT_TRY(join(path, ".overwrite", file));
    ANT_TRY(antler_settings_write(settings, file));
    ANT_TRY(join(path, "config.yaml", file));
    ANT_TRY(antler_settings_write(settings, file));
    return remove_old(path);
}

/* ---- a run at work ----------------------------------------------------------------------------------- */

/* Rows that the log of a run has after `update` updates (ant_run_row_due). */
static size_t rows_due(size_t update, const antler_settings *s)
{
    const size_t first = update >= 1 && s->log_interval > 1 ? 1 : 0;
    const size_t last = update == s->updates && update % s->log_interval != 0 && update > 1 ? 1 : 0;
    return first + update / s->log_interval + last;
}

static antler_status restore(ant_folder *folder, const antler_trainer *trainer, ant_run *run)
{
    char checkpoints[ANT_PATH_MAX];
    bool found = false;
    size_t rows = 0;
    ANT_TRY(settle_overwrite(folder->path));
    ANT_TRY(join(folder->path, "checkpoints", checkpoints));
    ANT_TRY(ant_path_make_folders(checkpoints));
    remove_temporary(folder->path);
    remove_temporary(checkpoints);
    ANT_TRY(ant_checkpoint_restore(folder->path, trainer, run, &found));
    ANT_TRY(remove_file(folder->path, "diverged.txt"));
    folder->validated = trainer->held_back != NULL;
    ANT_TRY(ant_log_open(folder->path, found ? run->update : 0, folder->validated, &folder->log, &rows));
    const size_t due = found ? rows_due(run->update, &trainer->settings) : 0;
    if (rows < due)
        snprintf(run->notice, sizeof run->notice, "log.csv lacks %zu of %zu rows up to update %zu",
                 due - rows, due, run->update);
    return ANTLER_OK;
}

antler_status ant_folder_open(ant_folder *folder, const antler_trainer *trainer, ant_run *run)
{
    const antler_status status = restore(folder, trainer, run);
    if (status != ANTLER_OK)
        ant_folder_close(folder);
    return status;
}

void ant_folder_close(ant_folder *folder)
{
    if (folder->log != NULL)
        fclose(folder->log);
    folder->log = NULL;
}

/* A run that another process has taken over is not written to. */
static antler_status check_lease(const ant_folder *folder, bool now)
{
    if (folder->lease == NULL)
        return ANTLER_OK;
    return now ? ant_lease_renew(folder->lease) : ant_lease_check(folder->lease);
}

antler_status ant_folder_row(ant_folder *folder, const antler_train_row *row)
{
    ANT_TRY(check_lease(folder, false));
    return ant_log_write(folder->log, folder->path, folder->validated, row);
}

/* The latest model and the best one. */
static antler_status save_models(const ant_folder *folder, const antler_trainer *trainer, const ant_run *run)
{
    char file[ANT_PATH_MAX];
    antler_model *model = NULL;
    ANT_TRY(check_lease(folder, true));
    ANT_TRY(join(folder->path, "model.npz", file));
    ANT_TRY(ant_trainer_make_model(trainer, run, &model));
    const antler_status status = antler_model_save(model, file);
    antler_model_free(model);
    ANT_TRY(status);
    if (run->best.update == 0)
        return ANTLER_OK;
    ANT_TRY(check_lease(folder, true));
    ANT_TRY(join(folder->path, "best.npz", file));
    return ant_checkpoint_write_best(file, trainer, run);
}

/* A write that failed because the new owner of the run has cleared its temporary file away. */
static antler_status explain(const ant_folder *folder, antler_status status)
{
    if (status == ANTLER_OK)
        return ANTLER_OK;
    const antler_status lease = check_lease(folder, true);
    return lease == ANTLER_OK ? status : lease;
}

static antler_status save(const ant_folder *folder, const antler_trainer *trainer, const ant_run *run)
{
    /* Rows up to the checkpoint reach the disk before it does. */
    if (fflush(folder->log) != 0 || fsync(fileno(folder->log)) != 0)
        return ant_fail(ANTLER_ERROR_IO, "%s/log.csv: cannot be written: %s", folder->path, strerror(errno));
    ANT_TRY(check_lease(folder, true));
    ANT_TRY(ant_checkpoint_write(folder->path, trainer, run));
    return save_models(folder, trainer, run);
}

static antler_status save_diverged(const ant_folder *folder, const antler_trainer *trainer,
                                   const ant_run *run)
{
    char file[ANT_PATH_MAX];
    char line[sizeof run->message + 1];
    ANT_TRY(save_models(folder, trainer, run));
    ANT_TRY(check_lease(folder, true));
    ANT_TRY(join(folder->path, "diverged.txt", file));
    snprintf(line, sizeof line, "%s\n", run->message);
    return antler_write_file(file, line);
}

antler_status ant_folder_save(ant_folder *folder, const antler_trainer *trainer, const ant_run *run)
{
    return explain(folder, save(folder, trainer, run));
}

antler_status ant_folder_diverged(ant_folder *folder, const antler_trainer *trainer, const ant_run *run)
{
    return explain(folder, save_diverged(folder, trainer, run));
}
