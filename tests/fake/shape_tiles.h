/* shape_tiles.h - too many latent units for J in registers, two words of hidden units; inputs, clipped. */
#define REAL_BITS 64
#define M         7
#define N         2
#define L         40
#define K         1
#define CLIPPED   1
