// lssm.cu - training of the LSSM (spec 1, 5): forward and backward pass, and what update_kernels.cuh needs.
//
//     z_t = A o z_{t-1} + U x_{t-1} + C s_t + h,  z_0 = 0        xhat_t = B phi(V z_t + b)
//
// With e_t = weight (xhat_t - x_t) and d_t = phi' o B^T e_t, the adjoint is v_t = V^T d_t + A o v_{t+1}, and
//
//     dB = sum e_t phi_t^T, dV = sum d_t z_t^T, db = sum d_t, dA = sum v_t o z_{t-1}, dU = sum v_t x_{t-1}^T,
//     dC = sum v_t s_t^T, dh = sum v_t.
//
// Time is cut into segments, a block each, and segments into tiles that fit into shared memory.  Both
// recurrences are linear with a diagonal: every segment runs from 0, and the state that enters it is combined
// from the ends of the others.  The kernels follow each other, so that blocks never wait for other blocks:
//
//     fill_gaps           with GAPS only: predictions for missing values of x, and their errors
//     forward_segments    states from 0, and their ends
//     readout_segments    states; prediction, error, V^T d; adjoint from 0, and its ends
//     backward_segments   sums over time: a block for A, U, h, C with the adjoint, others for the rest
//     reduce_blocks       sums over all blocks: the gradient
//
// The leak 1 - A is stored instead of A: A z is z - (1 - A) z, which loses no digits where A is near 1.
//
// GAPS 1: x may lack values (spec 12).  A prediction takes the place of what is missing, so a block goes
// through a whole sequence, in plain steps at incomplete rows.  After that x is complete, and the error of a
// prediction that the next step takes in is U^T v; the other kernels are those of complete data.  Errors have
// no weight: reduce_blocks multiplies by it, when all missing values have been counted.
//
// Macros from the host: REAL_BITS, M, N, L, K; UPDATE_THREADS (update_args.cuh); GAPS.
// variant: -DREAL_BITS=32 -DM=10 -DN=6 -DL=128 -DK=0 -DUPDATE_THREADS=256
// variant: -DREAL_BITS=64 -DM=10 -DN=6 -DL=128 -DK=0 -DUPDATE_THREADS=256
// variant: -DREAL_BITS=32 -DM=5 -DN=3 -DL=50 -DK=2 -DUPDATE_THREADS=256
// variant: -DREAL_BITS=32 -DM=64 -DN=20 -DL=300 -DK=1 -DUPDATE_THREADS=512
// variant: -DREAL_BITS=32 -DM=10 -DN=6 -DL=128 -DK=0 -DUPDATE_THREADS=256 -DGAPS=1
// variant: -DREAL_BITS=64 -DM=10 -DN=6 -DL=128 -DK=0 -DUPDATE_THREADS=256 -DGAPS=1
// variant: -DREAL_BITS=32 -DM=5 -DN=3 -DL=50 -DK=2 -DUPDATE_THREADS=256 -DGAPS=1
// variant: -DREAL_BITS=32 -DM=64 -DN=20 -DL=300 -DK=1 -DUPDATE_THREADS=512 -DGAPS=1
// spills: readout_segments backward_segments forward_segments fill_gaps (where a step or a unit has more numbers than there are registers) prepare update (as update.cu)
#if !defined REAL_BITS || !defined M || !defined N || !defined L || !defined K
#error "the host gives the macros named above"
#endif

#include "lssm_scan.cuh"

// Hidden units of one thread of backward_segments, and how its threads share units and steps.
#define UNITS_PER_THREAD (M + N <= 24 ? 2 : 1)
#define WIDTH                                                                                                \
    ((L + UNITS_PER_THREAD - 1) / UNITS_PER_THREAD < THREADS ? (L + UNITS_PER_THREAD - 1) / UNITS_PER_THREAD \
                                                             : THREADS) // threads side by side
#define SLICES (THREADS / WIDTH)                                        // of a tile's steps
#define UNIT_BLOCKS                                                                                          \
    ((L + UNITS_PER_THREAD * WIDTH - 1) / (UNITS_PER_THREAD * WIDTH)) // blocks that share the units
#define PER_UNIT     (M + 1 + N)                                      // sums of a unit
#define SCRATCH_ROWS 8 // of these at a time through shared memory

// Sums over time with the adjoint: of latent unit m times column 0: z_{t-1}, 1: one, then x_{t-1}, then s_t.
#define COLUMNS (2 + N + K)
#define LATENT  (M * COLUMNS)
#define ENTRIES ((LATENT + THREADS - 1) / THREADS)

// ---- forward_segments -------------------------------------------------------------------------------------

struct forward_shared {
    alignas(16) real z[TILE][ZS];
    real x[TILE * N], s[TILE * K + 1];
    scan_shared scan;
};

// What the model takes in: (replicas, batch, T+1, N).
INLINE const real *taken_in(const lssm_args &p)
{
    return GAPS ? p.filled : p.x;
}

