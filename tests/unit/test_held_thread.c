/*
 * Two threads on one sequence, one of which is held up after every block of steps that it has finished: what
 * the other does meanwhile must not change a bit.  The linker puts __wrap_ant_counter_set before
 * ant_counter_set.
 */
#include "base/team.h"
#include "solve_support.h"
#include "unit/check.h"

#include <time.h>

void __real_ant_counter_set(ant_counter *counter, size_t value);
void __wrap_ant_counter_set(ant_counter *counter, size_t value);

static bool holding;
static atomic_size_t held; /* times */

/* The news are out, and whoever told them does not go on for a while. */
void __wrap_ant_counter_set(ant_counter *counter, size_t value)
{
    __real_ant_counter_set(counter, value);
    if (holding) {
        atomic_fetch_add(&held, 1);
        nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL);
    }
}

/* Unforced units that hardly couple to the rest and remember for 150 steps: the first thread follows the
 * second through several blocks until they merge. */
static problem forgets_late(size_t T)
{
    const ant_model_dims d = {.M = 5, .N = 3, .L = 24};
    problem p = random_problem(d, T, 1, 0, 0.2, 21);
    for (size_t m = d.N; m < d.M; m++) {
        p.parameters[p.layout.Abar + m] = atanh(1.0 - 1.0 / 150.0);
        p.parameters[p.layout.h + m] /= 150.0;
        for (size_t l = 0; l < d.L; l++)
            p.parameters[p.layout.W + m * d.L + l] *= 0.1 / 150.0;
        for (size_t n = 0; n < d.N; n++)
            p.parameters[p.layout.B + n * d.M + m] = 0.0;
    }
    return p;
}

static void test_held_thread(void **state)
{
    (void)state;
    problem p = forgets_late(8000);
    ant_solve_options o;
    ant_solve_options_default(&o);
    o.solver = ANT_SOLVER_SHOOTING;
    o.pieces = ANT_PIECES_ALWAYS;
    o.segments = 2;
    for (int bits = 32; bits <= 64; bits += 32) {
        o.threads = 1;
        answer a = solve(&p, &o, bits, false);
        assert_int_equal(a.report.segments, 2);
        assert_in_range(a.report.repeated_steps, 600, p.T / 2);
        holding = true;
        for (int turn = 0; turn < 5; turn++) {
            o.threads = 2;
            answer b = solve(&p, &o, bits, false);
            assert_memory_equal(a.states, b.states, p.T * p.layout.dims.M * sizeof(double));
            assert_memory_equal(a.gradient, b.gradient, p.layout.total * sizeof(double));
            answer_free(&b);
        }
        holding = false;
        answer_free(&a);
    }
    assert_true(atomic_load(&held) > 0);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_held_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
