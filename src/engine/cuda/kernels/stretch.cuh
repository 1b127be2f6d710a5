// stretch.cuh - the problem as the host gives it, and what one warp does with its stretch of time: exact steps forward,
// the adjoint backward.
#ifndef ANT_STRETCH_CUH
#define ANT_STRETCH_CUH

#include "border.cuh"

// From 17 latent units on, hidden activity and its adjoint are kept for the gradient; below they are recomputed.
#define KEEP_HIDDEN (M > 16)

// What is kept of one moment t.
#define AT_Z       0             // z_t
#define AT_FORCED  MP            // z~_t
#define AT_TEACHER (2 * MP)      // z-bar_t; later the direct part of v_t
#define AT_V       (3 * MP)      // dloss / dz_t
#define AT_GUESS   AT_V          // before that, z_t as deer.cu found it
#define AT_W       (4 * MP)      // dloss / dz~_t
#define AT_E       (5 * MP)      // x_t - B z_t
#define AT_Y       (5 * MP + NP) // dloss / de_t
#define ROW        (5 * MP + 2 * NP)

struct solve_problem { // mirrored in solver.c
    int T, batch, warmup, chunks; // chunks: stretches of one sequence
    int blocks;                   // of one team
    int max_iterations;
    int flow; // teacher: 1 flow, 0 stop
    int replicas;
    int group;                       // blocks of a group of the team
    int staged;                      // 1: the records of a group and of all groups fit into shared memory behind the rest
    int fallback;                    // passes after max_iterations, in which ends are handed on as they are
    real alpha, tolerance;
    real freeze;                     // jump below which border matrices are not renewed
    double weight;                   // 2 / (N (T - T_w) batch)
    const real *pack;                // (replicas, PACK)
    const real *x;                   // (replicas, batch, T+1, N)
    const real *s;                   // (replicas, batch, T, K)
    real *rows;                      // (replicas, batch, T+1, ROW)
    unsigned *masks;                 // (replicas, batch, T, MASKS)
    real *hidden, *delta;            // (replicas, batch, T, LP), when KEEP_HIDDEN: phi, and dloss/dphi
    real *records;                   // (replicas, 3 blocks, RECORD)
    unsigned long long *starts;      // (replicas, 2, blocks, M, WORDS), zero between launches
    real *partial;                   // (replicas, blocks, SUMS)
    double *squares;                 // (replicas, blocks)
    double *sums;                    // (replicas, SUMS)
    unsigned *arrived;               // (replicas, MEETING_WORDS), zero at launch: the barrier's count, then gaps
    double *facts;                   // (replicas, FACTS): iterations, jump, rounds back, jump back, converged, loss
};

struct alignas(16) stretch {
    int first, last; // steps first -> last; it makes z_{first+1} .. z_last
    int sequence;
    bool works; // false: this warp has none
};

struct block_work { // which stretches a block has
    int workers, items; // warps of the team; stretches of all sequences
    int first;          // number of the block's first warp
    int replica;
};

INLINE stretch find_stretch(const solve_problem &p, int item, int items)
{
    stretch s;
    s.works = item < items;
    const unsigned chunks = (unsigned)p.chunks, number = s.works ? (unsigned)item : 0;
    const unsigned chunk = number % chunks, steps = (unsigned)p.T / chunks, over = (unsigned)p.T % chunks;
    s.sequence = (int)(number / chunks);
    s.first = (int)(steps * chunk + over * chunk / chunks); // T chunk / chunks, where T chunk may be too large for 32 bits
    s.last = (int)(steps * (chunk + 1) + over * (chunk + 1) / chunks);
    return s;
}

// The stretch's sequence among those of all replicas.
INLINE size_t find_sequence(const solve_problem &p, const block_work &work, const stretch &here)
{
    return (size_t)work.replica * p.batch + here.sequence;
}

// The part of a stretch that falls to this warp in work that shadows share.
INLINE stretch share_of(const stretch &whole, bool shadow)
{
    stretch share = whole;
#if SHADOWS
    (shadow ? share.first : share.last) = whole.first + (whole.last - whole.first) * PER_SHADOW / (PER_SHADOW + 1);
#endif
    return share;
}

