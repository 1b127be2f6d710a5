// mamba2.cu - loss and gradient of a Mamba-2 (spec 1) in segments of time.  model/mamba2.h has the model,
// mamba2_shape.cuh the division of work, mamba2_recurrence.cuh the recurrence.  Launches, in this order:
//
//     fill_gaps           with GAPS only: predictions for missing values of x, and their errors
//     forward_segments    what each segment adds to the state that enters it
//     scan                the states that enter
//     readout_segments    outputs, loss, and back to the recurrence; what each segment adds to the adjoint
//     scan                the adjoints of the states that leave
//     backward_segments   back through recurrence, convolution and projection
//     reduce_blocks       the gradient, from the sums of all blocks
//     update              everything else (update_kernels.cuh)
//
// Every kernel recomputes the features, which is cheaper than storing them.  Through the convolution a
// segment has gradients with respect to the three steps before it; it takes these through the projection
// itself, in its halo: gradients are linear, so the parts add up.  Sums have a fixed order, and replicas are
// independent.
//
// GAPS 1: x may lack values (spec 12).  A prediction takes the place of what is missing, so plain steps
// (mamba2_steps.cuh) come first.  After that x is complete, the errors of missing values are known, and the
// other kernels are those of complete data.  Errors have no weight: reduce_blocks multiplies by it, when all
// missing values have been counted.
//
// variant: -DREAL_BITS=32 -DM=16 -DN=6 -DL=128 -DK=0 -DCLIPPED=0 -DCOLUMNS=64 -DSHARED_LIMIT=232448 -DUPDATE_THREADS=512
// variant: -DREAL_BITS=32 -DM=32 -DN=6 -DL=128 -DK=0 -DCLIPPED=0 -DCOLUMNS=64 -DSHARED_LIMIT=232448 -DUPDATE_THREADS=512
// variant: -DREAL_BITS=64 -DM=16 -DN=6 -DL=128 -DK=2 -DCLIPPED=0 -DCOLUMNS=32 -DSHARED_LIMIT=232448 -DUPDATE_THREADS=512
// variant: -DREAL_BITS=64 -DM=32 -DN=6 -DL=128 -DK=0 -DCLIPPED=0 -DCOLUMNS=32 -DSHARED_LIMIT=101376 -DUPDATE_THREADS=512
// variant: -DREAL_BITS=32 -DM=4 -DN=1 -DL=5 -DK=1 -DCLIPPED=0 -DCOLUMNS=64 -DSHARED_LIMIT=101376 -DUPDATE_THREADS=512
// variant: -DREAL_BITS=32 -DM=16 -DN=6 -DL=128 -DK=0 -DCLIPPED=0 -DCOLUMNS=64 -DSHARED_LIMIT=232448 -DUPDATE_THREADS=512 -DGAPS=1
// variant: -DREAL_BITS=32 -DM=32 -DN=6 -DL=128 -DK=0 -DCLIPPED=0 -DCOLUMNS=64 -DSHARED_LIMIT=232448 -DUPDATE_THREADS=512 -DGAPS=1
// variant: -DREAL_BITS=64 -DM=16 -DN=6 -DL=128 -DK=2 -DCLIPPED=0 -DCOLUMNS=32 -DSHARED_LIMIT=232448 -DUPDATE_THREADS=512 -DGAPS=1
// variant: -DREAL_BITS=64 -DM=32 -DN=6 -DL=128 -DK=0 -DCLIPPED=0 -DCOLUMNS=32 -DSHARED_LIMIT=101376 -DUPDATE_THREADS=512 -DGAPS=1
// spills: readout_segments backward_segments (addresses, outside of the innermost loops) prepare update (as update.cu)
#include "mamba2_recurrence.cuh"
#include "mamba2_steps.cuh"
#include "reduce.cuh"

// A block has every gridDim.x-th segment of its replica, so that segments of the warm-up, which cost less,
// are spread evenly.
#define LARGER(a, b)  ((a) > (b) ? (a) : (b))
#define BLOCKS_PER_SM (REAL_BITS == 32 && M <= 16 ? 2 : 1) // blocks of a multiprocessor

// ---- fill_gaps --------------------------------------------------------------------------------------------

#if GAPS
#define FILL_STAGED (sizeof(step_shared) + PACK * sizeof(real) <= SHARED_LIMIT)
#define FILL_BYTES  (sizeof(step_shared) + (FILL_STAGED ? PACK * sizeof(real) : 0))

// A block has a sequence.
extern "C" __global__ void __launch_bounds__(THREADS, 1) fill_gaps(const __grid_constant__ mamba2_args p)
{
    DYNAMIC_BYTES;
    step_shared &m = *reinterpret_cast<step_shared *>(bytes);
    const size_t replica = blockIdx.y, sequence = replica * p.batch + blockIdx.x,
                 begin = sequence * (p.T + 1) * N;
    const sequence_arrays a = {p.x + begin,
                               p.s + sequence * p.T * K,
                               p.filled + begin,
                               p.errors + sequence * p.T * N,
                               p.tape + sequence * p.T * TAPE,
                               p.path + sequence * (p.T + 1) * STATES};
    copy_observed<N, THREADS>(a.x, p.T + 1, p.warmup, a.filled, m.found);
    if (m.found.first > p.T) // the same in all threads
        return;
    if (threadIdx.x == 0 && m.found.missing > 0)
        atomicAdd(p.arrived + replica * BARRIER_WORDS + MISSING_WORD, m.found.missing);
    const real *w =
        stage_weights<FILL_STAGED>(p.weights + replica * PACK, reinterpret_cast<real *>(&m + 1), PACK);
    begin_steps(m, w);
    run_steps(p, m, w, a);
    run_steps_back(p, m, w, a);
}
#define GAPS_TAPE TAPE
#else
#define FILL_BYTES 0
#define GAPS_TAPE  0
#endif

