// update.cu - everything of an update but the solve (SPEC 5, 6): gradient, regularisers, clipping, step, divergence,
// counters, and then the weights and windows of the next update.
//
// The first p.replicas blocks have one replica each; the blocks beyond them draw windows.  Replicas never meet, so a
// run does the same alone and among others.  Orders of summation are fixed: the same seed gives the same bytes.
//
// variant: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DRANK=0 -DLEARN_THREADS=256
// variant: -DREAL_BITS=32 -DM=10 -DN=6 -DL=128 -DK=0 -DCLIPPED=0 -DRANK=0 -DLEARN_THREADS=256
// variant: -DREAL_BITS=32 -DM=128 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DRANK=0 -DLEARN_THREADS=512
// variant: -DREAL_BITS=64 -DM=5 -DN=3 -DL=50 -DK=2 -DCLIPPED=1 -DRANK=2 -DLEARN_THREADS=256
// variant: -DREAL_BITS=64 -DM=3 -DN=128 -DL=20 -DK=0 -DCLIPPED=0 -DRANK=0 -DLEARN_THREADS=256
// spills: prepare update (the arguments of functions that are compiled once)
#include "pack.cuh"
#include "windows.cuh"

// ---- regularisers (SPEC 5) --------------------------------------------------------------------------------

INLINE double power_of(double x, int p)
{
    return p == 1 ? fabs(x) : x * x;
}

INLINE double power_slope(double x, int p) // 0 at 0
{
    return p == 2 ? 2 * x : (double)(x > 0) - (double)(x < 0);
}

struct penalty { // scale of each kind of term
    double decay, W, V, h, B;
    int p, first; // regularised units are first .. M-1
};

INLINE penalty find_penalty(const learn_problem &p)
{
    penalty c;
    const double scale = p.units > 0 ? p.mar / p.units : 0;
    c.decay = c.h = scale;
    c.W = scale * (p.initial_scale ? 1.0 / (3.0 * L) : 1.0) / L;
    c.V = scale * (p.initial_scale ? 1.0 / (3.0 * M) : 1.0) / L;
    c.B = p.units > 0 ? p.readout / ((double)N * p.units) : 0;
    c.p = p.power;
    c.first = M - p.units;
    return c;
}

#if RANK > 0
INLINE double full_W(const real *theta, int m, int l)
{
    double sum = 0;
    for (int k = 0; k < RANK; k++)
        sum += (double)theta[THETA_W + m * RANK + k] * (double)theta[THETA_WR + k * L + l];
    return sum;
}

// Terms of W = WL WR, whose slopes pass on to both factors.
INLINE double slope_WL(const penalty &c, const real *theta, int m, int k)
{
    double sum = 0;
    for (int l = 0; l < L && m >= c.first; l++)
        sum += c.W * power_slope(full_W(theta, m, l), c.p) * (double)theta[THETA_WR + k * L + l];
    return sum;
}

INLINE double slope_WR(const penalty &c, const real *theta, int k, int l)
{
    double sum = 0;
    for (int m = c.first; m < M; m++)
        sum += c.W * power_slope(full_W(theta, m, l), c.p) * (double)theta[THETA_W + m * RANK + k];
    return sum;
}
#endif

// Slope of all terms at parameter i; adds its values to mar and readout.
INLINE double penalise(const learn_problem &p, const penalty &c, const real *theta, const double *pull, int i, double &mar, double &readout)
{
    const double x = (double)theta[i];
    double slope = 0;
    if (p.mar > 0 && p.units > 0) {
        double scale = 0;
        if (i < THETA_W) {
            if (i >= c.first) {
                const double a = tanh(x);
                mar += c.decay * power_of(1 - a, c.p);
                slope -= c.decay * power_slope(1 - a, c.p) * (1 - a * a);
            }
        } else if (i < THETA_V) {
#if RANK > 0
            const int at = i < THETA_WR ? i - THETA_W : i - THETA_WR;
            slope += i < THETA_WR ? slope_WL(c, theta, at / RANK, at % RANK) : slope_WR(c, theta, at / L, at % L);
#else
            scale = (i - THETA_W) / L >= c.first ? c.W : 0;
#endif
        } else if (i < THETA_b) {
            scale = (i - THETA_V) % M >= c.first ? c.V : 0;
        } else if (i >= THETA_h && i < THETA_C) {
            scale = i - THETA_h >= c.first ? c.h : 0;
        }
        mar += scale * power_of(x, c.p);
        slope += scale * power_slope(x, c.p);
    }
    if (i >= THETA_B) {
        if (p.readout > 0 && p.units > 0 && (i - THETA_B) % M >= c.first) {
            readout += c.B * power_of(x, c.p);
            slope += c.B * power_slope(x, c.p);
        }
        if (p.singular > 0)
            slope += pull[i - THETA_B];
    }
    return slope;
}

