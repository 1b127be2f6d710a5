// random.cuh - Philox4x32-10 streams, bit for bit those of base/random.h: a stream is named by (seed,
// replica, update, purpose); counter i gives four words, that is two 64-bit numbers.
// alone:
#ifndef ANT_RANDOM_CUH
#define ANT_RANDOM_CUH

struct philox_words {
    unsigned word[4];
};

__device__ __forceinline__ philox_words philox4x32_10(unsigned c0, unsigned c1, unsigned c2, unsigned c3,
                                                      unsigned k0, unsigned k1)
{
#pragma unroll
    for (int round = 0; round < 10; round++) {
        const unsigned high0 = __umulhi(0xD2511F53u, c0), low0 = 0xD2511F53u * c0;
        const unsigned high1 = __umulhi(0xCD9E8D57u, c2), low1 = 0xCD9E8D57u * c2;
        c0 = high1 ^ c1 ^ k0;
        c1 = low1;
        c2 = high0 ^ c3 ^ k1;
        c3 = low0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return {{c0, c1, c2, c3}};
}

// The four words of counter `counter`.
__device__ __forceinline__ philox_words stream_words(unsigned long long seed, unsigned replica,
                                                     unsigned update, unsigned purpose,
                                                     unsigned long long counter)
{
    return philox4x32_10((unsigned)counter, update, replica << 8 | purpose, (unsigned)(counter >> 32),
                         (unsigned)seed, (unsigned)(seed >> 32));
}

// The 64-bit number `which` (0 or 1) of four words.
__device__ __forceinline__ unsigned long long word_pair(const philox_words &words, int which)
{
    return (unsigned long long)words.word[2 * which + 1] << 32 | words.word[2 * which];
}

// Uniform in (0, 1) with 53 bits, and uniform in 0 .. n-1: as ant_stream_uniform and ant_stream_below.
__device__ __forceinline__ double uniform_of(unsigned long long word)
{
    return ((double)(word >> 11) + 0.5) * 0x1p-53;
}

__device__ __forceinline__ unsigned long long below_of(unsigned long long word, unsigned long long n)
{
    return __umul64hi(word, n);
}

#endif
