// tangent_tensor.cuh - the tangent X of a segment by tensor cores, in float and for M <= 16.  Included by
// tangent.cuh.
//
// A warp has one segment.  The hardware computes C (16 x 8) += A (16 x 8) B (8 x 8) on numbers of 11 binary
// digits.  A float is split into a high and a low part, and a product into three: high high + high low + low
// high, which is as exact as float.
//
// With X transposed as A and J transposed as B, C is the next X transposed.  Lane 4 g + q holds of C the
// columns 2 q and 2 q + 1 of the rows g and g + 8, and needs of A the columns q and q + 4.  The columns of A
// (the rows of B) may be permuted freely; with 2 q and 2 q + 1 in place of q and q + 4 nothing moves between
// lanes.
// alone: -DREAL_BITS=32 -DM=16 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=1 -DSEGMENTED=1 -DSHARED_LIMIT=232448
#ifndef ANT_TANGENT_TENSOR_CUH
#define ANT_TANGENT_TENSOR_CUH

#include "tangent_shape.cuh"

#define EIGHTS ((M + 7) / 8)

// Addresses of row 8 j + g and column 8 j + 2 q of unit 0, for a lane, in packed weights whose first matrix
// is towards units.
struct tensor_place {
    int lane;
    const real *row[EIGHTS], *column[EIGHTS];
    real exists[EIGHTS]; // 0: there is no such row
};

struct tangent {
    tensor_place at;
    real J[EIGHTS][EIGHTS][2]; // [j][t][k]: J of row 8 j + g and column 8 t + 2 q + k
    real X[EIGHTS][4];         // [t][2 h + k]: X of row 8 t + 2 q + k and column g + 8 h
    unsigned masks[MASKS];     // of J
    int projected;             // offset of V (1 - a B+ B), for the a of J
};

INLINE tensor_place find_place(int lane, const real *pack)
{
    tensor_place at;
    at.lane = lane;
#pragma unroll
    for (int j = 0; j < EIGHTS; j++) {
        const int row = 8 * j + lane / 4, column = 8 * j + lane % 4 * 2;
        // Columns beyond M multiply rows of X that are zero.
        const int r = row < M ? row : 0, c = column < M ? column : 0;
        at.row[j] = pack + 4 * (r / 4 * LS) + r % 4;
        at.column[j] = pack + 4 * (c / 4 * LS) + c % 4;
        at.exists[j] = row < M ? 1 : 0;
    }
    return at;
}

INLINE void tangent_begin(tangent &t, int lane, const real *pack, real *, real *)
{
    t.at = find_place(lane, pack);
    t.projected = -1; // the first step resets
#pragma unroll
    for (int i = 0; i < 4 * EIGHTS; i++) {
        const int row = 8 * (i / 4) + lane % 4 * 2 + i % 2, column = lane / 4 + 8 * (i / 2 % 2);
        t.X[i / 4][i % 4] = row == column && row < M ? 1 : 0;
    }
}

INLINE void tangent_fill(tangent &t, const real *pack, real strength)
{
    const int lane = t.at.lane;
#pragma unroll
    for (int i = 0; i < 2 * EIGHTS * EIGHTS; i++) {
        const int row = 8 * (i / 2 / EIGHTS) + lane / 4, column = 8 * (i / 2 % EIGHTS) + lane % 4 * 2 + i % 2;
        const real identity = row == column ? 1 : 0;
        t.J[i / 2 / EIGHTS][i / 2 % EIGHTS][i % 2] =
            row < M && column < M
                ? (1 + pack[PACK_A1 + row]) * (identity - strength * pack[PACK_Q + row * MP + column])
                : real(0);
    }
}

// Add `sign` times the rank-one matrix of hidden unit `unit`.
INLINE void tangent_switch(tangent &t, const real *, int unit, real sign)
{
    const tensor_place &at = t.at;
    real2 row[EIGHTS];
#pragma unroll
    for (int k = 0; k < EIGHTS; k++)
        row[k] = load2(at.column[k] + t.projected + 4 * unit);
#pragma unroll
    for (int j = 0; j < EIGHTS; j++) {
        const real w = sign * at.exists[j] * at.row[j][4 * unit + PACK_W];
#pragma unroll
        for (int k = 0; k < EIGHTS; k++) {
            t.J[j][k][0] += w * row[k].a[0];
            t.J[j][k][1] += w * row[k].a[1];
        }
    }
}

