/*
 * lane_quads_simd_tmpl.c - the lane kernels with a quarter of the lanes of AVX-512 and four rows of a product
 * in a vector.
 */
#if defined(ANT_SIMD_AVX512)
#define ANT_LANE_ROWS 4
#include "solve/lane_backward.h"

const ANT_FN(ant_kernels) ANT_LEVEL(ant_lane_quads);
const ANT_FN(ant_kernels) ANT_LEVEL(ant_lane_quads) = {
    .name = "lane quads " ANT_LEVEL_TEXT,
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
#else
typedef int ant_lane_quads_none; /* what a file without anything else declares */
#endif
