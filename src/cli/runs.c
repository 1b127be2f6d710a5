/* runs.c - the run folders that command line arguments name. */
#include "cli/runs.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int cli_run_is_folder(const char *path, bool *is_folder)
{
    struct stat about;
    const bool found = stat(path, &about) == 0;
    *is_folder = found && S_ISDIR(about.st_mode);
    return found || errno == ENOENT || errno == ENOTDIR ? CLI_DONE : cli_file_error(path, "examined");
}

/* Whether PATH/NAME/model.npz can be read; NAME may be NULL.  Returns CLI_DONE to continue, or the exit code.
 */
static int has_model(const char *path, const char *name, bool *has)
{
    char file[4096];
    const int length = name == NULL ? snprintf(file, sizeof file, "%s/model.npz", path)
                                    : snprintf(file, sizeof file, "%s/%s/model.npz", path, name);
    *has = length > 0 && (size_t)length < sizeof file && access(file, R_OK) == 0;
    return *has || errno == ENOENT || errno == ENOTDIR || errno == EACCES ? CLI_DONE
                                                                          : cli_file_error(file, "examined");
}

int cli_run_has_model(const char *path, bool *has)
{
    return has_model(path, NULL, has);
}

static void add(cli_runs *runs, const char *path, const char *name)
{
    const size_t bytes = strlen(path) + (name == NULL ? 0 : strlen(name) + 1) + 1;
    char *copy = cli_memory(bytes, 1, "the list of runs");
    char **grown = cli_memory(runs->count + 1, sizeof *grown, "the list of runs");
    for (size_t i = 0; i < runs->count; i++)
        grown[i] = runs->paths[i];
    free(runs->paths);
    runs->paths = grown;
    snprintf(copy, bytes, name == NULL ? "%s%s" : "%s/%s", path, name == NULL ? "" : name);
    runs->paths[runs->count++] = copy;
}

/* The runs inside a folder. */
static int add_folder(cli_runs *runs, const char *path)
{
    struct dirent **entries = NULL;
    const int found = scandir(path, &entries, NULL, alphasort);
    const size_t before = runs->count;
    int code = found >= 0        ? CLI_DONE
               : errno == ENOMEM ? cli_no_memory("the list of runs")
                                 : cli_file_error(path, "read");
    for (int i = 0; i < found; i++) {
        bool has = false;
        if (code == CLI_DONE && entries[i]->d_name[0] != '.')
            code = has_model(path, entries[i]->d_name, &has);
        if (has)
            add(runs, path, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    if (code != CLI_DONE)
        return code;
    if (runs->count == before)
        return cli_usage_error("%s: there is no model.npz here and no run below it", path);
    return CLI_DONE;
}

int cli_runs_find(char *const *arguments, size_t count, cli_runs *runs)
{
    for (size_t i = 0; i < count; i++) {
        char *path = cli_memory(strlen(arguments[i]) + 1, 1, "the list of runs");
        strcpy(path, arguments[i]);
        for (size_t end = strlen(path); end > 1 && path[end - 1] == '/'; end--)
            path[end - 1] = '\0';
        bool is_folder = false, has = false;
        int code = cli_run_is_folder(path, &is_folder);
        if (code == CLI_DONE && is_folder)
            code = has_model(path, NULL, &has);
        if (code == CLI_DONE && is_folder && !has)
            code = add_folder(runs, path);
        else if (code == CLI_DONE)
            add(runs, path, NULL);
        free(path);
        if (code != CLI_DONE)
            return code;
    }
    return CLI_DONE;
}

void cli_runs_free(cli_runs *runs)
{
    for (size_t i = 0; i < runs->count; i++)
        free(runs->paths[i]);
    free(runs->paths);
    *runs = (cli_runs){0};
}

bool cli_run_parent(const char *path, char *parent, size_t bytes)
{
    if (strlen(path) >= bytes)
        return false;
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        snprintf(parent, bytes, ".");
    else
        snprintf(parent, bytes, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    return true;
}
