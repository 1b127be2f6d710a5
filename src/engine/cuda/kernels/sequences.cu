// sequences.cu - forced trajectories, their errors and the adjoint (spec 2, 3) of many short sequences, in
// the place of solve.cu: a block has SEQUENCES whole ones and takes them step by step; sums.cu follows.
//
// The warps of a block share the hidden units.  A thread has GROUPS of them, with their rows of V and W in
// registers.  In a step it adds up what its units give to each latent row; sums over lanes are exchanged,
// those over warps go through shared memory, with one barrier a step.  After it every warp has the state: all
// rows in every thread where they are few (REPLICATED), otherwise one row per lane.
//
// Macros from the host: those of shape.cuh, M <= 32; WARPS, of a block; SEQUENCES, of a block.
// variant: -DREAL_BITS=32 -DM=5 -DN=5 -DL=250 -DK=0 -DCLIPPED=1 -DWARPS=4 -DSEQUENCES=1
// variant: -DREAL_BITS=32 -DM=5 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=1 -DSEQUENCES=1
// variant: -DREAL_BITS=32 -DM=16 -DN=64 -DL=512 -DK=0 -DCLIPPED=0 -DWARPS=4 -DSEQUENCES=3
// variant: -DREAL_BITS=32 -DM=20 -DN=10 -DL=500 -DK=0 -DCLIPPED=0 -DWARPS=8 -DSEQUENCES=2
// variant: -DREAL_BITS=64 -DM=5 -DN=3 -DL=50 -DK=2 -DCLIPPED=1 -DWARPS=2 -DSEQUENCES=1
// variant: -DREAL_BITS=32 -DM=5 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=2 -DSEQUENCES=1 -DPATTERNS=1
// variant: -DREAL_BITS=32 -DM=5 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=1 -DSEQUENCES=1 -DFORCING=1
#if !defined REAL_BITS || !defined M || !defined N || !defined L || !defined K || !defined CLIPPED ||        \
    !defined WARPS || !defined SEQUENCES
#error "the host gives the macros named above"
#endif
// What the headers of solve.cu need: whole sequences, no weights in shared memory, lane l has row l.
#define SEGMENTED      0
#define NEWTON         0
#define SHARED_LIMIT   0
#define REGISTER_LIMIT 0
#include "observation.cuh"

static_assert(M <= 32, "one latent row per lane");

#define GROUPS      ((UNITS + WARPS - 1) / WARPS) // hidden units of a thread
#define REPLICATED  (M <= 8 && K == 0 && !PATTERNS)
#define HELD        (REPLICATED ? M : 1)       // latent rows that a thread has
#define PROJECTIONS (PATTERNS ? SEQUENCES : 1) // B+ B is that of a row only where values may be missing

struct alignas(16) sequences_shared {
    real sums[2][SEQUENCES][WARPS][MP]; // of the units of each warp; the steps take turns
    warp_shared warp[WARPS][SEQUENCES];
    double squares[WARPS];
};

INLINE sequences_shared &block_memory()
{
    return *reinterpret_cast<sequences_shared *>(block_bytes());
}

// The sequences of a block, and the warp's context for the first of them.
struct sequences_context {
    warp_context warp;
    int number;   // of this warp
    int used;     // sequences of this block, at most SEQUENCES
    size_t first; // its first sequence, counted over all replicas
    int sent_row,
        kept; // the row that this lane sends to shared memory (-1: none), and where it is (row_owners)
    warp_shared *memory; // (SEQUENCES)
};

// Sequence q of the block.  Where a block has fewer, the last one is computed again, and not stored.
INLINE size_t sequence_of(const sequences_context &c, int q)
{
    return c.first + (size_t)(q < c.used ? q : c.used - 1);
}

// Whether this warp stores the rows of sequence q: the warps take turns.
INLINE bool stores(const sequences_context &c, int q)
{
    return q % WARPS == c.number && q < c.used;
}

