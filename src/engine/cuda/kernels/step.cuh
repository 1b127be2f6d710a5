// step.cuh - the kernels `prepare` and `update` of every kind of model (SPEC 6): regularised gradient, clipping, step,
// divergence, counters, and then the weights and windows of the next update.
//
// The first p.replicas blocks have one replica each; the blocks beyond them draw windows.  Replicas never meet, so a
// run does the same alone and among others.  Orders of summation are fixed: the same seed gives the same bytes.
//
// One block is all latency.  What it needs is asked for at once (HELD), and its warps have roles: the last one, with SIDE, has the parameters from LATE
// on, whose gradient takes longer to find; the one before it plans the step; all others, the crowd, have the parameters before LATE.
//
// The kind's file includes this last.  It gives the macros of learn.cuh and LATE (TOTAL without SIDE) and, called by all threads of the
// block except for find_late:
//     make_weights(p, replica)                 what its pass reads, from near_theta: p.weights, p.kept
//     model_gradient                           a struct with what the next ones need, the same on all threads
//     open_gradient(p, replica, work, memory)  makes it, and fetches what it names; `work` is its own until the gradient is found
//     find_late(p, gradient)                   by the side: what the gradient from LATE on needs; waits for the side
//     gradient_at(p, gradient, i)              dloss / d parameter i
//     penalty_at(p, gradient, i, sum)          slope of the regularisers at parameter i; adds their values to `sum`
//     penalise_more(p, gradient, sum)          adds terms that belong to no one parameter, each on one thread
//     singular_term(p, gradient)               the term on the singular values
#ifndef ANT_STEP_CUH
#define ANT_STEP_CUH

#include "windows.cuh"

enum { STEP_FIRST, STEP_SECOND, STEP_ADAPTIVE, STEP_LR };

#define CROWD     (LEARN_THREADS - 32 - 32 * SIDE)
#define PLAN_WARP (CROWD / 32)

// As ant_step_make of train/optimiser.c, without the clipping, by one warp: lanes have divisions and powers side by side.  First
// what needs no count of updates, so that it is done when that arrives.
INLINE double plan_ahead(const learn_problem &p)
{
    const int lane = threadIdx.x % 32;
    const double more = p.updates > 1 ? (double)p.updates - 1 : 1;
    return (lane == 0 ? 1 : lane == 1 ? 2 : p.end_lr) / (lane == 0 ? more : lane == 1 ? 1 - p.beta2 : p.start_lr);
}

INLINE void plan_step(const learn_problem &p, double number, double ahead, double *step)
{
    const int lane = threadIdx.x % 32;
    const double done = (number - 1) * __shfl_sync(ALL_LANES, ahead, 0);
    const double power = pow(lane == 0 ? p.beta1 : lane == 1 ? p.beta2 : ahead, lane < 2 ? number : done);
    const double lr = p.schedule == 0   ? p.end_lr + 0.5 * (p.start_lr - p.end_lr) * (1 + cospi(done))
                      : p.schedule == 1 ? p.start_lr * __shfl_sync(ALL_LANES, power, 2)
                                        : p.start_lr;
    const double power1 = __shfl_sync(ALL_LANES, power, 0), power2 = __shfl_sync(ALL_LANES, power, 1);
    const double quotient = (lane == 0 ? lr : lane == 1 ? 1 : 2 * number * power2) / (1 - (lane == 0 ? power1 : power2));
    double first = __shfl_sync(ALL_LANES, quotient, 0);
    bool adaptive = true;
    if (!p.adam) {
        const double limit = __shfl_sync(ALL_LANES, ahead, 1) - 1, length = limit - __shfl_sync(ALL_LANES, quotient, 2);
        adaptive = length > 5;
        if (adaptive)
            first *= sqrt((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length));
    }
    if (lane == 1) {
        step[STEP_FIRST] = first;
        step[STEP_SECOND] = quotient;
        step[STEP_ADAPTIVE] = adaptive;
        step[STEP_LR] = lr;
    }
}

INLINE bool finite_64(double a)
{
    return a - a == 0;
}

struct found { // by the gradient, the same on all threads
    double squares, mar, readout, unusable;
};

struct share { // of the parameters: first, first + step, ... below last
    int first, last, step;
};

