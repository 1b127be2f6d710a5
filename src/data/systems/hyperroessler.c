/* hyperroessler.c - the four equations of Roessler of 1979: two positive Lyapunov exponents. */
#include "data/systems/systems.h"

enum { A, B, C, D, PARAMETERS };

static void rhs(double t, const double *x, const double *p, double *dxdt)
{
    (void)t;
    dxdt[0] = -x[1] - x[2];
    dxdt[1] = x[0] + p[A] * x[1] + x[3];
    dxdt[2] = p[B] + x[0] * x[2];
    dxdt[3] = p[D] * x[3] - p[C] * x[2];
}

static const char *const variables[] = {"x", "y", "z", "w"};

static const antler_system_parameter parameters[PARAMETERS] = {
    [A] = {"a", 0.25, "growth of the rotation in the plane"},
    [B] = {"b", 3.0, "constant feed of z"},
    [C] = {"c", 0.5, "loss of w to z"},
    [D] = {"d", 0.05, "growth of w"},
};

/* Far from the attractor orbits escape, so the box is a small part of the attractor where z is low. */
static const double centre[] = {-20.0, 0.0, 0.1, 15.0};
static const double spread[] = {2.0, 2.0, 0.05, 1.0};

const ant_system ant_system_hyperroessler = {
    .info =
        {
            .name = "hyperroessler",
            .title = "Hyperchaotic Roessler: four variables, two directions of growth",
            .equations = "dx/dt = -y - z\n"
                         "dy/dt = x + a y + w\n"
                         "dz/dt = b + x z\n"
                         "dw/dt = d w - c z",
            .source = "Roessler, O. E. (1979). An equation for hyperchaos. Phys. Lett. A 71, 155-157",
            .dim = 4,
            .observed = 4,
            .variables = variables,
            .parameters = parameters,
            .parameter_count = PARAMETERS,
            .dt = 0.05,
            .length = 100000,
            .transient = 200.0,
            .lyapunov = 0.112,
        },
    .rhs = rhs,
    .centre = centre,
    .spread = spread,
};
