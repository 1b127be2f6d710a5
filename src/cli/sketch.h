/* sketch.h - a picture of two variables in the terminal. */
#ifndef ANT_CLI_SKETCH_H
#define ANT_CLI_SKETCH_H

#include <antler/antler.h>

/* Draw variable `across` against `up` over all trajectories, in Braille dots or, without UTF-8, in ASCII. */
antler_status cli_sketch(const antler_series *series, size_t across, size_t up);

#endif
