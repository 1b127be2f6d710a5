// deer.cu - forced trajectories by DEER: Newton's method on all steps at once (spec 3), for many replicas at
// once.
//
// An iteration linearises every step at the present guess,
//
//     dz_{t+1} = J_t dz_t + r_{t+1},    J_t = J_F(z~_t) P_{a_t},    r_{t+1} = F(z~_t) - z_{t+1}
//
// and solves for all dz by one scan of affine maps.  Time is cut into segments; the maps of a segment are
// composed into one, (X, shift); a scan over these gives dz at the start of each segment; a second pass over
// the segment gives all dz in it.  Iterations end when max|dz| is below the tolerance, for every sequence by
// itself.  With DIAGONAL (quasi-DEER) only the diagonal of J_t is used.
//
// J_t is not formed.  The derivative of F is a sum of rank-one matrices, one for every hidden unit that is
// on; so each column of X goes through the segment by itself, in the registers of its lanes, without
// synchronisation.
//
// solve.cu then starts its segments at this trajectory and finds loss, adjoint and sums.
//
// Macros from the host: REAL_BITS, M, N, L, K, CLIPPED; DIAGONAL (0 or 1); SHARED_LIMIT (bytes of shared
// memory that a block may use).
// variant: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DDIAGONAL=0 -DSHARED_LIMIT=232448
// variant: -DREAL_BITS=32 -DM=10 -DN=6 -DL=128 -DK=0 -DCLIPPED=0 -DDIAGONAL=0 -DSHARED_LIMIT=232448
// variant: -DREAL_BITS=32 -DM=128 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DDIAGONAL=0 -DSHARED_LIMIT=232448
// variant: -DREAL_BITS=64 -DM=32 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DDIAGONAL=0 -DSHARED_LIMIT=232448
// variant: -DREAL_BITS=64 -DM=5 -DN=3 -DL=50 -DK=2 -DCLIPPED=1 -DDIAGONAL=0 -DSHARED_LIMIT=232448
// variant: -DREAL_BITS=32 -DM=10 -DN=6 -DL=128 -DK=0 -DCLIPPED=0 -DDIAGONAL=1 -DSHARED_LIMIT=232448
// variant: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DDIAGONAL=0 -DSHARED_LIMIT=232448 -DFORCING=1
// variant: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DDIAGONAL=0 -DSHARED_LIMIT=232448 -DFORCING=2
// variant: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DDIAGONAL=0 -DSHARED_LIMIT=232448 -DPATTERNS=1
// variant: -DREAL_BITS=64 -DM=5 -DN=3 -DL=50 -DK=2 -DCLIPPED=1 -DDIAGONAL=1 -DSHARED_LIMIT=232448 -DPATTERNS=1
#if !defined REAL_BITS || !defined M || !defined N || !defined L || !defined K || !defined CLIPPED ||        \
    !defined DIAGONAL || !defined SHARED_LIMIT
#error "the host gives the macros named above"
#endif

// A column of X is in the registers of COLUMN_LANES lanes, COLUMN_QUADS quads of rows in each.
#define COLUMN_QUADS_MOST (REAL_BITS == 64 || M > 64 ? 4 : 8)
#define COLUMN_LANES                                                                                         \
    (QUADS <= COLUMN_QUADS_MOST       ? 1                                                                    \
     : QUADS <= 2 * COLUMN_QUADS_MOST ? 2                                                                    \
     : QUADS <= 4 * COLUMN_QUADS_MOST ? 4                                                                    \
     : QUADS <= 8 * COLUMN_QUADS_MOST ? 8                                                                    \
                                      : 16)
#define COLUMN_QUADS ((QUADS + COLUMN_LANES - 1) / COLUMN_LANES)
#define COLUMNS      (M + 1)                              // those of X, and the shift
#define COLUMN_WARPS ((COLUMN_LANES * COLUMNS + 31) / 32) // warps that hold all columns at once
#define SEGMENT_WARPS                                                                                        \
    (DIAGONAL             ? 1                                                                                \
     : COLUMN_WARPS <= 12 ? COLUMN_WARPS                                                                     \
     : REAL_BITS == 64    ? 8                                                                                \
                          : 12) // warps of a segment; further columns follow in turns
#define BLOCK_SEGMENTS (SEGMENT_WARPS > 4 ? 1 : 8 / SEGMENT_WARPS) // segments of a block
#define WARPS          (SEGMENT_WARPS * BLOCK_SEGMENTS)
#define NEWTON         0
#define SEGMENTED      0
#include "observation.cuh"
#include "random.cuh"

#define AT_RESIDUAL AT_W                               // r_t
#define MAP         (DIAGONAL ? 2 * MP : COLUMNS * MP) // X by columns, or its diagonal; then the shift
#define UNITS_AT_ONCE                                                                                        \
    (COLUMN_QUADS * REGISTERS_PER_REAL > 3 ? 2 : 4) // hidden units that a column takes at once

#define LOADS_EARLY (ROWS_PER_LANE == 1) // there are registers for what a step needs at its end

