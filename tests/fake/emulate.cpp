/* emulate.cpp - the threads, barriers and exchanges of emulate.h. */
#include "emulate.h"

#include <pthread.h>
#include <vector>

thread_local emulated_dim3 threadIdx;
emulated_dim3 blockIdx, blockDim, gridDim;
const emulated_kernel *emulated_kernels;
const emulated_variable *emulated_variables;

/* Dynamic shared memory: the blocks of a launch follow each other. */
extern "C" {
alignas(16) unsigned char bytes[232448];
}

static pthread_barrier_t block_barrier, warp_barrier[32];
static unsigned char offered[2][1024][16];
static thread_local unsigned exchanges; /* of this thread */
double emulated_dynamic_shared[32768];

void __syncthreads()
{
    pthread_barrier_wait(&block_barrier);
}

void __syncwarp()
{
    pthread_barrier_wait(&warp_barrier[threadIdx.x / 32]);
}

int __syncthreads_or(int yes)
{
    static int said[1024];
    said[threadIdx.x] = yes;
    __syncthreads();
    int any = 0;
    for (unsigned t = 0; t < blockDim.x; t++)
        any |= said[t];
    __syncthreads();
    return any;
}

/* Offer bytes to the warp; returns what all threads of the block offer.  Halves take turns: nobody can offer
   in a half again before all of the warp have passed the exchange in between, and so have read this one. */
static const unsigned char (*offer(const void *mine, size_t bytes))[16]
{
    unsigned char(*half)[16] = offered[exchanges++ % 2];
    std::memcpy(half[threadIdx.x], mine, bytes);
    __syncwarp();
    return half;
}

void emulated_exchange(const void *mine, void *theirs, size_t bytes, unsigned from)
{
    std::memcpy(theirs, offer(mine, bytes)[threadIdx.x / 32 * 32 + from], bytes);
}

unsigned emulated_ballot(bool value)
{
    unsigned bits = 0;
    const unsigned char mine = value, (*all)[16] = offer(&mine, 1) + threadIdx.x / 32 * 32;
    for (unsigned lane = 0; lane < 32; lane++)
        bits |= (unsigned)all[lane][0] << lane;
    return bits;
}

unsigned emulated_max(unsigned value)
{
    const unsigned char(*all)[16] = offer(&value, sizeof value) + threadIdx.x / 32 * 32;
    unsigned largest = 0;
    for (unsigned lane = 0; lane < 32; lane++) {
        unsigned other;
        std::memcpy(&other, all[lane], sizeof other);
        largest = std::max(largest, other);
    }
    return largest;
}

struct start {
    const emulated_kernel *kernel;
    void **arguments;
    unsigned thread;
};

/* One thread runs its place in every block, in step with the others. */
static void *run_thread(void *cookie)
{
    const start *s = static_cast<start *>(cookie);
    threadIdx = {s->thread, 0, 0};
    for (unsigned block = 0; block < gridDim.x * gridDim.y; block++) {
        pthread_barrier_wait(&block_barrier);
        if (s->thread == 0)
            blockIdx = {block % gridDim.x, block / gridDim.x, 0};
        pthread_barrier_wait(&block_barrier);
        s->kernel->call(s->arguments);
    }
    return nullptr;
}

static const emulated_kernel *find(const char *source, const char *options, const char *name)
{
    const emulated_kernel *kernel = emulated_kernels;
    while (kernel != nullptr && (std::strcmp(kernel->source, source) != 0 ||
                                 std::strcmp(kernel->options, options) != 0 || std::strcmp(kernel->name, name) != 0))
        kernel = kernel->next;
    return kernel;
}

/* Bytes of the arguments, at most 16 of them; *count is 0 when there is no such kernel. */
extern "C" void emulated_arguments(const char *source, const char *options, const char *name, size_t sizes[16],
                                   size_t *count)
{
    const emulated_kernel *kernel = find(source, options, name);
    *count = 0;
    if (kernel != nullptr)
        kernel->sizes(sizes, count);
}

/* True when there is such a kernel and it has run.  Called by the fake driver. */
extern "C" bool emulate(const char *source, const char *options, const char *name, const unsigned grid[3],
                        const unsigned block[3], void **arguments)
{
    const emulated_kernel *kernel = find(source, options, name);
    const unsigned threads = block[0], warps = (threads + 31) / 32;
    if (kernel == nullptr || grid[2] != 1 || block[1] * block[2] != 1 || threads > 1024)
        return false;
    gridDim = {grid[0], grid[1], grid[2]};
    blockDim = {block[0], block[1], block[2]};
    pthread_barrier_init(&block_barrier, nullptr, threads);
    for (unsigned w = 0; w < warps; w++)
        pthread_barrier_init(&warp_barrier[w], nullptr, std::min(32u, threads - 32 * w));
    std::vector<pthread_t> ids(threads);
    std::vector<start> starts(threads);
    for (unsigned t = 0; t < threads; t++) {
        starts[t] = {kernel, arguments, t};
        if (pthread_create(&ids[t], nullptr, run_thread, &starts[t]) != 0)
            std::abort(); /* the others wait for it */
    }
    for (pthread_t id : ids)
        pthread_join(id, nullptr);
    pthread_barrier_destroy(&block_barrier);
    for (unsigned w = 0; w < warps; w++)
        pthread_barrier_destroy(&warp_barrier[w]);
    return true;
}

/* The address of a variable, or NULL.  Called by the fake driver. */
extern "C" const void *emulated_address(const char *source, const char *options, const char *name, size_t *size)
{
    for (const emulated_variable *v = emulated_variables; v != nullptr; v = v->next)
        if (std::strcmp(v->source, source) == 0 && std::strcmp(v->options, options) == 0 &&
            std::strcmp(v->name, name) == 0) {
            *size = v->bytes;
            return v->address;
        }
    return nullptr;
}
