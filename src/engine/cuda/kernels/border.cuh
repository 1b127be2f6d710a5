// border.cuh - joins the stretches of time of all warps of a team: one Newton step on all borders.
//
// Stretch p (in the direction of travel) turned `in` into `out`; d out / d in = X_p.  The corrections that make
// every `in` equal the `out` before it obey  delta_{p+1} = X_p delta_p + (out_p - in_{p+1}),  an affine scan: a
// tree over the warps of a block in shared memory, then over the blocks of the team through records in global memory.
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

#define RECORD      (MATRIX + 2 * MP + 4) // X, out of the last, in of the first, then facts:
#define FACT_JUMP   (MATRIX + 2 * MP)     // largest |out - in| inside the block, as a float
#define FACT_SIZE   (FACT_JUMP + 1)       // largest |out|, as a float
#define FACT_CLOSED (FACT_JUMP + 2)       // 1: nothing is handed on to the next block

struct alignas(16) border_memory { // shared
    real map[WARPS][MATRIX];
    real shift[WARPS][MP];  // of the tree; then delta
    real in[WARPS + 1][MP]; // by p; the last row: delta of the block's first stretch
    real fold[CREW][MATRIX];
    real fold_shift[CREW][MP];
    unsigned jump, size;             // magnitude bits, of this block
    unsigned worst_jump, worst_size; // of the team
    bool closed[WARPS];
};

struct border_team {
    real *records; // (2, blocks + 1, RECORD) of this replica
    int local; // where in shared memory there is room for (blocks, RECORD); 0: nowhere
    unsigned *arrived;
    unsigned blocks, phase;
    int block; // in the direction of travel
};

// What a warp brings.
struct border_side {
    int place; // of its stretch in the block, in the direction of travel
    bool shadow;
    real in[ROW_BLOCKS], out[ROW_BLOCKS]; // rows
    bool closed;                          // hands nothing on: the sequence ends here
    real jump;                            // on return: the largest |out - in| of the team
};

extern __shared__ __align__(16) unsigned char bytes[]; // all of the block's

INLINE real *local_records(const border_team &team)
{
    return reinterpret_cast<real *>(bytes + team.local);
}

// Number i of record b.
INLINE real recorded(const border_team &team, const real *records, int b, int i)
{
    return team.local != 0 ? local_records(team)[b * RECORD + i] : __ldcg(records + (size_t)b * RECORD + i);
}

#if NEWTON
// vector: (MP) in shared memory; what lies in its padding does not matter.
INLINE real apply_row(const real *map, const real *vector, int row)
{
    real even = 0, odd = 0;
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
        const real4 a = load4(map + row * MS + 4 * q), b = load4(vector + 4 * q);
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (4 * q + k < M)
                (k % 2 == 0 ? even : odd) += a.a[k] * b.a[k];
    }
    return even + odd;
}

// map_b <- map_b map_a, shift_b <- map_b shift_a + shift_b: first a, then b.  By one warp.
INLINE void compose(const real *map_a, const real *shift_a, real *map_b, real *shift_b, int lane)
{
    const tile_place<32> at = find_tile<32>(lane);
    const tile<32> product = multiply(map_b, map_a, at);
    const real moved = apply_row(map_b, shift_a, lane % M);
    __syncwarp();
    store_tile(map_b, product, at);
    if (lane < M)
        shift_b[lane] += moved;
}

// Trees over any number of nodes: node n is leaf n + leaves - COUNT of a full tree whose first leaves are missing.
INLINE constexpr int leaves_of(int count)
{
    return count <= 1 ? 1 : 2 * leaves_of((count + 1) / 2);
}

// Of two nodes that exist, the right one of which it is itself.  A node below zero takes no part.
template <int COUNT> INLINE bool is_parent(int node, int stride)
{
    return ((node + leaves_of(COUNT) - COUNT + 1) & (2 * stride - 1)) == 0 && node >= stride;
}

