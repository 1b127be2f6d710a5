/* test_npy.c - NumPy arrays from memory: every type, order and version, and every refusal. */
#include "data/load.h"
#include "data/npy.h"

#include "unit/check.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROOM = 4096 };

typedef struct file {
    unsigned char bytes[ROOM];
    size_t size;
} file;

/* A file with this dict and these values. */
static file make_file(int version, const char *dict, const void *values, size_t bytes)
{
    file f = {0};
    const size_t length = strlen(dict), prefix = version == 1 ? 10 : 12;
    memcpy(f.bytes, "\x93NUMPY", 6);
    f.bytes[6] = (unsigned char)version;
    for (size_t i = 8; i < prefix; i++)
        f.bytes[i] = (unsigned char)(length >> (8 * (i - 8)));
    memcpy(f.bytes + prefix, dict, length);
    if (bytes > 0)
        memcpy(f.bytes + prefix + length, values, bytes);
    f.size = prefix + length + bytes;
    return f;
}

static antler_status load(const file *f, size_t size, bool transpose, antler_series **series)
{
    ant_source source;
    antler_load_opts opts;
    antler_load_opts_default(&opts);
    opts.transpose = transpose;
    *series = NULL;
    ant_source_open_memory(&source, f->bytes, size);
    const antler_status status = ant_load_npy(&source, &opts, "test", series);
    if (status != ANTLER_OK) {
        antler_series_free(*series);
        *series = NULL;
    }
    return status;
}

static void check_refused(const char *dict, const void *values, size_t bytes, const char *fragment)
{
    const file f = make_file(1, dict, values, bytes);
    antler_series *series;
    CHECK_FAILS(load(&f, f.size, false, &series), ANTLER_ERROR_FORMAT, fragment);
}

/* The numbers 0 .. 5 as each type, in both byte orders. */
static void test_types(void **state)
{
    (void)state;
    static const struct {
        const char *letter, *name;
        size_t size;
    } types[] = {{"f8", "float64", 8}, {"f4", "float32", 4}, {"i1", "int8", 1},  {"i2", "int16", 2},
                 {"i4", "int32", 4},   {"i8", "int64", 8},   {"u1", "uint8", 1}, {"u2", "uint16", 2},
                 {"u4", "uint32", 4},  {"u8", "uint64", 8},  {"b1", "bool", 1}};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int big = 0; big < 2; big++)
            for (int version = 1; version <= 3; version++) {
                unsigned char values[6 * 8];
                for (size_t i = 0; i < 6; i++) {
                    const double d = (double)i;
                    const float s = (float)i;
                    const int64_t n = (int64_t)i; /* little-endian integers share their low bytes */
                    const void *from = types[t].letter[0] != 'f' ? (const void *)&n
                                       : types[t].size == 8      ? (const void *)&d
                                                                 : (const void *)&s;
                    memcpy(values + i * types[t].size, from, types[t].size);
                    if ((big != 0) == ant_machine_is_little_endian())
                        ant_swap_bytes(values + i * types[t].size, 1, types[t].size);
                }
                char dict[128];
                snprintf(dict, sizeof dict, "{'shape': (3, 2), 'descr': '%c%s', 'fortran_order': False}\n",
                         big ? '>' : '<', types[t].letter);
                const file f = make_file(version, dict, values, 6 * types[t].size);
                antler_series *series;
                double x[6];
                CHECK_OK(load(&f, f.size, false, &series));
                assert_string_equal(antler_series_dtype(series, 0), types[t].name);
                CHECK_OK(antler_series_read_f64(series, 0, 0, 3, x, NULL));
                for (size_t i = 0; i < 6; i++)
                    assert_true(x[i] == (double)i);
                antler_series_free(series);
            }
}

