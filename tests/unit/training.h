/*
 * training.h - training on the fake GPU, which runs kernels on the CPU, beside the CPU's own path: what the
 * tests of its learner share.
 */
#ifndef ANT_TESTS_TRAINING_H
#define ANT_TESTS_TRAINING_H

#include "unit/check.h"

#include <stdio.h>
#include <stdlib.h>

static inline int use_fake(void **state)
{
    (void)state;
    setenv("ANTLER_CUDA_DRIVER", FAKE_CUDA_LIBRARY, 1);
    setenv("ANTLER_NVRTC", FAKE_NVRTC_LIBRARY, 1);
    setenv("ANTLER_CACHE", "/proc/nothing", 1);
    return 0;
}

/* Two trajectories of a rotation that drifts, with inputs; the second is half as long. */
static inline antler_series *make_series(size_t rows, size_t dim, size_t inputs)
{
    antler_series *series = NULL;
    double *x = calloc(rows * dim, sizeof *x), *s = calloc(rows * inputs + 1, sizeof *s);
    assert_true(x != NULL && s != NULL);
    CHECK_OK(antler_series_create(dim, inputs, &series));
    for (int part = 0; part < 2; part++) {
        for (size_t t = 0; t < rows; t++) {
            for (size_t n = 0; n < dim; n++)
                x[t * dim + n] =
                    cos(0.2 * (double)t + (double)n + part) + 0.1 * sin(0.05 * (double)(t * (n + 1)));
            for (size_t k = 0; k < inputs; k++)
                s[t * inputs + k] = sin(0.3 * (double)t + (double)k);
        }
        CHECK_OK(antler_series_append(series, part == 0 ? rows : rows / 2, x, inputs == 0 ? NULL : s));
    }
    free(x);
    free(s);
    return series;
}

static inline antler_settings plain_settings(void)
{
    antler_settings s;
    antler_settings_default(&s);
    s.precision = ANTLER_PRECISION_DOUBLE;
    s.latent_dim = 3;
    s.hidden_dim = 8;
    s.sequence_length = 12;
    s.batch_size = 3;
    s.updates = 6;
    s.log_interval = 2;
    s.checkpoint_interval = 4;
    s.kappa = 0.7;
    s.gtf_alpha = 0.15;
    s.start_lr = 1e-2;
    s.validation = 0.0;
    s.threads = 1;
    s.runs = 2;
    return s;
}

/* The sizes `large` of tests/fake/kernels.cmake, in segments. */
static inline antler_settings large_settings(void)
{
    antler_settings s = plain_settings();
    s.solver = ANTLER_SOLVER_SHOOTING;
    s.runs = 1;
    s.batch_size = 1;
    s.latent_dim = 21;
    s.hidden_dim = 70;
    s.sequence_length = 61;
    s.warmup = 11;
    s.updates = 4;
    s.log_interval = 1;
    return s;
}

/* Updates that two devices are compared by.  With a sanitizer two: each launches the same kernels, the second
   on what the first has left.  For races one: launches follow each other. */
enum { PARAMETERS_MAX = 4096, ROWS = 64, COMPARED = FOR_RACES ? 1 : SANITIZED ? 2 : 4 };

typedef struct seen {
    antler_train_row row[ROWS];
    size_t rows, asked, stop_after;
    char text[512], end[512];
} seen;

static inline void see_begin(void *cookie, const antler_train_note *note)
{
    snprintf(((seen *)cookie)->text, 512, "%s", note->text);
}

static inline void see_row(void *cookie, const antler_train_row *row)
{
    seen *w = cookie;
    assert_true(w->rows < ROWS);
    w->row[w->rows++] = *row;
}

static inline void see_end(void *cookie, const antler_train_note *note)
{
    if (note->status != ANTLER_OK)
        snprintf(((seen *)cookie)->end, 512, "%s", note->text);
}

static inline int ask(void *cookie)
{
    seen *w = cookie;
    return w->stop_after > 0 && ++w->asked % w->stop_after == 0;
}

