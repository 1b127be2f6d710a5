/* Every solver against the reference on random shapes, and what the solvers promise beyond numbers. */
#include "solve_support.h"
#include "unit/check.h"

enum { SHAPES = SANITIZED ? 400 : 1000 };

static size_t draw(ant_stream *stream, size_t low, size_t high)
{
    return low + (size_t)ant_stream_below(stream, high - low + 1);
}

static const size_t lengths[] = {1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 47, 64, 65, 100, 129};

/* One random problem with awkward sizes. */
static problem random_shape(ant_stream *stream, uint64_t seed)
{
    ant_model_dims d = {.M = draw(stream, 1, 12), .N = draw(stream, 1, 7), .L = draw(stream, 1, 40)};
    if (draw(stream, 0, 15) == 0)
        d.M = draw(stream, 16, 40); /* more latent units than a vector holds */
    d.K = draw(stream, 0, 2) == 0 ? draw(stream, 1, 3) : 0;
    d.rank = draw(stream, 0, 2) == 0 ? draw(stream, 1, d.M < d.L ? d.M : d.L) : 0;
    d.clipped = draw(stream, 0, 1);
    const size_t T = lengths[draw(stream, 0, sizeof lengths / sizeof *lengths - 1)];
    const size_t choice = draw(stream, 0, 3), batch = draw(stream, 0, 2) == 0 ? draw(stream, 2, 19) : 1;
    const size_t warmup = choice == 0 ? 0 : choice == 1 ? T - 1 : draw(stream, 0, T - 1);
    const double alphas[] = {0.0, 1.0, 0.1 + 0.8 * ant_stream_uniform(stream)};
    problem p = random_problem(d, T, batch, warmup, alphas[draw(stream, 0, 2)], seed);
    p.interval = seed % 3 == 0 ? 1 + seed / 3 % 9 : 0;
    return p;
}

static void check_shapes(int bits, double tolerance)
{
    ant_stream stream = ant_stream_open(2024, 0, 0, ANT_PURPOSE_INITIAL_STATE);
    const ant_solver solvers[] = {ANT_SOLVER_SEQUENTIAL, ANT_SOLVER_SHOOTING, ANT_SOLVER_AUTO,
                                  ANT_SOLVER_DEER,       ANT_SOLVER_SHOOTING, ANT_SOLVER_QUASI_DEER};
    for (size_t i = 0; i < SHAPES; i++) {
        problem p = random_shape(&stream, i);
        ant_solve_options o;
        ant_solve_options_default(&o);
        o.solver = solvers[i % 6];
        o.warmup = p.warmup;
        o.interval = p.interval;
        o.threads = 1 + (int)(i / 6 % 3);
        o.teacher = i / 18 % 2 ? ANT_TEACHER_STOP : ANT_TEACHER_FLOW;
        o.start = (ant_start)(i / 36 % 3);
        o.tolerance = bits == 64 ? 1e-12 : 1e-4;
        o.pieces = (ant_pieces)(i / 7 % 3);
        if (o.solver == ANT_SOLVER_SHOOTING)
            o.segments = draw(&stream, 0, 1) ? draw(&stream, 1, 40) : 0;
        o.lanes = o.segments >= 16;
        if (FOR_RACES && o.threads == 1) {
            problem_free(&p);
            continue;
        }
        answer a = solve(&p, &o, bits, true);
        const ant_model_dims *d = &p.layout.dims;
        if (a.status != ANTLER_OK || !(a.agreement.states <= tolerance) ||
            !(a.agreement.gradient <= tolerance) || !(a.agreement.loss <= tolerance))
            fail_msg(
                "shape %zu: %s, M %zu N %zu L %zu K %zu rank %zu clipped %d, T %zu batch %zu warmup %zu "
                "interval %zu alpha %g threads %d segments %zu kernels %s: %s, states %g gradient %g loss %g",
                i, ant_solver_name(o.solver), d->M, d->N, d->L, d->K, d->rank, d->clipped, p.T, p.batch,
                p.warmup, p.interval, p.alpha, o.threads, o.segments, a.report.kernels,
                antler_status_name(a.status), a.agreement.states, a.agreement.gradient, a.agreement.loss);
        answer_free(&a);
        problem_free(&p);
    }
}

static void test_shapes_double(void **state)
{
    (void)state;
    check_shapes(64, 1e-9);
}