/* Values v[k][t][c] = 100 k + 10 t + c in C and Fortran order, straight and transposed. */
static void test_orders(void **state)
{
    (void)state;
    enum { COUNT = 2, T = 5, C = 3 };
    for (int rank = 2; rank <= 3; rank++)
        for (int fortran = 0; fortran < 2; fortran++)
            for (int transpose = 0; transpose < 2; transpose++) {
                const size_t count = rank == 3 ? COUNT : 1, rows = transpose ? C : T,
                             cols = transpose ? T : C;
                int32_t values[COUNT * T * C];
                for (size_t k = 0; k < count; k++)
                    for (size_t r = 0; r < rows; r++)
                        for (size_t c = 0; c < cols; c++) {
                            const size_t t = transpose ? c : r, v = transpose ? r : c;
                            const size_t at =
                                fortran ? k + count * (r + rows * c) : (k * rows + r) * cols + c;
                            values[at] = (int32_t)(100 * k + 10 * t + v);
                        }
                char dict[128];
                if (rank == 3)
                    snprintf(dict, sizeof dict, "{'descr':'<i4','fortran_order':%s,'shape':(%zu,%zu,%zu)}",
                             fortran ? "True" : "False", count, rows, cols);
                else
                    snprintf(dict, sizeof dict, "{'descr':'<i4','fortran_order':%s,'shape':(%zu,%zu)}",
                             fortran ? "True" : "False", rows, cols);
                const file f = make_file(1, dict, values, sizeof *values * count * T * C);
                antler_series *series;
                CHECK_OK(load(&f, f.size, transpose != 0, &series));
                assert_int_equal(antler_series_count(series), count);
                assert_int_equal(antler_series_dim(series), C);
                for (size_t k = 0; k < count; k++) {
                    double x[T * C];
                    assert_int_equal(antler_series_length(series, k), T);
                    CHECK_OK(antler_series_read_f64(series, k, 0, T, x, NULL));
                    for (size_t i = 0; i < T * C; i++)
                        assert_true(x[i] == (double)(100 * k + 10 * (i / C) + i % C));
                }
                antler_series_free(series);
            }
}

static void test_one_axis(void **state)
{
    (void)state;
    const double values[] = {1, 2, 3};
    const file f =
        make_file(1, "{'descr': '<f8', 'fortran_order': True, 'shape': (3,), }   \n", values, sizeof values);
    for (int transpose = 0; transpose < 2; transpose++) {
        antler_series *series;
        CHECK_OK(load(&f, f.size, transpose != 0, &series));
        assert_int_equal(antler_series_dim(series), 1);
        assert_int_equal(antler_series_length(series, 0), 3);
        antler_series_free(series);
    }
}

static void test_dicts_that_are_read(void **state)
{
    (void)state;
    static const char *const dicts[] = {
        "{'descr':'<f8','fortran_order':False,'shape':(2,)}",
        "  {  \"shape\" : ( 2 , ) , 'fortran_order' : False , 'descr' : \"<f8\" , }  \n",
        "{'descr': 'f8', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '=f8', 'fortran_order': False, 'shape': (2)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2L, 1L)}",
        "{\n'descr': '<f8',\n'fortran_order': False,\t'shape': (1, 2, 1)\n}",
    };
    const double values[] = {1, 2};
    for (size_t i = 0; i < sizeof dicts / sizeof *dicts; i++) {
        const file f = make_file(1, dicts[i], values, sizeof values);
        antler_series *series;
        CHECK_OK(load(&f, f.size, false, &series));
        antler_series_free(series);
    }
}

