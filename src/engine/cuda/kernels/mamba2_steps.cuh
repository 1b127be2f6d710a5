// mamba2_steps.cuh - a Mamba-2 in plain steps, for sequences that lack values (spec 12): what it takes in,
// and the derivative of the loss with respect to each prediction that it takes in.
//
// A block has a sequence.  A step is five phases forward and seven back, with a barrier between them.  Phases
// of few numbers are done by warp 0.  What the way back needs of a step is its tape, a row of TAPE numbers
// that is also the working memory of the step; the states H of all steps are stored beside it.
// alone: -DREAL_BITS=32 -DM=16 -DN=6 -DL=128 -DK=0 -DCOLUMNS=64 -DSHARED_LIMIT=232448 -DGAPS=1
#ifndef ANT_MAMBA2_STEPS_CUH
#define ANT_MAMBA2_STEPS_CUH

#include "mamba2_shape.cuh"

#define STEP_EACH   ((STATES + THREADS - 1) / THREADS) // numbers of H of a thread
#define STEP_SHARES (THREADS / M)                      // threads that share a sum towards one of M rows
#define STEP_ROWS   32                                 // of x in shared memory at a time
static_assert(M <= THREADS && STATES % 32 == 0, "the division of a step");

// The tape of a step; its length is a multiple of 4.
#define TAPE_v      0                       // (M)
#define TAPE_hat    M                       // (M): u without mean, at variance 1
#define TAPE_q      (TAPE_hat + M)          // (PROJ): gate; conv, before silu; Delta
#define TAPE_act    (TAPE_q + PROJ)         // (CONV): after silu
#define TAPE_decay  (TAPE_act + CONV)       // (HEADS)
#define TAPE_y      (TAPE_decay + HEADS)    // (INNER)
#define TAPE_e      (TAPE_y + INNER)        // (N): error of observed values that count, without weight
#define TAPE_lacks  (TAPE_e + N)            // (N): 1 where x lacks a value
#define TAPE_rstd   (TAPE_lacks + N)        // of the first norm
#define TAPE_scale  (TAPE_rstd + 1)         // of the second
#define TAPE_needed (TAPE_scale + 1)        // 1: the prediction is compared or taken in
#define TAPE        FOURS(TAPE_needed + 1)  // numbers of a step
#define TAPE_delta  (TAPE_q + INNER + CONV) // (HEADS)
#define TAPE_EACH   ((TAPE + THREADS - 1) / THREADS)

struct alignas(16) step_shared {
    real row[2][TAPE]; // of even and odd steps
    alignas(16) real normed[M], dv[M];
    real x[(STEP_ROWS + 1) * N], s[STEP_ROWS * K + 1];
    real in[N], u[M], gated[INNER];
    real past[TAPS - 1][CONV]; // inputs of the convolution one, two and three steps ago; back: their slopes
    real readout[N * L], offset[N]; // out_W W2, out_W b2 + out_b
    real xhat[WARPS][N];            // parts of the warps
    real dhidden[L], part[STEP_SHARES * M], du[M], dy[INNER], drive[INNER], dlog[INNER], dq[PROJ], taken[N];
    real dB[WARPS][STATE], dC[WARPS][STATE];
    sequence_gaps found;
};

// One sequence: where its arrays are.
struct sequence_arrays {
    const real *x, *s; // (T+1, N), (T, K)
    real *filled;      // (T+1, N)
    real *errors;      // (T, N): row t belongs to x of row t + 1
    real *tape;        // (T, TAPE)
    real *path;        // (T+1, STATES): H after t steps; row 0 is not stored
};

INLINE real silu_slope(real x)
{
    const real opened = sigmoid(x);
    return opened * (1 + x * (1 - opened));
}

INLINE bool lacks_any(const real *x)
{
    bool any = false;
    for (int n = 0; n < N; n++)
        any = any || is_missing(x[n]);
    return any;
}

