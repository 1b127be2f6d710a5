// strength.cu - the strength of forcing of all replicas, estimated from the Jacobians at the teacher states
// of the windows of their next update (spec 10, adaptive alpha), in double.
//
// One launch comes before the pass of every update; a replica whose next update has no estimate is left as it
// is.  A warp takes a segment of rows of one sequence and carries J = diag A + W diag(phi') V from row to
// row: it changes by the units that switch, and only then its norm or logarithm is found again.  A segment
// leaves WIDTH sums.  The last block of a sequence adds them in fixed order and finds the norm of the
// sequence; the last sequence of a replica makes the strength, and the weights that depend on it.
//
// An incomplete row has no teacher state and is left out (spec 12).
//
// Macros from the host: those of theta.cuh; METHOD (ALPHA_... of abi.h).
//
// variant: -DREAL_BITS=32 -DM=5 -DN=5 -DL=250 -DK=0 -DCLIPPED=1 -DRANK=0 -DUPDATE_THREADS=128 -DMETHOD=1 -DFORCING=1
// variant: -DREAL_BITS=32 -DM=5 -DN=5 -DL=250 -DK=0 -DCLIPPED=1 -DRANK=0 -DUPDATE_THREADS=128 -DMETHOD=2 -DFORCING=1
// variant: -DREAL_BITS=32 -DM=5 -DN=5 -DL=250 -DK=0 -DCLIPPED=1 -DRANK=0 -DUPDATE_THREADS=128 -DMETHOD=3 -DFORCING=1
// variant: -DREAL_BITS=32 -DM=5 -DN=5 -DL=250 -DK=0 -DCLIPPED=1 -DRANK=0 -DUPDATE_THREADS=128 -DMETHOD=4 -DFORCING=1
// variant: -DREAL_BITS=32 -DM=5 -DN=5 -DL=250 -DK=0 -DCLIPPED=1 -DRANK=0 -DUPDATE_THREADS=128 -DMETHOD=5 -DFORCING=1
// variant: -DREAL_BITS=64 -DM=1 -DN=1 -DL=3 -DK=0 -DCLIPPED=0 -DRANK=1 -DUPDATE_THREADS=128 -DMETHOD=4 -DFORCING=1
// variant: -DREAL_BITS=64 -DM=64 -DN=3 -DL=512 -DK=2 -DCLIPPED=0 -DRANK=0 -DUPDATE_THREADS=128 -DMETHOD=3 -DFORCING=1
// variant: -DREAL_BITS=32 -DM=64 -DN=64 -DL=100 -DK=0 -DCLIPPED=0 -DRANK=0 -DUPDATE_THREADS=128 -DMETHOD=4 -DFORCING=1
// variant: -DREAL_BITS=32 -DM=5 -DN=5 -DL=250 -DK=0 -DCLIPPED=1 -DRANK=0 -DUPDATE_THREADS=128 -DMETHOD=3 -DPATTERNS=1 -DFORCING=1
// spills: estimate (around the calls of divisions and logarithms)
#include "matrix_log.cuh"
#include "project.cuh"

#ifndef METHOD
#error "METHOD is not defined"
#endif

#define WARPS      (UPDATE_THREADS / 32)
#define READS_ROWS (METHOD != ALPHA_JACOBIAN_UPPER_BOUND)

// Doubles that a segment sums: log sigma or the largest sigma, the complex log J, or the slopes phi'.
constexpr int WIDTH = METHOD == ALPHA_EXPLOG ? 2 * M * M : METHOD == ALPHA_ARITHMETIC_MEAN ? L : 1;

