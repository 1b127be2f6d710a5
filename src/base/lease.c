/* lease.c - leases as names of files: looking, taking, renewing and giving back. */
#include "base/lease.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, BOOT = 40 };

static const char FREE[] = "free", ENDED[] = "ended";
static const char CLAIM_PREFIX[] = ".claim-", CLOCK_PREFIX[] = ".clock-";

struct ant_lease {
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    pthread_t guard;
    bool guarded, leaving; /* `guard` runs; it shall end */
    bool lost;
    int claim;                 /* descriptor of the folder .claim: relative paths may change their meaning */
    char *folder;              /* for messages */
    char stem[ANT_LEASE_NAME]; /* of the name, without its count */
    uint64_t count;            /* of renewals; the name ends with it */
    double seconds;
    double renewed; /* when the last renewal began, by a clock that also counts sleep */
};

/* ---- names ------------------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Letters, digits and ".-_" alone, so that commas separate the parts of a name. */
static void keep_plain(char *text)
{
    for (; *text != '\0'; text++) {
        if (!isalnum((unsigned char)*text) && strchr(".-_", *text) == NULL)
            *text = '-';
    }
}

/*
 * The name of this machine for people, and the number of its boot, by which processes of one kernel know each
 * other: machines may share a name.  ANTLER_HOST stands for both, in tests.
 */
static void identify(char host[ANT_LEASE_HOST], char boot[BOOT])
{
    const char *given = getenv("ANTLER_HOST");
    FILE *file = NULL;
    memset(host, 0, ANT_LEASE_HOST);
    memset(boot, 0, BOOT);
    if (given != NULL && given[0] != '\0') {
        snprintf(host, ANT_LEASE_HOST, "%s", given);
        snprintf(boot, BOOT, "%.39s", given);
    } else {
        if (gethostname(host, ANT_LEASE_HOST - 1) != 0 || host[0] == '\0')
            snprintf(host, ANT_LEASE_HOST, "unknown");
        file = fopen("/proc/sys/kernel/random/boot_id", "r");
    }
    if (file != NULL && fgets(boot, BOOT, file) == NULL)
        boot[0] = '\0';
    if (file != NULL)
        fclose(file);
    boot[strcspn(boot, "\n")] = '\0';
    keep_plain(host);
    keep_plain(boot);
}

static antler_status draw_token(uint64_t *token)
{
    ANT_CHECK(getrandom(token, sizeof *token, 0) == (ssize_t)sizeof *token, ANTLER_ERROR_IO,
              "no random numbers for a lease: %s", strerror(errno));
    return ANTLER_OK;
}

/* "<host>,<process>,<boot>,<locked>,<seconds>,<token>," */
static antler_status make_stem(double seconds, bool locked, char stem[ANT_LEASE_NAME])
{
    char host[ANT_LEASE_HOST], boot[BOOT];
    uint64_t token = 0;
    identify(host, boot);
    ANT_TRY(draw_token(&token));
    snprintf(stem, ANT_LEASE_NAME, "%s,%ld,%s,%d,%ld,%016" PRIx64 ",", host, (long)getpid(), boot,
             (int)locked, (long)ceil(1e3 * seconds), token);
    return ANTLER_OK;
}

/* The parts of a holder's name; false when it is none. */
static bool read_name(ant_lease_view *view)
{
    char text[ANT_LEASE_NAME], host[ANT_LEASE_HOST], boot[BOOT], *part[7], *rest = text;
    snprintf(text, sizeof text, "%s", view->name);
    for (size_t i = 0; i < 7; i++) {
        part[i] = rest;
        rest = rest == NULL ? NULL : strchr(rest, ',');
        if (rest != NULL)
            *rest++ = '\0';
    }
    if (part[6] == NULL || rest != NULL)
        return false;
    identify(host, boot);
    snprintf(view->host, sizeof view->host, "%.63s", part[0]);
    view->process = strtol(part[1], NULL, 10);
    view->here = boot[0] != '\0' && strcmp(boot, part[2]) == 0;
    view->mine = view->here && view->process == (long)getpid();
    view->locked = strcmp(part[3], "1") == 0;
    view->seconds = 1e-3 * strtod(part[4], NULL);
    return view->process > 0 && view->seconds > 0.0;
}

