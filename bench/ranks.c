/*
 * ranks.c - what an exchange between ranks costs:  mpiexec -n R build/bench/ranks [REPEATS]
 *
 * Every rank has a part of an array, and then all of it: the exchange of a gradient call (src/comm).  Prints,
 * for several sizes of a part, the times of one exchange on rank 0: the smallest, which a busy machine hardly
 * changes, and the median.
 */
#include "base/machine.h"
#include "comm/comm.h"

#include <stdio.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static antler_status measure(ant_comm *comm, size_t bytes, size_t repeats, double seconds[2])
{
    unsigned char *array = calloc(ant_comm_size(comm), bytes);
    double *times = calloc(repeats, sizeof *times);
    antler_status status = array == NULL || times == NULL ? ant_fail_memory(bytes, "an exchange") : ANTLER_OK;
    for (size_t i = 0; i < repeats && status == ANTLER_OK; i++) {
        const double begun = ant_seconds();
        status = ant_comm_share_one(comm, array, bytes);
        times[i] = ant_seconds() - begun;
    }
    if (status == ANTLER_OK) {
        qsort(times, repeats, sizeof *times, compare);
        seconds[0] = times[0];
        seconds[1] = times[repeats / 2];
    }
    free(array);
    free(times);
    return status;
}

int main(int argc, char **argv)
{
    const size_t repeats = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 200;
    antler_status status = repeats == 0 ? ant_fail(ANTLER_ERROR_ARGUMENT, "REPEATS is 0") : ant_comm_join();
    ant_comm *comm = ant_comm_world();
    const bool speaks = ant_comm_rank(comm) == 0;
    if (status == ANTLER_OK && speaks)
        printf("%zu ranks\n%12s %14s %14s\n", ant_comm_size(comm), "bytes each", "smallest us", "median us");
    for (size_t bytes = 16; bytes <= (size_t)4 << 20 && status == ANTLER_OK; bytes *= 8) {
        double seconds[2] = {0.0, 0.0};
        status = measure(comm, bytes, repeats, seconds);
        if (status == ANTLER_OK && speaks)
            printf("%12zu %14.1f %14.1f\n", bytes, 1e6 * seconds[0], 1e6 * seconds[1]);
    }
    if (status != ANTLER_OK)
        fprintf(stderr, "ranks: %s\n", antler_message());
    ant_comm_leave();
    return status == ANTLER_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
