/*
 * cuda.c - a driver without a GPU: the functions of engine/cuda/driver.h on ordinary memory.
 *
 * FAKE_CUDA_MULTIPROCESSORS is their number (1), FAKE_CUDA_SHARED the bytes of shared memory that a block may
 * use, FAKE_CUDA_LATE the block of a team that continues only when all others wait for it (none).  FAKE_CUDA,
 * read at every call, chooses a failure: "none" (no GPU), "mismatch", "stub", "unnamed" (an error at the
 * start), "old" (a GPU of capability 6.1), "full" (no memory), "lost" (the first wait fails).  Kernels run on
 * the CPU where tests/fake/kernels.cmake has them for the options in question (emulate.h); launching others
 * fails.
 */
#include "engine/cuda/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* The prototypes, so that they cannot drift from the table's. */
#define DECLARE(field, symbol, parameters) EXPORT ant_cu_result symbol parameters;
ANT_DRIVER_LIST(DECLARE)
#undef DECLARE

bool emulate(const char *source, const char *options, const char *name, const unsigned grid[3],
             const unsigned block[3], bool together, void **arguments);

void emulated_arguments(const char *source, const char *options, const char *name, size_t sizes[16],
                        size_t *count);
const void *emulated_address(const char *source, const char *options, const char *name, size_t *size);

static int dummy; /* handles point here, but for those of streams and events */

/* Streams and events that have not been destroyed. */
EXPORT size_t fake_cuda_handles(void);
static _Atomic size_t handles;

size_t fake_cuda_handles(void)
{
    return handles;
}

/* What the fake compiler wrote. */
typedef struct module {
    char source[64], options[1024];
} module;

typedef struct function {
    const module *module;
    char name[64];
} function;

/* A recorded launch with copies of its arguments, and a graph of them. */
typedef struct node {
    const function *function;
    unsigned grid[3], block[3];
    bool together; /* a cooperative launch */
    void *arguments[16];
    size_t count;
} node;

typedef struct graph {
    node nodes[128];
    size_t count;
} graph;

static graph *recording; /* while a stream is captured */

enum { FUNCTIONS = 4096 };
static function functions[FUNCTIONS]; /* stay, as their handles have no owner */
static size_t function_count;

static bool mode(const char *name)
{
    const char *set = getenv("FAKE_CUDA");
    return set != NULL && strcmp(set, name) == 0;
}

ant_cu_result cuInit(unsigned flags)
{
    (void)flags;
    return mode("none") ? 100 : mode("mismatch") ? 803 : mode("stub") ? 34 : mode("unnamed") ? 999 : 0;
}

ant_cu_result cuDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

ant_cu_result cuGetErrorName(ant_cu_result result, const char **name)
{
    *name = result == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_UNKNOWN";
    return 0;
}

ant_cu_result cuGetErrorString(ant_cu_result result, const char **text)
{
    *text = result == 700 ? "an illegal memory access was encountered" : "unknown error";
    return 0;
}

ant_cu_result cuDeviceGetCount(int *count)
{
    const char *given = getenv("FAKE_CUDA_DEVICES");
    *count = mode("none") ? 0 : given == NULL ? 1 : atoi(given);
    return 0;
}

ant_cu_result cuDeviceGet(ant_cu_device *device, int ordinal)
{
    *device = ordinal;
    return 0;
}

ant_cu_result cuDeviceGetName(char *name, int bytes, ant_cu_device device)
{
    if (device == 0)
        snprintf(name, (size_t)bytes, "Imaginary GPU");
    else
        snprintf(name, (size_t)bytes, "Imaginary GPU %d", device);
    return 0;
}

ant_cu_result cuDeviceTotalMem_v2(size_t *bytes, ant_cu_device device)
{
    (void)device;
    *bytes = 8000000000u;
    return 0;
}

ant_cu_result cuDeviceGetAttribute(int *value, int attribute, ant_cu_device device)
{
    (void)device;
    switch (attribute) {
    case ANT_CU_CAPABILITY_MAJOR:
        *value = mode("old") ? 6 : 9;
        return 0;
    case ANT_CU_CAPABILITY_MINOR:
        *value = mode("old") ? 1 : 0;
        return 0;
    case ANT_CU_SHARED_PER_BLOCK:
        *value = getenv("FAKE_CUDA_SHARED") == NULL ? 232448 : atoi(getenv("FAKE_CUDA_SHARED"));
        return 0;
    case ANT_CU_MULTIPROCESSORS:
        *value = getenv("FAKE_CUDA_MULTIPROCESSORS") == NULL ? 1 : atoi(getenv("FAKE_CUDA_MULTIPROCESSORS"));
        return 0;
    default:
        *value = 1;
        return 0;
    }
}

