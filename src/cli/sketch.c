/* sketch.c - a picture of two variables in Braille characters. */
#include "cli/sketch.h"

#include "cli/command.h"

#include <langinfo.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A Braille character holds 2 x 4 dots. */
enum { COLUMNS = 72, LINES = 24, DOTS_X = 2 * COLUMNS, DOTS_Y = 4 * LINES, ROWS_AT_ONCE = 4096 };

typedef struct canvas {
    unsigned char dot[DOTS_Y][DOTS_X];
    antler_variable_stats x, y;
    size_t across, up;
} canvas;

static int scaled(double value, const antler_variable_stats *range, int dots)
{
    const double width = range->max - range->min;
    const double position = width > 0.0 ? (value - range->min) / width : 0.5;
    return (int)(position * (dots - 1) + 0.5);
}

static antler_status plot(canvas *c, const antler_series *series, size_t trajectory, double *rows)
{
    const size_t dim = antler_series_dim(series), length = antler_series_length(series, trajectory);
    for (size_t first = 0; first < length; first += ROWS_AT_ONCE) {
        const size_t count = length - first < ROWS_AT_ONCE ? length - first : ROWS_AT_ONCE;
        const antler_status status = antler_series_read_f64(series, trajectory, first, count, rows, NULL);
        if (status != ANTLER_OK)
            return status;
        for (size_t t = 0; t < count; t++) {
            const double x = rows[t * dim + c->across], y = rows[t * dim + c->up];
            if (isfinite(x) && isfinite(y))
                c->dot[DOTS_Y - 1 - scaled(y, &c->y, DOTS_Y)][scaled(x, &c->x, DOTS_X)] = 1;
        }
    }
    return ANTLER_OK;
}

/* The eight dots of a cell, in the order of Unicode's Braille patterns. */
static unsigned pattern(const canvas *c, int line, int column)
{
    static const int order[8][2] = {{0, 0}, {1, 0}, {2, 0}, {0, 1}, {1, 1}, {2, 1}, {3, 0}, {3, 1}};
    unsigned bits = 0;
    for (int i = 0; i < 8; i++)
        bits |= (unsigned)c->dot[4 * line + order[i][0]][2 * column + order[i][1]] << i;
    return bits;
}

static void print_cell(unsigned bits, bool utf8)
{
    if (utf8)
        printf("\xE2%c%c", (int)(0xA0 + (bits >> 6)), (int)(0x80 + (bits & 63)));
    else
        putchar(bits == 0 ? ' ' : (bits & (bits - 1)) == 0 ? '.' : '*');
}

antler_status cli_sketch(const antler_series *series, size_t across, size_t up)
{
    canvas *c = cli_memory(1, sizeof *c, "the sketch");
    double *rows = cli_memory(ROWS_AT_ONCE * antler_series_dim(series), sizeof *rows, "the sketch");
    c->across = across;
    c->up = up;
    antler_status status = antler_series_stats(series, across, &c->x);
    if (status == ANTLER_OK)
        status = antler_series_stats(series, up, &c->y);
    for (size_t i = 0; status == ANTLER_OK && i < antler_series_count(series); i++)
        status = plot(c, series, i, rows);
    if (status == ANTLER_OK) {
        const bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
        printf("%s from %.4g to %.4g\n", antler_series_name(series, up), c->y.min, c->y.max);
        for (int line = 0; line < LINES; line++) {
            for (int column = 0; column < COLUMNS; column++)
                print_cell(pattern(c, line, column), utf8);
            putchar('\n');
        }
        printf("%*s from %.4g to %.4g\n", COLUMNS - 24, antler_series_name(series, across), c->x.min,
               c->x.max);
    }
    free(rows);
    free(c);
    return status;
}
