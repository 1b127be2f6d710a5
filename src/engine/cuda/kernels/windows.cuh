// windows.cuh - the windows of an update, drawn as in train/dataset.c: the same seed gives the same windows.
//
// Noise comes from the same random stream as on the CPU.  Its last digit may differ, because logarithm and
// cosine do.
// alone: -DREAL_BITS=32 -DN=3 -DK=0 -DUPDATE_THREADS=256 -DTOTAL=10 -DSCRATCH=1 -DKEPT=1 -DPREFETCHED_OWN=1 -DSIDE_WARP=0
#ifndef ANT_WINDOWS_CUH
#define ANT_WINDOWS_CUH

#include "random.cuh"
#include "update_args.cuh"

#define COPY_TILE (COPY_EACH * UPDATE_THREADS) // values that a block copies at a time

// The first row of window `index` of update `number`.
INLINE unsigned long long draw_window(const update_args &p, unsigned run, unsigned number, int index)
{
    const philox_words words = stream_words(p.seed, run, number, PURPOSE_WINDOWS, index / 2);
    const unsigned long long at = below_of(word_pair(words, index % 2), p.start[p.trajectories]);
    int low = 0, high = p.trajectories; // start[low] <= at < start[high]
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (p.start[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return p.row[low] + (at - p.start[low]);
}

// Values first .. last-1, at most COPY_TILE: all loads are issued before the first store.
INLINE void copy_tile(const real *from, real *to, size_t first, size_t last)
{
    real value[COPY_EACH];
#pragma unroll
    for (int k = 0; k < COPY_EACH; k++) {
        const size_t i = first + threadIdx.x + k * UPDATE_THREADS;
        value[k] = i < last ? from[i] : real(0);
    }
#pragma unroll
    for (int k = 0; k < COPY_EACH; k++) {
        const size_t i = first + threadIdx.x + k * UPDATE_THREADS;
        if (i < last)
            to[i] = value[k];
    }
}

// Values first .. last-1 of a window with noise; both normals of a pair come from the same four words.
INLINE void copy_noisy(const update_args &p, unsigned run, unsigned number, int index, const real *from,
                       real *to, size_t first, size_t last)
{
    const size_t values = (size_t)(p.T + 1) * N;
    const unsigned long long begin = (unsigned long long)index * ((values + 1) / 2);
#pragma unroll 1
    for (size_t i = first + 2 * threadIdx.x; i < last; i += 2 * UPDATE_THREADS) {
        const philox_words words = stream_words(p.seed, run, number, PURPOSE_NOISE, begin + i / 2);
        const double radius = sqrt(-2.0 * log(uniform_of(word_pair(words, 0))));
        double sine, cosine;
        sincospi(2 * uniform_of(word_pair(words, 1)), &sine, &cosine);
        to[i] = (real)((double)from[i] + p.noise * (radius * cosine));
        if (i + 1 < values)
            to[i + 1] = (real)((double)from[i + 1] + p.noise * (radius * sine));
    }
}

// The windows of every replica for update done + lead, by `blocks` blocks.  A replica that has diverged gets
// those of its last good update again.
INLINE void draw_windows(const update_args &p, int block, int blocks, unsigned lead)
{
    const size_t values = (size_t)(p.T + 1) * N, inputs = (size_t)p.T * K;
    const size_t larger = values > inputs ? values : inputs, tiles = (larger + COPY_TILE - 1) / COPY_TILE;
    const size_t items = (size_t)p.replicas * p.batch * tiles;
    for (size_t item = block; item < items; item += blocks) {
        const size_t first = item % tiles * COPY_TILE, window = item / tiles;
        const int replica = (int)(window / p.batch), index = (int)(window % p.batch);
        const unsigned done = p.update[p.parity * p.replicas + replica], run = p.runs[replica];
        const unsigned number = p.outcome[2 * replica] == OUTCOME_RUNNING ? done + lead : done > 0 ? done : 1;
        const unsigned long long row = draw_window(p, run, number, index);
        const real *from = p.x + row * N;
        real *to = p.window_x + window * values;
        const size_t last = first + COPY_TILE < values ? first + COPY_TILE : values;
        if (p.noise > 0)
            copy_noisy(p, run, number, index, from, to, first, last);
        else
            copy_tile(from, to, first, last);
#if K > 0
        // The input of row t acts on the step from row t-1 to t.
        copy_tile(p.s + (row + 1) * K, p.window_s + window * inputs, first,
                  first + COPY_TILE < inputs ? first + COPY_TILE : inputs);
#endif
    }
}

#endif
