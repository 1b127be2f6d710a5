// solve.cu - forced trajectories, their errors and the adjoint (SPEC 2, 3), for many replicas at once;
// sums.cu follows.
//
// Time is cut into stretches, one per warp.  Inside a stretch steps are exact and the state never leaves the
// warp; other warps, the shadows, follow with its derivative; border.cuh makes neighbouring stretches meet.
// With one stretch per sequence this is the sequential solver.  The adjoint goes the same way backwards.  All
// blocks of a replica form a team that meets at team_barrier, so one launch is a whole forward and backward
// pass.
//
// Macros from the host: those of shape.cuh; WARPS (stretches of one block at a time); CHUNKED (0: one stretch
// per sequence, p.chunks = 1; 1: p.chunks > 1); NEWTON (1: full border matrices, M <= 32); ROOM (bytes of
// shared memory that a block may have); GUESSED (1: after deer.cu).
// variant: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=1 -DCHUNKED=1 -DROOM=232448
// variant: -DREAL_BITS=32 -DM=10 -DN=6 -DL=128 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=1 -DCHUNKED=1 -DROOM=232448
// variant: -DREAL_BITS=32 -DM=16 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=1 -DCHUNKED=1 -DROOM=232448
// variant: -DREAL_BITS=32 -DM=128 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=0 -DCHUNKED=1 -DROOM=232448
// variant: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=1 -DCHUNKED=1 -DROOM=232448 -DGUESSED=1
// variant: -DREAL_BITS=64 -DM=5 -DN=3 -DL=50 -DK=2 -DCLIPPED=1 -DWARPS=8 -DNEWTON=1 -DCHUNKED=0 -DROOM=232448
#if !defined REAL_BITS || !defined M || !defined N || !defined L || !defined K || !defined CLIPPED ||        \
    !defined WARPS || !defined CHUNKED || !defined NEWTON || !defined ROOM
#error "the host gives the macros named above"
#endif
#include "moments.cuh"

// A hasty solver leaves every comparison open and distrusts the adjoint's second pass, so that tests see it
// go back.
#ifndef HASTY
#define HASTY 0
#endif

// Where stretches start in the first pass: 0: at the teacher, 1: where deer.cu, which tells of itself in
// p.facts, has left them.
#ifndef GUESSED
#define GUESSED 0
#endif

#define SHARED_BYTES (STAGED_BYTES + (int)sizeof(kept_memory) + (int)sizeof(walk_memory))

// The team of this block; asked for where it is needed, so that nothing of it stays in registers meanwhile.
INLINE border_team team_of(const solve_problem &p, const block_work &work)
{
    const size_t replica = work.replica;
    return {p.records + replica * 4 * p.blocks * RECORD,
            p.starts + replica * 2 * p.blocks * M * WORDS,
            p.arrived + replica * MEETING_WORDS,
            p.staged ? SHARED_BYTES : 0,
            p.group,
            (unsigned)p.blocks,
            work.first / WARPS,
            &kept_room().count};
}

#if CHUNKED
INLINE border_side side_of(const solve_problem &p, const block_work &work, bool back)
{
    return {kept_room().border[back], walking_room().chain, kept_room().tangent, team_of(p, work)};
}
#endif

INLINE void leave_squares(const worker &me, double squares)
{
    squares = warp_sum(squares);
    if (me.lane == 0)
        kept_room().squares[own_thread() / 32] = squares;
}

// The squares of this block's errors, of those that its warps have left.
INLINE void tell_squares(const solve_problem &p, const block_work &work)
{
    __syncthreads();
    if (own_thread() == 0) {
        double squares = 0;
        for (int i = 0; i < CREW; i++)
            squares += kept_room().squares[i];
        p.squares[(size_t)work.replica * p.blocks + work.first / WARPS] = squares;
    }
}

