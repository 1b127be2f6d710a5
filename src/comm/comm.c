/* comm.c - the ranks of this process: who they are, and what they exchange. */
#include "comm/comm.h"

#include "base/hash.h"
#include "base/machine.h"
#include "comm/launcher.h"
#include "comm/mpi.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MESSAGE = 512 };

struct ant_comm {
    size_t rank, size;
    size_t threads, all_threads; /* of this rank and of all, where none are given */
    size_t local;                /* of the ranks before this one, those on its machine */
    int *count, *first;          /* (size): bytes, of the present exchange */
    size_t *one;                 /* (size + 1): 0, 1, 2 .. */
    bool *says;                  /* (size) */
    antler_status failure;       /* it stays */
    char message[MESSAGE];       /* of it */
};

static ant_comm world;
static bool joined;

ant_comm *ant_comm_world(void)
{
    return joined && world.size > 1 ? &world : NULL;
}

size_t ant_comm_rank(const ant_comm *comm)
{
    return comm == NULL ? 0 : comm->rank;
}

size_t ant_comm_size(const ant_comm *comm)
{
    return comm == NULL ? 1 : comm->size;
}

size_t ant_comm_threads(const ant_comm *comm)
{
    return comm == NULL ? (size_t)ant_threads_resolve(0) : comm->threads;
}

size_t ant_comm_all_threads(const ant_comm *comm)
{
    return comm == NULL ? (size_t)ant_threads_resolve(0) : comm->all_threads;
}

size_t ant_comm_local(const ant_comm *comm)
{
    return comm == NULL ? 0 : comm->local;
}

size_t ant_comm_begin(size_t items, size_t rank, size_t size)
{
    return items / size * rank + (items % size * rank + size - 1) / size; /* the first ranks have more */
}

/* ---- exchanges --------------------------------------------------------------------------------------- */

antler_status ant_comm_check(const ant_comm *comm)
{
    return comm == NULL || comm->failure == ANTLER_OK ? ANTLER_OK
                                                      : ant_fail(comm->failure, "%s", comm->message);
}

static antler_status keep(ant_comm *comm, antler_status status)
{
    if (status != ANTLER_OK && comm->failure == ANTLER_OK) {
        comm->failure = status;
        snprintf(comm->message, sizeof comm->message, "%s", antler_message());
    }
    return status;
}

void ant_comm_break(ant_comm *comm, antler_status status)
{
    if (comm != NULL)
        (void)keep(comm, status);
}

antler_status ant_comm_share(ant_comm *comm, void *array, size_t unit, const size_t *first)
{
    if (comm == NULL)
        return ANTLER_OK;
    ANT_TRY(ant_comm_check(comm));
    if (first[comm->size] > (size_t)INT_MAX / unit)
        return keep(comm, ant_fail(ANTLER_ERROR_ARGUMENT,
                                   "the ranks would exchange %zu parts of %zu bytes at once, and MPI counts "
                                   "to 2^31; use fewer segments",
                                   first[comm->size], unit));
    for (size_t r = 0; r < comm->size; r++) {
        comm->first[r] = (int)(first[r] * unit);
        comm->count[r] = (int)((first[r + 1] - first[r]) * unit);
    }
    return keep(comm, ant_mpi_gather(array, comm->count, comm->first));
}

antler_status ant_comm_share_one(ant_comm *comm, void *array, size_t unit)
{
    return comm == NULL ? ANTLER_OK : ant_comm_share(comm, array, unit, comm->one);
}

antler_status ant_comm_broadcast(ant_comm *comm, void *bytes, size_t count)
{
    if (comm == NULL)
        return ANTLER_OK;
    ANT_TRY(ant_comm_check(comm));
    for (size_t done = 0; done < count;) {
        const size_t most = (size_t)1 << 30, part = count - done < most ? count - done : most;
        ANT_TRY(keep(comm, ant_mpi_broadcast((char *)bytes + done, (int)part)));
        done += part;
    }
    return ANTLER_OK;
}

bool ant_comm_any(ant_comm *comm, bool own)
{
    if (comm == NULL)
        return own;
    comm->says[comm->rank] = own;
    bool any = ant_comm_share_one(comm, comm->says, sizeof *comm->says) != ANTLER_OK;
    for (size_t r = 0; r < comm->size; r++)
        any = any || comm->says[r];
    return any;
}

typedef struct word {
    antler_status status;
    char message[MESSAGE];
} word;

