// lssm_scan.cuh - the segments of an LSSM, and the scan of a recurrence z <- A o z + u over one of them, in
// either direction.
// alone: -DREAL_BITS=32 -DM=5 -DN=3 -DL=50 -DK=2 -DUPDATE_THREADS=256
#ifndef ANT_LSSM_SCAN_CUH
#define ANT_LSSM_SCAN_CUH

#include "lssm_shape.cuh"

struct segment {     // of one sequence
    size_t sequence; // counted over all replicas
    int index, first, last;
};

INLINE segment find_segment(const lssm_args &p, int replica, int item)
{
    segment here;
    here.sequence = (size_t)replica * p.batch + item / p.segments;
    here.index = item % p.segments;
    here.first = here.index * p.segment_steps;
    here.last = here.first + p.segment_steps < p.T ? here.first + p.segment_steps : p.T;
    return here;
}

// (1 - leak)^n.
INLINE real power(real leak, int n)
{
    double a = 1.0 - (double)leak, product = 1;
    for (; n > 0; n >>= 1, a *= a)
        if (n & 1)
            product *= a;
    return (real)product;
}

// One step of the recurrence.
INLINE real decayed(real z, real leak, real more)
{
    return z + (more - leak * z);
}

struct scan_shared {
    real parts[TILE_PARTS][MP], carry[MP], leak[MP];
};

// Every thread of the block takes tasks; a task is a latent unit and a part of the tile.
#define FOR_EACH_TASK(m, sub)                                                                                \
    for (int task = threadIdx.x, m = task % M, sub = task / M; task < TILE_PARTS * M;                        \
         task += THREADS, m = task % M, sub = task / M)

// carry[m] <- state after `count` ends of whole segments that lie `stride` apart.  All threads.
INLINE void combine_ends(scan_shared &memory, const real *records, int count, long long stride,
                         int segment_steps)
{
    const int each = (count + TILE_PARTS - 1) / TILE_PARTS;
    FOR_EACH_TASK(m, sub)
    {
        const int first = sub * each, last = first + each < count ? first + each : count;
        const real decay = power(memory.leak[m], segment_steps);
        real sum = 0;
#pragma unroll 8
        for (int i = first; i < last; i++)
            sum = decay * sum + __ldcg(records + i * stride + m);
        memory.parts[sub][m] = sum;
    }
    __syncthreads();
    for (int m = threadIdx.x; m < M; m += THREADS) {
        const real whole = power(memory.leak[m], each * segment_steps);
        real sum = 0;
        for (int sub = 0; sub < TILE_PARTS && sub * each < count; sub++) {
            const int own = count - sub * each < each ? count - sub * each : each;
            sum = (own == each ? whole : power(memory.leak[m], own * segment_steps)) * sum +
                  memory.parts[sub][m];
        }
        memory.carry[m] = sum;
    }
    __syncthreads();
}

// tile[t] <- tile[t] + A tile[t - 1], in place, beginning with carry; REVERSE: with t + 1.  All threads.
template <bool REVERSE> INLINE void scan(scan_shared &memory, real (*tile)[ZS], int count)
{
    const int each = (count + TILE_PARTS - 1) / TILE_PARTS;
    FOR_EACH_TASK(m, sub)
    {
        const int first = sub * each, last = first + each < count ? first + each : count;
        const real leak = memory.leak[m];
        real z = 0;
#pragma unroll 4
        for (int i = first; i < last; i++) {
            real &at = tile[REVERSE ? count - 1 - i : i][m];
            at = z = decayed(z, leak, at);
        }
        memory.parts[sub][m] = z;
    }
    __syncthreads();
    FOR_EACH_TASK(m, sub)
    {
        const int first = sub * each, last = first + each < count ? first + each : count;
        const real leak = memory.leak[m], whole = power(leak, each);
        real before = memory.carry[m];
        for (int i = 0; i < sub && i * each < count; i++)
            before = whole * before + memory.parts[i][m];
#pragma unroll 4
        for (int i = first; i < last; i++) {
            before = decayed(before, leak, 0);
            tile[REVERSE ? count - 1 - i : i][m] += before;
        }
    }
    __syncthreads();
    for (int m = threadIdx.x; m < M; m += THREADS)
        memory.carry[m] = tile[REVERSE ? 0 : count - 1][m];
    __syncthreads();
}

// tile[t] += A^(n + 1) from, where n counts steps from `offset` at the tile's start; REVERSE: A^n from,
// counted from its end.  All threads.
template <bool REVERSE>
INLINE void add_entering(const scan_shared &memory, const real *from, real (*tile)[ZS], int count, int offset)
{
    const int each = (count + TILE_PARTS - 1) / TILE_PARTS;
    FOR_EACH_TASK(m, sub)
    {
        const int first = sub * each, last = first + each < count ? first + each : count;
        const real leak = memory.leak[m];
        real before = power(leak, offset + first + (REVERSE ? 0 : 1)) * from[m];
#pragma unroll 4
        for (int i = first; i < last; i++) {
            tile[REVERSE ? count - 1 - i : i][m] += before;
            before = decayed(before, leak, 0);
        }
    }
    __syncthreads();
}

// Rows of MP numbers between global memory and a tile.
INLINE void load_rows(real (*tile)[ZS], const real *from, int count)
{
#pragma unroll 4
    for (int i = threadIdx.x; i < count * QUADS; i += THREADS)
        store4(&tile[i / QUADS][4 * (i % QUADS)], load4(from + 4 * i));
}

INLINE void store_rows(real *to, real (*tile)[ZS], int count)
{
#pragma unroll 4
    for (int i = threadIdx.x; i < count * QUADS; i += THREADS)
        store4(to + 4 * i, load4(&tile[i / QUADS][4 * (i % QUADS)]));
}

INLINE void copy_list(real *to, const real *from, int count)
{
#pragma unroll 4
    for (int i = threadIdx.x; i < count; i += THREADS)
        to[i] = from[i];
}

INLINE void load_leak(const lssm_args &p, scan_shared &memory, int replica)
{
    for (int m = threadIdx.x; m < MP; m += THREADS)
        memory.leak[m] = p.weights[(size_t)replica * PACK + PACK_LEAK + m];
}

INLINE void clear_carry(scan_shared &memory)
{
    for (int m = threadIdx.x; m < M; m += THREADS)
        memory.carry[m] = 0;
}

#endif