#if !CHUNKED
// One warp after the other takes whole sequences: no borders.
INLINE void solve_all(const solve_problem &p, const block_work &work)
{
    {
        const worker me = hire(p, work);
        double squares = 0;
        for (int item = work.first + me.warp; item < work.items; item += work.workers) {
            const stretch here = find_stretch(p, item, work.items);
            const size_t sequence = find_sequence(p, work, here);
            real rows[ROW_BLOCKS], diagonal[ROW_BLOCKS];
            find_teachers(p, me, here, sequence);
            load_rows(me, p.rows + sequence * (p.T + 1) * ROW + AT_TEACHER, rows);
            run_forward(p, me, here, sequence, rows, diagonal, -1);
            squares += find_errors(p, me, here, sequence);
#pragma unroll
            for (int k = 0; k < ROW_BLOCKS; k++)
                rows[k] = 0;
            run_backward(p, me, here, sequence, rows);
        }
        leave_squares(me, squares);
    }
    tell_squares(p, work);
}

#else
// Where the first pass of a direction starts: forward at the teacher or the guess, the adjoint at zero.
INLINE void begin(const solve_problem &p, const block_work &work, bool back)
{
    const worker me = hire(p, work);
    const int place = back ? WARPS - 1 - me.warp : me.warp;
    border_memory &border = kept_room().border[back];
    const stretch here = stretch_of(p, work, me.warp);
    real in[ROW_BLOCKS];
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        in[k] = 0;
    if (here.works && !back)
        load_rows(me,
                  p.rows + (find_sequence(p, work, here) * (p.T + 1) + here.first) * ROW +
                      (GUESSED ? AT_GUESS : AT_TEACHER),
                  in);
    if (!me.shadow) {
#pragma unroll
        for (int k = 0; k < ROW_BLOCKS; k++)
            if (me.row[k] >= 0) {
                border.in[place][me.row[k]] = in[k];
                if (place == 0)
                    tell_start(team_of(p, work), back, me.row[k], in[k]);
            }
        if (me.lane == 0)
            border.closed[place] = !here.works || (back ? here.first == 0 : here.last == p.T);
    }
    __syncthreads();
}

// One pass of this warp: the steps of its stretch, or X of the steps of some.  followed: passes that shadows
// went along with before.
INLINE void pass_forward(const solve_problem &p, const block_work &work, bool renew, int followed)
{
    const worker me = hire(p, work);
    const stretch here = stretch_of(p, work, me.warp);
    real out[ROW_BLOCKS], diagonal[ROW_BLOCKS];
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        out[k] = 0;
    if (me.shadow) {
#if SHADOWS
        if (renew)
            follow(p, me, work, (unsigned)followed);
#endif
    } else if (here.works) {
        load_rows(me, kept_room().border[0].in[me.warp], out);
        run_forward(p, me, here, find_sequence(p, work, here), out, diagonal, renew ? followed : -1);
#if !NEWTON
        store_mine(me, kept_room().tangent[me.warp] + me.place, diagonal);
#endif
    }
    compare_ends(side_of(p, work, false), false, me.warp, me.row, out, me.shadow);
}

INLINE void pass_backward(const solve_problem &p, const block_work &work)
{
    const worker me = hire(p, work);
    const stretch here = stretch_of(p, work, me.warp);
    const int place = WARPS - 1 - me.warp;
    real out[ROW_BLOCKS];
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        out[k] = 0;
    if (here.works && !me.shadow) {
        load_rows(me, kept_room().border[1].in[place], out);
        run_backward(p, me, here, find_sequence(p, work, here), out);
    }
    compare_ends(side_of(p, work, true), true, place, me.row, out, me.shadow);
}

// ---- passes -----------------------------------------------------------------------------------------------

// One pass forward; whether neighbours should meet after it.
INLINE bool try_forward(const solve_problem &p, const block_work &work)
{
    progress &now = kept_room().forward;
    const bool renew = !(now.jump <= p.freeze); // X of nearly the same trajectory serves as well
    pass_forward(p, work, renew, now.followed);
    const real shrinks =
        now.jump / now.before; // by Newton's method as the square of the gap, with diagonals by a factor
    const bool meet = NEWTON ? now.jump <= p.freeze || now.jump * shrinks * shrinks <= now.allowed / 2
                             : now.jump * shrinks <= now.allowed / 2;
    const bool open = (meet || HASTY) && now.iterations < p.max_iterations;
    __syncthreads();
    if (own_thread() == 0) {
        now.followed += !(now.jump <= p.freeze);
        now.iterations++;
        now.open = open;
    }
    __syncthreads();
    return open;
}