// Threads that share the columns of a row when a vector goes through a map, and the columns of each.
#define APPLY_SHARES     (THREADS / MP)
#define APPLY_COLUMNS    (DIAGONAL ? 1 : (M + APPLY_SHARES - 1) / APPLY_SHARES)
#define APPLY_PREFETCHED (APPLY_COLUMNS < 4 ? APPLY_COLUMNS : 4) // those that are loaded in advance
static_assert(MP <= THREADS, "a thread for every latent unit");

// The segments of a block; in shared memory, so that it occupies no registers in between.
struct deer_context {
    int stride, items; // from one segment of a group of warps to its next; segments of all sequences
    int first;         // number of the block's first segment
    int replica, block;
    int iteration;
};

struct alignas(16) deer_shared {
    warp_shared warp[WARPS];
    real vector[MP];
    real start[BLOCK_SEGMENTS][MP]; // dz at the start of every segment
    real partial[DIAGONAL ? 1 : APPLY_SHARES][MP];
    real product[BLOCK_SEGMENTS > 1 ? MAP : 1];
    deer_context work;
    unsigned phase;                 // barriers passed
    unsigned unconverged, diverged; // sequences that have not converged; that have diverged, in any iteration
    unsigned last;                  // the largest last |dz| of a sequence
};

#define SHARED_BYTES (STAGED_BYTES + (int)sizeof(deer_shared))

INLINE deer_shared &deer_memory()
{
    return *reinterpret_cast<deer_shared *>(block_bytes() + STAGED_BYTES);
}

INLINE warp_context make_deer_context(const solve_args &p, int replica)
{
    warp_context ctx;
    ctx.replica = replica;
    ctx.lane = thread_index() % 32;
    ctx.warp = warp_index();
    ctx.is_tangent = false;
    ctx.pack = p.pack + (size_t)replica * PACK;
    ctx.staged = staged_weights(ctx.pack);
    ctx.memory = &deer_memory().warp[ctx.warp];
    find_rows(ctx.row, ctx.lane);
    ctx.first_row = ROWS_PER_LANE > 1 ? ctx.lane : ctx.row[0] < 0 ? 0 : ctx.row[0];
#if WEIGHTS_IN_REGISTERS
    ctx.kept = look_up_owner<true>(ctx.lane);
#endif
#if PATTERNS
    ctx.patterns = first_pattern(p, replica);
#endif
    return ctx;
}

// ---- which sequences still iterate ------------------------------------------------------------------------

INLINE unsigned *changes_of(const deer_args &d, const deer_context &work, int iteration)
{
    return d.changes + ((size_t)work.replica * 3 + iteration % 3) * d.solve.batch;
}

INLINE bool is_diverged(unsigned change)
{
    return change >= 0x7f800000u;
}

INLINE bool is_unconverged(const solve_args &p, unsigned change)
{
    return !is_diverged(change) && !(real(__uint_as_float(change)) < p.tolerance);
}

// Whether a sequence takes part in this iteration; a converged one reports no change any more.
INLINE bool is_running(const deer_args &d, const deer_context &work, int sequence)
{
    return work.iteration == 0 ||
           is_unconverged(d.solve, __ldcg(changes_of(d, work, work.iteration - 1) + sequence));
}

// Call `act` for every segment of this warp's group: with its number, the warp's context, the segment, and
// its sequence counted over all replicas.
template <class action> INLINE void for_segments(const deer_args &d, const deer_context &work, action act)
{
    const solve_args &p = d.solve;
    for (int item = work.first + warp_index() / SEGMENT_WARPS; item < work.items; item += work.stride) {
        const segment here = find_segment(p, item, work.items);
        if (is_running(d, work, here.sequence))
            act(item, make_deer_context(p, work.replica), here,
                (size_t)work.replica * p.batch + here.sequence);
    }
}

// The row of time t of a sequence, and which hidden units are on in the step from there.
INLINE real *row_of(const solve_args &p, size_t sequence, int t)
{
    return p.rows + (sequence * (p.T + 1) + t) * ROW;
}

INLINE unsigned *masks_of(const solve_args &p, size_t sequence, int t)
{
    return p.masks + (sequence * p.T + t) * MASKS;
}

// ---- the first guess --------------------------------------------------------------------------------------

INLINE real guess_at(const deer_args &d, int sequence, int t, int m, real teacher)
{
    if (t == 0 || d.start == START_PINV)
        return teacher;
    if (d.start == START_ZERO)
        return 0;
    const philox_words words =
        stream_words(d.seed, sequence, 0, PURPOSE_NEWTON_START, (unsigned long long)(t - 1) * M + m);
    double sine, cosine;
    sincospi(2 * uniform_of(word_pair(words, 1)), &sine, &cosine);
    return (real)(sqrt(-2.0 * log(uniform_of(word_pair(words, 0)))) * cosine);
}

