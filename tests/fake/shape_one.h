/* shape_one.h - one latent unit. */
#define REAL_BITS 64
#define M         1
#define N         1
#define L         3
#define K         0
#define CLIPPED   0
