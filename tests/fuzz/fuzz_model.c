/* fuzz_model.c - any bytes as a model file; with the highest bit of the first byte set, packed first
 * (fuzz_pack.h). */
#include "fuzz.h"
#include "fuzz_pack.h"
#include "model/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_model(const void *bytes, size_t size, const void *cookie)
{
    (void)cookie;
    antler_model *model = NULL;
    ant_npz *npz = NULL;
    antler_status status = ant_npz_open_memory(&npz, bytes, size);
    if (status == ANTLER_OK)
        status = ant_model_read(npz, &model);
    fuzz_check_message(status);
    antler_model_free(model);
    ant_npz_close(npz);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if ((data[0] & 0x80) != 0)
        fuzz_pack(data + 1, size - 1, read_model, NULL);
    else
        read_model(data + 1, size - 1, NULL);
    return 0;
}
