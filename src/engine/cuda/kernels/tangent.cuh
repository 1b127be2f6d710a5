// tangent.cuh - the derivative of a stretch of time, X = dz_end / dz_start, carried along by some lanes of a warp.
//
// A step's Jacobian is J = (diag(A) + W D V) P_a with P_a = I - a B+ B (SPEC 3).  From one step to the next only
// a few hidden units switch, and each switch changes J by a rank-one matrix, so J is kept and corrected instead of
// being formed anew: M^2 operations per switch instead of M^2 L per step.
//
// Matrices lie in shared memory by rows, (M, MS).
#ifndef ANT_TANGENT_CUH
#define ANT_TANGENT_CUH

#include "shape.cuh"

#define MS (MP % 8 == 0 ? MP + 4 : MP) // from row to row of a matrix; quads of different rows lie in different banks

#define PER_SHADOW    2 // stretches whose derivatives one warp carries, each by a group of lanes
#define TANGENT_LANES (32 / PER_SHADOW)

// Where J fits into registers, every lane has all of it and one column of X, and lanes need nothing of each other.
#define WHOLE_J (M <= TANGENT_LANES && M * M * REGISTERS_PER_REAL <= 64)

#if WHOLE_J
struct tangent {
    real jacobian[M][M];
    real column[M];        // of X
    unsigned masks[MASKS]; // that the Jacobian stands for
    real strength;         // a, that it stands for
};

INLINE void tangent_begin(tangent &t, int lane, real *, real *)
{
    t.strength = -1; // of no step: the first one resets
#pragma unroll
    for (int i = 0; i < M; i++)
        t.column[i] = i == lane % TANGENT_LANES ? 1 : 0;
}

INLINE void tangent_fill(tangent &t, const real *pack)
{
#pragma unroll
    for (int i = 0; i < M; i++)
#pragma unroll
        for (int j = 0; j < M; j++)
            t.jacobian[i][j] = (1 + pack[PACK_A1 + i]) * ((i == j ? real(1) : real(0)) - t.strength * pack[PACK_Q + i * MP + j]);
}

// Add `sign` times the rank-one matrix of hidden unit `unit`.
INLINE void tangent_switch(tangent &t, const real *pack, int unit, real sign)
{
    real row[MP], w[MP];
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
        const real4 v = load4(pack + PACK_V + 4 * (q * LS + unit)), vq = load4(pack + PACK_VQ + 4 * (q * LS + unit));
        const real4 out = load4(pack + PACK_W + 4 * (q * LS + unit));
#pragma unroll
        for (int k = 0; k < 4; k++) {
            row[4 * q + k] = v.a[k] - t.strength * vq.a[k];
            w[4 * q + k] = sign * out.a[k];
        }
    }
#pragma unroll
    for (int i = 0; i < M; i++)
#pragma unroll
        for (int j = 0; j < M; j++)
            t.jacobian[i][j] += w[i] * row[j];
}

// X <- J X.
INLINE void tangent_advance(tangent &t, bool acts)
{
    real next[M];
#pragma unroll
    for (int i = 0; i < M; i++) {
        next[i] = 0;
#pragma unroll
        for (int j = 0; j < M; j++)
            next[i] += t.jacobian[i][j] * t.column[j];
    }
#pragma unroll
    for (int i = 0; i < M; i++)
        t.column[i] = acts ? next[i] : t.column[i];
}

INLINE void tangent_end(const tangent &t, int lane, real *X)
{
    const int column = lane % TANGENT_LANES;
#pragma unroll
    for (int i = 0; i < M; i++)
        if (column < M)
            X[i * MS + column] = t.column[i];
}
#else
// Otherwise a lane has a tile of J, some rows and four columns, and X goes through shared memory.
static __device__ constexpr int tile_rows()
{
    int rows = 1;
    while (rows < M && (M + rows - 1) / rows * QUADS > TANGENT_LANES)
        rows++;
    return rows;
}

#define TILE_ROWS   tile_rows()                         // rows `row`, row + TILE_STRIDE, ...
#define TILE_STRIDE ((M + TILE_ROWS - 1) / TILE_ROWS)

struct tile {
    real a[TILE_ROWS][4];
};

struct tile_place {
    int row, quad;
    bool here; // false: this lane has none
};

INLINE tile_place find_tile(int lane)
{
    const int row = lane % TANGENT_LANES / QUADS;
    return {row < TILE_STRIDE ? row : 0, lane % TANGENT_LANES % QUADS, row < TILE_STRIDE};
}

INLINE void store_tile(real *to, const tile &from, tile_place at)
{
#pragma unroll
    for (int r = 0; r < TILE_ROWS; r++) {
        const int i = at.row + r * TILE_STRIDE;
        if (at.here && (M % TILE_ROWS == 0 || i < M))
            store4(to + i * MS + 4 * at.quad, real4{from.a[r][0], from.a[r][1], from.a[r][2], from.a[r][3]});
    }
}

INLINE tile identity_tile(tile_place at)
{
    tile out;
#pragma unroll
    for (int r = 0; r < TILE_ROWS; r++)
#pragma unroll
        for (int k = 0; k < 4; k++)
            out.a[r][k] = at.row + r * TILE_STRIDE == 4 * at.quad + k ? real(1) : real(0);
    return out;
}

