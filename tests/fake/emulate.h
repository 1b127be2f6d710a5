/*
 * emulate.h - runs CUDA kernels on the CPU, a fiber for each of their threads: slow, but enough to test them
 * without a GPU.
 *
 * kernels.cmake lists the kernels with their macros; a header run_*.h includes this and then the .cu, and
 * names its kernels.  The fake driver finds them by the source and the options of the "machine code" of the
 * fake compiler.  Blocks run one after the other, those of a cooperative launch at the same time, as the
 * threads of a block do: ThreadSanitizer sees their races.
 */
#ifndef ANT_TESTS_EMULATE_H
#define ANT_TESTS_EMULATE_H

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <math.h>
#include <tuple>
#include <utility>

#define __global__
#define __device__
#define __forceinline__ inline
#ifndef __clang__
#define __builtin_assume(fact) ((void)0)
#endif
#define __launch_bounds__(...)
#define __shared__   static
#define __constant__ static
#define __align__(n) __attribute__((aligned(n)))

struct emulated_dim3 {
    unsigned x, y, z;
};
struct alignas(16) float4 {
    float x, y, z, w;
};

extern emulated_dim3 threadIdx, blockIdx, blockDim, gridDim;

/* Let other threads continue; called in every loop that polls. */
void emulated_yield();

/* Wait for all threads of the block, or of the warp. */
void __syncthreads();
void __syncwarp();

/* Wait for all threads of the block; returns whether any argument was true. */
int __syncthreads_or(int yes);

/* The bytes of lane `from` of this warp.  At most 16 bytes. */
void emulated_exchange(const void *mine, void *theirs, size_t bytes, unsigned from);

template <class T> T __shfl_xor_sync(unsigned, T value, int mask, int = 32)
{
    T other;
    emulated_exchange(&value, &other, sizeof value, threadIdx.x % 32 ^ (unsigned)mask);
    return other;
}

template <class T> T __shfl_sync(unsigned, T value, int lane, int width = 32)
{
    T other;
    const unsigned group = threadIdx.x % 32 / (unsigned)width * (unsigned)width;
    emulated_exchange(&value, &other, sizeof value, group + (unsigned)lane % (unsigned)width);
    return other;
}

