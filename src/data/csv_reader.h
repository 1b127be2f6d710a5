/* csv_reader.h - the state while a table of text is read; shared by csv.c and csv_rows.c. */
#ifndef ANT_DATA_CSV_READER_H
#define ANT_DATA_CSV_READER_H

#include "data/csv_comments.h"
#include "data/csv_head.h"
#include "data/csv_words.h"
#include "data/date_order.h"
#include "data/lines.h"
#include "data/subjects.h"
#include "data/table.h"

#define SKIP ANT_NO_COLUMN

typedef struct ant_csv_reader {
    ant_lines lines;
    const antler_load_opts *opts;
    bool count_only; /* numbers are not parsed */
    ant_csv_comments comments;
    char delimiter;
    size_t fields;     /* of each line */
    ant_labels labels; /* of the file's columns */
    size_t *targets;   /* (fields) where a field goes in its row; SKIP: nowhere */
    double *values;    /* (rows, width) */
    size_t width, rows, capacity;
    size_t header_fields; /* 0: no header */
    ant_csv_line head[ANT_CSV_HEAD];
    ant_choice choice;
    size_t dates;         /* the field that holds dates; SKIP: none */
    size_t stamps;        /* the field that is read for its times alone and may be no number; SKIP: none */
    size_t subject;       /* the field of subjects; SKIP: none */
    size_t clock;         /* the field of times of day beside the dates; SKIP: none */
    bool digits;          /* dates are digits alone: 20240331 */
    ant_date_style style; /* of the first date */
    ant_date_column date_column;
    char time_unit[ANT_UNIT_ROOM]; /* from a line of units */
    ant_subjects subjects;
    ant_csv_line comment; /* the last one above the first line of content, without its # */
    ant_csv_words words;
    uint64_t above_first, above_last; /* lines of text above the table; 0: none */
    uint64_t header_again;            /* the first line that is the header again */
    size_t headers_again;
    bool names_in_comment;
    bool commas;          /* numbers have decimal commas */
    bool not_utf8;        /* names or subjects were not, and have been decoded */
    bool commas_are_sure; /* one of them cannot be a thousands mark */
} ant_csv_reader;

/* One line, text .. end-1, becomes one row, unless it is the header again. */
antler_status ant_csv_read_row(ant_csv_reader *r, const char *line, const char *end, uint64_t number);

#endif
