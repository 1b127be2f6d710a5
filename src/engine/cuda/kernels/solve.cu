// solve.cu - forced trajectories, their errors and the adjoint (spec 2, 3), for many replicas at once;
// sums.cu follows.
//
// Time is cut into segments, one per step warp.  Within a segment steps are exact and the state stays in the
// warp; tangent warps carry its derivative; border.cuh corrects the starts until neighbouring segments meet.
// With one segment per sequence this is the sequential solver.  The adjoint is computed the same way
// backward.  All blocks of a replica form a team, which waits at team_barrier, so one launch is a whole
// forward and backward pass.
//
// Macros from the host: those of shape.cuh; WARPS (step warps of a block, each with a segment at a time);
// SEGMENTED (0: one segment per sequence, p.segments = 1; 1: p.segments > 1); NEWTON (1: full border
// matrices, M <= 32); SHARED_LIMIT (bytes of shared memory that a block may use); GUESSED (1: after deer.cu).
// variant: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=1 -DSEGMENTED=1 -DSHARED_LIMIT=232448
// variant: -DREAL_BITS=32 -DM=10 -DN=6 -DL=128 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=1 -DSEGMENTED=1 -DSHARED_LIMIT=232448
// variant: -DREAL_BITS=32 -DM=16 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=1 -DSEGMENTED=1 -DSHARED_LIMIT=232448
// variant: -DREAL_BITS=32 -DM=128 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=0 -DSEGMENTED=1 -DSHARED_LIMIT=232448
// variant: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=1 -DSEGMENTED=1 -DSHARED_LIMIT=232448 -DGUESSED=1
// variant: -DREAL_BITS=64 -DM=5 -DN=3 -DL=50 -DK=2 -DCLIPPED=1 -DWARPS=8 -DNEWTON=1 -DSEGMENTED=0 -DSHARED_LIMIT=232448
// variant: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=1 -DSEGMENTED=1 -DSHARED_LIMIT=232448 -DFORCING=1
// variant: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=1 -DSEGMENTED=1 -DSHARED_LIMIT=232448 -DFORCING=2
// variant: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=1 -DSEGMENTED=1 -DSHARED_LIMIT=232448 -DPATTERNS=1
// variant: -DREAL_BITS=32 -DM=16 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=1 -DSEGMENTED=1 -DSHARED_LIMIT=232448 -DPATTERNS=1
// variant: -DREAL_BITS=64 -DM=5 -DN=3 -DL=50 -DK=2 -DCLIPPED=1 -DWARPS=8 -DNEWTON=1 -DSEGMENTED=0 -DSHARED_LIMIT=232448 -DPATTERNS=1
// variant: -DREAL_BITS=32 -DM=128 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=0 -DSEGMENTED=1 -DSHARED_LIMIT=232448 -DPATTERNS=1
#if !defined REAL_BITS || !defined M || !defined N || !defined L || !defined K || !defined CLIPPED ||        \
    !defined WARPS || !defined SEGMENTED || !defined NEWTON || !defined SHARED_LIMIT
#error "the host gives the macros named above"
#endif
#include "observation.cuh"

// For tests: leave every comparison unchecked and do not trust the second pass of the adjoint, so that the
// solver has to go back.
#ifndef HASTY
#define HASTY 0
#endif

// Where segments start in the first pass: 0: at the teacher; 1: at the trajectory of deer.cu, which also
// writes its own p.facts.
#ifndef GUESSED
#define GUESSED 0
#endif

#define SHARED_BYTES (STAGED_BYTES + (int)sizeof(pass_shared) + (int)sizeof(phase_shared))

// The team of this block; made where it is needed, so that it occupies no registers in between.
INLINE border_team team_of(const solve_args &p, const block_context &work)
{
    const size_t replica = work.replica;
    return {p.records + replica * 4 * p.blocks * RECORD,
            p.starts + replica * 2 * p.blocks * M * WORDS,
            p.arrived + replica * BARRIER_WORDS,
            p.staged ? SHARED_BYTES : 0,
            p.group,
            (unsigned)p.blocks,
            work.first / WARPS,
            &pass_memory().count};
}

#if SEGMENTED
INLINE border_side side_of(const solve_args &p, const block_context &work, bool back)
{
    return {pass_memory().border[back], phase_memory().chain, pass_memory().tangent, team_of(p, work)};
}
#endif

INLINE void store_warp_squares(const warp_context &ctx, double squares)
{
    squares = warp_sum(squares);
    if (ctx.lane == 0)
        pass_memory().squares[thread_index() / 32] = squares;
}

