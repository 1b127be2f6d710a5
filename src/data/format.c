/* format.c - the format of a file from its ending and first bytes; other known formats are refused.
 */
#include "data/format.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

bool ant_format_has_ending(const char *path, const char *ending)
{
    const size_t length = strlen(path), tail = strlen(ending);
    return length > tail && strcasecmp(path + length - tail, ending) == 0;
}

/* Formats that users try, by the bytes with which they begin, at `at`.  No remedy: antler-convert reads it.
 */
typedef struct stranger {
    size_t at;
    const char *start;
    size_t length;
    const char *what, *remedy;
} stranger;

static const stranger strangers[] = {
    {0, "\x89HDF\r\n", 6, "an HDF5 file (.h5, .mat 7.3)", NULL},
    {0, "MATLAB 5", 8, "a MATLAB file", NULL},
    {0, "MATLAB 7", 8, "a MATLAB file (7.3)", NULL},
    {0,
     "\xff"
     "BIOSEMI",
     8, "a BDF recording", NULL},
    {0, "\0\0\0\x64\0\0\0\x1f", 8, "an MNE recording (FIF)", NULL},
    {0, "PAR1", 4, "a Parquet file", NULL},
    {0, "FEA1", 4, "a Feather file", NULL},
    {0, "ARROW1", 6, "an Arrow file (Feather)", NULL},
    {0, "CDF\x01", 4, "a NetCDF file", NULL},
    {0, "CDF\x02", 4, "a NetCDF file", NULL},
    {0, "CDF\x05", 4, "a NetCDF file", NULL},
    {30, "[Content_Types].xml", 19, "an Excel workbook", NULL},
    {30, "_rels/", 6, "an Excel workbook", NULL},
    {30, "docProps/", 9, "an Excel workbook", NULL},
    {30, "xl/", 3, "an Excel workbook", NULL},
    {0, "{\"", 2, "a JSON document", NULL},
    {0, "{\n", 2, "a JSON document", NULL},
    {0, "[{", 2, "a JSON document", NULL},
    {0, "[\n", 2, "a JSON document", NULL},
    {0, "[[", 2, "a JSON document", NULL},
    {0, "BZh", 3, "compressed with bzip2", "unpack it with bunzip2"},
    {0,
     "\xfd"
     "7zXZ",
     5, "compressed with xz", "unpack it with unxz"},
    {0, "\x28\xb5\x2f\xfd", 4, "compressed with zstd", "unpack it with unzstd"},
    {0, "7z\xbc\xaf", 4, "a 7-Zip archive", "unpack it first"},
    {0, "Rar!", 4, "a RAR archive", "unpack it first"},
    {0, "\xd0\xcf\x11\xe0", 4, "an old Excel file", "save it as .xlsx or CSV"},
    {30, "mimetypeapplication/vnd.oasis", 29, "an OpenDocument file", "save it as .xlsx or CSV"},
    {0, "SIMPLE  =", 9, "a FITS file", "save its array with numpy.save"},
    {0, "%PDF", 4, "a PDF document", "give the file with the numbers"},
    {0, "\x89PNG", 4, "a picture (PNG)", "give the file with the numbers"},
    {0, "\xff\xd8\xff", 3, "a picture (JPEG)", "give the file with the numbers"},
    {0,
     "\x7f"
     "ELF",
     4, "a program", "give the file with the numbers"},
    {0, "\x80\x02", 2, "a Python pickle", "save the array with numpy.save"},
    {0, "\x80\x03", 2, "a Python pickle", "save the array with numpy.save"},
    {0, "\x80\x04", 2, "a Python pickle", "save the array with numpy.save"},
    {0, "\x80\x05", 2, "a Python pickle", "save the array with numpy.save"},
    {0, "version https://git-lfs", 23, "a Git LFS pointer", "fetch the file itself with git lfs pull"},
    {0, "<!DOCTYPE", 9, "a web page", "download the file itself"},
    {0, "<!doctype", 9, "a web page", "download the file itself"},
    {0, "<html", 5, "a web page", "download the file itself"},
    {0, "<?xml", 5, "an XML document", "export it as CSV"},
};

/* Formats whose first bytes do not identify them, by their ending.  `start`: an EDF begins as a table may. */
static const struct {
    const char *ending;
    stranger is;
} endings[] = {
    {".edf", {0, "0       ", 8, "an EDF recording", NULL}},
    {".mat", {.what = "a MATLAB file"}},
    {".fif", {.what = "an MNE recording (FIF)"}},
    {".bdf", {.what = "a BDF recording"}},
    {".xlsx", {.what = "an Excel workbook"}},
    {".xlsm", {.what = "an Excel workbook"}},
    {".nwb", {.what = "an NWB file"}},
    {".nc", {.what = "a NetCDF file"}},
    {".h5", {.what = "an HDF5 file"}},
    {".hdf5", {.what = "an HDF5 file"}},
    {".parquet", {.what = "a Parquet file"}},
    {".feather", {.what = "a Feather file"}},
};

