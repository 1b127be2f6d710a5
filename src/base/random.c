/* random.c - Philox4x32-10, and uniform and normal numbers from its words. */
#include "base/random.h"

#include <assert.h>
#include <math.h>

static inline uint32_t multiply_high_low(uint32_t a, uint32_t b, uint32_t *high)
{
    const uint64_t product = (uint64_t)a * b;
    *high = (uint32_t)(product >> 32);
    return (uint32_t)product;
}

void ant_philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint32_t high0, high1;
        const uint32_t low0 = multiply_high_low(0xD2511F53u, c0, &high0);
        const uint32_t low1 = multiply_high_low(0xCD9E8D57u, c2, &high1);
        c0 = high1 ^ c1 ^ k0;
        c1 = low1;
        c2 = high0 ^ c3 ^ k1;
        c3 = low0;
        k0 += 0x9E3779B9u; /* the golden ratio */
        k1 += 0xBB67AE85u; /* sqrt(3) - 1 */
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

ant_stream ant_stream_open(uint64_t seed, uint32_t replica, uint32_t update, ant_purpose purpose)
{
    assert(replica < (1u << 24));
    return (ant_stream){
        .key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
        .counter = {0, update, replica << 8 | (uint32_t)purpose, 0},
        .next = 4,
    };
}

void ant_stream_seek(ant_stream *stream, uint64_t i)
{
    stream->counter[0] = (uint32_t)i;
    stream->counter[3] = (uint32_t)(i >> 32);
    stream->next = 4;
}

uint64_t ant_stream_u64(ant_stream *stream)
{
    if (stream->next > 2) {
        ant_philox4x32_10(stream->counter, stream->key, stream->word);
        if (++stream->counter[0] == 0)
            stream->counter[3]++;
        stream->next = 0;
    }
    const uint64_t low = stream->word[stream->next];
    const uint64_t high = stream->word[stream->next + 1];
    stream->next += 2;
    return high << 32 | low;
}

double ant_stream_uniform(ant_stream *stream)
{
    return ((double)(ant_stream_u64(stream) >> 11) + 0.5) * 0x1p-53;
}

uint64_t ant_stream_below(ant_stream *stream, uint64_t n)
{
    assert(n >= 1);
    const uint64_t word = ant_stream_u64(stream);
    /* The high half of word * n, from 32-bit halves: C11 has no 128-bit type. */
    const uint64_t word_low = (uint32_t)word, word_high = word >> 32;
    const uint64_t n_low = (uint32_t)n, n_high = n >> 32;
    const uint64_t middle = word_high * n_low + (word_low * n_low >> 32);
    const uint64_t middle_low = (uint32_t)middle + word_low * n_high;
    return word_high * n_high + (middle >> 32) + (middle_low >> 32);
}

void ant_stream_normal_pair(ant_stream *stream, double out[2])
{
    const double two_pi = 6.283185307179586476925286766559;
    const double radius = sqrt(-2.0 * log(ant_stream_uniform(stream)));
    const double angle = two_pi * ant_stream_uniform(stream);
    out[0] = radius * cos(angle);
    out[1] = radius * sin(angle);
}

void ant_stream_normals(ant_stream *stream, double *out, size_t count)
{
    size_t i = 0;
    for (; i + 2 <= count; i += 2)
        ant_stream_normal_pair(stream, out + i);
    if (i < count) {
        double pair[2];
        ant_stream_normal_pair(stream, pair);
        out[i] = pair[0];
    }
}
