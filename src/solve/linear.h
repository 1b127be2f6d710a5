/*
 * linear.h - training of models that are linear in their state: lssm and mamba2.
 *
 * Each sequence is cut into tiles of ANT_TILE steps.  A tile maps the state before it to the state after it
 * by state -> decay o state + offset.  Decay and offset depend on the data alone, so all tiles are computed
 * in parallel, and one affine scan (scan.h) joins them:
 *
 *     before    features of every tile, and its map                          in parallel
 *     scan      the state entering every tile
 *     between   states, predictions, loss, the gradients that stay within a tile, and the reverse map
 *               adjoint -> decay o adjoint + offset'                          in parallel
 *     scan      the adjoint leaving every tile, in reverse
 *     after     what needs that adjoint                                       in parallel
 *
 * Each slot (scratch and sums of one worker) has a fixed range of tiles.  These ranges and the segments of
 * the scan follow from the sizes alone, so the result does not depend on the number of threads.
 *
 * Where a value of x is missing (spec 12), and in rows that scheduled sampling draws (spec 15), the model's
 * own prediction takes its place, so each step depends on the one before it in a way that is not linear. Then
 * all sequences are solved in plain steps, in parallel over the batch, or by Newton's method on all steps at
 * once (linear_newton_tmpl.c).  Internal to solve; for templates only.
 */
#ifndef ANT_SOLVE_LINEAR_H
#define ANT_SOLVE_LINEAR_H

#include "base/arena.h"
#include "base/team.h"
#include "solve/affine.h"
#include "solve/method.h"
#include "solve/tile.h"

typedef struct ANT_FN(ant_linear) ANT_FN(ant_linear);

/* One tile of one sequence: steps t = first+1 .. first+count. */
typedef struct ANT_FN(ant_item) {
    size_t index;          /* of all items */
    size_t sequence, tile; /* tile of its sequence */
    size_t first, count;
    size_t slot;
    const real *x, *s; /* (count+1, N) from x_first on; (count, K) from s_{first+1} on, or NULL */
} ANT_FN(ant_item);

typedef void (*ANT_FN(ant_phase))(const ANT_FN(ant_linear) * plan, const ANT_FN(ant_item) * item);

enum { ANT_PHASES_MAX = 2 };

/* Sizes and functions of a model. */
typedef struct ANT_FN(ant_linear_model) {
    const char *name;
    size_t (*state)(const ant_model_dims *dims);   /* numbers of the state */
    size_t (*decays)(const ant_model_dims *dims);  /* decays; each is a factor of state / decays numbers */
    size_t (*kept)(const ant_model_dims *dims);    /* reals of an item stored between phases */
    size_t (*scratch)(const ant_model_dims *dims); /* reals of scratch of a slot */
    size_t (*derived)(const ant_model_layout *layout);              /* reals derived from the parameters */
    size_t (*reference_work)(const ant_model_dims *dims, size_t T); /* reals of the plain reference */
    void (*derive)(const ant_model_layout *layout, const real *parameters, real *derived);
    ANT_FN(ant_phase) before[ANT_PHASES_MAX], between[ANT_PHASES_MAX], after[ANT_PHASES_MAX];
    /*
     * One sequence in plain steps: fills z (T, M), adds the gradients to sums (total) unless it is NULL, and
     * returns the sum of squared errors.  x: (T+1, N); s: (T, K) or NULL.  With plan->gaps, NaN in x is a
     * missing value; with plan->feedback, plan->filled receives the rows that the model takes in.
     */
    double (*reference)(const ANT_FN(ant_linear) * plan, const real *x, const real *s, real *z, double *sums);
    /*
     * Single steps, for Newton's method; NULL: not offered.  t = 0 .. T is a time; x and s: of the sequence;
     * z: the state at t (M), 0 at t = 0; work: (step_work).
     */
    size_t (*step_work)(const ant_model_dims *dims);
    /* Complete row t < T of plan->filled; next = z_{t+1}, jacobian = dz_{t+1}/dz_t (M, M). */
    void (*linearise)(const ANT_FN(ant_linear) * plan, const real *x, const real *s, size_t t, const real *z,
                      real *work, real *next, real *jacobian);
    /* The squared error of row t >= 1, and dloss/dz_t by this error alone (M). */
    double (*read_out)(const ANT_FN(ant_linear) * plan, const real *x, size_t t, const real *z, real *work,
                       real *direct);
    /* Add to sums what row t and the step from it give.  v: dloss/dz_{t+1} (M), at t = T zeros. */
    void (*accumulate)(const ANT_FN(ant_linear) * plan, const real *x, const real *s, size_t t, const real *z,
                       const real *v, real *work, double *sums);
    /* Turn finished sums (total) into derivatives by the parameters, in place; NULL: they are. */
    void (*finish)(const ant_model_layout *layout, const real *parameters, double *sums);
} ANT_FN(ant_linear_model);