// Teachers and guess of a segment; the last segment of a sequence has time T as well.
INLINE void guess(const deer_args &d, const warp_context &ctx, const segment &here, size_t sequence)
{
    const solve_args &p = d.solve;
    const int member = ctx.warp % SEGMENT_WARPS, end = here.last == p.T ? p.T + 1 : here.last,
              steps = end - here.first;
    segment mine = here;
    mine.first = here.first + (int)((long long)steps * member / SEGMENT_WARPS);
    mine.last = here.first + (int)((long long)steps * (member + 1) / SEGMENT_WARPS);
    find_teachers(p, ctx, mine, sequence);
    for (int i = ctx.lane; i < (mine.last - mine.first) * M; i += 32) {
        const int t = mine.first + i / M, m = i % M;
        real *row = row_of(p, sequence, t);
        row[AT_GUESS + m] = guess_at(d, here.sequence, t, m, row[AT_TEACHER + m]);
    }
}

#if PATTERNS
// The guess of an incomplete row is the one before it, projected (spec 12).  Where incomplete rows follow a
// row of its share, a warp takes all of them, up to the next complete row.
INLINE void guess_gaps(const deer_args &d, const warp_context &ctx, const segment &here, size_t sequence)
{
    const solve_args &p = d.solve;
    pass_weights weights;
    for (int t = here.first + ctx.warp % SEGMENT_WARPS; t < here.last; t += SEGMENT_WARPS) {
        if ((t > 0 && pattern_of(p, sequence, t) != 0) || pattern_of(p, sequence, t + 1) == 0)
            continue;
        real z[ROWS_PER_LANE], teacher[ROWS_PER_LANE];
        load_rows(ctx, row_of(p, sequence, t) + AT_GUESS, z);
        for (int s = t + 1; s <= p.T && pattern_of(p, sequence, s) != 0; s++) {
            load_projection(weights, p, ctx, sequence, s);
            load_rows(ctx, row_of(p, sequence, s) + AT_TEACHER, teacher);
            force(ctx, weights, z, teacher, real(1));
            store_rows(ctx, row_of(p, sequence, s) + AT_GUESS + ctx.first_row, z);
            __syncwarp();
        }
    }
}
#endif

// Replace what did not converge by the teacher, where solve.cu then starts.
INLINE void reset_to_teacher(const solve_args &p, const warp_context &ctx, const segment &here,
                             size_t sequence)
{
    for (int i = (ctx.warp % SEGMENT_WARPS) * 32 + ctx.lane; i < (here.last - here.first) * M;
         i += 32 * SEGMENT_WARPS) {
        real *row = row_of(p, sequence, here.first + 1 + i / M);
        row[AT_GUESS + i % M] = row[AT_TEACHER + i % M];
    }
}

// ---- linearise --------------------------------------------------------------------------------------------

// Which hidden units are on at every step of a segment, and r_{t+1}.  Steps are independent: the warps of a
// group take turns.
INLINE void linearise(const solve_args &p, const warp_context &ctx, const segment &here, size_t sequence)
{
    pass_weights weights;
    real b[UNITS];
    load_pass_weights(weights, ctx, true);
#pragma unroll
    for (int u = 0; u < UNITS; u++)
        b[u] = weight<PACK_b>(ctx, 32 * u + ctx.lane);
#pragma unroll 1
    for (int t = here.first + ctx.warp % SEGMENT_WARPS; t < here.last; t += SEGMENT_WARPS) {
        real *row = row_of(p, sequence, t);
        real f[ROWS_PER_LANE], teacher[ROWS_PER_LANE], next[ROWS_PER_LANE], preactivation[UNITS], phi[UNITS],
            sum[ROWS_PER_LANE];
        unsigned masks[MASKS];
        load_rows(ctx, row + AT_GUESS, f);
        load_rows(ctx, row + AT_TEACHER, teacher);
        if (LOADS_EARLY)
            load_rows(ctx, row + ROW + AT_GUESS, next);
#if PATTERNS
        load_projection(weights, p, ctx, sequence, t);
#endif
        force(ctx, weights, f, teacher, strength(p, ctx.pack, t));
        to_units(weights.to_units, broadcast(ctx, f, 0), preactivation);
        activate(b, preactivation, phi, masks);
        gather_rows(ctx, weights, phi, sum);
        if (!LOADS_EARLY)
            load_rows(ctx, row + ROW + AT_GUESS, next);
#pragma unroll
        for (int k = 0; k < ROWS_PER_LANE; k++)
            if (ctx.row[k] >= 0) {
                real drive = weight<PACK_h>(ctx, ctx.row[k]);
                for (int i = 0; i < K; i++)
                    drive += weight<PACK_C>(ctx, i * MP + ctx.row[k]) * p.s[(sequence * p.T + t) * K + i];
                row[ROW + AT_RESIDUAL + ctx.row[k]] =
                    (f[k] + ((weights.A1[k] * f[k] + drive) + sum[k])) - next[k];
            }
        if (ctx.lane == 0)
            store_masks(masks_of(p, sequence, t), masks);
    }
}

// ---- the map of a segment ---------------------------------------------------------------------------------