static inline long long __double_as_longlong(double value)
{
    long long bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double __longlong_as_double(long long bits)
{
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

template <class T> T __ldg(const T *from)
{
    return *from;
}

/* For kernels with warps that exchange data, atomics and random numbers. */
#define __noinline__ __attribute__((noinline))
#define __grid_constant__
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
static inline uint2 make_uint2(unsigned x, unsigned y)
{
    return {x, y};
}
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)
{
    return {x, y, z, w};
}
unsigned emulated_max(unsigned value); /* over the warp */
unsigned emulated_ballot(bool value);

static inline unsigned __reduce_max_sync(unsigned, unsigned value)
{
    return emulated_max(value);
}
static inline unsigned __ballot_sync(unsigned, bool value)
{
    return emulated_ballot(value);
}
static inline bool __any_sync(unsigned, bool value)
{
    return emulated_ballot(value) != 0;
}
static inline unsigned __float_as_uint(float value)
{
    unsigned bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}
static inline float __uint_as_float(unsigned bits)
{
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
static inline float __double2float_ru(double value)
{
    const float near = (float)value;
    return (double)near < value ? std::nextafter(near, INFINITY) : near;
}
static inline float __fdividef(float a, float b)
{
    return a / b;
}
static inline int __ffs(unsigned bits)
{
    return __builtin_ffs((int)bits);
}
static inline unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)((unsigned long long)a * b >> 32);
}
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    __extension__ typedef unsigned __int128 wide;
    return (unsigned long long)((wide)a * b >> 64);
}
static inline void sincospi(double x, double *sine, double *cosine)
{
    *sine = std::sin(3.14159265358979323846 * x);
    *cosine = std::cos(3.14159265358979323846 * x);
}
static inline double cospi(double x)
{
    return std::cos(3.14159265358979323846 * x);
}
template <class T> T __ldcg(const T *from)
{
    return *from;
}
template <class T> void __stcg(T *to, T value)
{
    *to = value;
}
template <class T> void atomicAdd(T *to, T value)
{
    __atomic_fetch_add(to, value, __ATOMIC_RELAXED);
}
template <class T> void atomicMax(T *to, T value)
{
    T seen = __atomic_load_n(to, __ATOMIC_RELAXED);
    while (seen < value &&
           !__atomic_compare_exchange_n(to, &seen, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}
template <class T> void atomicMin(T *to, T value)
{
    T seen = __atomic_load_n(to, __ATOMIC_RELAXED);
    while (seen > value &&
           !__atomic_compare_exchange_n(to, &seen, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

using std::max;
using std::min;

/* In place of ptx.cuh. */
#define ANT_PTX_CUH
#define ALL_LANES     0xffffffffu
#define INLINE        static __device__ __forceinline__
#define DYNAMIC_BYTES unsigned char *const bytes = emulated_bytes()

unsigned char *emulated_bytes(); /* dynamic shared memory of the present thread's block */
void emulated_copy(void *to, const void *from, unsigned bytes);
void emulated_copy_commit();
void emulated_copy_wait(unsigned groups); /* until at most so many groups of copies are pending */
void emulated_multiply_tiles(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]);

template <class number> INLINE void copy_async(number *to, const number *from)
{
    emulated_copy(to, from, sizeof *to);
}
template <class number> INLINE void copy_async_16(number *to, const number *from)
{
    emulated_copy(to, from, 16);
}
INLINE void copy_commit()
{
    emulated_copy_commit();
}
template <int PENDING> INLINE void copy_wait()
{
    emulated_copy_wait(PENDING);
}
INLINE float power_of_two(float t)
{
    const float power = exp2f(t);
    return power < 0x1p-126f ? 0.0f : power;
}
INLINE void multiply_tiles(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    emulated_multiply_tiles(c, a, b);
}
INLINE void store_tagged(unsigned long long *to, unsigned word, unsigned tag)
{
    __atomic_store_n(to, (unsigned long long)tag << 32 | word, __ATOMIC_RELAXED);
}
INLINE unsigned long long load_tagged(const unsigned long long *from)
{
    emulated_yield();
    return __atomic_load_n(from, __ATOMIC_RELAXED);
}
INLINE void store_tagged_shared(unsigned long long *to, unsigned word, unsigned tag)
{
    store_tagged(to, word, tag);
}
INLINE unsigned long long load_tagged_shared(unsigned long long *from)
{
    return load_tagged(from);
}
static inline void __nanosleep(unsigned)
{
    emulated_yield();
}
INLINE int thread_index()
{
    return (int)threadIdx.x;
}
INLINE int warp_index()
{
    return __shfl_sync(ALL_LANES, thread_index() / 32, 0); /* hangs unless all lanes call it */
}
INLINE bool arrives_last(unsigned *arrived, unsigned blocks)
{
    unsigned before = 0;
    __syncthreads();
    if (threadIdx.x == 0)
        before = __atomic_fetch_add(arrived, 1u, __ATOMIC_ACQ_REL);
    return __syncthreads_or(threadIdx.x == 0 && before + 1 == blocks) != 0;
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

/* A kernel that can be launched: `source` and `options` as the fake compiler writes them. */
struct emulated_kernel {
    const char *source, *options, *name;
    void (*call)(void **arguments);
    void (*sizes)(size_t *sizes, size_t *count); /* of the arguments */
    const emulated_kernel *next;
};
extern const emulated_kernel *emulated_kernels;

/* A variable of a source that the host reads. */
struct emulated_variable {
    const char *source, *options, *name;
    const void *address;
    size_t bytes;
    const emulated_variable *next;
};
extern const emulated_variable *emulated_variables;

struct emulated_variable_registration {
    emulated_variable variable;
    emulated_variable_registration(const char *source, const char *options, const char *name,
                                   const void *address, size_t bytes)
        : variable{source, options, name, address, bytes, emulated_variables}
    {
        emulated_variables = &variable;
    }
};

struct emulated_registration {
    emulated_kernel kernel;
    emulated_registration(const char *source, const char *options, const char *name, void (*call)(void **),
                          void (*sizes)(size_t *, size_t *))
        : kernel{source, options, name, call, sizes, emulated_kernels}
    {
        emulated_kernels = &kernel;
    }
};

template <class... A, size_t... I>
void emulated_call(void (*kernel)(A...), void **arguments, std::index_sequence<I...>)
{
    kernel(*static_cast<A *>(arguments[I])...);
}

template <class... A> void emulated_call(void (*kernel)(A...), void **arguments)
{
    emulated_call(kernel, arguments, std::index_sequence_for<A...>());
}

template <class... A> void emulated_sizes(void (*)(A...), size_t *sizes, size_t *count)
{
    const size_t all[] = {sizeof(A)...};
    *count = sizeof...(A);
    std::memcpy(sizes, all, sizeof all);
}

/* EMULATE("mixture.cu", "-DD=3", near_sums, "near_sums") */
#define EMULATE(source, options, kernel, name)                                                               \
    static emulated_registration registered_##kernel(                                                        \
        source, options, name, [](void **arguments) { emulated_call(kernel, arguments); },                   \
        [](size_t *sizes, size_t *count) { emulated_sizes(kernel, sizes, count); });

#define EMULATE_VARIABLE(source, options, variable, name)                                                    \
    static emulated_variable_registration registered_##variable(source, options, name, &variable,            \
                                                                sizeof variable);

#endif
