/* layout.c - the place of each parameter, and checks of dimensions and regularisers. */
#include "model/kind.h"

#include <stdint.h>
#include <string.h>

size_t ant_model_layout_append(ant_model_layout *layout, const char *name, size_t axes, size_t rows,
                               size_t cols)
{
    ant_model_slice *slice = &layout->slice[layout->slices++];
    *slice = (ant_model_slice){.name = name,
                               .rows = rows,
                               .cols = cols,
                               .axes = axes,
                               .offset = layout->total,
                               .count = rows * cols};
    layout->total += slice->count;
    return slice->offset;
}

antler_status ant_model_layout_make(const ant_model_dims *dims, ant_model_layout *layout)
{
    const size_t limit = 1u << 20, no = SIZE_MAX; /* keeps every product of two sizes far from overflow */
    ANT_CHECK(dims->M >= 1 && dims->N >= 1 && dims->L >= 1, ANTLER_ERROR_ARGUMENT,
              "the model needs at least one latent unit, one hidden unit and one variable, not M = %zu, "
              "L = %zu, N = %zu",
              dims->M, dims->L, dims->N);
    ANT_CHECK(dims->M <= limit && dims->N <= limit && dims->L <= limit && dims->K <= limit,
              ANTLER_ERROR_ARGUMENT, "M = %zu, N = %zu, L = %zu, K = %zu: no size may exceed %zu", dims->M,
              dims->N, dims->L, dims->K, limit);
    *layout = (ant_model_layout){.dims = *dims,
                                 .Abar = no,
                                 .W = no,
                                 .WL = no,
                                 .WR = no,
                                 .U = no,
                                 .V = no,
                                 .b = no,
                                 .h = no,
                                 .C = no,
                                 .B = no};
    return ant_model_kind_of(dims->kind)->lay_out(dims, layout);
}

const ant_model_slice *ant_model_layout_find(const ant_model_layout *layout, const char *name)
{
    for (size_t i = 0; i < layout->slices; i++) {
        if (strcmp(layout->slice[i].name, name) == 0)
            return &layout->slice[i];
    }
    return NULL;
}

antler_status ant_regulariser_check(const ant_regulariser *regulariser, const ant_model_dims *dims)
{
    ANT_CHECK(regulariser->p == 1 || regulariser->p == 2, ANTLER_ERROR_ARGUMENT,
              "the power p of the regularisers is 1 or 2, not %d", regulariser->p);
    ANT_CHECK(regulariser->units <= dims->M, ANTLER_ERROR_ARGUMENT,
              "%zu regularised units are more than the model's %zu", regulariser->units, dims->M);
    ANT_CHECK(regulariser->mar >= 0 && regulariser->readout >= 0 && regulariser->singular >= 0 &&
                  regulariser->latent >= 0 && regulariser->observation >= 0 && regulariser->condition >= 0,
              ANTLER_ERROR_ARGUMENT, "a regulariser's weight may not be negative or NaN");
    return ANTLER_OK;
}

size_t ant_regulariser_work(const ant_model_dims *dims)
{
    ant_model_layout layout;
    const ant_model_kind *kind = ant_model_kind_of(dims->kind);
    if (ant_model_layout_make(dims, &layout) != ANTLER_OK)
        return 0;
    return 2 * layout.total + (kind->regularise_work == NULL ? 0 : kind->regularise_work(dims));
}
