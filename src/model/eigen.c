/*
 * eigen.c - Hessenberg form, Francis's double QR steps and back-substitution: the algorithms balanc, orthes
 * and hqr2 of EISPACK, with eigenvectors in rows.
 */
#include "model/eigen.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST_ITERATIONS = 60 };

typedef struct schur {
    size_t n;
    double *h;       /* (n, n): becomes quasi-triangular */
    double *v;       /* (n, n): row j is column j of the basis */
    double *re, *im; /* (n) */
    double norm;
    double shifted; /* subtracted from the diagonal so far */
} schur;

#define H(i, j) s->h[(i)*s->n + (j)]

/* Powers of two, scales: (n), that make the norms of rows and columns alike. */
static void balance(schur *s, double *scales)
{
    const size_t n = s->n;
    for (size_t i = 0; i < n; i++)
        scales[i] = 1.0;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < n; i++) {
            double row = 0.0, column = 0.0, factor = 1.0;
            for (size_t j = 0; j < n; j++) {
                row += j != i ? fabs(H(i, j)) : 0.0;
                column += j != i ? fabs(H(j, i)) : 0.0;
            }
            if (row == 0.0 || column == 0.0)
                continue;
            const double before = row + column;
            for (; column < row / 2.0; column *= 4.0)
                factor *= 2.0;
            for (; column >= row * 2.0; column /= 4.0)
                factor /= 2.0;
            if ((column + row) / factor >= 0.95 * before || !isfinite(factor) || factor == 0.0)
                continue;
            changed = true;
            scales[i] *= factor;
            for (size_t j = 0; j < n; j++)
                H(i, j) /= factor;
            for (size_t j = 0; j < n; j++)
                H(j, i) *= factor;
        }
    }
}

/* Apply I - u u^T / size from both sides to h, and from the right to the basis.  u: (n), 0 up to `first` */
static void reflect(schur *s, size_t first, const double *u, double size)
{
    const size_t n = s->n;
    for (size_t j = first - 1; j < n; j++) {
        double sum = 0.0;
        for (size_t i = first; i < n; i++)
            sum += u[i] * H(i, j);
        for (size_t i = first; i < n; i++)
            H(i, j) -= sum / size * u[i];
    }
    for (size_t i = 0; i < n; i++) {
        double sum = 0.0, basis = 0.0;
        for (size_t j = first; j < n; j++) {
            sum += u[j] * H(i, j);
            basis += u[j] * s->v[j * n + i];
        }
        for (size_t j = first; j < n; j++) {
            H(i, j) -= sum / size * u[j];
            s->v[j * n + i] -= basis / size * u[j];
        }
    }
}

/* To upper Hessenberg form.  u: (n), scratch */
static void reduce(schur *s, double *u)
{
    const size_t n = s->n;
    memset(s->v, 0, n * n * sizeof *s->v);
    for (size_t i = 0; i < n; i++)
        s->v[i * n + i] = 1.0;
    for (size_t m = 1; m + 1 < n; m++) {
        double scale = 0.0, squares = 0.0;
        for (size_t i = m; i < n; i++)
            scale += fabs(H(i, m - 1));
        if (scale == 0.0)
            continue;
        for (size_t i = m; i < n; i++) {
            u[i] = H(i, m - 1) / scale;
            squares += u[i] * u[i];
        }
        const double g = u[m] > 0.0 ? -sqrt(squares) : sqrt(squares), size = squares - u[m] * g;
        u[m] -= g;
        reflect(s, m, u, size);
        H(m, m - 1) = scale * g;
        for (size_t i = m + 1; i < n; i++)
            H(i, m - 1) = 0.0;
    }
}

/* The first row of the block that ends with row `end`: the element to its left is negligible. */
static size_t block_begin(const schur *s, size_t end)
{
    size_t l = end;
    for (; l > 0; l--) {
        const double size = fabs(H(l - 1, l - 1)) + fabs(H(l, l));
        if (fabs(H(l, l - 1)) <= DBL_EPSILON * (size == 0.0 ? s->norm : size))
            break;
    }
    return l;
}

