/* loss_log.c - the loss of a training from the log.csv of a run folder. */
#include "cli/loss_log.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 3, LINE = 4096 };
static const char *const names[COLUMNS] = {"update", "loss", "lr"};

/* The number of a column in the header of the log; -1: it is not there. */
static int find_column(const char *header, const char *name)
{
    const size_t length = strlen(name);
    for (int column = 0; header != NULL; column++) {
        if (strncmp(header, name, length) == 0 && strchr(",\r\n", header[length]) != NULL)
            return column;
        header = strchr(header, ',');
        header = header == NULL ? NULL : header + 1;
    }
    return -1;
}

/* A field of a line; NaN when there is no number. */
static double read_field(const char *line, int column)
{
    for (; column > 0 && line != NULL; column--) {
        line = strchr(line, ',');
        line = line == NULL ? NULL : line + 1;
    }
    char *end = NULL;
    const double value = line == NULL ? NAN : strtod(line, &end);
    return line == NULL || end == line ? NAN : value;
}

static size_t count_lines(FILE *file)
{
    char line[LINE];
    size_t count = 0;
    while (fgets(line, sizeof line, file) != NULL)
        count++;
    if (!ferror(file)) /* which rewind would clear */
        rewind(file);
    return count;
}

/* Rows without all three numbers, such as one that is cut off, are left out. */
static void read_rows(FILE *file, cli_loss_log *log)
{
    char line[LINE];
    int columns[COLUMNS] = {-1, -1, -1};
    const size_t lines = count_lines(file);
    double *next[COLUMNS];
    log->numbers = cli_memory(COLUMNS * (lines + 1), sizeof *log->numbers, "the loss of the training");
    if (fgets(line, sizeof line, file) == NULL)
        return;
    for (int k = 0; k < COLUMNS; k++) {
        columns[k] = find_column(line, names[k]);
        next[k] = log->numbers + (size_t)k * lines;
    }
    if (columns[0] < 0 || columns[1] < 0 || columns[2] < 0)
        return;
    log->curve.update = next[0], log->curve.loss = next[1], log->curve.lr = next[2];
    while (fgets(line, sizeof line, file) != NULL) {
        const double update = read_field(line, columns[0]), loss = read_field(line, columns[1]),
                     lr = read_field(line, columns[2]);
        if (isnan(update) || isnan(loss) || isnan(lr) || log->curve.count + 1 > lines)
            continue;
        next[0][log->curve.count] = update;
        next[1][log->curve.count] = loss;
        next[2][log->curve.count++] = lr;
    }
}

int cli_loss_log_read(const char *run, cli_loss_log *log)
{
    char path[LINE];
    *log = (cli_loss_log){.curve.struct_size = sizeof log->curve};
    if (snprintf(path, sizeof path, "%s/log.csv", run) >= (int)sizeof path)
        return CLI_DONE;
    FILE *file = cli_open(path);
    if (file == NULL)
        return errno == ENOENT || errno == ENOTDIR ? CLI_DONE : cli_file_error(path, "opened");
    read_rows(file, log);
    const int code = ferror(file) ? cli_file_error(path, "read") : CLI_DONE;
    fclose(file);
    return code;
}

void cli_loss_log_free(cli_loss_log *log)
{
    free(log->numbers);
    *log = (cli_loss_log){0};
}
