/*
 * plain_solve.c - what a careful C programmer writes first: loops over time, hidden and latent units,
 * contiguous inner loops, activations kept for the way back, gradients added up step by step.  Compiled
 * with -O3 -march=native -ffast-math, so that the compiler may vectorise every loop.
 */
#include "plain_solve.h"

#include <stdlib.h>
#include <string.h>

static double forward(plain_problem *p, const float *restrict P1, const float *restrict Pa)
{
    const size_t M = p->M, N = p->N, L = p->L;
    const float *restrict W = p->W, *restrict V = p->V, *restrict b = p->b;
    double loss = 0.0;
    for (size_t m = 0; m < M; m++) {
        float sum = 0;
        for (size_t n = 0; n < N; n++)
            sum += p->pinv[m * N + n] * p->x[n];
        p->z[m] = sum;
    }
    for (size_t t = 0; t < p->T; t++) {
        const float a = t == 0 ? 0.0f : t <= p->warmup ? 1.0f : p->alpha;
        const float *P = t <= p->warmup ? P1 : Pa;
        const float *restrict z = p->z + t * M, *restrict x = p->x + t * N;
        float *restrict forced = p->forced + t * M, *restrict phi = p->phi + t * L;
        float *restrict next = p->z + (t + 1) * M;
        for (size_t m = 0; m < M; m++) {
            float sum = 0, teacher = 0;
            for (size_t k = 0; k < M; k++)
                sum += P[m * M + k] * z[k];
            for (size_t n = 0; n < N; n++)
                teacher += p->pinv[m * N + n] * x[n];
            forced[m] = t == 0 ? z[m] : sum + a * teacher;
        }
        for (size_t l = 0; l < L; l++)
            phi[l] = b[l];
        for (size_t m = 0; m < M; m++) {
            for (size_t l = 0; l < L; l++)
                phi[l] += V[m * L + l] * forced[m];
        }
        for (size_t l = 0; l < L; l++)
            phi[l] = phi[l] > 0 ? phi[l] : 0;
        for (size_t m = 0; m < M; m++) {
            float sum = p->A[m] * forced[m] + p->h[m];
            for (size_t l = 0; l < L; l++)
                sum += W[m * L + l] * phi[l];
            next[m] = sum;
        }
    }
    for (size_t t = p->warmup + 1; t <= p->T; t++) {
        for (size_t n = 0; n < N; n++) {
            float e = p->x[t * N + n];
            for (size_t m = 0; m < M; m++)
                e -= p->B[n * M + m] * p->z[t * M + m];
            loss += (double)e * (double)e;
        }
    }
    return loss / ((double)N * (double)(p->T - p->warmup));
}

static void backward(plain_problem *p, const float *restrict P1, const float *restrict Pa, float *restrict v,
                     float *restrict w, float *restrict u)
{
    const size_t M = p->M, N = p->N, L = p->L;
    const float *restrict W = p->W, *restrict V = p->V;
    float *restrict dW = p->dW, *restrict dV = p->dV, *restrict db = p->db;
    const float c = 2.0f / ((float)N * (float)(p->T - p->warmup));
    for (size_t t = p->T + 1; t-- > 0;) {
        const float *restrict z = p->z + t * M;
        if (t < p->T) {
            const float *restrict forced = p->forced + t * M, *restrict phi = p->phi + t * L;
            const float *P = t <= p->warmup ? P1 : Pa;
            for (size_t l = 0; l < L; l++)
                u[l] = 0;
            for (size_t m = 0; m < M; m++) {
                for (size_t l = 0; l < L; l++) {
                    u[l] += W[m * L + l] * v[m];
                    dW[m * L + l] += v[m] * phi[l];
                }
            }
            for (size_t m = 0; m < M; m++) {
                w[m] = p->A[m] * v[m];
                p->dA[m] += v[m] * forced[m];
                p->dh[m] += v[m];
            }
            for (size_t l = 0; l < L; l++) {
                u[l] = phi[l] > 0 ? u[l] : 0;
                db[l] += u[l];
            }
            for (size_t m = 0; m < M; m++) {
                float sum = 0;
                for (size_t l = 0; l < L; l++) {
                    sum += V[m * L + l] * u[l];
                    dV[m * L + l] += u[l] * forced[m];
                }
                w[m] += sum;
            }
            for (size_t m = 0; m < M; m++) {
                float sum = 0;
                for (size_t k = 0; k < M; k++)
                    sum += P[m * M + k] * w[k];
                v[m] = t == 0 ? w[m] : sum;
            }
        }
        if (t <= p->warmup)
            continue;
        for (size_t n = 0; n < N; n++) {
            float e = p->x[t * N + n];
            for (size_t m = 0; m < M; m++)
                e -= p->B[n * M + m] * z[m];
            for (size_t m = 0; m < M; m++) {
                v[m] -= c * p->B[n * M + m] * e;
                p->dB[n * M + m] -= c * e * z[m];
            }
        }
    }
}

double plain_gradient(plain_problem *p)
{
    const size_t M = p->M, N = p->N, L = p->L;
    float *P1 = calloc(2 * M * M + 2 * M + L, sizeof *P1), *Pa = P1 + M * M, *v = Pa + M * M, *w = v + M,
          *u = w + M;
    if (P1 == NULL)
        abort();
    for (size_t i = 0; i < M; i++) {
        for (size_t j = 0; j < M; j++) {
            float sum = 0;
            for (size_t n = 0; n < N; n++)
                sum += p->pinv[i * N + n] * p->B[n * M + j];
            P1[i * M + j] = (i == j) - sum;
            Pa[i * M + j] = (i == j) - p->alpha * sum;
        }
    }
    memset(p->dA, 0, M * sizeof(float));
    memset(p->dW, 0, M * L * sizeof(float));
    memset(p->dV, 0, L * M * sizeof(float));
    memset(p->db, 0, L * sizeof(float));
    memset(p->dh, 0, M * sizeof(float));
    memset(p->dB, 0, N * M * sizeof(float));
    const double loss = forward(p, P1, Pa);
    backward(p, P1, Pa, v, w, u);
    free(P1);
    return loss;
}
