/* Models that are linear in their state: scan against plain steps, differences, free steps, equivalence. */
#include "solve_support.h"
#include "unit/check.h"

#include "base/machine.h"
#include "model/kind.h"

/* Steps of a tile of the scan; tests go around its multiples. */
enum { TILE = 64 };

static ant_solve_options options_of(ant_solver solver, const problem *p)
{
    ant_solve_options o;
    ant_solve_options_default(&o);
    o.solver = solver;
    o.warmup = p->warmup;
    o.threads = 2;
    return o;
}

static void compare_with_reference(const problem *p, const char *what)
{
    for (int bits = 64; bits >= 32; bits -= 32) {
        const double tolerance = bits == 64 ? 1e-11 : 3e-4;
        const ant_solve_options scan = options_of(ANT_SOLVER_AUTO, p),
                                plain = options_of(ANT_SOLVER_REFERENCE, p);
        answer a = solve(p, &scan, bits, true), b = solve(p, &plain, bits, false);
        assert_int_equal(a.status, ANTLER_OK);
        assert_int_equal(b.status, ANTLER_OK);
        assert_int_equal(a.report.solver, ANT_SOLVER_SCAN);
        assert_int_equal(b.report.solver, ANT_SOLVER_REFERENCE);
        const size_t states = p->batch * p->T * p->layout.dims.M;
        const double slopes = relative_error(a.gradient, b.gradient, p->layout.total),
                     paths = relative_error(a.states, b.states, states),
                     loss = fabs(a.report.loss - b.report.loss) / b.report.loss;
        if (!(slopes < tolerance && paths < tolerance && loss < tolerance))
            fail_msg("%s, T %zu, batch %zu, warm-up %zu, %d bits: gradient %g, states %g, loss %g", what,
                     p->T, p->batch, p->warmup, bits, slopes, paths, loss);
        /* What a log says of it is the same comparison. */
        if (!(fabs(a.agreement.gradient - slopes) < tolerance && a.agreement.states < tolerance &&
              a.agreement.loss < tolerance))
            fail_msg("the check found %g instead of %g", a.agreement.gradient, slopes);
        answer_free(&a);
        answer_free(&b);
    }
}

static void test_scan_equals_plain_steps(void **state)
{
    (void)state;
    static const size_t lengths[] = {1, 2, TILE - 1, TILE, TILE + 1, 3 * TILE - 5, 300, 70 * TILE + 9};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        for (size_t variant = 0; variant < 4; variant++) {
            const size_t T = lengths[i], batch = T > 1000 ? 1 : 1 + 2 * (variant % 2);
            const ant_model_dims lssm = {.kind = ANT_MODEL_LSSM,
                                         .M = 1 + 3 * variant,
                                         .N = 1 + variant,
                                         .L = 5 + 7 * variant,
                                         .K = variant == 2 ? 0 : variant};
            problem p = random_problem(lssm, T, batch, variant == 3 ? T - 1 : T / 3, 0.0, 100 * i + variant);
            compare_with_reference(&p, "lssm");
            problem_free(&p);
            const ant_model_dims mamba2 = {.kind = ANT_MODEL_MAMBA2,
                                           .M = 4 + 12 * (variant % 2),
                                           .N = 1 + variant,
                                           .L = 3 + 9 * variant,
                                           .K = lssm.K};
            problem q =
                random_problem(mamba2, T, batch, variant == 3 ? T - 1 : T / 3, 0.0, 200 * i + variant);
            compare_with_reference(&q, "mamba2");
            problem_free(&q);
        }
    }
}

/* Same bits on any number of threads. */
static void test_threads_do_not_matter(void **state)
{
    (void)state;
    const ant_model_dims dims[] = {{.kind = ANT_MODEL_LSSM, .M = 6, .N = 3, .L = 20, .K = 1},
                                   {.kind = ANT_MODEL_MAMBA2, .M = 4, .N = 3, .L = 20, .K = 1}};
    for (size_t i = 0; i < sizeof dims / sizeof dims[0]; i++) {
        problem p = random_problem(dims[i], 5000, 2, 1000, 0.0, 7);
        ant_solve_options o = options_of(ANT_SOLVER_SCAN, &p);
        o.threads = 1;
        answer one = solve(&p, &o, 32, false);
        o.threads = 3;
        answer three = solve(&p, &o, 32, false);
        assert_int_equal(one.status, ANTLER_OK);
        assert_memory_equal(one.gradient, three.gradient, p.layout.total * sizeof(double));
        assert_true(one.report.loss == three.report.loss);
        answer_free(&one);
        answer_free(&three);
        problem_free(&p);
    }
}

