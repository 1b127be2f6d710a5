// solve.cu - forced trajectories, their loss and the sums of its gradient (SPEC 2, 3), for many replicas at once.
//
// Time is cut into stretches, one per warp.  Inside a stretch steps are exact and the state never leaves the warp;
// `join_borders` makes neighbouring stretches meet.  With one stretch per sequence this is the sequential solver.
// The adjoint goes the same way backwards.  All blocks of a replica form a team that meets at team_barrier, so
// one launch is a whole forward and backward pass.
//
// Macros from the host: those of shape.cuh; WARPS (of one block); CHUNKED (0: one stretch per sequence, p.chunks = 1;
// 1: p.chunks > 1); NEWTON (1: full border matrices, M <= 32).
// variant: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=12 -DNEWTON=1 -DCHUNKED=1
// variant: -DREAL_BITS=32 -DM=10 -DN=6 -DL=128 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=1 -DCHUNKED=1
// variant: -DREAL_BITS=32 -DM=128 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=0 -DCHUNKED=1
// variant: -DREAL_BITS=64 -DM=5 -DN=3 -DL=50 -DK=2 -DCLIPPED=1 -DWARPS=8 -DNEWTON=1 -DCHUNKED=0
// spills: solve (weights take nearly all registers; what is spilled lies outside the loops over steps on sm_90)
#if !defined REAL_BITS || !defined M || !defined N || !defined L || !defined K || !defined CLIPPED || !defined WARPS || !defined CHUNKED || !defined NEWTON
#error "the host gives the macros named above"
#endif
#include "border.cuh"

#define THREADS (32 * WARPS)

// From 17 latent units on, hidden activity and its adjoint are kept for the gradient; below they are recomputed.
#define KEEP_HIDDEN (M > 16)

// Sums over time, in this order.  Hidden ones are padded to LP.
#define SUM_W (0)                  // (M, LP): sum v phi^T
#define SUM_V (SUM_W + M * LP)     // (M, LP): V's gradient, transposed
#define SUM_b (SUM_V + M * LP)     // (LP)
#define SUM_A (SUM_b + LP)         // (M): before the derivative of tanh
#define SUM_h (SUM_A + M)          // (M)
#define SUM_C (SUM_h + M)          // (M, K)
#define SUM_B (SUM_C + M * K)      // (N, M): dB less what passes through B+
#define SUM_P (SUM_B + N * M)      // (M, N): dB+
#define SUMS  (SUM_P + M * N)

// What is kept of one moment t.
#define AT_Z       0             // z_t
#define AT_FORCED  MP            // z~_t
#define AT_TEACHER (2 * MP)      // z-bar_t; later the direct part of v_t
#define AT_V       (3 * MP)      // dloss / dz_t
#define AT_W       (4 * MP)      // dloss / dz~_t
#define AT_E       (5 * MP)      // x_t - B z_t
#define AT_Y       (5 * MP + NP) // dloss / de_t
#define ROW        (5 * MP + 2 * NP)

struct solve_problem { // mirrored in solve.c
    int T, batch, warmup, chunks; // chunks: stretches of one sequence
    int blocks;                   // of one team
    int max_iterations;
    int flow; // teacher: 1 flow, 0 stop
    int replicas;
    int staged;                      // 1: records of the team fit into shared memory behind kernel_memory
    real alpha, tolerance;
    real freeze;                     // jump below which border matrices are not renewed
    double weight;                   // 2 / (N (T - T_w) batch)
    const real *pack;                // (replicas, PACK)
    const real *x;                   // (replicas, batch, T+1, N)
    const real *s;                   // (replicas, batch, T, K)
    real *rows;                      // (replicas, batch, T+1, ROW)
    unsigned *masks;                 // (replicas, batch, T, MASKS)
    real *hidden, *delta;            // (replicas, batch, T, LP), when KEEP_HIDDEN: phi, and dloss/dphi
    real *records;                   // (replicas, 2, blocks + 1, RECORD)
    real *partial;                   // (replicas, blocks, SUMS)
    double *squares;                 // (replicas, blocks)
    double *sums;                    // (replicas, SUMS)
    unsigned *arrived;               // (replicas), zero at launch
    double *facts;                   // (replicas, 8): iterations, jump, rounds back, jump back, converged, loss
};

enum { FACT_ITERATIONS, FACT_LAST_JUMP, FACT_ROUNDS_BACK, FACT_JUMP_BACK, FACT_CONVERGED, FACT_LOSS };

struct stretch {
    int first, last; // steps first -> last; it makes z_{first+1} .. z_last
    int sequence;
    bool works; // false: this warp has none
};

// Loads run AHEAD steps before their use: a trip to the second-level cache.
#define AHEAD 3
#define RING  4 // a power of two above AHEAD

struct alignas(16) warp_memory {
    real vector[2][MP];
    real unit[LP];
    real ahead[RING][MP];        // teachers, or direct parts of the adjoint, of the steps to come
    unsigned masks[RING][MASKS]; // of the steps to come, backward
};

struct alignas(16) solve_memory {
    border_memory border;
    warp_memory warp[WARPS];
    real tangent[WARPS][MATRIX]; // X of each warp's stretch
    double squares[WARPS];
};

