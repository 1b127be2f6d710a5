/*
 * folder.h - a run on disk.
 *
 *     <base>/<001>/config.yaml            all settings, written first: with it, a run exists
 *                  log.csv                one row per log interval, flushed after each row
 *                  model.npz              the latest model
 *                  checkpoints/update-<number>.npz   the last two
 *                  diverged.txt           the reason, where the run diverged
 *
 * Every file but log.csv appears whole or not at all.  Rows reach log.csv before the checkpoint of the
 * same update is written, so cutting the log back to a checkpoint always finds all its rows.
 */
#ifndef ANT_TRAIN_FOLDER_H
#define ANT_TRAIN_FOLDER_H

#include "train/trainer.h"

#include <stdio.h>

enum { ANT_PATH_MAX = 4096 };

typedef struct ant_folder {
    char path[ANT_PATH_MAX]; /* of the run */
    FILE *log;               /* open for appending during training */
    int lock;                /* on config.yaml, or -1: one process per run */
} ant_folder;

/* "<base>/<001>"; ANTLER_ERROR_ARGUMENT when that is too long. */
antler_status ant_folder_name(const char *base, size_t run, char path[ANT_PATH_MAX]);

/* Whether `path` is a run: it has a config.yaml. */
bool ant_folder_is_run(const char *path);

/* Whether the folder of a run could be made or written to, without doing it. */
antler_status ant_folder_may_begin(const char *path);

/* Make the folder of a new run with its config.yaml; an old run there is removed. */
antler_status ant_folder_begin(const char *path, const antler_settings *settings);

/*
 * Open a run for training: take its lock, remove what a killed process left half-written, and bring `run` to
 * the newest checkpoint and log.csv back to the same update.  Without a checkpoint the run starts from the
 * beginning.
 */
antler_status ant_folder_open(ant_folder *folder, const char *path, const antler_trainer *trainer,
                              ant_run *run);
void ant_folder_close(ant_folder *folder);

antler_status ant_folder_row(ant_folder *folder, const antler_train_row *row);

/* Checkpoint and model.npz. */
antler_status ant_folder_save(ant_folder *folder, const antler_trainer *trainer, const ant_run *run);

/* model.npz and diverged.txt, without a checkpoint. */
antler_status ant_folder_diverged(ant_folder *folder, const antler_trainer *trainer, const ant_run *run);

/* checkpoint.c: write <folder>/checkpoints/update-<number>.npz and remove all but the last two. */
antler_status ant_checkpoint_write(const char *folder, const antler_trainer *trainer, const ant_run *run);

/* checkpoint.c: bring `run` to the newest checkpoint; *found is false when there is none. */
antler_status ant_checkpoint_restore(const char *folder, const antler_trainer *trainer, ant_run *run,
                                     bool *found);

/* log.c: cut the log to rows of updates up to `update` (0: the header alone) and open it for appending. */
antler_status ant_log_open(const char *folder, size_t update, FILE **log);

/* log.c: append a row and flush. */
antler_status ant_log_write(FILE *log, const char *folder, const antler_train_row *row);

#endif
