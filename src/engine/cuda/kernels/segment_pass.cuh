// segment_pass.cuh - the passes of one warp over its segment: exact steps forward, the adjoint backward.
// alone: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=1 -DSEGMENTED=1 -DSHARED_LIMIT=232448
#ifndef ANT_SEGMENT_PASS_CUH
#define ANT_SEGMENT_PASS_CUH

#include "tangent_warp.cuh"

struct pass_weights { // what a pass holds in registers
    unit_weights to_units;
    row_weights to_rows;
    real A1[ROWS_PER_LANE]; // A - 1
#if ROWS_PER_LANE == 1
    real Q[MP]; // this lane's row of B+ B
#elif PATTERNS
    const real *P; // (N, MP): B_o+ transposed
#endif
};

// A forward step multiplies by V and then W, a backward step by W and then V.
INLINE void load_pass_weights(pass_weights &weights, const warp_context &ctx, bool forward)
{
    load_unit_weights(weights.to_units, ctx.staged + (forward ? PACK_V : PACK_W), ctx.lane);
    load_row_weights(weights.to_rows, ctx.staged + (forward ? PACK_W : PACK_V),
                     ctx.staged + (forward ? PACK_WR : PACK_VR), ctx.lane);
#pragma unroll
    for (int k = 0; k < ROWS_PER_LANE; k++)
        weights.A1[k] = ctx.row[k] < 0 ? real(0) : weight<PACK_A1>(ctx, ctx.row[k]);
#if ROWS_PER_LANE == 1
#pragma unroll
    for (int j = 0; j < M; j++)
        weights.Q[j] = ctx.staged[PACK_Q + ctx.first_row * MP + j];
#endif
}

// What `force` needs of row t where rows have patterns.  It is loaded a step before its use.
INLINE void load_projection(pass_weights &weights, const solve_args &p, const warp_context &ctx,
                            size_t sequence, int t)
{
#if PATTERNS
    const real *from = pattern_weights(p, ctx.patterns, sequence, t);
#if ROWS_PER_LANE == 1
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
        const real4 four = load4_constant(from + PATTERN_Q + ctx.first_row * MP + 4 * q);
#pragma unroll
        for (int k = 0; k < 4; k++)
            weights.Q[4 * q + k] = four.a[k];
    }
#else
    weights.P = from + PATTERN_P;
#endif
#endif
}

// Write rows to a vector in shared memory that all lanes can read.
INLINE const real *broadcast(const warp_context &ctx, const real (&rows)[ROWS_PER_LANE], int buffer)
{
    real *vector = ctx.memory->vector[buffer];
#pragma unroll
    for (int k = 0; k < ROWS_PER_LANE; k++)
        if (ctx.row[k] >= 0)
            vector[ctx.row[k]] = rows[k];
    __syncwarp();
    return vector;
}

// The rows of (matrix times units) that this lane owns.
INLINE void gather_rows(const warp_context &ctx, const pass_weights &weights, const real (&units)[UNITS],
                        real (&sum)[ROWS_PER_LANE])
{
#if WEIGHTS_IN_REGISTERS
    sum[0] = to_row(weights.to_rows, units, ctx.kept);
#else
#pragma unroll
    for (int u = 0; u < UNITS; u++)
        ctx.memory->unit[32 * u + ctx.lane] = units[u];
    __syncwarp();
    to_rows(weights.to_rows, ctx.memory->unit, ctx.lane, sum);
#endif
}

// rows -> rows + a (teacher - B+ B rows).  B+ B is symmetric, so the backward step is the same with teacher =
// 0.
INLINE void force(const warp_context &ctx, const pass_weights &weights, real (&rows)[ROWS_PER_LANE],
                  const real (&teacher)[ROWS_PER_LANE], real a)
{
#if ROWS_PER_LANE == 1
    const real *vector = broadcast(ctx, rows, 1);
    real even = 0, odd = 0;
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
        const real4 four = load4(vector + 4 * q);
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (4 * q + k < M) {
                if (k & 1)
                    odd += four.a[k] * weights.Q[4 * q + k];
                else
                    even += four.a[k] * weights.Q[4 * q + k];
            }
    }
    rows[0] += a * (teacher[0] - (even + odd));
#else
    real projected[ROWS_PER_LANE];