bool ant_lease_is_temporary(const char *name)
{
    return strncmp(name, CLAIM_PREFIX, strlen(CLAIM_PREFIX)) == 0 ||
           strncmp(name, CLOCK_PREFIX, strlen(CLOCK_PREFIX)) == 0;
}

/* ---- looking ----------------------------------------------------------------------------------------- */

static antler_status join(const char *folder, const char *name, char path[PATH_BYTES])
{
    const int length = snprintf(path, PATH_BYTES, "%s/%s", folder, name);
    ANT_CHECK(length > 0 && length < PATH_BYTES, ANTLER_ERROR_ARGUMENT, "%s: the path is too long", folder);
    return ANTLER_OK;
}

static antler_status fail_at(const char *folder, const char *what)
{
    return ant_fail(ANTLER_ERROR_IO, "%s: the lease of this run cannot be %s: %s", folder, what,
                    strerror(errno));
}

static double seconds_of(const struct timespec *t)
{
    return (double)t->tv_sec + 1e-9 * (double)t->tv_nsec;
}

/* The present time stamp of the file system, by a file that is made for it. */
static antler_status read_clock(const char *folder, double *time_stamp)
{
    char path[PATH_BYTES], name[64];
    uint64_t token = 0;
    struct stat info;
    ANT_TRY(draw_token(&token));
    snprintf(name, sizeof name, "%s%016" PRIx64, CLOCK_PREFIX, token);
    ANT_TRY(join(folder, name, path));
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0)
        return fail_at(folder, "dated");
    (void)unlink(path); /* a kill leaves nothing behind */
    const bool good =
        futimens(file, NULL) == 0 && fstat(file, &info) == 0; /* NULL: the server's time on NFS */
    const antler_status status = good ? ANTLER_OK : fail_at(folder, "dated");
    close(file);
    if (good)
        *time_stamp = seconds_of(&info.st_mtim);
    return status;
}

/* The only name in .claim; state NONE without one, UNCLEAR with several. */
static antler_status read_claim(const char *folder, ant_lease_view *view)
{
    char path[PATH_BYTES];
    size_t count = 0;
    *view = (ant_lease_view){.state = ANT_LEASE_NONE};
    ANT_TRY(join(folder, ".claim", path));
    DIR *directory = opendir(path);
    if (directory == NULL)
        return errno == ENOENT ? ANTLER_OK : fail_at(folder, "read");
    for (const struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        if (entry->d_name[0] == '.') /* also what NFS keeps of a removed file */
            continue;
        count++;
        snprintf(view->name, sizeof view->name, "%.199s", entry->d_name);
    }
    closedir(directory);
    if (count == 0)
        return ANTLER_OK;
    view->state = count > 1                        ? ANT_LEASE_UNCLEAR
                  : strcmp(view->name, FREE) == 0  ? ANT_LEASE_FREE
                  : strcmp(view->name, ENDED) == 0 ? ANT_LEASE_ENDED
                  : read_name(view)                ? ANT_LEASE_HELD
                                                   : ANT_LEASE_UNCLEAR;
    return ANTLER_OK;
}

/* The age of a lease that is held.  An open file has fresh attributes on NFS, a name may not. */
static antler_status find_age(const char *folder, ant_lease_view *view)
{
    char claim[PATH_BYTES], path[PATH_BYTES];
    double present = 0.0;
    struct stat info;
    ANT_TRY(join(folder, ".claim", claim));
    ANT_TRY(join(claim, view->name, path));
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0 || fstat(file, &info) != 0) {
        const antler_status status = errno == ENOENT || errno == ESTALE ? ANTLER_OK : fail_at(folder, "read");
        view->state = ANT_LEASE_UNCLEAR; /* it has just been renewed or taken over */
        if (file >= 0)
            close(file);
        return status;
    }
    close(file);
    ANT_TRY(read_clock(folder, &present));
    view->age = fmax(present - seconds_of(&info.st_mtim), 0.0);
    return ANTLER_OK;
}

antler_status ant_lease_look(const char *folder, ant_lease_view *view)
{
    enum { ATTEMPTS = 5 };
    view->state = ANT_LEASE_UNCLEAR;
    for (int i = 0; i < ATTEMPTS && view->state == ANT_LEASE_UNCLEAR; i++) {
        ANT_TRY(read_claim(folder, view));
        if (view->state == ANT_LEASE_HELD)
            ANT_TRY(find_age(folder, view));
    }
    return ANTLER_OK;
}

