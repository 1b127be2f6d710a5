/* Tests of comm: what a process that is alone does, how items are divided, and which launchers are seen. */
#include "comm/comm.h"
#include "comm/launcher.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void alone_nothing_is_exchanged(void **state)
{
    (void)state;
    double array[2] = {3.0, 4.0};
    assert_null(ant_comm_world());
    assert_int_equal(ant_comm_rank(NULL), 0);
    assert_int_equal(ant_comm_size(NULL), 1);
    assert_int_equal(ant_comm_share(NULL, array, sizeof array[0], NULL), ANTLER_OK);
    assert_int_equal(ant_comm_share_one(NULL, array, sizeof array[0]), ANTLER_OK);
    assert_int_equal(ant_comm_broadcast(NULL, array, sizeof array), ANTLER_OK);
    assert_true(array[0] == 3.0 && array[1] == 4.0);
    assert_int_equal(ant_comm_agree(NULL, ANTLER_OK), ANTLER_OK);
    assert_int_equal(ant_comm_agree(NULL, ant_fail(ANTLER_ERROR_IO, "the disk")), ANTLER_ERROR_IO);
    assert_string_equal(antler_message(), "the disk");
    assert_true(ant_comm_any(NULL, true));
    assert_false(ant_comm_any(NULL, false));
    ant_comm_break(NULL, ANTLER_ERROR_IO);
    assert_int_equal(ant_comm_check(NULL), ANTLER_OK);
    assert_true(ant_comm_threads(NULL) > 0 && ant_comm_all_threads(NULL) > 0);
    ant_comm_leave();
    ant_comm_end_all(3);
}

static void every_item_has_one_rank(void **state)
{
    (void)state;
    for (size_t items = 0; items < 40; items++) {
        for (size_t size = 1; size < 50; size++) {
            assert_int_equal(ant_comm_begin(items, 0, size), 0);
            assert_int_equal(ant_comm_begin(items, size, size), items);
            for (size_t r = 0; r < size; r++) {
                const size_t own = ant_comm_begin(items, r + 1, size) - ant_comm_begin(items, r, size);
                assert_true(own == items / size || own == items / size + 1);
            }
            assert_true(items == 0 || ant_comm_begin(items, 1, size) > 0);
        }
    }
}

static void forget_launchers(void)
{
    static const char *const names[] = {"PMI_RANK",     "PMI_SIZE",        "OMPI_COMM_WORLD_RANK",
                                        "PALS_RANKID",  "PALS_SIZE",       "OMPI_COMM_WORLD_SIZE",
                                        "SLURM_PROCID", "MPI_LOCALRANKID", "SLURM_STEP_NUM_TASKS",
                                        "ANTLER_MPI",   "SLURM_LOCALID",   "OMPI_COMM_WORLD_LOCAL_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unsetenv(names[i]);
}

static void launchers_are_seen(void **state)
{
    (void)state;
    size_t place = 9, rank = 9, ranks = 9;
    forget_launchers();
    assert_int_equal(ant_launcher_size(), 1);
    assert_false(antler_ranks_launched(&place));
    assert_int_equal(place, 0);
    assert_int_equal(antler_ranks_join(&rank, &ranks), ANTLER_OK);
    assert_true(rank == 0 && ranks == 1 && antler_ranks_agree());
    setenv("SLURM_PROCID", "0", 1); /* a batch script */
    assert_int_equal(ant_launcher_size(), 1);
    setenv("SLURM_STEP_NUM_TASKS", "6", 1);
    setenv("SLURM_LOCALID", "2", 1);
    assert_int_equal(ant_launcher_size(), 6);
    assert_true(antler_ranks_launched(&place));
    assert_int_equal(place, 2);
    setenv("OMPI_COMM_WORLD_RANK", "1", 1);
    setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    assert_int_equal(ant_launcher_size(), 4);
    assert_true(ant_launcher_is_openmpi());
    setenv("PMI_RANK", "0", 1);
    setenv("PMI_SIZE", "1", 1); /* one process alone */
    assert_int_equal(ant_launcher_size(), 1);
    assert_false(ant_launcher_is_openmpi());
    setenv("PMI_SIZE", "3", 1);
    assert_true(antler_ranks_launched(NULL));
    setenv("ANTLER_MPI", "none", 1);
    assert_false(antler_ranks_launched(NULL));
    setenv("ANTLER_MPI", "/nothing/libmpi.so", 1);
    assert_int_equal(antler_ranks_join(&rank, &ranks), ANTLER_ERROR_IO);
    assert_non_null(strstr(antler_message(), "/nothing/libmpi.so"));
    forget_launchers();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone_nothing_is_exchanged),
        cmocka_unit_test(every_item_has_one_rank),
        cmocka_unit_test(launchers_are_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
