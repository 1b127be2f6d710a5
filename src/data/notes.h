/* notes.h - what loading has decided or found, one sentence each, for the user to see. */
#ifndef ANT_DATA_NOTES_H
#define ANT_DATA_NOTES_H

#include "base/status.h"

typedef struct ant_notes {
    char **texts; /* (count) owned */
    size_t count;
} ant_notes;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
antler_status
ant_notes_add(ant_notes *notes, const char *format, ...);

/* Move all of `from` behind those of `to`. */
antler_status ant_notes_move(ant_notes *from, ant_notes *to);

void ant_notes_clear(ant_notes *notes);

#endif
