/* folder.h - a temporary folder for a test, and small files in it. */
#ifndef ANT_TESTS_FOLDER_H
#define ANT_TESTS_FOLDER_H

#include "unit/check.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FOLDER_ROOM = 128 };
static char folder_path[FOLDER_ROOM];

/* Make a folder in $TMPDIR; returns whether that failed. */
static inline int folder_make(char path[FOLDER_ROOM])
{
    const char *base = getenv("TMPDIR");
    snprintf(path, FOLDER_ROOM, "%s/antler-test-XXXXXX", base == NULL ? "/tmp" : base);
    return mkdtemp(path) == NULL;
}

/* Group set-up: make the folder and go there. */
static inline int folder_enter(void **state)
{
    (void)state;
    return folder_make(folder_path) || chdir(folder_path) != 0;
}

/* How many entries the current folder has, hidden ones included. */
static inline size_t folder_count(void)
{
    size_t count = 0;
    DIR *listing = opendir(".");
    assert_non_null(listing);
    while (readdir(listing) != NULL)
        count++;
    closedir(listing);
    return count - 2;
}

/* Remove all files of the current folder. */
static inline void folder_empty(void)
{
    DIR *listing = opendir(".");
    const struct dirent *entry;
    assert_non_null(listing);
    while ((entry = readdir(listing)) != NULL)
        if (entry->d_name[0] != '.' || strlen(entry->d_name) > 2)
            (void)remove(entry->d_name);
    closedir(listing);
}

static inline int folder_leave(void **state)
{
    (void)state;
    folder_empty();
    return chdir("/") != 0 || rmdir(folder_path) != 0;
}

static inline void folder_write(const char *name, const void *bytes, size_t size)
{
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static inline void folder_write_text(const char *name, const char *text)
{
    folder_write(name, text, strlen(text));
}

#endif
