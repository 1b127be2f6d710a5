/* shplrnn_simd.c - free steps of the shPLRNN and its Jacobian, compiled once per instruction set. */
#include "model/shplrnn.h"

#include <string.h>

#define PASTE(name, level)  name##_##level
#define EXPAND(name, level) PASTE(name, level)

/* out = V z for a few vectors of hidden units; several at a time hide the latency of their sums. */
#define PROJECT(vectors)                                                                                     \
    do {                                                                                                     \
        ant_lanes sum[vectors];                                                                              \
        for (int i = 0; i < (vectors); i++)                                                                  \
            sum[i] = (ant_lanes){0.0};                                                                       \
        for (size_t m = 0; m < r->M; m++) {                                                                  \
            const ant_lanes *row = (const ant_lanes *)(r->Vt + m * r->Lp + l);                               \
            for (int i = 0; i < (vectors); i++)                                                              \
                sum[i] += row[i] * z[m];                                                                     \
        }                                                                                                    \
        for (int i = 0; i < (vectors); i++)                                                                  \
            ((ant_lanes *)(out + l))[i] = sum[i];                                                            \
    } while (0)

/* z: (M); out: (Lp) */
static inline void project(const ant_shplrnn_runner *r, const double *z, double *restrict out)
{
    size_t l = 0;
    for (; l + 4 * ANT_LANES <= r->Lp; l += 4 * ANT_LANES)
        PROJECT(4);
    for (; l < r->Lp; l += ANT_LANES)
        PROJECT(1);
}

/* hidden = phi(hidden + b), minus phi(hidden) when clipped.  hidden, b: (count) */
static inline void activate(double *restrict hidden, const double *restrict b, size_t count, bool clipped)
{
    if (clipped) {
        for (size_t l = 0; l < count; l++) {
            const double biased = hidden[l] + b[l];
            hidden[l] = (biased > 0.0 ? biased : 0.0) - (hidden[l] > 0.0 ? hidden[l] : 0.0);
        }
    } else {
        for (size_t l = 0; l < count; l++) {
            const double biased = hidden[l] + b[l];
            hidden[l] = biased > 0.0 ? biased : 0.0;
        }
    }
}

/* next = A z + W hidden + C s + h for one vector of latent units, in eight independent sums. */
static inline void advance(const ant_shplrnn_runner *r, size_t m, const double *z, const double *hidden,
                           const double *s, double *next)
{
    enum { SUMS = ANT_LANES_MAX };
    ant_lanes sum[SUMS];
    for (int i = 2; i < SUMS; i++)
        sum[i] = (ant_lanes){0.0};
    sum[0] = *(const ant_lanes *)(r->A + m) * *(const ant_lanes *)(z + m);
    sum[1] = *(const ant_lanes *)(r->h + m);
    for (size_t l = 0; l < r->Lp; l += SUMS) {
        for (size_t i = 0; i < SUMS; i++)
            sum[i] += *(const ant_lanes *)(r->Wt + (l + i) * r->Mp + m) * hidden[l + i];
    }
    for (size_t k = 0; k < r->K; k++)
        sum[2] += *(const ant_lanes *)(r->Ct + k * r->Mp + m) * s[k];
    *(ant_lanes *)(next + m) =
        ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

static void steps(const ant_shplrnn_runner *r, const double *z0, const double *s, size_t count, double *out)
{
    double *z = r->state[0], *next = r->state[1]; // (Mp): the padding stays 0
    memcpy(z, z0, r->M * sizeof *z);
    for (size_t t = 0; t < count; t++) {
        const double *s_t = r->K > 0 ? s + t * r->K : NULL; // (K)
        project(r, z, r->hidden);
        activate(r->hidden, r->b, r->Lp, r->clipped);
        for (size_t m = 0; m < r->M; m += ANT_LANES)
            advance(r, m, z, r->hidden, s_t, next);
        memcpy(out + t * r->M, next, r->M * sizeof *out);
        double *swap = z;
        z = next;
        next = swap;
    }
}

/* slope = phi'(V z + b), minus phi'(V z) when clipped; phi'(0) = 0.  slope: (Lp) */
static void differentiate(const ant_shplrnn_runner *r, const double *z, double *restrict slope)
{
    memset(slope, 0, r->Lp * sizeof *slope);
    for (size_t m = 0; m < r->M; m++) {
        for (size_t l = 0; l < r->Lp; l++)
            slope[l] += r->Vt[m * r->Lp + l] * z[m];
    }
    for (size_t l = 0; l < r->Lp; l++) {
        const double below = r->clipped && slope[l] > 0.0 ? 1.0 : 0.0;
        slope[l] = (slope[l] + r->b[l] > 0.0 ? 1.0 : 0.0) - below;
    }
}

/* out = sum_i weight_i rows_i in independent sums.  rows: (count, Mp); out: (Mp) */
static void combine(const double *weight, const double *rows, size_t count, size_t Mp, double *restrict out)
{
    enum { SUMS = ANT_LANES_MAX };
    for (size_t m = 0; m < Mp; m += ANT_LANES) {
        ant_lanes sum[SUMS];
        for (int i = 0; i < SUMS; i++)
            sum[i] = (ant_lanes){0.0};
        size_t l = 0;
        for (; l + SUMS <= count; l += SUMS) {
            for (size_t i = 0; i < SUMS; i++)
                sum[i] += *(const ant_lanes *)(rows + (l + i) * Mp + m) * weight[l + i];
        }
        for (; l < count; l++)
            sum[0] += *(const ant_lanes *)(rows + l * Mp + m) * weight[l];
        *(ant_lanes *)(out + m) =
            ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
    }
}

static void push(const ant_shplrnn_runner *r, const double *z, size_t count, const double *vectors,
                 double *next, double *scratch)
{
    double *slope = scratch, *weight = slope + r->Lp; /* (Lp) */
    double *Jt = weight + r->Lp;                      /* (M, Mp): row j is column j of the Jacobian */
    differentiate(r, z, slope);
    for (size_t j = 0; j < r->M; j++) { /* column j of J = diag(A) + W diag(slope) V */
        for (size_t l = 0; l < r->Lp; l++)
            weight[l] = slope[l] * r->Vt[j * r->Lp + l];
        combine(weight, r->Wt, r->Lp, r->Mp, Jt + j * r->Mp);
        Jt[j * r->Mp + j] += r->A[j];
    }
    for (size_t k = 0; k < count; k++)
        combine(vectors + k * r->Mp, Jt, r->M, r->Mp, next + k * r->Mp);
}

const ant_shplrnn_kernels EXPAND(ant_shplrnn_kernels, ANT_SIMD) = {steps, push};
