/* answer.c - the JSON document of a command, whole or not printed. */
#include "cli/answer.h"

#include "cli/show.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static bool wanted, printed;
static bool failed; /* an allocation of Jansson */

/* For the rest of a call in which memory ran out: Jansson's parser ends the process when a token does not
 * fit. */
enum { RESERVE = 1 << 16, ALIGNMENT = 16 };
static _Alignas(ALIGNMENT) char reserve[RESERVE];
static size_t reserve_used;

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory != NULL)
        return memory;
    failed = true;
    const size_t room = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (bytes > RESERVE || room > RESERVE - reserve_used)
        return NULL;
    memory = reserve + reserve_used;
    reserve_used += room;
    return memory;
}

static void release(void *memory)
{
    const uintptr_t at = (uintptr_t)memory, begin = (uintptr_t)reserve;
    if (at < begin || at >= begin + RESERVE)
        free(memory);
}

void cli_json_begin(void)
{
    json_set_alloc_funcs(allocate, release);
}

bool cli_json_failed(void)
{
    return failed;
}

json_t *cli_json_load(const char *path)
{
    FILE *file = cli_open(path);
    json_t *root = file == NULL ? NULL : json_loadf(file, 0, NULL);
    if (file != NULL)
        fclose(file);
    return root;
}

json_t *cli_json_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *cli_json_reals(const double *values, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, cli_json_real(values[i]));
    return array;
}

/* The text of the document; NULL after a message, with the exit code. */
static char *text_of(const json_t *root, int *code)
{
    char *text = NULL;
    if (!failed && root != NULL)
        text = json_dumps(root, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17));
    if (failed) { /* Jansson may have left out what did not fit */
        release(text);
        text = NULL;
    }
    if (text == NULL)
        *code = failed ? cli_no_memory("the JSON document")
                       : cli_usage_error("the result could not be written as JSON: a name is not UTF-8");
    return text;
}

static void print_text(const char *text)
{
    cli_show_exact(true);
    puts(text);
    cli_show_exact(false);
    printed = true;
}

int cli_json_print(json_t *root)
{
    int code = CLI_DONE;
    char *text = text_of(root, &code);
    if (text != NULL)
        print_text(text);
    release(text);
    json_decref(root);
    return code;
}

int cli_json_write(const char *path, const json_t *root)
{
    int code = CLI_DONE;
    char *text = text_of(root, &code);
    if (text != NULL)
        code = cli_write_file(path, text);
    release(text);
    return code;
}

/* The document of a fault without Jansson: characters that need an escape become '?'. */
static void print_plainly(int code)
{
    char text[4400], sentence[4096];
    size_t used = 0;
    for (const char *p = cli_last_error(); *p != '\0' && used + 1 < sizeof sentence; p++) {
        const bool plain = *p >= ' ' && *p < 0x7f && *p != '"' && *p != '\\';
        sentence[used++] = plain ? *p : '?';
    }
    sentence[used] = '\0';
    snprintf(text, sizeof text, "{\n  \"error\": \"%s\",\n  \"exit_code\": %d\n}", sentence, code);
    print_text(text);
}

void cli_json_want(void)
{
    wanted = true;
}

void cli_json_conclude(int code)
{
    if (!wanted || code == CLI_DONE || printed)
        return;
    json_t *sentence = failed ? NULL : json_string(cli_last_error());
    json_t *root = failed ? NULL
                          : json_pack("{s:o, s:i}", "error", sentence == NULL ? json_string("") : sentence,
                                      "exit_code", code);
    char *text = root == NULL ? NULL : json_dumps(root, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    if (text != NULL && !failed)
        print_text(text);
    else
        print_plainly(code);
    release(text);
    json_decref(root);
}
