/* test_train.c - training in memory: it learns, repeats itself, survives stops, and allocates nothing. */
#include "check.h"

#include <stdatomic.h>
#include <stdlib.h>

/*
 * Every allocation of the process passes here, in builds without sanitizers, which bring their own.
 * glibc offers its own functions under these names.
 */
static atomic_size_t allocations;
#if !SANITIZED && defined(__GLIBC__)
#define COUNTING 1
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void *malloc(size_t bytes)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_calloc(count, bytes);
}
void *realloc(void *old, size_t bytes)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_realloc(old, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_memalign(alignment, bytes);
}
#endif

/* Numbers of the largest model here. */
enum { PARAMETERS_MAX = 2048 };

/* x_{t+1} = R x_t with a slow rotation: a linear system that the model can hold exactly. */
static antler_series *rotation(size_t rows, size_t inputs)
{
    antler_series *series = NULL;
    double *x = calloc(rows * 2, sizeof *x), *s = calloc(rows * (inputs + 1), sizeof *s);
    for (size_t i = 0; i < rows; i++) {
        x[2 * i] = cos(0.1 * (double)i);
        x[2 * i + 1] = sin(0.1 * (double)i);
        for (size_t k = 0; k < inputs; k++)
            s[i * inputs + k] = cos(0.05 * (double)(i * (k + 1)));
    }
    CHECK_OK(antler_series_create(2, inputs, &series));
    CHECK_OK(antler_series_append(series, rows, x, inputs == 0 ? NULL : s));
    free(x);
    free(s);
    return series;
}

static antler_settings small_settings(void)
{
    antler_settings s;
    antler_settings_default(&s);
    s.latent_dim = 3;
    s.hidden_dim = 8;
    s.sequence_length = 30;
    s.batch_size = 4;
    s.updates = 60;
    s.log_interval = 10;
    s.kappa = 0.9;
    s.gtf_alpha = 0.15;
    s.start_lr = 1e-3;
    s.validation = 0.0;
    s.threads = 2;
    return s;
}

/* A mamba2 has heads and no regularisers. */
static void mamba2_settings(antler_settings *s)
{
    antler_settings standard;
    antler_settings_default(&standard);
    s->model = ANTLER_MODEL_MAMBA2;
    s->latent_dim = 4;
    s->kappa = standard.kappa;
}

/* What a watcher saw and does. */
typedef struct watch {
    size_t rows, stop_after;
    atomic_size_t calls;
    antler_train_row row[64];
    size_t allocations_from, allocations_to;
} watch;

static void see_row(void *cookie, const antler_train_row *row)
{
    watch *w = cookie;
    if (w->rows < 64)
        w->row[w->rows] = *row;
    w->rows++;
    if (row->update == 50)
        w->allocations_from = allocations;
    if (row->update == 150)
        w->allocations_to = allocations;
}

static int ask(void *cookie)
{
    watch *w = cookie;
    const size_t call = atomic_fetch_add(&w->calls, 1) + 1; /* runs ask from their own threads */
    return w->stop_after > 0 && call % w->stop_after == 0;
}

/* Train to the end, stopping at every `stop_after`-th question (0: never); parameters of run `run` as one
 * array. */
static void train(const antler_settings *s, const antler_series *series, size_t stop_after, size_t run,
                  watch *seen, double *out, size_t most)
{
    antler_trainer *trainer = NULL;
    antler_model *model = NULL;
    watch w = {.stop_after = stop_after};
    const antler_train_events events = {
        .struct_size = sizeof events, .cookie = &w, .row = see_row, .stop = ask};
    CHECK_OK(antler_trainer_create(s, series, &trainer));
    antler_status status = ANTLER_CANCELLED;
    for (int rounds = 0; status == ANTLER_CANCELLED && rounds < 1000; rounds++)
        status = antler_trainer_run(trainer, &events, NULL);
    CHECK_OK(status);
    CHECK_OK(antler_trainer_model(trainer, run, &model));
    size_t used = 0;
    for (size_t i = 0; i < antler_model_parameter_count(model); i++) {
        antler_parameter p;
        CHECK_OK(antler_model_parameter_at(model, i, &p));
        assert_true(used + p.rows * p.columns <= most);
        memcpy(out + used, p.values, p.rows * p.columns * sizeof *out);
        used += p.rows * p.columns;
    }
    assert_true(used > 10);
    if (seen != NULL) {
        memcpy(seen->row, w.row, sizeof w.row);
        seen->rows = w.rows;
        seen->allocations_from = w.allocations_from;
        seen->allocations_to = w.allocations_to;
    }
    antler_model_free(model);
    antler_trainer_free(trainer);
}

