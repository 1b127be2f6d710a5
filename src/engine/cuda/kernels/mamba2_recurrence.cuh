// mamba2_recurrence.cuh - the features of a segment, and its recurrence.
//
//     H_t = a_t H_{t-1} + w_t B_t^T,  w = Delta x,  y_t = H_t C_t + D x_t         per head (model/mamba2.h)
//
// In the recurrence a warp has WARP_COLUMNS columns, a lane one channel (or more) with its STATE numbers in
// registers.  First every warp finds what its columns add to a state that enters as zero; `scan_columns`
// turns that into the states that enter, and then the warps run their columns once more.  The adjoint is
// computed the same way backward:
//
//     lambda_t = g_t + dy_t C_t^T,  g_{t-1} = a_t lambda_t                        lambda: adjoint of H_t
//     dw_t = lambda_t B_t,  dB_t = lambda_t^T w_t,  dC_t = H_t^T dy_t
//     dlog a_t = dlog a_{t+1} + dy_t . H_t C_t - w_t . dw_t,  after the last step <g, H>
// alone: -DREAL_BITS=32 -DM=16 -DN=6 -DL=128 -DK=0 -DCOLUMNS=64 -DSHARED_LIMIT=232448
#ifndef ANT_MAMBA2_RECURRENCE_CUH
#define ANT_MAMBA2_RECURRENCE_CUH

#include "mamba2_products.cuh"

// Rows of a segment in shared memory; those that a kernel does not need are null.
struct features {
    feature_row *x, *s;  // (N), (K)
    feature_row *u;      // (M)
    feature_row *hat;    // (M): u without mean, at variance 1
    feature_row *normed; // (M)
    real *rstd;          // (COLUMNS)
    feature_row *gate;   // (INNER): rows of q
    feature_row *q;      // (CONV): rows of q
    feature_row *act;    // (CONV): after convolution and silu; may be q
    feature_row *delta;  // (HEADS): Delta, 0 outside the segment's own steps
    feature_row *decay;  // (HEADS): a, 1 outside
};

// x, s: zero outside the sequence.  Ends with a barrier.
INLINE void load_window(const mamba2_args &p, const thread_context &at, const features &f)
{
    const real *x = (GAPS ? p.filled : p.x) + at.sequence * (p.T + 1) * N;
    for (int i = threadIdx.x; i < COLUMNS * N; i += THREADS) {
        const int t = at.first + i / N;
        f.x[i % N][i / N] = t >= 0 && t < p.T ? x[(size_t)t * N + i % N] : real(0);
    }
#if K > 0
    const real *s = p.s + at.sequence * p.T * K;
    for (int i = threadIdx.x; i < COLUMNS * K; i += THREADS) {
        const int t = at.first + i / K;
        f.s[i % K][i / K] = t >= 0 && t < p.T ? s[(size_t)t * K + i % K] : real(0);
    }
#endif
    __syncthreads();
}

// u = in_W x + C s + in_b and its LayerNorm.
INLINE void embed(const thread_context &at, const real *w, const features &f)
{
    constexpr int count = ROWS_OF_PART(M);
    real u[count], mean = 0, variance = 0;
#pragma unroll
    for (int i = 0; i < count; i++) {
        const int d = row_of_part(at, i) < M ? row_of_part(at, i) : 0;
        real sum = w[PACK_in_b + d];
        for (int n = 0; n < N; n++)
            sum += w[PACK_in_W + d * N + n] * f.x[n][at.column];
        for (int k = 0; k < K; k++)
            sum += w[PACK_C + d * K + k] * f.s[k][at.column];
        u[i] = sum;
        mean += row_of_part(at, i) < M ? sum : real(0);
    }
    mean = column_sum(mean) / M;
#pragma unroll
    for (int i = 0; i < count; i++)
        variance += row_of_part(at, i) < M ? (u[i] - mean) * (u[i] - mean) : real(0);
    const real rstd = 1 / root_of(column_sum(variance) / M + NORM_EPSILON);
#pragma unroll
    for (int i = 0; i < count; i++) {
        const int d = row_of_part(at, i);
        if (d >= M)
            continue;
        const real hat = (u[i] - mean) * rstd;
        f.normed[d][at.column] = hat * w[PACK_ln_w + d] + w[PACK_ln_b + d];
        if (f.u != nullptr)
            f.u[d][at.column] = u[i];
        if (f.hat != nullptr)
            f.hat[d][at.column] = hat;
    }
    if (f.rstd != nullptr && at.part == 0)
        f.rstd[at.column] = rstd;
}

