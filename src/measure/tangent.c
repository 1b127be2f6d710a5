/* tangent.c - tangent vectors along an orbit: steps through the Jacobian, QR, logarithms of R. */
#include "measure/tangent.h"

#include "base/machine.h"
#include "base/random.h"

#include <string.h>

static void carve(ant_arena *arena, ant_tangent *t)
{
    const size_t numbers = t->count * t->stride;
    t->P = ant_arena_take(arena, numbers, sizeof *t->P);
    t->next = ant_arena_take(arena, numbers, sizeof *t->next);
    t->reflector = ant_arena_take(arena, numbers, sizeof *t->reflector);
    t->tau = ant_arena_take(arena, t->count, sizeof *t->tau);
    t->scratch = ant_arena_take(arena, t->runner->ops->push_scratch(t->runner->self), sizeof *t->scratch);
}

/* Directions that any seed would do for; the first QR makes them orthonormal. */
static void fill_random(ant_tangent *t)
{
    ant_stream stream = ant_stream_open(1, 0, 0, ANT_PURPOSE_INITIAL_STATE);
    for (size_t k = 0; k < t->count; k++)
        ant_stream_normals(&stream, t->P + k * t->stride, t->runner->n);
}

antler_status ant_tangent_create(const ant_runner *runner, size_t count, ant_tangent *tangent)
{
    *tangent = (ant_tangent){.runner = runner, .count = count, .stride = ant_lanes_pad(runner->n)};
    ant_arena_count(&tangent->arena);
    carve(&tangent->arena, tangent);
    const size_t bytes = tangent->arena.used, numbers = count * tangent->stride;
    ANT_TRY(ant_arena_create(&tangent->arena, bytes));
    carve(&tangent->arena, tangent);
    memset(tangent->P, 0, numbers * sizeof *tangent->P);
    if (count < runner->n) {
        fill_random(tangent);
        ant_tangent_kernels_here()->orthonormalise(tangent, tangent->next); /* the lengths are of no use */
    }
    memset(tangent->next, 0, numbers * sizeof *tangent->next);
    for (size_t k = 0; k < count && count == runner->n; k++)
        tangent->P[k * tangent->stride + k] = 1.0;
    return ANTLER_OK;
}

void ant_tangent_destroy(ant_tangent *tangent)
{
    ant_arena_destroy(&tangent->arena);
}

void ant_tangent_push(ant_tangent *t, const double *from, const double *s)
{
    t->runner->ops->push(t->runner->self, from, s, t->count, t->stride, t->P, t->next, t->scratch);
    double *swap = t->P;
    t->P = t->next;
    t->next = swap;
}

const ant_tangent_kernels *ant_tangent_kernels_here(void)
{
#if defined(__x86_64__)
    switch (ant_cpu_level_best()) {
    case ANT_CPU_AVX512:
        return &ant_tangent_kernels_avx512;
    case ANT_CPU_AVX2:
        return &ant_tangent_kernels_avx2;
    case ANT_CPU_BASE:
        break;
    }
#endif
    return &ant_tangent_kernels_base;
}
