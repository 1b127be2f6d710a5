/* Many observed variables (reduce.h): every solver against the reference in double, and the thin QR factors.
 */
#include "solve_support.h"
#include "unit/check.h"

#include "model/thin_qr.h"

enum { SHAPES = FOR_RACES ? 24 : SANITIZED ? 60 : 240 };

static const char *const levels[] = {"base", "avx2", "avx512"};

/* Around the vectors, the blocks of 256 variables and the tiles of 16, 32 and 64 rows; below 64 or twice M
   nothing is reduced. */
static const size_t variables[] = {1, 33, 63, 64, 65, 80, 127, 128, 129, 255, 256, 257, 300, 513};
static const size_t latents[] = {1, 2, 3, 4, 5, 7, 10, 16, 17, 20};
static const size_t lengths[] = {1, 2, 3, 15, 16, 17, 31, 33, 63, 64, 65, 130};

#define ONE_OF(stream, list) list[ant_stream_below(stream, sizeof list / sizeof *list)]

/* most_rows: of all sequences together, so that a batch is smaller where sequences are longer. */
static problem random_shape(ant_stream *stream, uint64_t seed, size_t most_rows)
{
    ant_model_dims d = {.M = ONE_OF(stream, latents), .N = ONE_OF(stream, variables), .L = 1 + seed % 37};
    d.K = seed % 3 == 0 ? 2 : 0;
    d.rank = seed % 4 == 0 && d.L > 1 && d.M > 1 ? 2 : 0;
    d.clipped = seed % 5 == 0;
    const size_t T = ONE_OF(stream, lengths), wanted = seed % 2 == 0 ? 1 : 1 + seed % 18;
    const size_t batch = wanted * T <= most_rows ? wanted : most_rows / T;
    const size_t warmup = seed % 3 == 1 ? ant_stream_below(stream, T) : 0;
    const double alphas[] = {0.0, 1.0, 0.3};
    problem p = random_problem(d, T, batch, warmup, alphas[seed % 7 < 5 ? 2 : seed % 2], seed);
    p.interval = seed % 6 == 5 ? 3 : 0;
    for (size_t i = 0; i < d.N * d.M; i++) /* as large as four variables, so that states stay of size 1 */
        p.parameters[p.layout.B + i] *= d.N > 4 && i >= d.M * d.M ? 2.0 / sqrt((double)d.N) : 1.0;
    return p;
}

static ant_solve_options options_for(const problem *p, size_t i)
{
    const ant_solver solvers[] = {ANT_SOLVER_AUTO, ANT_SOLVER_SEQUENTIAL, ANT_SOLVER_SHOOTING};
    ant_solve_options o;
    ant_solve_options_default(&o);
    o.solver = solvers[i % 3];
    o.warmup = p->warmup;
    o.interval = p->interval;
    o.threads = 1 + (int)(i / 3 % 3);
    o.teacher = i / 9 % 2 ? ANT_TEACHER_STOP : ANT_TEACHER_FLOW;
    o.pieces = (ant_pieces)(i / 2 % 3);
    o.tolerance = 1e-10;
    if (o.solver == ANT_SOLVER_SHOOTING)
        o.segments = 1 + i % 20;
    o.lanes = o.segments >= 14;
    return o;
}

/* The reference in double. */
static answer expect(const problem *p, const ant_solve_options *options)
{
    ant_solve_options o = *options;
    o.solver = ANT_SOLVER_REFERENCE;
    o.threads = 1;
    answer a = solve(p, &o, 64, false);
    assert_int_equal(a.status, ANTLER_OK);
    return a;
}

static void check_near(const problem *p, const ant_solve_options *o, const answer *want, int bits,
                       size_t number)
{
    const double bound = bits == 64 ? 1e-9 : 1e-4;
    const ant_model_dims *d = &p->layout.dims;
    answer a = solve(p, o, bits, false);
    const double states = relative_error(a.states, want->states, p->batch * p->T * d->M);
    const double gradient = relative_error(a.gradient, want->gradient, p->layout.total);
    const double loss = fabs(a.report.loss / want->report.loss - 1.0);
    if (a.status != ANTLER_OK || !(states <= bound) || !(gradient <= bound) || !(loss <= bound))
        fail_msg("shape %zu: %s, M %zu N %zu L %zu K %zu rank %zu, T %zu batch %zu warmup %zu, threads %d "
                 "segments %zu teacher %d, %d bits, %s: states %g gradient %g loss %g",
                 number, ant_solver_name(o->solver), d->M, d->N, d->L, d->K, d->rank, p->T, p->batch,
                 p->warmup, o->threads, o->segments, (int)o->teacher, bits, a.report.kernels, states,
                 gradient, loss);
    answer_free(&a);
}

