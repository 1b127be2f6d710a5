/* device.c - one GPU for host code, on top of the driver's table. */
#include "engine/cuda/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Return with a message unless the driver's call succeeded. */
#define TRY_CU(device, call, what)                                                                           \
    do {                                                                                                     \
        const ant_cu_result try_result = (device)->driver->call;                                             \
        if (try_result != 0)                                                                                 \
            return ant_driver_fail((device)->driver, try_result, what);                                      \
    } while (0)

antler_status ant_cuda_device_count(int *count)
{
    const ant_driver *driver = NULL;
    ANT_TRY(ant_driver_open(&driver));
    const ant_cu_result result = driver->device_count(count);
    if (result != 0)
        return ant_driver_fail(driver, result, "count the GPUs");
    ANT_CHECK(*count > 0, ANTLER_ERROR_DEVICE,
              "there is an NVIDIA driver, but it sees no GPU; check nvidia-smi and the variable "
              "CUDA_VISIBLE_DEVICES");
    return ANTLER_OK;
}

static void join_starter(ant_cuda_device *device)
{
    if (device->starting)
        pthread_join(device->starter, NULL);
    device->starting = false;
}

antler_status ant_cuda_device_enter(ant_cuda_device *device)
{
    join_starter(device);
    if (device->start_result != 0)
        return ant_driver_fail(device->driver, device->start_result, device->start_step);
    TRY_CU(device, context_set(device->context), "select the GPU");
    return ANTLER_OK;
}

static antler_status ask(ant_cuda_device *device)
{
    const struct {
        int attribute, *value;
    } questions[] = {
        {ANT_CU_MULTIPROCESSORS, &device->multiprocessors},
        {ANT_CU_SHARED_PER_BLOCK, &device->shared_per_block},
        {ANT_CU_SHARED_PER_MULTIPROCESSOR, &device->shared_per_multiprocessor},
        {ANT_CU_MAX_THREADS_PER_MULTIPROCESSOR, &device->threads_per_multiprocessor},
        {ANT_CU_L2_BYTES, &device->l2_bytes},
    };
    const ant_driver *driver = device->driver;
    int major = 0, minor = 0, cooperative = 0;
    TRY_CU(device, device_get(&device->handle, device->ordinal), "find the GPU");
    TRY_CU(device, device_name(device->name, sizeof device->name, device->handle), "read the GPU's name");
    TRY_CU(device, device_memory(&device->memory, device->handle), "read the GPU's memory");
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
        const ant_cu_result result =
            driver->device_attribute(questions[i].value, questions[i].attribute, device->handle);
        if (result != 0)
            return ant_driver_fail(driver, result, "read what the GPU can do");
    }
    TRY_CU(device, device_attribute(&major, ANT_CU_CAPABILITY_MAJOR, device->handle),
           "read what the GPU can do");
    TRY_CU(device, device_attribute(&minor, ANT_CU_CAPABILITY_MINOR, device->handle),
           "read what the GPU can do");
    TRY_CU(device, device_attribute(&cooperative, ANT_CU_COOPERATIVE_LAUNCH, device->handle),
           "read what the GPU can do");
    device->sm = 10 * major + minor;
    device->cooperative = cooperative != 0;
    ANT_CHECK(device->sm >= 80, ANTLER_ERROR_DEVICE,
              "the GPU %s has compute capability %d.%d; Antler needs 8.0 or newer, or the CPU", device->name,
              major, minor);
    return ANTLER_OK;
}

/* Stores its failure in the device: a message belongs to the thread that makes it. */
static void *start(void *opaque)
{
    ant_cuda_device *device = opaque;
    const ant_driver *driver = device->driver;
    device->start_step = "start a context on the GPU";
    device->start_result = driver->context_retain(&device->context, device->handle);
    if (device->start_result == 0)
        device->start_result = driver->context_set(device->context);
    if (device->start_result != 0)
        return NULL;
    device->start_step = "make a stream";
    device->start_result = driver->stream_create(&device->stream, ANT_CU_STREAM_NON_BLOCKING);
    if (device->start_result != 0)
        return NULL;
    device->start_step = "make an event";
    device->start_result = driver->event_create(&device->begin, 0);
    if (device->start_result == 0)
        device->start_result = driver->event_create(&device->end, 0);
    return NULL;
}