#pragma unroll
    for (int k = 0; k < ROWS_PER_LANE; k++)
        projected[k] = teacher[k];
    for (int n = 0; n < N; n++) {
        real sum = 0;
#pragma unroll
        for (int k = 0; k < ROWS_PER_LANE; k++)
            if (ctx.row[k] >= 0)
                sum += weight<PACK_B>(ctx, n * MP + ctx.row[k]) * rows[k];
#pragma unroll
        for (int offset = 16; offset > 0; offset >>= 1)
            sum += __shfl_xor_sync(ALL_LANES, sum, offset);
#pragma unroll
        for (int k = 0; k < ROWS_PER_LANE; k++)
            if (ctx.row[k] >= 0)
#if PATTERNS
                projected[k] -= __ldg(weights.P + n * MP + ctx.row[k]) * sum;
#else
                projected[k] -= weight<PACK_P>(ctx, n * MP + ctx.row[k]) * sum;
#endif
    }
#pragma unroll
    for (int k = 0; k < ROWS_PER_LANE; k++)
        rows[k] += a * projected[k];
#endif
}

INLINE void load_rows(const warp_context &ctx, const real *from, real (&rows)[ROWS_PER_LANE])
{
#pragma unroll
    for (int k = 0; k < ROWS_PER_LANE; k++)
        rows[k] = ctx.row[k] < 0 ? real(0) : from[ctx.row[k]];
}

// `to` and `from` below already include this lane's first row, so that one pointer and constant offsets reach
// all of its rows.
INLINE void store_rows(const warp_context &ctx, real *to, const real (&rows)[ROWS_PER_LANE])
{
#pragma unroll
    for (int k = 0; k < ROWS_PER_LANE; k++)
        if (ctx.row[k] >= 0)
            to[32 * k] = rows[k];
}

// Prefetch the rows of time t into the ring buffer, unless t is beyond the segment: those rows belong to
// another warp.
INLINE void prefetch_rows(const warp_context &ctx, const real *from, int t, bool wanted)
{
    real *to = ctx.memory->prefetched[t & (PREFETCH_RING - 1)] + ctx.first_row;
#pragma unroll
    for (int k = 0; k < ROWS_PER_LANE; k++)
        if (ctx.row[k] >= 0 && wanted)
            copy_async(to + 32 * k, from + 32 * k);
    copy_commit();
}

INLINE void prefetch_masks(const warp_context &ctx, const unsigned *from, int t, bool wanted)
{
#pragma unroll
    for (int k = 0; k < MASKS; k += 32)
        if (k + ctx.lane < MASKS && wanted)
            copy_async(ctx.memory->masks[t & (PREFETCH_RING - 1)] + k + ctx.lane, from + k + ctx.lane);
}

