/* golden_solve.c - golden cases of forced shPLRNNs (every solver, both precisions) and of the regularisers.
 */
#include "golden_solve.h"

#include <stdio.h>
#include <string.h>

double golden_tolerance(int bits)
{
    return bits == 64 ? 1e-9 : 1e-3;
}

static bool shplrnn_matches(const golden_case *c)
{
    char word[64];
    return golden_word(c, "model", word, sizeof word) && strncmp(word, "shplrnn", 7) == 0 &&
           !golden_has(c, "spectrum");
}

void golden_compare_gradient(golden_case *c, const char *prefix, const char *how,
                             const ant_model_layout *layout, const double *gradient, int bits)
{
    for (size_t i = 0; i < layout->slices && !c->broken; i++) {
        const ant_model_slice *slice = &layout->slice[i];
        char file[96];
        snprintf(file, sizeof file, "%s_%s", prefix, slice->name);
        golden_array want = {0};
        if (golden_has(c, file)) {
            want = golden_load(c, file);
        } else {
            want.values = get(slice->count, sizeof *want.values);
            want.count = slice->count;
        }
        if (!c->broken && want.count != slice->count)
            golden_broken(c, "%s.npy has %zu numbers instead of %zu", file, want.count, slice->count);
        if (!c->broken)
            golden_compare(c, file, how, gradient + slice->offset, want.values, want.count,
                           golden_tolerance(bits));
        golden_free(&want);
    }
}

problem golden_problem_load(golden_case *c)
{
    problem p = {.T = (size_t)golden_number(c, "T", 0.0),
                 .batch = (size_t)golden_number(c, "batch", 1.0),
                 .warmup = (size_t)golden_number(c, "warmup", 0.0),
                 .interval = (size_t)golden_number(c, "interval", 0.0),
                 .alpha = golden_number(c, "alpha", 0.0)};
    antler_model *model = golden_model(c, "param_");
    if (model != NULL) {
        p.layout = model->layout;
        p.parameters = get(p.layout.total, sizeof *p.parameters);
        memcpy(p.parameters, model->parameters, p.layout.total * sizeof *p.parameters);
        antler_model_free(model);
    }
    const ant_model_dims *d = &p.layout.dims;
    golden_array x = golden_load(c, "x"), s = {0};
    if (d->K > 0)
        s = golden_load(c, "s");
    if (!c->broken && (x.count != p.batch * (p.T + 1) * d->N || s.count != p.batch * p.T * d->K))
        golden_broken(c, "x.npy or s.npy has another shape than case.txt says");
    p.x = x.values;
    p.s = s.values;
    return p;
}

static void compare_answer(golden_case *c, const problem *p, const answer *a, const char *how, int bits)
{
    golden_array z = golden_load(c, "z"), loss = golden_load(c, "loss");
    if (!c->broken) {
        golden_compare(c, "z", how, a->states, z.values, p->batch * p->T * p->layout.dims.M,
                       golden_tolerance(bits));
        golden_compare(c, "loss", how, &a->report.loss, loss.values, 1, golden_tolerance(bits));
    }
    golden_free(&loss);
    golden_free(&z);
}

static void check_one(golden_case *c, const problem *p, ant_solver solver, ant_pieces pieces,
                      ant_teacher teacher, ant_adjoint adjoint, int bits)
{
    static const char *const prefixes[] = {"grad_flow", "grad_stop"};
    const bool diagonal = adjoint == ANT_ADJOINT_DIAGONAL;
    char how[64];
    ant_solve_options o;
    ant_solve_options_default(&o);
    o.solver = solver;
    o.pieces = pieces;
    o.teacher = teacher;
    o.adjoint = adjoint;
    o.warmup = p->warmup;
    o.interval = p->interval;
    o.patterns = golden_number(c, "masked", 0.0) != 0.0 ? SIZE_MAX : 0;
    o.fallback = false; /* the solver itself must get there */
    snprintf(how, sizeof how, "%s, %s%s%s", ant_solver_name(solver), bits == 64 ? "double" : "float",
             pieces == ANT_PIECES_ALWAYS ? ", piece" : "", diagonal ? ", diag" : "");
    answer a = solve(p, &o, bits, false);
    if (a.status != ANTLER_OK)
        golden_broken(c, "%s: %s", how, antler_message());
    if (!c->broken && teacher == ANT_TEACHER_FLOW)
        compare_answer(c, p, &a, how, bits);
    golden_compare_gradient(c, diagonal ? "grad_quasi" : prefixes[teacher], how, &p->layout, a.gradient,
                            bits);
    answer_free(&a);
}

static void compare_newton(golden_case *c, const problem *p, ant_solver solver, const char *file)
{
    if (!golden_has(c, file))
        return;
    ant_solve_options o;
    ant_solve_options_default(&o);
    o.solver = solver;
    o.warmup = p->warmup;
    o.tolerance = 1e-10;
    answer a = solve(p, &o, 64, false);
    golden_array want = golden_load(c, file);
    const double got = a.report.iterations;
    if (!c->broken)
        golden_compare(c, file, "iterations", &got, want.values, 1, 0.0);
    golden_free(&want);
    answer_free(&a);
}

