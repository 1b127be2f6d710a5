// real.cuh - `real`, the precision of the training, and its rounding unit.
//
// Macro from the host: REAL_BITS (32 or 64).
// alone: -DREAL_BITS=32
#ifndef ANT_REAL_CUH
#define ANT_REAL_CUH

#ifndef REAL_BITS
#error "REAL_BITS is not defined"
#endif

#if REAL_BITS == 64
typedef double real;
#define EPSILON 2.220446049250313e-16
#else
typedef float real;
#define EPSILON 1.1920929e-7f
#endif

#define REGISTERS_PER_REAL (REAL_BITS / 32)

#endif
