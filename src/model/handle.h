/* handle.h - the struct behind antler_model. */
#ifndef ANT_MODEL_HANDLE_H
#define ANT_MODEL_HANDLE_H

#include "model/model.h"

struct antler_model {
    ant_model_layout layout;
    double *parameters;   /* (layout.total), as trained.  Float values are exact in double */
    double *A;            /* (M): the A of the paper, tanh(Abar) unless the diagonal is free; 0 without one */
    int precision;        /* of training: 32 or 64 bits */
    double dt;            /* 0 when unknown */
    char **names;         /* (N + K); an entry may be NULL */
    double *mean, *scale; /* (N); NULL when the data were not scaled */
    char *settings;       /* resolved settings as YAML; NULL when unknown */
    char *provenance;     /* antler_build_info() of the build that made it; NULL when unknown */
};

/* Bring A up to date after the parameters were written. */
void ant_model_refresh(antler_model *model);

/* A model of these dimensions with all parameters 0 and nothing else known. */
antler_status ant_model_create(const ant_model_dims *dims, antler_model **model);

/* Name a variable or input; NULL takes the name away.  index < N + K. */
antler_status ant_model_set_name(antler_model *model, size_t index, const char *name);

/* Remember that user = value * scale + mean.  mean, scale: (N). */
antler_status ant_model_set_scaling(antler_model *model, const double *mean, const double *scale);

/* A whole number from the top level of the settings, such as "warmup: 50"; false when it is not there. */
bool ant_model_setting_count(const antler_model *model, const char *key, size_t *value);

#endif
