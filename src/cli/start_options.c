/* start_options.c - options for the start of a free run. */
#include "cli/start_options.h"

#include <string.h>

const char *const cli_inputs_ends[] = {"stop", "hold", "repeat", NULL};

antler_inputs_end cli_inputs_end(const char *word)
{
    for (antler_inputs_end end = ANTLER_INPUTS_STOP; end <= ANTLER_INPUTS_REPEAT; end++) {
        if (strcmp(antler_inputs_end_name(end), word) == 0)
            return end;
    }
    return ANTLER_INPUTS_STOP;
}
