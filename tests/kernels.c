/*
 * kernels.c - compile every GPU kernel for several architectures, without a GPU.
 *
 *     build/tests/kernels [--record FILE [--sample K | --write]] [NAME.cu...]
 *
 * Each source is compiled once per architecture and per line `// variant: -DM=4 -DN=3` that it holds.  Prints
 * registers, shared memory and spills of every kernel, one line each, and fails when a source does not
 * compile, has no variant, or uses local memory without saying so with a line `// spills: KERNEL...`.
 * Without names, each header is also compiled alone, once, with the macros of its line `// alone: -DM=4
 * -DN=3`, so that it includes what it uses; `// alone: never (why)` leaves out one that needs the including
 * source. Exit code 77: there is no NVRTC on this machine.
 *
 * --record: compare with what FILE has for the same text, macros, architecture and compiler
 * (kernel_record.h), and fail where it has something else.  --sample K: compile what FILE does not have, and
 * of what it has one in K, another one every day; the lines of the rest are those of FILE.  --write: FILE
 * gets what was compiled.
 */
#include "engine/cuda/nvrtc.h"
#include "engine/cuda/sources.h"
#include "kernel_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_OPTIONS = 64, MAX_JOBS = 4096, SKIPPED = 77 };

static const int architectures[] = {80, 90, 120};
static const char ANY_SOURCE[] = "selftest.cu"; /* whose headers are those of every source */

typedef struct job {
    const char *name;
    char text[128]; /* the source; "": the one with that name */
    char variant[512];
    int sm;
    bool failed, recorded; /* recorded: not compiled, the rows are those of the record */
    char key[ANT_HASH_TEXT];
    char *log, *message;
    kernel_rows rows;
} job;

static job jobs[MAX_JOBS];

/* Split "-DM=4 -DN=3" in place. */
static size_t split(char *line, const char **options)
{
    size_t count = 0;
    char *rest = NULL;
    options[count++] = "--ptxas-options=-v";
    for (char *word = strtok_r(line, " \r\n", &rest); word != NULL && count < MAX_OPTIONS;
         word = strtok_r(NULL, " \r\n", &rest))
        options[count++] = word;
    return count;
}

/* The key of a job, or what the compiler makes of it. */
static void compile(job *one, const ant_nvrtc_facts *facts, bool key_alone)
{
    ant_sources sources;
    ant_nvrtc_image image = {0};
    char line[sizeof one->variant];
    const char *options[MAX_OPTIONS];
    memcpy(line, one->variant, sizeof line);
    const size_t count = split(line, options);
    one->failed = true;
    if (ant_sources_get(one->text[0] == '\0' ? one->name : ANY_SOURCE, &sources) == ANTLER_OK) {
        if (one->text[0] != '\0')
            sources.source.text = one->text;
        ant_hash_print(ant_nvrtc_key(&sources.source, one->sm, options, count, facts), one->key);
        one->failed =
            !key_alone && ant_nvrtc_compile(&sources.source, one->sm, options, count, &image) != ANTLER_OK;
        ant_sources_clear(&sources);
    }
    if (one->failed)
        one->message = strdup(antler_message());
    one->log = image.log;
    free(image.bytes);
}

/* One job per variant and architecture; 0 when the source names no variant. */
static size_t add_jobs(const ant_embedded_source *source, size_t count)
{
    static const char mark[] = "// variant:";
    const size_t before = count;
    for (const char *at = strstr(source->text, mark); at != NULL; at = strstr(at + 1, mark)) {
        const char *text = at + sizeof mark - 1;
        for (size_t i = 0; i < sizeof architectures / sizeof architectures[0] && count < MAX_JOBS; i++) {
            job *one = &jobs[count++];
            *one = (job){.name = source->name, .sm = architectures[i]};
            snprintf(one->variant, sizeof one->variant, "%.*s", (int)strcspn(text, "\n"), text);
        }
    }
    return count - before;
}

static bool ends_with(const char *name, const char *end)
{
    const size_t length = strlen(name), tail = strlen(end);
    return length > tail && strcmp(name + length - tail, end) == 0;
}

/* A header alone, on one architecture.  Returns the number of jobs, or -1 when it has no line `// alone:`. */
static int add_header(const ant_embedded_source *header, size_t count)
{
    static const char mark[] = "// alone:";
    const char *text = strstr(header->text, mark);
    if (text == NULL || count == MAX_JOBS)
        return -1;
    text += sizeof mark - 1;
    if (strncmp(text, " never (", 8) == 0)
        return 0;
    job *one = &jobs[count];
    *one = (job){.name = header->name, .sm = 90};
    snprintf(one->text, sizeof one->text, "#include \"%s\"\n", header->name);
    snprintf(one->variant, sizeof one->variant, "%.*s", (int)strcspn(text, "\n"), text);
    return 1;
}

