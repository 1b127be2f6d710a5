/*
 * device.h - one GPU for host code: memory, copies, launches, graphs, time.
 *
 *     ant_cuda_device *device = NULL;
 *     ant_cuda_program *program = NULL;
 *     ant_cuda_kernel scale;
 *     ant_cuda_buffer x = {0};
 *     const char *const options[] = {"-DBLOCK=256"};
 *     unsigned count = 1000;
 *     float factor = 2.0f;
 *
 *     ant_cuda_device_open(0, &device);
 *     ant_cuda_program_create(device, "selftest.cu", options, 1, &program);          // program.h
 *     ant_cuda_program_kernel(program, "scale", &scale);
 *     ant_cuda_alloc(device, count * sizeof(float), "the vector", &x);
 *     ant_cuda_upload(device, x.address, host, count * sizeof(float));
 *     ant_cuda_launch(device, &scale, ant_cuda_grid_1d(4, 256), ANT_CUDA_ARGS(&x.address, &factor, &count));
 *     ant_cuda_download(device, host, x.address, count * sizeof(float));             // waits
 *     ant_cuda_free(device, &x);
 *     ant_cuda_program_free(program);
 *     ant_cuda_device_close(device);
 *
 * Work goes to the device's one stream, in order.  Launches, fills and copies named _async return at once;
 * a fault of theirs is reported by the next call that waits (download, upload, wait, timer_stop).  Every
 * failure is ANTLER_ERROR_DEVICE with one sentence.  A device may be used from any thread, by one at a time;
 * it is opened on top of the driver's primary context, so that several handles share one GPU peacefully.
 */
#ifndef ANT_ENGINE_CUDA_DEVICE_H
#define ANT_ENGINE_CUDA_DEVICE_H

#include "engine/cuda/driver.h"

#include <pthread.h>

typedef struct ant_cuda_device {
    const ant_driver *driver; /* the driver's table, for what is not below */
    int ordinal;
    ant_cu_device handle;
    ant_cu_context context;
    ant_cu_stream stream;
    ant_cu_event begin, end;        /* of the timer */
    char name[128];                 /* "NVIDIA H200" */
    int sm;                         /* 90 is compute capability 9.0 */
    int multiprocessors;            /* 132 on an H200 */
    int shared_per_block;           /* bytes that a block may use */
    int shared_per_multiprocessor;  /* bytes */
    int threads_per_multiprocessor; /* resident at most */
    int l2_bytes;                   /* of the cache */
    bool cooperative;               /* grid-wide barriers are possible */
    size_t memory;                  /* bytes in all */

    /* The start of its context. */
    pthread_t starter;
    bool starting; /* by `starter`, which writes what is below and the context, stream and events */
    ant_cu_result start_result; /* other than 0: the context failed */
    const char *start_step;     /* in this step */
} ant_cuda_device;

/* How many GPUs there are.  ANTLER_ERROR_DEVICE: no driver, or none that can be used. */
antler_status ant_cuda_device_count(int *count);

antler_status ant_cuda_device_open(int ordinal, ant_cuda_device **device);

/* The same, but the context, which takes long, starts in a thread of its own; the first call that needs it
   waits and reports a failure. */
antler_status ant_cuda_device_begin(int ordinal, ant_cuda_device **device);

/* Wait for the context and make it this thread's. */
antler_status ant_cuda_device_enter(ant_cuda_device *device);

void ant_cuda_device_close(ant_cuda_device *device); /* accepts NULL; frees no buffer */

/* Memory.  ------------------------------------------------------------------------------------------ */

typedef struct ant_cuda_buffer {
    ant_cu_pointer address; /* 0: none */
    size_t bytes;
} ant_cuda_buffer;

/* `purpose` completes "... for the purpose" in the message of a failure, which also says how much is free. */
antler_status ant_cuda_alloc(ant_cuda_device *device, size_t bytes, const char *purpose,
                             ant_cuda_buffer *buffer);
void ant_cuda_free(ant_cuda_device *device, ant_cuda_buffer *buffer); /* accepts an empty one */

