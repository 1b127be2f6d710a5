/* settings.c - conversion between a field of antler_settings and its text. */
#include "train/settings.h"

#include "base/sized.h"
#include "data/excerpt.h"
#include "data/number.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Choices are stored as enums, which C11 lets us write through an int only if they have its size. */
_Static_assert(sizeof(antler_solver) == sizeof(int) && sizeof(antler_schedule) == sizeof(int), "enum size");

enum { NAMES_MAX = 128 };

antler_status ant_setting_find(const char *name, const ant_setting **setting)
{
    const char *names[NAMES_MAX];
    const size_t count = ant_setting_count();
    for (size_t i = 0; i < count; i++) {
        if (strcmp(ant_setting_at(i)->info.name, name) == 0) {
            *setting = ant_setting_at(i);
            return ANTLER_OK;
        }
        names[i] = ant_setting_at(i)->info.name;
    }
    char shown[ANT_EXCERPT_ROOM];
    const char *nearest = antler_nearest(name, names, count);
    return ant_fail(ANTLER_ERROR_NOT_FOUND, "there is no setting '%s'%s%s%s",
                    ant_excerpt(name, strlen(name), shown),
                    nearest == NULL ? "; 'antler train --settings' lists them" : "; did you mean '",
                    nearest == NULL ? "" : nearest, nearest == NULL ? "" : "'?");
}

static antler_status fail_kind(const ant_setting *setting, const char *text, const char *expected)
{
    char shown[ANT_EXCERPT_ROOM];
    return ant_fail(ANTLER_ERROR_ARGUMENT, "%s: '%s' is not %s", setting->info.name,
                    ant_excerpt(text, strlen(text), shown), expected);
}

static antler_status check_bounds(const ant_setting *setting, double value)
{
    const antler_setting_info *i = &setting->info;
    const bool low = i->lowest_open ? value > i->lowest : value >= i->lowest;
    const bool high = i->highest_open ? value < i->highest : value <= i->highest;
    if (low && high)
        return ANTLER_OK;
    if (isinf(i->highest))
        return ant_fail(ANTLER_ERROR_ARGUMENT, "%s is %.10g; it must be %s %.10g", i->name, value,
                        i->lowest_open ? "above" : "at least", i->lowest);
    return ant_fail(ANTLER_ERROR_ARGUMENT, "%s is %.10g; it must lie in %c%.10g, %.10g%c", i->name, value,
                    i->lowest_open ? '(' : '[', i->lowest, i->highest, i->highest_open ? ')' : ']');
}

/* The whole text as a finite number. */
static bool read_real(const char *text, double *value)
{
    const char *stop = NULL;
    return ant_number_read(text, text + strlen(text), value, &stop) == ANT_NUMBER_READ && *stop == '\0' &&
           isfinite(*value);
}

/* 100000, 1e5 and 100_000 are the same. */
static bool read_count(const char *text, double *value)
{
    char digits[64];
    size_t length = 0;
    for (; *text != '\0' && length + 1 < sizeof digits; text++) {
        if (*text != '_')
            digits[length++] = *text;
    }
    digits[length] = '\0';
    return *text == '\0' && read_real(digits, value) && *value == floor(*value) &&
           fabs(*value) <= 9007199254740992.0;
}

static antler_status store_number(const ant_setting *setting, const char *text, void *field)
{
    double value = 0.0;
    if (setting->kind == ANT_SETTING_REAL) {
        if (!read_real(text, &value))
            return fail_kind(setting, text, "a number such as 0.15");
        ANT_TRY(check_bounds(setting, value));
        *(double *)field = value;
        return ANTLER_OK;
    }
    if (!read_count(text, &value))
        return fail_kind(setting, text, "a whole number such as 200 or 1e5");
    ANT_TRY(check_bounds(setting, value));
    *(size_t *)field = (size_t)value;
    return ANTLER_OK;
}

static antler_status store_seed(const ant_setting *setting, const char *text, void *field)
{
    char *end = NULL;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0)
        return fail_kind(setting, text, "a whole number from 0 to 18446744073709551615");
    *(uint64_t *)field = value;
    return ANTLER_OK;
}

