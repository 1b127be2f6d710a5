/* archive_read.c - reading named arrays. */
#include "data/archive.h"

#include "data/excerpt.h"
#include "data/npy.h"
#include "data/series.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One array while it is read. */
typedef struct reading {
    ant_source source;
    ant_npy_header header;
    bool open;
} reading;

static antler_status begin(ant_npz *npz, const char *key, reading *r)
{
    const size_t index = ant_npz_find(npz, key);
    r->open = false;
    ANT_CHECK(index != ANT_NPZ_NONE, ANTLER_ERROR_FORMAT, "has no array '%s'", key);
    ANT_TRY(ant_npz_open_array(npz, index, &r->source));
    r->open = true;
    return ant_npy_read_header(&r->source, &r->header);
}

static antler_status finish(reading *r, const char *key, antler_status status)
{
    if (r->open)
        ant_npz_close_array(&r->source);
    if (status == ANTLER_OK || !r->open)
        return status;
    char prefix[160];
    snprintf(prefix, sizeof prefix, "array %.140s", key);
    return ant_fail_within(status, prefix);
}

antler_status ant_archive_shape(ant_npz *npz, const char *key, size_t *rank, size_t *shape, size_t *item)
{
    reading r;
    antler_status status = begin(npz, key, &r);
    if (status == ANTLER_OK && !r.header.readable)
        status = ant_fail(ANTLER_ERROR_FORMAT, "holds no numbers");
    if (status == ANTLER_OK) {
        *rank = r.header.rank;
        *item = r.header.item;
        memcpy(shape, r.header.shape, sizeof r.header.shape);
    }
    return finish(&r, key, status);
}

/* Values in C order and of the expected number. */
static antler_status read_values(reading *r, size_t count, ant_array *array)
{
    const ant_npy_header *h = &r->header;
    ANT_CHECK(h->readable && h->rank <= 3, ANTLER_ERROR_FORMAT, "holds no numbers");
    ANT_CHECK(!h->fortran || h->rank <= 1, ANTLER_ERROR_FORMAT,
              "is in Fortran order; save it with numpy.ascontiguousarray");
    ANT_CHECK(h->values == count, ANTLER_ERROR_FORMAT, "has %llu values instead of %zu",
              (unsigned long long)h->values, count);
    return ant_npy_read_values(&r->source, h, array);
}

antler_status ant_archive_read(ant_npz *npz, const char *key, size_t count, double *values)
{
    reading r;
    ant_array array = {0};
    antler_status status = begin(npz, key, &r);
    if (status == ANTLER_OK)
        status = read_values(&r, count, &array);
    if (status == ANTLER_OK) {
        const ant_column column = {.first = array.values,
                                   .row_step = (ptrdiff_t)r.header.item,
                                   .dtype = r.header.dtype,
                                   .divisor = 1.0};
        ant_column_read_f64(&column, 0, 0, count, values, 1);
    }
    ant_array_clear(&array);
    return finish(&r, key, status);
}

antler_status ant_archive_read_raw(ant_npz *npz, const char *key, ant_dtype dtype, size_t count, void *values)
{
    reading r;
    ant_array array = {0};
    antler_status status = begin(npz, key, &r);
    if (status == ANTLER_OK && (!r.header.readable || r.header.dtype != dtype))
        status = ant_fail(ANTLER_ERROR_FORMAT, "is not %s", ant_dtype_name(dtype));
    if (status == ANTLER_OK)
        status = read_values(&r, count, &array);
    if (status == ANTLER_OK)
        memcpy(values, array.values, count * ant_dtype_size(dtype));
    ant_array_clear(&array);
    return finish(&r, key, status);
}

/* UTF-32 of one text, padded with zeros, as UTF-8. */
static antler_status decode_text(const unsigned char *from, size_t units, char **text)
{
    char *out = malloc(units * 4 + 1);
    if (out == NULL)
        return ant_fail_memory(units * 4, "a text");
    size_t length = 0;
    for (size_t i = 0; i < units; i++) {
        uint32_t code;
        memcpy(&code, from + 4 * i, 4);
        if (code == 0)
            break;
        const size_t bytes = ant_utf8_encode(code, out + length);
        if (bytes == 0) {
            free(out);
            return ant_fail(ANTLER_ERROR_FORMAT, "holds something that is not text");
        }
        length += bytes;
    }
    out[length] = '\0';
    *text = out;
    return ANTLER_OK;
}

antler_status ant_archive_read_text(ant_npz *npz, const char *key, size_t index, char **text)
{
    reading r;
    ant_array array = {0};
    antler_status status = begin(npz, key, &r);
    if (status == ANTLER_OK &&
        (r.header.kind != 'U' || r.header.rank > 1 || r.header.values <= index || r.header.item == 0))
        status = ant_fail(ANTLER_ERROR_FORMAT, "is not the text that is needed");
    if (status == ANTLER_OK)
        status = ant_npy_read_values(&r.source, &r.header, &array);
    if (status == ANTLER_OK)
        status =
            decode_text((const unsigned char *)array.values + index * r.header.item, r.header.item / 4, text);
    ant_array_clear(&array);
    return finish(&r, key, status);
}
