/* file.c - models as NumPy archives: written, read and checked. */
#include "model/file.h"
#include "base/path.h"
#include "model/kind.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char format_text[] = "antler model 1", free_text[] = "free";

static antler_status add_names(const antler_model *model, ant_archive *archive)
{
    const ant_model_dims *d = &model->layout.dims;
    const char **names = calloc(d->N + d->K, sizeof *names);
    if (names == NULL)
        return ant_fail_memory((d->N + d->K) * sizeof *names, "names");
    for (size_t i = 0; i < d->N + d->K; i++)
        names[i] = model->names[i] == NULL ? "" : model->names[i]; /* empty: unnamed */
    antler_status status = ant_archive_add_texts(archive, "names", 1, d->N, names);
    if (status == ANTLER_OK && d->K > 0)
        status = ant_archive_add_texts(archive, "input_names", 1, d->K, names + d->N);
    free(names);
    return status;
}

static antler_status add_text(ant_archive *archive, const char *key, const char *text)
{
    return text == NULL ? ANTLER_OK : ant_archive_add_texts(archive, key, 0, 1, &text);
}

antler_status ant_model_add(const antler_model *model, ant_archive *archive)
{
    const ant_model_layout *layout = &model->layout;
    const uint8_t clipped = layout->dims.clipped ? 1 : 0;
    ANT_TRY(add_text(archive, "format", format_text));
    ANT_TRY(add_text(archive, "kind", antler_model_kind(model)));
    if (layout->dims.free_diagonal) /* A is one of the slices */
        ANT_TRY(add_text(archive, "diagonal", free_text));
    else if (layout->Abar != SIZE_MAX)
        ANT_TRY(ant_archive_add_reals(archive, "A", model->precision, 1, &layout->dims.M, model->A));
    for (size_t i = 0; i < layout->slices; i++) {
        const ant_model_slice *slice = &layout->slice[i];
        const size_t shape[] = {slice->rows, slice->cols};
        ANT_TRY(ant_archive_add_reals(archive, slice->name, model->precision, slice->axes, shape,
                                      model->parameters + slice->offset));
    }
    ANT_TRY(ant_archive_add(archive, "clipped", ANT_BOOL, 0, NULL, &clipped));
    ANT_TRY(ant_archive_add(archive, "dt", ANT_F64, 0, NULL, &model->dt));
    ANT_TRY(add_names(model, archive));
    if (model->mean != NULL) {
        ANT_TRY(ant_archive_add(archive, "mean", ANT_F64, 1, &layout->dims.N, model->mean));
        ANT_TRY(ant_archive_add(archive, "scale", ANT_F64, 1, &layout->dims.N, model->scale));
    }
    ANT_TRY(add_text(archive, "settings", model->settings));
    return add_text(archive, "provenance", model->provenance);
}

/* A dimension from the shape of a parameter; 0 when the kind or the file does not have it. */
static antler_status read_dim(ant_npz *npz, ant_dim_source from, size_t *dim, size_t *item)
{
    size_t rank = 0, shape[8] = {0};
    *dim = 0;
    if (from.slice == NULL || ant_npz_find(npz, from.slice) == ANT_NPZ_NONE)
        return ANTLER_OK;
    ANT_TRY(ant_archive_shape(npz, from.slice, &rank, shape, item));
    ANT_CHECK(rank > from.axis, ANTLER_ERROR_FORMAT, "array %s: a model needs a %s here", from.slice,
              from.axis == 0 ? "vector" : "matrix");
    *dim = shape[from.axis];
    return ANTLER_OK;
}

static antler_status read_diagonal(ant_npz *npz, bool *is_free)
{
    char *text = NULL;
    *is_free = ant_npz_find(npz, "diagonal") != ANT_NPZ_NONE;
    if (!*is_free)
        return ANTLER_OK;
    ANT_TRY(ant_archive_read_text(npz, "diagonal", 0, &text));
    const bool known = strcmp(text, free_text) == 0;
    free(text);
    ANT_CHECK(known, ANTLER_ERROR_FORMAT, "array diagonal: this version reads the text '%s' alone",
              free_text);
    return ANTLER_OK;
}