// ---- forward_segments -------------------------------------------------------------------------------------

struct alignas(16) forward_shared {
    feature_row x[N + K], normed[M], act[INNER + STATE], delta[HEADS], decay[HEADS];
    real own[WARPS * STATES], warp_decay[WARPS][HEADS];
};
#define FORWARD_STAGED (sizeof(forward_shared) + PACK_FEATURES * sizeof(real) <= SHARED_LIMIT)
#define FORWARD_BYTES  (sizeof(forward_shared) + (FORWARD_STAGED ? PACK_FEATURES * sizeof(real) : 0))

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    forward_segments(const __grid_constant__ mamba2_args p)
{
    DYNAMIC_BYTES;
    forward_shared &m = *reinterpret_cast<forward_shared *>(bytes);
    const int replica = blockIdx.y;
    const real *w = stage_weights<FORWARD_STAGED>(p.weights + (size_t)replica * PACK,
                                                  reinterpret_cast<real *>(&m + 1), PACK_FEATURES);
    const features f = {m.x,     m.x + N, nullptr, nullptr, m.normed, nullptr,
                        nullptr, m.act,   m.act,   m.delta, m.decay};
    for (int item = blockIdx.x; item < p.batch * p.segments; item += gridDim.x) {
        const thread_context at = make_thread_context(p, replica, item);
        real h[CHANNELS][STATE];
        load_window(p, at, f);
        embed(at, w, f);
        __syncthreads();
        project<INNER + STATE>(p, at, w, f);
        __syncthreads();
        clear(h);
        recur_forward<ENDS>(at, f, h, nullptr, nullptr, nullptr);
        store_state(at, h, m.own + at.warp * STATES);
        find_warp_decays(at, f, m.warp_decay);
        __syncthreads();
        for (int i = threadIdx.x; i < STATES; i += THREADS)
            p.states[at.item * STATES + i] = scan_columns(m.warp_decay, m.own, i, 0, true);
        if (threadIdx.x < HEADS) {
            real product = 1;
            for (int warp = 0; warp < WARPS; warp++)
                product *= m.warp_decay[warp][threadIdx.x];
            p.decays[at.item * HEADS + threadIdx.x] = product;
        }
    }
}

// ---- scan -------------------------------------------------------------------------------------------------

#define SCAN_PREFETCH 8 // segments that are loaded at once

struct scan_shared {
    real ends[SCAN_SIDE][SCAN_SIDE + 1], products[SCAN_SIDE][SCAN_SIDE + 1];
};

// Replace what each segment adds by the state that enters it (backward: by the adjoint of the state that
// leaves it).  A warp has one group of segments, a lane one number: first each group from zero, then from its
// exclusive prefix.
extern "C" __global__ void __launch_bounds__(SCAN_SIDE *SCAN_SIDE)
    scan(const __grid_constant__ mamba2_args p, int back)
{
    DYNAMIC_BYTES;
    scan_shared &m = *reinterpret_cast<scan_shared *>(bytes);
    const int lane = threadIdx.x % SCAN_SIDE, group = threadIdx.x / SCAN_SIDE;
    const int element = blockIdx.x * SCAN_SIDE + lane < STATES ? blockIdx.x * SCAN_SIDE + lane : STATES - 1;
    const bool active = blockIdx.x * SCAN_SIDE + lane < STATES;
    const int each = (p.segments + SCAN_SIDE - 1) / SCAN_SIDE, first = group * each,
              last = first + each < p.segments ? first + each : p.segments;
    const size_t sequence = (size_t)blockIdx.y * p.segments;
    real *values = (back ? p.adjoints : p.states) + sequence * STATES + element;
    const real *decays = p.decays + sequence * HEADS + head_of_state(element);
    real state = 0, product = 1;
#pragma unroll
    for (int pass = 0; pass < 2; pass++) {
        for (int base = first; base < last; base += SCAN_PREFETCH) {
            real added[SCAN_PREFETCH], decay[SCAN_PREFETCH];
#pragma unroll
            for (int i = 0; i < SCAN_PREFETCH; i++) {
                const int c = base + i < last ? base + i : last - 1, segment = back ? p.segments - 1 - c : c;
                added[i] = values[(size_t)segment * STATES];
                decay[i] = decays[(size_t)segment * HEADS];
            }
#pragma unroll
            for (int i = 0; i < SCAN_PREFETCH; i++)
                if (base + i < last) {
                    const int segment = back ? p.segments - 1 - base - i : base + i;
                    if (pass == 1 && active)
                        values[(size_t)segment * STATES] = state;
                    state = decay[i] * state + added[i];
                    product *= decay[i];
                }
        }
        if (pass == 1)
            break;
        m.ends[group][lane] = state;
        m.products[group][lane] = product;
        __syncthreads();
        state = 0;
        for (int i = 0; i < group; i++)
            state = m.products[i][lane] * state + m.ends[i][lane];
    }
}