/* Every set of kernels, also where gates close and decays vanish. */
static void test_every_instruction_set(void **state)
{
    (void)state;
    static const char *const levels[] = {"base", "avx2",
                                         "avx512"}; /* those above the machine's are its best */
    const ant_model_dims dims[] = {{.kind = ANT_MODEL_LSSM, .M = 7, .N = 3, .L = 21, .K = 1},
                                   {.kind = ANT_MODEL_MAMBA2, .M = 8, .N = 3, .L = 21, .K = 1}};
    for (size_t i = 0; i < 12; i++) {
        problem p = random_problem(dims[i % 2], 2 * TILE + 22, 2, 30, 0.0, 40 + i);
        for (size_t k = 0; k < p.layout.total && i >= 6 && p.layout.dims.kind == ANT_MODEL_MAMBA2; k++)
            p.parameters[k] *= 6.0;
        assert_int_equal(setenv("ANTLER_CPU", levels[i / 2 % 3], 1), 0);
        compare_with_reference(&p, levels[i / 2 % 3]);
        problem_free(&p);
    }
    assert_int_equal(unsetenv("ANTLER_CPU"), 0);
}

/* What is not finite comes out as such, whatever it passes through. */
static void test_nan_is_not_lost(void **state)
{
    (void)state;
    const ant_model_dims dims[] = {{.kind = ANT_MODEL_LSSM, .M = 3, .N = 2, .L = 5},
                                   {.kind = ANT_MODEL_MAMBA2, .M = 4, .N = 2, .L = 5}};
    for (size_t i = 0; i < 8; i++) {
        problem p = random_problem(dims[i % 2], 100, 1, 0, 0.0, 9);
        const ant_solve_options o = options_of(i < 4 ? ANT_SOLVER_SCAN : ANT_SOLVER_REFERENCE, &p);
        p.x[40] = i / 2 % 2 == 0 ? NAN : INFINITY;
        answer a = solve(&p, &o, i < 4 ? 32 : 64, false);
        assert_int_equal(a.status, ANTLER_NON_FINITE);
        assert_true(!isfinite(a.report.loss));
        answer_free(&a);
        problem_free(&p);
    }
}

/* Central differences for every parameter, by a solver. */
static void check_differences(ant_model_dims dims, size_t T, size_t warmup, ant_solver solver, uint64_t seed)
{
    problem p = random_problem(dims, T, 2, warmup, 0.0, seed);
    const ant_solve_options o = options_of(solver, &p);
    answer a = solve(&p, &o, 64, false);
    assert_int_equal(a.status, ANTLER_OK);
    check_slopes(&p, &o, a.gradient, 2e-7, ant_solver_name(solver));
    answer_free(&a);
    problem_free(&p);
}

static void test_every_parameter(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        const ant_solver solver = seed == 1 ? ANT_SOLVER_REFERENCE : ANT_SOLVER_SCAN;
        check_differences((ant_model_dims){.kind = ANT_MODEL_LSSM, .M = 4, .N = 2, .L = 6, .K = 2}, 70, 3,
                          solver, seed);
        check_differences((ant_model_dims){.kind = ANT_MODEL_MAMBA2, .M = 4, .N = 2, .L = 6, .K = 2}, 70, 3,
                          solver, seed + 4);
        check_differences((ant_model_dims){.kind = ANT_MODEL_MAMBA2, .M = 4, .N = 3, .L = 5}, 9, 8, solver,
                          seed + 6);
        check_differences((ant_model_dims){.kind = ANT_MODEL_LSSM, .M = 2, .N = 3, .L = 5}, 9, 8, solver,
                          seed + 2);
    }
}

/* A model with the parameters of a problem. */
static antler_model *model_of(const problem *p)
{
    antler_model *model = NULL;
    CHECK_OK(ant_model_create(&p->layout.dims, &model));
    memcpy(model->parameters, p->parameters, p->layout.total * sizeof *p->parameters);
    ant_model_refresh(model);
    return model;
}

