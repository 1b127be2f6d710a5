// orbit.cuh - the kernels `orbits` and `tangents`: free runs of a model in double, one block per orbit, and
// tangent vectors along one orbit, for every kind.
//
// A kind's source (orbit.cu, mamba2_orbit.cu) includes this after it has defined
//
//     NUMBERS               numbers of the recurrent state, as in model/runner.h
//     struct parameters     as packed by its host file
//     struct orbit_shared   a block's shared memory, doubles only; `state` (NUMBERS): the recurrent state
//     force(p, r, x)        sets the state to a row of data: warm-up (spec 2).  x: (N)
//     step(p, r, s)         a free step of the state.  s: (K)
//     observe(p, r, n)      observation n of the state, by one thread
//     SCRATCH               further doubles that push_tangents needs
//     push_tangents(p, r, scratch, vectors)
//                           multiplies the tangent vectors by the Jacobian of the step just taken, in place;
//                           warp w has vectors w, w + WARPS, ...  vectors: (COUNT, NUMBERS)
//
// All threads of a block call these.  force and step end with a barrier.
//
// Macros from the host: N, K: observed variables and inputs; THREADS: of a block; COUNT: tangent vectors; 0:
// a program for orbits.
// alone: never (the including source defines the functions named above)
#ifndef ANT_ORBIT_CUH
#define ANT_ORBIT_CUH

#include "abi.h"

// For the host: abi.h.
extern "C" __device__ const orbit_variant orbit_facts = {(int)sizeof(parameters), (int)sizeof(orbit_shared),
                                                         (int)((SCRATCH) * sizeof(double))};

#if COUNT == 0

// Orbit blockIdx.x: `rows` rows of warm-up, or from its state when rows is 0, then `steps` free steps.  x:
// (orbits, rows, N); s: (orbits, rows + steps, K); from: (orbits, NUMBERS); xhat: (orbits, steps, N); states:
// (orbits, steps, width), the first numbers of each, or NULL; last: (orbits, NUMBERS); finite: (orbits), the
// steps before the first whose state is not finite.  from and last may be the same.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    orbits(const parameters *__restrict__ p, unsigned rows, unsigned steps, unsigned width, const double *x,
           const double *s, const double *from, double *xhat, double *states, double *last, unsigned *finite)
{
    DYNAMIC_BYTES;
    __shared__ unsigned good;
    orbit_shared &r = *reinterpret_cast<orbit_shared *>(bytes);
    const size_t orbit = blockIdx.x;
    unsigned own_good = steps; // of the numbers that this thread checks
    x += orbit * rows * N;
    s += orbit * (rows + steps) * K;
    for (int i = threadIdx.x; i < NUMBERS; i += THREADS)
        r.state[i] = rows == 0 ? from[orbit * NUMBERS + i] : 0.0;
    if (threadIdx.x == 0)
        good = steps;
    __syncthreads();
    if (rows > 0)
        force(p, r, x);
    for (unsigned t = 1; t < rows; t++) {
        step(p, r, s + (size_t)t * K);
        force(p, r, x + (size_t)t * N);
    }
    for (unsigned t = 0; t < steps; t++) {
        step(p, r, s + (size_t)(rows + t) * K);
        const size_t row = orbit * steps + t;
        for (int n = threadIdx.x; n < N; n += THREADS)
            xhat[row * N + n] = observe(p, r, n);
        for (int i = threadIdx.x; i < NUMBERS; i += THREADS) {
            if (!is_finite(r.state[i]))
                own_good = min(own_good, t);
            if (i < width)
                states[row * width + i] = r.state[i];
        }
    }
    for (int i = threadIdx.x; i < NUMBERS; i += THREADS)
        last[orbit * NUMBERS + i] = r.state[i];
    if (own_good < steps)
        atomicMin(&good, own_good);
    __syncthreads();
    if (threadIdx.x == 0)
        finite[orbit] = good;
}

#else

#include "qr.cuh"

// Whether the state is beyond the limit, or not finite; the same on all threads.
static __device__ bool diverged(const parameters *__restrict__ p, const orbit_shared &r, double limit)
{
    bool bad = false;
    for (int n = threadIdx.x; n < N; n += THREADS)
        bad = bad || !(fabs(observe(p, r, n)) <= limit); // also NaN
    for (int i = threadIdx.x; i < NUMBERS; i += THREADS)
        bad = bad || !is_finite(r.state[i]);
    return __syncthreads_or(bad) != 0;
}

// `steps` more steps of an orbit with its tangent vectors, by one block.  state: (NUMBERS) and vectors:
// (COUNT, NUMBERS), both updated; s: (steps, K), of these steps; logs: (events after the transient, COUNT).
// vectors_shared: the vectors fit into shared memory; scratch: SCRATCH doubles, or NULL: they fit there as
// well.  Steps are counted from the start of the transient.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    tangents(const parameters *__restrict__ p, unsigned steps, unsigned transient, unsigned all,
             unsigned interval, double limit, const double *s, double *state, double *vectors,
             unsigned vectors_shared, double *scratch, double *logs, orbit_progress *progress)
{
    DYNAMIC_BYTES;
    __shared__ double reflector[COUNT][2];
    orbit_shared &r = *reinterpret_cast<orbit_shared *>(bytes);
    double *after_shared = reinterpret_cast<double *>(bytes + sizeof(orbit_shared));
    double *rows = vectors_shared ? after_shared : vectors;
    if (scratch == nullptr)
        scratch = vectors_shared ? after_shared + (size_t)COUNT * NUMBERS : after_shared;
    orbit_progress at = *progress;
    for (int i = threadIdx.x; i < NUMBERS; i += THREADS)
        r.state[i] = state[i];
    for (int i = threadIdx.x; vectors_shared && i < COUNT * NUMBERS; i += THREADS)
        rows[i] = vectors[i];
    __syncthreads();
    for (unsigned t = 0; t < steps && at.bad == 0; t++) {
        step(p, r, s + (size_t)t * K);
        const bool bad = diverged(p, r, limit);
        push_tangents(p, r, scratch, rows);
        __syncthreads();
        at.done++;
        at.pending++;
        at.bad = bad ? at.done : 0;
        if (at.pending >= interval || at.done == transient || at.done == all) {
            const bool counts = at.done > transient;
            orthonormalise(rows, reflector, counts ? logs + (size_t)at.events * COUNT : nullptr);
            at.events += counts;
            at.pending = 0;
        }
    }
    for (int i = threadIdx.x; i < NUMBERS; i += THREADS)
        state[i] = r.state[i];
    for (int i = threadIdx.x; vectors_shared && i < COUNT * NUMBERS; i += THREADS)
        vectors[i] = rows[i];
    if (threadIdx.x == 0)
        *progress = at;
}

#endif

#endif
