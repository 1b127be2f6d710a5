/*
 * The way to the GPU on a machine without one: missing and faulty libraries, the cache of compiled kernels,
 * and the calls of device.h, on the fake driver and compiler of tests/fake.  A library that was opened stays
 * open, so the tests of missing ones come first.
 */
#include "engine/cuda/cache.h"
#include "engine/cuda/program.h"
#include "engine/cuda/sources.h"
#include "unit/folder.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

static void use_fake(const char *mode)
{
    setenv("ANTLER_CUDA_DRIVER", FAKE_CUDA_LIBRARY, 1);
    setenv("ANTLER_NVRTC", FAKE_NVRTC_LIBRARY, 1);
    setenv("FAKE_CUDA", mode, 1);
}

static void no_driver(void **state)
{
    (void)state;
    size_t count = 7;
    setenv("ANTLER_CUDA_DRIVER", "/nowhere/libcuda.so.1", 1);
    CHECK_FAILS(antler_device_count(&count), ANTLER_ERROR_DEVICE,
                "there is no NVIDIA driver: /nowhere/libcuda");
    assert_int_equal(count, 0);
    /* A library that is none of NVIDIA's. */
    setenv("ANTLER_CUDA_DRIVER", FAKE_NVRTC_LIBRARY, 1);
    CHECK_FAILS(antler_device_count(&count), ANTLER_ERROR_DEVICE, "too old: it has no cuInit");
}

static void no_compiler(void **state)
{
    (void)state;
    ant_nvrtc_facts facts;
    setenv("ANTLER_NVRTC", "/nowhere/libnvrtc.so", 1);
    CHECK_FAILS(ant_nvrtc_open(&facts), ANTLER_ERROR_DEVICE,
                "ANTLER_NVRTC=/nowhere/libnvrtc.so cannot be opened");
    setenv("ANTLER_NVRTC", FAKE_CUDA_LIBRARY, 1);
    CHECK_FAILS(ant_nvrtc_open(&facts), ANTLER_ERROR_DEVICE, "pip install nvidia-cuda-nvrtc");
    antler_device_software software;
    antler_device_software_get(&software);
    assert_int_equal(software.nvrtc_major, 0);
    assert_non_null(strstr(software.nvrtc_problem, "nvrtcVersion"));
}

static void no_gpu(void **state)
{
    (void)state;
    size_t count = 0;
    use_fake("none");
    CHECK_FAILS(antler_device_count(&count), ANTLER_ERROR_DEVICE, "sees no GPU");
    use_fake("stub");
    CHECK_FAILS(antler_device_count(&count), ANTLER_ERROR_DEVICE, "stub");
    use_fake("mismatch");
    CHECK_FAILS(antler_device_count(&count), ANTLER_ERROR_DEVICE, "restart the machine");
    use_fake("unnamed");
    CHECK_FAILS(antler_device_count(&count), ANTLER_ERROR_DEVICE, "CUDA_ERROR_UNKNOWN (999)");
}

static void devices(void **state)
{
    (void)state;
    size_t count = 0;
    antler_device_info info;
    antler_device_software software;
    use_fake("");
    CHECK_OK(antler_device_count(&count));
    assert_int_equal(count, 1);
    CHECK_OK(antler_device_at(0, &info));
    assert_string_equal(info.name, "Imaginary GPU");
    assert_int_equal(10 * info.capability_major + info.capability_minor, 90);
    assert_int_equal(info.memory_free, 1000000);
    assert_string_equal(info.problem, "");
    CHECK_FAILS(antler_device_at(1, &info), ANTLER_ERROR_DEVICE, "there is no GPU 1");
    antler_device_software_get(&software);
    assert_int_equal(software.driver_major, 13);
    assert_int_equal(software.nvrtc_minor, 7);
    assert_string_equal(software.nvrtc_path, FAKE_NVRTC_LIBRARY);
    use_fake("old");
    CHECK_FAILS(antler_device_at(0, &info), ANTLER_ERROR_DEVICE, "needs 8.0 or newer");
    use_fake("none");
    CHECK_FAILS(antler_device_count(&count), ANTLER_ERROR_DEVICE, "sees no GPU");
}

/* Streams and events of the driver that are still there. */
static size_t open_handles(void)
{
    void *driver = dlopen(FAKE_CUDA_LIBRARY, RTLD_NOW);
    assert_non_null(driver);
    size_t (*count)(void) = NULL;
    *(void **)&count = dlsym(driver, "fake_cuda_handles");
    assert_non_null(count);
    const size_t found = count();
    dlclose(driver);
    return found;
}

