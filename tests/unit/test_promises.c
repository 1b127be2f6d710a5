/*
 * test_promises.c - every instruction set x threads x solver x precision x kind of model against the
 * reference, by the table in docs/solvers.md, which says where results have the same bytes and how far they
 * are from the reference.
 *
 * The reference is solver: reference in double, on one thread.  A difference is the largest of states, loss
 * and gradient, each relative to the largest value of the reference.
 */
#include "base/machine.h"
#include "base/random.h"

#include "unit/check.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROWS_MOST = 32, THREADS_MOST = 3, LEVELS = 3 };

/* ---- the table ----------------------------------------------------------------------------------------- */

typedef struct promise {
    char kind[32], solver[32];
    bool same_threads, same_levels; /* same bytes on other numbers of threads, with other instruction sets */
    double bound[2];                /* float, double */
    size_t used;
} promise;

static promise table[ROWS_MOST];
static size_t table_rows;

/* "| `lssm` | `scan` | same bytes | within the bound | 1e-3 | 1e-9 |" */
static bool read_row(const char *line, promise *p)
{
    char threads[32], levels[32];
    if (sscanf(line, "| `%31[^`]` | `%31[^`]` | %31[^|]| %31[^|]| %lf | %lf |", p->kind, p->solver, threads,
               levels, &p->bound[0], &p->bound[1]) != 6)
        return false;
    p->same_threads = strcmp(threads, "same bytes ") == 0;
    p->same_levels = strcmp(levels, "same bytes ") == 0;
    assert_true(p->same_threads || strcmp(threads, "within the bound ") == 0);
    assert_true(p->same_levels || strcmp(levels, "within the bound ") == 0);
    p->used = 0;
    return true;
}

static int read_table(void **state)
{
    (void)state;
    char line[512];
    bool inside = false;
    FILE *page = fopen(TEST_DATA "/../docs/solvers.md", "r");
    if (page == NULL)
        return 1;
    while (fgets(line, sizeof line, page) != NULL) {
        inside = inside ? line[0] == '|' : strncmp(line, "| kind | solver | other threads |", 33) == 0;
        if (inside && table_rows < ROWS_MOST)
            table_rows += read_row(line, &table[table_rows]);
    }
    fclose(page);
    return table_rows == 0;
}

static promise *find_promise(const char *kind, const char *solver)
{
    for (size_t i = 0; i < table_rows; i++) {
        if (strcmp(table[i].kind, kind) == 0 && strcmp(table[i].solver, solver) == 0) {
            table[i].used++;
            return &table[i];
        }
    }
    fail_msg("docs/solvers.md has no row for %s, %s", kind, solver);
    return NULL;
}

/* ---- problems ------------------------------------------------------------------------------------------ */

/* Sizes that are awkward: one step, a step more or less than the tiles of 16 and 64 have, one unit, fewer
   units than variables, inputs, many variables, and latent units of which vectors hold several rows. Segments
   are for solvers that cut time. */
typedef struct shape {
    size_t M, L, N, K, T, batch, warmup, segments;
    bool gaps; /* values are missing */
} shape;

static const shape shapes[] = {
    {3, 5, 2, 0, 1, 1, 0, 1, false},     {3, 5, 2, 0, 15, 1, 3, 2, false},
    {4, 9, 2, 0, 16, 2, 0, 3, false},    {5, 16, 3, 0, 17, 1, 4, 4, false},
    {1, 3, 1, 0, 63, 1, 7, 5, false},    {2, 7, 4, 0, 64, 1, 0, 2, false},
    {4, 17, 3, 2, 65, 3, 20, 3, false},  {3, 8, 3, 1, 33, 9, 1, 1, false},
    {10, 20, 6, 0, 40, 1, 5, 2, false},  {6, 33, 2, 0, 128, 2, 64, 4, false},
    {5, 40, 3, 0, 100, 21, 0, 1, false}, {4, 12, 3, 1, 50, 35, 9, 1, true},
    {3, 20, 65, 1, 40, 3, 5, 2, false},  {6, 30, 150, 0, 33, 17, 0, 1, false},
    {17, 20, 18, 0, 17, 8, 0, 1, false}, {20, 25, 21, 1, 18, 15, 2, 1, true},
};

