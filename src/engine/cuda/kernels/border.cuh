// border.cuh - joins the segments of all step warps of a team: one Newton step on all borders at once.
//
// Segment p (in the direction of travel) maps `in` to `out`; d out / d in = X_p.  The corrections that make
// every `in` equal the `out` before it obey
//
//     delta_{p+1} = X_p delta_p + (out_p - in_{p+1}),
//
// a chain of affine maps.  Matrix products are not needed: a column of a product is a vector that is taken
// through the chain, and all columns go at once.
//
// A block composes the maps of its segments into one and publishes it together with its largest entry.  What
// a block needs is its exclusive prefix: the composition of all maps before it.  Where a few maps already
// shrink a correction below rounding (a short memory), looking back over those few blocks is enough: delta
// goes through their maps and then through the block's own segments.  Otherwise the first block of every
// group composes the maps of its group; then delta goes through the groups before, and through the blocks
// before in its own group.
//
// Forward, `in` is z at the start of a segment.  Backward, it is the adjoint at its end, and X is transposed.
//
// NEWTON 1: X is a full matrix, M <= 32.  NEWTON 0: its diagonal, stored as (M) numbers.
//
// A block has WARPS step warps, which run the steps of their segments.  Full matrices take as long as the
// steps, so with NEWTON further warps, the tangent warps, carry X, each for TANGENT_SEGMENTS segments.
// alone: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=1 -DSEGMENTED=1 -DSHARED_LIMIT=232448
#ifndef ANT_BORDER_CUH
#define ANT_BORDER_CUH

#include "abi.h"
#include "affine_chain.cuh"

struct alignas(16) border_shared { // one direction of travel
    real in[WARPS][MP];            // by order of travel
    real shift[WARPS][MP];         // out - next in
    bool closed[WARPS];            // the sequence ends here: nothing passes this border
    unsigned jump, size;           // of this block, magnitude bits
    unsigned beyond;               // the same: border_jump
    unsigned largest_entry;        // the same, of its map
    unsigned comparison;           // number of the last comparison
};

struct border_count {    // counted by the first thread
    unsigned phase;      // barriers passed
    unsigned comparison; // of ends and starts
};

// What one comparison of ends and starts gives for the whole team.
struct border_jump {
    real jump, size; // the largest |out - in|, the largest |out|
    real beyond; // the largest |out - in| far above the rounding of its own segment, as where states explode
    float largest_entry; // of X of any block's map; 0: all are negligible
};

#define ROUNDING (16 * EPSILON) // of a segment's end, relative to the largest number of a state

// Words for the jumps of the last comparisons, and for the largest entry of the maps in between.  The first
// block clears a word three comparisons before its use.  A barrier lies in between, because at most two
// comparisons follow each other without one; so all blocks have read the old value.
enum { JUMP_LARGEST, JUMP_SIZE, JUMP_BEYOND, JUMP_ENTRY, JUMP_WORDS };
#define JUMP_RING 8
static_assert(1 + JUMP_WORDS * JUMP_RING <= MISSING_WORD,
              "words for the jumps, and a word each for patterns.cu, deer.cu and sums.cu");

struct border_team {
    // (4 blocks, RECORD) of this replica: the blocks' maps, in two buffers that take turns; each block's
    // exclusive prefix in its group; the groups' maps.
    real *records;
    // (2, blocks, M, WORDS): each block's first `in`, by direction, tagged with the comparison.
    unsigned long long *starts;
    unsigned *arrived; // (BARRIER_WORDS): count of the barrier, then (JUMP_RING, JUMP_WORDS) jumps
    // Where records are staged in shared memory: one, those of a group, those of all groups; 0: they do not
    // fit.
    int stage_offset;
    int group; // blocks of a group
    unsigned blocks;
    int block;
    border_count *count;
};

// One direction of travel of a block.
struct border_side {
    border_shared &memory;
    chain_shared &chain;
    const real (*tangent)[MATRIX]; // X of each step warp's segment
    border_team team;
};

// The number of this block in the direction of travel.
INLINE int travel_index(const border_team &team, bool back)
{
    return back ? (int)team.blocks - 1 - team.block : team.block;
}

INLINE void sync_team(const border_team &team)
{
    team_barrier(team.arrived, team.blocks, team.count->phase);
}

#define WORDS (REAL_BITS / 32) // of one number

// All shared memory of the block.
INLINE unsigned char *block_bytes()
{
    DYNAMIC_BYTES;
    return bytes;
}

