/* initialise_tmpl.c - initial parameters of the shPLRNN (SPEC 4), drawn by counter. */
#include "base/random.h"
#include "base/real.h"
#include "model/model.h"

#include <string.h>

/* Each slice has its own range of blocks, so its numbers do not depend on the other slices' shapes. */
static ant_stream slice_stream(const ant_model_layout *layout, const ant_model_slice *slice, uint64_t seed,
                               uint32_t replica)
{
    ant_stream stream = ant_stream_open(seed, replica, 0, ANT_PURPOSE_PARAMETERS);
    ant_stream_seek(&stream, (uint64_t)(slice - layout->slice) << 40);
    return stream;
}

static void fill_uniform(ant_stream stream, double bound, size_t count, real *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (real)(bound * (2.0 * ant_stream_uniform(&stream) - 1.0));
}

/* Remove from column `j` of b its parts along columns 0 .. j-1, then scale it to length 1.  b: (N, M) */
static void orthonormalise_column(real *b, size_t N, size_t M, size_t j)
{
    for (int pass = 0; pass < 2; pass++) { /* twice is enough for orthogonality to rounding */
        for (size_t k = 0; k < j; k++) {
            double dot = 0.0;
            for (size_t n = 0; n < N; n++)
                dot += (double)b[n * M + k] * (double)b[n * M + j];
            for (size_t n = 0; n < N; n++)
                b[n * M + j] = (real)((double)b[n * M + j] - dot * (double)b[n * M + k]);
        }
        double square = 0.0;
        for (size_t n = 0; n < N; n++)
            square += (double)b[n * M + j] * (double)b[n * M + j];
        for (size_t n = 0; n < N; n++)
            b[n * M + j] = (real)((double)b[n * M + j] / sqrt(square));
    }
}

/* B = [I 0] for M >= N, else a random matrix with orthonormal columns.  b: (N, M) */
static void initialise_readout(ant_stream stream, size_t N, size_t M, real *b)
{
    if (M >= N) {
        for (size_t n = 0; n < N; n++)
            b[n * M + n] = R(1.0);
        return;
    }
    for (size_t i = 0; i < N * M; i++) {
        double pair[2];
        ant_stream_normal_pair(&stream, pair);
        b[i] = (real)pair[0];
    }
    for (size_t j = 0; j < M; j++)
        orthonormalise_column(b, N, M, j);
}

antler_status ANT_FN(ant_model_initialise)(const ant_model_layout *layout, double kappa, uint64_t seed,
                                           uint32_t replica, real *parameters)
{
    ANT_CHECK(kappa > 0.0 && kappa < 1.0, ANTLER_ERROR_ARGUMENT, "kappa must lie between 0 and 1, not %g",
              kappa);
    const ant_model_dims *d = &layout->dims;
    memset(parameters, 0, layout->total * sizeof *parameters);
    for (size_t i = 0; i < d->M; i++)
        parameters[layout->Abar + i] = (real)atanh(kappa);
    for (size_t i = 0; i < layout->slices; i++) {
        const ant_model_slice *slice = &layout->slice[i];
        const ant_stream stream = slice_stream(layout, slice, seed, replica);
        real *out = parameters + slice->offset;
        if (slice->offset == layout->W || slice->offset == layout->V || slice->offset == layout->C)
            fill_uniform(stream, (1.0 - kappa) / sqrt((double)slice->cols), slice->count, out);
        else if (slice->offset == layout->WL)
            fill_uniform(stream, 1.0 / sqrt((double)d->rank), slice->count, out);
        else if (slice->offset == layout->WR)
            fill_uniform(stream, sqrt(3.0 / (double)d->L) * (1.0 - kappa), slice->count, out);
        else if (slice->offset == layout->B)
            initialise_readout(stream, d->N, d->M, out);
    }
    return ANTLER_OK;
}
