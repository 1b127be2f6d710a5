/*
 * arena.h - one aligned allocation, divided into named slices when a plan is made.
 *
 * The same function runs twice: first on an arena that only counts, then on one that has the memory.
 * After that the working loop allocates nothing.
 *
 *     static void carve(ant_arena *a, plan *p) { p->z = ant_arena_take(a, T * M, sizeof *p->z); ... }
 *
 *     ant_arena a;
 *     ant_arena_count(&a);  carve(&a, p);            // a.used is what is needed
 *     ANT_TRY(ant_arena_create(&a, a.used));  carve(&a, p);
 *     ... ant_arena_destroy(&a);
 *
 * Layout: every slice starts on a 64-byte boundary and is followed by a gap of at least 64 bytes,
 * which AddressSanitizer builds poison, so that an overrun of one slice into the next is caught.
 *
 *     | slice 0 ...... | gap | slice 1 .. | gap | ... free ... |
 *     base                                      used           capacity
 */
#ifndef ANT_BASE_ARENA_H
#define ANT_BASE_ARENA_H

#include "base/status.h"

enum { ANT_ARENA_ALIGN = 64 };

typedef struct ant_arena {
    unsigned char *base; /* NULL while only counting */
    size_t capacity;     /* bytes; SIZE_MAX while only counting */
    size_t used;         /* bytes taken so far, gaps included */
    size_t peak;         /* high-water mark of `used` */
    bool overflow;       /* a request did not fit: the result of ant_arena_take was NULL */
} ant_arena;

/* Begin an arena that only counts: ant_arena_take returns NULL and `used` grows. */
void ant_arena_count(ant_arena *arena);

/* Get `capacity` bytes.  The values are not initialised. */
antler_status ant_arena_create(ant_arena *arena, size_t capacity);

void ant_arena_destroy(ant_arena *arena);

/* Take `count` elements of `size` bytes.  NULL while counting, or when it does not fit (see overflow). */
void *ant_arena_take(ant_arena *arena, size_t count, size_t size);

/* Scratch use: remember a mark, take, and release back to the mark.  `peak` keeps the highest use. */
size_t ant_arena_mark(const ant_arena *arena);
void ant_arena_release(ant_arena *arena, size_t mark);

#endif
