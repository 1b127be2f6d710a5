// border.cuh - joins the stretches of time of all warps of a team: one Newton step on all borders.
//
// Stretch p (in the direction of travel) turned `in` into `out`; d out / d in = X_p.  The corrections that make
// every `in` equal the `out` before it obey  delta_{p+1} = X_p delta_p + (out_p - in_{p+1}),  an affine scan: a
// tree over the warps of a block in shared memory, then over the blocks of the team through records in global memory.
// Forward in is z at the start of a stretch; backward it is the adjoint at its end, and X is transposed.
//
// NEWTON 1: X is a full matrix, M <= 32.  NEWTON 0: its diagonal, kept as (M) numbers.
#ifndef ANT_BORDER_CUH
#define ANT_BORDER_CUH

#include "shape.cuh"
#if NEWTON
#include "tangent.cuh"
#define MATRIX (M * MP)
#else
#define MATRIX MP
#endif

#define RECORD      (MATRIX + 2 * MP + 4) // X, out of the last, in of the first, then facts:
#define FACT_JUMP   (MATRIX + 2 * MP)     // largest |out - in| inside the block, as a float
#define FACT_SIZE   (FACT_JUMP + 1)       // largest |out|, as a float
#define FACT_CLOSED (FACT_JUMP + 2)       // 1: nothing is handed on to the next block

struct alignas(16) border_memory { // shared
    real map[WARPS][MATRIX];
    real shift[WARPS][MP];  // of the tree; then delta
    real in[WARPS + 1][MP]; // by p; the last row: delta of the block's first stretch
    real fold[WARPS][MATRIX];
    real fold_shift[WARPS][MP];
    unsigned jump, size;             // magnitude bits, of this block
    unsigned worst_jump, worst_size; // of the team
    bool closed[WARPS];
};

struct border_team {
    real *records; // (2, blocks + 1, RECORD) of this replica
    real *local;   // (blocks, RECORD) in shared memory, or NULL
    unsigned *arrived;
    unsigned blocks, phase;
    int block; // in the direction of travel
};

// What a warp brings.
struct border_side {
    real in[ROW_BLOCKS], out[ROW_BLOCKS]; // rows
    bool closed;                          // hands nothing on: the sequence ends here
    real jump;                            // on return: the largest |out - in| of the team
};

// Number i of record b.
INLINE real recorded(const border_team &team, const real *records, int b, int i)
{
    return team.local != nullptr ? team.local[b * RECORD + i] : __ldcg(records + (size_t)b * RECORD + i);
}

#if NEWTON
// map_b <- map_b map_a, shift_b <- map_b shift_a + shift_b: first a, then b.  By one warp.
INLINE void compose(const real *map_a, const real *shift_a, real *map_b, real *shift_b, int lane)
{
    real column[M];
    const int home = lane % M;
#pragma unroll
    for (int i = 0; i < M; i++)
        column[i] = map_a[i * MP + home];
    real moved = 0;
    if (lane < M)
#pragma unroll
        for (int j = 0; j < M; j++)
            moved += map_b[lane * MP + j] * shift_a[j];
    multiply_columns(map_b, column, lane);
    __syncwarp();
    if (lane < M)
        shift_b[lane] += moved;
    tangent_write(column, map_b, lane);
}

INLINE real apply_row(const real *map, const real *vector, int row)
{
    real sum = 0;
#pragma unroll
    for (int j = 0; j < M; j++)
        sum += map[row * MP + j] * vector[j];
    return sum;
}

// Trees over WARPS nodes of any number: warp w is leaf w + LEAVES - WARPS of a full tree whose first leaves are missing.
#define LEAVES (WARPS <= 1 ? 1 : WARPS <= 2 ? 2 : WARPS <= 4 ? 4 : WARPS <= 8 ? 8 : WARPS <= 16 ? 16 : 32)

INLINE bool is_parent(int warp, int stride) // of two nodes that exist, the right one of which it is itself
{
    return (warp + LEAVES - WARPS + 1) % (2 * stride) == 0 && warp >= stride;
}

