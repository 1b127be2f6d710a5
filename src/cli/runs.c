/* runs.c - the run folders that command line arguments name. */
#include "cli/runs.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool cli_run_is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* Whether PATH/NAME/model.npz exists; NAME may be NULL. */
static bool has_model(const char *path, const char *name)
{
    char file[4096];
    const int length = name == NULL ? snprintf(file, sizeof file, "%s/model.npz", path)
                                    : snprintf(file, sizeof file, "%s/%s/model.npz", path, name);
    return length > 0 && (size_t)length < sizeof file && access(file, R_OK) == 0;
}

static bool add(cli_runs *runs, const char *path, const char *name)
{
    const size_t bytes = strlen(path) + (name == NULL ? 0 : strlen(name) + 1) + 1;
    char *copy = malloc(bytes);
    char **grown = realloc(runs->paths, (runs->count + 1) * sizeof *grown);
    if (grown != NULL)
        runs->paths = grown;
    if (copy == NULL || grown == NULL) {
        free(copy);
        return false;
    }
    snprintf(copy, bytes, name == NULL ? "%s%s" : "%s/%s", path, name == NULL ? "" : name);
    runs->paths[runs->count++] = copy;
    return true;
}

/* The runs inside a folder. */
static int add_folder(cli_runs *runs, const char *path)
{
    struct dirent **entries = NULL;
    const int found = scandir(path, &entries, NULL, alphasort);
    const size_t before = runs->count;
    bool good = true;
    for (int i = 0; i < found; i++) {
        if (good && entries[i]->d_name[0] != '.' && has_model(path, entries[i]->d_name))
            good = add(runs, path, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    if (!good)
        return CLI_MACHINE;
    if (runs->count == before)
        return cli_usage_error("%s: there is no model.npz here and no run below it", path);
    return CLI_DONE;
}

int cli_runs_find(char *const *arguments, size_t count, cli_runs *runs)
{
    for (size_t i = 0; i < count; i++) {
        char *path = strdup(arguments[i]);
        if (path == NULL)
            return CLI_MACHINE;
        for (size_t end = strlen(path); end > 1 && path[end - 1] == '/'; end--)
            path[end - 1] = '\0';
        int code = CLI_DONE;
        if (cli_run_is_folder(path) && !has_model(path, NULL))
            code = add_folder(runs, path);
        else if (!add(runs, path, NULL))
            code = CLI_MACHINE;
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
    if (!cli_run_is_folder(path) || strlen(path) >= bytes)
        return false;
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        snprintf(parent, bytes, ".");
    else
        snprintf(parent, bytes, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    return true;
}