static void shplrnn_check(golden_case *c)
{
    problem p = golden_problem_load(c);
    for (int bits = 64; bits >= 32 && !c->broken; bits -= 32) {
        for (ant_solver solver = ANT_SOLVER_AUTO; solver <= ANT_SOLVER_SHOOTING && !c->broken; solver++) {
            check_one(c, &p, solver, ANT_PIECES_NEVER, ANT_TEACHER_FLOW, ANT_ADJOINT_FULL, bits);
            check_one(c, &p, solver, ANT_PIECES_NEVER, ANT_TEACHER_STOP, ANT_ADJOINT_FULL, bits);
        }
        for (ant_teacher teacher = ANT_TEACHER_FLOW; teacher <= ANT_TEACHER_STOP && !c->broken; teacher++) {
            check_one(c, &p, ANT_SOLVER_SEQUENTIAL, ANT_PIECES_ALWAYS, teacher, ANT_ADJOINT_FULL, bits);
            check_one(c, &p, ANT_SOLVER_SHOOTING, ANT_PIECES_ALWAYS, teacher, ANT_ADJOINT_FULL, bits);
        }
        if (golden_has(c, "grad_quasi_Abar") && !c->broken)
            check_one(c, &p, ANT_SOLVER_QUASI_DEER, ANT_PIECES_NEVER, ANT_TEACHER_FLOW, ANT_ADJOINT_DIAGONAL,
                      bits);
    }
    if (!c->broken) {
        compare_newton(c, &p, ANT_SOLVER_DEER, "newton_full");
        compare_newton(c, &p, ANT_SOLVER_QUASI_DEER, "newton_quasi");
        golden_generate(c);
    }
    problem_free(&p);
}

/* ---- regularisers --------------------------------------------------------------------------------- */

static bool regularisers_matches(const golden_case *c)
{
    return golden_has(c, "readout_sv") && golden_has(c, "mar_p1");
}

void golden_check_term(golden_case *c, const antler_model *model, const char *name, ant_regulariser r,
                       int bits)
{
    const ant_model_layout *layout = &model->layout;
    double *gradient = get(layout->total, sizeof *gradient),
           *work = get(ant_regulariser_work(&layout->dims), sizeof *work);
    float *theta32 = get(layout->total, sizeof *theta32),
          *gradient32 = get(layout->total, sizeof *gradient32);
    char prefix[64], how[32];
    ant_regulariser_terms terms = {0};
    antler_status status;
    r.units = (size_t)golden_number(c, "Mr", 1.0);
    for (size_t i = 0; i < layout->total; i++)
        theta32[i] = (float)model->parameters[i];
    if (bits == 64) {
        status = ant_regulariser_add_f64(layout, &r, model->parameters, gradient, work, &terms);
    } else {
        status = ant_regulariser_add_f32(layout, &r, theta32, gradient32, work, &terms);
        for (size_t i = 0; i < layout->total; i++)
            gradient[i] = (double)gradient32[i];
    }
    golden_array want = golden_load(c, name);
    snprintf(prefix, sizeof prefix, "%s_grad", name);
    snprintf(how, sizeof how, "%s", bits == 64 ? "double" : "float");
    if (status != ANTLER_OK)
        golden_broken(c, "%s", antler_message());
    if (!c->broken) {
        const double value = terms.mar + terms.readout + terms.singular;
        golden_compare(c, name, how, &value, want.values, 1, golden_tolerance(bits));
        golden_compare_gradient(c, prefix, how, layout, gradient, bits);
    }
    golden_free(&want);
    free(gradient32);
    free(theta32);
    free(work);
    free(gradient);
}

static void regularisers_check(golden_case *c)
{
    antler_model *model = golden_model(c, "param_");
    for (int bits = 64; bits >= 32 && model != NULL && !c->broken; bits -= 32) {
        for (int p = 1; p <= 2; p++) {
            const char *const mar[] = {"mar_p1", "mar_p2"}, *const scaled[] = {"mar_p1_initscale",
                                                                               "mar_p2_initscale"};
            const char *const readout[] = {"readout_p1", "readout_p2"};
            golden_check_term(c, model, mar[p - 1], (ant_regulariser){.mar = 1.0, .p = p}, bits);
            golden_check_term(c, model, scaled[p - 1],
                              (ant_regulariser){.mar = 1.0, .p = p, .initial_scale = true}, bits);
            golden_check_term(c, model, readout[p - 1], (ant_regulariser){.readout = 1.0, .p = p}, bits);
        }
        golden_check_term(c, model, "readout_sv", (ant_regulariser){.singular = 1.0, .p = 1}, bits);
    }
    antler_model_free(model);
}

const golden_kind golden_shplrnn = {"shplrnn", shplrnn_matches, shplrnn_check};
const golden_kind golden_regularisers = {"regularisers", regularisers_matches, regularisers_check};