// Of a segment of this block.  plain: X counts as zero, so that a segment starts where the one before it
// ended.
template <bool BACK>
INLINE affine_row affine_row_of_segment(const chain_position &position, const border_side &side, bool plain,
                                        int order)
{
    const int warp = BACK ? WARPS - 1 - order : order;
    return load_affine_row<BACK>(position, side.tangent[warp], side.memory.shift[order],
                                 plain || side.memory.closed[order]);
}

// ---- ends and starts --------------------------------------------------------------------------------------

INLINE unsigned long long *start_of(const border_team &team, bool back, int block)
{
    return team.starts + ((size_t)(back ? team.blocks : 0) + block) * M * WORDS;
}

INLINE void store_tagged_real(unsigned long long *to, real value, unsigned tag)
{
#if REAL_BITS == 64
    const unsigned long long bits = (unsigned long long)__double_as_longlong(value);
    store_tagged(to, (unsigned)bits, tag);
    store_tagged(to + 1, (unsigned)(bits >> 32), tag);
#else
    store_tagged(to, __float_as_uint(value), tag);
#endif
}

INLINE unsigned wait_tagged(const unsigned long long *from, unsigned tag)
{
    unsigned long long word;
    do
        word = load_tagged(from);
    while ((unsigned)(word >> 32) != tag);
    return (unsigned)word;
}

INLINE real wait_tagged_real(const unsigned long long *from, unsigned tag)
{
#if REAL_BITS == 64
    const unsigned low = wait_tagged(from, tag);
    return __longlong_as_double((long long)((unsigned long long)wait_tagged(from + 1, tag) << 32 | low));
#else
    return __uint_as_float(wait_tagged(from, tag));
#endif
}

// Publish this block's start for the block before it: number m of the `in` of its first segment.
INLINE void publish_start(const border_team &team, bool back, int m, real in)
{
    store_tagged_real(start_of(team, back, travel_index(team, back)) + m * WORDS, in,
                      team.count->comparison + 1);
}

// When all blocks are done: the next launch counts comparisons from zero.
INLINE void clear_starts(const border_team &team)
{
    for (int i = thread_index(); i < 2 * M * WORDS; i += THREADS)
        store_tagged(start_of(team, i >= M * WORDS, travel_index(team, i >= M * WORDS)) + i % (M * WORDS), 0,
                     0);
}

INLINE unsigned *jump_words(const border_team &team, unsigned comparison)
{
    return team.arrived + 1 + comparison % JUMP_RING * JUMP_WORDS;
}

// Whether a jump is finite and not far above the rounding of a segment with states of this size; magnitude
// bits.
INLINE bool is_rounding(unsigned jump, unsigned size)
{
    const float largest = __uint_as_float(jump);
    return largest - largest == 0 && largest <= 8 * float(ROUNDING) * __uint_as_float(size);
}

// Compare every end with the next start.  Gives this block's shifts, and the team's jump, which can be read
// after the next barrier.  order: of this warp's segment; out: its end; tangent warps take no part.
INLINE void compare_ends(const border_side &side, bool back, int order, const int (&row)[ROWS_PER_LANE],
                         const real (&out)[ROWS_PER_LANE], bool is_tangent)
{
    border_shared &border = side.memory;
    const border_team &team = side.team;
    const bool last = order == WARPS - 1, closed = border.closed[order];
    unsigned jump = 0, start = 0, size = 0;
    if (thread_index() == 0)
        border.jump = border.size = border.beyond = border.largest_entry = 0;
    __syncthreads();
    if (!is_tangent) {
#pragma unroll
        for (int k = 0; k < ROWS_PER_LANE; k++)
            if (row[k] >= 0) {
                const real next = closed ? out[k]
                                  : last
                                      ? wait_tagged_real(start_of(team, back, travel_index(team, back) + 1) +
                                                             row[k] * WORDS,
                                                         team.count->comparison + 1)
                                      : border.in[order + 1][row[k]];
                const real difference = closed ? real(0) : out[k] - next;
                border.shift[order][row[k]] = difference;
                jump = max(jump, magnitude_bits(difference));
                start = max(start, magnitude_bits(border.in[order][row[k]]));
                size = max(size, magnitude_bits(out[k]));
            }
        jump = __reduce_max_sync(ALL_LANES, jump);
        start = __reduce_max_sync(ALL_LANES, start);
        size = __reduce_max_sync(ALL_LANES, size);
        if (thread_index() % 32 == 0) {
            atomicMax(&border.jump, jump);
            atomicMax(&border.size, size);
            if (!is_rounding(jump, max(start, size)))
                atomicMax(&border.beyond, jump);
        }
    }
    __syncthreads();
    if (thread_index() == 0) {
        const unsigned comparison = border.comparison = team.count->comparison++;
        unsigned *words = jump_words(team, comparison);
        atomicMax(words + JUMP_LARGEST, border.jump);
        atomicMax(words + JUMP_SIZE, border.size);
        if (border.beyond > 0)
            atomicMax(words + JUMP_BEYOND, border.beyond);
        if (team.block == 0) {
            unsigned *later = jump_words(team, comparison + 3);
            __stcg(later + JUMP_LARGEST, 0u);
            __stcg(later + JUMP_SIZE, 0u);
            __stcg(later + JUMP_BEYOND, 0u);
            __stcg(later + JUMP_ENTRY, 0u);
        }
    }
}