// Loads run AHEAD steps before their use: a trip to the second-level cache.
#define AHEAD 3
#define RING  4 // a power of two above AHEAD

// Masks of the last TRAIL steps, for the warp that follows with X.  Steps count from 1 over all passes that were followed.
#define TRAIL (MASKS <= 8 ? 64 : 16)
struct alignas(16) trail {
    unsigned long long masks[TRAIL][MASKS]; // tagged with the step
    unsigned long long read;                // the step up to which there is room again, as the tag
};

struct alignas(16) warp_memory {
    real vector[2][MP];
    real unit[SHARED_UNITS > LP ? SHARED_UNITS : LP];
    real ahead[RING][MP];        // teachers, or direct parts of the adjoint, of the steps to come
    unsigned masks[RING][MASKS]; // of the steps to come, backward
#if SHADOWS
    trail behind;
#endif
};

struct progress { // of the passes forward; the first thread keeps it
    int iterations, followed; // followed: those with shadows
    real before, jump;        // of the comparison before the last, 0: none, and of the last
    real allowed;
    unsigned round; // the last comparison
    bool open;      // nobody has looked at it yet
};

// What outlives the sums, for the case that the adjoint has to go on after them.
struct alignas(16) kept_memory {
    border_memory border[2];     // forward, backward
    real tangent[WARPS][MATRIX]; // X of each warp's stretch
    double squares[CREW];
    border_count count;
    progress forward;
#if CHUNKED
    stretch stretches[WARPS];
#endif
};

struct alignas(16) walk_memory {
    warp_memory warp[WARPS];
    chain_memory chain;
#if SHADOWS && TILES
    real jacobian[WARPS + 1][MATRIX]; // the last one: of lanes without a stretch
#endif
};

// A block's shared memory: the weights that every step reads, where they fit, then the room of the phase that it is in.
#define STAGED_BYTES (STAGED_PACK ? STAGE_COUNT * (REAL_BITS / 8) : 0)

INLINE kept_memory &kept_room()
{
    return *reinterpret_cast<kept_memory *>(block_bytes() + STAGED_BYTES);
}

// The stretches of a block, in the order of its warps and then of its rounds, of which there is one when time is cut.
INLINE stretch stretch_of(const solve_problem &p, const block_work &work, int number)
{
#if CHUNKED
    const stretch s = kept_room().stretches[number % WARPS];
    __builtin_assume(s.first >= 0 && s.first < s.last);
    return s;
#else
    return find_stretch(p, work.first + number / WARPS * work.workers + number % WARPS, work.items);
#endif
}

INLINE unsigned char *phase_room()
{
    return block_bytes() + STAGED_BYTES + sizeof(kept_memory);
}

INLINE walk_memory &walking_room()
{
    return *reinterpret_cast<walk_memory *>(phase_room());
}

INLINE const real *staged_weights(const real *pack)
{
#if STAGED_PACK
    return reinterpret_cast<const real *>(block_bytes());
#else
    return pack;
#endif
}

struct worker { // one warp's view
    int lane, warp; // warp: its stretch of the block, or the first of those that it shadows
    bool shadow;    // it carries X along and has no rows
    int row[ROW_BLOCKS];
    int place; // of its first row, or any
    int kept;  // see row_owners
    const real *pack;   // in global memory
    const real *staged; // its first STAGE_COUNT numbers in shared memory, if they fit
    warp_memory *memory;
};

// Weights from PACK_... = FIRST on: in shared memory where they are there, else where nobody writes during the launch.
#define STAGED(first) (STAGED_PACK && (first) < STAGE_COUNT)

template <int FIRST> INLINE real weight(const worker &me, int i)
{
    if constexpr (STAGED(FIRST))
        return me.staged[FIRST + i];
    else
        return __ldg(me.pack + FIRST + i);
}

template <int FIRST> INLINE real4 four_weights_at(const worker &me, int i)
{
    if constexpr (STAGED(FIRST))
        return load4(me.staged + FIRST + i);
    else
        return load4_constant(me.pack + FIRST + i);
}

