/*
 * fuzz_npz.c - any bytes, read as a NumPy archive.
 *
 * When the highest bit of the first byte is set, the rest describes members, which are packed into a
 * sound archive first; see fuzz_pack.h.
 */
#include "data/npz.h"
#include "fuzz.h"
#include "fuzz_pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_archive(const void *bytes, size_t size, const void *opts)
{
    antler_series *series = NULL;
    ant_npz *npz = NULL;
    antler_status status = ant_npz_open_memory(&npz, bytes, size);
    if (status == ANTLER_OK)
        status = ant_npz_read(npz, opts, "fuzz", &series);
    fuzz_check_message(status);
    if (status == ANTLER_OK)
        fuzz_read_all(series);
    antler_series_free(series);
    ant_npz_close(npz);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const antler_load_opts opts = fuzz_options(data[0] & 0x1f);
    if ((data[0] & 0x80) != 0)
        fuzz_pack(data + 1, size - 1, read_archive, &opts);
    else
        read_archive(data + 1, size - 1, &opts);
    return 0;
}
