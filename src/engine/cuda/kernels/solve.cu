// solve.cu - forced trajectories, their loss and the sums of its gradient (SPEC 2, 3), for many replicas at once.
//
// Time is cut into stretches, one per warp.  Inside a stretch steps are exact and the state never leaves the warp; other
// warps, the shadows, follow with its derivative; `join_borders` makes neighbouring stretches meet.  With one stretch per sequence this is the sequential solver.
// The adjoint goes the same way backwards.  All blocks of a replica form a team that meets at team_barrier, so
// one launch is a whole forward and backward pass.
//
// Macros from the host: those of shape.cuh; WARPS (stretches of one block at a time); CHUNKED (0: one stretch per sequence, p.chunks = 1;
// 1: p.chunks > 1); NEWTON (1: full border matrices, M <= 32).
// variant: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=1 -DCHUNKED=1
// variant: -DREAL_BITS=32 -DM=10 -DN=6 -DL=128 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=1 -DCHUNKED=1
// variant: -DREAL_BITS=32 -DM=16 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=1 -DCHUNKED=1
// variant: -DREAL_BITS=32 -DM=128 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=0 -DCHUNKED=1
// variant: -DREAL_BITS=64 -DM=5 -DN=3 -DL=50 -DK=2 -DCLIPPED=1 -DWARPS=8 -DNEWTON=1 -DCHUNKED=0
#if !defined REAL_BITS || !defined M || !defined N || !defined L || !defined K || !defined CLIPPED || !defined WARPS || !defined CHUNKED || !defined NEWTON
#error "the host gives the macros named above"
#endif
#include "sums.cuh"

#if CHUNKED
// ---- borders ----------------------------------------------------------------------------------------------

INLINE void write_map(real *to, const real *matrix, bool zero, bool transposed, int lane)
{
#if NEWTON
    for (int i = lane; i < M * M; i += 32) {
        const int row = i / M, column = i % M;
        to[row * MS + column] = zero ? real(0) : transposed ? matrix[column * MS + row] : matrix[row * MS + column];
    }
#else
    for (int i = lane; i < M; i += 32)
        to[i] = zero ? real(0) : matrix[i];
#endif
    __syncwarp();
}

// Lay out the maps of the stretches that this warp has: X, transposed for the way back; zero where nothing is handed on.
INLINE void write_maps(const solve_problem &p, solve_memory &memory, const block_work &work, bool plain, bool back)
{
    const worker me = hire(p, work);
    if (SHADOWS && !me.shadow)
        return;
    for (int i = me.warp; i < me.warp + (SHADOWS ? PER_SHADOW : 1) && i < WARPS; i++) {
        const stretch here = find_stretch(p, work.first + i, work.items);
        const bool closed = !here.works || (back ? here.first == 0 : here.last == p.T);
        write_map(memory.border.map[back ? WARPS - 1 - i : i], memory.tangent[i], closed || plain, back, me.lane);
    }
}

// Where the first pass begins, and one whose correction is not a number: the teacher.
INLINE void begin_at_teacher(const solve_problem &p, const block_work &work, border_side &side, bool first)
{
    const worker me = hire(p, work);
    const stretch here = find_stretch(p, work.first + me.warp, work.items);
    real teacher[ROW_BLOCKS];
    load_rows(me, p.rows + (find_base(p, work, here) + here.first) * ROW + AT_TEACHER, teacher);
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        if (first || !is_finite(side.in[k]))
            side.in[k] = here.works ? teacher[k] : real(0);
}

// One pass of this warp: the steps of its stretch, or X of the steps.  followed: passes that shadows went along with before.
INLINE void pass_forward(const solve_problem &p, solve_memory &memory, const block_work &work, border_side &side, bool renew, int followed)
{
    const worker me = hire(p, work);
    side.place = me.warp;
    side.shadow = me.shadow;
#if SHADOWS
    if (me.shadow) {
        if (renew)
            follow(p, me, work, (unsigned)followed);
        return;
    }
#endif
    const stretch here = find_stretch(p, work.first + me.warp, work.items);
    side.closed = !here.works || here.last == p.T;
    if (!here.works)
        return;
    real diagonal[ROW_BLOCKS];
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        side.out[k] = side.in[k];
    run_forward(p, me, here, find_base(p, work, here), side.out, diagonal, renew ? followed : -1);
#if !NEWTON
    store_mine(me, memory.tangent[me.warp] + me.place, diagonal);
#endif
}