// Whether a gap is small enough; a limit may be infinite where the gap is.
INLINE bool meets(real jump, real limit)
{
    return jump <= limit && is_finite(jump);
}

// Look at the last comparison, after a barrier; whether that was the last.  One that was left open and is
// not, stays open.
INLINE bool look_forward(const solve_problem &p, const block_work &work)
{
    progress &now = kept_room().forward;
    const border_gap gap = gap_of(team_of(p, work), kept_room().border[false].round);
    const real limit = allowed(gap, p.tolerance, 0);
    const bool met = meets(gap.jump, limit) && gap.beyond <= p.tolerance,
               done = met || now.iterations >= p.max_iterations + p.fallback;
    if (!done && now.open)
        return false;
    __syncthreads();
    if (own_thread() == 0) {
        now.before = now.iterations > 1 ? now.jump : real(0);
        now.jump = gap.jump;
        now.allowed = limit;
        now.met = met;
        now.reach = gap.reach;
        now.open = false;
    }
    __syncthreads();
    return done;
}

// Passes over all stretches until neighbours meet, or until they should: then the look at the last comparison
// is left to the next barrier. Leaves X of every stretch.
INLINE void solve_forward(const solve_problem &p, const block_work &work)
{
    kept_memory &kept = kept_room();
    for (bool looked = !kept.forward.open;;) {
        if (looked && try_forward(p, work))
            return;
        if (!looked) {
            __syncthreads();
            if (own_thread() == 0)
                kept.forward.open = false;
        }
        looked = true;
        const int over =
            kept.forward.iterations - p.max_iterations; // passes beyond what Newton's method may take
        publish<false>(side_of(p, work, false), over > 0);
        if (look_forward(p, work))
            return;
        if (over == 1) // what it left may be anything: from the teacher again, then ends are handed on as
                       // they are, which is exact after `chunks` passes
            begin(p, work, false);
        else
            correct_starts<false>(side_of(p, work, false), kept.forward.reach, [&](int place, int m, real) {
                const stretch here = stretch_of(p, work, place);
                return here.works ? p.rows[(find_sequence(p, work, here) * (p.T + 1) + here.first) * ROW +
                                           AT_TEACHER + m]
                                  : real(0);
            });
    }
}

// ---- forward and backward ---------------------------------------------------------------------------------

// Call `act` for all that falls to this warp in work that shadows share.
template <class action> INLINE void for_shares(const solve_problem &p, const block_work &work, action act)
{
    const worker me = hire(p, work);
    for (int i = me.warp; i < me.warp + (me.shadow ? PER_SHADOW : 1) && i < WARPS; i++) {
        const stretch here = stretch_of(p, work, i);
        if (here.works)
            act(me, share_of(here, me.shadow), find_sequence(p, work, here));
    }
}

// From the teacher to the errors; entered again when the last comparison was worse than expected.
INLINE void go_forward(const solve_problem &p, const block_work &work)
{
    for_shares(p, work, [&](const worker &me, const stretch &share, size_t sequence) {
        find_teachers(p, me, share, sequence);
    });
    __syncthreads();
    if (!kept_room().forward.open)
        begin(p, work, false);
    solve_forward(p, work);
    double squares = 0;
    for_shares(p, work, [&](const worker &me, const stretch &share, size_t sequence) {
        squares += find_errors(p, me, share, sequence);
    });
    leave_squares(hire(p, work), squares);
    __syncthreads();
    begin(p, work, true);
}

// Whether the last pass of the adjoint was exact.
INLINE bool exact_backward(const solve_problem &p, const block_work &work)
{
    const border_gap gap = gap_of(team_of(p, work), kept_room().border[true].round);
    return meets(gap.jump, allowed(gap, 0, 10 * p.tolerance));
}