// The sum of squares of this block's errors, from those of its warps.
INLINE void store_block_squares(const solve_args &p, const block_context &work)
{
    __syncthreads();
    if (thread_index() == 0) {
        double squares = 0;
        for (int i = 0; i < BLOCK_WARPS; i++)
            squares += pass_memory().squares[i];
        p.squares[(size_t)work.replica * p.blocks + work.first / WARPS] = squares;
    }
}

#if !SEGMENTED
// Every warp takes whole sequences, one after the other: there are no borders.
INLINE void solve_all(const solve_args &p, const block_context &work)
{
    {
        const warp_context ctx = make_warp_context(p, work);
        double squares = 0;
        for (int item = work.first + ctx.warp; item < work.items; item += work.stride) {
            const segment here = find_segment(p, item, work.items);
            const size_t sequence = find_sequence(p, work, here);
            real rows[ROWS_PER_LANE], diagonal[ROWS_PER_LANE];
            find_teachers(p, ctx, here, sequence);
            load_rows(ctx, p.rows + sequence * (p.T + 1) * ROW + AT_TEACHER, rows);
            run_forward(p, ctx, here, sequence, rows, diagonal, -1);
            squares += find_errors(p, ctx, here, sequence);
#pragma unroll
            for (int k = 0; k < ROWS_PER_LANE; k++)
                rows[k] = 0;
            run_backward(p, ctx, here, sequence, rows);
        }
        store_warp_squares(ctx, squares);
    }
    store_block_squares(p, work);
}

#else
// Where the first pass of a direction starts: forward at the teacher or the guess, the adjoint at zero.
INLINE void set_starts(const solve_args &p, const block_context &work, bool back)
{
    const warp_context ctx = make_warp_context(p, work);
    const int order = back ? WARPS - 1 - ctx.warp : ctx.warp;
    border_shared &border = pass_memory().border[back];
    const segment here = segment_of(p, work, ctx.warp);
    real in[ROWS_PER_LANE];
#pragma unroll
    for (int k = 0; k < ROWS_PER_LANE; k++)
        in[k] = 0;
    if (here.active && !back)
        load_rows(ctx,
                  p.rows + (find_sequence(p, work, here) * (p.T + 1) + here.first) * ROW +
                      (GUESSED ? AT_GUESS : AT_TEACHER),
                  in);
    if (!ctx.is_tangent) {
#pragma unroll
        for (int k = 0; k < ROWS_PER_LANE; k++)
            if (ctx.row[k] >= 0) {
                border.in[order][ctx.row[k]] = in[k];
                if (order == 0)
                    publish_start(team_of(p, work), back, ctx.row[k], in[k]);
            }
        if (ctx.lane == 0)
            border.closed[order] = !here.active || (back ? here.first == 0 : here.last == p.T);
    }
    __syncthreads();
}

// One pass of this warp: the steps of its segment or, in a tangent warp, X of its segments.  tangent_passes:
// earlier passes with tangents.
INLINE void pass_forward(const solve_args &p, const block_context &work, bool renew, int tangent_passes)
{
    const warp_context ctx = make_warp_context(p, work);
    const segment here = segment_of(p, work, ctx.warp);
    real out[ROWS_PER_LANE], diagonal[ROWS_PER_LANE];
#pragma unroll
    for (int k = 0; k < ROWS_PER_LANE; k++)
        out[k] = 0;
    if (ctx.is_tangent) {
#if TANGENT_WARPS
        if (renew)
            carry_tangents(p, ctx, work, (unsigned)tangent_passes);
#endif
    } else if (here.active) {
        load_rows(ctx, pass_memory().border[0].in[ctx.warp], out);
        run_forward(p, ctx, here, find_sequence(p, work, here), out, diagonal, renew ? tangent_passes : -1);
#if !NEWTON
        store_rows(ctx, pass_memory().tangent[ctx.warp] + ctx.first_row, diagonal);
#endif
    }
    compare_ends(side_of(p, work, false), false, ctx.warp, ctx.row, out, ctx.is_tangent);
}

INLINE void pass_backward(const solve_args &p, const block_context &work)
{
    const warp_context ctx = make_warp_context(p, work);
    const segment here = segment_of(p, work, ctx.warp);
    const int order = WARPS - 1 - ctx.warp;
    real out[ROWS_PER_LANE];
#pragma unroll
    for (int k = 0; k < ROWS_PER_LANE; k++)
        out[k] = 0;
    if (here.active && !ctx.is_tangent) {
        load_rows(ctx, pass_memory().border[1].in[order], out);
        run_backward(p, ctx, here, find_sequence(p, work, here), out);
    }
    compare_ends(side_of(p, work, true), true, order, ctx.row, out, ctx.is_tangent);
}

