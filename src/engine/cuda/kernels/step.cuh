// step.cuh - the kernels `prepare` and `update` of every kind of model (SPEC 6): regularised gradient, clipping, step,
// divergence, counters, and then the weights and windows of the next update.
//
// The first p.replicas blocks have one replica each; the blocks beyond them draw windows.  Replicas never meet, so a
// run does the same alone and among others.  Orders of summation are fixed: the same seed gives the same bytes.
//
// The kind's file includes this last.  It gives the macros of learn.cuh and, each called by all threads of the block:
//     make_weights(p, replica, work, memory)   what its pass reads, from the parameters: p.weights, p.kept
//     model_gradient                           a struct with what the next ones need, the same on all threads
//     open_gradient(p, replica, work)          makes it; may use `work`, which stays as it is until the gradient is found
//     gradient_at(p, gradient, i)              dloss / d parameter i
//     penalty_at(p, gradient, i, sum)          slope of the regularisers at parameter i; adds their values to `sum`
//     penalise_more(p, gradient, sum)          adds terms that belong to no one parameter, each on one thread
//     singular_term(p, replica)                the term on the singular values
#ifndef ANT_STEP_CUH
#define ANT_STEP_CUH

#include "windows.cuh"

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
    const model_gradient g = open_gradient(p, replica, work);
    double squares = 0, unusable = 0;
    terms sum = {0, 0};
#pragma unroll 1
    for (int i = threadIdx.x; i < TOTAL; i += LEARN_THREADS) {
        const real raw = (real)gradient_at(p, g, i);
        const real all = (real)((double)raw + penalty_at(p, g, i, sum));
        p.raw[base + i] = raw;
        p.gradient[base + i] = all;
        squares += (double)all * (double)all;
        unusable += is_finite(raw) ? 0 : 1;
    }
    penalise_more(p, g, sum);
    double total[4] = {squares, sum.mar, sum.readout, unusable};
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
    tally[TALLY_FALLBACKS] += facts[FACT_CONVERGED] != 0 ? 0 : facts[FACT_FALLBACKS] > 1 ? facts[FACT_FALLBACKS] : 1;
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
    const double singular = singular_term(p, replica);
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
    DYNAMIC_BYTES;
    learn_memory &memory = *reinterpret_cast<learn_memory *>(bytes);
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
    make_weights(p, replica, find_work(p, replica, memory), memory);
}

extern "C" __global__ void __launch_bounds__(LEARN_THREADS) update(const __grid_constant__ learn_problem p)
{
    DYNAMIC_BYTES;
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
    if (threadIdx.x < MEETING_WORDS)
        p.arrived[replica * MEETING_WORDS + threadIdx.x] = 0;
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
        make_weights(p, replica, work, memory);
}

// What the host has to know of this variant: bytes of shared memory, doubles of p.work and p.kept; and what it compares
// with its own: parameters, bytes of the problem.
extern "C" __device__ const int update_facts[] = {(int)sizeof(learn_memory), WORK_SHARED ? 0 : WORK, KEPT, TOTAL,
                                                  (int)sizeof(learn_problem)};

#endif
