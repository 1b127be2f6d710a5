// orbit.cu - the shPLRNN in double, for orbits and Lyapunov exponents (orbit.cuh).
//
//     z_t = A o z_{t-1} + W phi(V z_{t-1} + E s_t + b) + C s_t + h        xhat_t = B z_t        (spec 1)
//
// E is for the LSSM, which runs as a shPLRNN (model/lssm.c).
//
// M, N, L, K: latent, observed, hidden and input dimension; THREADS, COUNT: orbit.cuh; CLIPPED: 1 for W
// [phi(V z + b) - phi(V z)]; DRIVEN: 1 with E; PARTS: threads that share one latent unit's sum over the
// hidden ones, a power of two up to 32.
// variant: -DM=3 -DN=3 -DL=8 -DK=2 -DTHREADS=32 -DCOUNT=0 -DCLIPPED=1 -DDRIVEN=0 -DPARTS=8
// variant: -DM=3 -DN=3 -DL=8 -DK=2 -DTHREADS=32 -DCOUNT=3 -DCLIPPED=1 -DDRIVEN=0 -DPARTS=8
// variant: -DM=10 -DN=6 -DL=128 -DK=0 -DTHREADS=128 -DCOUNT=0 -DCLIPPED=0 -DDRIVEN=0 -DPARTS=8
// variant: -DM=10 -DN=6 -DL=128 -DK=0 -DTHREADS=128 -DCOUNT=10 -DCLIPPED=0 -DDRIVEN=0 -DPARTS=8
// variant: -DM=16 -DN=6 -DL=140 -DK=2 -DTHREADS=160 -DCOUNT=0 -DCLIPPED=0 -DDRIVEN=1 -DPARTS=8
// variant: -DM=16 -DN=6 -DL=140 -DK=2 -DTHREADS=160 -DCOUNT=10 -DCLIPPED=0 -DDRIVEN=1 -DPARTS=8
// variant: -DM=128 -DN=3 -DL=50 -DK=0 -DTHREADS=128 -DCOUNT=128 -DCLIPPED=0 -DDRIVEN=0 -DPARTS=1
#define REAL_BITS 64
#include "common.cuh"

#if !defined(M) || !defined(N) || !defined(L) || !defined(K) || !defined(THREADS) || !defined(COUNT)
#error "M, N, L, K, THREADS or COUNT is not defined"
#endif
#if !defined(CLIPPED) || !defined(DRIVEN) || !defined(PARTS)
#error "CLIPPED, DRIVEN or PARTS is not defined"
#endif

#define WARPS   (THREADS / 32)
#define NUMBERS M
#define SCRATCH (M * M + WARPS * M) // the transposed Jacobian, and a vector for every warp

// The parameters, one after the other.  Matrices also stand transposed, so that neighbouring threads read
// neighbouring numbers.
struct parameters {
    double A[M], h[M], b[L];
    double Vt[M * L], W[M * L];    // (M, L)
    double V[L * M], Wt[L * M];    // (L, M)
    double Ct[K * M + 1];          // (K, M)
    double Et[DRIVEN * K * L + 1]; // (K, L)
    double B[N * M];               // (N, M)
    double pinv[M * N];            // (M, N)
};

struct orbit_shared {
    double state[M];
    double u[L], slope[L]; // hidden units and their derivatives
    double error[N];
};

static __device__ __forceinline__ double positive(double a)
{
    return a > 0.0 ? a : 0.0;
}

// u = phi(V z + E s + b), minus phi(V z) when clipped; slope: its derivative, phi'(0) = 0.
static __device__ void find_hidden(const parameters *__restrict__ p, orbit_shared &r, const double *s)
{
    for (int l = threadIdx.x; l < L; l += THREADS) {
        double sum = 0.0, bias = p->b[l];
        for (int m = 0; m < M; m++)
            sum = fma(p->Vt[m * L + l], r.state[m], sum);
        for (int k = 0; k < DRIVEN * K; k++)
            bias = fma(p->Et[k * L + l], s[k], bias);
        const double biased = sum + bias;
        r.u[l] = positive(biased) - (CLIPPED ? positive(sum) : 0.0);
        r.slope[l] = (biased > 0.0 ? 1.0 : 0.0) - (CLIPPED && sum > 0.0 ? 1.0 : 0.0);
    }
}

// z <- A z + W u + C s + h
static __device__ void advance(const parameters *__restrict__ p, orbit_shared &r, const double *s)
{
    const int part = threadIdx.x % PARTS;
    for (int first = 0; first < M;
         first += THREADS / PARTS) { // all threads must take every turn, because they shuffle
        const int m = first + threadIdx.x / PARTS;
        double sum = 0.0;
        for (int l = part; m < M && l < L; l += PARTS)
            sum = fma(p->W[m * L + l], r.u[l], sum);
#pragma unroll
        for (int offset = PARTS / 2; offset > 0; offset /= 2)
            sum += __shfl_xor_sync(ALL_LANES, sum, offset);
        if (m < M && part == 0) {
            double value = fma(p->A[m], r.state[m], p->h[m]) + sum;
            for (int k = 0; k < K; k++)
                value = fma(p->Ct[k * M + m], s[k], value);
            r.state[m] = value;
        }
    }
}

static __device__ void step(const parameters *__restrict__ p, orbit_shared &r, const double *s)
{
    find_hidden(p, r, s);
    __syncthreads();
    advance(p, r, s);
    __syncthreads();
}

static __device__ __forceinline__ double observe(const parameters *__restrict__ p, const orbit_shared &r,
                                                 int n)
{
    double sum = 0.0;
    for (int m = 0; m < M; m++)
        sum = fma(p->B[n * M + m], r.state[m], sum);
    return sum;
}

// z += B+ (x - B z): forcing with strength 1 (spec 2).
static __device__ void force(const parameters *__restrict__ p, orbit_shared &r, const double *x)
{
    for (int n = threadIdx.x; n < N; n += THREADS)
        r.error[n] = x[n] - observe(p, r, n);
    __syncthreads();
    for (int m = threadIdx.x; m < M; m += THREADS)
        for (int n = 0; n < N; n++)
            r.state[m] = fma(p->pinv[m * N + n], r.error[n], r.state[m]);
    __syncthreads();
}

#if COUNT > 0

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

static __device__ void push_tangents(const parameters *__restrict__ p, const orbit_shared &r, double *scratch,
                                     double *vectors)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    double *next = scratch + M * M + warp * M;
    find_jacobian(p, r.slope, scratch);
    __syncthreads();
    for (int k = warp; k < COUNT; k += WARPS) {
        double *vector = vectors + k * M;
        for (int m = lane; m < M; m += 32) {
            double sum = 0.0;
            for (int j = 0; j < M; j++)
                sum = fma(scratch[j * M + m], vector[j], sum);
            next[m] = sum;
        }
        __syncwarp();
        for (int m = lane; m < M; m += 32)
            vector[m] = next[m];
        __syncwarp();
    }
}

#endif

#include "orbit.cuh"