// ---- passes -----------------------------------------------------------------------------------------------

// One pass forward.  Returns whether the segments are expected to meet after it, so that the check can wait.
INLINE bool iterate_forward(const solve_args &p, const block_context &work)
{
    progress &now = pass_memory().forward;
    const bool renew = !(now.jump <= p.freeze); // X of nearly the same trajectory is good enough
    pass_forward(p, work, renew, now.tangent_passes);
    // Newton's method squares the jump, diagonals reduce it by a factor.
    const real shrinks = now.jump / now.previous;
    const bool expected = NEWTON ? now.jump <= p.freeze || now.jump * shrinks * shrinks <= now.allowed / 2
                                 : now.jump * shrinks <= now.allowed / 2;
    const bool unchecked = (expected || HASTY) && now.iterations < p.max_iterations;
    __syncthreads();
    if (thread_index() == 0) {
        now.tangent_passes += !(now.jump <= p.freeze);
        now.iterations++;
        now.unchecked = unchecked;
    }
    __syncthreads();
    return unchecked;
}

// Whether a jump is small enough; the limit is infinite where the jump is.
INLINE bool within(real jump, real limit)
{
    return jump <= limit && is_finite(jump);
}

// Check the last comparison, after a barrier.  Returns whether this was the last pass.  A comparison whose
// check was postponed, and that has not converged, stays unchecked.
INLINE bool check_forward(const solve_args &p, const block_context &work)
{
    progress &now = pass_memory().forward;
    const border_jump found = jump_of(team_of(p, work), pass_memory().border[false].comparison);
    const real limit = allowed(found, p.tolerance, 0);
    const bool converged = within(found.jump, limit) && found.beyond <= p.tolerance,
               done = converged || now.iterations >= p.max_iterations + p.fallback;
    if (!done && now.unchecked)
        return false;
    __syncthreads();
    if (thread_index() == 0) {
        now.previous = now.iterations > 1 ? now.jump : real(0);
        now.jump = found.jump;
        now.allowed = limit;
        now.converged = converged;
        now.largest_entry = found.largest_entry;
        now.unchecked = false;
    }
    __syncthreads();
    return done;
}

// Passes over all segments until neighbours meet, or are expected to: then the check waits for the next
// barrier.  Leaves X of every segment in shared memory.
INLINE void solve_forward(const solve_args &p, const block_context &work)
{
    pass_shared &kept = pass_memory();
    for (bool looked = !kept.forward.unchecked;;) {
        if (looked && iterate_forward(p, work))
            return;
        if (!looked) {
            __syncthreads();
            if (thread_index() == 0)
                kept.forward.unchecked = false;
        }
        looked = true;
        const int over =
            kept.forward.iterations - p.max_iterations; // passes beyond the limit for Newton's method
        publish<false>(side_of(p, work, false), over > 0);
        if (check_forward(p, work))
            return;
        // Newton's result is unusable: start at the teacher again; from then on a segment starts where the
        // one before it ended, which is exact after p.segments passes.
        if (over == 1)
            set_starts(p, work, false);
        else
            correct_starts<false>(
                side_of(p, work, false), kept.forward.largest_entry, [&](int order, int m, real) {
                    const segment here = segment_of(p, work, order);
                    return here.active
                               ? p.rows[(find_sequence(p, work, here) * (p.T + 1) + here.first) * ROW +
                                        AT_TEACHER + m]
                               : real(0);
                });
    }
}

// ---- forward and backward ---------------------------------------------------------------------------------

// Call `act` for each part that this warp takes where step warps and tangent warps share work.
template <class action> INLINE void for_shares(const solve_args &p, const block_context &work, action act)
{
    const warp_context ctx = make_warp_context(p, work);
    for (int i = ctx.warp; i < ctx.warp + (ctx.is_tangent ? TANGENT_SEGMENTS : 1) && i < WARPS; i++) {
        const segment here = segment_of(p, work, i);
        if (here.active)
            act(ctx, share_of(here, ctx.is_tangent), find_sequence(p, work, here));
    }
}

// From the teacher to the errors; called again when the last comparison was worse than expected.
INLINE void forward_and_errors(const solve_args &p, const block_context &work)
{
    for_shares(p, work, [&](const warp_context &ctx, const segment &share, size_t sequence) {
        find_teachers(p, ctx, share, sequence);
    });
    __syncthreads();
    if (!pass_memory().forward.unchecked)
        set_starts(p, work, false);
    solve_forward(p, work);
    double squares = 0;
    for_shares(p, work, [&](const warp_context &ctx, const segment &share, size_t sequence) {
        squares += find_errors(p, ctx, share, sequence);
    });
    store_warp_squares(make_warp_context(p, work), squares);
    __syncthreads();
    set_starts(p, work, true);
}