// Scratch of one warp, in doubles; offsets are even, because complex numbers are in it.
constexpr int WORK = METHOD != ALPHA_EXPLOG ? NORM_WORK(M) : EXP_WORK > LOG_WORK ? EXP_WORK : LOG_WORK;
constexpr int PLACE_Z = 0;                   // (MP): the teacher state
constexpr int PLACE_MASKS = PLACE_Z + MP;    // (2, UNITS) words: units with V z + b > 0, with V z > 0
constexpr int PLACE_J = PLACE_MASKS + UNITS; // (M, M)
constexpr int PLACE_TERM = PLACE_J + M * M;  // (2, M, M): log J
constexpr int PLACE_SUMS = PLACE_TERM + (METHOD == ALPHA_EXPLOG ? 2 * M * M : 0);
constexpr int PLACE_WORK = (PLACE_SUMS + WIDTH + 1) / 2 * 2;
constexpr int WARP_SCRATCH = (PLACE_WORK + WORK + 1) / 2 * 2;

#define BLOCK_SCRATCH                                                                                        \
    (WARPS * WARP_SCRATCH > SCRATCH_PRODUCT ? WARPS * WARP_SCRATCH : (SCRATCH_PRODUCT + 1) / 2 * 2)
#ifndef SHARED_MOST
#define SHARED_MOST 12000 // doubles of scratch that are in shared memory, which every GPU has
#endif
#define IS_SHARED (BLOCK_SCRATCH <= SHARED_MOST)

struct model { // of one replica
    const real *theta, *pack;
    const double *pinv, *A; // (M, N), (M)
};

INLINE model find_model(const strength_args &p, int replica)
{
    const double *kept = p.kept + (size_t)replica * KEPT;
    return {p.parameters + (size_t)replica * TOTAL, p.weights + (size_t)replica * PACK, kept + KEPT_PINV,
            kept + KEPT_A};
}

INLINE double weight_at(const real *weights, int m, int l) // towards units (shape.cuh)
{
    return (double)weights[m / 4 * 4 * LS + 4 * l + m % 4];
}

// The larger one; NaN stays.
INLINE double larger(double a, double b)
{
    return b > a || b != b ? b : a;
}

// ---- the rows of a segment --------------------------------------------------------------------------------

#if PATTERNS
// x: (N)
INLINE bool is_complete(const real *x)
{
    bool complete = true;
    for (int n = 0; n < N; n++)
        complete = complete && x[n] == x[n]; // not NaN
    return complete;
}

// Complete ones of the rows 1 .. T of x (T+1, N), by one warp.
INLINE int count_complete(const real *x, int T)
{
    int count = 0;
    for (int t = 1 + threadIdx.x % 32; t <= T; t += 32)
        count += is_complete(x + (size_t)t * N);
#pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1)
        count += __shfl_xor_sync(ALL_LANES, count, offset);
    return count;
}
#endif

// z = B+ x; padding is 0.
INLINE void find_teacher(const double *pinv, const real *x, double *z)
{
    __syncwarp();
    for (int m = threadIdx.x % 32; m < MP; m += 32) {
        double sum = 0;
#pragma unroll 4
        for (int n = 0; n < N && m < M; n++)
            sum += pinv[m * N + n] * (double)x[n];
        z[m] = sum;
    }
    __syncwarp();
}

struct slopes { // of 32 hidden units: phi' = on - base
    unsigned on, base;
};

INLINE int slope_of(slopes s, int unit)
{
    return (int)(s.on >> unit & 1) - (int)(s.base >> unit & 1);
}

// Units 32 word .. 32 word + 31; padded ones are off.
INLINE slopes find_slopes(const real *pack, const double *z, int word)
{
    const int l = 32 * word + threadIdx.x % 32;
    double sum = 0;
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
        const real4 v = load4(pack + PACK_V + q * 4 * LS + 4 * l);
#pragma unroll
        for (int k = 0; k < 4; k++)
            sum += (double)v.a[k] * z[4 * q + k];
    }
    const bool on = sum + (double)pack[PACK_b + l] > 0, base = CLIPPED && sum > 0;
    return {__ballot_sync(ALL_LANES, on), __ballot_sync(ALL_LANES, base)};
}

// Units that differ change J; returns whether there are any.
INLINE bool switch_units(const real *pack, slopes now, slopes before, int word, double *J)
{
    unsigned left = (now.on ^ before.on) | (now.base ^ before.base);
    const bool any = left != 0;
    for (; left != 0; left &= left - 1) {
        const int unit = __ffs(left) - 1, l = 32 * word + unit;
        const double change = slope_of(now, unit) - slope_of(before, unit);
        for (int e = threadIdx.x % 32; e < M * M; e += 32)
            J[e] += change * weight_at(pack + PACK_W, e / M, l) * weight_at(pack + PACK_V, e % M, l);
    }
    return any;
}

