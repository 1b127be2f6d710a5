/* lock.c - flock(2) on a file that stays, and the list of what this process holds. */
#include "base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct ant_lock {
    int descriptor;
    dev_t device;
    ino_t inode;
    pid_t process; /* a forked child has a copy of the list, but not what is on it */
    bool real;     /* the file system has locks */
    ant_lock *next;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static ant_lock *held; /* guarded by `mutex` */

/* Add to the list unless the same file is there. */
static bool enter(ant_lock *lock)
{
    pthread_mutex_lock(&mutex);
    const ant_lock *other = held;
    while (other != NULL &&
           (other->inode != lock->inode || other->device != lock->device || other->process != lock->process))
        other = other->next;
    if (other == NULL) {
        lock->next = held;
        held = lock;
    }
    pthread_mutex_unlock(&mutex);
    return other == NULL;
}

static void leave(const ant_lock *lock)
{
    pthread_mutex_lock(&mutex);
    ant_lock **place = &held;
    while (*place != NULL && *place != lock)
        place = &(*place)->next;
    if (*place != NULL)
        *place = lock->next;
    pthread_mutex_unlock(&mutex);
}

static antler_status fail_open(const char *path, const char *what)
{
    return ant_fail(ANTLER_ERROR_IO, "%s: the lock file %s cannot be opened: %s", what, path,
                    strerror(errno));
}

antler_status ant_lock_take(const char *path, const char *what, ant_lock **lock)
{
    struct stat info;
    *lock = NULL;
    ant_lock *made = calloc(1, sizeof *made);
    if (made == NULL)
        return ant_fail_memory(sizeof *made, "a lock");
    made->descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (made->descriptor < 0 || fstat(made->descriptor, &info) != 0) {
        const antler_status status = fail_open(path, what);
        if (made->descriptor >= 0)
            close(made->descriptor);
        free(made);
        return status;
    }
    made->device = info.st_dev;
    made->inode = info.st_ino;
    made->process = getpid();
    const bool here = enter(made);
    /* A file system without locks is no reason to fail; the list still guards this process. */
    made->real = here && flock(made->descriptor, LOCK_EX | LOCK_NB) == 0;
    if (made->real || (here && errno != EWOULDBLOCK)) {
        *lock = made;
        return ANTLER_OK;
    }
    if (here)
        leave(made);
    close(made->descriptor);
    free(made);
    return ant_fail(ANTLER_ERROR_ARGUMENT,
                    "%s: another training uses this run at the moment; wait for it or stop it", what);
}

bool ant_lock_is_real(const ant_lock *lock)
{
    return lock != NULL && lock->real;
}

void ant_lock_release(ant_lock *lock)
{
    if (lock == NULL)
        return;
    leave(lock);
    (void)flock(lock->descriptor, LOCK_UN); /* also for copies that a forked child may have */
    close(lock->descriptor);
    free(lock);
}
