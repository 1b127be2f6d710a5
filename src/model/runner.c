/* runner.c - packing a model for free runs, and the choice of an engine for them. */
#include "model/runner.h"

#include "model/kind.h"

#include <math.h>
#include <stdlib.h>

static antler_status check_finite(const antler_model *model)
{
    for (size_t i = 0; i < model->layout.slices; i++) {
        const ant_model_slice *slice = &model->layout.slice[i];
        for (size_t j = 0; j < slice->count; j++)
            ANT_CHECK(isfinite(model->parameters[slice->offset + j]), ANTLER_NON_FINITE,
                      "the model cannot run: its parameter %s is not finite in row %zu, column %zu; take an "
                      "earlier checkpoint",
                      slice->name, j / slice->cols + 1, j % slice->cols + 1);
    }
    return ANTLER_OK;
}

antler_status ant_runner_create(const antler_model *model, ant_runner **runner)
{
    ANT_CHECK(model != NULL, ANTLER_ERROR_ARGUMENT, "there is no model to run");
    ANT_TRY(check_finite(model));
    const ant_model_dims *d = &model->layout.dims;
    const ant_runner_ops *ops = ant_model_kind_of(d->kind)->runner;
    ant_runner *r = calloc(1, sizeof *r);
    void *self = calloc(1, ops->self_bytes);
    if (r == NULL || self == NULL) {
        free(self);
        free(r);
        return ant_fail_memory(sizeof *r + ops->self_bytes, "a runner");
    }
    *r = (ant_runner){
        .n = ops->state_dim(d), .latent = ops->latent_dim(d), .N = d->N, .K = d->K, .ops = ops, .self = self};
    ant_arena counter;
    ant_arena_count(&counter);
    ops->carve(self, d, &counter);
    antler_status status = ant_arena_create(&r->arena, counter.used);
    if (status == ANTLER_OK) {
        ops->carve(self, d, &r->arena);
        status = ops->pack(self, model);
    }
    if (status != ANTLER_OK)
        ant_runner_free(r);
    else
        *runner = r;
    return status;
}

void ant_runner_free(ant_runner *runner)
{
    if (runner == NULL)
        return;
    ant_arena_destroy(&runner->arena);
    free(runner->self);
    free(runner);
}

antler_status ant_runner_engine(const ant_runner *runner, antler_device device, bool large_enough,
                                ant_engine_map *map, const ant_engine **engine)
{
    *engine = NULL;
    if (runner->ops->map == NULL)
        return ANTLER_OK;
    runner->ops->map(runner->self, map);
    return ant_engine_choose(device, large_enough, engine);
}

antler_status ant_runner_engine_for(const ant_runner *runner, antler_device device, size_t orbits,
                                    double steps, ant_engine_map *map, const ant_engine **engine)
{
    /* From this many orbits and multiply-adds on (some seconds of one core), a GPU makes up for its start-up.
     */
    enum { WIDE = 32 };
    const double least_work = 1e10;
    return ant_runner_engine(
        runner, device, orbits >= WIDE && ant_runner_step_work(runner) * steps > least_work, map, engine);
}
