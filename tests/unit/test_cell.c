/*
 * A recurrence of its own, a tanh-RNN (cell_tanh_tmpl.c), through the cell interface: Newton's method equals
 * plain steps, and gradients meet central differences, forced and free, in both precisions.
 */
#include "cell_tanh.h"
#include "solve_support.h"

/* W of a size at which a free run neither dies nor saturates; B is well-conditioned. */
static problem tanh_problem(size_t M, size_t N, size_t K, size_t T, size_t batch, size_t warmup, double alpha)
{
    problem p = {.layout = tanh_layout(M, N, K),
                 .plan_f32 = tanh_plan_f32,
                 .plan_f64 = tanh_plan_f64,
                 .T = T,
                 .batch = batch,
                 .warmup = warmup,
                 .alpha = alpha};
    p.parameters = get(p.layout.total, sizeof(double));
    p.x = get(batch * (T + 1) * N, sizeof(double));
    p.s = get(batch * T * K, sizeof(double));
    ant_stream stream = ant_stream_open(100 * M + 10 * N + K, 0, 0, ANT_PURPOSE_OBSERVATION_NOISE);
    ant_stream_normals(&stream, p.parameters, p.layout.total);
    for (size_t i = 0; i < M * M; i++)
        p.parameters[p.layout.W + i] *= 1.1 / sqrt((double)M);
    for (size_t i = 0; i < M; i++)
        p.parameters[p.layout.h + i] *= 0.3;
    for (size_t n = 0; n < (N < M ? N : M); n++)
        p.parameters[p.layout.B + n * M + n] += 3.0;
    ant_stream_normals(&stream, p.s, batch * T * K);
    for (size_t i = 0; i < batch * (T + 1); i++) {
        for (size_t n = 0; n < N; n++)
            p.x[i * N + n] = sin(0.37 * (double)i + 1.3 * (double)n);
    }
    return p;
}

/* Shapes with N < M, N = M, N > M and M = 1, lengths from 1 on, forced and free, with and without warm-up. */
static const struct {
    size_t M, N, K, T, batch, warmup;
    double alpha;
} cases[] = {{5, 3, 0, 40, 2, 0, 0.15},  {5, 3, 2, 40, 1, 12, 0.15}, {3, 3, 0, 25, 2, 5, 0.15},
             {3, 5, 1, 25, 2, 0, 0.15},  {2, 4, 0, 30, 1, 8, 0.15},  {5, 3, 0, 30, 2, 0, 0.0},
             {5, 3, 2, 30, 1, 10, 0.0},  {3, 5, 0, 30, 1, 0, 0.0},   {1, 1, 0, 20, 2, 0, 0.15},
             {1, 2, 1, 20, 1, 4, 0.15},  {1, 1, 0, 20, 1, 0, 0.0},   {4, 2, 1, 1, 3, 0, 0.15},
             {4, 2, 0, 1, 1, 0, 0.0},    {1, 1, 0, 1, 1, 0, 0.15},   {4, 3, 0, 20, 1, 0, 1.0},
             {6, 2, 0, 300, 1, 50, 0.15}};
enum { CASES = sizeof cases / sizeof *cases };

static problem case_problem(size_t i)
{
    return tanh_problem(cases[i].M, cases[i].N, cases[i].K, cases[i].T, cases[i].batch, cases[i].warmup,
                        cases[i].alpha);
}

static ant_solve_options options_for(const problem *p, ant_solver solver)
{
    ant_solve_options o;
    ant_solve_options_default(&o);
    o.solver = solver;
    o.warmup = p->warmup;
    o.fallback = false; /* the solver itself must get there */
    return o;
}

/* Every solver against plain steps: states, loss and gradient. */
static void check_solvers(int bits, double tolerance)
{
    static const ant_solver solvers[] = {ANT_SOLVER_SEQUENTIAL, ANT_SOLVER_DEER, ANT_SOLVER_QUASI_DEER,
                                         ANT_SOLVER_AUTO, ANT_SOLVER_REFERENCE};
    for (size_t i = 0; i < CASES; i++) {
        problem p = case_problem(i);
        for (size_t k = 0; k < 5 * 6; k++) {
            ant_solve_options o = options_for(&p, solvers[k % 5]);
            o.threads = 1 + (int)(k / 5 % 3);
            o.teacher = k / 15 ? ANT_TEACHER_STOP : ANT_TEACHER_FLOW;
            o.tolerance = bits == 64 ? 1e-12 : 1e-5;
            o.max_iterations = (int)p.T + 1; /* r iterations make r steps exact, also with diagonals alone */
            answer a = solve(&p, &o, bits, true);
            if (a.status != ANTLER_OK || !(a.agreement.states <= tolerance) ||
                !(a.agreement.gradient <= tolerance) || !(a.agreement.loss <= tolerance))
                fail_msg("case %zu, %s, %d threads: %s, states %g gradient %g loss %g", i,
                         ant_solver_name(o.solver), o.threads, antler_status_name(a.status),
                         a.agreement.states, a.agreement.gradient, a.agreement.loss);
            assert_string_equal(a.report.kernels, "plain");
            assert_true((a.report.iterations > 0) == (k % 5 == 1 || k % 5 == 2));
            answer_free(&a);
        }
        problem_free(&p);
    }
}

static void test_solvers_double(void **state)
{
    (void)state;
    check_solvers(64, 1e-10);
}

static void test_solvers_single(void **state)
{
    (void)state;
    check_solvers(32, 1e-4);
}

/* The gradient by `solver` against central differences of the loss, in double; and in float against double.
 */