static void test_shapes_single(void **state)
{
    (void)state;
    check_shapes(32, 1e-3);
}

/* Long sequences, where segments in lanes are tried, on models that forget fast and on one that does not. */
static void test_long_sequences(void **state)
{
    (void)state;
    for (int slow = 0; slow <= 1; slow++) {
        const ant_model_dims dims = {.M = 4, .N = 3, .L = 16};
        problem p = random_problem(dims, 9001, 1, 1000, 0.2, 5);
        if (slow)
            p.parameters[p.layout.Abar + 3] = 6.0; /* A = 0.99999: remembers for 10^5 steps */
        for (int turn = 0; turn < 6; turn++) {
            ant_solve_options o;
            ant_solve_options_default(&o);
            o.warmup = 1000;
            o.threads = 1 + turn % 2;
            o.pieces = (ant_pieces)(turn / 2);
            o.solver = ANT_SOLVER_SHOOTING;
            answer a = solve(&p, &o, 64, true);
            assert_int_equal(a.status, ANTLER_OK);
            assert_true(a.agreement.states <= 1e-9);
            assert_true(a.agreement.gradient <= 1e-9);
            answer_free(&a);
        }
        problem_free(&p);
    }
}

/* A model whose unforced units hardly couple to the rest and remember for about `memory` steps. */
static problem slow_problem(ant_model_dims d, size_t T, size_t warmup, double memory)
{
    problem p = random_problem(d, T, 1, warmup, 0.2, 21);
    const ant_model_layout *y = &p.layout;
    const size_t columns = d.rank > 0 ? d.rank : d.L, rows = d.rank > 0 ? y->WL : y->W;
    for (size_t m = d.N; m < d.M; m++) {
        p.parameters[y->Abar + m] = atanh(1.0 - 1.0 / memory);
        p.parameters[y->h + m] /= memory;
        for (size_t k = 0; k < columns; k++)
            p.parameters[rows + m * columns + k] *= 0.1 / memory;
        for (size_t n = 0; n < d.N; n++)
            p.parameters[y->B + n * d.M + m] = 0.0;
    }
    return p;
}

/* The same call on another number of threads. */
static answer solve_on(const problem *p, const ant_solve_options *o, int threads, int bits)
{
    ant_solve_options other = *o;
    other.threads = threads;
    return solve(p, &other, bits, false);
}

static void check_shared(const problem *p, const ant_solve_options *o, int bits, double memory)
{
    const double tolerance = bits == 64 ? 1e-9 : 1e-3;
    answer a = solve(p, o, bits, true), b = solve_on(p, o, 1, bits), c = solve_on(p, o, 3, bits);
    assert_int_equal(a.status, ANTLER_OK);
    assert_int_equal(a.report.segments, 2);
    assert_true(a.agreement.states <= tolerance);
    assert_true(a.agreement.gradient <= tolerance);
    assert_true(a.agreement.loss <= tolerance);
    if (memory < 10.0) /* the second thread is met soon; later; never */
        assert_in_range(a.report.repeated_steps, 1, p->T / 8);
    else if (memory < 100.0 || (memory < 1000.0 && bits == 32)) /* float forgets sooner */
        assert_in_range(a.report.repeated_steps, p->T / 32 + 1, p->T / 2);
    else if (memory > 1000.0)
        assert_true(a.report.repeated_steps > p->T / 3 && a.report.last_change == 0.0);
    assert_memory_equal(a.gradient, b.gradient, p->layout.total * sizeof(double));
    assert_memory_equal(a.states, b.states, p->T * p->layout.dims.M * sizeof(double));
    assert_memory_equal(a.gradient, c.gradient, p->layout.total * sizeof(double));
    assert_memory_equal(a.states, c.states, p->T * p->layout.dims.M * sizeof(double));
    answer_free(&a);
    answer_free(&b);
    answer_free(&c);
}

