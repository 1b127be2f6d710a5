// border.cuh - joins the stretches of time of all warps of a team: one Newton step on all borders.
//
// Stretch p (in the direction of travel) turned `in` into `out`; d out / d in = X_p.  The corrections that make
// every `in` equal the `out` before it obey  delta_{p+1} = X_p delta_p + (out_p - in_{p+1}),  a chain of affine maps.
// Products of matrices are not needed: a column of a product is a vector that goes along the chain, and all columns go at once.  So
// a block puts its stretches together into one map, the first block of every group the maps of its group, and then each block sends its delta
// along: over the groups before its own, over the blocks before it in its group, and over its own stretches.
// Forward in is z at the start of a stretch; backward it is the adjoint at its end, and X is transposed.
//
// NEWTON 1: X is a full matrix, M <= 32.  NEWTON 0: its diagonal, kept as (M) numbers.
//
// A block has WARPS warps that run the steps of their stretches.  Full matrices take as long as the steps, so with NEWTON there are
// others beside them, their shadows, that carry X along, each for some of them.
#ifndef ANT_BORDER_CUH
#define ANT_BORDER_CUH

#include "tangent.cuh"

#if NEWTON
#define MATRIX (M * MS)
#else
#define MATRIX MP
#endif

#define SHADOWS    (NEWTON && CHUNKED ? (WARPS + PER_SHADOW - 1) / PER_SHADOW : 0)
#define CREW       (WARPS + SHADOWS) // all warps of a block
#define THREADS    (32 * CREW)

#define RECORD     (MATRIX + MP)         // the map of a block or of a group: X, shift
#define SLOT_LANES (M <= 16 ? 16 : 32)   // lanes that take one column along a chain
#define SLOTS      (THREADS / SLOT_LANES)

struct alignas(16) border_memory { // shared; of one direction of travel
    real in[WARPS][MP];    // by place
    real shift[WARPS][MP]; // out less the next in
    bool closed[WARPS];    // hands nothing on: the sequence ends here
    unsigned jump, size;   // of this block, magnitude bits
};

struct border_count { // shared; the first thread counts
    unsigned phase; // barriers passed
    unsigned round; // comparisons of ends and starts
};

struct alignas(16) chain_memory {
    real vector[2][SLOTS][MP];
    real delta[WARPS][MP]; // of every stretch
};

// What a team says of one comparison of ends and starts: the largest |out - in| and the largest |out|.
struct border_gap {
    real jump, size;
};

// Words for the gaps of the last comparisons.  The first block clears one three comparisons before it is used: a barrier lies
// between, because two comparisons at most follow each other without one, and all have read what it was before.
#define GAP_RING 8
static_assert(1 + 2 * GAP_RING <= MEETING_WORDS, "room for the gaps");

struct border_team {
    real *records;              // (3 blocks, RECORD) of this replica: blocks, in turns; groups
    unsigned long long *starts; // (2, blocks, M, WORDS): each block's first `in`, by direction, tagged with the comparison
    unsigned *arrived;          // (MEETING_WORDS): the barrier's count, then (GAP_RING, 2) gaps
    int local;      // where in shared memory there is room for the records of a group and of all groups; 0: nowhere
    int group;      // blocks of a group
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
    int row;      // of the vector; M or above: none
    int slot;
    real *vector; // of the slot, in two places, SLOTS * MP apart
};

#if NEWTON
INLINE chain_seat take_seat(chain_memory &chain)
{
    const int thread = own_thread();
    return {thread % SLOT_LANES, thread / SLOT_LANES, chain.vector[0][thread / SLOT_LANES]};
}

template <bool TRANSPOSED> INLINE link load_link(const chain_seat &seat, const real *X, const real *shift, bool dead)
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

template <bool TRANSPOSED> INLINE link load_link(const chain_seat &seat, const real *X, const real *shift, bool dead)
{
    const int row = seat.row < M ? seat.row : 0;
    return {X[row], shift[row], dead};
}

INLINE real apply_link(const chain_seat &, const link &l, real value, int)
{
    return l.dead ? real(0) : l.a * value;
}
#endif

