/* log.c - log.csv: one row per log interval, flushed, and cut back to a checkpoint when a run resumes. */
#include "base/output.h"
#include "data/number.h"
#include "train/folder.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char header[] = "update,loss,mar,readout,singular,total,iterations,fallbacks,lr,alpha,"
                             "gradient_norm,seconds,states_agree,gradient_agrees,solver";
static const char validation_header[] = ",val_dstsp,val_hellinger,val_prediction_error";

enum { LINE_MAX_BYTES = 1024 };

static antler_status log_path(const char *folder, char path[ANT_PATH_MAX])
{
    const int length = snprintf(path, ANT_PATH_MAX, "%s/log.csv", folder);
    ANT_CHECK(length > 0 && length < ANT_PATH_MAX, ANTLER_ERROR_ARGUMENT, "%s: the path is too long", folder);
    return ANTLER_OK;
}

/* Copy the complete rows up to `update` from the old log, if there is one; one that cannot be read is not
 * lost. */
static antler_status copy_rows(const char *path, size_t update, ant_output *output, size_t *rows)
{
    char line[LINE_MAX_BYTES];
    FILE *old = fopen(path, "rb");
    antler_status status = ANTLER_OK;
    if (old == NULL && errno == ENOENT)
        return ANTLER_OK;
    ANT_CHECK(old != NULL, ANTLER_ERROR_IO, "%s: cannot be opened: %s", path, strerror(errno));
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
    if (status == ANTLER_OK && ferror(old))
        status = ant_fail(ANTLER_ERROR_IO, "%s: cannot be read: %s", path, strerror(errno));
    fclose(old);
    return status;
}

static antler_status write_header(ant_output *output, bool validated)
{
    ANT_TRY(ant_output_write(output, header, strlen(header)));
    if (validated)
        ANT_TRY(ant_output_write(output, validation_header, strlen(validation_header)));
    return ant_output_write(output, "\n", 1);
}

static antler_status cut(const char *path, size_t update, bool validated, size_t *rows)
{
    ant_output output;
    ANT_TRY(ant_output_open(&output, path));
    antler_status status = write_header(&output, validated);
    if (status == ANTLER_OK && update > 0)
        status = copy_rows(path, update, &output, rows);
    if (status == ANTLER_OK)
        return ant_output_commit(&output);
    ant_output_abort(&output);
    return status;
}

antler_status ant_log_open(const char *folder, size_t update, bool validated, FILE **log, size_t *rows)
{
    char path[ANT_PATH_MAX];
    ANT_TRY(log_path(folder, path));
    *rows = 0;
    ANT_TRY(cut(path, update, validated, rows));
    *log = fopen(path, "ab");
    ANT_CHECK(*log != NULL, ANTLER_ERROR_IO, "%s: cannot be opened: %s", path, strerror(errno));
    return ANTLER_OK;
}

/* ",value" for each; NaN is empty.  Returns the new length of the line. */
static size_t add_values(char *line, size_t used, const double *values, size_t count, size_t seconds)
{
    for (size_t i = 0; i < count; i++) {
        line[used++] = ',';
        if (i == seconds)
            used += (size_t)snprintf(line + used, LINE_MAX_BYTES - used, "%.3f", values[i]);
        else if (!isnan(values[i]))
            used += ant_number_write(values[i], line + used);
    }
    return used;
}

antler_status ant_log_write(FILE *log, const char *folder, bool validated, const antler_train_row *row)
{
    const double values[] = {
        row->loss,           row->mar,           row->readout,           row->singular,
        row->total,          row->iterations,    (double)row->fallbacks, row->lr,
        row->alpha,          row->gradient_norm, row->seconds,           row->states_agree,
        row->gradient_agrees};
    const double validation[] = {row->val_dstsp, row->val_hellinger, row->val_prediction_error};
    char line[LINE_MAX_BYTES];
    size_t used = (size_t)snprintf(line, sizeof line, "%zu", row->update);
    const ant_c_locale locale = ant_c_locale_begin();
    used = add_values(line, used, values, sizeof values / sizeof values[0], 10);
    used += (size_t)snprintf(line + used, sizeof line - used, ",%s", row->solver);
    if (validated)
        used = add_values(line, used, validation, 3, SIZE_MAX);
    line[used++] = '\n';
    ant_c_locale_end(locale);
    if (fwrite(line, 1, used, log) != used || fflush(log) != 0)
        return ant_fail(ANTLER_ERROR_IO, "%s/log.csv: cannot be written: %s", folder, strerror(errno));
    return ANTLER_OK;
}
