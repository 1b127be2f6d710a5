// pattern_pinv.cuh - B_o+ of the observed rows of B (spec 12), in double, by one warp: the method of pinv.cuh
// for a number of rows that is known at run time.
// alone: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0
#ifndef ANT_PATTERN_PINV_CUH
#define ANT_PATTERN_PINV_CUH

#include "shape.cuh"

#define SMALLER    (M > N ? N : M)
#define EPSILON_64 2.220446049250313e-16
#define SWEEPS     30
#define RESIDUAL   1e-8 // of the direct inverse; squared by the correction

// Matrices are stored with rows along the smaller side, (small, tall).
struct pattern_work {
    int rows;        // observed variables
    int small, tall; // of rows and M
    double *B;       // (small, tall): B_o, or its transpose
    double *first;   // (small, tall): B_o+ or its transpose, before the correction; then sigma u of Jacobi
    double *pinv;    // (small, tall): B_o+ or its transpose
    double *square;  // (small, small)
    double *other;   // (small, small)
    double *values;  // (small): singular values
    int *variable;   // (rows): which variable a row of B_o is
};

#define PATTERN_WORK (3 * N * M + 2 * SMALLER * SMALLER + SMALLER + (N + 1) / 2) // doubles of one warp

INLINE pattern_work pattern_place(double *scratch)
{
    pattern_work w;
    w.rows = w.small = w.tall = 0;
    w.B = scratch;
    w.first = w.B + N * M;
    w.pinv = w.first + N * M;
    w.square = w.pinv + N * M;
    w.other = w.square + SMALLER * SMALLER;
    w.values = w.other + SMALLER * SMALLER;
    w.variable = reinterpret_cast<int *>(w.values + SMALLER);
    return w;
}

// B_o+ at (m, row).
INLINE double pinv_at(const pattern_work &w, int m, int row)
{
    return w.rows <= M ? w.pinv[row * w.tall + m] : w.pinv[m * w.tall + row];
}

INLINE double dot_rows(int count, const double *a, int a_step, const double *b, int b_step)
{
    double sum = 0;
    for (int k = 0; k < count; k++)
        sum += a[k * a_step] * b[k * b_step];
    return sum;
}

// The rows of B (N, MP) whose bit is not set.
INLINE void gather_rows(pattern_work &w, const real *B, const unsigned long long *lacks)
{
    const int lane = threadIdx.x % 32;
    for (int n = 0; n < N; n++)
        if ((lacks[n / 64] >> n % 64 & 1) == 0) {
            if (lane == 0)
                w.variable[w.rows] = n;
            w.rows++;
        }
    w.small = w.rows < M ? w.rows : M;
    w.tall = w.rows < M ? M : w.rows;
    __syncwarp();
    for (int i = lane; i < w.rows * M; i += 32) {
        const int row = i / M, m = i % M;
        w.B[w.rows <= M ? row * w.tall + m : m * w.tall + row] = (double)B[w.variable[row] * MP + m];
    }
    __syncwarp();
}

// The inverse of w.square, symmetric and positive: Gauss-Jordan elimination without pivots, from w.square to
// w.other and back.
INLINE void invert_square(pattern_work &w)
{
    const int small = w.small;
    for (int p = 0; p < small; p++) {
        double *from = w.square;
        const double scale = 1 / from[p * small + p];
        for (int i = threadIdx.x % 32; i < small * small; i += 32) {
            const int row = i / small, col = i % small;
            const double a = from[row * small + p], b = from[p * small + col];
            if (row == p)
                w.other[i] = col == p ? scale : scale * b;
            else
                w.other[i] = col == p ? -scale * a : from[i] - a * b * scale;
        }
        __syncwarp();
        w.square = w.other;
        w.other = from;
    }
}