// Take a value through `count` maps; affine: with their shifts.  link_at(i): this lane's row of map i, which is loaded one map ahead.
// see(i, value): what comes to map i.
template <class source, class sight> INLINE real send_along(const chain_seat &seat, real value, int count, bool affine, source link_at, sight see)
{
    link next = link_at(0); // also of none: anything that can be read
#pragma unroll 1
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

template <class source> INLINE real send_along(const chain_seat &seat, real value, int count, bool affine, source link_at)
{
    return send_along(seat, value, count, affine, link_at, [](int, real) {});
}

// The product of `count` maps, column by column, the last of which is its shift.
template <class source> INLINE void compose(const chain_seat &seat, real *record, int count, source link_at)
{
#if NEWTON
    for (int first = 0; first <= M; first += SLOTS) {
        if (first + own_warp() * (32 / SLOT_LANES) > M) // no column for this warp
            break;
        const int column = first + seat.slot;
        const real value = send_along(seat, seat.row == column ? 1 : 0, count, column == M, link_at);
        if (seat.row < M && column <= M)
            __stcg(column < M ? record + seat.row * MS + column : record + MATRIX + seat.row, value);
    }
#else
    const real map = send_along(seat, 1, count, false, link_at), shift = send_along(seat, 0, count, true, link_at);
    if (seat.row < M) {
        __stcg(record + seat.row, map);
        __stcg(record + MATRIX + seat.row, shift);
    }
#endif
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
template <bool BACK> INLINE link link_of_stretch(const chain_seat &seat, const border_side &side, bool plain, int place)
{
    const int warp = BACK ? WARPS - 1 - place : place;
    return load_link<BACK>(seat, side.tangent[warp], side.memory.shift[place], plain || side.memory.closed[place]);
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

// Compare every end with the next start: this block's shifts, and the team's gap, which can be read after the next barrier.  place: of
// this warp's stretch; out: its end; rows: none for a shadow.
INLINE void compare_ends(const border_side &side, bool back, int place, const int (&row)[ROW_BLOCKS], const real (&out)[ROW_BLOCKS], bool shadow)
{
    border_memory &border = side.memory;
    const border_team &team = side.team;
    const bool last = place == WARPS - 1, closed = border.closed[place];
    unsigned jump = 0, size = 0;
    if (own_thread() == 0)
        border.jump = border.size = 0;
    __syncthreads();
    if (!shadow) {
#pragma unroll
        for (int k = 0; k < ROW_BLOCKS; k++)
            if (row[k] >= 0) {
                const real next = closed ? out[k]
                                  : last ? wait_for_real(start_of(team, back, travel(team, back) + 1) + row[k] * WORDS, team.count->round + 1)
                                         : border.in[place + 1][row[k]];
                const real gap = closed ? real(0) : out[k] - next;
                border.shift[place][row[k]] = gap;
                jump = max(jump, magnitude_bits(gap));
                size = max(size, magnitude_bits(out[k]));
            }
        jump = __reduce_max_sync(ALL_LANES, jump);
        size = __reduce_max_sync(ALL_LANES, size);
        if (own_thread() % 32 == 0) {
            atomicMax(&border.jump, jump);
            atomicMax(&border.size, size);
        }
    }
    __syncthreads();
    if (own_thread() == 0) {
        const unsigned round = team.count->round++;
        unsigned *gap = team.arrived + 1 + round % GAP_RING * 2;
        atomicMax(gap, border.jump);
        atomicMax(gap + 1, border.size);
        if (team.block == 0) {
            unsigned *later = team.arrived + 1 + (round + 3) % GAP_RING * 2;
            __stcg(later, 0u);
            __stcg(later + 1, 0u);
        }
    }
}

// round: the number of a comparison after which there was a barrier.
INLINE border_gap gap_of(const border_team &team, unsigned round)
{
    const unsigned *gap = team.arrived + 1 + round % GAP_RING * 2;
    return {real(__uint_as_float(__ldcg(gap))), real(__uint_as_float(__ldcg(gap + 1)))};
}

// What a gap may be: max(absolute, relative * largest |out|); rounding alone is always allowed.
INLINE real allowed(const border_gap &gap, real absolute, real relative)
{
    const real floor = 16 * EPSILON, share = (relative > floor ? relative : floor) * gap.size;
    return share > absolute ? share : absolute;
}

// ---- Newton's step ----------------------------------------------------------------------------------------

// Have `count` records copied into shared memory at place `to`; where there is no room they are read where they are.
INLINE const real *fetch_records(const border_team &team, const real *records, int count, int to)
{
    if (team.local == 0)
        return records;
    constexpr int words = RECORD / 4 * (int)(sizeof(real4) / 16);
    uint4 *room = reinterpret_cast<uint4 *>(block_bytes() + team.local) + to * words;
#pragma unroll 1
    for (int i = own_thread(); i < count * words; i += THREADS)
        copy_quad_ahead(room + i, reinterpret_cast<const uint4 *>(records) + i);
    copy_commit();
    copy_wait<0>();
    return reinterpret_cast<const real *>(room);
}

// The records of the blocks, in turns with those of the barrier before, which some may still read.
INLINE real *block_records(const border_team &team, unsigned phase)
{
    return team.records + (size_t)(phase & 1) * team.blocks * RECORD;
}

// Put this block's stretches together for the others, and meet them.
template <bool BACK> INLINE void publish(const border_side &side, bool plain)
{
    const border_team &team = side.team;
    const chain_seat seat = take_seat(side.chain);
    compose(seat, block_records(team, team.count->phase) + (size_t)travel(team, BACK) * RECORD, WARPS,
            [&](int place) { return link_of_stretch<BACK>(seat, side, plain, place); });
    team_barrier(team.arrived, team.blocks, team.count->phase);
}

// After `publish`: what reaches this block, on the threads that take delta.  A function of its own, so that both directions have the same.
static __device__ __noinline__ real find_delta(border_team team, chain_seat seat, bool back)
{
    const int block = travel(team, back), group = block / team.group, first = group * team.group, end = first + team.group;
    const int last = end < (int)team.blocks ? end : (int)team.blocks;
    const bool leads = block == first;
    const real *blocks = fetch_records(team, block_records(team, team.count->phase - 1) + (size_t)first * RECORD, (leads ? last : block) - first, 0);
    const real *groups = nullptr;
    __syncthreads();
    if (team.group < (int)team.blocks) {
        real *all = team.records + (size_t)2 * team.blocks * RECORD;
        if (leads)
            compose(seat, all + (size_t)group * RECORD, last - first, [&](int i) { return link_of_record(seat, blocks + i * RECORD); });
        team_barrier(team.arrived, team.blocks, team.count->phase);
        groups = fetch_records(team, all, group, team.group);
        __syncthreads();
    }
    if (!takes_delta())
        return 0;
    const int before = groups != nullptr ? group : 0;
    return send_along(seat, 0, before + block - first, true, [&](int i) {
        return link_of_record(seat, i < before ? groups + i * RECORD : blocks + (i - before) * RECORD);
    });
}

// After `publish`: correct every `in` of this block.  mend(place, m, in): what to take where `in` is not a number.
template <bool BACK, class mending> INLINE void correct_starts(const border_side &side, bool plain, mending mend)
{
    border_memory &border = side.memory;
    const border_team &team = side.team;
    const chain_seat seat = take_seat(side.chain);
    const real delta = find_delta(team, seat, BACK);
    if (takes_delta()) {
        const bool mine = seat.row < M && seat.slot == 0;
        send_along(seat, delta, WARPS, true, [&](int place) { return link_of_stretch<BACK>(seat, side, plain, place); },
                   [&](int place, real value) {
                       if (mine)
                           side.chain.delta[place][seat.row] = value;
                   });
    }
    __syncthreads();
    for (int i = own_thread(); i < WARPS * M; i += THREADS) {
        const int place = i / M, m = i % M;
        const real sum = border.in[place][m] + side.chain.delta[place][m], in = is_finite(sum) ? sum : mend(place, m, sum);
        border.in[place][m] = in;
        if (place == 0)
            tell_start(team, BACK, m, in);
    }
    __syncthreads();
}

#endif
