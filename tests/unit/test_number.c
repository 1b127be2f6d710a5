/* test_number.c - decimal text to double, bit for bit what strtod says, and back. */
#include "base/random.h"
#include "data/number.h"

#include "unit/check.h"

#include <float.h>
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

static void check_text(const char *text)
{
    double got = 0.0;
    const char *stop = NULL;
    const double want = strtod(text, NULL);
    const ant_number_outcome outcome = ant_number_read(text, text + strlen(text), &got, &stop);
    if (isinf(want)) {
        assert_int_equal(outcome, ANT_NUMBER_TOO_LARGE);
        return;
    }
    if (outcome != ANT_NUMBER_READ || *stop != '\0' || memcmp(&got, &want, sizeof got) != 0)
        fail_msg("'%s' gave %.17g (%d), strtod gives %.17g", text, got, (int)outcome, want);
}

static double random_double(ant_stream *stream)
{
    for (;;) {
        const uint64_t bits = ant_stream_u64(stream);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value))
            return value;
    }
}

static void test_random_doubles(void **state)
{
    (void)state;
    static const int digits[] = {17, 16, 15, 19, 18, 9, 25};
    ant_stream stream = ant_stream_open(20240501, 0, 0, ANT_PURPOSE_OBSERVATION_NOISE);
    char text[64];
    for (size_t i = 0; i < 200000; i++) {
        const double any = random_double(&stream);
        const double common = (ant_stream_uniform(&stream) - 0.5) * pow(10.0, (double)(i % 40) - 20.0);
        snprintf(text, sizeof text, "%.*g", digits[i % 7], any);
        check_text(text);
        snprintf(text, sizeof text, "%.*e", digits[i % 7] - 1, common);
        check_text(text);
    }
}

/* Digits at random, 1 to 25 of them, with a point anywhere and every exponent. */
static void test_random_text(void **state)
{
    (void)state;
    ant_stream stream = ant_stream_open(7, 0, 0, ANT_PURPOSE_OBSERVATION_NOISE);
    char text[64];
    for (size_t i = 0; i < 300000; i++) {
        size_t n = 0;
        const size_t digits = 1 + ant_stream_below(&stream, 25), point = ant_stream_below(&stream, 27);
        if (i % 3 == 0)
            text[n++] = i % 2 == 0 ? '-' : '+';
        for (size_t k = 0; k < digits; k++) {
            if (k == point)
                text[n++] = '.';
            text[n++] = (char)('0' + ant_stream_below(&stream, 10));
        }
        text[n] = '\0';
        if (i % 5 != 0)
            snprintf(text + n, sizeof text - n, "e%d", (int)ant_stream_below(&stream, 720) - 370);
        check_text(text);
    }
}

/* Numbers half-way between two doubles, and one unit in the last of many digits beside them. */
static void test_half_ways(void **state)
{
    (void)state;
    ant_stream stream = ant_stream_open(8, 0, 0, ANT_PURPOSE_OBSERVATION_NOISE);
    char text[64];
    for (size_t i = 0; i < 100000; i++) {
        const uint64_t odd = ((uint64_t)1 << 53 | ant_stream_u64(&stream) >> 11) << 1 | 1; /* 55 bits */
        for (int beside = -1; beside <= 1; beside++) {
            snprintf(text, sizeof text, "%" PRIu64, odd * 2 + (uint64_t)(int64_t)beside);
            check_text(text);
            snprintf(text, sizeof text, "%" PRIu64 "e-%d", odd + (uint64_t)(int64_t)beside, (int)(i % 60));
            check_text(text);
        }
    }
}

static void test_known(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "0",
        "-0",
        "0.0",
        "00012",
        "1",
        "1.",
        ".5",
        "-.5e-3",
        "1e0",
        "1E+5",
        "9007199254740993",
        "9007199254740992.5",
        "9007199254740993.00000000000000000001",
        "1.7976931348623157e308",
        "1.7976931348623159e308",
        "4.9e-324",
        "2.4e-324",
        "2.5e-324",
        "2.2250738585072011e-308",
        "2.2250738585072014e-308",
        "1e22",
        "1e23",
        "8.5e22",
        "123456789012345678901234567890",
        "0.000000000000000000000000000000000000000000000000000000000000000000000000000000000001",
        "1e-400",
        "1e400",
        "-1e309",
        "0e999999999999",
        "6.02214076e23",
        "18446744073709551615",
        "18446744073709551616",
        "9999999999999999999",
        "0.1",
        "0.2",
        "0.3"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_text(texts[i]);
}

