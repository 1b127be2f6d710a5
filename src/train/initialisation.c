/* initialisation.c - the rule of `initialisation: auto`, and the memory of the data that it needs. */
#include "train/initialisation.h"

#include "train/problem.h"

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
    double kappa; /* of `memory`; 0: not used */
    const char *reason;
} rule;

/* The first that applies is taken.  Measured: docs/notebook/initial-values.md. */
static const rule rules[] = {
    {is_mamba2, ANTLER_INITIALISATION_MEMORY, 0.0, "a mamba2 has one start"},
    {is_lssm, ANTLER_INITIALISATION_STANDARD, 0.0, "a lssm hardly learns from small weights"},
    {is_narrow_and_clipped, ANTLER_INITIALISATION_MEMORY, 0.9,
     "a clipped model with fewer latent units than variables"},
    {is_narrow, ANTLER_INITIALISATION_STANDARD, 0.0, "fewer latent units than variables"},
    {remembers, ANTLER_INITIALISATION_MEMORY, 0.9995, "the data remember for longer than a window"},
    {is_warmed_up, ANTLER_INITIALISATION_MEMORY, 0.9995,
     "more latent units than variables, and a warm-up of 1,000 steps or more"},
    {always, ANTLER_INITIALISATION_MEMORY, 0.9, "the data forget within a window"},
};

/* `auto` without a kappa: the first rule that applies. */
static const rule *choose(const antler_settings *s, const ant_dataset *dataset)
{
    facts f = {.model = s->model,
               .clipped = s->clipped,
               .M = s->latent_dim,
               .N = dataset->N,
               .T = s->sequence_length,
               .warmup = s->warmup};
    f.memory = ant_memory_rows(dataset, s->precision, f.T);
    const rule *r = rules;
    while (!r->applies(&f))
        r++;
    return r;
}

void ant_initialisation_resolve(antler_settings *s, const ant_dataset *dataset, char *reason, size_t bytes)
{
    reason[0] = '\0';
    if (s->initialisation == ANTLER_INITIALISATION_AUTO && s->kappa == 0.0) {
        const rule *r = choose(s, dataset);
        s->initialisation = r->name;
        s->kappa = r->kappa;
        if (r->kappa > 0.0)
            snprintf(reason, bytes, "initialisation: memory with kappa %g: %s", r->kappa, r->reason);
        else if (r->name == ANTLER_INITIALISATION_STANDARD)
            snprintf(reason, bytes, "initialisation: standard: %s", r->reason);
        const ant_initialisation chosen = ant_settings_initialisation(s);
        if (!ant_initialisation_uses_kappa(&chosen))
            s->kappa = 0.0; /* initialise_A and initialise_weights leave nothing to it */
    }
    const ant_initialisation how = ant_settings_initialisation(s);
    s->initialisation = (antler_initialisation)how.id;
    if (s->model != ANTLER_MODEL_MAMBA2 && ant_initialisation_uses_kappa(&how))
        s->kappa = how.kappa;
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

/* Mean product of values `lag` rows apart; pairs of which one is missing do not count. */
static double covariance(const column *c, size_t lag)
{
    double sum = 0.0;
    size_t pairs = 0;
    for (size_t i = 0; i + lag < c->rows; i++) {
        const double product = (value_at(c, i) - c->mean) * (value_at(c, i + lag) - c->mean);
        sum += isnan(product) ? 0.0 : product;
        pairs += !isnan(product);
    }
    return pairs == 0 ? 0.0 : sum / (double)pairs;
}

static size_t memory_of(column *c, size_t most)
{
    size_t seen = 0;
    c->mean = 0.0;
    for (size_t i = 0; i < c->rows; i++)
        seen += !isnan(value_at(c, i));
    for (size_t i = 0; i < c->rows; i++)
        c->mean += isnan(value_at(c, i)) ? 0.0 : value_at(c, i) / (double)seen;
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
