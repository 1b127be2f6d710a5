/*
 * supervisor.c - run a command, and count, fail, kill or record its system calls on the files of one folder.
 *
 *     supervisor --folder DIR [--list FILE] [--at N (--error NUMBER | --kill)] [--record FILE] -- COMMAND...
 *
 * --list     one line per call: its number from 1, its name, the file, and "writes" for calls that may need
 * space
 * --at N     the Nth call fails with that error and has no effect, or the whole process group is killed
 * before it
 * --record   the changes of files and folders in their order, with the data (tests/torture/power_cuts.py)
 *
 * The exit code is that of the command, or 128 and the signal.  The calls are stopped by seccomp's user
 * notification: a preloaded library would see neither the calls inside stdio nor those of a Python that the
 * command has started.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATHS = 8192, LEFT_ALONE = 0 };

/* What the arguments of a call mean. */
typedef enum form {
    BY_DESCRIPTOR, /* (fd, ...) */
    BY_PATH,       /* (path, ...) */
    BY_PLACE,      /* (folder fd, path, ...) */
    TWO_PATHS,     /* (old, new) */
    TWO_PLACES,    /* (folder fd, old, folder fd, new) */
    BY_MAPPING     /* (address, length, protection, flags, fd, offset) */
} form;

typedef struct call {
    int number;
    const char *name;
    form form;
    bool writes; /* may need space on the disk; open: when it creates */
} call;

static const call calls[] = {
#ifdef __NR_open
    {__NR_open, "open", BY_PATH, false},
    {__NR_creat, "creat", BY_PATH, true},
    {__NR_stat, "stat", BY_PATH, false},
    {__NR_lstat, "lstat", BY_PATH, false},
    {__NR_access, "access", BY_PATH, false},
    {__NR_mkdir, "mkdir", BY_PATH, true},
    {__NR_rmdir, "rmdir", BY_PATH, false},
    {__NR_unlink, "unlink", BY_PATH, false},
    {__NR_rename, "rename", TWO_PATHS, true},
    {__NR_link, "link", TWO_PATHS, true},
#endif
    {__NR_openat, "openat", BY_PLACE, false},
    {__NR_newfstatat, "stat", BY_PLACE, false},
    {__NR_statx, "stat", BY_PLACE, false},
    {__NR_faccessat, "access", BY_PLACE, false},
    {__NR_faccessat2, "access", BY_PLACE, false},
    {__NR_mkdirat, "mkdirat", BY_PLACE, true},
    {__NR_unlinkat, "unlinkat", BY_PLACE, false},
    {__NR_renameat, "renameat", TWO_PLACES, true},
    {__NR_renameat2, "renameat2", TWO_PLACES, true},
    {__NR_linkat, "linkat", TWO_PLACES, true},
    {__NR_truncate, "truncate", BY_PATH, true},
    {__NR_ftruncate, "ftruncate", BY_DESCRIPTOR, true},
    {__NR_fallocate, "fallocate", BY_DESCRIPTOR, true},
    {__NR_read, "read", BY_DESCRIPTOR, false},
    {__NR_pread64, "pread", BY_DESCRIPTOR, false},
    {__NR_readv, "readv", BY_DESCRIPTOR, false},
    {__NR_write, "write", BY_DESCRIPTOR, true},
    {__NR_pwrite64, "pwrite", BY_DESCRIPTOR, true},
    {__NR_writev, "writev", BY_DESCRIPTOR, true},
    {__NR_copy_file_range, "copy_file_range", BY_DESCRIPTOR, true},
    {__NR_fsync, "fsync", BY_DESCRIPTOR, true},
    {__NR_fdatasync, "fdatasync", BY_DESCRIPTOR, true},
    {__NR_getdents64, "getdents", BY_DESCRIPTOR, false},
    {__NR_close, "close", BY_DESCRIPTOR, true},
    {__NR_mmap, "mmap", BY_MAPPING, false},
};
enum { CALLS = sizeof calls / sizeof calls[0] };

typedef struct options {
    const char *folder;
    FILE *list, *record;
    long at;
    int error;
    bool kill;
    char **command;
} options;

/* A call that has been stopped. */
typedef struct stopped {
    const struct seccomp_notif *request;
    const call *call;
    int memory; /* /proc/PID/mem */
    char first[PATHS], second[PATHS];
} stopped;

