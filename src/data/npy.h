/*
 * npy.h - one NumPy array in a stream of bytes: its header, its values, and how to write one.
 *
 * The format (numpy.lib.format, versions 1.0, 2.0, 3.0): "\x93NUMPY", major, minor, the length of the
 * header as a little-endian number of 2 bytes (version 1) or 4, the header, which is a Python dict
 * literal with the keys descr, fortran_order and shape, and the bare values.
 */
#ifndef ANT_DATA_NPY_H
#define ANT_DATA_NPY_H

#include "data/dtype.h"
#include "data/mapping.h"

enum { ANT_NPY_MAX_RANK = 8, ANT_NPY_HEADER_BYTES_MAX = 1 << 20 };

typedef struct ant_npy_header {
    unsigned major, minor;
    char kind;          /* of the type: f i u b c O S U V M m; 's' for a structured one */
    size_t item;        /* bytes of a value; 0 for structured ones */
    bool swapped;       /* the values are in the other byte order than this machine's */
    bool readable;      /* `dtype` is one that Antler computes with */
    ant_dtype dtype;    /* valid when readable */
    char type_name[16]; /* "float64", "object", ... */
    double date_unit;   /* of dates, in microseconds; 0: it has no fixed length */
    bool fortran;
    size_t rank;
    size_t shape[ANT_NPY_MAX_RANK];
    uint64_t values; /* product of the shape */
    uint64_t bytes;  /* values * item */
} ant_npy_header;

/* Values in memory, as their file ordered them. */
typedef struct ant_array {
    void *values;        /* owned, unless they are mapped */
    ant_mapping mapping; /* owned; empty: the values were read */
    ant_dtype dtype;
    bool fortran;
    size_t rank; /* 0 .. 3 for what becomes a table */
    size_t shape[3];
} ant_array;

void ant_array_clear(ant_array *array);

/* Read and parse the header; the source is then at the first value. */
antler_status ant_npy_read_header(ant_source *source, ant_npy_header *header);

/* Check that the values fill the rest of the source exactly: too few and too many are faults. */
antler_status ant_npy_check_size(const ant_source *source, const ant_npy_header *header);

/* Check that this is an array of numbers with 1 to 3 axes and at least one value. */
antler_status ant_npy_check_numeric(const ant_npy_header *header);

/* Read or map the values that follow a header of numbers or text, of any rank; in native byte order. */
antler_status ant_npy_read_values(ant_source *source, const ant_npy_header *header, ant_array *array);

/* Parse the dict of a header.  Fills all but major and minor.  Used by ant_npy_read_header. */
antler_status ant_npy_parse_dict(const char *text, size_t length, ant_npy_header *header);

/*
 * A version 1.0 header in C order, magic included, padded so that values start on a multiple of 64.
 * descr: "<f8", "<U12".  Returns its bytes; `out` has room for ANT_NPY_WRITTEN_MAX.
 */
enum { ANT_NPY_WRITTEN_MAX = 256 };
size_t ant_npy_format_header(const char *descr, size_t rank, const size_t *shape, char *out);

/* Whether this machine keeps the least significant byte first. */
bool ant_machine_is_little_endian(void);

/* Reverse the bytes of each of `count` values in place.  size: 1, 2, 4 or 8. */
void ant_swap_bytes(void *values, size_t count, size_t size);

#endif