struct tools { // what a pass holds in registers
    unit_weights to_units;
    row_weights to_rows;
    real A1[ROW_BLOCKS]; // A - 1
#if ROW_BLOCKS == 1
    real Q[MP]; // this lane's row of B+ B
#endif
};

struct forcing { // a_t of SPEC 2
    int warmup;
    real alpha;
    __device__ __forceinline__ real at(int t) const { return t == 0 ? real(0) : t <= warmup ? real(1) : alpha; }
};

INLINE real strength(const solve_problem &p, int t)
{
    return forcing{p.warmup, p.alpha}.at(t);
}

// Asked for in every phase anew, so that nothing of it stays in registers meanwhile.
INLINE worker hire(const solve_problem &p, const block_work &work)
{
    const int warp = own_warp();
    worker me;
    me.lane = own_thread() % 32;
    me.shadow = warp >= WARPS;
    me.warp = me.shadow ? (warp - WARPS) * PER_SHADOW : warp;
    me.pack = p.pack + (size_t)work.replica * PACK;
    me.staged = staged_weights(me.pack);
    me.memory = &walking_room().warp[me.warp];
    find_rows(me.row, me.shadow ? M + 32 : me.lane);
    me.place = ROW_BLOCKS > 1 ? me.lane : me.row[0] < 0 ? 0 : me.row[0];
#if RESIDENT
    me.kept = look_up_owner<true>(me.lane);
#endif
    return me;
}

// What passes read and never write.
INLINE void clear_padding(const worker &me)
{
    if (me.shadow)
        return;
    if (me.lane < 2 * MP - 2 * M)
        me.memory->vector[me.lane % 2][M + me.lane / 2] = 0;
    for (int i = LP + me.lane; i < SHARED_UNITS; i += 32)
        me.memory->unit[i] = 0;
    __syncwarp();
}

#if SHADOWS
INLINE void clear_trail(const worker &me)
{
    if (me.shadow)
        return;
    for (int i = me.lane; i < TRAIL * MASKS; i += 32)
        me.memory->behind.masks[i / MASKS][i % MASKS] = 0;
    if (me.lane == 0)
        me.memory->behind.read = 0;
    __syncwarp();
}
#endif

// Forward a step goes through V and then W, backward through W and then V.
INLINE void take_tools(tools &with, const worker &me, bool forward)
{
    take_unit_weights(with.to_units, me.staged + (forward ? PACK_V : PACK_W), me.lane);
    take_row_weights(with.to_rows, me.staged + (forward ? PACK_W : PACK_V), me.staged + (forward ? PACK_WR : PACK_VR), me.lane);
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        with.A1[k] = me.row[k] < 0 ? real(0) : weight<PACK_A1>(me, me.row[k]);
#if ROW_BLOCKS == 1
#pragma unroll
    for (int j = 0; j < M; j++)
        with.Q[j] = me.staged[PACK_Q + me.place * MP + j];
#endif
}

// Rows to a vector that all lanes can read.
INLINE const real *broadcast(const worker &me, const real (&rows)[ROW_BLOCKS], int buffer)
{
    real *vector = me.memory->vector[buffer];
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        if (me.row[k] >= 0)
            vector[me.row[k]] = rows[k];
    __syncwarp();
    return vector;
}

// The rows of (matrix times units) that this lane owns.
INLINE void gather_rows(const worker &me, const tools &with, const real (&units)[UNITS], real (&sum)[ROW_BLOCKS])
{
#if RESIDENT
    sum[0] = to_row(with.to_rows, units, me.kept);
#else
#pragma unroll
    for (int u = 0; u < UNITS; u++)
        me.memory->unit[32 * u + me.lane] = units[u];
    __syncwarp();
    to_rows(with.to_rows, me.memory->unit, me.lane, sum);
#endif
}

