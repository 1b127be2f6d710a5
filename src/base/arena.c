/* arena.c - aligned memory that is divided once; ASan watches the gaps between the parts. */
#include "base/arena.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ANT_ARENA_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define ANT_ARENA_ASAN 1
#endif

#if defined(ANT_ARENA_ASAN)
#include <sanitizer/asan_interface.h>
#define POISON(address, bytes)   ASAN_POISON_MEMORY_REGION(address, bytes)
#define UNPOISON(address, bytes) ASAN_UNPOISON_MEMORY_REGION(address, bytes)
#else
#define POISON(address, bytes)   ((void)(address), (void)(bytes))
#define UNPOISON(address, bytes) ((void)(address), (void)(bytes))
#endif

enum { GAP = ANT_ARENA_ALIGN };

void ant_arena_count(ant_arena *arena)
{
    *arena = (ant_arena){.capacity = SIZE_MAX};
}

antler_status ant_arena_create(ant_arena *arena, size_t capacity)
{
    *arena = (ant_arena){0};
    ANT_CHECK(capacity <= SIZE_MAX - ANT_ARENA_ALIGN, ANTLER_ERROR_MEMORY,
              "out of memory: the plan is too large");
    const size_t rounded = (capacity + ANT_ARENA_ALIGN - 1) / ANT_ARENA_ALIGN * ANT_ARENA_ALIGN;
    if (rounded == 0)
        return ANTLER_OK;
    arena->base = aligned_alloc(ANT_ARENA_ALIGN, rounded);
    if (arena->base == NULL)
        return ant_fail_memory(rounded, "the working arrays");
    arena->capacity = rounded;
    POISON(arena->base, rounded);
    return ANTLER_OK;
}

void ant_arena_destroy(ant_arena *arena)
{
    if (arena->base != NULL)
        UNPOISON(arena->base, arena->capacity);
    free(arena->base);
    *arena = (ant_arena){0};
}

void *ant_arena_take(ant_arena *arena, size_t count, size_t size)
{
    const size_t room = arena->capacity - arena->used;
    if (size != 0 && count > (SIZE_MAX - 2 * GAP) / size) {
        arena->overflow = true;
        return NULL;
    }
    const size_t bytes = count * size;
    const size_t rounded = (bytes + ANT_ARENA_ALIGN - 1) / ANT_ARENA_ALIGN * ANT_ARENA_ALIGN + GAP;
    if (rounded > room) {
        arena->overflow = true;
        return NULL;
    }
    unsigned char *slice = arena->base == NULL ? NULL : arena->base + arena->used;
    arena->used += rounded;
    if (arena->used > arena->peak)
        arena->peak = arena->used;
    if (slice != NULL)
        UNPOISON(slice, bytes);
    return slice;
}

size_t ant_arena_mark(const ant_arena *arena)
{
    return arena->used;
}

void ant_arena_release(ant_arena *arena, size_t mark)
{
    assert(mark <= arena->used);
    if (arena->base != NULL)
        POISON(arena->base + mark, arena->used - mark);
    arena->used = mark;
}