// z[t] <- U x_t + C s_{t+1} + h, without what is missing.
template <class input_shared>
INLINE void drive(const input_shared &memory, real (*z)[ZS], const real *theta, int count)
{
    const int each = (count + TILE_PARTS - 1) / TILE_PARTS;
    FOR_EACH_TASK(m, sub)
    {
        const int first = sub * each, last = first + each < count ? first + each : count;
        const real h = theta[THETA_h + m];
        real U[N];
#pragma unroll
        for (int n = 0; n < N; n++)
            U[n] = theta[THETA_U + m * N + n];
#pragma unroll 2
        for (int t = first; t < last; t++) {
            real sum = h;
#pragma unroll
            for (int n = 0; n < N; n++)
                sum += U[n] * or_zero(memory.x[t * N + n]);
            for (int k = 0; k < K; k++)
                sum += theta[THETA_C + m * K + k] * memory.s[t * K + k];
            z[t][m] = sum;
        }
    }
    __syncthreads();
}

extern "C" __global__ void __launch_bounds__(THREADS, 3) forward_segments(const __grid_constant__ lssm_args p)
{
    DYNAMIC_BYTES;
    forward_shared &memory = *reinterpret_cast<forward_shared *>(bytes);
    const int replica = blockIdx.x / p.workers, worker = blockIdx.x % p.workers;
    const real *theta = p.parameters + (size_t)replica * TOTAL;
    load_leak(p, memory.scan, replica);
    for (int item = worker; item < p.batch * p.segments; item += p.workers) {
        const segment here = find_segment(p, replica, item);
        clear_carry(memory.scan);
        for (int t = here.first; t < here.last; t += TILE) {
            const int count = here.last - t < TILE ? here.last - t : TILE;
            __syncthreads();
            copy_list(memory.x, taken_in(p) + (here.sequence * (p.T + 1) + t) * N, count * N);
            copy_list(memory.s, p.s + (here.sequence * p.T + t) * K, count * K);
            __syncthreads();
            drive(memory, memory.z, theta, count);
            scan<false>(memory.scan, memory.z, count);
            store_rows(p.states + (here.sequence * (p.T + 1) + t + 1) * MP, memory.z, count);
        }
        real *end = p.ends + (here.sequence * p.segments + here.index) * MP;
        for (int m = threadIdx.x; m < M; m += THREADS)
            end[m] = memory.scan.carry[m];
        __syncthreads();
    }
}

// ---- readout_segments -------------------------------------------------------------------------------------

struct readout_shared {
    alignas(16) real z[TILE][ZS], v[TILE][ZS];
#if STAGED
    alignas(16) real units[L * UNIT];
#endif
    unsigned active[WORDS][TILE];
    scan_shared scan;
    real entering[MP];
    double squares[THREADS / 32];
};

struct step_state { // of the steps of one thread
    real z[STEPS][MP], e[STEPS][N];
};

// One hidden unit.
struct unit_weights {
    real w[UNIT]; // V (M), b, B (N)
};

INLINE unit_weights take_unit(const real *units, int l)
{
    unit_weights unit;
#pragma unroll
    for (int q = 0; q < UNIT / 4; q++) {
        const real4 four = load4(units + l * UNIT + 4 * q);
#pragma unroll
        for (int k = 0; k < 4; k++)
            unit.w[4 * q + k] = four.a[k];
    }
    return unit;
}

INLINE real preactivation(const unit_weights &unit, const real *z)
{
    real even = unit.w[M], odd = 0;
#pragma unroll
    for (int m = 0; m < M; m += 2) {
        even += unit.w[m] * z[m];
        if (m + 1 < M)
            odd += unit.w[m + 1] * z[m + 1];
    }
    return even + odd;
}

// e += B phi(V z + b), and which units are active.
INLINE void predict(readout_shared &memory, const real *units, step_state &step)
{
    for (int word = 0; word < WORDS; word++) {
        unsigned active[STEPS];
#pragma unroll
        for (int k = 0; k < STEPS; k++)
            active[k] = 0;
        const int last = L - 32 * word < 32 ? L - 32 * word : 32;
#pragma unroll 2
        for (int bit = 0; bit < last; bit++) {
            const unit_weights unit = take_unit(units, 32 * word + bit);
#pragma unroll
            for (int k = 0; k < STEPS; k++) {
                const real sum = preactivation(unit, step.z[k]), phi = sum > 0 ? sum : real(0);
                active[k] |= sum > 0 ? 1u << bit : 0u;
#pragma unroll
                for (int n = 0; n < N; n++)
                    step.e[k][n] += unit.w[M + 1 + n] * phi;
            }
        }
#pragma unroll
        for (int k = 0; k < STEPS; k++)
            if (threadIdx.x + k * THREADS < TILE)
                memory.active[word][threadIdx.x + k * THREADS] = active[k];
    }
}

