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

#define SHADOWS (NEWTON && CHUNKED ? (WARPS + PER_SHADOW - 1) / PER_SHADOW : 0)
#define CREW    (WARPS + SHADOWS) // all warps of a block
#define THREADS (32 * CREW)

#define RECORD     (MATRIX + MP)       // the map of a block or of a group: X, shift
#define SLOT_LANES (M <= 16 ? 16 : 32) // lanes that take one column along a chain
#define SLOTS      (THREADS / SLOT_LANES)

struct alignas(16) border_memory { // shared; of one direction of travel
    real in[WARPS][MP];            // by place
    real shift[WARPS][MP];         // out less the next in
    bool closed[WARPS];            // hands nothing on: the sequence ends here
    unsigned jump, size;           // of this block, magnitude bits
    unsigned beyond;               // see border_gap, too
    unsigned reach;                // the largest entry of its map, too
    unsigned round;                // the last comparison
};

struct border_count { // shared; the first thread counts
    unsigned phase;   // barriers passed
    unsigned round;   // comparisons of ends and starts
};

struct alignas(16) chain_memory {
    real vector[2][SLOTS][MP];
    real before[WARPS][RECORD]; // by place: the maps of the stretches before it, put together
    real delta[MP];             // of the first one
};

// What a team says of one comparison of ends and starts.
struct border_gap {
    real jump, size; // the largest |out - in|, the largest |out|
    real beyond; // the largest |out - in| of those that are far more than the rounding of their own stretch,
                 // as they are where states explode
    float reach; // of the maps of its blocks, the largest |entry| of their X; 0: none counts
};

#define ROUNDING (16 * EPSILON) // of a stretch's end, relative to the largest number of a state

// Words for the gaps of the last comparisons, and for the reach of the maps between.  The first block clears
// one three comparisons before it is used: a barrier lies between, because two comparisons at most follow
// each other without one, and all have read what it was before.
enum { GAP_JUMP, GAP_SIZE, GAP_BEYOND, GAP_REACH, GAP_WORDS };
#define GAP_RING 8
static_assert(1 + GAP_WORDS * GAP_RING <= MEETING_WORDS - 2,
              "room for the gaps, and a word each for deer.cu and sums.cu");

struct border_team {
    real *records; // (4 blocks, RECORD) of this replica: blocks, in turns; what each has before it in its
                   // group; groups
    unsigned long long
        *starts; // (2, blocks, M, WORDS): each block's first `in`, by direction, tagged with the comparison
    unsigned *arrived; // (MEETING_WORDS): the barrier's count, then (GAP_RING, GAP_WORDS) gaps
    int local; // where in shared memory there is room for one record and those of a group and of all groups;
               // 0: nowhere
    int group; // blocks of a group
    unsigned blocks;
    int block;
    border_count *count;
};

// One direction of travel, as a block sees it.
struct border_side {
    border_memory &memory;
    chain_memory &chain;
    const real (*tangent)[MATRIX]; // X of each warp's stretch
    border_team team;
};

// The number of this block in the direction of travel.
INLINE int travel(const border_team &team, bool back)
{
    return back ? (int)team.blocks - 1 - team.block : team.block;
}

INLINE void meet(const border_team &team)
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
struct link {
#if NEWTON
    real a[M];
#else
    real a;
#endif
    real shift;
    bool dead; // a counts as zero
};

// Where a thread sits in a chain; asked for once, because the question takes longer than a link.
struct chain_seat {
    int row; // of the vector; M or above: none
    int slot;
    real *vector; // of the slot, in two places, SLOTS * MP apart
};

#if NEWTON
INLINE chain_seat take_seat(chain_memory &chain)
{
    const int thread = own_thread();
    return {thread % SLOT_LANES, thread / SLOT_LANES, chain.vector[0][thread / SLOT_LANES]};
}

template <bool TRANSPOSED>
INLINE link load_link(const chain_seat &seat, const real *X, const real *shift, bool dead)
{
    const int row = seat.row < M ? seat.row : 0;
    link l;
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
    l.dead = dead;
    return l;
}

// By whole warps.  turn: the places of vectors take turns, so that nobody waits before writing.
INLINE real apply_link(const chain_seat &seat, const link &l, real value, int turn)
{
    real *vector = seat.vector + (turn & 1) * (SLOTS * MP), even = 0, odd = 0;
    if (seat.row < M)
        vector[seat.row] = value;
    __syncwarp();
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
        const real4 four = load4(vector + 4 * q);
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (4 * q + k < M)
                (k % 2 == 0 ? even : odd) += l.a[4 * q + k < M ? 4 * q + k : 0] * four.a[k];
    }
    return l.dead ? real(0) : even + odd;
}
#else
INLINE chain_seat take_seat(chain_memory &)
{
    return {own_thread(), 0, nullptr};
}

