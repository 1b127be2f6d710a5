/* date.c - dates between text and microseconds since 1970, in the proleptic Gregorian calendar. */
#include "data/date.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const double second = 1e6, minute = 60e6, hour = 3600e6, day = 86400e6;

/* Exactly `digits` digits at *p; moves on behind them. */
static bool read_digits(const char **p, const char *end, int digits, int *value)
{
    *value = 0;
    for (int i = 0; i < digits; i++, (*p)++) {
        if (*p == end || **p < '0' || **p > '9')
            return false;
        *value = 10 * *value + (**p - '0');
    }
    return true;
}

static bool skip(const char **p, const char *end, char wanted)
{
    if (*p == end || **p != wanted)
        return false;
    (*p)++;
    return true;
}

/* Days since 1970-01-01, by eras of 400 years that begin in March (Hinnant, chrono-compatible algorithms). */
static long days_from_civil(long year, int month, int of_month)
{
    year -= month <= 2;
    const long era = (year >= 0 ? year : year - 399) / 400;
    const long of_era = year - era * 400;
    const long of_year = (153L * (month + (month > 2 ? -3 : 9)) + 2) / 5 + of_month - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static void civil_from_days(long days, long *year, int *month, int *of_month)
{
    days += 719468;
    const long era = (days >= 0 ? days : days - 146096) / 146097;
    const long of_era = days - era * 146097;
    const long year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    const long of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const long shifted = (5 * of_year + 2) / 153;
    *of_month = (int)(of_year - (153 * shifted + 2) / 5 + 1);
    *month = (int)(shifted < 10 ? shifted + 3 : shifted - 9);
    *year = year_of_era + era * 400 + (*month <= 2);
}

static int month_length(long year, int month)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return lengths[month - 1] + (month == 2 && leap ? 1 : 0);
}

static bool is_day(int year, int month, int of_month)
{
    return month >= 1 && month <= 12 && of_month >= 1 && of_month <= month_length(year, month);
}

/* One or two digits at *p. */
static bool read_short(const char **p, const char *end, int *value)
{
    const char *start = *p;
    *value = 0;
    while (*p < end && *p < start + 2 && **p >= '0' && **p <= '9')
        *value = 10 * *value + (*(*p)++ - '0');
    return *p > start;
}

/* An English month, whole or by its first three letters. */
static bool read_month_name(const char **p, const char *end, int *month)
{
    static const char *const names[] = {"january",   "february", "march",    "april",
                                        "may",       "june",     "july",     "august",
                                        "september", "october",  "november", "december"};
    size_t length = 0;
    while (*p + length < end && isalpha((unsigned char)(*p)[length]))
        length++;
    for (int i = 0; i < 12; i++)
        if ((length == 3 || length == strlen(names[i])) && strncasecmp(*p, names[i], length) == 0) {
            *month = i + 1;
            *p += length;
            return true;
        }
    return false;
}

/* 31-Mar-2024, 31 March 2024 or Mar 31, 2024: no two countries read these differently. */
static bool read_named_day(const char **p, const char *end, int *year, int *month, int *of_month)
{
    const char *start = *p;
    if (read_short(p, end, of_month) && *p < end && strchr("- /.", **p) != NULL) {
        const char mark = *(*p)++;
        return read_month_name(p, end, month) && skip(p, end, mark) && read_digits(p, end, 4, year);
    }
    *p = start;
    if (!read_month_name(p, end, month) || !skip(p, end, ' ') || !read_short(p, end, of_month))
        return false;
    skip(p, end, ',');
    return skip(p, end, ' ') && read_digits(p, end, 4, year);
}

/* 31.03.2024, 31/3/2024 or 03-31-2024, with the order that its parts leave open. */
static bool read_numeric_day(const char **p, const char *end, int *year, int *month, int *of_month,
                             ant_date_style *style)
{
    int first = 0, next = 0;
    if (!read_short(p, end, &first) || *p == end || strchr("./-", **p) == NULL)
        return false;
    const char mark = *(*p)++;
    if (!read_short(p, end, &next) || !skip(p, end, mark) || !read_digits(p, end, 4, year))
        return false;
    const bool month_first = first <= 12 && next > 12;
    *of_month = month_first ? next : first;
    *month = month_first ? first : next;
    style->dots = mark == '.';
    style->order = month_first ? ANT_DATE_MONTH_FIRST : first > 12 ? ANT_DATE_DAY_FIRST : ANT_DATE_EITHER;
    if (style->order == ANT_DATE_EITHER)
        style->exchange =
            (double)(days_from_civil(*year, first, next) - days_from_civil(*year, next, first)) * day;
    return true;
}

/* 2024-03-31, 2024/3/31 or 2024-03 */
static bool read_year_first(const char **p, const char *end, int *year, int *month, int *of_month,
                            ant_date_style *style)
{
    if (!read_digits(p, end, 4, year) || *p == end || (**p != '-' && **p != '/'))
        return false;
    const char mark = *(*p)++, *digits = *p;
    if (!read_short(p, end, month))
        return false;
    style->month = !skip(p, end, mark);
    *of_month = 1;
    return style->month ? mark == '-' && *p == end && *p == digits + 2 : read_short(p, end, of_month);
}