/* Rotate columns m, m + 1 of h down to `end`, its rows from there on, and the basis. */
static void rotate(schur *s, size_t m, double p, double q)
{
    for (size_t j = m; j < s->n; j++) {
        const double z = H(m, j);
        H(m, j) = q * z + p * H(m + 1, j);
        H(m + 1, j) = q * H(m + 1, j) - p * z;
    }
    for (size_t i = 0; i <= m + 1; i++) {
        const double z = H(i, m);
        H(i, m) = q * z + p * H(i, m + 1);
        H(i, m + 1) = q * H(i, m + 1) - p * z;
    }
    double *first = s->v + m * s->n, *second = first + s->n;
    for (size_t i = 0; i < s->n; i++) {
        const double z = first[i];
        first[i] = q * z + p * second[i];
        second[i] = q * second[i] - p * z;
    }
}

/* The eigenvalues of the block of rows end - 1 and end, which becomes triangular where they are real. */
static void split_pair(schur *s, size_t end)
{
    const size_t m = end - 1;
    const double w = H(end, m) * H(m, end), p = (H(m, m) - H(end, end)) / 2.0, q = p * p + w;
    double z = sqrt(fabs(q));
    H(end, end) += s->shifted;
    H(m, m) += s->shifted;
    const double x = H(end, end);
    if (q < 0.0) {
        s->re[m] = s->re[end] = x + p;
        s->im[m] = z;
        s->im[end] = -z;
        return;
    }
    z = p >= 0.0 ? p + z : p - z;
    s->re[m] = x + z;
    s->re[end] = z != 0.0 ? x - w / z : x + z;
    s->im[m] = s->im[end] = 0.0;
    const double r = hypot(H(end, m), z);
    rotate(s, m, H(end, m) / r, z / r);
    H(end, m) = 0.0;
}

typedef struct shift {
    double x, y, w; /* the block [y .; . x] at the end, w: the product of its other elements */
} shift;

static shift choose_shift(schur *s, size_t end, int iteration)
{
    shift at = {H(end, end), H(end - 1, end - 1), H(end, end - 1) * H(end - 1, end)};
    if (iteration % 10 != 9)
        return at;
    s->shifted += at.x; /* an exceptional one, against cycles */
    for (size_t i = 0; i <= end; i++)
        H(i, i) -= at.x;
    const double size = fabs(H(end, end - 1)) + fabs(H(end - 1, end - 2));
    return (shift){0.75 * size, 0.75 * size, -0.4375 * size * size};
}

/* The first column of (h - a)(h - b), from the row where two small elements allow to begin. */
static size_t begin_step(const schur *s, size_t from, size_t end, shift at, double column[3])
{
    for (size_t m = end - 2;; m--) {
        const double z = H(m, m), r = at.x - z, t = at.y - z;
        double p = (r * t - at.w) / H(m + 1, m) + H(m, m + 1), q = H(m + 1, m + 1) - z - r - t;
        double last = H(m + 2, m + 1);
        const double size = fabs(p) + fabs(q) + fabs(last);
        column[0] = p /= size;
        column[1] = q /= size;
        column[2] = last /= size;
        if (m == from ||
            fabs(H(m, m - 1)) * (fabs(q) + fabs(last)) <
                DBL_EPSILON * fabs(p) * (fabs(H(m - 1, m - 1)) + fabs(z) + fabs(H(m + 1, m + 1))))
            return m;
    }
}

/* Apply the reflection that maps (p, q, r) onto its first axis to rows and columns k .. k + 2. */
static void reflect_three(schur *s, size_t k, size_t end, const double left[3], const double right[3])
{
    const size_t n = s->n, count = k + 1 < end ? 3 : 2, below = k + 3 < end ? k + 3 : end;
    for (size_t j = k; j < n; j++) {
        double sum = 0.0;
        for (size_t c = 0; c < count; c++)
            sum += right[c] * H(k + c, j);
        for (size_t c = 0; c < count; c++)
            H(k + c, j) -= sum * left[c];
    }
    for (size_t i = 0; i <= below; i++) {
        double sum = 0.0;
        for (size_t c = 0; c < count; c++)
            sum += left[c] * H(i, k + c);
        for (size_t c = 0; c < count; c++)
            H(i, k + c) -= sum * right[c];
    }
    double *v = s->v + k * n;
    for (size_t i = 0; i < n; i++) {
        double sum = 0.0;
        for (size_t c = 0; c < count; c++)
            sum += left[c] * v[c * n + i];
        for (size_t c = 0; c < count; c++)
            v[c * n + i] -= sum * right[c];
    }
}