/* Long enough for segments in SIMD lanes, for two threads on one sequence, and for several on piece kernels.
 */
static const shape long_shapes[] = {
    {3, 5, 2, 0, 4096, 1, 0, 1, false},     {3, 5, 2, 0, 8192, 1, 100, 2, false},
    {6, 40, 5, 0, 4097, 1, 1000, 2, false}, {10, 64, 6, 1, 4096, 1, 2048, 3, false},
    {5, 40, 3, 0, 2500, 2, 0, 4, false},    {4, 20, 3, 0, 4096, 1, 7, 3, true},
};

typedef struct answer {
    size_t states, gradient; /* numbers */
    double *z; /* (batch, T, M) of forced models, empty for others; then the gradient, then the loss */
} answer;

static size_t numbers(const answer *a)
{
    return a->states + a->gradient + 1;
}

/* parameters: (total), drawn here; no weight is 0 */
static void draw_parameters(antler_problem *problem, double *parameters)
{
    const size_t total = antler_problem_parameter_total(problem);
    ant_stream stream = ant_stream_open(77, 0, 0, ANT_PURPOSE_INITIAL_STATE);
    for (size_t i = 0; i < total; i++)
        parameters[i] = 0.3 * (2.0 * ant_stream_uniform(&stream) - 1.0);
    antler_problem_set_parameters(problem, parameters);
}

static void give_data(antler_problem *problem, const shape *c)
{
    const size_t rows = c->batch * (c->T + 1) * c->N, in = c->batch * c->T * c->K;
    double *x = malloc(rows * sizeof *x), *inputs = malloc((in + 1) * sizeof *inputs);
    assert_true(x != NULL && inputs != NULL);
    for (size_t i = 0; i < rows; i++)
        x[i] = sin(0.13 * (double)i) + 0.5 * cos(0.71 * (double)i);
    for (size_t i = 3; c->gaps && i < rows; i += i % 11 + 1)
        x[i] = NAN;
    for (size_t i = 0; i < in; i++)
        inputs[i] = cos(0.29 * (double)i);
    antler_problem_set_data(problem, x, c->K > 0 ? inputs : NULL);
    free(x);
    free(inputs);
}

static antler_settings settings_of(const shape *c, antler_model_kind_id kind, antler_solver solver,
                                   antler_precision precision, size_t threads)
{
    antler_settings s;
    antler_settings_default(&s);
    s.model = kind;
    s.solver = solver;
    s.precision = precision;
    s.threads = threads;
    s.device = ANTLER_DEVICE_CPU;
    s.latent_dim = kind == ANTLER_MODEL_MAMBA2 ? (c->M + 3) / 4 * 4 : c->M; /* its heads divide it */
    s.hidden_dim = c->L;
    s.sequence_length = c->T;
    s.batch_size = c->batch;
    s.warmup = c->warmup;
    s.validation = 0.0;
    if (kind == ANTLER_MODEL_SHPLRNN) {
        s.gtf_alpha = 0.4;
        s.fallback = false; /* it would hide a solver that fails */
        s.max_iterations = 500;
        s.segments =
            solver == ANTLER_SOLVER_REFERENCE || solver == ANTLER_SOLVER_SEQUENTIAL ? 1 : c->segments;
    }
    return s;
}

