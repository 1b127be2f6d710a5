/* Long segments whose states are made again backward, leg by leg, against the reference and kept states. */
#include "solve_support.h"

static ant_solve_options options_for(const problem *p, size_t leg)
{
    ant_solve_options o;
    ant_solve_options_default(&o);
    o.warmup = p->warmup;
    o.interval = p->interval;
    o.threads = 1;
    o.fallback = false;
    o.leg = leg;
    return o;
}

/* Every third value, and bursts of whole rows. */
static void lose(problem *p, uint64_t seed)
{
    const size_t N = p->layout.dims.N;
    ant_stream stream = ant_stream_open(seed, 1, 2, ANT_PURPOSE_OBSERVATION_NOISE);
    for (size_t row = 1; row < p->batch * (p->T + 1); row++) {
        const bool whole = row / 20 % 4 == 3;
        for (size_t n = 0; n < N; n++)
            p->x[row * N + n] = whole || ant_stream_uniform(&stream) < 0.3 ? NAN : p->x[row * N + n];
    }
    p->x[(p->warmup + 1) * N] = 0.3; /* something is observed after the warm-up */
}

static const ant_model_dims shapes[] = {{.M = 3, .N = 3, .L = 6},
                                        {.M = 5, .N = 3, .L = 64, .K = 2},
                                        {.M = 2, .N = 5, .L = 7},
                                        {.M = 4, .N = 3, .L = 100, .clipped = true},
                                        {.M = 1, .N = 2, .L = 4, .K = 1},
                                        {.M = 10, .N = 6, .L = 128},
                                        {.M = 7, .N = 4, .L = 20, .rank = 3}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void check(const answer *a, double tolerance, size_t i, int bits)
{
    if (a->status != ANTLER_OK || !(a->agreement.states < tolerance) ||
        !(a->agreement.gradient < tolerance) || !(a->agreement.loss < tolerance))
        fail_msg("case %zu, %d bits: %s, states %g, gradient %g, loss %g; %s", i, bits,
                 antler_status_name(a->status), a->agreement.states, a->agreement.gradient, a->agreement.loss,
                 a->report.kernels);
}

/* Lengths around the leg, one and several segments, both kernels, missing values, both teachers. */
static void test_reference(void **state)
{
    (void)state;
    static const size_t lengths[] = {1, 127, 128, 129, 640, 1100};
    for (size_t i = 0; i < SHAPES * 6 * 2; i++) {
        const size_t T = lengths[i / SHAPES % 6];
        const int bits = i % 2 ? 32 : 64;
        const bool pieces = i / SHAPES / 6 == 0;
        problem p = random_problem(shapes[i % SHAPES], T, 1 + i % 3, i % 4 == 3 ? T - 1 : T / 4, 0.4, 70 + i);
        p.interval = i % 11 == 5 ? 4 : 0;
        if (i % 3 == 1)
            lose(&p, i);
        ant_solve_options o = options_for(&p, 128);
        o.patterns = i % 3 == 1 ? SIZE_MAX : 0;
        o.pieces = pieces ? ANT_PIECES_ALWAYS : ANT_PIECES_NEVER;
        o.teacher = i % 5 ? ANT_TEACHER_FLOW : ANT_TEACHER_STOP;
        o.solver = T > 600 ? ANT_SOLVER_SHOOTING : ANT_SOLVER_SEQUENTIAL;
        o.segments = T > 600 ? 2 + i % 3 : 0;
        o.tolerance = bits == 64 ? 1e-12 : 1e-5;
        answer a = solve(&p, &o, bits, true);
        check(&a, bits == 64 ? 1e-9 : 2e-3, i, bits);
        assert_non_null(strstr(a.report.kernels, pieces ? "piece" : "line"));
        answer_free(&a);
        problem_free(&p);
    }
}

/* States are the bytes of those that are kept, where a leg is as many tiles; the rest agrees to rounding. */
static void test_kept_states(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        problem p = random_problem(shapes[i < 2 ? 1 : 5], 3000, 1, i % 2 ? 700 : 0, 0.3, 5 + i);
        ant_solve_options o = options_for(&p, 512), kept = options_for(&p, 0);
        o.solver = kept.solver = ANT_SOLVER_SEQUENTIAL;
        o.pieces = kept.pieces = i < 3 ? ANT_PIECES_ALWAYS : ANT_PIECES_NEVER;
        answer a = solve(&p, &o, 32, false), b = solve(&p, &kept, 32, false);
        assert_int_equal(a.status, ANTLER_OK);
        if (i < 3)
            assert_memory_equal(a.states, b.states, p.T * p.layout.dims.M * sizeof(double));
        assert_true(relative_error(a.states, b.states, p.T * p.layout.dims.M) < 1e-5);
        assert_true(relative_error(a.gradient, b.gradient, p.layout.total) < 1e-4);
        assert_true(fabs(a.report.loss - b.report.loss) < 1e-6 * b.report.loss);
        answer_free(&a);
        answer_free(&b);
        problem_free(&p);
    }
}

