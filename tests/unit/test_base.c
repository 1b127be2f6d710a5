/* Tests of src/base: status, arena, random numbers, machine, output files, text. */
#include "folder.h"

#include "base/arena.h"
#include "base/machine.h"
#include "base/output.h"
#include "base/random.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- status ---------------------------------------------------------------------------------------- */

static void status_names_and_signs(void **state)
{
    (void)state;
    assert_string_equal(antler_status_name(ANTLER_OK), "OK");
    assert_string_equal(antler_status_name(ANTLER_ERROR_FORMAT), "ERROR_FORMAT");
    assert_string_equal(antler_status_name((antler_status)77), "UNKNOWN");
    assert_true(ANTLER_DIVERGED > 0 && ANTLER_ERROR_IO < 0);
    assert_non_null(strstr(antler_status_text(ANTLER_ERROR_MEMORY), "memory"));
}

static void message_of_nested_failures(void **state)
{
    (void)state;
    ant_fail(ANTLER_ERROR_DATA, "row %d is bad", 17);
    assert_string_equal(antler_message(), "row 17 is bad");
    assert_int_equal(ant_fail_within(ANTLER_ERROR_DATA, "a.csv"), ANTLER_ERROR_DATA);
    assert_string_equal(antler_message(), "a.csv: row 17 is bad");
}

static void *fail_elsewhere(void *unused)
{
    (void)unused;
    ant_fail(ANTLER_ERROR_IO, "another thread");
    return NULL;
}

static void messages_belong_to_threads(void **state)
{
    (void)state;
    pthread_t thread;
    ant_fail(ANTLER_ERROR_DATA, "mine");
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
    pthread_join(thread, NULL);
    assert_string_equal(antler_message(), "mine");
}

static void a_long_message_is_cut_not_overrun(void **state)
{
    (void)state;
    char text[5000];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    ant_fail(ANTLER_ERROR_DATA, "%s", text);
    assert_int_equal(strlen(antler_message()), 2047);
}

/* ---- arena ----------------------------------------------------------------------------------------- */

typedef struct slices {
    double *a;
    char *b;
    float *none;
    double *c;
} slices;

static void carve(ant_arena *arena, slices *s)
{
    s->a = ant_arena_take(arena, 1000, sizeof *s->a);
    s->b = ant_arena_take(arena, 1, sizeof *s->b);
    s->none = ant_arena_take(arena, 0, sizeof *s->none);
    s->c = ant_arena_take(arena, 7, sizeof *s->c);
}

static void arena_counts_then_carves_the_same(void **state)
{
    (void)state;
    ant_arena arena;
    slices s;
    ant_arena_count(&arena);
    carve(&arena, &s);
    assert_null(s.a);
    assert_false(arena.overflow);
    const size_t needed = arena.used;
    CHECK_OK(ant_arena_create(&arena, needed));
    carve(&arena, &s);
    assert_false(arena.overflow);
    assert_int_equal(arena.used, needed);
    assert_int_equal(arena.peak, needed);
    assert_int_equal((uintptr_t)s.a % ANT_ARENA_ALIGN, 0);
    assert_int_equal((uintptr_t)s.b % ANT_ARENA_ALIGN, 0);
    assert_int_equal((uintptr_t)s.c % ANT_ARENA_ALIGN, 0);
    assert_true((char *)s.b >= (char *)(s.a + 1000) + ANT_ARENA_ALIGN);
    assert_true((char *)s.c >= s.b + 1 + ANT_ARENA_ALIGN);
    memset(s.a, 1, 1000 * sizeof *s.a);
    memset(s.c, 2, 7 * sizeof *s.c);
    assert_int_equal(((char *)s.a)[7999], 1);
    assert_null(ant_arena_take(&arena, 1, 1));
    assert_true(arena.overflow);
    ant_arena_destroy(&arena);
}