static void die(const char *what)
{
    fprintf(stderr, "supervisor: %s: %s\n", what, strerror(errno));
    exit(99);
}

static bool read_link(char *path, const char *format, int process, int number)
{
    char link[64];
    snprintf(link, sizeof link, format, process, number);
    const ssize_t length = readlink(link, path, PATHS - 1);
    path[length < 0 ? 0 : length] = '\0';
    return length > 0;
}

static bool read_memory(int memory, uint64_t address, void *to, size_t bytes)
{
    return pread(memory, to, bytes, (off_t)address) == (ssize_t)bytes;
}

/* The absolute path of a path argument, seen from the folder `place`, or of `place` itself where it is empty.
 */
static bool resolve(const stopped *s, int place, uint64_t address, char path[PATHS])
{
    char text[PATHS], start[PATHS];
    const int process = (int)s->request->pid;
    const ssize_t length = address == 0 ? 0 : pread(s->memory, text, sizeof text - 1, (off_t)address);
    if (length < 0)
        return false;
    text[length] = '\0';
    const bool found = place == AT_FDCWD ? read_link(start, "/proc/%d/cwd", process, 0)
                                         : read_link(start, "/proc/%d/fd/%d", process, place);
    const char *rest = text;
    while (strncmp(rest, "./", 2) == 0)
        rest += 2;
    if (text[0] == '/')
        return snprintf(path, PATHS, "%s", text) < PATHS;
    if (!found)
        return false;
    if (rest[0] == '\0' || strcmp(rest, ".") == 0)
        return snprintf(path, PATHS, "%s", start) < PATHS;
    return snprintf(path, PATHS, "%s/%s", start, rest) < PATHS;
}

/* Fill the paths of a call; false where it is about no file. */
static bool name_files(stopped *s)
{
    const uint64_t *a = (const uint64_t *)s->request->data.args;
    const int process = (int)s->request->pid;
    s->second[0] = '\0';
    switch (s->call->form) {
    case BY_DESCRIPTOR:
        return read_link(s->first, "/proc/%d/fd/%d", process, (int)a[0]);
    case BY_MAPPING:
        return ((int)a[3] & MAP_ANONYMOUS) == 0 && read_link(s->first, "/proc/%d/fd/%d", process, (int)a[4]);
    case BY_PATH:
        return resolve(s, AT_FDCWD, a[0], s->first);
    case BY_PLACE:
        return resolve(s, (int)a[0], a[1], s->first);
    case TWO_PATHS:
        return resolve(s, AT_FDCWD, a[0], s->first) && resolve(s, AT_FDCWD, a[1], s->second);
    case TWO_PLACES:
        return resolve(s, (int)a[0], a[1], s->first) && resolve(s, (int)a[2], a[3], s->second);
    }
    return false;
}

/* The part of `path` below the folder, "." for the folder itself; NULL: elsewhere. */
static const char *within(const char *folder, const char *path)
{
    const size_t length = strlen(folder);
    if (strncmp(path, folder, length) != 0 || (path[length] != '/' && path[length] != '\0'))
        return NULL;
    while (path[length] == '/' && path[length + 1] == '/')
        path++;
    return path[length] == '\0' || path[length + 1] == '\0' ? "." : path + length + 1;
}

static int open_flags(const stopped *s)
{
    const uint64_t *a = (const uint64_t *)s->request->data.args;
    if (strcmp(s->call->name, "open") == 0)
        return (int)a[1];
    return strcmp(s->call->name, "openat") == 0 ? (int)a[2] : 0;
}

/* ---- recording --------------------------------------------------------------------------------------- */

static long position_of(const stopped *s, int descriptor, bool *append)
{
    char name[64];
    long position = -1;
    unsigned flags = 0;
    snprintf(name, sizeof name, "/proc/%d/fdinfo/%d", (int)s->request->pid, descriptor);
    FILE *file = fopen(name, "r");
    if (file == NULL || fscanf(file, "pos: %ld flags: %o", &position, &flags) != 2)
        die(name);
    fclose(file);
    *append = (flags & O_APPEND) != 0;
    return position;
}

