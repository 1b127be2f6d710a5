/* update.cu: a full W. */
#define VARIANT   update_plain
#define REAL_BITS 64
#define M         3
#define N         2
#define L         8
#define K         0
#define CLIPPED   0
#define RANK      0
#include "run_update.h"