/* Host memory that the GPU reaches directly: what _async copies need to be asynchronous. */
antler_status ant_cuda_alloc_host(ant_cuda_device *device, size_t bytes, void **memory);
void ant_cuda_free_host(ant_cuda_device *device, void *memory);

/* Free and total bytes. */
antler_status ant_cuda_memory(ant_cuda_device *device, size_t *available, size_t *total);

antler_status ant_cuda_upload(ant_cuda_device *device, ant_cu_pointer to, const void *from, size_t bytes);
antler_status ant_cuda_download(ant_cuda_device *device, void *to, ant_cu_pointer from, size_t bytes);
antler_status ant_cuda_upload_async(ant_cuda_device *device, ant_cu_pointer to, const void *from,
                                    size_t bytes);
antler_status ant_cuda_download_async(ant_cuda_device *device, void *to, ant_cu_pointer from, size_t bytes);
antler_status ant_cuda_copy_async(ant_cuda_device *device, ant_cu_pointer to, ant_cu_pointer from,
                                  size_t bytes);
antler_status ant_cuda_fill_async(ant_cuda_device *device, ant_cu_pointer to, unsigned char value,
                                  size_t bytes);

/* Allocate and upload in one. */
antler_status ant_cuda_alloc_from(ant_cuda_device *device, const void *from, size_t bytes,
                                  const char *purpose, ant_cuda_buffer *buffer);

/* Kernels.  ----------------------------------------------------------------------------------------- */

/* From ant_cuda_program_kernel; valid as long as its program. */
typedef struct ant_cuda_kernel {
    ant_cu_function function;
    char name[64];
    int registers, static_shared, local; /* per thread, per block, per thread (spills) */
    int max_threads;                     /* per block, given its registers */
} ant_cuda_kernel;

typedef struct ant_cuda_grid {
    unsigned grid[3], block[3];
    size_t shared; /* bytes of dynamic shared memory; above 48 kB call ant_cuda_kernel_allow_shared first */
    bool cooperative; /* all blocks are resident at once, so that barriers between them are possible */
    unsigned cluster; /* blocks per cluster along x; 0 or 1: none */
} ant_cuda_grid;

/* `blocks` blocks of `threads` threads, without shared memory or barriers between blocks. */
ant_cuda_grid ant_cuda_grid_1d(unsigned blocks, unsigned threads);

/* Pointers to the kernel's arguments, in order, each of exactly its parameter's type. */
#define ANT_CUDA_ARGS(...) ((void *[]){__VA_ARGS__})

antler_status ant_cuda_launch(ant_cuda_device *device, const ant_cuda_kernel *kernel, ant_cuda_grid grid,
                              void **arguments);

/* Let a kernel use this much dynamic shared memory. */
antler_status ant_cuda_kernel_allow_shared(ant_cuda_device *device, const ant_cuda_kernel *kernel,
                                           size_t bytes);

/* How many blocks of it fit on one multiprocessor at once; times multiprocessors: the largest cooperative
   grid. */
antler_status ant_cuda_kernel_occupancy(ant_cuda_device *device, const ant_cuda_kernel *kernel,
                                        unsigned threads, size_t shared, int *blocks);

/* Wait for all work of the stream. */
antler_status ant_cuda_wait(ant_cuda_device *device);

/* GPU time between the two calls, in milliseconds; stop waits. */
antler_status ant_cuda_timer_start(ant_cuda_device *device);
antler_status ant_cuda_timer_stop(ant_cuda_device *device, double *milliseconds);

/* Graphs.  ------------------------------------------------------------------------------------------ */

/* Launches, fills and _async copies between begin and end are recorded instead of executed; the graph can
   then be launched many times for less than one launch each.  Argument values are those at recording.  No
   function that waits may be called in between. */
antler_status ant_cuda_graph_begin(ant_cuda_device *device);
antler_status ant_cuda_graph_end(ant_cuda_device *device, ant_cu_graph_exec *graph);
antler_status ant_cuda_graph_launch(ant_cuda_device *device, ant_cu_graph_exec graph);
void ant_cuda_graph_free(ant_cuda_device *device, ant_cu_graph_exec graph); /* accepts NULL */

#endif
