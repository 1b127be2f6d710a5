/* foreign.c - other formats become .npz files by antler-convert, and standard input becomes a file. */
#include "cli/foreign.h"

#include "cli/extension.h"
#include "cli/show.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { ROOM = PATH_MAX };

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* Run `program FROM TO` and wait.  Its messages are its own. */
static int run_converter(char *program, const char *from, const char *to)
{
    char source[ROOM + 4], target[ROOM + 4];
    char *const arguments[] = {program, source, target, NULL};
    pid_t child;
    int state = 0, code = CLI_MACHINE;
    snprintf(source, sizeof source, "%s%s", from[0] == '-' ? "./" : "", from); /* not an option */
    snprintf(target, sizeof target, "%s%s", to[0] == '-' ? "./" : "", to);
    fflush(stdout);
    const int failed = posix_spawn(&child, program, NULL, NULL, arguments, environ);
    if (failed != 0) {
        fprintf(stderr, "antler: cannot run %s: %s\n", program, strerror(failed));
    } else {
        while (waitpid(child, &state, 0) < 0 && errno == EINTR)
            ;
        code = WIFEXITED(state) ? WEXITSTATUS(state) : CLI_MACHINE;
    }
    return code;
}

/* Convert a file of another format; `what` it is. */
static int convert(const char *from, const char *what, const char *to)
{
    char program[PATH_MAX], quoted[CLI_QUOTED(ROOM)], target[CLI_QUOTED(ROOM)], out[ROOM + 8];
    if (strlen(from) >= ROOM)
        return cli_usage_error("%s: the name is too long", from);
    if (cli_extension_find("convert", program))
        return run_converter(program, from, to);
    snprintf(out, sizeof out, "%s.npz", from);
    return cli_usage_error(
        "%s: is %s, which Antler reads through its Python package; install it, so that "
        "antler-convert is on the PATH, or convert the file elsewhere: antler convert %s %s",
        from, what, cli_show_quoted(from, quoted), cli_show_quoted(out, target));
}

/* ---- temporary copies -------------------------------------------------------------------------------- */

static char shown_folder[ROOM]; /* the folder of the last copies; "": there were none */

const char *cli_foreign_shown(const char *text)
{
    static char shown[4 * ROOM];
    const char *at = shown_folder[0] == '\0' ? NULL : strstr(text, shown_folder);
    const char *name = at == NULL ? NULL : at + strlen(shown_folder) + 1;
    const char *end = name == NULL ? NULL : strstr(name, ".npz");
    if (end == NULL)
        return text;
    const char *rest = end + strlen(".npz");
    rest += strncmp(rest, ":x_000", 6) == 0 ? 6 : 0;
    snprintf(shown, sizeof shown, "%.*s%.*s%s", (int)(at - text), text, (int)(end - name), name, rest);
    return shown;
}

typedef struct copies {
    char folder[ROOM]; /* "": none was made */
    cli_list files;    /* the names to load: those given, or those of copies */
    char *made[CLI_LIST_MAX];
    size_t made_count;
} copies;

static int add_copy(copies *c, const char *file, const char *what)
{
    char path[ROOM];
    const char *temporary = getenv("TMPDIR");
    if (c->folder[0] == '\0') {
        snprintf(c->folder, sizeof c->folder, "%.3000s/antler-XXXXXX",
                 temporary == NULL || temporary[0] == '\0' ? "/tmp" : temporary);
        if (mkdtemp(c->folder) == NULL) {
            fprintf(stderr, "antler: %s: the folder cannot be made: %s\n", c->folder, strerror(errno));
            c->folder[0] = '\0';
            return CLI_MACHINE;
        }
        snprintf(shown_folder, sizeof shown_folder, "%s", c->folder);
    }
    const int length = snprintf(path, sizeof path, "%s/%s.npz", c->folder, name_of(file));
    if (length >= (int)sizeof path)
        return cli_usage_error("%s: the name is too long", file);
    char *copy = cli_memory(strlen(path) + 1, 1, "a file name");
    strcpy(copy, path);
    c->made[c->made_count++] = copy;
    c->files.items[c->files.count++] = copy;
    return convert(file, what, copy);
}

static void remove_copies(copies *c)
{
    for (size_t i = 0; i < c->made_count; i++) {
        unlink(c->made[i]);
        free(c->made[i]);
    }
    if (c->folder[0] != '\0')
        rmdir(c->folder);
}

