/*
 * mpi_abi.c - the standard ABI of MPI 5 for tests: handles and constants of the standard, calls of MPICH's
 * older library.  Only what Antler calls.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Handles and constants of the standard and of MPICH. */
static const struct {
    uintptr_t standard;
    int mpich;
} handles[] = {{0x101, 0x44000000}, {0x247, 0x4c00010d}, {0x143, 0x54000001}};

static int turn(void *handle)
{
    for (size_t i = 0; i < sizeof handles / sizeof handles[0]; i++) {
        if ((uintptr_t)handle == handles[i].standard)
            return handles[i].mpich;
    }
    abort(); /* a handle of another ABI */
}

static void find(const char *name, void *function)
{
    static void *library;
    if (library == NULL)
        library = dlopen("libmpich.so.12", RTLD_NOW);
    void *address = library == NULL ? NULL : dlsym(library, name);
    if (address == NULL)
        abort();
    memcpy(function, &address, sizeof address);
}

int MPI_Abi_get_version(int *major, int *minor);
int MPI_Init_thread(int *argc, char ***argv, int required, int *provided);
int MPI_Comm_set_errhandler(void *comm, void *handler);
int MPI_Comm_rank(void *comm, int *rank);
int MPI_Comm_size(void *comm, int *size);
int MPI_Iallgatherv(const void *own, int own_count, void *own_type, void *all, const int *counts,
                    const int *first, void *type, void *comm, void **request);
int MPI_Ibcast(void *bytes, int count, void *type, int root, void *comm, void **request);
int MPI_Test(void **request, int *done, void *status);
int MPI_Finalize(void);
int MPI_Abort(void *comm, int code);

int MPI_Abi_get_version(int *major, int *minor)
{
    *major = 1;
    *minor = 0;
    return 0;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int (*call)(int *, char ***, int, int *);
    find("MPI_Init_thread", &call);
    if (required != 1024) /* MPI_THREAD_FUNNELED of the standard */
        abort();
    return call(argc, argv, 1, provided);
}

int MPI_Comm_set_errhandler(void *comm, void *handler)
{
    int (*call)(int, int);
    find("MPI_Comm_set_errhandler", &call);
    return call(turn(comm), turn(handler));
}

int MPI_Comm_rank(void *comm, int *rank)
{
    int (*call)(int, int *);
    find("MPI_Comm_rank", &call);
    return call(turn(comm), rank);
}

int MPI_Comm_size(void *comm, int *size)
{
    int (*call)(int, int *);
    find("MPI_Comm_size", &call);
    return call(turn(comm), size);
}

/* Requests are numbers there, and so here, in the place of a pointer. */
int MPI_Iallgatherv(const void *own, int own_count, void *own_type, void *all, const int *counts,
                    const int *first, void *type, void *comm, void **request)
{
    int (*call)(const void *, int, int, void *, const int *, const int *, int, int, int *);
    int number = 0;
    find("MPI_Iallgatherv", &call);
    if ((uintptr_t)own != 1) /* MPI_IN_PLACE of the standard */
        abort();
    const int code = call((void *)(intptr_t)-1, own_count, turn(own_type), all, counts, first, turn(type),
                          turn(comm), &number);
    *request = (void *)(intptr_t)number;
    return code;
}

int MPI_Ibcast(void *bytes, int count, void *type, int root, void *comm, void **request)
{
    int (*call)(void *, int, int, int, int, int *);
    int number = 0;
    find("MPI_Ibcast", &call);
    const int code = call(bytes, count, turn(type), root, turn(comm), &number);
    *request = (void *)(intptr_t)number;
    return code;
}

int MPI_Test(void **request, int *done, void *status)
{
    int (*call)(int *, int *, void *);
    int number = (int)(intptr_t)*request;
    find("MPI_Test", &call);
    const int code = call(&number, done, status);
    *request = (void *)(intptr_t)number;
    return code;
}

int MPI_Finalize(void)
{
    int (*call)(void);
    find("MPI_Finalize", &call);
    return call();
}

int MPI_Abort(void *comm, int code)
{
    int (*call)(int, int);
    find("MPI_Abort", &call);
    return call(turn(comm), code);
}