// step.z <- V^T (phi' o B^T e).
INLINE void backpropagate(const readout_shared &memory, const real *units, step_state &step)
{
#pragma unroll
    for (int k = 0; k < STEPS; k++)
#pragma unroll
        for (int m = 0; m < MP; m++)
            step.z[k][m] = 0;
    for (int word = 0; word < WORDS; word++) {
        unsigned active[STEPS];
#pragma unroll
        for (int k = 0; k < STEPS; k++)
            active[k] = threadIdx.x + k * THREADS < TILE ? memory.active[word][threadIdx.x + k * THREADS] : 0;
        const int last = L - 32 * word < 32 ? L - 32 * word : 32;
#pragma unroll 2
        for (int bit = 0; bit < last; bit++) {
            const unit_weights unit = take_unit(units, 32 * word + bit);
#pragma unroll
            for (int k = 0; k < STEPS; k++) {
                real back = 0;
#pragma unroll
                for (int n = 0; n < N; n++)
                    back += unit.w[M + 1 + n] * step.e[k][n];
                back = active[k] >> bit & 1 ? back : real(0);
#pragma unroll
                for (int m = 0; m < M; m++)
                    step.z[k][m] += unit.w[m] * back;
            }
        }
    }
}

// Whether the value of variable n is missing in the row that step t predicts.
INLINE bool misses(const lssm_args &p, const segment &here, int t, int n)
{
    return GAPS && is_missing(p.x[(here.sequence * (p.T + 1) + t + 1) * N + n]);
}

INLINE bool misses_any(const lssm_args &p, const segment &here, int t)
{
    bool any = false;
    for (int n = 0; GAPS && n < N; n++)
        any = any || misses(p, here, t, n);
    return any;
}

// From the states of a tile that starts with step t to errors and V^T d in memory.v.  Warm-up steps do not
// count.  FILLED: p.errors has the errors of predictions for missing values; else these count as 0.
template <bool FILLED>
INLINE double readout_tile(const lssm_args &p, readout_shared &memory, const real *units, const segment &here,
                           int t, int count)
{
    const real weight = GAPS ? real(1) : (real)p.weight;
    double squares = 0;
    step_state step;
    bool counts[STEPS], any = false;
#pragma unroll
    for (int k = 0; k < STEPS; k++) {
        const int at = threadIdx.x + k * THREADS;
        counts[k] = at < count && t + at >= p.warmup;
        any = any || counts[k] || (GAPS && at < count && misses_any(p, here, t + at));
#pragma unroll
        for (int q = 0; q < QUADS; q++)
            *reinterpret_cast<real4 *>(step.z[k] + 4 * q) =
                at < count ? load4(&memory.z[at][4 * q]) : real4{0, 0, 0, 0};
        const real *x = p.x + (here.sequence * (p.T + 1) + t + at + 1) * N;
#pragma unroll
        for (int n = 0; n < N; n++)
            step.e[k][n] = counts[k] ? -or_zero(x[n]) : real(0);
    }
    if (any)
        predict(memory, units, step);
#pragma unroll
    for (int k = 0; k < STEPS; k++) {
        const int at = threadIdx.x + k * THREADS;
#pragma unroll
        for (int n = 0; n < N; n++) {
            const bool missing = GAPS && at < count && misses(p, here, t + at, n);
            const double error = counts[k] && !missing ? (double)step.e[k][n] : 0;
            squares += error * error;
            step.e[k][n] = counts[k] && !missing ? weight * step.e[k][n]
                           : missing && FILLED   ? p.errors[(here.sequence * p.T + t + at) * NP + n]
                                                 : real(0);
        }
    }
    if (any)
        backpropagate(memory, units, step);
#pragma unroll
    for (int k = 0; k < STEPS; k++) {
        const int at = threadIdx.x + k * THREADS;
        real *e = p.errors + (here.sequence * p.T + t + at) * NP;
#pragma unroll
        for (int q = 0; q < QUADS; q++)
            if (at < count)
                store4(&memory.v[at][4 * q],
                       any ? *reinterpret_cast<real4 *>(step.z[k] + 4 * q) : real4{0, 0, 0, 0});
#pragma unroll
        for (int n = 0; n < N; n++)
            if (FILLED && (GAPS ? at < count : counts[k]))
                e[n] = step.e[k][n];
    }
    __syncthreads();
    return squares;
}

INLINE double readout_segment(const lssm_args &p, readout_shared &memory, const real *units,
                              const segment &here)
{
    const size_t records = here.sequence * p.segments * MP;
    double squares = 0;
    combine_ends(memory.scan, p.ends + records, here.index, MP, p.segment_steps);
    for (int m = threadIdx.x; m < M; m += THREADS)
        memory.entering[m] = memory.scan.carry[m];
    __syncthreads();
    clear_carry(memory.scan);
    const int tiles = (here.last - here.first + TILE - 1) / TILE;
    for (int tile = tiles - 1; tile >= 0; tile--) {
        const int t = here.first + tile * TILE, count = here.last - t < TILE ? here.last - t : TILE;
        real *rows = p.states + (here.sequence * (p.T + 1) + t + 1) * MP;
        __syncthreads();
        load_rows(memory.z, rows, count);
        __syncthreads();
        if (here.index > 0) {
            add_entering<false>(memory.scan, memory.entering, memory.z, count, t - here.first);
            store_rows(rows, memory.z, count);
        }
        squares += readout_tile<true>(p, memory, units, here, t, count);
        scan<true>(memory.scan, memory.v, count);
        store_rows(p.adjoint + (here.sequence * p.T + t) * MP, memory.v, count);
    }
    real *end = p.adjoint_ends + records + (size_t)here.index * MP; // for the segment before it: A v
    for (int m = threadIdx.x; m < M; m += THREADS)
        end[m] = decayed(memory.scan.carry[m], memory.scan.leak[m], 0);
    __syncthreads();
    return squares;
}