INLINE share own_share()
{
    const int thread = threadIdx.x;
    if (thread < CROWD)
        return {thread, LATE, CROWD};
    return thread < CROWD + 32 ? share{TOTAL, TOTAL, 32} : share{LATE + thread % 32, TOTAL, 32};
}

// Gradient and regularisers: p.raw and p.gradient.
INLINE found find_gradient(const learn_problem &p, size_t base, const model_gradient &g, learn_memory &memory)
{
    real *gradient = HELD ? memory.gradient : p.gradient + base;
    double squares = 0, unusable = 0;
    terms sum = {0, 0};
    if (on_side())
        find_late(p, g);
    const share own = own_share();
#pragma unroll 1
    for (int i = own.first; i < own.last; i += own.step) {
        const real raw = (real)gradient_at(p, g, i);
        const real all = (real)((double)raw + penalty_at(p, g, i, sum));
        p.raw[base + i] = raw;
        p.gradient[base + i] = all;
        gradient[i] = all;
        squares += (double)all * (double)all;
        unusable += is_finite(raw) ? 0 : 1;
    }
    penalise_more(p, g, sum);
    double total[4] = {squares, sum.mar, sum.readout, unusable};
    copy_wait<0>(); // m and v
    block_sum(memory, total);
    return {total[0], total[1], total[2], total[3]};
}

INLINE int judge(const found &f, double norm, double loss, double singular)
{
    return !finite_64(loss)        ? LOST_LOSS
           : f.unusable > 0        ? LOST_GRADIENT
           : !finite_64(f.mar)     ? LOST_MAR
           : !finite_64(f.readout) ? LOST_READOUT
           : !finite_64(singular)  ? LOST_SINGULAR
           : !finite_64(norm)      ? LOST_NORM
                                   : RUNNING;
}

// Move the parameters; memory.worst becomes the first that is beyond the limit, if any.
INLINE void move(const learn_problem &p, size_t base, double shorten, real *theta, learn_memory &memory)
{
    const real *gradient = HELD ? memory.gradient : p.gradient + base;
    const double *m_before = HELD ? memory.m : p.m + base, *v_before = HELD ? memory.v : p.v + base;
    const double first = memory.step[STEP_FIRST], second = memory.step[STEP_SECOND];
    const bool adaptive = memory.step[STEP_ADAPTIVE] != 0;
    const share own = own_share();
#pragma unroll 1
    for (int i = own.first; i < own.last; i += own.step) {
        const real before = theta[i];
        const double g = shorten * (double)gradient[i];
        const double m = p.beta1 * m_before[i] + (1 - p.beta1) * g;
        const double v = p.beta2 * v_before[i] + (1 - p.beta2) * g * g;
        const double scale = adaptive ? sqrt(v * second) + p.epsilon : 1;
        const real after = (real)((double)before - first * m / scale);
        p.good[base + i] = before;
        p.m[base + i] = m;
        p.v[base + i] = v;
        p.parameters[base + i] = after;
        theta[i] = after;
        if (!(fabs((double)after) <= p.limit))
            atomicMin(&memory.worst, i);
    }
}

// By one thread.
INLINE void count(const learn_problem &p, int replica, const found &f, double norm, double loss, double singular, const learn_memory &memory)
{
    double *tally = p.tally + (size_t)replica * TALLY;
    const double *facts = p.facts + (size_t)replica * FACTS;
    tally[TALLY_UPDATES] += 1;
    tally[TALLY_LOSS] += loss;
    tally[TALLY_MAR] += f.mar;
    tally[TALLY_READOUT] += f.readout;
    tally[TALLY_SINGULAR] += singular;
    tally[TALLY_ITERATIONS] += facts[FACT_ITERATIONS];
    tally[TALLY_FALLBACKS] += facts[FACT_CONVERGED] != 0 ? 0 : facts[FACT_FALLBACKS] > 1 ? facts[FACT_FALLBACKS] : 1;
    tally[TALLY_LR] = memory.step[STEP_LR];
    tally[TALLY_NORM] = norm;
}