/* So long that kernels hand their sums over to those in double on the way. */
static void test_very_long_sequence(void **state)
{
    (void)state;
    const ant_model_dims shapes[] = {{.M = 4, .N = 3, .L = 10},
                                     {.M = 5, .N = 2, .L = 9, .clipped = true, .K = 1}};
    if (FOR_RACES) /* one sequence in time order: one thread */
        skip();
    for (size_t i = 0; i < 8; i++) {
        problem p = random_problem(shapes[i % 2], 140001, 1, i % 2 ? 1000 : 0, 0.3, 31);
        ant_solve_options o;
        ant_solve_options_default(&o);
        o.solver = ANT_SOLVER_SEQUENTIAL;
        o.pieces = i / 2 % 2 ? ANT_PIECES_ALWAYS : ANT_PIECES_NEVER;
        o.warmup = p.warmup;
        answer a = solve(&p, &o, i / 4 ? 64 : 32, true);
        assert_int_equal(a.status, ANTLER_OK);
        assert_true(a.agreement.states <= (i / 4 ? 1e-10 : 1e-4));
        assert_true(a.agreement.gradient <= (i / 4 ? 1e-10 : 1e-3));
        answer_free(&a);
        problem_free(&p);
    }
}

/* Two threads on one sequence, with a short memory, a longer one, one for which the second thread begins
   early with long steps, and one that outlasts the sequence. */
static void test_shared_sequence(void **state)
{
    (void)state;
    const ant_model_dims shapes[] = {{.M = 5, .N = 3, .L = 24},
                                     {.M = 10, .N = 6, .L = 70, .rank = 3, .K = 2},
                                     {.M = 20, .N = 2, .L = 40, .clipped = true}};
    const double memories[] = {3.0, 60.0, 150.0, 1e7};
    for (size_t i = 0; i < 24; i++) {
        problem p = slow_problem(shapes[i % 3], 5003, i % 2 ? 1500 : 0, memories[i / 3 % 4]);
        ant_solve_options o;
        ant_solve_options_default(&o);
        o.solver = ANT_SOLVER_SHOOTING;
        o.pieces = ANT_PIECES_ALWAYS;
        o.teacher = i / 2 % 2 ? ANT_TEACHER_STOP : ANT_TEACHER_FLOW;
        o.warmup = p.warmup;
        o.interval = i % 4 == 3 ? 40 : 0;
        o.threads = 2;
        o.segments = 2;
        check_shared(&p, &o, i / 12 ? 64 : 32, memories[i / 3 % 4]);
        problem_free(&p);
    }
}

/* Sparse forcing: alpha has no effect, and a step forced at every row is forcing with strength 1. */
static void test_sparse_forcing(void **state)
{
    (void)state;
    const ant_solver solvers[] = {ANT_SOLVER_REFERENCE, ANT_SOLVER_SEQUENTIAL, ANT_SOLVER_DEER,
                                  ANT_SOLVER_SHOOTING};
    for (size_t i = 0; i < 16; i++) {
        problem p = random_problem((ant_model_dims){.M = 5, .N = 3, .L = 24}, 301, 1, i % 2 ? 17 : 0, 0.4, i);
        ant_solve_options o;
        ant_solve_options_default(&o);
        o.solver = solvers[i / 2 % 4];
        o.pieces = i / 8 ? ANT_PIECES_ALWAYS : ANT_PIECES_NEVER;
        o.warmup = p.warmup;
        o.interval = 20;
        answer a = solve(&p, &o, 64, true);
        p.alpha = 0.9;
        answer b = solve(&p, &o, 64, false);
        o.interval = 1;
        answer every = solve(&p, &o, 64, false);
        o.interval = 0;
        p.alpha = 1.0;
        answer full = solve(&p, &o, 64, false);
        assert_true(a.agreement.states <= 1e-9 && a.agreement.gradient <= 1e-9);
        assert_memory_equal(a.gradient, b.gradient, p.layout.total * sizeof(double));
        assert_memory_equal(every.gradient, full.gradient, p.layout.total * sizeof(double));
        assert_true(relative_error(a.gradient, full.gradient, p.layout.total) > 1e-3);
        answer_free(&a);
        answer_free(&b);
        answer_free(&every);
        answer_free(&full);
        problem_free(&p);
    }
}