/* One double QR step on the rows from .. end. */
static void francis(schur *s, size_t from, size_t end, int iteration)
{
    double column[3], size = 1.0;
    const size_t m = begin_step(s, from, end, choose_shift(s, end, iteration), column);
    for (size_t i = m + 2; i <= end; i++) {
        H(i, i - 2) = 0.0;
        if (i > m + 2)
            H(i, i - 3) = 0.0;
    }
    for (size_t k = m; k < end; k++) {
        if (k != m) {
            column[0] = H(k, k - 1);
            column[1] = H(k + 1, k - 1);
            column[2] = k + 1 < end ? H(k + 2, k - 1) : 0.0;
            size = fabs(column[0]) + fabs(column[1]) + fabs(column[2]);
            if (size == 0.0)
                continue;
            for (int c = 0; c < 3; c++)
                column[c] /= size;
        } else if (k + 1 == end) {
            column[2] = 0.0;
        }
        const double squares = column[0] * column[0] + column[1] * column[1] + column[2] * column[2];
        const double r = column[0] < 0.0 ? -sqrt(squares) : sqrt(squares);
        if (r == 0.0)
            continue;
        if (k != m)
            H(k, k - 1) = -r * size;
        else if (from != m)
            H(k, k - 1) = -H(k, k - 1);
        const double p = column[0] + r;
        const double left[3] = {p / r, column[1] / r, column[2] / r};
        const double right[3] = {1.0, column[1] / p, column[2] / p};
        reflect_three(s, k, end, left, right);
        if (k != m)
            H(k + 1, k - 1) = 0.0;
        if (k != m && k + 1 < end)
            H(k + 2, k - 1) = 0.0;
    }
}

static antler_status find_values(schur *s)
{
    s->norm = 0.0;
    for (size_t i = 0; i < s->n; i++) {
        for (size_t j = i > 0 ? i - 1 : 0; j < s->n; j++)
            s->norm += fabs(H(i, j));
    }
    int iteration = 0;
    for (size_t rows = s->n; rows > 0;) { /* of them the eigenvalues are missing */
        const size_t end = rows - 1, from = block_begin(s, end);
        if (from == end) {
            H(end, end) += s->shifted;
            s->re[end] = H(end, end);
            s->im[end] = 0.0;
            rows--;
        } else if (from + 1 == end) {
            split_pair(s, end);
            rows -= 2;
        } else {
            ANT_CHECK(iteration < MOST_ITERATIONS, ANTLER_NOT_CONVERGED,
                      "the eigenvalues of a matrix did not converge");
            francis(s, from, end, iteration++);
            continue;
        }
        iteration = 0;
    }
    return ANTLER_OK;
}

/* One eigenvector of h as it is found, from the last of its elements up. */
typedef struct vector {
    size_t count;    /* of its elements; the others are 0 */
    double *re, *im; /* (n) */
    double complex value;
} vector;

static void put(vector *x, size_t i, double complex element)
{
    x->re[i] = creal(element);
    x->im[i] = cimag(element);
}

/* The elements of row i to the right of element `from`, times x. */
static double complex row_times(const schur *s, size_t i, size_t from, const vector *x)
{
    double re = 0.0, im = 0.0;
    for (size_t j = from; j < x->count; j++) {
        re += H(i, j) * x->re[j];
        im += H(i, j) * x->im[j];
    }
    return ant_complex(re, im);
}

static double complex not_zero(const schur *s, double complex a)
{
    return a != 0.0 ? a : DBL_EPSILON * (s->norm > 0.0 ? s->norm : 1.0);
}

