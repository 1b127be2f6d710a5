/* engine.c - names of devices, and the choice of an engine. */
#include "engine/engine.h"

#include "engine/cuda/engine_cuda.h"

const char *antler_device_name(antler_device device)
{
    switch (device) {
    case ANTLER_DEVICE_AUTO:
        return "auto";
    case ANTLER_DEVICE_CPU:
        return "cpu";
    case ANTLER_DEVICE_CUDA:
        return "cuda";
    }
    return "unknown";
}

void ant_engine_number(size_t number)
{
    ant_engine_cuda_number(number);
}

antler_status ant_engine_choose(antler_device device, bool large_enough, const ant_engine **engine)
{
    *engine = NULL;
    switch (device) {
    case ANTLER_DEVICE_CPU:
        return ANTLER_OK;
    case ANTLER_DEVICE_AUTO:
        if (large_enough && ant_engine_cuda_open() == ANTLER_OK)
            *engine = &ant_engine_cuda;
        return ANTLER_OK;
    case ANTLER_DEVICE_CUDA:
        ANT_TRY(
            ant_engine_cuda_begin()); /* starts in the background: compiling kernels need not wait for it */
        *engine = &ant_engine_cuda;
        return ANTLER_OK;
    }
    return ant_fail(ANTLER_ERROR_ARGUMENT, "there is no device with the number %d", (int)device);
}