/* All headers; returns how many do not say how they compile. */
static size_t add_headers(size_t *count)
{
    size_t silent = 0;
    for (const ant_embedded_source *s = ant_embedded_sources; s->name != NULL; s++) {
        if (ends_with(s->name, ".cu"))
            continue;
        const int added = add_header(s, *count);
        if (added < 0)
            printf("%s: does not say how it compiles alone; add a line '// alone: -D...'\n", s->name);
        silent += added < 0;
        *count += added > 0;
    }
    return silent;
}

/* Whether the source says that this kernel may use local memory. */
static bool may_spill(const char *source_name, const char *kernel)
{
    for (const ant_embedded_source *s = ant_embedded_sources; s->name != NULL; s++) {
        const char *line = strcmp(s->name, source_name) == 0 ? strstr(s->text, "// spills:") : NULL;
        if (line == NULL)
            continue;
        char allowed[512];
        snprintf(allowed, sizeof allowed, "%.*s ", (int)strcspn(line, "\n"), line);
        char word[128];
        snprintf(word, sizeof word, " %s ", kernel);
        return strstr(allowed, word) != NULL;
    }
    return false;
}

static int number_before(const char *line, const char *unit)
{
    const char *at = strstr(line, unit);
    while (at != NULL && at > line && at[-1] == ' ')
        at--;
    while (at != NULL && at > line && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return at == NULL ? 0 : atoi(at);
}

static kernel_row row_of(const job *one, const char *kernel)
{
    kernel_row row = {.sm = one->sm};
    const char *macros = one->variant + strspn(one->variant, " ");
    snprintf(row.key, sizeof row.key, "%s", one->key);
    snprintf(row.source, sizeof row.source, "%s", one->name);
    snprintf(row.variant, sizeof row.variant, "%s", macros[0] == '\0' ? "-" : macros);
    snprintf(row.kernel, sizeof row.kernel, "%s", kernel);
    return row;
}

/*
 * ptxas says per kernel:
 *     Compiling entry function 'scale' for 'sm_90'
 *     Function properties for scale
 *     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
 *     Used 12 registers, used 1 barriers, 1024 bytes smem, 400 bytes cmem[0]
 * and after it, per function that it calls, the second and third line.  Returns what spills without leave.
 */
static int read_log(job *one)
{
    int offences = 0, spilled = 0, frame = 0;
    char kernel[128] = "?", function[128] = "?", *rest = NULL;
    for (char *line = strtok_r(one->log, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        const char *name = strstr(line, "entry function '");
        if (name != NULL)
            sscanf(name, "entry function '%127[^']", kernel);
        const char *properties = strstr(line, "Function properties for ");
        if (properties != NULL)
            sscanf(properties, "Function properties for %127s", function);
        if (strstr(line, "bytes stack frame") != NULL) {
            frame = number_before(line, "bytes stack frame");
            spilled = number_before(line, "bytes spill stores");
            if (spilled > 0 && strcmp(function, kernel) != 0 && !may_spill(one->name, kernel)) {
                printf("%-20s sm_%-4d %s spills %d B  SPILLS\n", one->name, one->sm, function, spilled);
                offences++;
            }
        }
        if (strstr(line, "Used ") == NULL)
            continue;
        kernel_row row = row_of(one, kernel);
        row.registers = number_before(line, "registers");
        row.shared = number_before(line, "bytes smem");
        row.stack = frame;
        row.spilled = spilled;
        kernel_rows_add(&one->rows, &row);
        spilled = frame = 0;
    }
    if (one->rows.count == 0) {
        const kernel_row row = row_of(one, "-");
        kernel_rows_add(&one->rows, &row);
    }
    return offences;
}

/* The lines of a job; returns how many kernels spill without leave. */
static int print_rows(const job *one)
{
    int offences = 0;
    for (size_t i = 0; i < one->rows.count; i++) {
        const kernel_row *row = &one->rows.row[i];
        const bool offence = row->spilled > 0 && !may_spill(row->source, row->kernel);
        if (strcmp(row->kernel, "-") != 0)
            printf("%-20s sm_%-4d %-24s %4d registers %7d B shared %5d B stack %5d B spilled  %s%s\n",
                   row->source, row->sm, row->kernel, row->registers, row->shared, row->stack, row->spilled,
                   row->variant, offence ? "  SPILLS" : "");
        offences += offence;
    }
    return offences;
}

/* Whether the rows of a job are those that the record has, or it has none. */
static bool agrees(const job *one, const kernel_rows *record)
{
    size_t count = 0;
    const kernel_row *row = kernel_rows_find(record, one->key, &count);
    bool same = row == NULL || count == one->rows.count;
    for (size_t i = 0; row != NULL && same && i < count; i++)
        same = memcmp(&row[i], &one->rows.row[i], sizeof row[i]) == 0;
    if (!same)
        printf("FAILED %s sm_%d%s: the record says otherwise\n", one->name, one->sm, one->variant);
    return same;
}

/* Take the rows of the record, unless it is the turn of this job today. */
static void take_recorded(job *one, const kernel_rows *record, int sample)
{
    size_t count = 0;
    const kernel_row *row = kernel_rows_find(record, one->key, &count);
    unsigned turn = 0;
    sscanf(one->key + ANT_HASH_TEXT - 8, "%x", &turn);
    if (row == NULL || ((size_t)turn + (size_t)(time(NULL) / 86400)) % (size_t)sample == 0)
        return;
    for (size_t i = 0; i < count; i++)
        kernel_rows_add(&one->rows, &row[i]);
    one->recorded = true;
}

typedef struct request {
    const char *record;
    int sample; /* 0: compile everything */
    bool write;
    char **names; /* (count) */
    int count;
} request;

static bool read_request(int argc, char **argv, request *asked)
{
    int i = 1;
    *asked = (request){0};
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        if (strcmp(argv[i], "--record") == 0 && i + 1 < argc)
            asked->record = argv[++i];
        else if (strcmp(argv[i], "--sample") == 0 && i + 1 < argc)
            asked->sample = atoi(argv[++i]);
        else if (strcmp(argv[i], "--write") == 0)
            asked->write = true;
        else
            return false;
    }
    asked->names = argv + i;
    asked->count = argc - i;
    return asked->sample >= 0 && !(asked->write && (asked->sample > 0 || asked->count > 0)) &&
           (asked->record != NULL || (asked->sample == 0 && !asked->write));
}

static bool wanted(const char *name, const request *asked)
{
    bool want = asked->count == 0;
    for (int i = 0; i < asked->count; i++)
        want = want || strcmp(asked->names[i], name) == 0;
    return want && ends_with(name, ".cu");
}

/* All jobs that are wanted; returns how many sources or headers do not say how they compile. */
static size_t list_jobs(const request *asked, size_t *count, size_t *headers)
{
    size_t silent = 0;
    for (const ant_embedded_source *s = ant_embedded_sources; s->name != NULL; s++) {
        if (!wanted(s->name, asked))
            continue;
        const size_t added = add_jobs(s, *count);
        if (added == 0)
            printf("%s: names no variant; add a line '// variant: -D...'\n", s->name);
        silent += added == 0;
        *count += added;
    }
    const size_t sources = *count;
    if (asked->count == 0)
        silent += add_headers(count);
    *headers = *count - sources;
    return silent;
}

static void compile_jobs(const request *asked, const kernel_rows *record, const ant_nvrtc_facts *facts,
                         size_t count)
{
#pragma omp parallel for schedule(dynamic)
    for (size_t i = 0; i < count; i++) {
        compile(&jobs[i], facts, true);
        if (asked->sample > 0)
            take_recorded(&jobs[i], record, asked->sample);
        if (!jobs[i].recorded)
            compile(&jobs[i], facts, false);
    }
}

/* What was found, printed and compared.  Returns the number of faults. */
static size_t report(const kernel_rows *record, size_t count, size_t headers, kernel_rows *all)
{
    size_t failed = 0, spilling = 0, recorded = 0, fresh = 0, rows = 0;
    for (size_t i = 0; i < count; i++) {
        job *one = &jobs[i];
        if (one->failed) {
            printf("FAILED %s sm_%d%s: %s\n%s\n", one->name, one->sm, one->variant, one->message,
                   one->log == NULL ? "" : one->log);
        } else {
            spilling += one->recorded ? 0 : (size_t)read_log(one);
            spilling += (size_t)print_rows(one);
            one->failed = !agrees(one, record);
            fresh += kernel_rows_find(record, one->key, &rows) == NULL;
        }
        failed += one->failed;
        recorded += one->recorded;
        for (size_t k = 0; k < one->rows.count; k++)
            kernel_rows_add(all, &one->rows.row[k]);
        free(one->log);
        free(one->message);
        free(one->rows.row);
    }
    printf("%zu compilations, %zu of them headers alone, %zu failed, %zu kernels spill registers; %zu taken "
           "from the "
           "record, %zu not in it\n",
           count, headers, failed, spilling, recorded, fresh);
    return failed + spilling;
}

int main(int argc, char **argv)
{
    request asked;
    ant_nvrtc_facts facts;
    kernel_rows record = {0}, all = {0};
    size_t count = 0, headers = 0;
    if (!read_request(argc, argv, &asked)) {
        fprintf(stderr, "use: kernels [--record FILE [--sample K | --write]] [NAME.cu...]\n");
        return 2;
    }
    if (ant_nvrtc_open(&facts) != ANTLER_OK) {
        printf("skipped: %s\n", antler_message());
        return SKIPPED;
    }
    printf("NVRTC %d.%d, %s\n", facts.major, facts.minor, facts.path);
    if (asked.record != NULL && !asked.write && !kernel_rows_read(asked.record, &record)) {
        printf("%s: is no record of kernels; write it again with --write\n", asked.record);
        return 2;
    }
    size_t faults = list_jobs(&asked, &count, &headers);
    compile_jobs(&asked, &record, &facts, count);
    faults += report(&record, count, headers, &all);
    if (faults == 0 && asked.write && !kernel_rows_write(asked.record, &all)) {
        printf("%s: cannot be written\n", asked.record);
        return 3;
    }
    free(record.row);
    free(all.row);
    return faults == 0 && count > 0 ? 0 : 1;
}
