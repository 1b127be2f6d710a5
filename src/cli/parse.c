/* parse.c - arguments into a settings struct, by the table of the command. */
#include "cli/answer.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static char last_error[4096];

const char *cli_last_error(void)
{
    return last_error;
}

/* One line, also where a name in it has more. */
static void complain(void)
{
    for (char *p = last_error; *p != '\0'; p++)
        *p = *p == '\n' ? '?' : *p;
    fprintf(stderr, "antler: %s\n", last_error);
}

int cli_usage_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_error, sizeof last_error, format, arguments);
    va_end(arguments);
    complain();
    return CLI_USAGE;
}

int cli_fail(antler_status status)
{
    snprintf(last_error, sizeof last_error, "%s", antler_message());
    complain();
    switch (status) {
    case ANTLER_CANCELLED:
        return CLI_INTERRUPTED;
    case ANTLER_ERROR_ARGUMENT:
    case ANTLER_ERROR_NOT_FOUND:
    case ANTLER_ERROR_FORMAT:
    case ANTLER_ERROR_DATA:
        return CLI_USAGE;
    default:
        return status > 0 ? CLI_NUMBERS : CLI_MACHINE;
    }
}

int cli_file_error(const char *path, const char *done)
{
    snprintf(last_error, sizeof last_error, "%.3800s: cannot be %s: %s", path, done, strerror(errno));
    complain();
    return CLI_MACHINE;
}

int cli_no_memory(const char *purpose)
{
    snprintf(last_error, sizeof last_error, "out of memory for %s", purpose);
    complain();
    return CLI_MACHINE;
}

void cli_end(int code)
{
    cli_json_conclude(code);
    exit(cli_finish(code));
}

bool cli_ok(antler_status status)
{
    if (status == ANTLER_ERROR_MEMORY)
        cli_end(cli_fail(status));
    return status == ANTLER_OK;
}

void *cli_memory(size_t count, size_t size, const char *purpose)
{
    void *memory = calloc(count == 0 ? 1 : count, size);
    if (memory == NULL)
        cli_end(cli_no_memory(purpose));
    return memory;
}

FILE *cli_open(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL && errno == ENOMEM)
        cli_end(cli_no_memory("reading a file"));
    return file;
}

int cli_write_stream(const char *path, FILE *stream, char *const *text)
{
    const bool whole = ferror(stream) == 0;
    int code = fclose(stream) == 0 && whole && *text != NULL ? CLI_DONE : cli_no_memory("a table");
    if (code == CLI_DONE)
        code = cli_write_file(path, *text);
    free(*text);
    return code;
}

int cli_write_file(const char *path, const char *text)
{
    const antler_status status = antler_write_file(path, text);
    return status == ANTLER_OK ? CLI_DONE : cli_fail(status);
}

int cli_finish(int code)
{
    if (code == CLI_DONE && antler_threads_refused() > 0)
        fprintf(
            stderr,
            "antler: note: for want of memory or because of a limit %d fewer thread%s did the work, with the "
            "same result\n",
            antler_threads_refused(), antler_threads_refused() == 1 ? "" : "s");
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    fprintf(stderr, "antler: cannot write to standard output: %s\n", strerror(errno));
    return CLI_MACHINE;
}

bool cli_read_real(const char *text, double *value)
{
    char *end = NULL;
    errno = 0;
    const double number = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(number))
        return false;
    *value = number;
    return true;
}

/* 100000, 1e5 and 100_000 are the same; no sign, no fraction. */
bool cli_read_count(const char *text, size_t *value)
{
    char digits[64];
    size_t length = 0;
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '_')
            continue;
        if (length + 1 >= sizeof digits ||
            (!isdigit((unsigned char)*c) && *c != 'e' && *c != 'E' && *c != '.'))
            return false;
        digits[length++] = *c;
    }
    digits[length] = '\0';
    double number;
    if (!cli_read_real(digits, &number) || number != floor(number) || number > 9007199254740992.0)
        return false;
    *value = (size_t)number;
    return true;
}

static bool read_seed(const char *text, uint64_t *value)
{
    char *end = NULL;
    errno = 0;
    if (!isdigit((unsigned char)text[0]))
        return false;
    const unsigned long long number = strtoull(text, &end, 10);
    if (*end != '\0' || errno != 0)
        return false;
    *value = number;
    return true;
}

static bool append(cli_list *list, const char *item)
{
    if (list->count == CLI_LIST_MAX)
        return false;
    list->items[list->count++] = item;
    return true;
}

static size_t choice_count(const cli_option *option)
{
    size_t count = 0;
    while (option->choices[count] != NULL)
        count++;
    return count;
}

const char *cli_did_you_mean(const char *word, const char *const *candidates, size_t count)
{
    static char text[128];
    const char *nearest = antler_nearest(word, candidates, count);
    text[0] = '\0';
    if (nearest != NULL)
        snprintf(text, sizeof text, "; did you mean '%s'?", nearest);
    return text;
}