extern "C" __global__ void __launch_bounds__(THREADS, 3) readout_segments(const __grid_constant__ lssm_args p)
{
    DYNAMIC_BYTES;
    readout_shared &memory = *reinterpret_cast<readout_shared *>(bytes);
    const int replica = blockIdx.x / p.workers, worker = blockIdx.x % p.workers;
    const real *units = p.weights + (size_t)replica * PACK;
    double squares = 0;
#if STAGED
    for (int i = 4 * threadIdx.x; i < L * UNIT; i += 4 * THREADS)
        store4(memory.units + i, load4(units + i));
    units = memory.units;
#endif
    load_leak(p, memory.scan, replica);
    __syncthreads();
    for (int item = worker; item < p.batch * p.segments; item += p.workers)
        squares += readout_segment(p, memory, units, find_segment(p, replica, item));
    squares = warp_sum(squares);
    if (threadIdx.x % 32 == 0)
        memory.squares[threadIdx.x / 32] = squares;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < THREADS / 32; w++)
            squares += memory.squares[w];
        p.squares[(size_t)replica * p.workers + worker] = squares;
    }
}

// ---- fill_gaps --------------------------------------------------------------------------------------------

#if GAPS
#define GAP_WARPS (THREADS / 32)
#define PARTS     (M > N ? M : N)

struct gap_shared {
    readout_shared tile;               // its carry: the state, or the adjoint, that enters the next row
    real x[TILE * N], s[TILE * K + 1]; // NaN is missing
    real U[M * N];
    real parts[GAP_WARPS][PARTS];     // of sums over the hidden units
    unsigned lacks[(TILE + 31) / 32]; // a bit for each row of the tile, from the side where it begins
    sequence_gaps found;
};
#define FILL_BYTES ((int)sizeof(gap_shared))

// Row i of a tile of `count` rows; REVERSE: from its end.
template <bool REVERSE> INLINE int row_at(int i, int count)
{
    return REVERSE ? count - 1 - i : i;
}

// Set memory.lacks from memory.x.  Row `never` counts as complete.
template <bool REVERSE> INLINE void find_lacking(gap_shared &memory, int count, int never)
{
    for (int i = threadIdx.x; i < (TILE + 31) / 32 * 32; i += THREADS) {
        bool any = false;
        for (int n = 0; n < N && i < count; n++)
            any = any || is_missing(memory.x[row_at<REVERSE>(i, count) * N + n]);
        const unsigned bits = __ballot_sync(ALL_LANES, any && i != never);
        if (threadIdx.x % 32 == 0)
            memory.lacks[i / 32] = bits;
    }
}

// The first row from `i` on that lacks values, or `count`.
INLINE int next_lacking(const gap_shared &memory, int i, int count)
{
    for (; i < count; i = (i / 32 + 1) * 32) {
        const unsigned bits = memory.lacks[i / 32] >> i % 32;
        if (bits != 0)
            return i + __ffs(bits) - 1;
    }
    return count;
}

// The recurrence over rows first .. last-1 of a tile, in place.  A latent unit always has the same thread.
template <bool REVERSE>
INLINE void run_rows(scan_shared &memory, real (*tile)[ZS], int count, int first, int last)
{
    for (int m = threadIdx.x; m < M; m += THREADS) {
        const real leak = memory.leak[m];
        real z = memory.carry[m];
#pragma unroll 4
        for (int i = first; i < last; i++) {
            real &at = tile[row_at<REVERSE>(i, count)][m];
            at = z = decayed(z, leak, at);
        }
        memory.carry[m] = z;
    }
}

INLINE real sum_parts(const gap_shared &memory, int i)
{
    real sum = memory.parts[0][i];
#pragma unroll
    for (int warp = 1; warp < GAP_WARPS; warp++)
        sum += memory.parts[warp][i];
    return sum;
}

// Parts of the prediction B phi(V z + b) from the state that enters.
INLINE void predict_row(gap_shared &memory, const real *units)
{
    real xhat[N];
#pragma unroll
    for (int n = 0; n < N; n++)
        xhat[n] = 0;
    for (int l = threadIdx.x; l < L; l += THREADS) {
        const unit_weights unit = take_unit(units, l);
        const real sum = preactivation(unit, memory.tile.scan.carry), phi = sum > 0 ? sum : real(0);
#pragma unroll
        for (int n = 0; n < N; n++)
            xhat[n] += unit.w[M + 1 + n] * phi;
    }
    store_lane_sums(xhat, memory.parts[threadIdx.x / 32]);
}

