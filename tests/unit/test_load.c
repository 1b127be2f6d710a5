/* test_load.c - files on disk: patterns, several files, saving and loading again, a full disk, memory. */
#include "base/random.h"
#include "data/npy.h"
#include "data/series.h"

#include "unit/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static antler_status load(const char *path, antler_series **series)
{
    *series = NULL;
    return antler_series_load(&path, 1, NULL, series);
}

static void check_refused(const char *path, antler_status status, const char *fragment)
{
    antler_series *series;
    CHECK_FAILS(load(path, &series), status, fragment);
    assert_null(series);
    assert_memory_equal(antler_message(), path, strlen(path)); /* the name comes first */
}

/* Awkward doubles and names, with inputs, dt and scaling. */
static antler_series *make_series(size_t count, size_t dim, size_t input_dim, bool equal_lengths)
{
    antler_series *series = NULL;
    ant_stream stream = ant_stream_open(count, (uint32_t)dim, 0, ANT_PURPOSE_OBSERVATION_NOISE);
    CHECK_OK(antler_series_create(dim, input_dim, &series));
    for (size_t k = 0; k < count; k++) {
        const size_t length = equal_lengths ? 1200 : 1200 + 37 * k;
        double *x = malloc(length * dim * sizeof *x), *in = malloc((length * input_dim + 1) * sizeof *in);
        for (size_t i = 0; i < length * dim; i++)
            do {
                const uint64_t bits = ant_stream_u64(&stream);
                memcpy(&x[i], &bits, sizeof x[i]);
            } while (!isfinite(x[i]));
        ant_stream_normals(&stream, in, length * input_dim);
        x[0] = -0.0;
        CHECK_OK(antler_series_append(series, length, x, in));
        free(x);
        free(in);
    }
    return series;
}

static void check_same(const antler_series *a, const antler_series *b, bool labels)
{
    const size_t dim = antler_series_dim(a), input_dim = antler_series_input_dim(a);
    assert_int_equal(antler_series_count(a), antler_series_count(b));
    assert_int_equal(dim, antler_series_dim(b));
    assert_int_equal(input_dim, antler_series_input_dim(b));
    for (size_t k = 0; k < antler_series_count(a); k++) {
        const size_t length = antler_series_length(a, k), bytes = length * (dim + input_dim) * sizeof(double);
        assert_int_equal(length, antler_series_length(b, k));
        double *xa = malloc(bytes), *xb = malloc(bytes);
        CHECK_OK(antler_series_read_f64(a, k, 0, length, xa, xa + length * dim));
        CHECK_OK(antler_series_read_f64(b, k, 0, length, xb, xb + length * dim));
        assert_memory_equal(xa, xb, bytes);
        free(xa);
        free(xb);
    }
    if (!labels)
        return;
    double mean_a[8], scale_a[8], mean_b[8], scale_b[8];
    for (size_t v = 0; v < dim + input_dim; v++)
        assert_string_equal(antler_series_name(a, v), antler_series_name(b, v));
    assert_true(antler_series_dt(a) == antler_series_dt(b));
    assert_int_equal(antler_series_scaling(a, mean_a, scale_a), antler_series_scaling(b, mean_b, scale_b));
    if (antler_series_scaling(a, NULL, NULL)) {
        assert_memory_equal(mean_a, mean_b, dim * sizeof *mean_a);
        assert_memory_equal(scale_a, scale_b, dim * sizeof *scale_a);
    }
}

static void round_trip(const antler_series *series, const char *path, bool labels)
{
    antler_series *back;
    CHECK_OK(antler_series_save(series, path));
    CHECK_OK(load(path, &back));
    check_same(series, back, labels);
    antler_series_free(back);
}