static int store(const cli_command *command, const cli_option *option, const char *value, void *settings)
{
    void *target = (char *)settings + option->offset;
    bool good = true;
    const char *expected = "";
    size_t count;
    switch (option->kind) {
    case CLI_FLAG:
        *(bool *)target = true;
        break;
    case CLI_TEXT:
    case CLI_FILE:
        *(const char **)target = value;
        break;
    case CLI_CHOICE:
        *(const char **)target = value;
        good = false;
        for (size_t i = 0; option->choices[i] != NULL; i++)
            good = good || strcmp(option->choices[i], value) == 0;
        if (!good)
            return cli_usage_error("--%s: there is no '%s'%s; see 'antler %s --help'", option->name, value,
                                   cli_did_you_mean(value, option->choices, choice_count(option)),
                                   command->name);
        break;
    case CLI_COUNT:
        good = cli_read_count(value, target);
        expected = "a whole number such as 100000 or 1e5";
        break;
    case CLI_INT:
        good = cli_read_count(value, &count) && count <= 1000000;
        expected = "a small whole number";
        if (good)
            *(int *)target = (int)count;
        break;
    case CLI_REAL:
        good = cli_read_real(value, target);
        expected = "a number such as 0.05";
        break;
    case CLI_SEED:
        good = read_seed(value, target);
        expected = "a whole number from 0 to 18446744073709551615";
        break;
    case CLI_TEXTS:
    case CLI_FILES:
    case CLI_ASSIGN:
        if (!append(target, value))
            return cli_usage_error("--%s: more than %d values", option->name, CLI_LIST_MAX);
        break;
    }
    if (!good)
        return cli_usage_error("--%s: '%s' is not %s", option->name, value, expected);
    return CLI_DONE;
}

static const cli_option *find_option(const cli_command *command, const char *name, size_t length)
{
    for (size_t i = 0; i < command->option_count; i++) {
        const cli_option *option = &command->options[i];
        if (strlen(option->name) == length && strncmp(option->name, name, length) == 0)
            return option;
    }
    return NULL;
}

static int unknown_option(const cli_command *command, const char *name, size_t length)
{
    const char *names[64];
    char word[64];
    size_t count = 0;
    for (; count < command->option_count && count < 64; count++)
        names[count] = command->options[count].name;
    snprintf(word, sizeof word, "%.*s", (int)length, name);
    return cli_usage_error("'antler %s' has no option --%s%s", command->name, word,
                           cli_did_you_mean(word, names, count));
}

/* One option at argv[*i]; moves *i past its value. */
static int take_option(const cli_command *command, int argc, char **argv, int *i, void *settings)
{
    const char *name = argv[*i] + 2;
    const char *equals = strchr(name, '=');
    const size_t length = equals == NULL ? strlen(name) : (size_t)(equals - name);
    const cli_option *option = find_option(command, name, length);
    if (option == NULL)
        return unknown_option(command, name, length);
    if (option->kind == CLI_FLAG) {
        if (equals != NULL)
            return cli_usage_error("--%s takes no value", option->name);
        return store(command, option, NULL, settings);
    }
    if (equals == NULL && *i + 1 >= argc)
        return cli_usage_error("--%s needs a value: --%s %s", option->name, option->name, option->value);
    const char *value = equals != NULL ? equals + 1 : argv[++*i];
    if (value[0] == '\0')
        return cli_usage_error("--%s: the value is empty", option->name);
    return store(command, option, value, settings);
}

/* *help: --help was given, and the page is printed. */
static int read_arguments(const cli_command *command, int argc, char **argv, void *settings,
                          size_t *positional, bool *help)
{
    bool only_arguments = false;
    size_t count = 0;
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i];
        if (!only_arguments && strcmp(word, "--") == 0) {
            only_arguments = true;
        } else if (!only_arguments && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)) {
            *help = true;
            cli_help_command(command, stdout);
            return cli_finish(CLI_DONE);
        } else if (!only_arguments && strncmp(word, "--", 2) == 0) {
            const int code = take_option(command, argc, argv, &i, settings);
            if (code != CLI_DONE)
                return code;
        } else if (!only_arguments && word[0] == '-' && word[1] != '\0') {
            return cli_usage_error("'%s': options begin with two dashes; see 'antler %s --help'", word,
                                   command->name);
        } else {
            argv[count++] = argv[i];
        }
    }
    if (count < command->minimum)
        return cli_usage_error("'antler %s' needs %s; see 'antler %s --help'", command->name,
                               command->arguments, command->name);
    if (count > command->maximum)
        return cli_usage_error("'antler %s' takes no argument '%s'; see 'antler %s --help'", command->name,
                               argv[command->maximum], command->name);
    *positional = count;
    return CLI_DONE;
}

bool cli_parse(const cli_command *command, int argc, char **argv, void *settings, size_t *positional,
               int *code)
{
    bool help = false;
    *code = read_arguments(command, argc, argv, settings, positional, &help);
    return *code == CLI_DONE && !help;
}
