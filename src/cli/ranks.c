/* ranks.c - a command that several ranks share. */
#include "cli/ranks.h"

#include "cli/show.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What rank 0 writes to its witness. */
enum { BEGUN = 'b', ENDED = 'e' }; /* there is a folder; the end is in order */

static int witness = -1;                    /* the end of the pipe that rank 0 has; -1: none */
static bool launched, speaks = true, begun; /* a launcher is there; this process prints; there is a folder */
static int outputs[2] = {-1, -1};           /* stdout and stderr of a process that does not speak */
static char next_command[4 * 4096 + 64];    /* the line that continues */

static void put(const char *text)
{
    for (size_t left = strlen(text); left > 0;) {
        const ssize_t written = write(STDERR_FILENO, text + strlen(text) - left, left);
        if (written <= 0)
            return;
        left -= (size_t)written;
    }
}

/* The witness reads until nobody can write any more. */
static _Noreturn void watch(int pipe_end)
{
    char byte, last = '\0';
    setsid(); /* launchers kill whole groups of processes */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    for (int i = 0; i < 1024; i++) { /* among them what the launcher listens to */
        if (i != pipe_end && i != STDERR_FILENO)
            close(i);
    }
    while (read(pipe_end, &byte, 1) > 0)
        last = byte;
    if (last == '\0')
        put("antler: a rank has died before the training began, and all have ended; start them again\n");
    if (last == BEGUN) {
        put("antler: a rank has died, and all have ended; updates since the last checkpoint are made again. "
            "Continue with:\n");
        put(next_command);
    }
    _exit(0);
}

static void call_witness(void)
{
    int ends[2];
    if (pipe(ends) != 0)
        return; /* only its sentence is lost */
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0)
        watch(ends[0]);
    close(ends[0]);
    if (child > 0)
        witness = ends[1]; /* open until this process ends */
    else
        close(ends[1]);
}

static void send_witness(char byte)
{
    if (witness >= 0 && write(witness, &byte, 1) != 1)
        witness = -1;
}

static void rest(void)
{
    const struct timespec time = {.tv_nsec = 300000000};
    nanosleep(&time, NULL);
}

static void fall_silent(void)
{
    const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    fflush(NULL);
    for (int i = 0; i < 2 && nothing >= 0; i++) {
        outputs[i] = dup(STDOUT_FILENO + i);
        dup2(nothing, STDOUT_FILENO + i);
    }
    if (nothing >= 0)
        close(nothing);
    speaks = false;
}

static void speak(void)
{
    fflush(NULL);
    for (int i = 0; i < 2 && outputs[i] >= 0; i++) {
        dup2(outputs[i], STDOUT_FILENO + i);
        close(outputs[i]);
        outputs[i] = -1;
    }
    speaks = true;
}

void cli_ranks_open(void)
{
    size_t place = 0;
    launched = antler_ranks_launched(&place);
    if (launched && place > 0)
        fall_silent();
}

int cli_ranks_join(const char *folder)
{
    size_t rank = 0, ranks = 1;
    char quoted[CLI_QUOTED(4096)];
    if (!launched)
        return CLI_DONE;
    snprintf(next_command, sizeof next_command, "  antler train --resume %s\n",
             cli_show_quoted(folder, quoted));
    signal(SIGPIPE, SIG_IGN);
    if (speaks)
        call_witness();
    const antler_status status = antler_ranks_join(&rank, &ranks);
    if (status != ANTLER_OK || rank > 0)
        send_witness(ENDED);
    if (status != ANTLER_OK) {
        const int code = cli_fail(status);
        antler_ranks_leave();
        return code;
    }
    if (rank > 0 && speaks)
        fall_silent();
    if (rank == 0 && !speaks)
        speak();
    return CLI_DONE;
}

void cli_ranks_begun(void)
{
    if (!begun)
        send_witness(BEGUN);
    begun = true;
}

bool cli_ranks_leave(antler_status status)
{
    if (!launched)
        return true;
    send_witness(ENDED);
    if (antler_ranks_agree()) {
        antler_ranks_leave();
        return speaks;
    }
    speak();
    const int code = cli_fail(status);
    if (begun)
        fprintf(stderr, "Once the reason is gone, continue with:\n%s", next_command);
    fflush(NULL);
    rest(); /* until the launcher has read that */
    antler_ranks_end_all(code);
    cli_end(code);
}

int cli_ranks_end(int code)
{
    if (!launched || code == CLI_DONE)
        return code;
    if (!speaks)
        return CLI_DONE;
    fflush(NULL);
    rest(); /* a launcher kills the others at the first code that is not 0 */
    return code;
}
