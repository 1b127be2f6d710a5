/* test_settings.c - the table, its texts, YAML, and every refusal. */
#include "folder.h"
#include "train/problem.h"
#include "train/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[FOLDER_ROOM];
static char file[FOLDER_ROOM + 16];

static int make_folder(void **state)
{
    (void)state;
    if (folder_make(folder))
        return -1;
    snprintf(file, sizeof file, "%s/run.yaml", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(file);
    return rmdir(folder);
}

static void write_file(const char *text)
{
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* N = 2, one trajectory of `rows` rows. */
static antler_series *small_series(size_t rows)
{
    antler_series *series = NULL;
    double *x = calloc(2 * rows, sizeof *x);
    for (size_t i = 0; i < rows; i++) {
        x[2 * i] = sin(0.3 * (double)i);
        x[2 * i + 1] = cos(0.3 * (double)i) + 2.0;
    }
    CHECK_OK(antler_series_create(2, 0, &series));
    CHECK_OK(antler_series_append(series, rows, x, NULL));
    free(x);
    return series;
}

static void every_default_is_in_its_bounds(void **state)
{
    (void)state;
    antler_settings s;
    antler_settings_default(&s);
    CHECK_OK(antler_settings_check(&s, NULL));
    for (size_t i = 0; i < antler_setting_count(); i++) {
        const antler_setting_info *info = antler_setting_at(i);
        char text[8192], assignment[8400];
        CHECK_OK(antler_settings_get(&s, info->name, text, sizeof text));
        snprintf(assignment, sizeof assignment, "%s=%s", info->name, text);
        CHECK_OK(antler_settings_set(&s, assignment));
        assert_true(strlen(info->meaning) > 10);
    }
    assert_null(antler_setting_at(antler_setting_count()));
    assert_int_equal(s.latent_dim, 5);
    assert_int_equal(s.hidden_dim, 50);
    assert_true(s.kappa == 0.0 && s.validation == 0.2 && s.beta2 == 0.999 && s.standardise && s.fallback &&
                !s.clipped);
    assert_int_equal(s.optimiser, ANTLER_OPTIMISER_RADAM);
    assert_int_equal(s.initialisation, ANTLER_INITIALISATION_AUTO);
}

/* A mamba2 has one start, so both names are right for it; a file without the key has the default. */
static void every_model_has_both_initialisations(void **state)
{
    (void)state;
    for (int model = 0; model < 3; model++) {
        antler_settings s;
        antler_settings_default(&s);
        s.model = (antler_model_kind_id)model;
        s.latent_dim = 4;
        s.initialisation = ANTLER_INITIALISATION_STANDARD;
        CHECK_OK(antler_settings_check(&s, NULL));
    }
    antler_settings s;
    write_file("latent_dim: 4\nkappa: 0.9\n");
    CHECK_OK(antler_settings_load(file, &s));
    assert_int_equal(ant_settings_initialisation(&s).id, ANT_INITIALISATION_MEMORY);
    write_file("latent_dim: 4\ninitialisation: standard\n");
    CHECK_OK(antler_settings_load(file, &s));
    assert_int_equal(s.initialisation, ANTLER_INITIALISATION_STANDARD);
}

/* kappa counts as long as A or the other weights depend on it. */
static void kappa_goes_with_the_parts_that_use_it(void **state)
{
    (void)state;
    antler_settings s;
    antler_settings_default(&s);
    s.kappa = 0.9;
    s.initialise_A = ANTLER_INITIAL_A_RANDOM;
    CHECK_OK(antler_settings_check(&s, NULL));
    s.initialise_weights = ANTLER_INITIAL_WEIGHTS_UNIFORM;
    CHECK_FAILS(antler_settings_check(&s, NULL), ANTLER_ERROR_ARGUMENT,
                "does nothing with initialise_A: random and initialise_weights: uniform");
    s.initialise_A = ANTLER_INITIAL_A_KAPPA;
    s.initialisation = ANTLER_INITIALISATION_STANDARD;
    CHECK_OK(antler_settings_check(&s, NULL));
}

static void bad_assignments_change_nothing(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"gtf_alpha", "NAME=VALUE"},
        {"=3", "NAME=VALUE"},
        {"gtf_alfa=0.1", "did you mean 'gtf_alpha'"},
        {"zzzzzz=0.1", "there is no setting 'zzzzzz'"},
        {"gtf_alpha=", "is not a number"},
        {"gtf_alpha=abc", "'abc' is not a number"},
        {"gtf_alpha=0.1x", "is not a number"},
        {"gtf_alpha=nan", "is not a number"},
        {"gtf_alpha=-0.01", "[0, 1]"},
        {"gtf_alpha=1.01", "[0, 1]"},
        {"kappa=1", "[0, 1)"},
        {"kappa=-0.1", "[0, 1)"},
        {"beta1=1", "[0, 1)"},
        {"dt=-1", "at least 0"},
        {"latent_dim=0", "[1, 65536]"},
        {"latent_dim=2.5", "is not a whole number"},
        {"latent_dim=-3", "[1, 65536]"},
        {"latent_dim=1e30", "is not a whole number"},
        {"updates=4294967296", "[1, 4294967295]"},
        {"seed=-1", "0 to 18446744073709551615"},
        {"seed=18446744073709551616", "0 to 18446744073709551615"},
        {"clipped=maybe", "true or false"},
        {"solver=deeer", "did you mean 'deer'"},
        {"solver=newton", "one of auto, reference, sequential"},
        {"MAR_p=3", "[1, 2]"},
        {"initialisation=standart", "did you mean 'standard'"},
        {"initialisation=random", "one of memory, standard, auto"},
        {"mar_lambda=1", "did you mean 'MAR_lambda'"},
    };
    antler_settings s, before;
    antler_settings_default(&s);
    before = s;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const antler_status status = antler_settings_set(&s, bad[i][0]);
        if (status >= 0 || strstr(antler_message(), bad[i][1]) == NULL)
            fail_msg("%s: '%s' lacks '%s'", bad[i][0], antler_message(), bad[i][1]);
        assert_memory_equal(&s, &before, sizeof s);
    }
    char long_text[300];
    memset(long_text, 'x', sizeof long_text);
    memcpy(long_text, "name=", 5);
    long_text[299] = '\0';
    CHECK_FAILS(antler_settings_set(&s, long_text), ANTLER_ERROR_ARGUMENT, "longer than 127");
}