// The jump of comparison number `comparison`, after a barrier that followed it; largest_entry is valid if
// that was the barrier of `publish`.
INLINE border_jump jump_of(const border_team &team, unsigned comparison)
{
    const unsigned *words = jump_words(team, comparison);
    return {real(__uint_as_float(__ldcg(words + JUMP_LARGEST))),
            real(__uint_as_float(__ldcg(words + JUMP_SIZE))),
            real(__uint_as_float(__ldcg(words + JUMP_BEYOND))), __uint_as_float(__ldcg(words + JUMP_ENTRY))};
}

// The jump that is allowed: max(absolute, relative * largest |out|), and never less than rounding.
INLINE real allowed(const border_jump &now, real absolute, real relative)
{
    const real share = (relative > real(ROUNDING) ? relative : real(ROUNDING)) * now.size;
    return share > absolute ? share : absolute;
}

// ---- Newton's step ----------------------------------------------------------------------------------------

// Staged records: at position `stage` in shared memory, or in global memory where they do not fit.
INLINE const real *find_records(const border_team &team, const real *records, int stage)
{
    return team.stage_offset == 0
               ? records
               : reinterpret_cast<const real *>(block_bytes() + team.stage_offset) + stage * RECORD;
}

// Prefetch `count` records to position `stage`.
INLINE void prefetch_records(const border_team &team, const real *records, int count, int stage)
{
    if (team.stage_offset == 0)
        return;
    constexpr int words = RECORD / 4 * (int)(sizeof(real4) / 16);
    uint4 *staged = reinterpret_cast<uint4 *>(block_bytes() + team.stage_offset) + stage * words;
#pragma unroll 1
    for (int i = thread_index(); i < count * words; i += THREADS)
        copy_async_16(staged + i, reinterpret_cast<const uint4 *>(records) + i);
}

// Wait for them.
INLINE void wait_records()
{
    copy_commit();
    copy_wait<0>();
    __syncthreads();
}

// Positions of staged records.
enum { STAGE_PREVIOUS, STAGE_MORE }; // the block before; those of a group, or of the blocks to look back on
#define STAGE_GROUPS 0               // those of groups, and one more, when the others are no longer needed

// The records of the blocks; two buffers take turns, since some blocks may still read those of the barrier
// before.
INLINE real *block_records(const border_team &team, unsigned phase)
{
    return team.records + (size_t)(phase & 1) * team.blocks * RECORD;
}

// The block after those of a group.
INLINE int end_of_group(const border_team &team, int first)
{
    const int end = first + team.group;
    return end < (int)team.blocks ? end : (int)team.blocks;
}

// Prefetch what will most likely be needed while the jumps are checked: the map of the block before and, for
// the first block of a group, those of its group.
INLINE void prefetch_neighbours(const border_team &team, bool back)
{
    const int block = travel_index(team, back);
    const real *records = block_records(team, team.count->phase - 1) + (size_t)block * RECORD;
    if (block > 0)
        prefetch_records(team, records - RECORD, 1, STAGE_PREVIOUS);
    if (block % team.group == 0 && team.group < (int)team.blocks)
        prefetch_records(team, records, end_of_group(team, block) - block, STAGE_MORE);
}

// A correction below this counts as zero: rounding, as for jumps.
#define NEGLIGIBLE float(ROUNDING)

// Compose the maps of this block's segments, publish the result, and wait at the team's barrier.
template <bool BACK> INLINE void publish(const border_side &side, bool plain)
{
    const border_team &team = side.team;
    const chain_position position = find_chain_position(side.chain);
    copy_commit();
    copy_wait<0>(); // drain prefetches that were not used since the last barrier
    real *record = block_records(team, team.count->phase) + (size_t)travel_index(team, BACK) * RECORD;
    const unsigned largest = compose(
        position, WARPS, [&](int order) { return affine_row_of_segment<BACK>(position, side, plain, order); },
        [&](int i, int entry, real value) {
            if (i < WARPS)
                side.chain.exclusive[i][entry] = value;
            else
                __stcg(record + entry, value);
        });
    if (largest > __float_as_uint(NEGLIGIBLE / M))
        atomicMax(&side.memory.largest_entry, largest);
    __syncthreads();
    if (thread_index() == 0 && side.memory.largest_entry > 0)
        atomicMax(jump_words(team, side.memory.comparison) + JUMP_ENTRY, side.memory.largest_entry);
    sync_team(team);
    prefetch_neighbours(team, BACK);
}

