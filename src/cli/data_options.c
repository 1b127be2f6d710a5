/* data_options.c - options that load data, with defaults from the settings of a run. */
#include "cli/data_options.h"

#include "cli/runs.h"

#include <stdio.h>
#include <string.h>

const char *const cli_load_headers[] = {"auto", "yes", "no", NULL};

int cli_load_from_run(const char *run, antler_settings *settings, cli_load *load)
{
    char path[4096];
    FILE *file = NULL;
    if (cli_run_is_folder(run) && snprintf(path, sizeof path, "%s/config.yaml", run) < (int)sizeof path)
        file = fopen(path, "r");
    if (file == NULL) /* a model without its run */
        return CLI_DONE;
    fclose(file);
    const antler_status status = antler_settings_load(path, settings);
    if (status != ANTLER_OK)
        return cli_fail(status);
    if (load->columns == NULL && settings->columns[0] != '\0')
        load->columns = settings->columns;
    if (load->inputs == NULL && settings->inputs[0] != '\0')
        load->inputs = settings->inputs;
    return CLI_DONE;
}

antler_load_opts cli_load_opts(const cli_load *load)
{
    antler_load_opts opts;
    antler_load_opts_default(&opts);
    opts.transpose = load->transpose;
    opts.columns = load->columns;
    opts.inputs = load->inputs;
    opts.dt = load->dt;
    if (load->header != NULL && strcmp(load->header, "yes") == 0)
        opts.header = ANTLER_HEADER_YES;
    else if (load->header != NULL && strcmp(load->header, "no") == 0)
        opts.header = ANTLER_HEADER_NO;
    return opts;
}
