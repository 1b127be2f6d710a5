/*
 * team.c - threads that share a task (team.h).
 *
 * A task is open as long as it has parts.  A thread enters before it tests `open`, and the caller closes
 * before it reads `inside`.  So the caller never waits for a thread that came too late, and no thread reads
 * what the caller already writes for the next task.  Sleeping follows the same order: a thread counts itself
 * as a sleeper before it tests the counter again, and a counter is set before its sleepers are counted.
 */
#include "base/team.h"

#include "base/machine.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

struct ant_team {
    int threads, started; /* wanted, with the caller; other threads that could be started */
    bool tried;           /* to start them */
    pid_t owner;          /* a child of fork(2) has none of the threads */
    pthread_t *others;    /* (threads - 1) */
    ant_counter turn;     /* tasks so far; SIZE_MAX: the end */
    atomic_bool open;
    atomic_int inside; /* threads that may read what follows */
    ant_counter left;  /* how often a thread has gone from inside */
    atomic_size_t next, arrived;
    size_t parts, limit; /* of the task; workers that it may have */
    ant_team_part *part;
    void *cookie;
    size_t calls;      /* that have begun */
    bool resting;      /* in this call: the caller works alone */
    double began;      /* when it did */
    double seconds[2]; /* of a usual call: shared, alone */
};

/* Poll `counter` for so many seconds.  Reading the clock also keeps the loop from using up the core. */
static size_t spin(ant_counter *counter, size_t least, double seconds)
{
    const double end = ant_seconds() + seconds;
    size_t value;
    while ((value = atomic_load(&counter->value)) < least && ant_seconds() < end)
        ;
    return value;
}

static size_t wait_for(ant_counter *counter, size_t least, double seconds)
{
    size_t value = spin(counter, least, seconds);
    if (value >= least)
        return value;
    pthread_mutex_lock(&counter->mutex);
    atomic_fetch_add(&counter->sleepers, 1);
    while ((value = atomic_load(&counter->value)) < least)
        pthread_cond_wait(&counter->changed, &counter->mutex);
    atomic_fetch_sub(&counter->sleepers, 1);
    pthread_mutex_unlock(&counter->mutex);
    return value;
}

static void wake(ant_counter *counter)
{
    if (atomic_load(&counter->sleepers) == 0)
        return;
    pthread_mutex_lock(&counter->mutex);
    pthread_cond_broadcast(&counter->changed);
    pthread_mutex_unlock(&counter->mutex);
}

void ant_counter_set(ant_counter *counter, size_t value)
{
    atomic_store(&counter->value, value);
    wake(counter);
}

size_t ant_counter_wait(ant_counter *counter, size_t least)
{
    return wait_for(counter, least, 20e-6);
}

static void take_parts(ant_team *team, size_t worker)
{
    for (size_t part; (part = atomic_fetch_add(&team->next, 1)) < team->parts;)
        team->part(team->cookie, part, worker);
}

/* One of the other threads. */
static void *serve(void *cookie)
{
    ant_team *team = cookie;
    for (size_t seen = 0; (seen = wait_for(&team->turn, seen + 1, 50e-6)) != SIZE_MAX;) {
        atomic_fetch_add(&team->inside, 1);
        if (atomic_load(&team->open)) {
            const size_t worker = atomic_fetch_add(&team->arrived, 1) + 1;
            if (worker < team->limit)
                take_parts(team, worker);
        }
        atomic_fetch_sub(&team->inside, 1);
        atomic_fetch_add(&team->left.value, 1);
        wake(&team->left);
    }
    return NULL;
}

ant_team *ant_team_create(int threads)
{
    ant_team *team = threads > 1 ? calloc(1, sizeof *team) : NULL;
    if (team == NULL)
        return NULL;
    *team =
        (ant_team){.threads = threads, .owner = getpid(), .turn = ANT_COUNTER_ZERO, .left = ANT_COUNTER_ZERO};
    team->others = calloc((size_t)threads - 1, sizeof *team->others);
    if (team->others != NULL)
        return team;
    free(team);
    return NULL;
}

static void start(ant_team *team)
{
    team->tried = true;
    while (team->started + 1 < team->threads &&
           pthread_create(&team->others[team->started], NULL, serve, team) == 0)
        team->started++;
    if (team->started + 1 < team->threads)
        ant_threads_note_refused(team->threads - 1 - team->started);
}

void ant_team_free(ant_team *team)
{
    if (team == NULL)
        return;
    if (team->owner == getpid()) {
        ant_counter_set(&team->turn, SIZE_MAX);
        for (int i = 0; i < team->started; i++)
            pthread_join(team->others[i], NULL);
    }
    free(team->others);
    free(team);
}

/* No thread is inside any more. */
static void wait_until_empty(ant_team *team)
{
    for (;;) {
        const size_t gone = atomic_load(&team->left.value);
        if (atomic_load(&team->inside) == 0)
            return;
        ant_counter_wait(&team->left, gone + 1);
    }
}

enum { FIRST_CALLS = 9, TRY_EVERY = 32 };

bool ant_team_begin_call(ant_team *team)
{
    if (team == NULL)
        return false;
    const size_t call = ++team->calls;
    const bool alone = team->seconds[1] < team->seconds[0];
    team->resting = call <= FIRST_CALLS ? call % 2 == 0 : call % TRY_EVERY == 0 ? !alone : alone;
    team->began = ant_seconds();
    return !team->resting;
}

void ant_team_end_call(ant_team *team)
{
    if (team == NULL || team->calls == 1) /* the first one also starts the threads */
        return;
    const double taken = ant_seconds() - team->began;
    double *usual = &team->seconds[team->resting]; /* follows the median: interruptions are not its size */
    const double step = team->calls <= FIRST_CALLS || team->calls % TRY_EVERY == 0 ? 1.3 : 1.1;
    if (*usual == 0.0)
        *usual = taken;
    else
        *usual = taken > *usual ? fmin(taken, *usual * step) : fmax(taken, *usual / step);
    team->resting = false;
}

void ant_team_run(ant_team *team, size_t parts, ant_team_part *part, void *cookie)
{
    const bool alone = team == NULL || team->resting || parts < 2 || team->owner != getpid();
    if (!alone && !team->tried)
        start(team);
    if (alone || team->started == 0) {
        for (size_t i = 0; i < parts; i++)
            part(cookie, i, 0);
        return;
    }
    team->parts = parts;
    team->limit = parts < (size_t)team->threads ? parts : (size_t)team->threads;
    team->part = part;
    team->cookie = cookie;
    atomic_store(&team->next, 0);
    atomic_store(&team->arrived, 0);
    atomic_store(&team->open, true);
    ant_counter_set(&team->turn, atomic_load(&team->turn.value) + 1);
    take_parts(team, 0);
    atomic_store(&team->open, false);
    wait_until_empty(team);
}