struct worker { // one warp's view
    int lane, warp, row[ROW_BLOCKS];
    const real *pack;   // in global memory
    const real *staged; // its first STAGE_COUNT numbers in shared memory, if they fit
    warp_memory *memory;
};

struct tools { // what a pass holds in registers
    unit_weights to_units;
    row_weights to_rows;
    real A[ROW_BLOCKS];
#if ROW_BLOCKS == 1
    real Q[M]; // this lane's row of B+ B
#endif
};

INLINE real strength(const solve_problem &p, int t) // a_t of SPEC 2
{
    return t == 0 ? real(0) : t <= p.warmup ? real(1) : p.alpha;
}

INLINE void hire(worker &me, const real *pack, const real *staged, warp_memory *memory)
{
    me.lane = threadIdx.x % 32;
    me.warp = threadIdx.x / 32;
    me.pack = pack;
    me.staged = staged;
    me.memory = memory;
    find_rows(me.row, me.lane);
    if (me.lane < 2 * MP - 2 * M) // padding of the vectors
        memory->vector[me.lane % 2][M + me.lane / 2] = 0;
    __syncwarp();
}

// Forward a step goes through V and then W, backward through W and then V.
INLINE void take_tools(tools &with, const worker &me, bool forward)
{
    take_unit_weights(with.to_units, me.staged + (forward ? PACK_V : PACK_W), me.lane);
    take_row_weights(with.to_rows, me.staged + (forward ? PACK_WR : PACK_VR), me.lane);
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        with.A[k] = me.row[k] < 0 ? real(0) : me.pack[PACK_A + me.row[k]];
#if ROW_BLOCKS == 1
#pragma unroll
    for (int j = 0; j < M; j++)
        with.Q[j] = me.row[0] < 0 ? real(0) : me.pack[PACK_Q + me.row[0] * MP + j];
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

INLINE const real *broadcast_units(const worker &me, const real (&units)[UNITS])
{
#pragma unroll
    for (int u = 0; u < UNITS; u++)
        me.memory->unit[32 * u + me.lane] = units[u];
    __syncwarp();
    return me.memory->unit;
}

// rows -> rows + a (teacher - B+ B rows).  B+ B is symmetric, so that the way back is the same with teacher = 0.
INLINE void force(const worker &me, const tools &with, real (&rows)[ROW_BLOCKS], const real (&teacher)[ROW_BLOCKS], real a)
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
                    odd += four.a[k] * with.Q[4 * q + k < M ? 4 * q + k : 0];
                else
                    even += four.a[k] * with.Q[4 * q + k < M ? 4 * q + k : 0];
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
                sum += me.pack[PACK_B + n * MP + me.row[k]] * rows[k];
#pragma unroll
        for (int offset = 16; offset > 0; offset >>= 1)
            sum += __shfl_xor_sync(ALL_LANES, sum, offset);
#pragma unroll
        for (int k = 0; k < ROW_BLOCKS; k++)
            if (me.row[k] >= 0)
                pulled[k] -= me.pack[PACK_P + n * MP + me.row[k]] * sum;
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

INLINE void store_rows(const worker &me, real *to, const real (&rows)[ROW_BLOCKS])
{
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        if (me.row[k] >= 0)
            to[me.row[k]] = rows[k];
}

// Have the rows of moment t copied into the ring, unless the moment lies beyond the stretch and another warp's.
INLINE void send_for(const worker &me, const real *from, int t, bool wanted)
{
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        if (me.row[k] >= 0 && wanted)
            copy_ahead(me.memory->ahead[t & (RING - 1)] + me.row[k], from + me.row[k]);
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
            *reinterpret_cast<uint4 *>(to + k) = make_uint4(masks[k], masks[k + 1], masks[k + 2], masks[k + 3]);
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
INLINE void activate(const real (&b)[UNITS], const real (&reach)[UNITS], real (&phi)[UNITS], unsigned (&masks)[MASKS])
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

// One exact pass over a stretch.  z: rows at its start; on return, at its end.
template <bool TANGENT>
INLINE void run_forward(const solve_problem &p, const worker &me, const stretch &here, size_t base, real (&z)[ROW_BLOCKS], void *derivative,
                        real *matrix)
{
    real *now = p.rows + (base + here.first) * ROW;
    // T rows of masks per sequence, T + 1 of states.
    unsigned *masks_out = p.masks + (base - base / (p.T + 1) + here.first) * MASKS;
    real f[ROW_BLOCKS], teacher[ROW_BLOCKS], drive[ROW_BLOCKS], h[ROW_BLOCKS], b[UNITS];
    tools with;
    take_tools(with, me, true);
    load_rows(me, me.pack + PACK_h, h);
#pragma unroll
    for (int u = 0; u < UNITS; u++)
        b[u] = me.pack[PACK_b + 32 * u + me.lane];
    load_rows(me, now + AT_TEACHER, teacher);
    for (int i = 1; i <= AHEAD; i++)
        send_for(me, now + i * ROW + AT_TEACHER, here.first + i, here.first + i < here.last);
    if (here.first == 0)
        store_rows(me, now + AT_Z, z);
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        f[k] = z[k];
    force(me, with, f, teacher, strength(p, here.first));
    for (int t = here.first; t < here.last; t++, now += ROW, masks_out += MASKS) {
        const real *vector = broadcast(me, f, 0);
        store_rows(me, now + AT_FORCED, f);
        send_for(me, now + (1 + AHEAD) * ROW + AT_TEACHER, t + 1 + AHEAD, t + 1 + AHEAD < here.last);
#pragma unroll
        for (int k = 0; k < ROW_BLOCKS; k++)
            drive[k] = h[k];
#if K > 0
        const real *input = p.s + (base - base / (p.T + 1) + t) * K;
        for (int i = 0; i < K; i++)
#pragma unroll
            for (int k = 0; k < ROW_BLOCKS; k++)
                if (me.row[k] >= 0)
                    drive[k] += me.pack[PACK_C + i * MP + me.row[k]] * input[i];
#endif
        real reach[UNITS], phi[UNITS], sum[ROW_BLOCKS];
        unsigned masks[MASKS];
        to_units(with.to_units, vector, reach);
        activate(b, reach, phi, masks);
        to_rows(with.to_rows, broadcast_units(me, phi), me.lane, sum);
#pragma unroll
        for (int k = 0; k < ROW_BLOCKS; k++)
            z[k] = with.A[k] * f[k] + sum[k] + drive[k];
        store_rows(me, now + ROW + AT_Z, z);
        if (me.lane == 0)
            store_masks(masks_out, masks);
#if KEEP_HIDDEN
        real *hidden = p.hidden + (base - base / (p.T + 1) + t) * LP;
#pragma unroll
        for (int u = 0; u < UNITS; u++)
            hidden[32 * u + me.lane] = phi[u];
#endif
#if NEWTON
        if (TANGENT)
            tangent_step(*static_cast<tangent *>(derivative), me.staged, masks, strength(p, t), matrix, me.lane);
#else
        if (TANGENT) {
            real *diagonal = static_cast<real *>(derivative);
#pragma unroll
            for (int k = 0; k < ROW_BLOCKS; k++)
                if (me.row[k] >= 0)
                    diagonal[k] *= with.A[k] * (1 - strength(p, t) * me.pack[PACK_Q + me.row[k] * MP + me.row[k]]);
        }
#endif
        if (t + 1 < here.last) {
            receive(me, t + 1, teacher);
#pragma unroll
            for (int k = 0; k < ROW_BLOCKS; k++)
                f[k] = z[k];
            force(me, with, f, teacher, strength(p, t + 1));
        }
    }
    copy_wait<0>();
    __syncwarp();
}

// The adjoint of a stretch.  v: what comes from later steps, rows at its end; on return, rows at its start.
INLINE void run_backward(const solve_problem &p, const worker &me, const stretch &here, size_t base, real (&v)[ROW_BLOCKS])
{
    real *now = p.rows + (base + here.last) * ROW;
    const unsigned *masks_in = p.masks + (base - base / (p.T + 1) + here.last - 1) * MASKS;
    real next[ROW_BLOCKS], none[ROW_BLOCKS];
    tools with;
    take_tools(with, me, false);
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        none[k] = 0;
    for (int i = 0; i <= AHEAD; i++) {
        send_for_masks(me, masks_in - i * MASKS, here.last - i, here.last - i > here.first);
        send_for(me, now - i * ROW + AT_TEACHER, here.last - i, here.last - i > here.first);
    }
    for (int t = here.last; t > here.first; t--, now -= ROW, masks_in -= MASKS) {
        receive(me, t, next);
#pragma unroll
        for (int k = 0; k < ROW_BLOCKS; k++)
            v[k] += next[k];
        const real *vector = broadcast(me, v, 0);
        store_rows(me, now + AT_V, v);
        real back[UNITS], sum[ROW_BLOCKS];
        to_units(with.to_units, vector, back);
        const unsigned *masks = me.memory->masks[t & (RING - 1)]; // there since `receive`, seen since `broadcast`
#if KEEP_HIDDEN
        real *arriving = p.delta + (base - base / (p.T + 1) + t - 1) * LP;
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
        to_rows(with.to_rows, broadcast_units(me, back), me.lane, sum);
#pragma unroll
        for (int k = 0; k < ROW_BLOCKS; k++)
            v[k] = with.A[k] * v[k] + sum[k];
        store_rows(me, now - ROW + AT_W, v);
        const bool wanted = t - 1 - AHEAD > here.first;
        send_for_masks(me, masks_in - (1 + AHEAD) * MASKS, t - 1 - AHEAD, wanted); // all lanes are past reading this slot
        send_for(me, now - (1 + AHEAD) * ROW + AT_TEACHER, t - 1 - AHEAD, wanted);
        force(me, with, v, none, strength(p, t - 1));
    }
    copy_wait<0>();
    __syncwarp();
}

// z-bar of a stretch, from its start to the moment before its end.
INLINE void find_teachers(const solve_problem &p, const worker &me, const stretch &here, size_t base)
{
    for (int i = me.lane; i < (here.last - here.first) * M; i += 32) {
        const size_t t = base + here.first + i / M;
        const int m = i % M;
        real sum = 0;
        for (int n = 0; n < N; n++)
            sum += me.pack[PACK_P + n * MP + m] * p.x[t * N + n];
        p.rows[t * ROW + AT_TEACHER + m] = sum;
    }
    __syncwarp();
}

// e_t = x_t - B z_t, the squares, and the direct part of the adjoint, -weight B^T e_t; t = first+1 .. last.
INLINE double find_errors(const solve_problem &p, const worker &me, const stretch &here, size_t base)
{
    double squares = 0;
    const int steps = here.last - here.first;
    for (int i = me.lane; i < steps * N; i += 32) {
        const int step = here.first + 1 + i / N, n = i % N;
        const size_t t = base + step;
        real fit = 0;
        for (int m = 0; m < M; m++)
            fit += me.pack[PACK_B + n * MP + m] * p.rows[t * ROW + AT_Z + m];
        const real error = p.x[t * N + n] - fit;
        p.rows[t * ROW + AT_E + n] = error;
        if (step > p.warmup)
            squares += (double)error * (double)error;
    }
    if (here.first == 0) // z_0 = B+ x_0: x_0 stands where the gradient of B+ looks for e_0
        for (int n = me.lane; n < N; n += 32)
            p.rows[base * ROW + AT_E + n] = p.x[base * N + n];
    __syncwarp();
    for (int i = me.lane; i < steps * M; i += 32) {
        const int step = here.first + 1 + i / M, m = i % M;
        const size_t t = base + step;
        real sum = 0;
        if (step > p.warmup)
            for (int n = 0; n < N; n++)
                sum -= me.pack[PACK_B + n * MP + m] * p.rows[t * ROW + AT_E + n];
        p.rows[t * ROW + AT_TEACHER + m] = real(p.weight) * sum;
    }
    __syncwarp();
    return squares;
}

// y_t = dloss / de_t = a_t B+^T w_t + weight e_t, for t = first .. last-1, and for T where the sequence ends.
INLINE void find_y(const solve_problem &p, const worker &me, const stretch &here, size_t base)
{
    const int steps = here.last - here.first + (here.last == p.T);
    for (int i = me.lane; i < steps * N; i += 32) {
        const int step = here.first + i / N, n = i % N;
        const size_t t = base + step;
        real sum = 0;
        if (p.flow && step > 0 && step < p.T) {
            for (int m = 0; m < M; m++)
                sum += me.pack[PACK_P + n * MP + m] * p.rows[t * ROW + AT_W + m];
            sum *= strength(p, step);
        }
        p.rows[t * ROW + AT_Y + n] = sum + (step > p.warmup ? real(p.weight) * p.rows[t * ROW + AT_E + n] : real(0));
    }
}

// ---- sums over time ---------------------------------------------------------------------------------------

struct block_work { // which stretches a block has
    int workers, items; // warps of the team; stretches of all sequences
    int first;          // number of the block's first warp
};

INLINE stretch find_stretch(const solve_problem &p, int item, int items)
{
    stretch s;
    s.works = item < items;
    s.sequence = s.works ? item / p.chunks : 0;
    const long long chunk = s.works ? item % p.chunks : 0;
    s.first = (int)(p.T * chunk / p.chunks);
    s.last = (int)(p.T * (chunk + 1) / p.chunks);
    return s;
}

#define SCRATCH 8 // quantities that go through shared memory at a time

#define TILE    32 // steps that a slice of threads takes through shared memory at a time
#define SLICES  (THREADS / LP > 0 ? THREADS / LP : 1)

#define LATENT_ROW     (ROW + 4 + (K + 3) / 4 * 4) // a row of moments with a one and the inputs behind it
#define LATENT_ROOM    (48 * 1024 / (WARPS * LATENT_ROW * (REAL_BITS / 8)) - 1)
#define LATENT_TILE    (LATENT_ROOM > 8 ? 8 : LATENT_ROOM > 1 ? LATENT_ROOM : 1) // rows of a tile of the small sums
#define LATENT_ENTRIES ((SUMS - SUM_A + 31) / 32 < 8 ? (SUMS - SUM_A + 31) / 32 : 8) // of one lane at a time

struct alignas(16) sum_memory {
    union {
        real scratch[SCRATCH][THREADS];
        real rows[WARPS][(LATENT_TILE + 1) * LATENT_ROW];
        real latent[WARPS][32 * LATENT_ENTRIES];
#if !KEEP_HIDDEN
        real tile[SLICES][2][TILE][MP]; // z~_t and v_{t+1}
#endif
    };
};

// Add up what `slices` threads found for each of `width` slots, `used` of which count, and write it to the block's
// partial sums.
template <int COUNT>
INLINE void add_slices(sum_memory &memory, const real (&value)[COUNT], int slot, int slice, int slices, int width, int used,
                       real *to, int stride)
{
#pragma unroll
    for (int from = 0; from < COUNT; from += SCRATCH) {
        __syncthreads();
#pragma unroll
        for (int k = 0; k < SCRATCH; k++)
            if (from + k < COUNT && slice < slices)
                memory.scratch[k][slice * width + slot] = value[from + k < COUNT ? from + k : 0];
        __syncthreads();
        for (int i = threadIdx.x; i < SCRATCH * used; i += THREADS) {
            const int k = i / used, at = i % used;
            if (from + k < COUNT) {
                real sum = 0;
                for (int s = 0; s < slices; s++)
                    sum += memory.scratch[k][s * width + at];
                to[(size_t)(from + k) * stride + at] = sum;
            }
        }
    }
}

#if KEEP_HIDDEN
// One thread has one hidden unit and 16 latent ones.
INLINE void sum_hidden(const solve_problem &p, sum_memory &, const real *, int replica, const block_work &work, real *partial)
{
    constexpr int groups = (QUADS + 3) / 4;
    for (int task = threadIdx.x; task < LP * groups; task += THREADS) {
        const int unit = task % LP, quad = task / LP * 4;
        real dW[16], dV[16], db = 0;
#pragma unroll
        for (int k = 0; k < 16; k++)
            dW[k] = dV[k] = 0;
        for (int i = work.first; i < work.items; i += i % WARPS == WARPS - 1 ? work.workers - WARPS + 1 : 1) {
            const stretch here = find_stretch(p, i, work.items);
            const size_t sequence = (size_t)replica * p.batch + here.sequence, base = sequence * (p.T + 1);
            for (int t = here.first; t < here.last; t++) {
                const real phi = p.hidden[(sequence * p.T + t) * LP + unit], back = p.delta[(sequence * p.T + t) * LP + unit];
                const unsigned *masks = p.masks + (sequence * p.T + t) * MASKS + unit / 32;
                real delta = masks[0] >> unit % 32 & 1 ? back : real(0);
                db += delta; // b stands in the first term of a clipped unit alone
#if CLIPPED
                delta -= masks[UNITS] >> unit % 32 & 1 ? back : real(0);
#endif
#pragma unroll
                for (int q = 0; q < 4; q++) {
                    if (quad + q < QUADS) {
                        const real4 v = load4(p.rows + (base + t + 1) * ROW + AT_V + 4 * (quad + q));
                        const real4 z = load4(p.rows + (base + t) * ROW + AT_FORCED + 4 * (quad + q));
#pragma unroll
                        for (int k = 0; k < 4; k++) {
                            dW[4 * q + k] += v.a[k] * phi;
                            dV[4 * q + k] += z.a[k] * delta;
                        }
                    }
                }
            }
        }
#pragma unroll
        for (int k = 0; k < 16; k++)
            if (4 * quad + k < M) {
                partial[SUM_W + (4 * quad + k) * LP + unit] = dW[k];
                partial[SUM_V + (4 * quad + k) * LP + unit] = dV[k];
            }
        if (quad == 0)
            partial[SUM_b + unit] = db;
    }
}
#else
// What one thread gathers for its hidden unit.
struct unit_sums {
    real dW[M], dV[M], db[1];
};

// One step: the unit's activity is found again from z~_t, what arrives at it from v_{t+1}.
INLINE void add_step(unit_sums &sums, const real (&V)[MP], const real (&W)[MP], real b, const real *z, const real *v, const unsigned *masks, int bit)
{
    real zt[MP], vt[MP], reach = 0, back = 0;
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
        const real4 four = load4(z + 4 * q), other = load4(v + 4 * q);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            zt[4 * q + k] = four.a[k];
            vt[4 * q + k] = other.a[k];
        }
    }
#pragma unroll
    for (int m = 0; m < M; m++) {
        reach += V[m] * zt[m];
        back += W[m] * vt[m];
    }
    const bool on = masks[0] >> bit & 1;
    real phi = on ? reach + b : real(0);
    const real direct = on ? back : real(0);
    sums.db[0] += direct; // b stands in the first term of a clipped unit alone
#if CLIPPED
    const bool plain = masks[UNITS] >> bit & 1;
    phi -= plain ? reach : real(0);
    back = direct - (plain ? back : real(0));
#else
    back = direct;
#endif
#pragma unroll
    for (int m = 0; m < M; m++) {
        sums.dW[m] += vt[m] * phi;
        sums.dV[m] += zt[m] * back;
    }
}

