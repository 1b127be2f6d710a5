/*
 * file.h - a model as named arrays: the contents of a model file or a checkpoint for numpy.load.
 *
 *     format        "antler model 1"           kind            "shplrnn", "lssm" or "mamba2"
 *     A (M), Abar (M), W (M,L) or WL (M,r) and WR (r,L), V (L,M), b (L), h (M), C (M,K), B (N,M)
 *                   in the precision of training; A = tanh(Abar).  These are the shplrnn's; other kinds have
 *                   the names of their own slices (model.h)
 *     diagonal      "free": A is the parameter and there is no Abar; absent otherwise
 *     clipped       bool                       dt              float64, 0 when unknown
 *     names (N), input_names (K)               texts
 *     mean (N), scale (N)                      float64; absent when the data were not scaled
 *     settings, provenance                     texts; absent when unknown
 *
 * A checkpoint holds further arrays beside these; readers of models ignore them.
 */
#ifndef ANT_MODEL_FILE_H
#define ANT_MODEL_FILE_H

#include "data/archive.h"
#include "model/handle.h"

/* Add all arrays of the model. */
antler_status ant_model_add(const antler_model *model, ant_archive *archive);

/* Read a model out of an archive; messages do not name the file. */
antler_status ant_model_read(ant_npz *npz, antler_model **model);

#endif
