/* test_checkpoint.c - runs on disk: stopped anywhere, resumed to the same bytes. */
#include "folder.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[FOLDER_ROOM];

static int make_folder(void **state)
{
    (void)state;
    return folder_make(folder) || chdir(folder) != 0 ? -1 : 0;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[FOLDER_ROOM + 8];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void write_data(const char *path, double factor)
{
    antler_series *series = NULL;
    double x[2 * 300];
    for (size_t i = 0; i < 300; i++) {
        x[2 * i] = factor * cos(0.1 * (double)i) + 0.1 * sin(3.0 * (double)i);
        x[2 * i + 1] = sin(0.1 * (double)i);
    }
    CHECK_OK(antler_series_create(2, 0, &series));
    CHECK_OK(antler_series_append(series, 300, x, NULL));
    CHECK_OK(antler_series_save(series, path));
    antler_series_free(series);
}

static antler_settings small_settings(const char *name)
{
    antler_settings s;
    antler_settings_default(&s);
    snprintf(s.name, sizeof s.name, "%s", name);
    snprintf(s.data, sizeof s.data, "data.npy");
    s.latent_dim = 3;
    s.hidden_dim = 6;
    s.sequence_length = 20;
    s.batch_size = 3;
    s.updates = 80;
    s.log_interval = 7;
    s.checkpoint_interval = 25;
    s.threads = 2;
    s.noise = 0.02;
    s.kappa = 0.9995;
    s.gtf_alpha = 0.15;
    s.start_lr = 1e-3;
    s.validation = 0.0;
    s.check_interval = 11;
    return s;
}

static char *read_text(const char *path, size_t *count)
{
    struct stat info;
    if (stat(path, &info) != 0)
        fail_msg("%s is missing", path);
    char *bytes = calloc((size_t)info.st_size + 1, 1);
    FILE *f = fopen(path, "rb");
    *count = fread(bytes, 1, (size_t)info.st_size, f);
    fclose(f);
    return bytes;
}

static void assert_same_file(const char *a, const char *b)
{
    size_t first = 0, second = 0;
    char *x = read_text(a, &first), *y = read_text(b, &second);
    if (first != second || memcmp(x, y, first) != 0)
        fail_msg("%s and %s differ", a, b);
    free(x);
    free(y);
}

/* All columns but the 12th, the time. */
static void without_times(char *log)
{
    char *to = log;
    int column = 1;
    for (const char *c = log; *c != '\0'; c++) {
        column = *c == '\n' ? 0 : column;
        column += *c == ',' || *c == '\n';
        if (column != 12 || *c == ',')
            *to++ = *c;
    }
    *to = '\0';
}

static void assert_same_log(const char *a, const char *b)
{
    size_t count;
    char *x = read_text(a, &count), *y = read_text(b, &count);
    without_times(x);
    without_times(y);
    assert_string_equal(x, y);
    free(x);
    free(y);
}

typedef struct stopper {
    size_t calls, at;
} stopper;

static int stop_at(void *cookie)
{
    stopper *s = cookie;
    return ++s->calls > s->at;
}

static void stopped_runs_resume_to_the_same_bytes(void **state)
{
    (void)state;
    write_data("data.npy", 1.0);
    for (int variant = 0; variant < 6; variant++) {
        antler_settings s = small_settings("whole");
        antler_train_result result;
        s.precision = (antler_precision)(variant % 2);
        s.optimiser = (antler_optimiser)(variant / 2 % 2);
        s.gtf_alpha_method = variant < 4 ? ANTLER_ALPHA_CONSTANT : ANTLER_ALPHA_PRODUCT_UPPER_BOUND;
        s.initialisation = (antler_initialisation)((variant + 1) / 2 % 2);
        CHECK_OK(antler_train(&s, 0, true, NULL, &result));
        assert_int_equal(result.finished, 1);
        snprintf(s.name, sizeof s.name, "cut");
        uint64_t random = 99 + (uint64_t)variant;
        for (int round = 0; round < 3; round++) {
            antler_status status = ANTLER_CANCELLED;
            for (int attempt = 0; status == ANTLER_CANCELLED; attempt++) {
                random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
                stopper stop = {.at = round == 0 ? 1 : 1 + (random >> 33) % 60};
                const antler_train_events events = {
                    .struct_size = sizeof events, .cookie = &stop, .stop = stop_at};
                status = attempt == 0 ? antler_train(&s, 0, true, &events, &result)
                                      : antler_train_resume("Results/experiment/cut/001",
                                                            round % 2 ? &s : NULL, &events, &result);
            }
            CHECK_OK(status);
            assert_same_file("Results/experiment/whole/001/model.npz",
                             "Results/experiment/cut/001/model.npz");
            assert_same_log("Results/experiment/whole/001/log.csv", "Results/experiment/cut/001/log.csv");
        }
    }
}

/* As after a lost machine: rows beyond the checkpoint, half a row, temporary files, no model. */
static void wreckage_is_cleared(void **state)
{
    (void)state;
    antler_settings s = small_settings("wreck");
    antler_train_result result;
    stopper stop = {.at = 40};
    const antler_train_events events = {.struct_size = sizeof events, .cookie = &stop, .stop = stop_at};
    assert_int_equal(antler_train(&s, 0, true, &events, &result), ANTLER_CANCELLED);
    FILE *log = fopen("Results/experiment/wreck/001/log.csv", "a");
    fputs("42,1,2,3,4,5,6,7,8,9,10,11,12,13,deer\n49,0.0", log);
    fclose(log);
    fclose(fopen("Results/experiment/wreck/001/.model.npz.Ab3dEf", "w"));
    fclose(fopen("Results/experiment/wreck/001/checkpoints/.update-0000000045.npz.Ab3dEf", "w"));
    unlink("Results/experiment/wreck/001/model.npz");
    CHECK_OK(antler_train_resume("Results/experiment/wreck/", NULL, NULL, &result));
    s = small_settings("clean");
    CHECK_OK(antler_train(&s, 0, true, NULL, &result));
    assert_same_file("Results/experiment/clean/001/model.npz", "Results/experiment/wreck/001/model.npz");
    assert_same_log("Results/experiment/clean/001/log.csv", "Results/experiment/wreck/001/log.csv");
    assert_int_equal(access("Results/experiment/wreck/001/.model.npz.Ab3dEf", F_OK), -1);
    /* A damaged newest checkpoint: the one before it serves. */
    CHECK_OK(antler_train(&s, 0, true, NULL, &result));
    FILE *damaged = fopen("Results/experiment/clean/001/checkpoints/update-0000000080.npz", "w");
    fputs("not a zip", damaged);
    fclose(damaged);
    CHECK_OK(antler_train_resume("Results/experiment/clean/001", NULL, NULL, &result));
    assert_same_file("Results/experiment/clean/001/model.npz", "Results/experiment/wreck/001/model.npz");
}

static void two_checkpoints_are_kept(void **state)
{
    (void)state;
    antler_settings s = small_settings("kept");
    CHECK_OK(antler_train(&s, 0, true, NULL, NULL));
    DIR *directory = opendir("Results/experiment/kept/001/checkpoints");
    assert_non_null(directory);
    size_t count = 0;
    for (struct dirent *e = readdir(directory); e != NULL; e = readdir(directory))
        count += e->d_name[0] != '.';
    closedir(directory);
    assert_int_equal(count, 2);
    antler_model *model = NULL;
    CHECK_OK(antler_model_load("Results/experiment/kept/001/checkpoints/update-0000000075.npz", &model));
    antler_model_free(model);
}

static void one_run_of_several_is_the_same_alone(void **state)
{
    (void)state;
    antler_settings s = small_settings("all");
    antler_train_result result;
    s.runs = 3;
    CHECK_OK(antler_train(&s, 0, true, NULL, &result));
    assert_int_equal(result.finished, 3);
    snprintf(s.name, sizeof s.name, "one");
    CHECK_OK(antler_train(&s, 2, true, NULL, &result));
    assert_same_file("Results/experiment/all/002/model.npz", "Results/experiment/one/002/model.npz");
    assert_int_equal(access("Results/experiment/one/001", F_OK), -1);
    /* The folder above resumes what is missing, too. */
    CHECK_OK(antler_train_resume("Results/experiment/one", NULL, NULL, &result));
    assert_same_file("Results/experiment/all/003/model.npz", "Results/experiment/one/003/model.npz");
    CHECK_FAILS(antler_train(&s, 4, true, NULL, &result), ANTLER_ERROR_ARGUMENT, "no run 4");
}

/* Data in memory: the same parameters as from the file, a stop by flag, and no resume without the data. */
static void series_in_memory_train_on_disk(void **state)
{
    (void)state;
    static const char *const pattern = "data.npy";
    antler_series *series = NULL;
    antler_model *from_file = NULL, *from_memory = NULL;
    antler_train_result result;
    CHECK_OK(antler_series_load(&pattern, 1, NULL, &series));
    antler_settings s = small_settings("filed");
    CHECK_OK(antler_train(&s, 0, true, NULL, &result));
    s = small_settings("kept in mind");
    s.data[0] = '\0';
    int flag = 1;
    const antler_train_events events = {
        .struct_size = sizeof events, .cookie = &flag, .stop = antler_stop_when_set};
    assert_int_equal(antler_train_series(&s, series, 0, true, &events, &result), ANTLER_CANCELLED);
    flag = 0;
    CHECK_FAILS(antler_train_resume("Results/experiment/kept in mind/001", NULL, &events, &result),
                ANTLER_ERROR_ARGUMENT, "data");
    CHECK_OK(
        antler_train_resume_series("Results/experiment/kept in mind/001", NULL, series, &events, &result));
    CHECK_OK(antler_model_load("Results/experiment/filed/001", &from_file));
    CHECK_OK(antler_model_load("Results/experiment/kept in mind/001", &from_memory));
    assert_same_log("Results/experiment/filed/001/log.csv", "Results/experiment/kept in mind/001/log.csv");
    for (size_t i = 0; i < antler_model_parameter_count(from_file); i++) {
        antler_parameter a, b;
        CHECK_OK(antler_model_parameter_at(from_file, i, &a));
        CHECK_OK(antler_model_parameter_at(from_memory, i, &b));
        assert_memory_equal(a.values, b.values, a.rows * a.columns * sizeof *a.values);
    }
    antler_model_free(from_file);
    antler_model_free(from_memory);
    antler_series_free(series);
}

static void faults_have_messages(void **state)
{
    (void)state;
    antler_settings s = small_settings("kept");
    antler_train_result result;
    CHECK_FAILS(antler_train(&s, 0, false, NULL, &result), ANTLER_ERROR_ARGUMENT, "this run exists");
    s.gtf_alpha = 0.2;
    CHECK_FAILS(antler_train_resume("Results/experiment/kept/001", &s, NULL, &result), ANTLER_ERROR_ARGUMENT,
                "the run began with gtf_alpha: 0.15, not 0.2");
    CHECK_FAILS(antler_train_resume("Results", NULL, NULL, &result), ANTLER_ERROR_NOT_FOUND, "holds no run");
    CHECK_FAILS(antler_train_resume("nowhere", NULL, NULL, &result), ANTLER_ERROR_NOT_FOUND, "holds no run");
    write_data("data.npy", 1.1);
    CHECK_FAILS(antler_train_resume("Results/experiment/kept/001", NULL, NULL, &result), ANTLER_ERROR_DATA,
                "other data");
    write_data("data.npy", 1.0);
    snprintf(s.data, sizeof s.data, "missing.npy");
    CHECK_FAILS(antler_train(&s, 0, true, NULL, &result), ANTLER_ERROR_NOT_FOUND, "missing.npy");
    s = small_settings("diverging");
    s.updates = 3000;
    s.gtf_alpha = 0.0;
    s.sequence_length = 200;
    s.start_lr = s.end_lr = 10.0;
    s.schedule = ANTLER_SCHEDULE_CONSTANT;
    s.gradient_clip = 0.0;
    CHECK_FAILS(antler_train(&s, 0, true, NULL, &result), ANTLER_DIVERGED, "diverged at update");
    assert_int_equal(access("Results/experiment/diverging/001/diverged.txt", F_OK), 0);
    antler_model *model = NULL;
    CHECK_OK(antler_model_load("Results/experiment/diverging/001", &model));
    antler_model_free(model);
}

/* In the way of the second run's model when that is to be written. */
static void obstruct_second(void *cookie, const antler_train_row *row)
{
    (void)cookie;
    if (row->run == 2)
        (void)mkdir("Results/experiment/both/002/model.npz", 0777);
}

/* A run that diverged does not hide one that failed, whichever comes first. */
static void a_failed_run_is_reported_beside_a_diverged_one(void **state)
{
    (void)state;
    antler_settings s = small_settings("both");
    antler_train_result result = {.struct_size = sizeof result};
    const antler_train_events events = {.struct_size = sizeof events, .row = obstruct_second};
    s.runs = 2;
    s.updates = 3000;
    s.gtf_alpha = 0.0;
    s.sequence_length = 200;
    s.start_lr = s.end_lr = 10.0;
    s.schedule = ANTLER_SCHEDULE_CONSTANT;
    s.gradient_clip = 0.0;
    s.checkpoint_interval = s.updates;
    CHECK_FAILS(antler_train(&s, 0, true, &events, &result), ANTLER_ERROR_ARGUMENT, "run 2: ");
    assert_non_null(strstr(antler_message(), "002/model.npz: is a folder"));
    assert_int_equal(result.diverged, 1);
    assert_int_equal(result.failed, 1);
}

/* What model.npz holds is told by the run's marker: readers refuse a model of a run that was replaced. */
static void the_model_of_a_replaced_run_is_refused(void **state)
{
    (void)state;
    antler_settings s = small_settings("replaced");
    antler_model *model = NULL;
    const char *run = "Results/experiment/replaced/001";
    CHECK_OK(antler_train(&s, 0, false, NULL, NULL));
    s.seed = 2;
    CHECK_OK(antler_settings_write(&s, "Results/experiment/replaced/001/.overwrite")); /* before step 2 */
    CHECK_OK(antler_model_load(run, &model));
    antler_model_free(model);
    CHECK_OK(antler_settings_write(&s, "Results/experiment/replaced/001/config.yaml")); /* after it */
    CHECK_FAILS(antler_model_load(run, &model), ANTLER_ERROR_NOT_FOUND, "the model of an older run");
    CHECK_OK(antler_train_resume(run, NULL, NULL, NULL));
    CHECK_OK(antler_model_load(run, &model));
    antler_model_free(model);
}

/* What cannot be examined is neither there nor missing. */
static void a_fault_of_the_machine_is_no_absence(void **state)
{
    (void)state;
    antler_settings s = small_settings("linked");
    bool begun = true;
    CHECK_OK(antler_train_begun("Results/experiment/linked", 3, &begun));
    assert_false(begun);
    CHECK_OK(antler_train(&s, 0, false, NULL, NULL));
    CHECK_OK(antler_train_begun("Results/experiment/linked", 3, &begun));
    assert_true(begun);
    const char *config = "Results/experiment/linked/001/config.yaml",
               *log = "Results/experiment/linked/001/log.csv";
    assert_int_equal(rename(log, "kept.csv"), 0);
    assert_int_equal(symlink("log.csv", log), 0); /* to itself: ELOOP */
    CHECK_FAILS(antler_train_resume("Results/experiment/linked", NULL, NULL, NULL), ANTLER_ERROR_IO,
                "log.csv");
    assert_int_equal(unlink(log) + rename("kept.csv", log), 0);
    assert_int_equal(unlink(config) + symlink("config.yaml", config), 0);
    CHECK_FAILS(antler_train_begun("Results/experiment/linked", 3, &begun), ANTLER_ERROR_IO, "config.yaml");
    CHECK_FAILS(antler_train(&s, 0, false, NULL, NULL), ANTLER_ERROR_IO, "config.yaml: cannot be examined");
    CHECK_FAILS(antler_train_resume("Results/experiment/linked", NULL, NULL, NULL), ANTLER_ERROR_IO,
                "config.yaml");
}

enum { STARTERS = 8 };

static void *start_training(void *outcome)
{
    antler_settings s = small_settings("contended");
    s.updates = 3000;
    s.threads = 1;
    s.check_interval = 0;
    *(antler_status *)outcome = antler_train(&s, 0, true, NULL, NULL);
    return NULL;
}

/* Threads of one process that start the same run at once: one trains, the others are refused. */
static void one_thread_owns_a_run(void **state)
{
    (void)state;
    pthread_t threads[STARTERS];
    antler_status outcomes[STARTERS];
    size_t trained = 0;
    for (size_t i = 0; i < STARTERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, start_training, &outcomes[i]), 0);
    for (size_t i = 0; i < STARTERS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(outcomes[i] == ANTLER_OK || outcomes[i] == ANTLER_ERROR_ARGUMENT);
        trained += outcomes[i] == ANTLER_OK ? 1 : 0;
    }
    assert_true(trained >= 1); /* one that starts after another has ended may replace its run */
    antler_train_result result;
    CHECK_OK(antler_train_resume_check("Results/experiment/contended", NULL, NULL, &result));
    assert_int_equal(result.finished, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stopped_runs_resume_to_the_same_bytes),
        cmocka_unit_test(wreckage_is_cleared),
        cmocka_unit_test(two_checkpoints_are_kept),
        cmocka_unit_test(one_run_of_several_is_the_same_alone),
        cmocka_unit_test(series_in_memory_train_on_disk),
        cmocka_unit_test(faults_have_messages),
        cmocka_unit_test(a_failed_run_is_reported_beside_a_diverged_one),
        cmocka_unit_test(the_model_of_a_replaced_run_is_refused),
        cmocka_unit_test(a_fault_of_the_machine_is_no_absence),
        cmocka_unit_test(one_thread_owns_a_run),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
