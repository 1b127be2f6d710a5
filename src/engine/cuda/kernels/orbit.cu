// orbit.cu - the shPLRNN in double, one block per orbit: warm-up and free steps, Lyapunov exponents.
//
//     z_t = A o z_{t-1} + W phi(V z_{t-1} + b) + C s_t + h        xhat_t = B z_t        (SPEC 1)
//
// M, N, L, K: latent, observed, hidden and input dimension; CLIPPED: 1 for W [phi(V z + b) - phi(V z)]; THREADS: of
// a block; PARTS: threads that share one latent unit's sum over the hidden ones, a power of two up to 32;
// COUNT: tangent vectors.
// The slow paths of log and sqrt save a register or two around their calls:
// spills: tangents orbits
// variant: -DM=3 -DN=3 -DL=8 -DK=2 -DCLIPPED=1 -DTHREADS=32 -DPARTS=8 -DCOUNT=3
// variant: -DM=10 -DN=6 -DL=128 -DK=0 -DCLIPPED=0 -DTHREADS=128 -DPARTS=8 -DCOUNT=10
// variant: -DM=128 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DTHREADS=256 -DPARTS=2 -DCOUNT=128
#include "ptx.cuh"

#if !defined(M) || !defined(N) || !defined(L) || !defined(K) || !defined(CLIPPED)
#error "M, N, L, K or CLIPPED is not defined"
#endif
#if !defined(THREADS) || !defined(PARTS) || !defined(COUNT)
#error "THREADS, PARTS or COUNT is not defined"
#endif

// The parameters lie one after the other; the transposed ones are there so that neighbours read neighbours.
struct parameters {
    double A[M], h[M], b[L];
    double Vt[M * L], W[M * L]; // (M, L)
    double V[L * M], Wt[L * M]; // (L, M)
    double Ct[K * M + 1];       // (K, M)
    double B[N * M];            // (N, M)
    double pinv[M * N];         // (M, N)
};

#define WARPS (THREADS / 32)

static __device__ __forceinline__ double positive(double a)
{
    return a > 0.0 ? a : 0.0;
}

static __device__ __forceinline__ double warp_total(double a)
{
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
        a += __shfl_xor_sync(0xffffffffu, a, offset);
    return a;
}

// u = phi(V z + b), minus phi(V z) when clipped; slope: its derivative, phi'(0) = 0, or NULL.
static __device__ void find_hidden(const parameters *__restrict__ p, const double *z, double *u, double *slope)
{
    for (int l = threadIdx.x; l < L; l += THREADS) {
        double sum = 0.0;
        for (int m = 0; m < M; m++)
            sum = fma(p->Vt[m * L + l], z[m], sum);
        const double biased = sum + p->b[l];
        u[l] = positive(biased) - (CLIPPED ? positive(sum) : 0.0);
        if (slope != nullptr)
            slope[l] = (biased > 0.0 ? 1.0 : 0.0) - (CLIPPED && sum > 0.0 ? 1.0 : 0.0);
    }
}

// next = A z + W u + C s + h.  s: (K)
static __device__ void advance(const parameters *__restrict__ p, const double *z, const double *u, const double *s, double *next)
{
    const int part = threadIdx.x % PARTS;
    for (int first = 0; first < M; first += THREADS / PARTS) { // every thread takes every turn: they shuffle
        const int m = first + threadIdx.x / PARTS;
        double sum = 0.0;
        for (int l = part; m < M && l < L; l += PARTS)
            sum = fma(p->W[m * L + l], u[l], sum);
#pragma unroll
        for (int offset = PARTS / 2; offset > 0; offset /= 2)
            sum += __shfl_xor_sync(0xffffffffu, sum, offset);
        if (m < M && part == 0) {
            double value = fma(p->A[m], z[m], p->h[m]) + sum;
            for (int k = 0; k < K; k++)
                value = fma(p->Ct[k * M + m], s[k], value);
            next[m] = value;
        }
    }
}

static __device__ __forceinline__ double observe(const parameters *__restrict__ p, const double *z, int n)
{
    double sum = 0.0;
    for (int m = 0; m < M; m++)
        sum = fma(p->B[n * M + m], z[m], sum);
    return sum;
}

// z += B+ (x - B z): forcing with strength 1 (SPEC 2).  x: (N); error: (N) in shared memory.
static __device__ void force(const parameters *__restrict__ p, const double *x, double *z, double *error)
{
    for (int n = threadIdx.x; n < N; n += THREADS)
        error[n] = x[n] - observe(p, z, n);
    __syncthreads();
    for (int m = threadIdx.x; m < M; m += THREADS)
        for (int n = 0; n < N; n++)
            z[m] = fma(p->pinv[m * N + n], error[n], z[m]);
    __syncthreads();
}

