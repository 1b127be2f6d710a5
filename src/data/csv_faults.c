/* csv_faults.c - what is wrong with a field or a line of a table of text, in a sentence with the remedy. */
#include "data/csv_faults.h"

#include "data/date.h"
#include "data/excerpt.h"
#include "data/number.h"

#include <string.h>
#include <strings.h>

/* 2000-02-30 or 2001-02-29, which climate models have. */
static bool is_model_day(ant_field field)
{
    const char *p = field.text;
    if (field.end - p < 10)
        return false;
    for (int i = 0; i < 4; i++)
        if (p[i] < '0' || p[i] > '9')
            return false;
    return (p[4] == '-' || p[4] == '/') && p[7] == p[4] && p[5] == '0' && p[6] == '2' &&
           ((p[8] == '2' && p[9] == '9') || (p[8] == '3' && p[9] == '0'));
}

antler_status ant_csv_fail_date(size_t column, ant_field field, uint64_t number)
{
    char shown[ANT_EXCERPT_ROOM];
    ant_excerpt(field.text, (size_t)(field.end - field.text), shown);
    if (is_model_day(field))
        return ant_fail(
            ANTLER_ERROR_FORMAT,
            "line %llu, column %zu ('%s') is no day of the usual calendar; if that of a climate model has "
            "it, give --time none and --dt, or convert the NetCDF file itself, which keeps the calendar",
            (unsigned long long)number, column + 1, shown);
    const bool clock = ant_date_is_clock(field.text, field.end);
    const char *what = clock                                      ? "a time without its date"
                       : ant_date_is_short(field.text, field.end) ? "a date whose year has two digits"
                                                                  : "not a date";
    return ant_fail(ANTLER_ERROR_FORMAT,
                    "line %llu, column %zu ('%s') is %s; write dates as 2024-03-31 or 2024-03-31 14:30:05%s",
                    (unsigned long long)number, column + 1, shown, what,
                    clock ? ", and elapsed time as a number" : "");
}

/* What may be wrong with a field that is a word. */
static const char *remedy_of(ant_field field)
{
    static const char *const truths[] = {"true", "false", "yes", "no", "on", "off"};
    const size_t length = (size_t)(field.end - field.text);
    double ignored;
    const char *stop;
    for (size_t i = 0; i < sizeof truths / sizeof *truths; i++)
        if (strlen(truths[i]) == length && strncasecmp(truths[i], field.text, length) == 0)
            return "write 1 and 0 for such words, or leave the column out with --columns -";
    const bool price = length > 1 && field.text[0] == '$';
    if (ant_number_read(field.text + price, field.end, &ignored, &stop) == ANT_NUMBER_READ &&
        (price || *stop == ' ' || *stop == '%' || (unsigned char)*stop >= 0x80)) /* 3 %, 3 km, 3°C */
        return "write the number without a unit or sign, or leave the column out with --columns -";
    return "correct it, name it with --subject if it tells trajectories apart, or leave the column out with "
           "--columns -";
}

antler_status ant_csv_fail_field(bool commas, size_t column, ant_field field, ant_field_kind kind,
                                 uint64_t number)
{
    char shown[ANT_EXCERPT_ROOM];
    const unsigned long long line = number;
    const size_t length = (size_t)(field.end - field.text);
    ant_excerpt(field.text, length, shown);
    if (kind == ANT_FIELD_TOO_LARGE)
        return ant_fail(ANTLER_ERROR_FORMAT,
                        "the number in line %llu, column %zu ('%s') is too large for double precision; "
                        "rescale it",
                        line, column + 1, shown);
    if (kind == ANT_FIELD_THOUSANDS)
        return ant_fail(
            ANTLER_ERROR_FORMAT,
            "the number in line %llu, column %zu ('%s') has thousands marks; write it without them", line,
            column + 1, shown);
    if (kind == ANT_FIELD_DECIMAL_COMMA || kind == ANT_FIELD_NUMBER)
        return ant_fail(
            ANTLER_ERROR_FORMAT,
            "the number in line %llu, column %zu ('%s') has a decimal %s, and others have a decimal %s; "
            "write all numbers in one way",
            line, column + 1, shown, commas ? "point" : "comma", commas ? "comma" : "point");
    if (ant_date_is_clock(field.text, field.end) || ant_date_is_short(field.text, field.end))
        return ant_csv_fail_date(column, field, number);
    return ant_fail(ANTLER_ERROR_FORMAT, "not a number in line %llu, column %zu ('%s'); %s%zu", line,
                    column + 1, shown, remedy_of(field), column + 1);
}

antler_status ant_csv_fail_carriage_return(uint64_t number)
{
    return ant_fail(ANTLER_ERROR_FORMAT,
                    "has a carriage return within line %llu; convert its line ends to LF or CR LF",
                    (unsigned long long)number);
}

antler_status ant_csv_fail_ragged(size_t fields, const char *others, size_t theirs, bool early,
                                  uint64_t number)
{
    return ant_fail(ANTLER_ERROR_FORMAT,
                    "line %llu has %zu field%s, but %s %zu; give every line the same number of fields%s",
                    (unsigned long long)number, fields, fields == 1 ? "" : "s", others, theirs,
                    early ? ", and begin lines of text above the table with #" : "");
}

antler_status ant_csv_fail_clock(size_t column, ant_field field, uint64_t number)
{
    char shown[ANT_EXCERPT_ROOM];
    ant_excerpt(field.text, (size_t)(field.end - field.text), shown);
    return ant_fail(
        ANTLER_ERROR_FORMAT,
        "line %llu, column %zu ('%s') is no time of day, as the lines before have there; write it "
        "as 14:30 or 14:30:05",
        (unsigned long long)number, column + 1, shown);
}