// readout and offset, and zeros before the first step.
INLINE void begin_steps(step_shared &m, const real *w)
{
    for (int i = threadIdx.x; i < N * L; i += THREADS) {
        real sum = 0;
        for (int d = 0; d < M; d++)
            sum += w[PACK_out_W + i / L * M + d] * w[PACK_W2 + i % L * M + d];
        m.readout[i] = sum;
    }
    for (int n = threadIdx.x; n < N; n += THREADS) {
        real sum = w[PACK_out_b + n];
        for (int d = 0; d < M; d++)
            sum += w[PACK_out_W + n * M + d] * w[PACK_b2 + d];
        m.offset[n] = sum;
    }
    for (int i = threadIdx.x; i < WARPS * N; i += THREADS)
        m.xhat[i / N][i % N] = 0;
    for (int i = threadIdx.x; i < 2 * TAPE; i += THREADS)
        m.row[i / TAPE][i % TAPE] = 0;
    for (int i = threadIdx.x; i < (TAPS - 1) * CONV; i += THREADS)
        m.past[i / CONV][i % CONV] = 0;
}

// ---- forward ----------------------------------------------------------------------------------------------

// Rows t .. t+STEP_ROWS of x, and the inputs of their steps.
INLINE void load_inputs_of_steps(step_shared &m, const sequence_arrays &a, int t, int T)
{
    __syncthreads();
    for (int i = threadIdx.x; i < (STEP_ROWS + 1) * N && t + i / N <= T; i += THREADS)
        m.x[i] = a.x[(size_t)t * N + i];
    for (int i = threadIdx.x; i < STEP_ROWS * K && t + i / (K > 0 ? K : 1) < T; i += THREADS)
        m.s[i] = a.s[(size_t)t * K + i];
    __syncthreads();
}

// Warp 0: the prediction of row t by the step before it, whose tape is `before`: its error, and what the
// model takes in.  x: (N), row t
INLINE void take_in(step_shared &m, const sequence_arrays &a, real *before, const real *x, int t, bool counts)
{
    for (int n = threadIdx.x; n < N; n += 32) {
        const bool missing = is_missing(x[n]);
        real xhat = m.offset[n];
        for (int warp = 0; warp < WARPS; warp++)
            xhat += m.xhat[warp][n];
        if (t > 0)
            before[TAPE_e + n] = counts && !missing ? xhat - x[n] : real(0);
        m.in[n] = !missing ? x[n] : t > 0 ? xhat : real(0);
        if (missing && t > 0)
            a.filled[(size_t)t * N + n] = xhat;
    }
    __syncwarp();
}

// Warp 0: u = in_W x + C s + in_b and its LayerNorm.  s: (K)
INLINE void embed_step(step_shared &m, const real *w, real *row, const real *x, const real *s)
{
    const int lane = threadIdx.x;
    real mean = 0, variance = 0;
    for (int d = lane; d < M; d += 32) {
        real sum = w[PACK_in_b + d];
        for (int n = 0; n < N; n++)
            sum += w[PACK_in_W + d * N + n] * m.in[n];
        for (int k = 0; k < K; k++)
            sum += w[PACK_C + d * K + k] * s[k];
        m.u[d] = sum;
        mean += sum;
    }
    mean = warp_sum(mean) / M;
    for (int d = lane; d < M; d += 32)
        variance += (m.u[d] - mean) * (m.u[d] - mean);
    const real rstd = 1 / root_of(warp_sum(variance) / M + NORM_EPSILON);
    for (int d = lane; d < M; d += 32) {
        row[TAPE_hat + d] = (m.u[d] - mean) * rstd;
        m.normed[d] = row[TAPE_hat + d] * w[PACK_ln_w + d] + w[PACK_ln_b + d];
    }
    for (int n = lane; n < N; n += 32)
        row[TAPE_lacks + n] = is_missing(x[n]) ? real(1) : real(0);
    if (lane == 0)
        row[TAPE_rstd] = rstd;
}

// start + weights . v for row r of a matrix in shared memory.  Neighbouring rows begin in the same banks
// where M is a multiple of 8, so they begin with different fours.  weights: (., M); v: (M)
INLINE real dot_row(const real *weights, int r, const real *v, real start)
{
    constexpr int words = M * (REAL_BITS / 32), fours = M / 4;
    const int first = words % 32 == 0 ? r : words % 16 == 0 ? r / 2 : words % 8 == 0 ? r / 4 : 0;
#pragma unroll
    for (int q = 0; q < fours; q++) {
        const int at = 4 * ((q + first) % fours);
        const real4 a = load4(weights + r * M + at), b = load4(v + at);
#pragma unroll
        for (int k = 0; k < 4; k++)
            start += a.a[k] * b.a[k];
    }
    return start;
}

