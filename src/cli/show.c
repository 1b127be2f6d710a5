/* show.c - a filter between stdio and the terminal, and words quoted for a shell. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* fopencookie */
#endif
#include "cli/show.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TILE = 1024, LONGEST = 4 };

typedef struct screen {
    int descriptor;
    bool exact;
    unsigned char held[LONGEST]; /* the first bytes of a character that is not complete */
    size_t held_count;
} screen;

static char gomp[256]; /* the last words of libgomp */
static screen screens[] = {{.descriptor = STDOUT_FILENO}, {.descriptor = STDERR_FILENO}};

/* Bytes of the UTF-8 character that begins with this byte; 0: none does. */
static size_t length_of(unsigned char lead)
{
    return lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
}

/* Whether `next` may be byte `at` of a character; the second one excludes surrogates and long forms. */
static bool continues(unsigned char lead, size_t at, unsigned char next)
{
    const unsigned char low = at > 1 ? 0x80 : lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const unsigned char high = at > 1 ? 0xbf : lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    return next >= low && next <= high;
}

static bool is_control(const unsigned char *text, size_t bytes)
{
    if (bytes == 1)
        return (text[0] < 0x20 && text[0] != '\n' && text[0] != '\t') || text[0] == 0x7f;
    return bytes == 2 && text[0] == 0xc2 && text[1] < 0xa0; /* U+0080 .. U+009F, some begin sequences */
}

/* Take one byte; returns the bytes that it adds to out: (LONGEST + 1). */
static size_t take(screen *s, unsigned char byte, char *out)
{
    size_t used = 0;
    if (s->held_count > 0 && !continues(s->held[0], s->held_count, byte)) {
        out[used++] = '?';
        s->held_count = 0;
    }
    s->held[s->held_count++] = byte;
    const size_t whole = length_of(s->held[0]);
    if (s->held_count < whole)
        return used;
    if (whole == 0 || is_control(s->held, whole)) {
        out[used++] = '?';
    } else {
        memcpy(out + used, s->held, whole);
        used += whole;
    }
    s->held_count = 0;
    return used;
}

static bool write_all(int descriptor, const char *bytes, size_t count)
{
    while (count > 0) {
        const ssize_t written = write(descriptor, bytes, count);
        if (written < 0 && errno != EINTR)
            return false;
        bytes += written > 0 ? written : 0;
        count -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

/* Whether these bytes belong to libgomp's last words: "\nlibgomp: ", a sentence and a newline, in pieces. */
static bool is_gomp(const char *bytes, size_t count)
{
    static const char begin[] = "\nlibgomp: ";
    static bool within;
    const size_t used = strlen(gomp), room = sizeof gomp - 1 - used;
    if (!within) {
        within = count == sizeof begin - 1 && memcmp(bytes, begin, count) == 0;
        return within;
    }
    within = memchr(bytes, '\n', count) == NULL;
    memcpy(gomp + used, bytes, within && count < room ? count : 0);
    return true;
}

/* The write function of a stream; 0: failed. */
static ssize_t pass(void *cookie, const char *bytes, size_t count)
{
    screen *s = cookie;
    char out[TILE + LONGEST + 1];
    size_t used = 0;
    if (s->descriptor == STDERR_FILENO && is_gomp(bytes, count))
        return (ssize_t)count;
    if (s->exact)
        return write_all(s->descriptor, bytes, count) ? (ssize_t)count : 0;
    for (size_t i = 0; i < count; i++) {
        used += take(s, (unsigned char)bytes[i], out + used);
        if (used < TILE && i + 1 < count)
            continue;
        if (!write_all(s->descriptor, out, used))
            return 0;
        used = 0;
    }
    return (ssize_t)count;
}

static FILE *open_screen(screen *s, int buffering)
{
    FILE *stream = fopencookie(s, "w", (cookie_io_functions_t){.write = pass});
    if (stream != NULL)
        setvbuf(stream, NULL, buffering, BUFSIZ);
    return stream;
}

bool cli_show_begin(void)
{
    FILE *out = open_screen(&screens[0], isatty(STDOUT_FILENO) == 1 ? _IOLBF : _IOFBF);
    FILE *err = open_screen(&screens[1], _IONBF);
    if (out == NULL || err == NULL)
        return false;
    stdout = out;
    stderr = err;
    return true;
}

const char *cli_show_gomp(void)
{
    return gomp;
}

void cli_show_exact(bool exact)
{
    fflush(stdout);
    screens[0].exact = exact;
}

void cli_show_clear_line(void)
{
    static const char erase[] = "\r\033[K";
    fflush(stderr);
    (void)write_all(STDERR_FILENO, erase, sizeof erase - 1);
}

/* Whether a terminal sees every byte of the text as it is, on one line. */
static bool is_printed_whole(const char *text)
{
    screen s = {0};
    char out[LONGEST + 1];
    for (const char *p = text; *p != '\0'; p++) {
        const size_t used = take(&s, (unsigned char)*p, out);
        if ((unsigned char)*p < 0x20 || (used > 0 && out[used - 1] != *p) ||
            (used > 0 && out[0] == '?' && *p != '?'))
            return false;
    }
    return s.held_count == 0;
}

static char *put(char *to, const char *text)
{
    const size_t length = strlen(text);
    memcpy(to, text, length + 1);
    return to + length;
}

/* In $'...', with octal numbers for bytes that a terminal must not see. */
static void quote_bytes(const char *text, char *to)
{
    to = put(to, "$'");
    for (; *text != '\0'; text++) {
        const unsigned char byte = (unsigned char)*text;
        const char octal[] = {'\\', (char)('0' + (byte >> 6)), (char)('0' + (byte >> 3 & 7)),
                              (char)('0' + (byte & 7)), '\0'};
        const char plain[] = {(char)byte, '\0'};
        const bool safe = byte >= 0x20 && byte < 0x7f && byte != '\'' && byte != '\\';
        to = put(to, safe ? plain : octal);
    }
    put(to, "'");
}

/* In '...', where only a quote is special. */
static void quote_text(const char *text, char *to)
{
    to = put(to, "'");
    for (; *text != '\0'; text++) {
        const char plain[] = {*text, '\0'};
        to = put(to, *text == '\'' ? "'\\''" : plain);
    }
    put(to, "'");
}

const char *cli_show_quoted(const char *text, char *out)
{
    const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:+@%";
    char *to = put(out, text[0] == '-' ? "./" : ""); /* not an option */
    if (!is_printed_whole(text))
        quote_bytes(text, to);
    else if (text[0] == '\0' || text[strspn(text, plain)] != '\0')
        quote_text(text, to);
    else
        put(to, text);
    return out;
}
