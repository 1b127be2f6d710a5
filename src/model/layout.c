/* layout.c - where each parameter lies, and the checks of dimensions and regularisers. */
#include "model/model.h"
#include "model/svd.h"

#include <stdint.h>
#include <string.h>

/* Append a slice and return its offset. */
static size_t append(ant_model_layout *layout, const char *name, size_t axes, size_t rows, size_t cols)
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
    const size_t limit = 1u << 20; /* keeps every product of two sizes far from overflow */
    ANT_CHECK(dims->M >= 1 && dims->N >= 1 && dims->L >= 1, ANTLER_ERROR_ARGUMENT,
              "the model needs at least one latent unit, one hidden unit and one variable, not M = %zu, "
              "L = %zu, N = %zu",
              dims->M, dims->L, dims->N);
    ANT_CHECK(dims->M <= limit && dims->N <= limit && dims->L <= limit && dims->K <= limit,
              ANTLER_ERROR_ARGUMENT, "M = %zu, N = %zu, L = %zu, K = %zu: no size may exceed %zu", dims->M,
              dims->N, dims->L, dims->K, limit);
    const size_t most = dims->M < dims->L ? dims->M : dims->L;
    ANT_CHECK(dims->rank <= most, ANTLER_ERROR_ARGUMENT,
              "rank %zu is larger than min(M, L) = %zu; use rank 0 for a full W", dims->rank, most);
    *layout = (ant_model_layout){.dims = *dims, .W = SIZE_MAX, .WL = SIZE_MAX, .WR = SIZE_MAX, .C = SIZE_MAX};
    layout->Abar = append(layout, "Abar", 1, dims->M, 1);
    if (dims->rank == 0) {
        layout->W = append(layout, "W", 2, dims->M, dims->L);
    } else {
        layout->WL = append(layout, "WL", 2, dims->M, dims->rank);
        layout->WR = append(layout, "WR", 2, dims->rank, dims->L);
    }
    layout->V = append(layout, "V", 2, dims->L, dims->M);
    layout->b = append(layout, "b", 1, dims->L, 1);
    layout->h = append(layout, "h", 1, dims->M, 1);
    if (dims->K > 0)
        layout->C = append(layout, "C", 2, dims->M, dims->K);
    layout->B = append(layout, "B", 2, dims->N, dims->M);
    return ANTLER_OK;
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
    ANT_CHECK(regulariser->mar >= 0 && regulariser->readout >= 0 && regulariser->singular >= 0,
              ANTLER_ERROR_ARGUMENT, "a regulariser's weight may not be negative or NaN");
    return ANTLER_OK;
}

size_t ant_regulariser_work(const ant_model_dims *dims)
{
    const size_t k = dims->M < dims->N ? dims->M : dims->N;
    return dims->N * dims->M + (dims->N + dims->M + 1) * k + ant_svd_work(dims->N, dims->M);
}
