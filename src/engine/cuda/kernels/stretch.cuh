// stretch.cuh - what one warp does with its stretch of time: exact steps forward, the adjoint backward.
#ifndef ANT_STRETCH_CUH
#define ANT_STRETCH_CUH

#include "shadow.cuh"

struct tools { // what a pass holds in registers
    unit_weights to_units;
    row_weights to_rows;
    real A1[ROW_BLOCKS]; // A - 1
#if ROW_BLOCKS == 1
    real Q[MP]; // this lane's row of B+ B
#endif
};

// Forward a step goes through V and then W, backward through W and then V.
INLINE void take_tools(tools &with, const worker &me, bool forward)
{
    take_unit_weights(with.to_units, me.staged + (forward ? PACK_V : PACK_W), me.lane);
    take_row_weights(with.to_rows, me.staged + (forward ? PACK_W : PACK_V),
                     me.staged + (forward ? PACK_WR : PACK_VR), me.lane);
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        with.A1[k] = me.row[k] < 0 ? real(0) : weight<PACK_A1>(me, me.row[k]);
#if ROW_BLOCKS == 1
#pragma unroll
    for (int j = 0; j < M; j++)
        with.Q[j] = me.staged[PACK_Q + me.place * MP + j];
#endif
}

// Rows to a vector that all lanes can read.
INLINE const real *broadcast(const worker &me, const real (&rows)[ROW_BLOCKS], int buffer)
{
    real *vector = me.memory->vector[buffer];
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        if (me.row[k] >= 0)
            vector[me.row[k]] = rows[k];
    __syncwarp();
    return vector;
}

// The rows of (matrix times units) that this lane owns.
INLINE void gather_rows(const worker &me, const tools &with, const real (&units)[UNITS],
                        real (&sum)[ROW_BLOCKS])
{
#if RESIDENT
    sum[0] = to_row(with.to_rows, units, me.kept);
#else
#pragma unroll
    for (int u = 0; u < UNITS; u++)
        me.memory->unit[32 * u + me.lane] = units[u];
    __syncwarp();
    to_rows(with.to_rows, me.memory->unit, me.lane, sum);
#endif
}

// rows -> rows + a (teacher - B+ B rows).  B+ B is symmetric, so that the way back is the same with teacher =
// 0.
INLINE void force(const worker &me, const tools &with, real (&rows)[ROW_BLOCKS],
                  const real (&teacher)[ROW_BLOCKS], real a)
{
#if ROW_BLOCKS == 1
    const real *vector = broadcast(me, rows, 1);
    real even = 0, odd = 0;
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
        const real4 four = load4(vector + 4 * q);
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (4 * q + k < M) {
                if (k & 1)
                    odd += four.a[k] * with.Q[4 * q + k];
                else
                    even += four.a[k] * with.Q[4 * q + k];
            }
    }
    rows[0] += a * (teacher[0] - (even + odd));
#else
    real pulled[ROW_BLOCKS];
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        pulled[k] = teacher[k];
    for (int n = 0; n < N; n++) {
        real sum = 0;
#pragma unroll
        for (int k = 0; k < ROW_BLOCKS; k++)
            if (me.row[k] >= 0)
                sum += weight<PACK_B>(me, n * MP + me.row[k]) * rows[k];
#pragma unroll
        for (int offset = 16; offset > 0; offset >>= 1)
            sum += __shfl_xor_sync(ALL_LANES, sum, offset);
#pragma unroll
        for (int k = 0; k < ROW_BLOCKS; k++)
            if (me.row[k] >= 0)
                pulled[k] -= weight<PACK_P>(me, n * MP + me.row[k]) * sum;
    }
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        rows[k] += a * pulled[k];
#endif
}

INLINE void load_rows(const worker &me, const real *from, real (&rows)[ROW_BLOCKS])
{
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        rows[k] = me.row[k] < 0 ? real(0) : from[me.row[k]];
}

// `to` and `from` below are this lane's own place among the rows, so that one pointer and constants reach all
// of them.
INLINE void store_mine(const worker &me, real *to, const real (&rows)[ROW_BLOCKS])
{
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        if (me.row[k] >= 0)
            to[32 * k] = rows[k];
}

// Have the rows of moment t copied into the ring, unless the moment lies beyond the stretch and another
// warp's.
INLINE void send_for(const worker &me, const real *from, int t, bool wanted)
{
    real *to = me.memory->ahead[t & (RING - 1)] + me.place;
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        if (me.row[k] >= 0 && wanted)
            copy_ahead(to + 32 * k, from + 32 * k);
    copy_commit();
}

