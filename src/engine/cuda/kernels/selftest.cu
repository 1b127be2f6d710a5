// selftest.cu - small kernels with which `make test-gpu` checks compilation, launches and copies.
// variant: -DBLOCK=256
#include "grid.cuh"
#include "random.cuh"

#ifndef BLOCK
#error "BLOCK, threads per block, is not defined"
#endif

__constant__ float offset;

// x: (count); x = factor x + offset.
extern "C" __global__ void __launch_bounds__(BLOCK) scale(float *x, float factor, unsigned count)
{
    const unsigned i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < count)
        x[i] = factor * x[i] + offset;
}

// words, uniforms: (2 counters); below: (2 counters), less than n: the first numbers of the stream.
extern "C" __global__ void __launch_bounds__(BLOCK)
    draw(unsigned long long seed, unsigned replica, unsigned update, unsigned purpose, unsigned long long n,
         unsigned counters, unsigned long long *words, double *uniforms, unsigned long long *below)
{
    const unsigned i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= counters)
        return;
    const philox_words four = stream_words(seed, replica, update, purpose, i);
    for (int which = 0; which < 2; which++) {
        const unsigned long long word = word_pair(four, which);
        words[2 * i + which] = word;
        uniforms[2 * i + which] = uniform_of(word);
        below[2 * i + which] = below_of(word, n);
    }
}

// In each iteration every block adds its right neighbour's number of the iteration before to its own: wrong
// unless the barrier works.  numbers: (2, gridDim.x), starting in row 0; the result is in row iterations % 2.
extern "C" __global__ void __launch_bounds__(BLOCK)
    exchange(unsigned *barrier, unsigned *numbers, unsigned iterations)
{
    for (unsigned iteration = 0; iteration < iterations; iteration++) {
        const unsigned *from = numbers + iteration % 2 * gridDim.x;
        unsigned *to = numbers + (iteration + 1) % 2 * gridDim.x;
        if (threadIdx.x == 0)
            to[blockIdx.x] = __ldcg(from + blockIdx.x) + __ldcg(from + (blockIdx.x + 1) % gridDim.x);
        grid_barrier(barrier);
    }
}

// Dynamic shared memory: out[0] = sum of 0 .. words-1.
extern "C" __global__ void __launch_bounds__(BLOCK) fill_shared(unsigned words, unsigned long long *out)
{
    extern __shared__ unsigned shared[];
    for (unsigned i = threadIdx.x; i < words; i += BLOCK)
        shared[i] = i;
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned long long sum = 0;
        for (unsigned i = 0; i < words; i++)
            sum += shared[i];
        out[0] = sum;
    }
}

// Writes to an invalid address: for the test of a fault.
extern "C" __global__ void fault(unsigned *nowhere)
{
    nowhere[threadIdx.x] = 1;
}
