// walk.cuh - which stretches of time a block and its warps have, and what they share in memory.
#ifndef ANT_WALK_CUH
#define ANT_WALK_CUH

#include "border.cuh"
#include "problem.cuh"

struct alignas(16) stretch {
    int first, last; // steps first -> last; it makes z_{first+1} .. z_last
    int sequence;
    bool works; // false: this warp has none
};

struct block_work {     // which stretches a block has
    int workers, items; // warps of the team; stretches of all sequences
    int first;          // number of the block's first warp
    int replica;
};

INLINE stretch find_stretch(const solve_problem &p, int item, int items)
{
    stretch s;
    s.works = item < items;
    const unsigned chunks = (unsigned)p.chunks, number = s.works ? (unsigned)item : 0;
    const unsigned chunk = number % chunks, steps = (unsigned)p.T / chunks, over = (unsigned)p.T % chunks;
    s.sequence = (int)(number / chunks);
    s.first = (int)(steps * chunk +
                    over * chunk / chunks); // T chunk / chunks, where T chunk may be too large for 32 bits
    s.last = (int)(steps * (chunk + 1) + over * (chunk + 1) / chunks);
    return s;
}

// The stretch's sequence among those of all replicas.
INLINE size_t find_sequence(const solve_problem &p, const block_work &work, const stretch &here)
{
    return (size_t)work.replica * p.batch + here.sequence;
}

// The part of a stretch that falls to this warp in work that shadows share.
INLINE stretch share_of(const stretch &whole, bool shadow)
{
    stretch share = whole;
#if SHADOWS
    (shadow ? share.first : share.last) =
        whole.first + (whole.last - whole.first) * PER_SHADOW / (PER_SHADOW + 1);
#endif
    return share;
}

// Loads run AHEAD steps before their use: a trip to the second-level cache.
#define AHEAD 3
#define RING  4 // a power of two above AHEAD

// Masks of the last TRAIL steps, for the warp that follows with X.  Steps count from 1 over all passes that
// were followed.
#define TRAIL (MASKS <= 8 ? 64 : 16)
struct alignas(16) trail {
    unsigned long long masks[TRAIL][MASKS]; // tagged with the step
    unsigned long long read;                // the step up to which there is room again, as the tag
};

struct alignas(16) warp_memory {
    real vector[2][MP];
    real unit[SHARED_UNITS > LP ? SHARED_UNITS : LP];
    real ahead[RING][MP];        // teachers, or direct parts of the adjoint, of the steps to come
    unsigned masks[RING][MASKS]; // of the steps to come, backward
#if SHADOWS
    trail behind;
#endif
};

struct progress {             // of the passes forward; the first thread keeps it
    int iterations, followed; // followed: those with shadows
    real before, jump;        // of the comparison before the last, 0: none, and of the last
    real allowed;
    bool met;    // the last comparison
    float reach; // of the maps, see border_gap
    bool open;   // nobody has looked at the last comparison yet
};

// What lasts from one pass to the next.
struct alignas(16) kept_memory {
    border_memory border[2];     // forward, backward
    real tangent[WARPS][MATRIX]; // X of each warp's stretch
    double squares[CREW];
    border_count count;
    progress forward;
#if CHUNKED
    stretch stretches[WARPS];
#endif
};

struct alignas(16) walk_memory {
    warp_memory warp[WARPS];
    chain_memory chain;
#if SHADOWS && KEEPS_START
    tangent_start start[WARPS + 1]; // of each warp's stretch; the last one: of lanes without a stretch
#endif
#if SHADOWS && TILES
    real jacobian[WARPS + 1][MATRIX]; // the last one: of lanes without a stretch
#endif
};

// A block's shared memory: the weights that every step reads, where they fit, then the room of the phase that
// it is in.
#define STAGED_BYTES (STAGED_PACK ? STAGE_COUNT * (REAL_BITS / 8) : 0)

INLINE kept_memory &kept_room()
{
    return *reinterpret_cast<kept_memory *>(block_bytes() + STAGED_BYTES);
}

// The stretches of a block, in the order of its warps and then of its rounds, of which there is one when time
// is cut.
INLINE stretch stretch_of(const solve_problem &p, const block_work &work, int number)
{
#if CHUNKED
    const stretch s = kept_room().stretches[number % WARPS];
    __builtin_assume(s.first >= 0 && s.first < s.last);
    return s;
#else
    return find_stretch(p, work.first + number / WARPS * work.workers + number % WARPS, work.items);
#endif
}

INLINE unsigned char *phase_room()
{
    return block_bytes() + STAGED_BYTES + sizeof(kept_memory);
}

INLINE walk_memory &walking_room()
{
    return *reinterpret_cast<walk_memory *>(phase_room());
}

INLINE const real *staged_weights(const real *pack)
{
#if STAGED_PACK
    return reinterpret_cast<const real *>(block_bytes());
#else
    return pack;
#endif
}

struct worker {     // one warp's view
    int lane, warp; // warp: its stretch of the block, or the first of those that it shadows
    bool shadow;    // it carries X along and has no rows
    int row[ROW_BLOCKS];
    int place;          // of its first row, or any
    int kept;           // see row_owners
    const real *pack;   // in global memory
    const real *staged; // its first STAGE_COUNT numbers in shared memory, if they fit
    warp_memory *memory;
};

// Weights from PACK_... = FIRST on: in shared memory where they are there, else where nobody writes during
// the launch.
#define STAGED(first) (STAGED_PACK && (first) < STAGE_COUNT)

template <int FIRST> INLINE real weight(const worker &me, int i)
{
    if constexpr (STAGED(FIRST))
        return me.staged[FIRST + i];
    else
        return __ldg(me.pack + FIRST + i);
}

template <int FIRST> INLINE real4 four_weights_at(const worker &me, int i)
{
    if constexpr (STAGED(FIRST))
        return load4(me.staged + FIRST + i);
    else
        return load4_constant(me.pack + FIRST + i);
}

// Asked for in every phase anew, so that nothing of it stays in registers meanwhile.
INLINE worker hire(const solve_problem &p, const block_work &work)
{
    const int warp = own_warp();
    worker me;
    me.lane = own_thread() % 32;
    me.shadow = warp >= WARPS;
    me.warp = me.shadow ? (warp - WARPS) * PER_SHADOW : warp;
    me.pack = p.pack + (size_t)work.replica * PACK;
    me.staged = staged_weights(me.pack);
    me.memory = &walking_room().warp[me.warp];
    find_rows(me.row, me.shadow ? M + 32 : me.lane);
    me.place = ROW_BLOCKS > 1 ? me.lane : me.row[0] < 0 ? 0 : me.row[0];
#if RESIDENT
    me.kept = look_up_owner<true>(me.lane);
#endif
    return me;
}

// What passes read and never write.
INLINE void clear_padding(const worker &me)
{
    if (me.shadow)
        return;
    if (me.lane < 2 * MP - 2 * M)
        me.memory->vector[me.lane % 2][M + me.lane / 2] = 0;
    for (int i = LP + me.lane; i < SHARED_UNITS; i += 32)
        me.memory->unit[i] = 0;
    __syncwarp();
}

#endif