static void a_linear_system_is_learnt(void **state)
{
    (void)state;
    antler_series *series = rotation(600, 0);
    for (int precision = 0; precision < 2; precision++) {
        antler_settings s = small_settings();
        double parameters[512] = {0};
        watch w;
        s.precision = (antler_precision)precision;
        s.updates = 2500;
        s.log_interval = 250;
        s.start_lr = 1e-2;
        s.end_lr = 1e-4;
        train(&s, series, 0, 1, &w, parameters, 512);
        assert_int_equal(w.rows, 11); /* update 1 and ten intervals */
        if (!(w.row[10].loss < 1e-3 * w.row[0].loss))
            fail_msg("the loss fell only from %g to %g", w.row[0].loss, w.row[10].loss);
        CHECK_NEAR(w.row[10].lr, 1e-4, 1e-15);
    }
    antler_series_free(series);
}

/* Equal, or both unknown. */
static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void same_seed_same_bits_and_stops_leave_no_trace(void **state)
{
    (void)state;
    antler_series *series = rotation(300, 1);
    for (int variant = 0; variant < 8; variant++) {
        antler_settings s = small_settings();
        s.precision = (antler_precision)(variant % 2);
        s.optimiser = (antler_optimiser)(variant / 2 % 2);
        s.model = variant < 4 ? ANTLER_MODEL_SHPLRNN : variant < 6 ? ANTLER_MODEL_LSSM : ANTLER_MODEL_MAMBA2;
        if (s.model == ANTLER_MODEL_MAMBA2)
            mamba2_settings(&s);
        s.noise = 0.05;
        s.check_interval = 7;
        const bool regularised = s.model != ANTLER_MODEL_MAMBA2;
        s.MAR_lambda = regularised ? 0.1 : 0.0;
        s.regularised_units = regularised ? 2 : 0;
        s.solver = variant == 3 ? ANTLER_SOLVER_DEER : ANTLER_SOLVER_AUTO;
        double whole[PARAMETERS_MAX] = {0}, again[PARAMETERS_MAX] = {0}, cut[PARAMETERS_MAX] = {0};
        watch w, v;
        train(&s, series, 0, 1, &w, whole, PARAMETERS_MAX);
        train(&s, series, 0, 1, NULL, again, PARAMETERS_MAX);
        assert_memory_equal(whole, again, sizeof whole);
        for (size_t every = 2; every < 30; every += 9) {
            train(&s, series, every, 1, &v, cut, PARAMETERS_MAX);
            assert_memory_equal(whole, cut, sizeof whole);
            assert_int_equal(v.rows, w.rows);
            for (size_t i = 0; i < w.rows; i++) {
                v.row[i].seconds = w.row[i].seconds;
                v.row[i].solver = w.row[i].solver;
                assert_true(v.row[i].update == w.row[i].update && v.row[i].loss == w.row[i].loss &&
                            v.row[i].total == w.row[i].total && v.row[i].mar == w.row[i].mar &&
                            same(v.row[i].iterations, w.row[i].iterations) &&
                            same(v.row[i].alpha, w.row[i].alpha) &&
                            v.row[i].gradient_norm == w.row[i].gradient_norm);
                assert_true(same(v.row[i].states_agree, w.row[i].states_agree));
                assert_true(isnan(w.row[i].iterations) == (s.model != ANTLER_MODEL_SHPLRNN));
                assert_true(isnan(w.row[i].alpha) == (s.model != ANTLER_MODEL_SHPLRNN));
            }
        }
        assert_true((w.row[2].mar > 0.0) == regularised && w.row[2].states_agree < 1e-3);
        s.seed = 2;
        train(&s, series, 0, 1, NULL, again, PARAMETERS_MAX);
        assert_memory_not_equal(whole, again, sizeof whole);
    }
    antler_series_free(series);
}

/* Run 2 is the same among three, among five, and on any number of threads. */
static void runs_do_not_know_of_each_other(void **state)
{
    (void)state;
    antler_series *series = rotation(300, 0);
    antler_settings s = small_settings();
    double first[512] = {0}, second[512] = {0}, other[512] = {0};
    s.solver = ANTLER_SOLVER_SEQUENTIAL;
    s.runs = 3;
    train(&s, series, 0, 2, NULL, second, 512);
    train(&s, series, 0, 1, NULL, first, 512);
    assert_memory_not_equal(first, second, sizeof first);
    s.runs = 5;
    s.threads = 4;
    train(&s, series, 0, 2, NULL, other, 512);
    assert_memory_equal(second, other, sizeof second);
    s.runs = 2;
    s.threads = 1;
    train(&s, series, 9, 2, NULL, other, 512);
    assert_memory_equal(second, other, sizeof second);
    antler_series_free(series);
}

