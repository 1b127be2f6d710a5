/* claim.c - runs of a shared training seen from outside: who has them, and files that are added to them. */
#include "train/folder.h"

#include <stdlib.h>

struct antler_claim {
    ant_folder folder;
};

antler_status antler_claim_look(const char *run, antler_claim_state *state, char *holder, size_t bytes)
{
    ant_folder_owner owner = ANT_OWNER_SELF;
    ant_lease_view view;
    ANT_NEED(run != NULL && state != NULL && (holder != NULL || bytes == 0));
    ANT_TRY(ant_folder_look(run, &owner, &view));
    *state = owner == ANT_OWNER_SELF    ? ANTLER_CLAIM_OPEN
             : owner == ANT_OWNER_OTHER ? ANTLER_CLAIM_HELD
                                        : ANTLER_CLAIM_ENDED;
    if (bytes > 0)
        holder[0] = '\0';
    if (*state == ANTLER_CLAIM_HELD && view.state == ANT_LEASE_HELD)
        snprintf(holder, bytes, "%s (pid %ld), renewed %.0f s ago", view.host, view.process, view.age);
    return ANTLER_OK;
}

antler_status antler_claim_take(const char *run, double lease, antler_claim **claim)
{
    ant_folder_owner owner = ANT_OWNER_SELF;
    ANT_NEED(run != NULL && claim != NULL);
    *claim = NULL;
    ANT_TRY(ant_folder_check_lease(lease));
    ant_lease_view view;
    ANT_TRY(ant_folder_look(run, &owner, &view));
    if (owner != ANT_OWNER_NONE_ENDED)
        return ANTLER_OK;
    antler_claim *made = calloc(1, sizeof *made);
    if (made == NULL)
        return ant_fail_memory(sizeof *made, "a claim");
    const antler_status status = ant_folder_claim(&made->folder, run, lease, true, &owner);
    if (status != ANTLER_OK || owner != ANT_OWNER_SELF) {
        free(made);
        return status;
    }
    *claim = made;
    return ANTLER_OK;
}

antler_status antler_claim_check(antler_claim *claim)
{
    ANT_NEED(claim != NULL);
    return ant_lease_renew(claim->folder.lease);
}

void antler_claim_release(antler_claim *claim)
{
    if (claim == NULL)
        return;
    ant_folder_yield(&claim->folder, true);
    free(claim);
}
