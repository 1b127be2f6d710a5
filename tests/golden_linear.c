/* golden_linear.c - golden cases of models that are linear in their state: lssm and mamba2. */
#include "golden_solve.h"

#include "model/runner.h"

#include <stdio.h>
#include <string.h>

static bool model_is(const golden_case *c, const char *model)
{
    char word[64];
    return golden_word(c, "model", word, sizeof word) && strcmp(word, model) == 0;
}

/* Training: states where the folder has them, loss, and every gradient. */
static void check_solver(golden_case *c, const problem *p, ant_solver solver, int bits)
{
    char how[64];
    ant_solve_options o;
    ant_solve_options_default(&o);
    o.solver = solver;
    o.warmup = p->warmup;
    snprintf(how, sizeof how, "%s, %s", ant_solver_name(solver), bits == 64 ? "double" : "float");
    answer a = solve(p, &o, bits, false);
    golden_array loss = golden_load(c, "loss"), z = {0};
    if (golden_has(c, "z"))
        z = golden_load(c, "z");
    if (a.status != ANTLER_OK)
        golden_broken(c, "%s: %s", how, antler_message());
    if (!c->broken && z.values != NULL)
        golden_compare(c, "z", how, a.states, z.values, z.count, golden_tolerance(bits));
    if (!c->broken)
        golden_compare(c, "loss", how, &a.report.loss, loss.values, 1, golden_tolerance(bits));
    golden_compare_gradient(c, "grad", how, &p->layout, a.gradient, bits);
    golden_free(&z);
    golden_free(&loss);
    answer_free(&a);
}

/* Step by step, as free runs do it: xhat_t after a warm-up on x_0 .. x_{t-1}. */
static void check_predictions(golden_case *c, const problem *p)
{
    const ant_model_dims *d = &p->layout.dims;
    antler_model *model = golden_model(c, "param_");
    ant_runner *runner = NULL;
    golden_array want = golden_load(c, "xhat");
    if (!c->broken && ant_runner_create(model, &runner) != ANTLER_OK)
        golden_broken(c, "%s", antler_message());
    if (!c->broken) {
        double *state = get(2 * runner->n, sizeof *state), *got = get(p->T * d->N, sizeof *got),
               *inputs = get((p->T + 1) * d->K, sizeof *inputs); /* row t beside x_t */
        memcpy(inputs + d->K, p->s, p->T * d->K * sizeof *inputs);
        for (size_t t = 1; t <= p->T; t++) {
            ant_runner_warm(runner, p->x, inputs, t, state);
            ant_runner_steps(runner, state, inputs + t * d->K, 1, state + runner->n, got + (t - 1) * d->N);
        }
        golden_compare(c, "xhat", "steps, double", got, want.values, want.count, golden_tolerance(64));
        free(inputs);
        free(got);
        free(state);
    }
    ant_runner_free(runner);
    golden_free(&want);
    antler_model_free(model);
}

static void check(golden_case *c)
{
    problem p = golden_problem_load(c);
    if (!c->broken && p.s == NULL)
        p.s = get(1, sizeof *p.s);
    for (int bits = 64; bits >= 32 && !c->broken; bits -= 32) {
        check_solver(c, &p, ANT_SOLVER_SCAN, bits);
        check_solver(c, &p, ANT_SOLVER_REFERENCE, bits);
    }
    if (!c->broken)
        check_predictions(c, &p);
    problem_free(&p);
}

static bool lssm_matches(const golden_case *c)
{
    return model_is(c, "lssm");
}

static void lssm_check(golden_case *c)
{
    check(c);
    antler_model *model = golden_model(c, "param_");
    for (int bits = 64; bits >= 32 && model != NULL && !c->broken; bits -= 32) {
        golden_check_term(c, model, "mar_p1", (ant_regulariser){.mar = 1.0, .p = 1}, bits);
        golden_check_term(c, model, "mar_p2", (ant_regulariser){.mar = 1.0, .p = 2}, bits);
    }
    antler_model_free(model);
}

const golden_kind golden_lssm = {"lssm", lssm_matches, lssm_check};

static bool mamba2_matches(const golden_case *c)
{
    return model_is(c, "mamba2");
}

const golden_kind golden_mamba2 = {"mamba2", mamba2_matches, check};