static void test_round_trips(void **state)
{
    (void)state;
    antler_series *one = make_series(1, 3, 0, true);
    round_trip(one, "one.npy", true);
    round_trip(one, "one.npz", true);
    round_trip(one, "one.csv", true);
    round_trip(one, "one.TSV", true);
    const double mean[] = {0.1, -1e300, 1e-300}, scale[] = {1.0 / 3.0, 1e10, 5e-7};
    CHECK_OK(antler_series_set_dt(one, 0.1));
    CHECK_OK(antler_series_set_name(one, 0, "1.5"));
    CHECK_OK(antler_series_set_name(one, 1, " a, \"b\"; #c"));
    CHECK_OK(antler_series_set_name(one, 2, "température ²"));
    CHECK_OK(antler_series_apply_scaling(one, mean, scale));
    round_trip(one, "one.npy", false);
    round_trip(one, "one.npz", true);
    antler_series_free(one);

    antler_series *inputs = make_series(1, 2, 3, true);
    CHECK_OK(antler_series_set_name(inputs, 0, "7"));
    CHECK_OK(antler_series_set_name(inputs, 1, "nan"));
    CHECK_OK(antler_series_set_name(inputs, 4, "\"quoted\""));
    CHECK_OK(antler_series_set_dt(inputs, 1e-3));
    round_trip(inputs, "inputs.npz", true);
    round_trip(inputs, "inputs.csv", true);
    CHECK_FAILS(antler_series_save(inputs, "inputs.npy"), ANTLER_ERROR_ARGUMENT, "no room for inputs");
    antler_series_free(inputs);

    antler_series *many = make_series(5, 2, 1, false);
    round_trip(many, "many.npz", true);
    CHECK_FAILS(antler_series_save(many, "many.csv"), ANTLER_ERROR_ARGUMENT, "holds one trajectory");
    antler_series_free(many);
    many = make_series(5, 2, 0, false);
    CHECK_FAILS(antler_series_save(many, "many.npy"), ANTLER_ERROR_ARGUMENT, "differ in length");
    antler_series_free(many);
    many = make_series(4, 2, 0, true);
    round_trip(many, "cube.npy", true);
    CHECK_FAILS(antler_series_save(many, "cube.xls"), ANTLER_ERROR_ARGUMENT, "use .npz, .npy");
    CHECK_FAILS(antler_series_save(many, "none/cube.npz"), ANTLER_ERROR_NOT_FOUND, "folder does not exist");
    antler_series_free(many);
}

/* Numbers are written with a point and a scaling with all its digits, so text keeps them too. */
static void test_scaled_text(void **state)
{
    (void)state;
    antler_series *series = NULL, *back;
    const double x[] = {0.1, 0.2, 0.7, -3.3, 1e-5, 12345.678};
    CHECK_OK(antler_series_create(2, 0, &series));
    CHECK_OK(antler_series_append(series, 3, x, NULL));
    CHECK_OK(antler_series_standardise(series));
    CHECK_OK(antler_series_save(series, "scaled.csv"));
    CHECK_OK(load("scaled.csv", &back));
    check_same(series, back, true);
    antler_series_free(back);
    antler_series_free(series);
}

/* The facts of a table are in a JSON file beside it, which must fit the table; those of others are ignored.
 */
