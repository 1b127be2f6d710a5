/*
 * abi.h - everything that host and kernels must agree on: arguments of launches, what a compiled variant says
 * about itself, enumerations, and fixed numbers.
 *
 * The host (C11) and the kernels (CUDA C++17, by NVRTC, and C++17 in tests/fake) compile this same file, and
 * both check the offsets at its end.  A pointer to GPU memory is DEVICE_POINTER(type): a typed pointer in a
 * kernel, a 64-bit address on the host.  The shape of every array stands beside it; sizes in capitals are
 * those of the kernels.  Structs that hold a `real` by value are in abi_solve.h.
 */
// alone: -DREAL_BITS=32
#ifndef ANT_ENGINE_CUDA_ABI_H
#define ANT_ENGINE_CUDA_ABI_H

#ifdef __cplusplus
#include "real.cuh"
template <class type> using device_pointer = type *;
#define DEVICE_POINTER(type) device_pointer<type>
#define ABI_ASSERT(fact)     static_assert(fact, "host and kernels disagree: " #fact)
#else
#define DEVICE_POINTER(type) unsigned long long /* ant_cu_pointer of driver.h */
#define ABI_ASSERT(fact)     _Static_assert(fact, "host and kernels disagree: " #fact)
#endif

/* NVRTC has neither offsetof nor __builtin_offsetof; before version 13 sizes alone are checked there. */
#ifndef __CUDACC_RTC__
#define ABI_OFFSET(type, field, offset) ABI_ASSERT(__builtin_offsetof(struct type, field) == (offset))
#elif __CUDACC_VER_MAJOR__ >= 13
#define ABI_OFFSET(type, field, offset) ABI_ASSERT(__INTADDR__(&((struct type *)0)->field) == (offset))
#else
#define ABI_OFFSET(type, field, offset) ABI_ASSERT(sizeof(struct type) > (offset))
#endif

/* ---- enumerations --------------------------------------------------------------------------------- */

/*
 * What a forward and backward pass reports of every replica, beside the gradient: FACTS doubles.  A pass that
 * does not write one leaves the value of `prepare`: 1 for FACT_CONVERGED, else 0.
 */
enum {
    FACT_ITERATIONS, /* of the forward pass */
    FACT_LAST_JUMP,  /* the largest jump at a border, or the last change of Newton's method */
    FACT_ITERATIONS_BACK,
    FACT_JUMP_BACK,
    FACT_CONVERGED,
    FACT_LOSS,
    FACT_FALLBACKS, /* sequences that did not converge, where they are counted */
    FACTS = 8
};

/* Sums since the host last set them to zero, and rate and norm of the last update: ant_tally. */
enum {
    TALLY_UPDATES,
    TALLY_LOSS,
    TALLY_MAR,
    TALLY_READOUT,
    TALLY_SINGULAR,
    TALLY_ITERATIONS,
    TALLY_FALLBACKS,
    TALLY_LR,
    TALLY_NORM,
    TALLY = 10
};

/* Whether a replica still runs, or else what was the first thing that was not finite; all but the first are
 * final. */
enum {
    OUTCOME_RUNNING,
    OUTCOME_LOSS,
    OUTCOME_GRADIENT,
    OUTCOME_MAR,
    OUTCOME_READOUT,
    OUTCOME_SINGULAR,
    OUTCOME_NORM,
    OUTCOME_PARAMETER /* one that is beyond the limit */
};

enum { SCHEDULE_COSINE, SCHEDULE_EXPONENTIAL, SCHEDULE_CONSTANT }; /* antler_schedule */
enum { START_PINV, START_ZERO, START_NORMAL };                     /* antler_start */

/* How the strength of forcing is estimated: antler_alpha_method. */
enum {
    ALPHA_CONSTANT,
    ALPHA_JACOBIAN_UPPER_BOUND,
    ALPHA_BATCH_MAXIMUM,
    ALPHA_PRODUCT_UPPER_BOUND,
    ALPHA_EXPLOG,
    ALPHA_ARITHMETIC_MEAN
};

