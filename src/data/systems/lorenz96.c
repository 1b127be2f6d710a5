/* lorenz96.c - Lorenz-96 with six variables under a slow sinusoidal forcing (spec 7). */
#include "data/systems/systems.h"

#include <math.h>

enum { N = 6 };
enum { F0, AMPLITUDE, OMEGA, PARAMETERS };

static void rhs(double t, const double *x, const double *p, double *dxdt)
{
    const double force = p[F0] + p[AMPLITUDE] * sin(p[OMEGA] * t);
    for (size_t i = 0; i < N; i++) {
        const double next = x[(i + 1) % N], last = x[(i + N - 1) % N], before_last = x[(i + N - 2) % N];
        dxdt[i] = (next - before_last) * last - x[i] + force;
    }
}

static double period(const double *p)
{
    return 2.0 * M_PI / fabs(p[OMEGA]);
}

static const char *const variables[N] = {"x1", "x2", "x3", "x4", "x5", "x6"};

static const antler_system_parameter parameters[PARAMETERS] = {
    [F0] = {"F0", 14.0, "constant part of the forcing"},
    [AMPLITUDE] = {"A", 12.0, "amplitude of the sinusoidal part"},
    [OMEGA] = {"omega", 2.0 * M_PI / 75.0, "angular frequency of the sinusoidal part"},
};

static const double centre[N] = {3.0, 3.0, 3.0, 3.0, 3.0, 3.0};
static const double spread[N] = {5.0, 5.0, 5.0, 5.0, 5.0, 5.0};

/* The transient is one period, so that it leaves the phase of the forcing as t0 has it. */
const ant_system ant_system_lorenz96 = {
    .info =
        {
            .name = "lorenz96",
            .title = "Forced Lorenz-96: six variables that switch between cycles and chaos",
            .equations = "dx_i/dt = (x_{i+1} - x_{i-2}) x_{i-1} - x_i + F0 + A sin(omega t)\n"
                         "i = 1 .. 6, indices modulo 6",
            .source = "Lorenz, E. N. (1996). Predictability: a problem partly solved. Proc. Seminar on "
                      "Predictability, ECMWF; the slow forcing is that of the GTF-DEER paper",
            .dim = N,
            .observed = N,
            .variables = variables,
            .parameters = parameters,
            .parameter_count = PARAMETERS,
            .dt = 5e-3,
            .length = 100000,
            .transient = 75.0,
            .period = 75.0,
            .lyapunov = 1.3,
        },
    .rhs = rhs,
    .centre = centre,
    .spread = spread,
    .period = period,
};