// rows -> rows + a (teacher - B+ B rows).  B+ B is symmetric, so that the way back is the same with teacher = 0.
INLINE void force(const worker &me, const tools &with, real (&rows)[ROW_BLOCKS], const real (&teacher)[ROW_BLOCKS], real a)
{
#if ROW_BLOCKS == 1
    const real *vector = broadcast(me, rows, 1);
    real even = 0, odd = 0;
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
        const real4 four = load4(vector + 4 * q);
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (4 * q + k < M) {
                if (k & 1)
                    odd += four.a[k] * with.Q[4 * q + k];
                else
                    even += four.a[k] * with.Q[4 * q + k];
            }
    }
    rows[0] += a * (teacher[0] - (even + odd));
#else
    real pulled[ROW_BLOCKS];
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        pulled[k] = teacher[k];
    for (int n = 0; n < N; n++) {
        real sum = 0;
#pragma unroll
        for (int k = 0; k < ROW_BLOCKS; k++)
            if (me.row[k] >= 0)
                sum += weight<PACK_B>(me, n * MP + me.row[k]) * rows[k];
#pragma unroll
        for (int offset = 16; offset > 0; offset >>= 1)
            sum += __shfl_xor_sync(ALL_LANES, sum, offset);
#pragma unroll
        for (int k = 0; k < ROW_BLOCKS; k++)
            if (me.row[k] >= 0)
                pulled[k] -= weight<PACK_P>(me, n * MP + me.row[k]) * sum;
    }
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        rows[k] += a * pulled[k];
#endif
}

INLINE void load_rows(const worker &me, const real *from, real (&rows)[ROW_BLOCKS])
{
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        rows[k] = me.row[k] < 0 ? real(0) : from[me.row[k]];
}

// `to` and `from` below are this lane's own place among the rows, so that one pointer and constants reach all of them.
INLINE void store_mine(const worker &me, real *to, const real (&rows)[ROW_BLOCKS])
{
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        if (me.row[k] >= 0)
            to[32 * k] = rows[k];
}

// Have the rows of moment t copied into the ring, unless the moment lies beyond the stretch and another warp's.
INLINE void send_for(const worker &me, const real *from, int t, bool wanted)
{
    real *to = me.memory->ahead[t & (RING - 1)] + me.place;
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        if (me.row[k] >= 0 && wanted)
            copy_ahead(to + 32 * k, from + 32 * k);
    copy_commit();
}

INLINE void send_for_masks(const worker &me, const unsigned *from, int t, bool wanted)
{
#pragma unroll
    for (int k = 0; k < MASKS; k += 32)
        if (k + me.lane < MASKS && wanted)
            copy_ahead(me.memory->masks[t & (RING - 1)] + k + me.lane, from + k + me.lane);
}

// Take them out; AHEAD later moments are on their way.
INLINE void receive(const worker &me, int t, real (&rows)[ROW_BLOCKS])
{
    copy_wait<AHEAD>();
    load_rows(me, me.memory->ahead[t & (RING - 1)], rows);
}

INLINE void store_masks(unsigned *to, const unsigned (&masks)[MASKS])
{
    if constexpr (MASKS % 4 == 0) {
#pragma unroll
        for (int k = 0; k + 3 < MASKS; k += 4)
            *reinterpret_cast<uint4 *>(to + k) = make_uint4(masks[k], masks[k + 1], masks[k + 2], masks[k + 3]);
    } else if constexpr (MASKS % 2 == 0) {
#pragma unroll
        for (int k = 0; k + 1 < MASKS; k += 2)
            *reinterpret_cast<uint2 *>(to + k) = make_uint2(masks[k], masks[k + 1]);
    } else {
#pragma unroll
        for (int k = 0; k < MASKS; k++)
            to[k] = masks[k];
    }
}

// phi of SPEC 1 and its derivative as bits.
INLINE void activate(const real (&b)[UNITS], const real (&reach)[UNITS], real (&phi)[UNITS], unsigned (&masks)[MASKS])
{
#pragma unroll
    for (int u = 0; u < UNITS; u++) {
        const real above = reach[u] + b[u];
        masks[u] = __ballot_sync(ALL_LANES, above > 0);
        phi[u] = above > 0 ? above : real(0);
#if CLIPPED
        masks[UNITS + u] = __ballot_sync(ALL_LANES, reach[u] > 0);
        phi[u] -= reach[u] > 0 ? reach[u] : real(0);
#endif
    }
}

