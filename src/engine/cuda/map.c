/* map.c - compiles the kernels of a map that runs free, and uploads its parameters. */
#include "engine/cuda/map.h"

#include "engine/cuda/pass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One row per form. */
static const ant_cuda_form *const forms[ANT_FORMS] = {
    [ANT_FORM_SHPLRNN] = &ant_cuda_form_shplrnn,
    [ANT_FORM_MAMBA2] = &ant_cuda_form_mamba2,
};

enum { COMMON_MACROS = 6 };

double *ant_cuda_append(double *to, const double *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = from[i];
    return to + count;
}

double *ant_cuda_append_transposed(double *to, const double *from, size_t rows, size_t cols, size_t stride)
{
    for (size_t j = 0; j < cols; j++)
        for (size_t i = 0; i < rows; i++)
            *to++ = from[i * stride + j];
    return to;
}

double *ant_cuda_append_rows(double *to, const double *from, size_t rows, size_t cols, size_t stride)
{
    for (size_t i = 0; i < rows; i++)
        to = ant_cuda_append(to, from + i * stride, cols);
    return to;
}

static antler_status compile(ant_cuda_map *made, const ant_engine_map *map, size_t count)
{
    const ant_cuda_form *form = forms[map->form];
    char text[COMMON_MACROS + ANT_CUDA_FORM_MACROS][32];
    const char *options[COMMON_MACROS + ANT_CUDA_FORM_MACROS];
    ant_cuda_macro macros[COMMON_MACROS + ANT_CUDA_FORM_MACROS] = {
        {"M", map->M},   {"N", map->N}, {"L", map->L}, {"K", map->K}, {"THREADS", made->threads},
        {"COUNT", count}};
    size_t used = COMMON_MACROS;
    if (form->macros != NULL)
        used += form->macros(map, made->threads, macros + COMMON_MACROS);
    for (size_t i = 0; i < used; i++) {
        snprintf(text[i], sizeof text[i], "-D%s=%zu", macros[i].name, macros[i].value);
        options[i] = text[i];
    }
    return ant_cuda_program_create(made->device, form->source, options, used, &made->program);
}

static antler_status upload(ant_cuda_map *made, const ant_engine_map *map, size_t bytes)
{
    const ant_cuda_form *form = forms[map->form];
    ANT_CHECK(form->numbers(map) * sizeof(double) == bytes, ANTLER_ERROR_INTERNAL,
              "the parameters have %zu bytes in %s and %zu here", bytes, form->source,
              form->numbers(map) * sizeof(double));
    double *packed = malloc(bytes);
    if (packed == NULL)
        return ant_fail_memory(bytes, "the packed parameters");
    form->pack(map, packed);
    const antler_status status =
        ant_cuda_alloc_from(made->device, packed, bytes, "the parameters", &made->parameters);
    free(packed);
    return status;
}

antler_status ant_cuda_map_open(ant_cuda_device *device, const ant_engine_map *map, size_t count,
                                ant_cuda_map *made)
{
    struct orbit_variant facts;
    *made = (ant_cuda_map){.device = device, .threads = forms[map->form]->threads(map, count)};
    ANT_TRY(compile(made, map, count));
    ANT_TRY(ant_cuda_read_facts(device, made->program, "orbit_facts", &facts, sizeof facts));
    made->shared_bytes = (size_t)facts.shared_bytes;
    made->scratch_bytes = (size_t)facts.scratch_bytes;
    ANT_CHECK(
        facts.shared_bytes <= device->shared_per_block, ANTLER_ERROR_DEVICE,
        "a model with M = %zu, L = %zu and N = %zu is too large for the GPU's kernel; compute on the CPU",
        map->M, map->L, map->N);
    return upload(made, map, (size_t)facts.parameter_bytes);
}

void ant_cuda_map_clear(ant_cuda_map *map)
{
    if (map->device != NULL)
        ant_cuda_free(map->device, &map->parameters);
    ant_cuda_program_free(map->program);
    *map = (ant_cuda_map){0};
}
