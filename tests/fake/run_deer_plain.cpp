/* deer.cu: as small as it may be. */
#define VARIANT   deer_plain
#define REAL_BITS 64
#define M         3
#define N         2
#define L         8
#define K         0
#define CLIPPED   0
#define DIAGONAL  0
#include "run_deer.h"
