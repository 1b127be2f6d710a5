/* fft.c - plans of Fourier transforms: mixed radix where the factors are small, else Bluestein. */
#include "measure/fft.h"

#include "base/arena.h"
#include "measure/fft_stage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_STAGES = 64 };

struct ant_fft {
    size_t length;
    size_t stage_count; /* of the mixed-radix transform; unused when `inner` is there */
    ant_fft_stage stages[MAX_STAGES];
    ant_complex *roots; /* (length): exp(-2 pi i k / length) */
    ant_complex *work;  /* (length), or (inner length) for Bluestein's transform */
    /* Bluestein: the transform as a convolution with a chirp, done at a convenient length. */
    ant_fft *inner;
    ant_complex *chirp;  /* (length): exp(-pi i k^2 / length) */
    ant_complex *kernel; /* (inner length): transform of the conjugate chirp over the inner length */
    ant_arena arena;
};

ant_complex ant_root_of_unity(size_t k, size_t n)
{
    /* Fold the angle t / (8 n) of a circle into the first octant in integers; only there is it rounded. */
    size_t t = 8 * (k % n);
    const bool lower = t > 4 * n;
    if (lower)
        t = 8 * n - t;
    const bool left = t > 2 * n;
    if (left)
        t = 4 * n - t;
    const bool steep = t > n;
    if (steep)
        t = 2 * n - t;
    const double angle = M_PI_4 * ((double)t / (double)n);
    const double c = steep ? sin(angle) : cos(angle);
    const double s = steep ? cos(angle) : sin(angle);
    return (ant_complex){left ? -c : c, lower ? s : -s};
}

/* Fill in radix, m and stride of each stage.  False: a prime factor is too large. */
static bool factorise(ant_fft *plan)
{
    static const size_t radices[] = {4, 2, 3, 5, 7, 11, ANT_FFT_LARGEST_RADIX};
    size_t rest = plan->length, stride = 1;
    for (size_t i = 0; i < sizeof radices / sizeof radices[0]; i++) {
        while (rest % radices[i] == 0) {
            rest /= radices[i];
            plan->stages[plan->stage_count++] =
                (ant_fft_stage){.radix = radices[i], .m = rest, .stride = stride};
            stride *= radices[i];
        }
    }
    return rest == 1;
}

/* The smallest number from `least` on without a prime factor above 5. */
static size_t convenient_length(size_t least)
{
    for (size_t n = least;; n++) {
        size_t rest = n;
        while (rest % 2 == 0)
            rest /= 2;
        while (rest % 3 == 0)
            rest /= 3;
        while (rest % 5 == 0)
            rest /= 5;
        if (rest == 1)
            return n;
    }
}

static void carve(ant_fft *plan)
{
    ant_arena *arena = &plan->arena;
    if (plan->inner == NULL) {
        plan->roots = ant_arena_take(arena, plan->length, sizeof *plan->roots);
        plan->work = ant_arena_take(arena, plan->length, sizeof *plan->work);
    } else {
        plan->chirp = ant_arena_take(arena, plan->length, sizeof *plan->chirp);
        plan->kernel = ant_arena_take(arena, plan->inner->length, sizeof *plan->kernel);
        plan->work = ant_arena_take(arena, plan->inner->length, sizeof *plan->work);
    }
}

static void fill_roots(ant_fft *plan)
{
    for (size_t k = 0; k < plan->length; k++)
        plan->roots[k] = ant_root_of_unity(k, plan->length);
    for (size_t i = 0; i < plan->stage_count; i++)
        plan->stages[i].roots = plan->roots;
}

static void fill_chirp(ant_fft *plan)
{
    const size_t n = plan->length, inner = plan->inner->length;
    size_t square = 0; /* k^2 modulo 2 n, exactly */
    for (size_t k = 0; k < n; k++) {
        plan->chirp[k] = ant_root_of_unity(square, 2 * n);
        square = (square + 2 * k + 1) % (2 * n);
    }
    memset(plan->kernel, 0, inner * sizeof *plan->kernel);
    for (size_t k = 0; k < n; k++) {
        const ant_complex value = {plan->chirp[k].re / (double)inner, -plan->chirp[k].im / (double)inner};
        plan->kernel[k] = value;
        plan->kernel[k == 0 ? 0 : inner - k] = value;
    }
    ant_fft_forward(plan->inner, plan->kernel);
}

antler_status ant_fft_create(size_t length, ant_fft **plan)
{
    ANT_CHECK(length >= 1 && length < (size_t)1 << 56, ANTLER_ERROR_ARGUMENT,
              "a Fourier transform of %zu numbers is not possible", length);
    ant_fft *made = calloc(1, sizeof *made);
    if (made == NULL)
        return ant_fail_memory(sizeof *made, "a Fourier transform");
    made->length = length;
    antler_status status = ANTLER_OK;
    if (!factorise(made))
        status = ant_fft_create(convenient_length(2 * length - 1), &made->inner);
    if (status == ANTLER_OK) {
        ant_arena_count(&made->arena);
        carve(made);
        status = ant_arena_create(&made->arena, made->arena.used);
    }
    if (status != ANTLER_OK) {
        ant_fft_free(made);
        return status;
    }
    carve(made);
    if (made->inner == NULL)
        fill_roots(made);
    else
        fill_chirp(made);
    *plan = made;
    return ANTLER_OK;
}

void ant_fft_free(ant_fft *plan)
{
    if (plan == NULL)
        return;
    ant_fft_free(plan->inner);
    ant_arena_destroy(&plan->arena);
    free(plan);
}

static void forward_mixed_radix(ant_fft *plan, ant_complex *data)
{
    ant_complex *from = data, *to = plan->work;
    for (size_t i = 0; i < plan->stage_count; i++) {
        ant_fft_stage_run(&plan->stages[i], from, to);
        ant_complex *const swap = from;
        from = to;
        to = swap;
    }
    if (from != data)
        memcpy(data, from, plan->length * sizeof *data);
}

static ant_complex product(ant_complex a, ant_complex b)
{
    return (ant_complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* With j k = (j^2 + k^2 - (k - j)^2) / 2 the transform is a convolution with the conjugate chirp. */
static void forward_bluestein(ant_fft *plan, ant_complex *data)
{
    const size_t n = plan->length, inner = plan->inner->length;
    for (size_t k = 0; k < n; k++)
        plan->work[k] = product(data[k], plan->chirp[k]);
    memset(plan->work + n, 0, (inner - n) * sizeof *plan->work);
    ant_fft_forward(plan->inner, plan->work);
    /* The inverse transform is the forward one between two conjugations. */
    for (size_t k = 0; k < inner; k++) {
        const ant_complex value = product(plan->work[k], plan->kernel[k]);
        plan->work[k] = (ant_complex){value.re, -value.im};
    }
    ant_fft_forward(plan->inner, plan->work);
    for (size_t k = 0; k < n; k++)
        data[k] = product(plan->chirp[k], (ant_complex){plan->work[k].re, -plan->work[k].im});
}

void ant_fft_forward(ant_fft *plan, ant_complex *data)
{
    if (plan->inner == NULL)
        forward_mixed_radix(plan, data);
    else
        forward_bluestein(plan, data);
}
