/*
 * lease.h - exclusive use of a folder between machines, where locks may end at the machine.
 *
 * The lease of a folder is one file in <folder>/.claim.  Its name says everything: "free", "ended", or who
 * holds it.  Every change is a rename of that file, from a name that is used once: of several who try, the
 * file system lets one win, and a holder whose name is gone has lost the lease.  The folder .claim itself is
 * made under another name, with its file, and renamed; that fails where there is one that holds a file.
 *
 * A holder renews its lease by a time stamp and a rename.  A lease that is not renewed for its own number of
 * seconds has expired.  Age is the difference of two time stamps of the file system, so clocks of machines do
 * not matter.  docs/files.md has the limits.
 */
#ifndef ANT_BASE_LEASE_H
#define ANT_BASE_LEASE_H

#include "base/status.h"

typedef struct ant_lease ant_lease;

typedef enum ant_lease_state {
    ANT_LEASE_NONE,    /* there is no .claim */
    ANT_LEASE_FREE,    /* the last holder is done and the work is not */
    ANT_LEASE_ENDED,   /* the work is done */
    ANT_LEASE_HELD,    /* somebody has it */
    ANT_LEASE_UNCLEAR, /* it changes at the moment; look again later */
} ant_lease_state;

enum { ANT_LEASE_NAME = 200, ANT_LEASE_HOST = 64 };

/* What was seen of a lease.  From `host` on only of one that is held. */
typedef struct ant_lease_view {
    ant_lease_state state;
    char name[ANT_LEASE_NAME]; /* of the file */
    char host[ANT_LEASE_HOST];
    long process;
    bool here;      /* the holder is, or was, a process of this machine since it was started */
    bool mine;      /* it is this process */
    bool locked;    /* the holder also has the lock of the folder (base/lock.h) */
    double seconds; /* after which it expires */
    double age;     /* since it was renewed */
} ant_lease_view;

antler_status ant_lease_look(const char *folder, ant_lease_view *view);

/* Whether a lease that is held may be taken over by its age alone. */
bool ant_lease_is_expired(const ant_lease_view *view);

/*
 * Take the lease that was seen.  *lease is NULL when somebody else was faster.  locked: the caller has the
 * lock of the folder.  A thread renews the lease until it is released.
 */
antler_status ant_lease_take(const char *folder, const ant_lease_view *seen, double seconds, bool locked,
                             ant_lease **lease);

/*
 * Renew now, before something is written: ANTLER_ERROR_ARGUMENT with the new holder when the lease is lost.
 * `ant_lease_check` is the same, but trusts a renewal of the last quarter of the lease.
 */
antler_status ant_lease_renew(ant_lease *lease);
antler_status ant_lease_check(ant_lease *lease);

bool ant_lease_is_lost(ant_lease *lease);

/* Give it back, as ended or free.  Accepts NULL. */
void ant_lease_release(ant_lease *lease, bool ended);

/* Whether `name` is of a file or folder that this file makes for a moment; a kill leaves it behind. */
bool ant_lease_is_temporary(const char *name);

#endif