antler_status ant_comm_agree(ant_comm *comm, antler_status own)
{
    if (comm == NULL)
        return own;
    word *words = calloc(comm->size, sizeof *words);
    if (words == NULL)
        return keep(comm, ant_fail_memory(comm->size * sizeof *words, "what the ranks report"));
    words[comm->rank].status = own;
    if (own != ANTLER_OK)
        snprintf(words[comm->rank].message, MESSAGE, "%s", antler_message());
    antler_status status = ant_comm_share_one(comm, words, sizeof *words);
    for (size_t r = 0; r < comm->size && status == ANTLER_OK; r++) {
        if (words[r].status != ANTLER_OK)
            status = ant_fail(words[r].status, "%s", words[r].message);
    }
    free(words);
    return status;
}

/* ---- beginning and end ------------------------------------------------------------------------------- */

/* What must be equal on all ranks, and where a rank is. */
typedef struct place {
    char build[ANT_HASH_TEXT], host[64], cores[ANT_HASH_TEXT];
    size_t threads; /* that the system offers */
} place;

/* The cores that this process may use, as the system lists them. */
static void hash_cores(char text[ANT_HASH_TEXT])
{
    char line[4096];
    ant_hash hash = ant_hash_begin();
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "Cpus_allowed:", 13) == 0)
            hash = ant_hash_add_text(hash, line);
    }
    if (file != NULL)
        fclose(file);
    ant_hash_print(hash, text);
}

/* Ranks with the same cores share them; OMP_NUM_THREADS is for each. */
static size_t threads_of(const place *places, size_t size, size_t rank)
{
    const char *given = getenv("OMP_NUM_THREADS");
    const place *own = &places[rank];
    size_t neighbours = 0;
    for (size_t r = 0; r < size; r++)
        neighbours += strcmp(places[r].host, own->host) == 0 && strcmp(places[r].cores, own->cores) == 0;
    if (given != NULL && given[0] != '\0')
        return own->threads;
    return own->threads > neighbours ? own->threads / neighbours : 1;
}

static antler_status compare_places(ant_comm *comm)
{
    place *places = calloc(comm->size, sizeof *places), *own = places == NULL ? NULL : &places[comm->rank];
    if (places == NULL)
        return keep(comm, ant_fail_memory(comm->size * sizeof *places, "the ranks"));
    ant_hash_print(ant_hash_add_text(ant_hash_begin(), antler_build_info()), own->build);
    if (gethostname(own->host, sizeof own->host - 1) != 0)
        own->host[0] = '\0';
    hash_cores(own->cores);
    own->threads = (size_t)ant_threads_resolve(0);
    antler_status status = ant_comm_share_one(comm, places, sizeof *places);
    for (size_t r = 0; r < comm->size && status == ANTLER_OK; r++) {
        comm->all_threads += threads_of(places, comm->size, r);
        if (strcmp(places[r].build, places[0].build) != 0)
            status = ant_fail(ANTLER_ERROR_ARGUMENT,
                              "rank %zu on %s and rank 0 on %s have different builds of Antler or "
                              "instruction sets, so their numbers would differ; install one build, and set "
                              "ANTLER_CPU to the lowest instruction set",
                              r, places[r].host, places[0].host);
    }
    comm->threads = threads_of(places, comm->size, comm->rank);
    for (size_t r = 0; r < comm->rank; r++)
        comm->local += strcmp(places[r].host, own->host) == 0;
    free(places);
    return status;
}

static antler_status take_memory(ant_comm *comm)
{
    comm->count = calloc(comm->size, sizeof *comm->count);
    comm->first = calloc(comm->size, sizeof *comm->first);
    comm->one = calloc(comm->size + 1, sizeof *comm->one);
    comm->says = calloc(comm->size, sizeof *comm->says);
    if (comm->count == NULL || comm->first == NULL || comm->one == NULL || comm->says == NULL)
        return ant_fail_memory(comm->size * sizeof *comm->one, "the ranks");
    for (size_t r = 0; r <= comm->size; r++)
        comm->one[r] = r;
    return ANTLER_OK;
}

bool ant_comm_launched(void)
{
    const char *given = getenv("ANTLER_MPI");
    return ant_launcher_size() > 1 && (given == NULL || strcmp(given, "none") != 0);
}

antler_status ant_comm_join(void)
{
    if (joined || !ant_comm_launched())
        return ANTLER_OK;
    ANT_TRY(ant_mpi_open(&world.rank, &world.size));
    ANT_TRY(take_memory(&world));
    joined = true;
    return compare_places(&world);
}

static void release(void)
{
    free(world.count);
    free(world.first);
    free(world.one);
    free(world.says);
    world = (ant_comm){0};
    joined = false;
}

void ant_comm_leave(void)
{
    ant_mpi_close(); /* also of a library that was opened for nothing */
    release();
}

void ant_comm_end_all(int code)
{
    ant_mpi_abort(code);
}
