/* csv_comments.h - facts from the comment lines "# antler: key=value" of a text file. */
#ifndef ANT_DATA_CSV_COMMENTS_H
#define ANT_DATA_CSV_COMMENTS_H

#include "base/status.h"

typedef struct ant_csv_comments {
    double dt;            /* 0: not given */
    double *mean, *scale; /* owned; NULL: not given */
    size_t mean_count, scale_count;
    size_t inputs;
    bool header;
    bool time; /* the first column is the time axis */
} ant_csv_comments;

/* Read one comment line, # included.  Comments that are not Antler's are skipped. */
antler_status ant_csv_comments_read(ant_csv_comments *comments, const char *line, const char *end,
                                    uint64_t number);

void ant_csv_comments_clear(ant_csv_comments *comments);

#endif
