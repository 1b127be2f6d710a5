/* scan.c - the three phases of a parallel prefix action (scan.h). */
#include "solve/scan.h"

static void compose_segment(void *cookie, size_t k, size_t worker)
{
    const ant_scan *scan = cookie;
    const size_t first = ant_scan_border(scan->count, scan->segments, k),
                 last = ant_scan_border(scan->count, scan->segments, k + 1);
    (void)worker;
    if (last > first)
        scan->compose(scan->context, first, last, scan->totals + k * scan->total_bytes);
}

static void sweep_segment(void *cookie, size_t k, size_t worker)
{
    const ant_scan *scan = cookie;
    const size_t first = ant_scan_border(scan->count, scan->segments, k),
                 last = ant_scan_border(scan->count, scan->segments, k + 1);
    (void)worker;
    if (last > first)
        scan->sweep(scan->context, first, last, scan->borders + k * scan->state_bytes);
}

void ant_scan_run(ant_scan *scan, ant_team *team)
{
    const size_t n = scan->count, segments = scan->segments;
    ant_team_run(team, segments - 1, compose_segment, scan);
    for (size_t k = 0; k + 1 < segments; k++) {
        unsigned char *from = scan->borders + k * scan->state_bytes, *to = from + scan->state_bytes;
        if (ant_scan_border(n, segments, k + 1) > ant_scan_border(n, segments, k)) {
            scan->act(scan->context, scan->totals + k * scan->total_bytes, from, to);
        } else {
            for (size_t i = 0; i < scan->state_bytes; i++)
                to[i] = from[i];
        }
    }
    ant_team_run(team, segments, sweep_segment, scan);
}
