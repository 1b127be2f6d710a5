/* data_options.c - options that load data, with defaults from the settings of a run. */
#include "cli/data_options.h"

#include "cli/foreign.h"
#include "cli/runs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH = 4096 };

const char *const cli_load_headers[] = {"auto", "yes", "no", NULL};
const char *const cli_load_resamplings[] = {"linear", "cubic", NULL};

/* Where `given` is not set and the run has a text, that. */
static void inherit(const char **given, const char *of_run)
{
    if (*given == NULL && of_run[0] != '\0')
        *given = of_run;
}

/* Whether FOLDER/NAME can be read; `path` is its name then.  Returns CLI_DONE to continue, or the exit code.
 */
static int find_in(const char *folder, size_t length, const char *name, char path[PATH], bool *found)
{
    const int written = snprintf(path, PATH, "%.*s/%s", (int)length, folder, name);
    *found = written > 0 && written < PATH && access(path, R_OK) == 0;
    return *found || written >= PATH || errno == ENOENT || errno == ENOTDIR
               ? CLI_DONE
               : cli_file_error(path, "examined");
}

int cli_settings_of_run(const char *run, antler_settings *settings, bool *found)
{
    char path[PATH];
    bool is_folder = false;
    const char *slash = strrchr(run, '/');
    int code = cli_run_is_folder(run, &is_folder);
    size_t length = is_folder ? strlen(run) : slash == NULL ? 0 : (size_t)(slash - run);
    const char *folder = length == 0 && slash == NULL ? "." : run;
    length = length == 0 ? 1 : length;
    const size_t tail = strlen("/checkpoints");
    if (!is_folder && length > tail && strncmp(run + length - tail, "/checkpoints", tail) == 0)
        length -= tail;
    if (code == CLI_DONE)
        code = find_in(folder, length, "config.yaml", path, found);
    if (code == CLI_DONE && !*found)
        code = find_in(folder, length, "settings.yaml", path, found); /* of a fit */
    if (code != CLI_DONE)
        return code;
    const antler_status status = *found ? antler_settings_load(path, settings) : ANTLER_OK;
    return status == ANTLER_OK ? CLI_DONE : cli_fail(status);
}

int cli_load_from_run(const char *run, antler_settings *settings, cli_load *load)
{
    bool found = false;
    const int code = cli_settings_of_run(run, settings, &found);
    if (code != CLI_DONE || !found) /* a model without its run */
        return code;
    inherit(&load->columns, settings->columns);
    inherit(&load->inputs, settings->inputs);
    inherit(&load->missing_values, settings->missing_values);
    inherit(&load->time, settings->time);
    inherit(&load->subject, settings->subject);
    inherit(&load->resample, settings->resample);
    inherit(&load->resample_method, cli_load_resamplings[settings->resample_method]);
    return CLI_DONE;
}

/* "runs/heart-1.npy" gives "heart-1"; a letter that cannot stand in a folder's name becomes '-'. */
static void name_after(const char *path, size_t bytes, char *name)
{
    const char *slash = strrchr(path, '/');
    snprintf(name, bytes, "%s", strcmp(path, "-") == 0 ? "stdin" : slash == NULL ? path : slash + 1);
    char *dot = strrchr(name, '.');
    if (dot != NULL && dot != name)
        *dot = '\0';
    for (char *c = name; *c != '\0'; c++)
        *c = strchr("*?[] ", *c) == NULL ? *c : '-';
}

int cli_settings_of_files(char *const *files, size_t count, antler_settings *settings)
{
    size_t used = 0;
    antler_settings_default(settings);
    for (size_t i = 0; i < count; i++) {
        used += (size_t)snprintf(settings->data + used, sizeof settings->data - used, "%s%s",
                                 i == 0 ? "" : "\n", files[i]);
        if (used >= sizeof settings->data)
            return cli_usage_error("the names of the files are too long together; give a glob in quotes");
    }
    name_after(files[0], sizeof settings->experiment, settings->experiment);
    return CLI_DONE;
}

const char *cli_load_missing(const cli_list *missing)
{
    static char text[1024];
    size_t used = 0;
    for (size_t i = 0; i < missing->count && used < sizeof text; i++)
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%s", i == 0 ? "" : ",", missing->items[i]);
    return missing->count == 0 ? NULL : text;
}

antler_status cli_load_to_settings(const cli_load *load, antler_settings *settings)
{
    const char *const given[][2] = {{"columns", load->columns},
                                    {"inputs", load->inputs},
                                    {"missing_values", cli_load_missing(&load->missing)},
                                    {"time", load->time},
                                    {"resample", load->resample},
                                    {"resample_method", load->resample_method},
                                    {"subject", load->subject},
                                    {"key", load->key}};
    antler_status status = ANTLER_OK;
    settings->transpose = load->transpose || settings->transpose;
    settings->dt = load->dt != 0.0 ? load->dt : settings->dt;
    settings->max_bytes = load->max_bytes > 0 ? load->max_bytes : settings->max_bytes;
    for (size_t i = 0; i < sizeof given / sizeof given[0] && status == ANTLER_OK; i++) {
        char text[1200];
        if (given[i][1] == NULL)
            continue;
        snprintf(text, sizeof text, "%s=%s", given[i][0], given[i][1]);
        status = antler_settings_set(settings, text);
    }
    return status;
}

void cli_load_notes(const antler_series *series)
{
    enum { MOST = 12 };
    const size_t count = antler_series_note_count(series);
    for (size_t i = 0; i < count && i < MOST; i++)
        fprintf(stderr, "antler: note: %s\n", cli_foreign_shown(antler_series_note(series, i)));
    if (count > MOST)
        fprintf(stderr, "antler: note: and %zu more; 'antler info FILE' has all\n", count - MOST);
}

void cli_load_suspicions(const antler_series *series)
{
    static const char *const marks[] = {"; if it means", "; if the sensor", "; if its units",
                                        "; if they are faults"};
    for (size_t i = 0; i < antler_series_note_count(series); i++)
        for (size_t k = 0; k < sizeof marks / sizeof marks[0]; k++)
            if (strstr(antler_series_note(series, i), marks[k]) != NULL)
                printf("  Look at the data first: %s\n", cli_foreign_shown(antler_series_note(series, i)));
}

bool cli_load_given(const cli_load *load)
{
    return load->transpose || load->dt != 0.0 || load->max_bytes > 0 || load->missing.count > 0 ||
           load->columns != NULL || load->inputs != NULL || load->time != NULL || load->resample != NULL ||
           load->resample_method != NULL || load->subject != NULL || load->key != NULL;
}

antler_load_opts cli_load_opts(const cli_load *load)
{
    antler_load_opts opts;
    antler_load_opts_default(&opts);
    opts.transpose = load->transpose;
    opts.columns = load->columns;
    opts.inputs = load->inputs;
    opts.dt = load->dt;
    opts.max_bytes = load->max_bytes;
    opts.missing_values = load->missing.count > 0 ? cli_load_missing(&load->missing) : load->missing_values;
    opts.time = load->time;
    opts.resample = load->resample;
    if (load->resample_method != NULL && strcmp(load->resample_method, "cubic") == 0)
        opts.resample_method = ANTLER_RESAMPLE_CUBIC;
    opts.subject = load->subject;
    opts.key = load->key;
    if (load->header != NULL && strcmp(load->header, "yes") == 0)
        opts.header = ANTLER_HEADER_YES;
    else if (load->header != NULL && strcmp(load->header, "no") == 0)
        opts.header = ANTLER_HEADER_NO;
    return opts;
}
