/*
 * gpu.h - tests that need a GPU, without a test library: they run from a folder that is carried to a machine
 * on which nothing can be installed.
 *
 * A test file is a list of functions handed to gpu_main.  `make gpu-tests` finds tests/gpu/test_*.c by
 * itself, and scripts/test_gpu.sh runs each function in a process of its own, many side by side.
 *
 *     gpu_test_NAME [TEST...]   run these tests, or all; exit code: 0 all passed, 1 some failed, 2 there is
 * no such test, 77 there is no GPU gpu_test_NAME --list      the names of those that run here, each with the
 * word "alone" where it must
 *
 * With ANT_SANITIZER in the environment the tests are small: a sanitizer slows kernels down by tens to
 * thousands.
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

/* What a test needs. */
enum {
    GPU_ALONE = 1, /* the machine for itself: it measures a time, or harms the GPU */
    GPU_PLAIN = 2, /* no sanitizer around it */
};

typedef struct gpu_test {
    const char *name;
    void (*run)(void);
    unsigned needs;
} gpu_test;

#define GPU_TEST(function) GPU_TEST_NEEDS(function, 0)
#define GPU_TEST_NEEDS(function, needs)                                                                      \
    {                                                                                                        \
#function, function, needs                                                                           \
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

static inline bool gpu_sanitized(void)
{
    return getenv("ANT_SANITIZER") != NULL;
}

/* A size: `all` of it, or `few` under a sanitizer. */
static inline size_t gpu_size(size_t all, size_t few)
{
    return gpu_sanitized() ? few : all;
}

static inline void gpu_run(const gpu_test *test)
{
    gpu_faults = 0;
    if (ant_cuda_device_open(0, &gpu) == ANTLER_OK) {
        test->run();
        ant_cuda_device_close(gpu);
    } else {
        EXPECT(false, "%s", antler_message());
    }
    printf("%s %s\n", gpu_faults == 0 ? "ok    " : "FAILED", test->name);
    fflush(stdout);
}

static inline int gpu_list(const gpu_test *tests, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if ((tests[i].needs & GPU_PLAIN) == 0 || !gpu_sanitized())
            printf("%s%s\n", tests[i].name, (tests[i].needs & GPU_ALONE) != 0 ? " alone" : "");
    }
    return 0;
}

static inline bool gpu_is_known(const gpu_test *tests, size_t count, const char *name)
{
    bool known = false;
    for (size_t i = 0; i < count; i++)
        known = known || strcmp(tests[i].name, name) == 0;
    return known;
}

static inline int gpu_main(const gpu_test *tests, size_t count, int argc, char **argv)
{
    int passed = 0, failed = 0;
    size_t devices = 0;
    if (argc == 2 && strcmp(argv[1], "--list") == 0)
        return gpu_list(tests, count);
    for (int k = 1; k < argc; k++) {
        if (!gpu_is_known(tests, count, argv[k])) {
            printf("there is no test %s; --list names them\n", argv[k]);
            return 2;
        }
    }
    if (antler_device_count(&devices) != ANTLER_OK) {
        printf("skipped: %s\n", antler_message());
        return 77;
    }
    for (size_t i = 0; i < count; i++) {
        bool wanted = argc <= 1;
        for (int k = 1; k < argc; k++)
            wanted = wanted || strcmp(tests[i].name, argv[k]) == 0;
        if (!wanted)
            continue;
        gpu_run(&tests[i]);
        passed += gpu_faults == 0;
        failed += gpu_faults != 0;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}

#endif
