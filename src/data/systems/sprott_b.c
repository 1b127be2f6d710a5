/* sprott_b.c - case B of Sprott's list of 1994: five terms, two of them products, no parameter. */
#include "data/systems/systems.h"

static void rhs(double t, const double *x, const double *p, double *dxdt)
{
    (void)t, (void)p;
    dxdt[0] = x[1] * x[2];
    dxdt[1] = x[0] - x[1];
    dxdt[2] = 1.0 - x[0] * x[1];
}

static const char *const variables[] = {"x", "y", "z"};

static const double centre[] = {0.0, 0.0, 0.0};
static const double spread[] = {1.0, 1.0, 1.0};

const ant_system ant_system_sprott_b = {
    .info =
        {
            .name = "sprott_b",
            .title = "Sprott B: five terms, chaotic",
            .equations = "dx/dt = y z\n"
                         "dy/dt = x - y\n"
                         "dz/dt = 1 - x y",
            .source = "Sprott, J. C. (1994). Some simple chaotic flows. Phys. Rev. E 50, R647-R650",
            .dim = 3,
            .observed = 3,
            .variables = variables,
            .dt = 0.05,
            .length = 100000,
            .transient = 150.0,
            .lyapunov = 0.209,
        },
    .rhs = rhs,
    .centre = centre,
    .spread = spread,
};