// ---- weights ----------------------------------------------------------------------------------------------

struct sequence_weights {                           // what a pass holds in registers
    real in[GROUPS][M];                             // towards the units of this thread
    real out[GROUPS][M];                            // from them to all rows, in the order of row_at
    real A1[HELD];                                  // A - 1
    real Q[PROJECTIONS][HELD][REPLICATED ? M : MP]; // B+ B
};

INLINE int group_of(const sequences_context &c, int i)
{
    return i * WARPS + c.number;
}

// A forward step multiplies by V and then W, a backward step by W and then V.
INLINE void load_weights(sequence_weights &to, const sequences_context &c, bool forward)
{
    const real *in = c.warp.pack + (forward ? PACK_V : PACK_W),
               *out = c.warp.pack + (forward ? PACK_W : PACK_V);
#pragma unroll
    for (int i = 0; i < GROUPS; i++) {
        const bool exists = group_of(c, i) < UNITS;
        const int unit = 32 * (exists ? group_of(c, i) : 0) + c.warp.lane;
#pragma unroll
        for (int m = 0; m < M; m++) {
            const int row = row_at<0, M>(c.warp.lane, m);
            to.in[i][m] = exists ? __ldg(in + 4 * (m / 4 * LS + unit) + m % 4) : real(0);
            to.out[i][m] = exists ? __ldg(out + 4 * (row / 4 * LS + unit) + row % 4) : real(0);
        }
    }
#pragma unroll
    for (int k = 0; k < HELD; k++) {
        const int row = REPLICATED ? k : c.warp.first_row;
        to.A1[k] = __ldg(c.warp.pack + PACK_A1 + row);
#pragma unroll
        for (int q = 0; q < PROJECTIONS; q++)
#pragma unroll
            for (int j = 0; j < M; j++)
                to.Q[q][k][j] = __ldg(c.warp.pack + PACK_Q + row * MP + j);
    }
}

// What `force_all` needs of row t where values may be missing.  It is loaded a step before its use.
INLINE void load_projections(sequence_weights &weights, const solve_args &p, const sequences_context &c,
                             int t)
{
#if PATTERNS
#pragma unroll
    for (int q = 0; q < SEQUENCES; q++) {
        const real *from = pattern_weights(p, c.warp.patterns, sequence_of(c, q), t) + PATTERN_Q;
#pragma unroll
        for (int j = 0; j < QUADS; j++) {
            const real4 four = load4_constant(from + c.warp.first_row * MP + 4 * j);
#pragma unroll
            for (int k = 0; k < 4; k++)
                weights.Q[q][0][4 * j + k] = four.a[k];
        }
    }
#else
    (void)weights, (void)p, (void)c, (void)t;
#endif
}

// ---- the parts of a step ----------------------------------------------------------------------------------

// Rows of all sequences, so that every lane can read them; buffer: 0 or 1, in turn.
INLINE void broadcast_all(const sequences_context &c, const real (&rows)[SEQUENCES][HELD], int buffer)
{
    if constexpr (!REPLICATED) {
#pragma unroll
        for (int q = 0; q < SEQUENCES; q++)
            if (c.warp.row[0] >= 0)
                c.memory[q].vector[buffer][c.warp.row[0]] = rows[q][0];
        __syncwarp();
    }
}

// Four of the broadcast rows of sequence q.
INLINE real4 four_rows(const sequences_context &c, const real (&rows)[HELD], int q, int buffer, int quad)
{
    if constexpr (REPLICATED) {
        real4 four;
#pragma unroll
        for (int k = 0; k < 4; k++)
            four.a[k] = 4 * quad + k < M ? rows[4 * quad + k < HELD ? 4 * quad + k : 0] : real(0);
        return four;
    } else {
        return load4(c.memory[q].vector[buffer] + 4 * quad);
    }
}

