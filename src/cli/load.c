#include "cli/load.h"

#include <string.h>

const char *const cli_load_headers[] = {"auto", "yes", "no", NULL};

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