// What the first block tells of the solution.
INLINE void tell_facts(const solve_problem &p, const block_work &work, int rounds)
{
    if (work.first > 0 || own_thread() > 0)
        return;
    const progress &forward = kept_room().forward;
    double *facts = p.facts + FACTS * work.replica;
    if (!GUESSED) {
        facts[FACT_ITERATIONS] = forward.iterations;
        facts[FACT_LAST_JUMP] = forward.jump;
        facts[FACT_CONVERGED] = forward.met && forward.iterations <= p.max_iterations;
    }
    facts[FACT_ROUNDS_BACK] = rounds;
    facts[FACT_JUMP_BACK] = gap_of(team_of(p, work), kept_room().border[true].round).jump;
}

// Whether the adjoint is done after this round, as the last barrier shows.
INLINE bool done_backward(const solve_problem &p, const block_work &work, int rounds)
{
    return (exact_backward(p, work) && !(HASTY && rounds == 1)) || rounds > p.chunks;
}

// Every warp takes one stretch of time, or the derivative of some.  The adjoint is linear: with full matrices
// its second pass is exact, so a barrier alone follows it; with diagonals it takes more.
INLINE void solve_all(const solve_problem &p, const block_work &work)
{
    kept_memory &kept = kept_room();
    if (own_thread() == 0)
        kept.forward = {0, 0, 0, 1 / real(0), 0, false, 0, false};
    if (own_thread() < WARPS)
        kept.stretches[own_thread()] = find_stretch(p, work.first + own_thread(), work.items);
    __syncthreads();
    int rounds = 0;
    for (;; rounds++) {
        if (rounds == 0)
            go_forward(p, work);
        pass_backward(p, work);
        if (NEWTON && rounds > 0) {
            meet(team_of(p, work));
            if (done_backward(p, work, rounds))
                break;
        }
        publish<true>(side_of(p, work, true), false);
        if (rounds == 0 && kept.forward.open && !look_forward(p, work)) {
            rounds = -1; // forward again
            continue;
        }
        if (!NEWTON && rounds > 0 && done_backward(p, work, rounds))
            break;
        correct_starts<true>(side_of(p, work, true), gap_of(team_of(p, work), kept.border[true].round).reach,
                             [](int, int, real in) { return in; });
    }
    tell_facts(p, work, rounds + 1);
    tell_squares(p, work);
}
#endif

// ---- the kernel -------------------------------------------------------------------------------------------

INLINE void solve_replicas(const solve_problem &p)
{
    const int teams = gridDim.x / p.blocks, block = blockIdx.x % p.blocks;
    for (int replica = blockIdx.x / p.blocks; replica < p.replicas; replica += teams) {
#if STAGED_PACK
        const real *pack = p.pack + (size_t)replica * PACK;
        for (int i = 4 * own_thread(); i < STAGE_COUNT; i += 4 * THREADS)
            store4(reinterpret_cast<real *>(block_bytes()) + i, load4(pack + i));
        __syncthreads();
#endif
        const block_work work = {p.blocks * WARPS, p.batch * p.chunks, block * WARPS, replica};
        if (own_thread() == 0)
            kept_room().count = {0, 0};
        clear_padding(hire(p, work));
#if SHADOWS
        clear_trail(hire(p, work));
#endif
        solve_all(p, work);
#if CHUNKED
        forget_starts(team_of(p, work));
#endif
        __syncthreads();
    }
}

// Where a block needs more shared memory than there is, the host, which sees that in solve_facts, asks for
// fewer warps: nothing to compile then.
extern "C" __global__ void __launch_bounds__(THREADS, 1) solve(const __grid_constant__ solve_problem p)
{
    if constexpr (SHARED_BYTES <= ROOM)
        solve_replicas(p);
}

// What the host has to know of this variant; and the bytes of the problem, which it compares with its own.
extern "C" __device__ const int solve_facts[] = {
    SHARED_BYTES, PACK, ROW, MASKS, RECORD, SUMS, LP, MP, KEEP_HIDDEN, THREADS, (int)sizeof(solve_problem)};
