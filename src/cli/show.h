/*
 * show.h - what the command prints.  Names of files, runs, columns and settings come from files and
 * arguments, so no control character of theirs may reach a terminal.
 */
#ifndef ANT_CLI_SHOW_H
#define ANT_CLI_SHOW_H

#include <stdbool.h>
#include <stddef.h>

/*
 * From here on, stdout and stderr pass only newlines, tabs and characters of UTF-8 that are no control
 * characters; everything else becomes '?'.  False: there is no memory for it.
 */
bool cli_show_begin(void);

/* The sentence with which libgomp has ended the process, which is not printed; "": it has not. */
const char *cli_show_gomp(void);

/* Print stdout as it is, or no longer: for JSON, where control characters are escaped already. */
void cli_show_exact(bool exact);

/* On a terminal: erase the line of stderr and go to its beginning. */
void cli_show_clear_line(void);

/*
 * One word for a POSIX shell with this value: as it is where nothing in it is special, else in quotes.
 * out: (CLI_QUOTED(strlen(text))).  Returns out.
 */
#define CLI_QUOTED(length) (4 * (length) + 8)
const char *cli_show_quoted(const char *text, char *out);

#endif
