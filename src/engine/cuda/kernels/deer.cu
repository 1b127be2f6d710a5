// deer.cu - forced trajectories by DEER: Newton's method on all steps of time at once (SPEC 3), for many
// replicas at once.
//
// An iteration linearises every step at the present guess,
//     dz_{t+1} = J_t dz_t + r_{t+1},    J_t = J_F(z~_t) P_{a_t},    r_{t+1} = F(z~_t) - z_{t+1}
// and solves for all dz by one scan of affine maps: time is cut into chunks, every chunk composes its maps
// into one, (X, shift); these are joined, which gives dz where each chunk starts; a second run along the
// chunk gives all dz in it.  It ends when max|dz| is below the tolerance, for every sequence by itself.  With
// DIAGONAL (quasi-DEER) only the diagonal of J_t is used.
//
// J_t is not formed: F's derivative is a sum of rank-one matrices, one for every hidden unit that is on, so a
// column of X goes along the chunk by itself, in the registers of its lanes, and nothing has to wait for
// anything else.
//
// The trajectory is left as the guess from which solve.cu starts its stretches; loss, adjoint and sums are
// found there.
//
// Macros from the host: REAL_BITS, M, N, L, K, CLIPPED; DIAGONAL (0 or 1); ROOM (bytes of shared memory that
// a block may have).
// variant: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DDIAGONAL=0 -DROOM=232448
// variant: -DREAL_BITS=32 -DM=10 -DN=6 -DL=128 -DK=0 -DCLIPPED=0 -DDIAGONAL=0 -DROOM=232448
// variant: -DREAL_BITS=32 -DM=128 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DDIAGONAL=0 -DROOM=232448
// variant: -DREAL_BITS=64 -DM=32 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DDIAGONAL=0 -DROOM=232448
// variant: -DREAL_BITS=64 -DM=5 -DN=3 -DL=50 -DK=2 -DCLIPPED=1 -DDIAGONAL=0 -DROOM=232448
// variant: -DREAL_BITS=32 -DM=10 -DN=6 -DL=128 -DK=0 -DCLIPPED=0 -DDIAGONAL=1 -DROOM=232448
#if !defined REAL_BITS || !defined M || !defined N || !defined L || !defined K || !defined CLIPPED ||        \
    !defined DIAGONAL || !defined ROOM
#error "the host gives the macros named above"
#endif

// A column of X lies in the registers of SHARES lanes, QUADS_HELD quads of rows in each.
#define QUADS_MOST (REAL_BITS == 64 || M > 64 ? 4 : 8)
#define SHARES                                                                                               \
    (QUADS <= QUADS_MOST       ? 1                                                                           \
     : QUADS <= 2 * QUADS_MOST ? 2                                                                           \
     : QUADS <= 4 * QUADS_MOST ? 4                                                                           \
     : QUADS <= 8 * QUADS_MOST ? 8                                                                           \
                               : 16)
#define QUADS_HELD ((QUADS + SHARES - 1) / SHARES)
#define COLUMNS    (M + 1)                        // those of X, and the shift
#define WANTED     ((SHARES * COLUMNS + 31) / 32) // warps that hold all columns at once
#define GROUP                                                                                                \
    (DIAGONAL          ? 1                                                                                   \
     : WANTED <= 12    ? WANTED                                                                              \
     : REAL_BITS == 64 ? 8                                                                                   \
                       : 12)                // warps of a chunk; more columns take turns
#define GROUPS  (GROUP > 4 ? 1 : 8 / GROUP) // chunks of a block
#define WARPS   (GROUP * GROUPS)
#define NEWTON  0
#define CHUNKED 0
#include "moments.cuh"
#include "random.cuh"

#define AT_LAG  AT_W                                          // r_t
#define MAP     (DIAGONAL ? 2 * MP : COLUMNS * MP)            // X by columns, or its diagonal; then the shift
#define ABREAST (QUADS_HELD * REGISTERS_PER_REAL > 3 ? 2 : 4) // hidden units that a column meets at once

#define LOADS_AHEAD (ROW_BLOCKS == 1) // registers are left for what a step needs at its end

enum { START_PINV, START_ZERO, START_NORMAL }; // ant_start of solve.h
enum { PURPOSE_NEWTON_START = 5 };             // of base/random.h

