/* test_team.c - threads that share parts: each is done once, whoever does it, and none waits for ever. */
#include "check.h"

#include "base/team.h"

#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PARTS = 100, THREADS = 4 };

static void pause_for(long microseconds)
{
    const struct timespec time = {.tv_nsec = 1000 * microseconds};
    nanosleep(&time, NULL);
}

typedef struct work {
    atomic_int done[PARTS];
    atomic_int busy[THREADS]; /* workers at this moment */
    atomic_int faults;
    size_t workers;
    ant_counter reached; /* parts that have ended, for those that wait */
} work;

static void count_part(void *cookie, size_t part, size_t worker)
{
    work *w = cookie;
    if (worker >= w->workers || atomic_fetch_add(&w->busy[worker], 1) != 0)
        atomic_fetch_add(&w->faults, 1);
    atomic_fetch_add(&w->done[part], 1);
    atomic_fetch_sub(&w->busy[worker % THREADS], 1);
}

static void check_done(const work *w, size_t parts)
{
    assert_int_equal(atomic_load(&w->faults), 0);
    for (size_t i = 0; i < PARTS; i++)
        assert_int_equal(atomic_load(&w->done[i]), i < parts ? 1 : 0);
}

static void test_each_part_once(void **state)
{
    (void)state;
    for (int threads = 1; threads <= THREADS; threads++) {
        ant_team *team = ant_team_create(threads);
        for (size_t round = 0; round < 300; round++) {
            const size_t parts = round % (PARTS + 1), most = (size_t)threads;
            work w = {.workers = parts < most ? parts : most};
            ant_team_run(team, parts, count_part, &w);
            check_done(&w, parts);
            if (round % 100 == 50)
                pause_for(2000); /* they go to sleep */
        }
        ant_team_free(team);
    }
}

/* Every part waits for the one before it, which somebody has begun. */
static void wait_for_last(void *cookie, size_t part, size_t worker)
{
    work *w = cookie;
    (void)worker;
    if (ant_counter_wait(&w->reached, part) != part)
        atomic_fetch_add(&w->faults, 1);
    if (part % 10 == 3)
        pause_for(200); /* longer than those who wait spin */
    atomic_fetch_add(&w->done[part], 1);
    ant_counter_set(&w->reached, part + 1);
}

static void test_parts_in_turn(void **state)
{
    (void)state;
    for (int threads = 1; threads <= THREADS; threads++) {
        ant_team *team = ant_team_create(threads);
        for (size_t round = 0; round < 10; round++) {
            work w = {.workers = (size_t)threads, .reached = ANT_COUNTER_ZERO};
            ant_team_run(team, PARTS, wait_for_last, &w);
            check_done(&w, PARTS);
        }
        ant_team_free(team);
    }
}

/* The clock of the team: the real one, and what a test adds. */
static _Atomic double added;
double __real_ant_seconds(void);
double __wrap_ant_seconds(void);
double __wrap_ant_seconds(void)
{
    return __real_ant_seconds() + atomic_load(&added);
}

/* Of calls 21 to 60, those with all threads, when a call takes these seconds with them and alone. */
static int calls_with_all(double all, double alone)
{
    ant_team *team = ant_team_create(2);
    int count = 0;
    for (int call = 1; call <= 60; call++) {
        work w = {.workers = 2};
        const bool shared = ant_team_begin_call(team);
        ant_team_run(team, 4, count_part, &w);
        check_done(&w, 4);
        atomic_store(&added,
                     atomic_load(&added) +
                         (shared ? all : alone)); /* much longer than any interruption of this process */
        ant_team_end_call(team);
        count += shared && call > 20;
    }
    ant_team_free(team);
    return count;
}

/* Threads that bring nothing rest, those that do, work; the other way is tried in call 32. */
static void test_rests_where_it_does_not_pay(void **state)
{
    (void)state;
    assert_int_equal(calls_with_all(1e4, 2e4), 39);
    assert_int_equal(calls_with_all(2e4, 1e4), 1);
    assert_false(ant_team_begin_call(NULL));
}

/* A child of fork(2) has none of the threads: it works alone, and can free the team. */
static void test_after_fork(void **state)
{
    (void)state;
    if (FOR_RACES)
        skip(); /* ThreadSanitizer does not support threads in a child of threads */
    ant_team *team = ant_team_create(3);
    work w = {.workers = 3};
    ant_team_run(team, PARTS, count_part, &w);
    check_done(&w, PARTS);
    int status = -1;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        work own = {.workers = 1};
        alarm(60);
        ant_team_run(team, PARTS, count_part, &own);
        ant_team_free(team);
        int missing = 0;
        for (size_t i = 0; i < PARTS; i++)
            missing += atomic_load(&own.done[i]) != 1;
        _exit(missing == 0 && atomic_load(&own.faults) == 0 ? 0 : 1);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ant_team_free(team);
    ant_team_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_part_once),
        cmocka_unit_test(test_parts_in_turn),
        cmocka_unit_test(test_rests_where_it_does_not_pay),
        cmocka_unit_test(test_after_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
