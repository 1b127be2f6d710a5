/* shape_square.h - as many latent units as variables. */
#define REAL_BITS 64
#define M         3
#define N         3
#define L         8
#define K         0
#define CLIPPED   0
