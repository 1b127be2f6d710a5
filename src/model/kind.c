/* kind.c - the table of the kinds of models. */
#include "model/kind.h"

#include <string.h>

static const ant_model_kind *const kinds[] = {
    [ANT_MODEL_SHPLRNN] = &ant_kind_shplrnn,
    [ANT_MODEL_LSSM] = &ant_kind_lssm,
    [ANT_MODEL_MAMBA2] = &ant_kind_mamba2,
};

enum { KNOWN = sizeof kinds / sizeof kinds[0] };

const ant_model_kind *ant_model_kind_of(ant_model_id id)
{
    return kinds[id];
}

bool ant_model_kind_find(const char *name, ant_model_id *id)
{
    for (size_t i = 0; i < KNOWN; i++) {
        if (strcmp(kinds[i]->name, name) == 0) {
            *id = (ant_model_id)i;
            return true;
        }
    }
    return false;
}
