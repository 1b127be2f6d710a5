/* shape_plain.h - more latent units than variables. */
#define REAL_BITS 64
#define M         3
#define N         2
#define L         8
#define K         0
#define CLIPPED   0
