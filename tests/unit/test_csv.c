/* test_csv.c - tables of text from memory: what is read, and the place named in each refusal. */
#include "data/encoding.h"
#include "data/load.h"

#include "unit/check.h"

#include <stdio.h>
#include <stdlib.h>

static antler_status load_with(const char *text, size_t size, const antler_load_opts *opts,
                               antler_series **series)
{
    ant_source source;
    *series = NULL;
    ant_source_open_memory(&source, text, size);
    const antler_status status = ant_load_text(&source, opts, "test.csv", series);
    if (status != ANTLER_OK) {
        antler_series_free(*series);
        *series = NULL;
    }
    return status;
}

static antler_status load(const char *text, antler_series **series)
{
    antler_load_opts opts;
    antler_load_opts_default(&opts);
    return load_with(text, strlen(text), &opts, series);
}

/* The text must give these values.  values: (rows, dim) */
static void check_values(const char *text, size_t rows, size_t dim, const double *values)
{
    antler_series *series;
    double x[64];
    CHECK_OK(load(text, &series));
    assert_int_equal(antler_series_dim(series), dim);
    assert_int_equal(antler_series_length(series, 0), rows);
    CHECK_OK(antler_series_read_f64(series, 0, 0, rows, x, NULL));
    for (size_t i = 0; i < rows * dim; i++)
        if (!(x[i] == values[i] || (isnan(x[i]) && isnan(values[i]))))
            fail_msg("value %zu of \"%s\" is %g instead of %g", i, text, x[i], values[i]);
    antler_series_free(series);
}