struct deer_problem {    // mirrored in deer.c
    solve_problem solve; // chunks, blocks, tolerance and fallback are this launch's; the rest is solve.cu's
    unsigned long long seed;
    long long start;   // START_...: the first guess
    real *maps;        // (replicas, chunks of all sequences + blocks, MAP)
    unsigned *changes; // (replicas, 3, batch): the largest |dz| of an iteration, in turns; magnitude bits
};

// Threads that share the columns of a row when a vector goes through a map, and the columns of each.
#define PUSH_SHARES  (THREADS / MP)
#define PUSH_COLUMNS (DIAGONAL ? 1 : (M + PUSH_SHARES - 1) / PUSH_SHARES)
#define PUSH_HELD    (PUSH_COLUMNS < 4 ? PUSH_COLUMNS : 4) // those that are fetched ahead
static_assert(MP <= THREADS, "a thread for every latent unit");

struct deer_work { // which chunks a block has; in shared memory, so that nothing of it stays in registers
                   // meanwhile
    int workers, items; // groups of the team; chunks of all sequences
    int first;          // number of the block's first group
    int replica, block;
    int iteration;
};

struct alignas(16) deer_memory {
    warp_memory warp[WARPS];
    real vector[MP];
    real start[GROUPS][MP]; // dz where every chunk starts
    real partial[DIAGONAL ? 1 : PUSH_SHARES][MP];
    real product[GROUPS > 1 ? MAP : 1];
    deer_work work;
    unsigned phase;      // barriers passed
    unsigned open, lost; // sequences that have not converged; that are not finite, ever
    unsigned last;       // the largest last |dz| of a sequence
};

#define SHARED_BYTES (STAGED_BYTES + (int)sizeof(deer_memory))

INLINE deer_memory &deer_room()
{
    return *reinterpret_cast<deer_memory *>(block_bytes() + STAGED_BYTES);
}

INLINE worker take_place(const solve_problem &p, int replica)
{
    worker me;
    me.lane = own_thread() % 32;
    me.warp = own_warp();
    me.shadow = false;
    me.pack = p.pack + (size_t)replica * PACK;
    me.staged = staged_weights(me.pack);
    me.memory = &deer_room().warp[me.warp];
    find_rows(me.row, me.lane);
    me.place = ROW_BLOCKS > 1 ? me.lane : me.row[0] < 0 ? 0 : me.row[0];
#if RESIDENT
    me.kept = look_up_owner<true>(me.lane);
#endif
    return me;
}

// ---- who is still at work ---------------------------------------------------------------------------------

INLINE unsigned *changes_of(const deer_problem &d, const deer_work &work, int iteration)
{
    return d.changes + ((size_t)work.replica * 3 + iteration % 3) * d.solve.batch;
}

INLINE bool is_lost(unsigned change)
{
    return change >= 0x7f800000u;
}

INLINE bool is_open(const solve_problem &p, unsigned change)
{
    return !is_lost(change) && !(real(__uint_as_float(change)) < p.tolerance);
}

// Whether a sequence takes part in this iteration; one that has ended leaves no change any more.
INLINE bool runs(const deer_problem &d, const deer_work &work, int sequence)
{
    return work.iteration == 0 ||
           is_open(d.solve, __ldcg(changes_of(d, work, work.iteration - 1) + sequence));
}

// Call `act` for every chunk of this warp's group: with its number, the warp's view, the chunk, and its
// sequence among those of all replicas.
template <class action> INLINE void for_chunks(const deer_problem &d, const deer_work &work, action act)
{
    const solve_problem &p = d.solve;
    for (int item = work.first + own_warp() / GROUP; item < work.items; item += work.workers) {
        const stretch here = find_stretch(p, item, work.items);
        if (runs(d, work, here.sequence))
            act(item, take_place(p, work.replica), here, (size_t)work.replica * p.batch + here.sequence);
    }
}

// What is kept of moment t of a sequence, and which hidden units are on in the step from there.
INLINE real *moment_of(const solve_problem &p, size_t sequence, int t)
{
    return p.rows + (sequence * (p.T + 1) + t) * ROW;
}

INLINE unsigned *masks_of(const solve_problem &p, size_t sequence, int t)
{
    return p.masks + (sequence * p.T + t) * MASKS;
}