int cli_series_load(const cli_list *files, const cli_load *load, antler_series **series)
{
    copies *c = cli_memory(1, sizeof *c, "the list of files");
    int code = CLI_DONE;
    for (size_t i = 0; i < files->count && code == CLI_DONE; i++) {
        const char *what = antler_file_foreign(files->items[i]);
        if (what != NULL)
            code = add_copy(c, files->items[i], what);
        else
            c->files.items[c->files.count++] = files->items[i];
    }
    if (code == CLI_DONE) {
        const antler_load_opts opts = cli_load_opts(load);
        const antler_status status = antler_series_load(c->files.items, c->files.count, &opts, series);
        code = status == ANTLER_OK ? CLI_DONE : cli_fail(status);
    }
    remove_copies(c);
    free(c);
    return code;
}

/* ---- files for a training ---------------------------------------------------------------------------- */

/* "<results>/<experiment>", made when it does not exist. */
static int make_folder(const antler_settings *settings, char folder[ROOM])
{
    if (snprintf(folder, ROOM, "%s/%s", settings->results, settings->experiment) >= ROOM)
        return cli_usage_error("results: the path is too long");
    for (char *slash = strchr(folder + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash != NULL)
            *slash = '\0';
        if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
            fprintf(stderr, "antler: %s: the folder cannot be made: %s\n", folder, strerror(errno));
            return CLI_MACHINE;
        }
        if (slash == NULL)
            return CLI_DONE;
        *slash = '/';
    }
}

/* All of standard input in a file, whose ending is that of its format. */
static int keep_input(const char *folder, char path[ROOM])
{
    char bytes[1 << 16];
    size_t count = fread(bytes, 1, sizeof bytes, stdin);
    const char *ending = count >= 6 && memcmp(bytes, "\x93NUMPY", 6) == 0    ? "npy"
                         : count >= 4 && memcmp(bytes, "PK\x03\x04", 4) == 0 ? "npz"
                                                                             : "csv";
    if (count == 0)
        return cli_usage_error("standard input is empty; a table of numbers was expected");
    if (snprintf(path, ROOM, "%s/stdin.%s", folder, ending) >= ROOM)
        return cli_usage_error("results: the path is too long");
    FILE *out = fopen(path, "wb");
    for (; out != NULL && count > 0 && ferror(out) == 0; count = fread(bytes, 1, sizeof bytes, stdin))
        (void)fwrite(bytes, 1, count, out);
    const bool good = out != NULL && ferror(out) == 0 && ferror(stdin) == 0;
    if ((out != NULL && fclose(out) != 0) || !good) {
        fprintf(stderr, "antler: %s: standard input cannot be kept here: %s\n", path, strerror(errno));
        return CLI_MACHINE;
    }
    return CLI_DONE;
}

/* The file that takes the place of `file`, or its own name. */
static int settle_file(const antler_settings *settings, const char *file, bool quiet, char path[ROOM])
{
    const bool input = strcmp(file, "-") == 0;
    const char *what = input ? NULL : antler_file_foreign(file);
    char folder[ROOM];
    if (snprintf(path, ROOM, "%s", file) >= ROOM)
        return cli_usage_error("%s: the name is too long", file);
    if (!input && what == NULL)
        return CLI_DONE;
    int code = make_folder(settings, folder);
    if (code == CLI_DONE && input)
        code = keep_input(folder, path);
    if (code == CLI_DONE && !input)
        code = snprintf(path, ROOM, "%s/%s.npz", folder, name_of(file)) < ROOM
                   ? convert(file, what, path)
                   : cli_usage_error("results: the path is too long");
    if (code == CLI_DONE && !quiet)
        printf("%s is kept as %s\n", input ? "Standard input" : file, path);
    return code;
}

int cli_foreign_settle(antler_settings *settings, bool quiet)
{
    char data[sizeof settings->data], path[ROOM];
    size_t used = 0;
    int code = CLI_DONE;
    snprintf(data, sizeof data, "%s", settings->data);
    for (char *file = data, *next; file != NULL && code == CLI_DONE; file = next) {
        next = strchr(file, '\n');
        if (next != NULL)
            *next++ = '\0';
        code = settle_file(settings, file, quiet, path);
        if (code != CLI_DONE)
            return code;
        used += (size_t)snprintf(settings->data + used, sizeof settings->data - used, "%s%s",
                                 used == 0 ? "" : "\n", path);
        if (used >= sizeof settings->data)
            return cli_usage_error("data: the names of the files are too long together");
    }
    return code;
}
