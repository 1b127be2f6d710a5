/* subjects.c - a sorted list of names with their numbers. */
#include "data/subjects.h"

#include <stdlib.h>
#include <string.h>

static int compare(const char *name, const char *text, size_t length)
{
    const int order = strncmp(name, text, length);
    return order != 0 ? order : name[length] != '\0';
}

static antler_status reserve(ant_subjects *s)
{
    if (s->count < s->capacity)
        return ANTLER_OK;
    const size_t capacity = s->capacity == 0 ? 64 : 2 * s->capacity;
    char **names = realloc(s->names, capacity * sizeof *names);
    s->names = names == NULL ? s->names : names;
    size_t *sorted = realloc(s->sorted, capacity * sizeof *sorted);
    s->sorted = sorted == NULL ? s->sorted : sorted;
    if (names == NULL || sorted == NULL)
        return ant_fail_memory(capacity * sizeof *names, "the subjects");
    s->capacity = capacity;
    return ANTLER_OK;
}

antler_status ant_subjects_find(ant_subjects *s, const char *text, size_t length, size_t *number)
{
    size_t low = 0, high = s->count;
    if (s->count > 0 && compare(s->names[s->last], text, length) == 0) {
        *number = s->last;
        return ANTLER_OK;
    }
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = compare(s->names[s->sorted[middle]], text, length);
        if (order == 0) {
            *number = s->last = s->sorted[middle];
            return ANTLER_OK;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    ANT_TRY(reserve(s));
    char *copy = strndup(text, length);
    if (copy == NULL)
        return ant_fail_memory(length, "a subject");
    memmove(s->sorted + low + 1, s->sorted + low, (s->count - low) * sizeof *s->sorted);
    s->sorted[low] = s->count;
    s->names[s->count] = copy;
    *number = s->last = s->count++;
    return ANTLER_OK;
}

void ant_subjects_clear(ant_subjects *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->names[i]);
    free(s->names);
    free(s->sorted);
    *s = (ant_subjects){0};
}