// Weights times the broadcast rows of sequence q.
INLINE void find_units(const sequences_context &c, const real (&in)[GROUPS][M], const real (&rows)[HELD],
                       int q, real (&units)[GROUPS])
{
    real odd[GROUPS];
#pragma unroll
    for (int i = 0; i < GROUPS; i++)
        units[i] = odd[i] = 0;
#pragma unroll
    for (int j = 0; j < QUADS; j++) {
        const real4 z = four_rows(c, rows, q, 0, j);
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (4 * j + k < M)
#pragma unroll
                for (int i = 0; i < GROUPS; i++)
                    (k % 2 == 0 ? units[i] : odd[i]) += in[i][4 * j + k < M ? 4 * j + k : 0] * z.a[k];
    }
#pragma unroll
    for (int i = 0; i < GROUPS; i++)
        units[i] += odd[i];
}

// from[at], at < COUNT, with constant indices: a loop would become an access to memory.
template <int COUNT> INLINE real select(const real (&from)[6], int at)
{
    if constexpr (COUNT <= 1)
        return from[0];
    else
        return at == COUNT - 1 ? from[COUNT - 1] : select<COUNT - 1>(from, at);
}

// What the units of this warp give to the rows of sequence q, to shared memory.
INLINE void send_rows(const sequences_context &c, const real (&out)[GROUPS][M], const real (&units)[GROUPS],
                      int q, int turn)
{
    constexpr int most = (M & 1) + (M >> 1 & 1) + (M >> 2 & 1) + (M >> 3 & 1) + (M >> 4 & 1) + (M >> 5 & 1);
    real row[M], odd[6];
#pragma unroll
    for (int m = 0; m < M; m++) {
        row[m] = out[0][m] * units[0];
#pragma unroll
        for (int i = 1; i < GROUPS; i++)
            row[m] += out[i][m] * units[i];
    }
    exchange_rows<0, M, 0>(row, odd);
    const real sum = select<most>(odd, c.kept);
    if (c.sent_row >= 0)
        block_memory().sums[turn][q][c.number][c.sent_row] = sum;
}

INLINE void wait_for_warps()
{
    if constexpr (WARPS == 1)
        __syncwarp();
    else
        __syncthreads();
}

// The rows of sequence q that this thread has, from all warps.
INLINE void receive_rows(const sequences_context &c, int q, int turn, real (&sum)[HELD])
{
    const real(*from)[MP] = block_memory().sums[turn][q];
    if constexpr (REPLICATED) {
#pragma unroll
        for (int j = 0; j < QUADS; j++) {
            real4 total = load4(from[0] + 4 * j);
#pragma unroll
            for (int w = 1; w < WARPS; w++) {
                const real4 more = load4(from[w] + 4 * j);
#pragma unroll
                for (int k = 0; k < 4; k++)
                    total.a[k] += more.a[k];
            }
#pragma unroll
            for (int k = 0; k < 4; k++)
                if (4 * j + k < HELD)
                    sum[4 * j + k < HELD ? 4 * j + k : 0] = total.a[k];
        }
    } else {
        real even = from[0][c.warp.first_row], odd = 0;
#pragma unroll
        for (int w = 1; w < WARPS; w++)
            (w % 2 == 0 ? even : odd) += from[w][c.warp.first_row];
        sum[0] = even + odd;
    }
}

// rows -> rows + a (teacher - B+ B rows), all sequences.  B+ B is symmetric, so the backward step is the same
// with teacher = 0.
INLINE void force_all(const sequences_context &c, const sequence_weights &weights,
                      real (&rows)[SEQUENCES][HELD], const real (&teacher)[SEQUENCES][HELD], real a)
{
    broadcast_all(c, rows, 1);
#pragma unroll
    for (int q = 0; q < SEQUENCES; q++) {
        real forced[HELD];
#pragma unroll
        for (int k = 0; k < HELD; k++) {
            real even = 0, odd = 0;
#pragma unroll
            for (int j = 0; j < QUADS; j++) {
                const real4 z = four_rows(c, rows[q], q, 1, j);
#pragma unroll
                for (int i = 0; i < 4; i++)
                    if (4 * j + i < M)
                        (i % 2 == 0 ? even : odd) +=
                            z.a[i] * weights.Q[PATTERNS ? q : 0][k][4 * j + i < M ? 4 * j + i : 0];
            }
            forced[k] = rows[q][k] + a * (teacher[q][k] - (even + odd));
        }
#pragma unroll
        for (int k = 0; k < HELD; k++)
            rows[q][k] = forced[k];
    }
}