/* Train to the end, over as many stops as there are; parameters of run `run`.  Returns the last status. */
static inline antler_status train(const antler_settings *s, const antler_series *series, size_t run, seen *w,
                                  double *out)
{
    antler_trainer *trainer = NULL;
    antler_model *model = NULL;
    const antler_train_events events = {.struct_size = sizeof events,
                                        .cookie = w,
                                        .begin = see_begin,
                                        .row = see_row,
                                        .end = see_end,
                                        .stop = ask};
    CHECK_OK(antler_trainer_create(s, series, &trainer));
    antler_status status = ANTLER_CANCELLED;
    while (status == ANTLER_CANCELLED)
        status = antler_trainer_run(trainer, &events, NULL);
    CHECK_OK(antler_trainer_model(trainer, run, &model));
    size_t at = 0;
    for (size_t i = 0; i < antler_model_parameter_count(model); i++) {
        antler_parameter p;
        CHECK_OK(antler_model_parameter_at(model, i, &p));
        assert_true(at + p.rows * p.columns <= PARAMETERS_MAX);
        memcpy(out + at, p.values, p.rows * p.columns * sizeof *out);
        at += p.rows * p.columns;
    }
    antler_model_free(model);
    antler_trainer_free(trainer);
    return status;
}

static inline void compare_rows(const seen *a, const seen *b, size_t run, double tolerance)
{
    size_t compared = 0;
    for (size_t i = 0; i < a->rows; i++) {
        for (size_t k = 0; k < b->rows; k++) {
            const antler_train_row *p = &a->row[i], *q = &b->row[k];
            if (p->run != run || q->run != run || p->update != q->update)
                continue;
            CHECK_NEAR(p->loss, q->loss, tolerance * q->loss);
            CHECK_NEAR(p->mar, q->mar, tolerance);
            CHECK_NEAR(p->readout, q->readout, tolerance);
            CHECK_NEAR(p->singular, q->singular, tolerance);
            CHECK_NEAR(p->lr, q->lr, 1e-15);
            assert_int_equal(isnan(p->alpha), isnan(q->alpha));
            if (!isnan(p->alpha))
                CHECK_NEAR(p->alpha, q->alpha, tolerance);
            CHECK_NEAR(p->gradient_norm, q->gradient_norm, tolerance * q->gradient_norm);
            compared++;
        }
    }
    assert_true(compared >= COMPARED);
}

typedef struct comparison {
    antler_settings settings;
    size_t rows, dim, inputs; /* of the series */
    size_t run;
    double tolerance;   /* of parameters and of rows of the log */
    double agreement;   /* of states and gradient with plain loops, at every check */
    const char *choice; /* what the GPU says of its solver */
    double passes;      /* that the solver may take on average in a row of the log; 0: any number */
} comparison;

static inline void compare_on(comparison c, const antler_series *series)
{
    double cpu[PARAMETERS_MAX] = {0}, gpu[PARAMETERS_MAX] = {0};
    seen on_cpu = {.rows = 0}, on_gpu = {.rows = 0};
    c.settings.device = ANTLER_DEVICE_CPU;
    if (SANITIZED) {
        c.settings.updates = COMPARED;
        c.settings.log_interval = 1;
    }
    CHECK_OK(train(&c.settings, series, c.run, &on_cpu, cpu));
    c.settings.device = ANTLER_DEVICE_CUDA;
    c.settings.check_interval = SANITIZED ? COMPARED : 3;
    CHECK_OK(train(&c.settings, series, c.run, &on_gpu, gpu));
    if (strstr(on_gpu.text, c.choice) == NULL)
        fail_msg("'%s' does not contain '%s'", on_gpu.text, c.choice);
    assert_non_null(strstr(on_gpu.text, "Imaginary GPU"));
    for (size_t i = 0; i < PARAMETERS_MAX; i++)
        CHECK_NEAR(gpu[i], cpu[i], c.tolerance);
    compare_rows(&on_gpu, &on_cpu, c.run, c.tolerance);
    double worst = -1.0;
    for (size_t i = 0; i < on_gpu.rows && c.passes > 0.0; i++)
        if (!(on_gpu.row[i].iterations <= c.passes))
            fail_msg("update %zu took %g passes, not %g", on_gpu.row[i].update, on_gpu.row[i].iterations,
                     c.passes);
    for (size_t i = 0; i < on_gpu.rows; i++)
        worst = fmax(worst, fmax(on_gpu.row[i].states_agree, on_gpu.row[i].gradient_agrees));
    assert_true(worst >= 0.0);
    CHECK_NEAR(worst, 0.0, c.agreement);
}

static inline void compare_with_cpu(comparison c)
{
    antler_series *series = make_series(c.rows, c.dim, c.inputs);
    compare_on(c, series);
    antler_series_free(series);
}

#endif
