/* ranks_of_training.c - what the ranks of one training compare at its begin and collect at its end. */
#include "train/ranks_of_training.h"

#include "train/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

antler_status ant_ranks_compare(ant_comm *comm, const antler_trainer *trainer)
{
    const size_t ranks = ant_comm_size(comm);
    char(*hashes)[ANT_HASH_TEXT] = calloc(ranks, sizeof *hashes);
    char *yaml = NULL;
    antler_status status = hashes == NULL ? ant_fail_memory(ranks * sizeof *hashes, "the ranks") : ANTLER_OK;
    if (status == ANTLER_OK)
        status = ant_settings_yaml(&trainer->settings, false, &yaml);
    if (status == ANTLER_OK) {
        const ant_hash hash = ant_hash_add_text(ant_hash_begin(), yaml);
        ant_hash_print(ant_hash_add_text(hash, trainer->dataset->hash), hashes[ant_comm_rank(comm)]);
    }
    status = ant_comm_agree(comm, status);
    if (status == ANTLER_OK)
        status = ant_comm_share_one(comm, hashes, sizeof *hashes);
    for (size_t r = 0; r < ranks && status == ANTLER_OK; r++) {
        if (strcmp(hashes[r], hashes[0]) != 0)
            status =
                ant_fail(ANTLER_ERROR_DATA,
                         "rank %zu has other data or settings than rank 0; all ranks need the same files", r);
    }
    free(hashes);
    free(yaml);
    return status;
}

/* What a rank has to say at the end. */
typedef struct outcome {
    antler_status status;
    size_t finished, stopped, diverged, failed;
    char message[512];
} outcome;

/* Failures come first, then stops, then runs that diverged. */
static int weight_of(antler_status status)
{
    return status < 0 ? 3 : status == ANTLER_CANCELLED ? 2 : status != ANTLER_OK ? 1 : 0;
}

antler_status ant_ranks_collect(ant_comm *comm, antler_status own, antler_train_result *counts)
{
    const size_t ranks = ant_comm_size(comm);
    if (comm == NULL)
        return own;
    outcome *all = calloc(ranks, sizeof *all), *mine = all == NULL ? NULL : &all[ant_comm_rank(comm)];
    if (all == NULL) {
        ant_comm_break(comm, ant_fail_memory(ranks * sizeof *all, "the outcome of all ranks"));
        return ant_comm_check(comm);
    }
    *mine = (outcome){own, counts->finished, counts->stopped, counts->diverged, counts->failed, ""};
    if (own != ANTLER_OK)
        snprintf(mine->message, sizeof mine->message, "%s", antler_message());
    antler_status status = ant_comm_share_one(comm, all, sizeof *all);
    const outcome *worst = &all[0];
    counts->finished = counts->stopped = counts->diverged = counts->failed = 0;
    for (size_t r = 0; r < ranks; r++) {
        worst = weight_of(all[r].status) > weight_of(worst->status) ? &all[r] : worst;
        counts->finished += all[r].finished;
        counts->stopped += all[r].stopped;
        counts->diverged += all[r].diverged;
        counts->failed += all[r].failed;
    }
    if (status == ANTLER_OK && worst->status != ANTLER_OK)
        status = ant_fail(worst->status, "%s", worst->message);
    free(all);
    return status;
}
