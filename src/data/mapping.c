/* mapping.c - a file as memory. */
#include "data/mapping.h"

#include <sys/mman.h>

bool ant_mapping_make(const ant_source *source, uint64_t bytes, size_t item, ant_mapping *mapping)
{
    const bool plain =
        source->path != NULL && source->descriptor >= 0 && source->entry == NULL && source->size_is_seen;
    if (!plain || bytes < ANT_MAPPED_LEAST || source->position % item != 0 ||
        bytes > SIZE_MAX - source->position || source->position + bytes > source->size)
        return false;
    const size_t all = (size_t)(source->position + bytes);
    void *base = mmap(NULL, all, PROT_READ, MAP_PRIVATE, source->descriptor, 0);
    if (base == MAP_FAILED)
        return false;
    *mapping = (ant_mapping){.base = base, .bytes = all};
    return true;
}

antler_status ant_mapping_write(ant_mapping *mapping)
{
    if (mapping->base != NULL && mprotect(mapping->base, mapping->bytes, PROT_READ | PROT_WRITE) != 0)
        return ant_fail_memory(mapping->bytes, "the values of the file, which are to be changed");
    return ANTLER_OK;
}

void ant_mapping_free(ant_mapping *mapping)
{
    if (mapping->base != NULL)
        munmap(mapping->base, mapping->bytes);
    *mapping = (ant_mapping){0};
}