bool ant_lease_is_expired(const ant_lease_view *view)
{
    return view->state == ANT_LEASE_HELD && !view->mine && view->age > view->seconds;
}

/* ---- taking and renewing ----------------------------------------------------------------------------- */

/*
 * Rename inside .claim.  *moved is false when the old name is gone.  The kernel repeats a request whose
 * answer was lost, and the server then reports that the old name is gone; the new name exists in that case.
 */
static antler_status move(int claim, const char *folder, const char *from, const char *to, bool *moved)
{
    struct stat info;
    *moved = renameat(claim, from, claim, to) == 0;
    if (*moved || (errno != ENOENT && errno != ESTALE))
        return *moved ? ANTLER_OK : fail_at(folder, "changed");
    *moved = fstatat(claim, to, &info, AT_SYMLINK_NOFOLLOW) == 0;
    return ANTLER_OK;
}

static void name_of(const ant_lease *lease, uint64_t count, char name[ANT_LEASE_NAME + 24])
{
    snprintf(name, ANT_LEASE_NAME + 24, "%s%" PRIu64, lease->stem, count);
}

/* The mutex is held. */
static antler_status renew(ant_lease *lease)
{
    char old[ANT_LEASE_NAME + 24], new[ANT_LEASE_NAME + 24];
    bool moved = false;
    if (lease->lost)
        return ANTLER_OK;
    const double begun = now();
    name_of(lease, lease->count, old);
    name_of(lease, lease->count + 1, new);
    (void)utimensat(lease->claim, old, NULL, 0); /* first: a renewed name must not be seen with an old time */
    ANT_TRY(move(lease->claim, lease->folder, old, new, &moved));
    if (moved) {
        lease->count++;
        lease->renewed = begun;
    }
    lease->lost = !moved;
    return ANTLER_OK;
}

static void *guard(void *argument)
{
    ant_lease *lease = argument;
    pthread_mutex_lock(&lease->mutex);
    while (!lease->leaving && !lease->lost) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        const double at = seconds_of(&until) + lease->seconds / 5.0;
        until.tv_sec = (time_t)at;
        until.tv_nsec = (long)(1e9 * (at - floor(at)));
        if (pthread_cond_timedwait(&lease->wake, &lease->mutex, &until) == ETIMEDOUT && !lease->leaving)
            (void)renew(lease); /* a fault of the disk may pass; who writes finds it, too */
    }
    pthread_mutex_unlock(&lease->mutex);
    return NULL;
}

/* A thread that gets no signals.  Without one, `ant_lease_check` renews. */
static void start_guard(ant_lease *lease)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return;
    (void)pthread_attr_setstacksize(&attributes, 256 * 1024);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    lease->guarded = pthread_create(&lease->guard, &attributes, guard, lease) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

/* Make .claim with the file of this lease in it. */
static antler_status make_claim(const char *folder, const char *name, bool *made)
{
    char temporary[PATH_BYTES], path[PATH_BYTES], target[PATH_BYTES], own[64];
    uint64_t token = 0;
    *made = false;
    ANT_TRY(draw_token(&token));
    snprintf(own, sizeof own, "%s%016" PRIx64, CLAIM_PREFIX, token);
    ANT_TRY(join(folder, own, temporary));
    ANT_TRY(join(temporary, name, path));
    ANT_TRY(join(folder, ".claim", target));
    if (mkdir(temporary, 0777) != 0)
        return fail_at(folder, "made");
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0)
        close(file);
    *made = file >= 0 && rename(temporary, target) == 0;
    const bool there = errno == EEXIST || errno == ENOTEMPTY || errno == ENOENT; /* ENOENT: cleared away */
    const antler_status status = *made || there ? ANTLER_OK : fail_at(folder, "made");
    if (!*made) {
        (void)unlink(path);
        (void)rmdir(temporary);
    }
    return status;
}

