/*
 * Borders of segments by Newton's method: against plain steps on models with a short and a long memory and on
 * awkward shapes, the same bits on any number of threads, and what happens where it cannot converge.
 */
#include "solve_support.h"
#include "unit/check.h"

static ant_solve_options joined(const problem *p, size_t segments)
{
    ant_solve_options o;
    ant_solve_options_default(&o);
    o.solver = ANT_SOLVER_SHOOTING;
    o.pieces = ANT_PIECES_ALWAYS;
    o.warmup = p->warmup;
    o.interval = p->interval;
    o.segments = segments;
    o.threads = 1;
    return o;
}

/* A model whose unforced units remember for about `memory` steps; the others depend on them. */
static problem slow_problem(ant_model_dims d, size_t T, size_t warmup, double memory)
{
    problem p = random_problem(d, T, 1, warmup, 0.2, 21);
    const ant_model_layout *y = &p.layout;
    for (size_t m = d.N; m < d.M; m++) {
        p.parameters[y->Abar + m] = atanh(1.0 - 1.0 / memory);
        p.parameters[y->h + m] /= memory;
        for (size_t l = 0; l < d.L; l++)
            p.parameters[y->W + m * d.L + l] *= 0.1 / memory;
        for (size_t n = 0; n < d.N; n++)
            p.parameters[y->B + n * d.M + m] = 0.0;
    }
    return p;
}

static void check_agrees(const problem *p, const answer *a, double tolerance, size_t number)
{
    const ant_model_dims *d = &p->layout.dims;
    if (a->status != ANTLER_OK || !(a->agreement.states <= tolerance) ||
        !(a->agreement.gradient <= tolerance) || !(a->agreement.loss <= tolerance))
        fail_msg("case %zu: M %zu N %zu L %zu K %zu T %zu batch %zu alpha %g, %zu segments, %d passes: %s, "
                 "states %g gradient %g loss %g",
                 number, d->M, d->N, d->L, d->K, p->T, p->batch, p->alpha, a->report.segments,
                 a->report.iterations, antler_status_name(a->status), a->agreement.states,
                 a->agreement.gradient, a->agreement.loss);
}

/* Where no segment forgets its start, plain passes would be as many as segments. */
static void test_long_memory(void **state)
{
    (void)state;
    const ant_model_dims shapes[] = {
        {.M = 5, .N = 3, .L = 24}, {.M = 10, .N = 6, .L = 70, .K = 2}, {.M = 16, .N = 2, .L = 40}};
    const size_t counts[] = {16, 9, 24};
    for (size_t i = 0; i < 12; i++) {
        const int bits = i % 2 ? 64 : 32;
        problem p = slow_problem(shapes[i % 3], 6001, i % 4 < 2 ? 0 : 2000, i < 6 ? 3e3 : 1e6);
        ant_solve_options o = joined(&p, counts[i % 3]);
        o.teacher = i / 3 % 2 ? ANT_TEACHER_STOP : ANT_TEACHER_FLOW;
        answer a = solve(&p, &o, bits, true);
        check_agrees(&p, &a, bits == 64 ? 1e-10 : 1e-3, i);
        assert_in_range(a.report.iterations, 1, 4);
        const size_t longest = p.T / o.segments + 1, backward = 3; /* passes after the first */
        assert_true(a.report.repeated_steps <= ((size_t)a.report.iterations + backward) * longest);
        assert_int_equal(a.report.fallbacks, 0);
        answer_free(&a);
        problem_free(&p);
    }
}

/* A segment that forgets its start is not run to its end again. */
static void test_short_memory(void **state)
{
    (void)state;
    const ant_model_dims d = {.M = 5, .N = 3, .L = 24};
    problem p = slow_problem(d, 8000, 0, 3.0);
    const ant_solve_options o = joined(&p, 8);
    answer a = solve(&p, &o, 32, true);
    check_agrees(&p, &a, 1e-4, 0);
    assert_int_equal(a.report.iterations, 1);
    assert_in_range(a.report.repeated_steps, 1, 800);
    answer_free(&a);
    problem_free(&p);
}

static void test_threads_change_no_bit(void **state)
{
    (void)state;
    const int threads[] = {2, 3, 5, 16};
    const ant_model_dims d = {.M = 7, .N = 3, .L = 40};
    for (size_t i = 0; i < 6; i++) {
        problem p = slow_problem(d, 4097, i % 2 ? 1000 : 0, i < 3 ? 4.0 : 2e3);
        ant_solve_options o = joined(&p, i % 3 == 0 ? 3 : i % 3 == 1 ? 5 : 16);
        const int bits = i % 2 ? 64 : 32;
        answer a = solve(&p, &o, bits, false);
        assert_int_equal(a.status, ANTLER_OK);
        for (size_t k = 0; k < 4; k++) {
            o.threads = threads[k];
            answer b = solve(&p, &o, bits, false);
            assert_memory_equal(a.gradient, b.gradient, p.layout.total * sizeof(double));
            assert_memory_equal(a.states, b.states, p.T * d.M * sizeof(double));
            assert_true(memcmp(&a.report.loss, &b.report.loss, sizeof(double)) == 0);
            assert_int_equal(a.report.iterations, b.report.iterations);
            answer_free(&b);
        }
        answer_free(&a);
        problem_free(&p);
    }
}