/* The dimensions follow from the shapes; reading the values checks that they fit together. */
static antler_status read_dims(ant_npz *npz, ant_model_id id, ant_model_dims *dims, int *precision)
{
    const ant_model_kind *kind = ant_model_kind_of(id);
    size_t item = 0;
    uint8_t clipped = 0;
    *dims = (ant_model_dims){.kind = id};
    ANT_TRY(read_dim(npz, kind->N, &dims->N, &item));
    ANT_TRY(read_dim(npz, kind->L, &dims->L, &item));
    ANT_TRY(read_dim(npz, kind->K, &dims->K, &item));
    ANT_TRY(read_dim(npz, kind->rank, &dims->rank, &item));
    ANT_TRY(read_diagonal(npz, &dims->free_diagonal));
    ANT_TRY(read_dim(npz, dims->free_diagonal ? (ant_dim_source){"A", 0} : kind->M, &dims->M, &item));
    *precision = item == sizeof(float) ? 32 : 64;
    ANT_TRY(ant_archive_read_raw(npz, "clipped", ANT_BOOL, 1, &clipped));
    dims->clipped = clipped != 0;
    return ANTLER_OK;
}

static antler_status read_parameters(ant_npz *npz, antler_model *model)
{
    for (size_t i = 0; i < model->layout.slices; i++) {
        const ant_model_slice *slice = &model->layout.slice[i];
        size_t rank = 0, shape[8] = {0}, item = 0;
        ANT_TRY(ant_archive_shape(npz, slice->name, &rank, shape, &item));
        ANT_CHECK(rank == slice->axes && shape[0] == slice->rows && (rank == 1 || shape[1] == slice->cols),
                  ANTLER_ERROR_FORMAT, "array %s: its shape does not fit the other parameters", slice->name);
        ANT_TRY(ant_archive_read(npz, slice->name, slice->count, model->parameters + slice->offset));
    }
    ant_model_refresh(model);
    return ANTLER_OK;
}

static antler_status read_names(ant_npz *npz, antler_model *model)
{
    const ant_model_dims *d = &model->layout.dims;
    for (size_t i = 0; i < d->N + d->K; i++) {
        const char *key = i < d->N ? "names" : "input_names";
        if (ant_npz_find(npz, key) == ANT_NPZ_NONE)
            continue;
        char *name = NULL;
        ANT_TRY(ant_archive_read_text(npz, key, i < d->N ? i : i - d->N, &name));
        const antler_status status = ant_model_set_name(model, i, name[0] == '\0' ? NULL : name);
        free(name);
        ANT_TRY(status);
    }
    return ANTLER_OK;
}

static antler_status read_scaling(ant_npz *npz, antler_model *model)
{
    const size_t N = model->layout.dims.N;
    if (ant_npz_find(npz, "mean") == ANT_NPZ_NONE)
        return ANTLER_OK;
    double *values = malloc(2 * N * sizeof *values);
    if (values == NULL)
        return ant_fail_memory(2 * N * sizeof *values, "the model's scaling");
    antler_status status = ant_archive_read(npz, "mean", N, values);
    if (status == ANTLER_OK)
        status = ant_archive_read(npz, "scale", N, values + N);
    if (status == ANTLER_OK)
        status = ant_model_set_scaling(model, values, values + N);
    free(values);
    return status;
}

static antler_status read_rest(ant_npz *npz, antler_model *model)
{
    ANT_TRY(read_parameters(npz, model));
    ANT_TRY(read_names(npz, model));
    ANT_TRY(read_scaling(npz, model));
    ANT_TRY(ant_archive_read(npz, "dt", 1, &model->dt));
    if (ant_npz_find(npz, "settings") != ANT_NPZ_NONE)
        ANT_TRY(ant_archive_read_text(npz, "settings", 0, &model->settings));
    if (ant_npz_find(npz, "provenance") != ANT_NPZ_NONE)
        ANT_TRY(ant_archive_read_text(npz, "provenance", 0, &model->provenance));
    return ANTLER_OK;
}