static void arena_scratch_keeps_the_high_water_mark(void **state)
{
    (void)state;
    ant_arena arena;
    CHECK_OK(ant_arena_create(&arena, 1 << 16));
    ant_arena_take(&arena, 10, 1);
    const size_t mark = ant_arena_mark(&arena);
    void *first = ant_arena_take(&arena, 10000, 1);
    const size_t peak = arena.peak;
    ant_arena_release(&arena, mark);
    assert_int_equal(arena.used, mark);
    assert_int_equal(arena.peak, peak);
    assert_ptr_equal(ant_arena_take(&arena, 10, 1), first);
    ant_arena_destroy(&arena);
}

static void arena_refuses_what_cannot_be(void **state)
{
    (void)state;
    ant_arena arena;
    CHECK_FAILS(ant_arena_create(&arena, SIZE_MAX / 2), ANTLER_ERROR_MEMORY, "out of memory");
    ant_arena_count(&arena);
    assert_null(ant_arena_take(&arena, SIZE_MAX / 4, 8));
    assert_true(arena.overflow);
}

/* ---- random numbers -------------------------------------------------------------------------------- */

/* Known answers published with Random123 (kat_vectors, philox 4x32 10). */
static void philox_known_answers(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], answer[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint32_t out[4];
        ant_philox4x32_10(known[i].counter, known[i].key, out);
        assert_memory_equal(out, known[i].answer, sizeof out);
    }
}

