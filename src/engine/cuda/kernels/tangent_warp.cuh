// tangent_warp.cuh - the tangent warps: they carry X = dz_end / dz_start of the step warps' segments, and
// read the masks of each step from a ring buffer.
// alone: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=1 -DSEGMENTED=1 -DSHARED_LIMIT=232448
#ifndef ANT_TANGENT_WARP_CUH
#define ANT_TANGENT_WARP_CUH

#include "warp_context.cuh"

#if TANGENT_WARPS
INLINE void clear_mask_ring(const warp_context &ctx)
{
    if (ctx.is_tangent)
        return;
    for (int i = ctx.lane; i < MASK_RING * MASKS; i += 32)
        ctx.memory->ring.masks[i / MASKS][i % MASKS] = 0;
    if (ctx.lane == 0)
        ctx.memory->ring.read = 0;
    __syncwarp();
}

// Write the masks of step `step` to the ring buffer; limit: the last step for which it has space.  The last
// lanes write a word each.
INLINE void push_masks(const warp_context &ctx, unsigned step, unsigned &limit,
                       const unsigned (&masks)[MASKS])
{
    mask_ring &ring = ctx.memory->ring;
    while (step > limit) {
        const unsigned read = ctx.lane == 0 ? (unsigned)(load_tagged_shared(&ring.read) >> 32) : 0u;
        limit = __shfl_sync(ALL_LANES, read, 0) + MASK_RING;
    }
#pragma unroll
    for (int first = 0; first < MASKS; first += 32) {
        constexpr int count = MASKS < 32 ? MASKS : 32;
        unsigned word = masks[first];
#pragma unroll
        for (int k = 1; k < count; k++)
            if (first + k < MASKS)
                word = ctx.lane == 32 - count + k ? masks[first + k < MASKS ? first + k : 0] : word;
        const int k = first + ctx.lane - (32 - count);
        if (ctx.lane >= 32 - count && k < MASKS)
            store_tagged_shared(&ring.masks[step % MASK_RING][k], word, step);
    }
}

// A tangent warp polls the words of several steps at once: one word per lane, or several where a step has
// more words than there are lanes.
#define MASK_WORDS_PER_LANE ((MASKS + TANGENT_LANES - 1) / TANGENT_LANES)
#define STEPS_PER_POLL      (MASK_WORDS_PER_LANE > 1 ? 1 : TANGENT_LANES / MASKS)

// Poll this lane's words from step `step` on.  Returns how many steps are complete, of the `left` that will
// come, the same for all groups of the warp.
INLINE unsigned poll_masks(mask_ring &ring, unsigned step, unsigned left, int lane,
                           unsigned (&words)[MASK_WORDS_PER_LANE])
{
    const int group_lane = lane % TANGENT_LANES, offset = STEPS_PER_POLL > 1 ? group_lane / MASKS : 0;
    bool there = true;
#pragma unroll
    for (int w = 0; w < MASK_WORDS_PER_LANE; w++) {
        const int k = STEPS_PER_POLL > 1 ? group_lane % MASKS : w * TANGENT_LANES + group_lane;
        if (k < MASKS && offset < STEPS_PER_POLL && (unsigned)offset < left) {
            const unsigned long long word = load_tagged_shared(&ring.masks[(step + offset) % MASK_RING][k]);
            words[w] = (unsigned)word;
            there = there && (unsigned)(word >> 32) == step + offset;
        }
    }
    const unsigned absent = ~__ballot_sync(ALL_LANES, there) >> (lane - group_lane) << (32 - TANGENT_LANES) >>
                            (32 - TANGENT_LANES);
    const unsigned found = absent == 0          ? STEPS_PER_POLL
                           : STEPS_PER_POLL > 1 ? ((unsigned)__ffs(absent) - 1) / MASKS
                                                : 0;
    return TANGENT_SEGMENTS > 1 ? ~__reduce_max_sync(ALL_LANES, ~found) : found;
}

// The masks of step j of those polled.
INLINE void read_masks(const unsigned (&words)[MASK_WORDS_PER_LANE], unsigned j, int lane,
                       unsigned (&masks)[MASKS_HELD])
{
    const int group_lane = lane % TANGENT_LANES;
#pragma unroll
    for (int k = 0; k < MASKS_HELD; k++) {
        const int word = LARGE_TILES ? k * TANGENT_LANES + group_lane : k;
        const unsigned mask = __shfl_sync(ALL_LANES, words[LARGE_TILES ? k : k / TANGENT_LANES],
                                          (int)j * MASKS + word % TANGENT_LANES, TANGENT_LANES);
        masks[k] = word < MASKS ? mask : 0u;
    }
}

// X of TANGENT_SEGMENTS segments, a group of lanes for each, step by step as the masks arrive.  passes:
// earlier passes with tangents.
INLINE void carry_tangents(const solve_args &p, const warp_context &ctx, const block_context &work,
                           unsigned passes)
{
    phase_shared &memory = phase_memory();
    const forcing strength = forcing_of(p, ctx.pack);
    const int wanted = ctx.warp + ctx.lane / TANGENT_LANES, warp = wanted < WARPS ? wanted : WARPS - 1;
    const segment here = segment_of(p, work, warp);
    const unsigned steps = here.active ? (unsigned)(here.last - here.first) : 0;
    const unsigned longest =
        __reduce_max_sync(ALL_LANES, steps); // lengths differ by one; a group may have no segment
    mask_ring &ring = memory.warp[warp].ring;
    tangent derivative;
#if TILES
    real *J = memory.jacobian[wanted < WARPS ? warp : WARPS],
         *X = wanted < WARPS ? pass_memory().tangent[warp] : J;
#else
    real *J = nullptr, *X = pass_memory().tangent[warp];
#endif
    tangent_begin(derivative, ctx.lane, ctx.staged, J, X);
#if SAVES_START
    tangent_start &start = memory.start[wanted < WARPS ? warp : WARPS];
    const int group_lane = ctx.lane % TANGENT_LANES;
    if (passes % START_PASSES != 0)
        tangent_restore_start(derivative, start, group_lane, PATTERNS ? real(0) : strength.at(here.first));
    __syncwarp();
#endif
    for (unsigned i = 0; i < longest;) {
        unsigned words[MASK_WORDS_PER_LANE] = {}, masks[MASKS_HELD], ready;
        while ((ready = poll_masks(ring, passes * steps + i + 1, i < steps ? steps - i : 0, ctx.lane,
                                   words)) == 0)
            __nanosleep(40); // polling must not slow down the step warps' shared memory
        for (unsigned j = 0; j < ready && i < longest; j++, i++) {
            const bool active = i < steps;
            read_masks(words, j, ctx.lane, masks);
#if PATTERNS // every row has a projection of its own, so it is not a part of J
            const int t = here.first + (int)(active ? i : 0);
            tangent_project(derivative, pattern_weights(p, ctx.patterns, find_sequence(p, work, here), t),
                            strength.at(t), active);
#endif
            if (LARGE_TILES || active)
                tangent_update(derivative, ctx.staged, ctx.lane, masks,
                               PATTERNS ? real(0) : strength.at(here.first + (int)i), active);
#if SAVES_START
            if (active && i == 0)
                tangent_save_start(derivative, start, group_lane);
#endif
            tangent_advance(derivative, active);
        }
        if (ctx.lane % TANGENT_LANES == 0)
            store_tagged_shared(&ring.read, 0, passes * steps + (i < steps ? i : steps));
    }
    if (wanted < WARPS)
        tangent_end(derivative, X);
    __syncwarp();
}
#endif

#endif
