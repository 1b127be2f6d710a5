/* Tests of base/lock: one holder among processes, threads and forked children; the file is never removed. */
#include "unit/folder.h"

#include "base/lock.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

enum { THREADS = 16, PROCESSES = 12, ROUNDS = 200 };

/* Linked with --wrap: a file system without locks. */
int __real_flock(int descriptor, int operation);
int __wrap_flock(int descriptor, int operation);
static bool without_locks;

int __wrap_flock(int descriptor, int operation)
{
    if (!without_locks)
        return __real_flock(descriptor, operation);
    errno = ENOTSUP;
    return -1;
}

static void one_holder_and_a_sentence(void **state)
{
    (void)state;
    ant_lock *first = NULL, *second = NULL;
    CHECK_OK(ant_lock_take("lock", "Results/e/n/001", &first));
    CHECK_FAILS(ant_lock_take("lock", "Results/e/n/001", &second), ANTLER_ERROR_ARGUMENT,
                "Results/e/n/001: another training uses this run");
    assert_null(second);
    ant_lock_release(first);
    assert_int_equal(access("lock", F_OK), 0); /* it stays */
    CHECK_OK(ant_lock_take("lock", "again", &second));
    ant_lock_release(second);
    ant_lock_release(NULL);
}

static void a_file_that_cannot_be_made(void **state)
{
    (void)state;
    ant_lock *lock = NULL;
    CHECK_FAILS(ant_lock_take("nowhere/lock", "run", &lock), ANTLER_ERROR_IO, "nowhere/lock");
    assert_null(lock);
    assert_int_equal(symlink("elsewhere", "planted"), 0);
    CHECK_FAILS(ant_lock_take("planted", "run", &lock), ANTLER_ERROR_IO, "planted");
    assert_int_not_equal(access("elsewhere", F_OK), 0); /* a link is not followed */
}

static void reading_the_file_keeps_the_lock(void **state)
{
    (void)state;
    ant_lock *first = NULL, *second = NULL;
    CHECK_OK(ant_lock_take("lock", "run", &first));
    FILE *file = fopen("lock", "rb"); /* a record lock of fcntl would be dropped by the close */
    assert_non_null(file);
    fclose(file);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(ant_lock_take("lock", "run", &second) == ANTLER_ERROR_ARGUMENT ? 0 : 1);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ant_lock_release(first);
}

static atomic_int inside, most, taken;

static void *contend(void *unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        ant_lock *lock = NULL;
        if (ant_lock_take("lock", "run", &lock) != ANTLER_OK)
            continue;
        const int now = atomic_fetch_add(&inside, 1) + 1;
        if (now > atomic_load(&most))
            atomic_store(&most, now);
        atomic_fetch_add(&taken, 1);
        atomic_fetch_sub(&inside, 1);
        ant_lock_release(lock);
    }
    return NULL;
}

static void threads_take_turns(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, contend, NULL), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&most), 1);
    assert_true(atomic_load(&taken) > 0);
}

static void threads_take_turns_where_the_file_system_has_no_locks(void **state)
{
    ant_lock *first = NULL, *second = NULL;
    without_locks = true;
    CHECK_OK(ant_lock_take("lock", "run", &first));
    CHECK_FAILS(ant_lock_take("lock", "run", &second), ANTLER_ERROR_ARGUMENT,
                "another training uses this run");
    ant_lock_release(first);
    threads_take_turns(state);
    without_locks = false;
}

/* While it holds the lock, a process makes a file that must not exist yet. */
static int hold_alone(void)
{
    int faults = 0;
    for (int i = 0; i < ROUNDS; i++) {
        ant_lock *lock = NULL;
        if (ant_lock_take("lock", "run", &lock) != ANTLER_OK)
            continue;
        FILE *file = fopen("alone", "wbx");
        if (file == NULL)
            faults++;
        else
            fclose(file);
        (void)unlink("alone");
        ant_lock_release(lock);
    }
    return faults;
}

static void processes_take_turns(void **state)
{
    (void)state;
    pid_t children[PROCESSES];
    for (size_t i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            _exit(hold_alone() == 0 ? 0 : 1);
    }
    for (size_t i = 0; i < PROCESSES; i++) {
        int status = 0;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

static void a_killed_holder_leaves_no_lock(void **state)
{
    (void)state;
    int ready[2];
    char byte = 0;
    ant_lock *lock = NULL;
    assert_int_equal(pipe(ready), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const bool held = ant_lock_take("lock", "run", &lock) == ANTLER_OK;
        if (!held || write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    CHECK_FAILS(ant_lock_take("lock", "run", &lock), ANTLER_ERROR_ARGUMENT, "another training");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    CHECK_OK(ant_lock_take("lock", "run", &lock));
    ant_lock_release(lock);
    close(ready[0]);
    close(ready[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_holder_and_a_sentence),
        cmocka_unit_test(a_file_that_cannot_be_made),
        cmocka_unit_test(reading_the_file_keeps_the_lock),
        cmocka_unit_test(threads_take_turns),
        cmocka_unit_test(threads_take_turns_where_the_file_system_has_no_locks),
        cmocka_unit_test(processes_take_turns),
        cmocka_unit_test(a_killed_holder_leaves_no_lock),
    };
    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
