/* driver.c - opens libcuda.so.1 and fills the table of its functions; messages for its results. */
#include "engine/cuda/driver.h"

#include "base/library.h"

#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ant_driver table; /* written under the lock, before `ready` */
static bool ready;

static const char *const usual_names[] = {"libcuda.so.1", "libcuda.so",
                                          "/usr/local/nvidia/lib64/libcuda.so.1",
                                          "/usr/lib/wsl/lib/libcuda.so.1", NULL};

static antler_status fill(void *library)
{
#define FIND(field, symbol, parameters)                                                                      \
    if (!ant_library_find(library, #symbol, &table.field, sizeof table.field))                               \
        return ant_fail(ANTLER_ERROR_DEVICE,                                                                 \
                        "the NVIDIA driver is too old: it has no %s; install version 525 or newer",          \
                        #symbol);
    ANT_DRIVER_LIST(FIND)
#undef FIND
    return ANTLER_OK;
}

static antler_status initialise(void)
{
    const ant_cu_result result = table.init(0);
    switch (result) {
    case 0:
        break;
    case ANT_CU_NO_DEVICE:
        return ant_fail(ANTLER_ERROR_DEVICE,
                        "there is an NVIDIA driver, but it sees no GPU; check nvidia-smi and the variable "
                        "CUDA_VISIBLE_DEVICES");
    case ANT_CU_STUB_LIBRARY:
        return ant_fail(ANTLER_ERROR_DEVICE, "the libcuda that was found is the toolkit's stub, not a "
                                             "driver; put the driver's folder first in LD_LIBRARY_PATH or "
                                             "name its libcuda.so.1 in ANTLER_CUDA_DRIVER");
    case ANT_CU_DRIVER_MISMATCH:
        return ant_fail(ANTLER_ERROR_DEVICE, "the NVIDIA driver was updated while its old kernel module is "
                                             "still loaded; restart the machine");
    default:
        return ant_driver_fail(&table, result, "start the NVIDIA driver");
    }
    if (table.driver_version(&table.version) != 0)
        table.version = 0;
    return ANTLER_OK;
}

static antler_status open_once(void)
{
    void *library = NULL;
    char path[ANT_LIBRARY_PATH];
    if (!ant_library_open("ANTLER_CUDA_DRIVER", usual_names, &library, path))
        return ant_fail(ANTLER_ERROR_DEVICE,
                        "there is no NVIDIA driver: %s; install the driver, name its libcuda.so.1 in "
                        "ANTLER_CUDA_DRIVER, or compute on the CPU",
                        path);
    antler_status status = fill(library);
    if (status == ANTLER_OK)
        status = initialise();
    if (status == ANTLER_OK)
        ready = true;
    else
        ant_library_close(library);
    return status;
}

antler_status ant_driver_open(const ant_driver **driver)
{
    pthread_mutex_lock(&lock);
    const antler_status status = ready ? ANTLER_OK : open_once();
    pthread_mutex_unlock(&lock);
    if (status == ANTLER_OK)
        *driver = &table;
    return status;
}

/* Whether the context is gone for good: every later call in this process fails with the same result. */
static bool is_lost(ant_cu_result result)
{
    return result == 214 || result == 220 || result == 226 || result == 700 || result == 702 ||
           result == 709 || result == 710 || (result >= 714 && result <= 719);
}

antler_status ant_driver_fail(const ant_driver *driver, ant_cu_result result, const char *what)
{
    const char *name = NULL, *text = NULL;
    if (driver->error_name(result, &name) != 0 || name == NULL)
        name = "an error that the driver does not name";
    if (driver->error_text(result, &text) != 0 || text == NULL)
        text = "no explanation";
    const char *remedy = "";
    if (is_lost(result))
        remedy = "; the GPU's work is lost, start the command again and report this if it comes back";
    else if (result == ANT_CU_DEVICE_UNAVAILABLE)
        remedy = "; another process holds the GPU for itself";
    else if (result == ANT_CU_OUT_OF_MEMORY)
        remedy = "; other programs may hold the memory, see nvidia-smi";
    else if (result == ANT_CU_NO_BINARY)
        remedy =
            "; the NVRTC in use is newer than the driver or made for other GPUs, see antler info --devices";
    return ant_fail(ANTLER_ERROR_DEVICE, "GPU: could not %s: %s (%d): %s%s", what, name, result, text,
                    remedy);
}
