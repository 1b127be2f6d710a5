/* test_npz.c - archives: Antler's convention, foreign ones, and damage. */
#include "data/npy.h"
#include "data/npz.h"

#include "unit/folder.h"

#include <zip.h>

enum { ROOM = 1024 };

typedef struct item {
    const char *name; /* of the member */
    char bytes[ROOM];
    size_t size;
} item;

/* values: doubles or, for a descr of text, bytes */
static item make(const char *name, const char *descr, size_t rank, const size_t *shape, const void *values,
                 size_t bytes)
{
    item made = {.name = name};
    const size_t header = ant_npy_format_header(descr, rank, shape, made.bytes);
    memcpy(made.bytes + header, values, bytes);
    made.size = header + bytes;
    return made;
}

static const double numbers[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

static item table(const char *name, size_t rows, size_t columns)
{
    return make(name, "<f8", 2, (const size_t[]){rows, columns}, numbers, rows * columns * sizeof *numbers);
}

static item list(const char *name, size_t count)
{
    return make(name, "<f8", 1, &count, numbers, count * sizeof *numbers);
}

static item number(const char *name, double value)
{
    return make(name, "<f8", 0, NULL, &value, sizeof value);
}

static void write_archive(const char *path, const item *items, size_t count, zip_int32_t method)
{
    int code = 0;
    zip_t *archive = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);
    assert_non_null(archive);
    for (size_t i = 0; i < count; i++) {
        zip_source_t *source = zip_source_buffer(archive, items[i].bytes, items[i].size, 0);
        const zip_int64_t index = zip_file_add(archive, items[i].name, source, 0);
        assert_true(index >= 0);
        assert_int_equal(zip_set_file_compression(archive, (zip_uint64_t)index, method, 0), 0);
    }
    assert_int_equal(zip_close(archive), 0);
}

static antler_status load(antler_series **series)
{
    const char *path = "a.npz";
    *series = NULL;
    return antler_series_load(&path, 1, NULL, series);
}

static void check_refused(const item *items, size_t count, antler_status status, const char *fragment)
{
    antler_series *series;
    write_archive("a.npz", items, count, ZIP_CM_STORE);
    CHECK_FAILS(load(&series), status, fragment);
    assert_null(series);
}

static void test_convention(void **state)
{
    (void)state;
    const uint32_t text[] = {'u', 0, 0xe9, 'b'}; /* "u" and "éb" */
    const item items[] = {table("x_000.npy", 3, 2),
                          table("x_001.npy", 2, 2),
                          table("s_000.npy", 3, 1),
                          list("s_001.npy", 2),
                          make("names.npy", "<U2", 1, (const size_t[]){2}, text, sizeof text),
                          make("input_names.npy", "|S4", 1, (const size_t[]){1}, "flow", 4),
                          number("dt.npy", 0.25),
                          list("mean.npy", 2),
                          list("scale.npy", 2),
                          table("other.npy", 1, 7)};
    for (int deflate = 0; deflate < 2; deflate++) {
        antler_series *series;
        double x[6], in[3], mean[2], scale[2];
        write_archive("a.npz", items, sizeof items / sizeof *items, deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE);
        CHECK_OK(load(&series));
        assert_int_equal(antler_series_count(series), 2);
        assert_int_equal(antler_series_dim(series), 2);
        assert_int_equal(antler_series_input_dim(series), 1);
        assert_string_equal(antler_series_name(series, 0), "u");
        assert_string_equal(antler_series_name(series, 1), "éb");
        assert_string_equal(antler_series_name(series, 2), "flow");
        assert_string_equal(antler_series_origin(series, 1), "a.npz:x_001");
        assert_true(antler_series_dt(series) == 0.25);
        assert_true(antler_series_scaling(series, mean, scale));
        assert_true(mean[1] == 2 && scale[0] == 1);
        CHECK_OK(antler_series_read_f64(series, 0, 0, 3, x, in));
        assert_memory_equal(x, numbers, sizeof x);
        assert_memory_equal(in, numbers, sizeof in);
        CHECK_OK(antler_series_read_f64(series, 1, 1, 1, x, in));
        assert_true(x[0] == 3 && x[1] == 4 && in[0] == 2);
        antler_series_free(series);
    }
}

