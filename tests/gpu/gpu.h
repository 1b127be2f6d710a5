/*
 * gpu.h - tests that need a GPU, without a test library: they run from a folder that is carried to a machine
 * on which nothing can be installed.
 *
 * A test file is a list of functions handed to gpu_main.  `make gpu-tests` finds tests/gpu/test_*.c by
 * itself. Exit code: 0 all passed, 1 some failed, 77 there is no GPU.
 */
#ifndef ANT_TESTS_GPU_H
#define ANT_TESTS_GPU_H

#include "engine/cuda/program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ant_cuda_device *gpu; /* open while tests run */
static int gpu_faults;       /* of the test that runs */

typedef struct gpu_test {
    const char *name;
    void (*run)(void);
} gpu_test;

#define GPU_TEST(function)                                                                                   \
    {                                                                                                        \
#function, function                                                                                  \
    }

/* Report and go on. */
#define EXPECT(condition, ...)                                                                               \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            printf("  %s:%d: ", __FILE__, __LINE__);                                                         \
            printf(__VA_ARGS__);                                                                             \
            putchar('\n');                                                                                   \
            gpu_faults++;                                                                                    \
        }                                                                                                    \
    } while (0)

/* Report and leave the test: what follows could not run. */
#define REQUIRE_OK(call)                                                                                     \
    do {                                                                                                     \
        const antler_status require_status = (call);                                                         \
        if (require_status != ANTLER_OK) {                                                                   \
            printf("  %s:%d: %s: %s: %s\n", __FILE__, __LINE__, #call, antler_status_name(require_status),   \
                   antler_message());                                                                        \
            gpu_faults++;                                                                                    \
            return;                                                                                          \
        }                                                                                                    \
    } while (0)

/* |got - want| <= tolerance; NaN never passes. */
#define EXPECT_NEAR(got, want, tolerance)                                                                    \
    do {                                                                                                     \
        const double expect_got = (got), expect_want = (want);                                               \
        EXPECT(fabs(expect_got - expect_want) <= (tolerance), "%s = %.17g is not within %g of %.17g", #got,  \
               expect_got, (double)(tolerance), expect_want);                                                \
    } while (0)

/* Run those tests whose names contain one of the arguments, or all. */
static inline int gpu_main(const gpu_test *tests, size_t count, int argc, char **argv)
{
    int passed = 0, failed = 0;
    size_t devices = 0;
    if (antler_device_count(&devices) != ANTLER_OK) {
        printf("skipped: %s\n", antler_message());
        return 77;
    }
    for (size_t i = 0; i < count; i++) {
        bool wanted = argc <= 1;
        for (int k = 1; k < argc; k++)
            wanted = wanted || strstr(tests[i].name, argv[k]) != NULL;
        if (!wanted)
            continue;
        gpu_faults = 0;
        if (ant_cuda_device_open(0, &gpu) == ANTLER_OK) {
            tests[i].run();
            ant_cuda_device_close(gpu);
        } else {
            EXPECT(false, "%s", antler_message());
        }
        printf("%s %s\n", gpu_faults == 0 ? "ok    " : "FAILED", tests[i].name);
        fflush(stdout);
        passed += gpu_faults == 0;
        failed += gpu_faults != 0;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}

#endif
