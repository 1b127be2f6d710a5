/*
 * scan.h - parallel prefix action of a sequence of maps on a state.
 *
 * Given maps f_0 .. f_{n-1} from a monoid and a first state s_0, find all s_{i+1} = f_i(s_i).  The maps are
 * cut into segments; (1) every segment but the last composes its maps, in parallel; (2) the totals act on
 * the state one after the other, which gives the state at every border; (3) every segment applies its own
 * maps from its border, in parallel.  One segment is the plain serial loop and composes nothing.
 *
 * The callbacks define the maps: the affine maps of Newton's method, their transposes in reverse order for
 * the adjoint, diagonal ones, or exact integers in the tests.  The segment borders depend on
 * `count` and `segments` only, so the result does not depend on the number of threads.
 */
#ifndef ANT_SOLVE_SCAN_H
#define ANT_SOLVE_SCAN_H

#include "base/team.h"

typedef struct ant_scan {
    size_t count;    /* n >= 0 */
    size_t segments; /* >= 1 */
    void *context;
    /* total = f_{last-1} o ... o f_first, with last > first. */
    void (*compose)(void *context, size_t first, size_t last, void *total);
    /* to = total(from) */
    void (*act)(void *context, const void *total, const void *from, void *to);
    /* From the state before f_first, find and keep the states after f_first .. f_{last-1}. */
    void (*sweep)(void *context, size_t first, size_t last, const void *from);
    unsigned char *totals; /* (segments, total_bytes) scratch */
    size_t total_bytes;
    unsigned char *borders; /* (segments, state_bytes); the first one holds s_0 on entry */
    size_t state_bytes;
} ant_scan;

/* The threads of `team` share it; NULL: the caller alone. */
void ant_scan_run(ant_scan *scan, ant_team *team);

/* Where segment k begins. */
static inline size_t ant_scan_border(size_t count, size_t segments, size_t k)
{
    return count / segments * k + (count % segments < k ? count % segments : k);
}

/*
 * Into how many slots T steps are divided for work that is independent from step to step: a function of T
 * alone, so that sums do not depend on the number of threads.
 */
static inline size_t ant_scan_slots(size_t T)
{
    enum { LEAST = 64, MOST = 16 }; /* steps of a slot; slots */
    const size_t slots = (T + LEAST - 1) / LEAST;
    return slots < MOST ? slots : MOST;
}

#endif
