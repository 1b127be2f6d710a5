// project.cuh - the weights V (1 - a B+ B) of solve.cu, for both strengths of forcing (PACK_V1, PACK_VA of
// shape.cuh).
// alone: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DRANK=0 -DUPDATE_THREADS=544
#ifndef ANT_PROJECT_CUH
#define ANT_PROJECT_CUH

#include "theta.cuh"

// V B+ B is found from the smaller of two products: V B+ (L, N) or, with more variables than latent units,
// B+ B (M, M).  By one block.  pinv: (M, N)
INLINE void make_product(const real *theta, const double *pinv, double *product)
{
#pragma unroll 1
    for (int i = threadIdx.x; i < PRODUCT_ROWS * PRODUCT_COLUMNS; i += UPDATE_THREADS) {
        const int row = i / PRODUCT_COLUMNS, column = i % PRODUCT_COLUMNS;
        double even = 0, odd = 0;
        if (N > M) {
#pragma unroll 8
            for (int n = 0; n < N; n++)
                (n % 2 == 0 ? even : odd) += pinv[row * N + n] * (double)theta[THETA_B + n * M + column];
        } else {
#pragma unroll 4
            for (int m = 0; m < M; m++)
                even += (double)theta[THETA_V + row * M + m] * pinv[m * N + column];
        }
        product[i] = even + odd;
    }
}

// V B+ B at (l, m).
INLINE double projected_at(const real *theta, const double *product, int l, int m)
{
    double sum = 0;
    if (N > M) {
#pragma unroll 8
        for (int k = 0; k < M; k++)
            sum += (double)theta[THETA_V + l * M + k] * product[k * M + m];
    } else {
#pragma unroll 4
        for (int n = 0; n < N; n++)
            sum += product[l * N + n] * (double)theta[THETA_B + n * M + m];
    }
    return sum;
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
            projected = projected_at(theta, product, l, m);
        }
        pack[PACK_V1 + i] = (real)(whole - projected);
        pack[PACK_VA + i] = (real)(whole - alpha * projected);
    }
}

#endif
