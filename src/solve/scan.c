/* scan.c - the three phases of a parallel prefix action (scan.h). */
#include "solve/scan.h"

#include "base/machine.h"

void ant_scan_run(const ant_scan *scan, int threads)
{
    const size_t n = scan->count, segments = scan->segments;
    (void)threads; /* used by the pragmas only */
#pragma omp parallel for schedule(static, 1) num_threads(ant_threads_ready(segments > 1 ? threads : 1))
    for (size_t k = 0; k < segments - 1; k++) {
        const size_t first = ant_scan_border(n, segments, k), last = ant_scan_border(n, segments, k + 1);
        if (last > first)
            scan->compose(scan->context, first, last, scan->totals + k * scan->total_bytes);
    }
    for (size_t k = 0; k + 1 < segments; k++) {
        unsigned char *from = scan->borders + k * scan->state_bytes, *to = from + scan->state_bytes;
        if (ant_scan_border(n, segments, k + 1) > ant_scan_border(n, segments, k)) {
            scan->act(scan->context, scan->totals + k * scan->total_bytes, from, to);
        } else {
            for (size_t i = 0; i < scan->state_bytes; i++)
                to[i] = from[i];
        }
    }
#pragma omp parallel for schedule(static, 1) num_threads(ant_threads_ready(segments > 1 ? threads : 1))
    for (size_t k = 0; k < segments; k++) {
        const size_t first = ant_scan_border(n, segments, k), last = ant_scan_border(n, segments, k + 1);
        if (last > first)
            scan->sweep(scan->context, first, last, scan->borders + k * scan->state_bytes);
    }
}