// phi' of 32 hidden units: 1 for those of `above`, 0, and when clipped -1 for those of `below`.
struct slopes {
    unsigned above, below;
};

INLINE slopes slopes_of(const unsigned *masks, int word)
{
#if CLIPPED
    const unsigned biased = masks[word], plain = masks[UNITS + word];
    return {biased & ~plain, plain & ~biased};
#else
    return {masks[word], 0};
#endif
}

INLINE real slope_of(const slopes &of, int bit)
{
    return (real)((int)(of.above >> bit & 1) - (int)(of.below >> bit & 1));
}

#if !DIAGONAL
struct column { // this lane's part of a column
    real4 a[COLUMN_QUADS];
};

// Quad q, counted from `first`, of the weights at offset FIRST + i, `step` apart; zero beyond the end of the
// column.
template <int FIRST> INLINE real4 quad_of(const warp_context &ctx, int first, int q, int i, int step)
{
    const bool there = COLUMN_QUADS * COLUMN_LANES == QUADS || first + q < QUADS;
    return there ? four_weights_at<FIRST>(ctx, i + step * (first + q)) : real4{0, 0, 0, 0};
}

template <int FIRST> INLINE real dot(const warp_context &ctx, const column &x, int first, int i, int step)
{
    real even = 0, odd = 0;
#pragma unroll
    for (int q = 0; q < COLUMN_QUADS; q++) {
        const real4 w = quad_of<FIRST>(ctx, first, q, i, step);
        even += w.a[0] * x.a[q].a[0];
        odd += w.a[1] * x.a[q].a[1];
        even += w.a[2] * x.a[q].a[2];
        odd += w.a[3] * x.a[q].a[3];
    }
    return even + odd;
}

template <int FIRST>
INLINE void add(const warp_context &ctx, column &y, int first, int i, int step, real factor)
{
#pragma unroll
    for (int q = 0; q < COLUMN_QUADS; q++) {
        const real4 w = quad_of<FIRST>(ctx, first, q, i, step);
#pragma unroll
        for (int k = 0; k < 4; k++)
            y.a[q].a[k] += w.a[k] * factor;
    }
}

// The sum over the lanes of a column.
INLINE real column_sum(real sum)
{
#pragma unroll
    for (int offset = COLUMN_LANES / 2; offset > 0; offset /= 2)
        sum += __shfl_xor_sync(ALL_LANES, sum, offset);
    return sum;
}

// x -> (I - a B+ B) x, with the B+ of row t
INLINE void force_column(const solve_args &p, const warp_context &ctx, size_t sequence, int t, column &x,
                         int first, real a)
{
    column y = x;
#if PATTERNS
    const real *pinv = pattern_weights(p, ctx.patterns, sequence, t) + PATTERN_P;
#endif
#pragma unroll 2
    for (int n = 0; n < N; n++) {
        const real factor = -a * column_sum(dot<PACK_B>(ctx, x, first, n * MP, 4));
#if PATTERNS
#pragma unroll
        for (int q = 0; q < COLUMN_QUADS; q++)
            if (first + q < QUADS) {
                const real4 w = load4_constant(pinv + n * MP + 4 * (first + q));
#pragma unroll
                for (int k = 0; k < 4; k++)
                    y.a[q].a[k] += w.a[k] * factor;
            }
#else
        add<PACK_P>(ctx, y, first, n * MP, 4, factor);
#endif
    }
    x = y;
}

// x -> (A + W D V) x, by the units that are on.
INLINE void step_column(const warp_context &ctx, column &x, int first, const unsigned *masks)
{
    column y = x;
#pragma unroll
    for (int q = 0; q < COLUMN_QUADS; q++) {
        const real4 A1 = quad_of<PACK_A1>(ctx, first, q, 0, 4);
#pragma unroll
        for (int k = 0; k < 4; k++)
            y.a[q].a[k] += A1.a[k] * x.a[q].a[k];
    }
#pragma unroll 1
    for (int word = 0; word < UNITS; word++) {
        const slopes slope = slopes_of(masks, word);
#pragma unroll 1
        for (unsigned on = slope.above | slope.below; on != 0;) {
            int unit[UNITS_AT_ONCE];
            real u[UNITS_AT_ONCE];
#pragma unroll
            for (int k = 0; k < UNITS_AT_ONCE; k++, on &= on - 1) {
                const int bit = on == 0 ? 0 : __ffs(on) - 1;
                unit[k] = 4 * (32 * word + bit);
                u[k] = on == 0 ? real(0) : slope_of(slope, bit);
            }
#pragma unroll
            for (int k = 0; k < UNITS_AT_ONCE; k++)
                u[k] *= column_sum(dot<PACK_V>(ctx, x, first, unit[k], 4 * LS));
#pragma unroll
            for (int k = 0; k < UNITS_AT_ONCE; k++)
                add<PACK_W>(ctx, y, first, unit[k], 4 * LS, u[k]);
        }
    }
    x = y;
}

