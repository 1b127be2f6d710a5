/* emulate.cpp - the threads, barriers and exchanges of emulate.h, all on one thread of the machine. */
#include "emulate.h"

#include "fibers.h"

#include <cstdlib>
#include <vector>

emulated_dim3 threadIdx, blockIdx, blockDim, gridDim;
const emulated_kernel *emulated_kernels;
const emulated_variable *emulated_variables;

/* Shared memory starts with arbitrary contents: a huge number, a count far from any valid one. */
enum { RUBBISH = 0x7f };

/* Asynchronous copies of one thread that it has not waited for; `groups` of them are committed. */
struct emulated_copies {
    struct copy {
        void *to;
        const void *from;
        unsigned bytes, group;
    };
    std::vector<copy> pending;
    unsigned groups;
};

/* What the threads of a block share. */
struct emulated_block {
    emulated_copies copies[1024];
    fiber_barrier all, warp[32];
    unsigned char offered[2][1024][16];
    int said[1024];
    alignas(16) unsigned char bytes[232448]; /* dynamic shared memory */
};
static emulated_block *own;
static unsigned exchanges; /* of this thread */

unsigned char *emulated_bytes()
{
    return own->bytes;
}

void emulated_copy(void *to, const void *from, unsigned bytes)
{
    emulated_copies &mine = own->copies[threadIdx.x];
    mine.pending.push_back({to, from, bytes, mine.groups});
}

void emulated_copy_commit()
{
    own->copies[threadIdx.x].groups++;
}

/* Copies are executed as late as allowed, so that a test finds code that reads too early. */
void emulated_copy_wait(unsigned groups)
{
    emulated_copies &mine = own->copies[threadIdx.x];
    size_t kept = 0;
    for (const emulated_copies::copy &c : mine.pending)
        if (c.group + groups < mine.groups) {
            const volatile unsigned *const from = static_cast<const unsigned *>(c.from);
            volatile unsigned *const to = static_cast<unsigned *>(c.to); /* not by memcpy, which ThreadSanitizer may ignore */
            for (unsigned i = 0; i < c.bytes / sizeof *to; i++)
                to[i] = from[i];
        } else
            mine.pending[kept++] = c;
    mine.pending.resize(kept);
}

/* Let other threads continue, and restore this one afterwards.  nullptr: without waiting for them. */
UNSEEN static void pause(fiber_barrier *barrier)
{
    const emulated_dim3 thread = threadIdx, block = blockIdx;
    emulated_block *const mine = own;
    const unsigned count = exchanges;
    if (barrier == nullptr)
        fiber_yield();
    else
        fiber_wait(barrier);
    threadIdx = thread;
    blockIdx = block;
    own = mine;
    exchanges = count;
}

void emulated_yield()
{
    pause(nullptr);
}

void __syncthreads()
{
    pause(&own->all);
}

void __syncwarp()
{
    pause(&own->warp[threadIdx.x / 32]);
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

/* What lanes exchange: mostly numbers, without a call that sanitizers would intercept. */
UNSEEN static void copy(void *to, const void *from, size_t bytes)
{
    if (bytes == 8)
        std::memcpy(to, from, 8);
    else if (bytes == 4)
        std::memcpy(to, from, 4);
    else
        std::memcpy(to, from, bytes);
}

/* Publish bytes to the warp; returns what all threads of the block publish.  Two halves take turns: a half
   is written again only after all threads of the warp have passed the exchange in between, and so have read
   it. */
UNSEEN static const unsigned char (*offer(const void *mine, size_t bytes))[16]
{
    unsigned char(*half)[16] = own->offered[exchanges++ % 2];
    copy(half[threadIdx.x], mine, bytes);
    __syncwarp();
    return half;
}

void emulated_exchange(const void *mine, void *theirs, size_t bytes, unsigned from)
{
    copy(theirs, offer(mine, bytes)[threadIdx.x / 32 * 32 + from], bytes);
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

/* A number that a lane gives to the tensor cores, without the bits that they ignore. */
static double tensor_number(const unsigned char (&offered)[16], unsigned which)
{
    unsigned bits;
    float number;
    std::memcpy(&bits, offered + sizeof bits * which, sizeof bits);
    bits &= 0xffffe000u;
    std::memcpy(&number, &bits, sizeof number);
    return number;
}

void emulated_multiply_tiles(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    const unsigned lane = threadIdx.x % 32, g = lane / 4, q = lane % 4;
    const unsigned char(*left)[16] = offer(a, sizeof a) + threadIdx.x / 32 * 32;
    const unsigned char(*right)[16] = offer(b, sizeof b) + threadIdx.x / 32 * 32;
    for (unsigned i = 0; i < 4; i++) {
        double sum = c[i];
        for (unsigned k = 0; k < 8; k++)
            sum += tensor_number(left[4 * g + k % 4], k / 4 * 2 + i / 2) * tensor_number(right[4 * (2 * q + i % 2) + k % 4], k / 4);
        c[i] = (float)sum;
    }
    __syncwarp();
}

struct start {
    const emulated_kernel *kernel;
    void **arguments;
    std::vector<emulated_block> blocks; /* that run at the same time */
};

/* One thread runs its part of one block, or of all blocks one after the other, in step with the others. */
UNSEEN static void run_thread(void *cookie, unsigned index)
{
    start *s = static_cast<start *>(cookie);
    const unsigned together = (unsigned)s->blocks.size(), first = index / blockDim.x;
    emulated_block *const mine = &s->blocks[first];
    for (unsigned block = first; block < gridDim.x * gridDim.y; block += together) {
        own = mine;
        exchanges = 0;
        threadIdx = {index % blockDim.x, 0, 0};
        own->copies[threadIdx.x] = {};
        blockIdx = {block % gridDim.x, block / gridDim.x, 0};
        __syncthreads();
        s->kernel->call(s->arguments);
    }
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
    start s = {kernel, arguments, std::vector<emulated_block>(teams)};
    for (emulated_block &b : s.blocks) {
        b.all.count = threads;
        std::memset(b.bytes, RUBBISH, sizeof b.bytes);
        for (unsigned w = 0; w < warps; w++)
            b.warp[w].count = std::min(32u, threads - 32 * w);
    }
    const char *late = std::getenv("FAKE_CUDA_LATE");
    fibers_delay(late == nullptr ? 0 : threads * (unsigned)std::atoi(late), late == nullptr || teams == 1 ? 0 : threads);
    fibers_run(teams * threads, run_thread, &s);
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