// All threads: q, the convolution, Delta and decay.  A row always has the same thread.
INLINE void project_step(step_shared &m, const real *w, real *row)
{
    for (int r = threadIdx.x; r < PROJ; r += THREADS) {
        const real q = dot_row(w + PACK_proj_in, r, m.normed, 0);
        const int c = r - INNER, h = c - CONV;
        real kept = q;
        if (h >= 0) {
            const real raw = q + w[PACK_dt_bias + h], size = raw < 0 ? raw : -raw;
            kept = (raw > 0 ? raw : real(0)) + log1p_of(exp_of(size));
            row[TAPE_decay + h] = exp_of(w[PACK_A + h] * kept);
        } else if (c >= 0) {
            const real4 taps = load4(w + PACK_conv_W + c * TAPS);
            kept = w[PACK_conv_b + c] + taps.a[TAPS - 1] * q;
#pragma unroll
            for (int k = 0; k < TAPS - 1; k++)
                kept += taps.a[TAPS - 2 - k] * m.past[k][c];
#pragma unroll
            for (int k = TAPS - 2; k > 0; k--)
                m.past[k][c] = m.past[k - 1][c];
            m.past[0][c] = q;
            row[TAPE_act + c] = kept * sigmoid(kept);
        }
        row[TAPE_q + r] = kept;
    }
}

// Sum over the 16 lanes of a channel.
INLINE real channel_sum(real a)
{
#pragma unroll
    for (int offset = STATE / 2; offset > 0; offset >>= 1)
        a += __shfl_xor_sync(ALL_LANES, a, offset);
    return a;
}

// All threads: H and y.  A thread has numbers threadIdx.x + j THREADS of H as (INNER, STATE).
INLINE void recur_step(const real *w, real *row, real (&H)[STEP_EACH], real *path)
{
    const real *act = row + TAPE_act;
#pragma unroll
    for (int j = 0; j < STEP_EACH; j++) {
        const int element = threadIdx.x + j * THREADS, i = element / STATE, k = element % STATE, h = i / HEAD;
        if (element >= STATES) // all lanes of a warp, or none
            break;
        H[j] = row[TAPE_decay + h] * H[j] + row[TAPE_delta + h] * act[i] * act[INNER + k];
        path[element] = H[j];
        const real y = channel_sum(H[j] * act[INNER + STATE + k]);
        if (k == 0)
            row[TAPE_y + i] = y + w[PACK_skip + h] * act[i];
    }
}

// Warp 0: v = u + proj_out (norm_w o gated / rms(gated)), gated = y o silu(gate).
INLINE void gate_step(step_shared &m, const real *w, real *row)
{
    real square = 0;
    for (int i = threadIdx.x; i < INNER; i += 32) {
        const real gate = row[TAPE_q + i], gated = row[TAPE_y + i] * gate * sigmoid(gate);
        m.gated[i] = gated;
        square += gated * gated;
    }
    const real scale = 1 / root_of(warp_sum(square) / INNER + NORM_EPSILON);
    for (int i = threadIdx.x; i < INNER; i += 32)
        m.gated[i] *= scale * w[PACK_norm_w + i];
    __syncwarp();
    for (int d = threadIdx.x; d < M; d += 32) {
        real sum = m.u[d];
#pragma unroll 8
        for (int i = 0; i < INNER; i++)
            sum += w[PACK_proj_out + i * M + d] * m.gated[i];
        row[TAPE_v + d] = sum;
    }
    if (threadIdx.x == 0)
        row[TAPE_scale] = scale;
}

INLINE real hidden_unit(const real *w, const real *row, int l)
{
    return dot_row(w + PACK_W1, l, row + TAPE_v, w[PACK_b1 + l]);
}