// ---- the first guess --------------------------------------------------------------------------------------

INLINE real guess_at(const deer_problem &d, int sequence, int t, int m, real teacher)
{
    if (t == 0 || d.start == START_PINV)
        return teacher;
    if (d.start == START_ZERO)
        return 0;
    const philox_block block =
        stream_block(d.seed, sequence, 0, PURPOSE_NEWTON_START, (unsigned long long)(t - 1) * M + m);
    double sine, cosine;
    sincospi(2 * uniform_of(block_u64(block, 1)), &sine, &cosine);
    return (real)(sqrt(-2.0 * log(uniform_of(block_u64(block, 0)))) * cosine);
}

// Teachers and guess of a chunk; the last one of a sequence has the moment T, too.
INLINE void guess(const deer_problem &d, const worker &me, const stretch &here, size_t sequence)
{
    const solve_problem &p = d.solve;
    const int member = me.warp % GROUP, end = here.last == p.T ? p.T + 1 : here.last,
              steps = end - here.first;
    stretch mine = here;
    mine.first = here.first + (int)((long long)steps * member / GROUP);
    mine.last = here.first + (int)((long long)steps * (member + 1) / GROUP);
    find_teachers(p, me, mine, sequence);
    for (int i = me.lane; i < (mine.last - mine.first) * M; i += 32) {
        const int t = mine.first + i / M, m = i % M;
        real *row = moment_of(p, sequence, t);
        row[AT_GUESS + m] = guess_at(d, here.sequence, t, m, row[AT_TEACHER + m]);
    }
}

// The teacher instead of what did not converge: solve.cu begins there.
INLINE void give_up(const solve_problem &p, const worker &me, const stretch &here, size_t sequence)
{
    for (int i = (me.warp % GROUP) * 32 + me.lane; i < (here.last - here.first) * M; i += 32 * GROUP) {
        real *row = moment_of(p, sequence, here.first + 1 + i / M);
        row[AT_GUESS + i % M] = row[AT_TEACHER + i % M];
    }
}

// ---- linearise --------------------------------------------------------------------------------------------

// Which hidden units are on at every step of a chunk, and r_{t+1}.  Steps are independent: the warps of a
// group take turns.
INLINE void linearise(const solve_problem &p, const worker &me, const stretch &here, size_t sequence)
{
    tools with;
    real b[UNITS];
    take_tools(with, me, true);
#pragma unroll
    for (int u = 0; u < UNITS; u++)
        b[u] = weight<PACK_b>(me, 32 * u + me.lane);
#pragma unroll 1
    for (int t = here.first + me.warp % GROUP; t < here.last; t += GROUP) {
        real *row = moment_of(p, sequence, t);
        real f[ROW_BLOCKS], teacher[ROW_BLOCKS], next[ROW_BLOCKS], reach[UNITS], phi[UNITS], sum[ROW_BLOCKS];
        unsigned masks[MASKS];
        load_rows(me, row + AT_GUESS, f);
        load_rows(me, row + AT_TEACHER, teacher);
        if (LOADS_AHEAD)
            load_rows(me, row + ROW + AT_GUESS, next);
        force(me, with, f, teacher, strength(p, t));
        to_units(with.to_units, broadcast(me, f, 0), reach);
        activate(b, reach, phi, masks);
        gather_rows(me, with, phi, sum);
        if (!LOADS_AHEAD)
            load_rows(me, row + ROW + AT_GUESS, next);
#pragma unroll
        for (int k = 0; k < ROW_BLOCKS; k++)
            if (me.row[k] >= 0) {
                real drive = weight<PACK_h>(me, me.row[k]);
                for (int i = 0; i < K; i++)
                    drive += weight<PACK_C>(me, i * MP + me.row[k]) * p.s[(sequence * p.T + t) * K + i];
                row[ROW + AT_LAG + me.row[k]] = (f[k] + ((with.A1[k] * f[k] + drive) + sum[k])) - next[k];
            }
        if (me.lane == 0)
            store_masks(masks_of(p, sequence, t), masks);
    }
}

// ---- a chunk as one map -----------------------------------------------------------------------------------

// phi' of 32 hidden units: 1 for those of `above`, 0, and when clipped -1 for those of `below`.
struct slopes {
    unsigned above, below;
};

