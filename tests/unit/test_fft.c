/* test_fft.c - the Fourier transform against its definition, at easy and awkward lengths. */
#include "check.h"

#include "base/random.h"
#include "measure/fft.h"

#include <stdlib.h>

enum { LONGEST_NAIVE = 130 };

static ant_complex *random_data(size_t n, uint64_t seed)
{
    ant_stream stream = ant_stream_open(seed, 0, 0, ANT_PURPOSE_INITIAL_STATE);
    ant_complex *data = malloc(n * sizeof *data);
    assert_non_null(data);
    for (size_t j = 0; j < n; j++)
        data[j] =
            (ant_complex){2.0 * ant_stream_uniform(&stream) - 1.0, 2.0 * ant_stream_uniform(&stream) - 1.0};
    return data;
}

static ant_complex *copy_of(const ant_complex *data, size_t n)
{
    ant_complex *copy = malloc(n * sizeof *copy);
    assert_non_null(copy);
    for (size_t j = 0; j < n; j++)
        copy[j] = data[j];
    return copy;
}

static double norm(const ant_complex *data, size_t n)
{
    long double squares = 0.0L;
    for (size_t j = 0; j < n; j++)
        squares += (long double)data[j].re * data[j].re + (long double)data[j].im * data[j].im;
    return (double)sqrtl(squares);
}

/* One coefficient by the definition, with the angle reduced in integers and sums in long double. */
static ant_complex naive(const ant_complex *data, size_t n, size_t k)
{
    long double re = 0.0L, im = 0.0L;
    for (size_t j = 0; j < n; j++) {
        const long double angle = -2.0L * acosl(-1.0L) * (long double)(j * k % n) / (long double)n;
        re += data[j].re * cosl(angle) - data[j].im * sinl(angle);
        im += data[j].re * sinl(angle) + data[j].im * cosl(angle);
    }
    return (ant_complex){(double)re, (double)im};
}

static void transform(size_t n, ant_complex *data)
{
    ant_fft *plan = NULL;
    CHECK_OK(ant_fft_create(n, &plan));
    ant_fft_forward(plan, data);
    ant_fft_free(plan);
}

static void assert_near(ant_complex got, ant_complex expected, double tolerance, size_t n, size_t k)
{
    if (!(hypot(got.re - expected.re, got.im - expected.im) <= tolerance))
        fail_msg("n %zu, k %zu: (%.17g, %.17g) instead of (%.17g, %.17g)", n, k, got.re, got.im, expected.re,
                 expected.im);
}

static void test_roots_are_exact(void **state)
{
    (void)state;
    const size_t lengths[] = {1, 2, 3, 4, 5, 7, 8, 12, 360, 1009, 4096, 99991};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        const size_t n = lengths[i];
        for (size_t k = 0; k < 2 * n; k++) {
            const long double angle = -2.0L * acosl(-1.0L) * (long double)(k % n) / (long double)n;
            const ant_complex root = ant_root_of_unity(k, n);
            assert_near(root, (ant_complex){(double)cosl(angle), (double)sinl(angle)}, 2.3e-16, n, k);
        }
    }
    /* Symmetric points are exact mirror images, and the quarters are exact. */
    assert_true(ant_root_of_unity(1, 4).re == 0.0 && ant_root_of_unity(1, 4).im == -1.0);
    assert_true(ant_root_of_unity(3, 8).re == -ant_root_of_unity(1, 8).re);
    assert_true(ant_root_of_unity(5, 12).im == ant_root_of_unity(1, 12).im);
}

static void test_short_lengths_match_definition(void **state)
{
    (void)state;
    for (size_t n = 1; n <= LONGEST_NAIVE; n++) {
        ant_complex *data = random_data(n, n);
        ant_complex *got = copy_of(data, n);
        transform(n, got);
        for (size_t k = 0; k < n; k++)
            assert_near(got[k], naive(data, n, k), 1e-15 * sqrt((double)n) * norm(data, n), n, k);
        free(got);
        free(data);
    }
}

/* Long lengths: powers, mixtures, primes (Bluestein), squares of primes and a prime times four. */
static const size_t long_lengths[] = {1009,    1024,     2187,  3125,   4096,  2 * 3 * 5 * 7 * 11 * 13,
                                      17 * 17, 4 * 1009, 99991, 100000, 160000};

static void test_long_lengths_match_definition(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof long_lengths / sizeof long_lengths[0]; i++) {
        const size_t n = long_lengths[i];
        ant_complex *data = random_data(n, n);
        ant_complex *got = copy_of(data, n);
        transform(n, got);
        const size_t spots[] = {0, 1, 2, n / 3, n / 2, n / 2 + 1, n - 2, n - 1};
        for (size_t s = 0; s < sizeof spots / sizeof spots[0]; s++)
            assert_near(got[spots[s]], naive(data, n, spots[s]), 1e-13 * norm(data, n), n, spots[s]);
        /* Parseval: the norm grows by the square root of n. */
        assert_true(fabs(norm(got, n) / (sqrt((double)n) * norm(data, n)) - 1.0) < 1e-14);
        free(got);
        free(data);
    }
}

