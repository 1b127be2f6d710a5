/* golden_device.c - golden cases of models on another device than the CPU: `golden --device cuda DIR...`. */
#include "golden_solve.h"

#include <stdio.h>
#include <string.h>

static antler_settings settings_for(const problem *p, antler_teacher teacher, int bits)
{
    const ant_model_dims *d = &p->layout.dims;
    antler_settings s;
    antler_settings_default(&s);
    s.device = ANTLER_DEVICE_CUDA;
    s.model = (antler_model_kind_id)d->kind;
    s.precision = bits == 64 ? ANTLER_PRECISION_DOUBLE : ANTLER_PRECISION_FLOAT;
    s.latent_dim = d->M;
    s.hidden_dim = d->L;
    s.rank = d->rank;
    s.clipped = d->clipped;
    s.sequence_length = p->T;
    s.batch_size = p->batch;
    s.warmup = p->warmup;
    s.forcing_interval = p->interval;
    s.teacher = teacher;
    if (d->kind == ANT_MODEL_SHPLRNN)
        s.gtf_alpha = p->alpha;
    return s;
}

static void compare(golden_case *c, const problem *p, const antler_problem *solved, double loss, int bits,
                    const char *prefix)
{
    const size_t states = p->T * p->layout.dims.M;
    const char *how = bits == 64 ? "cuda, double" : "cuda, float";
    double *z = get(p->batch * states, sizeof *z), *gradient = get(p->layout.total, sizeof *gradient);
    golden_array want = golden_load(c, "loss"), path = {0};
    if (golden_has(c, "z"))
        path = golden_load(c, "z");
    for (size_t i = 0; i < p->batch; i++)
        antler_problem_states(solved, i, z + i * states);
    antler_problem_gradient(solved, gradient);
    if (!c->broken && path.values != NULL)
        golden_compare(c, "z", how, z, path.values, p->batch * states, golden_tolerance(bits));
    if (!c->broken)
        golden_compare(c, "loss", how, &loss, want.values, 1, golden_tolerance(bits));
    golden_compare_gradient(c, prefix, how, &p->layout, gradient, bits);
    golden_free(&want);
    golden_free(&path);
    free(gradient);
    free(z);
}

static void check_one(golden_case *c, const problem *p, antler_teacher teacher, int bits, const char *prefix)
{
    const ant_model_dims *d = &p->layout.dims;
    const antler_settings s = settings_for(p, teacher, bits);
    antler_problem *solved = NULL;
    antler_solve_report report;
    antler_status status = antler_problem_create(&s, d->N, d->K, &solved);
    if (status == ANTLER_OK) {
        antler_problem_set_parameters(solved, p->parameters);
        antler_problem_set_data(solved, p->x, p->s);
        status = antler_problem_solve(solved, &report);
    }
    if (status == ANTLER_OK)
        compare(c, p, solved, report.loss, bits, prefix);
    else
        golden_broken(c, "%s", antler_message());
    antler_problem_free(solved);
}

void golden_check_device(golden_case *c)
{
    problem p = golden_problem_load(c);
    for (int bits = 64; bits >= 32 && !c->broken; bits -= 32) {
        if (p.layout.dims.kind != ANT_MODEL_SHPLRNN) {
            check_one(c, &p, ANTLER_TEACHER_FLOW, bits, "grad");
            continue;
        }
        check_one(c, &p, ANTLER_TEACHER_FLOW, bits, "grad_flow");
        if (!c->broken)
            check_one(c, &p, ANTLER_TEACHER_STOP, bits, "grad_stop");
    }
    problem_free(&p);
}