// All threads: hidden units, and the parts of the prediction.
INLINE void predict_step(step_shared &m, const real *w, const real *row)
{
    real xhat[N];
#pragma unroll
    for (int n = 0; n < N; n++)
        xhat[n] = 0;
    for (int l = threadIdx.x; l < L; l += THREADS) {
        const real sum = hidden_unit(w, row, l), phi = sum > 0 ? sum : real(0);
#pragma unroll
        for (int n = 0; n < N; n++)
            xhat[n] += m.readout[n * L + l] * phi;
    }
    store_lane_sums(xhat, m.xhat[threadIdx.x / 32]);
}

// All steps of a sequence: what it takes in, the tapes and the states.
INLINE void run_steps(const mamba2_args &p, step_shared &m, const real *w, const sequence_arrays &a)
{
    real H[STEP_EACH];
#pragma unroll
    for (int j = 0; j < STEP_EACH; j++)
        H[j] = 0;
    for (int t = 0;; t++) {
        if (t % STEP_ROWS == 0)
            load_inputs_of_steps(m, a, t, p.T);
        real *row = m.row[t % 2], *before = m.row[(t + 1) % 2];
        const real *x = m.x + t % STEP_ROWS * N;
        if (threadIdx.x < 32) {
            take_in(m, a, before, x, t, t > p.warmup);
            if (t < p.T)
                embed_step(m, w, row, x, m.s + t % STEP_ROWS * K);
        }
        __syncthreads();
        for (int i = threadIdx.x; i < TAPE && t > 0; i += THREADS)
            a.tape[(size_t)(t - 1) * TAPE + i] = before[i];
        if (t == p.T)
            break;
        project_step(m, w, row);
        __syncthreads();
        recur_step(w, row, H, a.path + (size_t)(t + 1) * STATES);
        const bool needed = t + 1 > p.warmup || lacks_any(x + N);
        if (threadIdx.x == 0)
            row[TAPE_needed] = needed ? real(1) : real(0);
        __syncthreads();
        if (needed) {
            if (threadIdx.x < 32)
                gate_step(m, w, row);
            __syncthreads();
            predict_step(m, w, row);
            __syncthreads();
        }
    }
}

// ---- backward ---------------------------------------------------------------------------------------------

// All threads: the slopes of the hidden units.
INLINE void predict_back(step_shared &m, const real *w, const real *row)
{
    for (int l = threadIdx.x; l < L; l += THREADS) {
        real sum = 0;
#pragma unroll 4
        for (int n = 0; n < N; n++)
            sum += m.readout[n * L + l] * (row[TAPE_e + n] + m.taken[n]);
        m.dhidden[l] = hidden_unit(w, row, l) > 0 ? sum : real(0);
    }
}

// All threads: parts of weights^T slopes.  weights: (rows, M); slopes: (rows)
INLINE void share_rows(step_shared &m, const real *weights, const real *slopes, int rows)
{
    const int d = threadIdx.x % M, share = threadIdx.x / M;
    real sum = 0;
    if (share >= STEP_SHARES)
        return;
#pragma unroll 4
    for (int r = share; r < rows; r += STEP_SHARES)
        sum += weights[r * M + d] * slopes[r];
    m.part[share * M + d] = sum;
}

INLINE real sum_shares(const step_shared &m, int d)
{
    real sum = 0;
#pragma unroll
    for (int share = 0; share < STEP_SHARES; share++)
        sum += m.part[share * M + d];
    return sum;
}

// Warp 0: from dv to dy and the slopes of the gate.
INLINE void gate_back_step(step_shared &m, const real *w, const real *row)
{
    const real scale = row[TAPE_scale];
    real along = 0;
    for (int d = threadIdx.x; d < M; d += 32)
        m.dv[d] = sum_shares(m, d);
    __syncwarp();
    for (int i = threadIdx.x; i < INNER; i += 32) {
        const real slope = dot_row(w + PACK_proj_out, i, m.dv, 0) * w[PACK_norm_w + i],
                   gate = row[TAPE_q + i];
        m.dy[i] = slope;
        along += slope * row[TAPE_y + i] * gate * sigmoid(gate);
    }
    along = warp_sum(along) * scale * scale / INNER;
    for (int i = threadIdx.x; i < INNER; i += 32) {
        const real gate = row[TAPE_q + i], y = row[TAPE_y + i], silu = gate * sigmoid(gate);
        const real slope = scale * (m.dy[i] - y * silu * along);
        m.dy[i] = slope * silu;
        m.dq[i] = slope * y * silu_slope(gate);
    }
}

