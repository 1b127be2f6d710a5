/* test_sized.c - programs compiled with another header: shorter structs, longer ones, and sizes that no
 * version has. */
#include "base/sized.h"

#include "unit/check.h"
#include "unit/simulated.h"

#include <stdio.h>
#include <stdlib.h>

enum { GUARD = 64, MARK = 0xa5 };

/* A block of `size` bytes as a struct of the program, with marked bytes behind it. */
static void *marked(size_t size)
{
    volatile size_t bytes = size + GUARD; /* the compiler must not know that a struct does not fit */
    unsigned char *block = malloc(bytes);
    assert_non_null(block);
    memset(block, MARK, size + GUARD);
    return block;
}

static void check_guard(const void *block, size_t size)
{
    for (size_t i = size; i < size + GUARD; i++)
        assert_int_equal(((const unsigned char *)block)[i], MARK);
}

/* ---- the defaults of all option structs ---------------------------------------------------------------- */

typedef void (*fill_fn)(void *given, size_t size);

#define FILL(type)                                                                                           \
    static void fill_##type(void *given, size_t size)                                                        \
    {                                                                                                        \
        (antler_##type##_default)(given, size);                                                              \
    }
FILL(view)
FILL(load_opts)
FILL(measure_opts)
FILL(run_start)
FILL(generate_opts)
FILL(lyapunov_opts)
FILL(rmse_opts)
FILL(loss_curve)
FILL(evaluate_opts)
FILL(settings)
FILL(train_events)
FILL(fit_opts)
FILL(fit_events)

static void fill_simulate_opts(void *given, size_t size)
{
    (void)(antler_simulate_opts_default)("lorenz63", given, size);
}

static const struct kind {
    const char *name;
    size_t size;
    fill_fn fill;
} kinds[] = {
#define KIND(type)                                                                                           \
    {                                                                                                        \
#type, sizeof(antler_##type), fill_##type                                                            \
    }
    KIND(view),          KIND(load_opts),     KIND(simulate_opts), KIND(measure_opts), KIND(run_start),
    KIND(generate_opts), KIND(lyapunov_opts), KIND(rmse_opts),     KIND(loss_curve),   KIND(evaluate_opts),
    KIND(settings),      KIND(train_events),  KIND(fit_opts),      KIND(fit_events),
};

/* A shorter struct gets the first fields, a longer one has zeros behind them; nothing else is written. */
static void test_defaults_stay_within_the_struct(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        const struct kind *kind = &kinds[k];
        const size_t step = kind->size > 4096 ? 1000 : 8;
        unsigned char *whole = marked(kind->size);
        kind->fill(whole, kind->size);
        check_guard(whole, kind->size);
        for (size_t size = 16; size <= kind->size + 32; size += step) {
            unsigned char *block = marked(size);
            kind->fill(block, size);
            check_guard(block, size);
            assert_true(*(size_t *)(void *)block == size);
            const size_t known = size < kind->size ? size : kind->size;
            assert_memory_equal(block + 8, whole + 8, known - 8);
            for (size_t i = known; i < size; i++)
                assert_int_equal(block[i], 0);
            free(block);
        }
        free(whole);
    }
}

static void test_defaults_of_impossible_sizes_write_nothing(void **state)
{
    (void)state;
    const size_t sizes[] = {0, 1, 8, 20, SIZE_MAX, SIZE_MAX - 7, (size_t)1 << 40};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            unsigned char *block = marked(0);
            kinds[k].fill(block, sizes[i]);
            check_guard(block, 0);
            free(block);
        }
    }
}

/* ---- options ------------------------------------------------------------------------------------------- */

/* The struct as an older program has it: the first `size` bytes in memory of their own, for AddressSanitizer.
 */
static void *shortened(const void *whole, size_t size)
{
    volatile size_t bytes = size; /* as above */
    void *block = malloc(bytes);
    assert_non_null(block);
    memcpy(block, whole, size);
    memcpy(block, &size, sizeof size);
    return block;
}

static antler_series *orbit(size_t rows, uint64_t seed)
{
    antler_simulate_opts o = plain_opts("lorenz63");
    antler_series *series = NULL;
    o.length = rows, o.seed = seed, o.tolerance = 1e-6;
    CHECK_OK(antler_simulate(&o, &series));
    return series;
}

static void test_fields_that_an_older_program_lacks_have_their_defaults(void **state)
{
    (void)state;
    antler_series *truth = orbit(200, 1), *other = orbit(200, 2);
    antler_measure_opts opts;
    antler_measure_opts_default(&opts);
    opts.dstsp = ANTLER_DSTSP_BINS;
    opts.bins = 7;
    antler_measure_result whole, cut;
    CHECK_OK(antler_measure(truth, other, &opts, &whole));
    const size_t size = offsetof(antler_measure_opts, bin_margin);
    opts.bin_margin = NAN; /* and the rest: garbage that the older program does not have */
    opts.smoothing = -1.0;
    antler_measure_opts *older = shortened(&opts, size);
    CHECK_OK(antler_measure(truth, other, older, &cut));
    assert_true(cut.dstsp == whole.dstsp && cut.hellinger == whole.hellinger);
    older->bins = 9; /* what it has counts */
    antler_measure_result_clear(&cut);
    CHECK_OK(antler_measure(truth, other, older, &cut));
    assert_true(cut.dstsp != whole.dstsp);
    antler_measure_result_clear(&cut);
    antler_measure_result_clear(&whole);
    free(older);
    antler_series_free(truth);
    antler_series_free(other);
}

