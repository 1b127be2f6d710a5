// border.cuh - joins the stretches of time of all warps of a team: one Newton step on all borders.
//
// Stretch p (in the direction of travel) turned `in` into `out`; d out / d in = X_p.  The corrections that
// make every `in` equal the `out` before it obey  delta_{p+1} = X_p delta_p + (out_p - in_{p+1}),  a chain of
// affine maps. Products of matrices are not needed: a column of a product is a vector that goes along the
// chain, and all columns go at once.  So a block puts its stretches together into one map and tells how large
// it is.  Where the maps of a few blocks together forget what enters, as they do with short memories, a block
// needs no more than those before it: delta goes along them and then over the block's own stretches.
// Otherwise the first block of every group puts the maps of its group together, and delta goes along the
// groups before, and over what its own group has before it. Forward in is z at the start of a stretch;
// backward it is the adjoint at its end, and X is transposed.
//
// NEWTON 1: X is a full matrix, M <= 32.  NEWTON 0: its diagonal, kept as (M) numbers.
//
// A block has WARPS warps that run the steps of their stretches.  Full matrices take as long as the steps, so
// with NEWTON there are others beside them, their shadows, that carry X along, each for some of them.
#ifndef ANT_BORDER_CUH
#define ANT_BORDER_CUH

#include "tangent.cuh"

#if NEWTON
#define MATRIX (M * MS)
#else
#define MATRIX MP
#endif

#define TANGENT_WARPS (NEWTON && SEGMENTED ? (WARPS + TANGENT_SEGMENTS - 1) / TANGENT_SEGMENTS : 0)
#define BLOCK_WARPS   (WARPS + TANGENT_WARPS) // all warps of a block
#define THREADS       (32 * BLOCK_WARPS)

#define RECORD       (MATRIX + MP)       // the map of a block or of a group: X, shift
#define CHAIN_LANES  (M <= 16 ? 16 : 32) // lanes that take one column along a chain
#define CHAIN_GROUPS (THREADS / CHAIN_LANES)

struct alignas(16) border_shared { // shared; of one direction of travel
    real in[WARPS][MP];            // by place
    real shift[WARPS][MP];         // out less the next in
    bool closed[WARPS];            // hands nothing on: the sequence ends here
    unsigned jump, size;           // of this block, magnitude bits
    unsigned beyond;               // see border_gap, too
    unsigned largest_entry;        // the largest entry of its map, too
    unsigned comparison;           // the last comparison
};

struct border_count {    // shared; the first thread counts
    unsigned phase;      // barriers passed
    unsigned comparison; // comparisons of ends and starts
};

struct alignas(16) chain_shared {
    real vector[2][CHAIN_GROUPS][MP];
    real exclusive[WARPS][RECORD]; // by place: the maps of the stretches before it, put together
    real delta[MP];                // of the first one
};

// What a team says of one comparison of ends and starts.
struct border_gap {
    real jump, size; // the largest |out - in|, the largest |out|
    real beyond; // the largest |out - in| of those that are far more than the rounding of their own stretch,
                 // as they are where states explode
    float largest_entry; // of the maps of its blocks, the largest |entry| of their X; 0: none counts
};

#define ROUNDING (16 * EPSILON) // of a stretch's end, relative to the largest number of a state

// Words for the gaps of the last comparisons, and for the reach of the maps between.  The first block clears
// one three comparisons before it is used: a barrier lies between, because two comparisons at most follow
// each other without one, and all have read what it was before.
enum { GAP_JUMP, GAP_SIZE, GAP_BEYOND, GAP_ENTRY, GAP_WORDS };
#define GAP_RING 8
static_assert(1 + GAP_WORDS * GAP_RING <= BARRIER_WORDS - 2,
              "room for the gaps, and a word each for deer.cu and sums.cu");

struct border_team {
    real *records; // (4 blocks, RECORD) of this replica: blocks, in turns; what each has before it in its
                   // group; groups
    unsigned long long
        *starts; // (2, blocks, M, WORDS): each block's first `in`, by direction, tagged with the comparison
    unsigned *arrived; // (BARRIER_WORDS): the barrier's count, then (GAP_RING, GAP_WORDS) gaps
    int stage_offset;  // where in shared memory there is room for one record and those of a group and of all
                      // groups; 0: nowhere
    int group; // blocks of a group
    unsigned blocks;
    int block;
    border_count *count;
};

