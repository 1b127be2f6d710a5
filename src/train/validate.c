/* validate.c - validations of the runs of a training, side by side where several are due. */
#include "base/machine.h"
#include "train/held_back.h"
#include "train/trainer.h"

#include <stdio.h>
#include <stdlib.h>

/* What one validation finds.  Messages belong to a thread, so a failure carries its own. */
typedef struct finding {
    ant_validation_measures measures;
    antler_status status;
    char message[512];
} finding;

static void measure_run(const antler_trainer *trainer, const ant_run *run, int threads, finding *f)
{
    const ant_held_back *h = trainer->held_back;
    ant_validation_opts opts = h->opts;
    antler_model *model = NULL;
    opts.threads = threads;
    f->status = ant_trainer_make_model(trainer, run, &model);
    if (f->status == ANTLER_OK)
        f->status = ant_validation_measure(model, h->series, &opts, &f->measures);
    if (f->status != ANTLER_OK)
        snprintf(f->message, sizeof f->message, "%s", antler_message());
    antler_model_free(model);
}

antler_status ant_trainer_validate(const antler_trainer *trainer, ant_run *const *runs, size_t count,
                                   int threads)
{
    finding *found = calloc(count, sizeof *found);
    if (found == NULL)
        return ant_fail_memory(count * sizeof *found, "a validation");
    const int beside = (size_t)threads < count ? threads : (int)count;
#pragma omp parallel for num_threads(ant_threads_ready(beside)) schedule(dynamic)
    for (size_t i = 0; i < count; i++)
        measure_run(trainer, runs[i], count > 1 ? 1 : threads, &found[i]);
    antler_status status = ANTLER_OK;
    for (size_t i = 0; i < count && status == ANTLER_OK; i++) {
        const double score = ant_validation_score(&found[i].measures, &trainer->held_back->floor);
        if (found[i].status != ANTLER_OK)
            status = ant_fail(found[i].status, "%s", found[i].message);
        else
            ant_run_keep_validation(runs[i], trainer->layout.total, &found[i].measures, score);
    }
    free(found);
    return status;
}
