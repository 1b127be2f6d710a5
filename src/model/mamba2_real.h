/* mamba2_real.h - the part of mamba2.h that exists once per precision; mamba2.h includes it for each. */

/* What one step computes on its way, kept for its derivative. */
typedef struct ANT_N(ant_mamba2_tape) {
    ANT_T *past;   /* (3, conv): inputs of the convolution before this step, oldest first */
    ANT_T *u;      /* (D) */
    ANT_T *hat;    /* (D): u without mean, at variance 1 */
    ANT_T *normed; /* (D): LayerNorm(u) */
    ANT_T *q;      /* (proj) */
    ANT_T *conv;   /* (conv): before silu */
    ANT_T *act;    /* (conv): after it */
    ANT_T *delta;  /* (heads) */
    ANT_T *decay;  /* (heads): a */
    ANT_T *y;      /* (inner) */
    ANT_T *gated;  /* (inner): y o silu(gate) */
    ANT_T *v;      /* (D) */
    ANT_T *hidden; /* (L): phi(W1 v + b1) */
    ANT_T *r;      /* (D) */
    ANT_T *xhat;   /* (N) */
    ANT_T *scales; /* (2): 1 / sd of the LayerNorm, 1 / root of the RMSNorm */
} ANT_N(ant_mamba2_tape);

/* Reals of a tape, and the tape on so many reals. */
size_t ANT_N(ant_mamba2_tape_count)(const ant_mamba2 *m);
ANT_N(ant_mamba2_tape) ANT_N(ant_mamba2_tape_on)(const ant_mamba2 *m, ANT_T *reals);

/*
 * One step in plain form: from x_{t-1}, s_t and tape->past to everything else on the tape.  H (inner, 16)
 * is that before the step on entry and that after it on return.  s: (K) or NULL when K = 0.
 */
void ANT_N(ant_mamba2_step)(const ant_mamba2 *m, const ANT_T *parameters, const ANT_T *x, const ANT_T *s,
                            ANT_T *H, const ANT_N(ant_mamba2_tape) * tape);