static void test_foreign(void **state)
{
    (void)state;
    antler_series *series;
    const item items[] = {table("run_b1.npy", 3, 2),
                          table("run_b2.npy", 4, 2),
                          number("dt.npy", 0.5),
                          number("sigma.npy", 10),
                          make("title.npy", "|S4", 0, NULL, "abcd", 4),
                          make("days.npy", "<M8[D]", 1, (const size_t[]){1}, numbers, 8),
                          {.name = "README.txt", .bytes = "hello", .size = 5}};
    write_archive("a.npz", items, sizeof items / sizeof *items, ZIP_CM_DEFLATE);
    CHECK_OK(load(&series));
    assert_int_equal(antler_series_count(series), 2);
    assert_string_equal(antler_series_origin(series, 0), "a.npz:run_b1");
    assert_int_equal(antler_series_length(series, 1), 4);
    assert_true(antler_series_dt(series) == 0.5);
    assert_false(antler_series_scaling(series, NULL, NULL));
    antler_series_free(series);

    antler_file_info info;
    CHECK_OK(antler_file_inspect("a.npz", &info));
    assert_int_equal(info.array_count, 6);
    assert_string_equal(info.format, "NumPy archive (npz)");
    assert_string_equal(info.arrays[0].key, "run_b1");
    assert_int_equal(info.arrays[0].shape[1], 2);
    assert_string_equal(info.arrays[4].dtype, "bytes");
    assert_string_equal(info.arrays[5].dtype, "datetime64");
    antler_file_info_clear(&info);
}

/* The option `key`: one array, several, a glob; names that are not there are listed. */
static void test_key(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        size_t count, rows;
    } cases[] = {{"train", 1, 4}, {"test", 1, 3}, {"train,test", 2, 7}, {"t*", 2, 7}};
    const item items[] = {table("train.npy", 4, 2), table("test.npy", 3, 2), table("other.npy", 2, 3)};
    const char *path = "a.npz";
    antler_series *series;
    antler_load_opts opts;
    antler_load_opts_default(&opts);
    write_archive("a.npz", items, sizeof items / sizeof *items, ZIP_CM_DEFLATE);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        opts.key = cases[i].key;
        CHECK_OK(antler_series_load(&path, 1, &opts, &series));
        assert_int_equal(antler_series_count(series), cases[i].count);
        assert_int_equal(antler_series_total_length(series), cases[i].rows);
        antler_series_free(series);
    }
    opts.key = "tran";
    CHECK_FAILS(antler_series_load(&path, 1, &opts, &series), ANTLER_ERROR_NOT_FOUND,
                "no array 'tran'; the arrays are: train, test, other");
}

#define REFUSE(status, fragment, ...)                                                                        \
    do {                                                                                                     \
        const item refused[] = {__VA_ARGS__};                                                                \
        check_refused(refused, sizeof refused / sizeof *refused, status, fragment);                          \
    } while (0)

