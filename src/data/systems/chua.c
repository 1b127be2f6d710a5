/* chua.c - Chua's circuit: linear but for one resistor with a characteristic of three straight parts. */
#include "data/systems/systems.h"

#include <math.h>

enum { ALPHA, BETA, M0, M1, PARAMETERS };

static void rhs(double t, const double *x, const double *p, double *dxdt)
{
    (void)t;
    const double current = p[M1] * x[0] + 0.5 * (p[M0] - p[M1]) * (fabs(x[0] + 1.0) - fabs(x[0] - 1.0));
    dxdt[0] = p[ALPHA] * (x[1] - current);
    dxdt[1] = x[0] - x[1] + x[2];
    dxdt[2] = -p[BETA] * x[1];
}

static const char *const variables[] = {"x", "y", "z"};

static const antler_system_parameter parameters[PARAMETERS] = {
    [ALPHA] = {"alpha", 9.0, "ratio of the capacitances"},
    [BETA] = {"beta", 100.0 / 7.0, "capacitance over inductance, scaled"},
    [M0] = {"m0", -1.0 / 7.0, "inner slope of the resistor with its load"},
    [M1] = {"m1", 2.0 / 7.0, "outer slope"},
};

/* A saddle cycle surrounds the attractor, and orbits outside of it escape, so the box stays near the origin.
 */
static const double centre[] = {0.0, 0.0, 0.0};
static const double spread[] = {0.5, 0.2, 0.5};

const ant_system ant_system_chua = {
    .info =
        {
            .name = "chua",
            .title = "Chua: an electronic circuit with a double scroll, chaotic",
            .equations = "dx/dt = alpha (y - m1 x - (m0 - m1) (|x + 1| - |x - 1|) / 2)\n"
                         "dy/dt = x - y + z\n"
                         "dz/dt = -beta y",
            .source = "Matsumoto, T., Chua, L. O. and Komuro, M. (1985). The double scroll. "
                      "IEEE Trans. Circuits Syst. 32, 797-818",
            .dim = 3,
            .observed = 3,
            .variables = variables,
            .parameters = parameters,
            .parameter_count = PARAMETERS,
            .dt = 0.02,
            .length = 100000,
            .transient = 100.0,
            .lyapunov = 0.326,
        },
    .rhs = rhs,
    .centre = centre,
    .spread = spread,
};
