// mamba2_orbit.cu - the Mamba-2 in double, for orbits and Lyapunov exponents (orbit.cuh); model/mamba2.h has
// the model.
//
// M (the width D), N, L, K: spec 1; THREADS, COUNT: orbit.cuh.
// variant: -DM=16 -DN=6 -DL=128 -DK=0 -DTHREADS=256 -DCOUNT=0
// variant: -DM=16 -DN=6 -DL=128 -DK=0 -DTHREADS=512 -DCOUNT=32
// variant: -DM=32 -DN=6 -DL=128 -DK=0 -DTHREADS=256 -DCOUNT=0
// variant: -DM=32 -DN=6 -DL=128 -DK=0 -DTHREADS=512 -DCOUNT=32
// variant: -DM=12 -DN=1 -DL=37 -DK=2 -DTHREADS=256 -DCOUNT=0
// variant: -DM=12 -DN=1 -DL=37 -DK=2 -DTHREADS=512 -DCOUNT=5
#define REAL_BITS 64
#include "common.cuh"
#include "mamba2_sizes.cuh"

#if !defined(M) || !defined(N) || !defined(L) || !defined(K) || !defined(THREADS) || !defined(COUNT)
#error "M, N, L, K, THREADS or COUNT is not defined"
#endif

#define WARPS   (THREADS / 32)
#define PAST    (TAPS - 1)    // earlier inputs of the convolution in the state
#define AT_H    (PAST * CONV) // offsets of H and x in the state
#define AT_X    (AT_H + STATES)
#define NUMBERS (AT_X + N)

// Matrices with one thread per row are transposed, so that neighbouring threads read neighbouring numbers.
struct parameters {
    double in_Wt[N * M], in_b[M]; // (N, M)
    double Ct[K * M + 1];         // (K, M)
    double ln_w[M], ln_b[M];
    double proj_in_t[M * PROJ];  // (M, PROJ)
    double conv_Wt[TAPS * CONV]; // (TAPS, CONV)
    double conv_b[CONV];
    double dt_bias[HEADS], A[HEADS], skip[HEADS]; // A = -exp(A_log)
    double proj_out[M * INNER];                   // (M, INNER), times norm_w
    double W1t[M * L], b1[L];                     // (M, L)
    double read[N * L], read_b[N];                // (N, L): out_W W2, and out_W b2 + out_b
};

struct orbit_shared {
    double state[NUMBERS]; // the past (PAST, CONV), oldest first; H (INNER, STATE); x (N)
    double before[STATES]; // H before the step
    double u[M], hat[M], normed[M];
    double gate[INNER], gate_slope[INNER]; // silu and its derivative
    double act[CONV], act_slope[CONV];     // x, B, C after the convolution
    double delta[HEADS], delta_slope[HEADS], decay[HEADS];
    double y[INNER], gated[INNER];
    double v[M], hidden[L];
    double layer_scale, rms_scale; // 1 / sd of the LayerNorm, 1 / root of the RMSNorm
};

static __device__ __forceinline__ double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

// silu(x) and its derivative.
static __device__ __forceinline__ void silu(double x, double *value, double *slope)
{
    const double s = sigmoid(x);
    *value = x * s;
    *slope = s * (1.0 + x * (1.0 - s));
}

// One row of a product, by one thread: sum_j Wt_jr in_j.  Wt: (COLS, ROWS)
template <int ROWS, int COLS>
static __device__ __forceinline__ double row_of(const double *Wt, const double *in, int row)
{
    double sum = 0.0;
#pragma unroll 8
    for (int j = 0; j < COLS; j++)
        sum = fma(Wt[j * ROWS + row], in[j], sum);
    return sum;
}

// One row of a product, by one warp; valid on all lanes.  row: (COLS)
template <int COLS> static __device__ __forceinline__ double shared_row(const double *row, const double *in)
{
    double sum = 0.0;
    for (int j = threadIdx.x % 32; j < COLS; j += 32)
        sum = fma(row[j], in[j], sum);
    return warp_sum(sum);
}

// Sum over the 16 lanes that have a row of H.
static __device__ __forceinline__ double state_sum(double a)
{
#pragma unroll
    for (int offset = STATE / 2; offset > 0; offset /= 2)
        a += __shfl_xor_sync(ALL_LANES, a, offset);
    return a;
}

// u = in_W x + C s + in_b and its LayerNorm, by one warp.
static __device__ void embed(const parameters *__restrict__ p, orbit_shared &r, const double *s)
{
    const int lane = threadIdx.x % 32;
    double sum = 0.0, square = 0.0;
    for (int d = lane; d < M; d += 32) {
        double u = p->in_b[d] + row_of<M, N>(p->in_Wt, r.state + AT_X, d);
        for (int k = 0; k < K; k++)
            u = fma(p->Ct[k * M + d], s[k], u);
        r.u[d] = u;
        sum += u;
    }
    const double mean = warp_sum(sum) / M;
    for (int d = lane; d < M; d += 32)
        square = fma(r.u[d] - mean, r.u[d] - mean, square);
    const double scale = 1.0 / sqrt(warp_sum(square) / M + NORM_EPSILON);
    for (int d = lane; d < M; d += 32) {
        r.hat[d] = (r.u[d] - mean) * scale;
        r.normed[d] = fma(r.hat[d], p->ln_w[d], p->ln_b[d]);
    }
    if (lane == 0)
        r.layer_scale = scale;
}

