/* fuzz.h - what every fuzzer of a reader does with a series: look at all of it. */
#ifndef ANT_TESTS_FUZZ_H
#define ANT_TESTS_FUZZ_H

#include "data/sentinels.h"

#include <stdlib.h>
#include <string.h>

/* The first byte of an input chooses among the options; the rest is the file. */
static inline antler_load_opts fuzz_options(unsigned char choice)
{
    static const char *const columns[] = {NULL, "1", "x1,2", "2-3,x"};
    static const char *const inputs[] = {NULL, NULL, "s1", "2"};
    antler_load_opts opts;
    antler_load_opts_default(&opts);
    opts.transpose = (choice & 1) != 0;
    opts.columns = columns[choice >> 1 & 3];
    opts.inputs = inputs[choice >> 3 & 3];
    opts.header = (antler_header)((choice >> 5) % 3);
    opts.subject = choice >> 5 == 3 ? "1" : NULL;
    opts.time = choice >> 5 == 4 ? "1" : choice >> 5 == 7 ? "none" : NULL;
    opts.resample = choice >> 5 == 5 ? "0.5" : NULL;
    opts.resample_method = ANTLER_RESAMPLE_CUBIC;
    opts.missing_values = choice >> 5 == 6 ? "1,-9999,gone" : NULL;
    return opts;
}

/* Every message must be there, on one line, after a failure. */
static inline void fuzz_check_message(antler_status status)
{
    if (status != ANTLER_OK && (antler_message()[0] == '\0' || strchr(antler_message(), '\n') != NULL))
        abort();
    if (status == ANTLER_ERROR_INTERNAL)
        abort();
}

/* Read every value both ways, take statistics, standardise, check. */
static inline void fuzz_read_all(antler_series *series)
{
    const size_t dim = antler_series_dim(series), input_dim = antler_series_input_dim(series);
    for (size_t k = 0; k < antler_series_count(series); k++) {
        const size_t length = antler_series_length(series, k);
        double *x = malloc(length * dim * sizeof *x), *in = malloc(length * input_dim * sizeof *in + 1);
        float *xf = malloc(length * dim * sizeof *xf);
        if (x != NULL && in != NULL && xf != NULL &&
            (antler_series_read_f64(series, k, 0, length, x, in) != ANTLER_OK ||
             antler_series_read_f32(series, k, 0, length, xf, NULL) != ANTLER_OK))
            abort();
        free(x);
        free(in);
        free(xf);
    }
    ant_notes notes = {0};
    fuzz_check_message(ant_sentinels_notes(series, &notes));
    ant_notes_clear(&notes);
    for (size_t k = 0; k < antler_series_count(series); k++) {
        char text[ANT_TIME_ROOM];
        if (antler_series_time(series)->kind != ANTLER_TIME_NONE)
            ant_series_time_text(series, k, antler_series_length(series, k), text);
    }
    fuzz_check_message(antler_series_check(series, 2));
    fuzz_check_message(antler_series_standardise(series));
    fuzz_check_message(antler_series_check(series, 2));
}

#endif
