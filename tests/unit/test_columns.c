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
    return ant_choice_make(&opts, names, COUNT, own_inputs, choice);
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
}

static void test_faults(void **state)
{
    (void)state;
    ant_choice choice = {0};
    CHECK_FAILS(make("tme", NULL, 0, &choice), ANTLER_ERROR_NOT_FOUND,
                "no column 'tme'; did you mean 'time'?");
    CHECK_FAILS(make("pressure", NULL, 0, &choice), ANTLER_ERROR_NOT_FOUND, "the file has 5 columns");
    CHECK_FAILS(make("6", NULL, 0, &choice), ANTLER_ERROR_ARGUMENT, "the columns are 1 to 5");
    CHECK_FAILS(make("0", NULL, 0, &choice), ANTLER_ERROR_ARGUMENT, "the columns are 1 to 5");
    CHECK_FAILS(make("4-2", NULL, 0, &choice), ANTLER_ERROR_ARGUMENT, "column 4-2");
    CHECK_FAILS(make("2-99999999999999999999999", NULL, 0, &choice), ANTLER_ERROR_ARGUMENT, "1 to 5");
    CHECK_FAILS(make("1-", NULL, 0, &choice), ANTLER_ERROR_NOT_FOUND, "no column '1-'");
    CHECK_FAILS(make("-1", NULL, 0, &choice), ANTLER_ERROR_NOT_FOUND, "no column '-1'");
    CHECK_FAILS(make("", NULL, 0, &choice), ANTLER_ERROR_ARGUMENT, "not a list of columns for --columns");
    CHECK_FAILS(make("x,,time", NULL, 0, &choice), ANTLER_ERROR_ARGUMENT, "not a list of columns");
    CHECK_FAILS(make("x,2", NULL, 0, &choice), ANTLER_ERROR_ARGUMENT, "column 2 (x) is chosen twice");
    CHECK_FAILS(make("x", "1-2", 0, &choice), ANTLER_ERROR_ARGUMENT, "column 2 (x) is chosen twice");
    CHECK_FAILS(make(NULL, "1-2,4-5,wind-speed", 0, &choice), ANTLER_ERROR_ARGUMENT, "no variable is left");
    char *const twins[] = {x_name, x_name};
    antler_load_opts opts;
    antler_load_opts_default(&opts);
    opts.columns = "x";
    CHECK_FAILS(ant_choice_make(&opts, twins, 2, 0, &choice), ANTLER_ERROR_ARGUMENT, "both called 'x'");
    CHECK_FAILS(ant_choice_make(&opts, NULL, (size_t)ANT_SERIES_MAX_DIM + 1, 0, &choice), ANTLER_ERROR_DATA,
                "use --transpose");
    assert_null(choice.columns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_choices), cmocka_unit_test(test_faults)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
