/* test_model_file.c - models go into files and come back, and damaged files are refused. */
#include "data/archive.h"
#include "folder.h"
#include "model/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[FOLDER_ROOM];
static char file[FOLDER_ROOM + 16], second[FOLDER_ROOM + 16];

static int make_folder(void **state)
{
    (void)state;
    if (folder_make(folder))
        return -1;
    snprintf(file, sizeof file, "%s/model.npz", folder);
    snprintf(second, sizeof second, "%s/second.npz", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(file);
    unlink(second);
    return rmdir(folder);
}

static antler_model *random_model_of(ant_model_dims dims, int bits, bool known)
{
    antler_model *m = NULL;
    CHECK_OK(ant_model_create(&dims, &m));
    uint64_t random = dims.M * 7919 + dims.N * 104729 + dims.L * 31 + dims.K;
    for (size_t i = 0; i < m->layout.total; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        const double value = ((double)(random >> 11) * 0x1p-53 - 0.5) * 3.0;
        m->parameters[i] = bits == 32 ? (double)(float)value : value;
    }
    ant_model_refresh(m);
    m->precision = bits;
    if (known) {
        const double mean[] = {1e-300, -5.0, 3.0, 4.0}, scale[] = {0.1, 1e9, 2.0, 7.0};
        m->dt = 0.01;
        CHECK_OK(ant_model_set_scaling(m, mean, scale));
        CHECK_OK(ant_model_set_name(m, 0, "Température, °C"));
        m->settings = strdup("# run 1\nlatent_dim: 5\nname: \"漢字\"\n");
        m->provenance = strdup("antler test");
    }
    return m;
}

static antler_model *random_model(size_t M, size_t N, size_t L, size_t K, size_t rank, bool clipped, int bits,
                                  bool known)
{
    return random_model_of((ant_model_dims){.M = M, .N = N, .L = L, .K = K, .rank = rank, .clipped = clipped},
                           bits, known);
}

static void assert_same(const antler_model *a, const antler_model *b)
{
    const ant_model_dims *d = &a->layout.dims, *e = &b->layout.dims;
    assert_true(d->kind == e->kind && d->M == e->M && d->N == e->N && d->L == e->L && d->K == e->K &&
                d->rank == e->rank && d->clipped == e->clipped && d->free_diagonal == e->free_diagonal);
    assert_memory_equal(a->parameters, b->parameters, a->layout.total * sizeof *a->parameters);
    assert_memory_equal(a->A, b->A, a->layout.dims.M * sizeof *a->A);
    assert_int_equal(a->precision, b->precision);
    assert_true(a->dt == b->dt);
    assert_int_equal(a->mean == NULL, b->mean == NULL);
    if (a->mean != NULL) {
        assert_memory_equal(a->mean, b->mean, a->layout.dims.N * sizeof *a->mean);
        assert_memory_equal(a->scale, b->scale, a->layout.dims.N * sizeof *a->scale);
    }
    for (size_t i = 0; i < a->layout.dims.N + a->layout.dims.K; i++)
        assert_string_equal(antler_model_name(a, i), antler_model_name(b, i));
    assert_string_equal(antler_model_settings(a), antler_model_settings(b));
    assert_string_equal(a->provenance == NULL ? "" : a->provenance,
                        b->provenance == NULL ? "" : b->provenance);
}

static void models_come_back_to_the_bit(void **state)
{
    (void)state;
    for (int k = 0; k < 16; k++) {
        const size_t M = 1 + (size_t)k % 5, N = 1 + (size_t)k % 4, L = 3 + (size_t)k, K = (size_t)k % 3;
        antler_model *m =
            random_model(M, N, L, K, k % 4 == 3 ? 1 : 0, k % 2 == 1, k % 2 == 0 ? 32 : 64, k > 7);
        antler_model *read = NULL;
        CHECK_OK(antler_model_save(m, file));
        CHECK_OK(antler_model_load(file, &read));
        assert_same(m, read);
        antler_model_free(read);
        CHECK_OK(antler_model_load(folder, &read)); /* the folder of a run */
        assert_same(m, read);
        antler_model_free(read);
        antler_model_free(m);
    }
}

/* A is the parameter, there is no Abar, and only this form has the text. */
static void a_free_diagonal_comes_back(void **state)
{
    (void)state;
    for (int k = 0; k < 6; k++) {
        const ant_model_dims dims = {.kind = k < 3 ? ANT_MODEL_SHPLRNN : ANT_MODEL_LSSM,
                                     .M = 3,
                                     .N = 2,
                                     .L = 4,
                                     .free_diagonal = k % 3 > 0};
        antler_model *m = random_model_of(dims, k % 3 == 1 ? 32 : 64, true), *read = NULL;
        ant_npz *npz = NULL;
        CHECK_OK(antler_model_save(m, file));
        CHECK_OK(antler_model_load(file, &read));
        assert_same(m, read);
        CHECK_OK(ant_npz_open_file(&npz, file));
        assert_int_equal(ant_npz_find(npz, "Abar") == ANT_NPZ_NONE, dims.free_diagonal);
        assert_int_equal(ant_npz_find(npz, "diagonal") != ANT_NPZ_NONE, dims.free_diagonal);
        ant_npz_close(npz);
        antler_model_free(read);
        antler_model_free(m);
    }
}

static void every_kind_comes_back(void **state)
{
    (void)state;
    for (int k = 0; k < 8; k++) {
        const ant_model_dims dims = {.kind = k % 2 == 0 ? ANT_MODEL_LSSM : ANT_MODEL_MAMBA2,
                                     .M = 4 + 4 * (size_t)(k / 2),
                                     .N = 1 + (size_t)k % 4,
                                     .L = 5 + (size_t)k,
                                     .K = (size_t)k / 3};
        antler_model *m = random_model_of(dims, k < 4 ? 32 : 64, k % 4 > 1), *read = NULL;
        CHECK_OK(antler_model_save(m, file));
        CHECK_OK(antler_model_load(file, &read));
        assert_same(m, read);
        assert_string_equal(antler_model_kind(read), k % 2 == 0 ? "lssm" : "mamba2");
        antler_model_free(read);
        antler_model_free(m);
    }
}

static size_t read_all(const char *path, char **bytes)
{
    struct stat info;
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(stat(path, &info), 0);
    *bytes = malloc((size_t)info.st_size);
    assert_int_equal(fread(*bytes, 1, (size_t)info.st_size, f), (size_t)info.st_size);
    fclose(f);
    return (size_t)info.st_size;
}

static void write_all(const char *path, const char *bytes, size_t count)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, count, f), count);
    fclose(f);
}

