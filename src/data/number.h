/*
 * number.h - decimal text to double and back: correct to the last bit, fast, and the same in every
 * locale.
 */
#ifndef ANT_DATA_NUMBER_H
#define ANT_DATA_NUMBER_H

#include <locale.h>
#include <stddef.h>

typedef enum ant_number_outcome {
    ANT_NUMBER_READ,      /* a number, nan or inf */
    ANT_NUMBER_NONE,      /* something else */
    ANT_NUMBER_TOO_LARGE, /* a number beyond double precision, such as 1e400 */
} ant_number_outcome;

/*
 * Read the number at the start of text .. end-1: [+-] digits [. digits] [(e|E|d|D) [+-] digits], or
 * nan, inf, infinity in any case.  *stop is the first character after it.  Denormals and underflow to
 * zero are numbers.
 */
ant_number_outcome ant_number_read(const char *text, const char *end, double *value, const char **stop);

/* The C locale for this thread from begin to end, so that the C library writes a decimal point. */
typedef struct ant_c_locale {
    locale_t c, before;
} ant_c_locale;
ant_c_locale ant_c_locale_begin(void);
void ant_c_locale_end(ant_c_locale locale);

/*
 * Write the shortest of 15, 16 or 17 digits that reads back as the same double; nan, inf, -inf.
 * To be called between ant_c_locale_begin and _end.  out: (ANT_NUMBER_ROOM).  Returns the characters written,
 * without the NUL at the end.
 */
enum { ANT_NUMBER_ROOM = 32 };
size_t ant_number_write(double value, char *out);

#endif
