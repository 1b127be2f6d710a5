/* program.c - from a source and options to loaded kernels, through the cache. */
#include "engine/cuda/program.h"

#include "engine/cuda/cache.h"
#include "engine/cuda/sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ant_cuda_program {
    ant_cuda_device *device;
    ant_cu_module module;
    bool cached;
    char source[64];
};

antler_status ant_cuda_compile(const char *source, int sm, const char *const *options, size_t count,
                               void **image, size_t *size, bool *cached)
{
    ant_nvrtc_facts facts;
    ant_sources sources;
    ANT_TRY(ant_nvrtc_open(&facts));
    ANT_TRY(ant_sources_get(source, &sources));
    const ant_hash key = ant_nvrtc_key(&sources.source, sm, options, count, &facts);
    antler_status status = ANTLER_OK;
    const bool found = ant_cache_load(key, image, size);
    if (!found) {
        ant_nvrtc_image made;
        status = ant_nvrtc_compile(&sources.source, sm, options, count, &made);
        if (status == ANTLER_OK) {
            ant_cache_store(key, made.bytes, made.size);
            *image = made.bytes;
            *size = made.size;
            made.bytes = NULL;
        }
        ant_nvrtc_image_clear(&made);
    }
    if (cached != NULL)
        *cached = found;
    ant_sources_clear(&sources);
    return status;
}

antler_status ant_cuda_program_create(ant_cuda_device *device, const char *source, const char *const *options,
                                      size_t count, ant_cuda_program **program)
{
    void *image = NULL;
    size_t size = 0;
    bool cached = false;
    ANT_TRY(ant_cuda_compile(source, device->sm, options, count, &image, &size, &cached));
    ant_cuda_program *fresh = calloc(1, sizeof *fresh);
    antler_status status = fresh == NULL ? ant_fail_memory(sizeof *fresh, "a GPU program") : ANTLER_OK;
    if (status == ANTLER_OK) {
        *fresh = (ant_cuda_program){.device = device, .cached = cached};
        snprintf(fresh->source, sizeof fresh->source, "%s", source);
        status = ant_cuda_device_enter(device);
    }
    if (status == ANTLER_OK) {
        const ant_cu_result result = device->driver->module_load(&fresh->module, image);
        if (result != 0)
            status = ant_driver_fail(device->driver, result, "load a compiled kernel");
    }
    free(image);
    if (status == ANTLER_OK)
        *program = fresh;
    else
        ant_cuda_program_free(fresh);
    return status;
}

void ant_cuda_program_free(ant_cuda_program *program)
{
    if (program == NULL)
        return;
    const ant_driver *driver = program->device->driver;
    if (program->module != NULL && driver->context_set(program->device->context) == 0)
        (void)driver->module_unload(program->module);
    free(program);
}

antler_status ant_cuda_program_kernel(const ant_cuda_program *program, const char *name,
                                      ant_cuda_kernel *kernel)
{
    const ant_driver *driver = program->device->driver;
    ant_cuda_kernel found = {0};
    snprintf(found.name, sizeof found.name, "%s", name);
    const struct {
        int attribute, *value;
    } questions[] = {
        {ANT_CU_FUNCTION_REGISTERS, &found.registers},
        {ANT_CU_FUNCTION_SHARED_BYTES, &found.static_shared},
        {ANT_CU_FUNCTION_LOCAL_BYTES, &found.local},
        {ANT_CU_FUNCTION_MAX_THREADS, &found.max_threads},
    };
    ant_cu_result result = driver->context_set(program->device->context);
    if (result == 0)
        result = driver->module_function(&found.function, program->module, name);
    ANT_CHECK(result != ANT_CU_NOT_FOUND, ANTLER_ERROR_INTERNAL, "there is no kernel '%s' in %s", name,
              program->source);
    for (size_t i = 0; result == 0 && i < sizeof questions / sizeof questions[0]; i++)
        result = driver->function_get(questions[i].value, questions[i].attribute, found.function);
    if (result != 0)
        return ant_driver_fail(driver, result, "find a kernel");
    *kernel = found;
    return ANTLER_OK;
}

antler_status ant_cuda_program_global(const ant_cuda_program *program, const char *name,
                                      ant_cu_pointer *address, size_t *bytes)
{
    const ant_driver *driver = program->device->driver;
    size_t unused = 0;
    ant_cu_result result = driver->context_set(program->device->context);
    if (result == 0)
        result = driver->module_global(address, bytes == NULL ? &unused : bytes, program->module, name);
    ANT_CHECK(result != ANT_CU_NOT_FOUND, ANTLER_ERROR_INTERNAL, "there is no variable '%s' in %s", name,
              program->source);
    return result == 0 ? ANTLER_OK : ant_driver_fail(driver, result, "find a variable of the GPU's");
}

bool ant_cuda_program_was_cached(const ant_cuda_program *program)
{
    return program->cached;
}