// The prediction takes the place of what row `at` lacks, in its drive and in `filled`.  filled: (N)
INLINE void take_in(gap_shared &memory, int at, real *filled)
{
    for (int m = threadIdx.x; m < M; m += THREADS) {
        real sum = memory.tile.z[at][m];
#pragma unroll 2
        for (int n = 0; n < N; n++)
            if (is_missing(memory.x[at * N + n]))
                sum += memory.U[m * N + n] * sum_parts(memory, n);
        memory.tile.z[at][m] = sum;
    }
    for (int n = threadIdx.x; n < N; n += THREADS)
        if (is_missing(memory.x[at * N + n]))
            filled[n] = sum_parts(memory, n);
}

// All states of a sequence, and what it lacks.  Rows without gaps are scanned by the threads of the latent
// units alone.
INLINE void fill_forward(const lssm_args &p, gap_shared &memory, const real *units, const real *theta,
                         size_t sequence)
{
    clear_carry(memory.tile.scan);
    for (int t = 0; t < p.T; t += TILE) {
        const int count = p.T - t < TILE ? p.T - t : TILE;
        __syncthreads();
        copy_list(memory.x, p.x + (sequence * (p.T + 1) + t) * N, count * N);
        copy_list(memory.s, p.s + (sequence * p.T + t) * K, count * K);
        __syncthreads();
        find_lacking<false>(memory, count, t == 0 ? 0 : -1);
        drive(memory, memory.tile.z, theta, count);
        int first = 0, row = next_lacking(memory, 0, count);
        for (; row < count; first = row, row = next_lacking(memory, row + 1, count)) {
            run_rows<false>(memory.tile.scan, memory.tile.z, count, first, row);
            __syncthreads();
            predict_row(memory, units);
            __syncthreads();
            take_in(memory, row, p.filled + (sequence * (p.T + 1) + t + row) * N);
        }
        run_rows<false>(memory.tile.scan, memory.tile.z, count, first, count);
        __syncthreads();
        store_rows(p.states + (sequence * (p.T + 1) + t + 1) * MP, memory.tile.z, count);
    }
}

// The adjoint v that enters is that of the step which takes in the prediction for row `at`: its errors are
// U^T v.  Parts of what they add to the adjoint.  e: (N)
INLINE void back_row(gap_shared &memory, const real *units, int at, real *e)
{
    real errors[N], part[M];
#pragma unroll
    for (int n = 0; n < N; n++) {
        errors[n] = 0;
        if (!is_missing(memory.x[at * N + n]))
            continue;
        for (int m = 0; m < M; m++)
            errors[n] += memory.U[m * N + n] * memory.tile.scan.carry[m];
        if (threadIdx.x == n % THREADS)
            e[n] = errors[n];
    }
#pragma unroll
    for (int m = 0; m < M; m++)
        part[m] = 0;
    for (int l = threadIdx.x; l < L; l += THREADS) {
        const unit_weights unit = take_unit(units, l);
        real back = 0;
#pragma unroll
        for (int n = 0; n < N; n++)
            back += unit.w[M + 1 + n] * errors[n];
        back = memory.tile.active[l / 32][at] >> l % 32 & 1 ? back : real(0);
#pragma unroll
        for (int m = 0; m < M; m++)
            part[m] += unit.w[m] * back;
    }
    store_lane_sums(part, memory.parts[threadIdx.x / 32]);
}

// The errors of all predictions that the sequence takes in.  The last row is not taken in: its adjoint is 0.
INLINE void fill_backward(const lssm_args &p, gap_shared &memory, const real *units, const segment &here)
{
    clear_carry(memory.tile.scan);
    for (int tile = (p.T - 1) / TILE; tile >= 0; tile--) {
        const int t = tile * TILE, count = p.T - t < TILE ? p.T - t : TILE;
        if (t + count < memory.found.first) // rows t + 1 .. t + count
            break;
        __syncthreads();
        load_rows(memory.tile.z, p.states + (here.sequence * (p.T + 1) + t + 1) * MP, count);
        copy_list(memory.x, p.x + (here.sequence * (p.T + 1) + t + 1) * N, count * N);
        __syncthreads();
        find_lacking<true>(memory, count, -1);
        readout_tile<false>(p, memory.tile, units, here, t, count);
        int first = 0, row = next_lacking(memory, 0, count);
        for (; row < count; first = row, row = next_lacking(memory, row + 1, count)) {
            const int at = row_at<true>(row, count);
            run_rows<true>(memory.tile.scan, memory.tile.v, count, first, row);
            __syncthreads();
            back_row(memory, units, at, p.errors + (here.sequence * p.T + t + at) * NP);
            __syncthreads();
            for (int m = threadIdx.x; m < M; m += THREADS)
                memory.tile.v[at][m] += sum_parts(memory, m);
        }
        run_rows<true>(memory.tile.scan, memory.tile.v, count, first, count);
    }
}