static void same_model_same_bytes(void **state)
{
    (void)state;
    antler_model *m = random_model(5, 3, 20, 1, 0, true, 32, true);
    char *a = NULL, *b = NULL;
    CHECK_OK(antler_model_save(m, file));
    const size_t bytes = read_all(file, &a);
    setenv("TZ", "Asia/Tokyo", 1);
    CHECK_OK(antler_model_save(m, second));
    assert_int_equal(read_all(second, &b), bytes);
    assert_memory_equal(a, b, bytes);
    free(a);
    free(b);
    antler_model_free(m);
}

/* Cut and flipped bytes: a message or a model, never a crash. */
static void models_are_read_from_memory(void **state)
{
    (void)state;
    antler_model *model = random_model(5, 3, 9, 2, 0, true, 32, true), *back = NULL;
    char *bytes = NULL;
    CHECK_OK(antler_model_save(model, file));
    const size_t count = read_all(file, &bytes);
    CHECK_OK(antler_model_load_memory(bytes, count, &back));
    assert_same(model, back);
    antler_model_free(back);
    back = NULL;
    CHECK_FAILS(antler_model_load_memory(bytes, count / 2, &back), ANTLER_ERROR_FORMAT,
                "the model in memory");
    CHECK_FAILS(antler_model_load_memory("nonsense", 8, &back), ANTLER_ERROR_FORMAT, "the model in memory");
    CHECK_FAILS(antler_model_load_memory(NULL, 0, &back), ANTLER_ERROR_FORMAT, "no bytes");
    assert_null(back);
    free(bytes);
    antler_model_free(model);
}

