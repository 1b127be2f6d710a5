// ptx.cuh - inline PTX, all of it but the barrier of grid.cuh: thread numbers, asynchronous copies, tensor
// cores, tagged words, the arrival of blocks, the team's barrier.
//
// When kernels run on the CPU, tests/fake/emulate.h replaces this file.
// alone:
#ifndef ANT_PTX_CUH
#define ANT_PTX_CUH

// The dynamic shared memory of a launch.
#define DYNAMIC_BYTES extern __shared__ __align__(16) unsigned char bytes[]

#define ALL_LANES 0xffffffffu
#define INLINE    static __device__ __forceinline__

// threadIdx.x, read anew at every call.  What depends on it is then computed where it is needed and does not
// occupy registers, which the weights need, during the whole kernel.
INLINE int thread_index()
{
    int thread;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    return thread;
}

// The number of this warp; all lanes must call it.  The shuffle tells the compiler that the value is the same
// on all lanes, so that branches on it do not diverge.
INLINE int warp_index()
{
    return __shfl_sync(ALL_LANES, thread_index() / 32, 0);
}

// Asynchronous copies from global to shared memory.  Each lane waits for its own.
template <class number> INLINE void copy_async(number *to, const number *from)
{
    const unsigned address = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(address), "l"(from), "n"(sizeof(number))
                 : "memory");
}

template <class number>
INLINE void copy_async_16(number *to, const number *from) // 16 bytes, without the first-level cache
{
    const unsigned address = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
}

INLINE void copy_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int PENDING> INLINE void copy_wait() // until at most PENDING groups of copies are pending
{
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

// 2^t to 2 units in the last place (PTX ISA); below 2^-126 it is 0.
INLINE float power_of_two(float t)
{
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(t));
    return power;
}

// C (16, 8) += A (16, 8) B (8, 8) by the tensor cores, in tf32: the last 13 bits of A and B are ignored.
// Lane 4 g + q holds of A (g, q), (g + 8, q), (g, q + 4), (g + 8, q + 4), of B (q, g), (q + 4, g), and of C
// (g, 2 q), (g, 2 q + 1), (g + 8, 2 q), (g + 8, 2 q + 1).
INLINE void multiply_tiles(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Tagged words: 32 bits of data and a 32-bit tag in one 64-bit access.  A reader polls until the tag is the
// expected one; no fence is needed, which would wait for all other writes of the sender.  In global memory,
// between blocks:
INLINE void store_tagged(unsigned long long *to, unsigned word, unsigned tag)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to), "l"((unsigned long long)tag << 32 | word)
                 : "memory");
}

INLINE unsigned long long load_tagged(const unsigned long long *from)
{
    unsigned long long value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
    return value;
}

// In shared memory, between the warps of a block.  They are atomic operations because racecheck of
// compute-sanitizer recognises these.
INLINE void store_tagged_shared(unsigned long long *to, unsigned word, unsigned tag)
{
    const unsigned address = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("{ .reg .b64 before; atom.relaxed.cta.shared.exch.b64 before, [%0], %1; }" ::"r"(address),
                 "l"((unsigned long long)tag << 32 | word)
                 : "memory");
}

INLINE unsigned long long load_tagged_shared(unsigned long long *from)
{
    const unsigned address = (unsigned)__cvta_generic_to_shared(from);
    unsigned long long value;
    asm volatile("atom.relaxed.cta.shared.cas.b64 %0, [%1], 0, 0;" : "=l"(value) : "r"(address) : "memory");
    return value;
}

// Whether this block is the last of `blocks` to arrive, on all of its threads, which must call it together.
// What the others wrote before is then visible.  The last one must set the word to zero again.
INLINE bool arrives_last(unsigned *arrived, unsigned blocks)
{
    unsigned before = 0;
    __syncthreads();
    if (thread_index() == 0)
        asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], 1;" : "=r"(before) : "l"(arrived) : "memory");
    return __syncthreads_or(thread_index() == 0 && before + 1 == blocks);
}

// A barrier over all blocks of a team.  What a block wrote before its __syncthreads becomes visible with the
// release by its first thread: after the barrier all threads of the team see all earlier writes.  `arrived`
// is zero at the start of every launch; `phase`, in shared memory, counts the barriers passed.
INLINE void team_barrier(unsigned *arrived, unsigned blocks, unsigned &phase)
{
    __syncthreads();
    if (thread_index() == 0) {
        const unsigned target = ++phase * blocks;
        unsigned seen = blocks == 1 ? target : 0;
        if (seen < target)
            asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(arrived) : "memory");
        while (seen < target)
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(arrived) : "memory");
    }
    __syncthreads();
}

#endif