// J at the teacher state; returns whether it is another one than before.
INLINE bool move_jacobian(const real *pack, double *scratch)
{
    unsigned *on = reinterpret_cast<unsigned *>(scratch + PLACE_MASKS), *base = on + UNITS;
    bool any = false;
#pragma unroll 1
    for (int word = 0; word < UNITS; word++) {
        const slopes now = find_slopes(pack, scratch + PLACE_Z, word), before = {on[word], base[word]};
        any |= switch_units(pack, now, before, word, scratch + PLACE_J);
        __syncwarp();
        if (threadIdx.x % 32 == 0) {
            on[word] = now.on;
            base[word] = now.base;
        }
    }
    __syncwarp();
    return any;
}

// diag A, and no unit is on.
INLINE void begin_jacobian(const double *A, double *scratch)
{
    const int lane = threadIdx.x % 32;
    for (int e = lane; e < M * M; e += 32)
        scratch[PLACE_J + e] = e / M == e % M ? A[e / M] : 0;
    for (int word = lane; word < 2 * UNITS; word += 32)
        reinterpret_cast<unsigned *>(scratch + PLACE_MASKS)[word] = 0;
    __syncwarp();
}

// What a row adds to the sums, from J: returned, or log J in PLACE_TERM.
INLINE double find_term(double *scratch)
{
    if constexpr (METHOD == ALPHA_EXPLOG) {
        matrix_log(scratch + PLACE_J, scratch + PLACE_TERM, scratch + PLACE_WORK);
        return 0;
    }
    const double sigma = spectral_norm<M>(scratch + PLACE_J, scratch + PLACE_WORK);
    return METHOD == ALPHA_PRODUCT_UPPER_BOUND ? log(sigma) : sigma;
}

INLINE void add_term(double term, double *scratch)
{
    double *sums = scratch + PLACE_SUMS;
    for (int i = threadIdx.x % 32; i < WIDTH; i += 32) {
        if constexpr (METHOD == ALPHA_EXPLOG)
            sums[i] += scratch[PLACE_TERM + i];
        else
            sums[i] = METHOD == ALPHA_BATCH_MAXIMUM ? larger(sums[i], term) : sums[i] + term;
    }
}

INLINE void add_slopes(const real *pack, double *scratch)
{
#pragma unroll 1
    for (int word = 0; word < UNITS; word++) {
        const int lane = threadIdx.x % 32, l = 32 * word + lane;
        const slopes now = find_slopes(pack, scratch + PLACE_Z, word);
        if (l < L)
            scratch[PLACE_SUMS + l] += slope_of(now, lane);
    }
}

// The sums of the segment of this warp, rows first .. last-1 of x (T+1, N).
INLINE void add_segment(const model &own, const real *x, int first, int last, double *scratch)
{
    double term = 0;
    int begin = first; // the first row that counts
    for (int i = threadIdx.x % 32; i < WIDTH; i += 32)
        scratch[PLACE_SUMS + i] = 0;
    if constexpr (METHOD != ALPHA_ARITHMETIC_MEAN)
        begin_jacobian(own.A, scratch);
    for (int t = first; t < last; t++) {
#if PATTERNS
        if (!is_complete(x + (size_t)t * N)) {
            begin += t == begin;
            continue;
        }
#endif
        find_teacher(own.pinv, x + (size_t)t * N, scratch + PLACE_Z);
        if constexpr (METHOD == ALPHA_ARITHMETIC_MEAN) {
            add_slopes(own.pack, scratch);
        } else {
            if (move_jacobian(own.pack, scratch) || t == begin)
                term = find_term(scratch);
            add_term(term, scratch);
        }
    }
}

// ---- the norm of a sequence -------------------------------------------------------------------------------

