/*
 * driver.h - NVIDIA's driver, opened at run time.
 *
 * Building Antler needs nothing of CUDA: the types and functions of the driver interface that it uses are
 * declared here, and libcuda.so.1 is opened at the first use of a GPU.  All other files of this folder use
 * the table below; device.h is the interface for host code.
 *
 * ANTLER_CUDA_DRIVER names the library where the loader does not find it.
 */
#ifndef ANT_ENGINE_CUDA_DRIVER_H
#define ANT_ENGINE_CUDA_DRIVER_H

#include "base/status.h"

typedef int ant_cu_result; /* CUresult: 0 is success */
typedef int ant_cu_device;
typedef unsigned long long ant_cu_pointer; /* an address in GPU memory */
typedef struct CUctx_st *ant_cu_context;
typedef struct CUmod_st *ant_cu_module;
typedef struct CUfunc_st *ant_cu_function;
typedef struct CUstream_st *ant_cu_stream;
typedef struct CUevent_st *ant_cu_event;
typedef struct CUgraph_st *ant_cu_graph;
typedef struct CUgraphExec_st *ant_cu_graph_exec;
typedef struct CUgraphNode_st *ant_cu_graph_node;

/* Results that are handled separately. */
enum {
    ANT_CU_OUT_OF_MEMORY = 2,
    ANT_CU_STUB_LIBRARY = 34,
    ANT_CU_DEVICE_UNAVAILABLE = 46,
    ANT_CU_NO_DEVICE = 100,
    ANT_CU_NO_BINARY = 209,
    ANT_CU_NOT_FOUND = 500,
    ANT_CU_NOT_READY = 600,
    ANT_CU_LAUNCH_OUT_OF_RESOURCES = 701,
    ANT_CU_COOPERATIVE_TOO_LARGE = 720,
    ANT_CU_DRIVER_MISMATCH = 803,
};

/* CUdevice_attribute */
enum {
    ANT_CU_MAX_THREADS_PER_BLOCK = 1,
    ANT_CU_CLOCK_RATE = 13, /* kHz */
    ANT_CU_MULTIPROCESSORS = 16,
    ANT_CU_L2_BYTES = 38,
    ANT_CU_MAX_THREADS_PER_MULTIPROCESSOR = 39,
    ANT_CU_CAPABILITY_MAJOR = 75,
    ANT_CU_CAPABILITY_MINOR = 76,
    ANT_CU_SHARED_PER_MULTIPROCESSOR = 81,
    ANT_CU_COOPERATIVE_LAUNCH = 95,
    ANT_CU_SHARED_PER_BLOCK = 97, /* with opt-in */
};

/* CUfunction_attribute */
enum {
    ANT_CU_FUNCTION_MAX_THREADS = 0,
    ANT_CU_FUNCTION_SHARED_BYTES = 1,
    ANT_CU_FUNCTION_LOCAL_BYTES = 3,
    ANT_CU_FUNCTION_REGISTERS = 4,
    ANT_CU_FUNCTION_MAX_DYNAMIC_SHARED = 8,
    ANT_CU_FUNCTION_NON_PORTABLE_CLUSTER = 14,
};

enum { ANT_CU_STREAM_NON_BLOCKING = 1, ANT_CU_CAPTURE_THREAD_LOCAL = 1 };

/* CUlaunchAttribute: 8 bytes of id, 64 of value. */
enum { ANT_CU_LAUNCH_COOPERATIVE = 2, ANT_CU_LAUNCH_CLUSTER = 4, ANT_CU_LAUNCH_PROGRAMMATIC = 6 };

typedef struct ant_cu_launch_attribute {
    unsigned id, padding;
    union {
        char bytes[64];
        int flag;
        unsigned cluster[3];
    } value;
} ant_cu_launch_attribute;

/* CUlaunchConfig */
typedef struct ant_cu_launch_config {
    unsigned grid[3], block[3], shared_bytes;
    ant_cu_stream stream;
    ant_cu_launch_attribute *attributes;
    unsigned attribute_count;
} ant_cu_launch_config;

/* CUDA_KERNEL_NODE_PARAMS_v2 */
typedef struct ant_cu_kernel_node {
    ant_cu_function function;
    unsigned grid[3], block[3], shared_bytes;
    void **arguments, **extra;
    void *kernel;
    ant_cu_context context;
} ant_cu_kernel_node;

