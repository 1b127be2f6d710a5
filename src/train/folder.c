/* folder.c - the folder of a run: made, locked, cleaned, written. */
#include "train/folder.h"

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

bool ant_folder_is_run(const char *path)
{
    char config[ANT_PATH_MAX];
    struct stat info;
    return join(path, "config.yaml", config) == ANTLER_OK && stat(config, &info) == 0;
}

/* All folders of a path, as `mkdir -p`. */
static antler_status make_folders(const char *path)
{
    char part[ANT_PATH_MAX];
    snprintf(part, sizeof part, "%s", path);
    for (char *slash = strchr(part + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash != NULL)
            *slash = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return ant_fail(ANTLER_ERROR_IO, "%s: the folder cannot be made: %s", part, strerror(errno));
        if (slash == NULL)
            return ANTLER_OK;
        *slash = '/';
    }
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

/* Remove the files of `path` whose names begin with `stem`. */
static void remove_files(const char *path, const char *stem)
{
    DIR *directory = opendir(path);
    if (directory == NULL)
        return;
    for (const struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        char file[ANT_PATH_MAX + 300];
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        if (strncmp(entry->d_name, stem, strlen(stem)) == 0)
            (void)unlink(file);
    }
    closedir(directory);
}

antler_status ant_folder_begin(const char *path, const antler_settings *settings)
{
    char file[ANT_PATH_MAX];
    ANT_TRY(join(path, "checkpoints", file));
    ANT_TRY(make_folders(file));
    /* config.yaml is removed first: a kill in between leaves a folder without a run, never a mixture of two.
     */
    static const char *const old[] = {"config.yaml", "model.npz", "log.csv", "diverged.txt", "metrics.json"};
    for (size_t i = 0; i < sizeof old / sizeof old[0]; i++)
        remove_files(path, old[i]);
    remove_files(file, "update-");
    ANT_TRY(join(path, "config.yaml", file));
    return antler_settings_write(settings, file);
}

static antler_status take_lock(ant_folder *folder)
{
    char file[ANT_PATH_MAX];
    ANT_TRY(join(folder->path, "config.yaml", file));
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    folder->lock = open(file, O_RDWR | O_CLOEXEC);
    if (folder->lock < 0)
        return ant_fail(ANTLER_ERROR_IO, "%s: cannot be opened: %s", file, strerror(errno));
    /* A file system without locks is no error. */
    if (fcntl(folder->lock, F_SETLK, &lock) != 0 && (errno == EACCES || errno == EAGAIN))
        return ant_fail(ANTLER_ERROR_ARGUMENT,
                        "%s: another process is training this run; wait for it or stop it", folder->path);
    return ANTLER_OK;
}

/* A killed process may have left temporary files of base/output.h. */
static antler_status clean(const char *path)
{
    static const char *const stems[] = {".config.yaml.",  ".model.npz.",    ".log.csv.",
                                        ".diverged.txt.", ".metrics.json.", "diverged.txt"};
    char checkpoints[ANT_PATH_MAX];
    for (size_t i = 0; i < sizeof stems / sizeof stems[0]; i++)
        remove_files(path, stems[i]);
    ANT_TRY(join(path, "checkpoints", checkpoints));
    ANT_TRY(make_folders(checkpoints));
    remove_files(checkpoints, ".update-");
    return ANTLER_OK;
}

antler_status ant_folder_open(ant_folder *folder, const char *path, const antler_trainer *trainer,
                              ant_run *run)
{
    bool found = false;
    *folder = (ant_folder){.lock = -1};
    snprintf(folder->path, sizeof folder->path, "%s", path);
    antler_status status = take_lock(folder);
    if (status == ANTLER_OK)
        status = clean(path);
    if (status == ANTLER_OK)
        status = ant_checkpoint_restore(path, trainer, run, &found);
    if (status == ANTLER_OK)
        status = ant_log_open(path, found ? run->update : 0, &folder->log);
    if (status != ANTLER_OK)
        ant_folder_close(folder);
    return status;
}

void ant_folder_close(ant_folder *folder)
{
    if (folder->log != NULL)
        fclose(folder->log);
    if (folder->lock >= 0)
        close(folder->lock);
    folder->log = NULL;
    folder->lock = -1;
}

antler_status ant_folder_row(ant_folder *folder, const antler_train_row *row)
{
    return ant_log_write(folder->log, folder->path, row);
}

static antler_status save_model(const ant_folder *folder, const antler_trainer *trainer, const ant_run *run)
{
    char file[ANT_PATH_MAX];
    antler_model *model = NULL;
    ANT_TRY(join(folder->path, "model.npz", file));
    ANT_TRY(ant_trainer_make_model(trainer, run, &model));
    const antler_status status = antler_model_save(model, file);
    antler_model_free(model);
    return status;
}

antler_status ant_folder_save(ant_folder *folder, const antler_trainer *trainer, const ant_run *run)
{
    ANT_TRY(ant_checkpoint_write(folder->path, trainer, run));
    return save_model(folder, trainer, run);
}

antler_status ant_folder_diverged(ant_folder *folder, const antler_trainer *trainer, const ant_run *run)
{
    char file[ANT_PATH_MAX];
    char line[sizeof run->message + 1];
    ANT_TRY(save_model(folder, trainer, run));
    ANT_TRY(join(folder->path, "diverged.txt", file));
    snprintf(line, sizeof line, "%s\n", run->message);
    return antler_write_file(file, line);
}
