// tangent_shape.cuh - which implementation of tangents a shPLRNN uses, and the sizes that all of them share.
// alone: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=1 -DSEGMENTED=1 -DSHARED_LIMIT=232448
#ifndef ANT_TANGENT_SHAPE_CUH
#define ANT_TANGENT_SHAPE_CUH

#include "products.cuh"

// From row to row of a matrix in shared memory; quads of different rows lie in different banks.
#define MS (MP % 8 == 0 ? MP + 4 : MP)

// Three implementations.  Each has struct tangent, tangent_begin, _fill, _switch, _advance, _end, and
// tangent_save and _restore, which store J in START_J numbers; with PATTERNS also tangent_project.
//
// tangent_whole.cuh: all of J in the registers of every lane.
#define WHOLE_J (M <= 16 && M * M * REGISTERS_PER_REAL <= 64)
// tangent_tensor.cuh: by tensor cores, one tangent warp per segment, where the registers of the step warps
// allow that many warps; not on sm_80, where registers spill.
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ < 900
#define TENSOR 0
#else
#define TENSOR (REAL_BITS == 32 && !WHOLE_J && M <= 16 && 2 * UNITS * M <= 64 && N <= 8)
#endif
// tangent_tiles.cuh: in tiles, one per lane.
#define TILES (!WHOLE_J && !TENSOR)

#define TANGENT_SEGMENTS (TENSOR ? 1 : 2) // per tangent warp, a group of lanes for each
#define TANGENT_LANES    (32 / TANGENT_SEGMENTS)

// One product or switch of a large tile is enough work for a warp, and inlining several takes long to
// compile.
#define LARGE_TILES (M > 16)
// Words that say which hidden units are on: all of them in every lane; with large tiles word k is in lane k
// of the group, and words beyond its lanes follow in a second set.
#define MASKS_HELD (LARGE_TILES ? (MASKS + TANGENT_LANES - 1) / TANGENT_LANES : MASKS)

#endif
