// tangent.cuh - the derivative of a stretch of time, X = dz_end / dz_start, carried along by a warp for some
// stretches.
//
// A step's Jacobian is J = (diag(A) + W D V) P_a with P_a = I - a B+ B (SPEC 3).  From one step to the next
// only a few hidden units switch, and each switch changes J by a rank-one matrix, so J is kept and corrected
// instead of being formed anew: M^2 operations per switch instead of M^2 L per step.
#ifndef ANT_TANGENT_CUH
#define ANT_TANGENT_CUH

#include "products.cuh"

#define MS                                                                                                   \
    (MP % 8 == 0 ? MP + 4 : MP) // from row to row of a matrix in shared memory; quads of different rows lie
                                // in different banks

// Three ways, each of which has struct tangent and tangent_begin, _fill, _switch, _advance, _end; and
// tangent_save, _recall, which keep J of a moment in START_J numbers: all of J in the registers of every
// lane;
#define WHOLE_J (M <= 16 && M * M * REGISTERS_PER_REAL <= 64)
// by tensor cores, a warp for every stretch, where the weights of a step leave room for so many warps; not on
// sm_80, where registers spill;
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ < 900
#define TENSOR 0
#else
#define TENSOR (REAL_BITS == 32 && !WHOLE_J && M <= 16 && 2 * UNITS * M <= 64 && N <= 8)
#endif
// in tiles, one per lane.
#define TILES (!WHOLE_J && !TENSOR)

#define TANGENT_SEGMENTS                                                                                     \
    (TENSOR ? 1 : 2) // stretches whose derivatives one warp carries, each by a group of lanes
#define TANGENT_LANES (32 / TANGENT_SEGMENTS)

// One product or switch of a large tile is work enough for a warp, and code for several takes the compiler
// long.
#define LARGE_TILES (M > 16)
// Words that say which hidden units are on: all of them in every lane; with large tiles word k in lane k of
// the group, those beyond its lanes in a second round.
#define MASKS_HELD (LARGE_TILES ? (MASKS + TANGENT_LANES - 1) / TANGENT_LANES : MASKS)

#if WHOLE_J
#include "tangent_whole.cuh"
#elif TENSOR
#include "tangent_tensor.cuh"
#else
#include "tangent_tiles.cuh"
#endif

// Where V (1 - a B+ B) stands.
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

// What a unit that went on or off does to J; the second term of a clipped unit is subtracted.
INLINE real switch_sign(int word, bool on)
{
    return on == (word >= UNITS) ? real(-1) : real(1);
}

#if LARGE_TILES

// Bring J to the masks and the strength of this step, by the whole warp for its groups that act.
INLINE void tangent_update(tangent &t, const real *pack, int lane, const unsigned (&masks)[MASKS_HELD],
                           real strength, bool active)
{
    if (active && t.projected != projected_offset(strength))
        tangent_reset(t, pack, strength);
#pragma unroll
    for (int held = 0; held < MASKS_HELD; held++) {
        const unsigned changed = active ? masks[held] ^ t.masks[held] : 0u,
                       lanes = __ballot_sync(ALL_LANES, changed != 0);
        unsigned seats = lanes >> lane / TANGENT_LANES * TANGENT_LANES &
                         ~0u >> (32 - TANGENT_LANES); // of this group, with words that changed
        while (__any_sync(ALL_LANES, seats != 0)) {
            const int group_lane = seats ? __ffs(seats) - 1 : 0, word = held * TANGENT_LANES + group_lane;
            const unsigned mask = __shfl_sync(ALL_LANES, masks[held], group_lane, TANGENT_LANES);
            const unsigned all = __shfl_sync(ALL_LANES, changed, group_lane, TANGENT_LANES);
            for (unsigned switched = seats ? all : 0u; switched; switched &= switched - 1) {
                const int bit = __ffs(switched) - 1;
                tangent_switch(t, pack, word % UNITS * 32 + bit, switch_sign(word, mask >> bit & 1));
            }
            seats &= seats - 1;
        }
        if (active)
            t.masks[held] = masks[held];
    }
}

#else

// All units that differ between the masks and those that J stands for.  One of each of WIDE words at a time,
// so that their loads do not wait for each other.
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

// Bring J to the masks and the strength of this step, for a group that acts.
INLINE void tangent_update(tangent &t, const real *pack, int, const unsigned (&masks)[MASKS], real strength,
                           bool)
{
    constexpr int many = MASKS < 4 ? MASKS : 4,
                  few = TENSOR ? 1 : many; // groups of lanes that share a warp switch side by side
    if (t.projected != projected_offset(strength)) {
        tangent_reset(t, pack, strength);
        if (few < many)
            tangent_apply_switches<many>(t, pack, masks);
    }
    tangent_apply_switches<few>(t, pack, masks);
}

#endif

// Half of all units are on, so that J of a stretch's first step takes as long as that of many later ones.  It
// is kept for the next pass, whose trajectory is nearly the same, where that takes little memory.
#define SAVES_START  (!LARGE_TILES)
#define START_PASSES 8 // passes, after which it is found anew, because every switch leaves its rounding
#if SAVES_START
struct alignas(16) tangent_start {
    real J[START_J];
    unsigned masks[MASKS];
};

// seat: this lane's number in its group.
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
