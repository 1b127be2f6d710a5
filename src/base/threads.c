/*
 * threads.c - threads that can be started, before OpenMP needs them.
 *
 * libgomp ends the process when it cannot start a thread, and waits for ever in a child of fork(2) for the
 * threads of its parent.  So the threads are started here first, where a failure is no more than a number.
 */
#include "base/machine.h"

#include <pthread.h>
#include <stdatomic.h>

#include <omp.h>

enum { MOST = 1024 };

/* Threads that wait until all of them exist. */
typedef struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t opened;
    bool open;
} gate;

static atomic_uint forks; /* of which this process is the child */
static atomic_int refused;

/* libgomp keeps threads for each thread that uses it, so this is known for each, too. */
static _Thread_local int ready = 1, most = MOST; /* have been started; can be started */
static _Thread_local unsigned ready_in;          /* the value of `forks` then */

static void count_fork(void)
{
    atomic_fetch_add(&forks, 1);
}

static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, count_fork);
}

static void *wait_at(void *cookie)
{
    gate *g = cookie;
    pthread_mutex_lock(&g->mutex);
    while (!g->open)
        pthread_cond_wait(&g->opened, &g->mutex);
    pthread_mutex_unlock(&g->mutex);
    return NULL;
}

/* How many of `wanted` threads, this one included, can exist at the same time. */
static int try_threads(int wanted)
{
#if defined(ANT_SANITIZE) /* LeakSanitizer of clang 14 crashes where threads have ended */
    return wanted;
#endif
    gate g = {.mutex = PTHREAD_MUTEX_INITIALIZER, .opened = PTHREAD_COND_INITIALIZER};
    pthread_t others[MOST];
    int count = 0;
    while (count + 1 < wanted && pthread_create(&others[count], NULL, wait_at, &g) == 0)
        count++;
    pthread_mutex_lock(&g.mutex);
    g.open = true;
    pthread_cond_broadcast(&g.opened);
    pthread_mutex_unlock(&g.mutex);
    for (int i = 0; i < count; i++)
        pthread_join(others[i], NULL);
    return count + 1;
}

int ant_threads_ready(int wanted)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (wanted <= 1 || omp_in_parallel())
        return 1;
    pthread_once(&once, watch_forks);
    if (ready > 1 && ready_in != atomic_load(&forks))
        return 1; /* what libgomp keeps for this thread are threads of the parent */
    wanted = wanted < most ? wanted : most;
    if (wanted <= ready)
        return wanted;
    const int possible = try_threads(wanted);
    if (possible < wanted) {
        most = possible;
        atomic_store(&refused, wanted - possible);
    }
    ready_in = atomic_load(&forks);
    ready = possible;
#pragma omp parallel num_threads(possible) /* libgomp starts them while there is room, and keeps them */
    {
    }
    return possible;
}

void ant_threads_note_refused(int count)
{
    atomic_store(&refused, count);
}

int antler_threads_refused(void)
{
    return atomic_load(&refused);
}
