// mamba2_sizes.cuh - sizes of a Mamba-2 of width D = M (SPEC 1, model/mamba2.h), for training and for free
// runs.
#ifndef ANT_MAMBA2_SIZES_CUH
#define ANT_MAMBA2_SIZES_CUH

#define STATE        16
#define TAPS         4
#define HEADS        8
#define INNER        (2 * M)                // channels of the recurrence
#define HEAD         (INNER / HEADS)        // of them in a head
#define CONV         (INNER + 2 * STATE)    // channels of the convolution: x, B, C
#define PROJ         (INNER + CONV + HEADS) // rows of proj_in: gate, x, B, C, dt
#define STATES       (INNER * STATE)        // numbers of the recurrent state H
#define NORM_EPSILON ((real)1e-5)

#endif