antler_status ant_cuda_device_begin(int ordinal, ant_cuda_device **device)
{
    int count = 0;
    ANT_TRY(ant_cuda_device_count(&count));
    ANT_CHECK(ordinal >= 0 && ordinal < count, ANTLER_ERROR_DEVICE,
              "there is no GPU %d; there are %d, counted from 0", ordinal, count);
    ant_cuda_device *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return ant_fail_memory(sizeof *fresh, "a device");
    fresh->ordinal = ordinal;
    antler_status status = ant_driver_open(&fresh->driver);
    if (status == ANTLER_OK)
        status = ask(fresh);
    if (status != ANTLER_OK) {
        free(fresh);
        return status;
    }
    fresh->starting = pthread_create(&fresh->starter, NULL, start, fresh) == 0;
    if (!fresh->starting)
        start(fresh);
    *device = fresh;
    return ANTLER_OK;
}

antler_status ant_cuda_device_open(int ordinal, ant_cuda_device **device)
{
    ant_cuda_device *fresh = NULL;
    ANT_TRY(ant_cuda_device_begin(ordinal, &fresh));
    const antler_status status = ant_cuda_device_enter(fresh);
    if (status == ANTLER_OK)
        *device = fresh;
    else
        ant_cuda_device_close(fresh);
    return status;
}

void ant_cuda_device_close(ant_cuda_device *device)
{
    if (device == NULL)
        return;
    const ant_driver *driver = device->driver;
    join_starter(device);
    if (device->context != NULL && driver->context_set(device->context) == 0) {
        if (device->end != NULL)
            (void)driver->event_destroy(device->end);
        if (device->begin != NULL)
            (void)driver->event_destroy(device->begin);
        if (device->stream != NULL)
            (void)driver->stream_destroy(device->stream);
        (void)driver->context_set(NULL);
    }
    if (device->context != NULL)
        (void)driver->context_release(device->handle);
    free(device);
}

/* ---- memory -------------------------------------------------------------------------------------- */

antler_status ant_cuda_memory(ant_cuda_device *device, size_t *available, size_t *total)
{
    ANT_TRY(ant_cuda_device_enter(device));
    TRY_CU(device, memory_info(available, total), "read the free memory");
    return ANTLER_OK;
}

static antler_status fail_alloc(ant_cuda_device *device, size_t bytes, const char *purpose)
{
    size_t available = 0, total = 0;
    if (device->driver->memory_info(&available, &total) != 0)
        total = device->memory;
    return ant_fail(ANTLER_ERROR_DEVICE,
                    "the GPU %s has no room: %.4g MB for %s were requested, %.4g of %.4g MB are free; use "
                    "smaller sizes, stop other programs on it, or compute on the CPU",
                    device->name, (double)bytes / 1e6, purpose, (double)available / 1e6, (double)total / 1e6);
}

antler_status ant_cuda_alloc(ant_cuda_device *device, size_t bytes, const char *purpose,
                             ant_cuda_buffer *buffer)
{
    ant_cu_pointer address = 0;
    ANT_TRY(ant_cuda_device_enter(device));
    const ant_cu_result result = device->driver->memory_alloc(&address, bytes == 0 ? 1 : bytes);
    if (result == ANT_CU_OUT_OF_MEMORY)
        return fail_alloc(device, bytes, purpose);
    if (result != 0)
        return ant_driver_fail(device->driver, result, "get memory");
    *buffer = (ant_cuda_buffer){.address = address, .bytes = bytes};
    return ANTLER_OK;
}

void ant_cuda_free(ant_cuda_device *device, ant_cuda_buffer *buffer)
{
    if (buffer->address != 0 && device->driver->context_set(device->context) == 0)
        (void)device->driver->memory_free(buffer->address);
    *buffer = (ant_cuda_buffer){0};
}

antler_status ant_cuda_alloc_host(ant_cuda_device *device, size_t bytes, void **memory)
{
    ANT_TRY(ant_cuda_device_enter(device));
    const ant_cu_result result = device->driver->memory_alloc_host(memory, bytes == 0 ? 1 : bytes);
    if (result == ANT_CU_OUT_OF_MEMORY)
        return ant_fail_memory(bytes, "buffers between the CPU and the GPU");
    if (result != 0)
        return ant_driver_fail(device->driver, result, "get memory on the host");
    return ANTLER_OK;
}