static void test_forms(void **state)
{
    (void)state;
    const double v[] = {1, 2, 3, 4};
    static const char *const texts[] = {"1,2\n3,4\n",
                                        "1,2\n3,4",
                                        "1;2\n3;4\n",
                                        "1\t2\n3\t4\n",
                                        "1 2\n3 4\n",
                                        "  1   2  \n 3\t 4 \n",
                                        "1, 2\n3 ,4\n",
                                        "1,2\r\n3,4\r\n",
                                        "\xef\xbb\xbf\x31,2\n3,4\n",
                                        "\n\n1,2\n   \n3,4\n\n",
                                        "# a comment\n1,2 # another\n# x\n3,4\n",
                                        "a,b\n1,2\n3,4\n",
                                        "\"a,1\",\"b\"\"c\"\n1,2\n3,4\n",
                                        "\"1\",\"2\"\n\"3\",\"4\"\n",
                                        "+1,2.\n3.0e0,.4e1\n",
                                        "1D0,2d0\n30e-1,4E0\n",
                                        ",b\n1,2\n3,4\n",
                                        "time,7\n1,2\n3,4\n",
                                        "1;2 # a;b\n3;4\n",
                                        "x y\n1 2\n3 4\n",
                                        " a , b \n1,2\n3,4\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_values(texts[i], 2, 2, v);
    const double odd[] = {NAN, INFINITY, -INFINITY, 4};
    check_values("nan,inf\n-inf,4\n", 2, 2, odd);
    check_values("NaN Infinity\n-Inf 4\n", 2, 2, odd);
    const double gaps[] = {1, NAN, NAN, 4};
    static const char *const missing[] = {"1,\n,4\n",           "1,NA\nnull,4\n", "1;n/a\n-;4\n",
                                          "1,\"\"\n  ,4\n",     "1 .\n? 4\n",     "1\t\n\t4\n",
                                          "1,None\nmissing,4\n"};
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
        check_values(missing[i], 2, 2, gaps);
    const double commas[] = {1.5, -2.25, 3, 4e3};
    check_values("1,5;-2,25\n3;4,0e3\n", 2, 2, commas);
    check_values("a;b\n1,5;-2,25\n3;4000\n", 2, 2, commas);
    check_values("1,5\t-2,25\n3\t4000\n", 2, 2, commas);
    check_values("\"1,5\",\"-2,25\"\n3,4000\n", 2, 2, commas);
    check_values("a,b\nmV,m/s\n1,2\n3,4\n", 2, 2, v); /* a line of units */
    check_values("1,2,\n3,4,\n", 2, 2, v);            /* a comma at the end of every line */
    const double column[] = {1, 2.5};
    check_values("1\n2.5\n", 2, 1, column);
    check_values("x\n1\n2.5", 2, 1, column);
}

static void test_names(void **state)
{
    (void)state;
    antler_series *series;
    CHECK_OK(load("t, \"a \"\"b\"\"\" ,température,\n1,2,3,4\n5,6,7,8\n", &series));
    assert_string_equal(antler_series_name(series, 0), "t");
    assert_string_equal(antler_series_name(series, 1), "a \"b\"");
    assert_string_equal(antler_series_name(series, 2), "température");
    assert_string_equal(antler_series_name(series, 3), "x4");
    antler_series_free(series);
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *text, *fragment;
    } cases[] = {
        {"", "is empty"},
        {"\n\n  \n", "only blank lines and comments"},
        {"# nothing\n", "only blank lines and comments"},
        {"x,y\n", "a header but no numbers"},
        {"1,2\n3,abc\n", "not a number in line 2, column 2 ('abc')"},
        {"1,2\n\n# c\n3,4x\n", "not a number in line 4, column 2 ('4x')"},
        {"1,abc\n3,4\n", "not a number in line 1, column 2 ('abc')"},
        {"1,2\n3\n", "line 2 has 1 field, but the lines before have 2"},
        {"1,2\n3,4,5\n", "line 2 has 3 fields, but the lines before have 2"},
        {"a,b\n1,2,3\n", "line 2 has 3 fields, but the header has 2"},
        {"1.5;2.5\n3,5;4.5\n",
         "line 2, column 1 ('3,5') has a decimal comma, and others have a decimal point"},
        {"1,5;2,5\n3.5;4,5\n",
         "line 2, column 1 ('3.5') has a decimal point, and others have a decimal comma"},
        {"1;2\n3;1.234,5\n", "line 2, column 2 ('1.234,5') has thousands marks"},
        {"1;2\n3;1,234,567\n", "line 2, column 2 ('1,234,567') has thousands marks"},
        {"1,2\n3,\"1,234.5\"\n", "('1,234.5') has thousands marks"},
        {"1,2\n3,1'234\n", "('1'234') has thousands marks"},
        {"x,y\n03/04/2024,2\n04/04/2024,4\n",
         "column 1 has dates such as '03/04/2024' (line 2), and no row shows whether the day or the month"},
        {"x,y\n12:30,2\n12:31,4\n", "line 2, column 1 ('12:30') is a time without its date"},
        {"date,y\n2020-01-01,2\nnow,4\n", "line 3, column 1 ('now') is not a date"},
        {"1,2\n3,1e400\n", "('1e400') is too large"},
        {"1,2\n3,0x10\n", "('0x10')"},
        {"1,2\n3,1.2.3\n", "('1.2.3')"},
        {"1,2\n3,1 000\n", "('1 000')"},
        {"a\rb\n1\r2\n", "control characters"},
        {"1,2\r3,4\r5,6\n7,8\n", "carriage return"},
        {"1,2\n\"3,4\n", "line 2"},
        {"\xff\xfe"
         "1\0,\0",
         "UTF-16"},
        {"1,2\n3,thisisaverylongwordthatgoesonandon\n", "('thisisaverylongwordthatg...')"},
        {"1,2\n3,\x01\x02\n", "('\?\?')"},
        {"# antler: dt=-1\n1,2\n", "dt= in the comment of line 1"},
        {"# antler: dt=abc\n1,2\n", "dt= in the comment of line 1"},
        {"# antler: mean=1,x\n1,2\n", "mean= in the comment of line 1"},
        {"# antler: scale=1,0\n1,2\n", "scale= in the comment of line 1"},
        {"# antler: mean=1\n# antler: scale=1\n1,2\n3,4\n", "1 means and 1 scales, but it has 2 variables"},
        {"# antler: mean=1,2\n1,2\n3,4\n", "2 means and 0 scales"},
        {"# antler: inputs=2\n1,2\n3,4\n", "2 columns are inputs"},
    };
    antler_series *series;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_FAILS(load(cases[i].text, &series), ANTLER_ERROR_FORMAT, cases[i].fragment);
    antler_load_opts opts;
    antler_load_opts_default(&opts);
    CHECK_FAILS(load_with("1,2\n3\0,4\n", 9, &opts, &series), ANTLER_ERROR_FORMAT, "a NUL byte in line 2");
    opts.delimiter = '#';
    CHECK_FAILS(load_with("1,2\n", 4, &opts, &series), ANTLER_ERROR_ARGUMENT, "delimiter");
}