// One thread has one hidden unit; slices of threads share the stretches, tile by tile.
INLINE void sum_hidden(const solve_problem &p, sum_memory &memory, const real *pack, int replica, const block_work &work, real *partial)
{
    constexpr int width = LP < THREADS ? LP : THREADS;
    const int slice = threadIdx.x / width, slot = threadIdx.x % width;
    const int rounds = (work.items - work.first + work.workers - 1) / work.workers, longest = (p.T + p.chunks - 1) / p.chunks;
    for (int first = 0; first < LP; first += width) {
        const int unit = first + slot < LP ? first + slot : LP - 1, used = LP - first < width ? LP - first : width;
        real V[MP], W[MP];
        unit_sums sums;
#pragma unroll
        for (int q = 0; q < QUADS; q++) {
            const real4 v = load4(pack + PACK_V + 4 * (q * LS + unit)), w = load4(pack + PACK_W + 4 * (q * LS + unit));
#pragma unroll
            for (int k = 0; k < 4; k++) {
                V[4 * q + k] = v.a[k];
                W[4 * q + k] = w.a[k];
            }
        }
        const real b = pack[PACK_b + unit];
#pragma unroll
        for (int m = 0; m < M; m++)
            sums.dW[m] = sums.dV[m] = 0;
        sums.db[0] = 0;
        for (int i = 0; i < rounds * WARPS; i += SLICES)
            for (int step = 0; step < longest; step += TILE) {
                const int mine = i + slice;
                const stretch here = find_stretch(p, work.first + mine / WARPS * work.workers + mine % WARPS, work.items);
                const size_t sequence = (size_t)replica * p.batch + here.sequence, row = sequence * (p.T + 1) + here.first + step;
                const int left = slice < SLICES && mine < rounds * WARPS && here.works ? here.last - here.first - step : 0;
                const int steps = left < 0 ? 0 : left < TILE ? left : TILE;
                __syncthreads();
                for (int k = slot; k < steps * QUADS; k += width) {
                    const real *from = p.rows + (row + k / QUADS) * ROW + 4 * (k % QUADS);
                    store4(memory.tile[slice][0][0] + 4 * k, load4(from + AT_FORCED));
                    store4(memory.tile[slice][1][0] + 4 * k, load4(from + ROW + AT_V));
                }
                __syncthreads();
                const unsigned *masks = p.masks + (sequence * p.T + here.first + step) * MASKS + unit / 32;
#pragma unroll 4
                for (int t = 0; t < steps; t++)
                    add_step(sums, V, W, b, memory.tile[slice][0][t], memory.tile[slice][1][t], masks + t * MASKS, unit % 32);
            }
        __syncthreads();
        add_slices(memory, sums.dW, slot, slice, SLICES, width, used, partial + SUM_W + first, LP);
        add_slices(memory, sums.dV, slot, slice, SLICES, width, used, partial + SUM_V + first, LP);
        add_slices(memory, sums.db, slot, slice, SLICES, width, used, partial + SUM_b + first, LP);
    }
}
#endif