/* The loss of training is the error of one-step predictions by the recurrent state. */
static void test_steps_predict_what_the_scan_predicts(void **state)
{
    (void)state;
    const ant_model_dims dims[] = {{.kind = ANT_MODEL_LSSM, .M = 5, .N = 3, .L = 9, .K = 2},
                                   {.kind = ANT_MODEL_MAMBA2, .M = 8, .N = 3, .L = 9, .K = 2},
                                   {.kind = ANT_MODEL_MAMBA2, .M = 4, .N = 2, .L = 30}};
    for (size_t i = 0; i < sizeof dims / sizeof dims[0]; i++) {
        const size_t T = 2 * TILE + 17, N = dims[i].N, K = dims[i].K;
        problem p = random_problem(dims[i], T, 1, 20, 0.0, 3 + i);
        antler_model *model = model_of(&p);
        ant_runner *runner = NULL;
        CHECK_OK(ant_runner_create(model, &runner));
        double *from = get(2 * runner->n, sizeof *from), *next = from + runner->n;
        double *inputs = get((T + 1) * (K + 1), sizeof *inputs), x[8], square = 0.0;
        memcpy(inputs + K, p.s, T * K * sizeof *inputs); /* row t beside x_t */
        for (size_t t = p.warmup + 1; t <= T; t++) {
            ant_runner_warm(runner, p.x, inputs, t, from);
            ant_runner_steps(runner, from, inputs + t * K, 1, next, x);
            for (size_t n = 0; n < N; n++)
                square += (x[n] - p.x[t * N + n]) * (x[n] - p.x[t * N + n]);
        }
        const ant_solve_options o = options_of(ANT_SOLVER_SCAN, &p);
        const double loss = loss_at(&p, &o);
        CHECK_NEAR(square / (double)(N * (T - p.warmup)), loss, 1e-12 * loss);
        free(inputs);
        free(from);
        ant_runner_free(runner);
        antler_model_free(model);
        problem_free(&p);
    }
}

/* Tangent vectors against differences of steps, at several states. */
static void test_tangents_are_differences_of_steps(void **state)
{
    (void)state;
    const ant_model_dims dims[] = {{.kind = ANT_MODEL_LSSM, .M = 5, .N = 3, .L = 9, .K = 2},
                                   {.kind = ANT_MODEL_MAMBA2, .M = 8, .N = 3, .L = 9, .K = 2},
                                   {.kind = ANT_MODEL_MAMBA2, .M = 4, .N = 2, .L = 30}};
    for (size_t i = 0; i < sizeof dims / sizeof dims[0]; i++) {
        problem p = random_problem(dims[i], 40, 1, 0, 0.0, 11 + i);
        antler_model *model = model_of(&p);
        ant_runner *runner = NULL;
        CHECK_OK(ant_runner_create(model, &runner));
        const size_t n = runner->n, stride = ant_lanes_pad(n);
        double *from = get(4 * n, sizeof *from), *moved = from + n, *up = moved + n, *down = up + n;
        double *vectors = get(4 * stride, sizeof *vectors), *next = vectors + 2 * stride, x[8];
        double *scratch = get(runner->ops->push_scratch(runner->self), sizeof *scratch);
        ant_runner_warm(runner, p.x, p.s, 30, from);
        ant_stream stream = ant_stream_open(5, 0, 0, ANT_PURPOSE_INITIAL_STATE);
        for (size_t k = 0; k < 2; k++)
            ant_stream_normals(&stream, vectors + k * stride, n);
        runner->ops->push(runner->self, from, p.s, 2, stride, vectors, next, scratch);
        for (size_t k = 0; k < 2; k++) {
            const double step = 1e-6;
            for (size_t m = 0; m < n; m++)
                moved[m] = from[m] + step * vectors[k * stride + m];
            ant_runner_steps(runner, moved, p.s, 1, up, x);
            for (size_t m = 0; m < n; m++)
                moved[m] = from[m] - step * vectors[k * stride + m];
            ant_runner_steps(runner, moved, p.s, 1, down, x);
            for (size_t m = 0; m < n; m++)
                CHECK_NEAR(next[k * stride + m], (up[m] - down[m]) / (2 * step), 1e-7);
            for (size_t m = n; m < stride; m++)
                CHECK_NEAR(next[k * stride + m], 0.0, 0.0);
        }
        free(scratch);
        free(vectors);
        free(from);
        ant_runner_free(runner);
        antler_model_free(model);
        problem_free(&p);
    }
}

