/* npy.c - reading NumPy arrays, and the header of the ones that Antler writes. */
#include "data/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool ant_machine_is_little_endian(void)
{
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 1;
}

static void swap_2(unsigned char *p, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint16_t v;
        memcpy(&v, p + 2 * i, 2);
        v = (uint16_t)(v << 8 | v >> 8);
        memcpy(p + 2 * i, &v, 2);
    }
}

static uint32_t reversed_4(uint32_t v)
{
    return v << 24 | (v & 0xff00) << 8 | (v >> 8 & 0xff00) | v >> 24;
}

static void swap_4(unsigned char *p, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t v;
        memcpy(&v, p + 4 * i, 4);
        v = reversed_4(v);
        memcpy(p + 4 * i, &v, 4);
    }
}

static void swap_8(unsigned char *p, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t v;
        memcpy(&v, p + 8 * i, 8);
        v = (uint64_t)reversed_4((uint32_t)v) << 32 | reversed_4((uint32_t)(v >> 32));
        memcpy(p + 8 * i, &v, 8);
    }
}

void ant_swap_bytes(void *values, size_t count, size_t size)
{
    if (size == 2)
        swap_2(values, count);
    else if (size == 4)
        swap_4(values, count);
    else if (size == 8)
        swap_8(values, count);
}

static antler_status fail_short(const char *where, uint64_t missing)
{
    return ant_fail(ANTLER_ERROR_FORMAT,
                    "the array is truncated: it ends within its %s, %llu byte%s missing; copy or save it "
                    "again",
                    where, (unsigned long long)missing, missing == 1 ? " is" : "s are");
}

static antler_status read_exactly(ant_source *source, void *to, size_t bytes)
{
    size_t got = 0;
    ANT_TRY(ant_source_read(source, to, bytes, &got));
    return got == bytes ? ANTLER_OK : fail_short("header", bytes - got);
}

/* Magic, version and length of the dict. */
static antler_status read_preamble(ant_source *source, ant_npy_header *header, size_t *dict_bytes)
{
    unsigned char magic[8], length[4] = {0};
    size_t got = 0;
    ANT_TRY(ant_source_read(source, magic, sizeof magic, &got));
    ANT_CHECK(got > 0, ANTLER_ERROR_FORMAT, "is empty; a NumPy array was expected");
    ANT_CHECK(memcmp(magic, "\x93NUMPY", got < 6 ? got : 6) == 0, ANTLER_ERROR_FORMAT,
              "is not a NumPy array: it does not begin with \\x93NUMPY; save the values with numpy.save");
    if (got < sizeof magic)
        return fail_short("header", sizeof magic - got);
    header->major = magic[6];
    header->minor = magic[7];
    ANT_CHECK(header->major >= 1 && header->major <= 3 && header->minor == 0, ANTLER_ERROR_FORMAT,
              "is a NumPy array of version %u.%u; Antler reads 1.0, 2.0 and 3.0, so save it again with "
              "numpy.save",
              header->major, header->minor);
    ANT_TRY(read_exactly(source, length, header->major == 1 ? 2 : 4));
    *dict_bytes = length[0] | (size_t)length[1] << 8 | (size_t)length[2] << 16 | (size_t)length[3] << 24;
    return ANTLER_OK;
}

antler_status ant_npy_read_header(ant_source *source, ant_npy_header *header)
{
    *header = (ant_npy_header){0};
    size_t length = 0;
    ANT_TRY(read_preamble(source, header, &length));
    if (length > ant_source_left(source))
        return fail_short("header", length - ant_source_left(source));
    ANT_CHECK(length <= ANT_NPY_HEADER_BYTES_MAX, ANTLER_ERROR_FORMAT,
              "the array's header claims %zu bytes, more than the %d that Antler accepts; save it again with "
              "numpy.save",
              length, ANT_NPY_HEADER_BYTES_MAX);
    void *text = NULL;
    size_t got = 0;
    ANT_TRY(ant_source_read_new(source, length, &text, &got));
    if (text == NULL)
        return fail_short("header", length - got);
    const antler_status status = ant_npy_parse_dict(text, length, header);
    free(text);
    return status;
}