/* States, gradient and loss of one call, in memory that the caller frees. */
static answer solve(const shape *c, const antler_settings *s)
{
    antler_problem *problem = NULL;
    antler_solve_report report;
    CHECK_OK(antler_problem_create(s, c->N, c->K, &problem));
    answer a = {.states = s->model == ANTLER_MODEL_SHPLRNN ? c->batch * c->T * c->M : 0,
                .gradient = antler_problem_parameter_total(problem)};
    a.z = calloc(numbers(&a), sizeof *a.z);
    assert_non_null(a.z);
    draw_parameters(problem, a.z);
    give_data(problem, c);
    CHECK_OK(antler_problem_solve(problem, &report));
    assert_int_equal(report.outcome, ANTLER_OK);
    for (size_t i = 0; a.states > 0 && i < c->batch; i++)
        antler_problem_states(problem, i, a.z + i * c->T * c->M);
    antler_problem_gradient(problem, a.z + a.states);
    a.z[a.states + a.gradient] = report.loss;
    antler_problem_free(problem);
    return a;
}

/* The largest difference of a part, relative to the largest value of the reference. */
static double part_differs(const double *got, const double *want, size_t count)
{
    double gap = 0.0, scale = 1e-300;
    for (size_t i = 0; i < count; i++) {
        gap = fmax(gap, isfinite(got[i]) ? fabs(got[i] - want[i]) : INFINITY);
        scale = fmax(scale, fabs(want[i]));
    }
    return gap / scale;
}

static double differs(const answer *got, const answer *want)
{
    const size_t end = want->states + want->gradient;
    return fmax(fmax(part_differs(got->z, want->z, want->states),
                     part_differs(got->z + want->states, want->z + want->states, want->gradient)),
                part_differs(got->z + end, want->z + end, 1));
}

/* ---- comparison ---------------------------------------------------------------------------------------- */

static const char *const levels[LEVELS] = {"base", "avx2", "avx512"};
static const char *const solver_names[] = {"auto",       "reference", "sequential", "deer",
                                           "quasi-deer", "shooting",  "scan"};
static const char *const kind_names[] = {"shplrnn", "lssm", "mamba2"};
static double worst[ROWS_MOST][2]; /* found, by row of the table and precision */

static void check_same(const answer *a, const answer *b, const promise *p, const char *what,
                       size_t shape_number)
{
    if (memcmp(a->z, b->z, numbers(a) * sizeof *a->z) != 0)
        fail_msg("%s, %s, shape %zu: %s give other bytes", p->kind, p->solver, shape_number, what);
}

/* Without a sanitizer all are compared.  One needs each code, but not each with each: of memory, each vector,
   and three threads with the narrowest; of races, several threads and the narrowest and widest vectors. */
static bool left_out(size_t level, size_t threads)
{
    return FOR_RACES ? threads == 1 || level == 1
                     : SANITIZED && (threads == 2 || (threads == 3 && level > 0));
}

/* One solver and precision on one shape, with every instruction set and number of threads. */
static void check_solver(const shape *c, size_t shape_number, antler_model_kind_id kind, antler_solver solver,
                         antler_precision precision, const answer *reference)
{
    promise *p = find_promise(kind_names[kind], solver_names[solver]);
    answer found[LEVELS][THREADS_MOST] = {{{0}}};
    const size_t first = FOR_RACES ? 2 : 1; /* whose bytes the others have */
    for (size_t level = 0; level < LEVELS; level++) {
        assert_int_equal(setenv("ANTLER_CPU", levels[level], 1), 0);
        for (size_t threads = 1; threads <= THREADS_MOST; threads++) {
            if (left_out(level, threads))
                continue;
            const antler_settings s = settings_of(c, kind, solver, precision, threads);
            answer *a = &found[level][threads - 1];
            *a = solve(c, &s);
            const double gap = differs(a, reference);
            worst[p - table][precision] = fmax(worst[p - table][precision], gap);
            if (!(gap <= p->bound[precision]))
                fail_msg("%s, %s, %s, %zu threads, %d bits, shape %zu: differs by %g, above %g", p->kind,
                         p->solver, levels[level], threads, precision == ANTLER_PRECISION_FLOAT ? 32 : 64,
                         shape_number, gap, p->bound[precision]);
            if (p->same_threads)
                check_same(a, &found[level][first - 1], p, "other numbers of threads", shape_number);
            if (p->same_levels)
                check_same(a, &found[0][threads - 1], p, "other instruction sets", shape_number);
        }
    }
    for (size_t level = 0; level < LEVELS; level++) {
        for (size_t threads = 0; threads < THREADS_MOST; threads++)
            free(found[level][threads].z);
    }
}

