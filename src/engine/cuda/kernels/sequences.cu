// sequences.cu - forced trajectories, their errors and the adjoint (spec 2, 3) of many short sequences, in
// the place of solve.cu: a block takes one of them step by step; sums.cu follows.
//
// The warps of a block share the hidden units.  A thread has GROUPS of them, with their weights in registers.
// The time of a step is latency, so little is done between one state and the next.  With Q = B+ B the forced
// state is f = r - a Q r + c d: forward r = z_t and d is the teacher, c = a; backward r = dloss / dz~_t and d
// is the direct part of the adjoint, c = 1.  The units need S f with S = V or W^T, which is (S - a S Q) r +
// c S d: S d is ready before r is.  Then the units' shares of the next r are summed: over lanes by
// exchanges, over warps through shared memory with one barrier a step.
//
// Macros from the host: those of shape.cuh, M <= 32, without PATTERNS and FORCING_SPARSE; WARPS, of a block.
// variant: -DREAL_BITS=32 -DM=5 -DN=5 -DL=250 -DK=0 -DCLIPPED=1 -DWARPS=2
// variant: -DREAL_BITS=32 -DM=5 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=1
// variant: -DREAL_BITS=32 -DM=16 -DN=64 -DL=512 -DK=0 -DCLIPPED=0 -DWARPS=8
// variant: -DREAL_BITS=32 -DM=20 -DN=10 -DL=500 -DK=0 -DCLIPPED=0 -DWARPS=8
// variant: -DREAL_BITS=64 -DM=5 -DN=3 -DL=50 -DK=2 -DCLIPPED=1 -DWARPS=2
// variant: -DREAL_BITS=32 -DM=5 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=1 -DFORCING=1
#if !defined REAL_BITS || !defined M || !defined N || !defined L || !defined K || !defined CLIPPED ||        \
    !defined WARPS
#error "the host gives the macros named above"
#endif
// What the headers of solve.cu need: whole sequences, no weights in shared memory, lane l has row l.
#define SEGMENTED      0
#define NEWTON         0
#define SHARED_LIMIT   0
#define REGISTER_LIMIT 0
#include "observation.cuh"

static_assert(M <= 32, "one latent row per lane");
static_assert(!PATTERNS && FORCING != FORCING_SPARSE, "they change the projection from step to step");

#define GROUPS     ((UNITS + WARPS - 1) / WARPS) // hidden units of a thread
#define REPLICATED (M <= 8)                      // every thread has the whole state; else shared memory has

struct alignas(16) sequences_shared {
    real sums[2][WARPS][MP]; // of the units of each warp; the steps take turns
    warp_shared warp[WARPS];
    double squares[WARPS];
};

INLINE sequences_shared &block_memory()
{
    return *reinterpret_cast<sequences_shared *>(block_bytes());
}

struct sequence_context {
    warp_context warp; // row[0]: the row whose sums this lane has at the end of an exchange; -1: none
    int number;        // of this warp
    size_t sequence;   // counted over all replicas
};

// ---- weights ----------------------------------------------------------------------------------------------

struct step_weights {     // what a pass holds in registers
    real in[GROUPS][M];   // S - a S Q, towards the units of this thread
    real side[GROUPS][M]; // S: V or, backward, W^T
    real out[GROUPS][M];  // from the units to all rows, in the order of row_at: W or, backward, V^T
    real Q[M];            // this lane's row of B+ B
    real A1, h;           // A - 1; h, backward 0
    real b[GROUPS];
};

INLINE int group_of(const sequence_context &c, int i)
{
    return i * WARPS + c.number;
}

