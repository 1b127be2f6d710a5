/* shape_single.h - shape_plain.h in single precision. */
#define REAL_BITS 32
#define M         3
#define N         2
#define L         8
#define K         0
#define CLIPPED   0
