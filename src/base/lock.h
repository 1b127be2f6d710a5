/*
 * lock.h - exclusive use of a folder, between processes and between threads of one process.
 *
 * The lock is a file that is made when first needed and never removed: a name that can vanish would let two
 * processes hold locks on two files of the same name.  It is a flock(2), which belongs to the open file and
 * not to the process, so reading files beside it cannot drop it, and it ends with the process, however that
 * dies. A list inside the process also refuses a second holder where the file system has no locks.
 */
#ifndef ANT_BASE_LOCK_H
#define ANT_BASE_LOCK_H

#include "base/status.h"

typedef struct ant_lock ant_lock;

/*
 * Take the lock file at `path`, whose folder must exist, or fail at once: ANTLER_ERROR_ARGUMENT with
 * "<what>: another training ..." when it is held, ANTLER_ERROR_IO when the file cannot be made.
 */
antler_status ant_lock_take(const char *path, const char *what, ant_lock **lock);

/* Whether the file system holds it, so that no other process of this machine can; NULL is no lock. */
bool ant_lock_is_real(const ant_lock *lock);

/* Accepts NULL. */
void ant_lock_release(ant_lock *lock);

#endif
