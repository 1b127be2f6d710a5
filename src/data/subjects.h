/* subjects.h - the names of subjects in a text file, numbered as they appear. */
#ifndef ANT_DATA_SUBJECTS_H
#define ANT_DATA_SUBJECTS_H

#include "base/status.h"

typedef struct ant_subjects {
    char **names; /* (count) owned */
    size_t count, capacity;
    size_t *sorted; /* (count) numbers in the order of the names */
    size_t last;    /* number of the last that was found */
} ant_subjects;

/* The number of this name, which is added when it is new. */
antler_status ant_subjects_find(ant_subjects *subjects, const char *text, size_t length, size_t *number);

void ant_subjects_clear(ant_subjects *subjects);

#endif