/* ---- the LSSM that runs free is a shPLRNN with W = U B -------------------------------------------- */

/* The shPLRNN of rank N, with WL = U and WR = B; its observations are its states. */
static antler_model *converted(const antler_model *lssm)
{
    const ant_model_layout *from = &lssm->layout;
    const ant_model_dims *d = &from->dims;
    const ant_model_dims dims = {.M = d->M, .N = d->M, .L = d->L, .K = d->K, .rank = d->N};
    static const char *const same[] = {"Abar", "V", "b", "h", "C"};
    antler_model *model = NULL;
    CHECK_OK(ant_model_create(&dims, &model));
    const ant_model_layout *to = &model->layout;
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        const ant_model_slice *slice = ant_model_layout_find(from, same[i]);
        if (slice != NULL)
            memcpy(model->parameters + ant_model_layout_find(to, same[i])->offset,
                   lssm->parameters + slice->offset, slice->count * sizeof(double));
    }
    memcpy(model->parameters + to->WL, lssm->parameters + from->U, d->M * d->N * sizeof(double));
    memcpy(model->parameters + to->WR, lssm->parameters + from->B, d->N * d->L * sizeof(double));
    for (size_t m = 0; m < d->M; m++)
        model->parameters[to->B + m * d->M + m] = 1.0;
    ant_model_refresh(model);
    return model;
}

/* A noisy orbit of a circle with an input, long enough to train on. */
static antler_series *some_series(size_t rows)
{
    antler_series *series = NULL;
    double *x = get(rows * 3, sizeof *x), *s = get(rows, sizeof *s);
    for (size_t t = 0; t < rows; t++) {
        const double phase = 0.11 * (double)t;
        x[3 * t] = cos(phase);
        x[3 * t + 1] = sin(phase);
        x[3 * t + 2] = cos(2.0 * phase) * sin(0.01 * (double)t);
        s[t] = sin(0.01 * (double)t);
    }
    CHECK_OK(antler_series_create(3, 1, &series));
    CHECK_OK(antler_series_append(series, rows, x, s));
    free(x);
    free(s);
    return series;
}

/* An LSSM of M latent units, trained for a while. */
static antler_model *trained_lssm(const antler_series *series, size_t M)
{
    antler_settings s;
    antler_trainer *trainer = NULL;
    antler_model *lssm = NULL;
    antler_settings_default(&s);
    s.model = ANTLER_MODEL_LSSM;
    s.latent_dim = M;
    s.hidden_dim = 20;
    s.sequence_length = 100;
    s.batch_size = 4;
    s.kappa = 0.8;
    s.start_lr = 5e-3;
    s.validation = 0.0;
    s.updates = 300;
    CHECK_OK(antler_trainer_create(&s, series, &trainer));
    CHECK_OK(antler_trainer_run(trainer, NULL, NULL));
    CHECK_OK(antler_trainer_model(trainer, 1, &lssm));
    antler_trainer_free(trainer);
    return lssm;
}

static void check_same_exponents(const antler_model *one, const antler_model *other, const double *z,
                                 size_t M)
{
    antler_lyapunov_opts l;
    antler_lyapunov_result a, b;
    antler_lyapunov_opts_default(&l);
    l.start.state = z;
    l.steps = 500;
    CHECK_OK(antler_lyapunov(one, &l, &a));
    CHECK_OK(antler_lyapunov(other, &l, &b));
    assert_int_equal(a.count, M);
    assert_int_equal(b.count, M);
    for (size_t k = 0; k < M; k++)
        CHECK_NEAR(a.exponents[k], b.exponents[k], 1e-3 * (1.0 + fabs(b.exponents[k])));
    antler_lyapunov_result_clear(&a);
    antler_lyapunov_result_clear(&b);
}

