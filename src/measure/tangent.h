/*
 * tangent.h - tangent vectors carried along an orbit of a model, and orthonormalised by Householder's QR.
 *
 * The vectors are rows, in double, padded to whole lanes.  The model's Jacobian multiplies them
 * (model/runner.h); the QR is compiled per instruction set.
 */
#ifndef ANT_MEASURE_TANGENT_H
#define ANT_MEASURE_TANGENT_H

#include "model/runner.h"

typedef struct ant_tangent {
    const ant_runner *runner; /* borrowed */
    size_t count;             /* vectors, <= n */
    size_t stride;            /* n, padded */
    double *P, *next;         /* (count, stride): tangent vectors, and where the next ones are written */
    double *reflector;        /* (count, stride): row k is zero before entry k */
    double *tau;              /* (count) */
    double *scratch;          /* of the Jacobian */
    ant_arena arena;
} ant_tangent;

typedef struct ant_tangent_kernels {
    /* P <- Q of P^T = Q R, and log|R_kk|, -infinity when the vectors became dependent.  logs: (count). */
    void (*orthonormalise)(ant_tangent *tangent, double *logs);
} ant_tangent_kernels;

extern const ant_tangent_kernels ant_tangent_kernels_base, ant_tangent_kernels_avx2,
    ant_tangent_kernels_avx512;

/* The kernels of the best instruction set here. */
const ant_tangent_kernels *ant_tangent_kernels_here(void);

/*
 * `count` vectors, 1 <= count <= n.  All of them begin as unit vectors; fewer, in random directions, because
 * the first numbers of a state may be ones that the model forgets at once.
 */
antler_status ant_tangent_create(const ant_runner *runner, size_t count, ant_tangent *tangent);
void ant_tangent_destroy(ant_tangent *tangent);

/* Every vector one step on, out of the state `from` with input s. */
void ant_tangent_push(ant_tangent *tangent, const double *from, const double *s);

#endif
