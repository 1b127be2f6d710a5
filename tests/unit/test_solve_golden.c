/* Golden vectors of an independent implementation: every solver, both precisions. */
#include "solve_support.h"

static const char *const cases[] = {"square", "latent", "partial", "inputs", "narrow", "lowrank", "batch"};
enum { CASES = sizeof cases / sizeof *cases };

/* Each slice of the gradient against its golden array. */
static void check_gradient(const char *folder, const char *prefix, const problem *p, const answer *a,
                           double tolerance)
{
    double *expected = get(p->layout.total, sizeof *expected);
    assert_true(golden_slices(folder, prefix, &p->layout, expected));
    for (size_t i = 0; i < p->layout.slices; i++) {
        const ant_model_slice *slice = &p->layout.slice[i];
        const double error =
            relative_error(a->gradient + slice->offset, expected + slice->offset, slice->count);
        if (!(error <= tolerance))
            fail_msg("%s %s_%s (%s): relative error %g", folder, prefix, slice->name,
                     ant_solver_name(a->report.solver), error);
    }
    free(expected);
}

static void check_states(const char *folder, const problem *p, const answer *a, double tolerance)
{
    const size_t count = p->batch * p->T * p->layout.dims.M;
    double *z = get(count, sizeof *z), loss;
    assert_true(golden_read(folder, "z", z, count));
    assert_true(golden_read(folder, "loss", &loss, 1));
    const double error = relative_error(a->states, z, count);
    if (!(error <= tolerance) || !(fabs(a->report.loss / loss - 1.0) <= tolerance))
        fail_msg("%s (%s): states differ by %g, loss %g is not %g", folder, ant_solver_name(a->report.solver),
                 error, a->report.loss, loss);
    free(z);
}

/* `pieces` matters to sequential and shooting only. */
static void check_kernels(ant_solver solver, ant_pieces pieces)
{
    for (size_t i = 0; i < CASES; i++) {
        for (int bits = 32; bits <= 64; bits += 32) {
            for (int threads = 1; threads <= 3; threads += 2) {
                const double tolerance = bits == 32 ? 1e-3 : 1e-9;
                problem p = golden_problem(cases[i]);
                ant_solve_options o;
                ant_solve_options_default(&o);
                o.solver = solver;
                o.pieces = pieces;
                o.warmup = p.warmup;
                o.threads = threads;
                answer flow = solve(&p, &o, bits, false);
                assert_int_equal(flow.status, ANTLER_OK);
                assert_int_equal(flow.report.fallbacks, 0);
                check_states(cases[i], &p, &flow, tolerance);
                check_gradient(cases[i], "grad_flow", &p, &flow, tolerance);
                o.teacher = ANT_TEACHER_STOP;
                answer stop = solve(&p, &o, bits, false);
                assert_int_equal(stop.status, ANTLER_OK);
                check_gradient(cases[i], "grad_stop", &p, &stop, tolerance);
                answer_free(&flow);
                answer_free(&stop);
                problem_free(&p);
            }
        }
    }
}

static void check_solver(ant_solver solver)
{
    check_kernels(solver, ANT_PIECES_AUTO);
}

static void test_pieces(void **state)
{
    (void)state;
    check_kernels(ANT_SOLVER_SEQUENTIAL, ANT_PIECES_ALWAYS);
    check_kernels(ANT_SOLVER_SHOOTING, ANT_PIECES_ALWAYS);
}

static void test_reference(void **state)
{
    (void)state;
    check_solver(ANT_SOLVER_REFERENCE);
}

static void test_sequential(void **state)
{
    (void)state;
    check_solver(ANT_SOLVER_SEQUENTIAL);
}

static void test_deer(void **state)
{
    (void)state;
    check_solver(ANT_SOLVER_DEER);
}

static void test_quasi_full_adjoint(void **state)
{
    (void)state;
    check_solver(ANT_SOLVER_QUASI_DEER);
}

static void test_shooting(void **state)
{
    (void)state;
    check_solver(ANT_SOLVER_SHOOTING);
}

static void test_auto(void **state)
{
    (void)state;
    check_solver(ANT_SOLVER_AUTO);
}

/* Diagonal Jacobians in solver and adjoint: the paper's quasi-DEER. */
static void test_quasi_diagonal_adjoint(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        for (int bits = 32; bits <= 64; bits += 32) {
            problem p = golden_problem(cases[i]);
            double *expected = get(p.layout.total, sizeof *expected);
            if (golden_slices(cases[i], "grad_quasi", &p.layout, expected)) {
                ant_solve_options o;
                ant_solve_options_default(&o);
                o.solver = ANT_SOLVER_QUASI_DEER;
                o.adjoint = ANT_ADJOINT_DIAGONAL;
                o.warmup = p.warmup;
                o.threads = 2;
                answer a = solve(&p, &o, bits, false);
                assert_int_equal(a.status, ANTLER_OK);
                assert_int_equal(a.report.fallbacks, 0);
                check_states(cases[i], &p, &a, bits == 32 ? 1e-3 : 1e-9);
                check_gradient(cases[i], "grad_quasi", &p, &a, bits == 32 ? 1e-3 : 1e-9);
                answer_free(&a);
            }
            free(expected);
            problem_free(&p);
        }
    }
}

/* Iterations from the pinv start to max|dz| < 1e-10, in double. */
static void test_newton_counts(void **state)
{
    (void)state;
    size_t compared = 0;
    for (size_t i = 0; i < CASES; i++) {
        problem p = golden_problem(cases[i]);
        double full, quasi;
        if (golden_read(cases[i], "newton_full", &full, 1) &&
            golden_read(cases[i], "newton_quasi", &quasi, 1)) {
            ant_solve_options o;
            ant_solve_options_default(&o);
            o.solver = ANT_SOLVER_DEER;
            o.warmup = p.warmup;
            o.tolerance = 1e-10;
            o.threads = 1;
            answer a = solve(&p, &o, 64, false);
            o.solver = ANT_SOLVER_QUASI_DEER;
            answer b = solve(&p, &o, 64, false);
            assert_int_equal(a.report.iterations, (int)full);
            assert_int_equal(b.report.iterations, (int)quasi);
            answer_free(&a);
            answer_free(&b);
            compared++;
        }
        problem_free(&p);
    }
    assert_true(compared >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_reference),
        cmocka_unit_test(test_sequential),
        cmocka_unit_test(test_deer),
        cmocka_unit_test(test_quasi_full_adjoint),
        cmocka_unit_test(test_shooting),
        cmocka_unit_test(test_auto),
        cmocka_unit_test(test_quasi_diagonal_adjoint),
        cmocka_unit_test(test_newton_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