// Rows of sequence q to p.rows.  to: without this lane's row
INLINE void store_rows_of(const sequences_context &c, real *to, const real (&rows)[HELD])
{
    if constexpr (REPLICATED) {
        if (c.warp.lane == 0)
#pragma unroll
            for (int j = 0; j < QUADS; j++)
                store4(to + 4 * j, four_rows(c, rows, 0, 0, j));
    } else {
        if (c.warp.row[0] >= 0)
            to[c.warp.row[0]] = rows[0];
    }
}

// Row t of all sequences into this warp's ring buffers, as one group of copies.
INLINE void prefetch_all(const solve_args &p, const sequences_context &c, int from, int t, int slot,
                         bool wanted)
{
#pragma unroll
    for (int q = 0; q < SEQUENCES; q++) {
        const real *row = p.rows + (sequence_of(c, q) * (p.T + 1) + t) * ROW + from;
        if (wanted && c.warp.row[0] >= 0)
            copy_async(c.memory[q].prefetched[slot & (PREFETCH_RING - 1)] + c.warp.row[0],
                       row + c.warp.row[0]);
    }
}

// The masks of this warp's units at step t: word i is that of group i, then the second terms of clipped
// units.
INLINE void prefetch_own_masks(const solve_args &p, const sequences_context &c, int t, int slot, bool wanted)
{
    constexpr int words = GROUPS * (1 + CLIPPED);
    const int i = c.warp.lane % GROUPS, group = group_of(c, i);
#pragma unroll
    for (int q = 0; q < SEQUENCES; q++)
        if (wanted && c.warp.lane < words && group < UNITS)
            copy_async(c.memory[q].masks[slot & (PREFETCH_RING - 1)] + c.warp.lane,
                       p.masks + (sequence_of(c, q) * p.T + t) * MASKS + (c.warp.lane / GROUPS) * UNITS +
                           group);
}

// What was prefetched into a slot; the PREFETCH next groups of copies are still pending.
INLINE void wait_all(const sequences_context &c, int slot, real (&rows)[SEQUENCES][HELD])
{
    copy_wait<PREFETCH>();
    __syncwarp();
#pragma unroll
    for (int q = 0; q < SEQUENCES; q++) {
        const real *from = c.memory[q].prefetched[slot & (PREFETCH_RING - 1)];
        if constexpr (REPLICATED) {
#pragma unroll
            for (int j = 0; j < QUADS; j++) {
                const real4 four = load4(from + 4 * j);
#pragma unroll
                for (int k = 0; k < 4; k++)
                    if (4 * j + k < HELD)
                        rows[q][4 * j + k < HELD ? 4 * j + k : 0] = four.a[k];
            }
        } else {
            rows[q][0] = from[c.warp.first_row];
        }
    }
}

// phi of spec 1 of this thread's units; their masks, of sequence q at step t, to p.masks.
INLINE void activate_units(const solve_args &p, const sequences_context &c, const real (&b)[GROUPS], int q,
                           int t, real (&units)[GROUPS])
{
    unsigned *to = p.masks + (sequence_of(c, q) * p.T + t) * MASKS;
#pragma unroll
    for (int i = 0; i < GROUPS; i++) {
        const real plain = units[i], above = plain + b[i];
        const bool stored = c.warp.lane == 0 && q < c.used && group_of(c, i) < UNITS;
        const unsigned on = __ballot_sync(ALL_LANES, above > 0);
        units[i] = above > 0 ? above : real(0);
        if (stored)
            to[group_of(c, i)] = on;
#if CLIPPED
        const unsigned positive = __ballot_sync(ALL_LANES, plain > 0);
        units[i] -= plain > 0 ? plain : real(0);
        if (stored)
            to[UNITS + group_of(c, i)] = positive;
#endif
    }
}

