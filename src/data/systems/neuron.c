/* neuron.c - a bursting neuron of Hodgkin-Huxley type with three variables (spec 7). */
#include "data/systems/systems.h"

#include <math.h>

enum {
    CURRENT,
    CAPACITANCE,
    G_L,
    E_L,
    G_NA,
    E_NA,
    VH_NA,
    K_NA,
    G_K,
    E_K,
    VH_K,
    K_K,
    TAU_N,
    G_M,
    VH_M,
    K_M,
    TAU_H,
    G_NMDA,
    E_NMDA,
    PARAMETERS
};

/* The steady state of a gate that is half open at v_half. */
static double gate(double v, double v_half, double slope)
{
    return 1.0 / (1.0 + exp((v_half - v) / slope));
}

static void rhs(double t, const double *x, const double *p, double *dxdt)
{
    (void)t;
    const double v = x[0], n = x[1], h = x[2];
    const double nmda_open = 1.0 / (1.0 + 0.33 * exp(-0.0625 * v));
    const double leak = p[G_L] * (v - p[E_L]);
    const double sodium = p[G_NA] * gate(v, p[VH_NA], p[K_NA]) * (v - p[E_NA]);
    const double potassium = (p[G_K] * n + p[G_M] * h) * (v - p[E_K]);
    const double nmda = p[G_NMDA] * nmda_open * (v - p[E_NMDA]);
    dxdt[0] = (p[CURRENT] - leak - sodium - potassium - nmda) / p[CAPACITANCE];
    dxdt[1] = (gate(v, p[VH_K], p[K_K]) - n) / p[TAU_N];
    dxdt[2] = (gate(v, p[VH_M], p[K_M]) - h) / p[TAU_H];
}

/* h is last because the default output leaves it out. */
static const char *const variables[] = {"V", "n", "h"};

static const antler_system_parameter parameters[PARAMETERS] = {
    [CURRENT] = {"I", 0.0, "injected current"},
    [CAPACITANCE] = {"C", 6.0, "membrane capacitance"},
    [G_L] = {"gL", 8.0, "leak conductance"},
    [E_L] = {"EL", -80.0, "leak reversal potential, mV"},
    [G_NA] = {"gNa", 20.0, "sodium conductance"},
    [E_NA] = {"ENa", 60.0, "sodium reversal potential, mV"},
    [VH_NA] = {"VhNa", -20.0, "half activation of sodium, mV"},
    [K_NA] = {"kNa", 15.0, "slope of sodium activation, mV"},
    [G_K] = {"gK", 10.0, "fast potassium conductance"},
    [E_K] = {"EK", -90.0, "potassium reversal potential, mV"},
    [VH_K] = {"VhK", -25.0, "half activation of fast potassium, mV"},
    [K_K] = {"kK", 7.0, "slope of fast potassium activation, mV"},
    [TAU_N] = {"tau_n", 1.0, "time constant of fast potassium, ms"},
    [G_M] = {"gM", 25.2, "slow potassium conductance"},
    [VH_M] = {"VhM", -18.0, "half activation of slow potassium, mV"},
    [K_M] = {"kM", 5.0, "slope of slow potassium activation, mV"},
    [TAU_H] = {"tau_h", 1000.0, "time constant of slow potassium, ms"},
    [G_NMDA] = {"gNMDA", 10.2, "NMDA conductance"},
    [E_NMDA] = {"ENMDA", 0.0, "NMDA reversal potential, mV"},
};

static const double centre[] = {-45.0, 0.3, 0.05};
static const double spread[] = {20.0, 0.3, 0.01};

const ant_system ant_system_neuron = {
    .info =
        {
            .name = "neuron",
            .title = "Bursting neuron: a membrane potential with a fast and a slow potassium gate",
            .equations = "dV/dt = (I - gL (V - EL) - gNa m(V) (V - ENa) - gK n (V - EK)\n"
                         "         - gM h (V - EK) - gNMDA s(V) (V - ENMDA)) / C\n"
                         "dn/dt = (gate(V; VhK, kK) - n) / tau_n\n"
                         "dh/dt = (gate(V; VhM, kM) - h) / tau_h\n"
                         "m(V) = gate(V; VhNa, kNa), gate(V; v, k) = 1 / (1 + exp((v - V) / k))\n"
                         "s(V) = 1 / (1 + 0.33 exp(-0.0625 V))",
            .source = "Durstewitz, D. (2009). Implications of synaptic biophysics for recurrent network "
                      "dynamics and active memory. Neural Networks 22, 1189-1200; constants of the "
                      "GTF-DEER paper",
            .dim = 3,
            .observed = 2,
            .variables = variables,
            .parameters = parameters,
            .parameter_count = PARAMETERS,
            .dt = 2.5e-2,
            .length = 160000,
            .transient = 1000.0,
        },
    .rhs = rhs,
    .centre = centre,
    .spread = spread,
};