void ant_cuda_free_host(ant_cuda_device *device, void *memory)
{
    if (memory != NULL && device->driver->context_set(device->context) == 0)
        (void)device->driver->memory_free_host(memory);
}

antler_status ant_cuda_upload_async(ant_cuda_device *device, ant_cu_pointer to, const void *from,
                                    size_t bytes)
{
    ANT_TRY(ant_cuda_device_enter(device));
    if (bytes != 0)
        TRY_CU(device, copy_to_device(to, from, bytes, device->stream), "copy to the GPU");
    return ANTLER_OK;
}

antler_status ant_cuda_download_async(ant_cuda_device *device, void *to, ant_cu_pointer from, size_t bytes)
{
    ANT_TRY(ant_cuda_device_enter(device));
    if (bytes != 0)
        TRY_CU(device, copy_to_host(to, from, bytes, device->stream), "copy from the GPU");
    return ANTLER_OK;
}

antler_status ant_cuda_upload(ant_cuda_device *device, ant_cu_pointer to, const void *from, size_t bytes)
{
    ANT_TRY(ant_cuda_upload_async(device, to, from, bytes));
    return ant_cuda_wait(device);
}

antler_status ant_cuda_download(ant_cuda_device *device, void *to, ant_cu_pointer from, size_t bytes)
{
    ANT_TRY(ant_cuda_download_async(device, to, from, bytes));
    return ant_cuda_wait(device);
}

antler_status ant_cuda_copy_async(ant_cuda_device *device, ant_cu_pointer to, ant_cu_pointer from,
                                  size_t bytes)
{
    ANT_TRY(ant_cuda_device_enter(device));
    if (bytes != 0)
        TRY_CU(device, copy_on_device(to, from, bytes, device->stream), "copy on the GPU");
    return ANTLER_OK;
}

antler_status ant_cuda_fill_async(ant_cuda_device *device, ant_cu_pointer to, unsigned char value,
                                  size_t bytes)
{
    ANT_TRY(ant_cuda_device_enter(device));
    if (bytes != 0)
        TRY_CU(device, memory_set_8(to, value, bytes, device->stream), "fill memory");
    return ANTLER_OK;
}

antler_status ant_cuda_alloc_from(ant_cuda_device *device, const void *from, size_t bytes,
                                  const char *purpose, ant_cuda_buffer *buffer)
{
    ant_cuda_buffer fresh = {0};
    ANT_TRY(ant_cuda_alloc(device, bytes, purpose, &fresh));
    const antler_status status = ant_cuda_upload(device, fresh.address, from, bytes);
    if (status == ANTLER_OK)
        *buffer = fresh;
    else
        ant_cuda_free(device, &fresh);
    return status;
}

/* ---- kernels ------------------------------------------------------------------------------------- */

ant_cuda_grid ant_cuda_grid_1d(unsigned blocks, unsigned threads)
{
    return (ant_cuda_grid){.grid = {blocks, 1, 1}, .block = {threads, 1, 1}};
}

static antler_status fail_launch(ant_cuda_device *device, const ant_cuda_kernel *kernel, ant_cu_result result)
{
    char what[128];
    snprintf(what, sizeof what, "launch %s", kernel->name);
    return ant_driver_fail(device->driver, result, what);
}

antler_status ant_cuda_launch(ant_cuda_device *device, const ant_cuda_kernel *kernel, ant_cuda_grid grid,
                              void **arguments)
{
    ant_cu_launch_attribute attributes[2] = {0};
    ant_cu_launch_config config = {.grid = {grid.grid[0], grid.grid[1], grid.grid[2]},
                                   .block = {grid.block[0], grid.block[1], grid.block[2]},
                                   .shared_bytes = (unsigned)grid.shared,
                                   .stream = device->stream,
                                   .attributes = attributes};
    if (grid.cooperative) {
        attributes[config.attribute_count].id = ANT_CU_LAUNCH_COOPERATIVE;
        attributes[config.attribute_count++].value.flag = 1;
    }
    if (grid.cluster > 1) {
        ant_cu_launch_attribute *cluster = &attributes[config.attribute_count++];
        cluster->id = ANT_CU_LAUNCH_CLUSTER;
        cluster->value.cluster[0] = grid.cluster;
        cluster->value.cluster[1] = cluster->value.cluster[2] = 1;
    }
    ANT_TRY(ant_cuda_device_enter(device));
    const ant_cu_result result = device->driver->launch(&config, kernel->function, arguments, NULL);
    return result == 0 ? ANTLER_OK : fail_launch(device, kernel, result);
}

