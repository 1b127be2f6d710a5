/*
 * optimiser.h - Adam (Kingma and Ba 2015) and RAdam (Liu et al. 2020), and the learning rate over time.
 *
 * Precision: moments, bias corrections, norms and the step are in double; only the parameters and the
 * gradient have the training precision.
 */
#ifndef ANT_TRAIN_OPTIMISER_H
#define ANT_TRAIN_OPTIMISER_H

#include "base/status.h"

/* The learning rate of update 1 .. updates: start_lr at the first, end_lr at the last. */
double ant_learning_rate(const antler_settings *settings, size_t update);

/* What one update has in common for all parameters. */
typedef struct ant_step {
    double beta1, beta2, epsilon;
    double first;   /* learning rate times correction of the mean gradient */
    double second;  /* correction of the mean square: v_hat = v * second */
    bool adaptive;  /* RAdam takes plain momentum steps while the variance is not known well enough */
    double shorten; /* factor on the gradient: 1 unless clipped */
} ant_step;

/*
 * RAdam's rectifier: sqrt of ((r-4)(r-2) R) / ((R-4)(R-2) r) with R = 2/(1-beta2) - 1 and
 * r = R - 2 t beta2^t / (1 - beta2^t); adaptive only for r > 5.
 */
ant_step ant_step_make(const antler_settings *settings, size_t update, double gradient_norm);

/* gradient: (count); m, v: (count) moments. */
void ant_step_apply_f32(const ant_step *step, size_t count, const float *gradient, double *m, double *v,
                        float *parameters);
void ant_step_apply_f64(const ant_step *step, size_t count, const double *gradient, double *m, double *v,
                        double *parameters);

/* The Euclidean norm, summed in double. */
double ant_gradient_norm_f32(size_t count, const float *gradient);
double ant_gradient_norm_f64(size_t count, const double *gradient);

#endif