static void streams_are_named_not_advanced(void **state)
{
    (void)state;
    ant_stream a = ant_stream_open(42, 3, 1000, ANT_PURPOSE_OBSERVATION_NOISE);
    ant_stream b = ant_stream_open(42, 3, 1000, ANT_PURPOSE_OBSERVATION_NOISE);
    uint64_t first[8];
    for (int i = 0; i < 8; i++)
        first[i] = ant_stream_u64(&a);
    for (int i = 0; i < 8; i++)
        assert_true(ant_stream_u64(&b) == first[i]);
    ant_stream_seek(&b, 2); /* two numbers a block */
    assert_true(ant_stream_u64(&b) == first[4]);
    ant_stream others[] = {
        ant_stream_open(43, 3, 1000, ANT_PURPOSE_OBSERVATION_NOISE),
        ant_stream_open(42, 4, 1000, ANT_PURPOSE_OBSERVATION_NOISE),
        ant_stream_open(42, 3, 1001, ANT_PURPOSE_OBSERVATION_NOISE),
        ant_stream_open(42, 3, 1000, ANT_PURPOSE_INITIAL_STATE),
        ant_stream_open(42 + (UINT64_C(1) << 32), 3, 1000, ANT_PURPOSE_OBSERVATION_NOISE),
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_false(ant_stream_u64(&others[i]) == first[0]);
}

static void a_stream_runs_past_32_bits_of_blocks(void **state)
{
    (void)state;
    ant_stream a = ant_stream_open(1, 0, 0, ANT_PURPOSE_MIXTURE_SAMPLES), b = a;
    ant_stream_seek(&a, UINT32_MAX);
    ant_stream_u64(&a);
    ant_stream_u64(&a);
    ant_stream_seek(&b, UINT64_C(1) << 32);
    assert_true(ant_stream_u64(&a) == ant_stream_u64(&b));
    ant_stream_seek(&a, 0);
    ant_stream_seek(&b, UINT64_C(1) << 32);
    assert_false(ant_stream_u64(&a) == ant_stream_u64(&b));
}

static void uniform_numbers_fill_the_open_interval(void **state)
{
    (void)state;
    enum { COUNT = 200000, CELLS = 20 };
    ant_stream stream = ant_stream_open(7, 0, 0, ANT_PURPOSE_INITIAL_STATE);
    int cell[CELLS] = {0};
    for (int i = 0; i < COUNT; i++) {
        const double u = ant_stream_uniform(&stream);
        assert_true(u > 0.0 && u < 1.0);
        cell[(int)(u * CELLS)]++;
    }
    double chi_square = 0.0;
    for (int i = 0; i < CELLS; i++)
        chi_square += pow(cell[i] - COUNT / CELLS, 2) / (COUNT / CELLS);
    assert_true(chi_square > 5.0 && chi_square < 45.0); /* 19 degrees of freedom: 0.1 % at either side */
}

static void below_is_the_high_product(void **state)
{
    (void)state;
    ant_stream a = ant_stream_open(5, 0, 0, ANT_PURPOSE_INITIAL_STATE), b = a;
    for (int i = 0; i < 1000; i++) {
        const uint64_t n = ((uint64_t)i * UINT64_C(0x9E3779B97F4A7C15)) | 1;
        const uint64_t word = ant_stream_u64(&a);
        __extension__ typedef unsigned __int128 wide;
        assert_true(ant_stream_below(&b, n) == (uint64_t)((wide)word * n >> 64));
    }
    assert_true(ant_stream_below(&b, 1) == 0);
}

static void normals_have_their_moments(void **state)
{
    (void)state;
    enum { COUNT = 400001 };
    double *x = malloc(COUNT * sizeof *x), sum[5] = {0};
    assert_non_null(x);
    ant_stream stream = ant_stream_open(11, 0, 0, ANT_PURPOSE_OBSERVATION_NOISE);
    ant_stream_normals(&stream, x, COUNT);
    for (int i = 0; i < COUNT; i++) {
        for (int k = 1; k <= 4; k++)
            sum[k] += pow(x[i], k) / COUNT;
    }
    /* five standard errors of the mean of x^k */
    CHECK_NEAR(sum[1], 0.0, 5 * 1.0 / sqrt(COUNT));
    CHECK_NEAR(sum[2], 1.0, 5 * sqrt(2.0 / COUNT));
    CHECK_NEAR(sum[3], 0.0, 5 * sqrt(15.0 / COUNT));
    CHECK_NEAR(sum[4], 3.0, 5 * sqrt(96.0 / COUNT));
    free(x);
}

/* ---- machine --------------------------------------------------------------------------------------- */

static void cpu_mask_only_lowers(void **state)
{
    (void)state;
    unsetenv("ANTLER_CPU");
    const ant_cpu_level best = ant_cpu_level_best();
    setenv("ANTLER_CPU", "base", 1);
    assert_int_equal(ant_cpu_level_best(), ANT_CPU_BASE);
    setenv("ANTLER_CPU", "avx512", 1);
    assert_int_equal(ant_cpu_level_best(), best);
    setenv("ANTLER_CPU", "nonsense", 1);
    assert_int_equal(ant_cpu_level_best(), best);
    unsetenv("ANTLER_CPU");
}

static void threads_are_bounded(void **state)
{
    (void)state;
    assert_int_equal(ant_threads_resolve(3), 3);
    assert_true(ant_threads_resolve(0) >= 1);
    assert_int_equal(ant_threads_resolve(1000000), 1024);
}

static int stop_at_half(void *cookie, const char *what, double fraction)
{
    *(double *)cookie = fraction;
    return strcmp(what, "work") == 0 && fraction >= 0.5;
}

static void progress_can_cancel(void **state)
{
    (void)state;
    double seen = 0.0;
    const antler_progress progress = {stop_at_half, &seen}, silent = {0};
    CHECK_OK(ant_progress_report(silent, "work", 1.0));
    CHECK_OK(ant_progress_report(progress, "work", 0.25));
    CHECK_NEAR(seen, 0.25, 0.0);
    CHECK_FAILS(ant_progress_report(progress, "work", 0.5), ANTLER_CANCELLED, "50 %");
}

/* ---- output files ---------------------------------------------------------------------------------- */

static char folder[FOLDER_ROOM];

static int make_folder(void **state)
{
    (void)state;
    return folder_make(folder);
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder); /* fails when a test left a file behind */
}

static void path_of(const char *name, char path[256])
{
    snprintf(path, 256, "%s/%s", folder, name);
}

static void assert_content(const char *path, const char *want)
{
    char text[64] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    const size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    assert_string_equal(text, want);
}

static void write_file(const char *path, const char *text)
{
    ant_output output;
    CHECK_OK(ant_output_open(&output, path));
    CHECK_OK(ant_output_write(&output, text, strlen(text)));
    CHECK_OK(ant_output_commit(&output));
}

