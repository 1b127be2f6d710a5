/* model_support.h - for tests of what comes after training: models made by hand or at random. */
#ifndef ANT_TESTS_MODEL_SUPPORT_H
#define ANT_TESTS_MODEL_SUPPORT_H

#include "unit/check.h"

#include "base/random.h"
#include "model/handle.h"

#include <stdlib.h>

/* Parameters are 0 until they are set. */
static inline antler_model *model_make(size_t M, size_t N, size_t L, size_t K)
{
    const ant_model_dims dims = {.M = M, .N = N, .L = L, .K = K};
    antler_model *model = NULL;
    CHECK_OK(ant_model_create(&dims, &model));
    return model;
}

/* Set a parameter by its letter; "A" is turned into Abar. */
static inline void model_set(antler_model *model, const char *name, const double *values)
{
    const bool decay = strcmp(name, "A") == 0;
    const ant_model_slice *slice = ant_model_layout_find(&model->layout, decay ? "Abar" : name);
    assert_non_null(slice);
    for (size_t i = 0; i < slice->count; i++)
        model->parameters[slice->offset + i] = decay ? atanh(values[i]) : values[i];
    ant_model_refresh(model);
}

/* A model whose steps neither explode nor vanish: A around 0.6, weights of order one. */
static inline antler_model *model_random(const ant_model_dims *dims, uint64_t seed)
{
    antler_model *model = NULL;
    CHECK_OK(ant_model_create(dims, &model));
    ant_stream stream = ant_stream_open(seed, 0, 0, ANT_PURPOSE_PARAMETERS);
    for (size_t i = 0; i < model->layout.slices; i++) {
        const ant_model_slice *slice = &model->layout.slice[i];
        const double width = slice->axes == 2 ? 1.0 / sqrt((double)slice->cols) : 1.0;
        for (size_t j = 0; j < slice->count; j++)
            model->parameters[slice->offset + j] = width * (2.0 * ant_stream_uniform(&stream) - 1.0);
    }
    ant_model_refresh(model);
    return model;
}

static inline void fill_random(double *values, size_t count, uint64_t seed)
{
    ant_stream stream = ant_stream_open(seed, 1, 0, ANT_PURPOSE_INITIAL_STATE);
    for (size_t i = 0; i < count; i++)
        values[i] = 2.0 * ant_stream_uniform(&stream) - 1.0;
}

static inline antler_series *series_make(size_t length, size_t dim, const double *x, size_t inputs,
                                         const double *s)
{
    antler_series *series = NULL;
    CHECK_OK(antler_series_create(dim, inputs, &series));
    CHECK_OK(antler_series_append(series, length, x, s));
    return series;
}

/* All rows of the first trajectory, allocated. */
static inline double *series_values(const antler_series *series)
{
    const size_t rows = antler_series_length(series, 0);
    double *x = malloc((rows * antler_series_dim(series) + 1) * sizeof *x);
    assert_non_null(x);
    CHECK_OK(antler_series_read_f64(series, 0, 0, rows, x, NULL));
    return x;
}

#endif