/* A model that forgets within some 2,000 steps: a segment that starts again merges after many legs, and no
 * earlier than the tolerance says. */
static void test_merging(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        problem p = random_problem(shapes[1], 8000, 1, 0, 0.0, 21 + i);
        const ant_model_layout *at = &p.layout;
        for (size_t m = 0; m < at->dims.M; m++)
            p.parameters[at->Abar + m] = 2.5; /* A = 0.9866 */
        for (size_t k = 0; k < at->dims.M * at->dims.L; k++)
            p.parameters[at->W + k] *= 0.01;
        ant_solve_options o = options_for(&p, 128);
        o.pieces = i % 2 ? ANT_PIECES_ALWAYS : ANT_PIECES_NEVER;
        o.solver = ANT_SOLVER_SHOOTING;
        o.segments = i < 2 ? 2 : 4;
        o.tolerance = 1e-12;
        answer a = solve(&p, &o, 64, true);
        check(&a, 1e-10, i, 64);
        assert_int_equal(a.report.outcome, ANTLER_OK);
        assert_int_equal(a.report.iterations, i < 2 ? 1 : 2);
        if (i < 2)
            assert_in_range(a.report.repeated_steps, 4500, 6500); /* forward and backward; at most 8,000 */
        answer_free(&a);
        problem_free(&p);
    }
}

static void test_threads_do_not_matter(void **state)
{
    (void)state;
    problem p = random_problem(shapes[5], 6000, 1, 500, 0.2, 3);
    ant_solve_options o = options_for(&p, 256);
    o.solver = ANT_SOLVER_SHOOTING;
    o.segments = 5;
    o.pieces = ANT_PIECES_ALWAYS;
    answer one = solve(&p, &o, 32, false);
    o.threads = 3;
    answer three = solve(&p, &o, 32, false);
    assert_int_equal(one.status, ANTLER_OK);
    assert_true(one.report.segments == 5 && one.report.loss == three.report.loss);
    assert_memory_equal(one.gradient, three.gradient, p.layout.total * sizeof(double));
    assert_memory_equal(one.states, three.states, p.T * p.layout.dims.M * sizeof(double));
    answer_free(&one);
    answer_free(&three);
    problem_free(&p);
}

/* A long sequence in float, in legs as `auto` has them, two segments. */
static void test_long(void **state)
{
    (void)state;
    enum { LENGTH = SANITIZED ? 10000 : 100000 };
    problem p = random_problem(shapes[5], LENGTH, 1, 1000, 0.2, 8);
    ant_solve_options o = options_for(&p, 4096);
    o.segments = o.threads = 2;
    answer a = solve(&p, &o, 32, true);
    check(&a, 1e-4, LENGTH, 32);
    assert_int_equal(a.report.segments, 2);
    answer_free(&a);
    problem_free(&p);
}

/* Above 4 GiB of states `auto` takes legs, and then memory hardly grows with the length. */
static void test_memory(void **state)
{
    (void)state;
    const ant_model_dims d[] = {{.M = 10, .N = 6, .L = 128}, {.M = 3, .N = 3, .L = 6}};
    ant_solve_options o;
    ant_solve_options_default(&o);
    o.threads = 2;
    size_t bytes[3];
    for (size_t i = 0; i < 3; i++) {
        ant_solve_plan_f32 *plan = NULL;
        const size_t T = i == 0 ? 50000000 : 100000000;
        o.segments = i < 2 ? 2 : 0; /* of the small model segments would go into lanes */
        assert_int_equal(ant_solve_plan_create_f32(&d[i / 2], T, 1, &o, &plan), ANTLER_OK);
        assert_non_null(strstr(ant_solve_plan_choice_f32(plan), "states made again backward"));
        bytes[i] = ant_solve_plan_bytes_f32(plan);
        ant_solve_plan_free_f32(plan);
    }
    assert_true(bytes[1] - bytes[0] < (size_t)9 * 50000000); /* the strengths of forcing: a double per step */
    assert_true(bytes[0] < (size_t)9 * 50000000 && bytes[2] < (size_t)9 * 100000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference), cmocka_unit_test(test_kept_states),
        cmocka_unit_test(test_merging),   cmocka_unit_test(test_threads_do_not_matter),
        cmocka_unit_test(test_long),      cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
