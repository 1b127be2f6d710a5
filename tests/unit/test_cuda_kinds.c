/*
 * Training of the kinds of models that are linear in their state on the GPU engine, with the fake driver,
 * which runs their kernels on the CPU: the same updates and rows as the CPU's own path, over segments and
 * tiles of all lengths.
 */
#include "unit/folder.h"
#include "unit/training.h"

#include <unistd.h>

/* Enough multiprocessors that time is cut into several segments. */
static int use_wide_fake(void **state)
{
    setenv("FAKE_CUDA_MULTIPROCESSORS", "4", 1);
    return use_fake(state);
}

/* M 3, N 2, L 8 in double: `lssm plain` of tests/fake/kernels.cmake. */
static antler_settings lssm_settings(size_t T, size_t batch, size_t warmup)
{
    antler_settings s = plain_settings();
    s.model = ANTLER_MODEL_LSSM;
    s.updates = 4; /* every thread of a block is one here: slow */
    s.log_interval = 1;
    s.checkpoint_interval = 3;
    s.sequence_length = T;
    s.batch_size = batch;
    s.warmup = warmup;
    s.MAR_lambda = 0.3;
    s.regularised_units = 2;
    return s;
}

/* M 2, N 3, L 37, K 1 in float: `lssm wide` there. */
static antler_settings rich_settings(void)
{
    antler_settings s = lssm_settings(70, 2, 10);
    s.precision = ANTLER_PRECISION_FLOAT;
    s.latent_dim = 2;
    s.hidden_dim = 37;
    s.regularised_units = 1;
    s.MAR_p = 1;
    s.noise = 0.05;
    s.gradient_clip = 0.05;
    s.optimiser = ANTLER_OPTIMISER_ADAM;
    s.schedule = ANTLER_SCHEDULE_EXPONENTIAL;
    return s;
}

static void lssm_compare(antler_settings s, size_t rows, const char *choice)
{
    const bool rich = s.precision == ANTLER_PRECISION_FLOAT;
    compare_with_cpu((comparison){.settings = s,
                                  .rows = rows,
                                  .dim = rich ? 3 : 2,
                                  .inputs = rich ? 1 : 0,
                                  .run = s.runs,
                                  .tolerance = rich ? 2e-5 : 1e-11,
                                  .agreement = rich ? 2e-5 : 1e-12,
                                  .choice = choice});
}

static void lssm_short(void **state)
{
    (void)state;
    antler_settings s = lssm_settings(1, 5, 0);
    lssm_compare(lssm_settings(12, 3, 0), 90, "1 segment of 32 steps");
    s.runs = 1;
    lssm_compare(s, 90, "1 segment of 32 steps");
}

/* The warm-up ends inside a segment; the last segment is short. */
static void lssm_segments(void **state)
{
    (void)state;
    lssm_compare(lssm_settings(85, 2, 40), 90, "3 segments of 32 steps");
    antler_settings s = lssm_settings(79, 1, 0);
    s.runs = 1;
    lssm_compare(s, 90, "3 segments of 32 steps per sequence, 3 blocks per run");
}

/* Segments of several tiles, and blocks that have several segments. */
static void lssm_tiles(void **state)
{
    (void)state;
    antler_settings s = lssm_settings(900, 4, 0);
    s.runs = 1;
    lssm_compare(s, 1000, "2 segments of 512 steps");
    lssm_compare(lssm_settings(33, 9, 5), 90, "1 segment of 64 steps per sequence, 8 blocks per run");
}

/* A itself is the parameter. */
static void lssm_with_a_free_diagonal(void **state)
{
    (void)state;
    antler_settings s = lssm_settings(85, 2, 40);
    s.diagonal = ANTLER_DIAGONAL_FREE;
    lssm_compare(s, 90, "3 segments of 32 steps");
}

static void lssm_in_float(void **state)
{
    (void)state;
    lssm_compare(rich_settings(), 90, "3 segments of 32 steps");
}

/* M 4, N 1, L 5, K 1 in double: `mamba2 small_double` there; segments have 28 steps. */
static antler_settings mamba2_settings(size_t T, size_t batch, size_t warmup)
{
    antler_settings s = plain_settings();
    s.model = ANTLER_MODEL_MAMBA2;
    s.kappa = 0.9995;
    s.latent_dim = 4;
    s.hidden_dim = 5;
    s.sequence_length = T;
    s.batch_size = batch;
    s.warmup = warmup;
    s.updates = 4;
    s.checkpoint_interval = 3;
    return s;
}

static void mamba2_training(void **state)
{
    (void)state;
    antler_settings s = mamba2_settings(40, 1, 10);
    s.updates = 6;
    compare_with_cpu((comparison){.settings = s,
                                  .rows = 90,
                                  .dim = 1,
                                  .inputs = 1,
                                  .run = 2,
                                  .tolerance = 1e-10,
                                  .agreement = 1e-11,
                                  .choice = "2 segments of 28 steps per sequence, 2 blocks per run"});
}

static void same_bytes(antler_settings s, size_t dim, size_t inputs)
{
    antler_series *series = make_series(90, dim, inputs);
    double once[PARAMETERS_MAX] = {0}, again[PARAMETERS_MAX] = {0};
    seen first = {.rows = 0}, second = {.stop_after = 1};
    s.device = ANTLER_DEVICE_CUDA;
    CHECK_OK(train(&s, series, 2, &first, once));
    CHECK_OK(train(&s, series, 2, &second, again));
    assert_memory_equal(once, again, sizeof once);
    assert_int_equal(first.rows, second.rows);
    for (size_t i = 0; i < first.rows; i++) {
        assert_true(first.row[i].loss == second.row[i].loss && first.row[i].update == second.row[i].update);
        assert_true(isnan(first.row[i].iterations)); /* there are none */
        assert_string_equal(first.row[i].solver, "scan");
    }
    antler_series_free(series);
}