// One direction of travel, as a block sees it.
struct border_side {
    border_shared &memory;
    chain_shared &chain;
    const real (*tangent)[MATRIX]; // X of each warp's stretch
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

// ---- chains -----------------------------------------------------------------------------------------------

// The row of an affine map that a lane takes a vector through: value -> a value + shift.
struct affine_row {
#if NEWTON
    real a[M];
#else
    real a;
#endif
    real shift;
    bool constant; // a counts as zero
};

// Where a thread sits in a chain; asked for once, because the question takes longer than a link.
struct chain_position {
    int row; // of the vector; M or above: none
    int group_index;
    real *vector; // of the slot, in two places, CHAIN_GROUPS * MP apart
};

#if NEWTON
INLINE chain_position find_chain_position(chain_shared &chain)
{
    const int thread = thread_index();
    return {thread % CHAIN_LANES, thread / CHAIN_LANES, chain.vector[0][thread / CHAIN_LANES]};
}

template <bool TRANSPOSED>
INLINE affine_row load_affine_row(const chain_position &position, const real *X, const real *shift,
                                  bool constant)
{
    const int row = position.row < M ? position.row : 0;
    affine_row l;
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
        real4 four;
        if constexpr (!TRANSPOSED)
            four = load4(X + row * MS + 4 * q);
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (4 * q + k < M) {
                if constexpr (TRANSPOSED)
                    four.a[k] = X[(4 * q + k) * MS + row];
                l.a[4 * q + k < M ? 4 * q + k : 0] = four.a[k];
            }
    }
    l.shift = shift[row];
    l.constant = constant;
    return l;
}

// By whole warps.  turn: the places of vectors take turns, so that nobody waits before writing.
INLINE real apply_affine_row(const chain_position &position, const affine_row &l, real value, int turn)
{
    real *vector = position.vector + (turn & 1) * (CHAIN_GROUPS * MP), even = 0, odd = 0;
    if (position.row < M)
        vector[position.row] = value;
    __syncwarp();
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
        const real4 four = load4(vector + 4 * q);
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (4 * q + k < M)
                (k % 2 == 0 ? even : odd) += l.a[4 * q + k < M ? 4 * q + k : 0] * four.a[k];
    }
    return l.constant ? real(0) : even + odd;
}
#else
INLINE chain_position find_chain_position(chain_shared &)
{
    return {thread_index(), 0, nullptr};
}

template <bool TRANSPOSED>
INLINE affine_row load_affine_row(const chain_position &position, const real *X, const real *shift,
                                  bool constant)
{
    const int row = position.row < M ? position.row : 0;
    return {X[row], shift[row], constant};
}

INLINE real apply_affine_row(const chain_position &, const affine_row &l, real value, int)
{
    return l.constant ? real(0) : l.a * value;
}
#endif

// Take a value through `count` maps; affine: with their shifts.  map_row_at(i): this lane's row of map i,
// which is loaded one map ahead. see(i, value): what comes to map i.
template <class map_source, class visitor>
INLINE real apply_chain(const chain_position &position, real value, int count, bool affine,
                        map_source map_row_at, visitor visit)
{
    affine_row next = map_row_at(0); // also of none: anything that can be read
#pragma unroll 2
    for (int i = 0; i < count; i++) {
        const affine_row now = next;
        next = map_row_at(i + 1 < count ? i + 1 : i);
        visit(i, value);
        value = apply_affine_row(position, now, value, i) + (affine ? now.shift : real(0));
    }
#if NEWTON
    __syncwarp();
#endif
    return value;
}

template <class map_source>
INLINE real apply_chain(const chain_position &position, real value, int count, bool affine,
                        map_source map_row_at)
{
    return apply_chain(position, value, count, affine, map_row_at, [](int, real) {});
}

