/*
 * folder.h - a run on disk.
 *
 *     <base>/<001>/config.yaml            all settings, written first: with it, a run exists
 *                  log.csv                one row per log interval, flushed after each row
 *                  model.npz              the latest model
 *                  best.npz               the best model by validation, where rows are held back
 *                  checkpoints/update-<number>.npz   the last two
 *                  diverged.txt           the reason, where the run diverged
 *                  .lock                  held while the run is trained, never removed (base/lock.h)
 *                  .overwrite             while an old run is being replaced: the new config.yaml
 *                  .claim/                the lease, in a training that machines share (base/lease.h)
 *
 * Whoever changes anything here holds the lock.  Replacing an old run is one rename, that of config.yaml:
 * before it the old run is whole, after it the new one exists.  Files of the old run that are still there
 * then are recognised by .overwrite, and the next one to open the run removes them.  Files of other names are
 * the user's.
 *
 * Every file but log.csv appears whole or not at all.  Rows reach log.csv before the checkpoint of the
 * same update is written, so cutting the log back to a checkpoint always finds all its rows.
 */
#ifndef ANT_TRAIN_FOLDER_H
#define ANT_TRAIN_FOLDER_H

#include "base/lease.h"
#include "base/lock.h"
#include "train/trainer.h"

#include <stdio.h>

enum { ANT_PATH_MAX = 4096 };

typedef struct ant_folder {
    char path[ANT_PATH_MAX]; /* of the run */
    ant_lock *lock;          /* NULL: not held */
    ant_lease *lease;        /* NULL: not held */
    FILE *log;               /* open for appending during training; NULL: the run is not open */
    bool validated;          /* the log has the columns of validations */
} ant_folder;

/* "<base>/<001>"; ANTLER_ERROR_ARGUMENT when that is too long. */
antler_status ant_folder_name(const char *base, size_t run, char path[ANT_PATH_MAX]);

/* Whether `path` is a run: it has a config.yaml. */
antler_status ant_folder_is_run(const char *path, bool *is_run);

/* Whether the folder of a run could be made or written to, without doing it. */
antler_status ant_folder_may_begin(const char *path);

/* A lease of so many seconds can be renewed in time: 1 s to a day. */
antler_status ant_folder_check_lease(double seconds);

/* Whose a run is. */
typedef enum ant_folder_owner { ANT_OWNER_SELF, ANT_OWNER_OTHER, ANT_OWNER_NONE_ENDED } ant_folder_owner;

/* What `ant_folder_claim` would find, and by whom a run is held; changes nothing that stays. */
antler_status ant_folder_look(const char *path, ant_folder_owner *owner, ant_lease_view *view);

/*
 * Take lock and lease of a run, whose folder exists, unless another process has it, or it has ended and `all`
 * is false.  A dead owner on this machine is recognised by its lock, every other one by the age of its
 * lease.  seconds: of the lease; 0: without one, where the folder has none.
 */
antler_status ant_folder_claim(ant_folder *folder, const char *path, double seconds, bool all,
                               ant_folder_owner *owner);

/* Give back lock and lease. */
void ant_folder_yield(ant_folder *folder, bool ended);

/* Take the lock of a run, whose folder exists, and its lease where it has one; does nothing when `folder` has
   them. */
antler_status ant_folder_lock(ant_folder *folder, const char *path);

/* Make the folder and take its lock. */
antler_status ant_folder_make(ant_folder *folder, const char *path);

/* Write the config.yaml of a new run into a folder whose lock is held; an old run there is replaced. */
antler_status ant_folder_begin(const char *path, const antler_settings *settings);

/*
 * Open a run whose lock is held: remove what a killed process left half-written, bring `run` to the newest
 * checkpoint and log.csv back to the same update.  Without a checkpoint the run starts from the beginning.
 */
antler_status ant_folder_open(ant_folder *folder, const antler_trainer *trainer, ant_run *run);
void ant_folder_close(ant_folder *folder);

antler_status ant_folder_row(ant_folder *folder, const antler_train_row *row);

/* Checkpoint, model.npz, and best.npz where there was a validation. */
antler_status ant_folder_save(ant_folder *folder, const antler_trainer *trainer, const ant_run *run);

/* model.npz, best.npz and diverged.txt, without a checkpoint. */
antler_status ant_folder_diverged(ant_folder *folder, const antler_trainer *trainer, const ant_run *run);

/* checkpoint.c: write <folder>/checkpoints/update-<number>.npz and remove all but the last two. */
antler_status ant_checkpoint_write(const char *folder, const antler_trainer *trainer, const ant_run *run);

/* checkpoint.c: the best model by validation, with `update`, `run`, `score` and `validation` (3). */
antler_status ant_checkpoint_write_best(const char *path, const antler_trainer *trainer, const ant_run *run);

/* checkpoint.c: bring `run` to the newest checkpoint; *found is false when there is none. */
antler_status ant_checkpoint_restore(const char *folder, const antler_trainer *trainer, ant_run *run,
                                     bool *found);

/* checkpoint.c: remove all checkpoints, or name the one that stays. */
antler_status ant_checkpoint_remove_all(const char *folder);

/*
 * log.c: cut the log to rows of updates up to `update` (0: the header alone) and open it for appending.
 * *rows: how many there are.  `validated`: with the columns of validations.
 */
antler_status ant_log_open(const char *folder, size_t update, bool validated, FILE **log, size_t *rows);

/* log.c: append a row and flush. */
antler_status ant_log_write(FILE *log, const char *folder, bool validated, const antler_train_row *row);

#endif