#if SHADOWS
// Tell the shadow of step `step`; limit: steps for which there is room.  The last lanes leave a word each.
INLINE void leave_trail(const worker &me, unsigned step, unsigned &limit, const unsigned (&masks)[MASKS])
{
    trail &behind = me.memory->behind;
    while (step > limit) {
        const unsigned read = me.lane == 0 ? (unsigned)(look_near(&behind.read) >> 32) : 0u;
        limit = __shfl_sync(ALL_LANES, read, 0) + TRAIL;
    }
#pragma unroll
    for (int first = 0; first < MASKS; first += 32) {
        constexpr int count = MASKS < 32 ? MASKS : 32;
        unsigned word = masks[first];
#pragma unroll
        for (int k = 1; k < count; k++)
            if (first + k < MASKS)
                word = me.lane == 32 - count + k ? masks[first + k < MASKS ? first + k : 0] : word;
        const int k = first + me.lane - (32 - count);
        if (me.lane >= 32 - count && k < MASKS)
            leave_near(&behind.masks[step % TRAIL][k], word, step);
    }
}

// A shadow looks at the words of several steps at once, a lane at one of them, or at some where a step has more words than there are lanes.
#define WATCHED ((MASKS + TANGENT_LANES - 1) / TANGENT_LANES)
#define AT_ONCE (WATCHED > 1 ? 1 : TANGENT_LANES / MASKS)

// Look at this lane's words of the steps from `step` on.  Returns how many of them are there, of `left` that will come, for all groups of the warp.
INLINE unsigned look_out(trail &behind, unsigned step, unsigned left, int lane, unsigned (&words)[WATCHED])
{
    const int seat = lane % TANGENT_LANES, ahead = AT_ONCE > 1 ? seat / MASKS : 0;
    bool there = true;
#pragma unroll
    for (int w = 0; w < WATCHED; w++) {
        const int k = AT_ONCE > 1 ? seat % MASKS : w * TANGENT_LANES + seat;
        if (k < MASKS && ahead < AT_ONCE && (unsigned)ahead < left) {
            const unsigned long long word = look_near(&behind.masks[(step + ahead) % TRAIL][k]);
            words[w] = (unsigned)word;
            there = there && (unsigned)(word >> 32) == step + ahead;
        }
    }
    const unsigned absent = ~__ballot_sync(ALL_LANES, there) >> (lane - seat) << (32 - TANGENT_LANES) >> (32 - TANGENT_LANES);
    const unsigned found = absent == 0 ? AT_ONCE : AT_ONCE > 1 ? ((unsigned)__ffs(absent) - 1) / MASKS : 0;
    return PER_SHADOW > 1 ? ~__reduce_max_sync(ALL_LANES, ~found) : found;
}

// X of some stretches, a group of lanes for each, step after step as soon as they are made.  passes: those that were followed before.
INLINE void follow(const solve_problem &p, const worker &me, const block_work &work, unsigned passes)
{
    walk_memory &memory = walking_room();
    const forcing strength = {p.warmup, p.alpha};
    const int wanted = me.warp + me.lane / TANGENT_LANES, warp = wanted < WARPS ? wanted : WARPS - 1;
    const stretch here = stretch_of(p, work, warp);
    const unsigned steps = here.works ? (unsigned)(here.last - here.first) : 0;
    const unsigned longest = __reduce_max_sync(ALL_LANES, steps); // lengths differ by one, and some groups have no stretch
    trail &behind = memory.warp[warp].behind;
    tangent derivative;
#if TILES
    real *J = memory.jacobian[wanted < WARPS ? warp : WARPS], *X = wanted < WARPS ? kept_room().tangent[warp] : J;
#else
    real *J = nullptr, *X = kept_room().tangent[warp];
#endif
    tangent_begin(derivative, me.lane, me.staged, J, X);
    for (unsigned i = 0; i < longest;) {
        unsigned words[WATCHED] = {}, masks[MASKS], ready;
        while ((ready = look_out(behind, passes * steps + i + 1, i < steps ? steps - i : 0, me.lane, words)) == 0)
            __nanosleep(40); // the walkers need the memory more than this question
        for (unsigned j = 0; j < ready && i < longest; j++, i++) {
            const bool acts = i < steps;
#pragma unroll
            for (int k = 0; k < MASKS; k++)
                masks[k] = __shfl_sync(ALL_LANES, words[k / TANGENT_LANES], (int)j * MASKS + k % TANGENT_LANES, TANGENT_LANES);
            if (acts)
                tangent_turn(derivative, me.staged, masks, strength.at(here.first + (int)i));
            tangent_advance(derivative, acts);
        }
        if (i <= steps && me.lane % TANGENT_LANES == 0)
            leave_near(&behind.read, 0, passes * steps + i);
    }
    if (wanted < WARPS)
        tangent_end(derivative, X);
    __syncwarp();
}
#endif

