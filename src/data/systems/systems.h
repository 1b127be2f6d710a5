/*
 * systems.h - what a built-in dynamical system is, and the table of them.
 *
 * Each system is one file that defines one `const ant_system`.  A new one needs that file, its
 * declaration here and its line in the table of systems.c; docs/systems.md has an example.
 */
#ifndef ANT_DATA_SYSTEMS_SYSTEMS_H
#define ANT_DATA_SYSTEMS_SYSTEMS_H

#include "base/status.h"

/* The right-hand side of dx/dt = f(t, x; p).  x, dxdt: (dim); p: (parameter_count). */
typedef void (*ant_rhs_fn)(double t, const double *x, const double *p, double *dxdt);

typedef struct ant_system {
    antler_system_info info;
    ant_rhs_fn rhs;
    /* Initial states are drawn uniformly from centre +- spread: (dim) each.  The spread is also the
       typical size of each variable: it scales the absolute tolerance, and 1e6 of it is divergence. */
    const double *centre;
    const double *spread;
    /* The period of the explicit time dependence under parameters p.  NULL: autonomous.  A result that
       is zero or not finite means that p leaves no period; t0 is then 0 unless it is given. */
    double (*period)(const double *p);
} ant_system;

extern const ant_system ant_system_lorenz63;
extern const ant_system ant_system_lorenz96;
extern const ant_system ant_system_neuron;
extern const ant_system ant_system_roessler;
extern const ant_system ant_system_burke_shaw;
extern const ant_system ant_system_chen;
extern const ant_system ant_system_chua;
extern const ant_system ant_system_dadras;
extern const ant_system ant_system_halvorsen;
extern const ant_system ant_system_hyperroessler;
extern const ant_system ant_system_lorenz84;
extern const ant_system ant_system_rucklidge;
extern const ant_system ant_system_sprott_b;
extern const ant_system ant_system_thomas;

/* The entry of that name, or ANTLER_ERROR_NOT_FOUND with the nearest name in the sentence. */
antler_status ant_system_find(const char *name, const ant_system **system);

/* ANTLER_ERROR_NOT_FOUND: there is no `kind` of that name; the sentence offers the nearest, else all. */
antler_status ant_fail_unknown(const char *kind, const char *name, const char *const *candidates,
                               size_t count);

#endif
