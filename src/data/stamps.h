/*
 * stamps.h - the times of the rows of a table: are they in order, how far apart, where are gaps.
 *
 * Stamps are even when each step is close to a whole multiple of one time step dt, most of them to dt
 * itself.  Two kinds of closeness count: each step is within 5 % of dt (a clock that drifts), or each stamp
 * is within 25 % of dt of a grid (stamps that were rounded, months).  A multiple above one is a gap.
 */
#ifndef ANT_DATA_STAMPS_H
#define ANT_DATA_STAMPS_H

#include "base/status.h"

typedef enum ant_stamps_order {
    ANT_STAMPS_IN_ORDER, /* each is later than the one before */
    ANT_STAMPS_MISSING,  /* one is not a number */
    ANT_STAMPS_DOUBLED,  /* one equals the one before */
    ANT_STAMPS_BACKWARDS,
} ant_stamps_order;

typedef struct ant_stamps {
    ant_stamps_order order;
    size_t fault; /* the first row, from 0, that is not in order */
    size_t faults;
    bool even;
    double step;                   /* dt, in the unit of the stamps */
    double least, middle, most;    /* of the steps that are no gaps; of all steps when uneven */
    double deviation;              /* largest distance of such a step from `step`, as a share of it */
    size_t gaps, gap_rows;         /* how many, and rows that are missing in all */
    size_t longest, longest_after; /* rows of the longest, and the row, from 0, before it */
} ant_stamps;

/* Study stamps: (rows), rows >= 2.  resolution: differences below it are rounding of the numbers. */
antler_status ant_stamps_study(const double *stamps, size_t rows, double resolution, ant_stamps *found);

/* Whole steps between two neighbouring stamps, at least 1. */
size_t ant_stamps_steps(double difference, double step);

#endif
