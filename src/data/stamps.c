/* stamps.c - order, step and gaps of the times of rows. */
#include "data/stamps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double close_step = 0.05, close_stamp = 0.25;

size_t ant_stamps_steps(double difference, double step)
{
    static const double most = 1e11; /* so that sums of them stay within 64 bits */
    const double ratio = rint(difference / step);
    return !(ratio >= 1.0) ? 1 : ratio > most ? (size_t)most : (size_t)ratio;
}

static void find_order(const double *stamps, size_t rows, ant_stamps *found)
{
    for (size_t i = 0; i < rows; i++) {
        const bool missing = !isfinite(stamps[i]);
        if (!missing && (i == 0 || stamps[i] > stamps[i - 1]))
            continue;
        if (found->faults++ > 0)
            continue;
        found->fault = i;
        found->order = missing                      ? ANT_STAMPS_MISSING
                       : stamps[i] == stamps[i - 1] ? ANT_STAMPS_DOUBLED
                                                    : ANT_STAMPS_BACKWARDS;
    }
}

/* Whether all stamps fit `step`, by steps or by the grid, and at least `share` of the steps are no gaps. */
static bool fits(const double *stamps, size_t rows, double step, double share, double resolution)
{
    bool by_steps = true, by_grid = true;
    size_t at = 0, single = 0;
    for (size_t i = 1; i < rows && (by_steps || by_grid); i++) {
        const double difference = stamps[i] - stamps[i - 1];
        const size_t steps = ant_stamps_steps(difference, step);
        at += steps;
        single += steps == 1;
        by_steps =
            by_steps && fabs(difference - (double)steps * step) <= close_step * step + 2.0 * resolution;
        by_grid = by_grid &&
                  fabs(stamps[i] - stamps[0] - (double)at * step) <= close_stamp * step + 2.0 * resolution;
    }
    return (by_steps || by_grid) && (double)single >= share * (double)(rows - 1);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The time step: the mean of the steps near the median, and then the span over all whole steps. */
static double refine(const double *stamps, size_t rows, double middle)
{
    double sum = 0.0, step = middle;
    size_t count = 0;
    for (size_t i = 1; i < rows; i++) {
        const double difference = stamps[i] - stamps[i - 1];
        const bool near = difference > 0.5 * middle && difference < 1.5 * middle;
        sum += near ? difference : 0.0;
        count += near;
    }
    step = count > 0 ? sum / (double)count : middle;
    for (int round = 0; round < 3; round++) {
        double steps = 0.0;
        for (size_t i = 1; i < rows; i++)
            steps += (double)ant_stamps_steps(stamps[i] - stamps[i - 1], step);
        step = (stamps[rows - 1] - stamps[0]) / steps;
    }
    return step;
}

/* The shortest decimal number that fits as well: 0.01 instead of 0.0100000000000003. */
static double snap(const double *stamps, size_t rows, double step, double resolution)
{
    double steps = 0.0, farthest = 0.0;
    for (size_t i = 1; i < rows; i++) {
        steps += (double)ant_stamps_steps(stamps[i] - stamps[i - 1], step);
        farthest = fmax(farthest, fabs(stamps[i] - stamps[0] - steps * step));
    }
    const double allowed = fmax(fmax(farthest, 1e-6 * step), resolution);
    for (int digits = 1; digits <= 15; digits++) {
        char text[32];
        snprintf(text, sizeof text, "%.*e", digits - 1, step);
        const double rounded = strtod(text, NULL), change = fabs(rounded - step);
        if (change * steps <= allowed && change <= 1e-3 * step)
            return rounded;
    }
    return step;
}

/* Extremes of the steps that are no gaps, and the gaps. */
static void describe(const double *stamps, size_t rows, ant_stamps *found)
{
    found->least = INFINITY;
    found->most = 0.0;
    for (size_t i = 1; i < rows; i++) {
        const double difference = stamps[i] - stamps[i - 1];
        const size_t steps = found->even ? ant_stamps_steps(difference, found->step) : 1;
        if (steps == 1) {
            found->least = fmin(found->least, difference);
            found->most = fmax(found->most, difference);
            continue;
        }
        found->gaps++;
        found->gap_rows += steps - 1;
        if (steps - 1 > found->longest) {
            found->longest = steps - 1;
            found->longest_after = i - 1;
        }
    }
    found->deviation = fmax(found->most - found->step, found->step - found->least) / found->step;
}

antler_status ant_stamps_study(const double *stamps, size_t rows, double resolution, ant_stamps *found)
{
    *found = (ant_stamps){.order = ANT_STAMPS_IN_ORDER};
    find_order(stamps, rows, found);
    if (found->faults > 0)
        return ANTLER_OK;
    const double mean = (stamps[rows - 1] - stamps[0]) / (double)(rows - 1);
    found->even = fits(stamps, rows, mean, 1.0, resolution);
    found->step = found->middle = mean;
    if (!found->even) {
        double *steps = malloc((rows - 1) * sizeof *steps);
        if (steps == NULL)
            return ant_fail_memory((rows - 1) * sizeof *steps, "the time steps");
        for (size_t i = 1; i < rows; i++)
            steps[i - 1] = stamps[i] - stamps[i - 1];
        qsort(steps, rows - 1, sizeof *steps, compare);
        found->middle = steps[(rows - 1) / 2];
        free(steps);
        found->step = refine(stamps, rows, found->middle);
        found->even = fits(stamps, rows, found->step, 0.5, resolution);
    }
    found->step = found->even ? snap(stamps, rows, found->step, resolution) : found->middle;
    describe(stamps, rows, found);
    return ANTLER_OK;
}