template <bool TRANSPOSED>
INLINE link load_link(const chain_seat &seat, const real *X, const real *shift, bool dead)
{
    const int row = seat.row < M ? seat.row : 0;
    return {X[row], shift[row], dead};
}

INLINE real apply_link(const chain_seat &, const link &l, real value, int)
{
    return l.dead ? real(0) : l.a * value;
}
#endif

// Take a value through `count` maps; affine: with their shifts.  link_at(i): this lane's row of map i, which
// is loaded one map ahead. see(i, value): what comes to map i.
template <class source, class sight>
INLINE real send_along(const chain_seat &seat, real value, int count, bool affine, source link_at, sight see)
{
    link next = link_at(0); // also of none: anything that can be read
#pragma unroll 2
    for (int i = 0; i < count; i++) {
        const link now = next;
        next = link_at(i + 1 < count ? i + 1 : i);
        see(i, value);
        value = apply_link(seat, now, value, i) + (affine ? now.shift : real(0));
    }
#if NEWTON
    __syncwarp();
#endif
    return value;
}

template <class source>
INLINE real send_along(const chain_seat &seat, real value, int count, bool affine, source link_at)
{
    return send_along(seat, value, count, affine, link_at, [](int, real) {});
}

// The product of `count` maps, column by column, the last of which is its shift.  keep(i, entry, value): this
// thread's entries of the record of the first i of them.  Returns the largest |entry| of X, magnitude bits,
// that this thread has of all of them.
template <class source, class keeping>
INLINE unsigned compose(const chain_seat &seat, int count, source link_at, keeping keep)
{
    unsigned largest = 0;
#if NEWTON
    for (int first = 0; first <= M; first += SLOTS) {
        if (first + own_warp() * (32 / SLOT_LANES) > M) // no column for this warp
            break;
        const int column = first + seat.slot, entry = column < M ? seat.row * MS + column : MATRIX + seat.row;
        const bool mine = seat.row < M && column <= M;
        const auto see = [&](int i, real value) {
            if (mine)
                keep(i, entry, value);
        };
        const real value = send_along(seat, seat.row == column ? 1 : 0, count, column == M, link_at, see);
        see(count, value);
        if (mine && column < M)
            largest = max(largest, magnitude_bits(value));
    }
#else
    const bool mine = seat.row < M;
    for (int part = 0; part < 2; part++) {
        const auto see = [&](int i, real value) {
            if (mine)
                keep(i, part * MATRIX + seat.row, value);
        };
        const real value = send_along(seat, 1 - part, count, part == 1, link_at, see);
        see(count, value);
        if (mine && part == 0)
            largest = magnitude_bits(value);
    }
#endif
    return largest;
}

// The threads that take delta along: a warp, or one per latent unit.
INLINE bool takes_delta()
{
    return NEWTON ? own_warp() == 0 : own_thread() < M;
}

INLINE link link_of_record(const chain_seat &seat, const real *record)
{
    return load_link<false>(seat, record, record + MATRIX, false);
}

// Of a stretch of this block.  plain: ends are handed on as they are.
template <bool BACK>
INLINE link link_of_stretch(const chain_seat &seat, const border_side &side, bool plain, int place)
{
    const int warp = BACK ? WARPS - 1 - place : place;
    return load_link<BACK>(seat, side.tangent[warp], side.memory.shift[place],
                           plain || side.memory.closed[place]);
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
    leave_word(to, (unsigned)bits, tag);
    leave_word(to + 1, (unsigned)(bits >> 32), tag);
#else
    leave_word(to, __float_as_uint(value), tag);
#endif
}

