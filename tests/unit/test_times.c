/* test_times.c - dates, names of time, stamps, and values at even times. */
#include "data/date.h"
#include "data/date_order.h"
#include "data/load.h"
#include "data/resample.h"
#include "data/stamps.h"
#include "data/time_name.h"

#include "unit/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Texts that are dates, and the seconds since 1970 that `date -u +%s` gives for them. */
static void test_dates(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double seconds;
    } good[] = {{"1970-01-01", 0},
                {"2024-02-29", 1709164800},
                {"2024-02-29T12:00", 1709208000},
                {"2024-02-29 12:00:01.25", 1709208001.25},
                {"2024-02-29T12:00:00Z", 1709208000},
                {"2024-02-29T12:00:00+02:00", 1709200800},
                {"2024-02-29T12:00:00-0530", 1709227800},
                {"2024-02-29 12:00:00 +01", 1709204400},
                {"2024/02/29", 1709164800},
                {"29.02.2024 12:00", 1709208000},
                {"2024-03", 1709251200},
                {"2024/2/29", 1709164800},
                {"29/2/2024 9:05", 1709197500},
                {"02-29-2024 12:00:01 am", 1709164801},
                {"2.29.2024 1:30PM", 1709213400},
                {"29-Feb-2024", 1709164800},
                {"29 february 2024 12:00", 1709208000},
                {"Feb 29, 2024", 1709164800},
                {"feb 29 2024 12:00:01", 1709208001},
                {"1969-12-31T23:59:59", -1},
                {"1900-01-01", -2208988800},
                {"1600-02-29", -11670998400}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        double microseconds = 0.0;
        ant_date_style style;
        if (!ant_date_read(good[i].text, good[i].text + strlen(good[i].text), &microseconds, &style))
            fail_msg("'%s' was not read", good[i].text);
        if (microseconds != 1e6 * good[i].seconds) /* whole microseconds are exact */
            fail_msg("'%s' was read as %.17g microseconds", good[i].text, microseconds);
    }
}

/* Texts that are not. */
static void test_no_dates(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "2024",
                                      "2024-13-01",
                                      "2024-02-30",
                                      "2023-02-29",
                                      "2024-2",
                                      "02/03/24",
                                      "13/13/2024",
                                      "30.02.2024",
                                      "02/29/2023",
                                      "1/2-2024",
                                      "2024-02-29 13:00 PM",
                                      "2024-02-29 0:30 AM",
                                      "2024-02-29T",
                                      "2024-02-29T25:00",
                                      "2024-02-29x",
                                      "24-02-29",
                                      "2024-02-29T12:00+",
                                      "12:00",
                                      "20240229",
                                      "2024-02-29T12:00:61",
                                      "1.5",
                                      "30-Feb-2024",
                                      "29-Febr-2024",
                                      "may 2024",
                                      "29-Feb-24",
                                      "Feb 29,2024",
                                      "Feb 2024, 29"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double ignored;
        ant_date_style style;
        if (ant_date_read(bad[i], bad[i] + strlen(bad[i]), &ignored, &style))
            fail_msg("'%s' was read as a date", bad[i]);
    }
}

/* Columns of daily dates written in either order come out as they are, once a day above 12 shows the order.
 */
static void test_orders(void **state)
{
    (void)state;
    enum { ROWS = 60 };
    static const char marks[] = "/-.";
    for (int start = 0; start < 400; start += 7)
        for (int month_first = 0; month_first < 2; month_first++) {
            const char mark = marks[start % 3];
            double stamps[ROWS], want[ROWS];
            ant_date_column column = {0};
            for (int i = 0; i < ROWS; i++) {
                const time_t then = (time_t)86400 * (start + 2 * i) + 3600 * 23;
                struct tm parts;
                char text[64];
                ant_date_style style;
                gmtime_r(&then, &parts);
                const int date[] = {parts.tm_mday, parts.tm_mon + 1};
                const int length = snprintf(text, sizeof text, "%d%c%02d%c%d 11:00 PM", date[month_first],
                                            mark, date[1 - month_first], mark, 1900 + parts.tm_year);
                const ant_field field = {.text = text, .end = text + length};
                assert_true(ant_date_read(text, field.end, &stamps[i], &style));
                CHECK_OK(ant_date_column_take(&column, (size_t)i, 0, field, 1, &style, &stamps[i]));
                want[i] = 1e6 * (double)then;
            }
            CHECK_OK(ant_date_column_settle(&column, 0, stamps, 1));
            assert_int_equal(column.order, month_first ? ANT_DATE_MONTH_FIRST : ANT_DATE_DAY_FIRST);
            assert_memory_equal(stamps, want, sizeof want);
            ant_date_column_clear(&column);
        }
}

