/* A free diagonal: with the A of a tanh, the same states, orbits and exponents, and the slopes of A itself.
 */
#include "model_support.h"
#include "solve_support.h"

/* The same problem with A = tanh(Abar) as parameter. */
static problem freed(const problem *p)
{
    problem q = *p;
    ant_model_dims dims = p->layout.dims;
    dims.free_diagonal = true;
    assert_int_equal(ant_model_layout_make(&dims, &q.layout), ANTLER_OK);
    assert_int_equal(q.layout.total, p->layout.total);
    q.parameters = get(q.layout.total, sizeof *q.parameters);
    memcpy(q.parameters, p->parameters, q.layout.total * sizeof *q.parameters);
    for (size_t m = 0; m < dims.M; m++)
        q.parameters[q.layout.Abar + m] = tanh(p->parameters[p->layout.Abar + m]);
    return q;
}

static void check_solver(const problem *p, ant_solver solver, int bits)
{
    const ant_solve_options o = {.solver = solver, .warmup = p->warmup, .max_iterations = 100};
    const double tolerance = bits == 64 ? 1e-9 : 3e-4;
    problem q = freed(p);
    answer a = solve(p, &o, bits, false), b = solve(&q, &o, bits, false);
    assert_int_equal(a.status, ANTLER_OK);
    assert_int_equal(b.status, ANTLER_OK);
    for (size_t m = 0; m < p->layout.dims.M; m++) {
        const double A = q.parameters[q.layout.Abar + m];
        b.gradient[q.layout.Abar + m] *= 1.0 - A * A;
    }
    const double states = relative_error(b.states, a.states, p->batch * p->T * p->layout.dims.M),
                 gradient = relative_error(b.gradient, a.gradient, p->layout.total);
    if (!(states < tolerance && gradient < tolerance))
        fail_msg("%s in %d bits: states differ by %g, gradients by %g", ant_solver_name(solver), bits, states,
                 gradient);
    assert_true(fabs(a.gradient[p->layout.Abar]) > 0.0);
    answer_free(&a);
    answer_free(&b);
    free(q.parameters);
}

static void solvers_agree_with_tanh(void **state)
{
    (void)state;
    static const ant_solver solvers[] = {ANT_SOLVER_REFERENCE, ANT_SOLVER_SEQUENTIAL, ANT_SOLVER_DEER,
                                         ANT_SOLVER_QUASI_DEER, ANT_SOLVER_SHOOTING};
    for (int variant = 0; variant < 4; variant++) {
        const ant_model_dims dims = {.M = 5,
                                     .N = variant & 2 ? 7 : 3,
                                     .L = 12,
                                     .K = 1,
                                     .rank = variant & 1 ? 2 : 0,
                                     .clipped = variant & 1};
        problem p = random_problem(dims, 60, 3, 5, 0.2, 70 + (uint64_t)variant);
        for (size_t i = 0; i < sizeof solvers / sizeof *solvers; i++) {
            check_solver(&p, solvers[i], 64);
            check_solver(&p, solvers[i], 32);
        }
        problem_free(&p);
    }
}

static void scan_agrees_with_tanh(void **state)
{
    (void)state;
    const ant_model_dims dims = {.kind = ANT_MODEL_LSSM, .M = 4, .N = 3, .L = 9, .K = 2};
    problem p = random_problem(dims, 150, 2, 10, 0.0, 80);
    for (int bits = 32; bits <= 64; bits += 32) {
        check_solver(&p, ANT_SOLVER_SCAN, bits);
        check_solver(&p, ANT_SOLVER_REFERENCE, bits);
    }
    problem_free(&p);
}

/* Free orbits of both, and the exponents. */
static void check_orbit(ant_model_dims dims)
{
    enum { STEPS = 50 };
    antler_model *a = model_random(&dims, 5), *b = NULL;
    dims.free_diagonal = true;
    CHECK_OK(ant_model_create(&dims, &b));
    memcpy(b->parameters, a->parameters, a->layout.total * sizeof *b->parameters);
    memcpy(b->parameters + b->layout.Abar, a->A, dims.M * sizeof *a->A);
    ant_model_refresh(b);
    assert_true(antler_model_free_diagonal(b) && !antler_model_free_diagonal(a));
    antler_generate_opts how;
    antler_series *orbit[2] = {NULL, NULL};
    antler_generate_opts_default(&how);
    how.steps = STEPS;
    CHECK_OK(antler_generate(a, &how, &orbit[0], NULL));
    CHECK_OK(antler_generate(b, &how, &orbit[1], NULL));
    double *x = series_values(orbit[0]), *y = series_values(orbit[1]);
    assert_memory_equal(x, y, STEPS * dims.N * sizeof *x);
    antler_lyapunov_opts opts;
    antler_lyapunov_result r[2];
    antler_lyapunov_opts_default(&opts);
    opts.steps = STEPS;
    CHECK_OK(antler_lyapunov(a, &opts, &r[0]));
    CHECK_OK(antler_lyapunov(b, &opts, &r[1]));
    for (size_t i = 0; i < dims.M; i++)
        assert_true(r[0].exponents[i] == r[1].exponents[i]);
    for (int i = 0; i < 2; i++) {
        antler_lyapunov_result_clear(&r[i]);
        antler_series_free(orbit[i]);
    }
    free(x);
    free(y);
    antler_model_free(a);
    antler_model_free(b);
}

static void free_runs_agree_with_tanh(void **state)
{
    (void)state;
    check_orbit((ant_model_dims){.M = 4, .N = 2, .L = 9, .clipped = true});
    check_orbit((ant_model_dims){.kind = ANT_MODEL_LSSM, .M = 4, .N = 2, .L = 9});
}

/* Only a free A can be 1 or more: without other weights, the step multiplies by it. */
static void a_free_diagonal_may_grow(void **state)
{
    (void)state;
    ant_model_layout layout;
    const ant_model_dims dims = {.M = 2, .N = 1, .L = 1, .free_diagonal = true};
    assert_int_equal(ant_model_layout_make(&dims, &layout), ANTLER_OK);
    assert_string_equal(layout.slice[0].name, "A");
    double theta[16] = {0}, z[2] = {3.0, -2.0}, next[2], hidden[1];
    theta[layout.Abar] = 1.25;
    theta[layout.Abar + 1] = -1.5;
    ant_shplrnn_step_f64(&layout, theta, z, NULL, next, hidden);
    assert_true(next[0] == 3.75 && next[1] == 3.0);
    const ant_model_dims other = {.kind = ANT_MODEL_MAMBA2, .M = 4, .N = 1, .L = 1, .free_diagonal = true};
    assert_int_equal(ant_model_layout_make(&other, &layout), ANTLER_ERROR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solvers_agree_with_tanh),
        cmocka_unit_test(scan_agrees_with_tanh),
        cmocka_unit_test(free_runs_agree_with_tanh),
        cmocka_unit_test(a_free_diagonal_may_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