static void texts_of_numbers_are_exact(void **state)
{
    (void)state;
    antler_settings s;
    char text[64];
    antler_settings_default(&s);
    CHECK_OK(antler_settings_set(&s, "batch_size=1e3"));
    assert_int_equal(s.batch_size, 1000);
    CHECK_OK(antler_settings_set(&s, "updates=150_000"));
    assert_int_equal(s.updates, 150000);
    CHECK_OK(antler_settings_set(&s, "seed=18446744073709551615"));
    assert_true(s.seed == UINT64_MAX);
    CHECK_OK(antler_settings_get(&s, "seed", text, sizeof text));
    assert_string_equal(text, "18446744073709551615");
    s.start_lr = 0.1 + 0.2;
    CHECK_OK(antler_settings_get(&s, "start_lr", text, sizeof text));
    assert_true(strtod(text, NULL) == s.start_lr);
    CHECK_FAILS(antler_settings_get(&s, "start_lr", text, 3), ANTLER_ERROR_ARGUMENT, "bytes");
}

/* One or two settings that do not go together, and what the message says. */
static const char *const impossible[][3] = {
    {"warmup=200", NULL, "warmup is 200"},
    {"warmup=500", NULL, "sequence_length = 200"},
    {"rank=6", NULL, "min(latent_dim, hidden_dim) = 5"},
    {"regularised_units=6", NULL, "latent_dim = 5"},
    {"MAR_lambda=1", NULL, "regularised_units is 0"},
    {"readout_lambda=1", NULL, "regularised_units is 0"},
    {"end_lr=0", "schedule=exponential", "exponential"},
    {"end_lr=0.1", NULL, "above start_lr"},
    {"adjoint=diagonal", NULL, "quasi-deer"},
    {"name=a/b", NULL, "cannot be the name of one folder"},
    {"experiment=..", NULL, "cannot be the name of one folder"},
    {"sequence_length=500", "validation=0", "longest trajectory has 500"},
    {"sequence_length=400", "validation=0.25", "longest trajectory has 375 without those held back"},
    {"validation=0.1", NULL, "holds back 50 rows"},
    {"solver=scan", NULL, "linear in their state"},
    {"initialisation=standard", "kappa=0.9",
     "kappa is 0.9, which does nothing with initialisation: standard"},
    {"initialise_B=identity", "latent_dim=1", "initialise_B: identity needs a latent unit for each"},
    {"model=lssm", "initialise_B=kaiming", "initialise_B is kaiming, which does nothing with model: lssm"},
    {"model=mamba2", "initialise_A=kappa", "initialise_A is kappa, which does nothing with model: mamba2"},
    {"model=mamba2", "initialise_weights=small", "initialise_weights is small"},
    {"model=mamba2", "diagonal=free", "diagonal is free, which does nothing with model: mamba2"},
    {"model=lssm", "gtf_alpha_method=explog",
     "gtf_alpha_method is explog, which does nothing with model: lssm"},
    {"model=mamba2", "gtf_alpha_interval=7",
     "gtf_alpha_interval is 7, which does nothing with model: mamba2"},
    {"model=lssm", "forcing_interval=9", "forcing_interval is 9, which does nothing with model: lssm"},
    {"forcing_interval=9", "gtf_alpha_method=explog", "gtf_alpha_method does nothing with sparse forcing"},
    {"forcing_interval=9", "gtf_alpha_schedule=linear", "gtf_alpha_schedule does nothing with sparse"},
    {"gtf_alpha_schedule=cosine", "gtf_alpha_method=explog", "does nothing where gtf_alpha_method estimates"},
    {"gtf_alpha=0.3", "gtf_alpha_end=0.1", "gtf_alpha_end is 0.1, which does nothing"},
    {"gtf_alpha_schedule=exponential", "gtf_alpha_end=0", "needs gtf_alpha and gtf_alpha_end above 0"},
    {"forcing_interval_method=predictability", "lyapunov_exponent=0", "needs lyapunov_exponent"},
    {"forcing_interval_method=autocorrelation", "lyapunov_exponent=0.9", "does nothing without"},
    {"model=lssm", "gtf_alpha=0.3", "gtf_alpha is 0.3, which does nothing with model: lssm"},
    {"model=lssm", "teacher=stop", "teacher is stop"},
    {"model=lssm", "solver=deer", "take auto, scan or reference"},
    {"model=lssm", "solver=sequential", "take auto, scan or reference"},
    {"model=lssm", "adjoint=diagonal", "adjoint is diagonal"},
    {"model=lssm", "start=zero", "start is zero"},
    {"model=lssm", "tolerance=1e-3", "tolerance is"},
    {"model=lssm", "max_iterations=7", "max_iterations is 7"},
    {"model=lssm", "fallback=false", "fallback is false"},
    {"model=lssm", "rank=2", "rank is 2, which does nothing"},
    {"model=lssm", "clipped=true", "has no W"},
    {"model=lssm", "readout_lambda=1", "readout_lambda is 1"},
    {"model=lssm", "singular_lambda=1", "singular_lambda is 1"},
    {"model=lssm", "latent_lambda=1", "latent_lambda is 1"},
    {"model=lssm", "observation_lambda=1", "observation_lambda is 1"},
    {"model=mamba2", "condition_lambda=1", "condition_lambda is 1"},
    {"model=lssm", "MAR_initial_scale=true", "MAR_initial_scale is true"},
    {"model=lssm", "MAR_lambda=1", "regularised_units is 0"},
    {"model=mamba2", NULL, "latent_dim is 5, but a mamba2"},
    {"model=mamba2", "kappa=0.9", "kappa is 0.9, which does nothing with model: mamba2"},
    {"model=mamba2", "gtf_alpha=0.3", "gtf_alpha is 0.3"},
    {"model=mamba2", "regularised_units=2", "has no units to regularise"},
    {"model=mamba2", "MAR_lambda=1", "MAR_lambda is 1"},
    {"model=mamba2", "solver=shooting", "take auto, scan or reference"},
};