/* Rows before the deciding one that have another form, or no date, stay as they are. */
static void test_orders_with_others(void **state)
{
    (void)state;
    static const char *const texts[] = {"03/04/2024", "2024-03-07", "",
                                        "03/10/2024", "03/13/2024", "4/3/2024"};
    static const int days[] = {4, 7, 0, 10, 13, 34}; /* from the last of February on */
    enum { ROWS = sizeof texts / sizeof *texts };
    double stamps[2 * ROWS] = {0};
    ant_date_column column = {0};
    for (size_t i = 0; i < ROWS; i++) {
        ant_date_style style;
        const ant_field field = {.text = texts[i], .end = texts[i] + strlen(texts[i])};
        if (!ant_date_read(field.text, field.end, &stamps[2 * i], &style))
            continue;
        CHECK_OK(ant_date_column_take(&column, i, 0, field, i + 1, &style, &stamps[2 * i]));
    }
    CHECK_OK(ant_date_column_settle(&column, 0, stamps, 2));
    for (size_t i = 0; i < ROWS; i++)
        assert_true(stamps[2 * i] == (days[i] == 0 ? 0.0 : 86400e6 * (19782.0 + days[i])));
    assert_int_equal(column.line, 5);
    ant_date_column_clear(&column);
}

/* Dates of digits alone, in columns that are known to hold times. */
static void test_digits(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double seconds; /* NaN: no date */
    } cases[] = {{"20240229", 1709164800},
                 {"202402291200", 1709208000},
                 {"20240229120001", 1709208001},
                 {"20230229", NAN},
                 {"20241301", NAN},
                 {"202402292400", NAN},
                 {"17991231", NAN},
                 {"2024022", NAN},
                 {"2024022912", NAN},
                 {"20240229.0", NAN},
                 {"-2024022", NAN}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double microseconds = 0.0;
        ant_date_style style;
        const char *end = cases[i].text + strlen(cases[i].text);
        if (ant_date_read_digits(cases[i].text, end, &microseconds, &style) == isnan(cases[i].seconds) ||
            (!isnan(cases[i].seconds) && microseconds != 1e6 * cases[i].seconds))
            fail_msg("'%s' gave %.17g", cases[i].text, microseconds);
    }
}

/* Every day of 1600 to 2400 by the C library, and every text read again to the same number. */
static void test_calendar(void **state)
{
    (void)state;
    const ant_date_style plain = {0}, zone = {.clock = true, .zone = true, .zone_minutes = -210};
    for (long days = -135140; days < 157054; days += 17) {
        char text[ANT_DATE_ROOM], want[ANT_DATE_ROOM];
        double back = 0.0;
        ant_date_style style;
        const time_t seconds = (time_t)days * 86400;
        struct tm parts;
        assert_non_null(gmtime_r(&seconds, &parts));
        strftime(want, sizeof want, "%Y-%m-%d", &parts);
        const double moment = (double)days * 86400e6;
        size_t length = ant_date_write(moment, &plain, text);
        assert_string_equal(text, want);
        assert_true(ant_date_read(text, text + length, &back, &style) && back == moment);
        length = ant_date_write(moment + 123456789.0, &zone, text);
        assert_true(ant_date_read(text, text + length, &back, &style) && back == moment + 123456789.0);
    }
}