// The inputs of the convolution at a lane's columns and the TAPS - 1 before them.
#define LANES_BACK ((TAPS - 1 + PER_LANE - 1) / PER_LANE)
struct history {
    real a[(LANES_BACK + 1) * PER_LANE];
    __device__ __forceinline__ real before(int j, int steps) const // column j of the lane, `steps` steps ago
    {
        return a[LANES_BACK * PER_LANE + j - steps];
    }
};

INLINE history load_history(const feature_row &row, int lane)
{
    history h;
#pragma unroll
    for (int b = 0; b <= LANES_BACK; b++) {
        const int from = lane - LANES_BACK + b;
        const lane_columns part = load_columns(row, from >= 0 ? from : 0);
#pragma unroll
        for (int j = 0; j < PER_LANE; j++)
            h.a[b * PER_LANE + j] = from >= 0 ? part.a[j] : real(0);
    }
    return h;
}

INLINE real convolve(const real *w, int channel, const history &h, int j)
{
    const real4 taps = load4(w + PACK_conv_W + channel * TAPS);
    real sum = w[PACK_conv_b + channel];
#pragma unroll
    for (int k = 0; k < TAPS; k++)
        sum += taps.a[k] * h.before(j, TAPS - 1 - k);
    return sum;
}

// Delta and decay of one head, from dt.
INLINE void discretise(const mamba2_args &p, const thread_context &at, const real *w, const features &f,
                       int head, const lane_columns &dt)
{
    lane_columns delta, decay;
#pragma unroll
    for (int j = 0; j < PER_LANE; j++) {
        const real raw = dt.a[j], size = raw < 0 ? raw : -raw;
        const bool own = owns(p, at, PER_LANE * at.lane + j);
        delta.a[j] = own ? (raw > 0 ? raw : real(0)) + log1p_of(exp_of(size)) : real(0);
        decay.a[j] = exp_of(w[PACK_A + head] * delta.a[j]);
    }
    store_columns(f.delta[head], at.lane, delta);
    store_columns(f.decay[head], at.lane, decay);
}

// q = proj_in normed; convolution and silu of the first CHANNELS_NEEDED of its channels; Delta and decay; the
// gate where f has rows for it.  The convolution of a row is done by the warp that made the row.
template <int CHANNELS_NEEDED>
INLINE void project(const mamba2_args &p, const thread_context &at, const real *w, const features &f)
{
    lane_columns normed[M];
    load_inputs(f.normed, at.lane, normed);
    const int gates = f.gate != nullptr ? INNER : 0;
#pragma unroll 2
    for (int r = at.warp; r < CHANNELS_NEEDED; r += WARPS) {
        lane_columns value = dot(w + PACK_proj_in + (INNER + r) * M, normed, 0);
#pragma unroll
        for (int j = 0; j < PER_LANE; j++)
            value.a[j] = at.first + PER_LANE * at.lane + j >= 0 ? value.a[j] : real(0);
        store_columns(f.q[r], at.lane, value);
    }
#pragma unroll 2
    for (int i = at.warp; i < gates; i += WARPS)
        store_columns(f.gate[i], at.lane, dot(w + PACK_proj_in + i * M, normed, 0));
    for (int h = at.warp; h < HEADS; h += WARPS)
        discretise(p, at, w, f, h,
                   dot(w + PACK_proj_in + (INNER + CONV + h) * M, normed, w[PACK_dt_bias + h]));
    __syncwarp();
#pragma unroll 2
    for (int r = at.warp; r < CHANNELS_NEEDED; r += WARPS) {
        const history h = load_history(f.q[r], at.lane);
        lane_columns act;
#pragma unroll
        for (int j = 0; j < PER_LANE; j++) {
            const real sum = convolve(w, r, h, j);
            act.a[j] = PER_LANE * at.lane + j >= HALO ? sum * sigmoid(sum) : real(0);
        }
        __syncwarp();
        store_columns(f.act[r], at.lane, act);
    }
}

// ---- recurrence -------------------------------------------------------------------------------------------

// The channels of a lane; those beyond the last are computed and not stored.
INLINE int channel_of(const thread_context &at, int round)
{
    return at.lane + 32 * round < INNER ? at.lane + 32 * round : INNER - 1;
}

INLINE bool has_channel(const thread_context &at, int round)
{
    return INNER % 32 == 0 || at.lane + 32 * round < INNER;
}

// Of four columns of a lane's channels: decay, and drive w = Delta x.
struct four_steps {
    real4 decay[CHANNELS], drive[CHANNELS];
};

INLINE four_steps load_steps(const thread_context &at, const features &f, int column)
{
    four_steps s;
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) {
        const int i = channel_of(at, c);
        const real4 delta = load4(f.delta[i / HEAD] + column), x = load4(f.act[i] + column);
        s.decay[c] = load4(f.decay[i / HEAD] + column);
#pragma unroll
        for (int j = 0; j < 4; j++)
            s.drive[c].a[j] = has_channel(at, c) ? delta.a[j] * x.a[j] : real(0);
    }
    return s;
}

