/* stamp.c - a hash of model, data and options, by which an evaluation on disk is recognised as still valid.
 */
#include "cli/stamp.h"

#include "cli/measuring.h"
#include "cli/runs.h"

#include <errno.h>
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
    double *scratch = cli_memory(rows * width, sizeof *scratch, "the stamp of an evaluation");
    uint64_t hash = add_text(UINT64_C(0xcbf29ce484222325), antler_version());
    hash = add_form(add_options(hash, opts), truth, scratch);
    const antler_status status = add_values(&hash, truth, rows, scratch);
    free(scratch);
    *common = hash;
    return status == ANTLER_OK ? CLI_DONE : cli_fail(status);
}

int cli_stamp_run(uint64_t common, const char *run, cli_stamp *stamp)
{
    char path[4096], bytes_read[8192];
    bool is_folder = false;
    *stamp = (cli_stamp){.text = ""};
    const int code = cli_run_is_folder(run, &is_folder);
    const int length = snprintf(path, sizeof path, "%s%s", run, is_folder ? "/model.npz" : "");
    if (code != CLI_DONE || length >= (int)sizeof path)
        return code;
    FILE *model = cli_open(path);
    if (model == NULL)
        return errno == ENOENT || errno == ENOTDIR ? CLI_DONE : cli_file_error(path, "opened");
    for (size_t count = 1; count > 0;) {
        count = fread(bytes_read, 1, sizeof bytes_read, model);
        common = add(common, bytes_read, count);
    }
    snprintf(stamp->text, sizeof stamp->text, "%016" PRIx64, common);
    const int read = ferror(model) ? cli_file_error(path, "read") : CLI_DONE;
    fclose(model);
    return read;
}
