/* shape_large.h - large tiles of J, hidden units that are kept for the sums, small sums in groups. */
#define REAL_BITS 64
#define M         21
#define N         9
#define L         70
#define K         0
#define CLIPPED   0
