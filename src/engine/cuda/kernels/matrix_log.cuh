// matrix_log.cuh - the logarithm of a real matrix (M, M) and the norm of an exponential, in double, by one
// warp (solve/matrix_function.h is the same on the CPU).
//
// The QR method in complex arithmetic, by rotations of neighbouring rows and columns, gives J = Q T Q^H with
// a triangular T = X D X^-1; then log J = Q X log(D) X^-1 Q^H.  A negative eigenvalue has the argument pi.
// Eigenvectors X that are close to dependent give NaN.
//
// Macro from the host: M.
// alone: -DREAL_BITS=32 -DM=4
#ifndef ANT_MATRIX_LOG_CUH
#define ANT_MATRIX_LOG_CUH

#include "spectral_norm.cuh"

#define QR_STEPS     (40 * M) // at most
#define QR_PATIENCE  10       // steps after which a shift is another one
#define QR_EPSILON   2.220446049250313e-16
#define REAL_AXIS    1e-10 // an eigenvalue is real when its imaginary part is below this, beside the norm
#define VECTOR_LIMIT 1e10  // of an eigenvector beside its entry on the diagonal: leaves six digits
#define LEAST_NORMAL 2.2250738585072014e-308
#define PI_64        3.14159265358979323846
#define NONE_64      __longlong_as_double(0x7ff8000000000000ll) // NaN
#define TAYLOR_TERMS 16                                         // 0.5^17 / 17! < 1e-19

#define LOG_WORK (8 * M * M)                                // doubles of scratch of matrix_log
#define EXP_WORK (4 * M * M + 4 * M * M + NORM_WORK(2 * M)) // and of exp_norm

struct alignas(16) complex {
    double re, im;
};

INLINE complex operator+(complex a, complex b)
{
    return {a.re + b.re, a.im + b.im};
}

INLINE complex operator-(complex a, complex b)
{
    return {a.re - b.re, a.im - b.im};
}

