/* info_files.c - settings, logs, tables, verdicts and reports: what is in them, as facts by name. */
#include "cli/info_files.h"

#include "cli/measuring.h"
#include "cli/runs.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { PATH = 4096, LINE = 1 << 14, FIELDS = 256 };

static json_t *describe(const char *path, const char *what)
{
    return json_pack("{s:s, s:s}", "file", path, "what", what);
}

static void add_count(json_t *to, const char *key, size_t count)
{
    json_object_set_new(to, key, json_integer((json_int_t)count));
}

static bool has_ending(const char *path, const char *ending)
{
    const size_t length = strlen(path), tail = strlen(ending);
    return length >= tail && strcasecmp(path + length - tail, ending) == 0;
}

/* ---- JSON -------------------------------------------------------------------------------------------- */

static void copy_fact(json_t *to, const char *name, const json_t *from, const char *key)
{
    json_t *value = json_object_get(from, key);
    if (value != NULL && !json_is_null(value))
        json_object_set(to, name, value);
}

static json_t *of_verdict(const char *path, const json_t *root)
{
    json_t *d = describe(path, "verdict on a model");
    const char *const keys[] = {"kind", "text", "advice", "figure", "value", "floor", "limit"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        copy_fact(d, keys[i], root, keys[i]);
    return d;
}

static json_t *of_metrics(const char *path, const json_t *root)
{
    json_t *d = describe(path, "evaluation of a model");
    const char *measure;
    json_t *value;
    copy_fact(d, "run", root, "run");
    copy_fact(d, "data", root, "data");
    copy_fact(d, "verdict", json_object_get(root, "verdict"), "kind");
    copy_fact(d, "text", json_object_get(root, "verdict"), "text");
    json_object_foreach(json_object_get(root, "summary"), measure, value) json_object_set(d, measure, value);
    copy_fact(d, "antler", root, "antler");
    return d;
}

static json_t *of_sidecar(const char *path, const json_t *root)
{
    json_t *d = describe(path, "facts of the table beside it");
    const char *const keys[] = {"names", "inputs", "dt", "mean", "scale", "bytes"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        copy_fact(d, keys[i], root, keys[i]);
    return d;
}

/* What `--json` printed: the numbers and texts of the document itself. */
static json_t *of_result(const char *path, json_t *root)
{
    json_t *d = describe(path, "result of an Antler command");
    const char *key;
    json_t *value;
    json_object_foreach(root, key, value)
    {
        if (json_is_object(value) && json_object_get(value, "value") != NULL)
            copy_fact(d, key, value, "value");
        else if (!json_is_object(value) && !json_is_array(value))
            json_object_set(d, key, value);
    }
    return d;
}

static json_t *of_json(const char *path)
{
    json_t *root = cli_json_load(path), *d = NULL;
    if (json_object_get(root, "antler_table") != NULL)
        d = of_sidecar(path, root);
    else if (json_object_get(root, "kind") != NULL && json_object_get(root, "advice") != NULL)
        d = of_verdict(path, root);
    else if (json_object_get(root, "summary") != NULL && json_object_get(root, "stamp") != NULL)
        d = of_metrics(path, root);
    else if (json_object_get(root, "antler") != NULL)
        d = of_result(path, root);
    json_decref(root);
    return d;
}

/* ---- settings ---------------------------------------------------------------------------------------- */

/* The settings that have not their default. */
static void add_settings(json_t *d, const antler_settings *settings)
{
    char value[sizeof settings->data];
    json_t *changed = json_object();
    for (size_t i = 0; i < antler_setting_count(); i++) {
        const antler_setting_info *info = antler_setting_at(i);
        antler_settings standard;
        char other[sizeof value];
        antler_settings_default(&standard);
        if (antler_settings_get(settings, info->name, value, sizeof value) == ANTLER_OK &&
            antler_settings_get(&standard, info->name, other, sizeof other) == ANTLER_OK &&
            strcmp(value, other) != 0)
            json_object_set_new(changed, info->name, json_string(value));
    }
    json_object_set_new(d, "settings", changed);
}

static json_t *of_yaml(const char *path)
{
    antler_settings settings;
    antler_grid *grid = NULL;
    if (cli_ok(antler_settings_load(path, &settings))) {
        json_t *d = describe(path, "settings of a training, where they are not the defaults");
        add_settings(d, &settings);
        return d;
    }
    if (!cli_ok(antler_grid_load(path, NULL, 0, &grid)))
        return NULL;
    json_t *d = describe(path, "grid of a sweep"), *keys = json_array();
    for (size_t k = 0; k < antler_grid_key_count(grid); k++)
        json_array_append_new(keys, json_string(antler_grid_key(grid, k)));
    add_count(d, "combinations", antler_grid_count(grid));
    add_count(d, "runs_each", antler_grid_base(grid)->runs);
    json_object_set_new(d, "varied", keys);
    add_settings(d, antler_grid_base(grid));
    antler_grid_free(grid);
    return d;
}

/* ---- tables ------------------------------------------------------------------------------------------ */

/* A table that Antler writes: names of columns, and rows that are read one after the other. */
typedef struct table {
    FILE *file;
    char head[LINE], line[LINE];
    char *names[FIELDS], *fields[FIELDS];
    size_t columns;
} table;

/* Split a line at commas outside quotes, in place. */
static size_t split(char *line, char **fields)
{
    size_t count = 0;
    bool quoted = false;
    line[strcspn(line, "\r\n")] = '\0';
    fields[count++] = line;
    for (char *c = line; *c != '\0'; c++) {
        quoted = *c == '"' ? !quoted : quoted;
        if (*c == ',' && !quoted && count < FIELDS) {
            *c = '\0';
            fields[count++] = c + 1;
        }
    }
    return count;
}

static bool table_next(table *t)
{
    return fgets(t->line, sizeof t->line, t->file) != NULL && split(t->line, t->fields) == t->columns;
}

/* The number of a column; FIELDS: it is not there. */
static size_t column(const table *t, const char *name)
{
    for (size_t i = 0; i < t->columns; i++) {
        if (strcmp(t->names[i], name) == 0)
            return i;
    }
    return FIELDS;
}

static double number(const table *t, const char *name)
{
    const size_t at = column(t, name);
    char *end = NULL;
    const double value = at == FIELDS ? NAN : strtod(t->fields[at], &end);
    return at == FIELDS || end == t->fields[at] ? NAN : value;
}

static void add_real(json_t *to, const char *key, double value)
{
    if (isfinite(value))
        json_object_set_new(to, key, json_real(value));
}

static json_t *of_log(const char *path, table *t)
{
    json_t *d = describe(path, "log of a training");
    size_t rows = 0;
    double first = NAN, last = NAN, least = INFINITY, update = NAN, least_update = NAN, dstsp = NAN;
    for (; table_next(t); rows++) {
        const double loss = number(t, "loss");
        update = number(t, "update");
        first = rows == 0 ? loss : first;
        last = loss;
        least_update = loss < least ? update : least_update;
        least = fmin(least, loss);
        const double now = number(t, "val_dstsp");
        dstsp = isnan(now) ? dstsp : now;
    }
    add_count(d, "rows", rows);
    add_real(d, "last_update", update);
    add_real(d, "first_loss", first);
    add_real(d, "last_loss", last);
    add_real(d, "least_loss", least);
    add_real(d, "least_loss_update", least_update);
    add_real(d, "last_val_dstsp", dstsp);
    return d;
}

static json_t *of_trials(const char *path, table *t)
{
    json_t *d = describe(path, "runs that a fit has judged"), *best = json_object();
    size_t rows = 0;
    double least = INFINITY;
    for (; table_next(t); rows++) {
        if (!(number(t, "score") < least))
            continue;
        least = number(t, "score");
        for (size_t i = 0; i < t->columns; i++)
            json_object_set_new(best, t->names[i], json_string(t->fields[i]));
    }
    add_count(d, "runs", rows);
    json_object_set_new(d, "best", best);
    return d;
}

static json_t *of_plan(const char *path, table *t)
{
    json_t *d = describe(path, "plan of a fit");
    char key[32], text[128];
    for (size_t rung = 1; table_next(t); rung++) {
        snprintf(key, sizeof key, "rung_%zu", rung);
        snprintf(text, sizeof text, "%.0f trials, %.0f runs each, %.0f updates", number(t, "trials"),
                 number(t, "runs"), number(t, "updates"));
        json_object_set_new(d, key, json_string(text));
    }
    return d;
}

/* One row per run, and the columns of a sweep's grid before its name. */
static json_t *of_runs(const char *path, table *t)
{
    json_t *d = describe(path, "measures of runs, one row each");
    size_t rows = 0, diverged = 0;
    double least = INFINITY;
    char best[LINE] = "";
    for (; table_next(t); rows++) {
        diverged += number(t, "diverged") > 0.0;
        if (!(number(t, "dstsp") < least))
            continue;
        least = number(t, "dstsp");
        const size_t name = column(t, "name"), run = column(t, "run");
        snprintf(best, sizeof best, "%s%s%s", name == FIELDS ? "" : t->fields[name],
                 name == FIELDS ? "" : " ", t->fields[run]);
    }
    add_count(d, "runs", rows);
    add_count(d, "diverged", diverged);
    if (best[0] != '\0')
        json_object_set_new(d, "smallest_dstsp_run", json_string(best));
    add_real(d, "smallest_dstsp", least);
    return d;
}

static json_t *of_statistics(const char *path, table *t)
{
    json_t *d = describe(path, "statistics over runs"), *rows = json_array();
    while (table_next(t)) {
        json_t *row = json_object();
        for (size_t i = 0; i < t->columns; i++)
            json_object_set_new(row, t->names[i], json_string(t->fields[i]));
        json_array_append_new(rows, row);
    }
    json_object_set_new(d, "rows", rows);
    return d;
}

/* Antler's tables by the names of their columns. */
static json_t *of_table(const char *path)
{
    json_t *d = NULL;
    table *t = cli_memory(1, sizeof *t, "a table");
    t->file = cli_open(path);
    if (t->file != NULL && fgets(t->head, sizeof t->head, t->file) != NULL) {
        t->columns = split(t->head, t->names);
        const bool runs = column(t, "run") != FIELDS && column(t, "diverged") != FIELDS;
        if (strcmp(t->names[0], "update") == 0 && column(t, "loss") != FIELDS && column(t, "lr") != FIELDS)
            d = of_log(path, t);
        else if (strcmp(t->names[0], "rung") == 0 && column(t, "score") != FIELDS)
            d = of_trials(path, t);
        else if (t->columns == 3 && strcmp(t->names[0], "trials") == 0 && column(t, "updates") != FIELDS)
            d = of_plan(path, t);
        else if (column(t, "metric") != FIELDS && column(t, "mad") != FIELDS)
            d = of_statistics(path, t);
        else if (runs && column(t, "dstsp") != FIELDS)
            d = of_runs(path, t);
    }
    if (t->file != NULL)
        fclose(t->file);
    free(t);
    return d;
}

/* ---- texts ------------------------------------------------------------------------------------------- */

/* The first bytes of a file as text. */
static bool read_start(const char *path, char *text, size_t bytes)
{
    FILE *file = cli_open(path);
    const size_t got = file == NULL ? 0 : fread(text, 1, bytes - 1, file);
    if (file != NULL)
        fclose(file);
    text[got] = '\0';
    return got > 0;
}

/* What stands between two marks; false: they are not there. */
static bool between(const char *text, const char *before, const char *after, char *out, size_t bytes)
{
    const char *start = strstr(text, before);
    const char *end = start == NULL ? NULL : strstr(start + strlen(before), after);
    if (end == NULL)
        return false;
    start += strlen(before);
    snprintf(out, bytes, "%.*s", (int)(end - start), start);
    return true;
}

static json_t *of_report(const char *path)
{
    char text[4096], maker[1024], title[1024];
    if (!read_start(path, text, sizeof text) ||
        !between(text, "<meta name=\"generator\" content=\"", "\"", maker, sizeof maker) ||
        strncmp(maker, "antler ", 7) != 0)
        return NULL;
    json_t *d = describe(path, "report for the browser");
    if (between(text, "<title>", "</title>", title, sizeof title))
        json_object_set_new(d, "title", json_string(title));
    json_object_set_new(d, "made_by", json_string(maker));
    return d;
}

static json_t *of_divergence(const char *path)
{
    char text[1024];
    if (!read_start(path, text, sizeof text))
        return NULL;
    text[strcspn(text, "\r\n")] = '\0';
    json_t *d = describe(path, "why a run stopped");
    json_object_set_new(d, "reason", json_string(text));
    return d;
}

json_t *cli_info_file(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (has_ending(path, ".json"))
        return of_json(path);
    if (has_ending(path, ".yaml") || has_ending(path, ".yml"))
        return of_yaml(path);
    if (has_ending(path, ".csv"))
        return of_table(path);
    if (has_ending(path, ".html"))
        return of_report(path);
    return strcmp(slash == NULL ? path : slash + 1, "diverged.txt") == 0 ? of_divergence(path) : NULL;
}

/* ---- folders ----------------------------------------------------------------------------------------- */

json_t *cli_info_run(const char *path)
{
    char file[PATH];
    json_t *facts = json_object();
    const char *const names[] = {"log.csv", "verdict.json", "metrics.json", "diverged.txt"};
    const char *const keys[] = {"training", "verdict", "evaluation", "diverged"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        json_t *found = snprintf(file, sizeof file, "%s/%s", path, names[i]) < (int)sizeof file
                            ? cli_info_file(file)
                            : NULL;
        if (found != NULL)
            json_object_set_new(facts, keys[i], found);
    }
    return facts;
}

/* One line about a run: "20000 updates, loss 0.0012; good". */
static json_t *run_line(const char *path)
{
    char text[256], loss[64] = "";
    json_t *facts = cli_info_run(path), *log = json_object_get(facts, "training");
    const char *verdict = json_string_value(json_object_get(json_object_get(facts, "verdict"), "kind"));
    if (json_object_get(log, "last_loss") != NULL)
        snprintf(loss, sizeof loss, ", loss %.3g", json_number_value(json_object_get(log, "last_loss")));
    snprintf(text, sizeof text, "%.0f updates%s%s%s%s",
             json_number_value(json_object_get(log, "last_update")), loss, verdict == NULL ? "" : "; ",
             verdict == NULL ? "" : verdict, json_object_get(facts, "diverged") == NULL ? "" : "; diverged");
    json_decref(facts);
    return json_string(text);
}

/* The runs below a folder, by their names as seen from there; `depth` more folders are entered. */
static void add_runs(json_t *runs, const char *folder, const char *prefix, int depth)
{
    struct dirent **entries = NULL;
    const int found = scandir(folder, &entries, NULL, alphasort);
    if (found < 0 && errno == ENOMEM)
        cli_end(cli_no_memory("the list of runs"));
    for (int i = 0; i < found; i++) {
        char path[PATH], name[PATH], config[PATH];
        const bool fits =
            entries[i]->d_name[0] != '.' &&
            snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name) < (int)sizeof path &&
            snprintf(name, sizeof name, "%s%s", prefix, entries[i]->d_name) < (int)sizeof name &&
            snprintf(config, sizeof config, "%s/config.yaml", path) < (int)sizeof config;
        free(entries[i]);
        bool is_folder = false;
        if (!fits || cli_run_is_folder(path, &is_folder) != CLI_DONE || !is_folder)
            continue;
        FILE *settings = cli_open(config);
        if (settings != NULL) {
            fclose(settings);
            json_object_set_new(runs, name, run_line(path));
        } else if (depth > 0 && strlen(name) + 1 < sizeof name) {
            strcat(name, "/");
            add_runs(runs, path, name, depth - 1);
        }
    }
    free(entries);
}

json_t *cli_info_folder(const char *path)
{
    json_t *runs = json_object();
    add_runs(runs, path, "", 2);
    if (json_object_size(runs) == 0) {
        json_decref(runs);
        return NULL;
    }
    json_t *d = describe(path, "folder of runs");
    add_count(d, "count", json_object_size(runs));
    json_object_set_new(d, "runs", runs);
    return d;
}

/* ---- as text ----------------------------------------------------------------------------------------- */

static void print_value(const json_t *value)
{
    size_t index;
    json_t *item;
    if (json_is_string(value))
        printf("%s", json_string_value(value));
    else if (json_is_integer(value))
        printf("%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        printf("%.6g", json_real_value(value));
    else if (json_is_boolean(value))
        printf("%s", json_is_true(value) ? "true" : "false");
    else if (json_is_array(value))
        json_array_foreach(value, index, item)
        {
            printf(index == 0 ? "" : ", ");
            print_value(item);
        }
}

/* A row of a table on one line. */
static void print_row(json_t *row)
{
    const char *key;
    json_t *value;
    printf("  ");
    json_object_foreach(row, key, value)
    {
        printf("%s ", key);
        print_value(value);
        printf("  ");
    }
    putchar('\n');
}

void cli_info_print(json_t *description)
{
    const char *key, *inner;
    json_t *value, *item;
    size_t index;
    printf("%s: %s\n", json_string_value(json_object_get(description, "file")),
           json_string_value(json_object_get(description, "what")));
    json_object_foreach(description, key, value)
    {
        if (strcmp(key, "file") == 0 || strcmp(key, "what") == 0)
            continue;
        if (json_is_array(value) && json_is_object(json_array_get(value, 0))) {
            json_array_foreach(value, index, item) print_row(item);
        } else if (json_is_object(value)) {
            printf("  %s\n", key);
            json_object_foreach(value, inner, item)
            {
                printf("    %-22s ", inner);
                print_value(item);
                putchar('\n');
            }
        } else {
            printf("  %-18s ", key);
            print_value(value);
            putchar('\n');
        }
    }
}
