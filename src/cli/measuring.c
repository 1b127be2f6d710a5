/* measuring.c - options, JSON and lines about D_stsp and D_H, shared by `measure` and `evaluate`. */
#include "cli/measuring.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

const char *const cli_dstsp_kinds[] = {CLI_DSTSP_KINDS, NULL};
const char *const cli_devices[] = {"auto", "cpu", "cuda", NULL};

antler_device cli_device(const char *name)
{
    antler_device found = ANTLER_DEVICE_AUTO;
    for (antler_device device = ANTLER_DEVICE_AUTO; name != NULL && device <= ANTLER_DEVICE_CUDA; device++) {
        if (strcmp(antler_device_name(device), name) == 0)
            found = device;
    }
    return found;
}

cli_measuring cli_measuring_default(void)
{
    cli_measuring measuring = {.dstsp = "gmm"};
    antler_measure_opts_default(&measuring.opts);
    return measuring;
}

static int read_embedding(cli_measuring *s)
{
    char m[32];
    const char *comma = strchr(s->embed, ',');
    if (comma != NULL && (size_t)(comma - s->embed) < sizeof m) {
        snprintf(m, sizeof m, "%.*s", (int)(comma - s->embed), s->embed);
        if (cli_read_count(m, &s->opts.embed_dim) && cli_read_count(comma + 1, &s->opts.embed_delay))
            return CLI_DONE;
    }
    return cli_usage_error("--embed: '%s' is not of the form M,TAU, such as 3,10", s->embed);
}

int cli_measuring_finish(cli_measuring *s)
{
    for (int kind = 0; cli_dstsp_kinds[kind] != NULL; kind++) {
        if (strcmp(antler_dstsp_kind_name((antler_dstsp_kind)kind), s->dstsp) == 0)
            s->opts.dstsp = (antler_dstsp_kind)kind;
    }
    s->opts.device = cli_device(s->device);
    return s->embed == NULL ? CLI_DONE : read_embedding(s);
}

/* The settings of a command that has no others. */
struct alone {
    cli_measuring measuring;
};

void cli_measuring_text(const antler_measure_opts *o, char *text, size_t bytes)
{
    static const cli_option options[] = {CLI_MEASURING_OPTIONS(struct alone, measuring)};
    const struct alone all = {.measuring.opts = *o};
    size_t used =
        (size_t)snprintf(text, bytes, "dstsp %d device %d embed %zu %zu%s", (int)o->dstsp, (int)o->device,
                         o->embed_dim, o->embed_delay, o->match_noise ? " match-noise" : "");
    for (size_t i = 0; i < sizeof options / sizeof options[0] && used < bytes; i++) {
        const char *name = options[i].name;
        const void *value = (const char *)&all + options[i].offset;
        if (options[i].kind == CLI_REAL)
            used += (size_t)snprintf(text + used, bytes - used, " %s %a", name, *(const double *)value);
        else if (options[i].kind == CLI_COUNT)
            used += (size_t)snprintf(text + used, bytes - used, " %s %zu", name, *(const size_t *)value);
        else if (options[i].kind == CLI_SEED)
            used +=
                (size_t)snprintf(text + used, bytes - used, " %s %" PRIu64, name, *(const uint64_t *)value);
    }
}

