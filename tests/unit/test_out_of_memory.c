/*
 * test_out_of_memory.c - every allocation fails once, in turn, in src/data and for each kind of model;
 * each time the call must say so, leave nothing behind (a leak checker sees the rest) and work again
 * afterwards.
 *
 * Linked with --wrap, so that the library's calls come to the functions below.
 */
#include "model/handle.h"
#include "unit/folder.h"

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t length);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t length);

static long until_failure = -1; /* allocations that still succeed; -1: all do */

static bool must_fail(void)
{
    if (until_failure < 0)
        return false;
    return until_failure-- == 0;
}

void *__wrap_malloc(size_t bytes)
{
    return must_fail() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return must_fail() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    return must_fail() ? NULL : __real_realloc(memory, bytes);
}

char *__wrap_strdup(const char *text)
{
    return must_fail() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t length)
{
    return must_fail() ? NULL : __real_strndup(text, length);
}

/* Run `call` with the first, second, ... allocation failing, until it needs no more of them. */
static void starve(antler_status (*call)(void))
{
    const size_t files = folder_count();
    for (long n = 0; n < 1000; n++) {
        until_failure = n;
        const antler_status status = call();
        const bool spared = until_failure >= 0;
        until_failure = -1;
        assert_int_equal(folder_count(), files);
        if (spared) {
            assert_int_equal(status, ANTLER_OK);
            assert_true(n > 3);
            return;
        }
        if (status != ANTLER_OK) { /* some calls can do without, such as the one that trims a buffer */
            assert_int_equal(status, ANTLER_ERROR_MEMORY);
            assert_non_null(strstr(antler_message(), "out of memory"));
        }
    }
    fail_msg("1000 allocations are too many");
}

static antler_status load(const char *const *paths, size_t count)
{
    antler_series *series = NULL;
    const antler_status status = antler_series_load(paths, count, NULL, &series);
    assert_true((status == ANTLER_OK) == (series != NULL));
    antler_series_free(series);
    return status;
}

static antler_status load_text(void)
{
    return load((const char *const[]){"a.csv", "b.csv"}, 2);
}

static antler_status load_array(void)
{
    return load((const char *const[]){"a.npy", "a.npy"}, 2);
}

static antler_status load_archive(void)
{
    return load((const char *const[]){"a.npz"}, 1);
}

static antler_status inspect(void)
{
    antler_file_info info = {0};
    const antler_status status = antler_file_inspect("a.npz", &info);
    antler_file_info_clear(&info);
    return status;
}

static antler_series *kept;

static antler_status save_text(void)
{
    return antler_series_save(kept, "a.csv");
}

static antler_status save_archive(void)
{
    return antler_series_save(kept, "a.npz");
}

static antler_status use(void)
{
    antler_status status = antler_series_check(kept, 2);
    return status == ANTLER_OK ? antler_series_standardise(kept) : status;
}

static antler_status build(void)
{
    const double x[] = {1, 2, 3, 4};
    antler_series *series = NULL;
    antler_status status = antler_series_create(2, 1, &series);
    for (size_t i = 0; i < 9 && status == ANTLER_OK; i++)
        status = antler_series_append(series, 2, x, x);
    if (status == ANTLER_OK)
        status = antler_series_set_name(series, 0, "name");
    antler_series_free(series);
    return status;
}

static antler_model_kind_id kind;

/* A solver for one kind of model, and a free run of a model of that kind. */
static antler_status solve_one(void)
{
    antler_settings s;
    antler_problem *problem = NULL;
    antler_settings_default(&s);
    s.model = kind;
    s.latent_dim = 4;
    s.hidden_dim = 3;
    s.sequence_length = 20;
    s.threads = 1;
    const antler_status status = antler_problem_create(&s, 2, 1, &problem);
    antler_problem_free(problem);
    return status;
}

static antler_status run_one(void)
{
    const ant_model_dims dims = {.kind = (ant_model_id)kind, .M = 4, .N = 2, .L = 3};
    antler_model *model = NULL;
    antler_series *orbit = NULL;
    antler_generate_opts opts;
    antler_lyapunov_opts lyapunov;
    antler_lyapunov_result result = {0};
    antler_generate_opts_default(&opts);
    antler_lyapunov_opts_default(&lyapunov);
    opts.steps = 5;
    lyapunov.steps = lyapunov.transient = 3;
    antler_status status = ant_model_create(&dims, &model);
    if (status == ANTLER_OK)
        status = antler_generate(model, &opts, &orbit, NULL);
    if (status == ANTLER_OK)
        status = antler_lyapunov(model, &lyapunov, &result);
    antler_lyapunov_result_clear(&result);
    antler_series_free(orbit);
    antler_model_free(model);
    return status;
}

static void test_starving_models(void **state)
{
    (void)state;
    for (kind = ANTLER_MODEL_SHPLRNN; kind <= ANTLER_MODEL_MAMBA2; kind++) {
        starve(solve_one);
        starve(run_one);
    }
}

static void test_starving(void **state)
{
    (void)state;
    const double x[] = {1, 2, 3, 5, 4, 8}, u[] = {0, 1, 0};
    folder_write_text("b.csv", "# antler: dt=0.5\n# antler: inputs=1\nx,y,u\n1,2,3\n4,5,6\n7,8,8\n");
    antler_series *plain = NULL;
    CHECK_OK(antler_series_create(2, 0, &plain));
    CHECK_OK(antler_series_append(plain, 3, x, NULL));
    CHECK_OK(antler_series_save(plain, "a.npy"));
    antler_series_free(plain);
    CHECK_OK(antler_series_create(2, 1, &kept));
    CHECK_OK(antler_series_append(kept, 3, x, u));
    CHECK_OK(antler_series_set_name(kept, 0, "x"));
    CHECK_OK(antler_series_set_name(kept, 1, "y"));
    CHECK_OK(antler_series_set_name(kept, 2, "u"));
    CHECK_OK(antler_series_set_dt(kept, 0.5));
    CHECK_OK(antler_series_save(kept, "a.csv"));
    CHECK_OK(antler_series_save(kept, "a.npz"));
    starve(load_text);
    starve(load_array);
    starve(load_archive);
    starve(inspect);
    starve(use);
    starve(save_archive);
    starve(save_text);
    starve(build);
    starve(load_archive);
    antler_series_free(kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_starving),
                                       cmocka_unit_test(test_starving_models)};
    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
