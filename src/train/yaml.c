/*
 * yaml.c - libcyaml reads the file by a schema that is made from the table of settings.
 *
 * All values are read as text and converted by the same code as --set, so that there is one set of rules
 * and one set of messages.  libcyaml reports faults to a log function, which keeps them.
 */
#include "train/yaml.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cyaml/cyaml.h>

/* What libcyaml logged about a fault. */
typedef struct fault {
    char text[256];  /* its first message */
    char field[104]; /* the innermost field of the backtrace */
    int line;        /* of that field; 0: unknown */
} fault;

/* The schema lives as long as a document: freeing needs it. */
typedef struct schema {
    cyaml_schema_field_t fields[ANT_YAML_KEYS_MAX + 3];
    cyaml_schema_field_t grid[ANT_YAML_KEYS_MAX + 1];
    cyaml_schema_value_t top;
} schema;

static const cyaml_schema_value_t text_entry = {
    .type = CYAML_STRING,
    .flags = CYAML_FLAG_POINTER,
    .data_size = sizeof(char),
    .string = {.min = 0, .max = CYAML_UNLIMITED},
};

static void note_fault(cyaml_log_t level, void *context, const char *format, va_list arguments)
    ANT_PRINTF(3, 0);

static void note_fault(cyaml_log_t level, void *context, const char *format, va_list arguments)
{
    fault *f = context;
    char line[512];
    if (level < CYAML_LOG_ERROR)
        return;
    vsnprintf(line, sizeof line, format, arguments);
    line[strcspn(line, "\n")] = '\0';
    const char *begin = strncmp(line, "Load: ", 6) == 0 ? line + 6 : line;
    if (f->text[0] == '\0')
        snprintf(f->text, sizeof f->text, "%.255s", begin);
    const char *at = strstr(line, "(line: ");
    if (at != NULL && f->line == 0)
        f->line = atoi(at + 7);
    const char *name = strstr(line, "field '");
    if (name != NULL && f->field[0] == '\0')
        snprintf(f->field, sizeof f->field, "%.*s", (int)strcspn(name + 7, "'"), name + 7);
}

static cyaml_config_t configuration(fault *f)
{
    return (cyaml_config_t){.log_fn = note_fault,
                            .log_ctx = f,
                            .mem_fn = cyaml_mem,
                            .log_level = CYAML_LOG_ERROR,
                            .flags = CYAML_CFG_DEFAULT};
}

static cyaml_schema_field_t text_field(const char *key, size_t offset)
{
    cyaml_schema_field_t field = {.key = key, .data_offset = (uint32_t)offset, .value = text_entry};
    field.value.flags = (enum cyaml_flag)(CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL);
    return field;
}

static cyaml_schema_field_t list_field(const char *key, size_t offset)
{
    cyaml_schema_field_t field = {.key = key,
                                  .data_offset = (uint32_t)(offset + offsetof(ant_yaml_list, items)),
                                  .count_offset = (uint32_t)(offset + offsetof(ant_yaml_list, count)),
                                  .count_size = sizeof(uint32_t)};
    field.value.type = CYAML_SEQUENCE;
    field.value.flags = (enum cyaml_flag)(CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL);
    field.value.data_size = sizeof(char *);
    field.value.sequence.entry = &text_entry;
    field.value.sequence.min = 1;
    field.value.sequence.max = CYAML_UNLIMITED;
    return field;
}