INLINE complex operator*(complex a, complex b)
{
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

INLINE complex operator*(double a, complex b)
{
    return {a * b.re, a * b.im};
}

INLINE complex conjugate(complex a)
{
    return {a.re, -a.im};
}

INLINE double square_of(complex a)
{
    return a.re * a.re + a.im * a.im;
}

INLINE double size_of(complex a) // within a factor of 1.5
{
    return fabs(a.re) + fabs(a.im);
}

INLINE complex quotient(complex a, complex b)
{
    return (1 / square_of(b)) * (a * conjugate(b));
}

INLINE complex root_of(complex a)
{
    const double size = sqrt(square_of(a)), re = sqrt(0.5 * (size + fabs(a.re)));
    if (!(re > 0))
        return {0, 0};
    const double im = 0.5 * a.im / re;
    return a.re >= 0 ? complex{re, im} : complex{fabs(im), a.im < 0 ? -re : re};
}

// ---- T and Q ----------------------------------------------------------------------------------------------

struct rotation { // [c s; -conj(s) c]
    double c;
    complex s;
};

// The rotation that maps (f, g) to (r, 0).
INLINE rotation find_rotation(complex f, complex g)
{
    const double ff = square_of(f), gg = square_of(g);
    if (!(gg > 0))
        return {1, {0, 0}};
    if (!(ff > 0))
        return {0, (1 / sqrt(gg)) * conjugate(g)};
    const double scale = 1 / sqrt(ff * (ff + gg));
    return {ff * scale, scale * (f * conjugate(g))};
}

// H <- G H G^H and Q <- Q G^H, with G on rows k and k+1.  Row k+1 of column `zero`, which G maps to 0, is set
// to it (-1: none): what rounding leaves there would be carried to the subdiagonal, and the method never
// ends.
INLINE void rotate_pair(complex *H, complex *Q, int k, rotation g, int zero)
{
    const int lane = threadIdx.x % 32;
    __syncwarp(); // all lanes have read what g was made of
    for (int j = lane; j < M; j += 32) {
        const complex upper = H[k * M + j], lower = H[(k + 1) * M + j];
        H[k * M + j] = g.c * upper + g.s * lower;
        H[(k + 1) * M + j] = g.c * lower - conjugate(g.s) * upper;
    }
    __syncwarp();
    for (int i = lane; i < 2 * M; i += 32) {
        complex *row = i < M ? H + i * M : Q + (i - M) * M;
        const complex left = row[k], right = row[k + 1];
        row[k] = g.c * left + conjugate(g.s) * right;
        row[k + 1] = g.c * right - g.s * left;
    }
    __syncwarp();
    if (zero >= 0 && lane == 0)
        H[(k + 1) * M + zero] = {0, 0};
    __syncwarp();
}

// Zeros below the first subdiagonal.
INLINE void make_hessenberg(complex *H, complex *Q)
{
    for (int k = 0; k < M - 2; k++)
        for (int i = M - 1; i > k + 1; i--)
            rotate_pair(H, Q, i - 1, find_rotation(H[(i - 1) * M + k], H[i * M + k]), k);
}

// The eigenvalue of the last two rows up to `high` that is closer to the last entry.
INLINE complex find_shift(const complex *H, int high)
{
    const complex a = H[(high - 1) * M + high - 1], d = H[high * M + high];
    const complex half = 0.5 * (a - d), product = H[(high - 1) * M + high] * H[high * M + high - 1];
    const complex root = root_of(half * half + product);
    const complex plus = half + root, minus = half - root;
    const complex larger = square_of(plus) > square_of(minus) ? plus : minus;
    return square_of(larger) > 0 ? d - quotient(product, larger) : d;
}

// The first row of the block without zeros on the subdiagonal that ends with row `high`.
INLINE int find_low(const complex *H, int high)
{
    int low = high;
    while (low > 0 && size_of(H[low * M + low - 1]) >
                          QR_EPSILON * (size_of(H[low * M + low]) + size_of(H[(low - 1) * M + low - 1])))
        low--;
    return low;
}

// H becomes triangular; false where that takes too many steps.
INLINE bool make_triangular(complex *H, complex *Q)
{
    int high = M - 1, steps = 0, since = 0;
    make_hessenberg(H, Q);
    while (high > 0 && steps < QR_STEPS) {
        const int low = find_low(H, high);
        if (low == high) {
            high--;
            since = 0;
            continue;
        }
        const bool stuck = ++since % QR_PATIENCE == 0;
        const complex shift =
            stuck ? H[high * M + high] + complex{size_of(H[high * M + high - 1]), 0} : find_shift(H, high);
        const complex first = H[low * M + low] - shift, below = H[(low + 1) * M + low];
        rotate_pair(H, Q, low, find_rotation(first, below), -1);
        for (int k = low + 1; k < high; k++)
            rotate_pair(H, Q, k, find_rotation(H[k * M + k - 1], H[(k + 1) * M + k - 1]), k - 1);
        steps++;
    }
    return high <= 0;
}

// ---- log J ------------------------------------------------------------------------------------------------

INLINE complex log_of(complex value, double norm)
{
    const double modulus = fmax(sqrt(square_of(value)), LEAST_NORMAL);
    const bool is_real = fabs(value.im) <= REAL_AXIS * norm;
    return {log(modulus), is_real ? (value.re < 0 ? PI_64 : 0) : atan2(value.im, value.re)};
}

// Column j of the eigenvectors X of the triangular T, 1 on the diagonal; returns its largest entry.
INLINE double find_vector(const complex *T, complex *X, int j, double norm)
{
    const double least = fmax(QR_EPSILON * norm, LEAST_NORMAL);
    double largest = 1;
    X[j * M + j] = {1, 0};
    for (int i = j - 1; i >= 0; i--) {
        complex sum = {0, 0}, difference = T[j * M + j] - T[i * M + i];
        for (int k = i + 1; k <= j; k++)
            sum = sum + T[i * M + k] * X[k * M + j];
        if (size_of(difference) < least)
            difference = {least, 0};
        X[i * M + j] = quotient(sum, difference);
        largest = fmax(largest, size_of(X[i * M + j]));
    }
    return largest;
}

// Row i of F = X log(D) X^-1, from F X = X log(D); log(D) is on the diagonal of F already.
INLINE void find_row(const complex *X, complex *F, int i)
{
    for (int j = 0; j < M; j++) {
        complex sum = {0, 0};
        if (j > i)
            sum = X[i * M + j] * F[j * M + j];
        for (int k = i; k < j; k++)
            sum = sum - F[i * M + k] * X[k * M + j];
        if (j != i)
            F[i * M + j] = sum;
    }
}

// out (2, M, M), real and imaginary part: log a.  a: (M, M); work: LOG_WORK.  NaN where there is none.
INLINE void matrix_log(const double *a, double *out, double *work)
{
    const int lane = threadIdx.x % 32;
    complex *T = reinterpret_cast<complex *>(work), *Q = T + M * M, *X = Q + M * M, *F = X + M * M;
    double square = 0, longest = 0;
    for (int e = lane; e < M * M; e += 32) {
        T[e] = {a[e], 0};
        Q[e] = {e / M == e % M ? 1.0 : 0.0, 0};
        square += a[e] * a[e];
    }
    __syncwarp();
    const double norm = sqrt(warp_sum(square));
    const bool found = make_triangular(T, Q);
    for (int j = lane; j < M; j += 32) {
        longest = fmax(longest, find_vector(T, X, j, norm));
        F[j * M + j] = log_of(T[j * M + j], norm);
    }
    const bool usable = found && !__any_sync(ALL_LANES, !(longest <= VECTOR_LIMIT));
    __syncwarp();
    for (int i = lane; i < M; i += 32)
        find_row(X, F, i);
    __syncwarp();
    for (int e = lane; e < M * M; e += 32) { // X = Q F
        complex sum = {0, 0};
        for (int k = 0; k < M; k++)
            sum = sum + Q[e / M * M + k] * F[k * M + e % M];
        X[e] = sum;
    }
    __syncwarp();
    for (int e = lane; e < M * M; e += 32) {
        complex sum = {0, 0};
        for (int k = 0; k < M; k++)
            sum = sum + X[e / M * M + k] * conjugate(Q[e % M * M + k]);
        out[e] = usable ? sum.re : NONE_64;
        out[M * M + e] = usable ? sum.im : NONE_64;
    }
    __syncwarp();
}

// ---- exp --------------------------------------------------------------------------------------------------

// out = a b, all (2M, 2M).
INLINE void multiply_square(const double *a, const double *b, double *out)
{
    for (int e = threadIdx.x % 32; e < 4 * M * M; e += 32) {
        double sum = 0;
        for (int k = 0; k < 2 * M; k++)
            sum += a[e / (2 * M) * 2 * M + k] * b[k * 2 * M + e % (2 * M)];
        out[e] = sum;
    }
    __syncwarp();
}

// The complex a (2, M, M) as the real [re -im; im re] / 2^n, with sums of rows of at most 1/2; returns n.
INLINE int embed_scaled(const double *a, double *x)
{
    const int lane = threadIdx.x % 32;
    double largest = 0;
    int exponent = 0;
    for (int i = lane; i < M; i += 32) {
        double sum = 0;
        for (int j = 0; j < M; j++)
            sum += fabs(a[i * M + j]) + fabs(a[(M + i) * M + j]);
        largest = fmax(largest, sum);
    }
    for (int offset = 16; offset > 0; offset >>= 1)
        largest = fmax(largest, __shfl_xor_sync(ALL_LANES, largest, offset));
    for (; largest > 0.5 && exponent < 1100; exponent++)
        largest *= 0.5;
    const double scale = ldexp(1.0, -exponent);
    for (int e = lane; e < M * M; e += 32) {
        double *at = x + e / M * 2 * M + e % M;
        at[0] = at[2 * M * M + M] = scale * a[e];
        at[2 * M * M] = scale * a[M * M + e];
        at[M] = -(scale * a[M * M + e]);
    }
    __syncwarp();
    return exponent;
}

// The largest singular value of exp a.  a: (2, M, M), real and imaginary part; work: EXP_WORK.
INLINE double exp_norm(const double *a, double *work)
{
    const int lane = threadIdx.x % 32;
    double *x = work, *sum = x + 4 * M * M, *next = sum + 4 * M * M; // `next` is part of the norm's scratch
    const int squarings = embed_scaled(a, x);
    for (int e = lane; e < 4 * M * M; e += 32)
        sum[e] = 0;
    __syncwarp();
    for (int k = TAYLOR_TERMS; k >= 0; k--) { // sum = 1 + x sum / (k + 1)
        multiply_square(x, sum, next);
        for (int e = lane; e < 4 * M * M; e += 32)
            sum[e] = next[e] / (k + 1) + (e % (2 * M + 1) == 0 ? 1 : 0);
        __syncwarp();
    }
    for (int k = 0; k < squarings; k++) {
        multiply_square(sum, sum, next);
        for (int e = lane; e < 4 * M * M; e += 32)
            sum[e] = next[e];
        __syncwarp();
    }
    return spectral_norm<2 * M>(sum, next);
}

#endif
