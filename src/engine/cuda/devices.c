/* devices.c - the public description of the GPUs of this machine. */
#include "base/sized.h"
#include "engine/cuda/cache.h"
#include "engine/cuda/device.h"
#include "engine/cuda/nvrtc.h"

#include <stdio.h>
#include <string.h>

antler_status antler_device_count(size_t *count)
{
    ANT_NEED(count != NULL);
    int found = 0;
    *count = 0;
    ANT_TRY(ant_cuda_device_count(&found));
    *count = (size_t)found;
    return ANTLER_OK;
}

antler_status(antler_device_at)(size_t index, antler_device_info *info, size_t struct_size)
{
    ANT_NEED(info != NULL);
    ANT_RESULT(antler_device_info, info, struct_size, antler_device_at(index, &whole), (void)0);
    ant_cuda_device *device = NULL;
    ANT_CHECK(index < 4096, ANTLER_ERROR_ARGUMENT, "there is no GPU %zu", index);
    ANT_TRY(ant_cuda_device_open((int)index, &device));
    antler_device_info found = {.struct_size = sizeof found,
                                .ordinal = index,
                                .capability_major = device->sm / 10,
                                .capability_minor = device->sm % 10,
                                .multiprocessors = (size_t)device->multiprocessors};
    memcpy(found.name, device->name, sizeof found.name);
    const antler_status status = ant_cuda_memory(device, &found.memory_free, &found.memory);
    if (status == ANTLER_OK)
        *info = found;
    if (status == ANTLER_OK && ant_nvrtc_check_sm(device->sm) != ANTLER_OK)
        snprintf(info->problem, sizeof info->problem, "%s", antler_message());
    ant_cuda_device_close(device);
    return status;
}

static void describe(antler_device_software *software)
{
    const ant_driver *driver = NULL;
    ant_nvrtc_facts facts;
    if (ant_driver_open(&driver) == ANTLER_OK) {
        software->driver_major = driver->version / 1000;
        software->driver_minor = driver->version % 1000 / 10;
    } else {
        snprintf(software->driver_problem, sizeof software->driver_problem, "%s", antler_message());
    }
    if (ant_nvrtc_open(&facts) == ANTLER_OK) {
        software->nvrtc_major = facts.major;
        software->nvrtc_minor = facts.minor;
        snprintf(software->nvrtc_path, sizeof software->nvrtc_path, "%s", facts.path);
    } else {
        snprintf(software->nvrtc_problem, sizeof software->nvrtc_problem, "%s", antler_message());
    }
    if (ant_cache_check(software->cache_path, sizeof software->cache_path) != ANTLER_OK)
        snprintf(software->cache_problem, sizeof software->cache_problem, "%s", antler_message());
}

void(antler_device_software_get)(antler_device_software *software, size_t struct_size)
{
    antler_device_software found = {.struct_size = sizeof found};
    if (software == NULL || !ant_sized_known(struct_size, sizeof found))
        return;
    describe(&found);
    ant_sized_fill(&found, sizeof found, software, struct_size);
}
