/* fibers.h - many threads of control that take turns on one thread of the machine: a switch costs a fraction
   of a microsecond, where threads that wait for each other cost several.  AddressSanitizer and
   ThreadSanitizer are informed of the switches; for the latter only barriers synchronise, so it finds races
   between fibers. */
#ifndef ANT_TESTS_FIBERS_H
#define ANT_TESTS_FIBERS_H

/* For functions that use what all fibers of a thread share: ThreadSanitizer is not to take that for a race.
 */
#ifdef __clang__
#define UNSEEN __attribute__((no_sanitize("thread")))
#else
#define UNSEEN __attribute__((no_sanitize_thread))
#endif

struct fiber_barrier {
    unsigned count; /* fibers that wait for each other */
    unsigned arrived, generation;
    unsigned waiting; /* 1 + one of those that wait, 0: none */
    char sync[2];     /* ThreadSanitizer's state of this generation and of the next */
};

/* Run body(cookie, 0 .. count-1) until all have returned. */
void fibers_run(unsigned count, void (*body)(void *cookie, unsigned index), void *cookie);

/* The next run's fibers first .. first+count-1 continue only where all others wait or yield; count 0: none.
 */
void fibers_delay(unsigned first, unsigned count);

/* Wait for the others.  When no fiber can continue, that is a deadlock, and the program ends with a message.
 */
void fiber_wait(fiber_barrier *barrier);

/* Let others continue. */
void fiber_yield();

#endif
