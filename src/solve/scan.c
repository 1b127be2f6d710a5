#include "solve/scan.h"

void ant_scan_run(const ant_scan *scan, int threads)
{
    const size_t n = scan->count, tiles = scan->tiles;
    (void)threads; /* used by the pragmas only */
#pragma omp parallel for schedule(static, 1) num_threads(threads) if (tiles > 1)
    for (size_t k = 0; k < tiles - 1; k++) {
        const size_t first = ant_scan_border(n, tiles, k), last = ant_scan_border(n, tiles, k + 1);
        if (last > first)
            scan->compose(scan->context, first, last, scan->totals + k * scan->total_bytes);
    }
    for (size_t k = 0; k + 1 < tiles; k++) {
        unsigned char *from = scan->borders + k * scan->state_bytes, *to = from + scan->state_bytes;
        if (ant_scan_border(n, tiles, k + 1) > ant_scan_border(n, tiles, k)) {
            scan->act(scan->context, scan->totals + k * scan->total_bytes, from, to);
        } else {
            for (size_t i = 0; i < scan->state_bytes; i++)
                to[i] = from[i];
        }
    }
#pragma omp parallel for schedule(static, 1) num_threads(threads) if (tiles > 1)
    for (size_t k = 0; k < tiles; k++) {
        const size_t first = ant_scan_border(n, tiles, k), last = ant_scan_border(n, tiles, k + 1);
        if (last > first)
            scan->sweep(scan->context, first, last, scan->borders + k * scan->state_bytes);
    }
}
