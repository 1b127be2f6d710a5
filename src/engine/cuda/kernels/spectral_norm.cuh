// spectral_norm.cuh - the largest singular value of a small matrix, in double, by one warp.
//
// It is the root of the largest eigenvalue of a^T a.  Forming that product loses digits of small singular
// values only.  Householder reflections make it tridiagonal; a number is above all eigenvalues when all
// pivots of that matrix are positive, and 32 lanes try as many numbers at a time.  There is no criterion of
// convergence: the work depends on the size alone.
// alone: -DREAL_BITS=32
#ifndef ANT_SPECTRAL_NORM_CUH
#define ANT_SPECTRAL_NORM_CUH

#include "common.cuh"

#define NORM_WORK(size) ((size) * (size) + 4 * (size)) // doubles of scratch of spectral_norm
#define NORM_ROUNDS     9                              // each divides the interval by 32: 2^-45 of it
#define NORM_TINY       1e-280                         // squares below this count as zero

// Reflect the rows and columns after k of the symmetric a (SIZE, SIZE), so that column k ends below the
// diagonal; returns the square of the entry that is left there.  v, w: (SIZE)
template <int SIZE> INLINE double reflect_column(double *a, int k, double *v, double *w)
{
    const int lane = threadIdx.x % 32;
    double tail = 0;
    for (int i = k + 2 + lane; i < SIZE; i += 32)
        tail += a[i * SIZE + k] * a[i * SIZE + k];
    tail = warp_sum(tail);
    const double head = a[(k + 1) * SIZE + k], square = head * head + tail;
    if (!(tail > NORM_TINY))
        return square;
    const double first = head + (head < 0 ? -sqrt(square) : sqrt(square)); // adds magnitudes: no cancellation
    const double tau = 2 / (first * first + tail);
    for (int i = k + 1 + lane; i < SIZE; i += 32)
        v[i] = i == k + 1 ? first : a[i * SIZE + k];
    __syncwarp();
    double dot = 0;
    for (int i = k + 1 + lane; i < SIZE; i += 32) {
        double sum = 0;
        for (int j = k + 1; j < SIZE; j++)
            sum += a[j * SIZE + i] * v[j];
        w[i] = tau * sum;
        dot += w[i] * v[i];
    }
    const double half = 0.5 * tau * warp_sum(dot);
    for (int i = k + 1 + lane; i < SIZE; i += 32)
        w[i] -= half * v[i];
    __syncwarp();
    for (int i = k + 1; i < SIZE; i++)
        for (int j = k + 1 + lane; j < SIZE; j += 32)
            a[i * SIZE + j] -= v[i] * w[j] + w[i] * v[j];
    __syncwarp();
    return square;
}

// x is above all eigenvalues of the tridiagonal matrix.  beside: squares of the entries beside the diagonal
template <int SIZE> INLINE bool is_above(double x, const double *diagonal, const double *beside)
{
    double pivot = x - diagonal[0];
    for (int i = 1; i < SIZE && pivot > 0; i++)
        pivot = x - diagonal[i] - beside[i - 1] / pivot;
    return pivot > 0;
}

// The largest eigenvalue of a (SIZE, SIZE), symmetric without negative eigenvalues; overwrites it.  line:
// (4, SIZE).  NaN where `a` has one.
template <int SIZE> INLINE double largest_eigenvalue(double *a, double *line)
{
    const int lane = threadIdx.x % 32;
    double *diagonal = line, *beside = line + SIZE;
    __syncwarp(); // an earlier call has read `line`
    for (int k = 0; k < SIZE - 1; k++) {
        const double square = reflect_column<SIZE>(a, k, line + 2 * SIZE, line + 3 * SIZE);
        if (lane == 0)
            beside[k] = square;
    }
    for (int i = lane; i < SIZE; i += 32)
        diagonal[i] = a[i * SIZE + i];
    __syncwarp();
    double low = 0, high = 0;
    for (int i = 0; i < SIZE; i++) {
        low = diagonal[i] > low ? diagonal[i] : low;
        high += diagonal[i];
    }
    const double sum = high;
    for (int round = 0; round < NORM_ROUNDS; round++) {
        const double step = (high - low) / 32, x = low + (lane + 1) * step;
        const unsigned above = __ballot_sync(ALL_LANES, is_above<SIZE>(x, diagonal, beside));
        const int first = above == 0 ? 31 : __ffs(above) - 1;
        high = low + (first + 1) * step;
        low += first * step;
    }
    return sum - sum == 0 ? high : sum - sum;
}

// The largest singular value of a (SIZE, SIZE), which is not changed.  work: NORM_WORK(SIZE)
template <int SIZE> INLINE double spectral_norm(const double *a, double *work)
{
    for (int e = threadIdx.x % 32; e < SIZE * SIZE; e += 32) {
        const int i = e / SIZE, j = e % SIZE;
        double sum = 0;
        for (int k = 0; k < SIZE; k++)
            sum += a[k * SIZE + i] * a[k * SIZE + j];
        work[e] = sum;
    }
    __syncwarp();
    return sqrt(largest_eigenvalue<SIZE>(work, work + SIZE * SIZE));
}

#endif
