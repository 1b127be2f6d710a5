// update_kernels.cuh - the kernels `prepare` and `update` of every kind of model (spec 6): regularised
// gradient, clipping, step, divergence, counters, and then the weights and windows of the next update.
//
// The first p.replicas blocks have one replica each; the blocks beyond them draw windows.  Replicas are
// independent, so a run gives the same result alone and among others.  Orders of summation are fixed: the
// same seed gives the same bytes.
//
// The time of a block is latency.  So it prefetches all that it needs at once (PREFETCHED), and its warps
// have roles.  The last warp, with SIDE_WARP, has the parameters from LATE_PARAMETERS on, whose gradient
// takes longer.  The warp before it, the control warp, computes learning rate, norm, outcome and counters.
// All others have the parameters before LATE_PARAMETERS.
//
// The kind's file includes this last.  It defines the macros of update_args.cuh, LATE_PARAMETERS (TOTAL
// without SIDE_WARP) and these, called by all threads of the block unless another caller is named:
//
//     make_weights(p, replica, memory)      p.weights and p.kept, from block_theta
//     model_gradient                        struct with what the next ones need, the same on all threads
//     begin_gradient(p, replica, scratch, memory)
//                                           makes it and prefetches; it may use `scratch` until the gradient
//                                           is found
//     find_scales(p, scale)                 control warp: memory.scale, up to four numbers for regularisers
//     find_late_gradient(p, gradient)       side warp: what the gradient from LATE_PARAMETERS on needs
//     gradient_at(p, gradient, i)           dloss / d parameter i
//     penalty_at(p, gradient, i, sum)       slope of the regularisers at parameter i; their values are added
//                                           to sum
//     penalise_more(p, gradient, sum)       adds terms of no single parameter, each on one thread
//     singular_term(p, gradient)            the term on the singular values
// alone: never (the including source defines the functions named above)
#ifndef ANT_UPDATE_KERNELS_CUH
#define ANT_UPDATE_KERNELS_CUH

#include "windows.cuh"

enum { STEP_FIRST, STEP_SECOND, STEP_ADAPTIVE, STEP_LR, STEP_SHORTEN };

#define PARAMETER_THREADS (UPDATE_THREADS - 32 - 32 * SIDE_WARP)

INLINE bool is_control_warp()
{
    return threadIdx.x / 32 == PARAMETER_THREADS / 32;
}

// ant_step_make of train/optimiser.c without the clipping, by the control warp: lanes compute divisions and
// powers side by side.  First what does not depend on the number of updates, which is still being loaded.
INLINE double prepare_step(const update_args &p)
{
    const int lane = threadIdx.x % 32;
    const double more = p.updates > 1 ? (double)p.updates - 1 : 1;
    return (lane == 0   ? 1
            : lane == 1 ? 2
                        : p.end_lr) /
           (lane == 0   ? more
            : lane == 1 ? 1 - p.beta2
                        : p.start_lr);
}