/* Purposes of random streams: base/random.h. */
enum { PURPOSE_NEWTON_START = 5, PURPOSE_WINDOWS = 6, PURPOSE_NOISE = 7 };

/* ---- fixed numbers -------------------------------------------------------------------------------- */

enum {
    BARRIER_WORDS = 64, /* of a replica: the team's barrier, the jumps of border.cuh, one each for
                           patterns.cu, deer.cu, sums.cu */
    MISSING_WORD = BARRIER_WORDS - 3, /* missing values after the warm-up */
    COPY_EACH = 8,                    /* values of a window that a thread copies at a time */
    REDUCE_WARPS = 8,                 /* of a block of reduce_blocks, which has REDUCE_SIDE parameters */
    REDUCE_SIDE = 32,
    SCAN_SIDE = 32, /* the scan of mamba2.cu: state numbers of a block, and warps that share a sequence */
};

enum { MAMBA2_STATE = 16, MAMBA2_TAPS = 4, MAMBA2_HEADS = 8 }; /* model/mamba2.h */

enum {
    MIXTURE_TILE = 128, /* samples and points of a tile of mixture.cu */
    MIXTURE_NEAR_THREADS = 256,
    MIXTURE_FAR_THREADS = 128,
};
/* Coordinates go through shared memory in slices of equal size, all at once up to 24; a packed tile has one
 * row more. */
#define MIXTURE_SLICES(dim) ((dim) <= 24 ? 1 : ((dim) + 15) / 16)
#define MIXTURE_SLICE(dim)  (((dim) + MIXTURE_SLICES(dim) - 1) / MIXTURE_SLICES(dim))
#define MIXTURE_ROWS(dim)   (MIXTURE_SLICES(dim) * MIXTURE_SLICE(dim) + 1)

/* ---- what a compiled variant says about itself ---------------------------------------------------- */

/* Each is a variable NAME_facts of its program.  args_bytes: of the arguments, as the kernel was compiled. */

struct solve_variant {
    int shared_bytes;
    int pack, row, masks, record, sums; /* numbers of one: shape.cuh, solve_args.cuh, border.cuh */
    int hidden, latent;                 /* units, padded */
    int keeps_hidden;                   /* 1: hidden units of all steps are stored */
    int threads;
    int args_bytes;
};

struct sum_variant {
    int shared_bytes, threads, args_bytes;
};

struct deer_variant {
    int shared_bytes, threads;
    int segments; /* of a block at a time */
    int map;      /* reals of the map of a segment */
    int args_bytes;
};

struct update_variant {
    int shared_bytes;
    int scratch, kept; /* doubles of one replica in update_args.scratch and .kept */
    int total;         /* parameters of one replica */
    int args_bytes;
};

struct strength_variant {
    int shared_bytes, warps; /* of a block */
    int scratch;             /* doubles of one block in strength_args.scratch */
    int width;               /* doubles of one warp in strength_args.partial */
    int reads_rows;          /* 0: one block of a replica, whatever batch and T are */
    int args_bytes;
};

struct pattern_variant {
    int threads, shared_bytes;
    int warps;   /* of a block, each with a pattern */
    int size;    /* reals of the weights of one pattern */
    int scratch; /* doubles of one block in pattern_args.scratch */
    int args_bytes;
};

enum { LSSM_FILL, LSSM_FORWARD, LSSM_READOUT, LSSM_BACKWARD, LSSM_REDUCE, LSSM_KERNELS };

struct lssm_variant {
    int threads, tile;    /* of a block, but for reduce_blocks; steps of a tile */
    int pack;             /* reals of the weights of one replica */
    int latent, observed; /* units, padded */
    int roles;            /* blocks of one worker in backward_segments */
    int reduce_threads;
    int shared_bytes[LSSM_KERNELS];
    int args_bytes;
};

struct mamba2_variant {
    int pack;           /* reals of the weights of one replica */
    int states, slopes; /* numbers of a state; rows of mamba2_args.slopes */
    int steps;          /* of a segment */
    int fill_bytes;     /* of shared memory of fill_gaps; 0 without gaps */
    int tape;           /* numbers that a plain step of it stores; 0 without gaps */
    int forward_bytes, scan_bytes, readout_bytes, backward_bytes, reduce_bytes; /* of shared memory */
    int args_bytes;
};