static antler_status read_kind(ant_npz *npz, ant_model_id *id)
{
    char *format = NULL, *kind = NULL;
    ANT_CHECK(ant_npz_find(npz, "format") != ANT_NPZ_NONE && ant_npz_find(npz, "kind") != ANT_NPZ_NONE,
              ANTLER_ERROR_FORMAT, "is not a model; give a model.npz, a checkpoint or the folder of a run");
    ANT_TRY(ant_archive_read_text(npz, "format", 0, &format));
    antler_status status = ant_archive_read_text(npz, "kind", 0, &kind);
    if (status == ANTLER_OK && (strcmp(format, format_text) != 0 || !ant_model_kind_find(kind, id)))
        status =
            ant_fail(ANTLER_ERROR_FORMAT,
                     "was written by another version of Antler, and this version cannot read its models");
    free(format);
    free(kind);
    return status;
}

antler_status ant_model_read(ant_npz *npz, antler_model **model)
{
    ant_model_id id;
    ant_model_dims dims;
    int precision = 64;
    antler_model *m = NULL;
    ANT_TRY(read_kind(npz, &id));
    ANT_TRY(read_dims(npz, id, &dims, &precision));
    ANT_TRY(ant_model_create(&dims, &m));
    m->precision = precision;
    const antler_status status = read_rest(npz, m);
    if (status != ANTLER_OK) {
        antler_model_free(m);
        return status;
    }
    *model = m;
    return ANTLER_OK;
}

/* file: (bytes) the model.npz of a run; refused where it is that of a run that another one has replaced. */
static antler_status name_model(const char *folder, size_t bytes, char *file)
{
    char marker[4200], config[4200];
    bool exists = false, replaced = false;
    snprintf(marker, sizeof marker, "%.4096s/.overwrite", folder); /* train/folder.h */
    snprintf(config, sizeof config, "%.4096s/config.yaml", folder);
    ANT_TRY(ant_path_same_bytes(marker, config, &replaced));
    ANT_CHECK(
        !replaced, ANTLER_ERROR_NOT_FOUND,
        "%s: has the model of an older run, which a new one is replacing; resume that one, or wait for it",
        folder);
    snprintf(file, bytes, "%.4096s/model.npz", folder);
    ANT_TRY(ant_path_exists(file, &exists));
    ANT_CHECK(exists, ANTLER_ERROR_NOT_FOUND,
              "%s: holds no model.npz; give the folder of a run, such as Results/experiment/run/001, that "
              "has reached its first checkpoint",
              folder);
    return ANTLER_OK;
}

antler_status antler_model_load(const char *path, antler_model **model)
{
    ANT_NEED(path != NULL && model != NULL);
    char file[4200];
    struct stat info;
    snprintf(file, sizeof file, "%.4096s", path);
    if (stat(path, &info) != 0)
        return ant_fail(errno == ENOENT || errno == ENOTDIR ? ANTLER_ERROR_NOT_FOUND : ANTLER_ERROR_IO,
                        "%s: cannot be opened: %s", path, strerror(errno));
    if (S_ISDIR(info.st_mode))
        ANT_TRY(name_model(path, sizeof file, file));
    ant_npz *npz = NULL;
    antler_status status = ant_npz_open_file(&npz, file);
    if (status == ANTLER_OK) {
        status = ant_model_read(npz, model);
        ant_npz_close(npz);
    }
    return status == ANTLER_OK ? ANTLER_OK : ant_fail_within(status, file);
}

antler_status antler_model_load_memory(const void *bytes, size_t size, antler_model **model)
{
    ANT_NEED(model != NULL && (bytes != NULL || size == 0));
    static const char place[] = "the model in memory";
    ant_npz *npz = NULL;
    ANT_CHECK(size > 0, ANTLER_ERROR_FORMAT, "%s: holds no bytes", place);
    antler_status status = ant_npz_open_memory(&npz, bytes, size);
    if (status == ANTLER_OK) {
        status = ant_model_read(npz, model);
        ant_npz_close(npz);
    }
    return status == ANTLER_OK ? ANTLER_OK : ant_fail_within(status, place);
}

antler_status antler_model_save(const antler_model *model, const char *path)
{
    ANT_NEED(model != NULL && path != NULL);
    ant_archive *archive = NULL;
    ANT_TRY(ant_archive_create(path, &archive));
    const antler_status status = ant_model_add(model, archive);
    if (status == ANTLER_OK)
        return ant_archive_commit(archive);
    ant_archive_abort(archive);
    return status;
}
