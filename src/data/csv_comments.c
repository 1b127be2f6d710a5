/* csv_comments.c - read the comment lines "# antler: key=value" of a text file. */
#include "data/csv_comments.h"
#include "data/fields.h"
#include "data/number.h"
#include "data/series.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static antler_status fail_fact(const char *key, uint64_t number)
{
    return ant_fail(
        ANTLER_ERROR_FORMAT,
        "the value of %s= in the comment of line %llu cannot be used; correct or remove that line", key,
        (unsigned long long)number);
}

/* Numbers with commas between them. */
static antler_status read_list(const char *text, const char *end, const char *key, uint64_t number,
                               bool positive, double **values, size_t *count)
{
    const size_t most = ant_field_count(text, end, ',');
    if (most > ANT_SERIES_MAX_DIM || *values != NULL)
        return fail_fact(key, number);
    double *list = calloc(most, sizeof *list);
    if (list == NULL)
        return ant_fail_memory(most * sizeof *list, "the scaling");
    size_t n = 0;
    ant_field field;
    for (const char *p = text; p != NULL; n++) {
        p = ant_field_split(p, end, ',', &field);
        const bool good = ant_field_read(field, &list[n]) == ANT_FIELD_NUMBER && isfinite(list[n]) &&
                          (!positive || list[n] > 0.0);
        if (!good) {
            free(list);
            return fail_fact(key, number);
        }
    }
    *values = list;
    *count = n;
    return ANTLER_OK;
}

static antler_status read_number(const char *text, const char *end, const char *key, uint64_t number,
                                 double most, double *value)
{
    const char *stop;
    if (ant_number_read(text, end, value, &stop) != ANT_NUMBER_READ || stop != end || !(*value >= 0.0) ||
        *value > most)
        return fail_fact(key, number);
    return ANTLER_OK;
}

/* If the text at p is "key=", the value behind it. */
static const char *value_of(const char *p, const char *end, const char *key)
{
    const size_t length = strlen(key);
    const bool same = (size_t)(end - p) > length && memcmp(p, key, length) == 0 && p[length] == '=';
    return same ? p + length + 1 : NULL;
}

antler_status ant_csv_comments_read(ant_csv_comments *comments, const char *line, const char *end,
                                    uint64_t number)
{
    static const char mark[] = "antler:";
    const char *p = ant_field_skip_blanks(line + 1, end, ',');
    if ((size_t)(end - p) < sizeof mark - 1 || memcmp(p, mark, sizeof mark - 1) != 0)
        return ANTLER_OK;
    p = ant_field_skip_blanks(p + sizeof mark - 1, end, ',');
    while (end > p && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    const char *value;
    double inputs = 0.0;
    if ((value = value_of(p, end, "dt")) != NULL)
        return read_number(value, end, "dt", number, DBL_MAX, &comments->dt);
    if ((value = value_of(p, end, "mean")) != NULL)
        return read_list(value, end, "mean", number, false, &comments->mean, &comments->mean_count);
    if ((value = value_of(p, end, "scale")) != NULL)
        return read_list(value, end, "scale", number, true, &comments->scale, &comments->scale_count);
    if ((value = value_of(p, end, "header")) != NULL)
        comments->header = end - value == 3 && memcmp(value, "yes", 3) == 0;
    if ((value = value_of(p, end, "time")) != NULL)
        comments->time = end - value == 5 && memcmp(value, "first", 5) == 0;
    if ((value = value_of(p, end, "inputs")) != NULL) {
        ANT_TRY(read_number(value, end, "inputs", number, ANT_SERIES_MAX_DIM, &inputs));
        comments->inputs = (size_t)inputs;
    }
    return ANTLER_OK;
}

void ant_csv_comments_clear(ant_csv_comments *comments)
{
    free(comments->mean);
    free(comments->scale);
    *comments = (ant_csv_comments){0};
}
