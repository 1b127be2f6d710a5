/* handle.h - what stands behind antler_model. */
#ifndef ANT_MODEL_HANDLE_H
#define ANT_MODEL_HANDLE_H

#include "model/model.h"

struct antler_model {
    ant_model_layout layout;
    double *parameters;   /* (layout.total), as trained: Abar, not A.  Float values are exact in double */
    double *A;            /* (M): tanh(Abar), for those who ask by the paper's letter */
    int precision;        /* of training: 32 or 64 bits */
    double dt;            /* 0 when unknown */
    char **names;         /* (N + K); an entry may be NULL */
    double *mean, *scale; /* (N); NULL when the data were not scaled */
    char *settings;       /* resolved settings as YAML; NULL when unknown */
    char *provenance;     /* antler_build_info() of the build that made it; NULL when unknown */
};

/* A model of these dimensions with all parameters 0 and nothing else known. */
antler_status ant_model_create(const ant_model_dims *dims, antler_model **model);

#endif