/* All these solvers on one shape, beside plain steps in double. */
static void check_shape(const shape *c, size_t number, antler_model_kind_id kind,
                        const antler_solver *solvers, size_t count)
{
    assert_int_equal(setenv("ANTLER_CPU", "base", 1), 0);
    const antler_settings s = settings_of(c, kind, ANTLER_SOLVER_REFERENCE, ANTLER_PRECISION_DOUBLE, 1);
    answer reference = solve(c, &s);
    for (size_t k = 0; k < count; k++) {
        check_solver(c, number, kind, solvers[k], ANTLER_PRECISION_FLOAT, &reference);
        check_solver(c, number, kind, solvers[k], ANTLER_PRECISION_DOUBLE, &reference);
    }
    free(reference.z);
}

static void check_kind(antler_model_kind_id kind, const antler_solver *solvers, size_t count)
{
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        if (kind == ANTLER_MODEL_SHPLRNN || !shapes[i].gaps) /* linear models: plain steps, by any solver */
            check_shape(&shapes[i], i, kind, solvers, count);
    }
}

static void test_shplrnn(void **state)
{
    (void)state;
    const antler_solver solvers[] = {ANTLER_SOLVER_AUTO, ANTLER_SOLVER_REFERENCE,  ANTLER_SOLVER_SEQUENTIAL,
                                     ANTLER_SOLVER_DEER, ANTLER_SOLVER_QUASI_DEER, ANTLER_SOLVER_SHOOTING};
    check_kind(ANTLER_MODEL_SHPLRNN, solvers, sizeof solvers / sizeof solvers[0]);
}

static void test_long_sequences(void **state)
{
    (void)state;
    const antler_solver solvers[] = {ANTLER_SOLVER_AUTO, ANTLER_SOLVER_SEQUENTIAL, ANTLER_SOLVER_SHOOTING};
    for (size_t i = 0; i < sizeof long_shapes / sizeof long_shapes[0]; i++)
        check_shape(&long_shapes[i], 100 + i, ANTLER_MODEL_SHPLRNN, solvers,
                    sizeof solvers / sizeof solvers[0]);
}

static void test_lssm(void **state)
{
    (void)state;
    const antler_solver solvers[] = {ANTLER_SOLVER_AUTO, ANTLER_SOLVER_REFERENCE, ANTLER_SOLVER_SCAN};
    check_kind(ANTLER_MODEL_LSSM, solvers, sizeof solvers / sizeof solvers[0]);
}

static void test_mamba2(void **state)
{
    (void)state;
    const antler_solver solvers[] = {ANTLER_SOLVER_AUTO, ANTLER_SOLVER_REFERENCE, ANTLER_SOLVER_SCAN};
    check_kind(ANTLER_MODEL_MAMBA2, solvers, sizeof solvers / sizeof solvers[0]);
}

/* Every row was tested, and no bound is so wide that it says nothing: the worst difference is within 1/1000
 * of it. */
static void test_the_table_is_used_and_tight(void **state)
{
    (void)state;
    for (size_t i = 0; i < table_rows; i++) {
        printf("%-8s %-10s float %8.1e double %8.1e\n", table[i].kind, table[i].solver, worst[i][0],
               worst[i][1]);
        assert_true(table[i].used > 0);
    }
    for (size_t i = 0; i < table_rows; i++) {
        for (size_t k = 0; k < 2; k++)
            assert_true(table[i].bound[k] == 0.0 || worst[i][k] >= 1e-4 * table[i].bound[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shplrnn),
        cmocka_unit_test(test_long_sequences),
        cmocka_unit_test(test_lssm),
        cmocka_unit_test(test_mamba2),
        cmocka_unit_test(test_the_table_is_used_and_tight),
    };
    return cmocka_run_group_tests_name("promises", tests, read_table, NULL);
}
