/* tangent_simd.c - Jacobian, its product with all tangent vectors, and QR; once per instruction set. */
#include "measure/tangent.h"

#include <math.h>
#include <string.h>

#define PASTE(name, level)  name##_##level
#define EXPAND(name, level) PASTE(name, level)

/* slope = phi'(V z + b), minus phi'(V z) when clipped; phi'(0) = 0.  slope: (Lp) */
static void differentiate(const ant_runner *r, const double *z, double *restrict slope)
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

static void push(ant_tangent *t, const double *z)
{
    const ant_runner *r = t->runner;
    differentiate(r, z, t->slope);
    for (size_t j = 0; j < r->M; j++) { /* column j of J = diag(A) + W diag(slope) V */
        for (size_t l = 0; l < r->Lp; l++)
            t->weight[l] = t->slope[l] * r->Vt[j * r->Lp + l];
        combine(t->weight, r->Wt, r->Lp, r->Mp, t->Jt + j * r->Mp);
        t->Jt[j * r->Mp + j] += r->A[j];
    }
    for (size_t k = 0; k < r->M; k++)
        combine(t->P + k * r->Mp, t->Jt, r->M, r->Mp, t->next + k * r->Mp);
    double *swap = t->P;
    t->P = t->next;
    t->next = swap;
}

/* sum_m a_m b_m from entry `first`, a multiple of the lanes, on. */
static double dot(const double *a, const double *b, size_t first, size_t Mp)
{
    ant_lanes sum = {0.0};
    for (size_t m = first; m < Mp; m += ANT_LANES)
        sum += *(const ant_lanes *)(a + m) * *(const ant_lanes *)(b + m);
    double all = 0.0;
    for (int i = 0; i < ANT_LANES; i++)
        all += sum[i];
    return all;
}

/* row -= tau (row . v) v: the reflection in the plane orthogonal to v. */
static void reflect(double *row, const double *v, double tau, size_t first, size_t Mp)
{
    const double factor = tau * dot(row, v, first, Mp);
    for (size_t m = first; m < Mp; m += ANT_LANES)
        *(ant_lanes *)(row + m) -= *(const ant_lanes *)(v + m) * factor;
}

/* The reflector that takes entries k, k+1, ... of `row` to one number at k, which is returned. */
static double make_reflector(const double *row, size_t k, size_t Mp, double *v, double *tau)
{
    memset(v, 0, Mp * sizeof *v);
    memcpy(v + k, row + k, (Mp - k) * sizeof *v);
    const size_t first = k / ANT_LANES * ANT_LANES;
    const double length = sqrt(dot(v, v, first, Mp));
    const double head = v[k] > 0.0 ? -length : length;
    v[k] -= head; /* adds in magnitude: no cancellation */
    const double square = dot(v, v, first, Mp);
    *tau = square > 0.0 ? 2.0 / square : 0.0;
    return head;
}

static void orthonormalise(ant_tangent *t, double *logs)
{
    const size_t M = t->runner->M, Mp = t->runner->Mp;
    for (size_t k = 0; k < M; k++) {
        double *v = t->reflector + k * Mp;
        const size_t first = k / ANT_LANES * ANT_LANES;
        logs[k] = log(fabs(make_reflector(t->P + k * Mp, k, Mp, v, &t->tau[k])));
        for (size_t j = k + 1; j < M; j++)
            reflect(t->P + j * Mp, v, t->tau[k], first, Mp);
    }
    memset(t->P, 0, M * Mp * sizeof *t->P);
    for (size_t k = M; k-- > 0;) { /* row k of Q is H_0 ... H_k e_k */
        const size_t first = k / ANT_LANES * ANT_LANES;
        t->P[k * Mp + k] = 1.0;
        for (size_t j = k; j < M; j++)
            reflect(t->P + j * Mp, t->reflector + k * Mp, t->tau[k], first, Mp);
    }
}

const ant_tangent_kernels EXPAND(ant_tangent_kernels, ANT_SIMD) = {push, orthonormalise};
