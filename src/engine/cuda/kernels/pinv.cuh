// pinv.cuh - the pseudo-inverse of B (N, M) and its singular values, in double, by one block.
//
// Where B is well-conditioned, B+ = B^T (B B^T)^-1 (or (B^T B)^-1 B^T), corrected once by X <- X (2 - B X),
// which squares the residual; the residual decides whether that is accurate enough.  Otherwise, and where
// singular values are needed, one-sided Jacobi rotations, which give small singular values as accurately as
// large ones (Demmel and Veselic 1992).  Those below max(M, N) eps sigma_1 count as zero, as in model/svd.c.
// alone: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DRANK=0 -DUPDATE_THREADS=544
#ifndef ANT_PINV_CUH
#define ANT_PINV_CUH

#include "theta.cuh"

#define EPSILON_64 2.220446049250313e-16
#define SWEEPS     30
#define RESIDUAL   1e-8 // of the direct inverse; squared by the correction

// Matrices are stored with rows along the smaller side, (SMALL, TALL): the index of (s, t) in B (N, M), and
// in B+ (M, N).
static __device__ constexpr int at_B(int s, int t)
{
    return N <= M ? s * M + t : t * M + s;
}

static __device__ constexpr int at_P(int s, int t)
{
    return N <= M ? t * N + s : s * N + t;
}

struct pinv_work {
    double *B;      // (SMALL, TALL)
    double *tall;   // (SMALL, TALL): columns of B or B^T, one after the other; B+ of the direct method
    double *square; // (SMALL, SMALL)
    double *other;  // (SMALL, SMALL)
    double *line;   // (SMALL)
};

INLINE pinv_work pinv_place(double *scratch)
{
    pinv_work w;
    w.B = scratch;
    w.tall = w.B + N * M;
    w.square = w.tall + N * M;
    w.other = w.square + SMALL * SMALL;
    w.line = w.other + SMALL * SMALL;
    return w;
}

// The inverse of w.square, symmetric and positive: Gauss-Jordan elimination without pivots, from w.square to
// w.other and back.
INLINE void invert(pinv_work &w)
{
#pragma unroll 1
    for (int p = 0; p < SMALL; p++) {
        const double *from = w.square;
        const double scale = 1 / from[p * SMALL + p];
#pragma unroll 1
        for (int i = side_thread(); i < SMALL * SMALL; i += SIDE_THREADS) {
            const int row = i / SMALL, col = i % SMALL;
            const double a = from[row * SMALL + p], b = from[p * SMALL + col];
            if (row == p)
                w.other[i] = col == p ? scale : scale * b;
            else
                w.other[i] = col == p ? -scale * a : from[i] - a * b * scale;
        }
        side_barrier();
        w.square = w.other;
        w.other = const_cast<double *>(from);
    }
}

// pinv (M, N), from w.B; sets memory.flag to 1 where B is too close to losing rank.
INLINE void pinv_direct(pinv_work w, update_shared &memory, double *pinv)
{
    const int thread = side_thread();
#pragma unroll 1
    for (int i = thread; i < SMALL * SMALL; i += SIDE_THREADS)
        w.square[i] = dot<TALL>(w.B + i / SMALL * TALL, 1, w.B + i % SMALL * TALL, 1);
    side_barrier();
    invert(w);
#pragma unroll 1
    for (int i = thread; i < N * M; i += SIDE_THREADS)
        w.tall[i] = dot<SMALL>(w.square + i / TALL * SMALL, 1, w.B + i % TALL, TALL);
    side_barrier();
#pragma unroll 1
    for (int i = thread; i < SMALL * SMALL; i += SIDE_THREADS) {
        const int row = i / SMALL, col = i % SMALL;
        w.other[i] = (row == col ? 1.0 : 0.0) - dot<TALL>(w.B + row * TALL, 1, w.tall + col * TALL, 1);
        if (!(fabs(w.other[i]) <= RESIDUAL))
            atomicMax(&memory.flag, 1);
    }
    side_barrier();
#pragma unroll 1
    for (int i = thread; i < N * M; i += SIDE_THREADS) {
        const int s = i / TALL, t = i % TALL;
        pinv[at_P(s, t)] = w.tall[i] + dot<SMALL>(w.other + s, SMALL, w.tall + t, TALL);
    }
}