// One exact pass over a stretch.  z: rows at its start; on return, at its end.  diagonal: of the diagonals of its Jacobians,
// without full matrices.  passes: those that a shadow followed before; -1: none follows this one.
INLINE void run_forward(const solve_problem &p, const worker &me, const stretch &here, size_t sequence, real (&inout)[ROW_BLOCKS],
                        real (&slope)[ROW_BLOCKS], int passes)
{
    const forcing strength = {p.warmup, p.alpha};
    real z[ROW_BLOCKS], diagonal[ROW_BLOCKS];
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++) {
        z[k] = inout[k];
        diagonal[k] = 1;
    }
#if SHADOWS
    unsigned step = (unsigned)passes * (unsigned)(here.last - here.first), limit = passes < 0 ? ~0u : 0u;
#endif
    real *mine = p.rows + (sequence * (p.T + 1) + here.first) * ROW + me.place;
    unsigned *masks_out = p.masks + (sequence * p.T + here.first) * MASKS;
    real f[ROW_BLOCKS], teacher[ROW_BLOCKS], drive[ROW_BLOCKS], h[ROW_BLOCKS], b[UNITS];
    tools with;
    take_tools(with, me, true);
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        h[k] = me.row[k] < 0 ? real(0) : weight<PACK_h>(me, me.row[k]);
#pragma unroll
    for (int u = 0; u < UNITS; u++)
        b[u] = weight<PACK_b>(me, 32 * u + me.lane);
    load_rows(me, mine - me.place + AT_TEACHER, teacher);
    for (int i = 1; i <= AHEAD; i++)
        send_for(me, mine + i * ROW + AT_TEACHER, here.first + i, here.first + i < here.last);
    if (here.first == 0)
        store_mine(me, mine + AT_Z, z);
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        f[k] = z[k];
    force(me, with, f, teacher, strength.at(here.first));
    for (int t = here.first; t < here.last; t++, mine += ROW, masks_out += MASKS) {
        const real *vector = broadcast(me, f, 0);
        store_mine(me, mine + AT_FORCED, f);
        send_for(me, mine + (1 + AHEAD) * ROW + AT_TEACHER, t + 1 + AHEAD, t + 1 + AHEAD < here.last);
#pragma unroll
        for (int k = 0; k < ROW_BLOCKS; k++)
            drive[k] = h[k];
#if K > 0
        const real *input = p.s + (sequence * p.T + t) * K;
        for (int i = 0; i < K; i++)
#pragma unroll
            for (int k = 0; k < ROW_BLOCKS; k++)
                if (me.row[k] >= 0)
                    drive[k] += weight<PACK_C>(me, i * MP + me.row[k]) * input[i];
#endif
        real reach[UNITS], phi[UNITS], sum[ROW_BLOCKS];
        unsigned masks[MASKS];
        to_units(with.to_units, vector, reach);
        activate(b, reach, phi, masks);
#if SHADOWS
        leave_trail(me, ++step, limit, masks); // also when nobody follows: nobody looks then
#endif
        gather_rows(me, with, phi, sum);
#pragma unroll
        for (int k = 0; k < ROW_BLOCKS; k++)
            z[k] = f[k] + ((with.A1[k] * f[k] + drive[k]) + sum[k]);
        store_mine(me, mine + ROW + AT_Z, z);
        if (me.lane == 0)
            store_masks(masks_out, masks);
#if KEEP_HIDDEN
        real *hidden = p.hidden + (sequence * p.T + t) * LP;
#pragma unroll
        for (int u = 0; u < UNITS; u++)
            hidden[32 * u + me.lane] = phi[u];
#endif
#if !NEWTON
#pragma unroll
        for (int k = 0; k < ROW_BLOCKS; k++)
            if (me.row[k] >= 0)
                diagonal[k] *= (1 + with.A1[k]) * (1 - strength.at(t) * weight<PACK_Q>(me, me.row[k] * MP + me.row[k]));
#endif
        receive(me, t + 1, teacher); // at the end of the stretch there is none, and f is not used
#pragma unroll
        for (int k = 0; k < ROW_BLOCKS; k++)
            f[k] = z[k];
        force(me, with, f, teacher, strength.at(t + 1));
    }
    copy_wait<0>();
    __syncwarp();
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++) {
        inout[k] = z[k];
        slope[k] = diagonal[k];
    }
}