/* A setting of paths may be one text or a list; libcyaml needs that in advance.  is_list: (settings) */
static void make_schema(schema *s, bool sweep, const bool *is_list)
{
    memset(s, 0, sizeof *s);
    size_t count = 0;
    const size_t settings = ant_setting_count();
    for (size_t i = 0; i < settings; i++) {
        const ant_setting *setting = ant_setting_at(i);
        s->fields[count++] =
            is_list[i]
                ? list_field(setting->info.name, offsetof(ant_yaml, lists[0]) + i * sizeof(ant_yaml_list))
                : text_field(setting->info.name, offsetof(ant_yaml, of[0]) + i * sizeof(char *));
        s->grid[i] = list_field(setting->info.name, i * sizeof(ant_yaml_list));
    }
    if (sweep) {
        s->fields[count++] = text_field("test", offsetof(ant_yaml, test));
        cyaml_schema_field_t grid = {.key = "grid", .data_offset = offsetof(ant_yaml, grid)};
        grid.value.type = CYAML_MAPPING;
        grid.value.flags = (enum cyaml_flag)(CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL);
        grid.value.data_size = sizeof(ant_yaml_grid);
        grid.value.mapping.fields = s->grid;
        s->fields[count++] = grid;
    }
    s->top.type = CYAML_MAPPING;
    s->top.flags = CYAML_FLAG_POINTER;
    s->top.data_size = sizeof(ant_yaml);
    s->top.mapping.fields = s->fields;
}

int ant_yaml_line(const char *text, const char *key)
{
    const size_t length = strlen(key);
    int line = 1;
    while (*text != '\0') {
        const char *word = text + strspn(text, " \"'");
        if (strncmp(word, key, length) == 0) {
            const char *after = word + length + strspn(word + length, " \"'");
            if (*after == ':')
                return line;
        }
        text += strcspn(text, "\n");
        text += *text == '\n';
        line++;
    }
    return 0;
}

/* "run.yaml, line 7" or, when the line is not known, "run.yaml" */
static const char *place(char out[1200], const char *path, const char *relation, int line)
{
    if (line > 0)
        snprintf(out, 1200, "%.1000s, %s %d", path, relation, line);
    else
        snprintf(out, 1200, "%.1000s", path);
    return out;
}

static antler_status fail_key(const char *text, const char *path, const char *key)
{
    char where[1200];
    place(where, path, "line", ant_yaml_line(text, key));
    if (strcmp(key, "grid") == 0 || strcmp(key, "test") == 0)
        return ant_fail(ANTLER_ERROR_FORMAT, "%s: '%s' belongs to a sweep; run 'antler sweep' on this file",
                        where, key);
    const ant_setting *none = NULL;
    (void)ant_setting_find(key, &none);
    return ant_fail_within(ANTLER_ERROR_FORMAT, where);
}

/* libyaml has a sentence for every fault of the file. */
static bool lacks_memory(cyaml_err_t error, const fault *f)
{
    return error == CYAML_ERR_OOM || error == CYAML_ERR_LIBYAML_PARSER_INIT ||
           error == CYAML_ERR_LIBYAML_EVENT_INIT || strstr(f->text, "libyaml: (null)") != NULL;
}

static antler_status fail_yaml(const char *text, const char *path, cyaml_err_t error, const fault *f)
{
    static const char unknown[] = "Unexpected key: ", repeated[] = "Mapping field already seen: ";
    char where[1200];
    if (lacks_memory(error, f))
        return ant_fail_memory(strlen(text), "a settings file");
    if (error == CYAML_ERR_SEQUENCE_ENTRIES_MIN)
        return ant_fail(ANTLER_ERROR_FORMAT, "%s: the list of '%s' is empty",
                        place(where, path, "line", f->line), f->field);
    if (strncmp(f->text, unknown, strlen(unknown)) == 0)
        return fail_key(text, path, f->text + strlen(unknown));
    if (strncmp(f->text, repeated, strlen(repeated)) == 0)
        return ant_fail(ANTLER_ERROR_FORMAT, "%s: '%s' is given twice; keep one of them",
                        place(where, path, "line", ant_yaml_line(text, f->field)), f->field);
    if (strncmp(f->text, "Expecting ", 10) == 0 && f->field[0] != '\0')
        return ant_fail(
            ANTLER_ERROR_FORMAT, "%s: '%s' needs %s", place(where, path, "line", f->line), f->field,
            strstr(f->text, "Expecting SEQUENCE")  ? "a list such as [1, 2]"
            : strstr(f->text, "Expecting MAPPING") ? "settings below it, each with a list of values"
                                                   : "a single value, not a list or a mapping");
    if (strncmp(f->text, "Expecting ", 10) == 0)
        return ant_fail(ANTLER_ERROR_FORMAT,
                        "%s: this is no settings file; it needs lines such as 'latent_dim: 5'", path);
    return ant_fail(ANTLER_ERROR_FORMAT, "%s: this is not YAML: %s", place(where, path, "near line", f->line),
                    f->text[0] == '\0' ? cyaml_strerror(error) : f->text);
}

