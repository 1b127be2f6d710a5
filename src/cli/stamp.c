/* stamp.c - a hash of model, data and options, by which an evaluation on disk is recognised as still valid.
 */
#include "cli/stamp.h"

#include "cli/measuring.h"
#include "cli/runs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TILE_VALUES = 8192 };

/* FNV-1a: detects accidental changes; not cryptographic. */
static uint64_t add(uint64_t hash, const void *bytes, size_t count)
{
    for (const unsigned char *byte = bytes; count-- > 0; byte++)
        hash = (hash ^ *byte) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t add_text(uint64_t hash, const char *text)
{
    return add(hash, text, strlen(text) + 1);
}

/* `threads` and `progress` are left out: no number depends on them. */
static uint64_t add_options(uint64_t hash, const antler_evaluate_opts *o)
{
    char text[1024];
    cli_measuring_text(&o->measure, text, sizeof text);
    hash = add(add_text(hash, text), o->horizon, sizeof o->horizon);
    snprintf(text, sizeof text,
             "rmse %zu %zu %zu %a lyapunov %zu %zu %zu %zu with %d %d %d free %zu %zu units %d %d inputs %d "
             "range %a",
             o->rmse.steps, o->rmse.windows, o->rmse.warmup, o->rmse.exponent, o->lyapunov.steps,
             o->lyapunov.transient, o->lyapunov.interval, o->lyapunov.exponents, o->with_dstsp, o->with_rmse,
             o->with_lyapunov, o->steps, o->warmup, o->model_units, o->user_units, (int)o->inputs_end,
             o->range_factor);
    return add_text(hash, text);
}

/* Sizes, names, dt and scaling.  scratch: (2 N) */
static uint64_t add_form(uint64_t hash, const antler_series *series, double *scratch)
{
    const size_t N = antler_series_dim(series), K = antler_series_input_dim(series);
    const double dt = antler_series_dt(series);
    hash = add(add(add(hash, &N, sizeof N), &K, sizeof K), &dt, sizeof dt);
    for (size_t v = 0; v < N + K; v++)
        hash = add_text(hash, antler_series_name(series, v));
    if (antler_series_scaling(series, scratch, scratch + N))
        hash = add(hash, scratch, 2 * N * sizeof *scratch);
    return hash;
}

/* All values.  scratch: (rows, N + K) */
static antler_status add_values(uint64_t *hash, const antler_series *series, size_t rows, double *scratch)
{
    const size_t N = antler_series_dim(series), K = antler_series_input_dim(series);
    for (size_t i = 0; i < antler_series_count(series); i++) {
        const size_t length = antler_series_length(series, i);
        *hash = add(*hash, &length, sizeof length);
        for (size_t first = 0; first < length; first += rows) {
            const size_t count = length - first < rows ? length - first : rows;
            double *inputs = K == 0 ? NULL : scratch + count * N;
            const antler_status status = antler_series_read_f64(series, i, first, count, scratch, inputs);
            if (status != ANTLER_OK)
                return status;
            *hash = add(*hash, scratch, count * (N + K) * sizeof *scratch);
        }
    }
    return ANTLER_OK;
}

int cli_stamp_begin(const antler_series *truth, const antler_evaluate_opts *opts, uint64_t *common)
{
    const size_t width = antler_series_dim(truth) + antler_series_input_dim(truth);
    const size_t rows = 2 + TILE_VALUES / width; /* 2: a scaling fits, too */
    double *scratch = calloc(rows * width, sizeof *scratch);
    if (scratch == NULL) {
        fputs("antler: out of memory for the stamp of an evaluation\n", stderr);
        return CLI_MACHINE;
    }
    uint64_t hash = add_text(UINT64_C(0xcbf29ce484222325), antler_version());
    hash = add_form(add_options(hash, opts), truth, scratch);
    const antler_status status = add_values(&hash, truth, rows, scratch);
    free(scratch);
    *common = hash;
    return status == ANTLER_OK ? CLI_DONE : cli_fail(status);
}

cli_stamp cli_stamp_run(uint64_t common, const char *run)
{
    char path[4096], bytes_read[8192];
    cli_stamp stamp = {.text = ""};
    const int length = snprintf(path, sizeof path, "%s%s", run, cli_run_is_folder(run) ? "/model.npz" : "");
    FILE *model = length < (int)sizeof path ? fopen(path, "rb") : NULL;
    if (model == NULL)
        return stamp;
    for (size_t count = 1; count > 0;) {
        count = fread(bytes_read, 1, sizeof bytes_read, model);
        common = add(common, bytes_read, count);
    }
    if (ferror(model) == 0)
        snprintf(stamp.text, sizeof stamp.text, "%016" PRIx64, common);
    fclose(model);
    return stamp;
}
