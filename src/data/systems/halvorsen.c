/* halvorsen.c - Halvorsen's equations: one quadratic rule for three variables in a ring. */
#include "data/systems/systems.h"

enum { A, PARAMETERS };

static void rhs(double t, const double *x, const double *p, double *dxdt)
{
    (void)t;
    for (size_t i = 0; i < 3; i++) {
        const double next = x[(i + 1) % 3], last = x[(i + 2) % 3];
        dxdt[i] = -p[A] * x[i] - 4.0 * (next + last) - next * next;
    }
}

static const char *const variables[] = {"x", "y", "z"};

static const antler_system_parameter parameters[PARAMETERS] = {
    [A] = {"a", 1.27, "decay of each variable"},
};

/* The line x = y = z leads to a fixed point; no corner of the box lies on it. */
static const double centre[] = {-4.0, -3.0, -2.0};
static const double spread[] = {2.0, 2.0, 2.0};

const ant_system ant_system_halvorsen = {
    .info =
        {
            .name = "halvorsen",
            .title = "Halvorsen: the same in x, y and z, chaotic",
            .equations = "dx/dt = -a x - 4 y - 4 z - y^2\n"
                         "dy/dt = -a y - 4 z - 4 x - z^2\n"
                         "dz/dt = -a z - 4 x - 4 y - x^2",
            .source = "Sprott, J. C. (2003). Chaos and Time-Series Analysis. Oxford University Press, "
                      "appendix A, Halvorsen's cyclically symmetric attractor",
            .dim = 3,
            .observed = 3,
            .variables = variables,
            .parameters = parameters,
            .parameter_count = PARAMETERS,
            .dt = 0.01,
            .length = 100000,
            .transient = 40.0,
            .lyapunov = 0.79,
        },
    .rhs = rhs,
    .centre = centre,
    .spread = spread,
};
