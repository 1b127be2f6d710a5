/* nvrtc.c - finds and opens NVRTC, and compiles with it. */
#include "engine/cuda/nvrtc.h"

#include "base/library.h"

#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct nvrtc_program *nvrtc_program;
typedef int nvrtc_result; /* 0 is success */

/* X(field, symbol, parameters) */
#define NVRTC_LIST(X)                                                                                        \
    X(version, nvrtcVersion, (int *major, int *minor))                                                       \
    X(arch_count, nvrtcGetNumSupportedArchs, (int *count))                                                   \
    X(archs, nvrtcGetSupportedArchs, (int *archs))                                                           \
    X(create, nvrtcCreateProgram,                                                                            \
      (nvrtc_program * program, const char *source, const char *name, int header_count,                      \
       const char *const *headers, const char *const *header_names))                                         \
    X(destroy, nvrtcDestroyProgram, (nvrtc_program * program))                                               \
    X(compile, nvrtcCompileProgram, (nvrtc_program program, int count, const char *const *options))          \
    X(image_size, nvrtcGetCUBINSize, (nvrtc_program program, size_t * bytes))                                \
    X(image, nvrtcGetCUBIN, (nvrtc_program program, char *bytes))                                            \
    X(log_size, nvrtcGetProgramLogSize, (nvrtc_program program, size_t * bytes))                             \
    X(log, nvrtcGetProgramLog, (nvrtc_program program, char *text))

static const char STANDARD[] = "--std=c++17";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
#define FIELD(field, symbol, parameters) nvrtc_result(*field) parameters;
    NVRTC_LIST(FIELD)
#undef FIELD
} table; /* written under the lock, before `ready` */
static bool ready;
static ant_nvrtc_facts opened;
static char opened_path[ANT_LIBRARY_PATH];

static const char *const usual_names[] = {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", NULL};

/* Where toolkits and Python packages put it: patterns under the folder that a variable names. */
static const struct place {
    const char *variable, *folder, *pattern; /* `folder` where the variable is not set; NULL: skip */
} places[] = {
    {"CUDA_HOME", NULL, "lib64/libnvrtc.so*"},
    {"CUDA_PATH", NULL, "lib64/libnvrtc.so*"},
    {"", "/usr/local", "cuda*/lib64/libnvrtc.so*"},
    {"VIRTUAL_ENV", NULL, "lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so*"},
    {"CONDA_PREFIX", NULL, "lib/libnvrtc.so*"},
    {"CONDA_PREFIX", NULL, "lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so*"},
    {"HOME", NULL, ".local/lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so*"},
    {"", "/usr/local", "lib/python3*/*-packages/nvidia/*/lib/libnvrtc.so*"},
};

/* The last match of a pattern is the newest version. */
static bool open_place(const struct place *place, void **library)
{
    const char *folder = place->variable[0] == '\0' ? place->folder : getenv(place->variable);
    char pattern[ANT_LIBRARY_PATH];
    if (folder == NULL || folder[0] != '/' ||
        snprintf(pattern, sizeof pattern, "%s/%s", folder, place->pattern) >= (int)sizeof pattern)
        return false;
    glob_t found;
    bool success = false;
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = found.gl_pathc; i-- > 0 && !success;) {
            const char *const names[] = {found.gl_pathv[i], NULL};
            success = ant_library_open("", names, library, opened_path);
        }
        globfree(&found);
    }
    return success;
}

static bool open_anywhere(void **library)
{
    const char *const asked = getenv("ANTLER_NVRTC");
    if (ant_library_open("ANTLER_NVRTC", usual_names, library, opened_path))
        return true;
    if (asked != NULL && asked[0] != '\0')
        return false;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (open_place(&places[i], library))
            return true;
    return false;
}

