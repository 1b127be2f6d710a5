/* handle.c - antler_model: create, free, and read its properties. */
#include "model/handle.h"
#include "base/sized.h"
#include "model/decay.h"
#include "model/kind.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

antler_status ant_model_create(const ant_model_dims *dims, antler_model **model)
{
    ant_model_layout layout;
    ANT_TRY(ant_model_layout_make(dims, &layout));
    antler_model *m = calloc(1, sizeof *m);
    if (m == NULL)
        return ant_fail_memory(sizeof *m, "a model");
    m->layout = layout;
    m->precision = 64;
    m->parameters = calloc(layout.total, sizeof *m->parameters);
    m->A = calloc(dims->M, sizeof *m->A);
    m->names = calloc(dims->N + dims->K, sizeof *m->names);
    if (m->parameters == NULL || m->A == NULL || m->names == NULL) {
        antler_model_free(m);
        return ant_fail_memory(layout.total * sizeof *m->parameters, "the model's parameters");
    }
    *model = m;
    return ANTLER_OK;
}

void antler_model_free(antler_model *model)
{
    if (model == NULL)
        return;
    const size_t names = model->names == NULL ? 0 : model->layout.dims.N + model->layout.dims.K;
    for (size_t i = 0; i < names; i++)
        free(model->names[i]);
    free(model->names);
    free(model->parameters);
    free(model->A);
    free(model->mean);
    free(model->scale);
    free(model->settings);
    free(model->provenance);
    free(model);
}

void ant_model_refresh(antler_model *model)
{
    for (size_t m = 0; m < model->layout.dims.M && model->layout.Abar != SIZE_MAX; m++)
        model->A[m] = ant_decay(model->layout.dims.free_diagonal, model->parameters[model->layout.Abar + m]);
}

antler_status ant_model_set_name(antler_model *model, size_t index, const char *name)
{
    char *copy = NULL;
    if (name != NULL) {
        const size_t bytes = strlen(name) + 1;
        copy = malloc(bytes);
        if (copy == NULL)
            return ant_fail_memory(bytes, "a name");
        memcpy(copy, name, bytes);
    }
    free(model->names[index]);
    model->names[index] = copy;
    return ANTLER_OK;
}

antler_status ant_model_set_scaling(antler_model *model, const double *mean, const double *scale)
{
    const size_t bytes = model->layout.dims.N * sizeof *mean;
    if (model->mean == NULL)
        model->mean = malloc(bytes);
    if (model->scale == NULL)
        model->scale = malloc(bytes);
    if (model->mean == NULL || model->scale == NULL) {
        free(model->mean);
        free(model->scale);
        model->mean = model->scale = NULL;
        return ant_fail_memory(2 * bytes, "the model's scaling");
    }
    memcpy(model->mean, mean, bytes);
    memcpy(model->scale, scale, bytes);
    return ANTLER_OK;
}

bool ant_model_setting_count(const antler_model *model, const char *key, size_t *value)
{
    const size_t length = strlen(key);
    const char *line = antler_model_settings(model);
    while (strncmp(line, key, length) != 0 || line[length] != ':') {
        line = strchr(line, '\n');
        if (line == NULL)
            return false;
        line++;
    }
    char *end;
    errno = 0;
    const unsigned long long number = strtoull(line + length + 1, &end, 10);
    if (end == line + length + 1 || errno != 0 || number > SIZE_MAX / 2)
        return false;
    *value = (size_t)number;
    return true;
}

const char *antler_model_kind(const antler_model *model)
{
    return model == NULL ? "" : ant_model_kind_of(model->layout.dims.kind)->name;
}

size_t antler_model_state_dim(const antler_model *model)
{
    return model == NULL
               ? 0
               : ant_model_kind_of(model->layout.dims.kind)->runner->latent_dim(&model->layout.dims);
}

size_t antler_model_dim(const antler_model *model)
{
    return model == NULL ? 0 : model->layout.dims.N;
}

size_t antler_model_latent_dim(const antler_model *model)
{
    return model == NULL ? 0 : model->layout.dims.M;
}

size_t antler_model_hidden_dim(const antler_model *model)
{
    return model == NULL ? 0 : model->layout.dims.L;
}

size_t antler_model_input_dim(const antler_model *model)
{
    return model == NULL ? 0 : model->layout.dims.K;
}

size_t antler_model_rank(const antler_model *model)
{
    return model == NULL ? 0 : model->layout.dims.rank;
}

bool antler_model_clipped(const antler_model *model)
{
    return model != NULL && model->layout.dims.clipped;
}

bool antler_model_free_diagonal(const antler_model *model)
{
    return model != NULL && model->layout.dims.free_diagonal;
}

int antler_model_precision(const antler_model *model)
{
    return model == NULL ? 0 : model->precision;
}

double antler_model_dt(const antler_model *model)
{
    return model == NULL ? 0.0 : model->dt;
}

/* Names that were never given are x1 .. xN and s1 .. sK, as in series; one buffer per thread holds them. */
const char *antler_model_name(const antler_model *model, size_t variable)
{
    if (model == NULL)
        return "";
    static _Thread_local char generic[32];
    const ant_model_dims *d = &model->layout.dims;
    if (variable >= d->N + d->K)
        return "";
    if (model->names[variable] != NULL)
        return model->names[variable];
    const bool input = variable >= d->N;
    snprintf(generic, sizeof generic, "%c%zu", input ? 's' : 'x', variable - (input ? d->N : 0) + 1);
    return generic;
}

const char *antler_model_settings(const antler_model *model)
{
    return model == NULL || model->settings == NULL ? "" : model->settings;
}

const char *antler_model_provenance(const antler_model *model)
{
    return model == NULL || model->provenance == NULL ? "" : model->provenance;
}

bool antler_model_scaling(const antler_model *model, double *mean, double *scale)
{
    if (model == NULL || mean == NULL || scale == NULL)
        return false;
    if (model->mean == NULL || model->scale == NULL)
        return false;
    memcpy(mean, model->mean, model->layout.dims.N * sizeof *mean);
    memcpy(scale, model->scale, model->layout.dims.N * sizeof *scale);
    return true;
}

size_t antler_model_parameter_count(const antler_model *model)
{
    return model == NULL ? 0 : model->layout.slices;
}

antler_status(antler_model_parameter_at)(const antler_model *model, size_t index, antler_parameter *parameter,
                                         size_t struct_size)
{
    ANT_NEED(model != NULL && parameter != NULL);
    ANT_RESULT(antler_parameter, parameter, struct_size, antler_model_parameter_at(model, index, &whole),
               (void)0);
    ANT_CHECK(index < model->layout.slices, ANTLER_ERROR_ARGUMENT,
              "the model has %zu parameters, there is no number %zu", model->layout.slices, index);
    const ant_model_slice *slice = &model->layout.slice[index];
    const bool decay = slice->offset == model->layout.Abar;
    *parameter = (antler_parameter){.struct_size = sizeof *parameter,
                                    .name = decay ? "A" : slice->name,
                                    .axes = slice->axes,
                                    .rows = slice->rows,
                                    .columns = slice->cols,
                                    .values = decay ? model->A : model->parameters + slice->offset};
    return ANTLER_OK;
}