template <int COUNT> INLINE void tree_up(real (*map)[MATRIX], real (*shift)[MP], int node, int lane)
{
#pragma unroll 1
    for (int stride = 1; stride < COUNT; stride *= 2) {
        __syncthreads();
        if (is_parent<COUNT>(node, stride))
            compose(map[node - stride], shift[node - stride], map[node], shift[node], lane);
    }
    __syncthreads();
}

// From the delta of the block's first stretch to that of each: memory.shift[p].
INLINE void tree_down(border_memory &memory, int node, int lane)
{
    if (node == WARPS - 1 && lane < M)
        memory.shift[node][lane] = memory.in[WARPS][lane];
#pragma unroll 1
    for (int stride = leaves_of(WARPS) / 2; stride > 0; stride /= 2) {
        __syncthreads();
        if (is_parent<WARPS>(node, stride)) {
            const int r = lane % M;
            const real before = memory.shift[node][r];
            const real left = memory.shift[node - stride][r];
            const real moved = apply_row(memory.map[node - stride], memory.shift[node], r);
            __syncwarp();
            if (lane < M) {
                memory.shift[node - stride][lane] = before;
                memory.shift[node][lane] = moved + left;
            }
        }
    }
    __syncthreads();
}

// Fold this warp's share of the records before `block` into memory.fold.  What other blocks wrote is seen since the barrier.
INLINE void fold_share(border_memory &memory, int block, const real *records)
{
    const int lane = own_thread() % 32, warp = own_thread() / 32, row = lane % M;
    const int share = (block + CREW - 1) / CREW, first = warp * share, last = first + share < block ? first + share : block;
    const tile_place<32> at = find_tile<32>(lane);
    real *map = memory.fold[warp], *vector = memory.fold_shift[warp];
    for (int b = first; b < last; b++) {
        const real *X = records + (size_t)b * RECORD;
        const real gap = X[FACT_CLOSED] != 0 ? real(0) : X[MATRIX + row] - X[RECORD + MATRIX + MP + row];
        const tile<32> product = multiply(X, map, at);
        const real moved = apply_row(X, vector, row);
        __syncwarp();
        store_tile(map, product, at);
        if (lane < M)
            vector[lane] = moved + gap;
        __syncwarp();
    }
}

// delta of this block's first stretch: each warp folds its share of the blocks before this one into one map, the tree
// takes the shares together.  A block that hands nothing on has a zero map and a zero out.
INLINE void fold_blocks(border_memory &memory, const border_team &team, const real *records)
{
    const int lane = own_thread() % 32, warp = own_thread() / 32;
    const tile_place<32> at = find_tile<32>(lane);
    store_tile(memory.fold[warp], identity_tile(at), at);
    if (lane < M)
        memory.fold_shift[warp][lane] = 0;
    __syncwarp();
    if (team.local != 0)
        fold_share(memory, team.block, local_records(team));
    else
        fold_share(memory, team.block, records);
    tree_up<CREW>(memory.fold, memory.fold_shift, warp, lane);
    if (warp == 0 && lane < M)
        memory.in[WARPS][lane] = memory.fold_shift[CREW - 1][lane];
    __syncthreads();
}

// The block as one map: X in map[WARPS - 1], shift in shift[WARPS - 1].
INLINE void gather_block(border_memory &memory, int node, int lane)
{
    tree_up<WARPS>(memory.map, memory.shift, node, lane);
}

INLINE const real *block_map(const border_memory &memory)
{
    return memory.map[WARPS - 1];
}

INLINE const real *block_shift(const border_memory &memory)
{
    return memory.shift[WARPS - 1];
}
#else
// The block as one map: in fold[0] and fold_shift[0], one thread per latent unit.
INLINE void gather_block(border_memory &memory, int, int)
{
    __syncthreads();
    const int m = own_thread();
    if (m < M) {
        real map = 1, shift = 0;
        for (int p = 0; p < WARPS; p++) {
            shift = memory.map[p][m] * shift + memory.shift[p][m];
            map *= memory.map[p][m];
        }
        memory.fold[0][m] = map;
        memory.fold_shift[0][m] = shift;
    }
    __syncthreads();
}