// Multiply by the derivative of phi.
INLINE void apply_own_slopes(const sequences_context &c, int q, int slot, real (&units)[GROUPS])
{
    const unsigned *masks = c.memory[q].masks[slot & (PREFETCH_RING - 1)];
#pragma unroll
    for (int i = 0; i < GROUPS; i++) {
        real slope = real(masks[i] >> c.warp.lane & 1);
#if CLIPPED
        slope -= real(masks[GROUPS + i] >> c.warp.lane & 1);
#endif
        units[i] = group_of(c, i) < UNITS ? slope * units[i] : real(0);
    }
}

// Hidden units of a step, where they are stored for the gradient.
INLINE void keep_units(const solve_args &p, const sequences_context &c, real *array, int q, int t,
                       const real (&units)[GROUPS])
{
#if KEEP_HIDDEN
#pragma unroll
    for (int i = 0; i < GROUPS; i++)
        if (q < c.used && group_of(c, i) < UNITS)
            array[(sequence_of(c, q) * p.T + t) * LP + 32 * group_of(c, i) + c.warp.lane] = units[i];
#else
    (void)p, (void)c, (void)array, (void)q, (void)t, (void)units;
#endif
}

// A - 1 times the rows plus h + C s_t; what of the next state does not wait for the units.
INLINE void find_linear(const solve_args &p, const sequences_context &c, const sequence_weights &weights,
                        const real (&h)[HELD], const real (&rows)[HELD], int q, int t, real (&to)[HELD])
{
    real drive[HELD];
#pragma unroll
    for (int k = 0; k < HELD; k++)
        drive[k] = h[k];
#if K > 0
    const real *input = p.s + (sequence_of(c, q) * p.T + t) * K;
    for (int i = 0; i < K; i++)
        drive[0] += __ldg(c.warp.pack + PACK_C + i * MP + c.warp.first_row) * input[i];
#else
    (void)p, (void)c, (void)q, (void)t;
#endif
#pragma unroll
    for (int k = 0; k < HELD; k++)
        to[k] = weights.A1[k] * rows[k] + drive[k];
}

// ---- passes -----------------------------------------------------------------------------------------------