/* What is no date of four digits is written as its number. */
static void test_beyond_calendar(void **state)
{
    (void)state;
    static const double moments[] = {3e6 * 86400e6, -3e6 * 86400e6, 1e300, -HUGE_VAL, NAN};
    const ant_date_style plain = {0};
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
        char text[ANT_DATE_ROOM], want[ANT_DATE_ROOM];
        snprintf(want, sizeof want, "%.17g", moments[i]);
        assert_int_equal(ant_date_write(moments[i], &plain, text), strlen(want));
        assert_string_equal(text, want);
    }
}

static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        ant_time_claim claim;
        const char *unit;
    } cases[] = {{"time", ANT_TIME_STRONG, ""},
                 {"Time [s]", ANT_TIME_STRONG, "s"},
                 {"time_ms", ANT_TIME_STRONG, "ms"},
                 {"Date", ANT_TIME_STRONG, ""},
                 {"timestamp", ANT_TIME_STRONG, ""},
                 {"time(sec)", ANT_TIME_STRONG, "s"},
                 {"t", ANT_TIME_WEAK, ""},
                 {"t/ms", ANT_TIME_WEAK, "ms"},
                 {"seconds", ANT_TIME_WEAK, "s"},
                 {"year", ANT_TIME_WEAK, "yr"},
                 {"index", ANT_TIME_WEAK, ""},
                 {"date_time", ANT_TIME_STRONG, ""},
                 {"x", ANT_TIME_NO_CLAIM, ""},
                 {"s", ANT_TIME_NO_CLAIM, ""},
                 {"h", ANT_TIME_NO_CLAIM, ""},
                 {"temp", ANT_TIME_NO_CLAIM, ""},
                 {"reaction_time", ANT_TIME_NO_CLAIM, ""},
                 {"flow_s", ANT_TIME_NO_CLAIM, "s"},
                 {"lifetime", ANT_TIME_NO_CLAIM, ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char unit[ANT_UNIT_ROOM];
        const ant_time_claim claim = ant_time_name(cases[i].name, unit);
        if (claim != cases[i].claim || strcmp(unit, cases[i].unit) != 0)
            fail_msg("'%s' has claim %d and unit '%s'", cases[i].name, (int)claim, unit);
    }
}

static void test_stamps(void **state)
{
    (void)state;
    enum { ROWS = 400 };
    double t[ROWS];
    ant_stamps found;
    for (size_t i = 0; i < ROWS; i++)
        t[i] = 3.0 + 0.1 * (double)i;
    CHECK_OK(ant_stamps_study(t, ROWS, 1e-14, &found));
    assert_true(found.even && found.step == 0.1 && found.gaps == 0);

    for (size_t i = 0; i < ROWS; i++) /* one gap of 20 steps after row 381, and steps of 1 elsewhere */
        t[i] = (double)i + (i > 380 ? 20.0 : 0.0);
    CHECK_OK(ant_stamps_study(t, ROWS, 1e-12, &found));
    assert_true(found.even && found.step == 1.0);
    assert_int_equal(found.gaps, 1);
    assert_int_equal(found.gap_rows, 20);
    assert_int_equal(found.longest_after, 380);

    for (size_t i = 0; i < ROWS; i++) /* 256 Hz in milliseconds, with a long gap */
        t[i] = rint(1000.0 * ((double)i + (i > 100 ? 1000.0 : 0.0)) / 256.0) / 1000.0;
    CHECK_OK(ant_stamps_study(t, ROWS, 1e-15, &found));
    assert_true(found.even);
    assert_int_equal(found.gap_rows, 1000);
    CHECK_NEAR(found.step, 1.0 / 256.0, 1e-6);

    for (size_t i = 0; i < ROWS; i++) /* uneven: squares */
        t[i] = (double)(i * i);
    CHECK_OK(ant_stamps_study(t, ROWS, 1e-12, &found));
    assert_false(found.even);
    assert_true(found.least == 1.0 && found.most == 797.0);

    t[7] = t[6];
    CHECK_OK(ant_stamps_study(t, ROWS, 1e-12, &found));
    assert_int_equal(found.order, ANT_STAMPS_DOUBLED);
    assert_int_equal(found.fault, 7);
    t[7] = 3.0;
    CHECK_OK(ant_stamps_study(t, ROWS, 1e-12, &found));
    assert_int_equal(found.order, ANT_STAMPS_BACKWARDS);
    t[2] = NAN;
    CHECK_OK(ant_stamps_study(t, ROWS, 1e-12, &found));
    assert_int_equal(found.order, ANT_STAMPS_MISSING);
    assert_int_equal(found.fault, 2);
}