// How many blocks to look back; more than team.group means: too many, the count stops there.
INLINE int look_back_blocks(const border_team &team, float largest_entry)
{
    const float norm = M * largest_entry; // a bound for every sum of a row
    int count = 1;
    for (float left = norm; count <= team.group && !(left <= NEGLIGIBLE); count++)
        left *= norm;
    return count;
}

// Compose the maps of this block's group, by its first block: the exclusive prefix of every block, and the
// whole.  Valid after the next barrier.
INLINE void publish_group(const border_team &team, const chain_position &position, bool back)
{
    const int first = travel_index(team, back), count = end_of_group(team, first) - first;
    const real *blocks =
        find_records(team, block_records(team, team.count->phase - 1) + (size_t)first * RECORD, STAGE_MORE);
    real *exclusive = team.records + (size_t)(2 * team.blocks + first) * RECORD;
    real *whole = team.records + (size_t)(3 * team.blocks + first / team.group) * RECORD;
    compose(
        position, count, [&](int i) { return affine_row_of_record(position, blocks + i * RECORD); },
        [&](int i, int entry, real value) {
            __stcg((i < count ? exclusive + i * RECORD : whole) + entry, value);
        });
}

// After `publish`: delta where this block begins, on the threads that carry it.  Not inlined, so that both
// directions share the code.
static __device__ __noinline__ real find_delta(border_team team, chain_position position, float largest_entry,
                                               bool back)
{
    const int block = travel_index(team, back), group = block / team.group,
              look_back = look_back_blocks(team, largest_entry);
    const bool direct = look_back <= team.group || team.group >= (int)team.blocks;
    const real *maps = block_records(team, team.count->phase - 1),
               *own = team.records + (size_t)(2 * team.blocks + block) * RECORD;
    int count = direct ? (look_back < block ? look_back : block) : group,
        stage = count > 1 ? STAGE_MORE : STAGE_PREVIOUS;
    wait_records();
    if (!direct) {
        if (block == group * team.group)
            publish_group(team, position, back);
        sync_team(team);
        maps = team.records + (size_t)3 * team.blocks * RECORD;
        stage = STAGE_GROUPS;
        prefetch_records(team, own, 1, STAGE_GROUPS + count);
    } else {
        maps += (size_t)(block - count) * RECORD;
    }
    if (!direct || count > 1) {
        prefetch_records(team, maps, count, stage);
        wait_records();
    }
    if (!takes_delta())
        return 0;
    maps = find_records(team, maps, stage);
    own = find_records(team, own, STAGE_GROUPS + count);
    return apply_chain(position, 0, direct ? count : count + 1, true, [&](int i) {
        return affine_row_of_record(position, i < count ? maps + i * RECORD : own);
    });
}

// Number m of the correction at a segment.  An entry of zero, as behind a closed border, gives zero even
// where delta is not finite.
INLINE real correction_at(const real *exclusive, const real *delta, int m)
{
    real sum = exclusive[MATRIX + m];
#if NEWTON
#pragma unroll(LARGE_TILES ? 8 : M)
    for (int j = 0; j < M; j++)
        sum += exclusive[m * MS + j] != 0 ? exclusive[m * MS + j] * delta[j] : real(0);
#else
    sum += exclusive[m] != 0 ? exclusive[m] * delta[m] : real(0);
#endif
    return sum;
}

// After `publish`: correct every `in` of this block.  largest_entry: border_jump.  repair(order, m, in): the
// value to use where `in` is not finite.
template <bool BACK, class repairing>
INLINE void correct_starts(const border_side &side, float largest_entry, repairing repair)
{
    border_shared &border = side.memory;
    chain_shared &chain = side.chain;
    const chain_position position = find_chain_position(chain);
    const real delta = find_delta(side.team, position, largest_entry, BACK);
    if (takes_delta() && position.row < M && position.group_index == 0)
        chain.delta[position.row] = delta;
    __syncthreads();
    for (int i = thread_index(); i < WARPS * M; i += THREADS) {
        const int order = i / M, m = i % M;
        const real sum = border.in[order][m] + correction_at(chain.exclusive[order], chain.delta, m),
                   in = is_finite(sum) ? sum : repair(order, m, sum);
        border.in[order][m] = in;
        if (order == 0)
            publish_start(side.team, BACK, m, in);
    }
    __syncthreads();
}

#endif