static void test_options(void **state)
{
    (void)state;
    antler_series *series;
    antler_load_opts opts;
    double x[16], in[4];
    antler_load_opts_default(&opts);
    /* Columns that are left out are never read as numbers. */
    const char *text = "day,temp,wind,rain\nmon,1,2,3\ntue,4,5,6\n";
    opts.columns = "rain,temp";
    opts.inputs = "3";
    CHECK_OK(load_with(text, strlen(text), &opts, &series));
    assert_string_equal(antler_series_name(series, 0), "rain");
    assert_string_equal(antler_series_name(series, 1), "temp");
    assert_string_equal(antler_series_name(series, 2), "wind");
    CHECK_OK(antler_series_read_f64(series, 0, 0, 2, x, in));
    assert_true(x[0] == 3 && x[1] == 1 && x[2] == 6 && x[3] == 4 && in[0] == 2 && in[1] == 5);
    antler_series_free(series);

    antler_load_opts_default(&opts);
    opts.header = ANTLER_HEADER_YES;
    CHECK_OK(load_with("1,2\n3,4\n", 8, &opts, &series));
    assert_int_equal(antler_series_length(series, 0), 1);
    assert_string_equal(antler_series_name(series, 1), "2");
    antler_series_free(series);
    opts.header = ANTLER_HEADER_NO;
    CHECK_FAILS(load_with("a,b\n3,4\n", 8, &opts, &series), ANTLER_ERROR_FORMAT, "not a number in line 1");

    antler_load_opts_default(&opts);
    opts.delimiter = '|';
    CHECK_OK(load_with("1|2\n3|4\n", 8, &opts, &series));
    assert_int_equal(antler_series_dim(series), 2);
    antler_series_free(series);

    antler_load_opts_default(&opts);
    opts.transpose = true;
    opts.columns = "2";
    opts.inputs = "1";
    CHECK_OK(load_with("1,2,3\n4,5,6\n", 12, &opts, &series));
    assert_int_equal(antler_series_dim(series), 1);
    assert_int_equal(antler_series_length(series, 0), 3);
    CHECK_OK(antler_series_read_f64(series, 0, 0, 3, x, in));
    assert_true(x[0] == 4 && x[2] == 6 && in[0] == 1 && in[2] == 3);
    antler_series_free(series);
}

static void test_own_comments(void **state)
{
    (void)state;
    antler_series *series;
    double mean[2], scale[2];
    CHECK_OK(load("# antler: dt=0.01\n#antler:  mean=1,-2 \n# antler: scale=0.5,3\n# antler: inputs=1\n"
                  "# antler: colour=blue\nx,y,u\n1,2,3\n4,5,6\n",
                  &series));
    assert_true(antler_series_dt(series) == 0.01);
    assert_int_equal(antler_series_dim(series), 2);
    assert_int_equal(antler_series_input_dim(series), 1);
    assert_true(antler_series_scaling(series, mean, scale));
    assert_true(mean[0] == 1 && mean[1] == -2 && scale[0] == 0.5 && scale[1] == 3);
    antler_series_free(series);
    CHECK_OK(load("# antler: header=yes\n1,2\n3,4\n", &series));
    assert_string_equal(antler_series_name(series, 0), "1");
    assert_int_equal(antler_series_length(series, 0), 1);
    antler_series_free(series);
}