// This lane's tile of left right.
INLINE tile multiply(const real *left, const real *right, tile_place at)
{
    tile out;
#pragma unroll
    for (int r = 0; r < TILE_ROWS; r++)
#pragma unroll
        for (int k = 0; k < 4; k++)
            out.a[r][k] = 0;
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
        real4 rows[TILE_ROWS];
#pragma unroll
        for (int r = 0; r < TILE_ROWS; r++) {
            const int i = at.row + r * TILE_STRIDE;
            rows[r] = load4(left + (M % TILE_ROWS == 0 || i < M ? i : at.row) * MS + 4 * q);
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (4 * q + i < M) {
                const real4 four = load4(right + (4 * q + i) * MS + 4 * at.quad);
#pragma unroll
                for (int r = 0; r < TILE_ROWS; r++)
#pragma unroll
                    for (int k = 0; k < 4; k++)
                        out.a[r][k] += rows[r].a[i] * four.a[k];
            }
    }
    return out;
}

struct tangent {
    tile jacobian;
    tile_place at;
    real *J, *X;           // of this lane's stretch, in shared memory
    unsigned masks[MASKS]; // that the Jacobian stands for
    real strength;         // a, that it stands for
};

INLINE void tangent_begin(tangent &t, int lane, real *J, real *X)
{
    t.at = find_tile(lane);
    t.strength = -1; // of no step: the first one resets
    t.J = J;
    t.X = X;
    store_tile(X, identity_tile(t.at), t.at);
}

INLINE void tangent_fill(tangent &t, const real *pack)
{
#pragma unroll
    for (int r = 0; r < TILE_ROWS; r++) {
        const int i = t.at.row + r * TILE_STRIDE;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const int j = 4 * t.at.quad + k;
            const real identity = i == j ? 1 : 0;
            t.jacobian.a[r][k] = i < M && j < M ? (1 + pack[PACK_A1 + i]) * (identity - t.strength * pack[PACK_Q + i * MP + j]) : real(0);
        }
    }
}

// Add `sign` times the rank-one matrix of hidden unit `unit`.
INLINE void tangent_switch(tangent &t, const real *pack, int unit, real sign)
{
    const real4 v = load4(pack + PACK_V + 4 * (t.at.quad * LS + unit));
    const real4 vq = load4(pack + PACK_VQ + 4 * (t.at.quad * LS + unit));
    real row[4];
#pragma unroll
    for (int k = 0; k < 4; k++)
        row[k] = v.a[k] - t.strength * vq.a[k];
#pragma unroll
    for (int r = 0; r < TILE_ROWS; r++) {
        const int wanted = t.at.row + r * TILE_STRIDE, i = M % TILE_ROWS == 0 || wanted < M ? wanted : 0;
        const real w = sign * pack[PACK_W + 4 * (i / 4 * LS + unit) + i % 4];
#pragma unroll
        for (int k = 0; k < 4; k++)
            t.jacobian.a[r][k] += w * row[k];
    }
}

// X <- J X.
INLINE void tangent_advance(tangent &t, bool acts)
{
    if (acts)
        store_tile(t.J, t.jacobian, t.at);
    __syncwarp(); // J and the last X are there
    const tile next = multiply(t.J, t.X, t.at);
    __syncwarp(); // everybody has read them
    if (acts)
        store_tile(t.X, next, t.at);
}

INLINE void tangent_end(const tangent &, int, real *) {}
#endif

INLINE void tangent_reset(tangent &t, const real *pack, real strength)
{
    t.strength = strength;
#pragma unroll
    for (int k = 0; k < MASKS; k++)
        t.masks[k] = 0;
    tangent_fill(t, pack);
}

// All units that differ between the masks and those that J stands for: one of each of some words at a time, so that their loads
// do not wait for each other.
INLINE void tangent_catch_up(tangent &t, const real *pack, const unsigned (&masks)[MASKS])
{
    constexpr int WIDE = MASKS < 4 ? MASKS : 4;
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
                const int word = first + k < MASKS ? first + k : 0, bit = switched[k] ? __ffs(switched[k]) - 1 : 0;
                const bool on = masks[word] >> bit & 1, second = word >= UNITS; // the second term of a clipped unit is subtracted
                tangent_switch(t, pack, word % UNITS * 32 + bit, switched[k] ? (on == second ? real(-1) : real(1)) : real(0));
                switched[k] &= switched[k] - 1;
                any |= switched[k];
            }
        }
    }
#pragma unroll
    for (int k = 0; k < MASKS; k++)
        t.masks[k] = masks[k];
}

// One step further: bring J to the masks and the strength of this step, then X <- J X.  By whole warps; acts: this lane's stretch
// has such a step.
INLINE void tangent_step(tangent &t, const real *pack, const unsigned (&masks)[MASKS], real strength, bool acts)
{
    if (acts) {
        if (strength != t.strength)
            tangent_reset(t, pack, strength);
        tangent_catch_up(t, pack, masks);
    }
    tangent_advance(t, acts);
}

#endif
