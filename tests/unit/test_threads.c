/* test_threads.c - threads that can be started, and what happens where they cannot, and after fork(2). */
#include "check.h"

#include "base/machine.h"

#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Threads that a region has. */
static int team_of(int wanted)
{
    int count = 0;
    const int ready = ant_threads_ready(wanted);
#pragma omp parallel num_threads(ready) reduction(+ : count)
    count++;
    return count;
}

/* Run in a child, which fails when it takes longer than a minute; returns its exit code, or -1. */
static int in_child(int (*call)(void))
{
    int status = 0;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        _exit(call());
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static size_t address_space(void)
{
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    const bool found = file != NULL && fscanf(file, "%zu", &pages) == 1;
    if (file != NULL)
        fclose(file);
    return found ? pages * (size_t)sysconf(_SC_PAGESIZE) : 0;
}

/* Room for the stacks of a few threads, and not of 64. */
static int start_with_little_room(void)
{
    const size_t room = address_space() + ((size_t)40 << 20);
    const struct rlimit limit = {room, room}, stack = {8 << 20, 8 << 20};
    if (setrlimit(RLIMIT_STACK, &stack) != 0 || setrlimit(RLIMIT_AS, &limit) != 0)
        return 1;
    const int ready = ant_threads_ready(64);
    if (ready < 1 || ready > 8 || antler_threads_refused() != 64 - ready)
        return 2;
    return team_of(64) == ready && ant_threads_ready(64) == ready ? 0 : 3;
}

static void test_little_room(void **state)
{
    (void)state;
#if defined(ANT_SANITIZE) || defined(__clang__)
    skip(); /* a sanitizer needs terabytes of address space; LLVM's OpenMP takes more than stacks */
#endif
    if (address_space() == 0)
        skip();
    assert_int_equal(in_child(start_with_little_room), 0); /* before this process has any thread */
}

static int start_three(void)
{
    return team_of(3);
}

static void *team_of_three(void *cookie)
{
    *(int *)cookie = team_of(3);
    return NULL;
}

/* libgomp keeps threads for each thread; a new one of the child has none of the parent's. */
static int start_three_in_a_thread(void)
{
    pthread_t thread;
    int count = 0;
    if (pthread_create(&thread, NULL, team_of_three, &count) != 0 || pthread_join(thread, NULL) != 0)
        return -1;
    return count;
}

static void test_fork(void **state)
{
    (void)state;
    if (FOR_RACES)
        skip(); /* ThreadSanitizer does not support threads in a child of threads */
    assert_int_equal(in_child(start_three), 3); /* the parent has not used threads yet */
    assert_int_equal(team_of(3), 3);
    assert_int_equal(in_child(start_three), 1);
    assert_int_equal(in_child(start_three_in_a_thread), 3);
    assert_int_equal(team_of(3), 3);
    assert_int_equal(antler_threads_refused(), 0);
}

static void test_nested(void **state)
{
    (void)state;
    int inner = 0;
    const int ready = ant_threads_ready(2);
    assert_int_equal(ready, 2);
#pragma omp parallel num_threads(ready) reduction(+ : inner)
    inner += ant_threads_ready(4);
    assert_int_equal(inner, 2);
    assert_int_equal(ant_threads_ready(1), 1);
    assert_int_equal(ant_threads_ready(0), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_little_room),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_nested),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