template <bool BACK> INLINE void load_weights(step_weights &to, const sequence_context &c)
{
    const real *in = c.warp.pack + (BACK ? PACK_W : PACK_V), *out = c.warp.pack + (BACK ? PACK_V : PACK_W);
#pragma unroll
    for (int i = 0; i < GROUPS; i++) {
        const bool exists = group_of(c, i) < UNITS;
        const int unit = 32 * (exists ? group_of(c, i) : 0) + c.warp.lane;
#pragma unroll
        for (int m = 0; m < M; m++) {
            const int row = row_at<0, M>(c.warp.lane, m);
            to.side[i][m] = exists ? __ldg(in + 4 * (m / 4 * LS + unit) + m % 4) : real(0);
            to.out[i][m] = exists ? __ldg(out + 4 * (row / 4 * LS + unit) + row % 4) : real(0);
        }
        to.b[i] = exists && !BACK ? __ldg(c.warp.pack + PACK_b + unit) : real(0);
    }
#pragma unroll
    for (int m = 0; m < M; m++)
        to.Q[m] = __ldg(c.warp.pack + PACK_Q + c.warp.first_row * MP + m);
    to.A1 = __ldg(c.warp.pack + PACK_A1 + c.warp.first_row);
    to.h = BACK ? real(0) : __ldg(c.warp.pack + PACK_h + c.warp.first_row);
}

// `in`, for the strength a.
INLINE void project_weights(step_weights &weights, const sequence_context &c, real a)
{
#pragma unroll
    for (int i = 0; i < GROUPS; i++)
#pragma unroll
        for (int m = 0; m < M; m++)
            weights.in[i][m] = weights.side[i][m];
#pragma unroll(M > 8 ? 1 : M)
    for (int m = 0; m < M; m++) // Q is symmetric
#pragma unroll
        for (int i = 0; i < GROUPS; i++) {
            real sum = 0;
#pragma unroll
            for (int k = 0; k < M; k++)
                sum += weights.side[i][k] * __ldg(c.warp.pack + PACK_Q + m * MP + k);
#pragma unroll
            for (int k = 0; k < M; k++) // a constant index keeps the array in registers
                weights.in[i][k] -= k == m ? a * sum : real(0);
        }
}

// ---- the state, which all lanes read ----------------------------------------------------------------------

struct whole_state {
#if REPLICATED
    real row[M];
#else
    const real *vector; // (MP) in shared memory
#endif
};

// From the rows that lanes own; the steps take turns with shared memory.
INLINE whole_state spread(const sequence_context &c, real own, int turn)
{
    whole_state state;
#if REPLICATED
    constexpr row_owners owners = find_owners();
#pragma unroll
    for (int m = 0; m < M; m++)
        state.row[m] = __shfl_sync(ALL_LANES, own, owners.lane[m]);
    (void)c, (void)turn;
#else
    real *vector = c.warp.memory->vector[turn];
    if (c.warp.row[0] >= 0)
        vector[c.warp.row[0]] = own;
    __syncwarp();
    state.vector = vector;
#endif
    return state;
}

INLINE real4 four_rows(const whole_state &state, int quad)
{
#if REPLICATED
    real4 four;
#pragma unroll
    for (int k = 0; k < 4; k++)
        four.a[k] = 4 * quad + k < M ? state.row[4 * quad + k < M ? 4 * quad + k : 0] : real(0);
    return four;
#else
    return load4(state.vector + 4 * quad);
#endif
}

// ---- the parts of a step ----------------------------------------------------------------------------------

// units += weights times four rows, from row 4 quad on.
INLINE void add_four(const real (&weights)[GROUPS][M], const real4 &rows, int quad, real (&even)[GROUPS],
                     real (&odd)[GROUPS])
{
#pragma unroll
    for (int k = 0; k < 4; k++)
        if (4 * quad + k < M)
#pragma unroll
            for (int i = 0; i < GROUPS; i++)
                (k % 2 == 0 ? even[i] : odd[i]) +=
                    weights[i][4 * quad + k < M ? 4 * quad + k : 0] * rows.a[k];
}

