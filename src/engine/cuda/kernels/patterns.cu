// patterns.cu - missing values (spec 12): which variables each row of the windows lacks, how many values are
// observed, and the weights of every such pattern, for many replicas at once.
//
// One launch comes before the pass of every update.  The first p.row_blocks blocks have rows, a thread each;
// in the others a warp has a pattern.  The host lists the patterns of all data once, as bits and as a hash
// table.  Counts are integers, so their order does not matter.
//
// Macros from the host: those of shape.cuh.
// variant: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DPATTERNS=1
// variant: -DREAL_BITS=32 -DM=10 -DN=6 -DL=128 -DK=0 -DCLIPPED=0 -DPATTERNS=1
// variant: -DREAL_BITS=64 -DM=64 -DN=70 -DL=100 -DK=0 -DCLIPPED=0 -DPATTERNS=1
// spills: find_patterns (around the calls of divisions and square roots)
#include "abi.h"
#include "pattern_pinv.cuh"

#define PATTERN_WARPS   4
#define PATTERN_THREADS (32 * PATTERN_WARPS)
#define WORDS           ((N + 63) / 64) // of bits of one pattern

// Scratch of a block, in doubles: in shared memory where every GPU has enough.
#define BLOCK_WORK (PATTERN_WARPS * PATTERN_WORK)
#ifndef SHARED_MOST
#define SHARED_MOST 6000
#endif
#define WORK_SHARED (BLOCK_WORK <= SHARED_MOST)

// ---- rows -------------------------------------------------------------------------------------------------

// The pattern with these bits: ant_lacks_bucket of base/lacks.c.
INLINE unsigned find_pattern(const pattern_args &p, const unsigned long long (&lacks)[WORDS])
{
    unsigned long long hash = 0;
#pragma unroll
    for (int w = 0; w < WORDS; w++)
        hash = (hash ^ lacks[w]) * 0x9e3779b97f4a7c15ull;
    for (unsigned bucket = (unsigned)(hash >> 32);; bucket++) {
        const unsigned found = __ldg(p.table + (bucket & (unsigned)(p.buckets - 1)));
        bool same = true;
#pragma unroll
        for (int w = 0; w < WORDS && found > 0; w++)
            same = same && __ldg(p.bits + (size_t)(found - 1) * WORDS + w) == lacks[w];
        if (found == 0 || same)
            return found;
    }
}

// The pattern of one row; returns how many values it lacks.
INLINE unsigned read_row(const pattern_args &p, size_t row)
{
    unsigned long long lacks[WORDS] = {}, any = 0;
    unsigned missing = 0;
    const real *x = p.x + row * N;
#pragma unroll 4
    for (int n = 0; n < N; n++) {
        const real value = x[n];
        const bool is_nan = value != value;
        missing += is_nan;
        if (is_nan)
            lacks[n / 64] |= 1ull << n % 64;
    }
#pragma unroll
    for (int w = 0; w < WORDS; w++)
        any |= lacks[w];
    p.of_row[row] = any == 0 ? 0 : find_pattern(p, lacks);
    return missing;
}

// The rows of all replicas in turn.
INLINE void read_rows(const pattern_args &p)
{
    const size_t rows = (size_t)p.batch * (p.T + 1), tiles = (rows + PATTERN_THREADS - 1) / PATTERN_THREADS;
    for (size_t item = blockIdx.x; item < tiles * p.replicas; item += p.row_blocks) {
        const size_t replica = item / tiles, row = item % tiles * PATTERN_THREADS + threadIdx.x;
        unsigned missing = 0;
        if (row < rows) {
            missing = read_row(p, replica * rows + row);
            missing = (int)(row % (p.T + 1)) > p.warmup ? missing : 0;
        }
#pragma unroll
        for (int offset = 16; offset > 0; offset >>= 1)
            missing += __shfl_xor_sync(ALL_LANES, missing, offset);
        if (threadIdx.x % 32 == 0 && missing > 0)
            atomicAdd(p.arrived + replica * BARRIER_WORDS + MISSING_WORD, missing);
    }
}

// ---- patterns ---------------------------------------------------------------------------------------------

// B_o+ B_o and B_o+, from w.
INLINE void store_pattern(const pattern_work &w, const real *B, real *to)
{
    const int lane = threadIdx.x % 32;
    for (int i = lane; i < M * MP; i += 32) {
        const int m = i / MP, j = i % MP;
        double sum = 0;
        for (int row = 0; row < w.rows && j < M; row++)
            sum += pinv_at(w, m, row) * (double)B[w.variable[row] * MP + j];
        to[PATTERN_Q + i] = (real)sum;
    }
    for (int i = lane; i < N * MP; i += 32)
        to[PATTERN_P + i] = 0;
    __syncwarp();
    for (int i = lane; i < w.rows * M; i += 32)
        to[PATTERN_P + w.variable[i / M] * MP + i % M] = (real)pinv_at(w, i % M, i / M);
}

// Weights of pattern `number` of a replica, by one warp.
INLINE void make_pattern(const pattern_args &p, int replica, int number, double *scratch)
{
    const real *pack = p.pack + (size_t)replica * PACK;
    real *to = p.pack + (size_t)p.replicas * PACK + ((size_t)replica * p.patterns + number) * PATTERN_SIZE;
    if (number == 0) { // complete rows
        for (int i = threadIdx.x % 32; i < PATTERN_SIZE; i += 32)
            to[i] = i < PATTERN_P ? pack[PACK_Q + i] : pack[PACK_P + i - PATTERN_P];
        return;
    }
    pattern_work w = pattern_place(scratch);
    gather_rows(w, pack + PACK_B, p.bits + (size_t)(number - 1) * WORDS);
    if (w.rows > 0 && !pinv_by_inverse(w))
        pinv_by_rotations(w);
    store_pattern(w, pack + PACK_B, to);
    __syncwarp();
}

extern "C" __global__ void __launch_bounds__(PATTERN_THREADS)
    find_patterns(const __grid_constant__ pattern_args p)
{
    DYNAMIC_BYTES;
    const int block = (int)blockIdx.x - p.row_blocks, blocks = (int)gridDim.x - p.row_blocks;
    if (block < 0) {
        read_rows(p);
        return;
    }
    double *scratch =
        WORK_SHARED ? reinterpret_cast<double *>(bytes) : p.scratch + (size_t)block * BLOCK_WORK;
    scratch += threadIdx.x / 32 * PATTERN_WORK;
    const long long items = (long long)p.replicas * p.patterns;
    for (long long i = (long long)block * PATTERN_WARPS + threadIdx.x / 32; i < items;
         i += (long long)blocks * PATTERN_WARPS)
        make_pattern(p, (int)(i / p.patterns), (int)(i % p.patterns), scratch);
}

// For the host: abi.h.
extern "C" __device__ const pattern_variant pattern_facts = {
    PATTERN_THREADS, WORK_SHARED ? 8 * BLOCK_WORK : 0, PATTERN_WARPS,
    PATTERN_SIZE,    WORK_SHARED ? 0 : BLOCK_WORK,     (int)sizeof(pattern_args)};
