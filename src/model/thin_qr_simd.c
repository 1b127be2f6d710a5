/* thin_qr_simd.c - the loops of thin_qr.c over long rows, compiled once per instruction set. */
#include "base/lanes.h"
#include "model/thin_qr.h"

#define PASTE(name, level)  name##_##level
#define EXPAND(name, level) PASTE(name, level)

enum { ROWS = 4 }; /* that share one read of x */

/* `rows_now` is a constant after inlining. */
static inline void dots_of(const size_t rows_now, size_t width, const double *rows, const double *x,
                           double *out)
{
    ant_lanes sum[ROWS];
    for (size_t r = 0; r < rows_now; r++)
        sum[r] = (ant_lanes){0.0};
    for (size_t n = 0; n < width; n += ANT_LANES) {
        for (size_t r = 0; r < rows_now; r++)
            sum[r] += *(const ant_lanes *)(rows + r * width + n) * *(const ant_lanes *)(x + n);
    }
    for (size_t r = 0; r < rows_now; r++) {
        out[r] = 0.0;
        for (int i = 0; i < ANT_LANES; i++)
            out[r] += sum[r][i];
    }
}

static void dots(size_t count, size_t width, const double *rows, const double *x, double *out)
{
    size_t i = 0;
    for (; i + ROWS <= count; i += ROWS)
        dots_of(ROWS, width, rows + i * width, x, out + i);
    for (; i < count; i++)
        dots_of(1, width, rows + i * width, x, out + i);
}

static inline void subtract_of(const size_t rows_now, size_t width, const double *rows, const double *c,
                               double *x)
{
    for (size_t n = 0; n < width; n += ANT_LANES) {
        ant_lanes sum = *(const ant_lanes *)(x + n);
        for (size_t r = 0; r < rows_now; r++)
            sum -= c[r] * *(const ant_lanes *)(rows + r * width + n);
        *(ant_lanes *)(x + n) = sum;
    }
}

static void subtract(size_t count, size_t width, const double *rows, const double *c, double *x)
{
    size_t i = 0;
    for (; i + ROWS <= count; i += ROWS)
        subtract_of(ROWS, width, rows + i * width, c + i, x);
    for (; i < count; i++)
        subtract_of(1, width, rows + i * width, c + i, x);
}

const ant_thin_qr_kernels EXPAND(ant_thin_qr_kernels, ANT_SIMD);
const ant_thin_qr_kernels EXPAND(ant_thin_qr_kernels, ANT_SIMD) = {dots, subtract};