INLINE void send_for_masks(const worker &me, const unsigned *from, int t, bool wanted)
{
#pragma unroll
    for (int k = 0; k < MASKS; k += 32)
        if (k + me.lane < MASKS && wanted)
            copy_ahead(me.memory->masks[t & (RING - 1)] + k + me.lane, from + k + me.lane);
}

// Take them out; AHEAD later moments are on their way.
INLINE void receive(const worker &me, int t, real (&rows)[ROW_BLOCKS])
{
    copy_wait<AHEAD>();
    load_rows(me, me.memory->ahead[t & (RING - 1)], rows);
}

INLINE void store_masks(unsigned *to, const unsigned (&masks)[MASKS])
{
    if constexpr (MASKS % 4 == 0) {
#pragma unroll
        for (int k = 0; k + 3 < MASKS; k += 4)
            *reinterpret_cast<uint4 *>(to + k) =
                make_uint4(masks[k], masks[k + 1], masks[k + 2], masks[k + 3]);
    } else if constexpr (MASKS % 2 == 0) {
#pragma unroll
        for (int k = 0; k + 1 < MASKS; k += 2)
            *reinterpret_cast<uint2 *>(to + k) = make_uint2(masks[k], masks[k + 1]);
    } else {
#pragma unroll
        for (int k = 0; k < MASKS; k++)
            to[k] = masks[k];
    }
}

// phi of SPEC 1 and its derivative as bits.
INLINE void activate(const real (&b)[UNITS], const real (&reach)[UNITS], real (&phi)[UNITS],
                     unsigned (&masks)[MASKS])
{
#pragma unroll
    for (int u = 0; u < UNITS; u++) {
        const real above = reach[u] + b[u];
        masks[u] = __ballot_sync(ALL_LANES, above > 0);
        phi[u] = above > 0 ? above : real(0);
#if CLIPPED
        masks[UNITS + u] = __ballot_sync(ALL_LANES, reach[u] > 0);
        phi[u] -= reach[u] > 0 ? reach[u] : real(0);
#endif
    }
}

// One exact pass over a stretch.  z: rows at its start; on return, at its end.  diagonal: of the diagonals of
// its Jacobians, without full matrices.  passes: those that a shadow followed before; -1: none follows this
// one.
INLINE void run_forward(const solve_problem &p, const worker &me, const stretch &here, size_t sequence,
                        real (&inout)[ROW_BLOCKS], real (&slope)[ROW_BLOCKS], int passes)
{
    const forcing strength = {p.warmup, p.alpha};
    real z[ROW_BLOCKS], diagonal[ROW_BLOCKS];
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++) {
        z[k] = inout[k];
        diagonal[k] = 1;
    }
#if SHADOWS
    unsigned step = (unsigned)passes * (unsigned)(here.last - here.first), limit = passes < 0 ? ~0u : 0u;
#endif
    real *mine = p.rows + (sequence * (p.T + 1) + here.first) * ROW + me.place;
    unsigned *masks_out = p.masks + (sequence * p.T + here.first) * MASKS;
    real f[ROW_BLOCKS], teacher[ROW_BLOCKS], drive[ROW_BLOCKS], h[ROW_BLOCKS], b[UNITS];
    tools with;
    take_tools(with, me, true);
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        h[k] = me.row[k] < 0 ? real(0) : weight<PACK_h>(me, me.row[k]);
#pragma unroll
    for (int u = 0; u < UNITS; u++)
        b[u] = weight<PACK_b>(me, 32 * u + me.lane);
    load_rows(me, mine - me.place + AT_TEACHER, teacher);
    for (int i = 1; i <= AHEAD; i++)
        send_for(me, mine + i * ROW + AT_TEACHER, here.first + i, here.first + i < here.last);
    if (here.first == 0)
        store_mine(me, mine + AT_Z, z);
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        f[k] = z[k];
    force(me, with, f, teacher, strength.at(here.first));
    for (int t = here.first; t < here.last; t++, mine += ROW, masks_out += MASKS) {
        const real *vector = broadcast(me, f, 0);
        store_mine(me, mine + AT_FORCED, f);
        send_for(me, mine + (1 + AHEAD) * ROW + AT_TEACHER, t + 1 + AHEAD, t + 1 + AHEAD < here.last);
#pragma unroll
        for (int k = 0; k < ROW_BLOCKS; k++)
            drive[k] = h[k];
#if K > 0
        const real *input = p.s + (sequence * p.T + t) * K;
        for (int i = 0; i < K; i++)
#pragma unroll
            for (int k = 0; k < ROW_BLOCKS; k++)
                if (me.row[k] >= 0)
                    drive[k] += weight<PACK_C>(me, i * MP + me.row[k]) * input[i];
#endif
        real reach[UNITS], phi[UNITS], sum[ROW_BLOCKS];
        unsigned masks[MASKS];
        to_units(with.to_units, vector, reach);
        activate(b, reach, phi, masks);
#if SHADOWS
        leave_trail(me, ++step, limit, masks); // also when nobody follows: nobody looks then
#endif
        gather_rows(me, with, phi, sum);
#pragma unroll
        for (int k = 0; k < ROW_BLOCKS; k++)
            z[k] = f[k] + ((with.A1[k] * f[k] + drive[k]) + sum[k]);
        store_mine(me, mine + ROW + AT_Z, z);
        if (me.lane == 0)
            store_masks(masks_out, masks);
#if KEEP_HIDDEN
        real *hidden = p.hidden + (sequence * p.T + t) * LP;
#pragma unroll
        for (int u = 0; u < UNITS; u++)
            hidden[32 * u + me.lane] = phi[u];
#endif
#if !NEWTON
#pragma unroll
        for (int k = 0; k < ROW_BLOCKS; k++)
            if (me.row[k] >= 0)
                diagonal[k] *=
                    (1 + with.A1[k]) * (1 - strength.at(t) * weight<PACK_Q>(me, me.row[k] * MP + me.row[k]));
#endif
        receive(me, t + 1, teacher); // at the end of the stretch there is none, and f is not used
#pragma unroll
        for (int k = 0; k < ROW_BLOCKS; k++)
            f[k] = z[k];
        force(me, with, f, teacher, strength.at(t + 1));
    }
    copy_wait<0>();
    __syncwarp();
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++) {
        inout[k] = z[k];
        slope[k] = diagonal[k];
    }
}

