// shadow.cuh - the warps that carry X = dz_end / dz_start of other warps' stretches along, and the words by
// which they learn of steps.
#ifndef ANT_SHADOW_CUH
#define ANT_SHADOW_CUH

#include "walk.cuh"

#if SHADOWS
INLINE void clear_trail(const worker &me)
{
    if (me.shadow)
        return;
    for (int i = me.lane; i < TRAIL * MASKS; i += 32)
        me.memory->behind.masks[i / MASKS][i % MASKS] = 0;
    if (me.lane == 0)
        me.memory->behind.read = 0;
    __syncwarp();
}

// Tell the shadow of step `step`; limit: steps for which there is room.  The last lanes leave a word each.
INLINE void leave_trail(const worker &me, unsigned step, unsigned &limit, const unsigned (&masks)[MASKS])
{
    trail &behind = me.memory->behind;
    while (step > limit) {
        const unsigned read = me.lane == 0 ? (unsigned)(look_near(&behind.read) >> 32) : 0u;
        limit = __shfl_sync(ALL_LANES, read, 0) + TRAIL;
    }
#pragma unroll
    for (int first = 0; first < MASKS; first += 32) {
        constexpr int count = MASKS < 32 ? MASKS : 32;
        unsigned word = masks[first];
#pragma unroll
        for (int k = 1; k < count; k++)
            if (first + k < MASKS)
                word = me.lane == 32 - count + k ? masks[first + k < MASKS ? first + k : 0] : word;
        const int k = first + me.lane - (32 - count);
        if (me.lane >= 32 - count && k < MASKS)
            leave_near(&behind.masks[step % TRAIL][k], word, step);
    }
}

// A shadow looks at the words of several steps at once, a lane at one of them, or at some where a step has
// more words than there are lanes.
#define WATCHED ((MASKS + TANGENT_LANES - 1) / TANGENT_LANES)
#define AT_ONCE (WATCHED > 1 ? 1 : TANGENT_LANES / MASKS)

// Look at this lane's words of the steps from `step` on.  Returns how many of them are there, of `left` that
// will come, for all groups of the warp.
INLINE unsigned look_out(trail &behind, unsigned step, unsigned left, int lane, unsigned (&words)[WATCHED])
{
    const int seat = lane % TANGENT_LANES, ahead = AT_ONCE > 1 ? seat / MASKS : 0;
    bool there = true;
#pragma unroll
    for (int w = 0; w < WATCHED; w++) {
        const int k = AT_ONCE > 1 ? seat % MASKS : w * TANGENT_LANES + seat;
        if (k < MASKS && ahead < AT_ONCE && (unsigned)ahead < left) {
            const unsigned long long word = look_near(&behind.masks[(step + ahead) % TRAIL][k]);
            words[w] = (unsigned)word;
            there = there && (unsigned)(word >> 32) == step + ahead;
        }
    }
    const unsigned absent =
        ~__ballot_sync(ALL_LANES, there) >> (lane - seat) << (32 - TANGENT_LANES) >> (32 - TANGENT_LANES);
    const unsigned found = absent == 0 ? AT_ONCE : AT_ONCE > 1 ? ((unsigned)__ffs(absent) - 1) / MASKS : 0;
    return PER_SHADOW > 1 ? ~__reduce_max_sync(ALL_LANES, ~found) : found;
}

// The masks of the step that stands j after the first of those looked at.
INLINE void take_masks(const unsigned (&words)[WATCHED], unsigned j, int lane, unsigned (&masks)[MASKS_HELD])
{
    const int seat = lane % TANGENT_LANES;
#pragma unroll
    for (int k = 0; k < MASKS_HELD; k++) {
        const int word = LARGE_TILES ? k * TANGENT_LANES + seat : k;
        const unsigned mask = __shfl_sync(ALL_LANES, words[LARGE_TILES ? k : k / TANGENT_LANES],
                                          (int)j * MASKS + word % TANGENT_LANES, TANGENT_LANES);
        masks[k] = word < MASKS ? mask : 0u;
    }
}

// X of some stretches, a group of lanes for each, step after step as soon as they are made.  passes: those
// that were followed before.
INLINE void follow(const solve_problem &p, const worker &me, const block_work &work, unsigned passes)
{
    walk_memory &memory = walking_room();
    const forcing strength = {p.warmup, p.alpha};
    const int wanted = me.warp + me.lane / TANGENT_LANES, warp = wanted < WARPS ? wanted : WARPS - 1;
    const stretch here = stretch_of(p, work, warp);
    const unsigned steps = here.works ? (unsigned)(here.last - here.first) : 0;
    const unsigned longest =
        __reduce_max_sync(ALL_LANES, steps); // lengths differ by one, and some groups have no stretch
    trail &behind = memory.warp[warp].behind;
    tangent derivative;
#if TILES
    real *J = memory.jacobian[wanted < WARPS ? warp : WARPS],
         *X = wanted < WARPS ? kept_room().tangent[warp] : J;
#else
    real *J = nullptr, *X = kept_room().tangent[warp];
#endif
    tangent_begin(derivative, me.lane, me.staged, J, X);
#if KEEPS_START
    tangent_start &start = memory.start[wanted < WARPS ? warp : WARPS];
    const int seat = me.lane % TANGENT_LANES;
    if (passes % START_LASTS != 0)
        tangent_recall_start(derivative, start, seat, strength.at(here.first));
    __syncwarp();
#endif
    for (unsigned i = 0; i < longest;) {
        unsigned words[WATCHED] = {}, masks[MASKS_HELD], ready;
        while ((ready =
                    look_out(behind, passes * steps + i + 1, i < steps ? steps - i : 0, me.lane, words)) == 0)
            __nanosleep(40); // the walkers need the memory more than this question
        for (unsigned j = 0; j < ready && i < longest; j++, i++) {
            const bool acts = i < steps;
            take_masks(words, j, me.lane, masks);
            if (LARGE_TILES || acts)
                tangent_turn(derivative, me.staged, me.lane, masks, strength.at(here.first + (int)i), acts);
#if KEEPS_START
            if (acts && i == 0)
                tangent_keep_start(derivative, start, seat);
#endif
            tangent_advance(derivative, acts);
        }
        if (me.lane % TANGENT_LANES == 0)
            leave_near(&behind.read, 0, passes * steps + (i < steps ? i : steps));
    }
    if (wanted < WARPS)
        tangent_end(derivative, X);
    __syncwarp();
}
#endif

#endif
