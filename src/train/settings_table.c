/* settings_table.c - every setting: its name, kind, default, bounds and meaning, in one table. */
#include "train/settings.h"

#include <math.h>
#include <stddef.h>

static const char *const models[] = {"shplrnn", "lssm", "mamba2", NULL};
static const char *const diagonals[] = {"tanh", "free", NULL};
static const char *const initialisations[] = {"memory", "standard", "auto", NULL};
static const char *const initial_A[] = {"auto", "kappa", "random", NULL};
static const char *const initial_weights[] = {"auto", "small", "uniform", NULL};
static const char *const initial_B[] = {"auto", "identity", "orthonormal", "kaiming", NULL};
static const char *const alpha_methods[] = {
    "constant", "jacobian_upper_bound", "batch_maximum", "product_upper_bound", "explog", "arithmetic_mean",
    NULL};
static const char *const alpha_schedules[] = {"constant", "linear", "exponential", "cosine", NULL};
static const char *const interval_methods[] = {"given", "predictability", "autocorrelation",
                                               "mutual_information", NULL};
static const char *const teachers[] = {"flow", "stop", NULL};
static const char *const solvers[] = {"auto",       "reference", "sequential", "deer",
                                      "quasi-deer", "shooting",  "scan",       NULL};
static const char *const adjoints[] = {"full", "diagonal", NULL};
static const char *const starts[] = {"pinv", "zero", "normal", NULL};
static const char *const optimisers[] = {"radam", "adam", NULL};
static const char *const schedules[] = {"cosine", "exponential", "constant", NULL};
static const char *const missings[] = {"mask", "split", "interpolate", "refuse", NULL};
static const char *const devices[] = {"auto", "cpu", "cuda", NULL};
static const char *const resamplings[] = {"linear", "cubic", NULL};
static const char *const precisions[] = {"float", "double", NULL};

/* Larger counts are taken for typing errors; the limits also keep products of counts within 64 bits. */
#define DIM_MAX    65536.0
#define LENGTH_MAX 1e9
#define UPDATE_MAX 4294967295.0 /* the update is one 32-bit word of a random stream's name */
#define RUN_MAX    9999.0       /* four digits of a folder's name */

#define FIELD(field) offsetof(antler_settings, field), sizeof(((antler_settings *)NULL)->field)