INLINE void plan_step(const update_args &p, double number, double quotients, double *step)
{
    const int lane = threadIdx.x % 32;
    const double done = (number - 1) * __shfl_sync(ALL_LANES, quotients, 0);
    const double power = pow(lane == 0 ? p.beta1 : lane == 1 ? p.beta2 : quotients, lane < 2 ? number : done);
    const double lr = p.schedule == SCHEDULE_COSINE
                          ? p.end_lr + 0.5 * (p.start_lr - p.end_lr) * (1 + cospi(done))
                      : p.schedule == SCHEDULE_EXPONENTIAL ? p.start_lr * __shfl_sync(ALL_LANES, power, 2)
                                                           : p.start_lr;
    const double power1 = __shfl_sync(ALL_LANES, power, 0), power2 = __shfl_sync(ALL_LANES, power, 1);
    const double quotient = (lane == 0   ? lr
                             : lane == 1 ? 1
                                         : 2 * number * power2) /
                            (1 - (lane == 0 ? power1 : power2));
    double first = __shfl_sync(ALL_LANES, quotient, 0);
    bool adaptive = true;
    if (!p.adam) {
        const double limit = __shfl_sync(ALL_LANES, quotients, 1) - 1,
                     length = limit - __shfl_sync(ALL_LANES, quotient, 2);
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

INLINE share own_share()
{
    const int thread = threadIdx.x;
    if (thread < PARAMETER_THREADS)
        return {thread, LATE_PARAMETERS, PARAMETER_THREADS};
    return thread < PARAMETER_THREADS + 32 ? share{TOTAL, TOTAL, 32}
                                           : share{LATE_PARAMETERS + thread % 32, TOTAL, 32};
}

// Gradient and regularisers: p.raw and p.gradient.  Leaves the warps' sums for update_result in memory.sum.
INLINE void find_gradient(const update_args &p, size_t base, const model_gradient &g, update_shared &memory)
{
    real *gradient = PREFETCHED ? memory.gradient : p.gradient + base;
    double squares = 0, unusable = 0;
    terms sum = {0, 0};
    if (in_side_warp())
        find_late_gradient(p, g);
    for_entries(
        own_share(), [&](int i) { return (real)gradient_at(p, g, i); },
        [&](int i, real raw) {
            const real all = (real)((double)raw + penalty_at(p, g, i, sum));
            p.raw[base + i] = raw;
            p.gradient[base + i] = all;
            gradient[i] = all;
            squares += (double)all * (double)all;
            unusable += is_finite(raw) ? 0 : 1;
        });
    penalise_more(p, g, sum);
    const double value[4] = {squares, sum.mar, sum.readout, unusable};
    store_warp_sums(memory, value);
}

struct update_result { // on the lanes of the control warp
    double loss, mar, readout, singular, norm;
};

// Norm and outcome of the gradient: memory.outcome, and the factor by which clipping shortens the gradient.
INLINE update_result check_gradient(const update_args &p, double loss, double singular, update_shared &memory)
{
    double sum[4];
    read_sums(memory, sum);
    const double norm = sqrt(sum[0]);
    if (threadIdx.x % 32 == 0) {
        memory.outcome = !finite_64(loss)       ? OUTCOME_LOSS
                         : sum[3] > 0           ? OUTCOME_GRADIENT
                         : !finite_64(sum[1])   ? OUTCOME_MAR
                         : !finite_64(sum[2])   ? OUTCOME_READOUT
                         : !finite_64(singular) ? OUTCOME_SINGULAR
                         : !finite_64(norm)     ? OUTCOME_NORM
                                                : OUTCOME_RUNNING;
        memory.step[STEP_SHORTEN] =
            p.gradient_clip > 0 && norm > p.gradient_clip ? p.gradient_clip / norm : 1;
    }
    return {loss, sum[1], sum[2], singular, norm};
}

struct parameter_state { // of one parameter, before a step
    double gradient, m, v;
    real value;
};

// Step the parameters; memory.worst becomes the first one beyond the limit, if any.
INLINE void step_parameters(const update_args &p, size_t base, real *theta, update_shared &memory)
{
    const real *gradient = PREFETCHED ? memory.gradient : p.gradient + base;
    const double *m_before = PREFETCHED ? memory.m : p.m + base,
                 *v_before = PREFETCHED ? memory.v : p.v + base;
    const double first = memory.step[STEP_FIRST], second = memory.step[STEP_SECOND],
                 shorten = memory.step[STEP_SHORTEN];
    const bool adaptive = memory.step[STEP_ADAPTIVE] != 0;
    for_entries(
        own_share(),
        [&](int i) {
            return parameter_state{(double)gradient[i], m_before[i], v_before[i], theta[i]};
        },
        [&](int i, const parameter_state &before) {
            const double g = shorten * before.gradient;
            const double m = p.beta1 * before.m + (1 - p.beta1) * g;
            const double v = p.beta2 * before.v + (1 - p.beta2) * g * g;
            const double scale = adaptive ? sqrt(v * second) + p.epsilon : 1;
            const real after = (real)((double)before.value - first * m / scale);
            p.good[base + i] = before.value;
            p.m[base + i] = m;
            p.v[base + i] = v;
            p.parameters[base + i] = after;
            theta[i] = after;
            if (!(fabs((double)after) <= p.limit))
                atomicMin(&memory.worst, i);
        });
}

// Outcome, counters and sums of one update, by one thread.
INLINE void store_counters(const update_args &p, int replica, unsigned done, int outcome,
                           const update_result &f, const update_shared &memory)
{
    p.outcome[2 * replica] = outcome;
    p.outcome[2 * replica + 1] = memory.worst;
    p.update[(1 - p.parity) * p.replicas + replica] = outcome == OUTCOME_RUNNING ? done + 1 : done;
    if (outcome != OUTCOME_RUNNING)
        return;
    double *tally = p.tally + (size_t)replica * TALLY;
    const double *facts = p.facts + (size_t)replica * FACTS;
    tally[TALLY_UPDATES] += 1;
    tally[TALLY_LOSS] += f.loss;
    tally[TALLY_MAR] += f.mar;
    tally[TALLY_READOUT] += f.readout;
    tally[TALLY_SINGULAR] += f.singular;
    tally[TALLY_ITERATIONS] += facts[FACT_ITERATIONS];
    tally[TALLY_FALLBACKS] += facts[FACT_CONVERGED] != 0  ? 0
                              : facts[FACT_FALLBACKS] > 1 ? facts[FACT_FALLBACKS]
                                                          : 1;
    tally[TALLY_LR] = memory.step[STEP_LR];
    tally[TALLY_NORM] = f.norm;
}

// The step of one replica, after its gradient.
INLINE void step_replica(const update_args &p, int replica, unsigned done, double loss,
                         const model_gradient &gradient, update_shared &memory)
{
    const size_t base = (size_t)replica * TOTAL;
    real *theta = block_theta(p, replica, memory);
    copy_wait<0>(); // m and v
    __syncthreads();
    update_result f = {};
    if (is_control_warp())
        f = check_gradient(p, loss, singular_term(p, gradient), memory);
    __syncthreads();
    int outcome = memory.outcome;
    if (outcome == OUTCOME_RUNNING)
        step_parameters(p, base, theta, memory);
    __syncthreads();
    if (memory.worst < TOTAL)
        outcome = OUTCOME_PARAMETER;
    if (outcome != OUTCOME_RUNNING) {
#pragma unroll 1
        for (int i = threadIdx.x; i < TOTAL; i += UPDATE_THREADS)
            p.parameters[base + i] = theta[i] = p.good[base + i];
        __syncthreads();
    }
    if (threadIdx.x == PARAMETER_THREADS) // first lane of the control warp; the others go on to the weights
        store_counters(p, replica, done, outcome, f, memory);
}

// After the host has set parameters, counters and data: weights and windows of the next update.
extern "C" __global__ void __launch_bounds__(UPDATE_THREADS) prepare(const __grid_constant__ update_args p)
{
    DYNAMIC_BYTES;
    update_shared &memory = *reinterpret_cast<update_shared *>(bytes);
    const int replica = blockIdx.x;
    if (replica >= p.replicas) {
        if (p.draws)
            draw_windows(p, replica - p.replicas, gridDim.x - p.replicas, 1);
        return;
    }
    if (threadIdx.x < FACTS) // some passes do not write all of them
        p.facts[(size_t)replica * FACTS + threadIdx.x] = threadIdx.x == FACT_CONVERGED ? 1 : 0;
    if (threadIdx.x < BARRIER_WORDS)
        p.arrived[replica * BARRIER_WORDS + threadIdx.x] = 0;
    if (threadIdx.x == 0)
        memory.next = p.update[p.parity * p.replicas + replica];
    prefetch<TOTAL>(memory.theta, p.parameters + (size_t)replica * TOTAL);
    copy_commit();
    copy_wait<0>();
    __syncthreads();
    make_weights(p, replica, memory);
}

// Prefetch the parameters, in one group with earlier prefetches, and then what only the step needs.
INLINE void prefetch_state(const update_args &p, size_t base, update_shared &memory)
{
    prefetch<TOTAL>(memory.theta, p.parameters + base);
    copy_commit();
    if (p.steps) {
        prefetch<TOTAL>(memory.m, p.m + base);
        prefetch<TOTAL>(memory.v, p.v + base);
    }
    copy_commit();
}

extern "C" __global__ void __launch_bounds__(UPDATE_THREADS) update(const __grid_constant__ update_args p)
{
    DYNAMIC_BYTES;
    update_shared &memory = *reinterpret_cast<update_shared *>(bytes);
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
    const model_gradient gradient = begin_gradient(p, replica, block_scratch(p, replica, memory), memory);
    prefetch_state(p, base, memory);
    if (threadIdx.x < BARRIER_WORDS)
        p.arrived[replica * BARRIER_WORDS + threadIdx.x] = 0;
    if (threadIdx.x == 0) {
        memory.worst = TOTAL;
        memory.next = done + 1;
    }
    double quotients = 0;
    if (is_control_warp()) {
        find_scales(p, memory.scale);
        quotients = prepare_step(p);
    }
    copy_wait<1>();
    __syncthreads();
    const bool idle = before != OUTCOME_RUNNING || done >= p.updates;
    if (idle && p.steps) {
        copy_wait<0>();
        if (threadIdx.x == 0)
            p.update[(1 - p.parity) * p.replicas + replica] = done;
        return;
    }
    if (is_control_warp() && p.steps) // while the others find the gradient
        plan_step(p, (double)done + 1, quotients, memory.step);
    find_gradient(p, base, gradient, memory);
    if (p.steps) {
        step_replica(p, replica, done, loss, gradient, memory);
        make_weights(p, replica, memory);
    }
}

// For the host: abi.h.
extern "C" __device__ const update_variant update_facts = {
    (int)sizeof(update_shared), SCRATCH_SHARED ? 0 : SCRATCH, KEPT, TOTAL, (int)sizeof(update_args)};

#endif
