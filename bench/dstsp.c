/*
 * dstsp.c - how many Gaussian kernels per second antler_log_density evaluates, the cost of D_stsp.
 *
 *     build/bench/dstsp [--dims 1,3,6,18] [--threads 1,2] [--levels avx2,avx512] [--points N]
 *                       [--seconds S] [--repeats R] [--json FILE]
 *
 * Each case runs once to warm up and then R times for about S seconds.  The table shows the median and the
 * fastest run by the clock, and the best run by processor time: on a machine that does other work too, the
 * last is nearest to what the code can do.  Its multiply-adds are compared with the peak of a core.
 */
#include "dstsp_case.h"

#include "base/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LIST = 16 };

typedef struct options {
    size_t dims[MAX_LIST], dim_count;
    size_t threads[MAX_LIST], thread_count;
    bool levels[ANT_CPU_AVX512 + 1];
    size_t points;
    double seconds;
    int repeats;
    const char *json;
} options;

static void usage(const char *reason)
{
    fprintf(
        stderr,
        "dstsp: %s\nusage: dstsp [--dims 1,3,6,18] [--threads 1,2] [--levels base,avx2,avx512] [--points N] "
        "[--seconds S] [--repeats R] [--json FILE]\n",
        reason);
    exit(2);
}

static size_t parse_list(const char *text, size_t *list)
{
    size_t count = 0;
    for (char *end; count < MAX_LIST; text = end + 1) {
        list[count] = strtoul(text, &end, 10);
        if (end == text || list[count] == 0 || (*end != ',' && *end != '\0'))
            usage("a list of positive numbers is needed, like 1,3,6");
        count++;
        if (*end == '\0')
            return count;
    }
    usage("the list is too long");
    return 0;
}

static void parse_levels(const char *text, bool *levels)
{
    const ant_cpu_level best = ant_cpu_level_best();
    for (ant_cpu_level level = ANT_CPU_BASE; level <= ANT_CPU_AVX512; level++) {
        levels[level] = strstr(text, ant_cpu_level_name(level)) != NULL;
        if (levels[level] && level > best)
            usage("this machine does not have one of these levels");
    }
}

static options parse(int argc, char **argv)
{
    options o = {.dims = {1, 3, 6, 18},
                 .dim_count = 4,
                 .threads = {1},
                 .thread_count = 1,
                 .points = 100000,
                 .seconds = 0.4,
                 .repeats = 7};
    const int cores = ant_threads_resolve(0);
    if (cores > 1)
        o.threads[o.thread_count++] = (size_t)cores;
    for (ant_cpu_level level = ANT_CPU_BASE; level <= ant_cpu_level_best(); level++)
        o.levels[level] = true;
    for (int k = 1; k < argc; k += 2) {
        const char *name = argv[k], *value = argv[k + 1];
        if (value == NULL)
            usage("an option needs a value");
        if (strcmp(name, "--dims") == 0)
            o.dim_count = parse_list(value, o.dims);
        else if (strcmp(name, "--threads") == 0)
            o.thread_count = parse_list(value, o.threads);
        else if (strcmp(name, "--levels") == 0)
            parse_levels(value, o.levels);
        else if (strcmp(name, "--points") == 0)
            o.points = strtoul(value, NULL, 10);
        else if (strcmp(name, "--seconds") == 0)
            o.seconds = strtod(value, NULL);
        else if (strcmp(name, "--repeats") == 0)
            o.repeats = atoi(value);
        else if (strcmp(name, "--json") == 0)
            o.json = value;
        else
            usage("there is no such option");
    }
    if (o.points == 0 || o.repeats < 1 || o.repeats > BENCH_MAX_REPEATS || !(o.seconds > 0.0))
        usage("points and seconds are above 0, repeats from 1 to 101");
    return o;
}

/* The processor as Linux names it. */
static void cpu_model(char *model, size_t bytes)
{
    char line[256];
    snprintf(model, bytes, "unknown");
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon != NULL) {
            snprintf(model, bytes, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
            break;
        }
    }
    if (file != NULL)
        fclose(file);
}

/* Run all cases of one level; append them to `cases`. */
static bool run_level(const options *o, ant_cpu_level level, json_t *cases)
{
    const double peak = ant_peak_rate(level);
    printf("%s: one core multiplies and adds %.1fe9 doubles per second\n", ant_cpu_level_name(level),
           1e-9 * peak);
    printf("  dim  threads   kernels/s   noise    fastest   per core second   ns/kernel   of peak\n");
    for (size_t t = 0; t < o->thread_count; t++) {
        for (size_t i = 0; i < o->dim_count; i++) {
            const bench_case c = {.level = level,
                                  .threads = (int)o->threads[t],
                                  .dim = o->dims[i],
                                  .points = o->points,
                                  .target_seconds = o->seconds,
                                  .repeats = o->repeats,
                                  .peak = peak};
            bench_result r;
            if (!bench_case_run(&c, &r))
                return false;
            printf("  %3zu  %7d  %7.3fe9  %4.1f %%  %7.3fe9  %14.3fe9  %10.4f  %6.1f %%\n", c.dim, c.threads,
                   1e-9 * r.rate, 100.0 * r.noise, 1e-9 * r.best_rate, 1e-9 * r.core_rate, 1e9 / r.core_rate,
                   100.0 * r.of_peak);
            fflush(stdout);
            json_array_append_new(cases, bench_case_json(&c, &r));
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    const options o = parse(argc, argv);
    char model[128];
    cpu_model(model, sizeof model);
    printf("%s\n%s\n%zu orbit points, %d runs of about %g s\n\n", antler_build_info(), model, o.points,
           o.repeats, o.seconds);
    json_t *cases = json_array();
    bool good = cases != NULL;
    for (ant_cpu_level level = ANT_CPU_BASE; good && level <= ANT_CPU_AVX512; level++)
        good = !o.levels[level] || run_level(&o, level, cases);
    json_t *file = json_pack("{s:s, s:s, s:s, s:o}", "benchmark", "dstsp", "build", antler_build_info(),
                             "cpu", model, "cases", cases);
    if (good && o.json != NULL && json_dump_file(file, o.json, JSON_INDENT(1)) != 0) {
        fprintf(stderr, "dstsp: %s cannot be written\n", o.json);
        good = false;
    }
    json_decref(file);
    return good ? 0 : 3;
}