// The small sums: Abar, h, C, B and B+.  One entry is a product of two numbers of one step; a warp takes its own
// stretches, some rows at a time through shared memory, and its lanes share the entries.
INLINE void find_factors(int entry, int &left, int &right)
{
    if (entry < SUM_h) {
        left = LATENT_ROW + AT_V + entry - SUM_A;
        right = AT_FORCED + entry - SUM_A;
    } else if (entry < SUM_C) {
        left = LATENT_ROW + AT_V + entry - SUM_h;
        right = ROW; // a one
    } else if (entry < SUM_B) {
        left = LATENT_ROW + AT_V + (entry - SUM_C) / (K > 0 ? K : 1);
        right = ROW + 1 + (entry - SUM_C) % (K > 0 ? K : 1);
    } else if (entry < SUM_P) {
        left = AT_Y + (entry - SUM_B) / M;
        right = AT_Z + (entry - SUM_B) % M;
    } else {
        left = AT_W + (entry - SUM_P) / N;
        right = AT_E + (entry - SUM_P) % N;
    }
}

// Rows t .. t+count of one sequence into the warp's tile.
INLINE void copy_rows(const solve_problem &p, real *tile, size_t sequence, int t, int count, int lane)
{
    const real *from = p.rows + (sequence * (p.T + 1) + t) * ROW;
    __syncwarp();
#pragma unroll 4
    for (int i = lane; i < (count + 1) * (ROW / 4); i += 32)
        store4(tile + i / (ROW / 4) * LATENT_ROW + i % (ROW / 4) * 4, load4(from + 4 * i));
    for (int i = lane; i < count * K; i += 32)
        tile[i / (K > 0 ? K : 1) * LATENT_ROW + ROW + 1 + i % (K > 0 ? K : 1)] = p.s[(sequence * p.T + t) * K + i];
    for (int i = lane; i < count; i += 32)
        tile[i * LATENT_ROW + ROW] = 1;
    __syncwarp();
}