/* The elements i - 1 and i of x by the block of these rows. */
static void solve_pair(const schur *s, size_t i, vector *x)
{
    const double complex a = H(i - 1, i - 1) - x->value, d = H(i, i) - x->value;
    const double b = H(i - 1, i), c = H(i, i - 1);
    const double complex first = -row_times(s, i - 1, i + 1, x), second = -row_times(s, i, i + 1, x);
    const double complex determinant = not_zero(s, a * d - b * c);
    put(x, i - 1, (first * d - second * b) / determinant);
    put(x, i, (second * a - first * c) / determinant);
}

/* Keep the elements from i on from overflow. */
static void limit(vector *x, size_t i)
{
    const double size = fmax(fabs(x->re[i]), fabs(x->im[i]));
    if (DBL_EPSILON * size * size <= 1.0)
        return;
    for (size_t j = i; j < x->count; j++) {
        x->re[j] /= size;
        x->im[j] /= size;
    }
}

/* (h - value) x = 0 for eigenvalue j, the first of a pair. */
static void find_vector(const schur *s, size_t j, vector *x)
{
    const bool pair = s->im[j] != 0.0;
    x->value = ant_complex(s->re[j], s->im[j]);
    x->count = pair ? j + 2 : j + 1;
    put(x, j, 1.0);
    if (pair && fabs(H(j + 1, j)) >= fabs(H(j, j + 1))) {
        put(x, j + 1, 1.0);
        put(x, j, -(H(j + 1, j + 1) - x->value) / H(j + 1, j));
    } else if (pair) {
        put(x, j + 1, -(H(j, j) - x->value) / H(j, j + 1));
    }
    for (size_t rows = j; rows > 0;) {
        const size_t i = rows - 1;
        if (s->im[i] != 0.0) {
            solve_pair(s, i, x);
            limit(x, i);
            rows -= 2;
        } else {
            put(x, i, -row_times(s, i, i + 1, x) / not_zero(s, H(i, i) - x->value));
            rows--;
        }
        limit(x, rows);
    }
}

/* Rows j and, of a pair, j + 1 of the basis become the eigenvector in terms of the matrix before balancing.
 */
static void write_vector(schur *s, size_t j, const vector *x, const double *scales)
{
    const size_t n = s->n;
    const bool pair = s->im[j] != 0.0;
    double *re = s->v + j * n, *im = re + n, squares = 0.0, largest = 0.0;
    double complex turn = 1.0;
    for (size_t i = 0; i < n; i++) {
        double real = 0.0, imaginary = 0.0;
        for (size_t k = 0; k < x->count; k++) {
            real += x->re[k] * s->v[k * n + i];
            imaginary += x->im[k] * s->v[k * n + i];
        }
        re[i] = real * scales[i];
        if (pair)
            im[i] = imaginary * scales[i];
        const double size = pair ? hypot(re[i], im[i]) : fabs(re[i]);
        if (size > largest)
            turn = pair ? ant_complex(re[i], -im[i]) / size : 1.0; /* makes the largest element real */
        largest = fmax(largest, size);
        squares += size * size;
    }
    const double length = sqrt(squares);
    for (size_t i = 0; i < n; i++) {
        const double complex element = ant_complex(re[i], pair ? im[i] : 0.0) * turn / length;
        re[i] = creal(element);
        if (pair)
            im[i] = cimag(element);
    }
}

antler_status ant_eigen(size_t n, double *a, double *re, double *im, double *vectors, double *work)
{
    schur s = {.n = n, .h = a, .v = vectors, .re = re, .im = im};
    double *scales = work;
    vector x = {.re = work + n, .im = work + 2 * n};
    balance(&s, scales);
    reduce(&s, x.re);
    ANT_TRY(find_values(&s));
    for (size_t count = n; count > 0;) {
        const size_t j = im[count - 1] != 0.0 ? count - 2 : count - 1;
        find_vector(&s, j, &x);
        write_vector(&s, j, &x, scales);
        count = j;
    }
    return ANTLER_OK;
}
