/* fit_files.c - the files of a fit. */
#include "fit/fit_files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 512 };

static void print_line(char *line, const ant_trial *t, size_t run)
{
    const antler_settings *s = &t->candidate.settings;
    const ant_fit_run *r = &t->runs[run];
    static const char *const starts[] = {[ANTLER_INITIALISATION_MEMORY] = "memory",
                                         [ANTLER_INITIALISATION_STANDARD] = "standard",
                                         [ANTLER_INITIALISATION_AUTO] = "auto"};
    snprintf(line, LINE_BYTES,
             "%zu,%zu,%zu,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%zu,%zu,%zu,%s,%.9g,%d,%.9g,%zu,%zu,%.9g,%.9g,%d\n",
             t->rung, t->number, run + 1, r->score, r->measures.dstsp, r->measures.hellinger,
             r->measures.prediction_error, r->whole.dstsp, r->whole.hellinger, s->updates, s->latent_dim,
             s->hidden_dim, starts[s->initialisation], s->kappa, (int)s->clipped, s->gtf_alpha,
             s->sequence_length, s->batch_size, s->start_lr, s->noise, (int)s->teacher);
}

antler_status ant_fit_table_write(const ant_trial *trials, size_t count, const char *folder)
{
    static const char head[] =
        "rung,trial,run,score,dstsp,hellinger,prediction_error,whole_dstsp,whole_hellinger,updates,latent_"
        "dim,hidden_dim,"
        "initialisation,kappa,clipped,gtf_alpha,sequence_length,batch_size,start_lr,noise,"
        "teacher\n";
    size_t lines = 0;
    char path[1500];
    for (size_t i = 0; i < count; i++)
        lines += trials[i].candidate.settings.runs;
    char *text = malloc(sizeof head + lines * LINE_BYTES);
    if (text == NULL)
        return ant_fail_memory(sizeof head + lines * LINE_BYTES, "the table of trials");
    char *end = text + snprintf(text, sizeof head, "%s", head);
    for (size_t i = 0; i < count; i++) {
        for (size_t run = 0; run < trials[i].candidate.settings.runs; run++) {
            if (isnan(trials[i].runs[run].score))
                continue;
            print_line(end, &trials[i], run);
            end += strlen(end);
        }
    }
    snprintf(path, sizeof path, "%s/trials.csv", folder);
    const antler_status status = antler_write_file(path, text);
    free(text);
    return status;
}

antler_status ant_fit_winner_write(const ant_trial *winner, const char *folder)
{
    char path[1500], run[1500];
    antler_model *model = NULL;
    antler_settings s = winner->candidate.settings;
    snprintf(s.name, sizeof s.name, "fitted");
    snprintf(path, sizeof path, "%s/settings.yaml", folder);
    ANT_TRY(antler_settings_write(&s, path));
    ANT_TRY(ant_trial_best(winner, winner->best, sizeof run, run));
    ANT_TRY(antler_model_load(run, &model));
    snprintf(path, sizeof path, "%s/model.npz", folder);
    const antler_status status = antler_model_save(model, path);
    antler_model_free(model);
    return status;
}