// All entries of one group over one stretch.
INLINE void add_stretch(const solve_problem &p, real *tile, size_t sequence, const stretch &here, int first, real (&sum)[LATENT_ENTRIES], int lane)
{
    int left[LATENT_ENTRIES], right[LATENT_ENTRIES];
#pragma unroll
    for (int k = 0; k < LATENT_ENTRIES; k++)
        find_factors(first + 32 * k + lane < SUMS ? first + 32 * k + lane : SUM_A, left[k], right[k]);
    for (int t = here.first; t < here.last; t += LATENT_TILE) {
        const int count = here.last - t < LATENT_TILE ? here.last - t : LATENT_TILE;
        copy_rows(p, tile, sequence, t, count, lane);
        for (int i = 0; i < count; i++) {
            const real *row = tile + i * LATENT_ROW, a = !p.flow ? real(0) : t + i == 0 ? real(1) : strength(p, t + i);
#pragma unroll
            for (int k = 0; k < LATENT_ENTRIES; k++)
                sum[k] += (first + 32 * k + lane < SUM_P ? real(1) : a) * row[left[k]] * row[right[k]];
        }
        if (t + count == p.T) // the last moment has an error, but no step
#pragma unroll
            for (int k = 0; k < LATENT_ENTRIES; k++) {
                const int entry = first + 32 * k + lane;
                if (entry >= SUM_B && entry < SUM_P)
                    sum[k] += tile[count * LATENT_ROW + left[k]] * tile[count * LATENT_ROW + right[k]];
            }
    }
}

