/*
 * real.h - one numeric source, two precisions.
 *
 * A file named *_tmpl.c is compiled twice, with -DANT_REAL=32 and -DANT_REAL=64, into the same library.
 * It writes `real` for the type, R(1.5) for constants, and ANT_FN(name) for the functions it defines,
 * which become name_f32 and name_f64.  This header alone maps the macro.
 */
#ifndef ANT_BASE_REAL_H
#define ANT_BASE_REAL_H

#include <float.h>
#include <math.h>

#if !defined(ANT_REAL)
#error "compile with -DANT_REAL=32 or -DANT_REAL=64"
#endif

#if ANT_REAL == 32
typedef float real;
#define R(constant)  constant##f
#define ANT_FN(name) name##_f32
#define REAL_EPSILON FLT_EPSILON
#define r_sqrt(x)    sqrtf(x)
#define r_fabs(x)    fabsf(x)
#define r_fmax(x, y) fmaxf(x, y)
#define r_exp(x)     expf(x)
#define r_log(x)     logf(x)
#define r_tanh(x)    tanhf(x)
#elif ANT_REAL == 64
typedef double real;
#define R(constant)  constant
#define ANT_FN(name) name##_f64
#define REAL_EPSILON DBL_EPSILON
#define r_sqrt(x)    sqrt(x)
#define r_fabs(x)    fabs(x)
#define r_fmax(x, y) fmax(x, y)
#define r_exp(x)     exp(x)
#define r_log(x)     log(x)
#define r_tanh(x)    tanh(x)
#else
#error "ANT_REAL is 32 or 64"
#endif

#endif
