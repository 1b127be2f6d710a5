/* time_name.c - the words that name time and its units. */
#include "data/time_name.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *word, *unit;
    double microseconds; /* 0: not fixed */
} units[] = {
    {"ns", "ns", 1e-3},       {"us", "us", 1.0},       {"µs", "us", 1.0},        {"μs", "us", 1.0},
    {"ms", "ms", 1e3},        {"msec", "ms", 1e3},     {"millis", "ms", 1e3},    {"milliseconds", "ms", 1e3},
    {"s", "s", 1e6},          {"sec", "s", 1e6},       {"secs", "s", 1e6},       {"second", "s", 1e6},
    {"seconds", "s", 1e6},    {"min", "min", 60e6},    {"mins", "min", 60e6},    {"minute", "min", 60e6},
    {"minutes", "min", 60e6}, {"h", "h", 3600e6},      {"hr", "h", 3600e6},      {"hrs", "h", 3600e6},
    {"hour", "h", 3600e6},    {"hours", "h", 3600e6},  {"d", "d", 86400e6},      {"day", "d", 86400e6},
    {"days", "d", 86400e6},   {"month", "month", 0.0}, {"months", "month", 0.0}, {"yr", "yr", 0.0},
    {"year", "yr", 0.0},      {"years", "yr", 0.0},
};

static const char *const strong_words[] = {
    "time",          "date",       "datetime",    "date time",     "timestamp",  "time stamp",
    "timestamps",    "times",      "epoch",       "unix time",     "unixtime",   "epochtime",
    "epoch time",    "utc",        "utc time",    "time utc",      "date utc",   "localtime",
    "local time",    "datum",      "zeit",        "zeitstempel",   "elapsed",    "elapsed time",
    "valid time",    "date/time",  "date & time", "date and time", "datum/zeit", "datum/uhrzeit",
    "datum uhrzeit", "datum zeit", "fecha",       "fecha hora",    "date heure", "horodatage",
    "uhrzeit",       "tijd",
};

/* The empty name and "Unnamed: 0" are those of a row index that pandas has written. */
static const char *const weak_words[] = {"t",   "ts",    "index",  "idx", "unnamed: 0",
                                         "row", "frame", "sample", "step"};

bool ant_time_unit(const char *text, size_t length, char unit[ANT_UNIT_ROOM])
{
    while (length > 0 && strchr("[( ", *text) != NULL) {
        text++;
        length--;
    }
    while (length > 0 && strchr("]) .", text[length - 1]) != NULL)
        length--;
    for (size_t i = 1; i + 7 < length; i++) /* "days since 1850-01-01" */
        if (strncasecmp(text + i, " since ", 7) == 0)
            length = i;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].word) == length && strncasecmp(units[i].word, text, length) == 0) {
            snprintf(unit, ANT_UNIT_ROOM, "%s", units[i].unit);
            return true;
        }
    return false;
}

bool ant_time_name_is_date(const char *name)
{
    static const char *const words[] = {"date", "datum", "fecha"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (const char *p = name; *p != '\0'; p++)
            if (strncasecmp(p, words[i], strlen(words[i])) == 0)
                return true;
    return false;
}

double ant_time_unit_length(const char *unit)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].unit, unit) == 0)
            return units[i].microseconds;
    return 0.0;
}

static bool is_one_of(const char *word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(word, words[i]) == 0)
            return true;
    return false;
}

/* Cut a unit off the end of the name: "time [s]", "time(s)", "t/ms", "time_s". */
static void cut_unit(char *name, char unit[ANT_UNIT_ROOM])
{
    size_t length = strlen(name);
    char *mark =
        length > 0 && (name[length - 1] == ']' || name[length - 1] == ')') ? strpbrk(name, "[(") : NULL;
    const bool bracket = mark != NULL;
    if (mark == NULL)
        mark = strrchr(name, '/');
    if (mark == NULL)
        mark = strrchr(name, '_');
    if (mark == NULL || (!ant_time_unit(mark + 1, strlen(mark + 1), unit) && !bracket))
        return;
    while (mark > name && (mark[-1] == ' ' || mark[-1] == '_'))
        mark--;
    *mark = '\0';
}

ant_time_claim ant_time_name(const char *name, char unit[ANT_UNIT_ROOM])
{
    char base[64];
    unit[0] = '\0';
    if (strlen(name) >= sizeof base)
        return ANT_TIME_NO_CLAIM;
    snprintf(base, sizeof base, "%s", name);
    cut_unit(base, unit);
    for (char *p = base; *p != '\0'; p++)
        *p = *p == '_' || *p == '-' ? ' ' : *p;
    if (is_one_of(base, strong_words, sizeof strong_words / sizeof *strong_words))
        return ANT_TIME_STRONG;
    if (is_one_of(base, weak_words, sizeof weak_words / sizeof *weak_words))
        return ANT_TIME_WEAK;
    if (unit[0] == '\0' && strlen(base) > 1 && ant_time_unit(base, strlen(base), unit))
        return ANT_TIME_WEAK; /* "seconds", "year" */
    return ANT_TIME_NO_CLAIM;
}