INLINE void sum_latent(const solve_problem &p, sum_memory &memory, int replica, const block_work &work, real *partial)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int first = SUM_A; first < SUMS; first += 32 * LATENT_ENTRIES) {
        real sum[LATENT_ENTRIES];
#pragma unroll
        for (int k = 0; k < LATENT_ENTRIES; k++)
            sum[k] = 0;
        for (int item = work.first + warp; item < work.items; item += work.workers) {
            const stretch here = find_stretch(p, item, work.items);
            add_stretch(p, memory.rows[warp], (size_t)replica * p.batch + here.sequence, here, first, sum, lane);
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < LATENT_ENTRIES; k++)
            memory.latent[warp][32 * k + lane] = sum[k];
        __syncthreads();
        for (int i = threadIdx.x; i < 32 * LATENT_ENTRIES && first + i < SUMS; i += THREADS) {
            real total = 0;
            for (int w = 0; w < WARPS; w++)
                total += memory.latent[w][i];
            partial[first + i] = total;
        }
        __syncthreads();
    }
}

// Add the partial sums of all blocks, in double and in fixed order.
INLINE void sum_blocks(const solve_problem &p, double *scratch, int replica, int block)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const real *partial = p.partial + (size_t)replica * p.blocks * SUMS;
    for (int first = 32 * block; first < SUMS; first += 32 * p.blocks) {
        const int entry = first + lane;
        double sum = 0;
        if (entry < SUMS)
            for (int b = warp; b < p.blocks; b += WARPS)
                sum += (double)__ldcg(partial + (size_t)b * SUMS + entry);
        __syncthreads();
        scratch[warp * 32 + lane] = sum;
        __syncthreads();
        if (warp == 0 && entry < SUMS) {
            for (int other = 1; other < WARPS; other++)
                sum += scratch[other * 32 + lane];
            p.sums[(size_t)replica * SUMS + entry] = sum;
        }
    }
    if (block == 0 && threadIdx.x == 0) {
        double squares = 0;
        for (int b = 0; b < p.blocks; b++)
            squares += __ldcg(p.squares + (size_t)replica * p.blocks + b);
        p.facts[8 * replica + FACT_LOSS] = 0.5 * p.weight * squares;
    }
}

