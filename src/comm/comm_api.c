/* comm_api.c - the public functions for ranks. */
#include "comm/comm.h"
#include "comm/launcher.h"

bool antler_ranks_launched(size_t *place)
{
    if (place != NULL)
        *place = ant_launcher_place();
    return ant_comm_launched();
}

antler_status antler_ranks_join(size_t *rank, size_t *ranks)
{
    ANT_NEED(rank != NULL && ranks != NULL);
    const antler_status status = ant_comm_join();
    *rank = ant_comm_rank(ant_comm_world());
    *ranks = ant_comm_size(ant_comm_world());
    return status;
}

bool antler_ranks_agree(void)
{
    return ant_comm_check(ant_comm_world()) == ANTLER_OK;
}

void antler_ranks_leave(void)
{
    ant_comm_leave();
}

void antler_ranks_end_all(int code)
{
    ant_comm_end_all(code);
}
