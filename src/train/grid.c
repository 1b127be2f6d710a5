/* grid.c - all combinations of lists of settings. */
#include "train/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMBINATIONS_MAX = 100000 };

struct antler_grid {
    char *text, *path; /* of the file */
    ant_yaml *yaml;
    antler_settings base;
    size_t count; /* combinations */
    size_t keys;
    size_t key[ANT_YAML_KEYS_MAX]; /* (keys): settings that vary, by number */
};

void antler_grid_free(antler_grid *grid)
{
    if (grid == NULL)
        return;
    ant_yaml_free(grid->yaml);
    free(grid->text);
    free(grid->path);
    free(grid);
}

/* Position of a combination along one key. */
static size_t digit(const antler_grid *grid, size_t index, size_t key)
{
    for (size_t k = grid->keys; k-- > key + 1;)
        index /= grid->yaml->grid->of[grid->key[k]].count;
    return index % grid->yaml->grid->of[grid->key[key]].count;
}

const char *antler_grid_value(const antler_grid *grid, size_t index, size_t key)
{
    if (grid == NULL || index >= grid->count || key >= grid->keys)
        return "";
    return grid->yaml->grid->of[grid->key[key]].items[digit(grid, index, key)];
}

/* "run_gtf_alpha-0.1_latent_dim-5"; where that cannot be a folder's name, "run_012". */
static antler_status make_name(const antler_grid *grid, size_t index, char *name, size_t bytes)
{
    size_t used = (size_t)snprintf(name, bytes, "%s", grid->base.name);
    for (size_t k = 0; k < grid->keys && used < bytes; k++)
        used += (size_t)snprintf(name + used, bytes - used, "_%s-%s", antler_grid_key(grid, k),
                                 antler_grid_value(grid, index, k));
    if (used < bytes && strpbrk(name, "/\\ \n*?") == NULL)
        return ANTLER_OK;
    const int length = snprintf(name, bytes, "%s_%03zu", grid->base.name, index + 1);
    ANT_CHECK(length > 0 && (size_t)length < bytes, ANTLER_ERROR_ARGUMENT,
              "name: '%s' is too long for a sweep, which adds to it", grid->base.name);
    return ANTLER_OK;
}

antler_status(antler_grid_settings)(const antler_grid *grid, size_t index, antler_settings *settings,
                                    size_t struct_size)
{
    ANT_NEED(grid != NULL && settings != NULL);
    antler_settings s = grid->base;
    ANT_CHECK(index < grid->count, ANTLER_ERROR_ARGUMENT, "the grid has only %zu combinations", grid->count);
    for (size_t k = 0; k < grid->keys; k++) {
        const antler_status status =
            ant_setting_store(ant_setting_at(grid->key[k]), antler_grid_value(grid, index, k), &s);
        if (status != ANTLER_OK)
            return ant_fail_within(status, grid->path);
    }
    ANT_TRY(make_name(grid, index, s.name, sizeof s.name));
    return ant_settings_hand_over(&s, settings, struct_size);
}

static antler_status find_keys(antler_grid *grid)
{
    const ant_yaml_grid *lists = grid->yaml == NULL ? NULL : grid->yaml->grid;
    ANT_CHECK(lists != NULL, ANTLER_ERROR_FORMAT,
              "%s: has no 'grid:' with lists of values; 'antler train' takes a file without one", grid->path);
    grid->count = 1;
    for (size_t i = 0; i < ant_setting_count(); i++) {
        if (lists->of[i].count == 0)
            continue;
        const ant_setting *setting = ant_setting_at(i);
        ANT_CHECK(!setting->place, ANTLER_ERROR_FORMAT, "%s: grid: %s does not change what is computed",
                  grid->path, setting->info.name);
        grid->key[grid->keys++] = i;
        grid->count *= lists->of[i].count;
        ANT_CHECK(grid->count <= COMBINATIONS_MAX, ANTLER_ERROR_FORMAT,
                  "%s: grid: more than %d combinations; shorten a list", grid->path, COMBINATIONS_MAX);
    }
    ANT_CHECK(grid->keys > 0, ANTLER_ERROR_FORMAT, "%s: grid: names no setting", grid->path);
    return ANTLER_OK;
}

static antler_status check_all(const antler_grid *grid)
{
    for (size_t i = 0; i < grid->count; i++) {
        antler_settings settings;
        ANT_TRY(antler_grid_settings(grid, i, &settings));
        const antler_status status = antler_settings_check(&settings, NULL);
        if (status != ANTLER_OK) {
            char where[1200];
            snprintf(where, sizeof where, "%.1000s: combination %zu", grid->path, i + 1);
            return ant_fail_within(status, where);
        }
    }
    return ANTLER_OK;
}

antler_status antler_grid_load(const char *path, const char *const *set, size_t count, antler_grid **grid)
{
    ANT_NEED(path != NULL && grid != NULL && (set != NULL || count == 0));
    antler_grid *g = calloc(1, sizeof *g);
    if (g == NULL)
        return ant_fail_memory(sizeof *g, "a grid");
    g->path = strdup(path);
    antler_settings_default(&g->base);
    antler_status status = g->path == NULL ? ant_fail_memory(strlen(path), "a file name")
                                           : ant_settings_read_file(path, &g->text);
    if (status == ANTLER_OK)
        status = ant_yaml_read(g->text, path, true, &g->yaml);
    if (status == ANTLER_OK)
        status = ant_yaml_apply(g->yaml, g->text, path, &g->base);
    for (size_t i = 0; i < count && status == ANTLER_OK; i++)
        status = antler_settings_set(&g->base, set[i]);
    if (status == ANTLER_OK)
        status = find_keys(g);
    if (status == ANTLER_OK)
        status = check_all(g);
    if (status != ANTLER_OK) {
        antler_grid_free(g);
        return status;
    }
    *grid = g;
    return ANTLER_OK;
}

size_t antler_grid_count(const antler_grid *grid)
{
    return grid == NULL ? 0 : grid->count;
}

size_t antler_grid_key_count(const antler_grid *grid)
{
    return grid == NULL ? 0 : grid->keys;
}

const char *antler_grid_key(const antler_grid *grid, size_t key)
{
    return grid == NULL || key >= grid->keys ? "" : ant_setting_at(grid->key[key])->info.name;
}

const char *antler_grid_test(const antler_grid *grid)
{
    return grid == NULL || grid->yaml->test == NULL ? "" : grid->yaml->test;
}

const antler_settings *antler_grid_base(const antler_grid *grid)
{
    return grid == NULL ? NULL : &grid->base;
}