// One step out of z[now] into z[1 - now]; what all threads may read after it.
static __device__ void step(const parameters *__restrict__ p, double (*z)[M], int now, double *u, double *slope, const double *s)
{
    find_hidden(p, z[now], u, slope);
    __syncthreads();
    advance(p, z[now], u, s, z[1 - now]);
    __syncthreads();
}

// Orbit blockIdx.x: `rows` rows of warm-up, or from its state when rows is 0, then `steps` free steps.
// x: (orbits, rows, N); s: (orbits, rows + steps, K); from: (orbits, M); xhat: (orbits, steps, N);
// states: (orbits, steps, M) or NULL; last: (orbits, M).  from and last may be the same.
extern "C" __global__ void __launch_bounds__(THREADS)
    orbits(const parameters *__restrict__ p, unsigned rows, unsigned steps, const double *x, const double *s, const double *from,
           double *xhat, double *states, double *last)
{
    __shared__ double z[2][M], u[L], error[N];
    const size_t orbit = blockIdx.x;
    int now = 0;
    x += orbit * rows * N;
    s += orbit * (rows + steps) * K;
    for (int m = threadIdx.x; m < M; m += THREADS)
        z[0][m] = rows == 0 ? from[orbit * M + m] : 0.0;
    __syncthreads();
    if (rows > 0)
        force(p, x, z[0], error);
    for (unsigned t = 1; t < rows; t++) {
        step(p, z, now, u, nullptr, s + (size_t)t * K);
        now = 1 - now;
        force(p, x + (size_t)t * N, z[now], error);
    }
    for (unsigned t = 0; t < steps; t++) {
        step(p, z, now, u, nullptr, s + (size_t)(rows + t) * K);
        now = 1 - now;
        const size_t row = orbit * steps + t;
        for (int n = threadIdx.x; n < N; n += THREADS)
            xhat[row * N + n] = observe(p, z[now], n);
        for (int m = threadIdx.x; states != nullptr && m < M; m += THREADS)
            states[row * M + m] = z[now][m];
    }
    for (int m = threadIdx.x; m < M; m += THREADS)
        last[orbit * M + m] = z[now][m];
}

// Jt = J^T = (diag(A) + W diag(slope) V)^T.  Jt: (M, M): row j is column j of the Jacobian.
static __device__ void find_jacobian(const parameters *__restrict__ p, const double *slope, double *Jt)
{
    for (int i = threadIdx.x; i < M * M; i += THREADS) {
        const int j = i / M, m = i % M;
        double sum = j == m ? p->A[m] : 0.0;
        for (int l = 0; l < L; l++)
            sum = fma(p->V[l * M + j] * slope[l], p->Wt[l * M + m], sum);
        Jt[i] = sum;
    }
}

// next_k = J vector_k.  vectors, next: (COUNT, M)
static __device__ void push(const double *Jt, const double *vectors, double *next)
{
    for (int i = threadIdx.x; i < COUNT * M; i += THREADS) {
        const int k = i / M, m = i % M;
        double sum = 0.0;
        for (int j = 0; j < M; j++)
            sum = fma(Jt[j * M + m], vectors[k * M + j], sum);
        next[i] = sum;
    }
}

// row -= tau (row . v) v from entry k on, by one warp; v is row k of `rows` with v_k in place of its entry k.
static __device__ void reflect(double *row, const double *v, double v_k, double tau, int k)
{
    const int lane = threadIdx.x % 32;
    double dot = 0.0;
    for (int i = k + lane; i < M; i += 32)
        dot = fma(row[i], i == k ? v_k : v[i], dot);
    const double factor = tau * warp_total(dot);
    for (int i = k + lane; i < M; i += 32)
        row[i] = fma(-factor, i == k ? v_k : v[i], row[i]);
}

// Squares below this lose digits to underflow, down to a norm of 0 for a vector that has a direction.
#define SMALL_SQUARE 1e-280

