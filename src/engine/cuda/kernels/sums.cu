// sums.cu - after solve.cu: the sums of the gradient over time, and the loss (spec 3), for many replicas at
// once.
//
// The steps of a replica's sequences are divided among the blocks of its team, and those of a block among its
// warps.  Blocks store partial sums, wait at the team's barrier, and add them in double and in a fixed order.
// This is a launch of its own because registers and shared memory of the passes are then free: more warps
// hide latency, and both kernels compile at the same time.
//
// Macros from the host: those of shape.cuh.
// variant: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0
// variant: -DREAL_BITS=32 -DM=10 -DN=6 -DL=128 -DK=0 -DCLIPPED=0
// variant: -DREAL_BITS=32 -DM=16 -DN=3 -DL=50 -DK=0 -DCLIPPED=0
// variant: -DREAL_BITS=32 -DM=128 -DN=3 -DL=50 -DK=0 -DCLIPPED=0
// variant: -DREAL_BITS=64 -DM=5 -DN=3 -DL=50 -DK=2 -DCLIPPED=1
// variant: -DREAL_BITS=64 -DM=16 -DN=16 -DL=128 -DK=0 -DCLIPPED=0
// variant: -DREAL_BITS=32 -DM=16 -DN=64 -DL=512 -DK=0 -DCLIPPED=0
// variant: -DREAL_BITS=64 -DM=20 -DN=128 -DL=200 -DK=0 -DCLIPPED=0
// variant: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DFORCING=1
// variant: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DFORCING=2
// variant: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DPATTERNS=1
// variant: -DREAL_BITS=64 -DM=16 -DN=16 -DL=128 -DK=0 -DCLIPPED=0 -DPATTERNS=1
#if !defined REAL_BITS || !defined M || !defined N || !defined L || !defined K || !defined CLIPPED
#error "the host gives the macros named above"
#endif
#include "sums_hidden.cuh"
#include "sums_latent.cuh"
#if MANY_VARIABLES
#include "sums_variables.cuh"
#endif

// Add the partial sums of a few blocks, in double and in fixed order: a thread has an entry.
INLINE void sum_few_blocks(const solve_args &p, int replica, int block)
{
    const real *partial = p.partial + (size_t)replica * p.sum_blocks * SUMS;
    for (int entry = block * THREADS + thread_index(); entry < SUMS; entry += p.sum_blocks * THREADS) {
        double sum = 0;
#pragma unroll 8
        for (int b = 0; b < p.sum_blocks; b++)
            sum += (double)__ldcg(partial + (size_t)b * SUMS + entry);
        p.sums[(size_t)replica * SUMS + entry] = sum;
    }
}

// The same of many: warps share the blocks, and a lane has an entry.
INLINE void sum_many_blocks(const solve_args &p, int replica, int block)
{
    double *scratch = block_memory().totals;
    const int lane = thread_index() % 32, warp = warp_index();
    const real *partial = p.partial + (size_t)replica * p.sum_blocks * SUMS;
    for (int first = 32 * block; first < SUMS; first += 32 * p.sum_blocks) {
        const int entry = first + lane;
        double sum = 0;
        if (entry < SUMS)
            for (int b = warp; b < p.sum_blocks; b += BLOCK_WARPS)
                sum += (double)__ldcg(partial + (size_t)b * SUMS + entry);
        __syncthreads();
        scratch[warp * 32 + lane] = sum;
        __syncthreads();
        if (warp == 0 && entry < SUMS) {
#pragma unroll 4
            for (int other = 1; other < BLOCK_WARPS; other++)
                sum += scratch[other * 32 + lane];
            p.sums[(size_t)replica * SUMS + entry] = sum;
        }
    }
}

// The loss, from the squares of the blocks of solve.cu; by one warp of the block with the fewest entries.
INLINE void find_loss(const solve_args &p, int replica)
{
    const int lane = thread_index() % 32;
    double squares = 0;
#pragma unroll 4
    for (int b = lane; b < p.blocks; b += 32)
        squares += p.squares[(size_t)replica * p.blocks + b];
    squares = warp_sum(squares);
    if (lane == 0)
        p.facts[FACTS * replica + FACT_LOSS] = 0.5 * loss_weight(p, replica) * squares;
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) sum_gradient(const __grid_constant__ solve_args p)
{
    const int teams = gridDim.x / p.sum_blocks, block = blockIdx.x % p.sum_blocks;
    for (int replica = blockIdx.x / p.sum_blocks; replica < p.replicas; replica += teams) {
        const real *pack = p.pack + (size_t)replica * PACK;
        real *partial = p.partial + ((size_t)replica * p.sum_blocks + block) * SUMS;
        if (thread_index() == 0)
            block_memory().phase = 0;
        if (block == p.sum_blocks - 1 && warp_index() == 0)
            find_loss(p, replica);
        sum_hidden(p, pack, replica, block, partial);
        __syncthreads();
        sum_latent(p, pack, replica, block, partial);
#if MANY_VARIABLES
        sum_variables(p, pack, replica, block, partial);
#endif
        team_barrier(p.arrived + (size_t)replica * BARRIER_WORDS + BARRIER_WORDS - 2, (unsigned)p.sum_blocks,
                     block_memory().phase); // this word is not used by border.cuh
        if (p.sum_blocks <= BLOCK_WARPS)
            sum_few_blocks(p, replica, block);
        else
            sum_many_blocks(p, replica, block);
        __syncthreads();
    }
}

// For the host: abi.h.
extern "C" __device__ const sum_variant sum_facts = {(int)sizeof(sum_shared), THREADS,
                                                     (int)sizeof(solve_args)};