// side = S d, with d of an entry of the ring buffer.
INLINE void find_side(const sequence_context &c, const step_weights &weights, int entry, real (&side)[GROUPS])
{
    const real *d = c.warp.memory->prefetched[entry & (PREFETCH_RING - 1)];
    real odd[GROUPS];
#pragma unroll
    for (int i = 0; i < GROUPS; i++)
        side[i] = odd[i] = 0;
#pragma unroll
    for (int q = 0; q < QUADS; q++)
        add_four(weights.side, load4(d + 4 * q), q, side, odd);
#pragma unroll
    for (int i = 0; i < GROUPS; i++)
        side[i] += odd[i];
}

// units = in r + factor side; returns this lane's row of Q r.
INLINE real find_units(const step_weights &weights, const whole_state &r, const real (&side)[GROUPS],
                       real factor, real (&units)[GROUPS])
{
    real odd[GROUPS], projected[2] = {0, 0};
#pragma unroll
    for (int i = 0; i < GROUPS; i++) {
        units[i] = factor * side[i];
        odd[i] = 0;
    }
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
        const real4 four = four_rows(r, q);
        add_four(weights.in, four, q, units, odd);
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (4 * q + k < M)
                projected[k % 2] += weights.Q[4 * q + k < M ? 4 * q + k : 0] * four.a[k];
    }
#pragma unroll
    for (int i = 0; i < GROUPS; i++)
        units[i] += odd[i];
    return projected[0] + projected[1];
}