// Add the sums of all segments, by one warp.
INLINE void add_segments(const double *partial, int segments, double *sums)
{
    for (int i = threadIdx.x % 32; i < WIDTH; i += 32) {
        double sum = 0;
#pragma unroll 4
        for (int k = 0; k < segments; k++) {
            const double one = __ldcg(partial + (size_t)k * WIDTH + i);
            sum = METHOD == ALPHA_BATCH_MAXIMUM ? larger(sum, one) : sum + one;
        }
        sums[i] = sum;
    }
    __syncwarp();
}

// diag A + W diag(slope) V
INLINE void set_jacobian(const model &own, const double *slope, double *J)
{
    for (int e = threadIdx.x % 32; e < M * M; e += 32) {
        double sum = e / M == e % M ? own.A[e / M] : 0;
#pragma unroll 4
        for (int l = 0; l < L; l++)
            sum += weight_at(own.pack + PACK_W, e / M, l) * slope[l] * weight_at(own.pack + PACK_V, e % M, l);
        J[e] = sum;
    }
    __syncwarp();
}

// From the sums over T rows, by one warp.  (Where none counts, the norm is -1.)
INLINE double sequence_norm(const model &own, int T, double *scratch)
{
    double *sums = scratch + PLACE_SUMS;
    if constexpr (METHOD == ALPHA_BATCH_MAXIMUM)
        return sums[0];
    if constexpr (METHOD == ALPHA_PRODUCT_UPPER_BOUND)
        return exp(sums[0] / T);
    for (int i = threadIdx.x % 32; i < WIDTH; i += 32)
        sums[i] /= T;
    __syncwarp();
    if constexpr (METHOD == ALPHA_EXPLOG)
        return exp_norm(sums, scratch + PLACE_WORK);
    set_jacobian(own, sums, scratch + PLACE_J);
    return spectral_norm<M>(scratch + PLACE_J, scratch + PLACE_WORK);
}

// One part of a sequence, by one block; true on the last block of the replica, when all norms are there.
INLINE bool add_part(const strength_args &p, const model &own, int replica, int sequence, int part,
                     double *scratch)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, segments = p.parts * WARPS;
    const size_t window = (size_t)replica * p.batch + sequence;
    unsigned *arrived = p.arrived + (size_t)replica * (p.batch + 1);
    double *mine = scratch + warp * WARP_SCRATCH, *partial = p.partial + window * segments * WIDTH;
    const int first = 1 + (part * WARPS + warp) * p.segment,
              last = first + p.segment < p.T + 1 ? first + p.segment : p.T + 1;
    add_segment(own, p.x + window * (p.T + 1) * N, first, last, mine);
    for (int i = lane; i < WIDTH; i += 32)
        partial[(part * WARPS + warp) * WIDTH + i] = mine[PLACE_SUMS + i];
    if (!arrives_last(arrived + sequence, p.parts))
        return false;
    if (warp == 0) {
        add_segments(partial, segments, mine + PLACE_SUMS);
#if PATTERNS
        const int rows = count_complete(p.x + window * (p.T + 1) * N, p.T);
        const double norm = rows > 0 ? sequence_norm(own, rows, mine) : -1;
#else
        const double norm = sequence_norm(own, p.T, mine);
#endif
        if (lane == 0) {
            p.norms[window] = norm;
            arrived[sequence] = 0;
        }
    }
    return arrives_last(arrived + p.batch, p.batch);
}

// ---- the strength of a replica ----------------------------------------------------------------------------

// max abs(A_i) + sigma(W) sigma(V), by one block; valid on warp 0.
INLINE double upper_bound(const model &own, double *scratch)
{
    double *W = scratch, *V = W + M * M, *line = V + M * M;
    for (int e = threadIdx.x; e < M * M; e += UPDATE_THREADS) {
        double w = 0, v = 0;
#pragma unroll 4
        for (int l = 0; l < L; l++) {
            w += weight_at(own.pack + PACK_W, e / M, l) * weight_at(own.pack + PACK_W, e % M, l);
            v += weight_at(own.pack + PACK_V, e / M, l) * weight_at(own.pack + PACK_V, e % M, l);
        }
        W[e] = w;
        V[e] = v;
    }
    __syncthreads();
    double largest = 0, product = 0;
    if (threadIdx.x < 32) {
        product = sqrt(largest_eigenvalue<M>(W, line)) * sqrt(largest_eigenvalue<M>(V, line));
        for (int m = 0; m < M; m++)
            largest = larger(largest, fabs(own.A[m]));
    }
    return largest + product;
}