/* Memory of Newton's method for one sequence; the sequences of a batch are solved one after the other. */
typedef struct ANT_FN(ant_linear_newton) {
    ANT_FN(ant_affine_work) scan;
    size_t slots;      /* intervals of time with work and sums of their own, for whichever thread */
    real *jacobian;    /* (T, M, M) */
    real *offset;      /* (T+1, M): F(z_t) - z_{t+1} in row t when solving, read_out's in row t after */
    real *delta;       /* (T+1, M) */
    real *z, *adjoint; /* (T+1, M) */
    real *work;        /* (slots, work_count) */
    double *sums;      /* (slots, total) */
    double *square;    /* (slots) */
    size_t work_count;
    double tolerance;
    int max_iterations;
    bool fallback;
} ANT_FN(ant_linear_newton);

struct ANT_FN(ant_linear) {
    const ANT_FN(ant_linear_model) * model;
    const ANT_FN(ant_tile_kernels) * kernels;
    ant_model_layout layout;
    ant_solver solver; /* scan, reference or deer */
    size_t T, batch, warmup;
    bool gaps;      /* x may have missing values */
    bool feedback;  /* predictions may be taken in: gaps, or scheduled sampling */
    ant_team *team; /* the threads of this plan; NULL: one */
    char choice[224];
    ant_arena arena;

    size_t tiles, items, slots;   /* tiles of a sequence; batch * tiles; of all items */
    size_t n, decays, kept_count; /* see the model's functions */
    real *kept;                   /* (items, kept) */
    real *decay;                  /* (items, decays) */
    real *offset;                 /* (items, n): of the forward map, then of the reverse one */
    real *entering;               /* (items, n): the state before the tile */
    real *leaving;                /* (items, n): dloss / dstate after the tile, from what follows */
    real *lane_sums;              /* (slots, total, lanes) */
    double *square;               /* (slots) */
    real *scratch;                /* (slots, scratch) */
    size_t scratch_count;
    real *derived;
    real *states;         /* (batch, T, M) */
    real *one;            /* (T, M), of the reference in checks */
    size_t workers;       /* of plain steps side by side, where there is feedback; else 1 */
    real *reference_work; /* (workers, reference_count): of the reference */
    size_t reference_count;
    real *filled; /* (workers, T, N): x with predictions that are taken in; without feedback empty */
    double *sums; /* (workers, total) */
    size_t scan_segments;
    real *totals, *borders;           /* of the scan */
    ANT_FN(ant_linear_newton) newton; /* empty unless the solver is deer */

    /* Rows that scheduled sampling has drawn for the next calls: (batch, T), NULL: none; of one sequence. */
    const unsigned char *drawn, *own;

    /* Of the call in progress. */
    const real *parameters;
    const real *const *x, *const *s;
    double values; /* that the loss is the mean of: N (T - T_w) batch without gaps */
    real weight;   /* 2 / values: dloss / dxhat = weight (xhat - x) */
};

/* Whether step t counts in the loss. */
static inline bool ANT_FN(ant_linear_counts)(const ANT_FN(ant_linear) * plan, size_t t)
{
    return t > plan->warmup;
}

/* Whether the prediction takes the place of x_tn.  In row 0 there is none, and what is missing counts as 0.
 */
