/*
 * Training on the GPU engine with the fake driver, which runs the kernels of solve.cu and update.cu on the
 * CPU: the same updates, rows, stops and divergence as the CPU's own path.
 */
#include "unit/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int use_fake(void **state)
{
    (void)state;
    setenv("ANTLER_CUDA_DRIVER", FAKE_CUDA_LIBRARY, 1);
    setenv("ANTLER_NVRTC", FAKE_NVRTC_LIBRARY, 1);
    setenv("ANTLER_CACHE", "/proc/nothing", 1);
    return 0;
}

/* Two trajectories of a rotation that drifts, with inputs. */
static antler_series *make_series(size_t dim, size_t inputs)
{
    enum { ROWS = 90 };
    antler_series *series = NULL;
    double x[ROWS * 3], s[ROWS * 2];
    CHECK_OK(antler_series_create(dim, inputs, &series));
    for (int part = 0; part < 2; part++) {
        for (size_t t = 0; t < ROWS; t++) {
            for (size_t n = 0; n < dim; n++)
                x[t * dim + n] =
                    cos(0.2 * (double)t + (double)n + part) + 0.1 * sin(0.05 * (double)(t * (n + 1)));
            for (size_t k = 0; k < inputs; k++)
                s[t * inputs + k] = sin(0.3 * (double)t + (double)k);
        }
        CHECK_OK(antler_series_append(series, part == 0 ? ROWS : ROWS / 2, x, inputs == 0 ? NULL : s));
    }
    return series;
}

static antler_settings plain_settings(void)
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
    s.start_lr = 1e-2;
    s.threads = 1;
    s.runs = 2;
    return s;
}

/* Fewer latent units than variables, inputs, low rank, clipped, noise, and every regulariser. */
static antler_settings rich_settings(void)
{
    antler_settings s = plain_settings();
    s.latent_dim = 2;
    s.hidden_dim = 6;
    s.rank = 2;
    s.clipped = true;
    s.noise = 0.05;
    s.warmup = 3;
    s.MAR_lambda = 0.3;
    s.regularised_units = 1;
    s.readout_lambda = 0.2;
    s.singular_lambda = 0.1;
    s.MAR_initial_scale = true;
    s.gradient_clip = 0.05;
    s.optimiser = ANTLER_OPTIMISER_ADAM;
    s.schedule = ANTLER_SCHEDULE_EXPONENTIAL;
    s.runs = 1;
    return s;
}

enum { ROOM = 256, ROWS = 64 };

typedef struct seen {
    antler_train_row row[ROWS];
    size_t rows, asked, stop_after;
    char text[512], end[512];
} seen;

static void see_begin(void *cookie, const antler_train_note *note)
{
    snprintf(((seen *)cookie)->text, 512, "%s", note->text);
}

static void see_row(void *cookie, const antler_train_row *row)
{
    seen *w = cookie;
    assert_true(w->rows < ROWS);
    w->row[w->rows++] = *row;
}

static void see_end(void *cookie, const antler_train_note *note)
{
    if (note->status != ANTLER_OK)
        snprintf(((seen *)cookie)->end, 512, "%s", note->text);
}

static int ask(void *cookie)
{
    seen *w = cookie;
    return w->stop_after > 0 && ++w->asked % w->stop_after == 0;
}

/* Train to the end, over as many stops as there are; parameters of run `run`.  Returns the last status. */
static antler_status train(const antler_settings *s, const antler_series *series, size_t run, seen *w,
                           double *out)
{
    antler_trainer *trainer = NULL;
    antler_model *model = NULL;
    const antler_train_events events = {
        .cookie = w, .begin = see_begin, .row = see_row, .end = see_end, .stop = ask};
    CHECK_OK(antler_trainer_create(s, series, &trainer));
    antler_status status = ANTLER_CANCELLED;
    while (status == ANTLER_CANCELLED)
        status = antler_trainer_run(trainer, &events, NULL);
    CHECK_OK(antler_trainer_model(trainer, run, &model));
    size_t at = 0;
    for (size_t i = 0; i < antler_model_parameter_count(model); i++) {
        antler_parameter p;
        CHECK_OK(antler_model_parameter_at(model, i, &p));
        assert_true(at + p.rows * p.columns <= ROOM);
        memcpy(out + at, p.values, p.rows * p.columns * sizeof *out);
        at += p.rows * p.columns;
    }
    antler_model_free(model);
    antler_trainer_free(trainer);
    return status;
}