// One update of one replica.
INLINE void advance(const learn_problem &p, int replica, unsigned done, double ahead, double loss, const model_gradient &gradient, learn_memory &memory)
{
    const size_t base = (size_t)replica * TOTAL;
    real *theta = near_theta(p, replica, memory);
    if (threadIdx.x / 32 == PLAN_WARP) // beside the gradient
        plan_step(p, (double)done + 1, ahead, memory.step);
    const found f = find_gradient(p, base, gradient, memory);
    const double norm = sqrt(f.squares), singular = singular_term(p, gradient);
    int outcome = judge(f, norm, loss, singular);
    if (outcome == RUNNING)
        move(p, base, p.gradient_clip > 0 && norm > p.gradient_clip ? p.gradient_clip / norm : 1, theta, memory);
    __syncthreads();
    if (memory.worst < TOTAL)
        outcome = LOST_PARAMETER;
    if (outcome != RUNNING) {
#pragma unroll 1
        for (int i = threadIdx.x; i < TOTAL; i += LEARN_THREADS)
            p.parameters[base + i] = theta[i] = p.good[base + i];
        __syncthreads();
    }
    if (threadIdx.x == CROWD) { // beside the weights
        p.outcome[2 * replica] = outcome;
        p.outcome[2 * replica + 1] = memory.worst;
        p.update[(1 - p.parity) * p.replicas + replica] = outcome == RUNNING ? done + 1 : done;
        if (outcome == RUNNING)
            count(p, replica, f, norm, loss, singular, memory);
    }
}

// After parameters, counters and data were set: weights and windows of the next update.
extern "C" __global__ void __launch_bounds__(LEARN_THREADS) prepare(const __grid_constant__ learn_problem p)
{
    learn_memory &memory = own_memory();
    const int replica = blockIdx.x;
    if (replica >= p.replicas) {
        if (p.draws)
            draw_windows(p, replica - p.replicas, gridDim.x - p.replicas, 1);
        return;
    }
    if (threadIdx.x < FACTS) // those that the sequential solver does not write
        p.facts[(size_t)replica * FACTS + threadIdx.x] = threadIdx.x == FACT_CONVERGED ? 1 : 0;
    if (threadIdx.x < MEETING_WORDS)
        p.arrived[replica * MEETING_WORDS + threadIdx.x] = 0;
    fetch(memory.theta, p.parameters + (size_t)replica * TOTAL, TOTAL);
    copy_commit();
    copy_wait<0>();
    __syncthreads();
    make_weights(p, replica);
}

extern "C" __global__ void __launch_bounds__(LEARN_THREADS) update(const __grid_constant__ learn_problem p)
{
    learn_memory &memory = own_memory();
    const int replica = blockIdx.x;
    if (replica >= p.replicas) {
        if (p.draws)
            draw_windows(p, replica - p.replicas, gridDim.x - p.replicas, 2);
        return;
    }
    const size_t base = (size_t)replica * TOTAL;
    const unsigned done = p.update[p.parity * p.replicas + replica];
    const int before = p.outcome[2 * replica];
    const double loss = p.facts[(size_t)replica * FACTS + FACT_LOSS];
    fetch(memory.theta, p.parameters + base, TOTAL);
    const model_gradient gradient = open_gradient(p, replica, find_work(p, replica, memory), memory);
    copy_commit();
    if (p.steps) {
        fetch(memory.m, p.m + base, TOTAL);
        fetch(memory.v, p.v + base, TOTAL);
    }
    copy_commit();
    if (threadIdx.x < MEETING_WORDS)
        p.arrived[replica * MEETING_WORDS + threadIdx.x] = 0;
    if (threadIdx.x == 0)
        memory.worst = TOTAL;
    const double ahead = plan_ahead(p);
    copy_wait<1>();
    __syncthreads();
    const bool idle = before != RUNNING || done >= p.updates;
    if (!p.steps) {
        find_gradient(p, base, gradient, memory);
    } else if (!idle) {
        advance(p, replica, done, ahead, loss, gradient, memory);
        make_weights(p, replica);
    } else {
        copy_wait<0>();
        if (threadIdx.x == 0)
            p.update[(1 - p.parity) * p.replicas + replica] = done;
    }
}

// What the host has to know of this variant: bytes of shared memory, doubles of p.work and p.kept; and what it compares
// with its own: parameters, bytes of the problem.
extern "C" __device__ const int update_facts[] = {(int)sizeof(learn_memory), WORK_SHARED ? 0 : WORK, KEPT, TOTAL,
                                                  (int)sizeof(learn_problem)};

#endif
