/* shape_rich.h - fewer latent units than variables, inputs, clipped. */
#define REAL_BITS 64
#define M         2
#define N         3
#define L         6
#define K         1
#define CLIPPED   1