INLINE const real *block_map(const border_memory &memory)
{
    return memory.fold[0];
}

INLINE const real *block_shift(const border_memory &memory)
{
    return memory.fold_shift[0];
}

// One thread per latent unit and segment of blocks; the segments are then taken together.
INLINE void fold_blocks(border_memory &memory, const border_team &team, const real *records)
{
    constexpr int width = (M + 31) / 32 * 32, room = THREADS / width, segments = room > WARPS ? WARPS : room;
    const int m = own_thread() % width, segment = own_thread() / width;
    const int share = (team.block + segments - 1) / segments;
    if (m < M && segment < segments) {
        const int first = segment * share, last = first + share < team.block ? first + share : team.block;
        real map = 1, shift = 0;
#pragma unroll 8
        for (int b = first; b < last; b++) {
            const real X = recorded(team, records, b, m);
            const real out = recorded(team, records, b, MATRIX + m), next = recorded(team, records, b + 1, MATRIX + MP + m);
            shift = X * shift + (recorded(team, records, b, FACT_CLOSED) != 0 ? real(0) : out - next);
            map *= X;
        }
        memory.fold[segment][m] = map;
        memory.fold_shift[segment][m] = shift;
    }
    __syncthreads();
    if (own_thread() < M) {
        real delta = 0;
        for (int i = 0; i < segments; i++)
            delta = memory.fold[i][own_thread()] * delta + memory.fold_shift[i][own_thread()];
        memory.in[WARPS][own_thread()] = delta;
    }
    __syncthreads();
}

INLINE void tree_down(border_memory &memory, int, int)
{
    const int m = own_thread();
    if (m < M) {
        real delta = memory.in[WARPS][m];
        for (int p = 0; p < WARPS; p++) {
            const real next = memory.map[p][m] * delta + memory.shift[p][m];
            memory.shift[p][m] = delta;
            delta = next;
        }
    }
    __syncthreads();
}
#endif

// Lay down what this warp brings: memory.map[p] is in place already (zero when nothing is handed on).
INLINE void lay_down(border_memory &memory, const border_side &side, const int (&row)[ROW_BLOCKS])
{
    const int p = side.place;
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        if (row[k] >= 0)
            memory.in[p][row[k]] = side.in[k];
    __syncthreads();
    if (side.shadow)
        return;
    unsigned jump = 0, size = 0;
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        if (row[k] >= 0) {
            const bool last = p == WARPS - 1;
            const real gap = side.out[k] - (last ? real(0) : memory.in[p + 1][row[k]]);
            memory.shift[p][row[k]] = side.closed ? real(0) : gap;
            if (!last && !side.closed)
                jump = max(jump, magnitude_bits(gap));
            size = max(size, magnitude_bits(side.out[k]));
        }
    jump = __reduce_max_sync(ALL_LANES, jump);
    size = __reduce_max_sync(ALL_LANES, size);
    if (own_thread() % 32 == 0) {
        atomicMax(&memory.jump, jump);
        atomicMax(&memory.size, size);
        memory.closed[p] = side.closed;
    }
}

INLINE void publish(const border_memory &memory, real *record)
{
    for (int i = own_thread(); i < MATRIX; i += THREADS)
        __stcg(record + i, block_map(memory)[i]);
    if (own_thread() < M) {
        __stcg(record + MATRIX + own_thread(), block_shift(memory)[own_thread()]);
        __stcg(record + MATRIX + MP + own_thread(), memory.in[0][own_thread()]);
    }
    if (own_thread() == 0) {
        __stcg(record + FACT_JUMP, (real)__uint_as_float(memory.jump));
        __stcg(record + FACT_SIZE, (real)__uint_as_float(memory.size));
        __stcg(record + FACT_CLOSED, memory.closed[WARPS - 1] ? real(1) : real(0));
    }
}