INLINE void tree_up(real (*map)[MATRIX], real (*shift)[MP], int warp, int lane)
{
    for (int stride = 1; stride < WARPS; stride *= 2) {
        __syncthreads();
        if (is_parent(warp, stride))
            compose(map[warp - stride], shift[warp - stride], map[warp], shift[warp], lane);
    }
    __syncthreads();
}

// From the delta of the block's first stretch to that of each: memory.shift[p].
INLINE void tree_down(border_memory &memory, int warp, int lane)
{
    if (warp == WARPS - 1 && lane < M)
        memory.shift[warp][lane] = memory.in[WARPS][lane];
    for (int stride = LEAVES / 2; stride > 0; stride /= 2) {
        __syncthreads();
        if (is_parent(warp, stride)) {
            const int r = lane % M;
            const real before = memory.shift[warp][r];
            const real left = memory.shift[warp - stride][r];
            const real moved = apply_row(memory.map[warp - stride], memory.shift[warp], r);
            __syncwarp();
            if (lane < M) {
                memory.shift[warp - stride][lane] = before;
                memory.shift[warp][lane] = moved + left;
            }
        }
    }
    __syncthreads();
}

// delta of this block's first stretch: each warp folds its share of the blocks before this one into one map, the tree
// takes the shares together.  A block that hands nothing on has a zero map and a zero out.
INLINE void fold_blocks(border_memory &memory, const border_team &team, const real *records, int warp, int lane)
{
    const int share = (team.block + WARPS - 1) / WARPS, row = lane % M;
    const int first = warp * share, last = first + share < team.block ? first + share : team.block;
    real *map = memory.fold[warp], *vector = memory.fold_shift[warp];
    real column[M], shift = 0; // of the fold so far; shift: lane i has row i
#pragma unroll
    for (int i = 0; i < M; i++)
        column[i] = i == row ? 1 : 0;
    for (int b = first; b < last; b++) {
        const real *X = team.local + b * RECORD;
        const real out = recorded(team, records, b, MATRIX + row), next = recorded(team, records, b + 1, MATRIX + MP + row);
        const bool closed = recorded(team, records, b, FACT_CLOSED) != 0;
        __syncwarp();
        if (lane < M)
            vector[lane] = shift;
        if (team.local == nullptr) {
            for (int i = lane; i < MATRIX / 4; i += 32)
                store4(map + 4 * i, load4_fresh(records + (size_t)b * RECORD + 4 * i));
            X = map;
        }
        __syncwarp();
        multiply_columns(X, column, lane);
        shift = apply_row(X, vector, row) + (closed ? real(0) : out - next);
    }
    __syncwarp();
    tangent_write(column, map, lane);
    if (lane < M)
        vector[lane] = shift;
    tree_up(memory.fold, memory.fold_shift, warp, lane);
    if (warp == 0 && lane < M)
        memory.in[WARPS][lane] = memory.fold_shift[WARPS - 1][lane];
    __syncthreads();
}