// Passes over all stretches until neighbours meet.  Leaves X of every stretch in memory.tangent.
INLINE void solve_forward(const solve_problem &p, solve_memory &memory, border_team &team, const block_work &work)
{
    border_side side;
    int iteration = 0, followed = 0;
    bool exact;
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        side.out[k] = 0;
    begin_at_teacher(p, work, side, true);
    side.closed = true;
    side.jump = 1 / real(0);
    for (;;) {
        const bool renew = !(side.jump <= p.freeze); // X of nearly the same trajectory serves as well
        pass_forward(p, memory, work, side, renew, followed);
        followed += renew;
        write_maps(p, memory, work, iteration >= p.max_iterations, false); // then ends are handed on as they are: exact after `chunks` rounds
        exact = join_borders(memory.border, team, side, p.tolerance, 0);
        if (++iteration >= p.max_iterations + p.fallback || exact)
            break;
        begin_at_teacher(p, work, side, false);
    }
    if (team.block == 0 && own_thread() == 0) {
        double *facts = p.facts + FACTS * work.replica;
        facts[FACT_ITERATIONS] = iteration;
        facts[FACT_LAST_JUMP] = side.jump;
        facts[FACT_CONVERGED] = exact && iteration <= p.max_iterations;
    }
    __syncthreads();
}

INLINE void pass_backward(const solve_problem &p, const block_work &work, border_side &side)
{
    const worker me = hire(p, work);
    const stretch here = find_stretch(p, work.first + me.warp, work.items);
    side.place = WARPS - 1 - me.warp;
    side.shadow = me.shadow;
    side.closed = !here.works || here.first == 0;
    if (!here.works || me.shadow)
        return;
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        side.out[k] = side.in[k];
    run_backward(p, me, here, find_base(p, work, here), side.out);
}

// The adjoint of all stretches.  It is linear: the second pass is exact, and the join after it proves so.
INLINE void solve_backward(const solve_problem &p, solve_memory &memory, border_team &team, const block_work &work)
{
    const int block = team.block;
    border_side side;
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        side.in[k] = side.out[k] = 0;
    team.block = (int)team.blocks - 1 - block;
    int round = 0;
    bool exact;
    for (;;) {
        pass_backward(p, work, side);
        write_maps(p, memory, work, false, true);
        exact = join_borders(memory.border, team, side, 0, 10 * p.tolerance);
        if (++round > p.chunks || exact)
            break;
    }
    team.block = block;
    if (block == 0 && own_thread() == 0) {
        double *facts = p.facts + FACTS * work.replica;
        facts[FACT_ROUNDS_BACK] = round;
        facts[FACT_JUMP_BACK] = side.jump;
    }
    __syncthreads();
}

#endif

// ---- the kernel -------------------------------------------------------------------------------------------

INLINE void leave_squares(solve_memory &memory, const worker &me, double squares)
{
    squares = warp_sum(squares);
    if (me.lane == 0)
        memory.squares[own_thread() / 32] = squares;
}

#if !CHUNKED
// One warp after the other takes whole sequences: no borders.
INLINE void solve_all(const solve_problem &p, solve_memory &memory, border_team &, const block_work &work)
{
    const worker me = hire(p, work);
    double squares = 0;
    for (int item = work.first + me.warp; item < work.items; item += work.workers) {
        const stretch here = find_stretch(p, item, work.items);
        const size_t base = find_base(p, work, here);
        real rows[ROW_BLOCKS], diagonal[ROW_BLOCKS];
        find_teachers(p, me, here, base);
        load_rows(me, p.rows + base * ROW + AT_TEACHER, rows);
        run_forward(p, me, here, base, rows, diagonal, -1);
        squares += find_errors(p, me, here, base);
#pragma unroll
        for (int k = 0; k < ROW_BLOCKS; k++)
            rows[k] = 0;
        run_backward(p, me, here, base, rows);
        __syncwarp();
        find_y(p, me, here, base);
    }
    leave_squares(memory, me, squares);
}