static antler_status fill(void *library)
{
#define FIND(field, symbol, parameters)                                                                      \
    if (!ant_library_find(library, #symbol, &table.field, sizeof table.field))                               \
        return ant_fail(ANTLER_ERROR_DEVICE,                                                                 \
                        "%s is too old: it has no %s; install version 12 or newer: pip "                     \
                        "install nvidia-cuda-nvrtc",                                                         \
                        opened_path, #symbol);
    NVRTC_LIST(FIND)
#undef FIND
    if (table.version(&opened.major, &opened.minor) != 0)
        return ant_fail(ANTLER_ERROR_DEVICE, "the version of %s cannot be read; install it anew",
                        opened_path);
    return ANTLER_OK;
}

static antler_status open_once(void)
{
    void *library = NULL;
    const char *const asked = getenv("ANTLER_NVRTC");
    if (!open_anywhere(&library)) {
        if (asked != NULL && asked[0] != '\0')
            return ant_fail(
                ANTLER_ERROR_DEVICE,
                "ANTLER_NVRTC=%s cannot be opened; name the file libnvrtc.so.13 or libnvrtc.so.12", asked);
        return ant_fail(ANTLER_ERROR_DEVICE,
                        "NVRTC, NVIDIA's run-time compiler, was not found; install it with 'pip install "
                        "nvidia-cuda-nvrtc', or name its libnvrtc.so in ANTLER_NVRTC");
    }
    const antler_status status = fill(library);
    if (status != ANTLER_OK) {
        ant_library_close(library);
        return status;
    }
    opened.path = opened_path;
    ready = true;
    return ANTLER_OK;
}

antler_status ant_nvrtc_open(ant_nvrtc_facts *facts)
{
    pthread_mutex_lock(&lock);
    const antler_status status = ready ? ANTLER_OK : open_once();
    if (status == ANTLER_OK)
        *facts = opened;
    pthread_mutex_unlock(&lock);
    return status;
}

antler_status ant_nvrtc_check_sm(int sm)
{
    ant_nvrtc_facts facts;
    ANT_TRY(ant_nvrtc_open(&facts));
    int archs[256] = {0}, count = 0;
    if (table.arch_count(&count) != 0 || count < 1 || count > 256 || table.archs(archs) != 0)
        return ANTLER_OK; /* the compiler will report it */
    for (int i = 0; i < count; i++)
        if (archs[i] == sm)
            return ANTLER_OK;
    return ant_fail(ANTLER_ERROR_DEVICE,
                    "NVRTC %d.%d (%s) cannot compile for sm_%d, only for sm_%d to sm_%d; install another "
                    "version with 'pip install nvidia-cuda-nvrtc', or name one in ANTLER_NVRTC",
                    facts.major, facts.minor, facts.path, sm, archs[0], archs[count - 1]);
}

/* The first line that names an error, or the first line. */
static int first_complaint(const char *log, const char **line)
{
    const char *error = strstr(log, "error");
    *line = log;
    if (error != NULL)
        for (*line = error; *line > log && (*line)[-1] != '\n';)
            --*line;
    return (int)strcspn(*line, "\n");
}

static void fetch_log(nvrtc_program program, ant_nvrtc_image *image)
{
    size_t bytes = 0;
    if (table.log_size(program, &bytes) != 0 || bytes < 1)
        bytes = 1;
    image->log = calloc(bytes, 1);
    if (image->log != NULL && bytes > 1 && table.log(program, image->log) != 0)
        image->log[0] = '\0';
}

static antler_status fetch_image(nvrtc_program program, ant_nvrtc_image *image)
{
    ANT_CHECK(table.image_size(program, &image->size) == 0 && image->size > 0, ANTLER_ERROR_DEVICE,
              "NVRTC gave no machine code for a kernel that compiled; install another version of it");
    image->bytes = malloc(image->size);
    if (image->bytes == NULL)
        return ant_fail_memory(image->size, "a compiled kernel");
    ANT_CHECK(table.image(program, image->bytes) == 0, ANTLER_ERROR_DEVICE,
              "NVRTC did not hand over the machine code that it made; install another version of it");
    return ANTLER_OK;
}

static antler_status compile(nvrtc_program program, const ant_nvrtc_source *source, int sm,
                             const char *const *options, size_t option_count, ant_nvrtc_image *image)
{
    enum { OWN = 2 };
    char arch[32];
    snprintf(arch, sizeof arch, "--gpu-architecture=sm_%d", sm);
    const char **all = calloc(OWN + option_count, sizeof *all);
    if (all == NULL)
        return ant_fail_memory(option_count * sizeof *all, "compiler options");
    all[0] = arch;
    all[1] = STANDARD;
    memcpy(all + OWN, options, option_count * sizeof *all);
    const nvrtc_result result = table.compile(program, (int)(OWN + option_count), all);
    free(all);
    fetch_log(program, image);
    if (image->log == NULL)
        return ant_fail_memory(1, "a compiler's log");
    if (result != 0) {
        const char *line = NULL;
        const int length = first_complaint(image->log, &line);
        return ant_fail(ANTLER_ERROR_DEVICE,
                        "the GPU kernel %s does not compile for sm_%d (NVRTC %d.%d, error %d): %.*s",
                        source->name, sm, opened.major, opened.minor, result, length, line);
    }
    return fetch_image(program, image);
}

ant_hash ant_nvrtc_key(const ant_nvrtc_source *source, int sm, const char *const *options,
                       size_t option_count, const ant_nvrtc_facts *facts)
{
    const int numbers[] = {sm, facts->major, facts->minor};
    ant_hash hash = ant_hash_add_text(ant_hash_begin(), antler_version());
    hash = ant_hash_add(hash, numbers, sizeof numbers);
    hash = ant_hash_add_text(ant_hash_add_text(hash, source->name), source->text);
    for (size_t i = 0; i < source->header_count; i++)
        hash = ant_hash_add_text(ant_hash_add_text(hash, source->header_names[i]), source->header_texts[i]);
    hash = ant_hash_add_text(hash, STANDARD);
    for (size_t i = 0; i < option_count; i++)
        hash = ant_hash_add_text(hash, options[i]);
    return hash;
}

antler_status ant_nvrtc_compile(const ant_nvrtc_source *source, int sm, const char *const *options,
                                size_t option_count, ant_nvrtc_image *image)
{
    ant_nvrtc_facts facts;
    *image = (ant_nvrtc_image){0};
    ANT_TRY(ant_nvrtc_open(&facts));
    ANT_TRY(ant_nvrtc_check_sm(sm));
    nvrtc_program program = NULL;
    ANT_CHECK(table.create(&program, source->text, source->name, (int)source->header_count,
                           source->header_texts, source->header_names) == 0,
              ANTLER_ERROR_DEVICE, "NVRTC did not accept the source of the GPU kernel %s", source->name);
    const antler_status status = compile(program, source, sm, options, option_count, image);
    table.destroy(&program);
    if (status != ANTLER_OK) {
        free(image->bytes);
        image->bytes = NULL;
        image->size = 0;
    }
    return status;
}

void ant_nvrtc_image_clear(ant_nvrtc_image *image)
{
    free(image->bytes);
    free(image->log);
    *image = (ant_nvrtc_image){0};
}