static void impossible_combinations_are_refused(void **state)
{
    (void)state;
    antler_series *series = small_series(500);
    for (size_t i = 0; i < sizeof impossible / sizeof impossible[0]; i++) {
        antler_settings s;
        antler_settings_default(&s);
        s.validation = 0.25;
        CHECK_OK(antler_settings_check(&s, series));
        CHECK_OK(antler_settings_set(&s, impossible[i][0]));
        if (impossible[i][1] != NULL)
            CHECK_OK(antler_settings_set(&s, impossible[i][1]));
        CHECK_FAILS(antler_settings_check(&s, series), ANTLER_ERROR_ARGUMENT, impossible[i][2]);
    }
    antler_settings s;
    antler_settings_default(&s);
    s.sequence_length = 499;
    s.validation = 0.0;
    CHECK_OK(antler_settings_check(&s, series));
    s.gtf_alpha = NAN; /* by a program, past antler_settings_set */
    CHECK_FAILS(antler_settings_check(&s, series), ANTLER_ERROR_ARGUMENT, "gtf_alpha");
    s.gtf_alpha = 0.1;
    s.solver = (antler_solver)77;
    CHECK_FAILS(antler_settings_check(&s, series), ANTLER_ERROR_ARGUMENT, "solver");
    antler_series_free(series);
}

