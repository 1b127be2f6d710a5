/* solve.cu: in stretches, X by tensor cores; inputs, clipped. */
#define VARIANT   solve_tensor
#define REAL_BITS 32
#define M         11
#define N         2
#define L         40
#define K         1
#define CLIPPED   1
#define WARPS     8
#define NEWTON    1
#define CHUNKED   1
#include "run_solve.h"