#if CHUNKED
// ---- borders ----------------------------------------------------------------------------------------------

// A correction that is not a number starts again from the teacher.
INLINE void keep_finite(border_side &side, const real (&teacher)[ROW_BLOCKS])
{
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        if (!is_finite(side.in[k]))
            side.in[k] = teacher[k];
}

INLINE void write_map(real *to, const real *matrix, bool zero, bool transposed, int lane)
{
#if NEWTON
    for (int i = lane; i < M * M; i += 32) {
        const int row = i / M, column = i % M;
        to[row * MP + column] = zero ? real(0) : transposed ? matrix[column * MP + row] : matrix[row * MP + column];
    }
#else
    for (int i = lane; i < M; i += 32)
        to[i] = zero ? real(0) : matrix[i];
#endif
    __syncwarp();
}

// Passes over all stretches until neighbours meet.  Leaves X of every stretch in memory.tangent.
INLINE void solve_forward(const solve_problem &p, solve_memory &memory, border_team &team, const worker &me, const stretch &here,
                          size_t base, double *facts)
{
    border_side side;
    real teacher[ROW_BLOCKS], *matrix = memory.tangent[me.warp];
    load_rows(me, p.rows + (base + here.first) * ROW + AT_TEACHER, teacher);
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++) {
        side.in[k] = here.works ? teacher[k] : real(0);
        side.out[k] = 0;
    }
    side.closed = !here.works || here.last == p.T;
#if NEWTON
    tangent derivative;
    real *jacobian = memory.border.fold[me.warp]; // free between joins
    tangent_begin(derivative, me.lane);
#endif
    int iteration = 0;
    bool exact;
    side.jump = 1 / real(0);
    for (;;) {
        if (here.works) {
#pragma unroll
            for (int k = 0; k < ROW_BLOCKS; k++)
                side.out[k] = side.in[k];
#if NEWTON
            if (!(side.jump <= p.freeze)) { // X of nearly the same trajectory serves as well
                tangent_restart(derivative, jacobian, me.lane);
                run_forward<true>(p, me, here, base, side.out, &derivative, jacobian);
                tangent_write(derivative.column, matrix, me.lane);
            } else {
                run_forward<false>(p, me, here, base, side.out, nullptr, nullptr);
            }
#else
            real derivative[ROW_BLOCKS];
#pragma unroll
            for (int k = 0; k < ROW_BLOCKS; k++)
                derivative[k] = 1;
            run_forward<true>(p, me, here, base, side.out, derivative, nullptr);
            store_rows(me, matrix, derivative);
            __syncwarp();
#endif
        }
        const bool plain = iteration >= p.max_iterations; // hand the ends on as they are: exact after `chunks` rounds
        write_map(memory.border.map[me.warp], matrix, side.closed || plain, false, me.lane);
        exact = join_borders(memory.border, team, side, me.row, me.warp, p.tolerance, 0);
        if (++iteration >= p.max_iterations + p.chunks || exact)
            break;
        keep_finite(side, teacher);
    }
    if (team.block == 0 && threadIdx.x == 0) {
        facts[FACT_ITERATIONS] = iteration;
        facts[FACT_LAST_JUMP] = side.jump;
        facts[FACT_CONVERGED] = exact && iteration <= p.max_iterations;
    }
    __syncthreads();
}

