// qr.cuh - orthonormalises the rows of a matrix by Householder reflections, by one block of WARPS warps.
//
// The rows lie in shared or global memory, one after the other: COUNT rows of NUMBERS numbers.  Row j always
// belongs to warp j % WARPS, so a barrier is needed only for a reflection, which all warps read.
// alone: -DREAL_BITS=64 -DWARPS=4 -DNUMBERS=10 -DCOUNT=10
#ifndef ANT_QR_CUH
#define ANT_QR_CUH

#include "common.cuh"

// row -= tau (row . v) v from entry k on, by one warp; v is row k with v_k in place of its entry k.
static __device__ void reflect(double *row, const double *v, double v_k, double tau, int k)
{
    const int lane = threadIdx.x % 32;
    double dot = 0.0;
    for (int i = k + lane; i < NUMBERS; i += 32)
        dot = fma(row[i], i == k ? v_k : v[i], dot);
    const double factor = tau * warp_sum(dot);
    for (int i = k + lane; i < NUMBERS; i += 32)
        row[i] = fma(-factor, i == k ? v_k : v[i], row[i]);
}

// Squares below this lose digits to underflow; the norm could become 0 although the vector is not zero.
#define SMALL_SQUARE 1e-280

// row <- row / (largest entry from k on), by warp `owner`.  All threads must call it; returns that entry on
// all of them.
static __device__ double rescale(double *row, int k, int owner)
{
    const int lane = threadIdx.x % 32;
    double largest = 0.0;
    for (int i = k + lane; i < NUMBERS; i += 32)
        largest = fmax(largest, fabs(row[i]));
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
        largest = fmax(largest, __shfl_xor_sync(ALL_LANES, largest, offset));
    __syncthreads();
    for (int i = k + lane; i < NUMBERS && largest > 0.0 && threadIdx.x / 32 == owner; i += 32)
        row[i] /= largest;
    __syncthreads();
    return largest;
}

static __device__ double square_from(const double *row, int k)
{
    double square = 0.0;
    for (int i = k + threadIdx.x % 32; i < NUMBERS; i += 32)
        square = fma(row[i], row[i], square);
    return warp_sum(square);
}

// Each row becomes the reflection that maps its remaining part to one number, and the rows after it are
// reflected.  reflector: v_k and tau of each; logs: log |R_kk|, or NULL.
static __device__ void triangulate(double *rows, double (*reflector)[2], double *logs)
{
    for (int k = 0; k < COUNT; k++) {
        double *row = rows + (size_t)k * NUMBERS;
        double square = square_from(row, k), scale = 1.0;
        if (square < SMALL_SQUARE) { // computed from the same numbers, so all warps branch alike
            scale = rescale(row, k, k % WARPS);
            square = square_from(row, k);
        }
        const double length = sqrt(square);
        const double head = row[k] > 0.0 ? -length : length;
        const double v_k = row[k] - head;                            // adds magnitudes: no cancellation
        const double twice = 2.0 * length * (length + fabs(row[k])); // |v|^2
        const double tau = twice > 0.0 ? 2.0 / twice : 0.0;
        if (threadIdx.x == 0) {
            reflector[k][0] = v_k;
            reflector[k][1] = tau;
            if (logs != nullptr)
                logs[k] = log(length) + (scale == 1.0 ? 0.0 : log(scale));
        }
        for (int j = threadIdx.x / 32; j < COUNT; j += WARPS)
            if (j > k)
                reflect(rows + (size_t)j * NUMBERS, row, v_k, tau, k);
        __syncthreads();
    }
}

// Row j of Q is H_0 ... H_j e_j.  From the last reflection to the first: apply it to the rows after it, then
// replace it by its own row of Q.
static __device__ void unfold(double *rows, double (*reflector)[2])
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int k = COUNT - 1; k >= 0; k--) {
        double *row = rows + (size_t)k * NUMBERS;
        const double v_k = reflector[k][0], tau = reflector[k][1];
        for (int j = warp; j < COUNT; j += WARPS)
            if (j > k)
                reflect(rows + (size_t)j * NUMBERS, row, v_k, tau, k);
        __syncthreads();
        if (k % WARPS != warp)
            continue;
        for (int i = lane; i < NUMBERS; i += 32) {
            const double v = i < k ? 0.0 : i == k ? v_k : row[i];
            row[i] = (i == k ? 1.0 : 0.0) - tau * v_k * v;
        }
        __syncwarp();
    }
    __syncthreads();
}

// rows <- Q of rows^T = Q R, in place.
static __device__ void orthonormalise(double *rows, double (*reflector)[2], double *logs)
{
    triangulate(rows, reflector, logs);
    unfold(rows, reflector);
}

#endif