ant_cu_result cuDevicePrimaryCtxRetain(ant_cu_context *context, ant_cu_device device)
{
    (void)device;
    if (mode("held"))
        return ANT_CU_DEVICE_UNAVAILABLE;
    *context = (ant_cu_context)(void *)&dummy;
    return 0;
}

ant_cu_result cuDevicePrimaryCtxRelease_v2(ant_cu_device device)
{
    (void)device;
    return 0;
}

ant_cu_result cuCtxSetCurrent(ant_cu_context context)
{
    (void)context;
    return 0;
}

ant_cu_result cuMemGetInfo_v2(size_t *available, size_t *total)
{
    *available = 1000000;
    *total = 8000000000u;
    return 0;
}

ant_cu_result cuMemAlloc_v2(ant_cu_pointer *address, size_t bytes)
{
    void *memory = mode("full") ? NULL : malloc(bytes);
    *address = (ant_cu_pointer)(uintptr_t)memory;
    if (memory != NULL)
        memset(memory, 0x7f, bytes); /* arbitrary contents */
    return memory == NULL ? 2 : 0;
}

ant_cu_result cuMemFree_v2(ant_cu_pointer address)
{
    free((void *)(uintptr_t)address);
    return 0;
}

ant_cu_result cuMemAllocHost_v2(void **address, size_t bytes)
{
    *address = mode("full") ? NULL : malloc(bytes);
    return *address == NULL ? 2 : 0;
}

ant_cu_result cuMemFreeHost(void *address)
{
    free(address);
    return 0;
}

ant_cu_result cuMemsetD8Async(ant_cu_pointer address, unsigned char value, size_t count, ant_cu_stream stream)
{
    (void)stream;
    memset((void *)(uintptr_t)address, value, count);
    return 0;
}

ant_cu_result cuMemsetD32Async(ant_cu_pointer address, unsigned value, size_t count, ant_cu_stream stream)
{
    (void)stream;
    for (size_t i = 0; i < count; i++)
        ((unsigned *)(uintptr_t)address)[i] = value;
    return 0;
}

ant_cu_result cuMemcpyHtoDAsync_v2(ant_cu_pointer to, const void *from, size_t bytes, ant_cu_stream stream)
{
    (void)stream;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return 0;
}

ant_cu_result cuMemcpyDtoHAsync_v2(void *to, ant_cu_pointer from, size_t bytes, ant_cu_stream stream)
{
    (void)stream;
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return 0;
}

ant_cu_result cuMemcpyDtoDAsync_v2(ant_cu_pointer to, ant_cu_pointer from, size_t bytes, ant_cu_stream stream)
{
    (void)stream;
    memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    return 0;
}

ant_cu_result cuStreamCreate(ant_cu_stream *stream, unsigned flags)
{
    (void)flags;
    *stream = malloc(1);
    handles++;
    return 0;
}

ant_cu_result cuStreamDestroy_v2(ant_cu_stream stream)
{
    free((void *)stream);
    handles--;
    return 0;
}

ant_cu_result cuStreamSynchronize(ant_cu_stream stream)
{
    (void)stream;
    return mode("lost") ? 700 : 0;
}

ant_cu_result cuStreamQuery(ant_cu_stream stream)
{
    (void)stream;
    return 0;
}

ant_cu_result cuEventCreate(ant_cu_event *event, unsigned flags)
{
    (void)flags;
    *event = malloc(1);
    handles++;
    return 0;
}

ant_cu_result cuEventDestroy_v2(ant_cu_event event)
{
    free((void *)event);
    handles--;
    return 0;
}

ant_cu_result cuEventRecord(ant_cu_event event, ant_cu_stream stream)
{
    (void)event;
    (void)stream;
    return 0;
}

ant_cu_result cuEventSynchronize(ant_cu_event event)
{
    (void)event;
    return mode("lost") ? 700 : 0;
}

ant_cu_result cuEventQuery(ant_cu_event event)
{
    (void)event;
    return 0;
}

ant_cu_result cuEventElapsedTime(float *milliseconds, ant_cu_event begin, ant_cu_event end)
{
    (void)begin;
    (void)end;
    *milliseconds = 1.5f;
    return 0;
}

ant_cu_result cuModuleLoadData(ant_cu_module *loaded, const void *image)
{
    module *made = calloc(1, sizeof *made);
    *loaded = (ant_cu_module)(void *)made;
    return made != NULL &&
                   sscanf(image, "fake cubin %63s %*s %*s %1023[^\n]", made->source, made->options) >= 1
               ? 0
               : 200;
}

ant_cu_result cuModuleUnload(ant_cu_module old)
{
    free((void *)old);
    return 0;
}

ant_cu_result cuModuleGetFunction(ant_cu_function *found, ant_cu_module from, const char *name)
{
    if (strcmp(name, "absent") == 0 || function_count == FUNCTIONS)
        return 500;
    function *made = &functions[function_count++];
    made->module = (const module *)(void *)from;
    snprintf(made->name, sizeof made->name, "%s", name);
    *found = (ant_cu_function)(void *)made;
    return 0;
}

