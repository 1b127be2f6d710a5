/* pass.c - the table of kinds, and what their passes share. */
#include "engine/cuda/pass.h"

#include <stdio.h>

/* One row per kind of model. */
static const ant_cuda_kind *const kinds[] = {
    [ANTLER_MODEL_SHPLRNN] = &ant_cuda_kind_shplrnn,
    [ANTLER_MODEL_LSSM] = &ant_cuda_kind_lssm,
    [ANTLER_MODEL_MAMBA2] = &ant_cuda_kind_mamba2,
};

const ant_cuda_kind *ant_cuda_kind_of(const ant_engine_learning *work)
{
    const size_t index = (size_t)work->settings->model;
    return index < sizeof kinds / sizeof kinds[0] ? kinds[index] : NULL;
}

antler_status ant_cuda_pass_take(ant_cuda_pass *pass, size_t bytes, const char *purpose,
                                 ant_cuda_buffer *buffer)
{
    ANT_TRY(ant_cuda_alloc(pass->device, bytes, purpose, buffer));
    pass->bytes += bytes;
    return ant_cuda_fill_async(pass->device, buffer->address, 0, bytes);
}

antler_status ant_cuda_check_gaps(const ant_engine_learning *work)
{
    const antler_settings *s = work->settings;
    ANT_CHECK(work->lacks == NULL || s->batch_size * (s->sequence_length + 1) <= UINT32_MAX / work->N,
              ANTLER_ERROR_ARGUMENT,
              "sequence_length %zu with batch_size %zu is too long for the GPU where values are missing; use "
              "device: cpu",
              s->sequence_length, s->batch_size);
    return ANTLER_OK;
}

const char *ant_cuda_gaps_remark(const ant_engine_learning *work)
{
    return work->lacks == NULL ? "" : ", and predictions of missing values come first, in plain steps";
}

unsigned ant_cuda_update_threads(const ant_engine_learning *work)
{
    enum { LEAST = 256, MOST = 768, ROLES = 64 }; /* for the side warp and the control warp */
    const size_t wanted = (work->total + 31) / 32 * 32 + ROLES;
    return wanted < LEAST ? LEAST : wanted > MOST ? MOST : (unsigned)wanted;
}

antler_status ant_cuda_read_facts(ant_cuda_device *device, const ant_cuda_program *program, const char *name,
                                  void *facts, size_t bytes)
{
    ant_cu_pointer address = 0;
    size_t found = 0;
    ANT_TRY(ant_cuda_program_global(program, name, &address, &found));
    ANT_CHECK(found == bytes, ANTLER_ERROR_INTERNAL, "%s has %zu bytes, not %zu", name, found, bytes);
    return ant_cuda_download(device, facts, address, bytes);
}

/* "-DM=4 ...", the sizes of the model; returns their number. */
static size_t shape_options(const ant_engine_learning *work,
                            char options[ANT_CUDA_OPTIONS][ANT_CUDA_OPTION_BYTES])
{
    const struct {
        const char *name;
        size_t value;
    } macros[] = {
        {"REAL_BITS", work->settings->precision == ANTLER_PRECISION_FLOAT ? 32 : 64},
        {"M", work->M},
        {"N", work->N},
        {"L", work->L},
        {"K", work->K},
        {"CLIPPED", work->clipped ? 1 : 0},
    };
    const size_t count = sizeof macros / sizeof macros[0];
    for (size_t i = 0; i < count; i++)
        snprintf(options[i], ANT_CUDA_OPTION_BYTES, "-D%s=%zu", macros[i].name, macros[i].value);
    return count;
}

/* FORCING of kernels/shape.cuh, as an option; NULL: the strength is constant. */
static const char *forcing_option(const antler_settings *s)
{
    if (s->forcing_interval > 0)
        return "-DFORCING=2";
    return ant_cuda_alpha_varies(s) ? "-DFORCING=1" : NULL;
}

bool ant_cuda_alpha_varies(const antler_settings *s)
{
    return s->gtf_alpha_method != ANTLER_ALPHA_CONSTANT ||
           s->gtf_alpha_schedule != ANTLER_ALPHA_SCHEDULE_CONSTANT;
}

/* All options of a variant; texts: buffer for those of the shape. */
static size_t gather(const ant_engine_learning *work, const char *const *more, size_t count,
                     char texts[ANT_CUDA_OPTIONS][ANT_CUDA_OPTION_BYTES],
                     const char *options[2 * ANT_CUDA_OPTIONS])
{
    size_t used = shape_options(work, texts);
    for (size_t i = 0; i < used; i++)
        options[i] = texts[i];
    for (size_t i = 0; i < count; i++)
        options[used++] = more[i];
    const char *forcing = forcing_option(work->settings);
    if (forcing != NULL)
        options[used++] = forcing;
    return used;
}

antler_status ant_cuda_compile_shape(ant_cuda_device *device, const char *source,
                                     const ant_engine_learning *work, const char *const *more, size_t count,
                                     ant_cuda_program **program)
{
    char texts[ANT_CUDA_OPTIONS][ANT_CUDA_OPTION_BYTES];
    const char *options[2 * ANT_CUDA_OPTIONS];
    const size_t used = gather(work, more, count, texts, options);
    return ant_cuda_program_create(device, source, options, used, program);
}

antler_status ant_cuda_image_shape(int sm, const char *source, const ant_engine_learning *work,
                                   const char *const *more, size_t count, void **image, size_t *size)
{
    char texts[ANT_CUDA_OPTIONS][ANT_CUDA_OPTION_BYTES];
    const char *options[2 * ANT_CUDA_OPTIONS];
    const size_t used = gather(work, more, count, texts, options);
    return ant_cuda_compile(source, sm, options, used, image, size, NULL);
}