static void test_shapes(void **state)
{
    (void)state;
    ant_stream stream = ant_stream_open(7, 0, 0, ANT_PURPOSE_INITIAL_STATE);
    for (size_t i = 0; i < SHAPES; i++) {
        problem p = random_shape(&stream, i, SIZE_MAX);
        ant_solve_options o = options_for(&p, i);
        answer want = expect(&p, &o);
        assert_int_equal(setenv("ANTLER_CPU", levels[i % 3], 1), 0);
        check_near(&p, &o, &want, 64, i);
        check_near(&p, &o, &want, 32, i);
        unsetenv("ANTLER_CPU");
        answer_free(&want);
        problem_free(&p);
    }
}

/* Columns of B that depend on each other, or are 0: B+ has the rank of the reference. */
static void check_rank(bool missing)
{
    for (size_t i = 0; i < 6; i++) {
        const ant_model_dims d = {.M = 5, .N = 70, .L = 9};
        problem p = random_problem(d, 20, 2, 3, 0.4, i);
        for (size_t n = 0; n < d.N; n++) {
            double *row = p.parameters + p.layout.B + n * d.M;
            row[3] = i < 2 ? row[0] - 2.0 * row[1] : row[3];
            row[0] = i % 3 == 0 ? 0.0 : row[0];
            for (size_t m = 0; m < d.M && i == 5; m++)
                row[m] = 0.0;
        }
        ant_solve_options o = options_for(&p, 9 * (i % 2));
        for (size_t k = 0; k < 40 && missing; k++)
            p.x[(k * 61 + i) % (p.batch * (p.T + 1) * d.N)] = NAN;
        o.patterns = missing ? SIZE_MAX : 0;
        o.solver = ANT_SOLVER_SEQUENTIAL;
        o.pieces = (ant_pieces)(i % 3);
        answer want = expect(&p, &o);
        check_near(&p, &o, &want, 64, 1000 + i);
        check_near(&p, &o, &want, i == 5 || i == 2 ? 32 : 64, 1000 + i);
        answer_free(&want);
        problem_free(&p);
    }
}

static void test_rank(void **state)
{
    (void)state;
    check_rank(false);
    check_rank(true);
}

/* The bytes do not depend on the number of threads, nor on what was computed before. */
static void test_same_bits(void **state)
{
    (void)state;
    const size_t less = SANITIZED ? 4 : 1; /* the reference decomposes a matrix for every row */
    const size_t sizes[][4] = {{20, 300, 40 / less, 9}, {5, 64, 3000 / less, 1}, {10, 600, 100 / less, 17}};
    for (size_t i = 0; i < 24; i++) {
        const size_t *k = sizes[i / 2 % 3];
        const ant_model_dims d = {.M = k[0], .N = k[1], .L = 30};
        problem p = random_problem(d, k[2], k[3], 5, 0.3, 3);
        ant_solve_options o = options_for(&p, 0);
        o.warmup = 5;
        o.teacher = i % 2 ? ANT_TEACHER_STOP : ANT_TEACHER_FLOW;
        o.segments = 2;
        o.threads = 3;
        for (size_t n = 0; n < p.batch * (p.T + 1) * d.N && i >= 12; n += 50 + n % 97)
            p.x[n] = NAN;
        o.patterns = i >= 12 ? SIZE_MAX : 0;
        const int bits = i % 12 < 6 ? 32 : 64;
        answer a = solve(&p, &o, bits, true);
        assert_int_equal(a.status, ANTLER_OK);
        assert_true(a.agreement.gradient <= (bits == 64 ? 1e-9 : 1e-3));
        for (o.threads = 1; o.threads <= 2; o.threads++) {
            o.patterns =
                i >= 12 || o.threads == 2 ? SIZE_MAX : 0; /* without gaps the bytes of complete data */
            answer b = solve(&p, &o, bits, false);
            assert_memory_equal(a.gradient, b.gradient, p.layout.total * sizeof *a.gradient);
            assert_memory_equal(a.states, b.states, p.batch * p.T * d.M * sizeof *a.states);
            assert_true(a.report.loss == b.report.loss);
            answer_free(&b);
        }
        answer_free(&a);
        problem_free(&p);
    }
}