// ---- readout_segments -------------------------------------------------------------------------------------

#define UNIT_TILE       (4 * WARPS) // hidden units that are kept at a time
#define READOUT_SCRATCH LARGER(LARGER(WARP_SUM_SCRATCH, WARPS *STATES), LARGER(2 * UNIT_TILE, INNER) * STRIDE)

struct alignas(16) readout_shared {
    feature_row x[N + K]; // then the error (N)
    feature_row v[M], r[M], dr[M], dv[M], gate[INNER], act[CONV], delta[HEADS], decay[HEADS], y[INNER],
        gated[INNER];
    real scale[COLUMNS]; // 1 / rms of the gated outputs
    real scratch[READOUT_SCRATCH], warp_decay[WARPS][HEADS];
    double squares[WARPS];
};
#define READOUT_STAGED (sizeof(readout_shared) + PACK * sizeof(real) <= SHARED_LIMIT)
#define READOUT_BYTES  (sizeof(readout_shared) + (READOUT_STAGED ? PACK * sizeof(real) : 0))

// v = u + proj_out (norm_w o gated / rms(gated)), gated = y o silu(gate); v replaces u.
INLINE void find_v(const mamba2_args &p, const thread_context &at, const real *w, readout_shared &m)
{
    constexpr int count = ROWS_OF_PART(INNER), outputs = ROWS_OF_PART(M);
    real gated[count], square = 0;
#pragma unroll
    for (int i = 0; i < count; i++) {
        const int c = row_of_part(at, i);
        const real gate = m.gate[c][at.column],
                   y = m.y[c][at.column] + w[PACK_skip + c / HEAD] * m.act[c][at.column];
        m.y[c][at.column] = y;
        gated[i] = y * gate * sigmoid(gate);
        square += gated[i] * gated[i];
    }
    const real scale = 1 / root_of(column_sum(square) / INNER + NORM_EPSILON);
#pragma unroll
    for (int i = 0; i < count; i++)
        m.gated[row_of_part(at, i)][at.column] = gated[i] * scale * w[PACK_norm_w + row_of_part(at, i)];
    if (at.part == 0)
        m.scale[at.column] = scale;
    __syncwarp();
    real v[outputs];
#pragma unroll
    for (int i = 0; i < outputs; i++)
        v[i] = row_of_part(at, i) < M ? m.v[row_of_part(at, i)][at.column] : real(0);
#pragma unroll 4
    for (int c = 0; c < INNER; c++) {
        const real value = m.gated[c][at.column];
#pragma unroll
        for (int i = 0; i < outputs; i++)
            v[i] += w[PACK_proj_out + c * M + (row_of_part(at, i) < M ? row_of_part(at, i) : 0)] * value;
    }
    const int t = at.first + at.column;
    real *kept = p.v + (long long)((at.sequence * (p.T + 1) + t + 1) * M); // t + 1 may be negative: not owned
#pragma unroll
    for (int i = 0; i < outputs; i++)
        if (row_of_part(at, i) < M) {
            m.v[row_of_part(at, i)][at.column] = v[i];
            if (owns(p, at, at.column))
                kept[row_of_part(at, i)] = v[i];
        }
}

// r = W2 phi(W1 v + b1) + b2.
INLINE void find_r(const thread_context &at, const real *w, readout_shared &m)
{
    lane_columns v[M], sum[M];
    load_inputs(m.v, at.lane, v);
    clear(sum);
#pragma unroll 2
    for (int l = at.warp; l < L; l += WARPS) {
        lane_columns hidden = dot(w + PACK_W1 + l * M, v, w[PACK_b1 + l]);
#pragma unroll
        for (int j = 0; j < PER_LANE; j++)
            hidden.a[j] = hidden.a[j] > 0 ? hidden.a[j] : real(0);
        spread(w + PACK_W2 + l * M, hidden, sum);
    }
    sum_over_warps(at, sum, m.scratch,
                   [&](int d, real total) { m.r[d][at.column] = total + w[PACK_b2 + d]; });
}

// xhat, its error, and dr.  Returns the thread's part of the sum of squares.
INLINE double find_error(const mamba2_args &p, const thread_context &at, const real *w, readout_shared &m)
{
    const int t = at.first + at.column;
    const bool counts = owns(p, at, at.column) && t + 1 > p.warmup;
    const real *target = p.x + (long long)((at.sequence * (p.T + 1) + t + 1) * N);
    const real weight = GAPS ? real(1) : (real)p.weight;
    double square = 0;
    for (int n = at.part; n < N; n += 4) {
        real xhat = w[PACK_out_b + n];
#pragma unroll 8
        for (int d = 0; d < M; d++)
            xhat += w[PACK_out_W + n * M + d] * m.r[d][at.column];
        const bool missing = GAPS && owns(p, at, at.column) && is_missing(target[n]);
        const real error = counts && !missing ? xhat - target[n] : real(0);
        square += (double)error * (double)error;
        m.x[n][at.column] = missing ? p.errors[(at.sequence * p.T + t) * N + n] : weight * error;
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < ROWS_OF_PART(M); i++) {
        const int d = row_of_part(at, i);
        real sum = 0;
        for (int n = 0; n < N && d < M; n++)
            sum += w[PACK_out_W + n * M + d] * m.x[n][at.column];
        if (d < M)
            m.dr[d][at.column] = sum;
    }
    return square;
}

