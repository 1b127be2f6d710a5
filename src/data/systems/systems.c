/* systems.c - the table of built-in systems, and looking one up by name. */
#include "data/systems/systems.h"

#include <stdio.h>
#include <string.h>

/* The one list of systems, in the order in which users see them. */
static const ant_system *const systems[] = {
    &ant_system_lorenz63,   &ant_system_lorenz96,      &ant_system_neuron,   &ant_system_roessler,
    &ant_system_burke_shaw, &ant_system_chen,          &ant_system_chua,     &ant_system_dadras,
    &ant_system_halvorsen,  &ant_system_hyperroessler, &ant_system_lorenz84, &ant_system_rucklidge,
    &ant_system_sprott_b,   &ant_system_thomas,
};

enum { SYSTEM_COUNT = sizeof systems / sizeof systems[0] };

antler_status ant_fail_unknown(const char *kind, const char *name, const char *const *candidates,
                               size_t count)
{
    const char *nearest = antler_nearest(name, candidates, count);
    if (nearest != NULL)
        return ant_fail(ANTLER_ERROR_NOT_FOUND, "there is no %s '%s': did you mean '%s'?", kind, name,
                        nearest);
    char all[512] = "";
    size_t used = 0;
    for (size_t i = 0; i < count && used < sizeof all; i++)
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i == 0 ? "" : ", ", candidates[i]);
    return ant_fail(ANTLER_ERROR_NOT_FOUND, "there is no %s '%s': choose one of %s", kind, name, all);
}

antler_status ant_system_find(const char *name, const ant_system **system)
{
    ANT_CHECK(name != NULL, ANTLER_ERROR_ARGUMENT, "no system is named: give the name of a built-in system");
    const char *names[SYSTEM_COUNT];
    for (size_t i = 0; i < SYSTEM_COUNT; i++) {
        names[i] = systems[i]->info.name;
        if (strcmp(name, names[i]) == 0) {
            *system = systems[i];
            return ANTLER_OK;
        }
    }
    return ant_fail_unknown("system", name, names, SYSTEM_COUNT);
}

size_t antler_system_count(void)
{
    return SYSTEM_COUNT;
}

const antler_system_info *antler_system_at(size_t index)
{
    return index < SYSTEM_COUNT ? &systems[index]->info : NULL;
}

antler_status antler_system_find(const char *name, const antler_system_info **info)
{
    ANT_NEED(name != NULL && info != NULL);
    const ant_system *system;
    ANT_TRY(ant_system_find(name, &system));
    *info = &system->info;
    return ANTLER_OK;
}