// Rotate columns a and b of w.tall, and with them those of w.square, so that they become orthogonal.  By one
// warp.
INLINE bool rotate(const pinv_work &w, int a, int b)
{
    const int lane = threadIdx.x % 32;
    double *x = w.tall + a * TALL, *y = w.tall + b * TALL, *u = w.square + a * SMALL,
           *v = w.square + b * SMALL;
    double xx = 0, yy = 0, xy = 0;
    for (int i = lane; i < TALL; i += 32) {
        xx += x[i] * x[i];
        yy += y[i] * y[i];
        xy += x[i] * y[i];
    }
    xx = warp_sum(xx);
    yy = warp_sum(yy);
    xy = warp_sum(xy);
    if (!(fabs(xy) > EPSILON_64 * (4 + TALL / 8) * sqrt(xx) * sqrt(yy)))
        return false;
    const double zeta = (yy - xx) / (2 * xy), root = sqrt(1 + zeta * zeta);
    const double t = zeta >= 0 ? 1 / (zeta + root) : 1 / (zeta - root);
    const double c = 1 / sqrt(1 + t * t), s = c * t;
    for (int i = lane; i < TALL; i += 32) {
        const double old = x[i];
        x[i] = c * old - s * y[i];
        y[i] = s * old + c * y[i];
    }
    for (int i = lane; i < SMALL; i += 32) {
        const double old = u[i];
        u[i] = c * old - s * v[i];
        v[i] = s * old + c * v[i];
    }
    __syncwarp();
    return true;
}

// One sweep: all pairs of columns in round-robin order, disjoint pairs at the same time.  An odd number is
// padded by one column, which has no partner.
INLINE void sweep(const pinv_work &w, update_shared &memory)
{
    constexpr int columns = SMALL + SMALL % 2;
#pragma unroll 1
    for (int turn = 0; turn < columns - 1; turn++) {
#pragma unroll 1
        for (int pair = threadIdx.x / 32; pair < columns / 2; pair += UPDATE_WARPS) {
            const int a = pair == 0 ? columns - 1 : (turn + pair) % (columns - 1);
            const int b = (turn + columns - 1 - pair) % (columns - 1);
            if (a < SMALL && b < SMALL && rotate(w, a, b) && threadIdx.x % 32 == 0)
                atomicMax(&memory.flag, 1);
        }
        __syncthreads();
    }
}

// B = sum sigma_k u_k v_k^T: w.tall holds sigma_k u_k (sigma_k v_k for M >= N), w.square the other side,
// w.line sigma.
INLINE void jacobi(const pinv_work &w, update_shared &memory)
{
#pragma unroll 1
    for (int i = threadIdx.x; i < SMALL * TALL; i += UPDATE_THREADS)
        w.tall[i] = w.B[i];
#pragma unroll 1
    for (int i = threadIdx.x; i < SMALL * SMALL; i += UPDATE_THREADS)
        w.square[i] = i / SMALL == i % SMALL ? 1 : 0;
    bool again = true;
    for (int count = 0; count < SWEEPS && again; count++) {
        if (threadIdx.x == 0)
            memory.flag = 0;
        __syncthreads();
        sweep(w, memory);
        again = memory.flag != 0;
        __syncthreads();
    }
#pragma unroll 1
    for (int k = threadIdx.x; k < SMALL; k += UPDATE_THREADS) {
        double square = 0;
        for (int i = 0; i < TALL; i++)
            square += w.tall[k * TALL + i] * w.tall[k * TALL + i];
        w.line[k] = sqrt(square);
    }
    __syncthreads();
}

// u_k v_k^T at (n, m), times sigma_k.
INLINE double outer(const pinv_work &w, int k, int n, int m)
{
    return N <= M ? w.square[k * SMALL + n] * w.tall[k * TALL + m]
                  : w.tall[k * TALL + n] * w.square[k * SMALL + m];
}