static void a_closed_device_leaves_nothing(void **state)
{
    (void)state;
    ant_cuda_device *device = NULL;
    use_fake("");
    const size_t before = open_handles();
    CHECK_OK(ant_cuda_device_open(0, &device));
    assert_int_equal(open_handles(), before + 3); /* a stream and two events */
    ant_cuda_device_close(device);
    assert_int_equal(open_handles(), before);
}

static size_t compilations(void)
{
    struct stat facts;
    return stat("compiled", &facts) == 0 ? (size_t)facts.st_size : 0;
}

/* Open the fake device and the program; `option` changes the key of the cache. */
static ant_cuda_program *open_program(ant_cuda_device **device, const char *option)
{
    ant_cuda_program *program = NULL;
    const char *const options[] = {"-DBLOCK=256", option};
    use_fake("");
    setenv("FAKE_NVRTC_COUNT", "compiled", 1);
    CHECK_OK(ant_cuda_device_open(0, device));
    CHECK_OK(ant_cuda_program_create(*device, "selftest.cu", options, 2, &program));
    return program;
}

static void close_program(ant_cuda_device *device, ant_cuda_program *program)
{
    ant_cuda_program_free(program);
    ant_cuda_device_close(device);
}

static void launches(void **state)
{
    (void)state;
    enum { COUNT = 100 };
    ant_cuda_device *device = NULL;
    ant_cuda_program *program = open_program(&device, "-DUSE=1");
    ant_cuda_kernel scale, other;
    ant_cuda_buffer x = {0};
    float host[COUNT], factor = 2.0f;
    unsigned count = COUNT;
    for (int i = 0; i < COUNT; i++)
        host[i] = (float)i;
    CHECK_OK(ant_cuda_program_kernel(program, "scale", &scale));
    assert_int_equal(scale.registers, 32);
    CHECK_FAILS(ant_cuda_program_kernel(program, "absent", &other), ANTLER_ERROR_INTERNAL, "selftest.cu");
    CHECK_OK(ant_cuda_alloc_from(device, host, sizeof host, "a test", &x));
    CHECK_OK(ant_cuda_timer_start(device));
    CHECK_OK(ant_cuda_launch(device, &scale, ant_cuda_grid_1d(1, 256),
                             ANT_CUDA_ARGS(&x.address, &factor, &count)));
    double milliseconds = 0.0;
    CHECK_OK(ant_cuda_timer_stop(device, &milliseconds));
    CHECK_NEAR(milliseconds, 1.5, 0.0);
    CHECK_OK(ant_cuda_download(device, host, x.address, sizeof host));
    for (int i = 0; i < COUNT; i++)
        CHECK_NEAR(host[i], 2.0 * i, 0.0);
    CHECK_FAILS(ant_cuda_launch(device, &scale, ant_cuda_grid_1d(1, 2048),
                                ANT_CUDA_ARGS(&x.address, &factor, &count)),
                ANTLER_ERROR_DEVICE, "could not launch scale");
    CHECK_FAILS(ant_cuda_kernel_allow_shared(device, &scale, 1000000), ANTLER_ERROR_DEVICE, "shared memory");
    ant_cuda_free(device, &x);
    assert_true(x.address == 0);
    close_program(device, program);
}

static void faults_of_the_device(void **state)
{
    (void)state;
    ant_cuda_device *device = NULL;
    ant_cuda_program *program = open_program(&device, "-DUSE=1");
    ant_cuda_buffer x = {0};
    void *host = NULL;
    use_fake("full");
    CHECK_FAILS(ant_cuda_alloc(device, 5000000, "the orbit", &x), ANTLER_ERROR_DEVICE,
                "5 MB for the orbit were requested, 1 of 8000 MB are free");
    CHECK_FAILS(ant_cuda_alloc_host(device, 5000000, &host), ANTLER_ERROR_MEMORY, "5 MB");
    use_fake("lost");
    CHECK_FAILS(ant_cuda_wait(device), ANTLER_ERROR_DEVICE, "CUDA_ERROR_ILLEGAL_ADDRESS (700)");
    assert_non_null(strstr(antler_message(), "start the command again"));
    use_fake("");
    ant_cuda_program *broken = NULL;
    const char *const options[] = {"-DBROKEN"};
    CHECK_FAILS(ant_cuda_program_create(device, "selftest.cu", options, 1, &broken), ANTLER_ERROR_DEVICE,
                "selftest.cu(3): error: it is broken");
    CHECK_FAILS(ant_cuda_program_create(device, "absent.cu", options, 1, &broken), ANTLER_ERROR_INTERNAL,
                "absent.cu");
    CHECK_FAILS(ant_nvrtc_check_sm(99), ANTLER_ERROR_DEVICE, "cannot compile for sm_99");
    close_program(device, program);
}