// The adjoint of a stretch.  v: what comes from later steps, rows at its end; on return, rows at its start.
INLINE void run_backward(const solve_problem &p, const worker &me, const stretch &here, size_t sequence,
                         real (&inout)[ROW_BLOCKS])
{
    const forcing strength = {p.warmup, p.alpha};
    real v[ROW_BLOCKS];
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        v[k] = inout[k];
    real *mine = p.rows + (sequence * (p.T + 1) + here.last) * ROW + me.place;
    const unsigned *masks_in = p.masks + (sequence * p.T + here.last - 1) * MASKS;
    real next[ROW_BLOCKS], none[ROW_BLOCKS];
    tools with;
    take_tools(with, me, false);
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        none[k] = 0;
    for (int i = 0; i <= AHEAD; i++) {
        send_for_masks(me, masks_in - i * MASKS, here.last - i, here.last - i > here.first);
        send_for(me, mine - (1 + i) * ROW + AT_TEACHER, here.last - i, here.last - i > here.first);
    }
    for (int t = here.last; t > here.first; t--, mine -= ROW, masks_in -= MASKS) {
        receive(me, t, next);
#pragma unroll
        for (int k = 0; k < ROW_BLOCKS; k++)
            v[k] += next[k];
        const real *vector = broadcast(me, v, 0);
        store_mine(me, mine + AT_V, v);
        real back[UNITS], sum[ROW_BLOCKS];
        to_units(with.to_units, vector, back);
        const unsigned *masks =
            me.memory->masks[t & (RING - 1)]; // there since `receive`, seen since `broadcast`
#if KEEP_HIDDEN
        real *arriving = p.delta + (sequence * p.T + t - 1) * LP;
#pragma unroll
        for (int u = 0; u < UNITS; u++)
            arriving[32 * u + me.lane] = back[u];
#endif
#pragma unroll
        for (int u = 0; u < UNITS; u++) {
#if CLIPPED
            const int slope = (int)(masks[u] >> me.lane & 1) - (int)(masks[UNITS + u] >> me.lane & 1);
            back[u] = slope * back[u];
#else
            back[u] = masks[u] >> me.lane & 1 ? back[u] : real(0);
#endif
        }
        gather_rows(me, with, back, sum);
#pragma unroll
        for (int k = 0; k < ROW_BLOCKS; k++)
            v[k] = v[k] + (with.A1[k] * v[k] + sum[k]);
        store_mine(me, mine - ROW + AT_W, v);
        force(me, with, v, none, strength.at(t - 1));
#if ROW_BLOCKS > 1
        __syncwarp();
#endif
        const bool wanted =
            t - 1 - AHEAD >
            here.first; // all lanes are past reading this slot, since the barrier of `force` or here
        send_for_masks(me, masks_in - (1 + AHEAD) * MASKS, t - 1 - AHEAD, wanted);
        send_for(me, mine - (2 + AHEAD) * ROW + AT_TEACHER, t - 1 - AHEAD, wanted);
    }
    copy_wait<0>();
    __syncwarp();
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        inout[k] = v[k];
}

#endif