/* A line is reproduced by both methods and a parabola by the cubic one, at uneven times; gaps and NaN stay.
 */
static void test_resample(void **state)
{
    (void)state;
    enum { ROWS = 60, COUNT = 110 };
    double t[ROWS], line[ROWS], parabola[ROWS], out[COUNT];
    for (size_t i = 0; i < ROWS; i++) {
        t[i] = (double)i + 0.3 * sin((double)(3 * i)) + (i >= 40 ? 10.0 : 0.0);
        line[i] = 2.0 - 0.5 * t[i];
        parabola[i] = 1.0 + t[i] * t[i] / 7.0;
    }
    line[20] = NAN;
    for (int cubic = 0; cubic < 2; cubic++) {
        const ant_resample r = {.stamps = t,
                                .rows = ROWS,
                                .first = t[0],
                                .step = 0.5,
                                .count = COUNT,
                                .widest = 3.0,
                                .cubic = cubic};
        ant_resample_column(&r, line, out, 1);
        for (size_t k = 0; k < COUNT; k++) {
            const double at = t[0] + 0.5 * (double)k;
            const bool lost = (at > t[19] && at < t[21]) || (at > t[39] && at < t[40]);
            if (lost)
                assert_true(isnan(out[k]));
            else
                CHECK_NEAR(out[k], 2.0 - 0.5 * at, 1e-12);
        }
    }
    const ant_resample r = {
        .stamps = t, .rows = ROWS, .first = t[1], .step = 0.25, .count = 140, .widest = 3.0, .cubic = true};
    double fine[140];
    ant_resample_column(&r, parabola, fine, 1);
    for (size_t k = 0; k < 140; k++) {
        const double at = t[1] + 0.25 * (double)k;
        CHECK_NEAR(fine[k], 1.0 + at * at / 7.0, 1e-10);
    }
}

static antler_status load(const char *text, const antler_load_opts *opts, antler_series **series)
{
    ant_source source;
    *series = NULL;
    ant_source_open_memory(&source, text, strlen(text));
    const antler_status status = ant_load_text(&source, opts, "t.csv", series);
    if (status != ANTLER_OK) {
        antler_series_free(*series);
        *series = NULL;
    }
    return status;
}

/* Gaps are rows of NaN between rows that keep their values, and rows have their times. */
static void test_gaps(void **state)
{
    (void)state;
    antler_series *series;
    antler_load_opts opts;
    double x[12];
    char text[64];
    antler_load_opts_default(&opts);
    CHECK_OK(load("time,a,b\n0,1,2\n0.5,3,4\n1,5,6\n2,7,8\n2.5,9,1\n", &opts, &series));
    assert_int_equal(antler_series_length(series, 0), 6);
    assert_int_equal(antler_series_dim(series), 2);
    assert_int_equal(antler_series_missing(series), 2);
    assert_true(antler_series_dt(series) == 0.5);
    assert_int_equal(antler_series_time(series)->kind, ANTLER_TIME_NUMBER);
    CHECK_OK(antler_series_read_f64(series, 0, 0, 6, x, NULL));
    assert_true(x[5] == 6 && isnan(x[6]) && isnan(x[7]) && x[8] == 7 && x[11] == 1);
    CHECK_OK(antler_series_time_text(series, 0, 7, text, sizeof text));
    assert_string_equal(text, "3.5");
    CHECK_FAILS(antler_series_time_text(series, 0, 7, text, 2), ANTLER_ERROR_ARGUMENT, "room for 2");
    antler_series_free(series);

    opts.time = "none";
    CHECK_OK(load("time,a\n0,1\n1,3\n2,5\n4,7\n", &opts, &series));
    assert_int_equal(antler_series_dim(series), 2);
    assert_int_equal(antler_series_length(series, 0), 4);
    assert_int_equal(antler_series_time(series)->kind, ANTLER_TIME_NONE);
    assert_true(isnan(antler_series_start(series, 0)));
    antler_series_free(series);
}