static void check_differences(size_t i, ant_solver solver)
{
    problem p = case_problem(i);
    ant_solve_options o = options_for(&p, solver), plain = options_for(&p, ANT_SOLVER_REFERENCE);
    answer a = solve(&p, &o, 64, false), single = solve(&p, &o, 32, false);
    assert_int_equal(a.status, ANTLER_OK);
    assert_int_equal(single.status, ANTLER_OK);
    const double scale = largest(a.gradient, p.layout.total);
    assert_true(scale > 1e-3); /* there is something to compare */
    for (size_t k = 0; k < p.layout.total; k++) {
        const double step = 1e-5, keep = p.parameters[k];
        p.parameters[k] = keep + step;
        const double up = loss_at(&p, &plain);
        p.parameters[k] = keep - step;
        const double down = loss_at(&p, &plain);
        p.parameters[k] = keep;
        const double slope = (up - down) / (2 * step);
        if (!(fabs(slope - a.gradient[k]) < 1e-7 * (1.0 + scale)))
            fail_msg("case %zu, %s: parameter %zu has gradient %g, differences say %g", i,
                     ant_solver_name(solver), k, a.gradient[k], slope);
    }
    assert_true(relative_error(single.gradient, a.gradient, p.layout.total) < 1e-3);
    answer_free(&a);
    answer_free(&single);
    problem_free(&p);
}

static void test_gradient(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        check_differences(i, ANT_SOLVER_SEQUENTIAL);
        check_differences(i, ANT_SOLVER_DEER);
    }
}

/* With alpha 1 and B = 1 every step starts from the data: z_t = tanh(w x_{t-1} + h). */
static void test_known_answer(void **state)
{
    (void)state;
    problem p = tanh_problem(1, 1, 0, 12, 1, 0, 1.0);
    p.parameters[p.layout.B] = 1.0;
    const double w = p.parameters[p.layout.W], h = p.parameters[p.layout.h];
    const ant_solver solvers[] = {ANT_SOLVER_SEQUENTIAL, ANT_SOLVER_DEER};
    for (size_t i = 0; i < 2; i++) {
        ant_solve_options o = options_for(&p, solvers[i]);
        answer a = solve(&p, &o, 64, false);
        assert_int_equal(a.status, ANTLER_OK);
        double loss = 0.0;
        for (size_t t = 1; t <= 12; t++) {
            const double z = tanh(w * p.x[t - 1] + h);
            assert_true(fabs(a.states[t - 1] - z) < 1e-14);
            loss += (p.x[t] - z) * (p.x[t] - z) / 12.0;
        }
        assert_true(fabs(a.report.loss - loss) < 1e-14);
        answer_free(&a);
    }
    problem_free(&p);
}

/* dloss/dz_t (spec 3): the last one is known, and free runs lead the others back through the Jacobian. */
static void test_adjoint(void **state)
{
    (void)state;
    enum { T = 6 };
    problem p = tanh_problem(1, 1, 0, T, 1, 0, 0.0);
    ant_solve_options o = options_for(&p, ANT_SOLVER_REFERENCE);
    ant_solve_plan_f64 *plan = NULL;
    double v[T], expected = 0.0;
    answer a = solve(&p, &o, 64, false);
    assert_int_equal(tanh_plan_f64(&p.layout, T, 1, &o, &plan), ANTLER_OK);
    const double *x[] = {p.x};
    assert_int_equal(ant_solve_adjoint_f64(plan, p.parameters, x, NULL, 0, 0.0, v), ANTLER_OK);
    const double B = p.parameters[p.layout.B], W = p.parameters[p.layout.W];
    for (size_t t = T; t >= 1; t--) {
        const double next = t < T ? a.states[t] : 0.0, slope = t < T ? (1.0 - next * next) * W : 0.0;
        expected = slope * expected - 2.0 / T * B * (p.x[t] - B * a.states[t - 1]);
        assert_true(fabs(v[t - 1] - expected) < 1e-12);
    }
    ant_solve_plan_free_f64(plan);
    answer_free(&a);
    problem_free(&p);
}

/* What needs kernels or a linear state is refused by name; `auto` takes plain steps. */
static void test_what_is_offered(void **state)
{
    (void)state;
    problem p = tanh_problem(3, 2, 0, 10, 1, 0, 0.15);
    ant_solve_options o = options_for(&p, ANT_SOLVER_SHOOTING);
    ant_solve_plan_f32 *plan = NULL;
    assert_int_equal(tanh_plan_f32(&p.layout, 10, 1, &o, &plan), ANTLER_ERROR_ARGUMENT);
    assert_non_null(strstr(antler_message(), "tanh-RNN"));
    o.solver = ANT_SOLVER_SCAN;
    assert_int_equal(tanh_plan_f32(&p.layout, 10, 1, &o, &plan), ANTLER_ERROR_ARGUMENT);
    assert_non_null(strstr(antler_message(), "tanh-RNN"));
    assert_null(plan);
    o.solver = ANT_SOLVER_AUTO;
    assert_int_equal(tanh_plan_f32(&p.layout, 10, 1, &o, &plan), ANTLER_OK);
    assert_int_equal(ant_solve_plan_solver_f32(plan), ANT_SOLVER_SEQUENTIAL);
    assert_string_equal(ant_solve_plan_choice_f32(plan), "auto chose sequential");
    ant_solve_plan_free_f32(plan);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answer),   cmocka_unit_test(test_solvers_double),
        cmocka_unit_test(test_solvers_single), cmocka_unit_test(test_gradient),
        cmocka_unit_test(test_adjoint),        cmocka_unit_test(test_what_is_offered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
