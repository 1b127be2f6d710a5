/* draw.c - initial values of one slice of parameters. */
#include "model/draw.h"

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