INLINE void run_sequences_forward(const solve_args &p, const sequences_context &c)
{
    const forcing strength = forcing_of(p, c.warp.pack);
    sequence_weights weights;
    real z[SEQUENCES][HELD], teacher[SEQUENCES][HELD], h[HELD], b[GROUPS];
    load_weights(weights, c, true);
#pragma unroll
    for (int k = 0; k < HELD; k++)
        h[k] = __ldg(c.warp.pack + PACK_h + (REPLICATED ? k : c.warp.first_row));
#pragma unroll
    for (int i = 0; i < GROUPS; i++)
        b[i] = group_of(c, i) < UNITS ? __ldg(c.warp.pack + PACK_b + 32 * group_of(c, i) + c.warp.lane)
                                      : real(0);
    for (int i = 0; i <= PREFETCH; i++) {
        prefetch_all(p, c, AT_TEACHER, i, i, i < p.T);
        copy_commit();
    }
    wait_all(c, 0, z); // z_0 is the teacher
#pragma unroll
    for (int q = 0; q < SEQUENCES; q++)
        if (stores(c, q))
            store_rows_of(c, p.rows + sequence_of(c, q) * (p.T + 1) * ROW + AT_Z, z[q]);
    for (int t = 0; t < p.T; t++) {
        // z is z~_t here: at t = 0 nothing is forced
        real linear[SEQUENCES][HELD];
        broadcast_all(c, z, 0);
        prefetch_all(p, c, AT_TEACHER, t + 1 + PREFETCH, t, t + 1 + PREFETCH < p.T);
        copy_commit();
        load_projections(weights, p, c, t + 1);
#pragma unroll
        for (int q = 0; q < SEQUENCES; q++) {
            real units[GROUPS];
            find_units(c, weights.in, z[q], q, units);
            activate_units(p, c, b, q, t, units);
            keep_units(p, c, p.hidden, q, t, units);
            send_rows(c, weights.out, units, q, t & 1);
            find_linear(p, c, weights, h, z[q], q, t, linear[q]);
            if (stores(c, q))
                store_rows_of(c, p.rows + (sequence_of(c, q) * (p.T + 1) + t) * ROW + AT_FORCED, z[q]);
        }
        wait_all(c, t + 1, teacher); // at the end it is undefined, and what follows from it is not used
        wait_for_warps();
#pragma unroll
        for (int q = 0; q < SEQUENCES; q++) {
            real sum[HELD];
            receive_rows(c, q, t & 1, sum);
#pragma unroll
            for (int k = 0; k < HELD; k++)
                z[q][k] = z[q][k] + (linear[q][k] + sum[k]);
            if (stores(c, q))
                store_rows_of(c, p.rows + (sequence_of(c, q) * (p.T + 1) + t + 1) * ROW + AT_Z, z[q]);
        }
        force_all(c, weights, z, teacher, strength.at(t + 1));
    }
    copy_wait<0>();
    __syncthreads();
}

INLINE void run_sequences_backward(const solve_args &p, const sequences_context &c)
{
    const forcing strength = forcing_of(p, c.warp.pack);
    sequence_weights weights;
    real v[SEQUENCES][HELD], next[SEQUENCES][HELD];
    load_weights(weights, c, false);
#pragma unroll
    for (int q = 0; q < SEQUENCES; q++)
#pragma unroll
        for (int k = 0; k < HELD; k++)
            v[q][k] = 0;
    for (int i = 0; i <= PREFETCH; i++) {
        prefetch_own_masks(p, c, p.T - 1 - i, p.T - i, i < p.T);
        prefetch_all(p, c, AT_TEACHER, p.T - 1 - i, p.T - i, i < p.T);
        copy_commit();
    }
    for (int t = p.T; t > 0; t--) {
        real linear[SEQUENCES][HELD];
        wait_all(c, t, next);
#pragma unroll
        for (int q = 0; q < SEQUENCES; q++)
#pragma unroll
            for (int k = 0; k < HELD; k++)
                v[q][k] += next[q][k];
        broadcast_all(c, v, 0);
        load_projections(weights, p, c, t - 1);
#pragma unroll
        for (int q = 0; q < SEQUENCES; q++) {
            real units[GROUPS];
            find_units(c, weights.in, v[q], q, units);
            keep_units(p, c, p.delta, q, t - 1, units);
            apply_own_slopes(c, q, t, units);
            send_rows(c, weights.out, units, q, t & 1);
#pragma unroll
            for (int k = 0; k < HELD; k++)
                linear[q][k] = weights.A1[k] * v[q][k];
            if (stores(c, q))
                store_rows_of(c, p.rows + (sequence_of(c, q) * (p.T + 1) + t) * ROW + AT_V, v[q]);
        }
        wait_for_warps();
#pragma unroll
        for (int q = 0; q < SEQUENCES; q++) {
            real sum[HELD];
            receive_rows(c, q, t & 1, sum);
#pragma unroll
            for (int k = 0; k < HELD; k++) {
                v[q][k] = v[q][k] + (linear[q][k] + sum[k]);
                next[q][k] = 0;
            }
            if (stores(c, q))
                store_rows_of(c, p.rows + (sequence_of(c, q) * (p.T + 1) + t - 1) * ROW + AT_W, v[q]);
        }
        force_all(c, weights, v, next, strength.at(t - 1));
        // All lanes have read the slot that is overwritten: a barrier lies in between.
        prefetch_own_masks(p, c, t - 2 - PREFETCH, t - 1 - PREFETCH, t - 1 - PREFETCH > 0);
        prefetch_all(p, c, AT_TEACHER, t - 2 - PREFETCH, t - 1 - PREFETCH, t - 1 - PREFETCH > 0);
        copy_commit();
    }
    copy_wait<0>();
}

