// tangent.cuh - the tangent X = dz_end / dz_start of a segment, step by step.
//
// The Jacobian of a step is J = (diag(A) + W D V) P_a with P_a = I - a B+ B (spec 3).  From one step to the
// next only a few hidden units switch, and each switch changes J by a rank-one matrix.  So J is kept and
// updated instead of formed anew: M^2 operations per switch instead of M^2 L per step.
// alone: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=1 -DSEGMENTED=1 -DSHARED_LIMIT=232448
#ifndef ANT_TANGENT_CUH
#define ANT_TANGENT_CUH

#include "tangent_shape.cuh"

#if WHOLE_J
#include "tangent_whole.cuh"
#elif TENSOR
#include "tangent_tensor.cuh"
#else
#include "tangent_tiles.cuh"
#endif

// The offset of V (1 - a B+ B) in the packed weights.
INLINE int projected_offset(real strength)
{
    return strength == 0 ? PACK_V : strength == 1 ? PACK_V1 : PACK_VA;
}

INLINE void tangent_reset(tangent &t, const real *pack, real strength)
{
    t.projected = projected_offset(strength);
#pragma unroll
    for (int k = 0; k < MASKS_HELD; k++)
        t.masks[k] = 0;
    tangent_fill(t, pack, strength);
}

// The sign of the rank-one change of J when a unit switches on or off; the second term of a clipped unit is
// subtracted.
INLINE real switch_sign(int word, bool on)
{
    return on == (word >= UNITS) ? real(-1) : real(1);
}

#if LARGE_TILES

// Update J to the masks and the forcing of this step, by the whole warp for its active groups.
INLINE void tangent_update(tangent &t, const real *pack, int lane, const unsigned (&masks)[MASKS_HELD],
                           real strength, bool active)
{
    if (active && t.projected != projected_offset(strength))
        tangent_reset(t, pack, strength);
#pragma unroll
    for (int held = 0; held < MASKS_HELD; held++) {
        const unsigned changed = active ? masks[held] ^ t.masks[held] : 0u,
                       lanes = __ballot_sync(ALL_LANES, changed != 0);
        unsigned changed_lanes = lanes >> lane / TANGENT_LANES * TANGENT_LANES &
                                 ~0u >> (32 - TANGENT_LANES); // of this group, with words that changed
        while (__any_sync(ALL_LANES, changed_lanes != 0)) {
            const int group_lane = changed_lanes ? __ffs(changed_lanes) - 1 : 0,
                      word = held * TANGENT_LANES + group_lane;
            const unsigned mask = __shfl_sync(ALL_LANES, masks[held], group_lane, TANGENT_LANES);
            const unsigned all = __shfl_sync(ALL_LANES, changed, group_lane, TANGENT_LANES);
            for (unsigned switched = changed_lanes ? all : 0u; switched; switched &= switched - 1) {
                const int bit = __ffs(switched) - 1;
                tangent_switch(t, pack, word % UNITS * 32 + bit, switch_sign(word, mask >> bit & 1));
            }
            changed_lanes &= changed_lanes - 1;
        }
        if (active)
            t.masks[held] = masks[held];
    }
}

#else

// Apply all switches between the masks and those of J.  WIDE words at a time, one unit of each, so that their
// loads overlap.
template <int WIDE>
INLINE void tangent_apply_switches(tangent &t, const real *pack, const unsigned (&masks)[MASKS])
{
#pragma unroll
    for (int first = 0; first < MASKS; first += WIDE) {
        unsigned switched[WIDE], any = 0;
#pragma unroll
        for (int k = 0; k < WIDE; k++) {
            const int word = first + k < MASKS ? first + k : 0;
            switched[k] = first + k < MASKS ? masks[word] ^ t.masks[word] : 0u;
            any |= switched[k];
        }
        while (any) {
            any = 0;
#pragma unroll
            for (int k = 0; k < WIDE; k++) {
                const bool there = WIDE == 1 || switched[k];
                const int word = first + k < MASKS ? first + k : 0, bit = there ? __ffs(switched[k]) - 1 : 0;
                tangent_switch(t, pack, word % UNITS * 32 + bit,
                               there ? switch_sign(word, masks[word] >> bit & 1) : real(0));
                switched[k] &= switched[k] - 1;
                any |= switched[k];
            }
        }
    }
#pragma unroll
    for (int k = 0; k < MASKS; k++)
        t.masks[k] = masks[k];
}

// Update J to the masks and the forcing of this step, for an active group.
INLINE void tangent_update(tangent &t, const real *pack, int, const unsigned (&masks)[MASKS], real strength,
                           bool)
{
    constexpr int many = MASKS < 4 ? MASKS : 4,
                  few = TENSOR ? 1 : many; // with several groups in a warp, they switch side by side
    if (t.projected != projected_offset(strength)) {
        tangent_reset(t, pack, strength);
        if (few < many)
            tangent_apply_switches<many>(t, pack, masks);
    }
    tangent_apply_switches<few>(t, pack, masks);
}

#endif

// Half of all units are on, so J of a segment's first step costs as much as many later steps.  Where that
// needs little memory, it is saved for the next pass, whose trajectory is nearly the same.
#define SAVES_START  (!LARGE_TILES)
#define START_PASSES 8 // after so many passes it is formed anew, because every switch adds rounding
#if SAVES_START
struct alignas(16) tangent_start {
    real J[START_J];
    unsigned masks[MASKS];
};

// group_lane: this lane's number in its group.
INLINE void tangent_save_start(const tangent &t, tangent_start &start, int group_lane)
{
    tangent_save(t, start.J, group_lane);
    if (group_lane == 0)
#pragma unroll
        for (int k = 0; k < MASKS; k++)
            start.masks[k] = t.masks[k];
}

INLINE void tangent_restore_start(tangent &t, const tangent_start &start, int group_lane, real strength)
{
    tangent_restore(t, start.J, group_lane);
    t.projected = projected_offset(strength);
#pragma unroll
    for (int k = 0; k < MASKS; k++)
        t.masks[k] = start.masks[k];
}
#endif

#endif
