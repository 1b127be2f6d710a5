/*
 * mamba2.h - the Mamba-2 baseline (spec 1): one Mamba-2 block (Dao and Gu 2024) and the readout of the LSSM.
 *
 *     u = in_W x_{t-1} + C s_t + in_b
 *     q = proj_in LayerNorm(u) = gate (2D), x (2D), B (16), C (16), dt (8)
 *     (x, B, C) = silu(depth-wise causal convolution of them over 4 steps + conv_b)
 *     Delta = softplus(dt + dt_bias), a = exp(Delta A), A = -exp(A_log)       per head
 *     H_t = a H_{t-1} + Delta x_t B_t^T,  y_t = H_t C_t + D x_t               per head, of 2D/8 channels
 *     v = u + proj_out RMSNorm(y o silu(gate))
 *     r = W2 phi(W1 v + b1) + b2,  xhat_t = out_W r + out_b
 *
 * Parameters, in this order:
 *
 *     in_W (D,N), in_b (D), C (D,K) when K > 0, ln_w (D), ln_b (D), proj_in (4D+40,D),
 *     conv_W (2D+32,4), conv_b (2D+32), dt_bias (8), A_log (8), D (8), norm_w (2D), proj_out (D,2D),
 *     W1 (L,D), b1 (L), W2 (D,L), b2 (D), out_W (N,D), out_b (N)
 *
 * The specification has no inputs; C s_t is added where the LSSM adds it: to what drives the recurrence.
 *
 * The recurrent state is the last 3 inputs of the convolution, oldest first (3, 2D+32), H (2D, 16), and
 * the observation x (N) that is the input of the next step: constant memory for runs of any length.
 */
#ifndef ANT_MODEL_MAMBA2_H
#define ANT_MODEL_MAMBA2_H

#include "model/model.h"

enum {
    ANT_MAMBA2_STATE = 16,
    ANT_MAMBA2_TAPS = 4,
    ANT_MAMBA2_EXPAND = 2,
    ANT_MAMBA2_HEADS = 8,
    ANT_MAMBA2_PAST = ANT_MAMBA2_TAPS - 1, /* earlier inputs of the convolution in the state */
};

#define ANT_MAMBA2_EPSILON 1e-5 /* of both norms */

/* Sizes, and offsets of the parameters. */
typedef struct ant_mamba2 {
    size_t N, D, L, K;
    size_t inner; /* 2D: channels of the recurrence */
    size_t head;  /* of them in a head */
    size_t conv;  /* channels of the convolution: x, B, C */
    size_t proj;  /* rows of proj_in: gate, x, B, C, dt */
    size_t in_W, in_b, C, ln_w, ln_b, proj_in, conv_W, conv_b, dt_bias, A_log, skip, norm_w, proj_out, W1, b1,
        W2, b2, out_W, out_b;
} ant_mamba2;

ant_mamba2 ant_mamba2_of(const ant_model_layout *layout);

/* Numbers of the recurrent state. */
static inline size_t ant_mamba2_state_dim(const ant_mamba2 *m)
{
    return ANT_MAMBA2_PAST * m->conv + m->inner * ANT_MAMBA2_STATE + m->N;
}

#define ANT_T       float
#define ANT_N(name) name##_f32
#include "model/mamba2_real.h"
#undef ANT_T
#undef ANT_N
#define ANT_T       double
#define ANT_N(name) name##_f64
#include "model/mamba2_real.h"
#undef ANT_T
#undef ANT_N

#endif