// phi of spec 1 of this thread's units; their masks at step t to p.masks.
INLINE void activate_units(const solve_args &p, const sequence_context &c, const real (&b)[GROUPS], int t,
                           real (&units)[GROUPS])
{
    unsigned *to = p.masks + (c.sequence * p.T + t) * MASKS;
#pragma unroll
    for (int i = 0; i < GROUPS; i++) {
        const real plain = units[i], above = plain + b[i];
        const bool stored = c.warp.lane == 0 && group_of(c, i) < UNITS;
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
INLINE void apply_own_slopes(const sequence_context &c, int entry, real (&units)[GROUPS])
{
    const unsigned *masks = c.warp.memory->masks[entry & (PREFETCH_RING - 1)];
#pragma unroll
    for (int i = 0; i < GROUPS; i++) {
        const real back = group_of(c, i) < UNITS ? units[i] : real(0);
        units[i] = masks[i] >> c.warp.lane & 1 ? back : real(0);
#if CLIPPED
        units[i] -= masks[GROUPS + i] >> c.warp.lane & 1 ? back : real(0);
#endif
    }
}

// Hidden units of a step, where they are stored for the gradient.
INLINE void keep_units(const solve_args &p, const sequence_context &c, real *array, int t,
                       const real (&units)[GROUPS])
{
#if KEEP_HIDDEN
#pragma unroll
    for (int i = 0; i < GROUPS; i++)
        if (group_of(c, i) < UNITS)
            array[(c.sequence * p.T + t) * LP + 32 * group_of(c, i) + c.warp.lane] = units[i];
#else
    (void)p, (void)c, (void)array, (void)t, (void)units;
#endif
}

// What the units give to this lane's row, summed over all warps.
INLINE real sum_units(const sequence_context &c, const real (&out)[GROUPS][M], const real (&units)[GROUPS],
                      int turn)
{
    real row[M];
#pragma unroll
    for (int m = 0; m < M; m++) {
        row[m] = out[0][m] * units[0];
#pragma unroll
        for (int i = 1; i < GROUPS; i++)
            row[m] += out[i][m] * units[i];
    }
    const real own = sum_over_lanes<true>(row, c.warp.kept);
    if constexpr (WARPS == 1)
        return own;
    real(&sums)[WARPS][MP] = block_memory().sums[turn];
    if (c.warp.row[0] >= 0)
        sums[c.number][c.warp.row[0]] = own;
    __syncthreads();
    real total[2] = {0, 0};
#pragma unroll
    for (int w = 0; w < WARPS; w++)
        total[w % 2] += sums[w][c.warp.first_row];
    return total[0] + total[1];
}

// C s_t of this lane's row.
INLINE real find_input(const solve_args &p, const sequence_context &c, int t)
{
    real sum = 0;
    for (int i = 0; i < K; i++)
        sum += __ldg(c.warp.pack + PACK_C + i * MP + c.warp.first_row) *
               __ldg(p.s + (c.sequence * p.T + t) * K + i);
    return sum;
}

// This lane's row of what a warp stores for all.
INLINE void store_own(const sequence_context &c, int by, real *rows, real own)
{
    if (c.number == by && c.warp.row[0] >= 0)
        rows[c.warp.row[0]] = own;
}

// ---- passes -----------------------------------------------------------------------------------------------
//
// Step i of a pass goes from time t to t + 1, where t = i or, backward, t = T - 1 - i.  Its d, and its masks,
// are those of time t.

template <bool BACK> INLINE int time_of(const solve_args &p, int i)
{
    return BACK ? p.T - 1 - i : i;
}

// d and, backward, the masks of step i into this warp's ring buffers, as one group of copies.
template <bool BACK> INLINE void prefetch_step(const solve_args &p, const sequence_context &c, int i)
{
    const int t = time_of<BACK>(p, i), entry = i & (PREFETCH_RING - 1);
    const int word = c.warp.lane, group = group_of(c, word % GROUPS);
    if (i < p.T && c.warp.row[0] >= 0)
        copy_async(c.warp.memory->prefetched[entry] + c.warp.row[0],
                   p.rows + (c.sequence * (p.T + 1) + t) * ROW + AT_TEACHER + c.warp.row[0]);
    if (BACK && i < p.T && word < GROUPS * (1 + CLIPPED) && group < UNITS)
        copy_async(c.warp.memory->masks[entry] + word,
                   p.masks + (c.sequence * p.T + t) * MASKS + word / GROUPS * UNITS + group);
    copy_commit();
}

struct pass_state {    // before a step
    whole_state r;     // 0 before the first
    real own;          // this lane's row of it
    real side[GROUPS]; // S d of the step
};

// Steps first .. last-1, all with the strength a.
template <bool BACK>
INLINE void run_steps(const solve_args &p, const sequence_context &c, const step_weights &weights, real a,
                      int first, int last, pass_state &state)
{
    for (int i = first; i < last; i++) {
        const int t = time_of<BACK>(p, i);
        real *rows = p.rows + (c.sequence * (p.T + 1) + t) * ROW, *before = BACK ? rows + ROW : rows,
             *after = BACK ? rows : rows + ROW;
        const real factor = BACK || i == 0 ? real(1) : a; // c; z~_0 is the teacher itself
        const real d = c.warp.memory->prefetched[i & (PREFETCH_RING - 1)][c.warp.first_row];
        real units[GROUPS];
        const real projected = find_units(weights, state.r, state.side, factor, units);
        if (BACK)
            keep_units(p, c, p.delta, t, units);
        if (BACK)
            apply_own_slopes(c, i, units);
        else
            activate_units(p, c, weights.b, t, units);
        if (!BACK)
            keep_units(p, c, p.hidden, t, units);
        const real forced = state.own - a * projected + factor * d;
        store_own(c, 0, before + (BACK ? AT_V : AT_FORCED), forced);
        const real linear =
            forced + (weights.A1 * forced + (weights.h + (BACK ? real(0) : find_input(p, c, t))));
        copy_wait<PREFETCH - 1>();
        __syncwarp();
        prefetch_step<BACK>(p, c, i + 1 + PREFETCH);
        find_side(c, weights, i + 1, state.side);
        state.own = linear + sum_units(c, weights.out, units, i & 1);
        store_own(c, WARPS - 1, after + (BACK ? AT_W : AT_Z), state.own);
        state.r = spread(c, state.own, i + 1 & 1);
    }
}

// A pass over the whole sequence: steps with the strength of the warm-up, and with that after it.
template <bool BACK> INLINE void run_pass(const solve_args &p, const sequence_context &c)
{
    const forcing strength = forcing_of(p, c.warp.pack);
    const int warm = p.warmup < p.T ? p.warmup : p.T;
    // Where the strength changes; that of step 0 does not matter, since r is 0.
    const int turn = BACK ? p.T - warm : warm > 0 ? warm + 1 : 0, middle = turn < p.T ? turn : p.T;
    step_weights weights;
    pass_state state = {spread(c, 0, 0), 0, {}};
    load_weights<BACK>(weights, c);
    for (int i = 0; i <= PREFETCH; i++)
        prefetch_step<BACK>(p, c, i);
    copy_wait<PREFETCH>();
    __syncwarp();
    find_side(c, weights, 0, state.side);
    if (!BACK)
        store_own(c, 0, p.rows + c.sequence * (p.T + 1) * ROW + AT_Z,
                  c.warp.memory->prefetched[0][c.warp.first_row]);
#pragma unroll 1
    for (int part = 0; part < 2; part++) {
        const int first = part == 0 ? 0 : middle, last = part == 0 ? middle : p.T;
        const real a = strength.at(BACK == (part == 0) ? p.T : warm > 0 ? 1 : p.T);
        if (first < last) {
            project_weights(weights, c, a);
            run_steps<BACK>(p, c, weights, a, first, last, state);
        }
    }
    copy_wait<0>();
    __syncthreads();
}

// ---- the kernel -------------------------------------------------------------------------------------------

INLINE sequence_context make_sequence_context(const solve_args &p)
{
    sequence_context c;
    c.number = warp_index();
    c.sequence = blockIdx.x;
    c.warp.replica = (int)blockIdx.x / p.blocks;
    c.warp.lane = thread_index() % 32;
    c.warp.warp = c.number;
    c.warp.is_tangent = false;
    c.warp.pack = c.warp.staged = p.pack + (size_t)c.warp.replica * PACK;
    c.warp.memory = &block_memory().warp[c.number];
    c.warp.row[0] = look_up_owner<false>(c.warp.lane);
    c.warp.kept = look_up_owner<true>(c.warp.lane);
    c.warp.first_row = c.warp.row[0] < 0 ? 0 : c.warp.row[0];
    return c;
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, 1) solve(const __grid_constant__ solve_args p)
{
    const sequence_context c = make_sequence_context(p);
    sequences_shared &shared = block_memory();
    const segment part = {(int)((long long)p.T * c.number / WARPS),
                          (int)((long long)p.T * (c.number + 1) / WARPS), 0,
                          true}; // of this warp, where times do not depend on each other
    if (c.warp.lane < MP)        // padding that passes read and never write
        c.warp.memory->vector[0][c.warp.lane] = c.warp.memory->vector[1][c.warp.lane] = 0;
    for (int i = c.warp.lane; i < PREFETCH_RING * MP; i += 32)
        c.warp.memory->prefetched[i / MP][i % MP] = 0;
    find_teachers(p, c.warp, part, c.sequence);
    __syncthreads();
    run_pass<false>(p, c);
    const double squares = warp_sum(find_errors(p, c.warp, part, c.sequence));
    if (c.warp.lane == 0)
        shared.squares[c.number] = squares;
    __syncthreads();
    if (thread_index() == 0) {
        double sum = 0;
        for (int w = 0; w < WARPS; w++)
            sum += shared.squares[w];
        p.squares[blockIdx.x] = sum;
    }
    run_pass<true>(p, c);
}

// For the host: abi.h.
extern "C" __device__ const solve_variant solve_facts = {
    (int)sizeof(sequences_shared), PACK, ROW, MASKS, RECORD, SUMS, LP, MP, KEEP_HIDDEN, 32 * WARPS,
    (int)sizeof(solve_args)};
