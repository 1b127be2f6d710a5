/* shape_wide.h - more latent units than a warp has lanes. */
#define REAL_BITS 64
#define M         33
#define N         2
#define L         8
#define K         0
#define CLIPPED   0
