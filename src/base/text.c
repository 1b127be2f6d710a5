/* text.c - the nearest word, for "did you mean". */
#include <antler/antler.h>

#include <ctype.h>
#include <string.h>

enum { LONGEST = 63 };

/* Levenshtein distance without regard to case; both words are at most LONGEST characters. */
static size_t edit_distance(const char *a, const char *b)
{
    const size_t a_length = strlen(a), b_length = strlen(b);
    size_t row[LONGEST + 1];
    for (size_t j = 0; j <= b_length; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            const int same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
            size_t best = diagonal + (same ? 0 : 1);
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[b_length];
}

const char *antler_nearest(const char *word, const char *const *candidates, size_t count)
{
    if (word == NULL || candidates == NULL)
        return NULL;
    const size_t length = strlen(word);
    if (length > LONGEST)
        return NULL;
    const char *nearest = NULL;
    size_t least = length / 3 + 2; /* farther than that is another word */
    for (size_t i = 0; i < count; i++) {
        if (candidates[i] == NULL || strlen(candidates[i]) > LONGEST)
            continue;
        const size_t distance = edit_distance(word, candidates[i]);
        if (distance < least) {
            least = distance;
            nearest = candidates[i];
        }
    }
    return nearest;
}