// The map of a segment: every column goes through it by itself.
INLINE void compose(const solve_args &p, const warp_context &ctx, const segment &here, size_t sequence,
                    real *map)
{
    const int member = thread_index() % (32 * SEGMENT_WARPS), first = member % COLUMN_LANES * COLUMN_QUADS;
#pragma unroll 1
    for (int turn = 0; turn < COLUMNS; turn += 32 * SEGMENT_WARPS / COLUMN_LANES) {
        const int c = turn + member / COLUMN_LANES; // M: the shift; above: none, but its lanes take part
        column x;
#pragma unroll
        for (int q = 0; q < COLUMN_QUADS; q++)
#pragma unroll
            for (int k = 0; k < 4; k++)
                x.a[q].a[k] = c < M && 4 * (first + q) + k == c ? 1 : 0;
#pragma unroll 1
        for (int t = here.first; t < here.last; t++) {
            const real *residual = row_of(p, sequence, t + 1) + AT_RESIDUAL;
            const real a = strength(p, ctx.pack, t);
            if (a != 0)
                force_column(p, ctx, sequence, t, x, first, a);
            step_column(ctx, x, first, masks_of(p, sequence, t));
            if (c == M)
#pragma unroll
                for (int q = 0; q < COLUMN_QUADS; q++)
#pragma unroll
                    for (int k = 0; k < 4; k++)
                        if (4 * (first + q) + k < M)
                            x.a[q].a[k] += residual[4 * (first + q) + k];
        }
#pragma unroll
        for (int q = 0; q < COLUMN_QUADS; q++)
            if (c < COLUMNS && first + q < QUADS)
                store4(map + c * MP + 4 * (first + q), x.a[q]);
    }
}
#else
#if PATTERNS
// Entry m of the diagonal of J_t: of V (1 - a B_o+ B_o) one entry for every unit that is on.
INLINE real diagonal_at(const solve_args &p, const warp_context &ctx, size_t sequence, int t, int m,
                        const unsigned *masks, real a)
{
    const real *Q = pattern_weights(p, ctx.patterns, sequence, t) + PATTERN_Q; // symmetric
    real sum = (1 + weight<PACK_A1>(ctx, m)) * (1 - a * __ldg(Q + m * MP + m));
#pragma unroll 1
    for (int word = 0; word < UNITS; word++) {
        const slopes slope = slopes_of(masks, word);
#pragma unroll 1
        for (unsigned on = slope.above | slope.below; on != 0; on &= on - 1) {
            const int bit = __ffs(on) - 1, unit = 4 * (32 * word + bit);
            real projected = weight<PACK_V>(ctx, m / 4 * 4 * LS + unit + m % 4);
#pragma unroll 2
            for (int j = 0; j < M; j++)
                projected -= a * weight<PACK_V>(ctx, j / 4 * 4 * LS + unit + j % 4) * __ldg(Q + m * MP + j);
            sum += slope_of(slope, bit) * weight<PACK_W>(ctx, m / 4 * 4 * LS + unit + m % 4) * projected;
        }
    }
    return sum;
}
#else
// Entry m of the diagonal of J_t.
INLINE real diagonal_at(const solve_args &, const warp_context &ctx, size_t, int, int m,
                        const unsigned *masks, real a)
{
    real sum = (1 + weight<PACK_A1>(ctx, m)) * (1 - a * weight<PACK_Q>(ctx, m * MP + m));
#pragma unroll 1
    for (int word = 0; word < UNITS; word++) {
        const slopes slope = slopes_of(masks, word);
#pragma unroll 2
        for (unsigned on = slope.above | slope.below; on != 0; on &= on - 1) {
            const int bit = __ffs(on) - 1, first_row = 4 * (m / 4 * LS + 32 * word + bit) + m % 4;
            sum += slope_of(slope, bit) * weight<PACK_W>(ctx, first_row) *
                   (a == 0   ? weight<PACK_V>(ctx, first_row)
                    : a == 1 ? weight<PACK_V1>(ctx, first_row)
                             : weight<PACK_VA>(ctx, first_row));
        }
    }
    return sum;
}
#endif

INLINE void compose(const solve_args &p, const warp_context &ctx, const segment &here, size_t sequence,
                    real *map)
{
#pragma unroll 1
    for (int m = ctx.lane; m < M; m += 32) {
        real product = 1, shift = 0;
#pragma unroll 1
        for (int t = here.first; t < here.last; t++) {
            const real j =
                diagonal_at(p, ctx, sequence, t, m, masks_of(p, sequence, t), strength(p, ctx.pack, t));
            product *= j;
            shift = j * shift + row_of(p, sequence, t + 1)[AT_RESIDUAL + m];
        }
        map[m] = product;
        map[MP + m] = shift;
    }
}
#endif

// ---- dz at the start of every segment ---------------------------------------------------------------------

INLINE real *map_of_segment(const deer_args &d, const deer_context &work, int item)
{
    return d.maps + ((size_t)work.replica * (work.items + d.solve.blocks) + item) * MAP;
}