static bool read_day(const char **p, const char *end, double *microseconds, ant_date_style *style)
{
    int year = 0, month = 0, of_month = 0;
    const char *named = *p, *numeric = *p;
    if (read_named_day(&named, end, &year, &month, &of_month))
        *p = named;
    else if (read_numeric_day(&numeric, end, &year, &month, &of_month, style))
        *p = numeric;
    else if (!read_year_first(p, end, &year, &month, &of_month, style))
        return false;
    *microseconds = (double)days_from_civil(year, month, of_month) * day;
    return is_day(year, month, of_month);
}

/* AM or PM behind a time of day; hours: 1 to 12. */
static bool read_half(const char **p, const char *end, int *hours)
{
    const char *at = *p + (*p < end && **p == ' ');
    const bool pm = end - at >= 2 && strncasecmp(at, "pm", 2) == 0;
    if (!pm && !(end - at >= 2 && strncasecmp(at, "am", 2) == 0))
        return true;
    *p = at + 2;
    const bool fits = *hours >= 1 && *hours <= 12;
    *hours = *hours % 12 + (pm ? 12 : 0);
    return fits;
}

/* 14:30, 9:05, 14:30:05, 14:30:05.25 or 2:30 PM; 24:00 is the end of the day. */
static bool read_clock(const char **p, const char *end, double *microseconds)
{
    int hours = 0, minutes = 0, seconds = 0;
    if (!read_short(p, end, &hours) || !skip(p, end, ':') || !read_digits(p, end, 2, &minutes))
        return false;
    double fraction = 0.0;
    if (skip(p, end, ':')) {
        if (!read_digits(p, end, 2, &seconds))
            return false;
        if (skip(p, end, '.') || skip(p, end, ',')) {
            double unit = second;
            for (; *p < end && **p >= '0' && **p <= '9'; (*p)++)
                fraction += (unit /= 10.0) * (**p - '0');
        }
    }
    if (!read_half(p, end, &hours))
        return false;
    *microseconds = hours * hour + minutes * minute + seconds * second + rint(fraction);
    return hours <= 24 && minutes < 60 && seconds <= 60 && *microseconds <= day;
}

/* Z, +02:00, +0200 or +02 */
static bool read_zone(const char **p, const char *end, ant_date_style *style)
{
    int hours = 0, minutes = 0;
    style->zone = true;
    if (skip(p, end, 'Z'))
        return true;
    const int sign = **p == '-' ? -1 : 1;
    (*p)++;
    if (!read_digits(p, end, 2, &hours))
        return false;
    const bool colon = skip(p, end, ':');
    if ((colon || *p < end) && !read_digits(p, end, 2, &minutes))
        return false;
    style->zone_minutes = sign * (60 * hours + minutes);
    return hours <= 18 && minutes < 60;
}

bool ant_date_read(const char *text, const char *end, double *microseconds, ant_date_style *style)
{
    const char *p = text;
    double of_day = 0.0;
    *style = (ant_date_style){.clock = false};
    if (!read_day(&p, end, microseconds, style))
        return false;
    if (p < end && (*p == 'T' || *p == 't' || *p == ' ')) {
        style->blank = *p++ == ' ';
        style->clock = true;
        if (!read_clock(&p, end, &of_day))
            return false;
        if (p < end && *p == ' ') /* pandas and R write a blank before the zone */
            p++;
        if (p < end && (*p == 'Z' || *p == '+' || *p == '-') && !read_zone(&p, end, style))
            return false;
    }
    *microseconds += of_day - style->zone_minutes * minute;
    return p == end;
}

size_t ant_date_write(double microseconds, const ant_date_style *style, char out[ANT_DATE_ROOM])
{
    const double local = rint(microseconds) + style->zone_minutes * minute;
    const double days = floor(local / day);
    if (!(fabs(days) < 3e6)) /* beyond the year 9999, or no time at all */
        return (size_t)snprintf(out, ANT_DATE_ROOM, "%.17g", microseconds);
    const long of_day = (long)((local - days * day) / second);
    const long rest = (long)(local - days * day - (double)of_day * second);
    long year;
    int month, of_month, used;
    civil_from_days((long)days, &year, &month, &of_month);
    if (style->month && of_month == 1 && of_day == 0 && rest == 0)
        return (size_t)snprintf(out, ANT_DATE_ROOM, "%04ld-%02d", year, month);
    used = snprintf(out, ANT_DATE_ROOM, "%04ld-%02d-%02d", year, month, of_month);
    if (!style->clock && of_day == 0 && rest == 0)
        return (size_t)used;
    used += snprintf(out + used, ANT_DATE_ROOM - (size_t)used, "%c%02ld:%02ld:%02ld",
                     style->blank ? ' ' : 'T', of_day / 3600, of_day / 60 % 60, of_day % 60);
    if (rest != 0)
        used += snprintf(out + used, ANT_DATE_ROOM - (size_t)used, rest % 1000 == 0 ? ".%03ld" : ".%06ld",
                         rest % 1000 == 0 ? rest / 1000 : rest);
    const int zone = style->zone_minutes;
    if (style->zone && zone == 0)
        used += snprintf(out + used, ANT_DATE_ROOM - (size_t)used, "Z");
    else if (style->zone)
        used += snprintf(out + used, ANT_DATE_ROOM - (size_t)used, "%c%02d:%02d", zone < 0 ? '-' : '+',
                         (zone < 0 ? -zone : zone) / 60, (zone < 0 ? -zone : zone) % 60);
    return (size_t)used;
}

