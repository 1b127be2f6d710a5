/* log.c - log.csv: one row per log interval, flushed, and cut back to a checkpoint when a run resumes. */
#include "base/output.h"
#include "data/number.h"
#include "train/folder.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char header[] = "update,loss,mar,readout,singular,total,iterations,fallbacks,lr,alpha,"
                             "gradient_norm,seconds,states_agree,gradient_agrees,solver\n";

enum { LINE_MAX_BYTES = 1024 };

static antler_status log_path(const char *folder, char path[ANT_PATH_MAX])
{
    const int length = snprintf(path, ANT_PATH_MAX, "%s/log.csv", folder);
    ANT_CHECK(length > 0 && length < ANT_PATH_MAX, ANTLER_ERROR_ARGUMENT, "%s: the path is too long", folder);
    return ANTLER_OK;
}

/* Copy the complete rows up to `update` from the old log, if there is one. */
static antler_status copy_rows(const char *path, size_t update, ant_output *output, size_t *rows)
{
    char line[LINE_MAX_BYTES];
    FILE *old = fopen(path, "rb");
    antler_status status = ANTLER_OK;
    if (old == NULL)
        return ANTLER_OK;
    bool first = true;
    while (status == ANTLER_OK && fgets(line, sizeof line, old) != NULL) {
        char *end = NULL;
        const unsigned long long number = strtoull(line, &end, 10);
        if (!first && (end == line || *end != ',' || number > update || strchr(line, '\n') == NULL))
            break;
        if (!first) {
            status = ant_output_write(output, line, strlen(line));
            ++*rows;
        }
        first = false;
    }
    fclose(old);
    return status;
}

static antler_status cut(const char *path, size_t update, size_t *rows)
{
    ant_output output;
    ANT_TRY(ant_output_open(&output, path));
    antler_status status = ant_output_write(&output, header, strlen(header));
    if (status == ANTLER_OK && update > 0)
        status = copy_rows(path, update, &output, rows);
    if (status == ANTLER_OK)
        return ant_output_commit(&output);
    ant_output_abort(&output);
    return status;
}

antler_status ant_log_open(const char *folder, size_t update, FILE **log, size_t *rows)
{
    char path[ANT_PATH_MAX];
    ANT_TRY(log_path(folder, path));
    *rows = 0;
    ANT_TRY(cut(path, update, rows));
    *log = fopen(path, "ab");
    ANT_CHECK(*log != NULL, ANTLER_ERROR_IO, "%s: cannot be opened: %s", path, strerror(errno));
    return ANTLER_OK;
}

antler_status ant_log_write(FILE *log, const char *folder, const antler_train_row *row)
{
    const double values[] = {
        row->loss,           row->mar,           row->readout,           row->singular,
        row->total,          row->iterations,    (double)row->fallbacks, row->lr,
        row->alpha,          row->gradient_norm, row->seconds,           row->states_agree,
        row->gradient_agrees};
    char line[LINE_MAX_BYTES];
    size_t used = (size_t)snprintf(line, sizeof line, "%zu", row->update);
    const ant_c_locale locale = ant_c_locale_begin();
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        line[used++] = ',';
        if (i == 10)
            used += (size_t)snprintf(line + used, sizeof line - used, "%.3f", values[i]);
        else if (!isnan(values[i]))
            used += ant_number_write(values[i], line + used);
    }
    ant_c_locale_end(locale);
    used += (size_t)snprintf(line + used, sizeof line - used, ",%s\n", row->solver);
    if (fwrite(line, 1, used, log) != used || fflush(log) != 0)
        return ant_fail(ANTLER_ERROR_IO, "%s/log.csv: cannot be written: %s", folder, strerror(errno));
    return ANTLER_OK;
}