// Read them; the PREFETCH next ones are still pending.
INLINE void wait_rows(const warp_context &ctx, int t, real (&rows)[ROWS_PER_LANE])
{
    copy_wait<PREFETCH>();
    load_rows(ctx, ctx.memory->prefetched[t & (PREFETCH_RING - 1)], rows);
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

// phi of spec 1 and its derivative as bits.
INLINE void activate(const real (&b)[UNITS], const real (&preactivation)[UNITS], real (&phi)[UNITS],
                     unsigned (&masks)[MASKS])
{
#pragma unroll
    for (int u = 0; u < UNITS; u++) {
        const real above = preactivation[u] + b[u];
        masks[u] = __ballot_sync(ALL_LANES, above > 0);
        phi[u] = above > 0 ? above : real(0);
#if CLIPPED
        masks[UNITS + u] = __ballot_sync(ALL_LANES, preactivation[u] > 0);
        phi[u] -= preactivation[u] > 0 ? preactivation[u] : real(0);
#endif
    }
}

// h + C s_t.
INLINE void find_drive(const solve_args &p, const warp_context &ctx, size_t sequence, int t,
                       const real (&h)[ROWS_PER_LANE], real (&drive)[ROWS_PER_LANE])
{
#pragma unroll
    for (int k = 0; k < ROWS_PER_LANE; k++)
        drive[k] = h[k];
#if K > 0
    const real *input = p.s + (sequence * p.T + t) * K;
    for (int i = 0; i < K; i++)
#pragma unroll
        for (int k = 0; k < ROWS_PER_LANE; k++)
            if (ctx.row[k] >= 0)
                drive[k] += weight<PACK_C>(ctx, i * MP + ctx.row[k]) * input[i];
#endif
}

INLINE void load_biases(const warp_context &ctx, real (&h)[ROWS_PER_LANE], real (&b)[UNITS])
{
#pragma unroll
    for (int k = 0; k < ROWS_PER_LANE; k++)
        h[k] = ctx.row[k] < 0 ? real(0) : weight<PACK_h>(ctx, ctx.row[k]);
#pragma unroll
    for (int u = 0; u < UNITS; u++)
        b[u] = weight<PACK_b>(ctx, 32 * u + ctx.lane);
}

// Hidden units of one step, where they are stored for the gradient.  to: (LP)
INLINE void store_units(const warp_context &ctx, real *to, const real (&units)[UNITS])
{
#pragma unroll
    for (int u = 0; u < UNITS; u++)
        to[32 * u + ctx.lane] = units[u];
}

// Multiply by the diagonal of the Jacobian of a step, without the part of W D V.
INLINE void multiply_diagonal(const solve_args &p, const warp_context &ctx, const pass_weights &weights,
                              size_t sequence, int t, real a, real (&diagonal)[ROWS_PER_LANE])
{
#pragma unroll
    for (int k = 0; k < ROWS_PER_LANE; k++)
        if (ctx.row[k] >= 0) {
            const int at = ctx.row[k] * MP + ctx.row[k];
#if PATTERNS
            const real Q = __ldg(pattern_weights(p, ctx.patterns, sequence, t) + PATTERN_Q + at);
#else
            const real Q = weight<PACK_Q>(ctx, at);
#endif
            diagonal[k] *= (1 + weights.A1[k]) * (1 - a * Q);
        }
}

// Multiply by the derivative of phi.
INLINE void apply_slopes(const warp_context &ctx, const unsigned *masks, real (&back)[UNITS])
{
#pragma unroll
    for (int u = 0; u < UNITS; u++) {
#if CLIPPED
        const int slope = (int)(masks[u] >> ctx.lane & 1) - (int)(masks[UNITS + u] >> ctx.lane & 1);
        back[u] = slope * back[u];
#else
        back[u] = masks[u] >> ctx.lane & 1 ? back[u] : real(0);
#endif
    }
}

INLINE void copy_rows(real (&to)[ROWS_PER_LANE], const real (&from)[ROWS_PER_LANE])
{
#pragma unroll
    for (int k = 0; k < ROWS_PER_LANE; k++)
        to[k] = from[k];
}

INLINE void fill_rows(real (&to)[ROWS_PER_LANE], real value)
{
#pragma unroll
    for (int k = 0; k < ROWS_PER_LANE; k++)
        to[k] = value;
}

// One exact pass over a segment.  inout: rows at its start; on return, at its end.  slope: the product of the
// diagonals of its Jacobians, without full matrices.  passes: earlier passes with tangents; -1: none in this
// one.
INLINE void run_forward(const solve_args &p, const warp_context &ctx, const segment &here, size_t sequence,
                        real (&inout)[ROWS_PER_LANE], real (&slope)[ROWS_PER_LANE], int passes)
{
    const forcing strength = forcing_of(p, ctx.pack);
    real z[ROWS_PER_LANE], diagonal[ROWS_PER_LANE];
    copy_rows(z, inout);
    fill_rows(diagonal, 1);
#if TANGENT_WARPS
    unsigned step = (unsigned)passes * (unsigned)(here.last - here.first), limit = passes < 0 ? ~0u : 0u;
#endif
    real *lane_row = p.rows + (sequence * (p.T + 1) + here.first) * ROW + ctx.first_row;
    unsigned *masks_out = p.masks + (sequence * p.T + here.first) * MASKS;
    real f[ROWS_PER_LANE], teacher[ROWS_PER_LANE], drive[ROWS_PER_LANE], h[ROWS_PER_LANE], b[UNITS];
    pass_weights weights;
    load_pass_weights(weights, ctx, true);
    load_biases(ctx, h, b);
    load_rows(ctx, lane_row - ctx.first_row + AT_TEACHER, teacher);
    for (int i = 1; i <= PREFETCH; i++)
        prefetch_rows(ctx, lane_row + i * ROW + AT_TEACHER, here.first + i, here.first + i < here.last);
    if (here.first == 0)
        store_rows(ctx, lane_row + AT_Z, z);
    copy_rows(f, z);
    load_projection(weights, p, ctx, sequence, here.first);
    force(ctx, weights, f, teacher, strength.at(here.first));
    for (int t = here.first; t < here.last; t++, lane_row += ROW, masks_out += MASKS) {
        const real *vector = broadcast(ctx, f, 0);
        store_rows(ctx, lane_row + AT_FORCED, f);
        prefetch_rows(ctx, lane_row + (1 + PREFETCH) * ROW + AT_TEACHER, t + 1 + PREFETCH,
                      t + 1 + PREFETCH < here.last);
        find_drive(p, ctx, sequence, t, h, drive);
        load_projection(weights, p, ctx, sequence, t + 1);
        real preactivation[UNITS], phi[UNITS], sum[ROWS_PER_LANE];
        unsigned masks[MASKS];
        to_units(weights.to_units, vector, preactivation);
        activate(b, preactivation, phi, masks);
#if TANGENT_WARPS
        push_masks(ctx, ++step, limit, masks); // without tangents no warp reads them
#endif
        gather_rows(ctx, weights, phi, sum);
#pragma unroll
        for (int k = 0; k < ROWS_PER_LANE; k++)
            z[k] = f[k] + ((weights.A1[k] * f[k] + drive[k]) + sum[k]);
        store_rows(ctx, lane_row + ROW + AT_Z, z);
        if (ctx.lane == 0)
            store_masks(masks_out, masks);
#if KEEP_HIDDEN
        store_units(ctx, p.hidden + (sequence * p.T + t) * LP, phi);
#endif
#if !NEWTON
        multiply_diagonal(p, ctx, weights, sequence, t, strength.at(t), diagonal);
#endif
        wait_rows(ctx, t + 1, teacher); // at the segment's end it is undefined, and f is not used
        copy_rows(f, z);
        force(ctx, weights, f, teacher, strength.at(t + 1));
    }
    copy_wait<0>();
    __syncwarp();
    copy_rows(inout, z);
    copy_rows(slope, diagonal);
}

// The adjoint of a segment.  inout: rows at its end, from later steps; on return, rows at its start.
INLINE void run_backward(const solve_args &p, const warp_context &ctx, const segment &here, size_t sequence,
                         real (&inout)[ROWS_PER_LANE])
{
    const forcing strength = forcing_of(p, ctx.pack);
    real v[ROWS_PER_LANE];
    copy_rows(v, inout);
    real *lane_row = p.rows + (sequence * (p.T + 1) + here.last) * ROW + ctx.first_row;
    const unsigned *masks_in = p.masks + (sequence * p.T + here.last - 1) * MASKS;
    real next[ROWS_PER_LANE], none[ROWS_PER_LANE];
    pass_weights weights;
    load_pass_weights(weights, ctx, false);
    fill_rows(none, 0);
    for (int i = 0; i <= PREFETCH; i++) {
        prefetch_masks(ctx, masks_in - i * MASKS, here.last - i, here.last - i > here.first);
        prefetch_rows(ctx, lane_row - (1 + i) * ROW + AT_TEACHER, here.last - i, here.last - i > here.first);
    }
    for (int t = here.last; t > here.first; t--, lane_row -= ROW, masks_in -= MASKS) {
        wait_rows(ctx, t, next);
#pragma unroll
        for (int k = 0; k < ROWS_PER_LANE; k++)
            v[k] += next[k];
        const real *vector = broadcast(ctx, v, 0);
        store_rows(ctx, lane_row + AT_V, v);
        load_projection(weights, p, ctx, sequence, t - 1);
        real back[UNITS], sum[ROWS_PER_LANE];
        to_units(weights.to_units, vector, back);
        // Complete since wait_rows, visible since broadcast.
        const unsigned *masks = ctx.memory->masks[t & (PREFETCH_RING - 1)];
#if KEEP_HIDDEN
        store_units(ctx, p.delta + (sequence * p.T + t - 1) * LP, back);
#endif
        apply_slopes(ctx, masks, back);
        gather_rows(ctx, weights, back, sum);
#pragma unroll
        for (int k = 0; k < ROWS_PER_LANE; k++)
            v[k] = v[k] + (weights.A1[k] * v[k] + sum[k]);
        store_rows(ctx, lane_row - ROW + AT_W, v);
        force(ctx, weights, v, none, strength.at(t - 1));
#if ROWS_PER_LANE > 1
        __syncwarp();
#endif
        // All lanes have read the entry that is overwritten: the barrier is in `force`, or above.
        const bool wanted = t - 1 - PREFETCH > here.first;
        prefetch_masks(ctx, masks_in - (1 + PREFETCH) * MASKS, t - 1 - PREFETCH, wanted);
        prefetch_rows(ctx, lane_row - (2 + PREFETCH) * ROW + AT_TEACHER, t - 1 - PREFETCH, wanted);
    }
    copy_wait<0>();
    __syncwarp();
    copy_rows(inout, v);
}

#endif