static bool begins_so(const stranger *s, const unsigned char *start, size_t count)
{
    return count >= s->at + s->length && memcmp(start + s->at, s->start, s->length) == 0;
}

/* What the file is, if it is one of them; NULL: none. */
static const stranger *find_stranger(const char *path, const unsigned char *start, size_t count)
{
    const bool is_zip = count >= 4 && memcmp(start, "PK\x03\x04", 4) == 0;
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
        const stranger *s = &strangers[i];
        if (begins_so(s, start, count) && (s->at == 0 || is_zip))
            return s;
    }
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const stranger *s = &endings[i].is;
        const bool fits = s->start == NULL ? memchr(start, '\0', count) != NULL : begins_so(s, start, count);
        if (fits && ant_format_has_ending(path, endings[i].ending))
            return s;
    }
    return NULL;
}

static antler_status refuse_foreign(const char *path, const unsigned char *start, size_t count)
{
    const stranger *s = find_stranger(path, start, count);
    if (s == NULL)
        return ANTLER_OK;
    if (s->remedy != NULL)
        return ant_fail(ANTLER_ERROR_FORMAT, "is %s, which Antler does not read; %s", s->what, s->remedy);
    return ant_fail(ANTLER_ERROR_FORMAT,
                    "is %s, which Antler reads through its Python package; convert it with 'antler convert "
                    "FILE OUT.npz'",
                    s->what);
}

/* A Zarr store is a folder with one of these files in it. */
static bool is_zarr(const char *folder)
{
    static const char *const names[] = {".zgroup", ".zarray", "zarr.json"};
    bool found = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[4096];
        struct stat about;
        const int length = snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        found = found || (length < (int)sizeof path && stat(path, &about) == 0);
    }
    return found;
}

const char *antler_file_foreign(const char *path)
{
    struct stat about;
    ant_source source;
    const unsigned char *start = NULL;
    size_t count = 0;
    const stranger *s = NULL;
    if (path == NULL || stat(path, &about) != 0)
        return NULL;
    if (S_ISDIR(about.st_mode))
        return is_zarr(path) ? "a Zarr store" : NULL;
    if (!S_ISREG(about.st_mode) || ant_source_open_file(&source, path) != ANTLER_OK)
        return NULL; /* a stream can be read only once */
    if (ant_source_peek(&source, &start, &count) == ANTLER_OK)
        s = find_stranger(path, start, count);
    ant_source_close(&source);
    return s != NULL && s->remedy == NULL ? s->what : NULL;
}

antler_status ant_format_find(const char *path, ant_source *source, ant_format *format)
{
    const unsigned char *start = NULL;
    size_t count = 0;
    ANT_TRY(ant_source_peek(source, &start, &count));
    ANT_CHECK(count > 0, ANTLER_ERROR_FORMAT, "is empty (0 bytes); write the data again");
    ANT_TRY(refuse_foreign(path, start, count));
    const bool is_npy = start[0] == 0x93 && memcmp(start, "\x93NUMPY", count < 6 ? count : 6) == 0;
    const bool is_zip =
        count >= 4 && (memcmp(start, "PK\x03\x04", 4) == 0 || memcmp(start, "PK\x05\x06", 4) == 0);
    const bool wants_npy = ant_format_has_ending(path, ".npy"),
               wants_npz = ant_format_has_ending(path, ".npz");
    const bool wants_text = ant_format_has_ending(path, ".csv") || ant_format_has_ending(path, ".tsv") ||
                            ant_format_has_ending(path, ".txt") || ant_format_has_ending(path, ".dat");
    ANT_CHECK(!is_zip || wants_npz || !(wants_npy || wants_text), ANTLER_ERROR_FORMAT,
              "is a zip archive (.npz, .xlsx, .zip); rename it to .npz if it holds arrays, else export it as "
              "CSV");
    ANT_CHECK(!is_npy || wants_npy || !(wants_npz || wants_text), ANTLER_ERROR_FORMAT,
              "is a NumPy array; rename it to .npy");
    ANT_CHECK(!wants_npz || is_zip, ANTLER_ERROR_FORMAT,
              "is not a NumPy archive: it does not begin as a zip file does; save it with numpy.savez");
    ANT_CHECK(!wants_npy || is_npy, ANTLER_ERROR_FORMAT,
              "is not a NumPy array: it does not begin with \\x93NUMPY; save the values with numpy.save");
    *format = is_zip ? ANT_FORMAT_NPZ : is_npy ? ANT_FORMAT_NPY : ANT_FORMAT_TEXT;
    return ANTLER_OK;
}
