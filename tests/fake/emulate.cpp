/* emulate.cpp - the threads, barriers and exchanges of emulate.h. */
#include "emulate.h"

#include <pthread.h>
#include <vector>

thread_local emulated_dim3 threadIdx, blockIdx;
emulated_dim3 blockDim, gridDim;
const emulated_kernel *emulated_kernels;
const emulated_variable *emulated_variables;
double emulated_dynamic_shared[32768];

/* What the threads of a block share. */
struct emulated_block {
    pthread_barrier_t all, warp[32];
    unsigned char offered[2][1024][16];
    int said[1024];
    alignas(16) unsigned char bytes[232448]; /* dynamic shared memory */
};
static thread_local emulated_block *own;
static thread_local unsigned exchanges; /* of this thread */

unsigned char *emulated_bytes()
{
    return own->bytes;
}

void __syncthreads()
{
    pthread_barrier_wait(&own->all);
}

void __syncwarp()
{
    pthread_barrier_wait(&own->warp[threadIdx.x / 32]);
}

int __syncthreads_or(int yes)
{
    own->said[threadIdx.x] = yes;
    __syncthreads();
    int any = 0;
    for (unsigned t = 0; t < blockDim.x; t++)
        any |= own->said[t];
    __syncthreads();
    return any;
}

/* Offer bytes to the warp; returns what all threads of the block offer.  Halves take turns: nobody can offer
   in a half again before all of the warp have passed the exchange in between, and so have read this one. */
static const unsigned char (*offer(const void *mine, size_t bytes))[16]
{
    unsigned char(*half)[16] = own->offered[exchanges++ % 2];
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
    emulated_block *block;
    unsigned thread, first, last; /* blocks, which follow each other */
};

/* One thread runs its place in some blocks, in step with the others. */
static void *run_thread(void *cookie)
{
    const start *s = static_cast<start *>(cookie);
    own = s->block;
    threadIdx = {s->thread, 0, 0};
    for (unsigned block = s->first; block < s->last; block++) {
        blockIdx = {block % gridDim.x, block / gridDim.x, 0};
        pthread_barrier_wait(&own->all);
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

/* True when there is such a kernel and it has run.  together: all blocks at once.  Called by the fake driver. */
extern "C" bool emulate(const char *source, const char *options, const char *name, const unsigned grid[3],
                        const unsigned block[3], bool together, void **arguments)
{
    const emulated_kernel *kernel = find(source, options, name);
    const unsigned threads = block[0], warps = (threads + 31) / 32, count = grid[0] * grid[1];
    const unsigned teams = together ? count : 1;
    if (kernel == nullptr || grid[2] != 1 || block[1] * block[2] != 1 || threads > 1024)
        return false;
    gridDim = {grid[0], grid[1], grid[2]};
    blockDim = {block[0], block[1], block[2]};
    std::vector<emulated_block> blocks(teams);
    std::vector<pthread_t> ids(teams * threads);
    std::vector<start> starts(teams * threads);
    for (unsigned b = 0; b < teams; b++) {
        pthread_barrier_init(&blocks[b].all, nullptr, threads);
        for (unsigned w = 0; w < warps; w++)
            pthread_barrier_init(&blocks[b].warp[w], nullptr, std::min(32u, threads - 32 * w));
    }
    for (unsigned i = 0; i < teams * threads; i++) {
        const unsigned b = i / threads;
        starts[i] = {kernel, arguments, &blocks[b], i % threads, together ? b : 0, together ? b + 1 : count};
        if (pthread_create(&ids[i], nullptr, run_thread, &starts[i]) != 0)
            std::abort(); /* the others wait for it */
    }
    for (pthread_t id : ids)
        pthread_join(id, nullptr);
    for (emulated_block &b : blocks) {
        pthread_barrier_destroy(&b.all);
        for (unsigned w = 0; w < warps; w++)
            pthread_barrier_destroy(&b.warp[w]);
    }
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