// A block has a sequence.
extern "C" __global__ void __launch_bounds__(THREADS, 2) fill_gaps(const __grid_constant__ lssm_args p)
{
    DYNAMIC_BYTES;
    gap_shared &memory = *reinterpret_cast<gap_shared *>(bytes);
    const int replica = blockIdx.x / p.batch;
    const real *theta = p.parameters + (size_t)replica * TOTAL, *units = p.weights + (size_t)replica * PACK;
    const segment here = {blockIdx.x, 0, 0, p.T};
    const size_t begin = here.sequence * (p.T + 1) * N;
    copy_observed<N, THREADS>(p.x + begin, p.T + 1, p.warmup, p.filled + begin, memory.found);
    if (memory.found.first > p.T) // the same in all threads
        return;
    if (threadIdx.x == 0 && memory.found.missing > 0)
        atomicAdd(p.arrived + (size_t)replica * BARRIER_WORDS + MISSING_WORD, memory.found.missing);
#if STAGED
    for (int i = 4 * threadIdx.x; i < L * UNIT; i += 4 * THREADS)
        store4(memory.tile.units + i, load4(units + i));
    units = memory.tile.units;
#endif
    copy_list(memory.U, theta + THETA_U, M * N);
    load_leak(p, memory.tile.scan, replica);
    fill_forward(p, memory, units, theta, here.sequence);
    __syncthreads();
    fill_backward(p, memory, units, here);
}
#else
#define FILL_BYTES 0
#endif

// ---- backward_segments ------------------------------------------------------------------------------------

struct latent_shared {
    alignas(16) real z[TILE][ZS], v[TILE][ZS]; // z_{t-1} beside v_t
    real x[TILE * N], s[TILE * K + 1], one;
    scan_shared scan;
    real leaving[MP];
};

struct hidden_shared {
    alignas(16) real z[TILE][ZS], e[TILE][NP];
};

union alignas(16) backward_shared {
    latent_shared latent;
    hidden_shared hidden;
    real scratch[SCRATCH_ROWS][THREADS];
};

// The sums of one tile, one thread per entry.
INLINE void add_latent(const latent_shared &memory, int count, real (&sum)[ENTRIES])
{
    constexpr int unroll = ENTRIES <= 4 ? ENTRIES : 1;
#pragma unroll unroll
    for (int k = 0; k < ENTRIES; k++) {
        const int entry = threadIdx.x + k * THREADS, m = entry / COLUMNS, column = entry % COLUMNS;
        if (entry >= LATENT)
            break;
        const real *left = &memory.v[0][m];
        const real *right = column == 0      ? &memory.z[0][m]
                            : column == 1    ? &memory.one
                            : column < 2 + N ? memory.x + column - 2
                                             : memory.s + column - 2 - N;
        const int stride = column == 0 ? ZS : column == 1 ? 0 : column < 2 + N ? N : K;
        real even = 0, odd = 0;
        int t = 0;
#pragma unroll 4
        for (; t + 1 < count; t += 2) {
            even += left[t * ZS] * right[t * stride];
            odd += left[(t + 1) * ZS] * right[(t + 1) * stride];
        }
        if (t < count)
            even += left[t * ZS] * right[t * stride];
        sum[k] += even + odd;
    }
}

// The offset of an entry among the parameters.
INLINE int latent_place(int entry)
{
    const int m = entry / COLUMNS, column = entry % COLUMNS;
    return column == 0      ? THETA_ABAR + m
           : column == 1    ? THETA_h + m
           : column < 2 + N ? THETA_U + m * N + column - 2
                            : THETA_C + m * K + column - 2 - N;
}

INLINE void sum_latent(const lssm_args &p, latent_shared &memory, int replica, int worker, real *partial)
{
    real sum[ENTRIES];
    constexpr int unroll = ENTRIES <= 4 ? ENTRIES : 1;
#pragma unroll unroll
    for (int k = 0; k < ENTRIES; k++)
        sum[k] = 0;
    load_leak(p, memory.scan, replica);
    if (threadIdx.x == 0)
        memory.one = 1;
    __syncthreads();
    for (int item = worker; item < p.batch * p.segments; item += p.workers) {
        const segment here = find_segment(p, replica, item);
        const real *last = p.adjoint_ends + (here.sequence * p.segments + p.segments - 1) * MP;
        combine_ends(memory.scan, last, p.segments - 1 - here.index, -MP, p.segment_steps);
        for (int t = here.first; t < here.last; t += TILE) {
            const int count = here.last - t < TILE ? here.last - t : TILE;
            __syncthreads();
            load_rows(memory.z, p.states + (here.sequence * (p.T + 1) + t) * MP, count);
            load_rows(memory.v, p.adjoint + (here.sequence * p.T + t) * MP, count);
            copy_list(memory.x, taken_in(p) + (here.sequence * (p.T + 1) + t) * N, count * N);
            copy_list(memory.s, p.s + (here.sequence * p.T + t) * K, count * K);
            __syncthreads();
            add_entering<true>(memory.scan, memory.scan.carry, memory.v, count, here.last - t - count);
            add_latent(memory, count, sum);
        }
        __syncthreads();
    }
#pragma unroll unroll
    for (int k = 0; k < ENTRIES; k++)
        if (threadIdx.x + k * THREADS < LATENT)
            partial[latent_place(threadIdx.x + k * THREADS)] = sum[k];
}

