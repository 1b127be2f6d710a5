/* inspect.c - what is in a file, from its headers; text is read through. */
#include "base/sized.h"
#include "data/csv.h"
#include "data/excerpt.h"
#include "data/format.h"
#include "data/npz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static antler_status inspect_array(ant_source *source, const char *key, antler_array_info *info,
                                   ant_npy_header *header)
{
    char shown[ANT_EXCERPT_ROOM];
    ANT_TRY(ant_npy_read_header(source, header));
    if (header->readable)
        ANT_TRY(ant_npy_check_size(source, header));
    *info = (antler_array_info){.rank = header->rank, .fortran = header->fortran, .bytes = header->bytes};
    snprintf(info->key, sizeof info->key, "%s", ant_excerpt(key, strlen(key), shown));
    snprintf(info->dtype, sizeof info->dtype, "%s", header->type_name);
    memcpy(info->shape, header->shape, sizeof info->shape);
    return ANTLER_OK;
}

static antler_status inspect_npy(ant_source *source, antler_file_info *info)
{
    ant_npy_header header;
    ANT_TRY(inspect_array(source, "", &info->arrays[0], &header));
    snprintf(info->format, sizeof info->format, "NumPy array %u.%u", header.major, header.minor);
    return ANTLER_OK;
}

static antler_status inspect_text(ant_source *source, antler_file_info *info)
{
    antler_load_opts opts;
    ant_csv_facts facts;
    antler_load_opts_default(&opts);
    ANT_TRY(ant_csv_inspect(source, &opts, &facts));
    const char *name = facts.delimiter == ','    ? "comma-separated text"
                       : facts.delimiter == ';'  ? "semicolon-separated text"
                       : facts.delimiter == '\t' ? "tab-separated text"
                       : facts.delimiter == '|'  ? "bar-separated text"
                                                 : "space-separated text";
    snprintf(info->format, sizeof info->format, "%s", name);
    info->arrays[0] = (antler_array_info){.dtype = "float64",
                                          .rank = 2,
                                          .shape = {facts.rows, facts.fields},
                                          .bytes = (uint64_t)facts.rows * facts.fields * sizeof(double)};
    return ANTLER_OK;
}

static antler_status inspect_npz(const char *path, antler_file_info *info)
{
    ant_npz *npz = NULL;
    ANT_TRY(ant_npz_open_file(&npz, path));
    antler_status status = ANTLER_OK;
    const size_t count = ant_npz_count(npz);
    antler_array_info *arrays = calloc(count, sizeof *arrays);
    if (arrays == NULL)
        status = ant_fail_memory(count * sizeof *arrays, "the list of arrays");
    for (size_t i = 0; i < count && status == ANTLER_OK; i++) {
        ant_source source;
        ant_npy_header header;
        const char *key = ant_npz_key(npz, i);
        status = ant_npz_open_array(npz, i, &source);
        if (status == ANTLER_OK) {
            status = inspect_array(&source, key, &arrays[i], &header);
            ant_npz_close_array(&source);
        }
        if (status != ANTLER_OK)
            status = ant_npz_fail_in_array(status, key);
    }
    ant_npz_close(npz);
    if (status != ANTLER_OK) {
        free(arrays);
        return status;
    }
    free(info->arrays);
    info->arrays = arrays;
    info->array_count = count;
    snprintf(info->format, sizeof info->format, "NumPy archive (npz)");
    return ANTLER_OK;
}

static antler_status inspect(const char *path, ant_source *source, antler_file_info *info)
{
    ant_format format = ANT_FORMAT_TEXT;
    info->bytes = source->size == ANT_SIZE_UNKNOWN ? 0 : source->size;
    ANT_TRY(ant_source_unpack(source));
    ANT_TRY(ant_format_find(path, source, &format));
    info->array_count = 1;
    info->arrays = calloc(1, sizeof *info->arrays);
    if (info->arrays == NULL)
        return ant_fail_memory(sizeof *info->arrays, "the description of a file");
    return format == ANT_FORMAT_NPY   ? inspect_npy(source, info)
           : format == ANT_FORMAT_NPZ ? inspect_npz(path, info)
                                      : inspect_text(source, info);
}

antler_status(antler_file_inspect)(const char *path, antler_file_info *info, size_t struct_size)
{
    ANT_CHECK(path != NULL && info != NULL, ANTLER_ERROR_ARGUMENT, "name a file to inspect");
    ANT_RESULT(antler_file_info, info, struct_size, antler_file_inspect(path, &whole),
               ANT_CLEAR_REST(antler_file_info, struct_size));
    ant_source source;
    antler_file_info found = {.struct_size = sizeof found};
    antler_status status = ant_source_open_file(&source, path);
    if (status == ANTLER_OK) {
        status = inspect(path, &source, &found);
        ant_source_close(&source);
    }
    if (status != ANTLER_OK) {
        antler_file_info_clear(&found);
        return ant_fail_within(status, path);
    }
    *info = found;
    return ANTLER_OK;
}

void antler_file_info_clear(antler_file_info *info)
{
    if (info == NULL)
        return;
    ANT_CLEAR(antler_file_info, info);
    free(info->arrays);
    *info = (antler_file_info){.struct_size = sizeof *info};
}