static size_t read_model(const char *folder, const char *name, unsigned char *bytes, size_t room)
{
    char path[256];
    snprintf(path, sizeof path, "%s/experiment/%s/002/model.npz", folder, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t size = fread(bytes, 1, room, file);
    fclose(file);
    return size;
}

static void lssm_same_bytes(void **state)
{
    (void)state;
    same_bytes(lssm_settings(50, 2, 7), 2, 0);
}

static void mamba2_same_bytes(void **state)
{
    (void)state;
    same_bytes(mamba2_settings(30, 1, 0), 1, 1);
}

/* Run 2 alone and beside run 1. */
static void alone_and_among(antler_settings s, size_t dim, size_t inputs)
{
    enum { BYTES = 1 << 16 };
    static unsigned char among[BYTES], alone[BYTES];
    char folder[FOLDER_ROOM], command[FOLDER_ROOM + 8];
    antler_series *series = make_series(90, dim, inputs);
    assert_int_equal(folder_make(folder), 0);
    s.device = ANTLER_DEVICE_CUDA;
    snprintf(s.results, sizeof s.results, "%s", folder);
    snprintf(s.name, sizeof s.name, "among");
    CHECK_OK(antler_train_series(&s, series, 0, true, NULL, NULL));
    snprintf(s.name, sizeof s.name, "alone");
    CHECK_OK(antler_train_series(&s, series, 2, true, NULL, NULL));
    const size_t size = read_model(folder, "among", among, BYTES);
    assert_true(size > 0 && size < BYTES);
    assert_int_equal(read_model(folder, "alone", alone, BYTES), size);
    assert_memory_equal(among, alone, size);
    antler_series_free(series);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static void lssm_alone_and_among(void **state)
{
    (void)state;
    alone_and_among(lssm_settings(50, 2, 7), 2, 0);
}

static void mamba2_alone_and_among(void **state)
{
    (void)state;
    alone_and_among(mamba2_settings(30, 1, 0), 1, 1);
}

static void diverges(antler_settings s, size_t dim, size_t inputs)
{
    antler_series *series = NULL;
    double x[200], out[PARAMETERS_MAX];
    seen on_cpu = {.rows = 0}, on_gpu = {.rows = 0};
    for (size_t i = 0; i < 200; i++)
        x[i] = 1e200 * sin(0.1 * (double)i);
    CHECK_OK(antler_series_create(dim, inputs, &series));
    CHECK_OK(antler_series_append(series, 100, x, x));
    s.standardise = false;
    s.device = ANTLER_DEVICE_CPU;
    CHECK_FAILS(train(&s, series, 1, &on_cpu, out), ANTLER_DIVERGED, "the loss is not finite");
    s.device = ANTLER_DEVICE_CUDA;
    CHECK_FAILS(train(&s, series, 1, &on_gpu, out), ANTLER_DIVERGED, "the loss is not finite");
    assert_string_equal(on_cpu.end, on_gpu.end);
    antler_series_free(series);
}

/* The bare solver, and the time of whole updates, as `antler bench solve --update` wants them. */
static void lssm_problem(void **state)
{
    (void)state;
    antler_settings s = lssm_settings(40, 2, 3);
    antler_problem *p = NULL;
    antler_solve_report report;
    double x[2 * 41 * 2], states = NAN, gradient = NAN, seconds = NAN;
    for (size_t i = 0; i < sizeof x / sizeof x[0]; i++)
        x[i] = sin(0.37 * (double)i);
    s.device = ANTLER_DEVICE_CUDA;
    CHECK_OK(antler_problem_create(&s, 2, 0, &p));
    antler_problem_set_data(p, x, NULL);
    CHECK_OK(antler_problem_check(p, &report, &states, &gradient));
    assert_true(states < 1e-12 && gradient < 1e-12);
    assert_int_equal(report.iterations, 0);
    assert_int_equal(report.outcome, ANTLER_OK);
    CHECK_OK(antler_problem_time_update(p, 2, &seconds));
    assert_true(seconds > 0.0);
    antler_problem_free(p);
}

static void lssm_diverges(void **state)
{
    (void)state;
    diverges(lssm_settings(12, 3, 0), 2, 0);
}

static void mamba2_diverges(void **state)
{
    (void)state;
    diverges(mamba2_settings(12, 1, 0), 1, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lssm_short),
        cmocka_unit_test(lssm_segments),
        cmocka_unit_test(lssm_tiles),
        cmocka_unit_test(lssm_in_float),
        cmocka_unit_test(lssm_with_a_free_diagonal),
        cmocka_unit_test(lssm_same_bytes),
        cmocka_unit_test(lssm_alone_and_among),
        cmocka_unit_test(lssm_diverges),
        cmocka_unit_test(lssm_problem),
        cmocka_unit_test(mamba2_training),
        cmocka_unit_test(mamba2_same_bytes),
        cmocka_unit_test(mamba2_alone_and_among),
        cmocka_unit_test(mamba2_diverges),
    };
    return cmocka_run_group_tests(tests, use_wide_fake, NULL);
}