/* ---- cache --------------------------------------------------------------------------------------- */

static int cache_enter(void **state)
{
    const int failed = folder_enter(state);
    setenv("ANTLER_CACHE", "cache/of/kernels", 1);
    return failed;
}

static int cache_leave(void **state)
{
    return system("rm -rf cache") != 0 || folder_leave(state);
}

static ant_hash key_of(const char *text)
{
    return ant_hash_add_text(ant_hash_begin(), text);
}

static void hash_known_values(void **state)
{
    (void)state;
    /* Published test values of FNV-1a with 128 bits: "" and "a". */
    ant_hash hash = ant_hash_begin();
    assert_true(hash.high == 0x6c62272e07bb0142u && hash.low == 0x62b821756295c58du);
    hash = ant_hash_add(hash, "a", 1);
    assert_true(hash.high == 0xd228cb696f1a8cafu && hash.low == 0x78912b704e4a8964u);
}

static void cache_file(char *path, size_t bytes, ant_hash key)
{
    snprintf(path, bytes, "cache/of/kernels/%016llx%016llx.cubin", (unsigned long long)key.high,
             (unsigned long long)key.low);
}

static void cache_keeps(void **state)
{
    (void)state;
    void *bytes = NULL;
    size_t size = 0;
    assert_false(ant_cache_load(key_of("one"), &bytes, &size));
    ant_cache_store(key_of("one"), "contents", 8);
    assert_true(ant_cache_load(key_of("one"), &bytes, &size));
    assert_int_equal(size, 8);
    assert_memory_equal(bytes, "contents", 8);
    free(bytes);
    assert_false(ant_cache_load(key_of("two"), &bytes, &size));
    struct stat facts;
    assert_int_equal(stat("cache", &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0700);
}

static void cache_refuses_damage(void **state)
{
    (void)state;
    char path[128];
    const ant_hash key = key_of("damage");
    cache_file(path, sizeof path, key);
    ant_cache_store(key, "contents", 8);
    FILE *file = fopen(path, "rb");
    unsigned char whole[256];
    assert_non_null(file);
    const size_t length = fread(whole, 1, sizeof whole, file);
    fclose(file);
    void *bytes = NULL;
    size_t size = 0;
    for (size_t cut = 0; cut < length; cut++) { /* truncated anywhere */
        folder_write(path, whole, cut);
        assert_false(ant_cache_load(key, &bytes, &size));
    }
    for (size_t i = 0; i < length; i++) { /* one bit turned anywhere */
        whole[i] ^= 1;
        folder_write(path, whole, length);
        assert_false(ant_cache_load(key, &bytes, &size));
        whole[i] ^= 1;
    }
    whole[length] = 0; /* something after the end */
    folder_write(path, whole, length + 1);
    assert_false(ant_cache_load(key, &bytes, &size));
    ant_cache_store(key, "contents", 8); /* and it is written anew */
    assert_true(ant_cache_load(key, &bytes, &size));
    free(bytes);
}

static bool cache_has(ant_hash key)
{
    void *bytes = NULL;
    size_t size = 0;
    const bool found = ant_cache_load(key, &bytes, &size);
    if (found)
        free(bytes);
    return found;
}

/* What somebody else may have written is not loaded, whatever it holds, and the reason can be read. */
static void cache_refuses_others(void **state)
{
    (void)state;
    char path[128], shown[256];
    const ant_hash key = key_of("others");
    cache_file(path, sizeof path, key);
    const mode_t mask = umask(0);
    ant_cache_store(key, "contents", 8);
    umask(mask);
    struct stat facts;
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
    assert_true(cache_has(key));
    CHECK_OK(ant_cache_check(shown, sizeof shown));
    assert_string_equal(shown, "cache/of/kernels");

    const mode_t open_modes[] = {0660, 0606};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(chmod(path, open_modes[i]), 0);
        assert_false(cache_has(key));
        ant_cache_store(key, "contents", 8); /* compiled and written anew */
        assert_true(cache_has(key));
        assert_int_equal(chmod("cache/of/kernels", 0700 | open_modes[i]), 0);
        assert_false(cache_has(key));
        CHECK_FAILS(ant_cache_check(shown, sizeof shown), ANTLER_ERROR_IO, "others may write it");
        assert_int_equal(unlink(path), 0);
        ant_cache_store(key, "contents", 8);
        assert_int_equal(access(path, F_OK), -1); /* nothing is put where it could be changed */
        assert_int_equal(chmod("cache/of/kernels", 0700), 0);
        ant_cache_store(key, "contents", 8);
    }
    assert_int_equal(rename(path, "cache/elsewhere"), 0);
    assert_int_equal(symlink("../../elsewhere", path), 0); /* from cache/of/kernels */
    assert_false(cache_has(key));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rename("cache/elsewhere", path), 0);
    assert_true(cache_has(key));
    if (geteuid() == 0) { /* others can only be made by root */
        assert_int_equal(chown(path, 1234, (gid_t)-1), 0);
        assert_false(cache_has(key));
        assert_int_equal(chown(path, 0, (gid_t)-1), 0);
        assert_int_equal(chown("cache/of/kernels", 1234, (gid_t)-1), 0);
        assert_false(cache_has(key));
        CHECK_FAILS(ant_cache_check(shown, sizeof shown), ANTLER_ERROR_IO, "belongs to another user (1234)");
        antler_device_software software;
        antler_device_software_get(&software);
        assert_non_null(strstr(software.cache_problem, "belongs to another user (1234)"));
        assert_int_equal(chown("cache/of/kernels", 0, (gid_t)-1), 0);
        assert_true(cache_has(key));
    }
}