static void compare_rows(const seen *a, const seen *b, size_t run, double tolerance)
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
            CHECK_NEAR(p->gradient_norm, q->gradient_norm, tolerance * q->gradient_norm);
            compared++;
        }
    }
    assert_true(compared >= 4); /* updates 1, 2, 4, 6 */
}

static void compare_with_cpu(antler_settings s, size_t dim, size_t inputs, size_t run, double tolerance,
                             const char *choice)
{
    antler_series *series = make_series(dim, inputs);
    double cpu[ROOM] = {0}, gpu[ROOM] = {0};
    seen on_cpu = {.rows = 0}, on_gpu = {.rows = 0};
    s.device = ANTLER_DEVICE_CPU;
    CHECK_OK(train(&s, series, run, &on_cpu, cpu));
    s.device = ANTLER_DEVICE_CUDA;
    s.check_interval = 3;
    CHECK_OK(train(&s, series, run, &on_gpu, gpu));
    assert_non_null(strstr(on_gpu.text, choice));
    assert_non_null(strstr(on_gpu.text, "Imaginary GPU"));
    for (size_t i = 0; i < ROOM; i++)
        CHECK_NEAR(gpu[i], cpu[i], tolerance);
    compare_rows(&on_gpu, &on_cpu, run, tolerance);
    double worst = -1.0;
    for (size_t i = 0; i < on_gpu.rows; i++)
        worst = fmax(worst, fmax(on_gpu.row[i].states_agree, on_gpu.row[i].gradient_agrees));
    assert_true(worst >= 0.0 && worst < 1e-11); /* updates 3 and 6 were compared with plain loops */
    antler_series_free(series);
}

static void same_as_cpu(void **state)
{
    (void)state;
    compare_with_cpu(plain_settings(), 2, 0, 2, 1e-10, "sequential on the GPU");
}

static void same_as_cpu_in_stretches(void **state)
{
    (void)state;
    antler_settings s = plain_settings();
    s.solver = ANTLER_SOLVER_SHOOTING;
    s.runs = 1;
    compare_with_cpu(s, 2, 0, 1, 1e-8, "shooting on the GPU, 4 stretches");
}

static void same_as_cpu_with_everything(void **state)
{
    (void)state;
    compare_with_cpu(rich_settings(), 3, 1, 1, 1e-9, "sequential on the GPU");
}

/* Stopped after every look, and alone instead of among others: the same bytes. */
static void same_bytes(void **state)
{
    (void)state;
    antler_series *series = make_series(2, 0);
    antler_settings s = plain_settings();
    double once[ROOM] = {0}, again[ROOM] = {0};
    seen first = {.rows = 0}, second = {.stop_after = 1};
    s.device = ANTLER_DEVICE_CUDA;
    CHECK_OK(train(&s, series, 2, &first, once));
    CHECK_OK(train(&s, series, 2, &second, again));
    assert_memory_equal(once, again, sizeof once);
    assert_int_equal(first.rows, second.rows);
    for (size_t i = 0; i < first.rows; i++)
        assert_true(first.row[i].loss == second.row[i].loss && first.row[i].update == second.row[i].update);
    antler_series_free(series);
}

