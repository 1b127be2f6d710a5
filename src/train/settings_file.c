/* settings_file.c - settings read from YAML, and written as YAML with comments. */
#include "base/output.h"
#include "base/sized.h"
#include "train/yaml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILE_BYTES_MAX = 1 << 20 };

antler_status ant_settings_read_file(const char *path, char **text)
{
    antler_status status = ANTLER_OK;
    char *bytes = NULL;
    struct stat info;
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return ant_fail(errno == ENOENT || errno == ENOTDIR ? ANTLER_ERROR_NOT_FOUND : ANTLER_ERROR_IO,
                        "%s: cannot be opened: %s", path, strerror(errno));
    if (fstat(fileno(file), &info) == 0 && S_ISDIR(info.st_mode)) {
        status = ant_fail(ANTLER_ERROR_ARGUMENT, "%s: is a folder; give the name of a settings file", path);
        goto done;
    }
    bytes = malloc(FILE_BYTES_MAX + 1);
    if (bytes == NULL) {
        status = ant_fail_memory(FILE_BYTES_MAX, "a settings file");
        goto done;
    }
    const size_t got = fread(bytes, 1, FILE_BYTES_MAX + 1, file);
    if (ferror(file))
        status = ant_fail(ANTLER_ERROR_IO, "%s: cannot be read: %s", path, strerror(errno));
    else if (got > FILE_BYTES_MAX || memchr(bytes, '\0', got) != NULL)
        status = ant_fail(ANTLER_ERROR_FORMAT,
                          "%s: this is no settings file; it needs lines such as "
                          "'latent_dim: 5'",
                          path);
    else
        bytes[got] = '\0';
done:
    fclose(file);
    if (status != ANTLER_OK) {
        free(bytes);
        return status;
    }
    *text = bytes;
    return ANTLER_OK;
}

antler_status ant_settings_parse(const char *text, const char *path, antler_settings *settings)
{
    ant_yaml *yaml = NULL;
    antler_settings read;
    antler_settings_default(&read);
    ANT_TRY(ant_yaml_read(text, path, false, &yaml));
    const antler_status status = ant_yaml_apply(yaml, text, path, &read);
    ant_yaml_free(yaml);
    if (status == ANTLER_OK)
        *settings = read;
    return status;
}

antler_status ant_settings_parse_run(const char *text, const char *path, antler_settings *settings)
{
    ANT_TRY(ant_settings_parse(text, path, settings));
    if (strncmp(text, "validation:", 11) != 0 && strstr(text, "\nvalidation:") == NULL)
        settings->validation = 0.0;
    if (settings->initialisation == ANTLER_INITIALISATION_AUTO && settings->kappa > 0.0)
        settings->initialisation = ANTLER_INITIALISATION_MEMORY;
    return ANTLER_OK;
}

antler_status(antler_settings_load)(const char *path, antler_settings *settings, size_t struct_size)
{
    ANT_NEED(path != NULL && settings != NULL);
    char *text = NULL;
    antler_settings read;
    ANT_TRY(ant_settings_read_file(path, &text));
    const antler_status status = ant_settings_parse(text, path, &read);
    free(text);
    return status == ANTLER_OK ? ant_settings_hand_over(&read, settings, struct_size) : status;
}

/* A double-quoted YAML scalar. */
static void write_quoted(FILE *output, const char *text, size_t length)
{
    fputc('"', output);
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            fprintf(output, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            fprintf(output, "\\x%02x", c);
        else
            fputc(c, output);
    }
    fputc('"', output);
}

static void write_paths(FILE *output, const char *paths)
{
    fputc('[', output);
    while (*paths != '\0') {
        const size_t length = strcspn(paths, "\n");
        write_quoted(output, paths, length);
        paths += length + (paths[length] == '\n');
        if (*paths != '\0')
            fprintf(output, ", ");
    }
    fputc(']', output);
}

static void write_value(FILE *output, const ant_setting *setting, const antler_settings *settings)
{
    char text[ANT_SETTING_TEXT_MAX];
    ant_setting_print(setting, settings, text);
    if (setting->kind == ANT_SETTING_PATHS && text[0] != '\0')
        write_paths(output, text);
    else if (setting->kind == ANT_SETTING_TEXT || setting->kind == ANT_SETTING_PATHS)
        write_quoted(output, text, strlen(text));
    else
        fprintf(output, "%s", text);
}

antler_status ant_settings_yaml(const antler_settings *settings, bool place, char **text)
{
    size_t bytes = 0;
    const char *group = "";
    *text = NULL;
    FILE *output = open_memstream(text, &bytes);
    if (output == NULL)
        return ant_fail_memory(4096, "the settings as text");
    if (place)
        fprintf(output, "# Settings of an Antler training, all of them. docs/settings.md explains more.\n");
    for (size_t i = 0; i < ant_setting_count(); i++) {
        const ant_setting *setting = ant_setting_at(i);
        if (setting->place && !place)
            continue;
        if (place && strcmp(group, setting->info.group) != 0)
            fprintf(output, "\n# ---- %s\n", setting->info.group);
        group = setting->info.group;
        if (place)
            fprintf(output, "# %s\n", setting->info.meaning);
        fprintf(output, "%s: ", setting->info.name);
        write_value(output, setting, settings);
        fputc('\n', output);
    }
    const bool good = !ferror(output);
    if (fclose(output) != 0 || !good ||
        *text == NULL) { /* closing cuts the memory to size, which may fail, too */
        free(*text);
        return ant_fail_memory(bytes, "the settings as text");
    }
    return ANTLER_OK;
}

antler_status antler_settings_write(const antler_settings *settings, const char *path)
{
    ANT_NEED(settings != NULL && path != NULL);
    ANT_OPTIONS(antler_settings, settings);
    ANT_TRY(ant_settings_are_readable(settings));
    char *text = NULL;
    ant_output output;
    ANT_TRY(ant_settings_yaml(settings, true, &text));
    antler_status status = ant_output_open(&output, path);
    if (status == ANTLER_OK) {
        status = ant_output_write(&output, text, strlen(text));
        if (status == ANTLER_OK)
            status = ant_output_commit(&output);
        else
            ant_output_abort(&output);
    }
    free(text);
    return status;
}
