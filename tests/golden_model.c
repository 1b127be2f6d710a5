/* golden_model.c - golden cases of models: the free run of a shPLRNN, and Lyapunov spectra. */
#include "golden.h"

#include "model/kind.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double generate_tolerance = 1e-9;
static const double chaotic_tolerance = 0.02; /* sums along a chaotic orbit agree statistically only */
static const double stable_tolerance = 1e-9;

/* Fill a parameter from PREFIX + its letter; A is kept as Abar. */
static void fill_slice(golden_case *c, const char *prefix, const ant_model_slice *slice, double *values)
{
    char file[64];
    const bool decay = strcmp(slice->name, "Abar") == 0;
    snprintf(file, sizeof file, "%s%s", prefix, slice->name);
    if (decay && !golden_has(c, file))
        snprintf(file, sizeof file, "%sA", prefix);
    golden_array array = golden_load(c, file);
    if (!c->broken && array.count != slice->count)
        golden_broken(c, "%s.npy has %zu numbers instead of %zu", file, array.count, slice->count);
    for (size_t i = 0; i < slice->count && !c->broken; i++)
        values[i] = decay && file[strlen(file) - 1] == 'A' ? atanh(array.values[i]) : array.values[i];
    golden_free(&array);
}

antler_model *golden_model(golden_case *c, const char *prefix)
{
    char word[64] = "";
    golden_word(c, "model", word, sizeof word);
    const bool clipped = strstr(word, "clipped") != NULL || golden_number(c, "clipped", 0.0) != 0.0;
    word[strcspn(word, " ")] = '\0';
    ant_model_id kind = ANT_MODEL_SHPLRNN;
    ant_model_kind_find(word, &kind); /* other words describe a shPLRNN */
    const double M = golden_number(c, "M", golden_number(c, "d_model", 0.0));
    const ant_model_dims dims = {.kind = kind,
                                 .M = (size_t)M,
                                 .L = (size_t)golden_number(c, "L", 0.0),
                                 .N = (size_t)golden_number(c, "N", M),
                                 .K = (size_t)golden_number(c, "K", 0.0),
                                 .rank = (size_t)golden_number(c, "rank", 0.0),
                                 .clipped = clipped};
    antler_model *model = NULL;
    if (ant_model_create(&dims, &model) != ANTLER_OK) {
        golden_broken(c, "%s", antler_message());
        return NULL;
    }
    for (size_t i = 0; i < model->layout.slices && !c->broken; i++) {
        const ant_model_slice *slice = &model->layout.slice[i];
        char readout[64];
        snprintf(readout, sizeof readout, "%sB", prefix);
        if (slice->offset != model->layout.B || golden_has(c, readout)) {
            fill_slice(c, prefix, slice, model->parameters + slice->offset);
            continue;
        }
        for (size_t m = 0; m < dims.M; m++) /* cases without observations: B = I */
            model->parameters[slice->offset + m * dims.M + m] = 1.0;
    }
    ant_model_refresh(model);
    return model;
}

void golden_generate(golden_case *c)
{
    if (!golden_has(c, "generate_50_from_last"))
        return;
    antler_model *model = golden_model(c, "param_");
    golden_array z = golden_load(c, "z"), want = golden_load(c, "generate_50_from_last");
    antler_generate_opts opts;
    antler_generate_opts_default(&opts);
    antler_series *orbit = NULL;
    double *got = malloc((want.count + 1) * sizeof *got);
    if (!c->broken) {
        opts.start.state = z.values + (z.rows - 1) * z.columns; /* z_T of the first sequence */
        opts.steps = want.rows;
        if (antler_generate(model, &opts, &orbit, NULL) != ANTLER_OK ||
            antler_series_read_f64(orbit, 0, 0, want.rows, got, NULL) != ANTLER_OK)
            golden_broken(c, "%s", antler_message());
        else
            golden_compare(c, "generate_50_from_last", "double", got, want.values, want.count,
                           generate_tolerance);
    }
    free(got);
    antler_series_free(orbit);
    golden_free(&want);
    golden_free(&z);
    antler_model_free(model);
}

static bool lyapunov_matches(const golden_case *c)
{
    return golden_has(c, "spectrum") && golden_has(c, "z0");
}

static void lyapunov_check(golden_case *c)
{
    antler_model *model = golden_model(c, "");
    golden_array z0 = golden_load(c, "z0"), want = golden_load(c, "spectrum");
    antler_lyapunov_opts opts;
    antler_lyapunov_opts_default(&opts);
    opts.steps = (size_t)golden_number(c, "steps", 20000.0);
    opts.transient = 0;
    opts.start.state = z0.values;
    antler_lyapunov_result result = {0};
    if (!c->broken && antler_lyapunov(model, &opts, &result) != ANTLER_OK)
        golden_broken(c, "%s", antler_message());
    if (!c->broken) {
        const bool chaotic = want.values[0] > 0.0;
        golden_compare(c, "spectrum", chaotic ? "double, chaotic" : "double, stable", result.exponents,
                       want.values, want.count, chaotic ? chaotic_tolerance : stable_tolerance);
    }
    antler_lyapunov_result_clear(&result);
    golden_free(&want);
    golden_free(&z0);
    antler_model_free(model);
}

const golden_kind golden_lyapunov = {"lyapunov", lyapunov_matches, lyapunov_check};