/* Rows of a calendar: what each table gives, and the time of a row behind its last. */
static void test_months(void **state)
{
    (void)state;
    static const struct {
        const char *table, *unit;
        double dt;
        size_t rows, row;
        const char *time;
    } cases[] = {
        {"date,a\n2023-11-01,1\n2023-12-01,2\n2024-01-01,4\n", "month", 1, 3, 4, "2024-03-01"},
        {"date,a\n2023-12,1\n2024-01,2\n2024-02,4\n", "month", 1, 3, 12, "2024-12"},
        {"date,a\n2023-12-31,1\n2024-01-31,2\n2024-02-29,4\n", "month", 1, 3, 3, "2024-03-31"},
        {"date,a\n2023-04-30,1\n2023-05-31,2\n2023-06-30,4\n", "month", 1, 3, 10, "2024-02-29"},
        {"date,a\n2022-12-30,1\n2023-01-30,2\n2023-02-28,4\n", "month", 1, 3, 3, "2023-03-30"},
        {"date,a\n2023-01-01,1\n2023-02-01,2\n2023-05-01,4\n2023-06-01,4\n", "month", 1, 6, 6, "2023-07-01"},
        {"date,a\n2023-01-15T06:00,1\n2023-04-15T06:00,2\n2023-07-15T06:00,4\n", "month", 3, 3, 3,
         "2023-10-15T06:00:00"},
        {"date,a\n2020-01-01,1\n2021-01-01,2\n2022-01-01,4\n", "yr", 1, 3, 5, "2025-01-01"},
        {"date,a\n1999-12-01T00:00+02:00,1\n2000-01-01T00:00+02:00,2\n2000-02-01T00:00+02:00,4\n", "month", 1,
         3, 3, "2000-03-01T00:00:00+02:00"},
        {"date,a\n2024-01-01,1\n2024-01-31,2\n2024-03-01,4\n", "d", 30, 3, 3, "2024-03-31"},
        {"date,a\n2024-01-01,1\n2024-02-01,2\n", "d", 31, 2, 2, "2024-03-03"},
    };
    antler_load_opts opts;
    antler_load_opts_default(&opts);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        antler_series *series;
        char text[64];
        CHECK_OK(load(cases[i].table, &opts, &series));
        assert_string_equal(antler_series_time(series)->unit, cases[i].unit);
        CHECK_NEAR(antler_series_dt(series), cases[i].dt, 0.0);
        assert_int_equal(antler_series_length(series, 0), cases[i].rows);
        CHECK_OK(antler_series_time_text(series, 0, cases[i].row, text, sizeof text));
        assert_string_equal(text, cases[i].time);
        assert_int_equal(antler_series_month_day(series, 0) > 0, antler_series_time(series)->months > 0);
        antler_series_free(series);
    }
}