// ---- gradient ---------------------------------------------------------------------------------------------

// What flows to B through B+, given G = dloss/dB+ (Golub and Pereyra 1973; solve/forcing.h): out (N, M).
INLINE void flow_back(const real *theta, const double *P, const double *G, double *work)
{
    double *out = work, *B = out + N * M, *first = B + N * M, *second = first + SMALL * SMALL, *third = second + N * M;
#pragma unroll 1
    for (int i = threadIdx.x; i < N * M; i += LEARN_THREADS)
        B[i] = (double)theta[THETA_B + i];
    // -B+^T G B+^T, by way of the smaller of the two products
#if M >= N
    multiply(N, M, N, P, 1, N, G, N, 1, first);
    multiply(N, N, M, first, N, 1, P, 1, N, out);
#else
    multiply(M, N, M, G, N, 1, P, 1, N, first);
    multiply(N, M, M, P, 1, N, first, M, 1, out);
#endif
#if M < N // (I - B B+) G^T B+ B+^T
    multiply(M, N, M, P, N, 1, P, 1, N, first);
    multiply(N, M, M, G, 1, N, first, M, 1, second);
    multiply(M, N, M, P, N, 1, second, M, 1, first);
    multiply(N, M, M, B, M, 1, first, M, 1, third);
#elif M > N // B+^T B+ G^T (I - B+ B)
    multiply(N, M, N, P, 1, N, P, N, 1, first);
    multiply(N, N, M, first, N, 1, G, 1, N, second);
    multiply(N, M, N, second, M, 1, P, N, 1, first);
    multiply(N, N, M, first, N, 1, B, M, 1, third);
#endif
#pragma unroll 1
    for (int i = threadIdx.x; i < N * M; i += LEARN_THREADS) {
#if M == N
        out[i] = -out[i];
#else
        out[i] = second[i] - third[i] - out[i];
#endif
    }
    __syncthreads();
}

// dloss / d parameter i.  through: (N, M), what flow_back found.
INLINE double gradient_at(const learn_problem &p, const real *theta, const double *sums, const double *through, int i)
{
    if (i < THETA_W) {
        const double a = tanh((double)theta[i]);
        return sums[SUM_A + i] * (1 - a * a);
    }
#if RANK > 0
    if (i < THETA_V) {
        const int at = i < THETA_WR ? i - THETA_W : i - THETA_WR;
        double sum = 0;
        if (i < THETA_WR)
            for (int l = 0; l < L; l++)
                sum += sums[SUM_W + at / RANK * LP + l] * (double)theta[THETA_WR + at % RANK * L + l];
        else
            for (int m = 0; m < M; m++)
                sum += sums[SUM_W + m * LP + at % L] * (double)theta[THETA_W + m * RANK + at / L];
        return sum;
    }
#else
    if (i < THETA_V)
        return sums[SUM_W + (i - THETA_W) / L * LP + (i - THETA_W) % L];
#endif
    if (i < THETA_b)
        return sums[SUM_V + (i - THETA_V) % M * LP + (i - THETA_V) / M];
    if (i < THETA_h)
        return sums[SUM_b + i - THETA_b];
    if (i < THETA_B)
        return sums[SUM_h + i - THETA_h]; // and C, which follows in both orders
    return (p.flow ? through[i - THETA_B] : 0) - sums[SUM_B + i - THETA_B];
}

// ---- step -------------------------------------------------------------------------------------------------

enum { STEP_FIRST, STEP_SECOND, STEP_ADAPTIVE, STEP_SHORTEN, STEP_LR, STEP_OUTCOME };

INLINE double learning_rate(const learn_problem &p, double number)
{
    const double done = p.updates > 1 ? (number - 1) / ((double)p.updates - 1) : 0;
    if (p.schedule == 0)
        return p.end_lr + 0.5 * (p.start_lr - p.end_lr) * (1 + cospi(done));
    return p.schedule == 1 ? p.start_lr * pow(p.end_lr / p.start_lr, done) : p.start_lr;
}

