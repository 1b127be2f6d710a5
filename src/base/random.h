/*
 * random.h - counter-based random numbers: Philox4x32-10 (Salmon et al., SC 2011; Random123).
 *
 * (seed, replica, update, purpose) determine every number of a stream, on any thread or device.  So a resumed
 * run equals one that was never stopped.  The i-th four words of a stream are philox(counter, key) with
 *     key     = (low, high) half of the seed
 *     counter = (low half of i, update, replica << 8 | purpose, high half of i)
 */
#ifndef ANT_BASE_RANDOM_H
#define ANT_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* What a stream is for.  The numbers are part of what a seed means: add, never renumber. */
typedef enum ant_purpose {
    ANT_PURPOSE_INITIAL_STATE = 1,
    ANT_PURPOSE_OBSERVATION_NOISE = 2,
    ANT_PURPOSE_MIXTURE_SAMPLES = 3,
    ANT_PURPOSE_PARAMETERS = 4,
    ANT_PURPOSE_NEWTON_START = 5,
    ANT_PURPOSE_WINDOWS = 6,
    ANT_PURPOSE_TRAINING_NOISE = 7,
    ANT_PURPOSE_FIT = 8,
    ANT_PURPOSE_SAMPLING = 9,
} ant_purpose;

/* The bare bijection: four output words for one counter under one key. */
void ant_philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

typedef struct ant_stream {
    uint32_t key[2];
    uint32_t counter[4]; /* of the next four words */
    uint32_t word[4];    /* of the current counter */
    unsigned next;       /* first unused word, 4 when none is left */
} ant_stream;

/* replica < 2^24. */
ant_stream ant_stream_open(uint64_t seed, uint32_t replica, uint32_t update, ant_purpose purpose);

/* Go to the i-th four words, which are two 64-bit numbers: threads can share one stream. */
void ant_stream_seek(ant_stream *stream, uint64_t i);

uint64_t ant_stream_u64(ant_stream *stream);

/* Uniform in (0, 1): 53 bits, centred between multiples of 2^-53, so neither 0 nor 1 occurs. */
double ant_stream_uniform(ant_stream *stream);

/* Uniform in 0 .. n-1 by the high half of a 128-bit product; the bias is at most n / 2^64.  n >= 1. */
uint64_t ant_stream_below(ant_stream *stream, uint64_t n);

/* Two independent standard normals from four words (Box-Muller). */
void ant_stream_normal_pair(ant_stream *stream, double out[2]);

/* Fill with standard normals; an odd count discards the second of the last pair. */
void ant_stream_normals(ant_stream *stream, double *out, size_t count);

#endif