static void test_dicts_that_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *dict, *fragment;
    } cases[] = {
        {"", "at character 1 ('{' was expected"},
        {"[1]", "'{' was expected"},
        {"{'descr'", "a colon was expected"},
        {"{'descr': '<f8'", "a comma or '}' was expected"},
        {"{'descr': '<f8", "a closing quote"},
        {"{'descr': '<f8', 'shape': (2,)}", "lacks 'fortran_order'"},
        {"{'fortran_order': False, 'shape': (2,)}", "lacks 'descr'"},
        {"{'descr': '<f8', 'fortran_order': False}", "lacks 'shape'"},
        {"{}", "lacks 'descr'"},
        {"{'descr': '<f8', 'descr': '<f8'}", "gives 'descr' twice"},
        {"{'kind': 1}", "one of the keys"},
        {"{'descr': '<f8', 'fortran_order': 0, 'shape': (2,)}", "True or False"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': 2}", "the shape in brackets"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2;)}", "a comma or a closing bracket"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (two,)}", "a number was expected"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (-2,)}", "a negative length"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2,)} x", "nothing more was expected"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999999,)}",
         "no machine can hold"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
         "more values than any"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693952,)}", "more values than any"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000000,)}", "bytes are missing"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': ()}", "a single number (0 axes)"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 1, 2)}", "has 4 axes"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1)}", "has 10 axes"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (0,)}", "the array is empty"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (5, 0)}", "the array is empty"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", "Python objects (a pickle)"},
        {"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,)}", "a structured type"},
        {"{'descr': [('a', [('b', '<f8')])], 'fortran_order': False, 'shape': (2,)}", "a structured type"},
        {"{'descr': '|V8', 'fortran_order': False, 'shape': (2,)}", "a structured type"},
        {"{'descr': '<c16', 'fortran_order': False, 'shape': (1,)}", "complex numbers"},
        {"{'descr': '<f2', 'fortran_order': False, 'shape': (8,)}", "half-precision"},
        {"{'descr': '<f16', 'fortran_order': False, 'shape': (1,)}", "long doubles"},
        {"{'descr': '<U4', 'fortran_order': False, 'shape': (1,)}", "holds text"},
        {"{'descr': '|S8', 'fortran_order': False, 'shape': (2,)}", "holds text"},
        {"{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (2,)}", "dates or time spans"},
        {"{'descr': '<m8[s]', 'fortran_order': False, 'shape': (2,)}", "dates or time spans"},
        {"{'descr': '<q8', 'fortran_order': False, 'shape': (2,)}", "type '<q8' is not known"},
        {"{'descr': '<f3', 'fortran_order': False, 'shape': (2,)}", "type '<f3' is not known"},
        {"{'descr': '<f8x', 'fortran_order': False, 'shape': (2,)}", "type '<f8x' is not known"},
        {"{'descr': '', 'fortran_order': False, 'shape': (2,)}", "type '' is not known"},
        {"{'descr': [[[[[[[[[[[[[[[[[[[[", "a simpler type"},
        {"{'descr': [('a', '<f8'", "a closing bracket"},
    };
    const double values[] = {1, 2};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_refused(cases[i].dict, values, sizeof values, cases[i].fragment);
}

/* Every shorter file is refused; so is a longer one. */
static void test_every_truncation(void **state)
{
    (void)state;
    const double values[] = {1, 2, 3, 4};
    for (int version = 1; version <= 2; version++) {
        file f = make_file(version, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2)}", values,
                           sizeof values);
        antler_series *series;
        for (size_t size = 0; size < f.size; size++)
            CHECK_FAILS(load(&f, size, false, &series), ANTLER_ERROR_FORMAT,
                        size == 0 ? "empty" : "truncated");
        CHECK_FAILS(load(&f, f.size - 5, false, &series), ANTLER_ERROR_FORMAT,
                    "within its values, 5 bytes are");
        CHECK_FAILS(load(&f, f.size + 3, false, &series), ANTLER_ERROR_FORMAT,
                    "3 bytes follow after the end");
        CHECK_OK(load(&f, f.size, false, &series));
        antler_series_free(series);
        f.bytes[7] = 1;
        CHECK_FAILS(load(&f, f.size, false, &series), ANTLER_ERROR_FORMAT, "of version");
        f.bytes[0] = 'X';
        CHECK_FAILS(load(&f, f.size, false, &series), ANTLER_ERROR_FORMAT, "does not begin with");
    }
    file f = make_file(2, "{}", values, sizeof values);
    f.bytes[11] = 0x7f; /* a header of 2 GB */
    antler_series *series;
    CHECK_FAILS(load(&f, f.size, false, &series), ANTLER_ERROR_FORMAT,
                "truncated: it ends within its header");
}

/* What is written is what NumPy writes. */
static void test_written_header(void **state)
{
    (void)state;
    char out[ANT_NPY_WRITTEN_MAX];
    const size_t shape[] = {2, 1000000, 3};
    static const char *const expected[] = {
        "{'descr': '<f8', 'fortran_order': False, 'shape': (), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 1000000), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 1000000, 3), }",
    };
    for (size_t rank = 0; rank < 4; rank++) {
        const size_t bytes = ant_npy_format_header("<f8", rank, shape, out);
        assert_int_equal(bytes % 64, 0);
        assert_memory_equal(out, "\x93NUMPY\x01\x00", 8);
        assert_int_equal((unsigned char)out[8] + 256 * (unsigned char)out[9], bytes - 10);
        assert_memory_equal(out + 10, expected[rank], strlen(expected[rank]));
        assert_int_equal(out[bytes - 1], '\n');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_one_axis),
        cmocka_unit_test(test_dicts_that_are_read),
        cmocka_unit_test(test_dicts_that_are_refused),
        cmocka_unit_test(test_every_truncation),
        cmocka_unit_test(test_written_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
