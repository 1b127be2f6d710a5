// mamba2_sizes.cuh - the sizes of a Mamba-2 of width D = M (spec 1, model/mamba2.h), for training and for
// free runs.
// alone: -DREAL_BITS=64 -DM=16
#ifndef ANT_MAMBA2_SIZES_CUH
#define ANT_MAMBA2_SIZES_CUH

#include "abi.h"

#define STATE        MAMBA2_STATE
#define TAPS         MAMBA2_TAPS
#define HEADS        MAMBA2_HEADS
#define INNER        (2 * M)                // channels of the recurrence
#define HEAD         (INNER / HEADS)        // channels of a head
#define CONV         (INNER + 2 * STATE)    // channels of the convolution: x, B, C
#define PROJ         (INNER + CONV + HEADS) // rows of proj_in: gate, x, B, C, dt
#define STATES       (INNER * STATE)        // numbers of the recurrent state H
#define NORM_EPSILON ((real)1e-5)

#endif
