/* mpi.c - opens a library of MPI, finds its ABI, and calls it. */
#include "comm/mpi.h"

#include "base/library.h"
#include "base/machine.h"
#include "comm/launcher.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The calls of one form of handles. */
typedef struct calls {
    const char *(*find)(void *library); /* the name of a function that is missing; NULL: none */
    int (*begin)(int *rank, int *size);
    int (*gather)(void *array, const int *count, const int *first);
    int (*broadcast)(void *bytes, int count);
    void (*close)(void);
    void (*end_all)(int code);
} calls;

enum { STATUS_BYTES = 128 }; /* more than an MPI_Status of any ABI */

enum { AWAKE_US = 300, SLEEP_US = 50 };

/* Between two tests of an exchange that began at `begin`: other processes may have the core.  After AWAKE_US
 * the rank sleeps, with the kernel's own delay for some 0.1 ms at a time. */
static void give_way(double begin)
{
    const struct timespec pause = {.tv_nsec = 1000L * SLEEP_US};
    if (ant_seconds() - begin < 1e-6 * AWAKE_US)
        sched_yield();
    else
        nanosleep(&pause, NULL);
}

#define MPI_HANDLE     void *
#define MPI_FORM(name) pointers_##name
#include "comm/mpi_calls.h"
#undef MPI_HANDLE
#undef MPI_FORM
#define MPI_HANDLE     int
#define MPI_FORM(name) numbers_##name
#include "comm/mpi_calls.h"
#undef MPI_HANDLE
#undef MPI_FORM

static const calls *used; /* NULL: MPI is not open */
static char opened[ANT_LAUNCHER_PATH + 64];

/* Names of the standard ABI first.  The launcher decides between the others: only its own library works with
 * it. */
static const char *const standard_first[] = {"libmpi_abi.so.1", "libmpi_abi.so.0", "libmpi.so.12",
                                             "libmpich.so.12",  "libmpi.so.40",    NULL};
static const char *const openmpi_first[] = {"libmpi.so.40", "libmpi_abi.so.1", "libmpi_abi.so.0", NULL};

/* Constants of the standard: section "Application Binary Interface" of MPI 5.0. */
static void set_standard(void)
{
    pointers_own.world = (void *)0x101;
    pointers_own.byte = (void *)0x247;
    pointers_own.errors_return = (void *)0x143;
    pointers_own.in_place = (void *)1;
    pointers_own.funneled = 1024;
    used = &pointers_calls;
}

/* Constants that all libraries of the MPICH ABI initiative share. */
static void set_mpich(void)
{
    numbers_own.world = 0x44000000;
    numbers_own.byte = 0x4c00010d;
    numbers_own.errors_return = 0x54000001;
    numbers_own.in_place = (void *)-1;
    numbers_own.funneled = 1;
    used = &numbers_calls;
}

/* Handles are addresses of objects in the library; false: it has none of these. */
static bool set_openmpi(void *library)
{
    pointers_own.in_place = (void *)1;
    pointers_own.funneled = 1;
    used = &pointers_calls;
    return ant_library_find(library, "ompi_mpi_comm_world", &pointers_own.world, sizeof(void *)) &&
           ant_library_find(library, "ompi_mpi_byte", &pointers_own.byte, sizeof(void *)) &&
           ant_library_find(library, "ompi_mpi_errors_return", &pointers_own.errors_return, sizeof(void *));
}

static void choose_form(void *library)
{
    int (*version)(int *major, int *minor) = NULL;
    int major = -1, minor = -1;
    if (ant_library_find(library, "MPI_Abi_get_version", &version, sizeof version) &&
        version(&major, &minor) != 0)
        major = -1;
    if (major >= 1)
        set_standard();
    else if (!set_openmpi(library))
        set_mpich();
}

/* The first name that opens, beside the launcher or where the loader looks. */
static bool open_any(const char *const *names, void **library, char reason[ANT_LIBRARY_PATH])
{
    static const char none[] = "ANTLER_MPI";
    char path[sizeof opened], folder[ANT_LAUNCHER_PATH], unused[ANT_LIBRARY_PATH];
    const char *given = getenv(none);
    for (size_t i = 0; names[i] != NULL && (given == NULL || given[0] == '\0'); i++) {
        for (size_t place = 0; place < 2; place++) {
            if (!ant_launcher_folder(place, folder))
                continue;
            snprintf(path, sizeof path, "%s/%s", folder, names[i]);
            const char *const only[] = {path, NULL};
            if (ant_library_open(none, only, library, unused)) {
                snprintf(opened, sizeof opened, "%s", path);
                return true;
            }
        }
    }
    const bool found = ant_library_open(none, names, library, reason);
    snprintf(opened, sizeof opened, "%s", reason);
    return found;
}

antler_status ant_mpi_open(size_t *rank, size_t *size)
{
    void *library = NULL;
    char reason[ANT_LIBRARY_PATH];
    const size_t expected = ant_launcher_size();
    if (!open_any(ant_launcher_is_openmpi() ? openmpi_first : standard_first, &library, reason))
        return ant_fail(ANTLER_ERROR_IO,
                        "this is one of %zu processes of an MPI launcher, but no MPI library opens: %s; "
                        "name that of the launcher in ANTLER_MPI, or set ANTLER_MPI=none to train alone",
                        expected, reason);
    choose_form(library);
    const char *missing = used->find(library);
    int own = 0, all = 0;
    if (missing != NULL) {
        used = NULL;
        return ant_fail(ANTLER_ERROR_IO, "%s has no %s; name another MPI library in ANTLER_MPI", opened,
                        missing);
    }
    const int code = used->begin(&own, &all);
    ANT_CHECK(code == 0, ANTLER_ERROR_IO, "%s: MPI does not begin: error %d", opened, code);
    *rank = (size_t)own;
    *size = (size_t)all;
    ANT_CHECK(*size == expected, ANTLER_ERROR_IO,
              "the launcher has started %zu processes, but %s has %zu: it belongs to another launcher; "
              "name the MPI library of the launcher in ANTLER_MPI",
              expected, opened, *size);
    return ANTLER_OK;
}

static antler_status judge(int code, const char *what)
{
    return code == 0 ? ANTLER_OK
                     : ant_fail(ANTLER_ERROR_IO, "the ranks could not %s: MPI error %d", what, code);
}

antler_status ant_mpi_gather(void *array, const int *count, const int *first)
{
    return judge(used->gather(array, count, first), "exchange their parts");
}

antler_status ant_mpi_broadcast(void *bytes, int count)
{
    return judge(used->broadcast(bytes, count), "hear rank 0");
}

void ant_mpi_close(void)
{
    if (used != NULL)
        used->close();
    used = NULL;
}

void ant_mpi_abort(int code)
{
    if (used != NULL)
        used->end_all(code);
}