static void yaml_faults_name_the_line(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"latent_dim: 5\n\n# a comment\ngtf_alfa: 0.1\n",
         "line 4: there is no setting 'gtf_alfa'; did you mean 'gtf_alpha'"},
        {"latent_dim: 5\nrank: two\n", "line 2: rank: 'two' is not a whole number"},
        {"latent_dim: 5\nclipped: 2\n", "line 2: clipped"},
        {"latent_dim: 5\ngtf_alpha: 7\n", "line 2: gtf_alpha is 7"},
        {"latent_dim: 5\nlatent_dim: 6\n", "'latent_dim' is given twice"},
        {"data: a.npy\nlatent_dim: [5, 6]\n", "line 2: 'latent_dim' needs a single value"},
        {"data: [a.npy]\nlatent_dim:\n  x: 3\n", "'latent_dim' needs a single value"},
        {"data: [a.npy, [b.npy]]\n", "line 1"},
        {"data: {a: b}\n", "line 1"},
        {"- latent_dim\n", "no settings file"},
        {"just words", "no settings file"},
        {"latent_dim: 'x\n", "not YAML"},
        {"latent_dim: 5\n  rank: 2\n", "not YAML"},
        {"grid:\n  rank: [1, 2]\n", "line 1: 'grid' belongs to a sweep"},
        {"latent_dim:\n", "line 1: latent_dim: '' is not a whole number"},
    };
    antler_settings s;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        write_file(bad[i][0]);
        const antler_status status = antler_settings_load(file, &s);
        if (status >= 0 || strstr(antler_message(), bad[i][1]) == NULL ||
            strstr(antler_message(), file) == NULL)
            fail_msg("%s: '%s' lacks '%s'", bad[i][0], antler_message(), bad[i][1]);
    }
    CHECK_FAILS(antler_settings_load("/nonexistent/run.yaml", &s), ANTLER_ERROR_NOT_FOUND, "run.yaml");
    CHECK_FAILS(antler_settings_load(folder, &s), ANTLER_ERROR_ARGUMENT, "is a folder");
    write_file("");
    CHECK_OK(antler_settings_load(file, &s));
    assert_int_equal(s.latent_dim, 5);
}