/* Rows that lack values, among many variables. */
static void test_missing(void **state)
{
    (void)state;
    for (size_t i = 0; i < 12; i++) {
        const ant_model_dims d = {.M = 4 + i % 3 * 8, .N = 65 + i, .L = 12};
        problem p = random_problem(d, 17, 1 + i % 3, i % 5, 0.4, i);
        for (size_t k = i; k < p.batch * (p.T + 1) * d.N; k += 1 + k * k % 97)
            p.x[k] = NAN;
        for (size_t n = 0; n < d.N; n++)
            p.x[5 * d.N + n] = NAN;
        ant_solve_options o = options_for(&p, i % 3 + 9 * (i % 2));
        o.patterns = SIZE_MAX;
        answer want = expect(&p, &o);
        check_near(&p, &o, &want, 64, 2000 + i);
        check_near(&p, &o, &want, 32, 2000 + i);
        answer_free(&want);
        problem_free(&p);
    }
}

typedef enum loss_of { FEW, MANY, CHANNELS, ROWS, ONE_ROW, NEARLY_ALL, KINDS } loss_of;

/* Loses values of one sequence: single ones, some variables of the later half, whole rows, or nearly all of
   some rows, which then have fewer than M variables or about as many.  x: (rows, N) */
static void lose(ant_stream *stream, loss_of kind, size_t rows, size_t N, size_t M, double *x)
{
    const double shares[KINDS] = {0.01, 0.3, 0.2, 0.3, 0.1, 0.0};
    const size_t one = ant_stream_below(stream, rows);
    for (size_t t = 0; t < rows; t++) {
        const bool row = ant_stream_uniform(stream) < shares[kind];
        const bool bare = kind == NEARLY_ALL && t % 3 == 1;
        for (size_t n = 0; n < N; n++) {
            const bool single = ant_stream_uniform(stream) < shares[kind];
            const bool gone = kind == ROWS       ? row
                              : kind == CHANNELS ? n % 5 == 1 && 2 * t >= rows
                              : kind == ONE_ROW  ? t == one && single
                              : bare             ? n + 1 >= M + t / 3 % 3
                                                 : single;
            x[t * N + n] = gone ? (double)NAN : x[t * N + n];
        }
    }
}

/* A value after the warm-up is observed. */
static void keep_one(problem *p)
{
    const size_t last = (p->batch * (p->T + 1) - 1) * p->layout.dims.N;
    p->x[last] = isnan(p->x[last]) ? 0.25 : p->x[last];
}

static void test_masks(void **state)
{
    (void)state;
    ant_stream stream = ant_stream_open(17, 0, 0, ANT_PURPOSE_INITIAL_STATE);
    for (size_t i = 0; i < SHAPES; i++) {
        problem p = random_shape(&stream, i, 340); /* the reference decomposes a matrix for each row */
        const size_t row = (p.T + 1) * p.layout.dims.N;
        for (size_t k = 0; k < p.batch; k++) /* some sequences stay complete */
            if (k % 4 != 3)
                lose(&stream, (loss_of)((i + k) % KINDS), p.T + 1, p.layout.dims.N, p.layout.dims.M,
                     p.x + k * row);
        keep_one(&p);
        ant_solve_options o = options_for(&p, i);
        o.solver = i % 16 == 15 ? ANT_SOLVER_DEER : o.solver;
        o.patterns = SIZE_MAX;
        answer want = expect(&p, &o);
        assert_int_equal(setenv("ANTLER_CPU", levels[i % 3], 1), 0);
        check_near(&p, &o, &want, 64, 4000 + i);
        check_near(&p, &o, &want, 32, 4000 + i);
        unsetenv("ANTLER_CPU");
        answer_free(&want);
        problem_free(&p);
    }
}