// As ant_step_make of train/optimiser.c, without the clipping.
INLINE void plan_step(const learn_problem &p, double number, double *step)
{
    const double power1 = pow(p.beta1, number), power2 = pow(p.beta2, number), lr = learning_rate(p, number);
    double first = lr / (1 - power1);
    bool adaptive = true;
    if (!p.adam) {
        const double limit = 2 / (1 - p.beta2) - 1, length = limit - 2 * number * power2 / (1 - power2);
        adaptive = length > 5;
        if (adaptive)
            first *= sqrt((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length));
    }
    step[STEP_FIRST] = first;
    step[STEP_SECOND] = 1 / (1 - power2);
    step[STEP_ADAPTIVE] = adaptive;
    step[STEP_LR] = lr;
}

INLINE bool finite_64(double a)
{
    return a - a == 0;
}

struct found { // by the gradient, the same on all threads
    double squares, mar, readout, unusable;
};

// Gradient and regularisers: p.raw and p.gradient.
INLINE found find_gradient(const learn_problem &p, int replica, double *work, learn_memory &memory)
{
    const size_t base = (size_t)replica * TOTAL;
    const real *theta = p.parameters + base;
    const double *sums = p.sums + (size_t)replica * SUMS, *pull = p.pull + (size_t)replica * (N * M + 1);
    const penalty c = find_penalty(p);
    double total[4] = {0, 0, 0, 0}; // squares, mar, readout, entries that are not finite
    if (p.flow)
        flow_back(theta, p.pinv + (size_t)replica * M * N, sums + SUM_P, work);
#pragma unroll 1
    for (int i = threadIdx.x; i < TOTAL; i += LEARN_THREADS) {
        const real raw = (real)gradient_at(p, theta, sums, work, i);
        const real all = (real)((double)raw + penalise(p, c, theta, pull, i, total[1], total[2]));
        p.raw[base + i] = raw;
        p.gradient[base + i] = all;
        total[0] += (double)all * (double)all;
        total[3] += is_finite(raw) ? 0 : 1;
    }
#if RANK > 0
    if (p.mar > 0)
#pragma unroll 1
        for (int i = threadIdx.x; i < p.units * L; i += LEARN_THREADS)
            total[1] += c.W * power_of(full_W(theta, c.first + i / L, i % L), c.p);
#endif
    block_sum(memory, total);
    return {total[0], total[1], total[2], total[3]};
}

INLINE int judge(const learn_problem &p, const found &f, double loss, double singular)
{
    return !finite_64(loss)                ? LOST_LOSS
           : f.unusable > 0                ? LOST_GRADIENT
           : !finite_64(f.mar)             ? LOST_MAR
           : !finite_64(f.readout)         ? LOST_READOUT
           : !finite_64(singular)          ? LOST_SINGULAR
           : !finite_64(sqrt(f.squares))   ? LOST_NORM
                                           : RUNNING;
}

// Move the parameters; memory.worst becomes the first that is beyond the limit, if any.
INLINE void move(const learn_problem &p, size_t base, learn_memory &memory)
{
    const double first = memory.step[STEP_FIRST], second = memory.step[STEP_SECOND], shorten = memory.step[STEP_SHORTEN];
    const bool adaptive = memory.step[STEP_ADAPTIVE] != 0;
#pragma unroll 1
    for (int i = threadIdx.x; i < TOTAL; i += LEARN_THREADS) {
        const real before = p.parameters[base + i];
        const double g = shorten * (double)p.gradient[base + i];
        const double m = p.beta1 * p.m[base + i] + (1 - p.beta1) * g;
        const double v = p.beta2 * p.v[base + i] + (1 - p.beta2) * g * g;
        const double scale = adaptive ? sqrt(v * second) + p.epsilon : 1;
        const real after = (real)((double)before - first * m / scale);
        p.good[base + i] = before;
        p.m[base + i] = m;
        p.v[base + i] = v;
        p.parameters[base + i] = after;
        if (!(fabs((double)after) <= p.limit))
            atomicMin(&memory.worst, i);
    }
    __syncthreads();
}

INLINE void count(const learn_problem &p, int replica, const found &f, double loss, double singular, const learn_memory &memory)
{
    double *tally = p.tally + (size_t)replica * TALLY;
    const double *facts = p.facts + (size_t)replica * FACTS;
    tally[TALLY_UPDATES] += 1;
    tally[TALLY_LOSS] += loss;
    tally[TALLY_MAR] += f.mar;
    tally[TALLY_READOUT] += f.readout;
    tally[TALLY_SINGULAR] += singular;
    tally[TALLY_ITERATIONS] += facts[FACT_ITERATIONS];
    tally[TALLY_FALLBACKS] += facts[FACT_CONVERGED] != 0 ? 0 : 1;
    tally[TALLY_LR] = memory.step[STEP_LR];
    tally[TALLY_NORM] = sqrt(f.squares);
}