static antler_status store_bool(const ant_setting *setting, const char *text, void *field)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(text, words[i]) == 0) {
            *(bool *)field = i % 2 == 1;
            return ANTLER_OK;
        }
    }
    return fail_kind(setting, text, "true or false");
}

static antler_status store_choice(const ant_setting *setting, const char *text, void *field)
{
    const char *const *choices = setting->info.choices;
    char list[256] = "";
    int count = 0;
    for (; choices[count] != NULL; count++) {
        if (strcmp(text, choices[count]) == 0) {
            memcpy(field, &count, sizeof count);
            return ANTLER_OK;
        }
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", count == 0 ? "" : ", ", choices[count]);
    }
    char shown[ANT_EXCERPT_ROOM];
    const char *nearest = antler_nearest(text, choices, (size_t)count);
    return ant_fail(ANTLER_ERROR_ARGUMENT, "%s: there is no '%s'%s%s%s; it is one of %s", setting->info.name,
                    ant_excerpt(text, strlen(text), shown), nearest == NULL ? "" : ", did you mean '",
                    nearest == NULL ? "" : nearest, nearest == NULL ? "" : "'", list);
}

static antler_status store_text(const ant_setting *setting, const char *text, void *field)
{
    const size_t length = strlen(text);
    ANT_CHECK(length < setting->bytes, ANTLER_ERROR_ARGUMENT, "%s: the text is longer than %zu characters",
              setting->info.name, setting->bytes - 1);
    char *to = field;
    memcpy(to, text, length + 1);
    if (setting->kind == ANT_SETTING_PATHS && strchr(text, '\n') == NULL) {
        for (char *c = to; *c != '\0'; c++) {
            if (*c == ',')
                *c = '\n';
        }
    }
    return ANTLER_OK;
}

antler_status ant_setting_store(const ant_setting *setting, const char *text, antler_settings *settings)
{
    void *field = (char *)settings + setting->offset;
    switch (setting->kind) {
    case ANT_SETTING_COUNT:
    case ANT_SETTING_REAL:
        return store_number(setting, text, field);
    case ANT_SETTING_SEED:
        return store_seed(setting, text, field);
    case ANT_SETTING_BOOL:
        return store_bool(setting, text, field);
    case ANT_SETTING_CHOICE:
        return store_choice(setting, text, field);
    case ANT_SETTING_TEXT:
    case ANT_SETTING_PATHS:
        break;
    }
    return store_text(setting, text, field);
}

void ant_setting_print(const ant_setting *setting, const antler_settings *settings, char *text)
{
    const void *field = (const char *)settings + setting->offset;
    int choice;
    switch (setting->kind) {
    case ANT_SETTING_COUNT:
        snprintf(text, ANT_SETTING_TEXT_MAX, "%zu", *(const size_t *)field);
        return;
    case ANT_SETTING_SEED:
        snprintf(text, ANT_SETTING_TEXT_MAX, "%llu", (unsigned long long)*(const uint64_t *)field);
        return;
    case ANT_SETTING_REAL: {
        const ant_c_locale locale = ant_c_locale_begin();
        ant_number_write(*(const double *)field, text);
        ant_c_locale_end(locale);
        return;
    }
    case ANT_SETTING_BOOL:
        snprintf(text, ANT_SETTING_TEXT_MAX, "%s", *(const bool *)field ? "true" : "false");
        return;
    case ANT_SETTING_CHOICE:
        memcpy(&choice, field, sizeof choice);
        snprintf(text, ANT_SETTING_TEXT_MAX, "%s", setting->info.choices[choice]);
        return;
    case ANT_SETTING_TEXT:
    case ANT_SETTING_PATHS:
        break;
    }
    snprintf(text, ANT_SETTING_TEXT_MAX, "%s", (const char *)field);
}

