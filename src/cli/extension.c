/*
 * extension.c - commands that are separate programs: `antler NAME` runs `antler-NAME`, which is
 * searched beside this program and then on the PATH, as in git.
 *
 * The program replaces this process, so exit code, signals and output are those of the program.
 */
#include "cli/extension.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char prefix[] = "antler-";

/* Extensions that come with Antler, and a hint for when they are not found. */
static const struct {
    const char *name, *source;
} own_extensions[] = {{"report", "it comes with Antler's Python package"},
                      {"convert", "it comes with Antler's Python package"}};
enum { OWN_EXTENSIONS = sizeof own_extensions / sizeof own_extensions[0] };

/* Letters, digits, dashes and underscores only: a name cannot leave the folders that are searched. */
static bool is_name(const char *word)
{
    const char *allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    return word[0] != '\0' && word[0] != '-' && word[strspn(word, allowed)] == '\0';
}

static bool is_program(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) && access(path, X_OK) == 0;
}

/*
 * folder/antler-name in `path`, when there is such a program.  The current folder, which an empty or a
 * relative name in the PATH means, is not searched: it may hold results of somebody else.
 */
static bool in_folder(const char *folder, size_t length, const char *name, char path[PATH_MAX])
{
    if (length == 0 || folder[0] != '/')
        return false;
    const int written = snprintf(path, PATH_MAX, "%.*s/%s%s", (int)length, folder, prefix, name);
    return written > 0 && written < PATH_MAX && is_program(path);
}

static bool this_program(char self[PATH_MAX])
{
    const ssize_t length = readlink("/proc/self/exe", self, PATH_MAX - 1);
    if (length > 0)
        self[length] = '\0';
    return length > 0;
}

static bool beside_this_program(const char *name, char path[PATH_MAX])
{
    char self[PATH_MAX];
    const char *slash = this_program(self) ? strrchr(self, '/') : NULL;
    return slash != NULL && in_folder(self, (size_t)(slash - self), name, path);
}

static bool on_path(const char *name, char path[PATH_MAX])
{
    const char *folder = getenv("PATH");
    while (folder != NULL) {
        const size_t length = strcspn(folder, ":");
        if (in_folder(folder, length, name, path))
            return true;
        folder = folder[length] == ':' ? folder + length + 1 : NULL;
    }
    return false;
}

bool cli_extension_find(const char *name, char path[PATH_MAX])
{
    return is_name(name) && (beside_this_program(name, path) || on_path(name, path));
}

const char *cli_extension_source(const char *name)
{
    for (size_t i = 0; i < OWN_EXTENSIONS; i++) {
        if (strcmp(own_extensions[i].name, name) == 0)
            return own_extensions[i].source;
    }
    return NULL;
}

int cli_extension_run(char *path, char **arguments)
{
    char self[PATH_MAX];
    if (this_program(self))
        setenv("ANTLER_COMMAND", self, 1); /* so that the extension calls this antler */
    signal(SIGXFSZ, SIG_DFL);              /* main.c ignores it, and that would be inherited */
    arguments[0] = path;
    execv(path, arguments);
    fprintf(stderr, "antler: cannot run %s: %s; is the interpreter in its first line installed?\n", path,
            strerror(errno));
    return CLI_MACHINE;
}
