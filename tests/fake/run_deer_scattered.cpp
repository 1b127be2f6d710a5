/* deer.cu: diagonals of a model with inputs, clipped. */
#define VARIANT   deer_scattered
#define REAL_BITS 64
#define M         7
#define N         2
#define L         40
#define K         1
#define CLIPPED   1
#define DIAGONAL  1
#include "run_deer.h"
