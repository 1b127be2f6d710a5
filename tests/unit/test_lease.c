/* Tests of base/lease: one winner of every claim, renewals, takeovers, and a holder that notices its loss. */
#include "unit/folder.h"

#include "base/lease.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

enum { THREADS = 12, ROUNDS = 60 };

static void set_host(const char *name)
{
    assert_int_equal(setenv("ANTLER_HOST", name, 1), 0);
}

static void rest(double seconds)
{
    const struct timespec pause = {.tv_sec = (time_t)seconds,
                                   .tv_nsec = (long)(1e9 * (seconds - (double)(time_t)seconds))};
    nanosleep(&pause, NULL);
}

static void clear(const char *run)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf ./%s && mkdir %s", run, run);
    assert_int_equal(system(command), 0);
}

/* Look and take as one process would. */
static ant_lease *take(const char *run, double seconds)
{
    ant_lease_view view;
    ant_lease *lease = NULL;
    CHECK_OK(ant_lease_look(run, &view));
    CHECK_OK(ant_lease_take(run, &view, seconds, false, &lease));
    return lease;
}

static ant_lease_view look(const char *run)
{
    ant_lease_view view;
    CHECK_OK(ant_lease_look(run, &view));
    return view;
}

static void the_life_of_a_lease(void **state)
{
    (void)state;
    set_host("node,17 a");
    clear("run");
    assert_int_equal(look("run").state, ANT_LEASE_NONE);
    ant_lease *lease = take("run", 100.0);
    assert_non_null(lease);
    ant_lease_view view = look("run");
    assert_int_equal(view.state, ANT_LEASE_HELD);
    assert_string_equal(view.host, "node-17-a");
    assert_int_equal(view.process, getpid());
    assert_true(view.here && view.mine && !view.locked && view.seconds == 100.0 && view.age < 50.0);
    CHECK_OK(ant_lease_renew(lease));
    CHECK_OK(ant_lease_check(lease));
    ant_lease_release(lease, false);
    assert_int_equal(look("run").state, ANT_LEASE_FREE);
    lease = take("run", 100.0);
    ant_lease_release(lease, true);
    assert_int_equal(look("run").state, ANT_LEASE_ENDED);
    ant_lease_release(NULL, true);
}

static void an_old_view_takes_nothing(void **state)
{
    (void)state;
    set_host("a");
    clear("run");
    const ant_lease_view none = look("run");
    ant_lease *first = take("run", 100.0), *second = NULL;
    CHECK_OK(ant_lease_take("run", &none, 100.0, false, &second)); /* was not there when it looked */
    assert_null(second);
    const ant_lease_view held = look("run");
    CHECK_OK(ant_lease_renew(first));
    CHECK_OK(ant_lease_take("run", &held, 100.0, false, &second)); /* renewed since */
    assert_null(second);
    ant_lease_release(first, false);
    const ant_lease_view vacant = look("run");
    first = take("run", 100.0);
    CHECK_OK(ant_lease_take("run", &vacant, 100.0, false, &second)); /* taken since */
    assert_null(second);
    CHECK_OK(ant_lease_renew(first));
    ant_lease_release(first, true);
}

static void it_expires_only_without_its_holder(void **state)
{
    (void)state;
    set_host("a");
    clear("run");
    ant_lease *lease = take("run", 0.5);
    set_host("b");
    for (int i = 0; i < 12; i++) { /* its guard renews it */
        rest(0.1);
        const ant_lease_view view = look("run");
        assert_true(view.state == ANT_LEASE_HELD && !view.here && !view.mine);
        CHECK_OK(ant_lease_renew(lease)); /* also where a busy machine keeps the guard waiting */
    }
    assert_false(ant_lease_is_expired(&(ant_lease_view){.state = ANT_LEASE_FREE, .age = 9.0}));
    ant_lease_release(lease, false);
    assert_int_equal(mkdir("dead", 0777), 0);
    assert_int_equal(mkdir("dead/.claim", 0777), 0);
    folder_write_text("dead/.claim/a,7,a,0,500,0123456789abcdef,3", "");
    assert_false(
        ant_lease_is_expired(&(ant_lease_view){.state = ANT_LEASE_HELD, .age = 0.4, .seconds = 0.5}));
    rest(0.7);
    const ant_lease_view view = look("dead");
    assert_true(ant_lease_is_expired(&view));
    assert_int_equal(system("rm -rf dead"), 0);
}

static void who_lost_it_is_told(void **state)
{
    (void)state;
    set_host("a");
    clear("run");
    ant_lease *first = take("run", 100.0), *second = NULL;
    set_host("b");
    const ant_lease_view view = look("run");
    CHECK_OK(ant_lease_take("run", &view, 100.0, false, &second)); /* as if it had expired */
    assert_non_null(second);
    CHECK_OK(ant_lease_check(first)); /* trusted within a quarter of the lease */
    CHECK_FAILS(ant_lease_renew(first), ANTLER_ERROR_ARGUMENT, "run: b (pid ");
    CHECK_FAILS(ant_lease_check(first), ANTLER_ERROR_ARGUMENT, "has taken this run over");
    assert_true(ant_lease_is_lost(first));
    ant_lease_release(first, true); /* changes nothing */
    assert_int_equal(look("run").state, ANT_LEASE_HELD);
    CHECK_OK(ant_lease_renew(second));
    ant_lease_release(second, true);
    assert_int_equal(look("run").state, ANT_LEASE_ENDED);
}