#define START_J (32 * 2 * EIGHTS * EIGHTS)

INLINE void tangent_save(const tangent &t, real *J, int group_lane)
{
#pragma unroll
    for (int i = 0; i < 2 * EIGHTS * EIGHTS; i++)
        J[32 * i + group_lane] = t.J[i / 2 / EIGHTS][i / 2 % EIGHTS][i % 2];
}

INLINE void tangent_restore(tangent &t, const real *J, int group_lane)
{
#pragma unroll
    for (int i = 0; i < 2 * EIGHTS * EIGHTS; i++)
        t.J[i / 2 / EIGHTS][i / 2 % EIGHTS][i % 2] = J[32 * i + group_lane];
}

// Rounded to 11 digits.
INLINE unsigned high_part(real a)
{
    return (__float_as_uint(a) + 0x1000u) & 0xffffe000u;
}

INLINE unsigned low_part(real a, unsigned high)
{
    return __float_as_uint(a - __uint_as_float(high));
}

template <int COUNT>
INLINE void split(const real (&from)[COUNT], unsigned (&high)[COUNT], unsigned (&low)[COUNT])
{
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        high[i] = high_part(from[i]);
        low[i] = low_part(from[i], high[i]);
    }
}

// X <- J X.
INLINE void tangent_multiply(tangent &t, const real (&J)[EIGHTS][EIGHTS][2])
{
    unsigned high[EIGHTS][4], low[EIGHTS][4];
    real next[EIGHTS][4];
#pragma unroll
    for (int k = 0; k < EIGHTS; k++) {
        // Rows g and g + 8 of the first column, then of the second.
        const real rows[4] = {t.X[k][0], t.X[k][2], t.X[k][1], t.X[k][3]};
        split(rows, high[k], low[k]);
    }
#pragma unroll
    for (int j = 0; j < EIGHTS; j++) {
        next[j][0] = next[j][1] = next[j][2] = next[j][3] = 0;
#pragma unroll
        for (int k = 0; k < EIGHTS; k++) {
            unsigned above[2], below[2];
            split(J[j][k], above, below);
            multiply_tiles(next[j], low[k], above);
            multiply_tiles(next[j], high[k], below);
            multiply_tiles(next[j], high[k], above);
        }
    }
#pragma unroll
    for (int j = 0; j < EIGHTS; j++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            t.X[j][i] = next[j][i];
}

INLINE void tangent_advance(tangent &t, bool active)
{
    if (active) // the same on all lanes
        tangent_multiply(t, t.J);
}

#if PATTERNS
// X <- (I - a Q) X.  Q: (M, MP) in global memory
INLINE void tangent_project(tangent &t, const real *Q, real a, bool active)
{
    if (!active) // the same on all lanes
        return;
    const int lane = t.at.lane;
    real projection[EIGHTS][EIGHTS][2];
#pragma unroll
    for (int i = 0; i < 2 * EIGHTS * EIGHTS; i++) {
        const int row = 8 * (i / 2 / EIGHTS) + lane / 4, column = 8 * (i / 2 % EIGHTS) + lane % 4 * 2 + i % 2;
        const real identity = row == column ? 1 : 0;
        projection[i / 2 / EIGHTS][i / 2 % EIGHTS][i % 2] =
            row < M && column < M ? identity - a * __ldg(Q + row * MP + column) : real(0);
    }
    tangent_multiply(t, projection);
}
#endif

INLINE void tangent_end(const tangent &t, real *X)
{
    const int lane = t.at.lane;
#pragma unroll
    for (int i = 0; i < 4 * EIGHTS; i++) {
        const int row = 8 * (i / 4) + lane % 4 * 2 + i % 2, column = lane / 4 + 8 * (i / 2 % 2);
        if (row < M && column < M)
            X[row * MS + column] = t.X[i / 4][i % 4];
    }
}

#endif
