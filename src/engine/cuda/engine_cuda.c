/* engine_cuda.c - the one GPU that all calls of the process share, and the table of the engine. */
#include "engine/cuda/engine_cuda.h"

#include "engine/cuda/nvrtc.h"

#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ant_cuda_device *shared; /* under the lock; NULL until it is opened */
static size_t wanted;           /* under the lock: its number, modulo the count of GPUs */

/* The driver must not shut down while a context is still starting. */
static void await_start(void)
{
    if (pthread_mutex_trylock(&lock) != 0)
        return;
    if (shared != NULL)
        (void)ant_cuda_device_enter(shared);
    pthread_mutex_unlock(&lock);
}

static antler_status open_shared(void)
{
    static bool ending; /* await_start will be called */
    ant_cuda_device *device = NULL;
    if (shared != NULL && !shared->starting && shared->start_result != 0) { /* tried again */
        ant_cuda_device_close(shared);
        shared = NULL;
    }
    if (shared != NULL)
        return ANTLER_OK;
    int count = 0;
    ANT_TRY(ant_cuda_device_count(&count));
    ANT_TRY(ant_cuda_device_begin(count > 0 ? (int)(wanted % (size_t)count) : 0, &device));
    if (!ending)
        ending = atexit(await_start) == 0;
    const antler_status status = ant_nvrtc_check_sm(device->sm);
    if (status == ANTLER_OK)
        shared = device;
    else
        ant_cuda_device_close(device);
    return status;
}

void ant_engine_cuda_number(size_t number)
{
    pthread_mutex_lock(&lock);
    wanted = number;
    pthread_mutex_unlock(&lock);
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

antler_status ant_engine_cuda_begin(void)
{
    ant_cuda_device *device = NULL;
    ANT_TRY(ant_cuda_borrow(&device));
    ant_cuda_return();
    return ANTLER_OK;
}

antler_status ant_engine_cuda_open(void)
{
    ant_cuda_device *device = NULL;
    ANT_TRY(ant_cuda_borrow(&device));
    const antler_status status = ant_cuda_device_enter(device);
    ant_cuda_return();
    return status;
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
    .orbits = ant_cuda_orbits,
    .tangents = ant_cuda_tangents,
    .learner = &ant_cuda_learner_ops,
};