struct orbit_variant {
    int parameter_bytes;
    int shared_bytes;  /* what a block always keeps in shared memory */
    int scratch_bytes; /* of its tangent vectors' Jacobians */
};

/* ---- arguments ------------------------------------------------------------------------------------ */

/* Of `prepare` and `update` (update_kernels.cuh), for every kind of model. */
struct update_args {
    int T, batch, replicas, trajectories;
    int parity; /* the half of `update` that is read; the other is written, so all blocks of a launch read the
                   same */
    int draws;  /* 0: the host has set the windows */
    int steps;  /* 0: find the gradient alone */
    int flow, adam, schedule;
    int units, power, initial_scale; /* of the regularisers */
    int alpha_by_update;             /* `alphas` has one for each update, else one for each replica */
    int free_diagonal;               /* A is the parameter, not tanh(Abar) */
    int padding;
    unsigned long long seed, updates;
    double noise, beta1, beta2, epsilon, start_lr, end_lr, gradient_clip, limit;
    double mar, readout, singular, latent, observation, condition; /* weights of regularisers */
    double alpha;                                                  /* of a shPLRNN's forcing */
    DEVICE_POINTER(real) parameters, good; /* (replicas, TOTAL): now, and before the last update */
    DEVICE_POINTER(real) gradient, raw;    /* (replicas, TOTAL): with regularisers, and without */
    DEVICE_POINTER(double) m, v;           /* (replicas, TOTAL) */
    DEVICE_POINTER(double) kept;           /* (replicas, KEPT): from make_weights to the gradient */
    DEVICE_POINTER(double) scratch;        /* (replicas, SCRATCH) unless SCRATCH_SHARED */
    DEVICE_POINTER(real) weights; /* (replicas, ...): made of the parameters by the kind's make_weights */
    DEVICE_POINTER(const double)
    sums;                         /* (replicas, ...): what the gradient is made of where that is not `raw` */
    DEVICE_POINTER(double) facts; /* (replicas, FACTS) */
    DEVICE_POINTER(unsigned) arrived;    /* (replicas, BARRIER_WORDS): set to zero */
    DEVICE_POINTER(unsigned) update;     /* (2, replicas): updates done */
    DEVICE_POINTER(int) outcome;         /* (replicas, 2): OUTCOME_..., and which parameter */
    DEVICE_POINTER(double) tally;        /* (replicas, TALLY) */
    DEVICE_POINTER(const unsigned) runs; /* (replicas): names of their random streams */
    DEVICE_POINTER(const real) x, s;     /* (rows, N), (rows, K): all data */
    DEVICE_POINTER(const unsigned long long)
    row, start; /* (trajectories), (trajectories + 1): train/dataset.h, or ranges of rows at which windows may
                   begin */
    DEVICE_POINTER(real) window_x, window_s; /* (replicas, batch, T+1, N), (replicas, batch, T, K) */
    DEVICE_POINTER(const double) alphas;     /* (updates) or (replicas): in place of alpha where it varies */
};

/* Of `estimate` (strength.cu). */
struct strength_args {
    int T, batch, replicas;
    int parts;                             /* blocks that share the rows of a sequence */
    int segment;                           /* rows of one warp */
    int parity;                            /* that of update_args */
    unsigned long long interval, updates;  /* updates between estimates; updates in all */
    double decay;                          /* of the strength towards a smaller estimate */
    DEVICE_POINTER(const real) parameters; /* (replicas, TOTAL) */
    DEVICE_POINTER(const double) kept;     /* (replicas, KEPT) of update_args */
    DEVICE_POINTER(const real) x;          /* (replicas, batch, T+1, N): the windows of the next update */
    DEVICE_POINTER(const unsigned) update; /* (2, replicas): updates done */
    DEVICE_POINTER(const int) outcome;     /* (replicas, 2): OUTCOME_... */
    DEVICE_POINTER(real) weights;          /* (replicas, PACK): those that the strength is part of change */
    DEVICE_POINTER(double) alphas;         /* (replicas): the strength, in and out */
    DEVICE_POINTER(double) partial;        /* (replicas, batch, parts, WARPS, WIDTH) */
    DEVICE_POINTER(double) norms;          /* (replicas, batch) */
    DEVICE_POINTER(unsigned)
    arrived;                        /* (replicas, batch + 1): blocks of a sequence, sequences of a replica;
                                       zero between launches */
    DEVICE_POINTER(double) scratch; /* (blocks, SCRATCH) unless it is shared memory */
};