/* X(field of the table, symbol in libcuda, parameters) */
#define ANT_DRIVER_LIST(X)                                                                                   \
    X(init, cuInit, (unsigned flags))                                                                        \
    X(driver_version, cuDriverGetVersion, (int *version))                                                    \
    X(error_name, cuGetErrorName, (ant_cu_result result, const char **name))                                 \
    X(error_text, cuGetErrorString, (ant_cu_result result, const char **text))                               \
    X(device_count, cuDeviceGetCount, (int *count))                                                          \
    X(device_get, cuDeviceGet, (ant_cu_device * device, int ordinal))                                        \
    X(device_name, cuDeviceGetName, (char *name, int bytes, ant_cu_device device))                           \
    X(device_memory, cuDeviceTotalMem_v2, (size_t * bytes, ant_cu_device device))                            \
    X(device_attribute, cuDeviceGetAttribute, (int *value, int attribute, ant_cu_device device))             \
    X(context_retain, cuDevicePrimaryCtxRetain, (ant_cu_context * context, ant_cu_device device))            \
    X(context_release, cuDevicePrimaryCtxRelease_v2, (ant_cu_device device))                                 \
    X(context_set, cuCtxSetCurrent, (ant_cu_context context))                                                \
    X(memory_info, cuMemGetInfo_v2, (size_t * available, size_t * total))                                    \
    X(memory_alloc, cuMemAlloc_v2, (ant_cu_pointer * address, size_t bytes))                                 \
    X(memory_free, cuMemFree_v2, (ant_cu_pointer address))                                                   \
    X(memory_alloc_host, cuMemAllocHost_v2, (void **address, size_t bytes))                                  \
    X(memory_free_host, cuMemFreeHost, (void *address))                                                      \
    X(memory_set_8, cuMemsetD8Async,                                                                         \
      (ant_cu_pointer address, unsigned char value, size_t count, ant_cu_stream stream))                     \
    X(memory_set_32, cuMemsetD32Async,                                                                       \
      (ant_cu_pointer address, unsigned value, size_t count, ant_cu_stream stream))                          \
    X(copy_to_device, cuMemcpyHtoDAsync_v2,                                                                  \
      (ant_cu_pointer to, const void *from, size_t bytes, ant_cu_stream stream))                             \
    X(copy_to_host, cuMemcpyDtoHAsync_v2,                                                                    \
      (void *to, ant_cu_pointer from, size_t bytes, ant_cu_stream stream))                                   \
    X(copy_on_device, cuMemcpyDtoDAsync_v2,                                                                  \
      (ant_cu_pointer to, ant_cu_pointer from, size_t bytes, ant_cu_stream stream))                          \
    X(stream_create, cuStreamCreate, (ant_cu_stream * stream, unsigned flags))                               \
    X(stream_destroy, cuStreamDestroy_v2, (ant_cu_stream stream))                                            \
    X(stream_wait, cuStreamSynchronize, (ant_cu_stream stream))                                              \
    X(stream_query, cuStreamQuery, (ant_cu_stream stream))                                                   \
    X(event_create, cuEventCreate, (ant_cu_event * event, unsigned flags))                                   \
    X(event_destroy, cuEventDestroy_v2, (ant_cu_event event))                                                \
    X(event_record, cuEventRecord, (ant_cu_event event, ant_cu_stream stream))                               \
    X(event_wait, cuEventSynchronize, (ant_cu_event event))                                                  \
    X(event_query, cuEventQuery, (ant_cu_event event))                                                       \
    X(event_elapsed, cuEventElapsedTime, (float *milliseconds, ant_cu_event begin, ant_cu_event end))        \
    X(module_load, cuModuleLoadData, (ant_cu_module * module, const void *image))                            \
    X(module_unload, cuModuleUnload, (ant_cu_module module))                                                 \
    X(module_function, cuModuleGetFunction,                                                                  \
      (ant_cu_function * function, ant_cu_module module, const char *name))                                  \
    X(module_global, cuModuleGetGlobal_v2,                                                                   \
      (ant_cu_pointer * address, size_t * bytes, ant_cu_module module, const char *name))                    \
    X(function_get, cuFuncGetAttribute, (int *value, int attribute, ant_cu_function function))               \
    X(function_set, cuFuncSetAttribute, (ant_cu_function function, int attribute, int value))                \
    X(function_blocks, cuOccupancyMaxActiveBlocksPerMultiprocessor,                                          \
      (int *blocks, ant_cu_function function, int threads, size_t dynamic_shared))                           \
    X(launch, cuLaunchKernelEx,                                                                              \
      (const ant_cu_launch_config *config, ant_cu_function function, void **arguments, void **extra))        \
    X(capture_begin, cuStreamBeginCapture_v2, (ant_cu_stream stream, int mode))                              \
    X(capture_end, cuStreamEndCapture, (ant_cu_stream stream, ant_cu_graph * graph))                         \
    X(graph_create, cuGraphCreate, (ant_cu_graph * graph, unsigned flags))                                   \
    X(graph_add_kernel, cuGraphAddKernelNode_v2,                                                             \
      (ant_cu_graph_node * node, ant_cu_graph graph, const ant_cu_graph_node *after, size_t after_count,     \
       const ant_cu_kernel_node *kernel))                                                                    \
    X(graph_destroy, cuGraphDestroy, (ant_cu_graph graph))                                                   \
    X(graph_instantiate, cuGraphInstantiateWithFlags,                                                        \
      (ant_cu_graph_exec * executable, ant_cu_graph graph, unsigned long long flags))                        \
    X(graph_launch, cuGraphLaunch, (ant_cu_graph_exec executable, ant_cu_stream stream))                     \
    X(graph_exec_destroy, cuGraphExecDestroy, (ant_cu_graph_exec executable))

typedef struct ant_driver {
#define ANT_DRIVER_FIELD(field, symbol, parameters) ant_cu_result(*field) parameters;
    ANT_DRIVER_LIST(ANT_DRIVER_FIELD)
#undef ANT_DRIVER_FIELD
    int version; /* newest CUDA version that the driver supports: 12080 is 12.8 */
} ant_driver;

/*
 * Open the library, find its functions, initialise it.  Done once per process, from any thread; a failure
 * is tried again by the next call.  ANTLER_ERROR_DEVICE: no driver, too old, no GPU.
 */
antler_status ant_driver_open(const ant_driver **driver);

/* ANTLER_ERROR_DEVICE with a message for a result: what was attempted, what happened, what to do. */
antler_status ant_driver_fail(const ant_driver *driver, ant_cu_result result, const char *what);

#endif