static cyaml_err_t load(const char *text, bool sweep, const bool *is_list, ant_yaml **yaml, fault *f)
{
    schema s;
    make_schema(&s, sweep, is_list);
    *f = (fault){.line = 0};
    const cyaml_config_t config = configuration(f);
    cyaml_data_t *data = NULL;
    const cyaml_err_t error =
        cyaml_load_data((const uint8_t *)text, strlen(text), &config, &s.top, &data, NULL);
    *yaml = error == CYAML_OK ? data : NULL;
    return error;
}

/* The index of the setting of paths that a fault is about; the number of settings: it is about another. */
static size_t paths_at_fault(const fault *f)
{
    size_t i = 0;
    while (i < ant_setting_count() && (ant_setting_at(i)->kind != ANT_SETTING_PATHS ||
                                       strcmp(ant_setting_at(i)->info.name, f->field) != 0))
        i++;
    return i;
}

antler_status ant_yaml_read(const char *text, const char *path, bool sweep, ant_yaml **yaml)
{
    bool is_list[ANT_YAML_KEYS_MAX] = {false};
    *yaml = NULL;
    for (;;) { /* each fault makes one more setting a list */
        fault f;
        const cyaml_err_t error = load(text, sweep, is_list, yaml, &f);
        if (error == CYAML_OK)
            return ANTLER_OK;
        const size_t paths = paths_at_fault(&f);
        if (paths == ant_setting_count() || is_list[paths] || lacks_memory(error, &f))
            return fail_yaml(text, path, error, &f);
        is_list[paths] = true;
    }
}

void ant_yaml_free(ant_yaml *yaml)
{
    if (yaml == NULL)
        return;
    schema s;
    fault f = {.line = 0};
    bool is_list[ANT_YAML_KEYS_MAX];
    for (size_t i = 0; i < ANT_YAML_KEYS_MAX; i++)
        is_list[i] = yaml->lists[i].items != NULL;
    make_schema(&s, true, is_list);
    const cyaml_config_t config = configuration(&f);
    (void)cyaml_free(&config, &s.top, yaml, 0);
}

/* A list of files, one per line. */
static antler_status join_paths(const ant_yaml_list *list, const ant_setting *setting,
                                antler_settings *settings)
{
    char *to = (char *)settings + setting->offset;
    size_t used = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const int length =
            snprintf(to + used, setting->bytes - used, "%s%s", i == 0 ? "" : "\n", list->items[i]);
        ANT_CHECK(length >= 0 && (size_t)length < setting->bytes - used, ANTLER_ERROR_ARGUMENT,
                  "%s: the list is longer than %zu characters; use a glob such as \"day-*.npy\"",
                  setting->info.name, setting->bytes - 1);
        used += (size_t)length;
    }
    return ANTLER_OK;
}

antler_status ant_yaml_apply(const ant_yaml *yaml, const char *text, const char *path,
                             antler_settings *settings)
{
    for (size_t i = 0; yaml != NULL && i < ant_setting_count(); i++) {
        const ant_setting *setting = ant_setting_at(i);
        antler_status status = ANTLER_OK;
        if (yaml->lists[i].items != NULL)
            status = join_paths(&yaml->lists[i], setting, settings);
        else if (setting->kind == ANT_SETTING_PATHS && yaml->of[i] != NULL)
            status = join_paths(&(ant_yaml_list){(char *[]){yaml->of[i]}, 1}, setting, settings);
        else if (yaml->of[i] != NULL)
            status = ant_setting_store(setting, yaml->of[i], settings);
        if (status != ANTLER_OK) {
            char where[1200];
            place(where, path, "line", ant_yaml_line(text, setting->info.name));
            return ant_fail_within(status, where);
        }
    }
    return ANTLER_OK;
}
