/*
 * solve.h - trajectories of a model along its data, their loss and its exact gradient: a shPLRNN is forced
 * (spec 2 and 3), models that are linear in their state take the data in and are solved by a scan.
 *
 * A plan is made once for a model, a sequence length T and a batch; it owns all memory.  Each gradient
 * call then allocates nothing:
 *
 *     ant_solve_options o;
 *     ant_solve_options_default(&o);
 *     o.solver = ANT_SOLVER_AUTO;
 *     ant_solve_plan_f32 *plan;
 *     ANT_TRY(ant_solve_plan_create_f32(&dims, T, batch, &o, &plan));
 *     ... ant_solve_plan_choice_f32(plan)        says which solver `auto` took, and why
 *     ANT_TRY(ant_solve_gradient_f32(plan, parameters, x, s, alpha, gradient, &report));
 *     ant_solve_plan_free_f32(plan);
 *
 * Sequences are borrowed: x[i] points to rows x_0 .. x_T (T+1, N) of sequence i, s[i] to rows
 * s_1 .. s_T (T, K), so a window of a longer series needs no copy.
 *
 * With `patterns` in the options, NaN in x marks missing values (spec 12).
 *
 * The same inputs, options and instruction set give the same bits, whatever was computed before, and on any
 * number of threads and ranks.  Only `segments` = 0 makes threads a part of the options: it is resolved from
 * them.
 */
#ifndef ANT_SOLVE_SOLVE_H
#define ANT_SOLVE_SOLVE_H

#include "comm/comm.h"
#include "model/model.h"

typedef enum ant_solver {
    ANT_SOLVER_AUTO,       /* sequential or shooting, by sizes and segments; scan for linear models */
    ANT_SOLVER_REFERENCE,  /* plain loops, one thread: what the others are compared with */
    ANT_SOLVER_SEQUENTIAL, /* exact steps in time order; threads and SIMD lanes over the batch */
    ANT_SOLVER_DEER, /* Newton over all time steps at once, by affine scan; also of an lssm that takes its
                        own predictions in */
    ANT_SOLVER_QUASI_DEER, /* the same with the diagonal of the Jacobian */
    ANT_SOLVER_SHOOTING,   /* exact steps in segments of time, segment borders joined until they merge */
    ANT_SOLVER_SCAN,       /* for models that are linear in their state: tiles of time, one affine scan */
} ant_solver;

typedef enum ant_start { ANT_START_PINV, ANT_START_ZERO, ANT_START_NORMAL } ant_start;
typedef enum ant_teacher { ANT_TEACHER_FLOW, ANT_TEACHER_STOP } ant_teacher;
typedef enum ant_adjoint { ANT_ADJOINT_FULL, ANT_ADJOINT_DIAGONAL } ant_adjoint;

/* "auto", "reference", "sequential", "deer", "quasi-deer", "shooting", "scan". */
const char *ant_solver_name(ant_solver solver);

/* Whether `sequential` and `shooting` use the piece kernels: J is updated where hidden units switch. */
typedef enum ant_pieces {
    ANT_PIECES_AUTO, /* as long as few hidden units switch from step to step */
    ANT_PIECES_NEVER,
    ANT_PIECES_ALWAYS
} ant_pieces;

typedef struct ant_solve_options {
    ant_solver solver;   /* default auto */
    ant_start start;     /* of Newton: z-bar (default), zeros, standard normals */
    ant_teacher teacher; /* default flow: the gradient passes through B+ */
    ant_adjoint adjoint; /* of quasi-deer.  Default full */
    ant_pieces pieces;   /* default auto; the others are for tests and measurements */
    size_t warmup;       /* T_w < T: steps forced with strength 1 and left out of the loss.  Default 0 */
    size_t interval;     /* of sparse forcing, tau (spec 10); 0 (default): every step is forced with alpha */
    double tolerance;    /* Newton stops when max|dz| is below.  0: 1e-4 in float, 1e-10 in double */
    int max_iterations;  /* of Newton and of shooting.  Default 100 */
    bool fallback;       /* solve sequences that did not converge again by `sequential`.  Default true */
    size_t segments;     /* into which threads cut the time of a sequence, not by `sequential`; 0: chosen by
                            ant_solve_segments.  Default 0 */
    size_t leg;          /* steps after which states are made again backward; 0: by the size.  For tests */
    bool lanes;          /* shooting: one segment per SIMD lane, also where that is slower.  For tests */
    size_t patterns;     /* 0: x is complete.  Else NaN in x is a missing value (spec 12), in at most so many
                            patterns; SIZE_MAX: unknown.  Default 0 */
    bool sampling;       /* rows may be replaced by predictions: ant_solve_sample.  Default false */
    int threads;         /* 0: as many as OpenMP offers.  Default 0 */
    ant_comm *comm;      /* ranks that share the slots of `sequential` and `shooting`; NULL (default): this
                            process is alone.  All make the same calls with the same values */
    uint64_t seed;       /* of the start `normal`.  Default 1 */
} ant_solve_options;

void ant_solve_options_default(ant_solve_options *options);

/* Steps of a segment, at least: shorter ones would be repeated nearly whole. */
enum { ANT_SHORTEST_SEGMENT = 256 };

/*
 * Segments per sequence for `threads` threads: as many as keep all of them busy, where `auto` and `shooting`
 * cut time; 1 for solvers that do not, and for deer, whose scan of several segments costs M times as much.
 */
size_t ant_solve_segments(ant_solver solver, size_t T, size_t batch, int threads);

/* What a gradient call returns besides the gradient. */
typedef struct ant_solve_report {
    double loss;           /* mean squared error over t > T_w, variables and batch, of what is observed */
    ant_solver solver;     /* that was used */
    antler_status outcome; /* of the parallel solve before any fallback: OK, NOT_CONVERGED, NON_FINITE */
    int iterations;        /* of Newton, the most of any sequence; of shooting; 0: sequential */
    double last_change;    /* max|dz| of the last iteration; the largest jump left at a merge */
    size_t fallbacks;      /* sequences that were solved again */
    size_t repeated_steps; /* of shooting: steps run more than once, forward and backward, per segment */
    const char *kernels;   /* static: "lane avx512", "line avx2", "plain" */
    size_t segments;       /* per sequence */
} ant_solve_report;

/* How the results of a plan differ from the reference: max|a - b| / max|b|. */
typedef struct ant_solve_agreement {
    double states;
    double gradient;
    double loss;
} ant_solve_agreement;

/* a_t of spec 2: 0 at t = 0, 1 during warm-up, alpha after; of sparse forcing 1 at multiples of the interval,
 * else 0. */
static inline double ant_forcing_strength(const ant_solve_options *options, double alpha, size_t t)
{
    if (t == 0 || t <= options->warmup)
        return t == 0 ? 0.0 : 1.0;
    return options->interval == 0 ? alpha : t % options->interval == 0 ? 1.0 : 0.0;
}

#define ANT_T       float
#define ANT_N(name) name##_f32
#include "solve/solve_real.h"
#undef ANT_T
#undef ANT_N
#define ANT_T       double
#define ANT_N(name) name##_f64
#include "solve/solve_real.h"
#undef ANT_T
#undef ANT_N

#endif