// Channel c of the convolution; shifts its past by one step.
static __device__ __forceinline__ void convolve(const parameters *__restrict__ p, orbit_shared &r, int c,
                                                double now)
{
    double sum = fma(p->conv_Wt[PAST * CONV + c], now, p->conv_b[c]);
#pragma unroll
    for (int k = 0; k < PAST; k++) {
        const double past = r.state[k * CONV + c];
        sum = fma(p->conv_Wt[k * CONV + c], past, sum);
        if (k > 0)
            r.state[(k - 1) * CONV + c] = past;
    }
    r.state[(PAST - 1) * CONV + c] = now;
    silu(sum, &r.act[c], &r.act_slope[c]);
}

// q = proj_in LayerNorm(u): gate, inputs of the convolution, time constants.
static __device__ void project(const parameters *__restrict__ p, orbit_shared &r)
{
    for (int row = threadIdx.x; row < PROJ; row += THREADS) {
        const double q = row_of<PROJ, M>(p->proj_in_t, r.normed, row);
        if (row < INNER) {
            silu(q, &r.gate[row], &r.gate_slope[row]);
        } else if (row < INNER + CONV) {
            convolve(p, r, row - INNER, q);
        } else {
            const int h = row - INNER - CONV;
            const double raw = q + p->dt_bias[h], delta = fmax(raw, 0.0) + log1p(exp(-fabs(raw))); // softplus
            r.delta[h] = delta;
            r.delta_slope[h] = sigmoid(raw);
            r.decay[h] = exp(p->A[h] * delta);
        }
    }
}

// H = a H + Delta x B^T, y = H C + D x, and the gate.  A thread has one number of H; a warp is busy on all
// lanes or on none.
static __device__ void recur(const parameters *__restrict__ p, orbit_shared &r)
{
    const double *B = r.act + INNER, *C = B + STATE;
    for (int j = threadIdx.x; j < STATES; j += THREADS) {
        const int i = j / STATE, k = j % STATE, h = i / HEAD;
        const double before = r.state[AT_H + j],
                     after = fma(r.decay[h], before, r.delta[h] * r.act[i] * B[k]);
        r.before[j] = before;
        r.state[AT_H + j] = after;
        const double sum = state_sum(after * C[k]);
        if (k == 0) {
            r.y[i] = fma(p->skip[h], r.act[i], sum);
            r.gated[i] = r.y[i] * r.gate[i];
        }
    }
}

// v = u + proj_out RMSNorm(gated): one warp per row.
static __device__ void project_out(const parameters *__restrict__ p, orbit_shared &r)
{
    const double scale = 1.0 / sqrt(shared_row<INNER>(r.gated, r.gated) / INNER + NORM_EPSILON);
    for (int d = threadIdx.x / 32; d < M; d += WARPS) {
        const double sum = shared_row<INNER>(p->proj_out + d * INNER, r.gated);
        if (threadIdx.x % 32 == 0)
            r.v[d] = fma(scale, sum, r.u[d]);
    }
    if (threadIdx.x == 0)
        r.rms_scale = scale;
}

static __device__ void step(const parameters *__restrict__ p, orbit_shared &r, const double *s)
{
    if (threadIdx.x < 32)
        embed(p, r, s);
    __syncthreads();
    project(p, r);
    __syncthreads();
    recur(p, r);
    __syncthreads();
    project_out(p, r);
    __syncthreads();
    for (int l = threadIdx.x; l < L; l += THREADS)
        r.hidden[l] = fmax(p->b1[l] + row_of<L, M>(p->W1t, r.v, l), 0.0);
    __syncthreads();
    for (int n = threadIdx.x / 32; n < N; n += WARPS) {
        const double sum = shared_row<L>(p->read + n * L, r.hidden);
        if (threadIdx.x % 32 == 0)
            r.state[AT_X + n] = p->read_b[n] + sum;
    }
    __syncthreads();
}

static __device__ __forceinline__ double observe(const parameters *__restrict__, const orbit_shared &r, int n)
{
    return r.state[AT_X + n];
}

// The next step reads this row instead of the prediction.
static __device__ void force(const parameters *__restrict__, orbit_shared &r, const double *x)
{
    for (int n = threadIdx.x; n < N; n += THREADS)
        r.state[AT_X + n] = x[n];
    __syncthreads();
}

// Derivatives along one tangent vector within a step, by one warp.
struct slopes {
    double u[M], normed[M];
    double q[INNER + CONV + HEADS];
    double act[CONV];
    double gated[INNER];
    double v[M], hidden[L];
};
#define SCRATCH (WARPS * (sizeof(slopes) / sizeof(double)))

