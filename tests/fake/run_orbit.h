/*
 * run_orbit.h - the kernel of orbit.cu or, with MAMBA2, of mamba2_orbit.cu in one variant: VARIANT names it,
 * and the macros of the host are set.  COUNT 0 is for orbits.
 */
#define REAL_BITS 64
#include "emulate_dynamic.h"

#define JOIN_NAMES(a, b) a##_##b
#define NAME_OF(a, b)    JOIN_NAMES(a, b)
#define TEXT_OF(...)     #__VA_ARGS__
#define VALUE_OF(macro)  TEXT_OF(macro)
#define orbits           NAME_OF(orbits, VARIANT)
#define tangents         NAME_OF(tangents, VARIANT)
#define orbit_facts      NAME_OF(facts, VARIANT)

#define COMMON_OPTIONS                                                                                       \
    "-DM=" VALUE_OF(M) " -DN=" VALUE_OF(N) " -DL=" VALUE_OF(L) " -DK=" VALUE_OF(K) " -DTHREADS=" VALUE_OF(   \
        THREADS) " -DCOUNT=" VALUE_OF(COUNT)

#ifdef MAMBA2
namespace
{ /* inline functions of several variants have the same names */
#include "../../src/engine/cuda/kernels/mamba2_orbit.cu"
}
#define SOURCE  "mamba2_orbit.cu"
#define OPTIONS COMMON_OPTIONS
#else
namespace
{ /* inline functions of several variants have the same names */
#include "../../src/engine/cuda/kernels/orbit.cu"
}
#define SOURCE "orbit.cu"
#define OPTIONS                                                                                              \
    COMMON_OPTIONS " -DCLIPPED=" VALUE_OF(CLIPPED) " -DDRIVEN=" VALUE_OF(DRIVEN) " -DPARTS=" VALUE_OF(PARTS)
#endif

#if COUNT == 0
EMULATE(SOURCE, OPTIONS, orbits, "orbits")
#else
EMULATE(SOURCE, OPTIONS, tangents, "tangents")
#endif
EMULATE_VARIABLE(SOURCE, OPTIONS, orbit_facts, "orbit_facts")