// ---- the kernel -------------------------------------------------------------------------------------------

INLINE sequences_context make_sequences_context(const solve_args &p)
{
    sequences_context c;
    const int replica = (int)blockIdx.x / p.blocks, block = (int)blockIdx.x % p.blocks;
    c.number = warp_index();
    c.memory = block_memory().warp[c.number];
    c.used = p.batch - block * SEQUENCES < SEQUENCES ? p.batch - block * SEQUENCES : SEQUENCES;
    c.first = (size_t)replica * p.batch + (size_t)block * SEQUENCES;
    c.warp.replica = replica;
    c.warp.lane = thread_index() % 32;
    c.warp.warp = c.number;
    c.warp.is_tangent = false;
    c.warp.pack = c.warp.staged = p.pack + (size_t)replica * PACK;
    c.warp.memory = c.memory;
    find_rows(c.warp.row, c.warp.lane);
    c.warp.first_row = c.warp.row[0] < 0 ? 0 : c.warp.row[0];
#if PATTERNS
    c.warp.patterns = first_pattern(p, replica);
#endif
    c.sent_row = look_up_owner<false>(c.warp.lane);
    c.kept = look_up_owner<true>(c.warp.lane);
    return c;
}

// Call `act` for this warp's part of the time of each sequence.
template <class action> INLINE void for_parts(const solve_args &p, const sequences_context &c, action act)
{
    for (int q = 0; q < c.used; q++) {
        segment part;
        part.first = (int)((long long)p.T * c.number / WARPS);
        part.last = (int)((long long)p.T * (c.number + 1) / WARPS);
        part.sequence = 0;
        part.active = true;
        act(part, sequence_of(c, q));
    }
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, 1) solve(const __grid_constant__ solve_args p)
{
    const sequences_context c = make_sequences_context(p);
    sequences_shared &shared = block_memory();
    if (c.warp.lane < MP)
#pragma unroll
        for (int q = 0; q < SEQUENCES; q++) // padding that passes read and never write
            c.memory[q].vector[0][c.warp.lane] = c.memory[q].vector[1][c.warp.lane] =
                shared.sums[0][q][c.number][c.warp.lane] = shared.sums[1][q][c.number][c.warp.lane] = 0;
    for_parts(p, c, [&](const segment &part, size_t sequence) { find_teachers(p, c.warp, part, sequence); });
    __syncthreads();
    run_sequences_forward(p, c);
    double squares = 0;
    for_parts(p, c, [&](const segment &part, size_t sequence) {
        squares += find_errors(p, c.warp, part, sequence);
    });
    squares = warp_sum(squares);
    if (c.warp.lane == 0)
        shared.squares[c.number] = squares;
    __syncthreads();
    if (thread_index() == 0) {
        double sum = 0;
        for (int w = 0; w < WARPS; w++)
            sum += shared.squares[w];
        p.squares[blockIdx.x] = sum;
    }
    run_sequences_backward(p, c);
}

// For the host: abi.h.
extern "C" __device__ const solve_variant solve_facts = {
    (int)sizeof(sequences_shared), PACK, ROW, MASKS, RECORD, SUMS, LP, MP, KEEP_HIDDEN, 32 * WARPS,
    (int)sizeof(solve_args)};
