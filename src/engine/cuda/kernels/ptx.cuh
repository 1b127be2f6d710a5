// ptx.cuh - instructions that have no name in CUDA C++ without its headers, and what differs when
// kernels are run on the CPU (tests/fake/emulate.h).
#ifndef ANT_PTX_CUH
#define ANT_PTX_CUH

// The dynamic shared memory of a launch.
#define DYNAMIC_SHARED(type, name) extern __shared__ __align__(16) type name[]

// Sixteen bytes from global to shared memory, past the registers, in the background.
static __device__ __forceinline__ void copy_async(float *to, const float *from)
{
    const unsigned shared = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from) : "memory");
}

static __device__ __forceinline__ void copy_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// Wait until only the newest group of copies may still be under way.
static __device__ __forceinline__ void copy_wait_but_one()
{
    asm volatile("cp.async.wait_group 1;" ::: "memory");
}

// 2^t to 2 units in the last place (PTX ISA); below 2^-126 it is 0.
static __device__ __forceinline__ float power_of_two(float t)
{
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(t));
    return power;
}

#endif