static void test_facts_beside(void **state)
{
    (void)state;
    const struct {
        const char *facts, *message; /* NULL: it is read */
    } cases[] = {
        {"{\"antler_table\": 1, \"bytes\": 12, \"dt\": 0.5}", NULL},
        {"{\"antler_table\": 1, \"bytes\": 12, \"mean\": [1, 2], \"scale\": [3.5, 4], \"inputs\": 0}", NULL},
        {"{\"antler_table\": 1, \"bytes\": 12, \"inputs\": 1}", NULL},
        {"[1, 2]", NULL},
        {"no JSON", NULL},
        {"{\"table\": 1, \"bytes\": 3}", NULL},
        {"{\"antler_table\": 2, \"bytes\": 12}", "version 2, and this Antler reads 1"},
        {"{\"antler_table\": 1, \"bytes\": 13}", "has 12 bytes, and the .json file beside it"},
        {"{\"antler_table\": 1}", "it was changed since"},
        {"{\"antler_table\": 1, \"bytes\": 12, \"dt\": -1}", "\"dt\" in the .json file beside it"},
        {"{\"antler_table\": 1, \"bytes\": 12, \"dt\": \"fast\"}", "\"dt\" in the .json file"},
        {"{\"antler_table\": 1, \"bytes\": 12, \"mean\": [1, null], \"scale\": [1, 1]}", "\"mean\" in"},
        {"{\"antler_table\": 1, \"bytes\": 12, \"mean\": [1, 2], \"scale\": [1, 0]}", "\"scale\" in"},
        {"{\"antler_table\": 1, \"bytes\": 12, \"mean\": [1], \"scale\": [1]}", "1 means and 1 scales"},
        {"{\"antler_table\": 1, \"bytes\": 12, \"inputs\": 1e18}", "\"inputs\" in"},
        {"{\"antler_table\": 1, \"bytes\": 12, \"inputs\": 2}", "2 columns are inputs"},
    };
    folder_write_text("f.csv", "x,y\n1,2\n3,4\n");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        antler_series *series = NULL;
        folder_write_text("f.csv.json", cases[i].facts);
        if (cases[i].message != NULL) {
            CHECK_FAILS(load("f.csv", &series), ANTLER_ERROR_FORMAT, cases[i].message);
            continue;
        }
        CHECK_OK(load("f.csv", &series));
        double mean[2] = {0.0, 0.0}, scale[2] = {0.0, 0.0};
        assert_true(antler_series_dt(series) == (i == 0 ? 0.5 : 0.0));
        assert_int_equal(antler_series_scaling(series, mean, scale), i == 1);
        assert_true(scale[0] == (i == 1 ? 3.5 : 0.0));
        assert_int_equal(antler_series_input_dim(series), i == 2);
        antler_series_free(series);
    }
}

/* Same series, same bytes. */
static void test_same_bytes(void **state)
{
    (void)state;
    antler_series *series = make_series(2, 2, 1, false);
    CHECK_OK(antler_series_save(series, "a.npz"));
    CHECK_OK(antler_series_save(series, "b.npz"));
    assert_int_equal(system("cmp -s a.npz b.npz"), 0);
    antler_series_free(series);
}

static void test_patterns(void **state)
{
    (void)state;
    antler_series *series = NULL;
    folder_write_text("day-2.csv", "x,y\n5,6\n7,8\n");
    folder_write_text("day-1.csv", "x,y\n1,2\n3,4\n");
    folder_write_text("odd[1].csv", "x,y\n9,9\n9,8\n");
    const char *patterns[] = {"day-?.csv", "odd[1].csv"};
    CHECK_OK(antler_series_load(patterns, 2, NULL, &series));
    assert_int_equal(antler_series_count(series), 3);
    assert_string_equal(antler_series_origin(series, 0), "day-1.csv");
    assert_string_equal(antler_series_origin(series, 1), "day-2.csv");
    assert_string_equal(antler_series_origin(series, 2), "odd[1].csv");
    antler_series_free(series);
    check_refused("night-*.csv", ANTLER_ERROR_NOT_FOUND, "no file matches");
    check_refused("day-3.csv", ANTLER_ERROR_NOT_FOUND, "did you mean day-");
    check_refused("/nowhere/at/all.npy", ANTLER_ERROR_NOT_FOUND, "no such file");
    check_refused("day-1.csv/x.npy", ANTLER_ERROR_NOT_FOUND, "no such file");
    check_refused(".", ANTLER_ERROR_ARGUMENT, "is a folder");
    CHECK_FAILS(antler_series_load(NULL, 0, NULL, &series), ANTLER_ERROR_ARGUMENT, "name at least one");
    if (geteuid() != 0) {
        assert_int_equal(chmod("day-1.csv", 0), 0);
        check_refused("day-1.csv", ANTLER_ERROR_IO, "cannot be opened");
    }
}

