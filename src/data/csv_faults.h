/* csv_faults.h - sentences on fields and lines of a table of text that cannot be read; all are ERROR_FORMAT.
 */
#ifndef ANT_DATA_CSV_FAULTS_H
#define ANT_DATA_CSV_FAULTS_H

#include "base/status.h"
#include "data/fields.h"

/* column: from 0; number: of the line, from 1 */
antler_status ant_csv_fail_date(size_t column, ant_field field, uint64_t number);
antler_status ant_csv_fail_clock(size_t column, ant_field field, uint64_t number);

/* commas: the other numbers have decimal commas */
antler_status ant_csv_fail_field(bool commas, size_t column, ant_field field, ant_field_kind kind,
                                 uint64_t number);

/* Line ends of old Macs make one line of all. */
antler_status ant_csv_fail_carriage_return(uint64_t number);

/* `fields` fields, but `others` ("the header has") `theirs`.  early: it may be text above the table */
antler_status ant_csv_fail_ragged(size_t fields, const char *others, size_t theirs, bool early,
                                  uint64_t number);

#endif