// The product of `count` maps, column by column, the last of which is its shift.  keep(i, entry, value): this
// thread's entries of the record of the first i of them.  Returns the largest |entry| of X, magnitude bits,
// that this thread has of all of them.
template <class map_source, class keeper>
INLINE unsigned compose(const chain_position &position, int count, map_source map_row_at, keeper keep)
{
    unsigned largest = 0;
#if NEWTON
    for (int first = 0; first <= M; first += CHAIN_GROUPS) {
        if (first + warp_index() * (32 / CHAIN_LANES) > M) // no column for this warp
            break;
        const int column = first + position.group_index,
                  entry = column < M ? position.row * MS + column : MATRIX + position.row;
        const bool mine = position.row < M && column <= M;
        const auto visit = [&](int i, real value) {
            if (mine)
                keep(i, entry, value);
        };
        const real value =
            apply_chain(position, position.row == column ? 1 : 0, count, column == M, map_row_at, visit);
        visit(count, value);
        if (mine && column < M)
            largest = max(largest, magnitude_bits(value));
    }
#else
    const bool mine = position.row < M;
    for (int part = 0; part < 2; part++) {
        const auto visit = [&](int i, real value) {
            if (mine)
                keep(i, part * MATRIX + position.row, value);
        };
        const real value = apply_chain(position, 1 - part, count, part == 1, map_row_at, visit);
        visit(count, value);
        if (mine && part == 0)
            largest = magnitude_bits(value);
    }
#endif
    return largest;
}

// The threads that take delta along: a warp, or one per latent unit.
INLINE bool takes_delta()
{
    return NEWTON ? warp_index() == 0 : thread_index() < M;
}

INLINE affine_row affine_row_of_record(const chain_position &position, const real *record)
{
    return load_affine_row<false>(position, record, record + MATRIX, false);
}

// Of a stretch of this block.  plain: ends are handed on as they are.
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

INLINE void leave_real(unsigned long long *to, real value, unsigned tag)
{
#if REAL_BITS == 64
    const unsigned long long bits = (unsigned long long)__double_as_longlong(value);
    store_tagged(to, (unsigned)bits, tag);
    store_tagged(to + 1, (unsigned)(bits >> 32), tag);
#else
    store_tagged(to, __float_as_uint(value), tag);
#endif
}

INLINE unsigned wait_for_word(const unsigned long long *from, unsigned tag)
{
    unsigned long long word;
    do
        word = load_tagged(from);
    while ((unsigned)(word >> 32) != tag);
    return (unsigned)word;
}

INLINE real wait_for_real(const unsigned long long *from, unsigned tag)
{
#if REAL_BITS == 64
    const unsigned low = wait_for_word(from, tag);
    return __longlong_as_double((long long)((unsigned long long)wait_for_word(from + 1, tag) << 32 | low));
#else
    return __uint_as_float(wait_for_word(from, tag));
#endif
}

// Tell the block before what this one starts from; `in` of number m of its first stretch.
INLINE void publish_start(const border_team &team, bool back, int m, real in)
{
    leave_real(start_of(team, back, travel_index(team, back)) + m * WORDS, in, team.count->comparison + 1);
}

// When all blocks are done: the next launch counts from the beginning.
INLINE void clear_starts(const border_team &team)
{
    for (int i = thread_index(); i < 2 * M * WORDS; i += THREADS)
        store_tagged(start_of(team, i >= M * WORDS, travel_index(team, i >= M * WORDS)) + i % (M * WORDS), 0,
                     0);
}

INLINE unsigned *gap_words(const border_team &team, unsigned comparison)
{
    return team.arrived + 1 + comparison % GAP_RING * GAP_WORDS;
}

// Whether a gap is finite and not far beyond the rounding of a stretch with states of this size; magnitude
// bits.
INLINE bool is_rounding(unsigned gap, unsigned size)
{
    const float jump = __uint_as_float(gap);
    return jump - jump == 0 && jump <= 8 * float(ROUNDING) * __uint_as_float(size);
}

