/*
 * mpi_calls.h - calls of MPI with handles of one form.  No include guard: mpi.c includes it once for each
 * form, with MPI_HANDLE, the type of a handle, and MPI_FORM(name), the names of what is defined here.
 */

/* The functions, and the constants that they are called with. */
typedef struct MPI_FORM(library) {
    int (*init_thread)(int *argc, char ***argv, int required, int *provided);
    int (*set_errhandler)(MPI_HANDLE comm, MPI_HANDLE handler);
    int (*comm_rank)(MPI_HANDLE comm, int *rank);
    int (*comm_size)(MPI_HANDLE comm, int *size);
    int (*allgatherv)(const void *own, int own_count, MPI_HANDLE own_type, void *all, const int *counts,
                      const int *first, MPI_HANDLE type, MPI_HANDLE comm, MPI_HANDLE *request);
    int (*bcast)(void *bytes, int count, MPI_HANDLE type, int root, MPI_HANDLE comm, MPI_HANDLE *request);
    int (*test)(MPI_HANDLE *request, int *done, void *status);
    int (*finalize)(void);
    int (*abort_all)(MPI_HANDLE comm, int code);
    MPI_HANDLE world;
    MPI_HANDLE byte;
    MPI_HANDLE errors_return;
    int funneled;
    void *in_place;
} MPI_FORM(library);

static MPI_FORM(library) MPI_FORM(own);

static const char *MPI_FORM(find)(void *library)
{
    MPI_FORM(library) *m = &MPI_FORM(own);
#define FIND(field, symbol)                                                                                  \
    if (!ant_library_find(library, symbol, &m->field, sizeof m->field))                                      \
        return symbol;
    FIND(init_thread, "MPI_Init_thread")
    FIND(set_errhandler, "MPI_Comm_set_errhandler")
    FIND(comm_rank, "MPI_Comm_rank")
    FIND(comm_size, "MPI_Comm_size")
    FIND(allgatherv, "MPI_Iallgatherv")
    FIND(bcast, "MPI_Ibcast")
    FIND(test, "MPI_Test")
    FIND(finalize, "MPI_Finalize")
    FIND(abort_all, "MPI_Abort")
#undef FIND
    return NULL;
}

static int MPI_FORM(begin)(int *rank, int *size)
{
    const MPI_FORM(library) *m = &MPI_FORM(own);
    int provided = 0, code = m->init_thread(NULL, NULL, m->funneled, &provided);
    if (code == 0)
        code = m->set_errhandler(m->world, m->errors_return);
    if (code == 0)
        code = m->comm_rank(m->world, rank);
    return code == 0 ? m->comm_size(m->world, size) : code;
}

/* MPI's own waiting keeps the core, which the rank that is waited for may need. */
static int MPI_FORM(wait)(int code, MPI_HANDLE request)
{
    _Alignas(16) char status[STATUS_BYTES];
    const double begin = ant_seconds();
    int done = 0;
    while (code == 0 && !done) {
        code = MPI_FORM(own).test(&request, &done, status);
        if (code == 0 && !done)
            give_way(begin);
    }
    return code;
}

static int MPI_FORM(gather)(void *array, const int *count, const int *first)
{
    const MPI_FORM(library) *m = &MPI_FORM(own);
    MPI_HANDLE request;
    const int code = m->allgatherv(m->in_place, 0, m->byte, array, count, first, m->byte, m->world, &request);
    return MPI_FORM(wait)(code, request);
}

static int MPI_FORM(broadcast)(void *bytes, int count)
{
    const MPI_FORM(library) *m = &MPI_FORM(own);
    MPI_HANDLE request;
    const int code = m->bcast(bytes, count, m->byte, 0, m->world, &request);
    return MPI_FORM(wait)(code, request);
}

static void MPI_FORM(close)(void)
{
    MPI_FORM(own).finalize();
}

static void MPI_FORM(end_all)(int code)
{
    MPI_FORM(own).abort_all(MPI_FORM(own).world, code);
}

static const calls MPI_FORM(calls) = {.find = MPI_FORM(find),
                                      .begin = MPI_FORM(begin),
                                      .gather = MPI_FORM(gather),
                                      .broadcast = MPI_FORM(broadcast),
                                      .close = MPI_FORM(close),
                                      .end_all = MPI_FORM(end_all)};