/* ---- months ------------------------------------------------------------------------------------------ */

/* A moment as its month, the day within it, and the time of that day. */
typedef struct moment {
    long year;
    int month, of_month;
    double of_day; /* microseconds */
} moment;

static moment moment_of(double microseconds, const ant_date_style *style)
{
    moment m;
    const double local = microseconds + style->zone_minutes * minute, days = floor(local / day);
    civil_from_days((long)days, &m.year, &m.month, &m.of_month);
    m.of_day = local - days * day;
    return m;
}

bool ant_date_months(const double *stamps, size_t rows, const ant_date_style *style, double *months,
                     int *month_day)
{
    bool all_last = true;
    double of_day = 0.0;
    *month_day = 0;
    for (size_t i = 0; i < rows; i++) {
        if (!(fabs(stamps[i]) < 3e6 * day))
            return false;
        const moment m = moment_of(stamps[i], style);
        of_day = i == 0 ? m.of_day : of_day;
        months[i] = 12.0 * (double)m.year + m.month - 1;
        if (m.of_day != of_day || (i > 0 && months[i] <= months[i - 1]))
            return false;
        *month_day = m.of_month > *month_day ? m.of_month : *month_day;
        all_last = all_last && m.of_month == month_length(m.year, m.month);
    }
    *month_day = all_last ? 31 : *month_day;
    for (size_t i = 0; i < rows; i++) {
        const moment m = moment_of(stamps[i], style);
        const int length = month_length(m.year, m.month);
        if (m.of_month != (*month_day < length ? *month_day : length))
            return false;
    }
    return true;
}

double ant_date_add_months(double start, const ant_date_style *style, int month_day, double months)
{
    if (!(fabs(start) < 3e6 * day && months < 3e5))
        return NAN;
    const moment m = moment_of(start, style);
    const double total = 12.0 * (double)m.year + m.month - 1 + months, year = floor(total / 12.0);
    const int month = (int)(total - 12.0 * year) + 1, length = month_length((long)year, month);
    const long days = days_from_civil((long)year, month, month_day < length ? month_day : length);
    return (double)days * day + m.of_day - style->zone_minutes * minute;
}

/* ---- other forms ------------------------------------------------------------------------------------- */

bool ant_date_is_short(const char *text, const char *end)
{
    const char *p = text;
    int part = 0;
    if (!read_short(&p, end, &part) || part > 31 || p == end || strchr("./-", *p) == NULL)
        return false;
    const char mark = *p++;
    return read_short(&p, end, &part) && part <= 31 && skip(&p, end, mark) &&
           read_digits(&p, end, 2, &part) && (p == end || *p == ' ');
}

bool ant_date_read_clock(const char *text, const char *end, double *microseconds)
{
    const char *p = text;
    return read_clock(&p, end, microseconds) && p == end;
}

bool ant_date_is_clock(const char *text, const char *end)
{
    const char *p = text;
    size_t parts = 1, digits = 0;
    for (; p < end; p++) {
        parts += *p == ':';
        digits += *p >= '0' && *p <= '9';
        if (!(*p >= '0' && *p <= '9') && *p != ':' && !(*p == '.' && parts > 1))
            return false;
    }
    return parts >= 2 && parts <= 4 && digits >= 3;
}

bool ant_date_read_digits(const char *text, const char *end, double *microseconds, ant_date_style *style)
{
    const char *p = text;
    const size_t length = (size_t)(end - text);
    int year = 0, month = 0, of_month = 0, hours = 0, minutes = 0, seconds = 0;
    *style = (ant_date_style){.clock = length > 8, .blank = true};
    if ((length != 8 && length != 12 && length != 14) || !read_digits(&p, end, 4, &year) ||
        !read_digits(&p, end, 2, &month) || !read_digits(&p, end, 2, &of_month))
        return false;
    if (length > 8 && (!read_digits(&p, end, 2, &hours) || !read_digits(&p, end, 2, &minutes)))
        return false;
    if (length > 12 && !read_digits(&p, end, 2, &seconds))
        return false;
    *microseconds = (double)days_from_civil(year, month, of_month) * day + hours * hour + minutes * minute +
                    seconds * second;
    return year >= 1800 && year < 2200 && is_day(year, month, of_month) && hours < 24 && minutes < 60 &&
           seconds < 60;
}