static void test_refusals(void **state)
{
    (void)state;
    const uint32_t text[] = {'a', 'b'};
    const uint32_t bad_text[] = {'a', '\n', 0x110000, 0};
    REFUSE(ANTLER_ERROR_DATA, "array a2: has 3 variables, but a.npz:a1 has 2", table("a1.npy", 3, 2),
           table("a2.npy", 3, 3));
    REFUSE(ANTLER_ERROR_DATA,
           "holds the arrays train, test; choose those to take with --key, as in --key train",
           table("train.npy", 3, 2), table("test.npy", 3, 2));
    REFUSE(ANTLER_ERROR_DATA, "as in --key a?b", table("a\nb.npy", 3, 2), table("test.npy", 3, 2));
    REFUSE(ANTLER_ERROR_FORMAT, "array time: must have one time for each of the 3 rows", table("x.npy", 3, 2),
           list("time.npy", 2));
    REFUSE(ANTLER_ERROR_FORMAT, "array x_001: the array is a single number", table("x_000.npy", 3, 2),
           number("x_001.npy", 1));
    REFUSE(ANTLER_ERROR_FORMAT, "array s: these inputs have no trajectory x", table("x_0.npy", 3, 2),
           table("s.npy", 3, 2));
    REFUSE(ANTLER_ERROR_FORMAT, "inputs have 2 rows, but the trajectory has 3", table("x.npy", 3, 2),
           table("s.npy", 2, 1));
    REFUSE(ANTLER_ERROR_DATA, "has 0 inputs, but a.npz:x_0 has 1", table("x_0.npy", 3, 2),
           table("s_0.npy", 3, 1), table("x_1.npy", 3, 2));
    REFUSE(ANTLER_ERROR_FORMAT, "names has 2 entries, but there are 3 variables", table("x.npy", 3, 3),
           make("names.npy", "<U1", 1, (const size_t[]){2}, text, 8));
    REFUSE(ANTLER_ERROR_FORMAT, "array names: holds a name with control", table("x.npy", 3, 2),
           make("names.npy", "<U1", 1, (const size_t[]){2}, bad_text, 8));
    REFUSE(ANTLER_ERROR_FORMAT, "array names: holds a name with control", table("x.npy", 3, 2),
           make("names.npy", "<U1", 1, (const size_t[]){2}, bad_text + 2, 8));
    REFUSE(ANTLER_ERROR_FORMAT, "array names: must be a list of text", table("x.npy", 3, 2),
           list("names.npy", 2));
    REFUSE(ANTLER_ERROR_FORMAT, "only one of the arrays mean and scale", table("x.npy", 3, 2),
           list("mean.npy", 2));
    REFUSE(ANTLER_ERROR_FORMAT, "mean has 3 entries, but there are 2", table("x.npy", 3, 2),
           list("mean.npy", 3), list("scale.npy", 3));
    REFUSE(ANTLER_ERROR_FORMAT, "array mean: must be a plain list", table("x.npy", 3, 2),
           table("mean.npy", 1, 2), list("scale.npy", 2));
    REFUSE(ANTLER_ERROR_FORMAT, "array dt: must be one positive number", table("x.npy", 3, 2),
           number("dt.npy", -1));
    REFUSE(ANTLER_ERROR_FORMAT, "array dt: must be one positive number", table("x.npy", 3, 2),
           list("dt.npy", 2));
    REFUSE(ANTLER_ERROR_FORMAT, "holds no array of numbers", number("dt.npy", 1));
    REFUSE(ANTLER_ERROR_FORMAT, "without any array", {.name = "a.txt", .bytes = "x", .size = 1});
    REFUSE(ANTLER_ERROR_FORMAT, "array a: the array holds Python objects",
           make("a.npy", "|O", 1, (const size_t[]){1}, "\x80\x04N.", 4));
    REFUSE(ANTLER_ERROR_FORMAT, "array a: is not a NumPy array",
           {.name = "a.npy", .bytes = "hello", .size = 5});
    REFUSE(ANTLER_ERROR_FORMAT, "array a: is empty", {.name = "a.npy"});
    item cut = table("a.npy", 3, 2);
    cut.size -= 5;
    REFUSE(ANTLER_ERROR_FORMAT, "array a: the array is truncated: it ends within its values, 5 bytes", cut);
    item more = table("a.npy", 3, 2);
    more.size += 5;
    REFUSE(ANTLER_ERROR_FORMAT, "array a: 5 bytes follow after the end", more);
}

