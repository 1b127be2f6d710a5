/*
 * fuzz_training.h - a small training, for the fuzzers of what a resume reads: its settings and data, and a
 * folder in memory for files.  make_corpus.py trains the same to make seeds.
 */
#ifndef ANT_FUZZ_TRAINING_H
#define ANT_FUZZ_TRAINING_H

#include "fuzz.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FUZZ_ROWS = 60, FUZZ_DIM = 2, FUZZ_UPDATES = 4, FUZZ_PATH = 256 };

/* The settings as config.yaml has them; the others have their defaults. */
static const char fuzz_config[] = "latent_dim: 3\n"
                                  "hidden_dim: 4\n"
                                  "sequence_length: 8\n"
                                  "batch_size: 2\n"
                                  "updates: 4\n"
                                  "checkpoint_interval: 2\n"
                                  "log_interval: 1\n"
                                  "validation: 0\n"
                                  "kappa: 0.9\n"
                                  "initialisation: memory\n"
                                  "solver: sequential\n"
                                  "threads: 1\n"
                                  "device: cpu\n";

static inline antler_series *fuzz_series(void)
{
    double x[FUZZ_ROWS * FUZZ_DIM];
    antler_series *series = NULL;
    for (size_t i = 0; i < FUZZ_ROWS * FUZZ_DIM; i++)
        x[i] = (double)(i * 7919 % 1000) / 1000.0;
    if (antler_series_create(FUZZ_DIM, 0, &series) != ANTLER_OK ||
        antler_series_append(series, FUZZ_ROWS, x, NULL) != ANTLER_OK)
        abort();
    return series;
}

/* <folder>/001 with checkpoints/, in TMPDIR or else in memory where the machine has that. */
static inline const char *fuzz_run_folder(void)
{
    const char *const asked = getenv("TMPDIR");
    const char *const place = asked != NULL ? asked : access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    static char base[FUZZ_PATH], run[FUZZ_PATH + 8];
    char checkpoints[FUZZ_PATH + 32];
    if (run[0] != '\0')
        return run;
    snprintf(base, sizeof base, "%s/antler-fuzz-XXXXXX", place);
    if (mkdtemp(base) == NULL)
        abort();
    snprintf(run, sizeof run, "%s/001", base);
    snprintf(checkpoints, sizeof checkpoints, "%s/checkpoints", run);
    if (mkdir(run, 0700) != 0 || mkdir(checkpoints, 0700) != 0)
        abort();
    return run;
}

static inline void fuzz_write(const char *name, const void *bytes, size_t size)
{
    char path[FUZZ_PATH + 64];
    snprintf(path, sizeof path, "%s/%s", fuzz_run_folder(), name);
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        abort();
}

static inline void fuzz_remove(const char *name)
{
    char path[FUZZ_PATH + 64];
    snprintf(path, sizeof path, "%s/%s", fuzz_run_folder(), name);
    (void)unlink(path);
}

#endif
