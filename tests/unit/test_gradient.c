/* The gradient of the loss by central differences, for every parameter and every variant of the model. */
#include "solve_support.h"

/* interval: of sparse forcing; 0: every step is forced with alpha */
static void check_differences(ant_model_dims dims, size_t warmup, size_t interval, double alpha,
                              uint64_t seed)
{
    problem p = random_problem(dims, 12, 2, warmup, alpha, seed);
    ant_solve_options o;
    ant_solve_options_default(&o);
    o.solver = ANT_SOLVER_REFERENCE;
    o.warmup = warmup;
    o.interval = interval;
    answer a = solve(&p, &o, 64, false);
    assert_int_equal(a.status, ANTLER_OK);
    const double scale = largest(a.gradient, p.layout.total);
    size_t wrong = 0;
    for (size_t i = 0; i < p.layout.total; i++) {
        const double step = 1e-6, keep = p.parameters[i];
        p.parameters[i] = keep + step;
        const double up = loss_at(&p, &o);
        p.parameters[i] = keep - step;
        const double down = loss_at(&p, &o);
        p.parameters[i] = keep;
        wrong += !(fabs((up - down) / (2 * step) - a.gradient[i]) < 2e-7 * (1.0 + scale));
    }
    if (wrong > 0)
        fail_msg(
            "M %zu N %zu L %zu K %zu rank %zu clipped %d warmup %zu interval %zu alpha %g: %zu of %zu differ",
            dims.M, dims.N, dims.L, dims.K, dims.rank, dims.clipped, warmup, interval, alpha, wrong,
            p.layout.total);
    answer_free(&a);
    problem_free(&p);
}

static void test_every_parameter(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (size_t N = 1; N <= 5; N += 2) { /* M = 3: N < M, N = M, N > M */
        for (int variant = 0; variant < 16; variant++) {
            const ant_model_dims dims = {.M = 3,
                                         .N = N,
                                         .L = 6,
                                         .K = variant & 1 ? 2 : 0,
                                         .rank = variant & 2 ? 2 : 0,
                                         .clipped = variant & 4,
                                         .free_diagonal = variant & 8};
            check_differences(dims, 0, 0, 0.3, seed++);
            check_differences(dims, 4, 0, 0.15, seed++);
            check_differences(dims, variant & 1 ? 5 : 0, 3, 0.15, seed++);
        }
    }
    check_differences((ant_model_dims){.M = 1, .N = 1, .L = 1}, 0, 0, 0.5, seed++);
    check_differences((ant_model_dims){.M = 4, .N = 2, .L = 5}, 11, 0, 0.0, seed++);
    check_differences((ant_model_dims){.M = 4, .N = 2, .L = 5}, 0, 0, 1.0, seed++);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_parameter)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
