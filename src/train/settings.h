/*
 * settings.h - inside antler_settings: the table that YAML, --set, the checker, config.yaml and the
 * documentation all read, and the conversions between a field and its text.
 *
 * To add a setting: a field in antler_settings, a row in the table of settings_table.c, and what it
 * means together with others in settings_check.c.
 */
#ifndef ANT_TRAIN_SETTINGS_H
#define ANT_TRAIN_SETTINGS_H

#include "base/status.h"

typedef enum ant_setting_kind {
    ANT_SETTING_COUNT,  /* size_t */
    ANT_SETTING_SEED,   /* uint64_t */
    ANT_SETTING_REAL,   /* double */
    ANT_SETTING_BOOL,   /* bool */
    ANT_SETTING_CHOICE, /* an enum, in the order of its choices */
    ANT_SETTING_TEXT,   /* char[] */
    ANT_SETTING_PATHS,  /* char[], one path per line */
} ant_setting_kind;

typedef struct ant_setting {
    antler_setting_info info;
    ant_setting_kind kind;
    size_t offset; /* of the field in antler_settings */
    size_t bytes;  /* of the field */
    bool place;    /* where or how often to write; does not change what is computed */
} ant_setting;

/* Room for any value as text. */
enum { ANT_SETTING_TEXT_MAX = 8192 };

size_t ant_setting_count(void);
const ant_setting *ant_setting_at(size_t index);

/* The setting of that name; otherwise ANTLER_ERROR_NOT_FOUND with the nearest name in the message. */
antler_status ant_setting_find(const char *name, const ant_setting **setting);

/* Convert, check the bounds and store.  The message begins with the name of the setting. */
antler_status ant_setting_store(const ant_setting *setting, const char *text, antler_settings *settings);

/*
 * Copy settings to a program, whose struct may be shorter.  A setting that it has no field for must have its
 * default, or ARGUMENT: it would be lost.
 */
antler_status ant_settings_hand_over(const antler_settings *settings, antler_settings *given,
                                     size_t struct_size);

/* Texts that a program has set end within their fields, and choices are of their lists; else ARGUMENT. */
antler_status ant_settings_are_readable(const antler_settings *settings);

/* The value as text.  text: (ANT_SETTING_TEXT_MAX). */
void ant_setting_print(const ant_setting *setting, const antler_settings *settings, char *text);

bool ant_setting_equal(const ant_setting *setting, const antler_settings *a, const antler_settings *b);

/*
 * Settings as YAML in new memory.  With `place`: all of them, with comments; without: bare, and only
 * what matters for the numbers, as kept in a model.
 */
antler_status ant_settings_yaml(const antler_settings *settings, bool place, char **text);

/* Read settings from YAML in memory; `path` is for messages. */
antler_status ant_settings_parse(const char *text, const char *path, antler_settings *settings);

/*
 * The same from the text of a run, which has all settings that there were: one that it lacks is newer than
 * the run, which had no validation and began with `memory`.
 */
antler_status ant_settings_parse_run(const char *text, const char *path, antler_settings *settings);

/* Whether there are held-back rows, and the files of validation_data. */
bool ant_settings_validate(const antler_settings *settings);
double ant_settings_share(const antler_settings *settings); /* of `data`: 0 where files are given instead */
antler_status ant_settings_validation_series(const antler_settings *settings, antler_series **series);

/* A whole small file in new memory, NUL-terminated. */
antler_status ant_settings_read_file(const char *path, char **text);

#endif