// All threads: nothing is compared and nothing taken in.
INLINE void clear_slopes_of_step(step_shared &m)
{
    for (int i = threadIdx.x; i < INNER; i += THREADS)
        m.dy[i] = m.dq[i] = 0;
    for (int d = threadIdx.x; d < M; d += THREADS)
        m.dv[d] = 0;
}

// All threads: back through the recurrence.  g: adjoint of H after the step, then before it; after, before: H
INLINE void recur_back_step(step_shared &m, const real *row, const real (&after)[STEP_EACH],
                            const real (&before)[STEP_EACH], real (&g)[STEP_EACH])
{
    const int warp = threadIdx.x / 32, k = threadIdx.x % STATE;
    const real *act = row + TAPE_act;
    real dB = 0, dC = 0;
#pragma unroll
    for (int j = 0; j < STEP_EACH; j++) {
        const int element = threadIdx.x + j * THREADS, i = element / STATE, h = i / HEAD;
        if (element >= STATES)
            break;
        const real decay = row[TAPE_decay + h];
        const real slope = g[j] + m.dy[i] * act[INNER + STATE + k];
        dC += m.dy[i] * after[j];
        dB += slope * row[TAPE_delta + h] * act[i];
        const real drive = channel_sum(slope * act[INNER + k]), dlog = channel_sum(slope * decay * before[j]);
        g[j] = decay * slope;
        if (k == 0) {
            m.drive[i] = drive;
            m.dlog[i] = dlog;
        }
    }
    dB += __shfl_xor_sync(ALL_LANES, dB, STATE);
    dC += __shfl_xor_sync(ALL_LANES, dC, STATE);
    if (threadIdx.x % 32 < STATE) {
        m.dB[warp][k] = dB;
        m.dC[warp][k] = dC;
    }
}

// All threads: the slopes of q.  m.past has what later convolutions add to the inputs of the last steps.
INLINE void convolution_back_step(step_shared &m, const real *w, const real *row)
{
    const real *act = row + TAPE_act;
    for (int c = threadIdx.x; c < CONV; c += THREADS) {
        real dact = 0;
        if (c < INNER)
            dact = row[TAPE_delta + c / HEAD] * m.drive[c] + w[PACK_skip + c / HEAD] * m.dy[c];
        for (int warp = 0; warp < WARPS && c >= INNER; warp++)
            dact += c < INNER + STATE ? m.dB[warp][c - INNER] : m.dC[warp][c - INNER - STATE];
        const real4 taps = load4(w + PACK_conv_W + c * TAPS);
        const real slope = dact * silu_slope(row[TAPE_q + INNER + c]);
        m.dq[INNER + c] = m.past[0][c] + taps.a[TAPS - 1] * slope;
#pragma unroll
        for (int k = 0; k < TAPS - 1; k++)
            m.past[k][c] = (k + 1 < TAPS - 1 ? m.past[k + 1][c] : real(0)) + taps.a[TAPS - 2 - k] * slope;
    }
    for (int h = threadIdx.x; h < HEADS; h += THREADS) {
        real direct = 0, dlog = 0;
        for (int i = h * HEAD; i < (h + 1) * HEAD; i++) {
            direct += act[i] * m.drive[i];
            dlog += m.dlog[i];
        }
        m.dq[INNER + CONV + h] = -(direct + w[PACK_A + h] * dlog) *
                                 expm1_of(-row[TAPE_delta + h]); // 1 - exp(-Delta) = sigmoid(dt)
    }
    for (int n = threadIdx.x; n < N; n += THREADS)
        m.taken[n] = 0;
}