INLINE void pinv_by_values(const pinv_work &w, double *pinv)
{
    double largest = 0;
    for (int k = 0; k < SMALL; k++)
        largest = w.line[k] > largest || w.line[k] != w.line[k] ? w.line[k] : largest;
    const double least = largest * EPSILON_64 * TALL;
#pragma unroll 1
    for (int i = threadIdx.x; i < M * N; i += UPDATE_THREADS) {
        double sum = largest - largest; // NaN where B is not finite
#pragma unroll 2
        for (int k = 0; k < SMALL; k++)
            if (w.line[k] > least)
                sum += outer(w, k, i % N, i / N) / w.line[k] / w.line[k];
        pinv[i] = sum;
    }
}

// The term lambda / SMALL sum (sigma - 1)^2: its gradient (N, M), then its value.  d sigma / dB = u v^T.
INLINE void singular_gradient(const pinv_work &w, double lambda, double *gradient)
{
    const double scale = lambda / SMALL;
#pragma unroll 1
    for (int i = threadIdx.x; i < N * M; i += UPDATE_THREADS) {
        double sum = 0;
#pragma unroll 2
        for (int k = 0; k < SMALL; k++)
            if (w.line[k] > 0)
                sum += 2 * scale * (w.line[k] - 1) * outer(w, k, i / M, i % M) / w.line[k];
        gradient[i] = sum;
    }
    if (threadIdx.x == 0) {
        double value = 0;
#pragma unroll 2
        for (int k = 0; k < SMALL; k++)
            value += scale * (w.line[k] - 1) * (w.line[k] - 1);
        gradient[N * M] = value;
    }
}

// Adds the term lambda (1 - r)^2, r = sigma_1 / sigma_k, to the same: each thread to entries of its own.
INLINE void condition_gradient(const pinv_work &w, double lambda, double *gradient)
{
    int first = 0, last = 0; // of the largest and the smallest
    for (int k = 1; k < SMALL; k++) {
        first = w.line[k] > w.line[first] ? k : first;
        last = w.line[k] < w.line[last] ? k : last;
    }
    const double r = w.line[first] / w.line[last], slope = 2 * lambda * (r - 1) / w.line[last];
#pragma unroll 1
    for (int i = threadIdx.x; i < N * M; i += UPDATE_THREADS)
        gradient[i] += slope * (outer(w, first, i / M, i % M) / w.line[first] -
                                r * outer(w, last, i / M, i % M) / w.line[last]);
    if (threadIdx.x == 0)
        gradient[N * M] += lambda * (1 - r) * (1 - r);
}

// A term needs the singular values.
INLINE bool needs_values(const update_args &p)
{
    return p.singular > 0 || p.condition > 0;
}

// By the side warp.  B: (N, M) in the parameters.  Sets memory.flag to 1 where Jacobi has to follow.
INLINE void find_pinv(const real *B, bool values, double *scratch, update_shared &memory, double *pinv)
{
    const pinv_work w = pinv_place(scratch);
#pragma unroll 1
    for (int i = side_thread(); i < N * M; i += SIDE_THREADS)
        w.B[i] = (double)B[at_B(i / TALL, i % TALL)];
    if (side_thread() == 0)
        memory.flag = values;
    side_barrier();
    if (!values)
        pinv_direct(w, memory, pinv);
}

// By all threads: B+ and the gradient of the terms on the singular values.  Ends with a barrier.
NOINLINE void pinv_by_jacobi(const update_args &p, double *scratch, update_shared &memory, double *pinv,
                             double *gradient)
{
    const pinv_work w = pinv_place(scratch);
    __syncthreads();
    jacobi(w, memory);
    pinv_by_values(w, pinv);
    if (needs_values(p))
        singular_gradient(w, p.singular, gradient);
    if (p.condition > 0)
        condition_gradient(w, p.condition, gradient);
    __syncthreads();
}

#endif
