/* update.cu: a W of two factors, inputs. */
#define VARIANT   update_rich
#define REAL_BITS 64
#define M         2
#define N         3
#define L         6
#define K         1
#define CLIPPED   1
#define RANK      2
#include "run_update.h"
