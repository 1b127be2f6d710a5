// tangent_tiles.cuh - the tangents X of several segments at once: a group of lanes has one segment, a lane a
// tile of J, and X is in shared memory.  Matrices lie there by rows, (M, MS).  Included by tangent.cuh.
// alone: -DREAL_BITS=64 -DM=16 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=1 -DSEGMENTED=1 -DSHARED_LIMIT=232448
#ifndef ANT_TANGENT_TILES_CUH
#define ANT_TANGENT_TILES_CUH

#include "tangent_shape.cuh"

// A tile has some rows and four columns.
static __device__ constexpr int tile_rows()
{
    int rows = 1;
    while (rows < M && (M + rows - 1) / rows * QUADS > TANGENT_LANES)
        rows++;
    return rows;
}

#define TILE_ROWS   tile_rows() // rows `row`, row + TILE_STRIDE, ...
#define TILE_STRIDE ((M + TILE_ROWS - 1) / TILE_ROWS)

struct tile {
    real a[TILE_ROWS][4];
};

struct tile_place {
    int row, quad;
    bool here; // false: this lane has no tile
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

// This lane's tile of the product left right.
INLINE tile multiply(const real *left, const real *right, tile_place at)
{
    tile out;
#pragma unroll
    for (int r = 0; r < TILE_ROWS; r++)
#pragma unroll
        for (int k = 0; k < 4; k++)
            out.a[r][k] = 0;
#pragma unroll(LARGE_TILES ? 1 : QUADS)
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

// W is stored in quads of rows, each by units.  Where a quad is a whole number of strides, the address of the
// first row gives all others.
#define WHOLE_STRIDES (4 % TILE_STRIDE == 0)
#define ROW_PLACES    (WHOLE_STRIDES ? 1 : TILE_ROWS)

INLINE int place_in_quads(int row)
{
    return 4 * (row / 4 * LS) + row % 4;
}

struct tangent {
    tile jacobian;
    tile_place at;
    real *J, *X;                            // of this lane's segment, in shared memory
    const real *columns, *rows[ROW_PLACES]; // unit 0 of V in this lane's columns, and of W in its rows
    unsigned masks[MASKS_HELD];             // of J
    int projected;                          // offset of V (1 - a B+ B), for the a of J
};

INLINE void tangent_begin(tangent &t, int lane, const real *pack, real *J, real *X)
{
    t.at = find_tile(lane);
    t.projected = -1; // the first step resets
    t.columns = pack + 4 * t.at.quad * LS;
#pragma unroll
    for (int r = 0; r < ROW_PLACES; r++) {
        const int wanted = t.at.row + r * TILE_STRIDE, i = M % TILE_ROWS == 0 || wanted < M ? wanted : 0;
        t.rows[r] = pack + PACK_W + place_in_quads(i);
    }
    t.J = J;
    t.X = X;
    store_tile(X, identity_tile(t.at), t.at);
}

INLINE void tangent_fill(tangent &t, const real *pack, real strength)
{
#pragma unroll
    for (int r = 0; r < TILE_ROWS; r++) {
        const int wanted = t.at.row + r * TILE_STRIDE, i = M % TILE_ROWS == 0 || wanted < M ? wanted : 0;
        const real4 q = load4(pack + PACK_Q + i * MP + 4 * t.at.quad);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const int j = 4 * t.at.quad + k;
            const real identity = i == j ? 1 : 0;
            t.jacobian.a[r][k] = j < M ? (1 + pack[PACK_A1 + i]) * (identity - strength * q.a[k]) : real(0);
        }
    }
}

// Add `sign` times the rank-one matrix of hidden unit `unit`.
INLINE void tangent_switch(tangent &t, const real *, int unit, real sign)
{
    const real4 row = load4(t.columns + t.projected + 4 * unit);
#pragma unroll
    for (int r = 0; r < TILE_ROWS; r++) {
        const real w =
            sign *
            t.rows[WHOLE_STRIDES ? 0 : r][4 * unit + (WHOLE_STRIDES ? place_in_quads(r * TILE_STRIDE) : 0)];
#pragma unroll
        for (int k = 0; k < 4; k++)
            t.jacobian.a[r][k] += w * row.a[k];
    }
}

#define START_J (TANGENT_LANES * 4 * TILE_ROWS)

INLINE void tangent_save(const tangent &t, real *J, int group_lane)
{
#pragma unroll
    for (int r = 0; r < TILE_ROWS; r++)
        store4(J + 4 * (r * TANGENT_LANES + group_lane),
               real4{t.jacobian.a[r][0], t.jacobian.a[r][1], t.jacobian.a[r][2], t.jacobian.a[r][3]});
}

INLINE void tangent_restore(tangent &t, const real *J, int group_lane)
{
#pragma unroll
    for (int r = 0; r < TILE_ROWS; r++) {
        const real4 four = load4(J + 4 * (r * TANGENT_LANES + group_lane));
#pragma unroll
        for (int k = 0; k < 4; k++)
            t.jacobian.a[r][k] = four.a[k];
    }
}

// X <- matrix X.
INLINE void tangent_multiply(tangent &t, const tile &matrix, bool active)
{
    if (active)
        store_tile(t.J, matrix, t.at);
    __syncwarp(); // J and the last X are complete
    const tile next = multiply(t.J, t.X, t.at);
    __syncwarp(); // all lanes have read them
    if (active)
        store_tile(t.X, next, t.at);
}

// X <- J X.
INLINE void tangent_advance(tangent &t, bool active)
{
    tangent_multiply(t, t.jacobian, active);
}

#if PATTERNS
// X <- (I - a Q) X.  Q: (M, MP) in global memory
INLINE void tangent_project(tangent &t, const real *Q, real a, bool active)
{
    tile projection;
#pragma unroll
    for (int r = 0; r < TILE_ROWS; r++) {
        const int wanted = t.at.row + r * TILE_STRIDE, i = M % TILE_ROWS == 0 || wanted < M ? wanted : 0;
        const real4 four = load4_constant(Q + i * MP + 4 * t.at.quad);
#pragma unroll
        for (int k = 0; k < 4; k++)
            projection.a[r][k] = (i == 4 * t.at.quad + k ? real(1) : real(0)) - a * four.a[k];
    }
    tangent_multiply(t, projection, active);
}
#endif

INLINE void tangent_end(const tangent &, real *) {} // X is already in place

#endif