static void record_bytes(const stopped *s, FILE *out, uint64_t address, size_t bytes)
{
    unsigned char part[4096];
    for (size_t done = 0; done < bytes;) {
        const size_t count = bytes - done < sizeof part ? bytes - done : sizeof part;
        if (!read_memory(s->memory, address + done, part, count))
            die("the data of a write");
        for (size_t i = 0; i < count; i++)
            fprintf(out, "%02x", part[i]);
        done += count;
    }
}

static void record_write(const stopped *s, const char *path, FILE *out)
{
    const uint64_t *a = (const uint64_t *)s->request->data.args;
    bool append = false;
    long place = position_of(s, (int)a[0], &append);
    struct stat facts;
    if (append && stat(s->first, &facts) == 0)
        place = facts.st_size;
    if (s->call->number == __NR_pwrite64)
        place = (long)a[3];
    fprintf(out, "write\t%s\t%ld\t", path, place);
    if (s->call->number != __NR_writev) {
        record_bytes(s, out, a[1], a[2]);
    } else {
        for (size_t i = 0; i < a[2]; i++) {
            uint64_t part[2];
            if (!read_memory(s->memory, a[1] + i * sizeof part, part, sizeof part))
                die("the parts of a writev");
            record_bytes(s, out, part[0], part[1]);
        }
    }
    fputc('\n', out);
}

static void record_open(const stopped *s, const char *path, FILE *out)
{
    const int flags = s->call->number == __NR_creat ? O_CREAT | O_TRUNC : open_flags(s);
    const bool there = access(s->first, F_OK) == 0;
    if (!there && (flags & O_CREAT) != 0)
        fprintf(out, "create\t%s\n", path);
    if (there && (flags & O_TRUNC) != 0 && (flags & O_EXCL) == 0)
        fprintf(out, "truncate\t%s\t0\n", path);
}

/* One line per change.  Calls that will fail, such as mkdir of a folder that is there, change nothing. */
static void record(const stopped *s, const char *path, const char *to, FILE *out)
{
    const uint64_t *a = (const uint64_t *)s->request->data.args;
    const char *name = s->call->name;
    struct stat facts;
    const bool there = lstat(s->first, &facts) == 0;
    if (strncmp(name, "open", 4) == 0 || strcmp(name, "creat") == 0)
        record_open(s, path, out);
    else if (strstr(name, "write") != NULL)
        record_write(s, path, out);
    else if (strstr(name, "truncate") != NULL)
        fprintf(out, "truncate\t%s\t%llu\n", path, (unsigned long long)a[1]);
    else if (strstr(name, "sync") != NULL)
        fprintf(out, "sync\t%s\n", path);
    else if (strncmp(name, "rename", 6) == 0 && there)
        fprintf(out, "rename\t%s\t%s\n", path, to);
    else if (strncmp(name, "mkdir", 5) == 0 && !there)
        fprintf(out, "mkdir\t%s\n", path);
    else if ((strncmp(name, "unlink", 6) == 0 || strcmp(name, "rmdir") == 0) && there)
        fprintf(out, "unlink\t%s\n", path);
    else if (strncmp(name, "link", 4) == 0 || strstr(name, "range") != NULL ||
             strcmp(name, "fallocate") == 0 ||
             (strcmp(name, "mmap") == 0 && ((int)a[3] & MAP_SHARED) != 0 && ((int)a[2] & PROT_WRITE) != 0)) {
        errno = ENOSYS;
        die(name); /* power_cuts.py would have to know what it means */
    }
}

/* ---- the calls --------------------------------------------------------------------------------------- */

/* What becomes of a call: LEFT_ALONE, or an error number. */
static int decide(stopped *s, const options *o, long *count, pid_t child)
{
    const char *path = name_files(s) ? within(o->folder, s->first) : NULL;
    const char *to = s->second[0] == '\0' ? NULL : within(o->folder, s->second);
    if (path == NULL && to == NULL)
        return LEFT_ALONE;
    const bool writes = s->call->writes || (open_flags(s) & O_CREAT) != 0;
    ++*count;
    if (o->list != NULL)
        fprintf(o->list, "%ld\t%s\t%s\t%s\n", *count, s->call->name, path == NULL ? to : path,
                writes ? "writes" : "");
    if (o->record != NULL && path != NULL)
        record(s, path, to == NULL ? "" : to, o->record);
    if (*count != o->at)
        return LEFT_ALONE;
    if (!o->kill)
        return o->error;
    kill(-child, SIGKILL);
    return LEFT_ALONE;
}