// Have the records of the team copied into shared memory, where there is room for them: first the vectors of all, which
// are there on return, then X of the blocks before this one, which `copy_wait` waits for.
INLINE void fetch_records(const border_team &team, const real *records)
{
    if (team.local == 0)
        return;
    constexpr int words = sizeof(real4) / 16, tail = (RECORD - MATRIX) / 4 * words, head = MATRIX / 4 * words;
    const uint4 *from = reinterpret_cast<const uint4 *>(records);
    uint4 *to = reinterpret_cast<uint4 *>(bytes + team.local);
    for (int i = own_thread(); i < (int)team.blocks * tail; i += THREADS) {
        const int at = i / tail * (head + tail) + head + i % tail;
        copy_quad_ahead(to + at, from + at);
    }
    copy_commit();
    for (int i = own_thread(); i < team.block * head; i += THREADS) {
        const int at = i / head * (head + tail) + i % head;
        copy_quad_ahead(to + at, from + at);
    }
    copy_commit();
    copy_wait<1>();
    __syncthreads();
}

// The largest jump and the largest |out| of the whole team: the same numbers in every block.  They are complete after
// the next __syncthreads.
INLINE void survey(border_memory &memory, const border_team &team, const real *records)
{
    const int lane = own_thread() % 32, warp = own_thread() / 32;
    unsigned jump = 0, size = 0;
    for (int b = own_thread(); b < (int)team.blocks; b += THREADS) {
        jump = max(jump, magnitude_bits(recorded(team, records, b, FACT_JUMP)));
        size = max(size, magnitude_bits(recorded(team, records, b, FACT_SIZE)));
    }
#pragma unroll 4
    for (int b = warp; b < (int)team.blocks - 1; b += CREW)
        for (int m = lane; m < M; m += 32) {
            const real gap = recorded(team, records, b, MATRIX + m) - recorded(team, records, b + 1, MATRIX + MP + m);
            jump = max(jump, recorded(team, records, b, FACT_CLOSED) != 0 ? 0u : magnitude_bits(gap));
        }
    jump = __reduce_max_sync(ALL_LANES, jump);
    size = __reduce_max_sync(ALL_LANES, size);
    if (own_thread() % 32 == 0) {
        atomicMax(&memory.worst_jump, jump);
        atomicMax(&memory.worst_size, size);
    }
}

// True when the pass was exact to max(absolute, relative * largest |out|); rounding alone is always allowed.
INLINE bool settled(const border_memory &memory, real absolute, real relative)
{
    const real floor = 16 * EPSILON, share = relative > floor ? relative : floor;
    const real allowed = share * __uint_as_float(memory.worst_size);
    return __uint_as_float(memory.worst_jump) <= (allowed > absolute ? allowed : absolute);
}

// Look at all borders and correct side.in so that it meets the out before it; memory.map[side.place] is in place.
// True: they met already, and side.in stays as it is.
INLINE bool join_borders(border_memory &memory, border_team &team, border_side &side, real absolute, real relative)
{
    const int lane = own_thread() % 32, node = side.shadow ? -1 : side.place;
    int row[ROW_BLOCKS];
    find_rows(row, side.shadow ? M + 32 : lane);
    real *records = team.records + (size_t)(team.phase & 1) * (team.blocks + 1) * RECORD;
    if (own_thread() == 0)
        memory.jump = memory.size = memory.worst_jump = memory.worst_size = 0;
    lay_down(memory, side, row);
    gather_block(memory, node, lane);
    publish(memory, records + (size_t)team.block * RECORD);
    team_barrier(team.arrived, team.blocks, team.phase);
    fetch_records(team, records);
    survey(memory, team, records);
    copy_wait<0>();
    __syncthreads();
    fold_blocks(memory, team, records);
    tree_down(memory, node, lane);
    const bool exact = settled(memory, absolute, relative);
    side.jump = __uint_as_float(memory.worst_jump);
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        if (row[k] >= 0 && !exact)
            side.in[k] += memory.shift[side.place][row[k]];
    __syncthreads();
    return exact;
}

#endif