// From dr to dv, and the gradients of the readout.
INLINE void readout_back(const thread_context &at, const real *w, readout_shared &m, real *sums)
{
    feature_row *hidden = reinterpret_cast<feature_row *>(m.scratch), *slopes = hidden + UNIT_TILE;
    lane_columns dv[M];
    clear(dv);
    add_products<N, M, 1>(at, {{m.x, m.r, sums + THETA_out_W, M, 1, N}});
    add_rows<N>(at, m.x, 1, N, sums + THETA_out_b);
    add_rows<M>(at, m.dr, 1, M, sums + THETA_b2);
#pragma unroll 1
    for (int group = 0; group < L; group += UNIT_TILE) {
        {
            lane_columns v[M], dr[M];
            load_inputs(m.v, at.lane, v);
            load_inputs(m.dr, at.lane, dr);
#pragma unroll 1
            for (int i = at.warp; i < UNIT_TILE; i += WARPS) {
                const int l = group + i < L ? group + i : L - 1;
                lane_columns value = dot(w + PACK_W1 + l * M, v, w[PACK_b1 + l]),
                             slope = dot(w + PACK_W2 + l * M, dr, 0);
#pragma unroll
                for (int j = 0; j < PER_LANE; j++) {
                    const bool open = value.a[j] > 0 && group + i < L;
                    value.a[j] = open ? value.a[j] : real(0);
                    slope.a[j] = open ? slope.a[j] : real(0);
                }
                spread(w + PACK_W1 + l * M, slope, dv);
                store_columns(hidden[i], at.lane, value);
                store_columns(slopes[i], at.lane, slope);
            }
        }
        __syncthreads();
        add_products<UNIT_TILE, M, 2>(at, {{hidden, m.dr, sums + THETA_W2 + group, 1, L, L - group},
                                           {slopes, m.v, sums + THETA_W1 + group * M, M, 1, L - group}});
        add_rows<UNIT_TILE>(at, slopes, 1, L - group, sums + THETA_b1 + group);
        __syncthreads();
    }
    sum_over_warps(at, dv, m.scratch, [&](int d, real total) { m.dv[d][at.column] = total; });
}

// From dv to dy, which replaces y, and the slopes of the gate, which replace it; norms: (INNER), the terms of
// norm_w's gradient.
INLINE void gate_back(const thread_context &at, const real *w, readout_shared &m, feature_row *norms)
{
    constexpr int count = ROWS_OF_PART(INNER);
    real dv[M], dgated[count], opened[count], along = 0; // opened: sigmoid(gate)
    const real scale = m.scale[at.column];
#pragma unroll
    for (int d = 0; d < M; d++)
        dv[d] = m.dv[d][at.column];
#pragma unroll
    for (int i = 0; i < count; i++) {
        const int c = row_of_part(at, i);
        real sum = 0;
#pragma unroll
        for (int q = 0; q < M / 4; q++) {
            const real4 four = load4(w + PACK_proj_out + c * M + 4 * q);
#pragma unroll
            for (int k = 0; k < 4; k++)
                sum += four.a[k] * dv[4 * q + k];
        }
        const real gate = m.gate[c][at.column];
        opened[i] = sigmoid(gate);
        const real gated = m.y[c][at.column] * gate * opened[i];
        norms[c][at.column] = sum * gated * scale;
        dgated[i] = sum * w[PACK_norm_w + c];
        along += dgated[i] * gated;
    }
    along = column_sum(along) * scale * scale / INNER;
#pragma unroll
    for (int i = 0; i < count; i++) {
        const int c = row_of_part(at, i);
        const real gate = m.gate[c][at.column], y = m.y[c][at.column], silu = gate * opened[i];
        const real slope = scale * (dgated[i] - y * silu * along);
        m.y[c][at.column] = slope * silu;
        m.gate[c][at.column] = slope * y * opened[i] * (1 + gate * (1 - opened[i]));
    }
}

// Rows for backward_segments.
INLINE void store_slopes(const mamba2_args &p, const thread_context &at, const readout_shared &m)
{
    real *to = p.slopes + at.item * SLOPES * COLUMNS;
    for (int i = threadIdx.x; i < SLOPES * (COLUMNS / 4); i += THREADS) {
        const int r = i / (COLUMNS / 4), column = i % (COLUMNS / 4) * 4;
        const real *from = r < SLOPE_gate ? m.y[r]
                           : r < SLOPE_dv ? m.gate[r - SLOPE_gate]
                                          : m.dv[r - SLOPE_dv];
        store4(to + r * COLUMNS + column, load4(from + column));
    }
}

INLINE void clear_slopes(readout_shared &m)
{
    for (int i = threadIdx.x; i < COLUMNS * INNER; i += THREADS) {
        m.y[i / COLUMNS][i % COLUMNS] = 0;
        m.gate[i / COLUMNS][i % COLUMNS] = 0;
        if (i < COLUMNS * M)
            m.dv[i / COLUMNS][i % COLUMNS] = 0;
    }
}