static atomic_int inside, most, taken;

/* Take what is free, again and again. */
static void *contend(void *unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        ant_lease_view view;
        ant_lease *lease = NULL;
        if (ant_lease_look("run", &view) != ANTLER_OK || view.state == ANT_LEASE_HELD ||
            ant_lease_take("run", &view, 100.0, false, &lease) != ANTLER_OK || lease == NULL)
            continue;
        const int now = atomic_fetch_add(&inside, 1) + 1;
        if (now > atomic_load(&most))
            atomic_store(&most, now);
        atomic_fetch_add(&taken, 1);
        atomic_fetch_sub(&inside, 1);
        ant_lease_release(lease, false);
    }
    return NULL;
}

static void one_of_many_wins(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    set_host("a");
    clear("run");
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, contend, NULL), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&most), 1);
    assert_true(atomic_load(&taken) > 0);
    assert_int_equal(look("run").state, ANT_LEASE_FREE);
}

static void *seize(void *argument)
{
    ant_lease *lease = NULL;
    (void)ant_lease_take("run", argument, 100.0, false, &lease);
    return lease;
}

/* All have seen the same lease expire. */
static void one_of_many_takes_over(void **state)
{
    (void)state;
    set_host("a");
    for (int round = 0; round < 20; round++) {
        pthread_t threads[THREADS];
        size_t winners = 0;
        clear("run");
        ant_lease *first = round % 2 == 0 ? take("run", 100.0) : NULL; /* or nobody has made the claim yet */
        ant_lease_view view = look("run");
        for (size_t i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, seize, &view), 0);
        for (size_t i = 0; i < THREADS; i++) {
            void *lease = NULL;
            pthread_join(threads[i], &lease);
            winners += lease != NULL;
            ant_lease_release(lease, false);
        }
        assert_int_equal(winners, 1);
        ant_lease_release(first, false);
    }
}

static void a_fault_is_no_absence(void **state)
{
    (void)state;
    ant_lease_view view;
    ant_lease *lease = NULL;
    clear("run");
    folder_write_text("run/.claim", "no folder");
    CHECK_FAILS(ant_lease_look("run", &view), ANTLER_ERROR_IO, "run: the lease of this run cannot be read");
    clear("run");
    assert_int_equal(mkdir("run/.claim", 0777), 0);
    folder_write_text("run/.claim/what", "");
    assert_int_equal(look("run").state, ANT_LEASE_UNCLEAR); /* no name of a lease */
    clear("run");
    assert_int_equal(mkdir("run/.claim", 0777), 0); /* empty: it can be taken */
    lease = take("run", 100.0);
    assert_non_null(lease);
    ant_lease_release(lease, false);
    assert_true(ant_lease_is_temporary(".claim-0123") && ant_lease_is_temporary(".clock-0123"));
    assert_false(ant_lease_is_temporary(".claim") || ant_lease_is_temporary(".lock"));
    assert_int_equal(system("rm -rf run"), 0);
}

static size_t open_descriptors(void)
{
    size_t count = 0;
    for (int i = 0; i < 64; i++)
        count += fcntl(i, F_GETFD) != -1;
    return count;
}

/* Also in a process without standard input, where the first file gets the number 0. */
static void a_lease_keeps_no_file_open(void **state)
{
    (void)state;
    set_host("a");
    clear("run");
    const int input = dup(0);
    assert_true(input > 0);
    close(0);
    const size_t before = open_descriptors();
    ant_lease_release(take("run", 100.0), false);
    const size_t after = open_descriptors();
    assert_int_equal(dup2(input, 0), 0);
    close(input);
    assert_int_equal(after, before);
}

/* The file of a lease has the permissions that the umask gives, and a name for the longest host. */
static void the_file_of_a_lease(void **state)
{
    (void)state;
    char host[512], path[1024];
    struct stat about;
    memset(host, 'h', sizeof host);
    host[sizeof host - 1] = '\0';
    set_host(host);
    clear("run");
    const mode_t before = umask(0027);
    ant_lease *lease = take("run", 100.0);
    umask(before);
    assert_non_null(lease);
    CHECK_OK(ant_lease_renew(lease));
    DIR *claim = opendir("run/.claim");
    assert_non_null(claim);
    size_t files = 0;
    for (struct dirent *entry = readdir(claim); entry != NULL; entry = readdir(claim))
        if (entry->d_name[0] != '.') {
            snprintf(path, sizeof path, "run/.claim/%s", entry->d_name);
            assert_int_equal(stat(path, &about), 0);
            assert_int_equal(about.st_mode & 07777, 0640);
            files++;
        }
    closedir(claim);
    assert_int_equal(files, 1);
    ant_lease_release(lease, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_life_of_a_lease),
        cmocka_unit_test(an_old_view_takes_nothing),
        cmocka_unit_test(it_expires_only_without_its_holder),
        cmocka_unit_test(who_lost_it_is_told),
        cmocka_unit_test(one_of_many_wins),
        cmocka_unit_test(one_of_many_takes_over),
        cmocka_unit_test(a_lease_keeps_no_file_open),
        cmocka_unit_test(the_file_of_a_lease),
        cmocka_unit_test(a_fault_is_no_absence),
    };
    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