/* Of `find_patterns` (patterns.cu). */
struct pattern_args {
    int T, batch, replicas, warmup;
    int patterns;   /* with that of complete rows, which is number 0 */
    int buckets;    /* of the hash table, a power of two */
    int row_blocks; /* that read rows; the others have patterns */
    int padding;
    DEVICE_POINTER(real) pack;        /* solve_args.pack: reads the weights, writes those of patterns */
    DEVICE_POINTER(const real) x;     /* (replicas, batch, T+1, N): NaN is missing */
    DEVICE_POINTER(unsigned) of_row;  /* (replicas, batch, T+1): the pattern of each row, out */
    DEVICE_POINTER(unsigned) arrived; /* (replicas, BARRIER_WORDS): MISSING_WORD, zero at launch */
    DEVICE_POINTER(const unsigned long long)
    bits; /* (patterns - 1, WORDS): bit n is set where pattern 1, 2, ... lacks variable n */
    DEVICE_POINTER(const unsigned) table; /* (buckets): a pattern, or 0 for a free one */
    DEVICE_POINTER(double) scratch;       /* (blocks, SCRATCH) unless it is shared memory */
};

/* Of the kernels of lssm.cu. */
struct lssm_args {
    int T, batch, warmup, replicas;
    int segment_steps, segments; /* steps of a segment, segments of a sequence */
    int workers;                 /* of one replica: blocks, or groups of them in backward_segments */
    int free_diagonal;           /* A is the parameter, not tanh(Abar) */
    double weight;               /* of an error: 2 / (N batch (T - warmup)) */
    DEVICE_POINTER(const real) parameters, weights; /* (replicas, TOTAL), (replicas, PACK) */
    DEVICE_POINTER(const real) x, s;                /* (replicas, batch, T+1, N), (replicas, batch, T, K) */
    DEVICE_POINTER(real) states;                    /* (replicas, batch, T+1, MP): row 0 stays 0 */
    DEVICE_POINTER(real) adjoint, errors;           /* (replicas, batch, T, MP), (replicas, batch, T, NP) */
    DEVICE_POINTER(real) ends, adjoint_ends;        /* (replicas, batch, segments, MP): from a start at 0 */
    DEVICE_POINTER(real) partial;                   /* (replicas, workers, TOTAL) */
    DEVICE_POINTER(double) squares;                 /* (replicas, workers) */
    DEVICE_POINTER(real) raw;                       /* (replicas, TOTAL) */
    DEVICE_POINTER(double) facts;                   /* (replicas, FACTS) */
    DEVICE_POINTER(real) filled;                    /* (replicas, batch, T+1, N): x without gaps */
    DEVICE_POINTER(unsigned) arrived; /* (replicas, BARRIER_WORDS): MISSING_WORD, zero at launch */
};