antler_status ant_cuda_kernel_allow_shared(ant_cuda_device *device, const ant_cuda_kernel *kernel,
                                           size_t bytes)
{
    ANT_CHECK(bytes + (size_t)kernel->static_shared <= (size_t)device->shared_per_block, ANTLER_ERROR_DEVICE,
              "the GPU kernel %s needs %zu bytes of shared memory per block, and %s has %d", kernel->name,
              bytes + (size_t)kernel->static_shared, device->name, device->shared_per_block);
    ANT_TRY(ant_cuda_device_enter(device));
    TRY_CU(device, function_set(kernel->function, ANT_CU_FUNCTION_MAX_DYNAMIC_SHARED, (int)bytes),
           "reserve shared memory");
    return ANTLER_OK;
}

antler_status ant_cuda_kernel_occupancy(ant_cuda_device *device, const ant_cuda_kernel *kernel,
                                        unsigned threads, size_t shared, int *blocks)
{
    ANT_TRY(ant_cuda_device_enter(device));
    TRY_CU(device, function_blocks(blocks, kernel->function, (int)threads, shared), "find the occupancy");
    return ANTLER_OK;
}

antler_status ant_cuda_wait(ant_cuda_device *device)
{
    ANT_TRY(ant_cuda_device_enter(device));
    TRY_CU(device, stream_wait(device->stream), "finish the work on the GPU");
    return ANTLER_OK;
}

antler_status ant_cuda_timer_start(ant_cuda_device *device)
{
    ANT_TRY(ant_cuda_device_enter(device));
    TRY_CU(device, event_record(device->begin, device->stream), "read the GPU's clock");
    return ANTLER_OK;
}

antler_status ant_cuda_timer_stop(ant_cuda_device *device, double *milliseconds)
{
    float elapsed = 0.0f;
    ANT_TRY(ant_cuda_device_enter(device));
    TRY_CU(device, event_record(device->end, device->stream), "read the GPU's clock");
    TRY_CU(device, event_wait(device->end), "finish the work on the GPU");
    TRY_CU(device, event_elapsed(&elapsed, device->begin, device->end), "read the GPU's clock");
    *milliseconds = elapsed;
    return ANTLER_OK;
}

/* ---- graphs -------------------------------------------------------------------------------------- */

antler_status ant_cuda_graph_begin(ant_cuda_device *device)
{
    ANT_TRY(ant_cuda_device_enter(device));
    TRY_CU(device, capture_begin(device->stream, ANT_CU_CAPTURE_THREAD_LOCAL), "begin to record a graph");
    return ANTLER_OK;
}

antler_status ant_cuda_graph_end(ant_cuda_device *device, ant_cu_graph_exec *graph)
{
    ant_cu_graph recorded = NULL;
    ANT_TRY(ant_cuda_device_enter(device));
    TRY_CU(device, capture_end(device->stream, &recorded), "record a graph");
    const ant_cu_result result = device->driver->graph_instantiate(graph, recorded, 0);
    (void)device->driver->graph_destroy(recorded);
    return result == 0 ? ANTLER_OK : ant_driver_fail(device->driver, result, "prepare a graph");
}

antler_status ant_cuda_graph_launch(ant_cuda_device *device, ant_cu_graph_exec graph)
{
    ANT_TRY(ant_cuda_device_enter(device));
    TRY_CU(device, graph_launch(graph, device->stream), "launch a graph");
    return ANTLER_OK;
}

void ant_cuda_graph_free(ant_cuda_device *device, ant_cu_graph_exec graph)
{
    if (graph != NULL && device->driver->context_set(device->context) == 0)
        (void)device->driver->graph_exec_destroy(graph);
}
