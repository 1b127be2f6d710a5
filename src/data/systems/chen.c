/* chen.c - the Chen equations of 1999: like Lorenz-63, but with a linear term that feeds y. */
#include "data/systems/systems.h"

enum { A, B, C, PARAMETERS };

static void rhs(double t, const double *x, const double *p, double *dxdt)
{
    (void)t;
    dxdt[0] = p[A] * (x[1] - x[0]);
    dxdt[1] = (p[C] - p[A]) * x[0] - x[0] * x[2] + p[C] * x[1];
    dxdt[2] = x[0] * x[1] - p[B] * x[2];
}

static const char *const variables[] = {"x", "y", "z"};

static const antler_system_parameter parameters[PARAMETERS] = {
    [A] = {"a", 35.0, "rate of the exchange between x and y"},
    [B] = {"b", 3.0, "decay of z"},
    [C] = {"c", 28.0, "growth of y"},
};

static const double centre[] = {0.0, 0.0, 22.0};
static const double spread[] = {8.0, 8.0, 8.0};

const ant_system ant_system_chen = {
    .info =
        {
            .name = "chen",
            .title = "Chen: two wings with fast turns, chaotic",
            .equations = "dx/dt = a (y - x)\n"
                         "dy/dt = (c - a) x - x z + c y\n"
                         "dz/dt = x y - b z",
            .source = "Chen, G. and Ueta, T. (1999). Yet another chaotic attractor. Int. J. Bifurcation "
                      "Chaos 9, 1465-1466",
            .dim = 3,
            .observed = 3,
            .variables = variables,
            .parameters = parameters,
            .parameter_count = PARAMETERS,
            .dt = 0.002,
            .length = 100000,
            .transient = 15.0,
            .lyapunov = 2.03,
        },
    .rhs = rhs,
    .centre = centre,
    .spread = spread,
};
