/* lorenz63.c - the Lorenz equations of 1963: the standard chaotic benchmark (spec 7). */
#include "data/systems/systems.h"

enum { SIGMA, RHO, BETA, PARAMETERS };

static void rhs(double t, const double *x, const double *p, double *dxdt)
{
    (void)t;
    dxdt[0] = p[SIGMA] * (x[1] - x[0]);
    dxdt[1] = x[0] * (p[RHO] - x[2]) - x[1];
    dxdt[2] = x[0] * x[1] - p[BETA] * x[2];
}

static const char *const variables[] = {"x", "y", "z"};

static const antler_system_parameter parameters[PARAMETERS] = {
    [SIGMA] = {"sigma", 10.0, "Prandtl number"},
    [RHO] = {"rho", 28.0, "Rayleigh number over its critical value"},
    [BETA] = {"beta", 8.0 / 3.0, "aspect ratio of the convection cells"},
};

/* The box covers the core of the attractor; 100 time units are about 90 Lyapunov times. */
static const double centre[] = {0.0, 0.0, 25.0};
static const double spread[] = {10.0, 10.0, 10.0};

const ant_system ant_system_lorenz63 = {
    .info =
        {
            .name = "lorenz63",
            .title = "Lorenz-63: three coupled equations of convection, chaotic",
            .equations = "dx/dt = sigma (y - x)\n"
                         "dy/dt = x (rho - z) - y\n"
                         "dz/dt = x y - beta z",
            .source = "Lorenz, E. N. (1963). Deterministic nonperiodic flow. J. Atmos. Sci. 20, 130-141",
            .dim = 3,
            .observed = 3,
            .variables = variables,
            .parameters = parameters,
            .parameter_count = PARAMETERS,
            .dt = 0.01,
            .length = 100000,
            .transient = 20.0,
            .lyapunov = 0.906,
        },
    .rhs = rhs,
    .centre = centre,
    .spread = spread,
};
