/* test_view.c - trajectories that stay with the caller: any order and type, and never copied. */
#include "data/series.h"

#include "unit/check.h"

static antler_series *make(size_t dim, size_t input_dim)
{
    antler_series *series = NULL;
    CHECK_OK(antler_series_create(dim, input_dim, &series));
    return series;
}

static antler_view rows_of(const double *values, size_t columns)
{
    return (antler_view){.struct_size = sizeof(antler_view),
                         .values = values,
                         .dtype = "float64",
                         .row_step = (ptrdiff_t)(columns * sizeof *values),
                         .column_step = sizeof *values};
}

static void test_values_stay_with_the_caller(void **state)
{
    (void)state;
    double x[] = {1, 2, 3, 4, 5, 6}, in[] = {7, 8, 9}, read[6], read_in[3];
    const antler_view view = rows_of(x, 2), inputs = rows_of(in, 1);
    antler_series *series = make(2, 1);
    CHECK_OK(antler_series_append_view(series, 3, &view, &inputs));
    assert_ptr_equal(ant_series_part(series, 0)->columns[1].first, &x[1]);
    x[3] = -4.0; /* seen through the view: there is no copy */
    CHECK_OK(antler_series_read_f64(series, 0, 0, 3, read, read_in));
    assert_memory_equal(read, x, sizeof x);
    assert_memory_equal(read_in, in, sizeof in);
    antler_series_free(series);
    assert_true(x[0] == 1.0); /* and the series does not free what it does not own */
}

static void test_any_order_and_type(void **state)
{
    (void)state;
    const float columns[] = {1, 2, 3, 10, 20, 30}; /* column-major: (3, 2) */
    const antler_view fortran = {sizeof(antler_view), columns, "float32", sizeof(float), 3 * sizeof(float)};
    const antler_view backwards = {sizeof(antler_view), columns + 2, "float32", -(ptrdiff_t)sizeof(float),
                                   3 * sizeof(float)};
    const int16_t whole[] = {-1, 5, -2, 6};
    const antler_view integers = {sizeof(antler_view), whole, "int16", 2 * sizeof(int16_t), sizeof(int16_t)};
    antler_series *series = make(2, 0);
    CHECK_OK(antler_series_append_view(series, 3, &fortran, NULL));
    CHECK_OK(antler_series_append_view(series, 3, &backwards, NULL));
    CHECK_OK(antler_series_append_view(series, 2, &integers, NULL));
    assert_string_equal(antler_series_dtype(series, 2), "int16");
    double x[6];
    CHECK_OK(antler_series_read_f64(series, 0, 0, 3, x, NULL));
    assert_true(x[0] == 1 && x[1] == 10 && x[4] == 3 && x[5] == 30);
    CHECK_OK(antler_series_read_f64(series, 1, 0, 3, x, NULL));
    assert_true(x[0] == 3 && x[1] == 30 && x[4] == 1 && x[5] == 10);
    CHECK_OK(antler_series_read_f64(series, 2, 0, 2, x, NULL));
    assert_true(x[0] == -1 && x[1] == 5 && x[2] == -2 && x[3] == 6);
    antler_series_free(series);
}

static void test_refusals(void **state)
{
    (void)state;
    const double x[] = {1, 2, 3, 4};
    antler_view view = rows_of(x, 1);
    antler_series *series = make(1, 1);
    CHECK_FAILS(antler_series_append_view(series, 4, &view, NULL), ANTLER_ERROR_ARGUMENT, "inputs");
    CHECK_FAILS(antler_series_append_view(series, 0, &view, &view), ANTLER_ERROR_ARGUMENT, "row");
    CHECK_FAILS(antler_series_append_view(series, 4, NULL, &view), ANTLER_ERROR_ARGUMENT, "row");
    view.dtype = "complex128";
    CHECK_FAILS(antler_series_append_view(series, 4, &view, &view), ANTLER_ERROR_DATA, "complex128");
    view.dtype = NULL;
    CHECK_FAILS(antler_series_append_view(series, 4, &view, &view), ANTLER_ERROR_ARGUMENT, "type");
    view = rows_of(x, 1);
    view.row_step = 7;
    CHECK_FAILS(antler_series_append_view(series, 2, &view, &view), ANTLER_ERROR_ARGUMENT, "aligned");
    assert_int_equal(antler_series_count(series), 0);
    antler_series_free(series);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_stay_with_the_caller),
        cmocka_unit_test(test_any_order_and_type),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