static void test_lssm_runs_as_a_low_rank_shplrnn(void **state)
{
    (void)state;
    enum { M = 6, STEPS = 400 };
    antler_series *series = some_series(900);
    antler_model *lssm = trained_lssm(series, M);
    assert_string_equal(antler_model_kind(lssm), "lssm");
    antler_model *shplrnn = converted(lssm);

    /* Where z is after one free step, both go on from there. */
    antler_generate_opts opts;
    antler_generate_opts_default(&opts);
    antler_series *orbit = NULL, *latent = NULL, *same = NULL;
    opts.start.context = series;
    opts.start.inputs_end = ANTLER_INPUTS_HOLD;
    opts.start.warmup = 60;
    opts.steps = STEPS;
    CHECK_OK(antler_generate(lssm, &opts, &orbit, &latent));
    assert_int_equal(antler_series_dim(latent), M);
    double *z = get(STEPS * M, sizeof *z), *other = get(STEPS * M, sizeof *other),
           *x = get(STEPS * 3, sizeof *x);
    CHECK_OK(antler_series_read_f64(latent, 0, 0, STEPS, z, NULL));
    CHECK_OK(antler_series_read_f64(orbit, 0, 0, STEPS, x, NULL));
    antler_series *inputs = NULL; /* of the second free step on */
    double *driving = get(900, sizeof *driving), *unused = get(900 * 3, sizeof *unused);
    CHECK_OK(antler_series_read_f64(series, 0, 62, 900 - 62, unused, driving));
    CHECK_OK(antler_series_create(1, 0, &inputs));
    CHECK_OK(antler_series_append(inputs, 900 - 62, driving, NULL));
    antler_generate_opts from;
    antler_generate_opts_default(&from);
    from.start.state = z;
    from.start.inputs = inputs;
    from.start.inputs_end = ANTLER_INPUTS_HOLD;
    from.steps = STEPS - 1;
    CHECK_OK(antler_generate(shplrnn, &from, &same, NULL));
    CHECK_OK(antler_series_read_f64(same, 0, 0, STEPS - 1, other, NULL));
    assert_true(largest(z, STEPS * M) > 0.01);
    for (size_t i = 0; i < (STEPS - 1) * M; i++)
        CHECK_NEAR(other[i], z[M + i], 1e-9 * (1.0 + fabs(z[M + i])));
    check_same_exponents(lssm, shplrnn, z, M);
    free(unused);
    free(driving);
    free(x);
    free(other);
    free(z);
    antler_series_free(inputs);
    antler_series_free(same);
    antler_series_free(latent);
    antler_series_free(orbit);
    antler_model_free(shplrnn);
    antler_model_free(lssm);
    antler_series_free(series);
}

/* ---- Mamba-2 -------------------------------------------------------------------------------------- */

static void test_mamba2_has_the_papers_sizes(void **state)
{
    (void)state;
    for (size_t D = 16; D <= 32; D += 16) {
        const ant_model_dims dims = {.kind = ANT_MODEL_MAMBA2, .M = D, .N = 6, .L = 128};
        ant_model_layout layout;
        CHECK_OK(ant_model_layout_make(&dims, &layout));
        assert_int_equal(layout.total, D == 16 ? 7038 : 16830);
        assert_int_equal(layout.slices, 18);
        antler_model *model = NULL;
        CHECK_OK(ant_model_create(&dims, &model));
        assert_int_equal(antler_model_state_dim(model), 3 * (2 * D + 32) + 2 * D * 16 + 6);
        antler_model_free(model);
    }
    const ant_model_dims odd = {.kind = ANT_MODEL_MAMBA2, .M = 6, .N = 6, .L = 128};
    ant_model_layout layout;
    CHECK_FAILS(ant_model_layout_make(&odd, &layout), ANTLER_ERROR_ARGUMENT, "a multiple of 4");
}

/* Initial values are in the ranges that initialise() names, and another run draws others. */
static void test_mamba2_begins_as_its_layer_does(void **state)
{
    (void)state;
    const ant_model_dims dims = {.kind = ANT_MODEL_MAMBA2, .M = 16, .N = 6, .L = 128};
    ant_model_layout layout;
    CHECK_OK(ant_model_layout_make(&dims, &layout));
    double *a = get(2 * layout.total, sizeof *a), *b = a + layout.total;
    CHECK_OK(ant_model_initialise_f64(&layout, (ant_initialisation){.kappa = 0.9995}, 1, 1, a));
    CHECK_OK(ant_model_initialise_f64(&layout, (ant_initialisation){.kappa = 0.9995}, 1, 2, b));
    assert_memory_not_equal(a, b, layout.total * sizeof *a);
    for (size_t i = 0; i < layout.slices; i++) {
        const ant_model_slice *slice = &layout.slice[i];
        for (size_t k = 0; k < slice->count; k++) {
            const double value = a[slice->offset + k];
            if (slice->axes == 2)
                assert_true(fabs(value) < 1.0 / sqrt((double)slice->cols) && value != 0.0);
            else if (strcmp(slice->name, "A_log") == 0)
                assert_true(exp(value) > 1.0 && exp(value) < 16.0);
            else if (strcmp(slice->name, "dt_bias") == 0)
                assert_true(log1p(exp(value)) > 0.9999e-3 && log1p(exp(value)) < 1.0001e-1);
            else
                assert_true(value == (slice->name[strlen(slice->name) - 1] == 'b' || slice->name[0] == 'b' ||
                                              strstr(slice->name, "_b") != NULL
                                          ? 0.0
                                          : 1.0));
        }
    }
    free(a);
}

