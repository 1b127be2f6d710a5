/* solve_support.h - for the solver tests: golden and random problems. */
#ifndef ANT_TESTS_SOLVE_SUPPORT_H
#define ANT_TESTS_SOLVE_SUPPORT_H

#include "base/random.h"
#include "solve_problem.h"
#include "unit/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Read a float64 C-order .npy into `out` (count); fails the test when it is not that. */
static inline bool golden_read(const char *folder, const char *name, double *out, size_t count)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/golden/%s/%s.npy", TEST_DATA, folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return false;
    unsigned char head[10];
    assert_int_equal(fread(head, 1, 10, file), 10);
    assert_int_equal(fseek(file, 10 + head[8] + 256 * head[9], SEEK_SET), 0);
    assert_int_equal(fread(out, sizeof *out, count, file), count);
    assert_int_equal(fgetc(file), EOF);
    fclose(file);
    return true;
}

static inline double golden_key(const char *folder, const char *key)
{
    char path[1024], name[64], value[64];
    snprintf(path, sizeof path, "%s/golden/%s/case.txt", TEST_DATA, folder);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    double result = NAN;
    while (fscanf(file, "%63s %63s", name, value) == 2) {
        if (strcmp(name, key) == 0)
            result = atof(value);
    }
    fclose(file);
    return result;
}

/* Read prefix_<slice> of every slice into a flat vector; false when there is none. */
static inline bool golden_slices(const char *folder, const char *prefix, const ant_model_layout *layout,
                                 double *out)
{
    bool found = false;
    for (size_t i = 0; i < layout->slices; i++) {
        char name[128];
        snprintf(name, sizeof name, "%s_%s", prefix, layout->slice[i].name);
        found |= golden_read(folder, name, out + layout->slice[i].offset, layout->slice[i].count);
    }
    return found;
}

static inline problem golden_problem(const char *folder)
{
    const ant_model_dims dims = {.M = (size_t)golden_key(folder, "M"),
                                 .N = (size_t)golden_key(folder, "N"),
                                 .L = (size_t)golden_key(folder, "L"),
                                 .K = (size_t)golden_key(folder, "K"),
                                 .rank = (size_t)golden_key(folder, "rank")};
    problem p = {.T = (size_t)golden_key(folder, "T"),
                 .batch = (size_t)golden_key(folder, "batch"),
                 .warmup = (size_t)golden_key(folder, "warmup"),
                 .alpha = golden_key(folder, "alpha")};
    assert_int_equal(ant_model_layout_make(&dims, &p.layout), ANTLER_OK);
    p.parameters = get(p.layout.total, sizeof(double));
    p.x = get(p.batch * (p.T + 1) * dims.N, sizeof(double));
    p.s = get(p.batch * p.T * dims.K, sizeof(double));
    assert_true(golden_slices(folder, "param", &p.layout, p.parameters));
    assert_true(golden_read(folder, "x", p.x, p.batch * (p.T + 1) * dims.N));
    if (dims.K > 0)
        assert_true(golden_read(folder, "s", p.s, p.batch * p.T * dims.K));
    return p;
}

/* A problem with smooth random data and weights of a size at which forced orbits stay bounded. */
static inline problem random_problem(ant_model_dims dims, size_t T, size_t batch, size_t warmup, double alpha,
                                     uint64_t seed)
{
    problem p = {.T = T, .batch = batch, .warmup = warmup, .alpha = alpha};
    assert_int_equal(ant_model_layout_make(&dims, &p.layout), ANTLER_OK);
    p.parameters = get(p.layout.total, sizeof(double));
    p.x = get(batch * (T + 1) * dims.N, sizeof(double));
    p.s = get(batch * T * dims.K, sizeof(double));
    ant_stream stream = ant_stream_open(seed, 0, 0, ANT_PURPOSE_OBSERVATION_NOISE);
    ant_stream_normals(&stream, p.parameters, p.layout.total);
    for (size_t i = 0; i < p.layout.slices; i++) {
        const ant_model_slice *slice = &p.layout.slice[i];
        const double scale = slice->offset == p.layout.B && dims.kind == ANT_MODEL_SHPLRNN ? 1.0
                             : slice->axes == 2 ? 0.5 / sqrt((double)slice->cols)
                                                : 0.4;
        for (size_t k = 0; k < slice->count; k++)
            p.parameters[slice->offset + k] *= scale;
    }
    for (size_t n = 0; dims.kind == ANT_MODEL_SHPLRNN && n < (dims.N < dims.M ? dims.N : dims.M); n++)
        /* keeps B well-conditioned */
        p.parameters[p.layout.B + n * dims.M + n] += 4.0;
    ant_stream_normals(&stream, p.s, batch * T * dims.K);
    for (size_t i = 0; i < batch; i++) {
        for (size_t n = 0; n < dims.N; n++) {
            const double phase = 6.28 * ant_stream_uniform(&stream), speed = ant_stream_uniform(&stream);
            for (size_t t = 0; t <= T; t++)
                p.x[(i * (T + 1) + t) * dims.N + n] = sin(phase + speed * (double)t);
        }
    }
    return p;
}

static inline double loss_at(const problem *p, const ant_solve_options *o)
{
    answer a = solve(p, o, 64, false);
    assert_int_equal(a.status, ANTLER_OK);
    const double loss = a.report.loss;
    answer_free(&a);
    return loss;
}

/* A gradient against central differences of the loss for every parameter, in double.  gradient: (total) */
static inline void check_slopes(problem *p, const ant_solve_options *o, const double *gradient,
                                double tolerance, const char *what)
{
    const double scale = largest(gradient, p->layout.total), step = 1e-6;
    for (size_t k = 0; k < p->layout.slices; k++) {
        const ant_model_slice *slice = &p->layout.slice[k];
        for (size_t i = slice->offset; i < slice->offset + (SANITIZED ? 1 : slice->count); i++) {
            const double keep = p->parameters[i];
            p->parameters[i] = keep + step;
            const double up = loss_at(p, o);
            p->parameters[i] = keep - step;
            const double slope = (up - loss_at(p, o)) / (2 * step);
            p->parameters[i] = keep;
            if (!(fabs(slope - gradient[i]) < tolerance * (1.0 + scale)))
                fail_msg("%s: %s[%zu] has gradient %g, differences say %g", what, slice->name,
                         i - slice->offset, gradient[i], slope);
        }
    }
}

#endif
