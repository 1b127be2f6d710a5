/* notes.c - a list of sentences. */
#include "data/notes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 1024 };

static antler_status append(ant_notes *notes, char *text)
{
    char **grown = text == NULL ? NULL : realloc(notes->texts, (notes->count + 1) * sizeof *grown);
    if (grown == NULL) {
        free(text);
        return ant_fail_memory(LONGEST, "a note");
    }
    notes->texts = grown;
    notes->texts[notes->count++] = text;
    return ANTLER_OK;
}

antler_status ant_notes_add(ant_notes *notes, const char *format, ...)
{
    char text[LONGEST];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return append(notes, strdup(text));
}

antler_status ant_notes_move(ant_notes *from, ant_notes *to)
{
    antler_status status = ANTLER_OK;
    for (size_t i = 0; i < from->count && status == ANTLER_OK; i++) {
        status = append(to, from->texts[i]);
        from->texts[i] = NULL;
    }
    ant_notes_clear(from);
    return status;
}

void ant_notes_clear(ant_notes *notes)
{
    for (size_t i = 0; i < notes->count; i++)
        free(notes->texts[i]);
    free(notes->texts);
    *notes = (ant_notes){0};
}