INLINE slopes slopes_of(const unsigned *masks, int word)
{
#if CLIPPED
    const unsigned with = masks[word], without = masks[UNITS + word];
    return {with & ~without, without & ~with};
#else
    return {masks[word], 0};
#endif
}

INLINE real slope_of(const slopes &of, int bit)
{
    return (real)((int)(of.above >> bit & 1) - (int)(of.below >> bit & 1));
}

#if !DIAGONAL
struct column { // this lane's part of one
    real4 a[QUADS_HELD];
};

// Quads of a column from `first` on, of the weights at FIRST from place i on, `step` apart; zero where the
// column has ended.
template <int FIRST> INLINE real4 quad_of(const worker &me, int first, int q, int i, int step)
{
    const bool there = QUADS_HELD * SHARES == QUADS || first + q < QUADS;
    return there ? four_weights_at<FIRST>(me, i + step * (first + q)) : real4{0, 0, 0, 0};
}

template <int FIRST> INLINE real dot(const worker &me, const column &x, int first, int i, int step)
{
    real even = 0, odd = 0;
#pragma unroll
    for (int q = 0; q < QUADS_HELD; q++) {
        const real4 w = quad_of<FIRST>(me, first, q, i, step);
        even += w.a[0] * x.a[q].a[0];
        odd += w.a[1] * x.a[q].a[1];
        even += w.a[2] * x.a[q].a[2];
        odd += w.a[3] * x.a[q].a[3];
    }
    return even + odd;
}

template <int FIRST> INLINE void add(const worker &me, column &y, int first, int i, int step, real factor)
{
#pragma unroll
    for (int q = 0; q < QUADS_HELD; q++) {
        const real4 w = quad_of<FIRST>(me, first, q, i, step);
#pragma unroll
        for (int k = 0; k < 4; k++)
            y.a[q].a[k] += w.a[k] * factor;
    }
}

// Over the lanes of a column.
INLINE real across(real sum)
{
#pragma unroll
    for (int offset = SHARES / 2; offset > 0; offset /= 2)
        sum += __shfl_xor_sync(ALL_LANES, sum, offset);
    return sum;
}

// x -> (I - a B+ B) x
INLINE void force_column(const worker &me, column &x, int first, real a)
{
    column y = x;
#pragma unroll 2
    for (int n = 0; n < N; n++)
        add<PACK_P>(me, y, first, n * MP, 4, -a * across(dot<PACK_B>(me, x, first, n * MP, 4)));
    x = y;
}

// x -> (A + W D V) x, by the units that are on.
INLINE void step_column(const worker &me, column &x, int first, const unsigned *masks)
{
    column y = x;
#pragma unroll
    for (int q = 0; q < QUADS_HELD; q++) {
        const real4 A1 = quad_of<PACK_A1>(me, first, q, 0, 4);
#pragma unroll
        for (int k = 0; k < 4; k++)
            y.a[q].a[k] += A1.a[k] * x.a[q].a[k];
    }
#pragma unroll 1
    for (int word = 0; word < UNITS; word++) {
        const slopes slope = slopes_of(masks, word);
#pragma unroll 1
        for (unsigned on = slope.above | slope.below; on != 0;) {
            int unit[ABREAST];
            real u[ABREAST];
#pragma unroll
            for (int k = 0; k < ABREAST; k++, on &= on - 1) {
                const int bit = on == 0 ? 0 : __ffs(on) - 1;
                unit[k] = 4 * (32 * word + bit);
                u[k] = on == 0 ? real(0) : slope_of(slope, bit);
            }
#pragma unroll
            for (int k = 0; k < ABREAST; k++)
                u[k] *= across(dot<PACK_V>(me, x, first, unit[k], 4 * LS));
#pragma unroll
            for (int k = 0; k < ABREAST; k++)
                add<PACK_W>(me, y, first, unit[k], 4 * LS, u[k]);
        }
    }
    x = y;
}

