/* test_eigen.c - eigenvalues and singular values against those of LAPACK, and on matrices of many shapes. */
#include "check.h"

#include "base/random.h"
#include "model/eigen.h"
#include "model/svd.h"

#include <complex.h>
#include <float.h>

enum { N = 6, MOST = 30 };

/* a_ij = (j + 1) sin((6 i + j + 1)^2), whose values below are those of NumPy 1.24 with LAPACK 3.11. */
static void fill(double *a)
{
    for (size_t k = 0; k < N * N; k++)
        a[k] = sin((double)((k + 1) * (k + 1))) * (double)(k % N + 1);
}

static void test_values_of_lapack(void **state)
{
    (void)state;
    static const double want[N][2] = {{-2.1851383839298535, 4.942540224018282},
                                      {0.38456244239437737, 3.075336147802527},
                                      {0.09788948194995464, 0.0},
                                      {6.08472663055683, 0.0}};
    static const double symmetric[N] = {-6.093302996952339, -2.886502398798394, -1.895552064418954,
                                        1.3148194691498887, 3.5103037304584728, 8.631698489997158};
    static const double wide[4] = {10.299901742236779, 6.946833708838022, 5.267798870745855,
                                   0.41735288497533557};
    double a[N * N], half[N * N], re[N], im[N], vectors[N * N], s[N], u[N * N], vt[N * N], work[200];
    fill(a);
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < N; j++)
            half[i * N + j] =
                j > i ? NAN : (a[i * N + j] + a[j * N + i]) / 2.0; /* the upper half is not read */
    }
    CHECK_OK(ant_svd(4, N, a, u, s, vt, work));
    for (size_t i = 0; i < 4; i++)
        CHECK_NEAR(s[i], wide[i], 1e-13);
    CHECK_OK(ant_eigen_symmetric(N, half, s, work));
    for (size_t i = 0; i < N; i++)
        CHECK_NEAR(s[i], symmetric[i], 1e-13);
    CHECK_OK(ant_eigen(N, a, re, im, vectors, work));
    for (size_t k = 0; k < 4; k++) {
        size_t found = 0;
        for (size_t i = 0; i < N; i++)
            found += fabs(re[i] - want[k][0]) < 1e-12 && fabs(fabs(im[i]) - want[k][1]) < 1e-12 ? 1 : 0;
        assert_int_equal(found, want[k][1] > 0.0 ? 2 : 1);
    }
}

/* Matrices that are hard in some way.  kind: 0 .. 8 */
static void draw(ant_stream *stream, int kind, size_t rows, size_t cols, double *a)
{
    ant_stream_normals(stream, a, rows * cols);
    for (size_t k = 0; k < rows * cols; k++) {
        const size_t i = k / cols, j = k % cols;
        switch (kind) {
        case 1:
            a[k] = i == j ? 1.0 : 0.0;
            break;
        case 2:
            a[k] = 0.0;
            break;
        case 3:
            a[k] = 1.0;
            break; /* rank 1 */
        case 4:
            a[k] *= pow(10.0, (double)(i % 7) - 3.0);
            break;
        case 5:
            a[k] = ldexp(a[k], 500);
            break;
        case 6:
            a[k] = ldexp(a[k], -500);
            break;
        case 7:
            a[k] = j == (i + 1) % cols ? 1.0 : 0.0;
            break; /* eigenvalues on the circle */
        case 8:
            a[k] = rint(a[k]);
            break;
        default:
            break;
        }
    }
}

static double largest(size_t count, const double *a)
{
    double most = DBL_MIN;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs(a[i]));
    return most;
}

/* Rows of length 1, orthogonal to each other. */
static void check_orthonormal(size_t rows, size_t cols, const double *a)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = 0.0;
            for (size_t t = 0; t < cols; t++)
                sum += a[i * cols + t] * a[j * cols + t];
            CHECK_NEAR(sum, i == j ? 1.0 : 0.0, 1e-13);
        }
    }
}

