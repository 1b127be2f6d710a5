/* rucklidge.c - the Rucklidge equations of 1992: convection in a magnetic field or with rotation. */
#include "data/systems/systems.h"

enum { KAPPA, LAMBDA, PARAMETERS };

static void rhs(double t, const double *x, const double *p, double *dxdt)
{
    (void)t;
    dxdt[0] = -p[KAPPA] * x[0] + p[LAMBDA] * x[1] - x[1] * x[2];
    dxdt[1] = x[0];
    dxdt[2] = x[1] * x[1] - x[2];
}

static const char *const variables[] = {"x", "y", "z"};

static const antler_system_parameter parameters[PARAMETERS] = {
    [KAPPA] = {"kappa", 2.0, "damping of x"},
    [LAMBDA] = {"lambda", 6.7, "drive of x by y"},
};

static const double centre[] = {0.0, 0.0, 5.0};
static const double spread[] = {3.0, 2.0, 3.0};

const ant_system ant_system_rucklidge = {
    .info =
        {
            .name = "rucklidge",
            .title = "Rucklidge: double convection, chaotic",
            .equations = "dx/dt = -kappa x + lambda y - y z\n"
                         "dy/dt = x\n"
                         "dz/dt = y^2 - z",
            .source =
                "Rucklidge, A. M. (1992). Chaos in models of double convection. J. Fluid Mech. 237, 209-229",
            .dim = 3,
            .observed = 3,
            .variables = variables,
            .parameters = parameters,
            .parameter_count = PARAMETERS,
            .dt = 0.02,
            .length = 100000,
            .transient = 150.0,
            .lyapunov = 0.191,
        },
    .rhs = rhs,
    .centre = centre,
    .spread = spread,
};