// The map of a chunk: every column goes along by itself.
INLINE void compose(const solve_problem &p, const worker &me, const stretch &here, size_t sequence, real *map)
{
    const int member = own_thread() % (32 * GROUP), first = member % SHARES * QUADS_HELD;
#pragma unroll 1
    for (int turn = 0; turn < COLUMNS; turn += 32 * GROUP / SHARES) {
        const int c = turn + member / SHARES; // M: the shift; above: none, but its lanes go along
        column x;
#pragma unroll
        for (int q = 0; q < QUADS_HELD; q++)
#pragma unroll
            for (int k = 0; k < 4; k++)
                x.a[q].a[k] = c < M && 4 * (first + q) + k == c ? 1 : 0;
#pragma unroll 1
        for (int t = here.first; t < here.last; t++) {
            const real *lag = moment_of(p, sequence, t + 1) + AT_LAG;
            const real a = strength(p, t);
            if (a != 0)
                force_column(me, x, first, a);
            step_column(me, x, first, masks_of(p, sequence, t));
            if (c == M)
#pragma unroll
                for (int q = 0; q < QUADS_HELD; q++)
#pragma unroll
                    for (int k = 0; k < 4; k++)
                        if (4 * (first + q) + k < M)
                            x.a[q].a[k] += lag[4 * (first + q) + k];
        }
#pragma unroll
        for (int q = 0; q < QUADS_HELD; q++)
            if (c < COLUMNS && first + q < QUADS)
                store4(map + c * MP + 4 * (first + q), x.a[q]);
    }
}
#else
// Entry m of the diagonal of J_t.
INLINE real diagonal_at(const worker &me, int m, const unsigned *masks, real a)
{
    real sum = (1 + weight<PACK_A1>(me, m)) * (1 - a * weight<PACK_Q>(me, m * MP + m));
#pragma unroll 1
    for (int word = 0; word < UNITS; word++) {
        const slopes slope = slopes_of(masks, word);
#pragma unroll 2
        for (unsigned on = slope.above | slope.below; on != 0; on &= on - 1) {
            const int bit = __ffs(on) - 1, place = 4 * (m / 4 * LS + 32 * word + bit) + m % 4;
            sum += slope_of(slope, bit) * weight<PACK_W>(me, place) *
                   (a == 0 ? weight<PACK_V>(me, place)
                    : a == 1 ? weight<PACK_V1>(me, place)
                             : weight<PACK_VA>(me, place));
        }
    }
    return sum;
}

INLINE void compose(const solve_problem &p, const worker &me, const stretch &here, size_t sequence, real *map)
{
#pragma unroll 1
    for (int m = me.lane; m < M; m += 32) {
        real product = 1, shift = 0;
#pragma unroll 1
        for (int t = here.first; t < here.last; t++) {
            const real j = diagonal_at(me, m, masks_of(p, sequence, t), strength(p, t));
            product *= j;
            shift = j * shift + moment_of(p, sequence, t + 1)[AT_LAG + m];
        }
        map[m] = product;
        map[MP + m] = shift;
    }
}
#endif

// ---- chunks are joined ------------------------------------------------------------------------------------

INLINE real *map_of_chunk(const deer_problem &d, const deer_work &work, int item)
{
    return d.maps + ((size_t)work.replica * (work.items + d.solve.blocks) + item) * MAP;
}

// Of all chunks of a block, from where its last sequence begins.
INLINE real *map_of_block(const deer_problem &d, const deer_work &work, int block)
{
    return map_of_chunk(d, work, GROUPS == 1 ? block : work.items + block);
}

INLINE int begin_of_sequence(const solve_problem &p, int item)
{
    return item / p.chunks * p.chunks;
}

// Entry of X for this thread's row and the k-th of its columns.
INLINE real entry_of(const real *map, int k)
{
#if DIAGONAL
    return own_thread() < M ? map[own_thread()] : real(0);
#else
    const int row = own_thread() % MP, c = own_thread() / MP + k * PUSH_SHARES;
    return own_thread() < PUSH_SHARES * MP && row < M && c < M ? map[c * MP + row] : real(0);
#endif
}

// What a thread fetches of a map before the vector comes.
struct map_part {
    const real *map;
    real a[PUSH_HELD], shift;
};

INLINE map_part part_of(const real *map)
{
    map_part part;
    part.map = map;
#pragma unroll
    for (int k = 0; k < PUSH_HELD; k++)
        part.a[k] = entry_of(map, k);
    part.shift = own_thread() < M ? map[MAP - MP + own_thread()] : real(0);
    return part;
}

