// tangent_whole.cuh - the tangents X of several segments at once, with J in registers: every lane of a group
// holds all of J and one column of X, and lanes exchange nothing.  Included by tangent.cuh.
// alone: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=1 -DSEGMENTED=1 -DSHARED_LIMIT=232448
#ifndef ANT_TANGENT_WHOLE_CUH
#define ANT_TANGENT_WHOLE_CUH

#include "tangent_shape.cuh"

struct tangent {
    int lane;
    real jacobian[M][M];
    real column[M];        // of X
    unsigned masks[MASKS]; // of J
    int projected;         // offset of V (1 - a B+ B), for the a of J
};

INLINE void tangent_begin(tangent &t, int lane, const real *, real *, real *)
{
    t.lane = lane;
    t.projected = -1; // the first step resets
#pragma unroll
    for (int i = 0; i < M; i++)
        t.column[i] = i == lane % TANGENT_LANES ? 1 : 0;
}

INLINE void tangent_fill(tangent &t, const real *pack, real strength)
{
#pragma unroll
    for (int i = 0; i < M; i++)
#pragma unroll
        for (int j = 0; j < M; j++)
            t.jacobian[i][j] = (1 + pack[PACK_A1 + i]) *
                               ((i == j ? real(1) : real(0)) - strength * pack[PACK_Q + i * MP + j]);
}

// Add `sign` times the rank-one matrix of hidden unit `unit`.
INLINE void tangent_switch(tangent &t, const real *pack, int unit, real sign)
{
    real row[MP], w[MP];
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
        const real4 v = load4(pack + t.projected + 4 * (q * LS + unit));
        const real4 out = load4(pack + PACK_W + 4 * (q * LS + unit));
#pragma unroll
        for (int k = 0; k < 4; k++) {
            row[4 * q + k] = v.a[k];
            w[4 * q + k] = sign * out.a[k];
        }
    }
#pragma unroll
    for (int i = 0; i < M; i++)
#pragma unroll
        for (int j = 0; j < M; j++)
            t.jacobian[i][j] += w[i] * row[j];
}

#define START_J (M * M)

INLINE void tangent_save(const tangent &t, real *J, int group_lane)
{
    if (group_lane == 0)
#pragma unroll
        for (int i = 0; i < M * M; i++)
            J[i] = t.jacobian[i / M][i % M];
}

INLINE void tangent_restore(tangent &t, const real *J, int)
{
#pragma unroll
    for (int i = 0; i < M * M; i++)
        t.jacobian[i / M][i % M] = J[i];
}

// X <- J X.
INLINE void tangent_advance(tangent &t, bool active)
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
        t.column[i] = active ? next[i] : t.column[i];
}

#if PATTERNS
// X <- (I - a Q) X.  Q: (M, MP) in global memory
INLINE void tangent_project(tangent &t, const real *Q, real a, bool active)
{
    real next[M];
#pragma unroll
    for (int i = 0; i < M; i++) {
        real sum = 0;
#pragma unroll
        for (int q = 0; q < QUADS; q++) {
            const real4 four = load4_constant(Q + i * MP + 4 * q);
#pragma unroll
            for (int k = 0; k < 4; k++)
                if (4 * q + k < M)
                    sum += four.a[k] * t.column[4 * q + k < M ? 4 * q + k : 0];
        }
        next[i] = t.column[i] - a * sum;
    }
#pragma unroll
    for (int i = 0; i < M; i++)
        t.column[i] = active ? next[i] : t.column[i];
}
#endif

INLINE void tangent_end(const tangent &t, real *X)
{
    const int column = t.lane % TANGENT_LANES;
#pragma unroll
    for (int i = 0; i < M; i++)
        if (column < M)
            X[i * MS + column] = t.column[i];
}

#endif
