// affine_chain.cuh - chains of affine maps x -> X x + shift, by all threads of a block: a vector taken
// through a chain, and a chain composed into one map.
//
// NEWTON 1: X is a full matrix, M <= 32.  NEWTON 0: its diagonal, stored as (M) numbers.
// alone: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=1 -DSEGMENTED=1 -DSHARED_LIMIT=232448
#ifndef ANT_AFFINE_CHAIN_CUH
#define ANT_AFFINE_CHAIN_CUH

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
#define CHAIN_LANES  (M <= 16 ? 16 : 32) // lanes that take one column through a chain
#define CHAIN_GROUPS (THREADS / CHAIN_LANES)

struct alignas(16) chain_shared {
    real vector[2][CHAIN_GROUPS][MP];
    real exclusive[WARPS][RECORD]; // by order: exclusive prefixes, the composed maps of the segments before
    real delta[MP];                // at the first one
};

// One row of an affine map, on one lane: value -> a value + shift.
struct affine_row {
#if NEWTON
    real a[M];
#else
    real a;
#endif
    real shift;
    bool constant; // a counts as zero
};

// The position of a thread in a chain; found once, because finding it takes longer than applying a map.
struct chain_position {
    int row; // of the vector; M or above: none
    int group_index;
    real *vector; // of its group, in two buffers, CHAIN_GROUPS * MP apart
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

// By whole warps.  turn: the two buffers take turns, so that one barrier per map is enough.
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
// loaded one map in advance.  visit(i, value): called with the value before map i.
template <class map_source, class visitor>
INLINE real apply_chain(const chain_position &position, real value, int count, bool affine,
                        map_source map_row_at, visitor visit)
{
    affine_row next = map_row_at(0); // with count = 0 too: any row that can be read
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

// Compose `count` maps, column by column; the last column is the shift.  keep(i, entry, value): this thread's
// entries of the composition of the first i maps.  Returns the largest |entry| of the whole X that this
// thread holds, magnitude bits.
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

// The threads that carry delta: one warp, or one thread per latent unit.
INLINE bool takes_delta()
{
    return NEWTON ? warp_index() == 0 : thread_index() < M;
}

INLINE affine_row affine_row_of_record(const chain_position &position, const real *record)
{
    return load_affine_row<false>(position, record, record + MATRIX, false);
}

#endif