// vector -> X vector + shift, by all threads of the block.
INLINE void push(deer_memory &memory, const map_part &part)
{
    const int thread = own_thread();
#if DIAGONAL
    if (thread < M)
        memory.vector[thread] = part.a[0] * memory.vector[thread] + part.shift;
#else
    const int row = thread % MP, share = thread / MP;
    real sum = 0;
#pragma unroll
    for (int k = 0; k < PUSH_HELD; k++)
        if (share + k * PUSH_SHARES < M)
            sum += part.a[k] * memory.vector[share + k * PUSH_SHARES];
#pragma unroll 4
    for (int k = PUSH_HELD; k < PUSH_COLUMNS; k++)
        if (share + k * PUSH_SHARES < M)
            sum += entry_of(part.map, k) * memory.vector[share + k * PUSH_SHARES];
    if (share < PUSH_SHARES)
        memory.partial[share][row] = sum;
    __syncthreads();
    if (thread < M) {
        real total = part.shift;
        for (int s = 0; s < PUSH_SHARES && s < M; s++)
            total += memory.partial[s][thread];
        memory.vector[thread] = total;
    }
#endif
    __syncthreads();
}

INLINE void set_vector(deer_memory &memory, real value)
{
    if (own_thread() < M)
        memory.vector[own_thread()] = value;
    __syncthreads();
}

#if GROUPS > 1
// Entry i of the product of a later map with an earlier one, both laid out as maps.
INLINE real product_at(const real *later, const real *earlier, int i)
{
    const int c = i / MP, row = i % MP;
#if DIAGONAL
    return c == 0 ? later[row] * earlier[row] : later[row] * earlier[MP + row] + later[MP + row];
#else
    real sum = c == M ? later[M * MP + row] : real(0);
#pragma unroll 4
    for (int k = 0; k < M; k++)
        sum += later[k * MP + row] * earlier[c * MP + k];
    return sum;
#endif
}

// The chunks of a block as one map.
INLINE void fold(const deer_problem &d, const deer_work &work, deer_memory &memory)
{
    constexpr int each = (MAP + THREADS - 1) / THREADS;
    const int end = work.first + GROUPS < work.items ? work.first + GROUPS : work.items,
              begin = begin_of_sequence(d.solve, end - 1);
    const int first = begin > work.first ? begin : work.first;
    if (work.first >= work.items)
        return;
    for (int i = own_thread(); i < MAP; i += THREADS)
        memory.product[i] = map_of_chunk(d, work, first)[i];
    __syncthreads();
    for (int item = first + 1; item < end; item++) {
        real entry[each];
#pragma unroll
        for (int k = 0; k < each; k++)
            if (own_thread() + k * THREADS < MAP)
                entry[k] =
                    product_at(map_of_chunk(d, work, item), memory.product, own_thread() + k * THREADS);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < each; k++)
            if (own_thread() + k * THREADS < MAP)
                memory.product[own_thread() + k * THREADS] = entry[k];
        __syncthreads();
    }
    for (int i = own_thread(); i < MAP; i += THREADS)
        map_of_block(d, work, work.block)[i] = memory.product[i];
}
#endif

// dz where every chunk of this block starts: through the blocks before it since the sequence began, then
// through its own chunks.
INLINE void join(const deer_problem &d, const deer_work &work, deer_memory &memory)
{
    const solve_problem &p = d.solve;
    const int begin = begin_of_sequence(p, work.first);
    if (work.first >= work.items)
        return;
    set_vector(memory, 0);
    if (begin < work.first) {
        int block = begin / GROUPS;
        map_part part = part_of(map_of_block(d, work, block));
        set_vector(memory, part.shift); // dz is zero where the sequence begins, whatever X is
        part = part_of(map_of_block(d, work, block + 1 < work.block ? block + 1 : block));
        for (block++; block < work.block; block++) {
            const map_part next = part_of(map_of_block(d, work, block + 1 < work.block ? block + 1 : block));
            push(memory, part);
            part = next;
        }
    }
    for (int i = 0; i < GROUPS && work.first + i < work.items; i++) {
        const int item = work.first + i;
        const map_part part = part_of(map_of_chunk(d, work, item));
        if (item % p.chunks == 0)
            set_vector(memory, 0);
        if (own_thread() < M)
            memory.start[i][own_thread()] = memory.vector[own_thread()];
        if (i + 1 < GROUPS)
            push(memory, part);
    }
    __syncthreads();
}