#else
// Call `act` for all that falls to this warp in work that shadows share.
template <class action> INLINE void for_shares(const solve_problem &p, const worker &me, const block_work &work, action act)
{
    for (int i = me.warp; i < me.warp + (me.shadow ? PER_SHADOW : 1) && i < WARPS; i++) {
        const stretch here = find_stretch(p, work.first + i, work.items);
        if (here.works)
            act(share_of(here, me.shadow), find_base(p, work, here));
    }
}

// Every warp takes one stretch of time, or the derivative of one or two.
INLINE void solve_all(const solve_problem &p, solve_memory &memory, border_team &team, const block_work &work)
{
    {
        const worker me = hire(p, work);
        for_shares(p, me, work, [&](const stretch &share, size_t at) { find_teachers(p, me, share, at); });
        __syncthreads();
    }
    solve_forward(p, memory, team, work);
    {
        const worker me = hire(p, work);
        double squares = 0;
        for_shares(p, me, work, [&](const stretch &share, size_t at) { squares += find_errors(p, me, share, at); });
        leave_squares(memory, me, squares);
        __syncthreads();
    }
    solve_backward(p, memory, team, work);
    {
        const worker me = hire(p, work);
        for_shares(p, me, work, [&](const stretch &share, size_t at) { find_y(p, me, share, at); });
    }
}
#endif

union alignas(16) phase_memory {
    solve_memory solve;
    sum_memory sum;
    double totals[THREADS];
};

extern "C" __global__ void __launch_bounds__(THREADS, 1) solve(const __grid_constant__ solve_problem p)
{
    phase_memory &memory = *reinterpret_cast<phase_memory *>(bytes + STAGED_BYTES);
    const int local = p.staged ? (int)(STAGED_BYTES + sizeof(phase_memory)) : 0;
    const int teams = gridDim.x / p.blocks, block = blockIdx.x % p.blocks;
    for (int replica = blockIdx.x / p.blocks; replica < p.replicas; replica += teams) {
        const real *pack = p.pack + (size_t)replica * PACK;
#if STAGED_PACK
        for (int i = 4 * own_thread(); i < STAGE_COUNT; i += 4 * THREADS)
            store4(reinterpret_cast<real *>(bytes) + i, load4(pack + i));
        __syncthreads();
#endif
        const block_work work = {p.blocks * WARPS, p.batch * p.chunks, block * WARPS, replica};
        border_team team = {p.records + (size_t)replica * 2 * (p.blocks + 1) * RECORD, local, p.arrived + replica, (unsigned)p.blocks, 0, block};
        clear_room(hire(p, work));
        solve_all(p, memory.solve, team, work);
        __syncthreads();
        if (own_thread() == 0) {
            double squares = 0;
            for (int i = 0; i < CREW; i++)
                squares += memory.solve.squares[i];
            p.squares[(size_t)replica * p.blocks + block] = squares;
        }
        __syncthreads();
        real *partial = p.partial + ((size_t)replica * p.blocks + block) * SUMS;
        sum_hidden(p, memory.sum, pack, replica, work, partial);
        __syncthreads();
        sum_latent(p, memory.sum, replica, work, partial);
        team_barrier(team.arrived, team.blocks, team.phase);
        sum_blocks(p, memory.totals, replica, block);
        __syncthreads();
    }
}

// What the host has to know of this variant; and the bytes of the problem, which it compares with its own.
extern "C" __device__ const int solve_facts[] = {(int)(STAGED_BYTES + sizeof(phase_memory)), PACK, ROW, MASKS, RECORD, SUMS, LP, MP, KEEP_HIDDEN, THREADS,
                                                 (int)sizeof(solve_problem)};
