/* sources.c - the embedded kernel sources, or those of ANTLER_KERNEL_DIR. */
#include "engine/cuda/sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t embedded_count(void)
{
    size_t count = 0;
    while (ant_embedded_sources[count].name != NULL)
        count++;
    return count;
}

static bool is_header(const char *name)
{
    const size_t length = strlen(name);
    return (length > 4 && strcmp(name + length - 4, ".cuh") == 0) ||
           (length > 2 && strcmp(name + length - 2, ".h") == 0);
}

static char *read_all(FILE *file)
{
    char *text = NULL;
    size_t used = 0, room = 0;
    for (;;) {
        if (used + 1 >= room) {
            room = room == 0 ? 65536 : 2 * room;
            char *larger = realloc(text, room);
            if (larger == NULL) {
                free(text);
                return NULL;
            }
            text = larger;
        }
        const size_t got = fread(text + used, 1, room - used - 1, file);
        if (got == 0)
            break;
        used += got;
    }
    text[used] = '\0';
    return text;
}

/* The text of one source: embedded, or from the folder, which must then hold all of them. */
static antler_status get_text(ant_sources *sources, const ant_embedded_source *embedded, const char **text)
{
    const char *const folder = getenv("ANTLER_KERNEL_DIR");
    *text = embedded->text;
    if (folder == NULL || folder[0] == '\0')
        return ANTLER_OK;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, embedded->name);
    FILE *file = fopen(path, "rb");
    ANT_CHECK(file != NULL, ANTLER_ERROR_NOT_FOUND,
              "%s: cannot be read; ANTLER_KERNEL_DIR must hold every kernel source", path);
    char *own = read_all(file);
    fclose(file);
    if (own == NULL)
        return ant_fail_memory(65536, "a kernel source");
    sources->owned[sources->owned_count++] = own;
    *text = own;
    return ANTLER_OK;
}

static antler_status collect(const char *name, ant_sources *sources)
{
    for (const ant_embedded_source *s = ant_embedded_sources; s->name != NULL; s++) {
        const bool header = is_header(s->name);
        if (!header && strcmp(s->name, name) != 0)
            continue;
        const char *text = NULL;
        ANT_TRY(get_text(sources, s, &text));
        if (header) {
            sources->names[sources->source.header_count] = s->name;
            sources->texts[sources->source.header_count++] = text;
        } else {
            sources->source.name = s->name;
            sources->source.text = text;
        }
    }
    ANT_CHECK(sources->source.text != NULL, ANTLER_ERROR_INTERNAL, "there is no kernel source '%s'", name);
    return ANTLER_OK;
}

antler_status ant_sources_get(const char *name, ant_sources *sources)
{
    const size_t count = embedded_count() + 1;
    *sources = (ant_sources){.owned = calloc(count, sizeof(char *)),
                             .names = calloc(count, sizeof(char *)),
                             .texts = calloc(count, sizeof(char *))};
    antler_status status = ANTLER_OK;
    if (sources->owned == NULL || sources->names == NULL || sources->texts == NULL)
        status = ant_fail_memory(3 * count * sizeof(char *), "the names of the kernel sources");
    if (status == ANTLER_OK)
        status = collect(name, sources);
    if (status == ANTLER_OK) {
        sources->source.header_names = sources->names;
        sources->source.header_texts = sources->texts;
    } else {
        ant_sources_clear(sources);
    }
    return status;
}

void ant_sources_clear(ant_sources *sources)
{
    for (size_t i = 0; i < sources->owned_count; i++)
        free(sources->owned[i]);
    free(sources->owned);
    free(sources->names);
    free(sources->texts);
    *sources = (ant_sources){0};
}
