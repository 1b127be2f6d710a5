// tangent.cuh - the derivative of a stretch of time, X = dz_end / dz_start, carried along by one warp.
//
// A step's Jacobian is J = (diag(A) + W D V) P_a with P_a = I - a B+ B (SPEC 3).  From one step to the next only
// a few hidden units switch, and each switch changes J by a rank-one matrix, so J is kept and corrected instead of
// being formed anew: M^2 operations per switch instead of M^2 L per step.
//
// J lies in shared memory by rows, (M, MP); each lane owns a tile of it in registers, TILE_ROWS x 4.
// X lies in registers by columns: lane j of each of SPLIT groups holds column j.
#ifndef ANT_TANGENT_CUH
#define ANT_TANGENT_CUH

#include "shape.cuh"

static __device__ constexpr int tile_rows()
{
    int rows = 1;
    while ((M + rows - 1) / rows * QUADS > 32)
        rows++;
    return rows;
}

constexpr int TILE_ROWS = tile_rows();
#define SPLIT     (M <= 8 ? 4 : M <= 16 ? 2 : 1) // groups of lanes that share the rows of a product
#define SHARE     ((M + SPLIT - 1) / SPLIT)      // rows of one group

struct tangent {
    real tile[TILE_ROWS][4];
    real column[M];       // of X
    unsigned masks[MASKS]; // that the tile stands for
    real strength;        // a, that the tile stands for
    int quad, row;        // where the tile is; row >= M: this lane has none
};

INLINE void tangent_reset(tangent &t, const real *pack, real strength)
{
    t.strength = strength;
#pragma unroll
    for (int k = 0; k < MASKS; k++)
        t.masks[k] = 0;
#pragma unroll
    for (int r = 0; r < TILE_ROWS; r++) {
        const int i = t.row + r;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const int j = 4 * t.quad + k;
            const real identity = i == j ? 1 : 0;
            t.tile[r][k] = i < M && j < M ? pack[PACK_A + i] * (identity - strength * pack[PACK_Q + i * MP + j]) : real(0);
        }
    }
}

INLINE void tangent_begin(tangent &t, int lane)
{
    t.quad = lane % QUADS;
    t.row = lane / QUADS * TILE_ROWS;
    t.strength = -1; // of no step: the first one resets
}

// Add `sign` times the rank-one matrix of hidden unit `unit`.
INLINE void tangent_switch(tangent &t, const real *pack, int unit, real sign)
{
    const real4 v = load4(pack + PACK_V + 4 * (t.quad * LS + unit));
    const real4 vq = load4(pack + PACK_VQ + 4 * (t.quad * LS + unit));
#pragma unroll
    for (int r = 0; r < TILE_ROWS; r++) {
        const int i = t.row + r < M ? t.row + r : M - 1;
        const real w = sign * pack[PACK_W + 4 * (i / 4 * LS + unit) + i % 4];
#pragma unroll
        for (int k = 0; k < 4; k++)
            t.tile[r][k] += w * (v.a[k] - t.strength * vq.a[k]);
    }
}

// All units that differ between the masks and those that J stands for.
INLINE void tangent_catch_up(tangent &t, const real *pack, const unsigned (&masks)[MASKS])
{
#pragma unroll
    for (int k = 0; k < MASKS; k++) {
        unsigned switched = masks[k] ^ t.masks[k];
        const bool second = k >= UNITS; // the second term of a clipped unit is subtracted
        while (switched) {
            const int bit = __ffs(switched) - 1;
            switched &= switched - 1;
            const bool on = masks[k] >> bit & 1;
            tangent_switch(t, pack, k % UNITS * 32 + bit, on == second ? real(-1) : real(1));
        }
        t.masks[k] = masks[k];
    }
}

INLINE void tangent_store(const tangent &t, real *J)
{
#pragma unroll
    for (int r = 0; r < TILE_ROWS; r++)
        if (t.row + r < M)
            store4(J + (t.row + r) * MP + 4 * t.quad, real4{t.tile[r][0], t.tile[r][1], t.tile[r][2], t.tile[r][3]});
    __syncwarp();
}

// X <- I.  J and its masks go on from where the last pass ended.
INLINE void tangent_restart(tangent &t, real *J, int lane)
{
#pragma unroll
    for (int i = 0; i < M; i++)
        t.column[i] = i == lane % M ? 1 : 0;
    if (t.strength >= 0)
        tangent_store(t, J);
}

// column <- J column, for all columns at once.  J: (M, MP) in shared memory.
INLINE void multiply_columns(const real *J, real (&column)[M], int lane)
{
    const int group = lane / M < SPLIT ? lane / M : SPLIT - 1, home = lane % M;
    real part[SHARE];
#pragma unroll
    for (int i = 0; i < SHARE; i++) {
        const int r = group * SHARE + i < M ? group * SHARE + i : M - 1;
        real even = 0, odd = 0;
#pragma unroll
        for (int q = 0; q < QUADS; q++) {
            const real4 four = load4(J + r * MP + 4 * q);
#pragma unroll
            for (int k = 0; k < 4; k++)
                if (4 * q + k < M) {
                    if (k & 1)
                        odd += four.a[k] * column[4 * q + k < M ? 4 * q + k : 0];
                    else
                        even += four.a[k] * column[4 * q + k < M ? 4 * q + k : 0];
                }
        }
        part[i] = even + odd;
    }
    if (SPLIT == 1) {
#pragma unroll
        for (int i = 0; i < M; i++)
            column[i] = part[i < SHARE ? i : 0];
        return;
    }
#pragma unroll
    for (int i = 0; i < M; i++)
        column[i] = __shfl_sync(ALL_LANES, part[i % SHARE], i / SHARE * M + home);
}

// One step further: bring J to the masks and the strength of this step, then X <- J X.
INLINE void tangent_step(tangent &t, const real *pack, const unsigned (&masks)[MASKS], real strength, real *J, int lane)
{
    bool changed = false;
    if (strength != t.strength) {
        tangent_reset(t, pack, strength);
        changed = true;
    }
#pragma unroll
    for (int k = 0; k < MASKS; k++)
        changed = changed || masks[k] != t.masks[k];
    tangent_catch_up(t, pack, masks);
    if (changed) {
        __syncwarp();
        tangent_store(t, J);
    }
    multiply_columns(J, t.column, lane);
}

// out: (M, MP) in shared memory, X itself.
INLINE void tangent_write(const real (&column)[M], real *out, int lane)
{
    if (lane < M)
#pragma unroll
        for (int i = 0; i < M; i++)
            out[i * MP + lane] = column[i];
    __syncwarp();
}

#endif
