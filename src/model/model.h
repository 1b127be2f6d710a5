/*
 * model.h - a model as a flat parameter vector with a table of named slices.
 *
 * All parameters of a model lie in one vector, in the order of its slices, so optimiser, checkpoint
 * and gradient code work on one array; the layout gives the name, shape and place of each slice.  The slices
 * depend on the kind of model (kind.h):
 *
 *     shplrnn   Abar (M) | W (M,L)  or  WL (M,r), WR (r,L) | V (L,M) | b (L) | h (M) | C (M,K) | B (N,M)
 *     lssm      Abar (M) | U (M,N) | V (L,M) | b (L) | h (M) | C (M,K) | B (N,L)
 *     mamba2    see mamba2.h
 *
 * C is there when K > 0; with a free diagonal A is in the place of Abar.  Everything numeric exists for float
 * and double (suffix _f32, _f64; see model_real.h).
 */
#ifndef ANT_MODEL_MODEL_H
#define ANT_MODEL_MODEL_H

#include "base/status.h"

/* The kinds of models; each has a row in the tables of model/kind.c and solve/method_tmpl.c. */
typedef enum ant_model_id {
    ANT_MODEL_SHPLRNN,
    ANT_MODEL_LSSM,
    ANT_MODEL_MAMBA2,
    ANT_MODEL_KINDS /* their number */
} ant_model_id;

typedef struct ant_model_dims {
    ant_model_id kind;
    size_t M;           /* latent units, >= 1; of a mamba2 the width D of its block */
    size_t N;           /* observed variables, >= 1 */
    size_t L;           /* hidden units, >= 1 */
    size_t K;           /* inputs, >= 0 */
    size_t rank;        /* shplrnn: of W = WL WR; 0: W is stored in full.  At most min(M, L) */
    bool clipped;       /* shplrnn: W [phi(V z + b) - phi(V z)] instead of W phi(V z + b) */
    bool free_diagonal; /* shplrnn, lssm: A is the parameter, not tanh(Abar) */
} ant_model_dims;

/* One named parameter: row-major, rows x cols.  Vectors have cols = 1 and axes = 1. */
typedef struct ant_model_slice {
    const char *name; /* the paper's letter */
    size_t rows, cols;
    size_t axes;   /* 1 or 2 */
    size_t offset; /* of its first element in the parameter vector */
    size_t count;  /* rows * cols */
} ant_model_slice;

enum { ANT_MODEL_MAX_SLICES = 20 };

typedef struct ant_model_layout {
    ant_model_dims dims;
    size_t slices;
    ant_model_slice slice[ANT_MODEL_MAX_SLICES];
    size_t total; /* elements of the parameter vector */
    /* Offsets by letter, for code that computes with shplrnn and lssm; SIZE_MAX when absent.  Abar is that of
       A with a free diagonal: decay.h. */
    size_t Abar, W, WL, WR, U, V, b, h, C, B;
} ant_model_layout;

/* Check the dimensions and lay the parameters out. */
antler_status ant_model_layout_make(const ant_model_dims *dims, ant_model_layout *layout);

/* The slice of that name, or NULL. */
const ant_model_slice *ant_model_layout_find(const ant_model_layout *layout, const char *name);

/* Append a slice and return its offset: for the kinds. */
size_t ant_model_layout_append(ant_model_layout *layout, const char *name, size_t axes, size_t rows,
                               size_t cols);

/* Initial values by name: the same numbers as antler_initialisation. */
typedef enum ant_initialisation_id {
    ANT_INITIALISATION_MEMORY,  /* spec 4 */
    ANT_INITIALISATION_STANDARD /* spec 10 */
} ant_initialisation_id;

/* Parts of the initial values, the same numbers as in the public header.  NAMED: as `id` has it. */
typedef enum ant_initial_A { ANT_INITIAL_A_NAMED, ANT_INITIAL_A_KAPPA, ANT_INITIAL_A_RANDOM } ant_initial_A;
typedef enum ant_initial_weights {
    ANT_INITIAL_WEIGHTS_NAMED,
    ANT_INITIAL_WEIGHTS_SMALL,  /* U(+-(1 - kappa) columns^-1/2) */
    ANT_INITIAL_WEIGHTS_UNIFORM /* U(+-columns^-1/2) */
} ant_initial_weights;
typedef enum ant_initial_B {
    ANT_INITIAL_B_NAMED,       /* [I 0] for M >= N, else orthonormal */
    ANT_INITIAL_B_IDENTITY,    /* [I 0]; M >= N */
    ANT_INITIAL_B_ORTHONORMAL, /* random rows for M >= N, random columns for M < N */
    ANT_INITIAL_B_KAIMING      /* normal with variance 2/M */
} ant_initial_B;

typedef struct ant_initialisation {
    ant_initialisation_id id;
    double kappa; /* in (0, 1); the paper has 0.9995 */
    ant_initial_A A;
    ant_initial_weights weights; /* W, V, C, U, the B of a lssm, and b where it is drawn */
    ant_initial_B B;             /* shplrnn */
} ant_initialisation;

/* Some initial value depends on kappa. */
bool ant_initialisation_uses_kappa(const ant_initialisation *initialisation);

/* Regularisers of spec 5, MAR and readout on the last `units` latent units, and of spec 10 on all.  A weight
   of 0 switches a term off. */
typedef struct ant_regulariser {
    double mar;         /* lambda_MAR */
    double readout;     /* lambda_1, on the columns of B that read the regularised units; shplrnn */
    double singular;    /* lambda_2, pulls the singular values of B to 1; shplrnn */
    size_t units;       /* M_r <= M; MAR and readout are off when 0 */
    int p;              /* 1 or 2 */
    bool initial_scale; /* gamma_W = 1/(3L), gamma_V = 1/(3M) instead of 1 */
    /* spec 10; shplrnn */
    double latent;      /* on the mean squares of 1 - A, W, V, h, b */
    double observation; /* on the mean square of B */
    double condition;   /* on (1 - sigma_1 / sigma_k)^2 of B, k = min(M, N) */
} ant_regulariser;

typedef struct ant_regulariser_terms {
    double mar;          /* on the latent model: MAR and `latent` */
    double readout;      /* on the entries of B: `readout` and `observation` */
    double singular;     /* on the singular values of B: `singular` and `condition` */
} ant_regulariser_terms; /* each with its weight */

antler_status ant_regulariser_check(const ant_regulariser *regulariser, const ant_model_dims *dims);

/* Doubles of scratch that ant_regulariser_add needs. */
size_t ant_regulariser_work(const ant_model_dims *dims);

#define ANT_T       float
#define ANT_N(name) name##_f32
#include "model/model_real.h"
#undef ANT_T
#undef ANT_N
#define ANT_T       double
#define ANT_N(name) name##_f64
#include "model/model_real.h"
#undef ANT_T
#undef ANT_N

#endif