ant_cu_result cuModuleGetGlobal_v2(ant_cu_pointer *address, size_t *bytes, ant_cu_module from,
                                   const char *name)
{
    const module *m = (const module *)(void *)from;
    const void *emulated = emulated_address(m->source, m->options, name, bytes);
    if (emulated == NULL)
        *bytes = sizeof dummy;
    *address = (ant_cu_pointer)(uintptr_t)(emulated == NULL ? &dummy : emulated);
    return strcmp(name, "absent") == 0 ? 500 : 0;
}

ant_cu_result cuFuncGetAttribute(int *value, int attribute, ant_cu_function f)
{
    (void)f;
    *value = attribute == ANT_CU_FUNCTION_REGISTERS ? 32 : 0;
    return 0;
}

ant_cu_result cuFuncSetAttribute(ant_cu_function f, int attribute, int value)
{
    (void)f;
    (void)attribute;
    (void)value;
    return 0;
}

ant_cu_result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, ant_cu_function f, int threads,
                                                          size_t dynamic_shared)
{
    (void)f;
    (void)dynamic_shared;
    *blocks = 2048 / threads;
    return 0;
}

static void record(const ant_cu_launch_config *config, const function *f, void **arguments)
{
    size_t sizes[16];
    node *n = &recording->nodes[recording->count++];
    n->function = f;
    memcpy(n->grid, config->grid, sizeof n->grid);
    memcpy(n->block, config->block, sizeof n->block);
    n->together = config->attribute_count > 0;
    emulated_arguments(f->module->source, f->module->options, f->name, sizes, &n->count);
    for (size_t i = 0; i < n->count; i++)
        n->arguments[i] = memcpy(malloc(sizes[i]), arguments[i], sizes[i]);
}

ant_cu_result cuLaunchKernelEx(const ant_cu_launch_config *config, ant_cu_function launched, void **arguments,
                               void **extra)
{
    const function *f = (const function *)(void *)launched;
    (void)extra;
    if (config->block[0] > 1024)
        return 1;
    if (recording != NULL) {
        record(config, f, arguments);
        return 0;
    }
    const bool ran = emulate(f->module->source, f->module->options, f->name, config->grid, config->block,
                             config->attribute_count > 0, arguments);
    return ran ? 0 : 801;
}

ant_cu_result cuStreamBeginCapture_v2(ant_cu_stream stream, int capture_mode)
{
    (void)stream;
    (void)capture_mode;
    recording = calloc(1, sizeof *recording);
    return recording == NULL ? 2 : 0;
}

ant_cu_result cuStreamEndCapture(ant_cu_stream stream, ant_cu_graph *recorded)
{
    (void)stream;
    *recorded = (ant_cu_graph)(void *)recording;
    recording = NULL;
    return 0;
}

ant_cu_result cuGraphCreate(ant_cu_graph *made, unsigned flags)
{
    (void)flags;
    *made = (ant_cu_graph)calloc(1, sizeof(graph));
    return 0;
}

ant_cu_result cuGraphAddKernelNode_v2(ant_cu_graph_node *added, ant_cu_graph to,
                                      const ant_cu_graph_node *after, size_t after_count,
                                      const ant_cu_kernel_node *kernel)
{
    (void)to;
    (void)after;
    (void)after_count;
    (void)kernel;
    *added = (ant_cu_graph_node)(void *)&dummy;
    return 0;
}

/* The executable keeps the nodes, so that a graph can be destroyed at once. */
ant_cu_result cuGraphInstantiateWithFlags(ant_cu_graph_exec *executable, ant_cu_graph from,
                                          unsigned long long flags)
{
    (void)flags;
    graph *made = malloc(sizeof *made);
    *executable = (ant_cu_graph_exec)(void *)made;
    if (made == NULL)
        return 2;
    memcpy(made, (const void *)from, sizeof *made);
    return 0;
}

ant_cu_result cuGraphDestroy(ant_cu_graph old)
{
    free((void *)old);
    return 0;
}

ant_cu_result cuGraphLaunch(ant_cu_graph_exec executable, ant_cu_stream stream)
{
    graph *g = (graph *)(void *)executable;
    (void)stream;
    for (size_t i = 0; i < g->count; i++) {
        node *n = &g->nodes[i];
        const module *m = n->function->module;
        (void)emulate(m->source, m->options, n->function->name, n->grid, n->block, n->together, n->arguments);
    }
    return 0;
}

ant_cu_result cuGraphExecDestroy(ant_cu_graph_exec executable)
{
    graph *g = (graph *)(void *)executable;
    for (size_t i = 0; i < g->count; i++) {
        for (size_t k = 0; k < g->nodes[i].count; k++)
            free(g->nodes[i].arguments[k]);
    }
    free(g);
    return 0;
}
