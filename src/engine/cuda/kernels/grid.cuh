// grid.cuh - a barrier over all blocks of a cooperative launch.
// alone:
#ifndef ANT_GRID_CUH
#define ANT_GRID_CUH

// `state` is one word in global memory that must be zero before its first use.  After that it serves any
// number of barriers and launches, with any number of blocks.  One barrier adds exactly 2^31 to it: the first
// block adds 2^31 - (blocks - 1) and each other block 1, so the top bit changes when the last block arrives.
// After the barrier every thread sees what any thread wrote before it.
__device__ __forceinline__ void grid_barrier(unsigned *state)
{
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) {
        const unsigned blocks = gridDim.x * gridDim.y * gridDim.z;
        const bool first = blockIdx.x == 0 && blockIdx.y == 0 && blockIdx.z == 0;
        const unsigned share = first ? 0x80000000u - (blocks - 1) : 1u;
        unsigned before, now;
        __threadfence();
        asm volatile("atom.add.release.gpu.u32 %0, [%1], %2;"
                     : "=r"(before)
                     : "l"(state), "r"(share)
                     : "memory");
        do
            asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(now) : "l"(state) : "memory");
        while (((before ^ now) & 0x80000000u) == 0);
        __threadfence();
    }
    __syncthreads();
}

#endif
