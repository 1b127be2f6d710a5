/* cmd_lyapunov.h - Lyapunov exponents for people and for programs, shared by `lyapunov` and `evaluate`. */
#ifndef ANT_CLI_LYAPUNOV_H
#define ANT_CLI_LYAPUNOV_H

#include "cli/command.h"

#include <jansson.h>

json_t *cli_json_lyapunov(const antler_lyapunov_result *result);

/* A table of the exponents, their sum and the dimension. */
void cli_print_lyapunov(const antler_lyapunov_result *result);

#endif
