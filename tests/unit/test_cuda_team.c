/*
 * Training on the fake GPU with seventeen multiprocessors: the blocks of a team wait for each other and join
 * their segments, first in groups of five.
 */
#include "unit/training.h"

static int use_seventeen(void **state)
{
    setenv("FAKE_CUDA_MULTIPROCESSORS", "17", 1);
    return use_fake(state);
}

static antler_settings team_settings(void)
{
    antler_settings s = plain_settings();
    s.solver = ANTLER_SOLVER_SHOOTING;
    s.runs = 1;
    s.batch_size = 1;
    s.sequence_length = 281;
    s.updates = 4;
    s.log_interval = 1;
    return s;
}

static void same_as_cpu(void **state)
{
    (void)state;
    compare_with_cpu((comparison){.settings = team_settings(),
                                  .rows = 600,
                                  .dim = 2,
                                  .run = 1,
                                  .tolerance = 1e-8,
                                  .agreement = 1e-11,
                                  .choice = "shooting on the GPU, 136 segments",
                                  .passes = 4});
}

/* What enters a block matters to all that follow: Newton's method needs no more passes than elsewhere. */
static void long_memory(void **state)
{
    (void)state;
    antler_settings s = team_settings();
    s.kappa = 0.9995;
    compare_with_cpu((comparison){.settings = s,
                                  .rows = 600,
                                  .dim = 2,
                                  .run = 1,
                                  .tolerance = 1e-8,
                                  .agreement = 1e-11,
                                  .choice = "shooting on the GPU, 136 segments",
                                  .passes = 3});
}

/* Two sequences, so that one of them ends inside a block and the other begins there. */
static void same_as_cpu_with_two_sequences(void **state)
{
    (void)state;
    antler_settings s = team_settings();
    s.batch_size = 2;
    s.warmup = 100;
    compare_with_cpu((comparison){.settings = s,
                                  .rows = 600,
                                  .dim = 2,
                                  .run = 1,
                                  .tolerance = 1e-8,
                                  .agreement = 1e-11,
                                  .choice = "shooting on the GPU, 68 segments"});
}

/* Large tiles of J, three words of hidden units, hidden activity that is kept, and small sums in groups.
   Blocks of eight warps do not fit into shared memory, so they have four; sequences end inside them. */
static void same_as_cpu_with_a_large_model(void **state)
{
    (void)state;
    antler_settings s = large_settings();
    s.batch_size = 7;
    compare_with_cpu((comparison){.settings = s,
                                  .rows = 120,
                                  .dim = 9,
                                  .run = 1,
                                  .tolerance = 1e-8,
                                  .agreement = 1e-11,
                                  .choice = "shooting on the GPU, 9 segments",
                                  .passes = 4});
}

/* A GPU that others share lets blocks drift apart.  Nobody may use what a late one has not made, or change
   what it still reads: the same bits. */
static void late_blocks_change_nothing(void **state)
{
    (void)state;
    static const char *const late[] = {"9", "1"}; /* with a sanitizer, one of them */
    antler_series *series = make_series(600, 2, 0);
    double parameters[PARAMETERS_MAX] = {0};
    antler_settings s = team_settings();
    s.device = ANTLER_DEVICE_CUDA;
    s.start_lr = 0.05; /* away from a start at which Newton's method needs two passes */
    s.updates = 2;
    seen told = {.rows = 0};
    CHECK_OK(train(&s, series, 1, &told, parameters));
    for (size_t i = 0; i < (SANITIZED ? 1 : sizeof late / sizeof late[0]); i++) {
        double with_late[PARAMETERS_MAX] = {0};
        seen more = {.rows = 0};
        setenv("FAKE_CUDA_LATE", late[i], 1);
        CHECK_OK(train(&s, series, 1, &more, with_late));
        unsetenv("FAKE_CUDA_LATE");
        assert_memory_equal(with_late, parameters, sizeof parameters);
    }
    antler_series_free(series);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_cpu),
        cmocka_unit_test(long_memory),
        cmocka_unit_test(same_as_cpu_with_two_sequences),
        cmocka_unit_test(same_as_cpu_with_a_large_model),
        cmocka_unit_test(late_blocks_change_nothing),
    };
    return cmocka_run_group_tests(tests, use_seventeen, NULL);
}
