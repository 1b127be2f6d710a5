/* roessler.c - the Roessler equations of 1976: one quadratic term, a single folded band of chaos. */
#include "data/systems/systems.h"

enum { A, B, C, PARAMETERS };

static void rhs(double t, const double *x, const double *p, double *dxdt)
{
    (void)t;
    dxdt[0] = -x[1] - x[2];
    dxdt[1] = x[0] + p[A] * x[1];
    dxdt[2] = p[B] + x[2] * (x[0] - p[C]);
}

static const char *const variables[] = {"x", "y", "z"};

static const antler_system_parameter parameters[PARAMETERS] = {
    [A] = {"a", 0.2, "growth of the rotation in the plane"},
    [B] = {"b", 0.2, "constant feed of z"},
    [C] = {"c", 5.7, "x above which z grows"},
};

/* Far from the attractor orbits escape, so the box stays small and inside the band. */
static const double centre[] = {0.0, -5.0, 0.5};
static const double spread[] = {2.0, 2.0, 0.5};

/* One turn takes about 5.9 time units: 59 rows a turn, 1700 turns in all. */
const ant_system ant_system_roessler = {
    .info =
        {
            .name = "roessler",
            .title = "Roessler: a spiral that folds back on itself, chaotic",
            .equations = "dx/dt = -y - z\n"
                         "dy/dt = x + a y\n"
                         "dz/dt = b + z (x - c)",
            .source = "Roessler, O. E. (1976). An equation for continuous chaos. Phys. Lett. A 57, 397-398; "
                      "a, b, c as is common today",
            .dim = 3,
            .observed = 3,
            .variables = variables,
            .parameters = parameters,
            .parameter_count = PARAMETERS,
            .dt = 0.1,
            .length = 100000,
            .transient = 200.0,
            .lyapunov = 0.071,
        },
    .rhs = rhs,
    .centre = centre,
    .spread = spread,
};