static void test_svd(void **state)
{
    (void)state;
    static double a[MOST * MOST], u[MOST * MOST], ut[MOST * MOST], s[MOST], vt[MOST * MOST],
        work[2 * MOST * MOST];
    ant_stream stream = ant_stream_open(3, 0, 0, ANT_PURPOSE_INITIAL_STATE);
    for (int round = 0; round < 270; round++) {
        const size_t rows = 1 + ant_stream_below(&stream, MOST), cols = 1 + ant_stream_below(&stream, MOST);
        const size_t k = rows < cols ? rows : cols;
        draw(&stream, round % 9, rows, cols, a);
        CHECK_OK(ant_svd(rows, cols, a, u, s, vt, work));
        for (size_t i = 0; i < rows * k; i++)
            ut[i % k * rows + i / k] = u[i];
        check_orthonormal(k, rows, ut);
        check_orthonormal(k, cols, vt);
        for (size_t q = 0; q < k; q++)
            assert_true(s[q] >= 0.0 && (q == 0 || s[q] <= s[q - 1]));
        for (size_t i = 0; i < rows * cols; i++) {
            double sum = 0.0;
            for (size_t q = 0; q < k; q++)
                sum += u[i / cols * k + q] * s[q] * vt[q * cols + i % cols];
            CHECK_NEAR(sum, a[i], 1e-13 * largest(rows * cols, a));
        }
    }
}

/* Small singular values are found to their own last digits, which bidiagonal QR does not promise. */
static void test_svd_is_accurate_relatively(void **state)
{
    (void)state;
    double u[9], s[3], vt[9], work[64];
    const double a[9] = {1e-20, 1e-20, 0.0, -1.0, 1.0, 0.0, 0.0, 0.0, 1e20};
    CHECK_OK(ant_svd(3, 3, a, u, s, vt, work));
    CHECK_NEAR(s[0], 1e20, 1e5);
    CHECK_NEAR(s[1], sqrt(2.0), 1e-15);
    CHECK_NEAR(s[2], 1e-20 * sqrt(2.0), 1e-35);
}

static void test_symmetric(void **state)
{
    (void)state;
    static double a[MOST * MOST], v[MOST * MOST], values[MOST], work[MOST];
    ant_stream stream = ant_stream_open(4, 0, 0, ANT_PURPOSE_INITIAL_STATE);
    for (int round = 0; round < 270; round++) {
        const size_t n = 1 + ant_stream_below(&stream, MOST);
        draw(&stream, round % 9, n, n, a);
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j < i; j++)
                a[j * n + i] = a[i * n + j];
        }
        memcpy(v, a, n * n * sizeof *a);
        CHECK_OK(ant_eigen_symmetric(n, v, values, work));
        check_orthonormal(n, n, v);
        for (size_t k = 0; k < n; k++) {
            assert_true(k == 0 || values[k] >= values[k - 1]);
            for (size_t i = 0; i < n; i++) {
                double sum = -values[k] * v[k * n + i];
                for (size_t j = 0; j < n; j++)
                    sum += a[i * n + j] * v[k * n + j];
                CHECK_NEAR(sum, 0.0, 1e-13 * (double)n * largest(n * n, a));
            }
        }
    }
}

/* a x = value x, where a pair of rows of v is the real and the imaginary part of x. */
static void check_vector(size_t n, const double *a, double complex value, const double *v)
{
    double squares = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double complex x = ant_complex(v[i], cimag(value) != 0.0 ? v[n + i] : 0.0);
        double complex sum = -value * x;
        squares += creal(x * conj(x));
        for (size_t j = 0; j < n; j++)
            sum += a[i * n + j] * ant_complex(v[j], cimag(value) != 0.0 ? v[n + j] : 0.0);
        CHECK_NEAR(cabs(sum), 0.0, 1e-11 * (double)n * largest(n * n, a));
    }
    CHECK_NEAR(squares, 1.0, 1e-13);
}

static void test_general(void **state)
{
    (void)state;
    static double a[MOST * MOST], h[MOST * MOST], v[MOST * MOST], re[MOST], im[MOST], work[3 * MOST];
    ant_stream stream = ant_stream_open(6, 0, 0, ANT_PURPOSE_INITIAL_STATE);
    for (int round = 0; round < 270; round++) {
        const size_t n = 1 + ant_stream_below(&stream, MOST);
        double trace = 0.0, sum = 0.0;
        draw(&stream, round % 9, n, n, a);
        memcpy(h, a, n * n * sizeof *a);
        CHECK_OK(ant_eigen(n, h, re, im, v, work));
        for (size_t k = 0; k < n; k++) {
            trace += a[k * n + k];
            sum += re[k];
            if (im[k] != 0.0)
                assert_true(im[k] > 0.0 ? k + 1 < n && im[k + 1] == -im[k] && re[k + 1] == re[k] : k > 0);
            if (im[k] >= 0.0)
                check_vector(n, a, ant_complex(re[k], im[k]), v + k * n);
        }
        CHECK_NEAR(sum, trace, 1e-12 * (double)n * largest(n * n, a));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_of_lapack),
        cmocka_unit_test(test_svd),
        cmocka_unit_test(test_svd_is_accurate_relatively),
        cmocka_unit_test(test_symmetric),
        cmocka_unit_test(test_general),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