/* What is written is read back to the bit, also awkward texts and random numbers. */
static void written_settings_are_read_back(void **state)
{
    (void)state;
    antler_settings s, t;
    antler_settings_default(&s);
    snprintf(s.experiment, sizeof s.experiment, "say \"it's\" \\ # : {x} é 漢");
    snprintf(s.columns, sizeof s.columns, "a b, 'c'\t- [d]");
    snprintf(s.data, sizeof s.data, "a,b.npy\n*.npz\n- c: d.csv");
    s.results[0] = '~';
    uint64_t random = 12345;
    for (int round = 0; round < 50; round++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        s.seed = random;
        s.gtf_alpha = (double)(random >> 11) * 0x1p-53;
        s.start_lr = s.gtf_alpha * 1e-3 + 1e-9;
        s.end_lr = s.start_lr / 3.0;
        s.latent_dim = 1 + random % 1000;
        s.clipped = random >> 40 & 1;
        s.solver = (antler_solver)(random >> 33) % 6;
        s.initialisation = (antler_initialisation)(random >> 41 & 1);
        CHECK_OK(antler_settings_write(&s, file));
        memset(&t, 0, sizeof t);
        CHECK_OK(antler_settings_load(file, &t));
        for (size_t i = 0; i < ant_setting_count(); i++) {
            if (!ant_setting_equal(ant_setting_at(i), &s, &t))
                fail_msg("%s differs after writing and reading", ant_setting_at(i)->info.name);
        }
    }
}

/* A program may have filled a text to its last byte, or set a choice that does not exist. */
static void unreadable_settings_are_refused(void **state)
{
    (void)state;
    char text[64];
    antler_settings s, t;
    antler_series *series = NULL;
    antler_settings_default(&s);
    for (size_t i = 0; i < ant_setting_count(); i++) {
        const ant_setting *setting = ant_setting_at(i);
        unsigned char *field = (unsigned char *)&s + setting->offset;
        const bool is_text = setting->kind == ANT_SETTING_TEXT || setting->kind == ANT_SETTING_PATHS;
        if (!is_text && setting->kind != ANT_SETTING_CHOICE)
            continue;
        const char *sentence = is_text ? "the text does not end" : "there is no choice";
        antler_settings_default(&s);
        memset(field, is_text ? 'x' : 99, setting->bytes);
        CHECK_FAILS(antler_settings_write(&s, file), ANTLER_ERROR_ARGUMENT, sentence);
        CHECK_FAILS(antler_settings_get(&s, "updates", text, sizeof text), ANTLER_ERROR_ARGUMENT, sentence);
        CHECK_FAILS(antler_settings_check(&s, NULL), ANTLER_ERROR_ARGUMENT, sentence);
        CHECK_FAILS(antler_settings_series(&s, &series), ANTLER_ERROR_ARGUMENT, sentence);
        CHECK_FAILS(antler_train(&s, 0, false, NULL, NULL), ANTLER_ERROR_ARGUMENT, sentence);
    }
    antler_settings_default(&s);
    CHECK_OK(antler_settings_write(&s, file));
    CHECK_OK(antler_settings_load(file, &t));
}

static void data_may_be_one_path_or_a_list(void **state)
{
    (void)state;
    antler_settings s;
    write_file("data: one, two.npy\n");
    CHECK_OK(antler_settings_load(file, &s));
    assert_string_equal(s.data, "one, two.npy");
    write_file("gtf_alpha: 0.25\ndata:\n  - a.npy\n  - b*.npy\nlatent_dim: 7\n");
    CHECK_OK(antler_settings_load(file, &s));
    assert_string_equal(s.data, "a.npy\nb*.npy");
    assert_int_equal(s.latent_dim, 7);
    assert_true(s.gtf_alpha == 0.25);
    CHECK_OK(antler_settings_set(&s, "data=c.npy,d.npy"));
    assert_string_equal(s.data, "c.npy\nd.npy");
    s.data[0] = '\0';
    antler_series *series = NULL;
    CHECK_FAILS(antler_settings_series(&s, &series), ANTLER_ERROR_ARGUMENT, "name no data");
}

