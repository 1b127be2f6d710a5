/*
 * answer.h - with --json, standard output holds exactly one JSON document: the result of the command, or
 * {"error": SENTENCE, "exit_code": CODE} where there is none.
 *
 * Jansson reports a lack of memory by NULL from every call, and a value that is missing is not missed later.
 * Its allocations go through here: when one has failed, no result is printed or written after that.
 */
#ifndef ANT_CLI_ANSWER_H
#define ANT_CLI_ANSWER_H

#include "cli/command.h"

#include <jansson.h>

/* Call first. */
void cli_json_begin(void);

/* Whether an allocation of Jansson has failed. */
bool cli_json_failed(void);

/* The document in a file; NULL: none can be read. */
json_t *cli_json_load(const char *path);

/* Numbers as JSON has them; NaN and infinities, which it has not, become null. */
json_t *cli_json_real(double value);
json_t *cli_json_reals(const double *values, size_t count);

/* Print with two spaces of indent and all digits, and drop the object; returns the exit code. */
int cli_json_print(json_t *root);

/* Write a file, whole or not at all, and keep the object.  Returns CLI_DONE to continue, or the exit code. */
int cli_json_write(const char *path, const json_t *root);

/* The command has --json. */
void cli_json_want(void);

/* After the command: when it was to print a document and failed before, print that of the fault. */
void cli_json_conclude(int code);

#endif
