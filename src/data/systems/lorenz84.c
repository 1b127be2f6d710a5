/* lorenz84.c - the Lorenz equations of 1984: a jet stream and two phases of a wave. */
#include "data/systems/systems.h"

enum { A, B, F, G, PARAMETERS };

static void rhs(double t, const double *x, const double *p, double *dxdt)
{
    (void)t;
    dxdt[0] = -x[1] * x[1] - x[2] * x[2] - p[A] * x[0] + p[A] * p[F];
    dxdt[1] = x[0] * x[1] - p[B] * x[0] * x[2] - x[1] + p[G];
    dxdt[2] = p[B] * x[0] * x[1] + x[0] * x[2] - x[2];
}

static const char *const variables[] = {"x", "y", "z"};

static const antler_system_parameter parameters[PARAMETERS] = {
    [A] = {"a", 0.25, "damping of the jet"},
    [B] = {"b", 4.0, "advection of the wave by the jet"},
    [F] = {"F", 8.0, "heating between equator and pole"},
    [G] = {"G", 1.0, "heating between land and sea"},
};

static const double centre[] = {1.0, 0.0, 0.0};
static const double spread[] = {1.0, 1.0, 1.0};

const ant_system ant_system_lorenz84 = {
    .info =
        {
            .name = "lorenz84",
            .title = "Lorenz-84: a jet stream that exchanges energy with a wave, chaotic",
            .equations = "dx/dt = -y^2 - z^2 - a x + a F\n"
                         "dy/dt = x y - b x z - y + G\n"
                         "dz/dt = b x y + x z - z",
            .source = "Lorenz, E. N. (1984). Irregularity: a fundamental property of the atmosphere. Tellus "
                      "A 36, 98-110",
            .dim = 3,
            .observed = 3,
            .variables = variables,
            .parameters = parameters,
            .parameter_count = PARAMETERS,
            .dt = 0.02,
            .length = 100000,
            .transient = 200.0,
            .lyapunov = 0.167,
        },
    .rhs = rhs,
    .centre = centre,
    .spread = spread,
};
