/* burke_shaw.c - the Burke-Shaw equations of 1981: a relative of Lorenz-63 whose wings lie on both sides of z
 * = 0. */
#include "data/systems/systems.h"

enum { S, V, PARAMETERS };

static void rhs(double t, const double *x, const double *p, double *dxdt)
{
    (void)t;
    dxdt[0] = -p[S] * (x[0] + x[1]);
    dxdt[1] = -x[1] - p[S] * x[0] * x[2];
    dxdt[2] = p[S] * x[0] * x[1] + p[V];
}

static const char *const variables[] = {"x", "y", "z"};

static const antler_system_parameter parameters[PARAMETERS] = {
    [S] = {"s", 10.0, "rate of the exchange between x and y"},
    [V] = {"v", 4.272, "constant feed of z"},
};

static const double centre[] = {0.0, 0.0, 0.0};
static const double spread[] = {1.0, 1.0, 1.0};

const ant_system ant_system_burke_shaw = {
    .info =
        {
            .name = "burke_shaw",
            .title = "Burke-Shaw: two wings that the orbit changes in turn, chaotic",
            .equations = "dx/dt = -s (x + y)\n"
                         "dy/dt = -y - s x z\n"
                         "dz/dt = s x y + v",
            .source = "Shaw, R. (1981). Strange attractors, chaotic behavior, and information flow. "
                      "Z. Naturforsch. A 36, 80-112; s and v as is common today",
            .dim = 3,
            .observed = 3,
            .variables = variables,
            .parameters = parameters,
            .parameter_count = PARAMETERS,
            .dt = 0.005,
            .length = 100000,
            .transient = 30.0,
            .lyapunov = 0.696,
        },
    .rhs = rhs,
    .centre = centre,
    .spread = spread,
};