#define COUNT(g, field, standard, low, high, where, meaning)                                                 \
    {                                                                                                        \
        {#field, g, "whole number", NULL, standard, low, high, false, false, meaning}, ANT_SETTING_COUNT,    \
            FIELD(field), where                                                                              \
    }
#define REAL(g, field, standard, low, low_open, high, high_open, meaning)                                    \
    {                                                                                                        \
        {#field, g, "number", NULL, standard, low, high, low_open, high_open, meaning}, ANT_SETTING_REAL,    \
            FIELD(field), false                                                                              \
    }
#define BOOL(g, field, standard, meaning)                                                                    \
    {                                                                                                        \
        {#field, g, "true or false", NULL, standard, 0.0, 1.0, false, false, meaning}, ANT_SETTING_BOOL,     \
            FIELD(field), false                                                                              \
    }
#define CHOICE(g, field, list, standard, meaning)                                                            \
    {                                                                                                        \
        {#field, g, "one of a list", list, standard, 0.0, 0.0, false, false, meaning}, ANT_SETTING_CHOICE,   \
            FIELD(field), false                                                                              \
    }
#define TEXT(g, field, standard, where, meaning)                                                             \
    {                                                                                                        \
        {#field, g, "text", NULL, standard, 0.0, 0.0, false, false, meaning}, ANT_SETTING_TEXT,              \
            FIELD(field), where                                                                              \
    }

static const ant_setting table[] = {
    TEXT("run", experiment, "experiment", true, "Folder below `results`, for runs that belong together."),
    TEXT("run", name, "run", true, "Folder below `experiment`: one way of answering it."),
    TEXT("run", results, "Results", true, "Folder that holds all experiments."),
    COUNT("run", runs, "1", 1, RUN_MAX, true,
          "Independent runs, numbered from 1, each with its own start, windows and folder."),
    {{"seed", "run", "whole number below 2^64", NULL, "1", 0.0, 18446744073709551615.0, false, false,
      "Of initial parameters, windows and noise. Same seed, same bytes."},
     ANT_SETTING_SEED,
     FIELD(seed),
     false},
    CHOICE("run", precision, precisions, "float", "Precision of training."),
    COUNT("run", threads, "0", 0, 1024, true,
          "Threads in all; 0 for all cores. Runs share them; further threads work inside a run."),
    {{"device", "run", "one of a list", devices, "auto", 0.0, 0.0, false, false,
      "Where to train: cpu, cuda (the first GPU), or auto, the GPU when there is one and an update is large "
      "enough. "
      "All runs share it."},
     ANT_SETTING_CHOICE,
     FIELD(device),
     true},
    COUNT("run", log_interval, "100", 1, UPDATE_MAX, true, "Updates between two rows of log.csv."),
    COUNT("run", checkpoint_interval, "1000", 1, UPDATE_MAX, true,
          "Updates between two checkpoints. One is always written at the end and when stopped."),

    {{"data", "data", "list of paths", NULL, "", 0.0, 0.0, false, false,
      "A file, a glob, or a list of them: .npy, .npz, .csv or .tsv, one or many trajectories."},
     ANT_SETTING_PATHS,
     FIELD(data),
     false},
    TEXT("data", columns, "", false,
         "Variables to take, by name or number: x,z or 1-3; or those to leave out: -status,-7. Empty: all."),
    TEXT("data", inputs, "", false, "Columns that are known inputs, in the same form. Empty: none."),
    BOOL("data", transpose, "false", "The file has variables in rows (N x T)."),
    REAL("data", dt, "0", 0.0, false, INFINITY, true, "Time between two rows; 0: from the file."),
    BOOL("data", standardise, "true",
         "Subtract the mean and divide by the standard deviation of each variable; the model keeps both."),
    COUNT("data", max_bytes, "8000000000", 1, 1e18, true,
          "Bytes that compressed archives and pipes may take in memory beyond the size of their files."),
    TEXT("data", missing_values, "", false,
         "Numbers and words that stand for a missing value, such as -9999. Empty cells, NA, nan and null "
         "always do."),
    TEXT("data", time, "", false,
         "Column with the times of the rows, by name or number; none: there is none. Empty: recognised."),
    TEXT("data", resample, "", false,
         "Interpolate to even times this far apart, such as 0.5 or 10min. Empty: the rows as they are."),
    CHOICE("data", resample_method, resamplings, "linear",
           "Between neighbours on a line, or on a cubic polynomial."),
    TEXT("data", subject, "", false, "Column that tells trajectories apart, by name or number. Empty: none."),
    TEXT("data", key, "", false,
         "Arrays of an .npz to take, by name: train, or a,b, or run_*. Empty: the only one, or those of like "
         "names."),
    CHOICE("data", missing, missings, "mask",
           "Missing values, NaN: mask, no loss and no forcing by them; split, trajectories are cut at "
           "incomplete "
           "rows; interpolate, short gaps are filled linearly and longer ones masked; refuse, an error."),
    COUNT("data", missing_interpolate, "10", 1, LENGTH_MAX, false,
          "Rows of the longest gap that missing: interpolate fills, in each variable by itself."),

    CHOICE(
        "model", model, models, "shplrnn",
        "Kind of model: shplrnn, the shallow piecewise-linear RNN; lssm, a linear recurrence with the same "
        "hidden layer as readout; mamba2, a Mamba-2 block with that readout."),
    COUNT("model", latent_dim, "5", 1, DIM_MAX, false,
          "M, latent units; of a mamba2 the width of its block, a multiple of 4."),
    COUNT("model", hidden_dim, "50", 1, DIM_MAX, false, "L, hidden units."),
    COUNT("model", rank, "0", 0, DIM_MAX, false,
          "Rank of W, at most min(latent_dim, hidden_dim); 0 stores W in full."),
    BOOL("model", clipped, "false", "Use W[phi(Vz+b) - phi(Vz)], whose orbits stay bounded."),
    CHOICE("model", diagonal, diagonals, "tanh",
           "The diagonal A: tanh, A = tanh(Abar) is within (-1, 1) and Abar is trained; free, A is trained."),
    CHOICE(
        "model", initialisation, initialisations, "auto",
        "Initial values: memory, A = kappa and other weights of order 1 - kappa; standard, A from a random "
        "positive definite matrix and other weights uniform in +-columns^-1/2; auto, one of them by sizes "
        "and data, named with its reason when training begins; config.yaml has the choice. A mamba2 has its "
        "own, the same for all."),
    REAL("model", kappa, "0", 0.0, false, 1.0, true,
         "Diagonal of A at the start; the other weights begin of order 1 - kappa. A value above 0 makes auto "
         "the start memory. 0: chosen by auto, 0.9995 with memory. Not with initialisation: standard."),
    CHOICE(
        "model", initialise_A, initial_A, "auto",
        "A at the start: kappa; random, from a random positive definite matrix; auto, as in initialisation."),
    CHOICE("model", initialise_weights, initial_weights, "auto",
           "Other weights at the start, uniform: small, of order 1 - kappa; uniform, in +-columns^-1/2; "
           "auto, as "
           "in initialisation."),
    CHOICE("model", initialise_B, initial_B, "auto",
           "B at the start: identity, [I 0], needs as many latent units as variables; orthonormal, random "
           "rows or "
           "columns; kaiming, normal with variance 2/M; auto, identity or, for fewer latent units, "
           "orthonormal."),

    COUNT("forcing", sequence_length, "200", 1, LENGTH_MAX, false,
          "T, steps of a training window, which takes T + 1 rows."),
    COUNT("forcing", batch_size, "16", 1, 1e6, false, "Windows per update."),
    COUNT("forcing", warmup, "0", 0, LENGTH_MAX, false,
          "T_w, first steps that are forced fully and left out of the loss; below sequence_length."),
    REAL("forcing", gtf_alpha, "0.1", 0.0, false, 1.0, false,
         "Strength of generalised teacher forcing: 0 runs free, 1 starts every step from the data."),
    CHOICE("forcing", gtf_alpha_method, alpha_methods, "constant",
           "How the strength is found. constant: it is gtf_alpha. Others: it starts at 1 and "
           "follows max(0, 1 - 1/n), with the norm n of Jacobians at the teacher states of a batch."),
    COUNT("forcing", gtf_alpha_interval, "5", 1, UPDATE_MAX, false,
          "Updates between two estimates of the strength."),
    REAL("forcing", gtf_alpha_decay, "0.999", 0.0, false, 1.0, true,
         "Share of the strength that is kept where the estimate is smaller; a larger estimate is taken at "
         "once."),
    CHOICE("forcing", gtf_alpha_schedule, alpha_schedules, "constant",
           "Way from gtf_alpha at the first update to gtf_alpha_end at the last one."),
    REAL("forcing", gtf_alpha_end, "0", 0.0, false, 1.0, false,
         "Strength of the last update, where gtf_alpha_schedule is not constant."),
    COUNT(
        "forcing", forcing_interval, "0", 0, LENGTH_MAX, false,
        "Sparse teacher forcing: every so many steps the state is set to the data, in between the model runs "
        "free; gtf_alpha is not used. 0: every step is forced with gtf_alpha."),
    CHOICE("forcing", forcing_interval_method, interval_methods, "given",
           "How forcing_interval is found. predictability: ln 2 / lyapunov_exponent. autocorrelation, "
           "mutual_information: the lag of the first minimum in the data, median over the variables."),
    REAL("forcing", lyapunov_exponent, "0", 0.0, false, INFINITY, true,
         "Largest exponent of the data for predictability, per unit of time; per row where dt is not known."),
    CHOICE("forcing", teacher, teachers, "flow",
           "Gradient through the teacher signal: flow is the exact derivative, stop leaves it out."),
    REAL("forcing", noise, "0", 0.0, false, 1e3, false,
         "Standard deviation of Gaussian noise added to the windows of every update, in units of the packed "
         "data."),

    REAL(
        "forcing", sampling_start, "0", 0.0, false, 1.0, false,
        "Scheduled sampling of lssm and mamba2: share of steps of the first update that take the model's own "
        "prediction in, in place of the data. 0 with sampling_end 0: none."),
    REAL("forcing", sampling_end, "0", 0.0, false, 1.0, false,
         "The same of the last update; in between the share moves on a line."),

    CHOICE("solver", solver, solvers, "auto",
           "How a window is solved; every solver gives the same answer. scan is for lssm and mamba2; with "
           "scheduled sampling deer solves a lssm, too."),
    CHOICE("solver", adjoint, adjoints, "full",
           "Adjoint of quasi-deer; diagonal is the published form, whose gradient is not exact."),
    CHOICE("solver", start, starts, "pinv", "First guess of Newton's method."),
    REAL(
        "solver", tolerance, "0", 0.0, false, 1.0, false,
        "Newton stops when no state changes by more; 0: 1e-4 in float, 1e-10 in double. Shooting merges at a "
        "hundredth of it; on a GPU at the value itself, and 0 is 1e-6 or 1e-12 there."),
    COUNT("solver", max_iterations, "100", 1, 1e6, false, "Limit of Newton iterations."),
    BOOL("solver", fallback, "true", "Solve sequences that did not converge again by `sequential`."),
    COUNT("solver", segments, "0", 0, 65536, false,
          "Segments of time into which auto, shooting, deer and quasi-deer cut a window on a CPU, so that so "
          "many threads share it. 0: chosen from the threads when training begins; config.yaml has the "
          "number."),
    COUNT("solver", check_interval, "0", 0, UPDATE_MAX, false,
          "Compare with the plain solver every so many updates and log the difference; 0: never."),

    COUNT("optimisation", updates, "20000", 1, UPDATE_MAX, false, "Parameter updates."),
    CHOICE("optimisation", optimiser, optimisers, "radam", "Rule by which gradients move the parameters."),
    REAL("optimisation", beta1, "0.9", 0.0, false, 1.0, true, "Decay of the mean of gradients."),
    REAL("optimisation", beta2, "0.999", 0.0, false, 1.0, true, "Decay of the mean of squared gradients."),
    REAL("optimisation", epsilon, "1e-8", 0.0, true, 1.0, false, "Added to the root of squared gradients."),
    REAL("optimisation", start_lr, "5e-3", 0.0, true, 10.0, false, "Learning rate of the first update."),
    REAL("optimisation", end_lr, "1e-6", 0.0, false, 10.0, false, "Learning rate of the last update."),
    CHOICE("optimisation", schedule, schedules, "cosine", "Way from start_lr to end_lr."),
    REAL("optimisation", gradient_clip, "10", 0.0, false, INFINITY, true,
         "Gradients of a larger norm are shortened to it; 0: never."),

    REAL("validation", validation, "0.2", 0.0, false, 0.9, false,
         "Share of rows at the end of each trajectory that training does not see; free runs are measured on "
         "them, the best model is kept, and training ends with a verdict. 0: none, and no verdict."),
    {{"validation_data", "validation", "list of paths", NULL, "", 0.0, 0.0, false, false,
      "Files to validate on, in the same form; they take the place of the share."},
     ANT_SETTING_PATHS,
     FIELD(validation_data),
     false},
    COUNT(
        "validation", validation_interval, "0", 0, UPDATE_MAX, false,
        "Updates between two validations; one follows the last update. 0: chosen, so that there are at most "
        "15 and they take a small part of the time; config.yaml has the number."),
    REAL("validation", holdout, "0", 0.0, false, 0.9, false,
         "Share of rows at the end of each trajectory that neither training nor validation sees; the model "
         "is measured "
         "on them at the end."),
    {{"test_data", "validation", "list of paths", NULL, "", 0.0, 0.0, false, false,
      "Files to measure the model on at the end, in the same form; they take the place of the holdout."},
     ANT_SETTING_PATHS,
     FIELD(test_data),
     false},

    REAL("regularisers", MAR_lambda, "0", 0.0, false, 1e9, false,
         "Weight of manifold attractor regularisation on the last regularised_units units."),
    COUNT("regularisers", MAR_p, "2", 1, 2, false, "Power of the terms of MAR and of the readout term."),
    BOOL("regularisers", MAR_initial_scale, "false",
         "Weigh W by 1/(3L) and V by 1/(3M) inside MAR instead of by 1."),
    COUNT("regularisers", regularised_units, "0", 0, DIM_MAX, false, "M_r, at most latent_dim."),
    REAL("regularisers", readout_lambda, "0", 0.0, false, 1e9, false,
         "Weight of the term that keeps regularised units out of the readout B."),
    REAL("regularisers", singular_lambda, "0", 0.0, false, 1e9, false,
         "Weight of the term that pulls the singular values of B to 1."),
    REAL("regularisers", latent_lambda, "0", 0.0, false, 1e9, false,
         "Weight of the mean squares of 1 - A, W, V, h and b, over all units."),
    REAL("regularisers", observation_lambda, "0", 0.0, false, 1e9, false, "Weight of the mean square of B."),
    REAL("regularisers", condition_lambda, "0", 0.0, false, 1e9, false,
         "Weight of (1 - s1/sk)^2, with the largest and the smallest singular value of B."),
};

enum { TABLE_ROWS = sizeof table / sizeof table[0] };

size_t ant_setting_count(void)
{
    return TABLE_ROWS;
}

const ant_setting *ant_setting_at(size_t index)
{
    return index < TABLE_ROWS ? &table[index] : NULL;
}

size_t antler_setting_count(void)
{
    return TABLE_ROWS;
}

const antler_setting_info *antler_setting_at(size_t index)
{
    return index < TABLE_ROWS ? &table[index].info : NULL;
}