// ---- all dz -----------------------------------------------------------------------------------------------

// dz -> J_t dz + r_{t+1}, rows spread over the lanes of a warp.
INLINE void step_change(const solve_problem &p, const worker &me, const tools &with,
                        real (&change)[ROW_BLOCKS], const unsigned *masks, int t,
                        const real (&lag)[ROW_BLOCKS])
{
#if DIAGONAL
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        if (me.row[k] >= 0)
            change[k] = diagonal_at(me, me.row[k], masks, strength(p, t)) * change[k] + lag[k];
#else
    real none[ROW_BLOCKS], units[UNITS], sum[ROW_BLOCKS];
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        none[k] = 0;
    force(me, with, change, none, strength(p, t));
    to_units(with.to_units, broadcast(me, change, 0), units);
#pragma unroll
    for (int u = 0; u < UNITS; u++)
        units[u] *= slope_of(slopes_of(masks, u), me.lane);
    gather_rows(me, with, units, sum);
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        change[k] = change[k] + ((with.A1[k] * change[k] + sum[k]) + lag[k]);
#endif
}

// Move a chunk's guess by dz; `change`: dz at its start.  Returns the largest |dz|, as magnitude bits.
INLINE unsigned sweep(const solve_problem &p, const worker &me, const stretch &here, size_t sequence,
                      real (&change)[ROW_BLOCKS])
{
    tools with;
    take_tools(with, me, true);
    unsigned largest = 0;
#pragma unroll 1
    for (int t = here.first; t < here.last; t++) {
        real *row = moment_of(p, sequence, t + 1);
        real lag[ROW_BLOCKS], z[ROW_BLOCKS];
        load_rows(me, row + AT_LAG, lag);
        if (LOADS_AHEAD)
            load_rows(me, row + AT_GUESS, z);
        step_change(p, me, with, change, masks_of(p, sequence, t), t, lag);
        if (!LOADS_AHEAD)
            load_rows(me, row + AT_GUESS, z);
#pragma unroll
        for (int k = 0; k < ROW_BLOCKS; k++)
            if (me.row[k] >= 0) {
                const unsigned size = magnitude_bits(change[k]);
                largest = size > largest ? size : largest;
                row[AT_GUESS + me.row[k]] = z[k] + change[k];
            }
    }
    __syncwarp();
    return __reduce_max_sync(ALL_LANES, largest);
}

// ---- iterations -------------------------------------------------------------------------------------------

// The maps of all chunks, and of blocks.
INLINE void make_maps(const deer_problem &d, const deer_work &work, deer_memory &memory)
{
    for_chunks(d, work, [&](int, const worker &me, const stretch &here, size_t sequence) {
        linearise(d.solve, me, here, sequence);
    });
    __syncthreads();
    if (d.solve.chunks == 1)
        return;
    for_chunks(d, work, [&](int item, const worker &me, const stretch &here, size_t sequence) {
        compose(d.solve, me, here, sequence, map_of_chunk(d, work, item));
    });
    __syncthreads();
#if GROUPS > 1
    fold(d, work, memory);
#endif
}

// All dz from them; one warp of a group has its chunk.
INLINE void move_all(const deer_problem &d, const deer_work &work, deer_memory &memory)
{
    const solve_problem &p = d.solve;
    if (work.block == 0)
        for (int i = own_thread(); i < p.batch; i += THREADS)
            __stcg(changes_of(d, work, work.iteration + 1) + i,
                   0u); // the iteration that last looked at it is over
    if (p.chunks > 1)
        join(d, work, memory);
    for_chunks(d, work, [&](int, const worker &me, const stretch &here, size_t sequence) {
        if (me.warp % GROUP != 0)
            return;
        real change[ROW_BLOCKS];
#pragma unroll
        for (int k = 0; k < ROW_BLOCKS; k++)
            change[k] = p.chunks > 1 && me.row[k] >= 0 ? memory.start[me.warp / GROUP][me.row[k]] : real(0);
        const unsigned largest = sweep(p, me, here, sequence, change);
        if (me.lane == 0)
            atomicMax(changes_of(d, work, work.iteration) + here.sequence, largest);
    });
}

