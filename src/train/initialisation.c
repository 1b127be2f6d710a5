/* initialisation.c - the rule of `initialisation: auto`, and the memory of the data that it needs. */
#include "train/initialisation.h"

#include <math.h>
#include <stdio.h>

typedef struct facts {
    antler_model_kind_id model;
    bool clipped;
    size_t M, N, T, warmup;
    size_t memory; /* rows, at most T + 1: ant_memory_rows */
} facts;

/* ---- the rule ------------------------------------------------------------------------------------- */

/* A unit with A = 0.9995 remembers for 2,000 steps; half of it is a warm-up that fills such units. */
static const size_t long_warmup = 1000;

static bool is_mamba2(const facts *f)
{
    return f->model == ANTLER_MODEL_MAMBA2;
}

static bool is_lssm(const facts *f)
{
    return f->model == ANTLER_MODEL_LSSM;
}

static bool is_narrow_and_clipped(const facts *f)
{
    return f->M < f->N && f->clipped;
}

static bool is_narrow(const facts *f)
{
    return f->M < f->N;
}

static bool remembers(const facts *f)
{
    return f->memory > f->T;
}

static bool is_warmed_up(const facts *f)
{
    return f->M > f->N && f->warmup >= long_warmup;
}

static bool always(const facts *f)
{
    (void)f;
    return true;
}

typedef struct rule {
    bool (*applies)(const facts *f);
    antler_initialisation name;
    double kappa; /* of `memory` */
    const char *reason;
} rule;

/* The first that applies is taken.  Measured: docs/notebook/initial-values.md. */
static const rule rules[] = {
    {is_mamba2, ANTLER_INITIALISATION_MEMORY, 0.9995, "a mamba2 has one start"},
    {is_lssm, ANTLER_INITIALISATION_STANDARD, 0.0, "a lssm hardly learns from small weights"},
    {is_narrow_and_clipped, ANTLER_INITIALISATION_MEMORY, 0.9,
     "a clipped model with fewer latent units than variables"},
    {is_narrow, ANTLER_INITIALISATION_STANDARD, 0.0, "fewer latent units than variables"},
    {remembers, ANTLER_INITIALISATION_MEMORY, 0.9995, "the data remember for longer than a window"},
    {is_warmed_up, ANTLER_INITIALISATION_MEMORY, 0.9995,
     "more latent units than variables, and a warm-up of 1,000 steps or more"},
    {always, ANTLER_INITIALISATION_MEMORY, 0.9, "the data forget within a window"},
};

antler_settings ant_initialisation_choose(const antler_settings *settings, const ant_dataset *dataset,
                                          char *reason, size_t bytes)
{
    antler_settings named = *settings;
    if (settings->initialisation != ANTLER_INITIALISATION_AUTO)
        return named;
    facts f = {.model = settings->model,
               .clipped = settings->clipped,
               .M = settings->latent_dim,
               .N = dataset->N,
               .T = settings->sequence_length,
               .warmup = settings->warmup};
    f.memory = ant_memory_rows(dataset, settings->precision, f.T);
    const rule *r = rules;
    while (!r->applies(&f))
        r++;
    named.initialisation = r->name;
    if (r->name == ANTLER_INITIALISATION_MEMORY) {
        named.kappa = r->kappa;
        snprintf(reason, bytes, "initialisation: memory with kappa %g: %s", r->kappa, r->reason);
    } else {
        snprintf(reason, bytes, "initialisation: standard: %s", r->reason);
    }
    return named;
}

/* ---- memory of the data --------------------------------------------------------------------------- */

/* One variable of the first trajectory. */
typedef struct column {
    const ant_dataset *dataset;
    bool single;
    size_t variable, rows;
    double mean;
} column;

static double value_at(const column *c, size_t row)
{
    const size_t at = (c->dataset->row[0] + row) * c->dataset->N + c->variable;
    return c->single ? (double)((const float *)c->dataset->x)[at] : ((const double *)c->dataset->x)[at];
}

/* Mean product of values `lag` rows apart. */
static double covariance(const column *c, size_t lag)
{
    double sum = 0.0;
    for (size_t i = 0; i + lag < c->rows; i++)
        sum += (value_at(c, i) - c->mean) * (value_at(c, i + lag) - c->mean);
    return sum / (double)(c->rows - lag);
}

static size_t memory_of(column *c, size_t most)
{
    c->mean = 0.0;
    for (size_t i = 0; i < c->rows; i++)
        c->mean += value_at(c, i) / (double)c->rows;
    const double least = covariance(c, 0) * exp(-1.0);
    size_t lag = 1;
    while (lag <= most && covariance(c, lag) > least)
        lag += 1 + lag / 20;
    return lag <= most ? lag : most + 1;
}

size_t ant_memory_rows(const ant_dataset *dataset, antler_precision precision, size_t most)
{
    const size_t end = dataset->count > 1 ? dataset->row[1] : dataset->rows;
    const size_t all = end - dataset->row[0], enough = most > 5000 ? 4 * most : 20000;
    column c = {.dataset = dataset,
                .single = precision == ANTLER_PRECISION_FLOAT,
                .rows = all < enough ? all : enough};
    size_t longest = 0;
    for (c.variable = 0; c.variable < dataset->N; c.variable++) {
        const size_t found = memory_of(&c, most);
        longest = found > longest ? found : longest;
    }
    return longest;
}
