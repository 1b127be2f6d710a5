/* progress.c - a progress bar on a terminal, plain lines elsewhere, and the stop by Ctrl-C. */
#include "cli/progress.h"

#include "cli/show.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 30 };

/* Set by a signal, read by every thread; atomic integers are lock-free, so a handler may store. */
static atomic_int stop_requested;

static void request_stop(int signal_number)
{
    (void)signal_number;
    atomic_store(&stop_requested, 1);
}

/* How often SIGUSR1 has come. */
static atomic_int saves_requested;

static void request_save(int signal_number)
{
    (void)signal_number;
    atomic_fetch_add(&saves_requested, 1);
}

double cli_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void cli_duration(double seconds, char text[32])
{
    const long s = (long)(seconds + 0.5);
    if (s < 60)
        snprintf(text, 32, "%ld s", s);
    else if (s < 3600)
        snprintf(text, 32, "%ld min %02ld s", s / 60, s % 60);
    else
        snprintf(text, 32, "%ld h %02ld min", s / 3600, s / 60 % 60);
}

static void draw_bar(cli_progress *state, double fraction, const char *left)
{
    char bar[BAR + 1];
    const int filled = (int)(fraction * BAR);
    for (int i = 0; i < BAR; i++)
        bar[i] = i < filled ? '=' : i == filled ? '>' : ' ';
    bar[BAR] = '\0';
    if (state->drawn)
        cli_show_clear_line();
    fprintf(stderr, "%s [%s] %3.0f %%, %s left", state->what, bar, 100.0 * fraction, left);
    fflush(stderr);
    state->drawn = true;
}

static int report(void *cookie, const char *what, double fraction)
{
    cli_progress *state = cookie;
    const double t = cli_now();
    if (state->what == NULL || strcmp(state->what, what) != 0) {
        state->what = what;
        state->begun = t;
        state->last_line = t;
    }
    const double elapsed = t - state->begun;
    if (!state->quiet && elapsed > 1.0 && fraction > 0.0 && fraction < 1.0) {
        char left[32];
        cli_duration(elapsed * (1.0 - fraction) / fraction, left);
        if (state->terminal) {
            draw_bar(state, fraction, left);
        } else if (t - state->last_line >= 10.0) {
            fprintf(stderr, "%s: %.0f %%, %s left\n", what, 100.0 * fraction, left);
            state->last_line = t;
        }
    }
    return atomic_load(&stop_requested);
}

bool cli_stop_requested(void)
{
    return stop_requested != 0;
}

int cli_saves_requested(void)
{
    return atomic_load(&saves_requested);
}

void cli_stop_install(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = request_stop;
    action.sa_flags = SA_RESETHAND; /* a second Ctrl-C ends the process at once */
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    action.sa_handler = request_save;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, NULL);
}

antler_progress cli_progress_begin(cli_progress *state, bool quiet)
{
    cli_stop_install();
    *state = (cli_progress){.quiet = quiet, .terminal = isatty(STDERR_FILENO) == 1};
    return (antler_progress){.fn = report, .cookie = state};
}

void cli_progress_end(cli_progress *state)
{
    if (state->drawn) {
        cli_show_clear_line();
    }
    state->drawn = false;
}