// The composed map of a block's segments, from the start of its last sequence on.
INLINE real *map_of_block(const deer_args &d, const deer_context &work, int block)
{
    return map_of_segment(d, work, BLOCK_SEGMENTS == 1 ? block : work.items + block);
}

INLINE int begin_of_sequence(const solve_args &p, int item)
{
    return item / p.segments * p.segments;
}

// Entry of X for this thread's row and the k-th of its columns.
INLINE real entry_of(const real *map, int k)
{
#if DIAGONAL
    return thread_index() < M ? map[thread_index()] : real(0);
#else
    const int row = thread_index() % MP, c = thread_index() / MP + k * APPLY_SHARES;
    return thread_index() < APPLY_SHARES * MP && row < M && c < M ? map[c * MP + row] : real(0);
#endif
}

// What a thread loads of a map in advance.
struct map_part {
    const real *map;
    real a[APPLY_PREFETCHED], shift;
};

INLINE map_part load_map_part(const real *map)
{
    map_part part;
    part.map = map;
#pragma unroll
    for (int k = 0; k < APPLY_PREFETCHED; k++)
        part.a[k] = entry_of(map, k);
    part.shift = thread_index() < M ? map[MAP - MP + thread_index()] : real(0);
    return part;
}

// vector -> X vector + shift, by all threads of the block.
INLINE void apply_map(deer_shared &memory, const map_part &part)
{
    const int thread = thread_index();
#if DIAGONAL
    if (thread < M)
        memory.vector[thread] = part.a[0] * memory.vector[thread] + part.shift;
#else
    const int row = thread % MP, share = thread / MP;
    real sum = 0;
#pragma unroll
    for (int k = 0; k < APPLY_PREFETCHED; k++)
        if (share + k * APPLY_SHARES < M)
            sum += part.a[k] * memory.vector[share + k * APPLY_SHARES];
#pragma unroll 4
    for (int k = APPLY_PREFETCHED; k < APPLY_COLUMNS; k++)
        if (share + k * APPLY_SHARES < M)
            sum += entry_of(part.map, k) * memory.vector[share + k * APPLY_SHARES];
    if (share < APPLY_SHARES)
        memory.partial[share][row] = sum;
    __syncthreads();
    if (thread < M) {
        real total = part.shift;
        for (int s = 0; s < APPLY_SHARES && s < M; s++)
            total += memory.partial[s][thread];
        memory.vector[thread] = total;
    }
#endif
    __syncthreads();
}

INLINE void set_vector(deer_shared &memory, real value)
{
    if (thread_index() < M)
        memory.vector[thread_index()] = value;
    __syncthreads();
}

#if BLOCK_SEGMENTS > 1
// Entry i of the product of a later map and an earlier one, in the layout of maps.
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

// Compose the maps of a block's segments.
INLINE void compose_block(const deer_args &d, const deer_context &work, deer_shared &memory)
{
    constexpr int each = (MAP + THREADS - 1) / THREADS;
    const int end = work.first + BLOCK_SEGMENTS < work.items ? work.first + BLOCK_SEGMENTS : work.items,
              begin = begin_of_sequence(d.solve, end - 1);
    const int first = begin > work.first ? begin : work.first;
    if (work.first >= work.items)
        return;
    for (int i = thread_index(); i < MAP; i += THREADS)
        memory.product[i] = map_of_segment(d, work, first)[i];
    __syncthreads();
    for (int item = first + 1; item < end; item++) {
        real entry[each];
#pragma unroll
        for (int k = 0; k < each; k++)
            if (thread_index() + k * THREADS < MAP)
                entry[k] =
                    product_at(map_of_segment(d, work, item), memory.product, thread_index() + k * THREADS);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < each; k++)
            if (thread_index() + k * THREADS < MAP)
                memory.product[thread_index() + k * THREADS] = entry[k];
        __syncthreads();
    }
    for (int i = thread_index(); i < MAP; i += THREADS)
        map_of_block(d, work, work.block)[i] = memory.product[i];
}
#endif

// dz at the start of every segment of this block: through the blocks before it since the start of the
// sequence, then through its own segments.
INLINE void find_segment_starts(const deer_args &d, const deer_context &work, deer_shared &memory)
{
    const solve_args &p = d.solve;
    const int begin = begin_of_sequence(p, work.first);
    if (work.first >= work.items)
        return;
    set_vector(memory, 0);
    if (begin < work.first) {
        int block = begin / BLOCK_SEGMENTS;
        map_part part = load_map_part(map_of_block(d, work, block));
        set_vector(memory, part.shift); // dz is zero at the start of the sequence, whatever X is
        part = load_map_part(map_of_block(d, work, block + 1 < work.block ? block + 1 : block));
        for (block++; block < work.block; block++) {
            const map_part next =
                load_map_part(map_of_block(d, work, block + 1 < work.block ? block + 1 : block));
            apply_map(memory, part);
            part = next;
        }
    }
    for (int i = 0; i < BLOCK_SEGMENTS && work.first + i < work.items; i++) {
        const int item = work.first + i;
        const map_part part = load_map_part(map_of_segment(d, work, item));
        if (item % p.segments == 0)
            set_vector(memory, 0);
        if (thread_index() < M)
            memory.start[i][thread_index()] = memory.vector[thread_index()];
        if (i + 1 < BLOCK_SEGMENTS)
            apply_map(memory, part);
    }
    __syncthreads();
}

