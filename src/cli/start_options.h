/* start_options.h - options for the start of a free run, shared by `generate`, `lyapunov` and
 * `evaluate`. */
#ifndef ANT_CLI_STARTING_H
#define ANT_CLI_STARTING_H

#include "cli/command.h"

/* For --inputs-end. */
extern const char *const cli_inputs_ends[];

antler_inputs_end cli_inputs_end(const char *word);

#define CLI_WARMUP_HELP                                                                                      \
    "Rows of data that force the model before it runs free. Default: as in training, or 100 where that "     \
    "had none and the model has more units than variables."
#define CLI_MODEL_UNITS_HELP                                                                                 \
    "The data are in the model's units already: apply no scaling. Default: data without a scaling are in "   \
    "user units, and the model's scaling is applied."
#define CLI_INPUTS_END_HELP                                                                                  \
    "After the last row of inputs: stop (an error), hold (keep the row) or repeat (begin again)."

#endif