/* A shape that claims far more than the member holds takes no memory. */
static void test_claims(void **state)
{
    (void)state;
    item huge = make("a.npy", "<f8", 2, (const size_t[]){(size_t)1 << 50, 3}, numbers, sizeof numbers);
    check_refused(&huge, 1, ANTLER_ERROR_FORMAT, "array a: the array is truncated");
}

/* One or two tables of 50 zeros: 400 bytes each, and about half of that in a compressed archive. */
static antler_status load_zeros(zip_int32_t method, size_t tables, uint64_t max_bytes)
{
    static const double zeros[50];
    const size_t shape[] = {25, 2};
    const item items[] = {make("x_000.npy", "<f8", 2, shape, zeros, sizeof zeros),
                          make("x_001.npy", "<f8", 2, shape, zeros, sizeof zeros)};
    write_archive("a.npz", items, tables, method);
    antler_load_opts opts;
    antler_load_opts_default(&opts);
    opts.max_bytes = max_bytes;
    const char *path = "a.npz";
    antler_series *series = NULL;
    const antler_status status = antler_series_load(&path, 1, &opts, &series);
    antler_series_free(series);
    return status;
}

/* An archive may take its own size in memory and max_bytes more, all its arrays together. */
static void test_limit(void **state)
{
    (void)state;
    CHECK_FAILS(load_zeros(ZIP_CM_DEFLATE, 1, 1), ANTLER_ERROR_DATA, "raise --max-bytes");
    assert_non_null(strstr(antler_message(), "array x_000: takes 400 bytes in memory"));
    CHECK_OK(load_zeros(ZIP_CM_DEFLATE, 1, 300));
    CHECK_FAILS(load_zeros(ZIP_CM_DEFLATE, 2, 300), ANTLER_ERROR_DATA, "array x_001: takes 400 bytes");
    CHECK_OK(load_zeros(ZIP_CM_DEFLATE, 2, 600));
    CHECK_OK(load_zeros(ZIP_CM_DEFLATE, 2, 0));
    CHECK_OK(load_zeros(ZIP_CM_DEFLATE, 2, UINT64_MAX));
    CHECK_OK(load_zeros(ZIP_CM_STORE, 2, 1)); /* as large on disk as in memory */
}

/* No truncated archive is accepted, and none crashes. */
static void test_every_truncation(void **state)
{
    (void)state;
    const item items[] = {table("x.npy", 3, 2), number("dt.npy", 0.25)};
    write_archive("a.npz", items, 2, ZIP_CM_DEFLATE);
    char bytes[4 * ROOM];
    FILE *file = fopen("a.npz", "rb");
    assert_non_null(file);
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    for (size_t kept = 0; kept < size; kept++) {
        antler_series *series;
        folder_write("a.npz", bytes, kept);
        CHECK_FAILS(load(&series), ANTLER_ERROR_FORMAT, "a.npz: ");
        assert_null(series);
    }
}

/* A changed byte is either harmless (a date, say) or refused; a changed value never passes. */
static void test_every_changed_byte(void **state)
{
    (void)state;
    const item items[] = {table("x.npy", 3, 2)};
    write_archive("a.npz", items, 1, ZIP_CM_STORE);
    char bytes[4 * ROOM];
    FILE *file = fopen("a.npz", "rb");
    assert_non_null(file);
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    for (size_t at = 0; at < size; at++) {
        antler_series *series;
        bytes[at] = (char)~bytes[at];
        folder_write("a.npz", bytes, size);
        bytes[at] = (char)~bytes[at];
        if (load(&series) != ANTLER_OK)
            continue;
        double x[6];
        assert_int_equal(antler_series_total_length(series), 3);
        CHECK_OK(antler_series_read_f64(series, 0, 0, 3, x, NULL));
        assert_memory_equal(x, numbers, sizeof x);
        antler_series_free(series);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_convention),
        cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_key),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_claims),
        cmocka_unit_test(test_every_truncation),
        cmocka_unit_test(test_every_changed_byte),
        cmocka_unit_test(test_limit),
    };
    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
