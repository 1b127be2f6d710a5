/*
 * emulate_dynamic.h - emulate.h for kernels with dynamic shared memory, asynchronous copies and words and
 * barriers between blocks.
 */
#ifndef ANT_TESTS_EMULATE_DYNAMIC_H
#define ANT_TESTS_EMULATE_DYNAMIC_H

#include "emulate.h"

unsigned char *emulated_bytes(); /* of the block of the thread that runs */
#define DYNAMIC_BYTES unsigned char *const bytes = emulated_bytes()
#define asm
#define volatile(...) ((void)0)

static inline size_t __cvta_generic_to_shared(const void *)
{
    return 0;
}
struct alignas(8) uint2 {
    unsigned x, y;
};
static inline uint2 make_uint2(unsigned x, unsigned y)
{
    return {x, y};
}
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)
{
    return {x, y, z, w};
}

#define load2           plain_load2
#define load4           plain_load4
#define store4          plain_store4
#define copy_ahead      ptx_copy_ahead
#define copy_quad_ahead ptx_copy_quad_ahead
#define copy_commit     ptx_copy_commit
#define copy_wait       ptx_copy_wait
#define leave_word      ptx_leave_word
#define look_at_word    ptx_look_at_word
#define leave_near      ptx_leave_near
#define look_near       ptx_look_near
#define own_thread      ptx_own_thread
#define own_warp        ptx_own_warp
#define team_barrier    ptx_team_barrier
#define multiply_tiles  ptx_multiply_tiles
#include "../../src/engine/cuda/kernels/common.cuh"
#undef load2
#undef load4
#undef store4
#undef copy_ahead
#undef copy_quad_ahead
#undef copy_commit
#undef copy_wait
#undef leave_word
#undef look_at_word
#undef leave_near
#undef look_near
#undef own_thread
#undef own_warp
#undef team_barrier
#undef multiply_tiles

/* Number by number: the copy of a whole structure may become a call of memcpy, at which ThreadSanitizer does
   not look where it was told to leave alone what comes from libraries (scripts/sanitizers.sh). */
INLINE real2 load2(const real *from)
{
    return {{from[0], from[1]}};
}
INLINE real4 load4(const real *from)
{
    return {{from[0], from[1], from[2], from[3]}};
}
INLINE void store4(real *to, const real4 &value)
{
    for (int k = 0; k < 4; k++)
        to[k] = value.a[k];
}

template <class number> INLINE void copy_ahead(number *to, const number *from)
{
    emulated_copy(to, from, sizeof *to);
}
INLINE void copy_quad_ahead(uint4 *to, const uint4 *from)
{
    emulated_copy(to, from, sizeof *to);
}
template <int PENDING> INLINE void copy_wait()
{
    emulated_copy_wait(PENDING);
}
INLINE void leave_word(unsigned long long *to, unsigned word, unsigned tag)
{
    __atomic_store_n(to, (unsigned long long)tag << 32 | word, __ATOMIC_RELAXED);
}
INLINE unsigned long long look_at_word(const unsigned long long *from)
{
    emulated_yield();
    return __atomic_load_n(from, __ATOMIC_RELAXED);
}
INLINE void leave_near(unsigned long long *to, unsigned word, unsigned tag)
{
    leave_word(to, word, tag);
}
INLINE unsigned long long look_near(unsigned long long *from)
{
    return look_at_word(from);
}
static inline void __nanosleep(unsigned)
{
    emulated_yield();
}
INLINE int own_thread()
{
    return (int)threadIdx.x;
}
INLINE int own_warp()
{
    return __shfl_sync(ALL_LANES, own_thread() / 32, 0); /* hangs unless all lanes ask */
}
INLINE void team_barrier(unsigned *arrived, unsigned blocks, unsigned &phase)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned target = ++phase * blocks;
        __atomic_fetch_add(arrived, 1, __ATOMIC_RELEASE);
        while (__atomic_load_n(arrived, __ATOMIC_ACQUIRE) < target)
            emulated_yield();
    }
    __syncthreads();
}

INLINE void multiply_tiles(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    emulated_multiply_tiles(c, a, b);
}

#endif
