/* format.c - the format of a file from its ending and first bytes; other known formats are refused.
 */
#include "data/format.h"

#include <string.h>
#include <strings.h>

/* Formats that users try, by the bytes with which they begin. */
static const struct {
    const char *start;
    size_t length;
    const char *what, *remedy;
} strangers[] = {
    {"\x89HDF\r\n", 6, "an HDF5 file (.h5, .mat 7.3)", "save its array with numpy.save"},
    {"MATLAB 5", 8, "a MATLAB file", "load it with scipy.io.loadmat and save the array with numpy.save"},
    {"\x1f\x8b", 2, "compressed with gzip", "unpack it with gunzip"},
    {"BZh", 3, "compressed with bzip2", "unpack it with bunzip2"},
    {"\xfd"
     "7zXZ",
     5, "compressed with xz", "unpack it with unxz"},
    {"\x28\xb5\x2f\xfd", 4, "compressed with zstd", "unpack it with unzstd"},
    {"7z\xbc\xaf", 4, "a 7-Zip archive", "unpack it first"},
    {"Rar!", 4, "a RAR archive", "unpack it first"},
    {"\xd0\xcf\x11\xe0", 4, "an old Excel file", "export it as CSV"},
    {"PAR1", 4, "a Parquet file", "export it as CSV or .npy"},
    {"ARROW1", 6, "an Arrow file", "export it as CSV or .npy"},
    {"CDF\x01", 4, "a NetCDF file", "save its variable with numpy.save"},
    {"CDF\x02", 4, "a NetCDF file", "save its variable with numpy.save"},
    {"SIMPLE  =", 9, "a FITS file", "save its array with numpy.save"},
    {"%PDF", 4, "a PDF document", "give the file with the numbers"},
    {"\x89PNG", 4, "a picture (PNG)", "give the file with the numbers"},
    {"\xff\xd8\xff", 3, "a picture (JPEG)", "give the file with the numbers"},
    {"\x7f"
     "ELF",
     4, "a program", "give the file with the numbers"},
    {"\x80\x02", 2, "a Python pickle", "save the array with numpy.save"},
    {"\x80\x03", 2, "a Python pickle", "save the array with numpy.save"},
    {"\x80\x04", 2, "a Python pickle", "save the array with numpy.save"},
    {"\x80\x05", 2, "a Python pickle", "save the array with numpy.save"},
    {"version https://git-lfs", 23, "a Git LFS pointer", "fetch the file itself with git lfs pull"},
    {"<!DOCTYPE", 9, "a web page", "download the file itself"},
    {"<html", 5, "a web page", "download the file itself"},
    {"<?xml", 5, "an XML document", "export it as CSV"},
    {"{\"", 2, "a JSON document", "export it as CSV or .npy"},
    {"{\n", 2, "a JSON document", "export it as CSV or .npy"},
    {"[[", 2, "a JSON document", "export it as CSV or .npy"},
};

static antler_status refuse_foreign(const unsigned char *start, size_t count)
{
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
        ANT_CHECK(count < strangers[i].length || memcmp(start, strangers[i].start, strangers[i].length) != 0,
                  ANTLER_ERROR_FORMAT, "is %s, which Antler does not read; %s", strangers[i].what,
                  strangers[i].remedy);
    return ANTLER_OK;
}

bool ant_format_has_ending(const char *path, const char *ending)
{
    const size_t length = strlen(path), tail = strlen(ending);
    return length > tail && strcasecmp(path + length - tail, ending) == 0;
}

antler_status ant_format_find(const char *path, ant_source *source, ant_format *format)
{
    const unsigned char *start = NULL;
    size_t count = 0;
    ANT_TRY(ant_source_peek(source, &start, &count));
    ANT_CHECK(count > 0, ANTLER_ERROR_FORMAT, "is empty (0 bytes); write the data again");
    ANT_TRY(refuse_foreign(start, count));
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
