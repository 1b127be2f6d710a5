#include "engine/cuda/engine_cuda.h"

#include "engine/cuda/nvrtc.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ant_cuda_device *shared; /* under the lock; NULL until it is opened */

static antler_status open_shared(void)
{
    ant_cuda_device *device = NULL;
    if (shared != NULL)
        return ANTLER_OK;
    ANT_TRY(ant_cuda_device_open(0, &device));
    const antler_status status = ant_nvrtc_check_sm(device->sm);
    if (status == ANTLER_OK)
        shared = device;
    else
        ant_cuda_device_close(device);
    return status;
}

antler_status ant_cuda_borrow(ant_cuda_device **device)
{
    pthread_mutex_lock(&lock);
    const antler_status status = open_shared();
    if (status == ANTLER_OK)
        *device = shared; /* and keep the lock */
    else
        pthread_mutex_unlock(&lock);
    return status;
}

void ant_cuda_return(void)
{
    pthread_mutex_unlock(&lock);
}

antler_status ant_engine_cuda_open(void)
{
    ant_cuda_device *device = NULL;
    ANT_TRY(ant_cuda_borrow(&device));
    ant_cuda_return();
    return ANTLER_OK;
}

static const char *device_name(void)
{
    ant_cuda_device *device = NULL;
    if (ant_cuda_borrow(&device) != ANTLER_OK)
        return "no GPU";
    ant_cuda_return();
    return device->name;
}

const ant_engine ant_engine_cuda = {
    .name = "cuda",
    .device = device_name,
    .kernel_sums = ant_cuda_kernel_sums,
    .learner = &ant_cuda_learner_ops,
};