// ---- all dz -----------------------------------------------------------------------------------------------

// dz -> J_t dz + r_{t+1}, rows spread over the lanes of a warp.
INLINE void step_change(const solve_args &p, const warp_context &ctx, pass_weights &weights, size_t sequence,
                        real (&change)[ROWS_PER_LANE], int t, const real (&residual)[ROWS_PER_LANE])
{
    const unsigned *masks = masks_of(p, sequence, t);
#if DIAGONAL
#pragma unroll
    for (int k = 0; k < ROWS_PER_LANE; k++)
        if (ctx.row[k] >= 0)
            change[k] =
                diagonal_at(p, ctx, sequence, t, ctx.row[k], masks, strength(p, ctx.pack, t)) * change[k] +
                residual[k];
#else
    real none[ROWS_PER_LANE], units[UNITS], sum[ROWS_PER_LANE];
#pragma unroll
    for (int k = 0; k < ROWS_PER_LANE; k++)
        none[k] = 0;
#if PATTERNS
    load_projection(weights, p, ctx, sequence, t);
#endif
    force(ctx, weights, change, none, strength(p, ctx.pack, t));
    to_units(weights.to_units, broadcast(ctx, change, 0), units);
#pragma unroll
    for (int u = 0; u < UNITS; u++)
        units[u] *= slope_of(slopes_of(masks, u), ctx.lane);
    gather_rows(ctx, weights, units, sum);
#pragma unroll
    for (int k = 0; k < ROWS_PER_LANE; k++)
        change[k] = change[k] + ((weights.A1[k] * change[k] + sum[k]) + residual[k]);
#endif
}

// Add dz to a segment's guess; change: dz at its start.  Returns the largest |dz|, as magnitude bits.
INLINE unsigned apply_changes(const solve_args &p, const warp_context &ctx, const segment &here,
                              size_t sequence, real (&change)[ROWS_PER_LANE])
{
    pass_weights weights;
    load_pass_weights(weights, ctx, true);
    unsigned largest = 0;
#pragma unroll 1
    for (int t = here.first; t < here.last; t++) {
        real *row = row_of(p, sequence, t + 1);
        real residual[ROWS_PER_LANE], z[ROWS_PER_LANE];
        load_rows(ctx, row + AT_RESIDUAL, residual);
        if (LOADS_EARLY)
            load_rows(ctx, row + AT_GUESS, z);
        step_change(p, ctx, weights, sequence, change, t, residual);
        if (!LOADS_EARLY)
            load_rows(ctx, row + AT_GUESS, z);
#pragma unroll
        for (int k = 0; k < ROWS_PER_LANE; k++)
            if (ctx.row[k] >= 0) {
                const unsigned size = magnitude_bits(change[k]);
                largest = size > largest ? size : largest;
                row[AT_GUESS + ctx.row[k]] = z[k] + change[k];
            }
    }
    __syncwarp();
    return __reduce_max_sync(ALL_LANES, largest);
}

// ---- iterations -------------------------------------------------------------------------------------------

// The maps of all segments and blocks.
INLINE void make_maps(const deer_args &d, const deer_context &work, deer_shared &memory)
{
    for_segments(d, work, [&](int, const warp_context &ctx, const segment &here, size_t sequence) {
        linearise(d.solve, ctx, here, sequence);
    });
    __syncthreads();
    if (d.solve.segments == 1)
        return;
    for_segments(d, work, [&](int item, const warp_context &ctx, const segment &here, size_t sequence) {
        compose(d.solve, ctx, here, sequence, map_of_segment(d, work, item));
    });
    __syncthreads();
#if BLOCK_SEGMENTS > 1
    compose_block(d, work, memory);
#endif
}

// All dz from them; one warp of a group takes the segment.
INLINE void move_all(const deer_args &d, const deer_context &work, deer_shared &memory)
{
    const solve_args &p = d.solve;
    if (work.block == 0)
        for (int i = thread_index(); i < p.batch; i += THREADS)
            __stcg(changes_of(d, work, work.iteration + 1) + i,
                   0u); // the iteration that read it last is over
    if (p.segments > 1)
        find_segment_starts(d, work, memory);
    for_segments(d, work, [&](int, const warp_context &ctx, const segment &here, size_t sequence) {
        if (ctx.warp % SEGMENT_WARPS != 0)
            return;
        real change[ROWS_PER_LANE];
#pragma unroll
        for (int k = 0; k < ROWS_PER_LANE; k++)
            change[k] = p.segments > 1 && ctx.row[k] >= 0 ? memory.start[ctx.warp / SEGMENT_WARPS][ctx.row[k]]
                                                          : real(0);
        const unsigned largest = apply_changes(p, ctx, here, sequence, change);
        if (ctx.lane == 0)
            atomicMax(changes_of(d, work, work.iteration) + here.sequence, largest);
    });
}

