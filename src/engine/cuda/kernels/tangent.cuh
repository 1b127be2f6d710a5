// tangent.cuh - the derivative of a stretch of time, X = dz_end / dz_start, carried along by a warp for some stretches.
//
// A step's Jacobian is J = (diag(A) + W D V) P_a with P_a = I - a B+ B (SPEC 3).  From one step to the next only
// a few hidden units switch, and each switch changes J by a rank-one matrix, so J is kept and corrected instead of
// being formed anew: M^2 operations per switch instead of M^2 L per step.
#ifndef ANT_TANGENT_CUH
#define ANT_TANGENT_CUH

#include "products.cuh"

#define MS (MP % 8 == 0 ? MP + 4 : MP) // from row to row of a matrix in shared memory; quads of different rows lie in different banks

// Three ways, each of which has struct tangent and tangent_begin, _fill, _switch, _advance, _end; and tangent_keep, _recall, which keep J of a moment in
// START_J numbers:
// all of J in the registers of every lane;
#define WHOLE_J (M <= 16 && M * M * REGISTERS_PER_REAL <= 64)
// by tensor cores, a warp for every stretch, where the weights of a step leave room for so many warps; not on sm_80, where registers spill;
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ < 900
#define TENSOR 0
#else
#define TENSOR (REAL_BITS == 32 && !WHOLE_J && M <= 16 && 2 * UNITS * M <= 64 && N <= 8)
#endif
// in tiles, one per lane.
#define TILES (!WHOLE_J && !TENSOR)

#define PER_SHADOW    (TENSOR ? 1 : 2) // stretches whose derivatives one warp carries, each by a group of lanes
#define TANGENT_LANES (32 / PER_SHADOW)

#if WHOLE_J
#include "tangent_whole.cuh"
#elif TENSOR
#include "tangent_tensor.cuh"
#else
#include "tangent_tiles.cuh"
#endif

// Half of all units are on, so that J of a stretch's first step takes as long as that of many later ones.  It is kept for the next pass, whose
// trajectory is nearly the same, where that takes little memory.
#define KEEPS_START (M <= 16)
#define START_LASTS 8 // passes, after which it is found anew, because every switch leaves its rounding
struct alignas(16) tangent_start {
    real J[START_J];
    unsigned masks[MASKS];
};

// Where V (1 - a B+ B) stands.
INLINE int pulled_place(real strength)
{
    return strength == 0 ? PACK_V : strength == 1 ? PACK_V1 : PACK_VA;
}

INLINE void tangent_reset(tangent &t, const real *pack, real strength)
{
    t.pulled = pulled_place(strength);
#pragma unroll
    for (int k = 0; k < MASKS; k++)
        t.masks[k] = 0;
    tangent_fill(t, pack, strength);
}

// All units that differ between the masks and those that J stands for.  One of each of WIDE words at a time, so
// that their loads do not wait for each other.
template <int WIDE> INLINE void tangent_catch_up(tangent &t, const real *pack, const unsigned (&masks)[MASKS])
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
                const bool on = masks[word] >> bit & 1, second = word >= UNITS; // the second term of a clipped unit is subtracted
                tangent_switch(t, pack, word % UNITS * 32 + bit, there ? (on == second ? real(-1) : real(1)) : real(0));
                switched[k] &= switched[k] - 1;
                any |= switched[k];
            }
        }
    }
#pragma unroll
    for (int k = 0; k < MASKS; k++)
        t.masks[k] = masks[k];
}

// seat: this lane's number in its group.
INLINE void tangent_keep_start(const tangent &t, tangent_start &start, int seat)
{
    tangent_keep(t, start.J, seat);
    if (seat == 0)
#pragma unroll
        for (int k = 0; k < MASKS; k++)
            start.masks[k] = t.masks[k];
}

INLINE void tangent_recall_start(tangent &t, const tangent_start &start, int seat, real strength)
{
    tangent_recall(t, start.J, seat);
    t.pulled = pulled_place(strength);
#pragma unroll
    for (int k = 0; k < MASKS; k++)
        t.masks[k] = start.masks[k];
}

// Bring J to the masks and the strength of this step.
INLINE void tangent_turn(tangent &t, const real *pack, const unsigned (&masks)[MASKS], real strength)
{
    constexpr int many = M > 16 ? 1 : MASKS < 4 ? MASKS : 4, few = TENSOR ? 1 : many; // groups of lanes that share a warp switch side by side; large tiles are work enough
    if (t.pulled != pulled_place(strength)) {
        tangent_reset(t, pack, strength);
        if (few < many)
            tangent_catch_up<many>(t, pack, masks);
    }
    tangent_catch_up<few>(t, pack, masks);
}

#endif
