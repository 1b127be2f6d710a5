/*
 * tangent.h - tangent vectors carried along an orbit of a model, and orthonormalised by Householder's QR.
 *
 * All M vectors are kept, as rows.  Everything is in double, in rows padded to whole lanes; the kernels are
 * compiled per instruction set.
 */
#ifndef ANT_MEASURE_TANGENT_H
#define ANT_MEASURE_TANGENT_H

#include "model/runner.h"

typedef struct ant_tangent {
    const ant_runner *runner; /* borrowed */
    double *weight;           /* (Lp): slope times a column of V */
    double *slope;            /* (Lp): phi'(V z + b), minus phi'(V z) when clipped */
    double *Jt;               /* (M, Mp): row j is column j of the Jacobian */
    double *P, *next;         /* (M, Mp): tangent vectors, and where the next ones are written */
    double *reflector;        /* (M, Mp): row k is zero before entry k */
    double *tau;              /* (M) */
    ant_arena arena;
} ant_tangent;

typedef struct ant_tangent_kernels {
    /* P <- P J(z)^T: every vector one step on.  z: (M). */
    void (*push)(ant_tangent *tangent, const double *z);
    /* P <- Q of P^T = Q R, and log|R_kk|, -infinity when the vectors became dependent.  logs: (M). */
    void (*orthonormalise)(ant_tangent *tangent, double *logs);
} ant_tangent_kernels;

extern const ant_tangent_kernels ant_tangent_kernels_base, ant_tangent_kernels_avx2,
    ant_tangent_kernels_avx512;

/* The kernels of the best instruction set here. */
const ant_tangent_kernels *ant_tangent_kernels_here(void);

/* Begin with the unit vectors. */
antler_status ant_tangent_create(const ant_runner *runner, ant_tangent *tangent);
void ant_tangent_destroy(ant_tangent *tangent);

#endif