// row <- row / largest entry from k on, by the warp `owner`; all threads get that entry and must call it.
static __device__ double rescale(double *row, int k, int owner)
{
    const int lane = threadIdx.x % 32;
    double largest = 0.0;
    for (int i = k + lane; i < M; i += 32)
        largest = fmax(largest, fabs(row[i]));
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
        largest = fmax(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
    __syncthreads();
    for (int i = k + lane; i < M && largest > 0.0 && threadIdx.x / 32 == owner; i += 32)
        row[i] /= largest;
    __syncthreads();
    return largest;
}

static __device__ double square_from(const double *row, int k)
{
    double square = 0.0;
    for (int i = k + threadIdx.x % 32; i < M; i += 32)
        square = fma(row[i], row[i], square);
    return warp_total(square);
}

// Rows of `rows` orthonormalised into q by Householder's reflections; logs: log |R_kk|, or NULL.  rows, q: (COUNT, M).
// Row j belongs to warp j % WARPS throughout, so only row k, which all read, needs a barrier.
static __device__ void orthonormalise(double *rows, double *q, double (*reflector)[2], double *logs)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int k = 0; k < COUNT; k++) {
        double *row = rows + k * M;
        double square = square_from(row, k), scale = 1.0;
        if (square < SMALL_SQUARE) { // of the same numbers on every warp, so all go this way or none
            scale = rescale(row, k, k % WARPS);
            square = square_from(row, k);
        }
        const double length = sqrt(square);
        const double head = row[k] > 0.0 ? -length : length;
        const double v_k = row[k] - head; // adds in magnitude: no cancellation
        const double twice = 2.0 * length * (length + fabs(row[k])); // |v|^2
        const double tau = twice > 0.0 ? 2.0 / twice : 0.0;
        if (threadIdx.x == 0) {
            reflector[k][0] = v_k;
            reflector[k][1] = tau;
            if (logs != nullptr)
                logs[k] = log(length) + (scale == 1.0 ? 0.0 : log(scale));
        }
        for (int j = warp; j < COUNT; j += WARPS)
            if (j > k)
                reflect(rows + j * M, row, v_k, tau, k);
        __syncthreads();
    }
    for (int j = warp; j < COUNT; j += WARPS) { // row j of Q is H_0 ... H_j e_j
        for (int i = lane; i < M; i += 32)
            q[j * M + i] = i == j ? 1.0 : 0.0;
        __syncwarp();
        for (int k = j; k >= 0; k--) {
            reflect(q + j * M, rows + k * M, reflector[k][0], reflector[k][1], k);
            __syncwarp();
        }
    }
    __syncthreads();
}

// Where a walk along the orbit stands, kept between launches.
struct walk {
    unsigned done, pending, events, bad; // steps; since the last QR; logs written; first step that diverged, or 0
};

// `steps` more steps of an orbit with its tangent vectors.  One block.  state: (M); vectors: (COUNT, M), both updated;
// s: (steps, K), of these steps; logs: (events after the transient, COUNT); scratch: M M + 2 COUNT M doubles, or NULL:
// shared memory has room for them.  Steps are counted from the start of the transient.
extern "C" __global__ void __launch_bounds__(THREADS)
    tangents(const parameters *__restrict__ p, unsigned steps, unsigned transient, unsigned all, unsigned interval, double limit,
             const double *s, double *state, double *vectors, double *scratch, double *logs, walk *place)
{
    DYNAMIC_SHARED(double, shared);
    __shared__ double z[2][M], u[L], slope[L], reflector[COUNT][2];
    double *Jt = scratch != nullptr ? scratch : shared;
    double *now_vectors = Jt + M * M, *next_vectors = now_vectors + COUNT * M;
    walk at = *place;
    int now = 0;
    for (int m = threadIdx.x; m < M; m += THREADS)
        z[0][m] = state[m];
    for (int i = threadIdx.x; i < COUNT * M; i += THREADS)
        now_vectors[i] = vectors[i];
    __syncthreads();
    for (unsigned t = 0; t < steps && at.bad == 0; t++) {
        step(p, z, now, u, slope, s + (size_t)t * K);
        now = 1 - now;
        bool bad = false;
        for (int n = threadIdx.x; n < N; n += THREADS)
            bad = bad || !(fabs(observe(p, z[now], n)) <= limit); // also NaN
        for (int m = threadIdx.x; m < M; m += THREADS)
            bad = bad || !(z[now][m] - z[now][m] == 0.0);
        find_jacobian(p, slope, Jt);
        const bool any_bad = __syncthreads_or(bad) != 0;
        push(Jt, now_vectors, next_vectors);
        __syncthreads();
        at.done++;
        at.pending++;
        at.bad = any_bad ? at.done : 0;
        if (at.pending >= interval || at.done == transient || at.done == all) {
            const bool counts = at.done > transient;
            orthonormalise(next_vectors, now_vectors, reflector, counts ? logs + (size_t)at.events * COUNT : nullptr);
            at.events += counts;
            at.pending = 0;
        } else {
            double *swap = now_vectors;
            now_vectors = next_vectors;
            next_vectors = swap;
        }
    }
    for (int m = threadIdx.x; m < M; m += THREADS)
        state[m] = z[now][m];
    for (int i = threadIdx.x; i < COUNT * M; i += THREADS)
        vectors[i] = now_vectors[i];
    if (threadIdx.x == 0)
        *place = at;
}