static void test_simulation_of_an_older_program(void **state)
{
    (void)state;
    antler_simulate_opts opts;
    CHECK_OK(antler_simulate_opts_default("lorenz63", &opts));
    opts.length = 20;
    antler_simulate_opts *older = shortened(&opts, offsetof(antler_simulate_opts, dt));
    antler_series *a = NULL, *b = NULL;
    double x[60], y[60];
    CHECK_OK(antler_simulate_opts_set(older, "rho", 30.0));
    CHECK_OK(antler_simulate_opts_set(&opts, "rho", 30.0));
    CHECK_OK(antler_simulate(older, &a));
    CHECK_OK(antler_simulate(&opts, &b));
    CHECK_OK(antler_series_read_f64(a, 0, 0, 20, x, NULL));
    CHECK_OK(antler_series_read_f64(b, 0, 0, 20, y, NULL));
    assert_memory_equal(x, y, sizeof x);
    antler_series_free(a);
    antler_series_free(b);
    free(older);
}

static void test_settings_of_an_older_program(void **state)
{
    (void)state;
    char text[64];
    antler_settings whole;
    antler_settings_default(&whole);
    antler_settings *older = shortened(&whole, offsetof(antler_settings, precision));
    CHECK_OK(antler_settings_set(older, "latent_dim=7"));
    assert_true(older->latent_dim == 7 && older->struct_size == offsetof(antler_settings, precision));
    CHECK_OK(antler_settings_get(older, "latent_dim", text, sizeof text));
    assert_string_equal(text, "7");
    CHECK_OK(antler_settings_get(older, "seed", text, sizeof text)); /* it has no such field: the default */
    assert_string_equal(text, "1");
    CHECK_FAILS(antler_settings_set(older, "seed=5"), ANTLER_ERROR_ARGUMENT,
                "seed: the program was compiled");
    CHECK_OK(antler_settings_set(older, "seed=1"));
    CHECK_OK(antler_settings_check(older, NULL));
    free(older);
}

static void test_sizes_that_no_version_has_are_refused(void **state)
{
    (void)state;
    const size_t sizes[] = {0, 1, 8, 17, sizeof(antler_load_opts) + 1, (size_t)1 << 40, SIZE_MAX};
    const char *path[] = {"none.npy"};
    antler_series *series = NULL;
    antler_load_opts opts;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        antler_load_opts_default(&opts);
        opts.struct_size = sizes[i];
        CHECK_FAILS(antler_series_load(path, 1, &opts, &series), ANTLER_ERROR_ARGUMENT,
                    "antler_load_opts_default");
    }
    assert_null(series);
}

/* A newer program: zeros in fields that this library does not know are their defaults; anything else is not.
 */
static void test_a_newer_program(void **state)
{
    (void)state;
    struct newer {
        antler_rmse_opts known;
        uint64_t later[2];
    } newer;
    antler_rmse_result result;
    antler_series *truth = orbit(100, 1);
    (antler_rmse_opts_default)(&newer.known, sizeof newer);
    assert_true(newer.known.struct_size == sizeof newer && newer.later[0] == 0 && newer.later[1] == 0);
    antler_model *model = NULL;
    CHECK_OK(antler_model_load(TEST_DATA "/models/lorenz63.npz", &model));
    newer.known.steps = 5;
    newer.known.warmup = 5;
    const antler_status status = antler_rmse(model, truth, &newer.known, &result);
    assert_true(status == ANTLER_OK || status == ANTLER_DIVERGED);
    newer.later[1] = 1;
    CHECK_FAILS(antler_rmse(model, truth, &newer.known, &result), ANTLER_ERROR_ARGUMENT, "newer library");
    antler_rmse_opts opts;
    antler_rmse_opts_default(&opts);
    opts.room[ANTLER_ROOM - 1] = 1; /* a later field of a struct that is part of another */
    CHECK_FAILS(antler_rmse(model, truth, &opts, &result), ANTLER_ERROR_ARGUMENT, "antler_rmse_opts_default");
    antler_evaluate_opts evaluate;
    antler_evaluate_result found;
    antler_evaluate_opts_default(&evaluate);
    evaluate.rmse.room[0] = 1;
    CHECK_FAILS(antler_evaluate(model, truth, &evaluate, &found), ANTLER_ERROR_ARGUMENT, "antler_rmse_opts");
    antler_model_free(model);
    antler_series_free(truth);
}