static void output_appears_at_commit(void **state)
{
    (void)state;
    char path[256];
    ant_output output;
    path_of("a", path);
    CHECK_OK(ant_output_open(&output, path));
    CHECK_OK(ant_output_write(&output, "new", 3));
    assert_int_equal(access(path, F_OK), -1);
    CHECK_OK(ant_output_commit(&output));
    assert_content(path, "new");
    ant_output_abort(&output); /* no effect after a commit */
    assert_content(path, "new");
    unlink(path);
}

static void an_aborted_output_leaves_the_old_file(void **state)
{
    (void)state;
    char path[256];
    ant_output output;
    path_of("a", path);
    write_file(path, "old");
    chmod(path, 0640);
    CHECK_OK(ant_output_open(&output, path));
    CHECK_OK(ant_output_write(&output, "half", 4));
    ant_output_abort(&output);
    assert_content(path, "old");
    write_file(path, "new");
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0640);
    unlink(path);
}

/* A limit on the file size fails like a full disk: in the middle of the writing. */
static void a_full_disk_leaves_the_old_file(void **state)
{
    (void)state;
    char path[256];
    ant_output output;
    struct rlimit old, small = {1000, 1000};
    static const char block[4096];
    path_of("a", path);
    write_file(path, "old");
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    small.rlim_max = old.rlim_max;
    setrlimit(RLIMIT_FSIZE, &small);
    CHECK_OK(ant_output_open(&output, path));
    antler_status status = ANTLER_OK;
    for (int i = 0; status == ANTLER_OK && i < 100; i++)
        status = ant_output_write(&output, block, sizeof block);
    if (status == ANTLER_OK)
        status = ant_output_commit(&output);
    else
        ant_output_abort(&output);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(status, ANTLER_ERROR_IO);
    assert_non_null(strstr(antler_message(), "cannot be written"));
    assert_content(path, "old");
    unlink(path);
}

/* Permissions come from the umask of the process, which is only read. */
static void a_new_file_obeys_the_umask(void **state)
{
    (void)state;
    char path[256];
    struct stat info;
    path_of("a", path);
    const mode_t before = umask(027);
    write_file(path, "new");
    assert_int_equal(umask(before), 027);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0640);
    unlink(path);
}