/* Months that are not whole steps are uneven; they are not resampled by a month; subjects may be short. */
static void test_months_refused(void **state)
{
    (void)state;
    antler_series *series;
    antler_load_opts opts;
    antler_load_opts_default(&opts);
    CHECK_FAILS(load("date,a\n2020-01-01,1\n2020-04-01,1\n2020-06-01,1\n2020-07-01,1\n2021-01-01,1\n", &opts,
                     &series),
                ANTLER_ERROR_DATA, "not evenly spaced");
    opts.resample = "1 month";
    CHECK_FAILS(load("date,a\n2020-01-01,1\n2020-02-01,1\n2020-03-01,1\n", &opts, &series),
                ANTLER_ERROR_ARGUMENT, "no fixed length");
    opts.resample = "10d";
    CHECK_OK(load("date,a\n2020-01-01,1\n2020-02-01,1\n2020-03-01,1\n", &opts, &series));
    assert_int_equal(antler_series_length(series, 0), 7);
    antler_series_free(series);
    opts.resample = NULL;
    opts.subject = "who";
    CHECK_OK(load("who,date,a\nann,2020-01-31,1\nann,2020-02-29,2\nann,2020-03-31,3\nbob,2020-04-15,2\n"
                  "bob,2020-05-15,4\ncid,2021-02-28,6\n",
                  &opts, &series));
    assert_int_equal(antler_series_count(series), 3);
    char text[64];
    CHECK_OK(antler_series_time_text(series, 1, 2, text, sizeof text));
    assert_string_equal(text, "2020-06-15");
    CHECK_OK(antler_series_time_text(series, 2, 1, text, sizeof text));
    assert_string_equal(text, "2021-03-31");
    antler_series_free(series);
}

/* Subjects in blocks and in turns; each has its own times. */
static void test_subjects(void **state)
{
    (void)state;
    antler_series *series;
    antler_load_opts opts;
    double x[4];
    antler_load_opts_default(&opts);
    opts.subject = "who";
    CHECK_OK(load("who,date,a\nann,2020-01-01,1\nbob,2020-01-05,2\nann,2020-01-02,3\nbob,2020-01-06,4\nann,"
                  "2020-01-03,5\n"
                  "bob,2020-01-07,6\n",
                  &opts, &series));
    assert_int_equal(antler_series_count(series), 2);
    assert_int_equal(antler_series_dim(series), 1);
    assert_string_equal(antler_series_origin(series, 1), "t.csv:bob");
    CHECK_OK(antler_series_read_f64(series, 1, 0, 3, x, NULL));
    assert_true(x[0] == 2 && x[1] == 4 && x[2] == 6);
    CHECK_NEAR(antler_series_start(series, 1) - antler_series_start(series, 0), 4 * 86400e6, 0.0);
    antler_series_free(series);
    CHECK_FAILS(load("who,a\nann,1\n,2\n", &opts, &series), ANTLER_ERROR_DATA, "row 2 has no subject");
    opts.subject = "whom";
    CHECK_FAILS(load("who,a\nann,1\nann,2\n", &opts, &series), ANTLER_ERROR_NOT_FOUND,
                "no column 'whom'; did you mean 'who'?");
}

/* A name that may mean time, in few rows: it is the time if they are even and in order, else a variable. */
static void test_few_rows(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t dim;
    } cases[] = {{"t,a\n0,1\n1,2\n2,3\n3,5\n", 1},
                 {"t,a\n0,1\n3,2\n4,3\n8,5\n9,1\n", 2},
                 {"t,a\n3,1\n1,2\n2,3\n4,5\n", 2}};
    antler_load_opts opts;
    antler_load_opts_default(&opts);
    for (size_t i = 0; i < 3; i++) {
        antler_series *series = NULL;
        CHECK_OK(load(cases[i].text, &opts, &series));
        assert_int_equal(antler_series_dim(series), cases[i].dim);
        assert_int_equal(antler_series_time(series)->kind == ANTLER_TIME_NONE, cases[i].dim == 2);
        antler_series_free(series);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dates),
        cmocka_unit_test(test_no_dates),
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_orders_with_others),
        cmocka_unit_test(test_digits),
        cmocka_unit_test(test_calendar),
        cmocka_unit_test(test_beyond_calendar),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_stamps),
        cmocka_unit_test(test_resample),
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_months),
        cmocka_unit_test(test_months_refused),
        cmocka_unit_test(test_subjects),
        cmocka_unit_test(test_few_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