/* Lines and files longer than any buffer, with the fault at the far end. */
static void test_long(void **state)
{
    (void)state;
    enum { FIELDS = 150000, LINES = 3 };
    const size_t room = (size_t)FIELDS * LINES * 8;
    char *text = malloc(room);
    size_t n = 0;
    for (size_t line = 0; line < LINES; line++)
        for (size_t i = 0; i < FIELDS; i++)
            n += (size_t)snprintf(text + n, room - n, "%zu%c", line * FIELDS + i,
                                  i + 1 == FIELDS ? '\n' : ',');
    antler_load_opts opts;
    antler_load_opts_default(&opts);
    opts.transpose = true;
    antler_series *series;
    CHECK_OK(load_with(text, n, &opts, &series));
    assert_int_equal(antler_series_length(series, 0), FIELDS);
    double *x = malloc(sizeof *x * FIELDS * LINES);
    CHECK_OK(antler_series_read_f64(series, 0, 0, FIELDS, x, NULL));
    for (size_t i = 0; i < FIELDS; i++)
        for (size_t line = 0; line < LINES; line++)
            assert_true(x[i * LINES + line] == (double)(line * FIELDS + i));
    antler_series_free(series);
    free(x);
    text[n - 2] = '?';
    char place[64];
    snprintf(place, sizeof place, "in line %d, column %d", LINES, FIELDS);
    CHECK_FAILS(load_with(text, n, &opts, &series), ANTLER_ERROR_FORMAT, place);
    free(text);
}

static void test_many_lines(void **state)
{
    (void)state;
    enum { LINES = 200000 };
    const size_t room = (size_t)LINES * 24;
    char *text = malloc(room);
    size_t n = 0;
    for (size_t i = 0; i < LINES; i++)
        n += (size_t)snprintf(text + n, room - n, "%zu.25,-%zu\r\n", i, i);
    antler_load_opts opts;
    antler_load_opts_default(&opts);
    antler_series *series;
    CHECK_OK(load_with(text, n, &opts, &series));
    assert_int_equal(antler_series_length(series, 0), LINES);
    double x[2];
    for (size_t i = 0; i < LINES; i += 997) {
        CHECK_OK(antler_series_read_f64(series, 0, i, 1, x, NULL));
        assert_true(x[0] == (double)i + 0.25 && x[1] == -(double)i);
    }
    antler_series_free(series);
    text[n - 3] = 'z';
    CHECK_FAILS(load_with(text, n, &opts, &series), ANTLER_ERROR_FORMAT, "in line 200000, column 2");
    free(text);
}

/* UTF-16 that is decoded in two parts, cut anywhere, gives the same as UTF-8; half pairs become U+FFFD. */
static void test_utf16(void **state)
{
    (void)state;
    static const char want[] = "a\xc3\xa9\xf0\x9d\x91\xa5\xef\xbf\xbd"
                               "b\xef\xbf\xbd\xf0\x9d\x91\xa5\xef\xbf\xbd";
    static const unsigned units[] = {'a', 0xe9, 0xd835, 0xdc65, 0xd835, 'b', 0xdc65, 0xd835, 0xdc65, 0xd835};
    enum { UNITS = sizeof units / sizeof *units };
    for (int big = 0; big < 2; big++)
        for (size_t cut = 0; cut <= UNITS; cut++) {
            unsigned char text[2 * UNITS];
            char out[ANT_UTF16_MOST * (UNITS + 2)];
            ant_utf16 decoder = {.big = big != 0};
            for (size_t i = 0; i < UNITS; i++) {
                text[2 * i + (size_t)big] = (unsigned char)(units[i] & 0xff);
                text[2 * i + 1 - (size_t)big] = (unsigned char)(units[i] >> 8);
            }
            size_t done = ant_utf16_decode(&decoder, text, cut, false, out);
            done += ant_utf16_decode(&decoder, text + 2 * cut, UNITS - cut, true, out + done);
            assert_int_equal(done, sizeof want - 1);
            assert_memory_equal(out, want, done);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),        cmocka_unit_test(test_names),
        cmocka_unit_test(test_refusals),     cmocka_unit_test(test_options),
        cmocka_unit_test(test_own_comments), cmocka_unit_test(test_long),
        cmocka_unit_test(test_many_lines),   cmocka_unit_test(test_utf16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