static void answer(int listener, const options *o, long *count, pid_t child)
{
    struct seccomp_notif request = {0};
    struct seccomp_notif_resp response = {0};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) != 0) {
        if (errno == ENOENT || errno == EINTR) /* it was killed meanwhile */
            return;
        die("a notification");
    }
    char name[64];
    static stopped s;
    s.request = &request;
    for (size_t i = 0; i < CALLS; i++) {
        if (calls[i].number == request.data.nr)
            s.call = &calls[i];
    }
    snprintf(name, sizeof name, "/proc/%d/mem", (int)request.pid);
    s.memory = open(name, O_RDONLY | O_CLOEXEC);
    const int error = s.memory < 0 ? LEFT_ALONE : decide(&s, o, count, child);
    if (s.memory >= 0)
        close(s.memory);
    response.id = request.id;
    response.error = -error;
    response.flags = error == LEFT_ALONE ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0;
    (void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response); /* fails for a process that is no more */
}

/* ---- the command ------------------------------------------------------------------------------------- */

static int install_filter(void)
{
    struct sock_filter filter[CALLS + 3];
    size_t n = 0;
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < CALLS; i++)
        filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i].number,
                                                   (unsigned char)(CALLS - i), 0);
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    const struct sock_fprog program = {(unsigned short)n, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        die("PR_SET_NO_NEW_PRIVS");
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

/* Hand a descriptor to the process at the other end; with -1: receive one. */
static int pass(int socket, int descriptor)
{
    char byte = 0, room[CMSG_SPACE(sizeof descriptor)] = {0};
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    if (descriptor < 0) {
        if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1 || CMSG_FIRSTHDR(&message) == NULL)
            die("the command was not started");
        memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof descriptor);
        return descriptor;
    }
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    *head = (struct cmsghdr){CMSG_LEN(sizeof descriptor), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
    if (sendmsg(socket, &message, 0) != 1)
        die("sendmsg");
    return descriptor;
}

static void start(const options *o, int socket)
{
    setpgid(0, 0);
    const int listener = install_filter();
    if (listener < 0)
        die("seccomp");
    pass(socket, listener);
    execvp(o->command[0], o->command);
    die(o->command[0]);
}

static int supervise(const options *o)
{
    int ends[2], status = 0;
    long count = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        die("socketpair");
    const pid_t child = fork();
    if (child < 0)
        die("fork");
    if (child == 0)
        start(o, ends[1]);
    setpgid(child, child);
    close(ends[1]);
    const int listener = pass(ends[0], -1), process = (int)syscall(SYS_pidfd_open, child, 0);
    if (process < 0)
        die("pidfd_open");
    struct pollfd both[] = {{listener, POLLIN, 0}, {process, POLLIN, 0}};
    while (both[1].revents == 0) {
        if (poll(both, 2, -1) < 0 && errno != EINTR)
            die("poll");
        if ((both[0].revents & POLLIN) != 0)
            answer(listener, o, &count, child);
    }
    kill(-child, SIGKILL); /* what it has started and left */
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static FILE *open_output(const char *path)
{
    FILE *file = fopen(path, "we");
    if (file == NULL)
        die(path);
    return file;
}

int main(int argc, char **argv)
{
    options o = {.at = -1};
    int i = 1;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--kill") == 0)
            o.kill = true;
        else if (strcmp(argv[i], "--folder") == 0)
            o.folder = value, i++;
        else if (strcmp(argv[i], "--list") == 0)
            o.list = open_output(value), i++;
        else if (strcmp(argv[i], "--record") == 0)
            o.record = open_output(value), i++;
        else if (strcmp(argv[i], "--at") == 0)
            o.at = atol(value), i++;
        else if (strcmp(argv[i], "--error") == 0)
            o.error = atoi(value), i++;
        else
            break;
    }
    if (o.folder == NULL || i + 1 >= argc || strcmp(argv[i], "--") != 0) {
        fputs("usage: see the head of supervisor.c\n", stderr);
        return 99;
    }
    o.command = argv + i + 1;
    const int code = supervise(&o);
    if ((o.list != NULL && fclose(o.list) != 0) || (o.record != NULL && fclose(o.record) != 0))
        die("its own files");
    return code;
}
