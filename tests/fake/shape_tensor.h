/* shape_tensor.h - single precision with X by tensor cores; inputs, clipped. */
#define REAL_BITS 32
#define M         11
#define N         2
#define L         40
#define K         1
#define CLIPPED   1
