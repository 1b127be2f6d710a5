/*
 * emulate_dynamic.h - emulate.h for kernels with dynamic shared memory, asynchronous copies and words and
 * barriers between blocks.
 */
#ifndef ANT_TESTS_EMULATE_DYNAMIC_H
#define ANT_TESTS_EMULATE_DYNAMIC_H

#include "emulate.h"

#include <thread>

unsigned char *emulated_bytes(); /* of this thread's block */
#define DYNAMIC_BYTES static thread_local unsigned char *const bytes = emulated_bytes()
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

#define copy_ahead      ptx_copy_ahead
#define copy_quad_ahead ptx_copy_quad_ahead
#define copy_commit     ptx_copy_commit
#define copy_wait       ptx_copy_wait
#define leave_word      ptx_leave_word
#define look_at_word    ptx_look_at_word
#define leave_near      ptx_leave_near
#define look_near       ptx_look_near
#define own_thread      ptx_own_thread
#define team_barrier    ptx_team_barrier
#include "../../src/engine/cuda/kernels/common.cuh"
#undef copy_ahead
#undef copy_quad_ahead
#undef copy_commit
#undef copy_wait
#undef leave_word
#undef look_at_word
#undef leave_near
#undef look_near
#undef own_thread
#undef team_barrier

template <class number> INLINE void copy_ahead(number *to, const number *from)
{
    *to = *from;
}
INLINE void copy_quad_ahead(uint4 *to, const uint4 *from)
{
    *to = *from;
}
template <int PENDING> INLINE void copy_wait() {}
INLINE void leave_word(unsigned long long *to, unsigned word, unsigned tag)
{
    __atomic_store_n(to, (unsigned long long)tag << 32 | word, __ATOMIC_RELAXED);
}
INLINE unsigned long long look_at_word(const unsigned long long *from)
{
    std::this_thread::yield();
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
    std::this_thread::yield();
}
INLINE int own_thread()
{
    return (int)threadIdx.x;
}
INLINE void team_barrier(unsigned *arrived, unsigned blocks, unsigned &phase)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned target = ++phase * blocks;
        __atomic_fetch_add(arrived, 1, __ATOMIC_RELEASE);
        while (__atomic_load_n(arrived, __ATOMIC_ACQUIRE) < target)
            std::this_thread::yield();
    }
    __syncthreads();
}

#endif
