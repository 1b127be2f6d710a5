// warp_context.cuh - the segments of a block and its warps, the shared memory of a block, and the
// role, rows and memory of a warp.
//
// Shared memory of a block, in this order: the staged weights, pass_shared, then what the current phase needs
// (phase_shared; deer_shared in deer.cu), then staged records of borders (border.cuh).
// alone: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=1 -DSEGMENTED=1 -DSHARED_LIMIT=232448
#ifndef ANT_WARP_CONTEXT_CUH
#define ANT_WARP_CONTEXT_CUH

#include "border.cuh"
#include "solve_args.cuh"

struct alignas(16) segment {
    int first, last; // steps first -> last; it makes z_{first+1} .. z_last
    int sequence;
    bool active; // false: this warp has no segment
};

struct block_context { // the segments of a block
    int stride,
        items; // step warps of the team: from one segment of a warp to its next; segments of all sequences
    int first; // number of the block's first step warp in the team
    int replica;
};

INLINE segment find_segment(const solve_args &p, int item, int items)
{
    segment s;
    s.active = item < items;
    const unsigned segments = (unsigned)p.segments, number = s.active ? (unsigned)item : 0;
    const unsigned index = number % segments, steps = (unsigned)p.T / segments,
                   over = (unsigned)p.T % segments;
    s.sequence = (int)(number / segments);
    s.first =
        (int)(steps * index + over * index / segments); // T index / segments; T index may exceed 32 bits
    s.last = (int)(steps * (index + 1) + over * (index + 1) / segments);
    return s;
}

// The segment's sequence, counted over all replicas.
INLINE size_t find_sequence(const solve_args &p, const block_context &work, const segment &here)
{
    return (size_t)work.replica * p.batch + here.sequence;
}

// The part of a segment that this warp takes where step warps and tangent warps share work.
INLINE segment share_of(const segment &whole, bool is_tangent)
{
    segment share = whole;
#if TANGENT_WARPS
    (is_tangent ? share.first : share.last) =
        whole.first + (whole.last - whole.first) * TANGENT_SEGMENTS / (TANGENT_SEGMENTS + 1);
#endif
    return share;
}

// Rows are prefetched PREFETCH steps before their use, which covers the latency of the second-level cache.
#define PREFETCH      3
#define PREFETCH_RING 4 // a power of two above PREFETCH

// Ring buffer with the masks of the last MASK_RING steps, from a step warp to its tangent warp.  Steps count
// from 1 over all passes with tangents.
#define MASK_RING (MASKS <= 8 ? 64 : 16)
struct alignas(16) mask_ring {
    unsigned long long masks[MASK_RING][MASKS]; // tagged with the step
    unsigned long long read;                    // in its tag: the last step that the tangent warp has read
};

struct alignas(16) warp_shared {
    real vector[2][MP];
    real unit[COVERED_UNITS > LP ? COVERED_UNITS : LP];
    real prefetched[PREFETCH_RING][MP];   // teachers, or direct parts of the adjoint, of the next steps
    unsigned masks[PREFETCH_RING][MASKS]; // of the next steps, backward
#if TANGENT_WARPS
    mask_ring ring;
#endif
};

struct progress {                   // of the forward passes; written by the first thread
    int iterations, tangent_passes; // tangent_passes: those with tangent warps
    real previous, jump;            // of the comparison before the last (0: none), and of the last
    real allowed;
    bool converged;      // at the last comparison
    float largest_entry; // of the maps: border_jump
    bool unchecked;      // the last comparison has not been checked yet
};

// What lasts from one pass to the next.
struct alignas(16) pass_shared {
    border_shared border[2];     // forward, backward
    real tangent[WARPS][MATRIX]; // X of each step warp's segment
    double squares[BLOCK_WARPS];
    border_count count;
    progress forward;
#if SEGMENTED
    segment segments[WARPS];
#endif
};

struct alignas(16) phase_shared {
    warp_shared warp[WARPS];
    chain_shared chain;
#if TANGENT_WARPS && SAVES_START
    tangent_start start[WARPS + 1]; // of each segment; the last one: for lanes without a segment
#endif
#if TANGENT_WARPS && TILES
    real jacobian[WARPS + 1][MATRIX]; // the last one: for lanes without a segment
#endif
};