// Compare every end with the next start: this block's shifts, and the team's gap, which can be read after the
// next barrier.  place: of this warp's stretch; out: its end; rows: none for a shadow.
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
                const real next =
                    closed ? out[k]
                    : last
                        ? wait_for_real(start_of(team, back, travel_index(team, back) + 1) + row[k] * WORDS,
                                        team.count->comparison + 1)
                        : border.in[order + 1][row[k]];
                const real gap = closed ? real(0) : out[k] - next;
                border.shift[order][row[k]] = gap;
                jump = max(jump, magnitude_bits(gap));
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
        unsigned *gap = gap_words(team, comparison);
        atomicMax(gap + GAP_JUMP, border.jump);
        atomicMax(gap + GAP_SIZE, border.size);
        if (border.beyond > 0)
            atomicMax(gap + GAP_BEYOND, border.beyond);
        if (team.block == 0) {
            unsigned *later = gap_words(team, comparison + 3);
            __stcg(later + GAP_JUMP, 0u);
            __stcg(later + GAP_SIZE, 0u);
            __stcg(later + GAP_BEYOND, 0u);
            __stcg(later + GAP_ENTRY, 0u);
        }
    }
}

// round: the number of a comparison after which there was a barrier; reach: if that was the barrier of
// `publish`.
INLINE border_gap gap_of(const border_team &team, unsigned comparison)
{
    const unsigned *gap = gap_words(team, comparison);
    return {real(__uint_as_float(__ldcg(gap + GAP_JUMP))), real(__uint_as_float(__ldcg(gap + GAP_SIZE))),
            real(__uint_as_float(__ldcg(gap + GAP_BEYOND))), __uint_as_float(__ldcg(gap + GAP_ENTRY))};
}

// What a gap may be: max(absolute, relative * largest |out|); rounding alone is always allowed.
INLINE real allowed(const border_gap &gap, real absolute, real relative)
{
    const real share = (relative > real(ROUNDING) ? relative : real(ROUNDING)) * gap.size;
    return share > absolute ? share : absolute;
}

// ---- Newton's step ----------------------------------------------------------------------------------------

// Where records stand when they were sent for: at a place in shared memory, or where they are, when there is
// no room.
INLINE const real *find_records(const border_team &team, const real *records, int stage)
{
    return team.stage_offset == 0
               ? records
               : reinterpret_cast<const real *>(block_bytes() + team.stage_offset) + stage * RECORD;
}

// Have `count` records copied to a place.
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

// Places of records in shared memory.
enum { STAGE_PREVIOUS, STAGE_MORE }; // that of the block before; those of a group, or of some blocks before
#define STAGE_GROUPS 0               // those of groups, and one more, when the others are not needed any more

// The records of the blocks, in turns with those of the barrier before, which some may still read.
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

// Send for what will most likely be needed, while others look at gaps: the map of the block before, and for
// the first block of a group those of its group.
INLINE void prefetch_neighbours(const border_team &team, bool back)
{
    const int block = travel_index(team, back);
    const real *records = block_records(team, team.count->phase - 1) + (size_t)block * RECORD;
    if (block > 0)
        prefetch_records(team, records - RECORD, 1, STAGE_PREVIOUS);
    if (block % team.group == 0 && team.group < (int)team.blocks)
        prefetch_records(team, records, end_of_group(team, block) - block, STAGE_MORE);
}

// What a map may change a correction by and count as zero: rounding alone, as for gaps.
#define NEGLIGIBLE float(ROUNDING)

// Put this block's stretches together for the others, and meet them.
template <bool BACK> INLINE void publish(const border_side &side, bool plain)
{
    const border_team &team = side.team;
    const chain_position position = find_chain_position(side.chain);
    copy_commit();
    copy_wait<0>(); // what nobody has asked for after the last meeting
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
        atomicMax(gap_words(team, side.memory.comparison) + GAP_ENTRY, side.memory.largest_entry);
    sync_team(team);
    prefetch_neighbours(team, BACK);
}

// How many blocks before a block matter to it; more than a group has: so many that nobody counted.
INLINE int look_back_blocks(const border_team &team, float largest_entry)
{
    const float norm = M * largest_entry; // no sum of a row is larger
    int count = 1;
    for (float left = norm; count <= team.group && !(left <= NEGLIGIBLE); count++)
        left *= norm;
    return count;
}

// The maps of this block's group, put together by its first block: what every block has before it, and all.
// Valid after the next barrier.
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

// After `publish`: what reaches this block, on the threads that take delta.  A function of its own, so that
// both directions have the same.
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

// Number m of what a correction becomes on its way to a stretch.  What a closed stretch does not hand on
// counts as nothing, whatever it is.
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

// After `publish`: correct every `in` of this block.  reach: see border_gap.  mend(place, m, in): what to
// take where `in` is not a number.
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