static inline bool ANT_FN(ant_linear_takes_own)(const ANT_FN(ant_linear) * plan, const real *x, size_t t,
                                                size_t n)
{
    const bool drawn = plan->own != NULL && t > 0 && plan->own[t] != 0;
    return drawn || (plan->gaps && isnan(x[t * plan->layout.dims.N + n]));
}

/* Row t of what the model takes in: x, or with feedback plan->filled, in which row t is complete by then. */
static inline const real *ANT_FN(ant_linear_row)(const ANT_FN(ant_linear) * plan, const real *x, size_t t)
{
    return (plan->feedback ? plan->filled : x) + t * plan->layout.dims.N;
}

/* Fill row t < T.  x: (T+1, N); xhat: (N), NULL in row 0: zeros */
static inline void ANT_FN(ant_linear_fill)(const ANT_FN(ant_linear) * plan, const real *x, size_t t,
                                           const real *xhat)
{
    const size_t N = plan->layout.dims.N;
    for (size_t n = 0; n < N && plan->feedback && t < plan->T; n++) {
        const real prediction = xhat == NULL ? 0 : xhat[n];
        plan->filled[t * N + n] = ANT_FN(ant_linear_takes_own)(plan, x, t, n) ? prediction : x[t * N + n];
    }
}

static inline real *ANT_FN(ant_linear_kept)(const ANT_FN(ant_linear) * plan, size_t index)
{
    return plan->kept + index * plan->kept_count;
}

static inline real *ANT_FN(ant_linear_scratch)(const ANT_FN(ant_linear) * plan, size_t slot)
{
    return plan->scratch + slot * plan->scratch_count;
}

/* Partial sums of the gradient of the parameter at `offset`, for this slot.  (., lanes) */
static inline real *ANT_FN(ant_linear_sums)(const ANT_FN(ant_linear) * plan, size_t slot, size_t offset)
{
    return plan->lane_sums + (slot * plan->layout.total + offset) * plan->kernels->lanes;
}

/*
 * The loss of an item: error = weight (xhat - x) where the step counts, else 0; adds to the square of the
 * slot.  xhat, error: (N, ANT_TILE).
 */
void ANT_FN(ant_linear_loss)(const ANT_FN(ant_linear) * plan, const ANT_FN(ant_item) * item, const real *xhat,
                             real *error);

/* What Newton's method says of one sequence. */
typedef struct ANT_FN(ant_linear_solved) {
    antler_status outcome;
    int iterations;
    double last_change;
    double square; /* sum of squared errors */
} ANT_FN(ant_linear_solved);

void ANT_FN(ant_linear_newton_carve)(ANT_FN(ant_linear) * plan, ant_arena *arena);

/*
 * One sequence by Newton's method: fills z (T, M) and, unless sums is NULL, adds the gradients to it.  Where
 * it does not converge and there is a fallback, nothing is added.  plan->own is that of the sequence.
 */
ANT_FN(ant_linear_solved)
ANT_FN(ant_linear_newton_solve)
(const ANT_FN(ant_linear) * plan, const real *x, const real *s, real *z, double *sums);

extern const ANT_FN(ant_linear_model) ANT_FN(ant_linear_lssm), ANT_FN(ant_linear_mamba2);

/* The LSSM in plain steps (lssm_steps_tmpl.c): functions of its table. */
size_t ANT_FN(ant_lssm_step_work)(const ant_model_dims *dims);
double ANT_FN(ant_lssm_reference)(const ANT_FN(ant_linear) * plan, const real *x, const real *s, real *z,
                                  double *sums);
void ANT_FN(ant_lssm_linearise)(const ANT_FN(ant_linear) * plan, const real *x, const real *s, size_t t,
                                const real *z, real *work, real *next, real *jacobian);
double ANT_FN(ant_lssm_read_out)(const ANT_FN(ant_linear) * plan, const real *x, size_t t, const real *z,
                                 real *work, real *direct);
void ANT_FN(ant_lssm_accumulate)(const ANT_FN(ant_linear) * plan, const real *x, const real *s, size_t t,
                                 const real *z, const real *v, real *work, double *sums);

#endif
