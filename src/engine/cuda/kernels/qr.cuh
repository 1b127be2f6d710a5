// qr.cuh - rows of a matrix orthonormalised by Householder's reflections, by one block of WARPS warps.
//
// The rows lie in shared or global memory, one after the other: COUNT of NUMBERS numbers.  Row j belongs to
// warp j % WARPS throughout, so only a reflection, which all read, needs a barrier.
#ifndef ANT_QR_CUH
#define ANT_QR_CUH

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

// Squares below this lose digits to underflow, down to a norm of 0 for a vector that has a direction.
#define SMALL_SQUARE 1e-280

// row <- row / largest entry from k on, by the warp `owner`; all threads get that entry and must call it.
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

// Every row becomes the reflection that takes what is left of it to one number, and the rows behind it are
// reflected. reflector: v_k and tau of each; logs: log |R_kk|, or NULL.
static __device__ void triangulate(double *rows, double (*reflector)[2], double *logs)
{
    for (int k = 0; k < COUNT; k++) {
        double *row = rows + (size_t)k * NUMBERS;
        double square = square_from(row, k), scale = 1.0;
        if (square < SMALL_SQUARE) { // of the same numbers on every warp, so all go this way or none
            scale = rescale(row, k, k % WARPS);
            square = square_from(row, k);
        }
        const double length = sqrt(square);
        const double head = row[k] > 0.0 ? -length : length;
        const double v_k = row[k] - head;                            // adds in magnitude: no cancellation
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

// Row j of Q is H_0 ... H_j e_j: the last reflection first, each takes the rows behind it along and then
// makes room for its own.
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
