/*
 * team.h - threads that share a task, and counters by which they wait for each other.
 *
 * The caller works as well and never waits for a thread that has not begun: on a busy machine, where a thread
 * waits for its turn, the caller does all parts itself.  Who waits spins for a moment and then sleeps, so
 * that the core is free for others.  Which thread does a part is not determined; what a part computes must
 * not depend on it.  So a team may also rest: where others hold the cores, a thread that is interrupted
 * within a part costs more than it brings.
 */
#ifndef ANT_BASE_TEAM_H
#define ANT_BASE_TEAM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct ant_team ant_team;

/* Up to `threads` threads with the caller; the others start when they are first needed, as many as can be.
   NULL where there is no memory: also a team, of the caller alone. */
ant_team *ant_team_create(int threads);
void ant_team_free(ant_team *team);

/* Part `part` of a task; no two calls at the same time have the same `worker`. */
typedef void ant_team_part(void *cookie, size_t part, size_t worker);

/*
 * Do parts 0 .. parts-1, each once, begun in that order; returns after the last one.  worker is below the
 * number of parts and of threads.  A part may wait for another only when that one has a smaller number.
 */
void ant_team_run(ant_team *team, size_t parts, ant_team_part *part, void *cookie);

/*
 * Around calls of equal work, each of several tasks: from the times of calls with all threads and with the
 * caller alone the team finds which is faster, and rests where it is the latter.  Now and then it tries the
 * other.  Returns whether other threads may take part in this call.
 */
bool ant_team_begin_call(ant_team *team);
void ant_team_end_call(ant_team *team);

/* A number that grows, and on which others wait. */
typedef struct ant_counter {
    atomic_size_t value;
    atomic_int sleepers;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
} ant_counter;

#define ANT_COUNTER_ZERO                                                                                     \
    {                                                                                                        \
        .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER                              \
    }

void ant_counter_set(ant_counter *counter, size_t value);

/* Wait until the counter has reached `least`; returns its value. */
size_t ant_counter_wait(ant_counter *counter, size_t least);

#endif
