/*
 * Training on a fake GPU with as little shared memory as those of workstations and laptops have: weights that
 * every step reads do not fit beside the rest and are read where they lie.
 */
#include "unit/training.h"

static int use_small(void **state)
{
    setenv("FAKE_CUDA_MULTIPROCESSORS", "2", 1);
    setenv("FAKE_CUDA_SHARED", "101376", 1);
    return use_fake(state);
}

static void same_as_cpu(void **state)
{
    (void)state;
    compare_with_cpu((comparison){.settings = large_settings(),
                                  .rows = 120,
                                  .dim = 9,
                                  .run = 1,
                                  .tolerance = 1e-8,
                                  .agreement = 1e-11,
                                  .choice = "shooting on the GPU, 8 segments",
                                  .passes = 4});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_cpu),
    };
    return cmocka_run_group_tests(tests, use_small, NULL);
}