// One step of one unit.
INLINE void add_hidden(const unit_weights &unit, const real (&z)[MP], const real (&e)[NP],
                       real (&sum)[PER_UNIT])
{
    const real above = preactivation(unit, z), phi = above > 0 ? above : real(0);
    real back = 0;
#pragma unroll
    for (int n = 0; n < N; n++)
        back += unit.w[M + 1 + n] * e[n];
    back = above > 0 ? back : real(0);
#pragma unroll
    for (int m = 0; m < M; m++)
        sum[m] += back * z[m];
    sum[M] += back;
#pragma unroll
    for (int n = 0; n < N; n++)
        sum[M + 1 + n] += e[n] * phi;
}

INLINE void add_tile(const hidden_shared &memory, int first, int count,
                     const unit_weights (&unit)[UNITS_PER_THREAD], real (&sum)[UNITS_PER_THREAD][PER_UNIT])
{
#pragma unroll 2
    for (int t = first; t < count; t += SLICES) {
        real z[MP], e[NP];
#pragma unroll
        for (int q = 0; q < MP / 4; q++)
            *reinterpret_cast<real4 *>(z + 4 * q) = load4(&memory.z[t][4 * q]);
#pragma unroll
        for (int q = 0; q < NP / 4; q++)
            *reinterpret_cast<real4 *>(e + 4 * q) = load4(&memory.e[t][4 * q]);
#pragma unroll
        for (int k = 0; k < UNITS_PER_THREAD; k++)
            add_hidden(unit[k], z, e, sum[k]);
    }
}

// Add the sums of all slices of threads for the units of a block.
INLINE void store_hidden(backward_shared &memory, int unit_block, int member, int slice,
                         const real (&sum)[UNITS_PER_THREAD][PER_UNIT], real *partial)
{
#pragma unroll
    for (int from = 0; from < UNITS_PER_THREAD * PER_UNIT; from += SCRATCH_ROWS) {
        __syncthreads();
#pragma unroll
        for (int i = 0; i < SCRATCH_ROWS; i++)
            if (from + i < UNITS_PER_THREAD * PER_UNIT && slice < SLICES)
                memory.scratch[i][slice * WIDTH + member] =
                    sum[(from + i) / PER_UNIT < UNITS_PER_THREAD ? (from + i) / PER_UNIT : 0]
                       [(from + i) % PER_UNIT];
        __syncthreads();
        for (int task = threadIdx.x; task < SCRATCH_ROWS * WIDTH; task += THREADS) {
            const int i = task / WIDTH, at = task % WIDTH, own = (from + i) / PER_UNIT,
                      k = (from + i) % PER_UNIT;
            const int l = (unit_block * UNITS_PER_THREAD + own) * WIDTH + at;
            if (own >= UNITS_PER_THREAD || l >= L)
                continue;
            real total = 0;
            for (int other = 0; other < SLICES; other++)
                total += memory.scratch[i][other * WIDTH + at];
            partial[k < M    ? THETA_V + l * M + k
                    : k == M ? THETA_b + l
                             : THETA_B + (k - M - 1) * L + l] = total;
        }
    }
}

INLINE void sum_hidden(const lssm_args &p, backward_shared &memory, int replica, int worker, int unit_block,
                       real *partial)
{
    const int member = threadIdx.x % WIDTH, slice = threadIdx.x / WIDTH;
    unit_weights unit[UNITS_PER_THREAD];
    real sum[UNITS_PER_THREAD][PER_UNIT];
#pragma unroll
    for (int k = 0; k < UNITS_PER_THREAD; k++) {
        const int l = (unit_block * UNITS_PER_THREAD + k) * WIDTH + member;
        unit[k] = take_unit(p.weights + (size_t)replica * PACK, l < L ? l : L - 1);
#pragma unroll
        for (int i = 0; i < PER_UNIT; i++)
            sum[k][i] = 0;
    }
    for (int item = worker; item < p.batch * p.segments; item += p.workers) {
        const segment here = find_segment(p, replica, item);
        for (int t = GAPS || here.first >= p.warmup ? here.first : p.warmup; t < here.last; t += TILE) {
            const int count = here.last - t < TILE ? here.last - t : TILE;
            __syncthreads();
            load_rows(memory.hidden.z, p.states + (here.sequence * (p.T + 1) + t + 1) * MP, count);
            for (int i = 4 * threadIdx.x; i < count * NP; i += 4 * THREADS)
                store4(&memory.hidden.e[0][0] + i, load4(p.errors + (here.sequence * p.T + t) * NP + i));
            __syncthreads();
            if (slice < SLICES)
                add_tile(memory.hidden, slice, count, unit, sum);
        }
    }
    store_hidden(memory, unit_block, member, slice, sum, partial);
}

// A worker is UNIT_BLOCKS blocks for the hidden units and one block for the rest.
extern "C" __global__ void __launch_bounds__(THREADS, 3)
    backward_segments(const __grid_constant__ lssm_args p)
{
    DYNAMIC_BYTES;
    backward_shared &memory = *reinterpret_cast<backward_shared *>(bytes);
    const int role = blockIdx.x % (UNIT_BLOCKS + 1), index = blockIdx.x / (UNIT_BLOCKS + 1);
    const int replica = index / p.workers, worker = index % p.workers;
    real *partial = p.partial + (size_t)index * TOTAL;
    if (role < UNIT_BLOCKS)
        sum_hidden(p, memory, replica, worker, role, partial);
    else
        sum_latent(p, memory.latent, replica, worker, partial);
}