// Over the sequences; the same on all threads.
INLINE double largest_norm(const strength_args &p, int replica)
{
    double norm = PATTERNS ? -1 : 0;
#pragma unroll 4
    for (int i = 0; i < p.batch; i++)
        norm = larger(norm, __ldcg(p.norms + (size_t)replica * p.batch + i));
    return PATTERNS && norm < 0 ? 0 / 0.0 : norm; // NaN: no row counts
}

// The strength after an estimate: a larger one at once, a smaller one by the decay.
INLINE double next_strength(double alpha, double norm, double decay)
{
    const double estimate = norm > 1 ? 1 - 1 / norm : 0;
    return estimate > alpha ? estimate : decay * alpha + (1 - decay) * estimate;
}

// The strength of a replica, and the weights that it is part of, by one block.  A norm that is not finite
// leaves them as they are.
INLINE void set_strength(const strength_args &p, const model &own, int replica, double norm, double *scratch)
{
    real *pack = p.weights + (size_t)replica * PACK;
    const double alpha = next_strength(p.alphas[replica], norm, p.decay);
    __syncthreads(); // all threads have read the strength and are done with the scratch
    if (!(norm - norm == 0))
        return;
    make_product(own.theta, own.pinv, scratch);
    if (threadIdx.x == 0) {
        p.alphas[replica] = alpha;
        pack[PACK_1 + 1] = (real)alpha;
    }
    __syncthreads();
    pack_projected(own.theta, scratch, alpha, pack);
}

INLINE void finish_replica(const strength_args &p, const model &own, int replica, double *scratch)
{
    if constexpr (READS_ROWS) {
        if (threadIdx.x == 0)
            p.arrived[(size_t)replica * (p.batch + 1) + p.batch] = 0;
    } else {
        const double norm = upper_bound(own, scratch);
        if (threadIdx.x == 0)
            p.norms[(size_t)replica * p.batch] = norm;
        __syncthreads();
    }
    set_strength(p, own, replica, READS_ROWS ? largest_norm(p, replica) : p.norms[(size_t)replica * p.batch],
                 scratch);
}

// The next update of a replica that still runs has an estimate.
INLINE bool is_due(const strength_args &p, int replica)
{
    const unsigned long long done = p.update[p.parity * p.replicas + replica];
    return p.outcome[2 * replica] == OUTCOME_RUNNING && done < p.updates && (done + 1) % p.interval == 0;
}

extern "C" __global__ void __launch_bounds__(UPDATE_THREADS) estimate(const __grid_constant__ strength_args p)
{
    DYNAMIC_BYTES;
    double *scratch =
        IS_SHARED ? reinterpret_cast<double *>(bytes) : p.scratch + (size_t)blockIdx.x * BLOCK_SCRATCH;
    const int each = READS_ROWS ? p.batch * p.parts : 1;
    for (int item = blockIdx.x; item < p.replicas * each; item += gridDim.x) {
        const int replica = item / each, sequence = item % each / p.parts, part = item % p.parts;
        if (!is_due(p, replica))
            continue;
        const model own = find_model(p, replica);
        if (!READS_ROWS || add_part(p, own, replica, sequence, part, scratch))
            finish_replica(p, own, replica, scratch);
        __syncthreads();
    }
}

// For the host: abi.h.
extern "C" __device__ const strength_variant strength_facts = {
    (int)(IS_SHARED ? BLOCK_SCRATCH * sizeof(double) : 0),
    WARPS,
    IS_SHARED ? 0 : BLOCK_SCRATCH,
    WIDTH,
    READS_ROWS,
    (int)sizeof(strength_args)};
