/* fft_stage.c - the butterflies of one stage, radix by radix. */
#include "measure/fft_stage.h"

#include <assert.h>

static inline ant_complex add(ant_complex a, ant_complex b)
{
    return (ant_complex){a.re + b.re, a.im + b.im};
}

static inline ant_complex subtract(ant_complex a, ant_complex b)
{
    return (ant_complex){a.re - b.re, a.im - b.im};
}

static inline ant_complex multiply(ant_complex a, ant_complex b)
{
    return (ant_complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static inline ant_complex scale(double factor, ant_complex a)
{
    return (ant_complex){factor * a.re, factor * a.im};
}

/* -i a */
static inline ant_complex turn_right(ant_complex a)
{
    return (ant_complex){a.im, -a.re};
}

static void stage_2(const ant_fft_stage *stage, const ant_complex *restrict x, ant_complex *restrict y)
{
    const size_t m = stage->m, s = stage->stride;
    for (size_t q = 0; q < m; q++) {
        const ant_complex w = stage->roots[q * s];
        for (size_t j = 0; j < s; j++) {
            const ant_complex a = x[j + s * q], b = x[j + s * (q + m)];
            y[j + s * (2 * q)] = add(a, b);
            y[j + s * (2 * q + 1)] = multiply(w, subtract(a, b));
        }
    }
}

static void stage_3(const ant_fft_stage *stage, const ant_complex *restrict x, ant_complex *restrict y)
{
    const double sine = 0.86602540378443864676; /* sin(2 pi / 3) */
    const size_t m = stage->m, s = stage->stride;
    for (size_t q = 0; q < m; q++) {
        const ant_complex w1 = stage->roots[q * s], w2 = stage->roots[2 * q * s];
        for (size_t j = 0; j < s; j++) {
            const ant_complex a = x[j + s * q], b = x[j + s * (q + m)], c = x[j + s * (q + 2 * m)];
            const ant_complex sum = add(b, c);
            const ant_complex centre = subtract(a, scale(0.5, sum));
            const ant_complex side = turn_right(scale(sine, subtract(b, c)));
            y[j + s * (3 * q)] = add(a, sum);
            y[j + s * (3 * q + 1)] = multiply(w1, add(centre, side));
            y[j + s * (3 * q + 2)] = multiply(w2, subtract(centre, side));
        }
    }
}

static void stage_4(const ant_fft_stage *stage, const ant_complex *restrict x, ant_complex *restrict y)
{
    const size_t m = stage->m, s = stage->stride;
    for (size_t q = 0; q < m; q++) {
        const ant_complex w1 = stage->roots[q * s], w2 = stage->roots[2 * q * s],
                          w3 = stage->roots[3 * q * s];
        for (size_t j = 0; j < s; j++) {
            const ant_complex a = x[j + s * q], b = x[j + s * (q + m)];
            const ant_complex c = x[j + s * (q + 2 * m)], d = x[j + s * (q + 3 * m)];
            const ant_complex even_sum = add(a, c), even_difference = subtract(a, c);
            const ant_complex odd_sum = add(b, d), odd_turned = turn_right(subtract(b, d));
            y[j + s * (4 * q)] = add(even_sum, odd_sum);
            y[j + s * (4 * q + 1)] = multiply(w1, add(even_difference, odd_turned));
            y[j + s * (4 * q + 2)] = multiply(w2, subtract(even_sum, odd_sum));
            y[j + s * (4 * q + 3)] = multiply(w3, subtract(even_difference, odd_turned));
        }
    }
}

/* The five-point transform of in: (5). */
static inline void butterfly_5(const ant_complex in[5], ant_complex out[5])
{
    const double cos1 = 0.30901699437494742410, cos2 = -0.80901699437494742410; /* of 2 pi / 5, 4 pi / 5 */
    const double sin1 = 0.95105651629515357212, sin2 = 0.58778525229247312917;
    const ant_complex sum1 = add(in[1], in[4]), difference1 = subtract(in[1], in[4]);
    const ant_complex sum2 = add(in[2], in[3]), difference2 = subtract(in[2], in[3]);
    const ant_complex centre1 = add(in[0], add(scale(cos1, sum1), scale(cos2, sum2)));
    const ant_complex centre2 = add(in[0], add(scale(cos2, sum1), scale(cos1, sum2)));
    const ant_complex side1 = turn_right(add(scale(sin1, difference1), scale(sin2, difference2)));
    const ant_complex side2 = turn_right(subtract(scale(sin2, difference1), scale(sin1, difference2)));
    out[0] = add(in[0], add(sum1, sum2));
    out[1] = add(centre1, side1);
    out[2] = add(centre2, side2);
    out[3] = subtract(centre2, side2);
    out[4] = subtract(centre1, side1);
}

static void stage_5(const ant_fft_stage *stage, const ant_complex *restrict x, ant_complex *restrict y)
{
    const size_t m = stage->m, s = stage->stride;
    for (size_t q = 0; q < m; q++) {
        for (size_t j = 0; j < s; j++) {
            ant_complex in[5], out[5];
            for (size_t l = 0; l < 5; l++)
                in[l] = x[j + s * (q + m * l)];
            butterfly_5(in, out);
            for (size_t k = 0; k < 5; k++)
                y[j + s * (5 * q + k)] = multiply(stage->roots[q * k * s], out[k]);
        }
    }
}

/* Any radix, by the definition of the small transform. */
static void stage_any(const ant_fft_stage *stage, const ant_complex *restrict x, ant_complex *restrict y)
{
    const size_t p = stage->radix, m = stage->m, s = stage->stride;
    ant_complex small_roots[ANT_FFT_LARGEST_RADIX];
    assert(p <= ANT_FFT_LARGEST_RADIX);
    for (size_t k = 0; k < p; k++)
        small_roots[k] = ant_root_of_unity(k, p);
    for (size_t q = 0; q < m; q++) {
        for (size_t k = 0; k < p; k++) {
            const ant_complex w = stage->roots[q * k * s];
            for (size_t j = 0; j < s; j++) {
                ant_complex sum = x[j + s * q];
                for (size_t l = 1; l < p; l++)
                    sum = add(sum, multiply(small_roots[k * l % p], x[j + s * (q + m * l)]));
                y[j + s * (p * q + k)] = multiply(w, sum);
            }
        }
    }
}

void ant_fft_stage_run(const ant_fft_stage *stage, const ant_complex *x, ant_complex *y)
{
    switch (stage->radix) {
    case 2:
        stage_2(stage, x, y);
        break;
    case 3:
        stage_3(stage, x, y);
        break;
    case 4:
        stage_4(stage, x, y);
        break;
    case 5:
        stage_5(stage, x, y);
        break;
    default:
        stage_any(stage, x, y);
        break;
    }
}