// The adjoint of all stretches.  It is linear: the second pass is exact, and the join after it proves so.
INLINE void solve_backward(const solve_problem &p, solve_memory &memory, border_team &team, const worker &me, const stretch &here,
                           size_t base, double *facts)
{
    const int block = team.block;
    const int place = WARPS - 1 - me.warp;
    border_side side;
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        side.in[k] = side.out[k] = 0;
    side.closed = !here.works || here.first == 0;
    team.block = (int)team.blocks - 1 - block;
    int round = 0;
    bool exact;
    for (;;) {
        if (here.works) {
#pragma unroll
            for (int k = 0; k < ROW_BLOCKS; k++)
                side.out[k] = side.in[k];
            run_backward(p, me, here, base, side.out);
        }
        write_map(memory.border.map[place], memory.tangent[me.warp], side.closed, true, me.lane);
        exact = join_borders(memory.border, team, side, me.row, place, 0, 10 * p.tolerance);
        if (++round > p.chunks || exact)
            break;
    }
    team.block = block;
    if (block == 0 && threadIdx.x == 0) {
        facts[FACT_ROUNDS_BACK] = round;
        facts[FACT_JUMP_BACK] = side.jump;
    }
    __syncthreads();
}

#endif

// ---- the kernel -------------------------------------------------------------------------------------------

#if !CHUNKED
// One warp after the other takes whole sequences: no borders.
INLINE double solve_sequences(const solve_problem &p, const worker &me, const block_work &work, int replica)
{
    double squares = 0;
    for (int item = work.first + me.warp; item < work.items; item += work.workers) {
        const stretch here = find_stretch(p, item, work.items);
        const size_t base = ((size_t)replica * p.batch + here.sequence) * (p.T + 1);
        real rows[ROW_BLOCKS];
        find_teachers(p, me, here, base);
        load_rows(me, p.rows + base * ROW + AT_TEACHER, rows);
        run_forward<false>(p, me, here, base, rows, nullptr, nullptr);
        squares += find_errors(p, me, here, base);
#pragma unroll
        for (int k = 0; k < ROW_BLOCKS; k++)
            rows[k] = 0;
        run_backward(p, me, here, base, rows);
        __syncwarp();
        find_y(p, me, here, base);
    }
    return squares;
}

#else
// Every warp takes one stretch of time.
INLINE double solve_stretches(const solve_problem &p, solve_memory &memory, border_team &team, const worker &me, const block_work &work,
                              int replica, double *facts)
{
    const stretch here = find_stretch(p, work.first + me.warp, work.items);
    const size_t base = ((size_t)replica * p.batch + here.sequence) * (p.T + 1);
    double squares = 0;
    if (here.works)
        find_teachers(p, me, here, base);
    solve_forward(p, memory, team, me, here, base, facts);
    if (here.works)
        squares = find_errors(p, me, here, base);
    solve_backward(p, memory, team, me, here, base, facts);
    if (here.works)
        find_y(p, me, here, base);
    return squares;
}
#endif

union alignas(16) phase_memory {
    solve_memory solve;
    sum_memory sum;
    double totals[THREADS];
};

struct kernel_memory {
    phase_memory phase;
#if STAGED_PACK
    alignas(16) real staged[STAGE_COUNT];
#endif
};

extern "C" __global__ void __launch_bounds__(THREADS, 1) solve(const solve_problem p)
{
    extern __shared__ __align__(16) unsigned char bytes[];
    kernel_memory &all = *reinterpret_cast<kernel_memory *>(bytes);
    phase_memory &memory = all.phase;
    real *local = p.staged ? reinterpret_cast<real *>(bytes + sizeof(kernel_memory)) : nullptr;
    const int teams = gridDim.x / p.blocks, block = blockIdx.x % p.blocks;
    for (int replica = blockIdx.x / p.blocks; replica < p.replicas; replica += teams) {
        const real *pack = p.pack + (size_t)replica * PACK;
#if STAGED_PACK
        for (int i = 4 * threadIdx.x; i < STAGE_COUNT; i += 4 * THREADS)
            store4(all.staged + i, load4(pack + i));
        __syncthreads();
        const real *staged = all.staged;
#else
        const real *staged = pack;
#endif
        worker me;
        hire(me, pack, staged, &memory.solve.warp[threadIdx.x / 32]);
        border_team team = {p.records + (size_t)replica * 2 * (p.blocks + 1) * RECORD, local, p.arrived + replica, (unsigned)p.blocks, 0, block};
        const block_work work = {p.blocks * WARPS, p.batch * p.chunks, block * WARPS};
#if CHUNKED
        double squares = solve_stretches(p, memory.solve, team, me, work, replica, p.facts + 8 * replica);
#else
        double squares = solve_sequences(p, me, work, replica);
#endif
        squares = warp_sum(squares);
        if (me.lane == 0)
            memory.solve.squares[me.warp] = squares;
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int i = 1; i < WARPS; i++)
                squares += memory.solve.squares[i];
            p.squares[(size_t)replica * p.blocks + block] = squares;
        }
        __syncthreads();
        real *partial = p.partial + ((size_t)replica * p.blocks + block) * SUMS;
        sum_hidden(p, memory.sum, pack, replica, work, partial);
        __syncthreads();
        sum_latent(p, memory.sum, replica, work, partial);
        team_barrier(team.arrived, team.blocks, team.phase);
        sum_blocks(p, memory.totals, replica, block);
        __syncthreads();
    }
}

// What the host has to know of this variant.
extern "C" __device__ const int solve_facts[] = {(int)sizeof(kernel_memory), PACK, ROW, MASKS, RECORD, SUMS, LP, MP, KEEP_HIDDEN};