static antler_status load_two(const char *a, const char *b, const antler_load_opts *opts,
                              antler_series **series)
{
    const char *paths[] = {a, b};
    *series = NULL;
    return antler_series_load(paths, 2, opts, series);
}

static void test_files_that_differ(void **state)
{
    (void)state;
    antler_series *series;
    antler_load_opts opts;
    antler_load_opts_default(&opts);
    folder_write_text("xy.csv", "# antler: dt=0.1\nx,y\n1,2\n3,4\n");
    folder_write_text("yx.csv", "y,x\n2,1\n4,3\n");
    folder_write_text("xyz.csv", "x,y,z\n1,2,3\n4,5,6\n");
    folder_write_text("slow.csv", "# antler: dt=0.2\nx,y\n1,2\n3,4\n");
    folder_write_text("bare.csv", "1,2\n3,4\n");
    folder_write_text("other.csv", "# antler: mean=1,2\n# antler: scale=1,2\nx,y\n1,2\n3,4\n");
    folder_write_text("input.csv", "# antler: inputs=1\nx,y,u\n1,2,3\n3,4,5\n");
    CHECK_FAILS(load_two("xy.csv", "xyz.csv", NULL, &series), ANTLER_ERROR_DATA,
                "xyz.csv: has 3 variables, but xy.csv has 2");
    CHECK_FAILS(load_two("xy.csv", "yx.csv", NULL, &series), ANTLER_ERROR_DATA,
                "yx.csv: its column 1 is called 'y', but 'x' in xy.csv");
    CHECK_FAILS(load_two("xy.csv", "slow.csv", NULL, &series), ANTLER_ERROR_DATA,
                "slow.csv: was sampled with dt = 0.2, but xy.csv with dt = 0.1");
    CHECK_FAILS(load_two("xy.csv", "other.csv", NULL, &series), ANTLER_ERROR_DATA,
                "standardised differently");
    CHECK_FAILS(load_two("xy.csv", "input.csv", NULL, &series), ANTLER_ERROR_DATA, "has 1 input, but");
    CHECK_OK(load_two("bare.csv", "xy.csv", NULL, &series));
    assert_string_equal(antler_series_name(series, 1), "y");
    assert_true(antler_series_dt(series) == 0.1);
    antler_series_free(series);
    opts.dt = 0.3;
    CHECK_OK(load_two("xy.csv", "slow.csv", &opts, &series));
    assert_true(antler_series_dt(series) == 0.3);
    antler_series_free(series);
    opts.columns = "x,y";
    CHECK_OK(load_two("xy.csv", "yx.csv", &opts, &series));
    double x[4];
    CHECK_OK(antler_series_read_f64(series, 1, 0, 2, x, NULL));
    assert_true(x[0] == 1 && x[1] == 2 && x[2] == 3 && x[3] == 4);
    antler_series_free(series);
    opts.dt = -1;
    CHECK_FAILS(load_two("xy.csv", "yx.csv", &opts, &series), ANTLER_ERROR_ARGUMENT, "dt is -1");
}