json_t *cli_json_dstsp(const antler_measure_opts *o, const antler_measure_result *r)
{
    json_t *d = json_pack("{s:o, s:s, s:I, s:I, s:I, s:I, s:I, s:f}", "value", cli_json_real(r->dstsp),
                          "variant", antler_dstsp_kind_name(o->dstsp), "dim", (json_int_t)r->dstsp_dim,
                          "true_points", (json_int_t)r->true_points, "generated_points",
                          (json_int_t)r->generated_points, "embed_dim", (json_int_t)o->embed_dim,
                          "embed_delay", (json_int_t)o->embed_delay, "seconds", r->seconds);
    if (o->match_noise)
        json_object_set_new(d, "match_noise", json_true());
    if (o->dstsp == ANTLER_DSTSP_BINS) {
        json_object_set_new(d, "bins", json_integer((json_int_t)o->bins));
        json_object_set_new(d, "bin_margin", json_real(o->bin_margin));
        json_object_set_new(d, "bin_laplace", json_real(o->bin_laplace));
        json_object_set_new(d, "bins_filled", json_integer((json_int_t)r->bins_filled));
        return d;
    }
    json_object_set_new(d, "standard_error", cli_json_real(r->dstsp_error));
    json_object_set_new(d, "samples", json_integer((json_int_t)o->samples));
    json_object_set_new(d, "seed", json_integer((json_int_t)o->seed));
    json_object_set_new(d, "bandwidth", json_real(r->bandwidth));
    json_object_set_new(d, "kernels", json_real(r->kernels));
    json_object_set_new(d, "kernels_per_second", json_real(r->seconds > 0.0 ? r->kernels / r->seconds : 0.0));
    json_object_set_new(d, "threads", json_integer(r->threads));
    json_object_set_new(d, "cpu", json_string(r->cpu == NULL ? "" : r->cpu));
    json_object_set_new(d, "device", json_string(r->device == NULL ? "cpu" : r->device));
    json_object_set_new(d, "break_even", json_real(r->break_even));
    return d;
}

json_t *cli_json_hellinger(const antler_measure_opts *o, const antler_measure_result *r)
{
    return json_pack("{s:o, s:o, s:f, s:I}", "value", cli_json_real(r->hellinger), "each",
                     cli_json_reals(r->hellinger_each, r->dim), "smoothing", o->smoothing, "rows",
                     (json_int_t)r->hellinger_rows);
}

json_t *cli_json_moments(const double *mean, const double *sd, size_t count)
{
    return json_pack("{s:o, s:o}", "mean", cli_json_reals(mean, count), "sd", cli_json_reals(sd, count));
}

/* Label and value of a measure of the table, without a newline. */
static void print_value(const char *name, double value)
{
    const antler_measure_info *info = antler_measure_at(antler_measure_index(name));
    printf("%-9s %.*g", info->label, info->digits, value);
}

static void print_work(const antler_measure_opts *o, const antler_measure_result *r)
{
    printf("  work       %.3g kernels in %.2f s: %.3g kernels/s on ", r->kernels, r->seconds,
           r->seconds > 0.0 ? r->kernels / r->seconds : 0.0);
    if (r->device != NULL)
        printf("%s", r->device);
    else
        printf("%d thread%s, %s", r->threads, r->threads == 1 ? "" : "s", r->cpu);
    if (o->device == ANTLER_DEVICE_AUTO)
        printf(" (auto: a GPU pays from %.2g kernels on)", r->break_even);
    putchar('\n');
}

static void print_floor(double floor)
{
    if (!isnan(floor))
        printf(", floor %.3g", floor);
}

void cli_print_dstsp(const antler_measure_opts *o, const antler_measure_result *r, double floor)
{
    const bool bins = o->dstsp == ANTLER_DSTSP_BINS;
    print_value(o->embed_dim > 1 ? "dstsp_embedded" : "dstsp", r->dstsp);
    if (!bins)
        printf(" +- %.2g", r->dstsp_error);
    print_floor(floor);
    printf("\n  variant    %s", antler_dstsp_kind_name(o->dstsp));
    if (bins)
        printf(", %zu bins per axis, %zu filled, margin %g sd, Laplace %g\n", o->bins, r->bins_filled,
               o->bin_margin, o->bin_laplace);
    else
        printf(", %zu samples, seed %llu, covariance %.6g x %s\n", o->samples, (unsigned long long)o->seed,
               r->bandwidth, o->dstsp == ANTLER_DSTSP_GMM_FIXED ? "identity" : "variance");
    if (o->match_noise)
        printf("  noise      as on the true orbit, where it is seen there\n");
    if (o->embed_dim > 1)
        printf("  embedding  m = %zu, tau = %zu rows\n", o->embed_dim, o->embed_delay);
    printf("  points     %zu true, %zu generated, d = %zu\n", r->true_points, r->generated_points,
           r->dstsp_dim);
    if (!bins)
        print_work(o, r);
}

void cli_print_hellinger(const antler_measure_opts *o, const antler_measure_result *r, double floor)
{
    print_value("hellinger", r->hellinger);
    print_floor(floor);
    printf("\n  smoothing  sigma = %g bins, %zu rows compared\n", o->smoothing, r->hellinger_rows);
}