INLINE void load_state(const thread_context &at, const real *from, real (&h)[CHANNELS][STATE])
{
#pragma unroll
    for (int c = 0; c < CHANNELS; c++)
#pragma unroll
        for (int k = 0; k < STATE; k += 4) {
            const real4 four = load4(from + state_at(channel_of(at, c), k));
#pragma unroll
            for (int i = 0; i < 4; i++)
                h[c][k + i] = has_channel(at, c) ? four.a[i] : real(0);
        }
}

INLINE void store_state(const thread_context &at, const real (&h)[CHANNELS][STATE], real *to)
{
#pragma unroll
    for (int c = 0; c < CHANNELS; c++)
#pragma unroll
        for (int k = 0; k < STATE; k += 4)
            if (has_channel(at, c))
                store4(to + state_at(channel_of(at, c), k), {h[c][k], h[c][k + 1], h[c][k + 2], h[c][k + 3]});
}

INLINE void clear(real (&h)[CHANNELS][STATE])
{
#pragma unroll
    for (int c = 0; c < CHANNELS; c++)
#pragma unroll
        for (int k = 0; k < STATE; k++)
            h[c][k] = 0;
}

// What recur_forward and recur_backward give: the state at the end; also y; also dC, or dw, dB and dlog.
enum recurrence_output { ENDS, OUTPUTS, SLOPES_TOO };

// Forward through the warp's columns from state h.  out: (INNER), H C; with SLOPES_TOO dy: (INNER) and dC:
// (STATE).
template <recurrence_output WHAT>
INLINE void recur_forward(const thread_context &at, const features &f, real (&h)[CHANNELS][STATE],
                          feature_row *out, const feature_row *dy, feature_row *dC)
{
#pragma unroll 1
    for (int column = WARP_COLUMNS * at.warp; column < WARP_COLUMNS * (at.warp + 1); column += 4) {
        const four_steps s = load_steps(at, f, column);
        real4 y[CHANNELS], slope[CHANNELS];
        real products[16]; // of dy and H: four states, four steps
#pragma unroll
        for (int c = 0; c < CHANNELS; c++) {
            y[c] = {0, 0, 0, 0};
            if constexpr (WHAT == SLOPES_TOO) {
                slope[c] = load4(dy[channel_of(at, c)] + column);
#pragma unroll
                for (int j = 0; j < 4; j++)
                    slope[c].a[j] = has_channel(at, c) ? slope[c].a[j] : real(0);
            }
        }
#pragma unroll
        for (int k = 0; k < STATE; k++) {
            const real4 B = load4(f.act[INNER + k] + column);
            real4 C = {0, 0, 0, 0};
            if constexpr (WHAT != ENDS)
                C = load4(f.act[INNER + STATE + k] + column);
#pragma unroll
            for (int j = 0; j < 4; j++) {
                real sum = 0;
#pragma unroll
                for (int c = 0; c < CHANNELS; c++) {
                    h[c][k] = s.decay[c].a[j] * h[c][k] + s.drive[c].a[j] * B.a[j];
                    if constexpr (WHAT != ENDS)
                        y[c].a[j] += h[c][k] * C.a[j];
                    if constexpr (WHAT == SLOPES_TOO)
                        sum += slope[c].a[j] * h[c][k];
                }
                products[4 * (k % 4) + j] = sum;
            }
            if constexpr (WHAT == SLOPES_TOO)
                if (k % 4 == 3) {
                    const real sum = sum_sixteen(products, at.lane);
                    if (at.lane % 2 == 0)
                        dC[k - 3 + at.lane / 8][column + at.lane / 2 % 4] = sum;
                }
        }
#pragma unroll
        for (int c = 0; c < CHANNELS; c++)
            if (WHAT != ENDS && has_channel(at, c))
                store4(out[channel_of(at, c)] + column, y[c]);
    }
}

// After four columns: store dw, and each channel's share of dlog a, which accumulates in `last`.
INLINE void store_channels(const thread_context &at, int column, const four_steps &s,
                           const real4 (&slope)[CHANNELS], const real4 (&dw)[CHANNELS], feature_row *out,
                           feature_row *dlog, real (&last)[CHANNELS])
{
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) {
        const int i = channel_of(at, c);
        const real4 HC = load4(out[i] + column);
        real4 share;
#pragma unroll
        for (int j = 3; j >= 0; j--) {
            last[c] += slope[c].a[j] * HC.a[j] - s.drive[c].a[j] * dw[c].a[j];
            share.a[j] = last[c];
        }
        __syncwarp();
        if (has_channel(at, c)) {
            store4(out[i] + column, dw[c]);
            store4(dlog[i] + column, share);
        }
    }
}

