/* cmd_convert.c - `antler convert`: a data file in another format. */
#include "cli/command.h"
#include "cli/data_options.h"
#include "cli/foreign.h"

#include <stddef.h>

typedef struct settings {
    cli_load load;
    bool quiet;
} settings;

static const cli_option options[] = {
    CLI_LOAD_OPTIONS(settings, load),
    {"quiet", CLI_FLAG, NULL, "No summary.", offsetof(settings, quiet), NULL},
};

static int run(const cli_command *self, int argc, char **argv)
{
    settings s = {.quiet = false};
    cli_list files = {.count = 0};
    antler_series *series = NULL;
    size_t count = 0;
    int code = CLI_DONE;
    if (!cli_parse(self, argc, argv, &s, &count, &code))
        return code;
    const char *out = argv[count - 1];
    for (; files.count + 1 < count; files.count++)
        files.items[files.count] = argv[files.count];
    code = cli_series_load(&files, &s.load, &series);
    if (code != CLI_DONE)
        return code;
    const antler_status status = antler_series_save(series, out);
    if (status == ANTLER_OK && !s.quiet)
        cli_load_notes(series);
    if (status != ANTLER_OK)
        code = cli_fail(status);
    else if (!s.quiet)
        printf("%s: %zu trajector%s, %zu rows in all, %zu variables, %zu inputs\n", out,
               antler_series_count(series), antler_series_count(series) == 1 ? "y" : "ies",
               antler_series_total_length(series), antler_series_dim(series),
               antler_series_input_dim(series));
    antler_series_free(series);
    return code;
}

const cli_command cli_convert = {
    .name = "convert",
    .summary = "write data files in another format",
    .arguments = "FILE... OUT",
    .description =
        "Read data files and write them to OUT, whose ending chooses the format: .npz, .npy, .csv or .tsv. "
        "Several files become several trajectories, which only .npz holds in any case.\n\n"
        "Files of other formats (Parquet, Feather, HDF5, MATLAB, NetCDF, Zarr, EDF, BDF, FIF, NWB, Excel, "
        "JSON) are read through the program antler-convert of Antler's Python package. Every other "
        "command with data files reads them in this way, too.",
    .examples = "  $ antler convert recording.edf recording.npz\n"
                "  $ antler convert measurements.csv --columns 2-5 variables.npy\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .minimum = 2,
    .maximum = CLI_LIST_MAX,
    .run = run,
};
