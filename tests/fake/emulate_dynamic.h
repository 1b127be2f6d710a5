/*
 * emulate_dynamic.h - emulate.h for kernels that include common.cuh.
 */
#ifndef ANT_TESTS_EMULATE_DYNAMIC_H
#define ANT_TESTS_EMULATE_DYNAMIC_H

#include "emulate.h"

#define load2  plain_load2
#define load4  plain_load4
#define store4 plain_store4
#include "../../src/engine/cuda/kernels/common.cuh"
#undef load2
#undef load4
#undef store4

/* Number by number: the copy of a whole structure may become a call of memcpy, which ThreadSanitizer ignores
   where it is told to leave libraries alone (scripts/sanitizers.sh). */
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

#endif
