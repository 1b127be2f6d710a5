/*
 * nvrtc.c - a compiler that compiles nothing: the "machine code" names the options, a source with the option
 * -DBROKEN does not compile, and sm_99 is not known to it.  FAKE_NVRTC_COUNT names a file that gets one byte
 * per compilation, so that a test can tell a cached image from a compiled one.  With FAKE_NVRTC_REGISTERS the
 * log says that every source has one kernel with so many registers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef struct program {
    char image[4096], log[256];
} program;

EXPORT int nvrtcVersion(int *major, int *minor);
EXPORT int nvrtcGetNumSupportedArchs(int *count);
EXPORT int nvrtcGetSupportedArchs(int *archs);
EXPORT int nvrtcCreateProgram(program **made, const char *source, const char *name, int header_count,
                              const char *const *headers, const char *const *header_names);
EXPORT int nvrtcDestroyProgram(program **old);
EXPORT int nvrtcCompileProgram(program *p, int count, const char *const *options);
EXPORT int nvrtcGetCUBINSize(program *p, size_t *bytes);
EXPORT int nvrtcGetCUBIN(program *p, char *bytes);
EXPORT int nvrtcGetProgramLogSize(program *p, size_t *bytes);
EXPORT int nvrtcGetProgramLog(program *p, char *text);

int nvrtcVersion(int *major, int *minor)
{
    *major = 13;
    *minor = 7;
    return 0;
}

int nvrtcGetNumSupportedArchs(int *count)
{
    *count = 3;
    return 0;
}

int nvrtcGetSupportedArchs(int *archs)
{
    archs[0] = 80;
    archs[1] = 90;
    archs[2] = 120;
    return 0;
}

int nvrtcCreateProgram(program **made, const char *source, const char *name, int header_count,
                       const char *const *headers, const char *const *header_names)
{
    (void)source;
    (void)header_count;
    (void)headers;
    (void)header_names;
    *made = calloc(1, sizeof **made);
    if (*made == NULL)
        return 1;
    snprintf((*made)->image, sizeof(*made)->image, "fake cubin %s", name);
    return 0;
}

int nvrtcDestroyProgram(program **old)
{
    free(*old);
    *old = NULL;
    return 0;
}

int nvrtcCompileProgram(program *p, int count, const char *const *options)
{
    const char *registers = getenv("FAKE_NVRTC_REGISTERS");
    if (registers != NULL)
        snprintf(p->log, sizeof p->log,
                 "Compiling entry function 'one' for 'sm'\nUsed %s registers, 16 bytes smem\n", registers);
    const char *counter = getenv("FAKE_NVRTC_COUNT");
    FILE *file = counter == NULL ? NULL : fopen(counter, "ab");
    if (file != NULL) {
        fputc('x', file);
        fclose(file);
    }
    for (int i = 0; i < count; i++) {
        const size_t used = strlen(p->image);
        snprintf(p->image + used, sizeof p->image - used, " %s", options[i]);
        if (strcmp(options[i], "-DBROKEN") == 0) {
            snprintf(p->log, sizeof p->log, "a warning first\nselftest.cu(3): error: it is broken\nmore\n");
            return 6;
        }
    }
    return 0;
}

int nvrtcGetCUBINSize(program *p, size_t *bytes)
{
    *bytes = strlen(p->image) + 1;
    return 0;
}

int nvrtcGetCUBIN(program *p, char *bytes)
{
    memcpy(bytes, p->image, strlen(p->image) + 1);
    return 0;
}

int nvrtcGetProgramLogSize(program *p, size_t *bytes)
{
    *bytes = strlen(p->log) + 1;
    return 0;
}

int nvrtcGetProgramLog(program *p, char *text)
{
    memcpy(text, p->log, strlen(p->log) + 1);
    return 0;
}
