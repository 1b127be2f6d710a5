/* dadras.c - the Dadras-Momeni equations of 2009, whose parameters give two, three or four scrolls. */
#include "data/systems/systems.h"

enum { A, B, C, D, E, PARAMETERS };

static void rhs(double t, const double *x, const double *p, double *dxdt)
{
    (void)t;
    dxdt[0] = x[1] - p[A] * x[0] + p[B] * x[1] * x[2];
    dxdt[1] = p[C] * x[1] - x[0] * x[2] + x[2];
    dxdt[2] = p[D] * x[0] * x[1] - p[E] * x[2];
}

static const char *const variables[] = {"x", "y", "z"};

static const antler_system_parameter parameters[PARAMETERS] = {
    [A] = {"a", 3.0, "decay of x"},  [B] = {"b", 2.7, "strength of the product in dx/dt"},
    [C] = {"c", 1.7, "growth of y"}, [D] = {"d", 2.0, "strength of the product in dz/dt"},
    [E] = {"e", 9.0, "decay of z"},
};

static const double centre[] = {0.0, 0.0, 0.0};
static const double spread[] = {3.0, 3.0, 3.0};

const ant_system ant_system_dadras = {
    .info =
        {
            .name = "dadras",
            .title = "Dadras: three products, long spikes between slow turns, chaotic",
            .equations = "dx/dt = y - a x + b y z\n"
                         "dy/dt = c y - x z + z\n"
                         "dz/dt = d x y - e z",
            .source = "Dadras, S. and Momeni, H. R. (2009). A novel three-dimensional autonomous chaotic "
                      "system generating two, three and four-scroll attractors. Phys. Lett. A 373, 3637-3642",
            .dim = 3,
            .observed = 3,
            .variables = variables,
            .parameters = parameters,
            .parameter_count = PARAMETERS,
            .dt = 0.01,
            .length = 100000,
            .transient = 80.0,
            .lyapunov = 0.37,
        },
    .rhs = rhs,
    .centre = centre,
    .spread = spread,
};
