// mixture.cu - sums of Gaussian kernels, for D_stsp (docs/measures.md, docs/gpu.md).
//
// With coordinates centred on the orbit and scaled by sqrt(log2(e) / variance), a kernel is 2^t with
//
//     t = -|x - y|^2 / 2 = (x . y - |y|^2 / 2) - |x|^2 / 2.
//
// near_sums computes this in float, as a matrix product of samples and points whose entries go through 2^t
// and are summed at once; nothing of size samples x points is stored.  far_sums takes the few samples for
// which this loses digits or underflows, in double, from differences, relative to the nearest point.
//
// D: dimension of the points.
// variant: -DD=1
// variant: -DD=3
// variant: -DD=18
// variant: -DD=24
// variant: -DD=25
// variant: -DD=100
#define REAL_BITS 32
#include "abi.h"
#include "ptx.cuh"

#ifndef D
#error "D, the dimension of the points, is not defined"
#endif

#define TILE MIXTURE_TILE
#define THREADS                                                                                              \
    MIXTURE_NEAR_THREADS // of near_sums: 8 warps of 32 samples x 64 points; a thread has 8 x 8 of them
#define SLICES  MIXTURE_SLICES(D)
#define SLICE   MIXTURE_SLICE(D)
#define ROWS    MIXTURE_ROWS(D) // of a packed tile: one constant, then the coordinates, padded with zeros
#define XSTAGES (SLICES == 1 ? 1 : 2)

typedef float row[TILE];

static __device__ __forceinline__ void copy_rows(row *to, const float *from, int rows)
{
    for (int i = threadIdx.x; i < rows * (TILE / 4); i += THREADS)
        copy_async_16(&to[0][0] + 4 * i, from + 4 * i);
}

// (high, low) += value; `low` collects what does not fit into `high` (Knuth's two-sum).
static __device__ __forceinline__ void add_exactly(float &high, float &low, float value)
{
    const float sum = high + value;
    const float part = sum - high;
    low += (high - (sum - part)) + (value - part);
    high = sum;
}

// A thread has the products of its 8 samples (rows of acc) with its 8 points (columns), which are not
// neighbours: so a warp reads shared memory without conflicts.
static __device__ __forceinline__ int place_of_sample(int sample, int i)
{
    return sample + i % 4 + i / 4 * 16;
}

// acc = -|y|^2/2 of each point
static __device__ __forceinline__ void begin_products(float (&acc)[8][8], const row &constants, int point)
{
#pragma unroll
    for (int j = 0; j < 8; j++) {
        const float c = constants[point + j % 4 + j / 4 * 32];
#pragma unroll
        for (int i = 0; i < 8; i++)
            acc[i][j] = c;
    }
}

// acc += x . y over one slice of the coordinates; x, y: (SLICE, TILE)
static __device__ __forceinline__ void add_products(float (&acc)[8][8], const row *x, int sample,
                                                    const row *y, int point)
{
#pragma unroll
    for (int k = 0; k < SLICE; k++) {
        const float4 x0 = *(const float4 *)&x[k][sample], x1 = *(const float4 *)&x[k][sample + 16];
        const float4 y0 = *(const float4 *)&y[k][point], y1 = *(const float4 *)&y[k][point + 32];
        const float a[8] = {x0.x, x0.y, x0.z, x0.w, x1.x, x1.y, x1.z, x1.w};
        const float b[8] = {y0.x, y0.y, y0.z, y0.w, y1.x, y1.y, y1.z, y1.w};
#pragma unroll
        for (int i = 0; i < 8; i++)
#pragma unroll
            for (int j = 0; j < 8; j++)
                acc[i][j] = fmaf(a[i], b[j], acc[i][j]);
    }
}

// (high, low) += the sum over the 8 points of 2^(acc - shift)
static __device__ __forceinline__ void add_powers(float (&high)[8], float (&low)[8], const float (&acc)[8][8],
                                                  const row &shifts, int sample)
{
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const float shift = shifts[place_of_sample(sample, i)];
        float p[8];
#pragma unroll
        for (int j = 0; j < 8; j++)
            p[j] = power_of_two(acc[i][j] - shift);
        add_exactly(high[i], low[i], ((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7])));
    }
}

// sums: (TILE) of this block.  8 lanes of each of two warps share the same samples.
static __device__ __forceinline__ void write_sums(double *sums, const float (&high)[8], const float (&low)[8],
                                                  int sample)
{
    __shared__ double other_half[TILE];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    double total[8];
#pragma unroll
    for (int i = 0; i < 8; i++) {
        total[i] = (double)high[i] + (double)low[i];
#pragma unroll
        for (int offset = 1; offset < 8; offset *= 2)
            total[i] += __shfl_xor_sync(0xffffffffu, total[i], offset);
    }
    const bool writes = lane % 8 == 0;
    if (writes && warp % 2 == 1)
#pragma unroll
        for (int i = 0; i < 8; i++)
            other_half[place_of_sample(sample, i)] = total[i];
    __syncthreads();
    if (writes && warp % 2 == 0)
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const int place = place_of_sample(sample, i);
            sums[place] = total[i] + other_half[place];
        }
}