/* The ending promises a format; the bytes decide where it does not. */
static void test_formats(void **state)
{
    (void)state;
    antler_series *series = make_series(1, 2, 0, true), *back;
    CHECK_OK(antler_series_save(series, "a.npy"));
    CHECK_OK(antler_series_save(series, "a.npz"));
    CHECK_OK(antler_series_save(series, "a.csv"));
    assert_int_equal(
        system("cp a.npy npy.data; cp a.npz npz.data; cp a.csv csv.data; cp a.npy wrong.npz;"
               "cp a.npz wrong.npy; cp a.npy wrong.csv; cp a.npz wrong.txt; cp a.csv text.npy;"
               "cp a.csv text.npz; : > nothing.npy; gzip -c a.csv > packed.csv.gz; gzip -c a.csv > two.gz; "
               "(head -n 5 a.csv | gzip; tail -n +6 a.csv | gzip) > members.csv.gz"),
        0);
    static const char *const fine[] = {"npy.data",      "npz.data", "csv.data",
                                       "packed.csv.gz", "two.gz",   "members.csv.gz"};
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        CHECK_OK(load(fine[i], &back));
        check_same(series, back, false);
        antler_series_free(back);
    }
    check_refused("wrong.npz", ANTLER_ERROR_FORMAT, "is a NumPy array; rename it to .npy");
    check_refused("wrong.npy", ANTLER_ERROR_FORMAT, "is a zip archive");
    check_refused("wrong.csv", ANTLER_ERROR_FORMAT, "rename it to .npy");
    check_refused("wrong.txt", ANTLER_ERROR_FORMAT, "is a zip archive");
    check_refused("text.npy", ANTLER_ERROR_FORMAT, "is not a NumPy array");
    check_refused("text.npz", ANTLER_ERROR_FORMAT, "is not a NumPy archive");
    check_refused("nothing.npy", ANTLER_ERROR_FORMAT, "is empty");
    antler_series_free(series);
}

static void test_inspect(void **state)
{
    (void)state;
    antler_file_info info = {0};
    antler_series *series = make_series(3, 2, 0, true);
    CHECK_OK(antler_series_save(series, "a.npy"));
    CHECK_OK(antler_file_inspect("a.npy", &info));
    assert_string_equal(info.format, "NumPy array 1.0");
    assert_int_equal(info.array_count, 1);
    assert_string_equal(info.arrays[0].key, "");
    assert_string_equal(info.arrays[0].dtype, "float64");
    assert_int_equal(info.arrays[0].rank, 3);
    assert_true(info.arrays[0].shape[0] == 3 && info.arrays[0].shape[1] == 1200 &&
                info.arrays[0].shape[2] == 2);
    assert_int_equal(info.bytes, info.arrays[0].bytes + 128);
    antler_file_info_clear(&info);
    assert_null(info.arrays);
    antler_series_free(series);
    /* Words in a table of text do not hinder a description. */
    folder_write_text("words.csv", "day\tx\nmon\t1\ntue\t2\n");
    CHECK_OK(antler_file_inspect("words.csv", &info));
    assert_string_equal(info.format, "tab-separated text");
    assert_true(info.arrays[0].shape[0] == 2 && info.arrays[0].shape[1] == 2);
    antler_file_info_clear(&info);
    CHECK_FAILS(antler_file_inspect("absent.npy", &info), ANTLER_ERROR_NOT_FOUND, "absent.npy: there is no");
}

/* Text and arrays may come through a pipe, whose size nobody knows. */
static void test_pipe(void **state)
{
    (void)state;
    antler_series *series = make_series(1, 3, 0, true), *back;
    CHECK_OK(antler_series_save(series, "a.npy"));
    CHECK_OK(antler_series_save(series, "a.csv"));
    CHECK_OK(antler_series_save(series, "a.npz"));
    static const char *const commands[] = {"cat a.npy > pipe &", "cat a.csv > pipe &", "cat a.npz > pipe &",
                                           "head -c 5000 a.npy > pipe &"};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(mkfifo("pipe", 0600), 0);
        assert_int_equal(system(commands[i]), 0);
        if (i < 2) {
            CHECK_OK(load("pipe", &back));
            check_same(series, back, false);
            antler_series_free(back);
        } else {
            check_refused("pipe", ANTLER_ERROR_FORMAT, i == 2 ? "through a pipe" : "is truncated");
        }
        assert_int_equal(remove("pipe"), 0);
    }
    for (size_t i = 0; i < 2; i++) { /* nor is there a file that limits what it may take */
        antler_load_opts opts;
        antler_load_opts_default(&opts);
        opts.max_bytes = 100;
        const char *name = "pipe";
        assert_int_equal(mkfifo(name, 0600), 0);
        assert_int_equal(system(commands[i]), 0);
        CHECK_FAILS(antler_series_load(&name, 1, &opts, &back), ANTLER_ERROR_DATA, "--max-bytes");
        assert_int_equal(remove(name), 0);
    }
    antler_series_free(series);
}