/* A FIFO gets the bytes and stays one; an archive, which is not written front to back, is refused. */
static void a_fifo_is_written_into(void **state)
{
    (void)state;
    char path[256], text[16] = "";
    ant_output output;
    struct stat info;
    path_of("fifo", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    const int reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(reader >= 0);
    CHECK_OK(antler_write_file(path, "through"));
    assert_int_equal(read(reader, text, sizeof text - 1), 7);
    assert_string_equal(text, "through");
    close(reader);
    CHECK_FAILS(ant_output_open_to_seek(&output, path), ANTLER_ERROR_ARGUMENT, "an archive needs a file");
    assert_int_equal(lstat(path, &info), 0);
    assert_true(S_ISFIFO(info.st_mode));
    unlink(path);
}

static void a_device_stays_a_device(void **state)
{
    (void)state;
    char link_path[256], *target = NULL;
    struct stat info;
    path_of("null", link_path);
    assert_int_equal(symlink("/dev/null", link_path), 0);
    CHECK_OK(antler_write_file(link_path, "nothing"));
    assert_int_equal(lstat(link_path, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    CHECK_OK(ant_output_follow(link_path, &target));
    assert_string_equal(target, link_path);
    free(target);
    assert_int_equal(lstat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
    unlink(link_path);
}

static void links_are_followed_by_name_only(void **state)
{
    (void)state;
    char path[256], first[256], second[256], *target = NULL;
    struct stat info;
    path_of("a", path);
    path_of("first", first);
    path_of("second", second);
    assert_int_equal(symlink("second", first), 0);
    assert_int_equal(symlink(path, second), 0);
    CHECK_OK(ant_output_follow(first, &target)); /* the file need not exist */
    assert_string_equal(target, path);
    free(target);
    write_file(path, "old");
    write_file(first, "new"); /* a link that is not followed is replaced */
    assert_content(path, "old");
    assert_int_equal(lstat(first, &info), 0);
    assert_true(S_ISREG(info.st_mode));
    unlink(second);
    assert_int_equal(symlink("second", second), 0);
    CHECK_FAILS(ant_output_follow(second, &target), ANTLER_ERROR_ARGUMENT, "is not followed");
    unlink(first);
    unlink(second);
    unlink(path);
}

/* In a folder such as /tmp somebody else could send the file anywhere. */
static void a_planted_link_is_not_followed(void **state)
{
    (void)state;
    char path[256], *target = NULL;
    if (geteuid() != 0)
        skip(); /* others can only be made by root */
    path_of("planted", path);
    assert_int_equal(symlink("victim", path), 0);
    assert_int_equal(lchown(path, 1234, (gid_t)-1), 0);
    CHECK_OK(ant_output_follow(path, &target));
    free(target);
    assert_int_equal(chmod(folder, 01777), 0);
    CHECK_FAILS(ant_output_follow(path, &target), ANTLER_ERROR_ARGUMENT, "is not followed");
    assert_int_equal(chmod(folder, 0700), 0);
    unlink(path);
}

static void a_text_replaces_a_file_whole(void **state)
{
    (void)state;
    char path[256];
    path_of("a", path);
    write_file(path, "a longer old text");
    CHECK_OK(antler_write_file(path, "new\n"));
    assert_content(path, "new\n");
    unlink(path);
    path_of("none/a", path);
    CHECK_FAILS(antler_write_file(path, "new"), ANTLER_ERROR_NOT_FOUND, "folder does not exist");
}

static void output_faults_have_sentences(void **state)
{
    (void)state;
    char path[256];
    ant_output output;
    path_of("none/a", path);
    CHECK_FAILS(ant_output_open(&output, path), ANTLER_ERROR_NOT_FOUND, "folder does not exist");
    CHECK_FAILS(ant_output_open(&output, folder), ANTLER_ERROR_ARGUMENT, "is a folder");
}

/* ---- text ------------------------------------------------------------------------------------------ */

static void nearest_word(void **state)
{
    (void)state;
    static const char *const words[] = {"lorenz63", "lorenz96", "neuron", "roessler"};
    assert_string_equal(antler_nearest("lorens63", words, 4), "lorenz63");
    assert_string_equal(antler_nearest("Neuron", words, 4), "neuron");
    assert_string_equal(antler_nearest("rossler", words, 4), "roessler");
    assert_null(antler_nearest("pendulum", words, 4));
    assert_null(antler_nearest("", words, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_names_and_signs),
        cmocka_unit_test(message_of_nested_failures),
        cmocka_unit_test(messages_belong_to_threads),
        cmocka_unit_test(a_long_message_is_cut_not_overrun),
        cmocka_unit_test(arena_counts_then_carves_the_same),
        cmocka_unit_test(arena_scratch_keeps_the_high_water_mark),
        cmocka_unit_test(arena_refuses_what_cannot_be),
        cmocka_unit_test(philox_known_answers),
        cmocka_unit_test(streams_are_named_not_advanced),
        cmocka_unit_test(a_stream_runs_past_32_bits_of_blocks),
        cmocka_unit_test(uniform_numbers_fill_the_open_interval),
        cmocka_unit_test(below_is_the_high_product),
        cmocka_unit_test(normals_have_their_moments),
        cmocka_unit_test(cpu_mask_only_lowers),
        cmocka_unit_test(threads_are_bounded),
        cmocka_unit_test(progress_can_cancel),
        cmocka_unit_test(output_appears_at_commit),
        cmocka_unit_test(an_aborted_output_leaves_the_old_file),
        cmocka_unit_test(a_full_disk_leaves_the_old_file),
        cmocka_unit_test(a_new_file_obeys_the_umask),
        cmocka_unit_test(a_fifo_is_written_into),
        cmocka_unit_test(a_device_stays_a_device),
        cmocka_unit_test(links_are_followed_by_name_only),
        cmocka_unit_test(a_planted_link_is_not_followed),
        cmocka_unit_test(a_text_replaces_a_file_whole),
        cmocka_unit_test(output_faults_have_sentences),
        cmocka_unit_test(nearest_word),
    };
    return cmocka_run_group_tests_name("base", tests, make_folder, remove_folder);
}
