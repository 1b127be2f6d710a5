/*
 * kind.h - what makes one kind of model: a row of the table in kind.c.
 *
 * A kind is one file (shplrnn.c, lssm.c, mamba2.c) that fills this table in: its parameters, their initial
 * values and regularisers, and its free run.  How it is trained is a row in
 * solve/method_tmpl.c.  Everything else - files, handles, free runs, measures, training - uses the layout
 * and these functions, not the names of kinds.
 */
#ifndef ANT_MODEL_KIND_H
#define ANT_MODEL_KIND_H

#include "model/runner.h"

/* A dimension is the length of one axis of one parameter; files store dimensions in this way. */
typedef struct ant_dim_source {
    const char *slice; /* NULL: the kind does not have this dimension */
    size_t axis;
} ant_dim_source;

typedef struct ant_model_kind {
    const char *name; /* of the setting `model`, and `kind` in files */
    /* Trained by generalised teacher forcing (spec 2): its state is forced through B+.  Otherwise its steps
       take the data as they are, its state is linear in time, and a scan solves it. */
    bool forced;
    ant_dim_source M, N, L, K, rank;

    /* Check what is special to the kind and append its slices. */
    antler_status (*lay_out)(const ant_model_dims *dims, ant_model_layout *layout);

    /* spec 4, spec 10.  parameters: (total), all 0 on entry. */
    antler_status (*initialise)(const ant_model_layout *layout, ant_initialisation initialisation,
                                uint64_t seed, uint32_t replica, double *parameters);

    /*
     * spec 5.  Fill the terms and, unless it is NULL, add to gradient (total).  work:
     * regularise_work() doubles.  NULL: the kind has no regularisers.
     */
    antler_status (*regularise)(const ant_model_layout *layout, const ant_regulariser *regulariser,
                                const double *parameters, double *gradient, double *work,
                                ant_regulariser_terms *terms);
    size_t (*regularise_work)(const ant_model_dims *dims); /* NULL: none is needed */

    const ant_runner_ops *runner;
} ant_model_kind;

const ant_model_kind *ant_model_kind_of(ant_model_id id);

/* The kind of that name; false when there is none. */
bool ant_model_kind_find(const char *name, ant_model_id *id);

extern const ant_model_kind ant_kind_shplrnn, ant_kind_lssm, ant_kind_mamba2;

#endif
