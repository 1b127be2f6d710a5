/*
 * Mamba-2 on the GPU engine with the fake driver, which runs the kernels of mamba2.cu on the CPU: loss and
 * gradient against plain steps around the lengths of segments.
 */
#include "solve_support.h"
#include "unit/training.h"

static antler_settings settings_for(const problem *p, int bits)
{
    antler_settings s;
    antler_settings_default(&s);
    s.model = ANTLER_MODEL_MAMBA2;
    s.device = ANTLER_DEVICE_CUDA;
    s.precision = bits == 64 ? ANTLER_PRECISION_DOUBLE : ANTLER_PRECISION_FLOAT;
    s.latent_dim = p->layout.dims.M;
    s.hidden_dim = p->layout.dims.L;
    s.sequence_length = p->T;
    s.batch_size = p->batch;
    s.warmup = p->warmup;
    s.threads = 1;
    return s;
}

typedef struct gpu_answer {
    double loss, states, slopes; /* relative differences from plain steps in double */
    double *gradient;            /* (total) */
} gpu_answer;

static gpu_answer solve_on_gpu(const problem *p, int bits)
{
    const antler_settings s = settings_for(p, bits);
    antler_problem *on_gpu = NULL;
    antler_solve_report report;
    gpu_answer a = {.gradient = get(p->layout.total, sizeof(double))};
    CHECK_OK(antler_problem_create(&s, p->layout.dims.N, p->layout.dims.K, &on_gpu));
    assert_non_null(strstr(antler_problem_choice(on_gpu), "scan on the GPU"));
    antler_problem_set_parameters(on_gpu, p->parameters);
    antler_problem_set_data(on_gpu, p->x, p->s);
    CHECK_OK(antler_problem_check(on_gpu, &report, &a.states, &a.slopes));
    antler_problem_gradient(on_gpu, a.gradient);
    a.loss = report.loss;
    assert_int_equal(report.iterations, 0);
    antler_problem_free(on_gpu);
    return a;
}

static void check_problem(const problem *p, int bits)
{
    ant_solve_options o;
    ant_solve_options_default(&o);
    o.solver = ANT_SOLVER_REFERENCE;
    o.warmup = p->warmup;
    answer plain = solve(p, &o, 64, false);
    gpu_answer a = solve_on_gpu(p, bits);
    const double tolerance = bits == 64 ? 1e-10 : 3e-4, loss = fabs(a.loss / plain.report.loss - 1.0);
    if (!(a.states < tolerance && a.slopes < tolerance && loss < tolerance))
        fail_msg("D %zu, T %zu, batch %zu, warm-up %zu, %d bits: states %g, gradient %g, loss %g",
                 p->layout.dims.M, p->T, p->batch, p->warmup, bits, a.states, a.slopes, loss);
    free(a.gradient);
    answer_free(&plain);
}

typedef struct length {
    size_t T, batch, warmup;
} length;

static void check_lengths(ant_model_dims dims, int bits, const length *lengths, size_t count)
{
    dims.kind = ANT_MODEL_MAMBA2;
    for (size_t i = 0; i < count; i++) {
        problem p = random_problem(dims, lengths[i].T, lengths[i].batch, lengths[i].warmup, 0.0,
                                   100 * lengths[i].T + dims.M);
        check_problem(&p, bits);
        problem_free(&p);
    }
}

/* Segments have 28 steps in double, and 60 in float. */
static void same_as_plain_steps_in_double(void **state)
{
    (void)state;
    /* the last one has more segments than blocks that fit */
    static const length lengths[] = {{1, 1, 0}, {27, 1, 26}, {28, 2, 10}, {29, 1, 0}, {60, 6, 10}};
    static const length more[] = {{57, 1, 30}};
    check_lengths((ant_model_dims){.M = 4, .N = 1, .L = 5, .K = 1}, 64, lengths, 5);
    check_lengths((ant_model_dims){.M = 16, .N = 6, .L = 128}, 64, more, 1);
}

static void same_as_plain_steps_in_float(void **state)
{
    (void)state;
    static const length lengths[] = {{1, 2, 0}, {59, 1, 20}, {60, 1, 0}, {61, 1, 60}, {150, 1, 70}};
    static const length more[] = {{61, 1, 0}};
    check_lengths((ant_model_dims){.M = 12, .N = 3, .L = 37, .K = 2}, 32, lengths, 5);
    check_lengths((ant_model_dims){.M = 32, .N = 6, .L = 128}, 32, more, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_plain_steps_in_double),
        cmocka_unit_test(same_as_plain_steps_in_float),
    };
    return cmocka_run_group_tests(tests, use_fake, NULL);
}
