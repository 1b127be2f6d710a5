#include "measure/tangent.h"

#include "base/machine.h"

#include <string.h>

static void carve(ant_arena *arena, ant_tangent *t)
{
    const size_t M = t->runner->M, Mp = t->runner->Mp, Lp = t->runner->Lp;
    t->slope = ant_arena_take(arena, Lp, sizeof *t->slope);
    t->weight = ant_arena_take(arena, Lp, sizeof *t->weight);
    t->Jt = ant_arena_take(arena, M * Mp, sizeof *t->Jt);
    t->P = ant_arena_take(arena, M * Mp, sizeof *t->P);
    t->next = ant_arena_take(arena, M * Mp, sizeof *t->next);
    t->reflector = ant_arena_take(arena, M * Mp, sizeof *t->reflector);
    t->tau = ant_arena_take(arena, M, sizeof *t->tau);
}

antler_status ant_tangent_create(const ant_runner *runner, ant_tangent *tangent)
{
    const size_t M = runner->M, Mp = runner->Mp;
    *tangent = (ant_tangent){.runner = runner};
    ant_arena_count(&tangent->arena);
    carve(&tangent->arena, tangent);
    const size_t bytes = tangent->arena.used;
    ANT_TRY(ant_arena_create(&tangent->arena, bytes));
    carve(&tangent->arena, tangent);
    memset(tangent->P, 0, M * Mp * sizeof *tangent->P);
    memset(tangent->next, 0, M * Mp * sizeof *tangent->next);
    memset(tangent->Jt, 0, M * Mp * sizeof *tangent->Jt);
    for (size_t k = 0; k < M; k++)
        tangent->P[k * Mp + k] = 1.0;
    return ANTLER_OK;
}

void ant_tangent_destroy(ant_tangent *tangent)
{
    ant_arena_destroy(&tangent->arena);
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
