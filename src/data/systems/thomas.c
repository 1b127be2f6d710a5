/* thomas.c - the equations of Thomas of 1999: a damped walk in a lattice of sines. */
#include "data/systems/systems.h"

#include <math.h>

enum { B, PARAMETERS };

static void rhs(double t, const double *x, const double *p, double *dxdt)
{
    (void)t;
    for (size_t i = 0; i < 3; i++)
        dxdt[i] = sin(x[(i + 1) % 3]) - p[B] * x[i];
}

static const char *const variables[] = {"x", "y", "z"};

static const antler_system_parameter parameters[PARAMETERS] = {
    [B] = {"b", 0.18, "damping"},
};

/* The line x = y = z leads to a fixed point; no corner of the box lies on it. */
static const double centre[] = {1.0, 0.0, -1.0};
static const double spread[] = {2.0, 2.0, 2.0};

const ant_system ant_system_thomas = {
    .info =
        {
            .name = "thomas",
            .title = "Thomas: the same in x, y and z, slow and smooth, chaotic",
            .equations = "dx/dt = sin y - b x\n"
                         "dy/dt = sin z - b y\n"
                         "dz/dt = sin x - b z",
            .source = "Thomas, R. (1999). Deterministic chaos seen in terms of feedback circuits: analysis, "
                      "synthesis, \"labyrinth chaos\". Int. J. Bifurcation Chaos 9, 1889-1905",
            .dim = 3,
            .observed = 3,
            .variables = variables,
            .parameters = parameters,
            .parameter_count = PARAMETERS,
            .dt = 0.1,
            .length = 100000,
            .transient = 800.0,
            .lyapunov = 0.035,
        },
    .rhs = rhs,
    .centre = centre,
    .spread = spread,
};