/* Divergence: the same sentence and the same last good model; the sibling goes on. */
static void diverge(double scale, const char *sentence)
{
    antler_series *series = NULL;
    antler_settings s = plain_settings();
    double cpu[ROOM] = {0}, gpu[ROOM] = {0}, x[200];
    seen on_cpu = {.rows = 0}, on_gpu = {.rows = 0};
    for (size_t i = 0; i < 200; i++)
        x[i] = scale * sin(0.1 * (double)i);
    CHECK_OK(antler_series_create(2, 0, &series));
    CHECK_OK(antler_series_append(series, 100, x, NULL));
    s.standardise = false;
    s.gradient_clip = 0.0;
    s.start_lr = 10.0;
    s.device = ANTLER_DEVICE_CPU;
    CHECK_FAILS(train(&s, series, 1, &on_cpu, cpu), ANTLER_DIVERGED, sentence);
    s.device = ANTLER_DEVICE_CUDA;
    CHECK_FAILS(train(&s, series, 1, &on_gpu, gpu), ANTLER_DIVERGED, sentence);
    assert_string_equal(on_cpu.end, on_gpu.end);
    assert_int_equal(on_cpu.rows, on_gpu.rows);
    for (size_t i = 0; i < ROOM; i++)
        CHECK_NEAR(gpu[i], cpu[i], 1e-9 * fmax(1.0, fabs(cpu[i])));
    antler_series_free(series);
}

static void diverges_like_the_cpu(void **state)
{
    (void)state;
    diverge(1e200, "diverged at update 1: the loss is not finite");
    diverge(1e5, "has grown beyond 1e+06");
    diverge(30.0, "diverged at update");
}

static void refuses(void **state)
{
    (void)state;
    antler_settings s = plain_settings();
    s.device = ANTLER_DEVICE_CUDA;
    s.solver = ANTLER_SOLVER_REFERENCE;
    CHECK_FAILS(antler_settings_check(&s, NULL), ANTLER_ERROR_ARGUMENT, "use device: cpu");
    s.solver = ANTLER_SOLVER_AUTO;
    s.model = ANTLER_MODEL_LSSM;
    s.gtf_alpha = 0.15;
    CHECK_FAILS(antler_settings_check(&s, NULL), ANTLER_ERROR_ARGUMENT, "does not train model: lssm");
    setenv("FAKE_CUDA", "full", 1);
    antler_series *series = make_series(2, 0);
    antler_trainer *trainer = NULL;
    s = plain_settings();
    s.device = ANTLER_DEVICE_CUDA;
    CHECK_OK(antler_trainer_create(&s, series, &trainer));
    CHECK_FAILS(antler_trainer_run(trainer, NULL, NULL), ANTLER_ERROR_DEVICE, "has no room");
    setenv("FAKE_CUDA", "", 1);
    antler_trainer_free(trainer);
    antler_series_free(series);
}

/* The bare solver. */
static void problem(void **state)
{
    (void)state;
    antler_settings s = plain_settings();
    antler_problem *p = NULL;
    antler_solve_report report;
    double x[3 * 13 * 2], states = NAN, gradient = NAN;
    for (size_t i = 0; i < sizeof x / sizeof x[0]; i++)
        x[i] = sin(0.37 * (double)i);
    s.solver = ANTLER_SOLVER_SHOOTING;
    s.device = ANTLER_DEVICE_CUDA;
    CHECK_OK(antler_problem_create(&s, 2, 0, &p));
    antler_problem_set_data(p, x, NULL);
    CHECK_OK(antler_problem_check(p, &report, &states, &gradient));
    assert_true(states < 1e-12 && gradient < 1e-11);
    assert_true(report.loss > 0.0 && report.seconds > 0.0);
    assert_non_null(strstr(antler_problem_choice(p), "GPU"));
    antler_problem_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_cpu),
        cmocka_unit_test(same_as_cpu_in_stretches),
        cmocka_unit_test(same_as_cpu_with_everything),
        cmocka_unit_test(same_bytes),
        cmocka_unit_test(diverges_like_the_cpu),
        cmocka_unit_test(refuses),
        cmocka_unit_test(problem),
    };
    return cmocka_run_group_tests(tests, use_fake, NULL);
}