#if COUNT > 0

// Through in_W and the LayerNorm.
static __device__ void push_embedding(const parameters *__restrict__ p, const orbit_shared &r,
                                      const double *vector, slopes &d)
{
    const int lane = threadIdx.x % 32;
    double mean = 0.0, along = 0.0;
    for (int i = lane; i < M; i += 32) {
        d.u[i] = row_of<M, N>(p->in_Wt, vector + AT_X, i);
        mean += d.u[i];
        along = fma(d.u[i], r.hat[i], along);
    }
    mean = warp_sum(mean) / M;
    along = warp_sum(along) / M;
    for (int i = lane; i < M; i += 32)
        d.normed[i] = p->ln_w[i] * r.layer_scale * (d.u[i] - mean - r.hat[i] * along);
    __syncwarp();
}

// Through proj_in and the convolution; shifts the past of the vector by one step; gives dDelta.
static __device__ void push_projection(const parameters *__restrict__ p, const orbit_shared &r,
                                       double *vector, slopes &d)
{
    for (int row = threadIdx.x % 32; row < PROJ; row += 32) {
        const double q = row_of<PROJ, M>(p->proj_in_t, d.normed, row);
        const int c = row - INNER;
        d.q[row] = c >= CONV ? q * r.delta_slope[c - CONV] : q;
        if (c < 0 || c >= CONV)
            continue;
        double sum = p->conv_Wt[PAST * CONV + c] * q;
#pragma unroll
        for (int k = 0; k < PAST; k++) {
            const double past = vector[k * CONV + c];
            sum = fma(p->conv_Wt[k * CONV + c], past, sum);
            if (k > 0)
                vector[(k - 1) * CONV + c] = past;
        }
        vector[(PAST - 1) * CONV + c] = q;
        d.act[c] = r.act_slope[c] * sum;
    }
    __syncwarp();
}

// Through the recurrence and the gate: the new H of the vector.
static __device__ void push_recurrence(const parameters *__restrict__ p, const orbit_shared &r,
                                       double *vector, slopes &d)
{
    const int k = threadIdx.x % STATE; // of every number that this lane has
    const double B = r.act[INNER + k], C = r.act[INNER + STATE + k], dB = d.act[INNER + k],
                 dC = d.act[INNER + STATE + k];
    for (int j = threadIdx.x % 32; j < STATES; j += 32) {
        const int i = j / STATE, h = i / HEAD;
        const double delta = r.delta[h], ddelta = d.q[INNER + CONV + h], decay = r.decay[h], act = r.act[i],
                     dact = d.act[i];
        double sum = fma(decay, vector[AT_H + j], p->A[h] * decay * ddelta * r.before[j]);
        sum = fma(fma(ddelta, act, delta * dact), B, sum);
        sum = fma(delta * act, dB, sum);
        vector[AT_H + j] = sum;
        const double dy = state_sum(fma(sum, C, r.state[AT_H + j] * dC)) + p->skip[h] * dact;
        if (k == 0)
            d.gated[i] = fma(dy, r.gate[i], r.y[i] * r.gate_slope[i] * d.q[i]);
    }
    __syncwarp();
}

// Through the RMSNorm, proj_out and the readout: the new x of the vector.
static __device__ void push_readout(const parameters *__restrict__ p, const orbit_shared &r, double *vector,
                                    slopes &d)
{
    const int lane = threadIdx.x % 32;
    const double along = shared_row<INNER>(d.gated, r.gated) / INNER;
    __syncwarp();
    for (int i = lane; i < INNER; i += 32)
        d.gated[i] = r.rms_scale * (d.gated[i] - r.gated[i] * r.rms_scale * r.rms_scale * along);
    __syncwarp();
    for (int i = 0; i < M; i++) {
        const double sum = shared_row<INNER>(p->proj_out + i * INNER, d.gated);
        if (lane == 0)
            d.v[i] = d.u[i] + sum;
    }
    __syncwarp();
    for (int l = lane; l < L; l += 32)
        d.hidden[l] = r.hidden[l] > 0.0 ? row_of<L, M>(p->W1t, d.v, l) : 0.0;
    __syncwarp();
    for (int n = 0; n < N; n++) {
        const double sum = shared_row<L>(p->read + n * L, d.hidden);
        if (lane == 0)
            vector[AT_X + n] = sum;
    }
    __syncwarp();
}

static __device__ void push_tangents(const parameters *__restrict__ p, const orbit_shared &r, double *scratch,
                                     double *vectors)
{
    const int warp = threadIdx.x / 32;
    slopes &d = reinterpret_cast<slopes *>(scratch)[warp];
    for (int k = warp; k < COUNT; k += WARPS) {
        double *vector = vectors + (size_t)k * NUMBERS;
        push_embedding(p, r, vector, d);
        push_projection(p, r, vector, d);
        push_recurrence(p, r, vector, d);
        push_readout(p, r, vector, d);
    }
}

#endif

#include "orbit.cuh"
