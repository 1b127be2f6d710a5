/*
 * lane_simd_tmpl.c - kernels in which every SIMD lane is a segment of its own.
 *
 * All products are a matrix times a column of vectors, without horizontal sums.  A weight is read once as a
 * broadcast and used by all lanes.  Backward, the hidden activity is computed again from z~, a tile of steps
 * at a time, which is cheaper than storing T x L numbers.  The rank-1 updates of the parameter gradients are
 * collected over the tile and then computed as matrix products in registers, with one partial sum per lane.
 */
#include "solve/lane_backward.h"

const ANT_FN(ant_kernels) ANT_LEVEL(ant_lane);
const ANT_FN(ant_kernels) ANT_LEVEL(ant_lane) = {
    .name = "lane " ANT_LEVEL_TEXT,
    .lanes = LANES,
    .rows = ROWS,
    .packed_count = lane_packed_count,
    .pack = lane_pack,
    .scratch_count = lane_scratch_count,
    .slot_count = lane_slot_count,
    .forward = lane_forward,
    .backward = lane_backward,
    .square = lane_square,
};