/* ---- results ------------------------------------------------------------------------------------------- */

static void test_results_stay_within_the_struct(void **state)
{
    (void)state;
    const double values[] = {1, 2, 4, INFINITY};
    antler_statistics whole;
    CHECK_OK(antler_statistics_of(values, 4, &whole));
    assert_true(whole.struct_size == sizeof whole);
    for (size_t size = 16; size <= sizeof whole + 32; size += 8) {
        unsigned char *block = marked(size);
        CHECK_OK((antler_statistics_of)(values, 4, (antler_statistics *)(void *)block, size));
        check_guard(block, size);
        const size_t known = size < sizeof whole ? size : sizeof whole;
        assert_true(*(size_t *)(void *)block == size);
        assert_memory_equal(block + 8, (unsigned char *)&whole + 8, known - 8);
        for (size_t i = known; i < size; i++)
            assert_int_equal(block[i], 0);
        free(block);
    }
    CHECK_FAILS((antler_statistics_of)(values, 4, &whole, 12), ANTLER_ERROR_ARGUMENT, "12 bytes");
    CHECK_FAILS((antler_statistics_of)(values, 4, &whole, 0), ANTLER_ERROR_ARGUMENT, "0 bytes");
    CHECK_FAILS((antler_statistics_of)(values, 4, &whole, SIZE_MAX - 7), ANTLER_ERROR_ARGUMENT, "bytes");
}

/* Arrays are freed, be they in the program's struct or beyond it; AddressSanitizer looks for what is left. */
static void test_arrays_of_shorter_results_are_freed(void **state)
{
    (void)state;
    antler_series *truth = orbit(300, 1);
    antler_model *model = NULL;
    antler_evaluate_opts opts;
    antler_evaluate_opts_default(&opts);
    opts.measure.dstsp = ANTLER_DSTSP_BINS;
    opts.with_verdict = false;
    opts.rmse.steps = opts.rmse.windows = 5;
    opts.steps = 100;
    opts.warmup = opts.rmse.warmup = 10;
    opts.lyapunov.steps = 20, opts.lyapunov.transient = 1;
    CHECK_OK(antler_model_load(TEST_DATA "/models/lorenz63.npz", &model));
    const size_t sizes[] = {offsetof(antler_evaluate_result, plain),
                            offsetof(antler_evaluate_result, embedded),
                            offsetof(antler_evaluate_result, values), sizeof(antler_evaluate_result)};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        antler_evaluate_result *older = marked(sizes[i]);
        const antler_status status = (antler_evaluate)(model, truth, &opts, older, sizes[i]);
        assert_true(status == ANTLER_OK || status == ANTLER_DIVERGED);
        check_guard(older, sizes[i]);
        assert_true(older->struct_size == sizes[i]);
        antler_evaluate_result_clear(older);
        assert_true(older->struct_size == sizes[i]);
        antler_evaluate_result_clear(older); /* again does nothing */
        check_guard(older, sizes[i]);
        free(older);
    }
    antler_model_free(model);
    antler_series_free(truth);
}

static void test_a_verdict_into_shorter_structs(void **state)
{
    (void)state;
    antler_series *truth = orbit(300, 1);
    antler_model *model = NULL;
    antler_floors floors = {0};
    antler_verdict verdict;
    const size_t floors_size = offsetof(antler_floors, shift), verdict_size = offsetof(antler_verdict, text);
    CHECK_OK(antler_model_load(TEST_DATA "/models/lorenz63.npz", &model));
    CHECK_OK(antler_verdict_on(model, truth, NULL, 1, &floors, &verdict));
    antler_floors *short_floors = marked(floors_size);
    antler_verdict *short_verdict = marked(verdict_size);
    memset(short_floors, 0, floors_size);
    CHECK_OK(
        (antler_verdict_on)(model, truth, NULL, 1, short_floors, short_verdict, floors_size, verdict_size));
    check_guard(short_floors, floors_size);
    check_guard(short_verdict, verdict_size);
    assert_true(short_verdict->kind == verdict.kind && short_floors->rows == floors.rows);
    free(short_floors);
    free(short_verdict);
    antler_model_free(model);
    antler_series_free(truth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_stay_within_the_struct),
        cmocka_unit_test(test_defaults_of_impossible_sizes_write_nothing),
        cmocka_unit_test(test_fields_that_an_older_program_lacks_have_their_defaults),
        cmocka_unit_test(test_simulation_of_an_older_program),
        cmocka_unit_test(test_settings_of_an_older_program),
        cmocka_unit_test(test_sizes_that_no_version_has_are_refused),
        cmocka_unit_test(test_a_newer_program),
        cmocka_unit_test(test_results_stay_within_the_struct),
        cmocka_unit_test(test_arrays_of_shorter_results_are_freed),
        cmocka_unit_test(test_a_verdict_into_shorter_structs),
    };
    return cmocka_run_group_tests_name("sized", tests, NULL, NULL);
}