// The block as one map: X in map[WARPS - 1], shift in shift[WARPS - 1].
INLINE void gather_block(border_memory &memory, int warp, int lane)
{
    tree_up(memory.map, memory.shift, warp, lane);
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
    const int m = threadIdx.x;
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
INLINE void fold_blocks(border_memory &memory, const border_team &team, const real *records, int, int)
{
    constexpr int width = (M + 31) / 32 * 32, room = 32 * WARPS / width, segments = room > WARPS ? WARPS : room;
    const int m = threadIdx.x % width, segment = threadIdx.x / width;
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
    if (threadIdx.x < M) {
        real delta = 0;
        for (int i = 0; i < segments; i++)
            delta = memory.fold[i][threadIdx.x] * delta + memory.fold_shift[i][threadIdx.x];
        memory.in[WARPS][threadIdx.x] = delta;
    }
    __syncthreads();
}

INLINE void tree_down(border_memory &memory, int, int)
{
    const int m = threadIdx.x;
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
INLINE void lay_down(border_memory &memory, const border_side &side, const int (&row)[ROW_BLOCKS], int p)
{
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        if (row[k] >= 0)
            memory.in[p][row[k]] = side.in[k];
    __syncthreads();
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
    if (threadIdx.x % 32 == 0) {
        atomicMax(&memory.jump, jump);
        atomicMax(&memory.size, size);
        memory.closed[p] = side.closed;
    }
}

INLINE void publish(const border_memory &memory, real *record)
{
    for (int i = threadIdx.x; i < MATRIX; i += 32 * WARPS)
        __stcg(record + i, block_map(memory)[i]);
    if (threadIdx.x < M) {
        __stcg(record + MATRIX + threadIdx.x, block_shift(memory)[threadIdx.x]);
        __stcg(record + MATRIX + MP + threadIdx.x, memory.in[0][threadIdx.x]);
    }
    if (threadIdx.x == 0) {
        __stcg(record + FACT_JUMP, (real)__uint_as_float(memory.jump));
        __stcg(record + FACT_SIZE, (real)__uint_as_float(memory.size));
        __stcg(record + FACT_CLOSED, memory.closed[WARPS - 1] ? real(1) : real(0));
    }
}

// Have the records of the team copied into shared memory, where there is room for them: first the vectors of all, which
// are there on return, then X of the blocks before this one, which `copy_wait` waits for.
INLINE void fetch_records(const border_team &team, const real *records)
{
    if (team.local == nullptr)
        return;
    constexpr int words = sizeof(real4) / 16, tail = (RECORD - MATRIX) / 4 * words, head = MATRIX / 4 * words;
    const uint4 *from = reinterpret_cast<const uint4 *>(records);
    uint4 *to = reinterpret_cast<uint4 *>(team.local);
    for (int i = threadIdx.x; i < (int)team.blocks * tail; i += 32 * WARPS) {
        const int at = i / tail * (head + tail) + head + i % tail;
        copy_quad_ahead(to + at, from + at);
    }
    copy_commit();
    for (int i = threadIdx.x; i < team.block * head; i += 32 * WARPS) {
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
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned jump = 0, size = 0;
    for (int b = threadIdx.x; b < (int)team.blocks; b += 32 * WARPS) {
        jump = max(jump, magnitude_bits(recorded(team, records, b, FACT_JUMP)));
        size = max(size, magnitude_bits(recorded(team, records, b, FACT_SIZE)));
    }
#pragma unroll 4
    for (int b = warp; b < (int)team.blocks - 1; b += WARPS)
        for (int m = lane; m < M; m += 32) {
            const real gap = recorded(team, records, b, MATRIX + m) - recorded(team, records, b + 1, MATRIX + MP + m);
            jump = max(jump, recorded(team, records, b, FACT_CLOSED) != 0 ? 0u : magnitude_bits(gap));
        }
    jump = __reduce_max_sync(ALL_LANES, jump);
    size = __reduce_max_sync(ALL_LANES, size);
    if (threadIdx.x % 32 == 0) {
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

// Look at all borders and correct side.in so that it meets the out before it.  p: this warp's place in its block in the
// direction of travel; memory.map[p] is in place.  True: they met already, and side.in stays as it is.
INLINE bool join_borders(border_memory &memory, border_team &team, border_side &side, const int (&row)[ROW_BLOCKS], int p,
                         real absolute, real relative)
{
    const int lane = threadIdx.x % 32;
    real *records = team.records + (size_t)(team.phase & 1) * (team.blocks + 1) * RECORD;
    if (threadIdx.x == 0)
        memory.jump = memory.size = memory.worst_jump = memory.worst_size = 0;
    lay_down(memory, side, row, p);
    gather_block(memory, p, lane);
    publish(memory, records + (size_t)team.block * RECORD);
    team_barrier(team.arrived, team.blocks, team.phase);
    fetch_records(team, records);
    survey(memory, team, records);
    copy_wait<0>();
    __syncthreads();
    fold_blocks(memory, team, records, p, lane);
    tree_down(memory, p, lane);
    const bool exact = settled(memory, absolute, relative);
    side.jump = __uint_as_float(memory.worst_jump);
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        if (row[k] >= 0 && !exact)
            side.in[k] += memory.shift[p][row[k]];
    __syncthreads();
    return exact;
}

#endif