// points: (tiles, ROWS, TILE): row 0 holds -|y|^2/2; samples: (gridDim.x, ROWS, TILE): row 0 holds the
// exponent to subtract; sums: (gridDim.x TILE): sum over the points of 2^(x . y - |y|^2/2 - shift).  A
// sample's sum depends only on that sample, the points and their order.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
    near_sums(const float *points, unsigned tiles, const float *samples, double *sums)
{
    __shared__ __align__(16) row xs[XSTAGES][SLICE];
    __shared__ __align__(16) row ys[2][SLICE];
    __shared__ __align__(16) row constants[2];
    __shared__ __align__(16) row shifts[1];

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int point = warp % 2 * 64 + lane % 8 * 4;  // this thread's: point .. +3 and point + 32 .. +35
    const int sample = warp / 2 * 32 + lane / 8 * 4; // sample .. +3 and sample + 16 .. +19
    const float *own = samples + (size_t)blockIdx.x * ROWS * TILE;
    const unsigned stages = tiles * SLICES;
    float acc[8][8], high[8], low[8];
#pragma unroll
    for (int i = 0; i < 8; i++)
        high[i] = low[i] = 0.0f;

    const auto load = [&](unsigned stage) {
        const float *tile = points + (size_t)(stage / SLICES) * ROWS * TILE;
        const unsigned slice = stage % SLICES;
        copy_rows(ys[stage % 2], tile + (1 + slice * SLICE) * TILE, SLICE);
        if (slice == 0)
            copy_rows(&constants[stage % 2], tile, 1);
        if (SLICES > 1)
            copy_rows(xs[stage % XSTAGES], own + (1 + slice * SLICE) * TILE, SLICE);
    };

    copy_rows(shifts, own, 1);
    if (SLICES == 1)
        copy_rows(xs[0], own + TILE, SLICE);
    load(0);
    copy_commit();
    for (unsigned stage = 0; stage < stages; stage++) {
        if (stage + 1 < stages)
            load(stage + 1);
        copy_commit();
        copy_wait<1>();
        __syncthreads();
        if (stage % SLICES == 0)
            begin_products(acc, constants[stage % 2], point);
        add_products(acc, xs[stage % XSTAGES], sample, ys[stage % 2], point);
        if (stage % SLICES == SLICES - 1)
            add_powers(high, low, acc, shifts[0], sample);
        __syncthreads(); // the next iteration refills the buffer
    }
    write_sums(sums + (size_t)blockIdx.x * TILE, high, low, sample);
}

#define FAR_THREADS MIXTURE_FAR_THREADS
#define FAR_POINTS  (D <= 64 ? 64 : D <= 4096 ? 4096 / D : 1) // of a tile in shared memory

// In double: least = min_t q_t and sum = sum_t 2^(least - q_t), q_t = |x - y_t|^2 / 2, over the points of
// segment blockIdx.y.  points: (length, D); samples: (D, count); least, sums: (gridDim.y, count).
extern "C" __global__ void __launch_bounds__(FAR_THREADS)
    far_sums(const double *points, unsigned length, const double *samples, unsigned count, double *least,
             double *sums)
{
    __shared__ double tile[FAR_POINTS * D];
    const unsigned i = blockIdx.x * FAR_THREADS + threadIdx.x;
    const unsigned per_segment = (length + gridDim.y - 1) / gridDim.y;
    const unsigned begin = min(blockIdx.y * per_segment, length), end = min(begin + per_segment, length);
#if D <= 32
    double x[D];
#pragma unroll
    for (int k = 0; k < D; k++)
        x[k] = i < count ? samples[(size_t)k * count + i] : 0.0;
#endif
    double nearest = __longlong_as_double(0x7ff0000000000000ll), sum = 0.0; // infinity
    for (unsigned first = begin; first < end; first += FAR_POINTS) {
        const unsigned here = min(end - first, (unsigned)FAR_POINTS);
        __syncthreads();
        for (unsigned j = threadIdx.x; j < here * D; j += FAR_THREADS)
            tile[j] = points[(size_t)first * D + j];
        __syncthreads();
        for (unsigned t = 0; i < count && t < here; t++) {
            double q = 0.0;
#if D <= 32
#pragma unroll
            for (int k = 0; k < D; k++) {
                const double difference = x[k] - tile[t * D + k];
                q = fma(difference, 0.5 * difference, q);
            }
#else
            for (int k = 0; k < D; k++) {
                const double difference = samples[(size_t)k * count + i] - tile[t * D + k];
                q = fma(difference, 0.5 * difference, q);
            }
#endif
            if (q < nearest) { // the sum so far, relative to the new nearest point; 0 when there was none
                sum = sum * exp2(q - nearest) + 1.0;
                nearest = q;
            } else if (q - q == 0.0) { // finite
                sum += exp2(nearest - q);
            }
        }
    }
    if (i < count) {
        least[(size_t)blockIdx.y * count + i] = nearest;
        sums[(size_t)blockIdx.y * count + i] = sum;
    }
}
