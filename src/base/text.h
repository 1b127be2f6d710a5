/* text.h - small helpers for the sentences that users read. */
#ifndef ANT_BASE_TEXT_H
#define ANT_BASE_TEXT_H

#include <stddef.h>

/* The candidate with the smallest edit distance to `word`, or NULL when none is near enough to be meant. */
const char *ant_text_nearest(const char *word, const char *const *candidates, size_t count);

#endif
