/* measuring.h - options, JSON and lines about D_stsp and D_H, shared by `measure` and `evaluate`. */
#ifndef ANT_CLI_MEASURING_H
#define ANT_CLI_MEASURING_H

#include "cli/answer.h"

typedef struct cli_measuring {
    const char *dstsp, *embed, *device; /* as given; cli_measuring_finish reads them into opts */
    antler_measure_opts opts;
} cli_measuring;

/* As antler_dstsp_kind_name, in the order of the enum. */
#define CLI_DSTSP_KINDS "gmm", "gmm-silverman", "bins", "gmm-fixed"
extern const char *const cli_dstsp_kinds[], *const cli_devices[];

/* The device of that name; NULL is auto. */
antler_device cli_device(const char *name);

#define CLI_MEASURING_AT(type, field, member) offsetof(type, field) + offsetof(cli_measuring, member)

/* Rows for an option table; `field` is the settings member of type cli_measuring.  Numbers go straight into
   opts, and all but `threads` into the stamp of an evaluation. */
#define CLI_MEASURING_OPTIONS(type, field)                                                                     \
    {"dstsp",                                                                                                  \
     CLI_CHOICE,                                                                                               \
     "KIND",                                                                                                   \
     "Estimator of D_stsp: gmm (as printed in the paper), gmm-silverman (bandwidth squared), bins, or "        \
     "gmm-fixed (a given variance). Default gmm.",                                                             \
     CLI_MEASURING_AT(type, field, dstsp),                                                                     \
     cli_dstsp_kinds},                                                                                         \
        {"embed",                                                                                              \
         CLI_TEXT,                                                                                             \
         "M,TAU",                                                                                              \
         "Compare delay vectors of M values, TAU rows apart.",                                                 \
         CLI_MEASURING_AT(type, field, embed),                                                                 \
         NULL},                                                                                                \
        {"samples",                                                                                            \
         CLI_COUNT,                                                                                            \
         "N",                                                                                                  \
         "Monte Carlo samples for Gaussians; the error bar shows what they give. Default 10000.",              \
         CLI_MEASURING_AT(type, field, opts.samples),                                                          \
         NULL},                                                                                                \
        {"seed", CLI_SEED, "NUMBER", "Of those samples. Default 1.", CLI_MEASURING_AT(type, field, opts.seed), \
         NULL},                                                                                                \
        {"variance",                                                                                           \
         CLI_REAL,                                                                                             \
         "VARIANCE",                                                                                           \
         "Of the Gaussians of gmm-fixed. Default 1.",                                                          \
         CLI_MEASURING_AT(type, field, opts.variance),                                                         \
         NULL},                                                                                                \
        {"bins",                                                                                               \
         CLI_COUNT,                                                                                            \
         "N",                                                                                                  \
         "Bins per axis for bins. Default 30.",                                                                \
         CLI_MEASURING_AT(type, field, opts.bins),                                                             \
         NULL},                                                                                                \
        {"bin-margin",                                                                                         \
         CLI_REAL,                                                                                             \
         "SD",                                                                                                 \
         "Bins reach this far beyond the true orbit, in standard deviations. Default 0.1.",                    \
         CLI_MEASURING_AT(type, field, opts.bin_margin),                                                       \
         NULL},                                                                                                \
        {"bin-laplace",                                                                                        \
         CLI_REAL,                                                                                             \
         "COUNT",                                                                                              \
         "Added to every bin. Default 1e-5.",                                                                  \
         CLI_MEASURING_AT(type, field, opts.bin_laplace),                                                      \
         NULL},                                                                                                \
        {"smoothing",                                                                                          \
         CLI_REAL,                                                                                             \
         "BINS",                                                                                               \
         "Width of the Gaussian that smooths power spectra; 0 for none. Default 20.",                          \
         CLI_MEASURING_AT(type, field, opts.smoothing),                                                        \
         NULL},                                                                                                \
        {"match-noise",                                                                                        \
         CLI_FLAG,                                                                                             \
         NULL,                                                                                                 \
         "Add white noise of the level that is seen on the true orbit to the generated one.",                  \
         CLI_MEASURING_AT(type, field, opts.match_noise),                                                      \
         NULL},                                                                                                \
        {"device",                                                                                             \
         CLI_CHOICE,                                                                                           \
         "auto|cpu|cuda",                                                                                      \
         "Where to compute; auto takes a GPU when there is one and the work pays. Default auto.",              \
         CLI_MEASURING_AT(type, field, device),                                                                \
         cli_devices},                                                                                         \
    {                                                                                                          \
        "threads", CLI_INT, "N", "Threads; 0 for all. Default 0.",                                             \
            CLI_MEASURING_AT(type, field, opts.threads), NULL                                                  \
    }

cli_measuring cli_measuring_default(void);

/* Read --dstsp and --embed into the options.  Returns CLI_DONE to continue, or the exit code. */
int cli_measuring_finish(cli_measuring *measuring);

/* Every option that changes a value, as text: the stamp of an evaluation is made of it. */
void cli_measuring_text(const antler_measure_opts *opts, char *text, size_t bytes);

/* The value and everything that it depends on. */
json_t *cli_json_dstsp(const antler_measure_opts *opts, const antler_measure_result *result);
json_t *cli_json_hellinger(const antler_measure_opts *opts, const antler_measure_result *result);

/* {"mean": [...], "sd": [...]} */
json_t *cli_json_moments(const double *mean, const double *sd, size_t count);

/* floor: of the data; NaN: none is printed */
void cli_print_dstsp(const antler_measure_opts *opts, const antler_measure_result *result, double floor);
void cli_print_hellinger(const antler_measure_opts *opts, const antler_measure_result *result, double floor);

#endif