static void damaged_files_are_refused(void **state)
{
    (void)state;
    antler_model *m = random_model(3, 2, 5, 0, 0, false, 64, true), *read = NULL;
    char *bytes = NULL;
    CHECK_OK(antler_model_save(m, file));
    const size_t count = read_all(file, &bytes);
    for (size_t cut = 0; cut < count; cut += 97) {
        write_all(second, bytes, cut);
        const antler_status status = antler_model_load(second, &read);
        if (status >= 0)
            fail_msg("a file cut to %zu of %zu bytes was read", cut, count);
        assert_non_null(strstr(antler_message(), second));
    }
    for (size_t at = 0; at < count; at += 13) {
        bytes[at] ^= 0x55;
        write_all(second, bytes, count);
        if (antler_model_load(second, &read) == ANTLER_OK)
            antler_model_free(read);
        bytes[at] ^= 0x55;
    }
    free(bytes);
    antler_model_free(m);
    CHECK_FAILS(antler_model_load("/nonexistent.npz", &read), ANTLER_ERROR_NOT_FOUND, "/nonexistent.npz");
}

static void misfits_are_named(void **state)
{
    (void)state;
    ant_archive *archive = NULL;
    antler_model *read = NULL;
    const double x[6] = {1, 2, 3, 4, 5, 6};
    const size_t shape[] = {2, 3};
    const char *format = "antler model 1", *future = "antler model 99", *kind = "shplrnn", *other = "gru";
    const uint8_t no = 0;
    CHECK_OK(ant_archive_create(second, &archive));
    CHECK_OK(ant_archive_add(archive, "x", ANT_F64, 2, shape, x));
    CHECK_OK(ant_archive_commit(archive));
    CHECK_FAILS(antler_model_load(second, &read), ANTLER_ERROR_FORMAT, "is not a model");
    for (int k = 0; k < 3; k++) {
        CHECK_OK(ant_archive_create(second, &archive));
        CHECK_OK(ant_archive_add_texts(archive, "format", 0, 1, k == 0 ? &future : &format));
        CHECK_OK(ant_archive_add_texts(archive, "kind", 0, 1, k == 1 ? &other : &kind));
        CHECK_OK(ant_archive_add(archive, "Abar", ANT_F64, 1, shape, x));
        CHECK_OK(ant_archive_add(archive, "B", ANT_F64, 2, shape, x));
        CHECK_OK(ant_archive_add(archive, "V", ANT_F64, 2, shape, x));
        CHECK_OK(ant_archive_add(archive, "clipped", ANT_BOOL, 0, NULL, &no));
        CHECK_OK(ant_archive_commit(archive));
        CHECK_FAILS(antler_model_load(second, &read), ANTLER_ERROR_FORMAT,
                    k < 2 ? "another version" : "has no array 'W'");
    }
    /* An archive that is given up leaves the old file and nothing else. */
    CHECK_OK(ant_archive_create(second, &archive));
    ant_archive_abort(archive);
    CHECK_FAILS(antler_model_load(second, &read), ANTLER_ERROR_FORMAT, "has no array 'W'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_come_back_to_the_bit), cmocka_unit_test(every_kind_comes_back),
        cmocka_unit_test(a_free_diagonal_comes_back),  cmocka_unit_test(same_model_same_bytes),
        cmocka_unit_test(models_are_read_from_memory), cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(misfits_are_named),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
