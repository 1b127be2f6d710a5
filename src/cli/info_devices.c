/* info_devices.c - `antler info --devices`: the GPUs of this machine as a table or as JSON. */
#include "cli/info_devices.h"

#include "cli/answer.h"

#include <stdlib.h>
#include <string.h>

static void print_software(const antler_device_software *software)
{
    if (software->driver_problem[0] == '\0')
        printf("driver   CUDA %d.%d\n", software->driver_major, software->driver_minor);
    else
        printf("driver   none: %s\n", software->driver_problem);
    if (software->nvrtc_problem[0] == '\0')
        printf("NVRTC    %d.%d, %s\n", software->nvrtc_major, software->nvrtc_minor, software->nvrtc_path);
    else
        printf("NVRTC    none: %s\n", software->nvrtc_problem);
    if (software->cache_problem[0] == '\0')
        printf("cache    %s\n", software->cache_path);
    else
        printf("cache    not used: %s\n", software->cache_problem);
}

static void print_row(const antler_device_info *info)
{
    printf("%6zu  %-28s %10d.%d %8zu %12.1f %12.1f\n", info->ordinal, info->name, info->capability_major,
           info->capability_minor, info->multiprocessors, (double)info->memory / 1e9,
           (double)info->memory_free / 1e9);
    if (info->problem[0] != '\0')
        printf("        cannot be used: %s\n", info->problem);
}

static json_t *row_json(const antler_device_info *info)
{
    return json_pack("{s:I, s:s, s:s, s:[i,i], s:I, s:I, s:I, s:b, s:s}", "ordinal",
                     (json_int_t)info->ordinal, "kind", "cuda", "name", info->name, "compute_capability",
                     info->capability_major, info->capability_minor, "multiprocessors",
                     (json_int_t)info->multiprocessors, "memory", (json_int_t)info->memory, "memory_free",
                     (json_int_t)info->memory_free, "usable", info->problem[0] == '\0', "problem",
                     info->problem);
}

static json_t *version_json(int major, int minor, const char *problem)
{
    return json_pack("{s:[i,i], s:s}", "version", major, minor, "problem", problem);
}

static int print_json(const antler_device_software *software, json_t *devices, const char *problem)
{
    json_t *nvrtc = version_json(software->nvrtc_major, software->nvrtc_minor, software->nvrtc_problem);
    json_object_set_new(nvrtc, "path", json_string(software->nvrtc_path));
    json_t *root =
        json_pack("{s:o, s:s, s:o, s:o, s:{s:s, s:s}}", "devices", devices, "problem", problem, "driver",
                  version_json(software->driver_major, software->driver_minor, software->driver_problem),
                  "nvrtc", nvrtc, "cache", "path", software->cache_path, "problem", software->cache_problem);
    return cli_json_print(root);
}

/* A device that does not answer gives a message and does not hide the others. */
static int print_devices(size_t count, bool json, json_t *rows)
{
    int code = CLI_DONE;
    if (!json)
        printf("\ndevice  %-28s %12s %8s %12s %12s\n", "name", "capability", "SMs", "memory/GB", "free/GB");
    for (size_t i = 0; i < count; i++) {
        antler_device_info info;
        const antler_status status = antler_device_at(i, &info);
        if (status != ANTLER_OK)
            code = cli_fail(status);
        else if (json)
            json_array_append_new(rows, row_json(&info));
        else
            print_row(&info);
    }
    return code;
}

int cli_info_devices(bool json)
{
    antler_device_software software;
    size_t count = 0;
    antler_device_software_get(&software);
    char problem[1024] = "";
    if (antler_device_count(&count) != ANTLER_OK)
        snprintf(problem, sizeof problem, "%s", antler_message());
    json_t *rows = json_array();
    int code = CLI_DONE;
    if (!json) {
        print_software(&software);
        if (count == 0)
            printf("\nNo GPU can be used; everything runs on the CPU.\n");
    }
    if (count > 0)
        code = print_devices(count, json, rows);
    if (json)
        return print_json(&software, rows, problem) != CLI_DONE ? CLI_MACHINE : code;
    json_decref(rows);
    return code;
}