/* Of the kernels of mamba2.cu. */
struct mamba2_args {
    int T, batch, warmup, replicas;
    int segments;                       /* of one sequence */
    int blocks;                         /* of one replica */
    double weight;                      /* 2 / (N (T - T_w) batch): dloss / dxhat = weight (xhat - x) */
    DEVICE_POINTER(const real) x, s;    /* (replicas, batch, T+1, N), (replicas, batch, T, K) */
    DEVICE_POINTER(const real) weights; /* (replicas, PACK) */
    DEVICE_POINTER(real)
    states; /* (replicas, batch, segments, STATES): what a segment adds to the state; after
               `scan` the state that enters it */
    DEVICE_POINTER(real)
    adjoints;                    /* the same backward: after `scan` the adjoint of the state that leaves it */
    DEVICE_POINTER(real) decays; /* (replicas, batch, segments, HEADS) */
    DEVICE_POINTER(real) slopes; /* (replicas, batch, segments, SLOPES, COLUMNS) */
    DEVICE_POINTER(real) v;      /* (replicas, batch, T+1, M): row t + 1 belongs to step t */
    DEVICE_POINTER(real) partial;     /* (replicas, blocks, TOTAL): gradients */
    DEVICE_POINTER(double) squares;   /* (replicas, blocks) */
    DEVICE_POINTER(real) raw;         /* (replicas, TOTAL): the gradient */
    DEVICE_POINTER(double) facts;     /* (replicas, FACTS) */
    DEVICE_POINTER(real) filled;      /* (replicas, batch, T+1, N): x without gaps */
    DEVICE_POINTER(real) errors;      /* (replicas, batch, T, N): of missing values */
    DEVICE_POINTER(real) tape;        /* (replicas, batch, T, TAPE) */
    DEVICE_POINTER(real) path;        /* (replicas, batch, T+1, STATES): the states of all steps */
    DEVICE_POINTER(unsigned) arrived; /* (replicas, BARRIER_WORDS): MISSING_WORD, zero at launch */
};

/* How far the kernel `tangents` (orbit.cuh) is, kept between launches. */
struct orbit_progress {
    unsigned done, pending; /* steps; steps since the last QR */
    unsigned events;        /* logs written */
    unsigned bad;           /* the first step that diverged, counted from 1; 0: none */
};

/* ---- offsets --------------------------------------------------------------------------------------- */

/* Fields between two of these have one type and no padding. */
ABI_ASSERT(sizeof(DEVICE_POINTER(double)) == 8 && sizeof(int) == 4 && sizeof(unsigned long long) == 8);
ABI_OFFSET(update_args, alpha_by_update, 52);
ABI_OFFSET(update_args, padding, 60);
ABI_OFFSET(update_args, seed, 64);
ABI_OFFSET(update_args, noise, 80);
ABI_OFFSET(update_args, alpha, 192);
ABI_OFFSET(update_args, parameters, 200);
ABI_OFFSET(update_args, window_s, 368);
ABI_OFFSET(update_args, alphas, 376);
ABI_ASSERT(sizeof(struct update_args) == 384);
ABI_OFFSET(strength_args, parity, 20);
ABI_OFFSET(strength_args, decay, 40);
ABI_OFFSET(strength_args, parameters, 48);
ABI_OFFSET(strength_args, scratch, 128);
ABI_ASSERT(sizeof(struct strength_args) == 136);
ABI_OFFSET(pattern_args, padding, 28);
ABI_OFFSET(pattern_args, pack, 32);
ABI_OFFSET(pattern_args, scratch, 80);
ABI_ASSERT(sizeof(struct pattern_args) == 88);
ABI_OFFSET(lssm_args, free_diagonal, 28);
ABI_OFFSET(lssm_args, weight, 32);
ABI_OFFSET(lssm_args, parameters, 40);
ABI_OFFSET(lssm_args, facts, 136);
ABI_OFFSET(lssm_args, filled, 144);
ABI_ASSERT(sizeof(struct lssm_args) == 160);
ABI_OFFSET(mamba2_args, blocks, 20);
ABI_OFFSET(mamba2_args, weight, 24);
ABI_OFFSET(mamba2_args, x, 32);
ABI_OFFSET(mamba2_args, facts, 120);
ABI_OFFSET(mamba2_args, arrived, 160);
ABI_ASSERT(sizeof(struct mamba2_args) == 168);
ABI_ASSERT(sizeof(struct orbit_progress) == 16);
ABI_ASSERT(sizeof(struct solve_variant) == 44 && sizeof(struct sum_variant) == 12);
ABI_ASSERT(sizeof(struct deer_variant) == 20 && sizeof(struct update_variant) == 20);
ABI_ASSERT(sizeof(struct lssm_variant) == 52 && sizeof(struct mamba2_variant) == 48);
ABI_ASSERT(sizeof(struct orbit_variant) == 12 && sizeof(struct strength_variant) == 24);
ABI_ASSERT(sizeof(struct pattern_variant) == 24);

#endif
