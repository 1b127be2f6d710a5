// sums_shape.cuh - how sums.cu divides its work: threads, tiles in shared memory, the segments of a block,
// sums over slices of threads.
//
// Macros from the host: those of shape.cuh.
// alone: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0
#ifndef ANT_SUMS_SHAPE_CUH
#define ANT_SUMS_SHAPE_CUH

#include "solve_args.cuh"

// A row of the tile: one of p.rows (with many variables without e and y), a one, the inputs and, where values
// may be missing, the vectors of spec 12 through which an incomplete row adds to dB.
#define TILE_ROW   (MANY_VARIABLES ? AT_E : ROW)
#define AT_ONE     TILE_ROW
#define AT_GAP     (TILE_ROW + 4 + (K + 3) / 4 * 4)
#define AT_p       AT_GAP
#define AT_r       (AT_p + NP)
#define AT_g       (AT_r + NP)
#define AT_q       (AT_g + NP)
#define AT_u       (AT_q + MP)
#define AT_m       (AT_u + MP)
#define AT_END     (AT_m + MP)
#define LATENT_ROW (PATTERNS ? AT_END : AT_GAP)

// As many threads as registers or shared memory allow; more than 512 lose more to synchronisation than they
// gain.
#ifndef THREADS_MOST
#define THREADS_MOST 512
#endif
#if KEEP_HIDDEN
#define THREADS_FIT (!MANY_VARIABLES && 2 * 16 * LATENT_ROW * (REAL_BITS / 8) <= 64 * 1024 ? 512 : 256)
#else
#define REGISTERS_NEEDED ((6 * M + 40 + 6 * CLIPPED) * REGISTERS_PER_REAL) // registers
#define THREADS_FIT      (REGISTERS_NEEDED <= 128 ? 512 : REGISTERS_NEEDED <= 168 ? 384 : 256)
#endif
#define THREADS     (THREADS_FIT < THREADS_MOST ? THREADS_FIT : THREADS_MOST)
#define BLOCK_WARPS (THREADS / 32)

#define SCRATCH_ROWS 8 // quantities that go through shared memory at a time

// Steps of which the loads overlap; in double, what patterns need leaves registers for two.
#define STEPS_AT_ONCE (PATTERNS && REAL_BITS == 64 ? 2 : 4)

#define TILE   32 // steps that a slice of threads takes through shared memory at a time
#define SLICES (THREADS / LP > 0 ? THREADS / LP : 1)

// The small sums go through shared memory by rows.  Rows are long where many variables are observed; then
// fewer warps take part.
#ifndef LATENT_BYTES
#define LATENT_BYTES (64 * 1024)
#endif
static __device__ constexpr int latent_warps()
{
    int warps = BLOCK_WARPS;
    while (warps > 1 && 2 * warps * LATENT_ROW * (REAL_BITS / 8) > LATENT_BYTES)
        warps /= 2;
    return warps;
}
#define LATENT_WARPS latent_warps()
#define LATENT_FIT   (LATENT_BYTES / (LATENT_WARPS * LATENT_ROW * (REAL_BITS / 8)) - 1)
#define LATENT_TILE  (LATENT_FIT > 8 ? 8 : LATENT_FIT > 1 ? LATENT_FIT : 1) // rows of a tile
#ifndef ENTRIES_MOST
#define ENTRIES_MOST 8
#endif
#define LATENT_LAST (MANY_VARIABLES ? SUM_B : SUMS) // entries that go through a tile end here
#define LATENT_ENTRIES                                                                                       \
    ((LATENT_LAST - SUM_A + 31) / 32 < ENTRIES_MOST ? (LATENT_LAST - SUM_A + 31) / 32                        \
                                                    : ENTRIES_MOST) // of one lane at a time
// There are several groups of entries: the first stores y in p.rows for the others.  Where values may be
// missing, each finds y again, as it does the vectors from AT_GAP on.
#define STORES_Y (!PATTERNS && LATENT_LAST - SUM_A > 32 * LATENT_ENTRIES)

// An entry of the small sums is a product of two numbers of one step: their offsets in the tile.
struct factors {
    int left, right;
};

struct alignas(16) hidden_tile {
    real z[TILE][MP], v[TILE][MP]; // z~_t and v_{t+1}
    unsigned masks[TILE][MASKS];
};

struct alignas(16) sum_shared {
    union {
        real scratch[SCRATCH_ROWS][THREADS];
        real rows[LATENT_WARPS][(LATENT_TILE + 1) * LATENT_ROW];
        real latent[LATENT_WARPS][32 * LATENT_ENTRIES];
        double totals[THREADS];
#if !KEEP_HIDDEN
        hidden_tile tile[2][SLICES]; // double buffer: one is filled while the other is used
#endif
    };
    factors of[32 * LATENT_ENTRIES];
    unsigned phase; // barriers passed
};

INLINE sum_shared &block_memory()
{
    DYNAMIC_BYTES;
    return *reinterpret_cast<sum_shared *>(bytes);
}

// ---- the segments of a block ------------------------------------------------------------------------------

struct segment { // counted over all replicas
    size_t sequence;
    int first, last; // steps first -> last
};

// Call `act` for the segments of sequences of a block; blocks have nearly the same number of steps.
template <class action> INLINE void for_segments(const solve_args &p, int replica, int block, action act)
{
    const unsigned T = (unsigned)p.T, steps = T * (unsigned)p.batch, share = steps / (unsigned)p.sum_blocks,
                   over = steps % (unsigned)p.sum_blocks;
    const unsigned number = (unsigned)block, more = number < over ? 1 : 0;
    unsigned from = share * number + (more ? number : over);
    const unsigned to = from + share + more;
    while (from < to) {
        const unsigned sequence = from / T, first = from - sequence * T, left = to - from;
        const unsigned count = left < T - first ? left : T - first;
        act(segment{(size_t)replica * p.batch + sequence, (int)first, (int)(first + count)});
        from += count;
    }
}

// Add what COUNT slices of threads have in row[], for `width` members each, `used` of which exist:
// store(k, member, sum of row[k]).
template <int COUNT, int ROWS, class storing>
INLINE void add_slices(const real (&row)[ROWS], int member, int slice, int width, int used, storing store)
{
    sum_shared &memory = block_memory();
#pragma unroll
    for (int from = 0; from < ROWS; from += SCRATCH_ROWS) {
        __syncthreads();
#pragma unroll
        for (int k = 0; k < SCRATCH_ROWS; k++)
            if (from + k < ROWS && slice < COUNT)
                memory.scratch[k][slice * width + member] = row[from + k < ROWS ? from + k : 0];
        __syncthreads();
#pragma unroll 1
        for (int i = thread_index(); i < SCRATCH_ROWS * used; i += THREADS) {
            const int k = i / used, at = i % used;
            if (from + k < ROWS) {
                real sum = 0;
#pragma unroll 4
                for (int s = 0; s < COUNT; s++)
                    sum += memory.scratch[k][s * width + at];
                store(from + k, at, sum);
            }
        }
    }
    __syncthreads();
}

#endif