// The weights that every step reads are staged at the start of shared memory, where they fit.
#define STAGED_BYTES (STAGED_PACK ? STAGE_COUNT * (REAL_BITS / 8) : 0)

INLINE pass_shared &pass_memory()
{
    return *reinterpret_cast<pass_shared *>(block_bytes() + STAGED_BYTES);
}

// Segment `number` of a block: warp by warp, then round by round where a warp has several; it has one where
// SEGMENTED.
INLINE segment segment_of(const solve_args &p, const block_context &work, int number)
{
#if SEGMENTED
    const segment s = pass_memory().segments[number % WARPS];
    __builtin_assume(s.first >= 0 && s.first < s.last);
    return s;
#else
    return find_segment(p, work.first + number / WARPS * work.stride + number % WARPS, work.items);
#endif
}

INLINE unsigned char *phase_bytes()
{
    return block_bytes() + STAGED_BYTES + sizeof(pass_shared);
}

INLINE phase_shared &phase_memory()
{
    return *reinterpret_cast<phase_shared *>(phase_bytes());
}

INLINE const real *staged_weights(const real *pack)
{
#if STAGED_PACK
    return reinterpret_cast<const real *>(block_bytes());
#else
    return pack;
#endif
}

struct warp_context { // the role, rows and memory of one warp
    int replica;
    int lane,
        warp; // warp: which segment of the block it runs, or the first of those whose tangents it carries
    bool is_tangent; // this is a tangent warp: it carries X and owns no rows
    int row[ROWS_PER_LANE];
    int first_row;      // its first row; any row where it owns none
    int kept;           // row_owners
    const real *pack;   // in global memory
    const real *staged; // its first STAGE_COUNT numbers in shared memory, where they fit; else `pack`
    warp_shared *memory;
#if PATTERNS
    const real *patterns; // first_pattern()
#endif
};

// Weights from offset PACK_... = FIRST on: from shared memory where they are staged, else through the
// read-only cache, since no thread writes them during the launch.
#define STAGED(first) (STAGED_PACK && (first) < STAGE_COUNT)

template <int FIRST> INLINE real weight(const warp_context &ctx, int i)
{
    if constexpr (STAGED(FIRST))
        return ctx.staged[FIRST + i];
    else
        return __ldg(ctx.pack + FIRST + i);
}

template <int FIRST> INLINE real4 four_weights_at(const warp_context &ctx, int i)
{
    if constexpr (STAGED(FIRST))
        return load4(ctx.staged + FIRST + i);
    else
        return load4_constant(ctx.pack + FIRST + i);
}

// Made anew in every phase, so that it occupies no registers in between.
INLINE warp_context make_warp_context(const solve_args &p, const block_context &work)
{
    const int warp = warp_index();
    warp_context ctx;
    ctx.replica = work.replica;
    ctx.lane = thread_index() % 32;
    ctx.is_tangent = warp >= WARPS;
    ctx.warp = ctx.is_tangent ? (warp - WARPS) * TANGENT_SEGMENTS : warp;
    ctx.pack = p.pack + (size_t)work.replica * PACK;
    ctx.staged = staged_weights(ctx.pack);
    ctx.memory = &phase_memory().warp[ctx.warp];
    find_rows(ctx.row, ctx.is_tangent ? M + 32 : ctx.lane);
    ctx.first_row = ROWS_PER_LANE > 1 ? ctx.lane : ctx.row[0] < 0 ? 0 : ctx.row[0];
#if WEIGHTS_IN_REGISTERS
    ctx.kept = look_up_owner<true>(ctx.lane);
#endif
#if PATTERNS
    ctx.patterns = first_pattern(p, work.replica);
#endif
    return ctx;
}

// Padding that passes read and never write.
INLINE void clear_padding(const warp_context &ctx)
{
    if (ctx.is_tangent)
        return;
    if (ctx.lane < 2 * MP - 2 * M)
        ctx.memory->vector[ctx.lane % 2][M + ctx.lane / 2] = 0;
    for (int i = LP + ctx.lane; i < COVERED_UNITS; i += 32)
        ctx.memory->unit[i] = 0;
    __syncwarp();
}

#endif
