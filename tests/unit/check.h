/* check.h - cmocka with the headers that it wants, and comparisons of numbers. */
#ifndef ANT_TESTS_CHECK_H
#define ANT_TESTS_CHECK_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <antler/antler.h>

/* The build for ThreadSanitizer leaves out what can tell it nothing: computations on one thread, and the same
   loops again on other numbers.  The other builds make them. */
#if defined __has_feature
#if __has_feature(thread_sanitizer)
#define FOR_RACES 1
#endif
#endif
#if defined __SANITIZE_THREAD__
#define FOR_RACES 1
#endif
#ifndef FOR_RACES
#define FOR_RACES 0
#endif

/* No sanitizer finds more in the same loops on other numbers: trainings for their outcome, and differences
   for every parameter.  The builds without one make all of them. */
#if defined ANT_SANITIZE
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

/* The call must return ANTLER_OK; otherwise its sentence is the failure's. */
#define CHECK_OK(call)                                                                                       \
    do {                                                                                                     \
        const antler_status check_status = (call);                                                           \
        if (check_status != ANTLER_OK)                                                                       \
            fail_msg("%s: %s: %s", #call, antler_status_name(check_status), antler_message());               \
    } while (0)

/* The call must return this status with a sentence that contains `fragment`. */
#define CHECK_FAILS(call, status, fragment)                                                                  \
    do {                                                                                                     \
        const antler_status check_status = (call);                                                           \
        if (check_status != (status))                                                                        \
            fail_msg("%s: returned %s", #call, antler_status_name(check_status));                            \
        if (strstr(antler_message(), (fragment)) == NULL)                                                    \
            fail_msg("%s: '%s' does not contain '%s'", #call, antler_message(), (fragment));                 \
    } while (0)

/* |got - want| <= tolerance; NaN never passes. */
#define CHECK_NEAR(got, want, tolerance)                                                                     \
    do {                                                                                                     \
        const double check_got = (got), check_want = (want);                                                 \
        if (!(fabs(check_got - check_want) <= (tolerance)))                                                  \
            fail_msg("%s = %.17g is not within %g of %.17g", #got, check_got, (double)(tolerance),           \
                     check_want);                                                                            \
    } while (0)

#endif