// The adjoint of a stretch.  v: what comes from later steps, rows at its end; on return, rows at its start.
INLINE void run_backward(const solve_problem &p, const worker &me, const stretch &here, size_t sequence, real (&inout)[ROW_BLOCKS])
{
    const forcing strength = {p.warmup, p.alpha};
    real v[ROW_BLOCKS];
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        v[k] = inout[k];
    real *mine = p.rows + (sequence * (p.T + 1) + here.last) * ROW + me.place;
    const unsigned *masks_in = p.masks + (sequence * p.T + here.last - 1) * MASKS;
    real next[ROW_BLOCKS], none[ROW_BLOCKS];
    tools with;
    take_tools(with, me, false);
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        none[k] = 0;
    for (int i = 0; i <= AHEAD; i++) {
        send_for_masks(me, masks_in - i * MASKS, here.last - i, here.last - i > here.first);
        send_for(me, mine - i * ROW + AT_TEACHER, here.last - i, here.last - i > here.first);
    }
    for (int t = here.last; t > here.first; t--, mine -= ROW, masks_in -= MASKS) {
        receive(me, t, next);
#pragma unroll
        for (int k = 0; k < ROW_BLOCKS; k++)
            v[k] += next[k];
        const real *vector = broadcast(me, v, 0);
        store_mine(me, mine + AT_V, v);
        real back[UNITS], sum[ROW_BLOCKS];
        to_units(with.to_units, vector, back);
        const unsigned *masks = me.memory->masks[t & (RING - 1)]; // there since `receive`, seen since `broadcast`
#if KEEP_HIDDEN
        real *arriving = p.delta + (sequence * p.T + t - 1) * LP;
#pragma unroll
        for (int u = 0; u < UNITS; u++)
            arriving[32 * u + me.lane] = back[u];
#endif
#pragma unroll
        for (int u = 0; u < UNITS; u++) {
#if CLIPPED
            const int slope = (int)(masks[u] >> me.lane & 1) - (int)(masks[UNITS + u] >> me.lane & 1);
            back[u] = slope * back[u];
#else
            back[u] = masks[u] >> me.lane & 1 ? back[u] : real(0);
#endif
        }
        gather_rows(me, with, back, sum);
#pragma unroll
        for (int k = 0; k < ROW_BLOCKS; k++)
            v[k] = v[k] + (with.A1[k] * v[k] + sum[k]);
        store_mine(me, mine - ROW + AT_W, v);
        force(me, with, v, none, strength.at(t - 1));
#if ROW_BLOCKS > 1
        __syncwarp();
#endif
        const bool wanted = t - 1 - AHEAD > here.first; // all lanes are past reading this slot, since the barrier of `force` or here
        send_for_masks(me, masks_in - (1 + AHEAD) * MASKS, t - 1 - AHEAD, wanted);
        send_for(me, mine - (1 + AHEAD) * ROW + AT_TEACHER, t - 1 - AHEAD, wanted);
    }
    copy_wait<0>();
    __syncwarp();
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        inout[k] = v[k];
}

#endif