// Warp 0: du, and the derivatives by what the step has taken in.  errors: (N), of that prediction
INLINE void embed_back_step(step_shared &m, const real *w, const real *row, real *errors)
{
    real mean = 0, along = 0;
    for (int d = threadIdx.x; d < M; d += 32) {
        const real slope = sum_shares(m, d) * w[PACK_ln_w + d];
        m.du[d] = slope;
        mean += slope;
        along += slope * row[TAPE_hat + d];
    }
    mean = warp_sum(mean) / M;
    along = warp_sum(along) / M;
    for (int d = threadIdx.x; d < M; d += 32)
        m.du[d] = m.dv[d] + row[TAPE_rstd] * (m.du[d] - mean - row[TAPE_hat + d] * along);
    __syncwarp();
    for (int n = threadIdx.x; n < N; n += 32) {
        if (row[TAPE_lacks + n] == 0)
            continue;
        real sum = 0;
        for (int d = 0; d < M; d++)
            sum += w[PACK_in_W + d * N + n] * m.du[d];
        m.taken[n] = errors[n] = sum;
    }
}

INLINE bool row_lacks_any(const real *row)
{
    bool any = false;
    for (int n = 0; n < N; n++)
        any = any || row[TAPE_lacks + n] != 0;
    return any;
}

// One step back.  All threads.
INLINE void step_back(step_shared &m, const real *w, const real *row, const real (&after)[STEP_EACH],
                      const real (&before)[STEP_EACH], real (&g)[STEP_EACH], real *errors)
{
    if (row[TAPE_needed] != 0) {
        predict_back(m, w, row);
        __syncthreads();
        share_rows(m, w + PACK_W1, m.dhidden, L);
        __syncthreads();
        if (threadIdx.x < 32)
            gate_back_step(m, w, row);
    } else {
        clear_slopes_of_step(m);
    }
    __syncthreads();
    recur_back_step(m, row, after, before, g);
    __syncthreads();
    convolution_back_step(m, w, row);
    __syncthreads();
    if (!row_lacks_any(row))
        return;
    share_rows(m, w + PACK_proj_in, m.dq, PROJ);
    __syncthreads();
    if (threadIdx.x < 32)
        embed_back_step(m, w, row, errors);
    __syncthreads();
}

INLINE void load_path(const real *from, real (&H)[STEP_EACH])
{
#pragma unroll
    for (int j = 0; j < STEP_EACH; j++)
        H[j] = threadIdx.x + j * THREADS < STATES ? from[threadIdx.x + j * THREADS] : real(0);
}

// Back from the last step to the first row that lacks values.  The tape of the step before is loaded during
// each step.
INLINE void run_steps_back(const mamba2_args &p, step_shared &m, const real *w, const sequence_arrays &a)
{
    real g[STEP_EACH], after[STEP_EACH], before[STEP_EACH], coming[TAPE_EACH];
    __syncthreads();
    for (int i = threadIdx.x; i < TAPE; i += THREADS)
        m.row[(p.T - 1) % 2][i] = a.tape[(size_t)(p.T - 1) * TAPE + i];
    for (int i = threadIdx.x; i < (TAPS - 1) * CONV; i += THREADS)
        m.past[i / CONV][i % CONV] = 0;
    for (int n = threadIdx.x; n < N; n += THREADS)
        m.taken[n] = 0;
#pragma unroll
    for (int j = 0; j < STEP_EACH; j++)
        g[j] = 0;
    load_path(a.path + (size_t)p.T * STATES, after);
    __syncthreads();
    for (int t = p.T - 1; t >= m.found.first; t--) { // t > 0
#pragma unroll
        for (int j = 0; j < TAPE_EACH; j++)
            coming[j] = threadIdx.x + j * THREADS < TAPE
                            ? a.tape[(size_t)(t - 1) * TAPE + threadIdx.x + j * THREADS]
                            : real(0);
        load_path(a.path + (size_t)t * STATES, before);
        step_back(m, w, m.row[t % 2], after, before, g, a.errors + (size_t)(t - 1) * N);
#pragma unroll
        for (int j = 0; j < TAPE_EACH; j++)
            if (threadIdx.x + j * THREADS < TAPE)
                m.row[(t + 1) % 2][threadIdx.x + j * THREADS] = coming[j];
#pragma unroll
        for (int j = 0; j < STEP_EACH; j++)
            after[j] = before[j];
        __syncthreads();
    }
}

#endif
