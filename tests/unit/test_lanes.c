/*
 * The lane kernels at awkward sizes: every instruction set, 1 to 3 threads, both precisions against the
 * reference; and the same bits with one row of a product in a vector and with two (lane_wide.h).
 */
#include "base/machine.h"
#include "solve_support.h"

enum { LEVELS = 3, THREADS_MOST = SANITIZED ? 2 : 3 };

static const char *const levels[LEVELS] = {"base", "avx2", "avx512"};

/* Sizes beside those of groups (4, 8, 16 sequences), of vectors, and of tiles (8 and 16 rows, 16 steps). */
typedef struct shape {
    size_t M, N, L, K, rank, T, batch, warmup;
    bool clipped, gaps;
} shape;

static const shape shapes[] = {
    {1, 1, 3, 0, 0, 17, 7, 0, false, false},    {1, 2, 9, 1, 1, 15, 8, 3, true, false},
    {3, 2, 1, 0, 0, 16, 9, 0, false, false},    {4, 5, 2, 0, 2, 33, 15, 1, false, true},
    {5, 3, 25, 0, 0, 18, 17, 0, true, false},   {17, 3, 40, 0, 0, 16, 9, 0, false, false},
    {17, 18, 33, 1, 0, 31, 15, 4, false, true}, {20, 3, 100, 0, 0, 19, 16, 0, false, false},
    {20, 4, 53, 2, 0, 33, 33, 8, true, true},   {33, 5, 50, 0, 3, 17, 7, 0, true, false},
    {33, 2, 51, 1, 20, 34, 8, 5, false, true},  {50, 7, 61, 0, 0, 15, 17, 0, false, false},
    {50, 50, 24, 0, 0, 4, 16, 1, false, false}, {20, 70, 64, 1, 0, 16, 9, 2, false, true},
    {50, 3, 128, 0, 49, 1, 7, 0, false, false}, {20, 6, 49, 0, 0, 65, 8, 64, false, false},
    {17, 3, 45, 1, 0, 33, 4, 0, false, false},  {17, 2, 37, 0, 5, 18, 4, 2, true, false},
};

static problem problem_of(const shape *c, uint64_t seed)
{
    const ant_model_dims d = {
        .M = c->M, .N = c->N, .L = c->L, .K = c->K, .rank = c->rank, .clipped = c->clipped};
    problem p = random_problem(d, c->T, c->batch, c->warmup, 0.3, seed);
    for (size_t i = 5; c->gaps && i < c->batch * (c->T + 1) * c->N; i += i % 13 + 7)
        p.x[i] = NAN;
    return p;
}

static bool starts_with(const char *text, const char *begin)
{
    return strncmp(text, begin, strlen(begin)) == 0;
}

static void check_same(const problem *p, const answer *a, const answer *b, const char *what, size_t number)
{
    const size_t states = p->batch * p->T * p->layout.dims.M;
    if (memcmp(a->states, b->states, states * sizeof *a->states) != 0 ||
        memcmp(a->gradient, b->gradient, p->layout.total * sizeof *a->gradient) != 0 ||
        memcmp(&a->report.loss, &b->report.loss, sizeof a->report.loss) != 0)
        fail_msg("shape %zu: %s and %s give other bytes (%s)", number, a->report.kernels, b->report.kernels,
                 what);
}

/* Shapes that were solved with two and with four rows in a vector. */
typedef struct uses {
    size_t pairs, quads;
} uses;

/*
 * Lanes do not depend on each other, so their states have the same bits with AVX2 and with AVX-512, whatever
 * shares a vector.  Sums follow groups: those of pairs are as large as the groups of AVX2.
 */
static void compare_levels(const problem *p, const answer *narrow, const answer *wide, size_t number,
                           uses *used)
{
    const size_t states = p->batch * p->T * p->layout.dims.M;
    if (!starts_with(narrow->report.kernels, "lane avx2") || !starts_with(wide->report.kernels, "lane "))
        return;
    if (memcmp(narrow->states, wide->states, states * sizeof *wide->states) != 0)
        fail_msg("shape %zu: %s and %s give other states", number, narrow->report.kernels,
                 wide->report.kernels);
    used->quads += starts_with(wide->report.kernels, "lane quads avx512");
    if (!starts_with(wide->report.kernels, "lane pairs avx512"))
        return;
    used->pairs++;
    check_same(p, narrow, wide, "pairs", number);
}

/* One shape with every instruction set and number of threads. */
static void check_shape(const shape *c, size_t number, int bits, ant_teacher teacher, uses *used)
{
    problem p = problem_of(c, number);
    answer found[LEVELS][THREADS_MOST];
    const double bound = bits == 64 ? 1e-11 : 1e-4;
    ant_solve_options o;
    ant_solve_options_default(&o);
    o.solver = ANT_SOLVER_SEQUENTIAL;
    o.pieces = ANT_PIECES_NEVER;
    o.teacher = teacher;
    o.warmup = c->warmup;
    o.patterns = c->gaps ? SIZE_MAX : 0;
    for (size_t level = 0; level < LEVELS; level++) {
        assert_int_equal(setenv("ANTLER_CPU", levels[level], 1), 0);
        for (int threads = 1; threads <= THREADS_MOST; threads++) {
            answer *a = &found[level][threads - 1];
            o.threads = threads;
            *a = solve(&p, &o, bits, true);
            assert_int_equal(a->status, ANTLER_OK);
            if (!(a->agreement.states <= bound) || !(a->agreement.gradient <= bound) ||
                !(a->agreement.loss <= bound))
                fail_msg("shape %zu, %s, %d bits, %d threads: states %g gradient %g loss %g", number,
                         a->report.kernels, bits, threads, a->agreement.states, a->agreement.gradient,
                         a->agreement.loss);
            check_same(&p, &found[level][0], a, "threads", number);
        }
    }
    compare_levels(&p, &found[1][0], &found[2][0], number, used);
    for (size_t level = 0; level < LEVELS; level++) {
        for (size_t threads = 0; threads < THREADS_MOST; threads++)
            answer_free(&found[level][threads]);
    }
    problem_free(&p);
}

static void check_shapes(int bits)
{
    uses used = {0};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        check_shape(&shapes[i], i, bits, ANT_TEACHER_FLOW, &used);
        check_shape(&shapes[i], i, bits, ANT_TEACHER_STOP, &used);
    }
    assert_int_equal(setenv("ANTLER_CPU", "avx512", 1), 0);
    if (ant_cpu_level_best() == ANT_CPU_AVX512)
        assert_true(used.pairs >= 18 && used.quads >= 4);
    assert_int_equal(unsetenv("ANTLER_CPU"), 0);
}

static void test_single(void **state)
{
    (void)state;
    check_shapes(32);
}

static void test_double(void **state)
{
    (void)state;
    check_shapes(64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_single),
        cmocka_unit_test(test_double),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