// How all sequences fared in this iteration; the same on all blocks.
INLINE void check_changes(const deer_args &d, const deer_context &work, deer_shared &memory)
{
    if (thread_index() == 0)
        memory.unconverged = 0;
    __syncthreads();
    for (int i = thread_index(); i < d.solve.batch; i += THREADS) {
        const unsigned change = __ldcg(changes_of(d, work, work.iteration) + i);
        if (is_diverged(change))
            atomicAdd(&memory.diverged, 1u);
        if (is_unconverged(d.solve, change))
            atomicAdd(&memory.unconverged, 1u);
        if (!is_unconverged(d.solve, change) || work.iteration + 1 == d.solve.max_iterations)
            atomicMax(&memory.last, change);
    }
    __syncthreads();
}

// Set sequences that have diverged, or at the end have not converged, back to the teacher.
INLINE void reset_failed(const deer_args &d, const deer_context &work, bool ended)
{
    for_segments(d, work, [&](int, const warp_context &ctx, const segment &here, size_t sequence) {
        const unsigned change = __ldcg(changes_of(d, work, work.iteration) + here.sequence);
        if (is_diverged(change) || (ended && is_unconverged(d.solve, change)))
            reset_to_teacher(d.solve, ctx, here, sequence);
    });
}

INLINE void iterate(const deer_args &d, const deer_context &work, deer_shared &memory)
{
    const solve_args &p = d.solve;
    unsigned *arrived = p.arrived + (size_t)work.replica * BARRIER_WORDS + BARRIER_WORDS -
                        1; // the last word is not used by border.cuh
    for_segments(d, work, [&](int, const warp_context &ctx, const segment &here, size_t sequence) {
        guess(d, ctx, here, sequence);
    });
#if PATTERNS
    if (d.start == START_PINV) {
        team_barrier(arrived, p.blocks, memory.phase);
        for_segments(d, work, [&](int, const warp_context &ctx, const segment &here, size_t sequence) {
            guess_gaps(d, ctx, here, sequence);
        });
    }
#endif
    for (int i = thread_index(); i < 3 * p.batch && work.block == 0; i += THREADS)
        __stcg(changes_of(d, work, 0) + i, 0u);
    team_barrier(arrived, p.blocks, memory.phase);
    for (;;) {
        make_maps(d, work, memory);
        team_barrier(arrived, p.blocks, memory.phase);
        move_all(d, work, memory);
        team_barrier(arrived, p.blocks, memory.phase);
        check_changes(d, work, memory);
        const bool ended = memory.unconverged == 0 || work.iteration + 1 >= p.max_iterations;
        if (p.fallback)
            reset_failed(d, work, ended);
        if (ended)
            return;
        __syncthreads();
        if (thread_index() == 0)
            memory.work.iteration++;
        __syncthreads();
    }
}

// ---- the kernel -------------------------------------------------------------------------------------------

extern "C" __global__ void __launch_bounds__(THREADS, 1) deer(const __grid_constant__ deer_args d)
{
    const solve_args &p = d.solve;
    deer_shared &memory = deer_memory();
    const int teams = gridDim.x / p.blocks, block = blockIdx.x % p.blocks;
    for (int replica = blockIdx.x / p.blocks; replica < p.replicas; replica += teams) {
#if STAGED_PACK
        for (int i = 4 * thread_index(); i < STAGE_COUNT; i += 4 * THREADS)
            store4(reinterpret_cast<real *>(block_bytes()) + i, load4(p.pack + (size_t)replica * PACK + i));
#endif
        if (thread_index() == 0) {
            memory.work = {
                p.blocks * BLOCK_SEGMENTS, p.batch * p.segments, block * BLOCK_SEGMENTS, replica, block, 0};
            memory.phase = memory.unconverged = memory.diverged = memory.last = 0;
        }
        for (int i = thread_index(); i < WARPS * (int)(sizeof(warp_shared) / sizeof(real)); i += THREADS)
            reinterpret_cast<real *>(memory.warp)[i] = 0; // padding of vectors counts as zero
        __syncthreads();
        iterate(d, memory.work, memory);
        if (block == 0 && thread_index() == 0) {
            double *facts = p.facts + FACTS * replica;
            facts[FACT_ITERATIONS] = memory.work.iteration + 1;
            facts[FACT_LAST_JUMP] = __uint_as_float(memory.last);
            facts[FACT_CONVERGED] = memory.unconverged + memory.diverged == 0;
            facts[FACT_FALLBACKS] = p.fallback ? memory.unconverged + memory.diverged : 0;
        }
        __syncthreads();
    }
}

// For the host: abi.h.
extern "C" __device__ const deer_variant deer_facts = {SHARED_BYTES, THREADS, BLOCK_SEGMENTS, MAP,
                                                       (int)sizeof(deer_args)};