// ---- reduce_blocks ----------------------------------------------------------------------------------------

// One block has 32 parameters of a replica.
extern "C" __global__ void __launch_bounds__(32 * REDUCE_WARPS)
    reduce_blocks(const __grid_constant__ lssm_args p)
{
    DYNAMIC_BYTES;
    double(*scratch)[32] = reinterpret_cast<double(*)[32]>(bytes);
    const int blocks = (TOTAL + 31) / 32, replica = blockIdx.x / blocks, block = blockIdx.x % blocks;
    const int i = 32 * block + threadIdx.x % 32, warp = threadIdx.x / 32;
    const size_t base = (size_t)replica * TOTAL;
    double sum = sum_column<REDUCE_WARPS>(p.partial + base * p.workers, p.workers, TOTAL, i, scratch);
    if (warp == 0 && i < TOTAL) {
#if GAPS
        sum *= find_weight(p, replica);
#endif
        if (i < M) // the sums are with respect to A
            sum *= decay_slope(p.free_diagonal,
                               decay_of(p.free_diagonal, (double)p.parameters[base + THETA_ABAR + i]));
        p.raw[base + i] = (real)sum;
    }
    if (block == 0 && warp == 1) {
        const double squares = sum_list(p.squares + (size_t)replica * p.workers, p.workers);
        if (threadIdx.x % 32 == 0)
            p.facts[(size_t)replica * FACTS + FACT_LOSS] = 0.5 * find_weight(p, replica) * squares;
    }
}

// ---- for update_kernels.cuh -------------------------------------------------------------------------------

INLINE void make_weights(const update_args &p, int replica, update_shared &memory)
{
    const real *theta = block_theta(p, replica, memory);
    real *pack = p.weights + (size_t)replica * PACK;
#pragma unroll 1
    for (int i = threadIdx.x; i < L * UNIT; i += UPDATE_THREADS) {
        const int l = i / UNIT, k = i % UNIT;
        pack[i] = k < M           ? theta[THETA_V + l * M + k]
                  : k == M        ? theta[THETA_b + l]
                  : k < M + 1 + N ? theta[THETA_B + (k - M - 1) * L + l]
                                  : real(0);
    }
#pragma unroll 1
    for (int m = threadIdx.x; m < MP; m += UPDATE_THREADS)
        pack[PACK_LEAK + m] =
            m < M ? (real)(1 - decay_of(p.free_diagonal, (double)theta[THETA_ABAR + (m < M ? m : 0)]))
                  : real(0);
}

struct model_gradient {
    const real *theta, *raw;
    const double *scale; // of MAR; then of an entry of U
    int first;           // regularised units are first .. M-1
};

INLINE void find_scales(const update_args &p, double *scale)
{
    const int lane = threadIdx.x % 32;
    if (lane < 2)
        scale[lane] = p.units > 0 ? p.mar / ((lane == 0 ? 1.0 : N) * p.units) : 0;
}

#define LATE_PARAMETERS TOTAL

INLINE model_gradient begin_gradient(const update_args &p, int replica, double *, update_shared &memory)
{
    const real *raw = p.raw + (size_t)replica * TOTAL;
    prefetch<TOTAL>(memory.gradient, raw);
    return {block_theta(p, replica, memory), PREFETCHED ? memory.gradient : raw, memory.scale, M - p.units};
}

INLINE void find_late_gradient(const update_args &, const model_gradient &) {}

INLINE double gradient_at(const update_args &, const model_gradient &g, int i)
{
    return (double)g.raw[i];
}

// MAR of the LSSM: spec 5.
INLINE double penalty_at(const update_args &p, const model_gradient &g, int i, terms &sum)
{
    const double x = (double)g.theta[i], scale = g.scale[0];
    if (scale == 0)
        return 0;
    if (i < THETA_U)
        return i >= g.first
                   ? penalty_decay(p.free_diagonal, decay_of(p.free_diagonal, x), scale, p.power, sum.mar)
                   : 0;
    if (i < THETA_V)
        return (i - THETA_U) / N >= g.first ? penalty(x, g.scale[1], p.power, sum.mar) : 0;
    if (i >= THETA_h && i < THETA_C)
        return i - THETA_h >= g.first ? penalty(x, scale, p.power, sum.mar) : 0;
    return 0;
}

INLINE void penalise_more(const update_args &, const model_gradient &, terms &) {}

INLINE double singular_term(const update_args &, const model_gradient &)
{
    return 0;
}

#include "update_kernels.cuh"

// For the host: abi.h.
extern "C" __device__ const lssm_variant lssm_facts = {
    THREADS,
    TILE,
    PACK,
    MP,
    NP,
    UNIT_BLOCKS + 1,
    32 * REDUCE_WARPS,
    {FILL_BYTES, (int)sizeof(forward_shared), (int)sizeof(readout_shared), (int)sizeof(backward_shared),
     (int)sizeof(double[REDUCE_WARPS][32])},
    (int)sizeof(lssm_args)};
