/* test_columns.c - choosing columns by name, number and range. */
#include "data/columns.h"
#include "data/series.h"

#include "unit/check.h"

#include <stdlib.h>

static char time_name[] = "time", x_name[] = "x", wind_name[] = "wind-speed", three_name[] = "3";
static char *const names[] = {time_name, x_name, wind_name, three_name, NULL};
enum { COUNT = 5 };

static antler_status make(const char *columns, const char *inputs, size_t own_inputs, ant_choice *choice)
{
    antler_load_opts opts;
    antler_load_opts_default(&opts);
    opts.columns = columns;
    opts.inputs = inputs;
    const ant_file_columns file = {.names = names,
                                   .count = COUNT,
                                   .own_inputs = own_inputs,
                                   .dates = ANT_NO_COLUMN,
                                   .clock = ANT_NO_COLUMN,
                                   .untimed = true};
    return ant_choice_make(&opts, &file, choice);
}

static void check_choice(const char *columns, const char *inputs, size_t own_inputs, size_t dim,
                         size_t input_dim, const size_t *expected)
{
    ant_choice choice = {0};
    CHECK_OK(make(columns, inputs, own_inputs, &choice));
    assert_int_equal(choice.dim, dim);
    assert_int_equal(choice.input_dim, input_dim);
    assert_memory_equal(choice.columns, expected, (dim + input_dim) * sizeof *expected);
    ant_choice_clear(&choice);
}

static void test_choices(void **state)
{
    (void)state;
    check_choice(NULL, NULL, 0, 5, 0, (const size_t[]){0, 1, 2, 3, 4});
    check_choice(NULL, NULL, 2, 3, 2, (const size_t[]){0, 1, 2, 3, 4});
    check_choice("x", NULL, 0, 1, 0, (const size_t[]){1});
    check_choice("x", NULL, 1, 1, 1, (const size_t[]){1, 4});
    check_choice("wind-speed,x", NULL, 0, 2, 0, (const size_t[]){2, 1});
    check_choice(" 2 , 1 ", NULL, 0, 2, 0, (const size_t[]){1, 0});
    check_choice("1-2,4-5", NULL, 0, 4, 0, (const size_t[]){0, 1, 3, 4});
    check_choice("3", NULL, 0, 1, 0, (const size_t[]){3});  /* a name comes before a number */
    check_choice("x5", NULL, 0, 1, 0, (const size_t[]){4}); /* unnamed columns answer to x and s */
    check_choice("s1", NULL, 1, 1, 0, (const size_t[]){4});
    check_choice(NULL, "x", 0, 4, 1, (const size_t[]){0, 2, 3, 4, 1});
    check_choice(NULL, "2,time", 1, 2, 2, (const size_t[]){2, 3, 1, 0});
    check_choice("1", "2", 0, 1, 1, (const size_t[]){0, 1});
    check_choice("-x", NULL, 0, 4, 0, (const size_t[]){0, 2, 3, 4}); /* all but these */
    check_choice(" -time, -4-5", NULL, 0, 2, 0, (const size_t[]){1, 2});
    check_choice("-wind-speed", "x", 1, 2, 1, (const size_t[]){0, 3, 1});
    check_choice("-\"x\"", NULL, 2, 2, 2, (const size_t[]){0, 2, 3, 4});
}

