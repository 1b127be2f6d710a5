/*
 * comm.h - ranks: processes that a launcher of MPI has started and that share one command.
 *
 * A process is alone until ant_comm_join finds a launcher; only then MPI is opened.  All communication is
 * collective: every rank makes the same calls in the same order, from the thread that joined.  Data go as
 * bytes, and no sum is formed on the way: what is folded is gathered first and folded in a fixed order.
 *
 * A failure of MPI stays: later calls return it at once, so a caller may finish its work and check once.
 */
#ifndef ANT_COMM_COMM_H
#define ANT_COMM_COMM_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct ant_comm ant_comm; /* NULL wherever one is taken: this process is alone */

/* Whether a launcher has started this process with others, and ANTLER_MPI is not "none". */
bool ant_comm_launched(void);

/* Join the ranks of the launcher, if there is one.  A second call does nothing. */
antler_status ant_comm_join(void);

/* The ranks of this process; NULL: it is alone. */
ant_comm *ant_comm_world(void);

size_t ant_comm_rank(const ant_comm *comm); /* from 0 */
size_t ant_comm_size(const ant_comm *comm);
size_t ant_comm_local(const ant_comm *comm); /* its number among those on its machine, from 0 */

/* Threads for this rank where none are given, so that neighbours share their cores; and the sum over all. */
size_t ant_comm_threads(const ant_comm *comm);
size_t ant_comm_all_threads(const ant_comm *comm);

/*
 * Every rank has a part of an array, and then all of it: rank r has units first[r] .. first[r+1]-1.
 * first: (size + 1)
 */
antler_status ant_comm_share(ant_comm *comm, void *array, size_t unit, const size_t *first);

/* Every rank has one unit, number `rank` of the array, and then all of them. */
antler_status ant_comm_share_one(ant_comm *comm, void *array, size_t unit);

/* What rank 0 has becomes that of all. */
antler_status ant_comm_broadcast(ant_comm *comm, void *bytes, size_t count);

/* OK where it is on all ranks; else the failure of the lowest rank that has one, with its message. */
antler_status ant_comm_agree(ant_comm *comm, antler_status own);

/* Whether any rank says so; also after a failure. */
bool ant_comm_any(ant_comm *comm, bool own);

/* The failure that stays, with its message. */
antler_status ant_comm_check(const ant_comm *comm);

/* This rank cannot go on with the others: let its last failure stay.  The caller ends all ranks soon. */
void ant_comm_break(ant_comm *comm, antler_status status);

/* Items that rank `rank` of `size` begins with when all share `items` in order, as equally as can be. */
size_t ant_comm_begin(size_t items, size_t rank, size_t size);

/*
 * Last of all: end MPI in order; or, where this rank alone has failed, end all ranks with this exit code,
 * from which the call does not return.
 */
void ant_comm_leave(void);
void ant_comm_end_all(int code);

#endif