static void updates_allocate_nothing(void **state)
{
    (void)state;
#if !defined(COUNTING)
    skip();
#else
    static const antler_solver solvers[] = {ANTLER_SOLVER_AUTO,       ANTLER_SOLVER_REFERENCE,
                                            ANTLER_SOLVER_SEQUENTIAL, ANTLER_SOLVER_DEER,
                                            ANTLER_SOLVER_QUASI_DEER, ANTLER_SOLVER_SHOOTING};
    antler_series *series = rotation(300, 1);
    for (size_t i = 0; i < 20; i++) {
        antler_settings s = small_settings();
        double parameters[PARAMETERS_MAX];
        watch w;
        const bool forced = i < 12;
        s.model = forced ? ANTLER_MODEL_SHPLRNN : ANTLER_MODEL_LSSM;
        s.solver = forced ? solvers[i / 2] : i % 4 < 2 ? ANTLER_SOLVER_SCAN : ANTLER_SOLVER_REFERENCE;
        s.precision = (antler_precision)(i % 2);
        s.updates = 151;
        s.log_interval = 50;
        s.noise = 0.01;
        s.check_interval = 10;
        s.MAR_lambda = 0.1;
        s.singular_lambda = s.readout_lambda = forced ? 0.1 : 0.0;
        s.regularised_units = 1;
        if (i >= 16) {
            mamba2_settings(&s);
            s.MAR_lambda = 0.0;
            s.regularised_units = 0;
        }
        s.rank = forced && i % 3 == 0 ? 2 : 0;
        train(&s, series, 0, 1, &w, parameters, PARAMETERS_MAX);
        if (w.allocations_to != w.allocations_from)
            fail_msg("model %d, solver %d, precision %d: %zu allocations in 100 updates", (int)s.model,
                     (int)s.solver, (int)s.precision, w.allocations_to - w.allocations_from);
        assert_true(w.allocations_from > 0);
    }
    antler_series_free(series);
#endif
}

/* One iteration is not enough, so every sequence of every update is solved again; without fallback, each is
 * told. */
static void fallbacks_are_counted_since_the_start(void **state)
{
    (void)state;
    antler_series *series = rotation(300, 0);
    antler_settings s = small_settings();
    s.solver = ANTLER_SOLVER_DEER;
    s.max_iterations = 1;
    for (int fallback = 0; fallback < 2; fallback++) {
        watch w = {.rows = 0};
        antler_trainer *trainer = NULL;
        const antler_train_events events = {.struct_size = sizeof events, .cookie = &w, .row = see_row};
        s.fallback = fallback == 1;
        CHECK_OK(antler_trainer_create(&s, series, &trainer));
        CHECK_OK(antler_trainer_run(trainer, &events, NULL));
        assert_true(w.rows > 2);
        for (size_t i = 0; i < w.rows; i++)
            assert_int_equal(w.row[i].fallbacks, w.row[i].update * (fallback == 1 ? s.batch_size : 1));
        antler_trainer_free(trainer);
    }
    antler_series_free(series);
}

static void divergence_stops_one_run_with_advice(void **state)
{
    (void)state;
    antler_series *series = rotation(300, 0);
    antler_settings s = small_settings();
    antler_trainer *trainer = NULL;
    antler_train_result result;
    antler_model *model = NULL;
    s.runs = 2;
    s.updates = 3000;
    s.gtf_alpha = 0.0;
    s.start_lr = s.end_lr = 10.0;
    s.schedule = ANTLER_SCHEDULE_CONSTANT;
    s.gradient_clip = 0.0;
    s.sequence_length = 200;
    CHECK_OK(antler_trainer_create(&s, series, &trainer));
    CHECK_FAILS(antler_trainer_run(trainer, NULL, &result), ANTLER_DIVERGED, "diverged at update");
    assert_non_null(strstr(antler_message(), "gtf_alpha"));
    assert_true(result.diverged > 0 && result.diverged + result.finished == 2);
    CHECK_OK(antler_trainer_model(trainer, 1, &model));
    for (size_t i = 0; i < antler_model_parameter_count(model); i++) {
        antler_parameter p;
        CHECK_OK(antler_model_parameter_at(model, i, &p));
        for (size_t k = 0; k < p.rows * p.columns; k++)
            assert_true(isfinite(p.values[k]) && fabs(p.values[k]) <= 1e6);
    }
    antler_model_free(model);
    CHECK_FAILS(antler_trainer_model(trainer, 3, &model), ANTLER_ERROR_ARGUMENT, "no run 3");
    antler_trainer_free(trainer);
    CHECK_OK(antler_trainer_create(&s, series, &trainer));
    CHECK_FAILS(antler_trainer_model(trainer, 1, &model), ANTLER_ERROR_ARGUMENT, "no model yet");
    antler_trainer_free(trainer);
    antler_series_free(series);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_linear_system_is_learnt),
        cmocka_unit_test(same_seed_same_bits_and_stops_leave_no_trace),
        cmocka_unit_test(runs_do_not_know_of_each_other),
        cmocka_unit_test(updates_allocate_nothing),
        cmocka_unit_test(fallbacks_are_counted_since_the_start),
        cmocka_unit_test(divergence_stops_one_run_with_advice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