static void test_faults(void **state)
{
    (void)state;
    ant_choice choice = {0};
    CHECK_FAILS(make("tme", NULL, 0, &choice), ANTLER_ERROR_NOT_FOUND,
                "no column 'tme'; did you mean 'time'? The columns are: time, x, wind-speed, 3, x5");
    CHECK_FAILS(make("pressure", NULL, 0, &choice), ANTLER_ERROR_NOT_FOUND,
                "no column 'pressure'; give a name or a number. The columns are: time, x,");
    CHECK_FAILS(make("6", NULL, 0, &choice), ANTLER_ERROR_ARGUMENT, "the columns are 1 to 5");
    CHECK_FAILS(make("0", NULL, 0, &choice), ANTLER_ERROR_ARGUMENT, "the columns are 1 to 5");
    CHECK_FAILS(make("4-2", NULL, 0, &choice), ANTLER_ERROR_ARGUMENT, "column 4-2");
    CHECK_FAILS(make("2-99999999999999999999999", NULL, 0, &choice), ANTLER_ERROR_ARGUMENT, "1 to 5");
    CHECK_FAILS(make("1-", NULL, 0, &choice), ANTLER_ERROR_NOT_FOUND, "no column '1-'");
    CHECK_FAILS(make("-tme", NULL, 0, &choice), ANTLER_ERROR_NOT_FOUND, "no column 'tme'");
    CHECK_FAILS(make("-x,time", NULL, 0, &choice), ANTLER_ERROR_ARGUMENT, "write '-' before each");
    CHECK_FAILS(make("-1-5", NULL, 0, &choice), ANTLER_ERROR_ARGUMENT, "no variable is left");
    CHECK_FAILS(make("-x", "x", 0, &choice), ANTLER_ERROR_ARGUMENT, "column 2 (x) is chosen twice");
    CHECK_FAILS(make("", NULL, 0, &choice), ANTLER_ERROR_ARGUMENT, "not a list of columns for --columns");
    CHECK_FAILS(make("x,,time", NULL, 0, &choice), ANTLER_ERROR_ARGUMENT, "not a list of columns");
    CHECK_FAILS(make("x,2", NULL, 0, &choice), ANTLER_ERROR_ARGUMENT, "column 2 (x) is chosen twice");
    CHECK_FAILS(make("x", "1-2", 0, &choice), ANTLER_ERROR_ARGUMENT, "column 2 (x) is chosen twice");
    CHECK_FAILS(make(NULL, "1-2,4-5,wind-speed", 0, &choice), ANTLER_ERROR_ARGUMENT, "no variable is left");
    char *const twins[] = {x_name, x_name};
    antler_load_opts opts;
    antler_load_opts_default(&opts);
    opts.columns = "x";
    const ant_file_columns two = {.names = twins, .count = 2, .clock = ANT_NO_COLUMN},
                           many = {.count = (size_t)ANT_SERIES_MAX_DIM + 1};
    CHECK_FAILS(ant_choice_make(&opts, &two, &choice), ANTLER_ERROR_ARGUMENT, "both called 'x'");
    CHECK_FAILS(ant_choice_make(&opts, &many, &choice), ANTLER_ERROR_DATA, "use --transpose");
    assert_null(choice.columns);
}

/* Names with commas are chosen as a whole, or in quotes among others. */
static void test_quotes(void **state)
{
    (void)state;
    static char comma[] = "a,b", quote[] = "say \"c\"", plain[] = "d";
    char *const odd[] = {comma, quote, plain};
    const ant_file_columns file = {
        .names = odd, .count = 3, .dates = ANT_NO_COLUMN, .clock = ANT_NO_COLUMN, .untimed = true};
    static const struct {
        const char *columns;
        size_t dim, first;
    } cases[] = {{"a,b", 1, 0}, {"\"a,b\"", 1, 0}, {"d,\"a,b\"", 2, 2}, {"\"say \"\"c\"\"\",d", 2, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ant_choice choice = {0};
        antler_load_opts opts;
        antler_load_opts_default(&opts);
        opts.columns = cases[i].columns;
        CHECK_OK(ant_choice_make(&opts, &file, &choice));
        assert_int_equal(choice.dim, cases[i].dim);
        assert_int_equal(choice.columns[0], cases[i].first);
        ant_choice_clear(&choice);
    }
}

/* Which column may be the time axis, by which claim, and where it stands. */
static void test_time(void **state)
{
    (void)state;
    static char a[] = "a", t[] = "t", date[] = "date", stamp[] = "timestamp";
    char *const own[] = {a, t, date, stamp};
    static const struct {
        const char *time, *columns;
        size_t dates, place, dim;
        ant_time_claim claim;
    } cases[] = {
        {NULL, NULL, ANT_NO_COLUMN, 2, 4, ANT_TIME_STRONG}, /* the first that means time; a variable as yet */
        {NULL, NULL, 3, 3, 3, ANT_TIME_DATES},              /* dates cannot be a variable */
        {NULL, "a,t", ANT_NO_COLUMN, 2, 2, ANT_TIME_STRONG},
        {NULL, "date,a", ANT_NO_COLUMN, ANT_NO_COLUMN, 2, ANT_TIME_NO_CLAIM},
        {NULL, "-date", ANT_NO_COLUMN, 2, 3, ANT_TIME_STRONG}, /* timestamp */
        {NULL, "-a", 3, 2, 2, ANT_TIME_DATES},
        {"t", NULL, ANT_NO_COLUMN, 3, 3, ANT_TIME_GIVEN},
        {"2", NULL, ANT_NO_COLUMN, 3, 3, ANT_TIME_GIVEN},
        {"none", NULL, ANT_NO_COLUMN, ANT_NO_COLUMN, 4, ANT_TIME_NO_CLAIM}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ant_choice choice = {0};
        antler_load_opts opts;
        antler_load_opts_default(&opts);
        opts.time = cases[i].time;
        opts.columns = cases[i].columns;
        const ant_file_columns file = {
            .names = own, .count = 4, .dates = cases[i].dates, .clock = ANT_NO_COLUMN};
        CHECK_OK(ant_choice_make(&opts, &file, &choice));
        assert_int_equal(choice.time, cases[i].place);
        assert_int_equal(choice.dim, cases[i].dim);
        assert_int_equal(choice.claim, cases[i].claim);
        ant_choice_clear(&choice);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_choices), cmocka_unit_test(test_faults),
                                       cmocka_unit_test(test_quotes), cmocka_unit_test(test_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
