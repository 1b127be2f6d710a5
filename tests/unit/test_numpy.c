/*
 * test_numpy.c - files from NumPy itself: all types, orders and versions are read right, and NumPy
 * reads what Antler writes.  Skipped where python3 has no NumPy.
 */
#include "unit/folder.h"

#include <sys/wait.h>

static const char *python;

static int run_python(const char *arguments)
{
    char command[1024];
    snprintf(command, sizeof command, "%s %s", python, arguments);
    const int outcome = system(command);
    return WIFEXITED(outcome) ? WEXITSTATUS(outcome) : -1;
}

static bool find_numpy(void)
{
    static const char *const candidates[] = {"python3", "/usr/bin/python3"};
    for (size_t i = 0; i < 2; i++) {
        python = candidates[i];
        if (run_python("-c 'import numpy' 2>/dev/null") == 0)
            return true;
    }
    return false;
}

/* One line of list.txt: load the file so, and save what was understood. */
static void convert(char *line)
{
    antler_load_opts opts;
    antler_load_opts_default(&opts);
    char *option = strchr(line, ' ');
    if (option != NULL) {
        *option++ = '\0';
        opts.transpose = strcmp(option, "transpose") == 0;
        opts.columns = opts.transpose || *option == '\0' ? NULL : option;
    }
    char out[300];
    snprintf(out, sizeof out, "%s.out.npz", line);
    const char *path = line;
    antler_series *series = NULL;
    CHECK_OK(antler_series_load(&path, 1, &opts, &series));
    CHECK_OK(antler_series_save(series, out));
    antler_series_free(series);
}

static void test_interoperation(void **state)
{
    (void)state;
    if (!find_numpy())
        skip();
    assert_int_equal(run_python(TEST_DATA "/unit/numpy_interop.py write ."), 0);
    FILE *list = fopen("list.txt", "r");
    assert_non_null(list);
    char line[256];
    size_t count = 0;
    for (; fgets(line, sizeof line, list) != NULL; count++) {
        line[strcspn(line, "\n")] = '\0';
        convert(line);
    }
    fclose(list);
    assert_true(count > 130);
    assert_int_equal(run_python(TEST_DATA "/unit/numpy_interop.py compare ."), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_interoperation)};
    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