// One update of one replica.  True: its parameters changed.
INLINE bool advance(const learn_problem &p, int replica, unsigned done, double *work, learn_memory &memory)
{
    const size_t base = (size_t)replica * TOTAL;
    if (threadIdx.x == LEARN_THREADS - 32) // beside the gradient
        plan_step(p, (double)done + 1, memory.step);
    if (threadIdx.x == 0)
        memory.worst = TOTAL;
    const found f = find_gradient(p, replica, work, memory);
    const double loss = p.facts[(size_t)replica * FACTS + FACT_LOSS];
    const double singular = p.singular > 0 ? p.pull[(size_t)replica * (N * M + 1) + N * M] : 0;
    int outcome = judge(p, f, loss, singular);
    if (threadIdx.x == 0) {
        const double norm = sqrt(f.squares);
        memory.step[STEP_SHORTEN] = p.gradient_clip > 0 && norm > p.gradient_clip ? p.gradient_clip / norm : 1;
    }
    __syncthreads();
    if (outcome == RUNNING) {
        move(p, base, memory);
        if (memory.worst < TOTAL)
            outcome = LOST_PARAMETER;
    }
    if (outcome != RUNNING)
#pragma unroll 1
        for (int i = threadIdx.x; i < TOTAL; i += LEARN_THREADS)
            p.parameters[base + i] = p.good[base + i];
    if (threadIdx.x == 0) {
        p.outcome[2 * replica] = outcome;
        p.outcome[2 * replica + 1] = memory.worst;
        p.update[(1 - p.parity) * p.replicas + replica] = outcome == RUNNING ? done + 1 : done;
        if (outcome == RUNNING)
            count(p, replica, f, loss, singular, memory);
    }
    __syncthreads();
    return true;
}

INLINE double *find_work(const learn_problem &p, int replica, learn_memory &memory)
{
#if WORK_SHARED
    return memory.work;
#else
    return p.work + (size_t)replica * WORK;
#endif
}

// After parameters, counters and data were set: weights and windows of the next update.
extern "C" __global__ void __launch_bounds__(LEARN_THREADS) prepare(const __grid_constant__ learn_problem p)
{
    extern __shared__ __align__(16) unsigned char bytes[];
    learn_memory &memory = *reinterpret_cast<learn_memory *>(bytes);
    const int replica = blockIdx.x;
    if (replica >= p.replicas) {
        if (p.draws)
            draw_windows(p, replica - p.replicas, gridDim.x - p.replicas, 1);
        return;
    }
    if (threadIdx.x < FACTS) // those that the sequential solver does not write
        p.facts[(size_t)replica * FACTS + threadIdx.x] = threadIdx.x == FACT_CONVERGED ? 1 : 0;
    if (threadIdx.x == 0)
        p.arrived[replica] = 0;
    make_pack(p, replica, find_work(p, replica, memory), memory);
}

extern "C" __global__ void __launch_bounds__(LEARN_THREADS) update(const __grid_constant__ learn_problem p)
{
    extern __shared__ __align__(16) unsigned char bytes[];
    learn_memory &memory = *reinterpret_cast<learn_memory *>(bytes);
    const int replica = blockIdx.x;
    if (replica >= p.replicas) {
        if (p.draws)
            draw_windows(p, replica - p.replicas, gridDim.x - p.replicas, 2);
        return;
    }
    double *work = find_work(p, replica, memory);
    const unsigned done = p.update[p.parity * p.replicas + replica];
    const bool idle = p.outcome[2 * replica] != RUNNING || done >= p.updates;
    if (threadIdx.x == 0)
        p.arrived[replica] = 0;
    if (!p.steps) {
        find_gradient(p, replica, work, memory);
        return;
    }
    if (idle) {
        if (threadIdx.x == 0)
            p.update[(1 - p.parity) * p.replicas + replica] = done;
        return;
    }
    if (advance(p, replica, done, work, memory))
        make_pack(p, replica, work, memory);
}

// What the host has to know of this variant: bytes of shared memory, doubles of p.work, parameters.
extern "C" __device__ const int update_facts[] = {(int)sizeof(learn_memory), WORK_SHARED ? 0 : WORK, TOTAL};
