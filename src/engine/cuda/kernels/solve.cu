// solve.cu - forced trajectories, their loss and the sums of its gradient (SPEC 2, 3), for many replicas at once.
//
// Time is cut into stretches, one per warp.  Inside a stretch steps are exact and the state never leaves the warp;
// `join_borders` makes neighbouring stretches meet.  With one stretch per sequence this is the sequential solver.
// The adjoint goes the same way backwards.  All blocks of a replica form a team that meets at team_barrier, so
// one launch is a whole forward and backward pass.
//
// Macros from the host: those of shape.cuh; WARPS (of one block); CHUNKED (0: one stretch per sequence, p.chunks = 1;
// 1: p.chunks > 1); NEWTON (1: full border matrices, M <= 32).
// variant: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=12 -DNEWTON=1 -DCHUNKED=1
// variant: -DREAL_BITS=32 -DM=10 -DN=6 -DL=128 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=1 -DCHUNKED=1
// variant: -DREAL_BITS=32 -DM=128 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=0 -DCHUNKED=1
// variant: -DREAL_BITS=64 -DM=5 -DN=3 -DL=50 -DK=2 -DCLIPPED=1 -DWARPS=8 -DNEWTON=1 -DCHUNKED=0
// spills: solve (weights take nearly all registers; what is spilled lies outside the loops over steps on sm_90)
#if !defined REAL_BITS || !defined M || !defined N || !defined L || !defined K || !defined CLIPPED || !defined WARPS || !defined CHUNKED || !defined NEWTON
#error "the host gives the macros named above"
#endif
#include "sums.cuh"

#if CHUNKED
// ---- borders ----------------------------------------------------------------------------------------------

// A correction that is not a number starts again from the teacher.
INLINE void keep_finite(border_side &side, const real (&teacher)[ROW_BLOCKS])
{
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        if (!is_finite(side.in[k]))
            side.in[k] = teacher[k];
}

INLINE void write_map(real *to, const real *matrix, bool zero, bool transposed, int lane)
{
#if NEWTON
    for (int i = lane; i < M * M; i += 32) {
        const int row = i / M, column = i % M;
        to[row * MP + column] = zero ? real(0) : transposed ? matrix[column * MP + row] : matrix[row * MP + column];
    }
#else
    for (int i = lane; i < M; i += 32)
        to[i] = zero ? real(0) : matrix[i];
#endif
    __syncwarp();
}

// Passes over all stretches until neighbours meet.  Leaves X of every stretch in memory.tangent.
INLINE void solve_forward(const solve_problem &p, solve_memory &memory, border_team &team, const worker &me, const stretch &here,
                          size_t base, double *facts)
{
    border_side side;
    real teacher[ROW_BLOCKS], *matrix = memory.tangent[me.warp];
    load_rows(me, p.rows + (base + here.first) * ROW + AT_TEACHER, teacher);
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++) {
        side.in[k] = here.works ? teacher[k] : real(0);
        side.out[k] = 0;
    }
    side.closed = !here.works || here.last == p.T;
#if NEWTON
    tangent derivative;
    real *jacobian = memory.border.fold[me.warp]; // free between joins
    tangent_begin(derivative, me.lane);
#endif
    int iteration = 0;
    bool exact;
    side.jump = 1 / real(0);
    for (;;) {
        if (here.works) {
#pragma unroll
            for (int k = 0; k < ROW_BLOCKS; k++)
                side.out[k] = side.in[k];
#if NEWTON
            if (!(side.jump <= p.freeze)) { // X of nearly the same trajectory serves as well
                tangent_restart(derivative, jacobian, me.lane);
                run_forward<true>(p, me, here, base, side.out, &derivative, jacobian);
                tangent_write(derivative.column, matrix, me.lane);
            } else {
                run_forward<false>(p, me, here, base, side.out, nullptr, nullptr);
            }
#else
            real derivative[ROW_BLOCKS];
#pragma unroll
            for (int k = 0; k < ROW_BLOCKS; k++)
                derivative[k] = 1;
            run_forward<true>(p, me, here, base, side.out, derivative, nullptr);
            store_rows(me, matrix, derivative);
            __syncwarp();
#endif
        }
        const bool plain = iteration >= p.max_iterations; // hand the ends on as they are: exact after `chunks` rounds
        write_map(memory.border.map[me.warp], matrix, side.closed || plain, false, me.lane);
        exact = join_borders(memory.border, team, side, me.row, me.warp, p.tolerance, 0);
        if (++iteration >= p.max_iterations + p.chunks || exact)
            break;
        keep_finite(side, teacher);
    }
    if (team.block == 0 && threadIdx.x == 0) {
        facts[FACT_ITERATIONS] = iteration;
        facts[FACT_LAST_JUMP] = side.jump;
        facts[FACT_CONVERGED] = exact && iteration <= p.max_iterations;
    }
    __syncthreads();
}