/* When the disk is full the old file stays, nothing else is left behind, and the reason is told. */
static void test_full_disk(void **state)
{
    (void)state;
    static const char *const names[] = {"full.npy", "full.npz", "full.csv"};
    antler_series *small = make_series(1, 1, 0, true), *large = make_series(1, 8, 0, true), *back;
    folder_empty();
    for (size_t i = 0; i < 3; i++)
        CHECK_OK(antler_series_save(small, names[i]));
    struct rlimit limit, old;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    limit = old;
    limit.rlim_cur = 40000;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    antler_status status[3];
    char messages[3][256];
    for (size_t i = 0; i < 3; i++) {
        status[i] = antler_series_save(large, names[i]);
        snprintf(messages[i], sizeof messages[i], "%s", antler_message());
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, handler);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(status[i], ANTLER_ERROR_IO);
        assert_non_null(strstr(messages[i], "cannot be written"));
        assert_memory_equal(messages[i], names[i], strlen(names[i]));
        CHECK_OK(load(names[i], &back));
        check_same(small, back, false);
        antler_series_free(back);
    }
    assert_int_equal(folder_count(), 3);
    antler_series_free(small);
    antler_series_free(large);
}

/* Peak memory of loading, in a process of its own: the file and little more. */
static void test_memory(void **state)
{
    (void)state;
#if SANITIZED
    skip();
#else
    enum { ROWS = 1 << 22, COLUMNS = 4 }; /* 64 MiB of float32 */
    char header[ANT_NPY_WRITTEN_MAX];
    const size_t shape[] = {ROWS, COLUMNS}, bytes = (size_t)ROWS * COLUMNS * sizeof(float);
    folder_write("big.npy", header, ant_npy_format_header(">f4", 2, shape, header)); /* swapped in place */
    FILE *file = fopen("big.npy", "ab");
    float block[4096];
    for (size_t i = 0; i < 4096; i++)
        block[i] = (float)i;
    for (size_t done = 0; done < bytes; done += sizeof block)
        assert_int_equal(fwrite(block, 1, sizeof block, file), sizeof block);
    assert_int_equal(fclose(file), 0);
    const pid_t child = fork();
    if (child == 0) {
        struct rusage before, after;
        antler_series *series;
        antler_variable_stats stats;
        getrusage(RUSAGE_SELF, &before);
        const bool good =
            load("big.npy", &series) == ANTLER_OK && antler_series_stats(series, 0, &stats) == ANTLER_OK;
        getrusage(RUSAGE_SELF, &after);
        const double grown = 1024.0 * (double)(after.ru_maxrss - before.ru_maxrss);
        _exit(!good ? 1 : grown > 1.2 * (double)bytes ? 2 : grown < 0.8 * (double)bytes ? 3 : 0);
    }
    int outcome = 0;
    assert_true(child > 0 && waitpid(child, &outcome, 0) == child);
    assert_true(WIFEXITED(outcome));
    assert_int_equal(WEXITSTATUS(outcome), 0);
#endif
}

static void check_not_mapped(const char *name)
{
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps) != NULL)
        assert_null(strstr(line, name));
    fclose(maps);
}