/* Change the file that was seen into that of this lease, or make it. */
static antler_status seize(const char *folder, const ant_lease_view *seen, ant_lease *lease, bool *taken)
{
    char claim[PATH_BYTES], name[ANT_LEASE_NAME + 24];
    ANT_TRY(join(folder, ".claim", claim));
    name_of(lease, 0, name);
    *taken = false;
    if (seen->state == ANT_LEASE_NONE)
        ANT_TRY(make_claim(folder, name, taken));
    if (seen->state == ANT_LEASE_NONE && !*taken)
        return ANTLER_OK;
    lease->claim = open(claim, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (lease->claim < 0)
        return fail_at(folder, "opened");
    if (*taken)
        return ANTLER_OK;
    (void)utimensat(lease->claim, seen->name, NULL, 0);
    return move(lease->claim, folder, seen->name, name, taken);
}

static void destroy(ant_lease *lease)
{
    if (lease->claim >= 0)
        close(lease->claim);
    pthread_cond_destroy(&lease->wake);
    pthread_mutex_destroy(&lease->mutex);
    free(lease->folder);
    free(lease);
}

static antler_status create(const char *folder, double seconds, ant_lease **lease)
{
    pthread_condattr_t attributes;
    ant_lease *made = calloc(1, sizeof *made);
    if (made == NULL)
        return ant_fail_memory(sizeof *made, "a lease");
    made->folder = strdup(folder);
    const bool good = made->folder != NULL && pthread_condattr_init(&attributes) == 0;
    if (!good) {
        free(made->folder);
        free(made);
        return ant_fail_memory(strlen(folder), "a lease");
    }
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    made->claim = -1;
    made->seconds = seconds;
    made->renewed = now();
    *lease = made;
    return ANTLER_OK;
}

antler_status ant_lease_take(const char *folder, const ant_lease_view *seen, double seconds, bool locked,
                             ant_lease **lease)
{
    ant_lease *made = NULL;
    bool taken = false;
    *lease = NULL;
    ANT_TRY(create(folder, seconds, &made));
    antler_status status = make_stem(seconds, locked, made->stem);
    if (status == ANTLER_OK)
        status = seize(folder, seen, made, &taken);
    if (status != ANTLER_OK || !taken) {
        destroy(made);
        return status;
    }
    start_guard(made);
    *lease = made;
    return ANTLER_OK;
}

static antler_status fail_lost(const ant_lease *lease)
{
    ant_lease_view view;
    char who[ANT_LEASE_HOST + 32] = "another process";
    if (ant_lease_look(lease->folder, &view) == ANTLER_OK && view.state == ANT_LEASE_HELD)
        snprintf(who, sizeof who, "%s (pid %ld)", view.host, view.process);
    return ant_fail(
        ANTLER_ERROR_ARGUMENT,
        "%s: %s has taken this run over, because its lease of %g s had expired; this process leaves "
        "the run to it",
        lease->folder, who, lease->seconds);
}

static antler_status renew_older(ant_lease *lease, double than)
{
    pthread_mutex_lock(&lease->mutex);
    const antler_status status = now() - lease->renewed >= than ? renew(lease) : ANTLER_OK;
    const bool lost = lease->lost;
    pthread_mutex_unlock(&lease->mutex);
    return lost ? fail_lost(lease) : status;
}

antler_status ant_lease_renew(ant_lease *lease)
{
    return renew_older(lease, 0.0);
}

antler_status ant_lease_check(ant_lease *lease)
{
    return renew_older(lease, lease->seconds / 4.0);
}

bool ant_lease_is_lost(ant_lease *lease)
{
    pthread_mutex_lock(&lease->mutex);
    const bool lost = lease->lost;
    pthread_mutex_unlock(&lease->mutex);
    return lost;
}

void ant_lease_release(ant_lease *lease, bool ended)
{
    char name[ANT_LEASE_NAME + 24];
    if (lease == NULL)
        return;
    pthread_mutex_lock(&lease->mutex);
    lease->leaving = true;
    pthread_cond_signal(&lease->wake);
    pthread_mutex_unlock(&lease->mutex);
    if (lease->guarded)
        pthread_join(lease->guard, NULL);
    name_of(lease, lease->count, name);
    if (!lease->lost && renameat(lease->claim, name, lease->claim, ended ? ENDED : FREE) == 0)
        (void)fsync(lease->claim); /* who took it for held after a power cut would only wait */
    destroy(lease);
}
