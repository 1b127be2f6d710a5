/* next.c - after a training: judge the model, draw it, let it run free. */
#include "cli/next.h"

#include "cli/data_options.h"
#include "cli/extension.h"
#include "cli/runs.h"
#include "cli/show.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* " word", quoted for the shell. */
static void print_word(const char *word)
{
    char *quoted = cli_memory(CLI_QUOTED(strlen(word)), 1, "a message");
    printf(" %s", cli_show_quoted(word, quoted));
    free(quoted);
}

static void print_generate(const cli_next *next, const antler_settings *settings)
{
    char out[1600];
    snprintf(out, sizeof out, "%s/free.csv", next->out);
    fputs("  antler generate", stdout);
    print_word(next->generate);
    if (settings->inputs[0] != '\0')
        fputs(" --inputs-end repeat", stdout);
    fputs(" --out", stdout);
    print_word(out);
    putchar('\n');
}

void cli_next_print(const cli_next *next, const antler_settings *settings)
{
    char program[PATH_MAX];
    puts("Next:");
    if (next->evaluate != NULL && (settings->validation > 0.0 || settings->validation_data[0] != '\0')) {
        fputs("  antler evaluate", stdout);
        print_word(next->evaluate);
        putchar('\n');
    }
    if (next->report != NULL && cli_extension_find("report", program)) {
        fputs("  antler report", stdout);
        print_word(next->report);
        putchar('\n');
    }
    print_generate(next, settings);
}

void cli_next_of_runs(const char *folder, size_t run, size_t runs)
{
    char path[1500], model[1600];
    antler_settings settings;
    bool found = false, has = false;
    const size_t only = run;
    do {
        run = only > 0 ? only : run + 1;
        snprintf(path, sizeof path, "%.1400s/%03zu", folder, run);
    } while (only == 0 && run < runs && cli_run_has_model(path, &has) == CLI_DONE && !has);
    if (cli_run_has_model(path, &has) != CLI_DONE || !has ||
        cli_settings_of_run(path, &settings, &found) != CLI_DONE || !found)
        return;
    snprintf(model, sizeof model, "%s/best.npz", path); /* the model of the verdict */
    const bool validated = access(model, R_OK) == 0;
    const char *all = only > 0 || runs == 1 ? path : folder;
    cli_next_print(&(cli_next){all, all, validated ? model : path, path}, &settings);
}
