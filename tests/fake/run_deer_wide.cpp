/* deer.cu: columns that several lanes share, chunks that a whole block works on. */
#define VARIANT   deer_wide
#define REAL_BITS 64
#define M         33
#define N         2
#define L         8
#define K         0
#define CLIPPED   0
#define DIAGONAL  0
#include "run_deer.h"