// y of the segment, from the state that enters it.
INLINE void find_y(const mamba2_args &p, const thread_context &at, const features &f, readout_shared &m)
{
    real h[CHANNELS][STATE];
    const state_share entering = load_share(p.states + at.item * STATES);
    clear(h);
    recur_forward<ENDS>(at, f, h, nullptr, nullptr, nullptr);
    store_state(at, h, m.scratch + at.warp * STATES);
    find_warp_decays(at, f, m.warp_decay);
    __syncthreads();
    scan_all_columns(m.warp_decay, m.scratch, entering, true);
    __syncthreads();
    load_state(at, m.scratch + at.warp * STATES, h);
    recur_forward<OUTPUTS>(at, f, h, m.y, nullptr, nullptr);
    __syncwarp();
}

// What the segment adds to the adjoint of the state that enters it.
INLINE void find_adjoint(const mamba2_args &p, const thread_context &at, const features &f, readout_shared &m)
{
    real g[CHANNELS][STATE], unused[CHANNELS];
    clear(g);
    recur_backward<ENDS>(at, f, g, m.y, nullptr, nullptr, unused);
    store_state(at, g, m.scratch + at.warp * STATES);
    __syncthreads();
    for (int i = threadIdx.x; i < STATES; i += THREADS)
        p.adjoints[at.item * STATES + i] = scan_columns(m.warp_decay, m.scratch, i, 0, false);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    readout_segments(const __grid_constant__ mamba2_args p)
{
    DYNAMIC_BYTES;
    readout_shared &m = *reinterpret_cast<readout_shared *>(bytes);
    const int replica = blockIdx.y;
    const real *w = stage_weights<READOUT_STAGED>(p.weights + (size_t)replica * PACK,
                                                  reinterpret_cast<real *>(&m + 1), PACK);
    const features f = {m.x, m.x + N, m.v, nullptr, m.r, nullptr, m.gate, m.act, m.act, m.delta, m.decay};
    real *sums = p.partial + ((size_t)replica * p.blocks + blockIdx.x) * TOTAL;
    double square = 0;
    fill_zero(sums + THETA_norm_w, TOTAL - THETA_norm_w);
    for (int item = blockIdx.x; item < p.batch * p.segments; item += gridDim.x) {
        const thread_context at = make_thread_context(p, replica, item);
        load_window(p, at, f);
        embed(at, w, f);
        __syncthreads();
        project<CONV>(p, at, w, f);
        __syncthreads();
        find_y(p, at, f, m);
        find_v(p, at, w, m);
        __syncthreads();
        if (GAPS || at.first + COLUMNS > p.warmup) {
            find_r(at, w, m);
            __syncwarp();
            square += find_error(p, at, w, m);
            __syncthreads();
            readout_back(at, w, m, sums);
            __syncthreads();
            add_products<INNER, M, 1>(at, {{m.gated, m.dv, sums + THETA_proj_out, 1, INNER, INNER}});
            gate_back(at, w, m, reinterpret_cast<feature_row *>(m.scratch));
            __syncthreads();
            add_rows<INNER>(at, reinterpret_cast<feature_row *>(m.scratch), 1, INNER, sums + THETA_norm_w);
        } else {
            clear_slopes(m);
        }
        __syncthreads();
        store_slopes(p, at, m);
        find_adjoint(p, at, f, m);
        __syncthreads();
    }
    square = warp_sum(square);
    if (threadIdx.x % 32 == 0)
        m.squares[threadIdx.x / 32] = square;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int warp = 1; warp < WARPS; warp++)
            square += m.squares[warp];
        p.squares[(size_t)replica * p.blocks + blockIdx.x] = square;
    }
}

// ---- backward_segments ------------------------------------------------------------------------------------

#define ACT_ROWS LARGER(CONV + INNER, (WARP_SUM_SCRATCH + STRIDE - 1) / STRIDE)

struct alignas(16) backward_shared {
    feature_row x[N + K], hat[M], normed[M];
    feature_row
        dq[PROJ]; // as proj_in: gate, q, Delta; slopes of the gate from the start, of the others at the end
    feature_row decay[HEADS], dC[STATE];
    feature_row act[ACT_ROWS];  // act (CONV), dy (INNER); then scratch of sum_over_warps
    feature_row out[2 * INNER]; // H C and then dw (INNER), dlog (INNER); before that the entering states
    real own[WARPS * STATES], rstd[COLUMNS], warp_decay[WARPS][HEADS];
    __device__ __forceinline__ feature_row *gate()
    {
        return dq;
    }
    __device__ __forceinline__ feature_row *q()
    {
        return dq + INNER;
    }
    __device__ __forceinline__ feature_row *delta()
    {
        return dq + INNER + CONV;
    }
    __device__ __forceinline__ feature_row *dy()
    {
        return act + CONV;
    }
    __device__ __forceinline__ feature_row *dlog()
    {
        return out + INNER;
    }
};
#define BACKWARD_STAGED (sizeof(backward_shared) + PACK_FEATURES * sizeof(real) <= SHARED_LIMIT)
#define BACKWARD_BYTES  (sizeof(backward_shared) + (BACKWARD_STAGED ? PACK_FEATURES * sizeof(real) : 0))
static_assert(WARPS * STATES <= 2 * INNER * STRIDE, "the entering states fit into out");

