/*
 * abi_solve.h - the arguments of solve.cu, sums.cu and deer.cu, which hold numbers in the precision of the
 * training.
 *
 * No include guard: the kernels include it once, for their `real`; the host twice (solve_args.h), with
 *
 *     real             float or double
 *     ABI_REAL(name)   the name of the struct for that precision
 */
// alone: -DREAL_BITS=32 -DABI_REAL(name)=name
#include "abi.h"

/* Of `solve` and `sum_gradient`. */
struct ABI_REAL(solve_args) {
    int T, batch, warmup;
    int segments; /* of one sequence */
    int blocks;   /* of one team */
    int max_iterations;
    int flow; /* gradients through the teacher signal: 1 flow, 0 stop */
    int replicas;
    int group;  /* blocks of a group of the team */
    int staged; /* 1: one record, those of a group and those of all groups fit into shared memory, after the
                   rest */
    int sum_blocks; /* of the team of sums.cu */
    int fallback;   /* passes after max_iterations in which a segment starts where the one before it ended */
    int interval;   /* of sparse forcing */
    int patterns;   /* of missing values, with that of complete rows; without PATTERNS not used */
    real alpha, tolerance;
    real freeze;   /* jump below which border matrices are not renewed */
    double weight; /* 2 / (N (T - T_w) batch); with PATTERNS loss_weight() takes its place */
    DEVICE_POINTER(const real) pack; /* (replicas, PACK), then (replicas, patterns, PATTERN_SIZE) */
    DEVICE_POINTER(const real) x;    /* (replicas, batch, T+1, N) */
    DEVICE_POINTER(const real) s;    /* (replicas, batch, T, K) */
    DEVICE_POINTER(real) rows;       /* (replicas, batch, T+1, ROW) */
    DEVICE_POINTER(unsigned) masks;  /* (replicas, batch, T, MASKS), then (replicas, batch, T+1) patterns */
    DEVICE_POINTER(real) hidden, delta; /* (replicas, batch, T, LP), when KEEP_HIDDEN: phi, and dloss/dphi */
    DEVICE_POINTER(real) records;       /* (replicas, 4 blocks, RECORD) */
    DEVICE_POINTER(unsigned long long) starts; /* (replicas, 2, blocks, M, WORDS), zero between launches */
    DEVICE_POINTER(real) partial;              /* (replicas, sum_blocks, SUMS) */
    DEVICE_POINTER(double) squares;            /* (replicas, blocks) */
    DEVICE_POINTER(double) sums;               /* (replicas, SUMS) */
    DEVICE_POINTER(unsigned) arrived;          /* (replicas, BARRIER_WORDS), zero at launch */
    DEVICE_POINTER(double) facts;              /* (replicas, FACTS) */
};

/* Of `deer`. */
struct ABI_REAL(deer_args) {
    struct ABI_REAL(solve_args) solve; /* segments, blocks, tolerance and fallback are deer's own */
    unsigned long long seed;
    long long start;           /* START_...: the first guess */
    DEVICE_POINTER(real) maps; /* (replicas, segments of all sequences + blocks, MAP) */
    DEVICE_POINTER(unsigned)
    changes; /* (replicas, 3, batch): the largest |dz| of an iteration, magnitude bits; the
                iterations take turns */
};

/* Offsets as in abi.h; `real` has 4 or 8 bytes. */
ABI_OFFSET(ABI_REAL(solve_args), fallback, 44);
ABI_OFFSET(ABI_REAL(solve_args), alpha, 56);
ABI_OFFSET(ABI_REAL(solve_args), freeze, 56 + 2 * sizeof(real));
ABI_OFFSET(ABI_REAL(solve_args), weight, sizeof(real) == 4 ? 72 : 80);
ABI_OFFSET(ABI_REAL(solve_args), pack, sizeof(real) == 4 ? 80 : 88);
ABI_OFFSET(ABI_REAL(solve_args), facts, sizeof(real) == 4 ? 184 : 192);
ABI_ASSERT(sizeof(struct ABI_REAL(solve_args)) == (sizeof(real) == 4 ? 192 : 200));
ABI_OFFSET(ABI_REAL(deer_args), seed, sizeof(struct ABI_REAL(solve_args)));
ABI_OFFSET(ABI_REAL(deer_args), start, sizeof(struct ABI_REAL(solve_args)) + 8);
ABI_OFFSET(ABI_REAL(deer_args), maps, sizeof(struct ABI_REAL(solve_args)) + 16);
ABI_OFFSET(ABI_REAL(deer_args), changes, sizeof(struct ABI_REAL(solve_args)) + 24);
ABI_ASSERT(sizeof(struct ABI_REAL(deer_args)) == sizeof(struct ABI_REAL(solve_args)) + 32);