static size_t draw(ant_stream *stream, size_t low, size_t high)
{
    return low + (size_t)ant_stream_below(stream, high - low + 1);
}

/* T around the number of segments, one latent unit, more of them than variables, no forcing, gaps. */
static void test_awkward_shapes(void **state)
{
    (void)state;
    ant_stream stream = ant_stream_open(7, 0, 0, ANT_PURPOSE_INITIAL_STATE);
    const double alphas[] = {0.0, 1.0, 0.1, 0.02};
    for (size_t i = 0; i < (FOR_RACES ? 60 : 240); i++) {
        const size_t segments = draw(&stream, 3, 20), choice = draw(&stream, 0, 4);
        const size_t T = choice == 0   ? 1
                         : choice == 1 ? segments - 1
                         : choice == 2 ? segments + 1
                                       : draw(&stream, segments, 700);
        const ant_model_dims d = {.M = draw(&stream, 0, 3) == 0 ? 1 : draw(&stream, 2, 18),
                                  .N = draw(&stream, 1, 6),
                                  .L = draw(&stream, 1, 40),
                                  .K = draw(&stream, 0, 1) * 2,
                                  .clipped = draw(&stream, 0, 2) == 0};
        problem p = random_problem(d, T, draw(&stream, 1, 3), draw(&stream, 0, T - 1), alphas[i % 4], i);
        ant_solve_options o = joined(&p, segments);
        o.threads = 1 + (int)(i % 3);
        o.teacher = i / 3 % 2 ? ANT_TEACHER_STOP : ANT_TEACHER_FLOW;
        if (i % 5 == 0) {
            o.patterns = SIZE_MAX;
            for (size_t k = 0; k < p.batch * (T + 1) * d.N; k++)
                p.x[k] = k % (T + 1) != T && draw(&stream, 0, 9) == 0 ? NAN : p.x[k];
        }
        answer a = solve(&p, &o, i % 2 ? 64 : 32, true);
        check_agrees(&p, &a, i % 2 ? 1e-9 : 1e-3, i);
        answer_free(&a);
        problem_free(&p);
    }
}

/* The gradient against differences of the loss, both with borders by Newton's method. */
static void test_finite_differences(void **state)
{
    (void)state;
    const ant_model_dims d = {.M = 5, .N = 3, .L = 24};
    problem p = slow_problem(d, 900, 0, 100.0);
    const ant_solve_options o = joined(&p, 6);
    answer a = solve(&p, &o, 64, false);
    double largest = 0.0;
    for (size_t i = 0; i < p.layout.total; i++)
        largest = fmax(largest, fabs(a.gradient[i]));
    for (size_t i = 0; i < p.layout.total; i += 7) {
        const double h = 1e-7, value = p.parameters[i];
        p.parameters[i] = value + h;
        answer up = solve(&p, &o, 64, false);
        p.parameters[i] = value - h;
        answer down = solve(&p, &o, 64, false);
        p.parameters[i] = value;
        const double slope = (up.report.loss - down.report.loss) / (2.0 * h);
        assert_true(fabs(slope - a.gradient[i]) <= 1e-4 * largest);
        answer_free(&up);
        answer_free(&down);
    }
    answer_free(&a);
    problem_free(&p);
}

/* Too few passes: an outcome with a name, and the answer of plain steps unless that is forbidden. */
static void test_not_converged(void **state)
{
    (void)state;
    const ant_model_dims d = {.M = 6, .N = 2, .L = 30};
    problem p = slow_problem(d, 3000, 0, 1e5);
    ant_solve_options o = joined(&p, 12);
    o.max_iterations = 1;
    answer a = solve(&p, &o, 64, true);
    check_agrees(&p, &a, 1e-10, 0);
    assert_int_equal(a.report.outcome, ANTLER_NOT_CONVERGED);
    assert_int_equal(a.report.fallbacks, 1);
    o.fallback = false;
    answer b = solve(&p, &o, 64, false);
    assert_int_equal(b.status, ANTLER_NOT_CONVERGED);
    answer_free(&a);
    answer_free(&b);
    problem_free(&p);
}

/* An orbit that explodes is an outcome, also of the tangents. */
static void test_explodes(void **state)
{
    (void)state;
    const ant_model_dims d = {.M = 3, .N = 1, .L = 8};
    for (int bits = 32; bits <= 64; bits += 32) {
        problem p = random_problem(d, 2000, 1, 0, 0.0, 4);
        const ant_solve_options o = joined(&p, 16);
        for (size_t k = 0; k < d.M * d.L; k++) {
            p.parameters[p.layout.W + k] = 3.0;
            p.parameters[p.layout.V + k] = 3.0;
        }
        answer a = solve(&p, &o, bits, false);
        assert_int_equal(a.status, ANTLER_NON_FINITE);
        answer_free(&a);
        problem_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_memory),
        cmocka_unit_test(test_short_memory),
        cmocka_unit_test(test_threads_change_no_bit),
        cmocka_unit_test(test_awkward_shapes),
        cmocka_unit_test(test_finite_differences),
        cmocka_unit_test(test_not_converged),
        cmocka_unit_test(test_explodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
