/* draw.c - initial values of one slice of parameters. */
#include "model/draw.h"

#include "model/decay.h"
#include "model/lanczos.h"

#include <math.h>
#include <stdlib.h>

ant_stream ant_draw_stream(const ant_model_layout *layout, const ant_model_slice *slice, uint64_t seed,
                           uint32_t replica)
{
    ant_stream stream = ant_stream_open(seed, replica, 0, ANT_PURPOSE_PARAMETERS);
    ant_stream_seek(&stream, (uint64_t)(slice - layout->slice) << 40);
    return stream;
}

void ant_draw_uniform(ant_stream stream, double bound, size_t count, double *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = bound * (2.0 * ant_stream_uniform(&stream) - 1.0);
}

static bool has_small_weights(const ant_initialisation *i)
{
    return i->weights == ANT_INITIAL_WEIGHTS_NAMED ? i->id == ANT_INITIALISATION_MEMORY
                                                   : i->weights == ANT_INITIAL_WEIGHTS_SMALL;
}

static bool has_kappa(const ant_initialisation *i)
{
    return i->A == ANT_INITIAL_A_NAMED ? i->id == ANT_INITIALISATION_MEMORY : i->A == ANT_INITIAL_A_KAPPA;
}

bool ant_initialisation_uses_kappa(const ant_initialisation *initialisation)
{
    return has_kappa(initialisation) || has_small_weights(initialisation);
}

double ant_draw_scale(ant_initialisation initialisation)
{
    return has_small_weights(&initialisation) ? 1.0 - initialisation.kappa : 1.0;
}

/* K_ii / lambda_max(K); K itself is not formed.  R: (M, M); work: ant_lanczos_work(M) */
static void normalised_diagonal(size_t M, const double *R, double *work, double *A)
{
    const double top = 1.0 + ant_largest_square(M, M, R, work) / (double)M;
    for (size_t i = 0; i < M; i++)
        A[i] = 0.0;
    for (size_t k = 0; k < M; k++) {
        for (size_t i = 0; i < M; i++)
            A[i] += R[k * M + i] * R[k * M + i];
    }
    for (size_t i = 0; i < M; i++)
        A[i] = (1.0 + A[i] / (double)M) / top;
}

antler_status ant_draw_decay(const ant_model_layout *layout, ant_initialisation initialisation, uint64_t seed,
                             uint32_t replica, double *Abar)
{
    const double most = 0.9995;
    const bool is_free = layout->dims.free_diagonal;
    const size_t M = layout->dims.M, count = M * M + ant_lanczos_work(M, M);
    if (has_kappa(&initialisation)) {
        for (size_t i = 0; i < M; i++)
            Abar[i] = ant_decay_inverse(is_free, initialisation.kappa);
        return ANTLER_OK;
    }
    double *R = calloc(count, sizeof *R);
    if (R == NULL)
        return ant_fail_memory(count * sizeof *R, "initial parameters");
    ant_stream stream = ant_draw_stream(layout, &layout->slice[0], seed, replica);
    ant_stream_normals(&stream, R, M * M);
    normalised_diagonal(M, R, R + M * M, Abar);
    for (size_t i = 0; i < M; i++)
        Abar[i] = ant_decay_inverse(is_free, fmin(Abar[i], most));
    free(R);
    return ANTLER_OK;
}