static void test_transform_is_linear(void **state)
{
    (void)state;
    const size_t lengths[] = {60, 101, 1000, 1013};
    for (size_t i = 0; i < 4; i++) {
        const size_t n = lengths[i];
        ant_complex *a = random_data(n, 1), *b = random_data(n, 2), *sum = random_data(n, 3);
        for (size_t j = 0; j < n; j++)
            sum[j] =
                (ant_complex){2.0 * a[j].re - 3.0 * b[j].im, 2.0 * a[j].im + 3.0 * b[j].re}; /* 2a + 3ib */
        const double size = norm(sum, n);
        transform(n, a);
        transform(n, b);
        transform(n, sum);
        for (size_t k = 0; k < n; k++) {
            const ant_complex expected = {2.0 * a[k].re - 3.0 * b[k].im, 2.0 * a[k].im + 3.0 * b[k].re};
            assert_near(sum[k], expected, 1e-13 * size, n, k);
        }
        free(sum);
        free(b);
        free(a);
    }
}

static void test_plan_can_be_used_again(void **state)
{
    (void)state;
    const size_t lengths[] = {120, 97};
    for (size_t i = 0; i < 2; i++) {
        const size_t n = lengths[i];
        ant_complex *first = random_data(n, 5), *other = random_data(n, 6), *again = copy_of(first, n);
        ant_fft *plan = NULL;
        CHECK_OK(ant_fft_create(n, &plan));
        ant_fft_forward(plan, first);
        ant_fft_forward(plan, other);
        ant_fft_forward(plan, again);
        assert_memory_equal(first, again, n * sizeof *first);
        ant_fft_free(plan);
        free(again);
        free(other);
        free(first);
    }
}

/* The real transform is the first half of the complex one. */
static void check_real(size_t n)
{
    ant_complex *data = random_data(n, 7 * n);
    double *x = malloc(n * sizeof *x);
    ant_complex *got = malloc((n / 2 + 1) * sizeof *got);
    assert_non_null(x);
    assert_non_null(got);
    for (size_t j = 0; j < n; j++) {
        x[j] = data[j].re;
        data[j].im = 0.0;
    }
    const double size = norm(data, n);
    ant_rfft *plan = NULL;
    CHECK_OK(ant_rfft_create(n, &plan));
    ant_rfft_forward(plan, x, got);
    transform(n, data);
    for (size_t k = 0; k <= n / 2; k++)
        assert_near(got[k], data[k], 3e-15 * log2((double)n + 1.0) * size, n, k);
    assert_true(fabs(got[0].im) <= 1e-15 * size);
    ant_rfft_free(plan);
    free(got);
    free(x);
    free(data);
}

static void test_real_transform(void **state)
{
    (void)state;
    for (size_t n = 1; n <= LONGEST_NAIVE; n++)
        check_real(n);
    for (size_t i = 0; i < sizeof long_lengths / sizeof long_lengths[0]; i++)
        check_real(long_lengths[i]);
}

/* A cosine of whole periods has all of its power in one bin. */
static void test_pure_tone(void **state)
{
    (void)state;
    enum { N = 1000, TONE = 37 };
    double x[N];
    ant_complex out[N / 2 + 1];
    for (size_t j = 0; j < N; j++)
        x[j] = ant_root_of_unity(j * TONE, N).re;
    ant_rfft *plan = NULL;
    CHECK_OK(ant_rfft_create(N, &plan));
    ant_rfft_forward(plan, x, out);
    for (size_t k = 0; k <= N / 2; k++)
        assert_near(out[k], (ant_complex){k == TONE ? N / 2 : 0.0, 0.0}, 1e-12, N, k);
    ant_rfft_free(plan);
}

static void test_length_zero_is_refused(void **state)
{
    (void)state;
    ant_fft *plan = NULL;
    ant_rfft *real_plan = NULL;
    assert_int_equal(ant_fft_create(0, &plan), ANTLER_ERROR_ARGUMENT);
    assert_int_equal(ant_rfft_create(0, &real_plan), ANTLER_ERROR_ARGUMENT);
    assert_null(plan);
    assert_null(real_plan);
    ant_fft_free(NULL);
    ant_rfft_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_roots_are_exact),
        cmocka_unit_test(test_short_lengths_match_definition),
        cmocka_unit_test(test_long_lengths_match_definition),
        cmocka_unit_test(test_transform_is_linear),
        cmocka_unit_test(test_plan_can_be_used_again),
        cmocka_unit_test(test_real_transform),
        cmocka_unit_test(test_pure_tone),
        cmocka_unit_test(test_length_zero_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