// Whether the last pass of the adjoint was exact.
INLINE bool exact_backward(const solve_args &p, const block_context &work)
{
    const border_jump found = jump_of(team_of(p, work), pass_memory().border[true].comparison);
    return within(found.jump, allowed(found, 0, 10 * p.tolerance));
}

// Write p.facts, by the first block.
INLINE void store_facts(const solve_args &p, const block_context &work, int iterations_back)
{
    if (work.first > 0 || thread_index() > 0)
        return;
    const progress &forward = pass_memory().forward;
    double *facts = p.facts + FACTS * work.replica;
    if (!GUESSED) {
        facts[FACT_ITERATIONS] = forward.iterations;
        facts[FACT_LAST_JUMP] = forward.jump;
        facts[FACT_CONVERGED] = forward.converged && forward.iterations <= p.max_iterations;
    }
    facts[FACT_ITERATIONS_BACK] = iterations_back;
    facts[FACT_JUMP_BACK] = jump_of(team_of(p, work), pass_memory().border[true].comparison).jump;
}

// Whether the adjoint is done after this iteration; after a barrier.
INLINE bool done_backward(const solve_args &p, const block_context &work, int iterations_back)
{
    return (exact_backward(p, work) && !(HASTY && iterations_back == 1)) || iterations_back > p.segments;
}

// Each step warp takes one segment, each tangent warp the derivatives of some.  The adjoint is linear: with
// full matrices its second pass is exact, so a barrier alone follows it; with diagonals it takes more.
INLINE void solve_all(const solve_args &p, const block_context &work)
{
    pass_shared &kept = pass_memory();
    if (thread_index() == 0)
        kept.forward = {0, 0, 0, 1 / real(0), 0, false, 0, false};
    if (thread_index() < WARPS)
        kept.segments[thread_index()] = find_segment(p, work.first + thread_index(), work.items);
    __syncthreads();
    int iterations_back = 0;
    for (;; iterations_back++) {
        if (iterations_back == 0)
            forward_and_errors(p, work);
        pass_backward(p, work);
        if (NEWTON && iterations_back > 0) {
            sync_team(team_of(p, work));
            if (done_backward(p, work, iterations_back))
                break;
        }
        publish<true>(side_of(p, work, true), false);
        if (iterations_back == 0 && kept.forward.unchecked && !check_forward(p, work)) {
            iterations_back = -1; // forward again
            continue;
        }
        if (!NEWTON && iterations_back > 0 && done_backward(p, work, iterations_back))
            break;
        correct_starts<true>(side_of(p, work, true),
                             jump_of(team_of(p, work), kept.border[true].comparison).largest_entry,
                             [](int, int, real in) { return in; });
    }
    store_facts(p, work, iterations_back + 1);
    store_block_squares(p, work);
}
#endif

// ---- the kernel -------------------------------------------------------------------------------------------

INLINE void solve_replicas(const solve_args &p)
{
    const int teams = gridDim.x / p.blocks, block = blockIdx.x % p.blocks;
    for (int replica = blockIdx.x / p.blocks; replica < p.replicas; replica += teams) {
#if STAGED_PACK
        const real *pack = p.pack + (size_t)replica * PACK;
        for (int i = 4 * thread_index(); i < STAGE_COUNT; i += 4 * THREADS)
            store4(reinterpret_cast<real *>(block_bytes()) + i, load4(pack + i));
        __syncthreads();
#endif
        const block_context work = {p.blocks * WARPS, p.batch * p.segments, block * WARPS, replica};
        if (thread_index() == 0)
            pass_memory().count = {0, 0};
        clear_padding(make_warp_context(p, work));
#if TANGENT_WARPS
        clear_mask_ring(make_warp_context(p, work));
#endif
        solve_all(p, work);
#if SEGMENTED
        clear_starts(team_of(p, work));
#endif
        __syncthreads();
    }
}

// Where a block would need more shared memory than SHARED_LIMIT, the kernel is empty: the host reads
// shared_bytes and compiles a variant with fewer warps.
extern "C" __global__ void __launch_bounds__(THREADS, 1) solve(const __grid_constant__ solve_args p)
{
    if constexpr (SHARED_BYTES <= SHARED_LIMIT)
        solve_replicas(p);
}

// For the host: abi.h.
extern "C" __device__ const solve_variant solve_facts = {
    SHARED_BYTES, PACK, ROW, MASKS, RECORD, SUMS, LP, MP, KEEP_HIDDEN, THREADS, (int)sizeof(solve_args)};
