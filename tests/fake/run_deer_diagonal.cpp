/* deer.cu: with diagonals alone. */
#define VARIANT   deer_diagonal
#define REAL_BITS 64
#define M         3
#define N         2
#define L         8
#define K         0
#define CLIPPED   0
#define DIAGONAL  1
#include "run_deer.h"