/* Large arrays of files stay there, also where values are replaced; others are read. */
static void test_mapping(void **state)
{
    (void)state;
    const size_t rows = ANT_MAPPED_LEAST / (2 * sizeof(double));
    for (size_t k = 0; k < 4; k++) {
        const bool small = k == 1, swapped = k == 2, missing = k == 3;
        char header[ANT_NPY_WRITTEN_MAX];
        const size_t shape[] = {rows - small, 2};
        const size_t first = ant_npy_format_header(swapped ? ">f8" : "<f8", 2, shape, header);
        const off_t place = (off_t)(first + (2 * shape[0] - 1) * sizeof(double));
        const double last = swapped ? 0.0 : 0.25;
        double row[2], stored = NAN;
        folder_write("large.npy", header, first);
        assert_int_equal(truncate("large.npy", place + (off_t)sizeof last), 0); /* sparse */
        const int file = open("large.npy", O_RDWR | O_CLOEXEC);
        assert_int_equal(pwrite(file, &last, sizeof last, place), sizeof last);
        const char *path = "large.npy";
        antler_series *series = NULL;
        antler_load_opts opts;
        antler_load_opts_default(&opts);
        opts.missing_values = missing ? "0.25" : NULL;
        CHECK_OK(antler_series_load(&path, 1, &opts, &series));
        assert_int_equal(series->parts[0].mapping.base != NULL, !small && !swapped);
        CHECK_OK(antler_series_read_f64(series, 0, shape[0] - 1, 1, row, NULL));
        assert_true(row[0] == 0.0 && (missing ? isnan(row[1]) : row[1] == last));
        antler_series_free(series);
        assert_int_equal(pread(file, &stored, sizeof stored, place), sizeof stored);
        assert_true(stored == last);
        close(file);
    }
    check_not_mapped("large.npy");
    assert_int_equal(unlink("large.npy"), 0);
}

/* Whole numbers become doubles where some are missing, in memory; and a file that is replaced by another
 * stays as it was for those who use it. */
static void test_mapping_left(void **state)
{
    (void)state;
    char header[ANT_NPY_WRITTEN_MAX];
    const size_t rows = ANT_MAPPED_LEAST / sizeof(int64_t), shape[] = {rows};
    const size_t first = ant_npy_format_header("<i8", 1, shape, header);
    const off_t place = (off_t)(first + (rows - 1) * sizeof(int64_t));
    const int64_t last = 7;
    const char *path = "whole.npy";
    for (int missing = 0; missing < 2; missing++) {
        antler_series *series = NULL;
        antler_load_opts opts;
        double value;
        folder_write("whole.npy", header, first);
        assert_int_equal(truncate("whole.npy", place), 0); /* sparse */
        const int file = open("whole.npy", O_RDWR | O_CLOEXEC);
        assert_int_equal(pwrite(file, &last, sizeof last, place), sizeof last);
        close(file);
        antler_load_opts_default(&opts);
        opts.missing_values = missing ? "7" : NULL;
        CHECK_OK(antler_series_load(&path, 1, &opts, &series));
        assert_int_equal(series->parts[0].mapping.base != NULL, !missing);
        folder_write("other", "another", 7);
        assert_int_equal(rename("other", "whole.npy"), 0);
        CHECK_OK(antler_series_read_f64(series, 0, rows - 1, 1, &value, NULL));
        assert_true(missing ? isnan(value) : value == 7.0);
        antler_series_free(series);
    }
    check_not_mapped("whole.npy");
    assert_int_equal(unlink("whole.npy"), 0);
}

/* A sparse file: 1e18 rows are claimed, and no memory is taken for them. */
static void test_claims(void **state)
{
    (void)state;
    char header[ANT_NPY_WRITTEN_MAX];
    const size_t shape[] = {1000000000000000000};
    folder_write("claim.npy", header, ant_npy_format_header("|u1", 1, shape, header));
    check_refused("claim.npy", ANTLER_ERROR_FORMAT, "1000000000000000000 bytes are missing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips),  cmocka_unit_test(test_scaled_text),
        cmocka_unit_test(test_facts_beside), cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_patterns),     cmocka_unit_test(test_files_that_differ),
        cmocka_unit_test(test_formats),      cmocka_unit_test(test_inspect),
        cmocka_unit_test(test_pipe),         cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_memory),       cmocka_unit_test(test_mapping),
        cmocka_unit_test(test_mapping_left), cmocka_unit_test(test_claims),
    };
    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