/* Piece kernels are used where few units switch, and give way to dense ones where many do. */
static void test_pieces_give_way(void **state)
{
    (void)state;
    const ant_model_dims dims = {.M = 4, .N = 3, .L = 100};
    for (int jumping = 0; jumping <= 1; jumping++) {
        problem p = random_problem(dims, 700, 1, 600, 0.5, 12);
        for (size_t i = 0; i < 701 * 3; i++) {
            const double t = (double)(i / 3), phase = (double)(i % 3);
            p.x[i] = sin(0.03 * t + phase) * (!jumping ? 1.0 : i / 3 % 2 ? -30.0 : 30.0);
        }
        ant_solve_options o;
        ant_solve_options_default(&o);
        o.solver = ANT_SOLVER_SEQUENTIAL;
        o.warmup = 600;
        o.threads = 1;
        answer a = solve(&p, &o, 64, true);
        assert_int_equal(a.status, ANTLER_OK);
        assert_true(a.agreement.states <= 1e-9);
        assert_true(a.agreement.gradient <= 1e-9);
        assert_true((strncmp(a.report.kernels, "piece", 5) == 0) == !jumping);
        answer_free(&a);
        problem_free(&p);
    }
}

/* In a warm-up longer than the model's memory the adjoint ends early, and nothing is missed. */
static void test_adjoint_ends_early(void **state)
{
    (void)state;
    const ant_model_dims dims = {.M = 6, .N = 2, .L = 40};
    problem p = random_problem(dims, 3000, 1, 2900, 0.3, 8);
    for (int flow = 0; flow <= 1; flow++) {
        ant_solve_options o;
        ant_solve_options_default(&o);
        o.solver = ANT_SOLVER_SEQUENTIAL;
        o.pieces = ANT_PIECES_ALWAYS;
        o.teacher = flow ? ANT_TEACHER_FLOW : ANT_TEACHER_STOP;
        o.warmup = 2900;
        answer a = solve(&p, &o, 64, true);
        assert_int_equal(a.status, ANTLER_OK);
        assert_true(a.agreement.gradient <= 1e-10);
        answer_free(&a);
    }
    problem_free(&p);
}

/* Slow units that nothing forces, as after training: A = 0.9995.  In numbers that float has. */
static problem remembering_problem(size_t T, size_t batch)
{
    const ant_model_dims dims = {.M = 6, .N = 3, .L = 20};
    problem p = random_problem(dims, T, batch, T / 4, 0.1, 5);
    for (size_t i = 0; i < p.layout.slices; i++) {
        const ant_model_slice *slice = &p.layout.slice[i];
        for (size_t k = 0; k < slice->count; k++) {
            double *value = &p.parameters[slice->offset + k];
            if (slice->offset == p.layout.Abar)
                *value = atanh(0.9995) + 0.1 * *value;
            else if (slice->offset == p.layout.W || slice->offset == p.layout.h)
                *value *= 2e-3;
            *value = (double)(float)*value;
        }
    }
    for (size_t i = 0; i < batch * (T + 1) * dims.N; i++)
        p.x[i] = (double)(float)p.x[i];
    return p;
}