// What has become of all sequences in this iteration; all blocks see the same.
INLINE void look(const deer_problem &d, const deer_work &work, deer_memory &memory)
{
    if (own_thread() == 0)
        memory.open = 0;
    __syncthreads();
    for (int i = own_thread(); i < d.solve.batch; i += THREADS) {
        const unsigned change = __ldcg(changes_of(d, work, work.iteration) + i);
        if (is_lost(change))
            atomicAdd(&memory.lost, 1u);
        if (is_open(d.solve, change))
            atomicAdd(&memory.open, 1u);
        if (!is_open(d.solve, change) || work.iteration + 1 == d.solve.max_iterations)
            atomicMax(&memory.last, change);
    }
    __syncthreads();
}

// Where a sequence was lost, or is still open at the end, begin again at the teacher.
INLINE void drop(const deer_problem &d, const deer_work &work, bool ended)
{
    for_chunks(d, work, [&](int, const worker &me, const stretch &here, size_t sequence) {
        const unsigned change = __ldcg(changes_of(d, work, work.iteration) + here.sequence);
        if (is_lost(change) || (ended && is_open(d.solve, change)))
            give_up(d.solve, me, here, sequence);
    });
}

INLINE void iterate(const deer_problem &d, const deer_work &work, deer_memory &memory)
{
    const solve_problem &p = d.solve;
    unsigned *arrived =
        p.arrived + (size_t)work.replica * MEETING_WORDS + MEETING_WORDS - 1; // border.cuh leaves this one
    for_chunks(d, work, [&](int, const worker &me, const stretch &here, size_t sequence) {
        guess(d, me, here, sequence);
    });
    for (int i = own_thread(); i < 3 * p.batch && work.block == 0; i += THREADS)
        __stcg(changes_of(d, work, 0) + i, 0u);
    team_barrier(arrived, p.blocks, memory.phase);
    for (;;) {
        make_maps(d, work, memory);
        team_barrier(arrived, p.blocks, memory.phase);
        move_all(d, work, memory);
        team_barrier(arrived, p.blocks, memory.phase);
        look(d, work, memory);
        const bool ended = memory.open == 0 || work.iteration + 1 >= p.max_iterations;
        if (p.fallback)
            drop(d, work, ended);
        if (ended)
            return;
        __syncthreads();
        if (own_thread() == 0)
            memory.work.iteration++;
        __syncthreads();
    }
}

// ---- the kernel -------------------------------------------------------------------------------------------

extern "C" __global__ void __launch_bounds__(THREADS, 1) deer(const __grid_constant__ deer_problem d)
{
    const solve_problem &p = d.solve;
    deer_memory &memory = deer_room();
    const int teams = gridDim.x / p.blocks, block = blockIdx.x % p.blocks;
    for (int replica = blockIdx.x / p.blocks; replica < p.replicas; replica += teams) {
#if STAGED_PACK
        for (int i = 4 * own_thread(); i < STAGE_COUNT; i += 4 * THREADS)
            store4(reinterpret_cast<real *>(block_bytes()) + i, load4(p.pack + (size_t)replica * PACK + i));
#endif
        if (own_thread() == 0) {
            memory.work = {p.blocks * GROUPS, p.batch * p.chunks, block * GROUPS, replica, block, 0};
            memory.phase = memory.open = memory.lost = memory.last = 0;
        }
        for (int i = own_thread(); i < WARPS * (int)(sizeof(warp_memory) / sizeof(real)); i += THREADS)
            reinterpret_cast<real *>(memory.warp)[i] = 0; // padding of vectors counts as zero
        __syncthreads();
        iterate(d, memory.work, memory);
        if (block == 0 && own_thread() == 0) {
            double *facts = p.facts + FACTS * replica;
            facts[FACT_ITERATIONS] = memory.work.iteration + 1;
            facts[FACT_LAST_JUMP] = __uint_as_float(memory.last);
            facts[FACT_CONVERGED] = memory.open + memory.lost == 0;
            facts[FACT_FALLBACKS] = p.fallback ? memory.open + memory.lost : 0;
        }
        __syncthreads();
    }
}

// What the host has to know of this variant; and the bytes of the problem, which it compares with its own.
extern "C" __device__ const int deer_facts[] = {SHARED_BYTES, THREADS, GROUPS, MAP,
                                                (int)sizeof(deer_problem)};