/* What is not finite in B or in the data is reported, and the next call is as good as the first. */
static void test_not_finite(void **state)
{
    (void)state;
    const ant_model_dims d = {.M = 3, .N = 70, .L = 8};
    problem p = random_problem(d, 12, 2, 0, 0.4, 1);
    ant_solve_options o = options_for(&p, 0);
    for (size_t i = 0; i < 6; i++) {
        double *value = i / 2 == 0 ? &p.parameters[p.layout.B + 70] : &p.x[700];
        const double kept = *value;
        *value = i % 2 == 0 && i < 4 ? (double)NAN : (double)INFINITY;
        if (i ==
            4) /* with values that may be missing: a NaN is, and what is not finite by other ways is not */
            p.x[3] = (double)NAN;
        if (i == 5)
            value[1] = value[2] = (double)INFINITY;
        o.patterns = i >= 4 ? SIZE_MAX : 0;
        answer a = solve(&p, &o, 64, false);
        assert_int_equal(a.status, ANTLER_NON_FINITE);
        answer_free(&a);
        *value = kept;
    }
    p.x[701] = p.x[702] = 0.5;
    answer want = expect(&p, &o);
    check_near(&p, &o, &want, 64, 3000);
    answer_free(&want);
    problem_free(&p);
}

/* ---- the thin QR factors ------------------------------------------------------------------------------- */

/* q^T q = I, q r = a to rounding, and r is triangular.  a: (rows, cols) */
static void check_factors(size_t rows, size_t cols, const double *a)
{
    const size_t width = ant_thin_qr_width(rows);
    double *qt = aligned_alloc(64, cols * width * sizeof *qt), *r = get(cols * cols, sizeof *r);
    double *work = get(cols, sizeof *work), most = largest(a, rows * cols);
    assert_non_null(qt);
    CHECK_OK(ant_thin_qr(rows, cols, a, qt, r, work));
    for (size_t i = 0; i < cols; i++) {
        for (size_t j = 0; j < cols; j++) {
            double dot = 0.0;
            for (size_t n = 0; n < width; n++)
                dot += qt[i * width + n] * qt[j * width + n];
            assert_true(fabs(dot - (i == j)) < 1e-13);
            assert_true(j >= i || r[i * cols + j] == 0.0);
        }
    }
    for (size_t n = 0; n < rows; n++) {
        for (size_t j = 0; j < cols; j++) {
            double sum = 0.0;
            for (size_t k = 0; k < cols; k++)
                sum += qt[k * width + n] * r[k * cols + j];
            assert_true(fabs(sum - a[n * cols + j]) <= 1e-14 * sqrt((double)rows) * most);
        }
    }
    free(qt);
    free(r);
    free(work);
}

static void test_factors(void **state)
{
    (void)state;
    ant_stream stream = ant_stream_open(9, 0, 0, ANT_PURPOSE_INITIAL_STATE);
    const size_t sizes[][2] = {{1, 1}, {7, 7}, {8, 3}, {33, 16}, {64, 5}, {129, 20}, {500, 40}};
    const double scales[] = {1.0, 1e-300, 1e300, 1e-160};
    for (size_t i = 0; i < 3 * sizeof sizes / sizeof *sizes; i++) {
        const size_t rows = sizes[i / 3][0], cols = sizes[i / 3][1];
        double *a = get(rows * cols, sizeof *a);
        assert_int_equal(setenv("ANTLER_CPU", levels[i % 3], 1), 0);
        for (size_t kind = 0; kind < 6; kind++) {
            ant_stream_normals(&stream, a, rows * cols);
            for (size_t k = 0; k < rows * cols; k++) {
                const size_t n = k / cols, j = k % cols;
                a[k] *= scales[kind < 4 ? kind : 0];
                if (kind == 4) /* nearly parallel columns, of which some are 0 */
                    a[k] = j % 5 == 4 ? 0.0 : a[n * cols] + (j > 0 ? 1e-12 * a[k] : 0.0);
                if (kind == 5) /* columns of very different sizes */
                    a[k] *= pow(10.0, -7.0 * (double)j);
            }
            check_factors(rows, cols, a);
        }
        memset(a, 0, rows * cols * sizeof *a);
        check_factors(rows, cols, a);
        unsetenv("ANTLER_CPU");
        free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),  cmocka_unit_test(test_rank),  cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_missing), cmocka_unit_test(test_masks), cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_factors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
