// project.cuh - the weights V (1 - a B+ B) of solve.cu, for both strengths of forcing (PACK_V1, PACK_VA of
// shape.cuh).
// alone: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DRANK=0 -DUPDATE_THREADS=544
#ifndef ANT_PROJECT_CUH
#define ANT_PROJECT_CUH

#include "theta.cuh"

// product = V B+ (L, N), by one block.  pinv: (M, N)
INLINE void make_product(const real *theta, const double *pinv, double *product)
{
#pragma unroll 1
    for (int i = threadIdx.x; i < L * N; i += UPDATE_THREADS) {
        double sum = 0;
#pragma unroll 4
        for (int m = 0; m < M; m++)
            sum += (double)theta[THETA_V + i / N * M + m] * pinv[m * N + i % N];
        product[i] = sum;
    }
}

// V (1 - a B+ B) for a = 1 and a = alpha, by one block.
INLINE void pack_projected(const real *theta, const double *product, double alpha, real *pack)
{
#pragma unroll 1
    for (int i = threadIdx.x; i < MP * LS; i += UPDATE_THREADS) {
        const int m = i / (4 * LS) * 4 + i % 4, l = i / 4 % LS;
        double projected = 0, whole = 0;
        if (m < M && l < L) {
            whole = (double)theta[THETA_V + l * M + m];
#pragma unroll 4
            for (int n = 0; n < N; n++)
                projected += product[l * N + n] * (double)theta[THETA_B + n * M + m];
        }
        pack[PACK_V1 + i] = (real)(whole - projected);
        pack[PACK_VA + i] = (real)(whole - alpha * projected);
    }
}

#endif