// B^T (B B^T)^-1, corrected once; returns whether that is accurate.
INLINE bool pinv_by_inverse(pattern_work &w)
{
    const int lane = threadIdx.x % 32, small = w.small, tall = w.tall;
    bool good = true;
    for (int i = lane; i < small * small; i += 32)
        w.square[i] = dot_rows(tall, w.B + i / small * tall, 1, w.B + i % small * tall, 1);
    __syncwarp();
    invert_square(w);
    for (int i = lane; i < small * tall; i += 32)
        w.first[i] = dot_rows(small, w.square + i / tall * small, 1, w.B + i % tall, tall);
    __syncwarp();
    for (int i = lane; i < small * small; i += 32) {
        const int row = i / small, col = i % small;
        w.other[i] = (row == col ? 1.0 : 0.0) - dot_rows(tall, w.B + row * tall, 1, w.first + col * tall, 1);
        good = good && fabs(w.other[i]) <= RESIDUAL;
    }
    __syncwarp();
    for (int i = lane; i < small * tall; i += 32)
        w.pinv[i] = w.first[i] + dot_rows(small, w.other + i / tall, small, w.first + i % tall, tall);
    __syncwarp();
    return !__any_sync(ALL_LANES, !good);
}

// Rotate columns a and b of w.first, and with them those of w.square, so that they become orthogonal; returns
// whether they were not.
INLINE bool rotate_pair(const pattern_work &w, int a, int b)
{
    double *x = w.first + a * w.tall, *y = w.first + b * w.tall, *u = w.square + a * w.small,
           *v = w.square + b * w.small;
    const double xx = dot_rows(w.tall, x, 1, x, 1), yy = dot_rows(w.tall, y, 1, y, 1),
                 xy = dot_rows(w.tall, x, 1, y, 1);
    if (!(fabs(xy) > EPSILON_64 * (4 + w.tall / 8) * sqrt(xx) * sqrt(yy)))
        return false;
    const double zeta = (yy - xx) / (2 * xy), root = sqrt(1 + zeta * zeta);
    const double t = zeta >= 0 ? 1 / (zeta + root) : 1 / (zeta - root);
    const double c = 1 / sqrt(1 + t * t), s = c * t;
    __syncwarp();
    for (int i = threadIdx.x % 32; i < w.tall + w.small; i += 32) {
        double *p = i < w.tall ? x + i : u + i - w.tall, *q = i < w.tall ? y + i : v + i - w.tall;
        const double old = *p;
        *p = c * old - s * *q;
        *q = s * old + c * *q;
    }
    __syncwarp();
    return true;
}

// By one-sided Jacobi rotations, with the rank of spec 2: where B_o is close to losing rank.
INLINE void pinv_by_rotations(const pattern_work &w)
{
    const int lane = threadIdx.x % 32, small = w.small, tall = w.tall;
    for (int i = lane; i < small * tall; i += 32)
        w.first[i] = w.B[i];
    for (int i = lane; i < small * small; i += 32)
        w.square[i] = i / small == i % small ? 1 : 0;
    __syncwarp();
    bool again = true;
    for (int sweep = 0; sweep < SWEEPS && again; sweep++) {
        again = false;
        for (int a = 0; a < small; a++)
            for (int b = a + 1; b < small; b++)
                again |= rotate_pair(w, a, b);
    }
    double largest = 0;
    for (int k = 0; k < small; k++) { // all lanes find all of them
        const double value = sqrt(dot_rows(tall, w.first + k * tall, 1, w.first + k * tall, 1));
        largest = value > largest || value != value ? value : largest;
        if (lane == 0)
            w.values[k] = value;
    }
    __syncwarp();
    const double least = largest * EPSILON_64 * tall;
    for (int i = lane; i < small * tall; i += 32) {
        double sum = largest - largest; // NaN where B is not finite
        for (int k = 0; k < small; k++)
            if (w.values[k] > least)
                sum +=
                    w.square[k * small + i / tall] * w.first[k * tall + i % tall] / w.values[k] / w.values[k];
        w.pinv[i] = sum;
    }
    __syncwarp();
}

#endif
