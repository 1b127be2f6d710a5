/* rfft.c - transforms of real numbers: two at a time in one complex number when the length is even. */
#include "base/arena.h"
#include "measure/fft.h"

#include <stdlib.h>

struct ant_rfft {
    size_t length;
    ant_fft *packed;    /* of length/2 when the length is even, else of the length itself */
    ant_complex *data;  /* (that length) */
    ant_complex *roots; /* (length/2 + 1) when the length is even */
    ant_arena arena;
};

static bool is_even(const ant_rfft *plan)
{
    return plan->length % 2 == 0;
}

static void carve(ant_rfft *plan)
{
    const size_t half = plan->length / 2;
    plan->data = ant_arena_take(&plan->arena, is_even(plan) ? half : plan->length, sizeof *plan->data);
    if (is_even(plan))
        plan->roots = ant_arena_take(&plan->arena, half + 1, sizeof *plan->roots);
}

antler_status ant_rfft_create(size_t length, ant_rfft **plan)
{
    ant_rfft *made = calloc(1, sizeof *made);
    if (made == NULL)
        return ant_fail_memory(sizeof *made, "a Fourier transform");
    made->length = length;
    antler_status status = ant_fft_create(is_even(made) && length > 0 ? length / 2 : length, &made->packed);
    if (status == ANTLER_OK) {
        ant_arena_count(&made->arena);
        carve(made);
        status = ant_arena_create(&made->arena, made->arena.used);
    }
    if (status != ANTLER_OK) {
        ant_rfft_free(made);
        return status;
    }
    carve(made);
    for (size_t k = 0; is_even(made) && k <= length / 2; k++)
        made->roots[k] = ant_root_of_unity(k, length);
    *plan = made;
    return ANTLER_OK;
}

void ant_rfft_free(ant_rfft *plan)
{
    if (plan == NULL)
        return;
    ant_fft_free(plan->packed);
    ant_arena_destroy(&plan->arena);
    free(plan);
}

static void forward_odd(ant_rfft *plan, const double *x, ant_complex *out)
{
    for (size_t j = 0; j < plan->length; j++)
        plan->data[j] = (ant_complex){x[j], 0.0};
    ant_fft_forward(plan->packed, plan->data);
    for (size_t k = 0; k <= plan->length / 2; k++)
        out[k] = plan->data[k];
}

/* With z_j = x_2j + i x_2j+1, the sum and difference of Z_k and conj(Z_-k) part even and odd rows. */
static void forward_even(ant_rfft *plan, const double *x, ant_complex *out)
{
    const size_t half = plan->length / 2;
    for (size_t j = 0; j < half; j++)
        plan->data[j] = (ant_complex){x[2 * j], x[2 * j + 1]};
    ant_fft_forward(plan->packed, plan->data);
    for (size_t k = 0; k <= half; k++) {
        const ant_complex z = plan->data[k % half], mirrored = plan->data[(half - k) % half];
        const ant_complex w = plan->roots[k];
        const ant_complex even = {0.5 * (z.re + mirrored.re), 0.5 * (z.im - mirrored.im)};
        const ant_complex odd = {0.5 * (z.im + mirrored.im), 0.5 * (mirrored.re - z.re)};
        out[k].re = even.re + (w.re * odd.re - w.im * odd.im);
        out[k].im = even.im + (w.re * odd.im + w.im * odd.re);
    }
}

void ant_rfft_forward(ant_rfft *plan, const double *x, ant_complex *out)
{
    if (is_even(plan))
        forward_even(plan, x, out);
    else
        forward_odd(plan, x, out);
}