/* Leading exponents of a large state, against the fewer and the more of them. */
static void test_leading_exponents(void **state)
{
    (void)state;
    const ant_model_dims dims = {.kind = ANT_MODEL_MAMBA2, .M = 16, .N = 2, .L = 12};
    problem p = random_problem(dims, 100, 1, 0, 0.0, 5);
    antler_model *model = model_of(&p);
    antler_series *series = NULL;
    CHECK_OK(antler_series_create(2, 0, &series));
    CHECK_OK(antler_series_append(series, 101, p.x, NULL));
    antler_lyapunov_opts opts;
    antler_lyapunov_result few, more, standard;
    antler_lyapunov_opts_default(&opts);
    opts.start.context = series;
    opts.start.model_units = true;
    opts.steps = 600;
    opts.transient = 300;
    CHECK_OK(antler_lyapunov(model, &opts, &standard));
    assert_int_equal(standard.count, 32); /* of 3 * 64 + 512 + 2 */
    opts.exponents = 2;
    CHECK_OK(antler_lyapunov(model, &opts, &few));
    opts.exponents = 7;
    CHECK_OK(antler_lyapunov(model, &opts, &more));
    assert_int_equal(few.count, 2);
    assert_int_equal(more.count, 7);
    for (size_t k = 0; k < 2; k++) {
        CHECK_NEAR(few.exponents[k], more.exponents[k], 2e-2 * (1.0 + fabs(more.exponents[k])));
        CHECK_NEAR(standard.exponents[k], more.exponents[k], 2e-2 * (1.0 + fabs(more.exponents[k])));
    }
    antler_lyapunov_result_clear(&few);
    antler_lyapunov_result_clear(&more);
    antler_lyapunov_result_clear(&standard);
    antler_series_free(series);
    antler_model_free(model);
    problem_free(&p);
}

static void test_solvers_of_other_models_are_refused(void **state)
{
    (void)state;
    const ant_model_dims dims = {.kind = ANT_MODEL_LSSM, .M = 3, .N = 2, .L = 4};
    static const ant_solver refused[] = {ANT_SOLVER_SEQUENTIAL, ANT_SOLVER_DEER, ANT_SOLVER_QUASI_DEER,
                                         ANT_SOLVER_SHOOTING};
    ant_solve_plan_f64 *plan = NULL;
    ant_solve_options o;
    ant_solve_options_default(&o);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        o.solver = refused[i];
        CHECK_FAILS(ant_solve_plan_create_f64(&dims, 10, 1, &o, &plan), ANTLER_ERROR_ARGUMENT,
                    "linear in its state");
    }
    const ant_model_dims shplrnn = {.M = 3, .N = 2, .L = 4};
    o.solver = ANT_SOLVER_SCAN;
    CHECK_FAILS(ant_solve_plan_create_f64(&shplrnn, 10, 1, &o, &plan), ANTLER_ERROR_ARGUMENT, "scan");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scan_equals_plain_steps),
        cmocka_unit_test(test_threads_do_not_matter),
        cmocka_unit_test(test_every_instruction_set),
        cmocka_unit_test(test_nan_is_not_lost),
        cmocka_unit_test(test_every_parameter),
        cmocka_unit_test(test_steps_predict_what_the_scan_predicts),
        cmocka_unit_test(test_tangents_are_differences_of_steps),
        cmocka_unit_test(test_lssm_runs_as_a_low_rank_shplrnn),
        cmocka_unit_test(test_mamba2_has_the_papers_sizes),
        cmocka_unit_test(test_mamba2_begins_as_its_layer_does),
        cmocka_unit_test(test_leading_exponents),
        cmocka_unit_test(test_solvers_of_other_models_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
