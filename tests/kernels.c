/*
 * kernels.c - compile every GPU kernel for several architectures, without a GPU.
 *
 *     build/tests/kernels [NAME.cu...]
 *
 * Each source is compiled once per architecture and per line `// variant: -DM=4 -DN=3` that it holds.  Prints
 * registers, shared memory and spills of every kernel, one line each, and fails when a source does not
 * compile, has no variant, or uses local memory without saying so with a line `// spills: KERNEL...`.
 * Without names, each header is also compiled alone, once, with the macros of its line `// alone: -DM=4
 * -DN=3`, so that it includes what it uses; `// alone: never (why)` leaves out one that needs the including
 * source. Exit code 77: there is no NVRTC on this machine.
 */
#include "engine/cuda/nvrtc.h"
#include "engine/cuda/sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPTIONS = 64, MAX_JOBS = 4096, SKIPPED = 77 };

static const int architectures[] = {80, 90, 120};
static const char ANY_SOURCE[] = "selftest.cu"; /* whose headers are those of every source */

typedef struct job {
    const char *name;
    char text[128]; /* the source; "": the one with that name */
    char variant[512];
    int sm;
    bool failed;
    char *log, *message;
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

static void compile(job *one)
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
        one->failed = ant_nvrtc_compile(&sources.source, one->sm, options, count, &image) != ANTLER_OK;
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

/*
 * ptxas says per kernel:
 *     Compiling entry function 'scale' for 'sm_90'
 *     Function properties for scale
 *     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
 *     Used 12 registers, used 1 barriers, 1024 bytes smem, 400 bytes cmem[0]
 * and after it, per function that it calls, the second and third line.  Returns what spills without leave.
 */
static int report(job *one)
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
        const bool offence = spilled > 0 && !may_spill(one->name, kernel);
        printf("%-20s sm_%-4d %-24s %4d registers %7d B shared %5d B stack %5d B spilled %s%s\n", one->name,
               one->sm, kernel, number_before(line, "registers"), number_before(line, "bytes smem"), frame,
               spilled, one->variant, offence ? "  SPILLS" : "");
        offences += offence;
        spilled = frame = 0;
    }
    return offences;
}

static bool wanted(const char *name, int argc, char **argv)
{
    bool want = argc <= 1;
    for (int i = 1; i < argc; i++)
        want = want || strcmp(argv[i], name) == 0;
    return want && ends_with(name, ".cu");
}

int main(int argc, char **argv)
{
    ant_nvrtc_facts facts;
    if (ant_nvrtc_open(&facts) != ANTLER_OK) {
        printf("skipped: %s\n", antler_message());
        return SKIPPED;
    }
    printf("NVRTC %d.%d, %s\n", facts.major, facts.minor, facts.path);
    size_t count = 0, failed = 0, spilling = 0;
    for (const ant_embedded_source *s = ant_embedded_sources; s->name != NULL; s++) {
        if (!wanted(s->name, argc, argv))
            continue;
        const size_t added = add_jobs(s, count);
        if (added == 0)
            printf("%s: names no variant; add a line '// variant: -D...'\n", s->name);
        failed += added == 0;
        count += added;
    }
    const size_t sources = count;
    if (argc <= 1)
        failed += add_headers(&count);
#pragma omp parallel for schedule(dynamic)
    for (size_t i = 0; i < count; i++)
        compile(&jobs[i]);
    for (size_t i = 0; i < count; i++) {
        if (jobs[i].failed)
            printf("FAILED %s sm_%d%s: %s\n%s\n", jobs[i].name, jobs[i].sm, jobs[i].variant, jobs[i].message,
                   jobs[i].log == NULL ? "" : jobs[i].log);
        else
            spilling += (size_t)report(&jobs[i]);
        failed += jobs[i].failed;
        free(jobs[i].log);
        free(jobs[i].message);
    }
    printf("%zu compilations, %zu of them headers alone, %zu failed, %zu kernels spill registers\n", count,
           count - sources, failed, spilling);
    return failed + spilling == 0 && count > 0 ? 0 : 1;
}
