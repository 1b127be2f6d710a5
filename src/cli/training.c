/* training.c - reports of a training on the terminal, and the exit code of its result. */
#include "cli/training.h"
#include "cli/progress.h"
#include "cli/ranks.h"
#include "cli/show.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void cli_training_begin(cli_training *state, bool quiet, const char *label)
{
    cli_stop_install();
    *state = (cli_training){.quiet = quiet,
                            .terminal = isatty(STDERR_FILENO) == 1,
                            .begun_at = cli_now(),
                            .last_line = cli_now(),
                            .label = label};
}

static void clear_line(cli_training *state)
{
    if (state->drawn)
        cli_show_clear_line();
    state->drawn = false;
}

void cli_training_end(cli_training *state)
{
    clear_line(state);
    fflush(stderr);
    free(state->at);
    state->at = NULL;
    state->at_count = 0;
}

/* The last update seen of a run; NULL without memory: then there is no estimate of the time left. */
static size_t *last_update(cli_training *state, size_t run)
{
    if (run >= state->at_count) {
        size_t *more = realloc(state->at, (run + 1) * sizeof *more);
        if (more == NULL)
            return NULL;
        memset(more + state->at_count, 0, (run + 1 - state->at_count) * sizeof *more);
        state->at = more;
        state->at_count = run + 1;
    }
    return &state->at[run];
}

static void on_begin(void *cookie, const antler_train_note *note)
{
    cli_training *state = cookie;
    size_t *last = last_update(state, note->run);
    if (last != NULL)
        *last = note->update;
    state->runs = note->runs;
    state->begun++;
    state->updates = note->updates;
    cli_ranks_begun();
    state->left += (double)(note->updates - note->update);
    if (state->quiet)
        return;
    clear_line(state);
    if (!state->solver_shown)
        fprintf(stderr, "%sSolver: %s\n", state->label, note->text);
    state->solver_shown = true;
    if (state->shared && note->update == 0)
        fprintf(stderr, "%sRun %zu is taken.\n", state->label, note->run);
    if (note->update > 0)
        fprintf(stderr, "%sRun %zu %s after update %zu.\n", state->label, note->run,
                state->shared ? "is taken and continues" : "continues", note->update);
}

/* The measures on held-back rows stay in the line until the next validation. */
static void keep_validation(cli_training *state, const antler_train_row *row)
{
    if (isnan(row->val_dstsp))
        return;
    state->validated_run = row->run;
    snprintf(state->validated, sizeof state->validated, ", held back: D_stsp %.3g, D_H %.3g, PE %.3g",
             row->val_dstsp, row->val_hellinger, row->val_prediction_error);
}

/* "update 1200/20000, loss 3.21e-04, Newton 3.1, alpha 0.15, held back: D_stsp 0.1, D_H 0.08, PE 0.003, 0.82
   ms/update, 15 s left"; what a model or a training does not have is left out. */
static void describe(const cli_training *state, const antler_train_row *row, char *text, size_t bytes)
{
    const double elapsed = cli_now() - state->begun_at;
    const double waiting = (double)(state->runs - state->begun) * (double)state->updates;
    const double rate = elapsed > 0.0 ? state->done / elapsed : 0.0;
    char left[32] = "?", run[64] = "", forcing[64] = "";
    if (rate > 0.0)
        cli_duration((state->left + waiting) / rate, left);
    if (state->runs > 1)
        snprintf(run, sizeof run, "run %zu (%zu of %zu done), ", row->run, state->ended, state->runs);
    if (!isnan(row->iterations))
        snprintf(forcing, sizeof forcing, ", Newton %.1f, alpha %g", row->iterations, row->alpha);
    snprintf(text, bytes, "%s%supdate %zu/%zu, loss %.3e%s%s, %.3g ms/update, %s left", state->label, run,
             row->update, row->updates, row->total, forcing,
             state->validated_run == row->run ? state->validated : "",
             1e3 * row->seconds / (double)row->update, left);
}

static void on_row(void *cookie, const antler_train_row *row)
{
    cli_training *state = cookie;
    size_t *last = last_update(state, row->run);
    if (last != NULL) {
        state->done += (double)(row->update - *last);
        state->left -= (double)(row->update - *last);
        *last = row->update;
    }
    keep_validation(state, row);
    const double now = cli_now();
    if (state->quiet || now - state->last_line < (state->terminal ? 0.1 : 10.0))
        return;
    char text[400];
    state->last_line = now;
    describe(state, row, text, sizeof text);
    clear_line(state);
    fprintf(stderr, "%s%s", text, state->terminal ? "" : "\n");
    fflush(stderr);
    state->drawn = state->terminal;
}

static void on_end(void *cookie, const antler_train_note *note)
{
    cli_training *state = cookie;
    state->ended++;
    clear_line(state);
    if (note->status == ANTLER_DIVERGED)
        fprintf(stderr, "%sRun %zu %s. Its last good model is kept.\n", state->label, note->run, note->text);
    else if (note->status == ANTLER_OK && !state->quiet)
        printf("%s: %zu updates done\n", note->folder, note->update);
    else if (note->status == ANTLER_ERROR_ARGUMENT && state->shared)
        fprintf(stderr, "antler: %s\n", note->text);
    fflush(stdout);
}

static void on_note(void *cookie, const char *text)
{
    const cli_training *state = cookie;
    if (!state->quiet)
        fprintf(stderr, "%santler: note: %s\n", state->label, text);
}

static int on_stop(void *cookie)
{
    (void)cookie;
    return cli_stop_requested();
}

static int on_save(void *cookie)
{
    (void)cookie;
    return cli_saves_requested();
}

antler_train_events cli_training_events(cli_training *state)
{
    return (antler_train_events){.struct_size = sizeof(antler_train_events),
                                 .cookie = state,
                                 .begin = on_begin,
                                 .row = on_row,
                                 .end = on_end,
                                 .stop = on_stop,
                                 .note = on_note,
                                 .save = on_save};
}

int cli_training_conclude(const cli_training *state, antler_status status, const antler_train_result *result)
{
    if (status == ANTLER_CANCELLED) {
        char run[sizeof result->folder + 32], quoted[CLI_QUOTED(sizeof run)];
        const int length = snprintf(run, sizeof run, "%s", result->folder);
        if (result->run > 0)
            snprintf(run + length, sizeof run - (size_t)length, "/%03zu", result->run);
        printf("Stopped; nothing is lost. Continue with:\n  antler train --resume %s\n",
               cli_show_quoted(run, quoted));
        return CLI_DONE;
    }
    if (status == ANTLER_DIVERGED) {
        fprintf(stderr, "antler: %zu of %zu runs diverged\n", result->diverged,
                result->finished + result->diverged);
        return CLI_NUMBERS;
    }
    if (status != ANTLER_OK)
        return cli_fail(status);
    if (!state->quiet && state->runs > 1)
        printf("%zu runs done in %s\n", result->finished, result->folder);
    return CLI_DONE;
}