/* One entry per kind of array that is refused. */
static antler_status fail_type(const ant_npy_header *header)
{
    const char *reason, *remedy = "save it as float64: numpy.save(file, array.astype(float))";
    switch (header->kind) {
    case 'O':
        reason = "holds Python objects (a pickle), which Antler never opens";
        remedy = "save plain numbers, with trajectories of unequal length in an .npz";
        break;
    case 's':
    case 'V':
        reason = "has a structured type";
        remedy = "save its fields as the columns of a plain array";
        break;
    case 'c':
        reason = "holds complex numbers";
        remedy = "save real and imaginary parts as two columns";
        break;
    case 'f':
        reason = header->item == 2 ? "holds half-precision numbers (float16)" : "holds long doubles";
        break;
    case 'M':
    case 'm':
        reason = "holds dates or time spans";
        break;
    default:
        reason = "holds text";
        break;
    }
    return ant_fail(ANTLER_ERROR_FORMAT, "the array %s; %s", reason, remedy);
}

antler_status ant_npy_check_numeric(const ant_npy_header *header)
{
    if (!header->readable)
        return fail_type(header);
    ANT_CHECK(header->rank >= 1, ANTLER_ERROR_FORMAT,
              "the array is a single number (0 axes); a series has time along an axis");
    ANT_CHECK(header->rank <= 3, ANTLER_ERROR_FORMAT,
              "the array has %zu axes; Antler reads 1 (time), 2 (time x variables) or 3 (trajectories x time "
              "x variables)",
              header->rank);
    ANT_CHECK(header->values > 0, ANTLER_ERROR_FORMAT,
              "the array is empty: one of its axes has length 0; save it with its values");
    return ANTLER_OK;
}

antler_status ant_npy_check_size(const ant_source *source, const ant_npy_header *header)
{
    const uint64_t left = ant_source_left(source);
    if (left == ANT_SIZE_UNKNOWN)
        return ANTLER_OK;
    if (left < header->bytes)
        return fail_short("values", header->bytes - left);
    ANT_CHECK(left == header->bytes, ANTLER_ERROR_FORMAT,
              "%llu bytes follow after the end of the array; the file is damaged or holds several arrays, "
              "which belong in an .npz",
              (unsigned long long)(left - header->bytes));
    return ANTLER_OK;
}

void ant_array_clear(ant_array *array)
{
    if (array->mapping.base == NULL)
        free(array->values);
    ant_mapping_free(&array->mapping);
    *array = (ant_array){0};
}

/* What the header says of values. */
static ant_array array_of(const ant_npy_header *header, void *values)
{
    ant_array array = {
        .values = values, .dtype = header->dtype, .fortran = header->fortran, .rank = header->rank};
    for (size_t i = 0; i < 3 && i < header->rank; i++)
        array.shape[i] = header->shape[i];
    return array;
}

antler_status ant_npy_read_values(ant_source *source, const ant_npy_header *header, ant_array *array)
{
    ANT_TRY(ant_npy_check_size(source, header));
    ANT_TRY(ant_source_charge(source, header->bytes));
    ant_mapping mapping = {0};
    if (!header->swapped && ant_mapping_make(source, header->bytes, header->item, &mapping)) {
        *array = array_of(header, (unsigned char *)mapping.base + source->position);
        array->mapping = mapping;
        return ANTLER_OK;
    }
    void *values = NULL;
    size_t got = 0;
    ANT_TRY(ant_source_read_new(source, (size_t)header->bytes, &values, &got));
    if (values == NULL)
        return fail_short("values", header->bytes - got);
    unsigned char more;
    const antler_status status = ant_source_read(source, &more, 1, &got);
    if (status != ANTLER_OK || got != 0) {
        free(values);
        return status != ANTLER_OK
                   ? status
                   : ant_fail(ANTLER_ERROR_FORMAT, "bytes follow after the end of the array; save it again");
    }
    if (header->swapped) {
        const size_t unit = header->kind == 'U' ? 4 : header->item;
        ant_swap_bytes(values, (size_t)header->bytes / unit, unit);
    }
    *array = array_of(header, values);
    return ANTLER_OK;
}

size_t ant_npy_format_header(const char *descr, size_t rank, const size_t *shape, char *out)
{
    char extents[128] = "";
    size_t n = 0;
    for (size_t i = 0; i < rank && n < sizeof extents; i++)
        n += (size_t)snprintf(extents + n, sizeof extents - n,
                              rank == 1 ? "%zu,"
                              : i == 0  ? "%zu"
                                        : ", %zu",
                              shape[i]);
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    const size_t dict =
        (size_t)snprintf(out + 10, ANT_NPY_WRITTEN_MAX - 10,
                         "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, extents);
    const size_t total = (10 + dict + 1 + 63) / 64 * 64;
    memset(out + 10 + dict, ' ', total - 10 - dict);
    out[total - 1] = '\n';
    out[8] = (char)((total - 10) & 0xff);
    out[9] = (char)((total - 10) >> 8);
    return total;
}