// Backward through the warp's columns from the adjoint g of the state after them.  SLOPES_TOO: out holds H C
// and becomes dw, dB replaces B, and dlog: (INNER) receives each channel's share of dlog a; last: <g, H> of
// the lane's channels.
template <recurrence_output WHAT>
INLINE void recur_backward(const thread_context &at, const features &f, real (&g)[CHANNELS][STATE],
                           const feature_row *dy, feature_row *out, feature_row *dlog, real (&last)[CHANNELS])
{
#pragma unroll 1
    for (int column = WARP_COLUMNS * at.warp + WARP_COLUMNS - 4; column >= WARP_COLUMNS * at.warp;
         column -= 4) {
        const four_steps s = load_steps(at, f, column);
        real4 dw[CHANNELS], slope[CHANNELS];
        real products[16]; // of lambda and w: four states, four steps
#pragma unroll
        for (int c = 0; c < CHANNELS; c++) {
            dw[c] = {0, 0, 0, 0};
            slope[c] = load4(dy[channel_of(at, c)] + column);
#pragma unroll
            for (int j = 0; j < 4; j++)
                slope[c].a[j] = has_channel(at, c) ? slope[c].a[j] : real(0);
        }
#pragma unroll
        for (int k = 0; k < STATE; k++) {
            const real4 C = load4(f.act[INNER + STATE + k] + column);
            real4 B = {0, 0, 0, 0};
            if constexpr (WHAT == SLOPES_TOO)
                B = load4(f.act[INNER + k] + column);
#pragma unroll
            for (int j = 3; j >= 0; j--) {
                real sum = 0;
#pragma unroll
                for (int c = 0; c < CHANNELS; c++) {
                    const real lambda = g[c][k] + slope[c].a[j] * C.a[j];
                    if constexpr (WHAT == SLOPES_TOO) {
                        dw[c].a[j] += lambda * B.a[j];
                        sum += lambda * s.drive[c].a[j];
                    }
                    g[c][k] = s.decay[c].a[j] * lambda;
                }
                products[4 * (k % 4) + j] = sum;
            }
            if constexpr (WHAT == SLOPES_TOO)
                if (k % 4 == 3) {
                    const real sum = sum_sixteen(products, at.lane);
                    __syncwarp(); // all lanes have read B
                    if (at.lane % 2 == 0)
                        f.act[INNER + k - 3 + at.lane / 8][column + at.lane / 2 % 4] = sum;
                }
        }
        if constexpr (WHAT == SLOPES_TOO)
            store_channels(at, column, s, slope, dw, out, dlog, last);
    }
}

// Each warp's product of decays.  warp_decay: (WARPS, HEADS)
INLINE void find_warp_decays(const thread_context &at, const features &f, real (*warp_decay)[HEADS])
{
    if (at.lane < HEADS) {
        real product = 1;
        for (int i = 0; i < WARP_COLUMNS; i++)
            product *= f.decay[at.lane][WARP_COLUMNS * at.warp + i];
        warp_decay[at.warp][at.lane] = product;
    }
}

// An exclusive scan over the warps, for one number of the state: own (WARPS, STATES) holds what each warp's
// columns add, and becomes the state that enters them.  Returns the state that leaves the segment.  forward:
// warp 0 is first.
INLINE real scan_columns(const real (*warp_decay)[HEADS], real *own, int element, real state, bool forward)
{
    const int head = head_of_state(element);
#pragma unroll
    for (int i = 0; i < WARPS; i++) {
        const int w = forward ? i : WARPS - 1 - i;
        const real added = own[w * STATES + element];
        own[w * STATES + element] = state;
        state = warp_decay[w][head] * state + added;
    }
    return state;
}

// A thread's share of the numbers of a segment's state, loaded from global memory in advance.
struct state_share {
    real a[(STATES + THREADS - 1) / THREADS];
};

INLINE state_share load_share(const real *from)
{
    state_share s;
#pragma unroll
    for (int i = 0; i < (STATES + THREADS - 1) / THREADS; i++)
        s.a[i] = threadIdx.x + i * THREADS < STATES ? from[threadIdx.x + i * THREADS] : real(0);
    return s;
}

INLINE void scan_all_columns(const real (*warp_decay)[HEADS], real *own, const state_share &state,
                             bool forward)
{
#pragma unroll
    for (int i = 0; i < (STATES + THREADS - 1) / THREADS; i++)
        if (threadIdx.x + i * THREADS < STATES)
            scan_columns(warp_decay, own, threadIdx.x + i * THREADS, state.a[i], forward);
}

#endif
