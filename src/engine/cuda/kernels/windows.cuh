// windows.cuh - the windows of an update, drawn as train/dataset.c draws them: same seed, same windows.
//
// Noise comes from the same stream as on the CPU; its last digit may differ, because logarithm and cosine are
// others.
#ifndef ANT_WINDOWS_CUH
#define ANT_WINDOWS_CUH

#include "learn.cuh"
#include "random.cuh"

enum { PURPOSE_WINDOWS = 6, PURPOSE_NOISE = 7 }; // of base/random.h
enum {
    EACH = 8,
    PART = EACH * LEARN_THREADS
}; // values that a thread and a block copy at a time; EACH is known in learner_cuda.c, too

// The first row of window `index` of update `number`.
INLINE unsigned long long draw_window(const learn_problem &p, unsigned run, unsigned number, int index)
{
    const philox_block block = stream_block(p.seed, run, number, PURPOSE_WINDOWS, index / 2);
    const unsigned long long at = below_of(block_u64(block, index % 2), p.start[p.trajectories]);
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

// Values first .. last-1, at most PART: all are asked for before the first is stored.
INLINE void copy_part(const real *from, real *to, size_t first, size_t last)
{
    real value[EACH];
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        const size_t i = first + threadIdx.x + k * LEARN_THREADS;
        value[k] = i < last ? from[i] : real(0);
    }
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        const size_t i = first + threadIdx.x + k * LEARN_THREADS;
        if (i < last)
            to[i] = value[k];
    }
}

// Values first .. last-1 of a window with noise; both normals of a pair come from one block of the stream.
INLINE void copy_noisy(const learn_problem &p, unsigned run, unsigned number, int index, const real *from,
                       real *to, size_t first, size_t last)
{
    const size_t values = (size_t)(p.T + 1) * N;
    const unsigned long long begin = (unsigned long long)index * ((values + 1) / 2);
#pragma unroll 1
    for (size_t i = first + 2 * threadIdx.x; i < last; i += 2 * LEARN_THREADS) {
        const philox_block block = stream_block(p.seed, run, number, PURPOSE_NOISE, begin + i / 2);
        const double radius = sqrt(-2.0 * log(uniform_of(block_u64(block, 0))));
        double sine, cosine;
        sincospi(2 * uniform_of(block_u64(block, 1)), &sine, &cosine);
        to[i] = (real)((double)from[i] + p.noise * (radius * cosine));
        if (i + 1 < values)
            to[i + 1] = (real)((double)from[i + 1] + p.noise * (radius * sine));
    }
}

// The windows of every replica for the update `ahead` of those it has done, by `blocks` blocks.  A replica
// that is lost gets those of its last good update again.
INLINE void draw_windows(const learn_problem &p, int block, int blocks, unsigned ahead)
{
    const size_t values = (size_t)(p.T + 1) * N, inputs = (size_t)p.T * K;
    const size_t larger = values > inputs ? values : inputs, parts = (larger + PART - 1) / PART;
    const size_t items = (size_t)p.replicas * p.batch * parts;
    for (size_t item = block; item < items; item += blocks) {
        const size_t first = item % parts * PART, window = item / parts;
        const int replica = (int)(window / p.batch), index = (int)(window % p.batch);
        const unsigned done = p.update[p.parity * p.replicas + replica], run = p.runs[replica];
        const unsigned number = p.outcome[2 * replica] == RUNNING ? done + ahead : done > 0 ? done : 1;
        const unsigned long long row = draw_window(p, run, number, index);
        const real *from = p.x + row * N;
        real *to = p.window_x + window * values;
        const size_t last = first + PART < values ? first + PART : values;
        if (p.noise > 0)
            copy_noisy(p, run, number, index, from, to, first, last);
        else
            copy_part(from, to, first, last);
#if K > 0
        // The input of row t acts on the step that leads to row t.
        copy_part(p.s + (row + 1) * K, p.window_s + window * inputs, first,
                  first + PART < inputs ? first + PART : inputs);
#endif
    }
}

#endif