antler_status ant_settings_are_readable(const antler_settings *settings)
{
    for (size_t i = 0; i < ant_setting_count(); i++) {
        const ant_setting *s = ant_setting_at(i);
        const void *field = (const char *)settings + s->offset;
        const bool text = s->kind == ANT_SETTING_TEXT || s->kind == ANT_SETTING_PATHS;
        ANT_CHECK(!text || memchr(field, '\0', s->bytes) != NULL, ANTLER_ERROR_ARGUMENT,
                  "%s: the text does not end within its %zu bytes", s->info.name, s->bytes);
        if (s->kind != ANT_SETTING_CHOICE)
            continue;
        int choice, count = 0;
        memcpy(&choice, field, sizeof choice);
        while (s->info.choices[count] != NULL)
            count++;
        ANT_CHECK(choice >= 0 && choice < count, ANTLER_ERROR_ARGUMENT, "%s: there is no choice %d",
                  s->info.name, choice);
    }
    return ANTLER_OK;
}

bool ant_setting_equal(const ant_setting *setting, const antler_settings *a, const antler_settings *b)
{
    char first[ANT_SETTING_TEXT_MAX], second[ANT_SETTING_TEXT_MAX];
    ant_setting_print(setting, a, first);
    ant_setting_print(setting, b, second);
    return strcmp(first, second) == 0;
}

size_t antler_settings_bytes(void)
{
    return sizeof(antler_settings);
}

void(antler_settings_default)(antler_settings *settings, size_t struct_size)
{
    antler_settings standard;
    memset(&standard, 0, sizeof standard);
    for (size_t i = 0; i < ant_setting_count(); i++)
        (void)ant_setting_store(ant_setting_at(i), ant_setting_at(i)->info.standard, &standard);
    ant_sized_default(&standard, sizeof standard, settings, struct_size);
}

antler_status ant_settings_hand_over(const antler_settings *settings, antler_settings *given,
                                     size_t struct_size)
{
    antler_settings standard;
    ANT_TRY(ant_sized_check_result(struct_size, sizeof *settings, "settings"));
    if (struct_size < sizeof *settings)
        antler_settings_default(&standard);
    for (size_t i = 0; i < ant_setting_count() && struct_size < sizeof *settings; i++) {
        const ant_setting *setting = ant_setting_at(i);
        ANT_CHECK(setting->offset + setting->bytes <= struct_size ||
                      ant_setting_equal(setting, settings, &standard),
                  ANTLER_ERROR_ARGUMENT,
                  "%s: the program was compiled before this setting existed; compile it with the header of "
                  "Antler %s",
                  setting->info.name, antler_version());
    }
    ant_sized_fill(settings, sizeof *settings, given, struct_size);
    return ANTLER_OK;
}

antler_status antler_settings_set(antler_settings *settings, const char *assignment)
{
    ANT_NEED(settings != NULL && assignment != NULL);
    antler_settings *const given = settings;
    ANT_OPTIONS(antler_settings, settings);
    char name[ANT_EXCERPT_ROOM];
    const char *equals = strchr(assignment, '=');
    ANT_CHECK(equals != NULL && equals != assignment && equals - assignment < 100, ANTLER_ERROR_ARGUMENT,
              "'%s' is not of the form NAME=VALUE, such as gtf_alpha=0.15",
              ant_excerpt(assignment, strlen(assignment), name));
    snprintf(name, sizeof name, "%.*s", (int)(equals - assignment), assignment);
    const ant_setting *setting = NULL;
    ANT_TRY(ant_setting_find(name, &setting));
    ANT_TRY(ant_setting_store(setting, equals + 1, settings));
    return ant_settings_hand_over(settings, given, given->struct_size);
}

antler_status antler_settings_get(const antler_settings *settings, const char *name, char *text, size_t bytes)
{
    ANT_NEED(settings != NULL && name != NULL && text != NULL);
    ANT_OPTIONS(antler_settings, settings);
    ANT_TRY(ant_settings_are_readable(settings));
    const ant_setting *setting = NULL;
    ANT_TRY(ant_setting_find(name, &setting));
    char value[ANT_SETTING_TEXT_MAX];
    ant_setting_print(setting, settings, value);
    ANT_CHECK(strlen(value) < bytes, ANTLER_ERROR_ARGUMENT, "%s: the value needs %zu bytes", name,
              strlen(value) + 1);
    memcpy(text, value, strlen(value) + 1);
    return ANTLER_OK;
}