INLINE unsigned wait_for_word(const unsigned long long *from, unsigned tag)
{
    unsigned long long word;
    do
        word = look_at_word(from);
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
INLINE void tell_start(const border_team &team, bool back, int m, real in)
{
    leave_real(start_of(team, back, travel(team, back)) + m * WORDS, in, team.count->round + 1);
}

// When all blocks are done: the next launch counts from the beginning.
INLINE void forget_starts(const border_team &team)
{
    for (int i = own_thread(); i < 2 * M * WORDS; i += THREADS)
        leave_word(start_of(team, i >= M * WORDS, travel(team, i >= M * WORDS)) + i % (M * WORDS), 0, 0);
}

INLINE unsigned *gap_words(const border_team &team, unsigned round)
{
    return team.arrived + 1 + round % GAP_RING * GAP_WORDS;
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
INLINE void compare_ends(const border_side &side, bool back, int place, const int (&row)[ROW_BLOCKS],
                         const real (&out)[ROW_BLOCKS], bool shadow)
{
    border_memory &border = side.memory;
    const border_team &team = side.team;
    const bool last = place == WARPS - 1, closed = border.closed[place];
    unsigned jump = 0, start = 0, size = 0;
    if (own_thread() == 0)
        border.jump = border.size = border.beyond = border.reach = 0;
    __syncthreads();
    if (!shadow) {
#pragma unroll
        for (int k = 0; k < ROW_BLOCKS; k++)
            if (row[k] >= 0) {
                const real next =
                    closed ? out[k]
                    : last ? wait_for_real(start_of(team, back, travel(team, back) + 1) + row[k] * WORDS,
                                           team.count->round + 1)
                           : border.in[place + 1][row[k]];
                const real gap = closed ? real(0) : out[k] - next;
                border.shift[place][row[k]] = gap;
                jump = max(jump, magnitude_bits(gap));
                start = max(start, magnitude_bits(border.in[place][row[k]]));
                size = max(size, magnitude_bits(out[k]));
            }
        jump = __reduce_max_sync(ALL_LANES, jump);
        start = __reduce_max_sync(ALL_LANES, start);
        size = __reduce_max_sync(ALL_LANES, size);
        if (own_thread() % 32 == 0) {
            atomicMax(&border.jump, jump);
            atomicMax(&border.size, size);
            if (!is_rounding(jump, max(start, size)))
                atomicMax(&border.beyond, jump);
        }
    }
    __syncthreads();
    if (own_thread() == 0) {
        const unsigned round = border.round = team.count->round++;
        unsigned *gap = gap_words(team, round);
        atomicMax(gap + GAP_JUMP, border.jump);
        atomicMax(gap + GAP_SIZE, border.size);
        if (border.beyond > 0)
            atomicMax(gap + GAP_BEYOND, border.beyond);
        if (team.block == 0) {
            unsigned *later = gap_words(team, round + 3);
            __stcg(later + GAP_JUMP, 0u);
            __stcg(later + GAP_SIZE, 0u);
            __stcg(later + GAP_BEYOND, 0u);
            __stcg(later + GAP_REACH, 0u);
        }
    }
}

// round: the number of a comparison after which there was a barrier; reach: if that was the barrier of
// `publish`.
INLINE border_gap gap_of(const border_team &team, unsigned round)
{
    const unsigned *gap = gap_words(team, round);
    return {real(__uint_as_float(__ldcg(gap + GAP_JUMP))), real(__uint_as_float(__ldcg(gap + GAP_SIZE))),
            real(__uint_as_float(__ldcg(gap + GAP_BEYOND))), __uint_as_float(__ldcg(gap + GAP_REACH))};
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
INLINE const real *find_records(const border_team &team, const real *records, int place)
{
    return team.local == 0 ? records
                           : reinterpret_cast<const real *>(block_bytes() + team.local) + place * RECORD;
}

// Have `count` records copied to a place.
INLINE void send_for_records(const border_team &team, const real *records, int count, int place)
{
    if (team.local == 0)
        return;
    constexpr int words = RECORD / 4 * (int)(sizeof(real4) / 16);
    uint4 *room = reinterpret_cast<uint4 *>(block_bytes() + team.local) + place * words;
#pragma unroll 1
    for (int i = own_thread(); i < count * words; i += THREADS)
        copy_quad_ahead(room + i, reinterpret_cast<const uint4 *>(records) + i);
}

// Wait for them.
INLINE void receive_records()
{
    copy_commit();
    copy_wait<0>();
    __syncthreads();
}

// Places of records in shared memory.
enum { PLACE_BEFORE, PLACE_MORE }; // that of the block before; those of a group, or of some blocks before
#define PLACE_GROUPS 0             // those of groups, and one more, when the others are not needed any more

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
INLINE void send_for_neighbours(const border_team &team, bool back)
{
    const int block = travel(team, back);
    const real *records = block_records(team, team.count->phase - 1) + (size_t)block * RECORD;
    if (block > 0)
        send_for_records(team, records - RECORD, 1, PLACE_BEFORE);
    if (block % team.group == 0 && team.group < (int)team.blocks)
        send_for_records(team, records, end_of_group(team, block) - block, PLACE_MORE);
}

// What a map may change a correction by and count as zero: rounding alone, as for gaps.
#define FORGOTTEN float(ROUNDING)

// Put this block's stretches together for the others, and meet them.
template <bool BACK> INLINE void publish(const border_side &side, bool plain)
{
    const border_team &team = side.team;
    const chain_seat seat = take_seat(side.chain);
    copy_commit();
    copy_wait<0>(); // what nobody has asked for after the last meeting
    real *record = block_records(team, team.count->phase) + (size_t)travel(team, BACK) * RECORD;
    const unsigned largest = compose(
        seat, WARPS, [&](int place) { return link_of_stretch<BACK>(seat, side, plain, place); },
        [&](int i, int entry, real value) {
            if (i < WARPS)
                side.chain.before[i][entry] = value;
            else
                __stcg(record + entry, value);
        });
    if (largest > __float_as_uint(FORGOTTEN / M))
        atomicMax(&side.memory.reach, largest);
    __syncthreads();
    if (own_thread() == 0 && side.memory.reach > 0)
        atomicMax(gap_words(team, side.memory.round) + GAP_REACH, side.memory.reach);
    meet(team);
    send_for_neighbours(team, BACK);
}

// How many blocks before a block matter to it; more than a group has: so many that nobody counted.
INLINE int blocks_that_matter(const border_team &team, float reach)
{
    const float norm = M * reach; // no sum of a row is larger
    int count = 1;
    for (float left = norm; count <= team.group && !(left <= FORGOTTEN); count++)
        left *= norm;
    return count;
}

// The maps of this block's group, put together by its first block: what every block has before it, and all.
// Valid after the next barrier.
INLINE void publish_group(const border_team &team, const chain_seat &seat, bool back)
{
    const int first = travel(team, back), count = end_of_group(team, first) - first;
    const real *blocks =
        find_records(team, block_records(team, team.count->phase - 1) + (size_t)first * RECORD, PLACE_MORE);
    real *before = team.records + (size_t)(2 * team.blocks + first) * RECORD;
    real *whole = team.records + (size_t)(3 * team.blocks + first / team.group) * RECORD;
    compose(
        seat, count, [&](int i) { return link_of_record(seat, blocks + i * RECORD); },
        [&](int i, int entry, real value) {
            __stcg((i < count ? before + i * RECORD : whole) + entry, value);
        });
}

// After `publish`: what reaches this block, on the threads that take delta.  A function of its own, so that
// both directions have the same.
static __device__ __noinline__ real find_delta(border_team team, chain_seat seat, float reach, bool back)
{
    const int block = travel(team, back), group = block / team.group,
              matter = blocks_that_matter(team, reach);
    const bool near = matter <= team.group || team.group >= (int)team.blocks;
    const real *maps = block_records(team, team.count->phase - 1),
               *own = team.records + (size_t)(2 * team.blocks + block) * RECORD;
    int count = near ? (matter < block ? matter : block) : group,
        place = count > 1 ? PLACE_MORE : PLACE_BEFORE;
    receive_records();
    if (!near) {
        if (block == group * team.group)
            publish_group(team, seat, back);
        meet(team);
        maps = team.records + (size_t)3 * team.blocks * RECORD;
        place = PLACE_GROUPS;
        send_for_records(team, own, 1, PLACE_GROUPS + count);
    } else {
        maps += (size_t)(block - count) * RECORD;
    }
    if (!near || count > 1) {
        send_for_records(team, maps, count, place);
        receive_records();
    }
    if (!takes_delta())
        return 0;
    maps = find_records(team, maps, place);
    own = find_records(team, own, PLACE_GROUPS + count);
    return send_along(seat, 0, near ? count : count + 1, true,
                      [&](int i) { return link_of_record(seat, i < count ? maps + i * RECORD : own); });
}

// Number m of what a correction becomes on its way to a stretch.  What a closed stretch does not hand on
// counts as nothing, whatever it is.
INLINE real carried(const real *before, const real *delta, int m)
{
    real sum = before[MATRIX + m];
#if NEWTON
#pragma unroll(LARGE_TILES ? 8 : M)
    for (int j = 0; j < M; j++)
        sum += before[m * MS + j] != 0 ? before[m * MS + j] * delta[j] : real(0);
#else
    sum += before[m] != 0 ? before[m] * delta[m] : real(0);
#endif
    return sum;
}

// After `publish`: correct every `in` of this block.  reach: see border_gap.  mend(place, m, in): what to
// take where `in` is not a number.
template <bool BACK, class mending>
INLINE void correct_starts(const border_side &side, float reach, mending mend)
{
    border_memory &border = side.memory;
    chain_memory &chain = side.chain;
    const chain_seat seat = take_seat(chain);
    const real delta = find_delta(side.team, seat, reach, BACK);
    if (takes_delta() && seat.row < M && seat.slot == 0)
        chain.delta[seat.row] = delta;
    __syncthreads();
    for (int i = own_thread(); i < WARPS * M; i += THREADS) {
        const int place = i / M, m = i % M;
        const real sum = border.in[place][m] + carried(chain.before[place], chain.delta, m),
                   in = is_finite(sum) ? sum : mend(place, m, sum);
        border.in[place][m] = in;
        if (place == 0)
            tell_start(side.team, BACK, m, in);
    }
    __syncthreads();
}

#endif