INLINE void load_slopes(const mamba2_args &p, const thread_context &at, backward_shared &m)
{
    const real *from = p.slopes + at.item * SLOPES * COLUMNS;
    for (int i = threadIdx.x; i < 2 * INNER * (COLUMNS / 4); i += THREADS) {
        const int r = i / (COLUMNS / 4), column = i % (COLUMNS / 4) * 4;
        store4((r < SLOPE_gate ? m.dy()[r] : m.gate()[r - SLOPE_gate]) + column,
               load4(from + r * COLUMNS + column));
    }
}

// Back through the recurrence: dw, dB, dC, and each channel's share of dlog a.
INLINE void recur_back(const mamba2_args &p, const thread_context &at, const features &f, backward_shared &m)
{
    real h[CHANNELS][STATE], g[CHANNELS][STATE], last[CHANNELS];
    real *first = reinterpret_cast<real *>(m.out);
    const state_share entering = load_share(p.states + at.item * STATES),
                      leaving = load_share(p.adjoints + at.item * STATES);
    clear(h);
    recur_forward<ENDS>(at, f, h, nullptr, nullptr, nullptr);
    store_state(at, h, first + at.warp * STATES);
    clear(g);
    recur_backward<ENDS>(at, f, g, m.dy(), nullptr, nullptr, last);
    store_state(at, g, m.own + at.warp * STATES);
    find_warp_decays(at, f, m.warp_decay);
    __syncthreads();
    scan_all_columns(m.warp_decay, first, entering, true);
    scan_all_columns(m.warp_decay, m.own, leaving, false);
    __syncthreads();
    load_state(at, first + at.warp * STATES, h);
    __syncthreads();
    recur_forward<SLOPES_TOO>(at, f, h, m.out, m.dy(), m.dC);
    load_state(at, m.own + at.warp * STATES, g);
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) {
        last[c] = 0;
#pragma unroll
        for (int k = 0; k < STATE; k++)
            last[c] += g[c][k] * h[c][k];
    }
    __syncwarp();
    recur_backward<SLOPES_TOO>(at, f, g, m.dy(), m.out, m.dlog(), last);
    __syncwarp();
}

// Per head, from dw and dlog a: the slopes of x replace act, those of dt replace Delta; the terms of A_log's
// gradient replace the decay, those of the skip's gradient a head's first dlog.
INLINE void heads_back(const mamba2_args &p, const thread_context &at, const real *w, backward_shared &m)
{
    const int t = at.column;
    for (int h = at.part; h < HEADS; h += 4) {
        const real delta = m.delta()[h][t], A = w[PACK_A + h], skip = w[PACK_skip + h];
        real dlog = 0, direct = 0, skips = 0;
        for (int c = h * HEAD; c < (h + 1) * HEAD; c++) {
            const real x = m.act[c][t], dw = m.out[c][t], dy = m.dy()[c][t];
            dlog += m.dlog()[c][t];
            direct += x * dw;
            skips += x * dy;
            m.act[c][t] = delta * dw + skip * dy;
        }
        const bool own = owns(p, at, t);
        m.delta()[h][t] =
            own ? -(direct + A * dlog) * expm1_of(-delta) : real(0); // 1 - exp(-Delta) = sigmoid(dt)
        m.decay[h][t] = own ? A * delta * dlog : real(0);
        m.dlog()[h * HEAD][t] = skips;
    }
}

// A lane's columns and the TAPS - 1 after them.
INLINE history load_future(const feature_row &row, int lane)
{
    history h;
#pragma unroll
    for (int b = 0; b <= LANES_BACK; b++) {
        const int from = lane + b;
        const lane_columns part = load_columns(row, from < 32 ? from : 31);
#pragma unroll
        for (int j = 0; j < PER_LANE; j++)
            h.a[b * PER_LANE + j] = from < 32 ? part.a[j] : real(0);
    }
    return h;
}

// Back through silu and convolution: the slopes of q replace q, and the gradients of the weights.  Three
// channels at a time: 15 sums over the warp.
INLINE void convolution_back(const mamba2_args &p, const thread_context &at, const real *w,
                             backward_shared &m, real *sums)
{
    enum { SIDE_BY_SIDE = 3, EACH = TAPS + 1 };
#pragma unroll 1
    for (int base = at.warp; base < CONV; base += SIDE_BY_SIDE * WARPS) {
        real values[16];
        values[15] = 0;
#pragma unroll
        for (int b = 0; b < SIDE_BY_SIDE; b++) {
            const int c = base + b * WARPS;
#pragma unroll
            for (int k = 0; k < EACH; k++)
                values[b * EACH + k] = 0;
            if (c >= CONV)
                continue;
            const history h = load_history(m.q()[c], at.lane);
            lane_columns slope =
                load_columns(c < INNER + STATE ? m.act[c] : m.dC[c - INNER - STATE], at.lane);
#pragma unroll
            for (int j = 0; j < PER_LANE; j++) {
                const real sum = convolve(w, c, h, j), opened = sigmoid(sum);
                slope.a[j] = owns(p, at, PER_LANE * at.lane + j)
                                 ? slope.a[j] * opened * (1 + sum * (1 - opened))
                                 : real(0);
#pragma unroll
                for (int k = 0; k < TAPS; k++)
                    values[b * EACH + k] += slope.a[j] * h.before(j, TAPS - 1 - k);
                values[b * EACH + TAPS] += slope.a[j];
            }
            store_columns(m.act[c], at.lane, slope);
        }
        const real total = sum_sixteen(values, at.lane);
        const int which = at.lane / 2, c = base + which / EACH * WARPS;
        if (at.lane % 2 == 0 && which < SIDE_BY_SIDE * EACH && c < CONV)
            sums[which % EACH == TAPS ? THETA_conv_b + c : THETA_conv_W + c * TAPS + which % EACH] += total;
        __syncwarp();
#pragma unroll
        for (int b = 0; b < SIDE_BY_SIDE; b++) {
            const int channel = base + b * WARPS;
            if (channel >= CONV)
                continue;
            const history later = load_future(m.act[channel], at.lane);
            const real4 taps = load4(w + PACK_conv_W + channel * TAPS);
            lane_columns dq;
#pragma unroll
            for (int j = 0; j < PER_LANE; j++) {
                real sum = 0;
#pragma unroll
                for (int k = 0; k < TAPS; k++)
                    sum += taps.a[TAPS - 1 - k] * later.a[j + k];
                dq.a[j] = at.first + PER_LANE * at.lane + j >= 0 ? sum : real(0);
            }
            store_columns(m.q()[channel], at.lane, dq);
        }
    }
}