// The adjoint of all stretches.  It is linear: the second pass is exact, and the join after it proves so.
INLINE void solve_backward(const solve_problem &p, solve_memory &memory, border_team &team, const worker &me, const stretch &here,
                           size_t base, double *facts)
{
    const int block = team.block;
    const int place = WARPS - 1 - me.warp;
    border_side side;
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        side.in[k] = side.out[k] = 0;
    side.closed = !here.works || here.first == 0;
    team.block = (int)team.blocks - 1 - block;
    int round = 0;
    bool exact;
    for (;;) {
        if (here.works) {
#pragma unroll
            for (int k = 0; k < ROW_BLOCKS; k++)
                side.out[k] = side.in[k];
            run_backward(p, me, here, base, side.out);
        }
        write_map(memory.border.map[place], memory.tangent[me.warp], side.closed, true, me.lane);
        exact = join_borders(memory.border, team, side, me.row, place, 0, 10 * p.tolerance);
        if (++round > p.chunks || exact)
            break;
    }
    team.block = block;
    if (block == 0 && threadIdx.x == 0) {
        facts[FACT_ROUNDS_BACK] = round;
        facts[FACT_JUMP_BACK] = side.jump;
    }
    __syncthreads();
}

#endif

// ---- the kernel -------------------------------------------------------------------------------------------

#if !CHUNKED
// One warp after the other takes whole sequences: no borders.
INLINE double solve_sequences(const solve_problem &p, const worker &me, const block_work &work, int replica)
{
    double squares = 0;
    for (int item = work.first + me.warp; item < work.items; item += work.workers) {
        const stretch here = find_stretch(p, item, work.items);
        const size_t base = ((size_t)replica * p.batch + here.sequence) * (p.T + 1);
        real rows[ROW_BLOCKS];
        find_teachers(p, me, here, base);
        load_rows(me, p.rows + base * ROW + AT_TEACHER, rows);
        run_forward<false>(p, me, here, base, rows, nullptr, nullptr);
        squares += find_errors(p, me, here, base);
#pragma unroll
        for (int k = 0; k < ROW_BLOCKS; k++)
            rows[k] = 0;
        run_backward(p, me, here, base, rows);
        __syncwarp();
        find_y(p, me, here, base);
    }
    return squares;
}

#else
// Every warp takes one stretch of time.
INLINE double solve_stretches(const solve_problem &p, solve_memory &memory, border_team &team, const worker &me, const block_work &work,
                              int replica, double *facts)
{
    const stretch here = find_stretch(p, work.first + me.warp, work.items);
    const size_t base = ((size_t)replica * p.batch + here.sequence) * (p.T + 1);
    double squares = 0;
    if (here.works)
        find_teachers(p, me, here, base);
    solve_forward(p, memory, team, me, here, base, facts);
    if (here.works)
        squares = find_errors(p, me, here, base);
    solve_backward(p, memory, team, me, here, base, facts);
    if (here.works)
        find_y(p, me, here, base);
    return squares;
}
#endif

union alignas(16) phase_memory {
    solve_memory solve;
    sum_memory sum;
    double totals[THREADS];
};

struct kernel_memory {
    phase_memory phase;
#if STAGED_PACK
    alignas(16) real staged[STAGE_COUNT];
#endif
};

extern "C" __global__ void __launch_bounds__(THREADS, 1) solve(const solve_problem p)
{
    extern __shared__ __align__(16) unsigned char bytes[];
    kernel_memory &all = *reinterpret_cast<kernel_memory *>(bytes);
    phase_memory &memory = all.phase;
    real *local = p.staged ? reinterpret_cast<real *>(bytes + sizeof(kernel_memory)) : nullptr;
    const int teams = gridDim.x / p.blocks, block = blockIdx.x % p.blocks;
    for (int replica = blockIdx.x / p.blocks; replica < p.replicas; replica += teams) {
        const real *pack = p.pack + (size_t)replica * PACK;
#if STAGED_PACK
        for (int i = 4 * threadIdx.x; i < STAGE_COUNT; i += 4 * THREADS)
            store4(all.staged + i, load4(pack + i));
        __syncthreads();
        const real *staged = all.staged;
#else
        const real *staged = pack;
#endif
        worker me;
        hire(me, pack, staged, &memory.solve.warp[threadIdx.x / 32]);
        border_team team = {p.records + (size_t)replica * 2 * (p.blocks + 1) * RECORD, local, p.arrived + replica, (unsigned)p.blocks, 0, block};
        const block_work work = {p.blocks * WARPS, p.batch * p.chunks, block * WARPS};
#if CHUNKED
        double squares = solve_stretches(p, memory.solve, team, me, work, replica, p.facts + FACTS * replica);
#else
        double squares = solve_sequences(p, me, work, replica);
#endif
        squares = warp_sum(squares);
        if (me.lane == 0)
            memory.solve.squares[me.warp] = squares;
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int i = 1; i < WARPS; i++)
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

// What the host has to know of this variant.
extern "C" __device__ const int solve_facts[] = {(int)sizeof(kernel_memory), PACK, ROW, MASKS, RECORD, SUMS, LP, MP, KEEP_HIDDEN};
