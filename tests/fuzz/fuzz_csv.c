/* fuzz_csv.c - any bytes, read as a table of text, unpacked where they are compressed. */
#include "data/load.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const antler_load_opts opts = fuzz_options(data[0]);
    antler_series *series = NULL;
    ant_source source;
    uint64_t allowance = UINT64_C(1) << 28;
    ant_source_open_memory(&source, data + 1, size - 1);
    antler_status status = ant_source_unpack(&source);
    source.allowance = &allowance;
    if (status == ANTLER_OK)
        status = ant_load_text(&source, &opts, "fuzz", &series);
    fuzz_check_message(status);
    if (status == ANTLER_OK)
        fuzz_read_all(series);
    antler_series_free(series);
    ant_source_close(&source);
    return 0;
}