// From the slopes of q to du, and the gradients of the layers before it.
INLINE void projection_back(const mamba2_args &p, const thread_context &at, const real *w, backward_shared &m,
                            real *sums)
{
    constexpr int count = ROWS_OF_PART(M);
    feature_row *dnormed = m.out, *products = m.out + M, *du = m.dlog();
    const real *dv = p.slopes + (at.item * SLOPES + SLOPE_dv) * COLUMNS;
    {
        lane_columns sum[M];
        clear(sum);
#pragma unroll 2
        for (int r = at.warp; r < PROJ; r += WARPS)
            spread(w + PACK_proj_in + r * M, load_columns(m.dq[r], at.lane), sum);
        sum_over_warps(at, sum, reinterpret_cast<real *>(m.act),
                       [&](int d, real total) { dnormed[d][at.column] = total; });
    }
    __syncwarp();
    real slope[count], mean = 0, along = 0;
#pragma unroll
    for (int i = 0; i < count; i++) {
        const int d = row_of_part(at, i);
        slope[i] = 0;
        if (d >= M)
            continue;
        const real raw = dnormed[d][at.column], hat = m.hat[d][at.column];
        products[d][at.column] = raw * hat;
        slope[i] = raw * w[PACK_ln_w + d];
        mean += slope[i];
        along += slope[i] * hat;
    }
    mean = column_sum(mean) / M;
    along = column_sum(along) / M;
#pragma unroll
    for (int i = 0; i < count; i++) {
        const int d = row_of_part(at, i);
        if (d < M)
            du[d][at.column] = dv[d * COLUMNS + at.column] +
                               m.rstd[at.column] * (slope[i] - mean - m.hat[d][at.column] * along);
    }
    __syncthreads();
    add_rows<M>(at, dnormed, 1, M, sums + THETA_ln_b);
    add_rows<M>(at, products, 1, M, sums + THETA_ln_w);
    add_rows<M>(at, du, 1, M, sums + THETA_in_b);
    add_products<M, N, 1>(at, {{du, m.x, sums + THETA_in_W, N, 1, M}});
#if K > 0
    add_products<M, K, 1>(at, {{du, m.x + N, sums + THETA_C, K, 1, M}});
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    backward_segments(const __grid_constant__ mamba2_args p)
{
    DYNAMIC_BYTES;
    backward_shared &m = *reinterpret_cast<backward_shared *>(bytes);
    const int replica = blockIdx.y;
    const real *w = stage_weights<BACKWARD_STAGED>(p.weights + (size_t)replica * PACK,
                                                   reinterpret_cast<real *>(&m + 1), PACK_FEATURES);
    const features f = {m.x,     m.x + N, nullptr, m.hat,     m.normed, m.rstd,
                        nullptr, m.q(),   m.act,   m.delta(), m.decay};
    real *sums = p.partial + ((size_t)replica * p.blocks + blockIdx.x) * TOTAL;
    fill_zero(sums, THETA_norm_w);
    for (int item = blockIdx.x; item < p.batch * p.segments; item += gridDim.x) {
        const thread_context at = make_thread_context(p, replica, item);
        load_window(p, at, f);
        embed(at, w, f);
        load_slopes(p, at, m);
        __syncthreads();
        project<CONV>(p, at, w, f);
        __syncthreads();
        recur_back(p, at, f, m);
        heads_back(p, at, w, m);
        __syncthreads();
        add_rows<HEADS>(at, m.delta(), 1, HEADS, sums + THETA_dt_bias);
        add_rows<HEADS>(at, m.decay, 1, HEADS, sums + THETA_A_log);
        add_rows<HEADS>(at, m.dlog(), HEAD, HEADS, sums + THETA_skip);
        convolution_back(p, at, w, m, sums);
        __syncthreads();
        add_products<PROJ, M, 1>(at, {{m.dq, m.normed, sums + THETA_proj_in, M, 1, PROJ}});
        projection_back(p, at, w, m, sums);
        __syncthreads();
    }
}

// ---- reduce_blocks ----------------------------------------------------------------------------------------

struct reduce_shared {
    double parts[REDUCE_WARPS][32];
};

// The gradient and the loss, from the sums of all blocks.
extern "C" __global__ void __launch_bounds__(32 * REDUCE_WARPS)
    reduce_blocks(const __grid_constant__ mamba2_args p)
{
    DYNAMIC_BYTES;
    reduce_shared &m = *reinterpret_cast<reduce_shared *>(bytes);
    const int i = blockIdx.x * 32 + threadIdx.x % 32;
    const size_t replica = blockIdx.y;
    const double sum =
        sum_column<REDUCE_WARPS>(p.partial + replica * p.blocks * TOTAL, p.blocks, TOTAL, i, m.parts);
    if (threadIdx.x < 32 && i < TOTAL)
        p.raw[replica * TOTAL + i] = (real)(GAPS ? find_weight(p, replica) * sum : sum);
    if (blockIdx.x > 0 || threadIdx.x / 32 != 1)
        return;
    const double square = sum_list(p.squares + replica * p.blocks, p.blocks);
    if (threadIdx.x == 32)
        p.facts[replica * FACTS + FACT_LOSS] = 0.5 * find_weight(p, replica) * square;
}

// ---- for update_kernels.cuh -------------------------------------------------------------------------------

// The packed weight with index i.
INLINE real weight_at(const real *theta, int i)
{
    if (i < PACK_conv_W)
        return theta[THETA_proj_in + i - PACK_proj_in];
    if (i < PACK_in_W)
        return theta[THETA_conv_W + i - PACK_conv_W]; // and conv_b, which follows in both orders
    if (i < PACK_C)
        return i - PACK_in_W < M * N ? theta[THETA_in_W + i - PACK_in_W] : real(0);
    if (i < PACK_in_b)
        return i - PACK_C < M * K ? theta[THETA_C + i - PACK_C] : real(0);
    if (i < PACK_ln_w)
        return theta[THETA_in_b + i - PACK_in_b];
    if (i < PACK_dt_bias)
        return theta[THETA_ln_w + i - PACK_ln_w]; // and ln_b
    if (i < PACK_A)
        return theta[THETA_dt_bias + i - PACK_dt_bias];
    if (i < PACK_skip)
        return -exp_of(theta[THETA_A_log + i - PACK_A]);
    if (i < PACK_proj_out)
        return theta[THETA_skip + i - PACK_skip];
    if (i < PACK_norm_w)
        return theta[THETA_proj_out + (i - PACK_proj_out) % M * INNER + (i - PACK_proj_out) / M];
    if (i < PACK_W1)
        return theta[THETA_norm_w + i - PACK_norm_w];
    if (i < PACK_W2)
        return theta[THETA_W1 + i - PACK_W1];
    if (i < PACK_b1)
        return theta[THETA_W2 + (i - PACK_W2) % M * L + (i - PACK_W2) / M];
    if (i < PACK_b2)
        return i - PACK_b1 < L ? theta[THETA_b1 + i - PACK_b1] : real(0);
    if (i < PACK_out_W)
        return theta[THETA_b2 + i - PACK_b2];
    return i - PACK_out_W < N * M + N ? theta[THETA_out_W + i - PACK_out_W] : real(0); // and out_b
}

#define SCRATCH        1
#define KEPT           1
#define PREFETCHED_OWN 1
#define SIDE_WARP      0
#include "update_args.cuh"

INLINE void make_weights(const update_args &p, int replica, update_shared &memory)
{
    const real *theta = block_theta(p, replica, memory);
#pragma unroll 1
    for (int i = threadIdx.x; i < PACK; i += UPDATE_THREADS)
        p.weights[(size_t)replica * PACK + i] = weight_at(theta, i);
}

struct model_gradient {
    const real *raw;
};

INLINE void find_scales(const update_args &, double *) {}

#define LATE_PARAMETERS TOTAL

INLINE model_gradient begin_gradient(const update_args &p, int replica, double *, update_shared &memory)
{
    const real *raw = p.raw + (size_t)replica * TOTAL;
    prefetch<TOTAL>(memory.gradient, raw);
    return {PREFETCHED ? memory.gradient : raw};
}

INLINE void find_late_gradient(const update_args &, const model_gradient &) {}

INLINE double gradient_at(const update_args &, const model_gradient &g, int i)
{
    return (double)g.raw[i];
}

// There are no regularisers.
INLINE double penalty_at(const update_args &, const model_gradient &, int, terms &)
{
    return 0;
}

INLINE void penalise_more(const update_args &, const model_gradient &, terms &) {}

INLINE double singular_term(const update_args &, const model_gradient &)
{
    return 0;
}

#include "update_kernels.cuh"

// For the host: abi.h.
extern "C" __device__ const mamba2_variant mamba2_facts = {PACK,
                                                           STATES,
                                                           SLOPES,
                                                           STEPS,
                                                           (int)FILL_BYTES,
                                                           GAPS_TAPE,
                                                           (int)FORWARD_BYTES,
                                                           (int)sizeof(scan_shared),
                                                           (int)READOUT_BYTES,
                                                           (int)BACKWARD_BYTES,
                                                           (int)sizeof(reduce_shared),
                                                           (int)sizeof(mamba2_args)};