static void check_words(const char *text, ant_number_outcome outcome, size_t length, double value)
{
    double got = 0.0;
    const char *stop = NULL;
    assert_int_equal(ant_number_read(text, text + strlen(text), &got, &stop), outcome);
    assert_int_equal(stop - text, length);
    if (outcome == ANT_NUMBER_READ)
        assert_true(isnan(value) ? isnan(got) : got == value);
}

static void test_words_and_ends(void **state)
{
    (void)state;
    check_words("nan", ANT_NUMBER_READ, 3, NAN);
    check_words("-NaN", ANT_NUMBER_READ, 4, NAN);
    check_words("inf", ANT_NUMBER_READ, 3, INFINITY);
    check_words("-Infinity", ANT_NUMBER_READ, 9, -INFINITY);
    check_words("1D3", ANT_NUMBER_READ, 3, 1000.0);
    check_words("1d-2x", ANT_NUMBER_READ, 4, 0.01);
    check_words("1e", ANT_NUMBER_READ, 1, 1.0);
    check_words("1e+", ANT_NUMBER_READ, 1, 1.0);
    check_words("0x10", ANT_NUMBER_READ, 1, 0.0);
    check_words("1.2.3", ANT_NUMBER_READ, 3, 1.2);
    check_words("1,5", ANT_NUMBER_READ, 1, 1.0);
    check_words("", ANT_NUMBER_NONE, 0, 0.0);
    check_words("+", ANT_NUMBER_NONE, 0, 0.0);
    check_words(".", ANT_NUMBER_NONE, 0, 0.0);
    check_words("e5", ANT_NUMBER_NONE, 0, 0.0);
    check_words(" 1", ANT_NUMBER_NONE, 0, 0.0);
    double got;
    const char *stop, *text = "123456";
    assert_int_equal(ant_number_read(text, text + 3, &got, &stop), ANT_NUMBER_READ);
    assert_true(got == 123.0 && stop == text + 3);
}

static void test_write(void **state)
{
    (void)state;
    ant_stream stream = ant_stream_open(9, 0, 0, ANT_PURPOSE_OBSERVATION_NOISE);
    char text[ANT_NUMBER_ROOM];
    const double special[] = {0.0, -0.0, 1.0, 0.1, -123456789.0, DBL_MAX, -DBL_MIN, 5e-324, 1e22, 1.0 / 3.0};
    const size_t fixed = sizeof special / sizeof *special;
    const ant_c_locale locale = ant_c_locale_begin();
    for (size_t i = 0; i < 100000; i++) {
        const double value = i < fixed ? special[i] : random_double(&stream);
        double back = 0.0;
        const char *stop = NULL;
        const size_t length = ant_number_write(value, text);
        assert_true(length == strlen(text) && length < sizeof text);
        assert_int_equal(ant_number_read(text, text + length, &back, &stop), ANT_NUMBER_READ);
        assert_memory_equal(&back, &value, sizeof value);
    }
    ant_number_write(0.1, text);
    assert_string_equal(text, "0.1");
    ant_number_write(-INFINITY, text);
    assert_string_equal(text, "-inf");
    ant_c_locale_end(locale);
}

/* A locale with a decimal comma, made here: machines need not have one. */
static void use_a_comma(const char *folder)
{
    char command[256];
    snprintf(command, sizeof command, "localedef -i de_DE -f ISO-8859-1 %s/comma", folder);
    if (system(command) != 0)
        fail_msg("'%s' failed; the Debian package locales has what it needs", command);
    assert_int_equal(setenv("LOCPATH", folder, 1), 0);
    assert_non_null(setlocale(LC_ALL, "comma"));
    assert_string_equal(localeconv()->decimal_point, ",");
}

static void test_locale_changes_nothing(void **state)
{
    (void)state;
    char folder[] = "/tmp/antler-locale-XXXXXX", remove_it[64];
    assert_non_null(mkdtemp(folder));
    use_a_comma(folder);
    double got = 0.0;
    const char *stop, *text = "0.12345678901234567890123"; /* too many digits for the fast ways */
    assert_int_equal(ant_number_read(text, text + strlen(text), &got, &stop), ANT_NUMBER_READ);
    const double want = 0.12345678901234567890123;
    char out[ANT_NUMBER_ROOM];
    const ant_c_locale locale = ant_c_locale_begin();
    ant_number_write(0.5, out);
    ant_c_locale_end(locale);
    setlocale(LC_ALL, "C");
    snprintf(remove_it, sizeof remove_it, "rm -rf %s", folder);
    assert_int_equal(system(remove_it), 0);
    assert_true(got == want && *stop == '\0');
    assert_string_equal(out, "0.5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_doubles),
        cmocka_unit_test(test_random_text),
        cmocka_unit_test(test_half_ways),
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_words_and_ends),
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_locale_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