static void cache_unwritable(void **state)
{
    (void)state;
    void *bytes = NULL;
    size_t size = 0;
    folder_write_text("file", "in the way");
    setenv("ANTLER_CACHE", "file/below", 1);
    (void)ant_fail_memory(1, "the sentence before");
    ant_cache_store(key_of("one"), "contents", 8);
    assert_non_null(strstr(antler_message(), "the sentence before"));
    assert_false(ant_cache_load(key_of("one"), &bytes, &size));
    setenv("ANTLER_CACHE", "cache/of/kernels", 1);
}

/* Program by program: compiled once, found after that, compiled again when the file is damaged. */
static void cache_in_use(void **state)
{
    (void)state;
    ant_cuda_device *device = NULL;
    ant_cuda_program *program = open_program(&device, "-DUSE=2");
    const size_t before = compilations();
    assert_false(ant_cuda_program_was_cached(program));
    close_program(device, program);
    program = open_program(&device, "-DUSE=2");
    assert_true(ant_cuda_program_was_cached(program));
    assert_int_equal(compilations(), before);
    close_program(device, program);
    program = open_program(&device, "-DUSE=3");
    assert_int_equal(compilations(), before + 1);
    close_program(device, program);
    assert_int_equal(system("for f in cache/of/kernels/*; do printf damaged > $f; done"), 0);
    program = open_program(&device, "-DUSE=2");
    assert_false(ant_cuda_program_was_cached(program));
    assert_int_equal(compilations(), before + 2);
    close_program(device, program);
    setenv("ANTLER_CACHE", "/proc/nothing/here", 1); /* no cache at all */
    program = open_program(&device, "-DUSE=2");
    assert_int_equal(compilations(), before + 3);
    close_program(device, program);
    setenv("ANTLER_CACHE", "cache/of/kernels", 1);
}

static void sources_from_a_folder(void **state)
{
    (void)state;
    ant_sources sources;
    CHECK_OK(ant_sources_get("selftest.cu", &sources));
    assert_non_null(strstr(sources.source.text, "__global__"));
    assert_true(sources.source.header_count >= 2);
    ant_sources_clear(&sources);
    setenv("ANTLER_KERNEL_DIR", "/nowhere", 1);
    CHECK_FAILS(ant_sources_get("selftest.cu", &sources), ANTLER_ERROR_NOT_FOUND, "/nowhere/");
    setenv("ANTLER_KERNEL_DIR", TEST_DATA "/../src/engine/cuda/kernels", 1);
    CHECK_OK(ant_sources_get("selftest.cu", &sources));
    assert_non_null(strstr(sources.source.text, "__global__"));
    ant_sources_clear(&sources);
    unsetenv("ANTLER_KERNEL_DIR");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_driver),
        cmocka_unit_test(no_compiler),
        cmocka_unit_test(no_gpu),
        cmocka_unit_test(devices),
        cmocka_unit_test(a_closed_device_leaves_nothing),
        cmocka_unit_test(launches),
        cmocka_unit_test(faults_of_the_device),
        cmocka_unit_test(hash_known_values),
        cmocka_unit_test(cache_keeps),
        cmocka_unit_test(cache_refuses_damage),
        cmocka_unit_test(cache_refuses_others),
        cmocka_unit_test(cache_unwritable),
        cmocka_unit_test(cache_in_use),
        cmocka_unit_test(sources_from_a_folder),
    };
    return cmocka_run_group_tests(tests, cache_enter, cache_leave);
}