static void grids_hold_every_combination(void **state)
{
    (void)state;
    antler_grid *grid = NULL;
    write_file("name: n\nlatent_dim: 9\ngrid:\n  gtf_alpha: [0.1, 0.2, 0.3]\n  rank: [0, 2]\ntest: t.npy\n");
    const char *const set[] = {"runs=4"};
    CHECK_OK(antler_grid_load(file, set, 1, &grid));
    assert_int_equal(antler_grid_count(grid), 6);
    assert_int_equal(antler_grid_key_count(grid), 2);
    assert_string_equal(antler_grid_test(grid), "t.npy");
    assert_int_equal(antler_grid_base(grid)->runs, 4);
    unsigned seen = 0;
    for (size_t i = 0; i < 6; i++) {
        antler_settings s;
        CHECK_OK(antler_grid_settings(grid, i, &s));
        assert_int_equal(s.latent_dim, 9);
        seen |= 1u << ((unsigned)(s.gtf_alpha * 10.0 - 0.5) * 2 + (s.rank == 2));
    }
    assert_int_equal(seen, 63);
    antler_grid_free(grid);
    write_file("grid:\n  rank: [0, 60]\n");
    CHECK_FAILS(antler_grid_load(file, NULL, 0, &grid), ANTLER_ERROR_ARGUMENT, "combination 2");
    write_file("grid:\n  rank: [0, x]\n");
    CHECK_FAILS(antler_grid_load(file, NULL, 0, &grid), ANTLER_ERROR_ARGUMENT, "'x' is not a whole number");
    write_file("grid:\n  runs: [1, 2]\n");
    CHECK_FAILS(antler_grid_load(file, NULL, 0, &grid), ANTLER_ERROR_FORMAT,
                "does not change what is computed");
    write_file("rank: 2\n");
    CHECK_FAILS(antler_grid_load(file, NULL, 0, &grid), ANTLER_ERROR_FORMAT, "no 'grid:'");
    write_file("grid:\n  rank: []\n");
    CHECK_FAILS(antler_grid_load(file, NULL, 0, &grid), ANTLER_ERROR_FORMAT, "empty");
}

static void statistics_have_known_values(void **state)
{
    (void)state;
    antler_statistics s;
    const double values[] = {3.0, NAN, 1.0, 10.0, 2.0, INFINITY};
    CHECK_OK(antler_statistics_of(values, 6, &s));
    assert_int_equal(s.count, 5);
    assert_int_equal(s.diverged, 1);
    CHECK_NEAR(s.median, 3.0, 0.0);
    CHECK_NEAR(s.mad, 2.0, 0.0);
    CHECK_NEAR(s.mean, 4.0, 0.0);
    CHECK_NEAR(s.sem, sqrt((1.0 + 9.0 + 36.0 + 4.0) / 3.0 / 4.0), 1e-15);
    CHECK_OK(antler_statistics_of(values, 1, &s));
    assert_true(s.median == 3.0 && s.mad == 0.0 && isnan(s.sem));
    CHECK_OK(antler_statistics_of(NULL, 0, &s));
    assert_true(s.count == 0 && isnan(s.median));
}

static void test_data_that_is_not_there(void **state)
{
    (void)state;
    antler_settings s;
    antler_series *series = NULL;
    antler_settings_default(&s);
    snprintf(s.test_data, sizeof s.test_data, "none.npy");
    CHECK_FAILS(antler_settings_test(&s, &series), ANTLER_ERROR_NOT_FOUND, "test_data");
    assert_null(series);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_data_that_is_not_there),
        cmocka_unit_test(every_default_is_in_its_bounds),
        cmocka_unit_test(every_model_has_both_initialisations),
        cmocka_unit_test(kappa_goes_with_the_parts_that_use_it),
        cmocka_unit_test(bad_assignments_change_nothing),
        cmocka_unit_test(texts_of_numbers_are_exact),
        cmocka_unit_test(impossible_combinations_are_refused),
        cmocka_unit_test(yaml_faults_name_the_line),
        cmocka_unit_test(written_settings_are_read_back),
        cmocka_unit_test(unreadable_settings_are_refused),
        cmocka_unit_test(data_may_be_one_path_or_a_list),
        cmocka_unit_test(grids_hold_every_combination),
        cmocka_unit_test(statistics_have_known_values),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