/* Float does not shorten or lengthen a long memory: not in plain loops, not in any kernel. */
static void test_long_memory_in_float(void **state)
{
    (void)state;
    if (FOR_RACES)
        skip();
    const struct {
        ant_solver solver;
        ant_pieces pieces;
        size_t batch;
    } cases[] = {{ANT_SOLVER_REFERENCE, ANT_PIECES_AUTO, 1},
                 {ANT_SOLVER_SEQUENTIAL, ANT_PIECES_NEVER, 1},
                 {ANT_SOLVER_SEQUENTIAL, ANT_PIECES_NEVER, 16},
                 {ANT_SOLVER_SEQUENTIAL, ANT_PIECES_ALWAYS, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        problem p = remembering_problem(6000, cases[i].batch);
        ant_solve_options o;
        ant_solve_options_default(&o);
        o.solver = ANT_SOLVER_REFERENCE;
        o.warmup = p.warmup;
        o.threads = 1;
        answer expected = solve(&p, &o, 64, false);
        o.solver = cases[i].solver;
        o.pieces = cases[i].pieces;
        answer found = solve(&p, &o, 32, false);
        const double error = relative_error(found.gradient, expected.gradient, p.layout.total);
        const double states = relative_error(found.states, expected.states, p.batch * p.T * p.layout.dims.M);
        if (!(error <= 2e-5) || !(states <= 1e-5))
            fail_msg("%s: the gradient is off by %g, the states by %g", found.report.kernels, error, states);
        answer_free(&expected);
        answer_free(&found);
        problem_free(&p);
    }
}

static void test_same_bits(void **state)
{
    (void)state;
    const ant_model_dims dims = {.M = 5, .N = 3, .L = 24};
    problem p = random_problem(dims, 4100, 2, 0, 0.2, 9);
    const ant_solver solvers[] = {ANT_SOLVER_SEQUENTIAL, ANT_SOLVER_DEER, ANT_SOLVER_SHOOTING};
    for (size_t i = 0; i < 9; i++) {
        ant_solve_options o;
        ant_solve_options_default(&o);
        o.solver = solvers[i % 3];
        o.pieces = (ant_pieces)(i / 3);
        o.threads = 3;
        answer a = solve(&p, &o, 32, false), b = solve(&p, &o, 32, false);
        assert_memory_equal(a.gradient, b.gradient, p.layout.total * sizeof(double));
        assert_memory_equal(a.states, b.states, 2 * 4100 * 5 * sizeof(double));
        assert_true(memcmp(&a.report.loss, &b.report.loss, sizeof(double)) == 0);
        answer_free(&a);
        answer_free(&b);
    }
    problem_free(&p);
}

/* Newton that may not converge: told apart, counted, and solved again unless the caller forbids it. */
static void test_not_converged(void **state)
{
    (void)state;
    const ant_model_dims dims = {.M = 5, .N = 2, .L = 24};
    problem p = random_problem(dims, 200, 2, 0, 0.05, 3);
    ant_solve_options o;
    ant_solve_options_default(&o);
    o.solver = ANT_SOLVER_REFERENCE;
    answer truth = solve(&p, &o, 64, false);
    o.solver = ANT_SOLVER_QUASI_DEER;
    o.max_iterations = 1;
    answer again = solve(&p, &o, 64, false);
    assert_int_equal(again.status, ANTLER_OK);
    assert_int_equal(again.report.outcome, ANTLER_NOT_CONVERGED);
    assert_int_equal(again.report.fallbacks, 2);
    assert_true(relative_error(again.gradient, truth.gradient, p.layout.total) < 1e-9);
    o.fallback = false;
    answer bare = solve(&p, &o, 64, false);
    assert_int_equal(bare.status, ANTLER_NOT_CONVERGED);
    assert_int_equal(bare.report.fallbacks, 0);
    answer_free(&truth);
    answer_free(&again);
    answer_free(&bare);
    problem_free(&p);
}

/* An orbit that explodes, and parameters that are not numbers: an outcome, never a crash. */
static void test_not_finite(void **state)
{
    (void)state;
    const ant_model_dims dims = {.M = 3, .N = 1, .L = 8};
    const ant_solver solvers[] = {ANT_SOLVER_REFERENCE, ANT_SOLVER_SEQUENTIAL, ANT_SOLVER_DEER,
                                  ANT_SOLVER_QUASI_DEER, ANT_SOLVER_SHOOTING};
    for (size_t i = 0; i < 10; i++) {
        for (int bits = 32; bits <= 64; bits += 32) {
            problem p = random_problem(dims, 2000, 1, 0, 0.0, 4);
            ant_solve_options o;
            ant_solve_options_default(&o);
            o.solver = solvers[i % 5];
            o.pieces = i < 5 ? ANT_PIECES_NEVER : ANT_PIECES_ALWAYS;
            o.threads = 2;
            for (size_t k = 0; k < dims.M * dims.L; k++) {
                p.parameters[p.layout.W + k] = 3.0;
                p.parameters[p.layout.V + k] = 3.0;
            }
            answer a = solve(&p, &o, bits, false);
            assert_int_equal(a.status, ANTLER_NON_FINITE);
            answer_free(&a);
            p.parameters[p.layout.B] = NAN;
            a = solve(&p, &o, bits, false);
            assert_int_equal(a.status, ANTLER_NON_FINITE);
            answer_free(&a);
            problem_free(&p);
        }
    }
}

static void test_bad_options(void **state)
{
    (void)state;
    const ant_model_dims dims = {.M = 3, .N = 1, .L = 8};
    ant_solve_plan_f64 *plan = NULL;
    ant_solve_options o;
    ant_solve_options_default(&o);
    assert_int_equal(ant_solve_plan_create_f64(&dims, 0, 1, &o, &plan), ANTLER_ERROR_ARGUMENT);
    assert_int_equal(ant_solve_plan_create_f64(&dims, 5, 0, &o, &plan), ANTLER_ERROR_ARGUMENT);
    o.warmup = 5;
    assert_int_equal(ant_solve_plan_create_f64(&dims, 5, 1, &o, &plan), ANTLER_ERROR_ARGUMENT);
    assert_non_null(strstr(antler_message(), "warm-up"));
    o.warmup = 0;
    o.tolerance = NAN;
    assert_int_equal(ant_solve_plan_create_f64(&dims, 5, 1, &o, &plan), ANTLER_ERROR_ARGUMENT);
    o.tolerance = 0;
    assert_int_equal(ant_solve_plan_create_f64(&dims, SIZE_MAX / 1024, 1, &o, &plan), ANTLER_ERROR_MEMORY);
    assert_null(plan);
    ant_solve_plan_free_f64(NULL);
}

/* The plan is made for a million steps within the budget of memory, and says what it chose. */
static void test_memory(void **state)
{
    (void)state;
    const ant_model_dims dims = {.M = 10, .N = 6, .L = 128};
    const ant_solver solvers[] = {ANT_SOLVER_SEQUENTIAL, ANT_SOLVER_SHOOTING, ANT_SOLVER_AUTO};
    for (size_t i = 0; i < 3; i++) {
        ant_solve_plan_f32 *plan = NULL;
        ant_solve_options o;
        ant_solve_options_default(&o);
        o.solver = solvers[i];
        o.threads = 2;
        assert_int_equal(ant_solve_plan_create_f32(&dims, 1000000, 1, &o, &plan), ANTLER_OK);
        assert_true(ant_solve_plan_bytes_f32(plan) < 1000000000);
        assert_non_null(
            strstr(ant_solve_plan_choice_f32(plan), ant_solver_name(ant_solve_plan_solver_f32(plan))));
        ant_solve_plan_free_f32(plan);
    }
}

/* A linear model with a known answer: z halves at every step, so does the loss of its free run. */
static void test_known_answer(void **state)
{
    (void)state;
    const ant_model_dims dims = {.M = 1, .N = 1, .L = 1};
    problem p = random_problem(dims, 10, 1, 0, 0.0, 1);
    memset(p.parameters, 0, p.layout.total * sizeof(double));
    memset(p.x, 0, 11 * sizeof(double));
    p.parameters[p.layout.Abar] = atanh(0.5);
    p.parameters[p.layout.B] = 1.0;
    p.x[0] = 1.0;
    ant_solve_options o;
    ant_solve_options_default(&o);
    o.solver = ANT_SOLVER_SEQUENTIAL;
    answer a = solve(&p, &o, 64, false);
    double loss = 0.0;
    for (int t = 1; t <= 10; t++) {
        assert_true(fabs(a.states[t - 1] - pow(0.5, t)) < 1e-15);
        loss += pow(0.25, t) / 10.0;
    }
    assert_true(fabs(a.report.loss - loss) < 1e-15);
    answer_free(&a);
    problem_free(&p);
}

/* As solve.h has them. */
static void test_defaults(void **state)
{
    (void)state;
    ant_solve_options o;
    memset(&o, 0xff, sizeof o);
    ant_solve_options_default(&o);
    assert_true(o.solver == ANT_SOLVER_AUTO && o.start == ANT_START_PINV && o.teacher == ANT_TEACHER_FLOW);
    assert_true(o.adjoint == ANT_ADJOINT_FULL && o.pieces == ANT_PIECES_AUTO && o.fallback && !o.lanes);
    assert_true(o.warmup == 0 && o.interval == 0 && o.tolerance == 0.0 && o.segments == 0);
    assert_true(o.max_iterations == 100 && o.patterns == 0 && o.threads == 0 && o.seed == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answer),         cmocka_unit_test(test_shapes_double),
        cmocka_unit_test(test_shapes_single),        cmocka_unit_test(test_long_sequences),
        cmocka_unit_test(test_very_long_sequence),   cmocka_unit_test(test_shared_sequence),
        cmocka_unit_test(test_long_memory_in_float), cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_not_converged),        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_bad_options),          cmocka_unit_test(test_memory),
        cmocka_unit_test(test_sparse_forcing),       cmocka_unit_test(test_pieces_give_way),
        cmocka_unit_test(test_adjoint_ends_early),   cmocka_unit_test(test_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
