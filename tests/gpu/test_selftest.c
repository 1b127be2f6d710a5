/* The way from C to the GPU and back: arguments, constants, random numbers, barriers, shared memory, graphs.
 */
#include "gpu/gpu.h"

#include "base/random.h"

static ant_cuda_program *open_program(void)
{
    ant_cuda_program *program = NULL;
    const char *const options[] = {"-DBLOCK=256"};
    if (ant_cuda_program_create(gpu, "selftest.cu", options, 1, &program) != ANTLER_OK)
        EXPECT(false, "%s", antler_message());
    return program;
}

static void check_scale(ant_cuda_program *program)
{
    enum { COUNT = 1000 };
    static float host[COUNT];
    float factor = 2.0f, offset = 0.5f;
    unsigned count = COUNT;
    ant_cuda_kernel scale;
    ant_cuda_buffer x = {0};
    ant_cu_pointer constant = 0;
    size_t bytes = 0;
    for (int i = 0; i < COUNT; i++)
        host[i] = (float)i;
    REQUIRE_OK(ant_cuda_program_kernel(program, "scale", &scale));
    EXPECT(scale.registers > 0 && scale.max_threads >= 256, "strange attributes of a kernel");
    REQUIRE_OK(ant_cuda_program_global(program, "offset", &constant, &bytes));
    EXPECT(bytes == sizeof offset, "the constant has %zu bytes", bytes);
    REQUIRE_OK(ant_cuda_upload(gpu, constant, &offset, sizeof offset));
    REQUIRE_OK(ant_cuda_alloc_from(gpu, host, sizeof host, "a test", &x));
    double milliseconds = -1.0;
    REQUIRE_OK(ant_cuda_timer_start(gpu));
    REQUIRE_OK(
        ant_cuda_launch(gpu, &scale, ant_cuda_grid_1d(4, 256), ANT_CUDA_ARGS(&x.address, &factor, &count)));
    REQUIRE_OK(ant_cuda_timer_stop(gpu, &milliseconds));
    EXPECT(milliseconds > 0.0, "the GPU's clock stands still");
    REQUIRE_OK(ant_cuda_graph_begin(gpu));
    REQUIRE_OK(
        ant_cuda_launch(gpu, &scale, ant_cuda_grid_1d(4, 256), ANT_CUDA_ARGS(&x.address, &factor, &count)));
    REQUIRE_OK(
        ant_cuda_launch(gpu, &scale, ant_cuda_grid_1d(4, 256), ANT_CUDA_ARGS(&x.address, &factor, &count)));
    ant_cu_graph_exec graph = NULL;
    REQUIRE_OK(ant_cuda_graph_end(gpu, &graph));
    REQUIRE_OK(ant_cuda_graph_launch(gpu, graph));
    REQUIRE_OK(ant_cuda_download(gpu, host, x.address, sizeof host));
    for (int i = 0; i < COUNT; i++)
        EXPECT_NEAR(host[i], 8.0 * i + 3.5, 0.0); /* three times: 2 (2 (2 i + 1/2) + 1/2) + 1/2 */
    ant_cuda_graph_free(gpu, graph);
    ant_cuda_free(gpu, &x);
}

static void check_draw(ant_cuda_program *program)
{
    enum { BLOCKS = 3000, NUMBERS = 2 * BLOCKS };
    static uint64_t words[NUMBERS], below[NUMBERS];
    static double uniforms[NUMBERS];
    unsigned long long seed = 0x123456789abcdefull, n = 98765432123ull;
    unsigned replica = 17, update = 4000000000u, purpose = ANT_PURPOSE_WINDOWS, blocks = BLOCKS;
    ant_cuda_kernel draw;
    ant_cuda_buffer w = {0}, u = {0}, b = {0};
    REQUIRE_OK(ant_cuda_program_kernel(program, "draw", &draw));
    REQUIRE_OK(ant_cuda_alloc(gpu, sizeof words, "a test", &w));
    REQUIRE_OK(ant_cuda_alloc(gpu, sizeof uniforms, "a test", &u));
    REQUIRE_OK(ant_cuda_alloc(gpu, sizeof below, "a test", &b));
    REQUIRE_OK(ant_cuda_launch(
        gpu, &draw, ant_cuda_grid_1d((BLOCKS + 255) / 256, 256),
        ANT_CUDA_ARGS(&seed, &replica, &update, &purpose, &n, &blocks, &w.address, &u.address, &b.address)));
    REQUIRE_OK(ant_cuda_download(gpu, words, w.address, sizeof words));
    REQUIRE_OK(ant_cuda_download(gpu, uniforms, u.address, sizeof uniforms));
    REQUIRE_OK(ant_cuda_download(gpu, below, b.address, sizeof below));
    ant_stream stream = ant_stream_open(seed, replica, update, ANT_PURPOSE_WINDOWS);
    ant_stream again = stream, third = stream;
    for (int i = 0; i < NUMBERS; i++) {
        EXPECT(words[i] == ant_stream_u64(&stream), "word %d differs", i);
        EXPECT(uniforms[i] == ant_stream_uniform(&again), "uniform number %d differs", i);
        EXPECT(below[i] == ant_stream_below(&third, n), "bounded number %d differs", i);
    }
    ant_cuda_free(gpu, &w);
    ant_cuda_free(gpu, &u);
    ant_cuda_free(gpu, &b);
}

/* The same rounds on the host: row r + 1 is row r plus its left shift. */
static void meet_on_host(unsigned *numbers, unsigned blocks, unsigned rounds)
{
    for (unsigned round = 0; round < rounds; round++) {
        const unsigned first = numbers[0];
        for (unsigned i = 0; i < blocks; i++)
            numbers[i] += i + 1 < blocks ? numbers[i + 1] : first;
    }
}

static void check_meet(ant_cuda_program *program)
{
    ant_cuda_kernel exchange;
    int per_multiprocessor = 0;
    REQUIRE_OK(ant_cuda_program_kernel(program, "exchange", &exchange));
    REQUIRE_OK(ant_cuda_kernel_occupancy(gpu, &exchange, 256, 0, &per_multiprocessor));
    EXPECT(per_multiprocessor > 0, "no block fits");
    const unsigned blocks = (unsigned)(per_multiprocessor * gpu->multiprocessors);
    unsigned rounds = 101;
    unsigned *host = calloc(2 * blocks, sizeof *host), *want = calloc(blocks, sizeof *want);
    ant_cuda_buffer numbers = {0}, barrier = {0};
    for (unsigned i = 0; i < blocks; i++)
        want[i] = host[i] = 2654435761u * i;
    REQUIRE_OK(ant_cuda_alloc_from(gpu, host, 2 * blocks * sizeof *host, "a test", &numbers));
    REQUIRE_OK(ant_cuda_alloc(gpu, sizeof(unsigned), "a barrier", &barrier));
    REQUIRE_OK(ant_cuda_fill_async(gpu, barrier.address, 0, barrier.bytes));
    ant_cuda_grid grid = ant_cuda_grid_1d(blocks, 256);
    grid.cooperative = true;
    REQUIRE_OK(
        ant_cuda_launch(gpu, &exchange, grid, ANT_CUDA_ARGS(&barrier.address, &numbers.address, &rounds)));
    REQUIRE_OK(ant_cuda_download(gpu, host, numbers.address, 2 * blocks * sizeof *host));
    meet_on_host(want, blocks, rounds);
    int wrong = 0;
    for (unsigned i = 0; i < blocks; i++)
        wrong += host[blocks * (rounds % 2) + i] != want[i];
    EXPECT(wrong == 0, "%d of %u blocks saw old numbers", wrong, blocks);
    ant_cuda_free(gpu, &numbers);
    ant_cuda_free(gpu, &barrier);
    free(host);
    free(want);
}

static void check_shared(ant_cuda_program *program)
{
    ant_cuda_kernel fill;
    ant_cuda_buffer out = {0};
    unsigned words = (unsigned)gpu->shared_per_block / 4;
    unsigned long long sum = 0;
    REQUIRE_OK(ant_cuda_program_kernel(program, "fill_shared", &fill));
    REQUIRE_OK(ant_cuda_alloc(gpu, sizeof sum, "a test", &out));
    REQUIRE_OK(ant_cuda_kernel_allow_shared(gpu, &fill, 4 * (size_t)words));
    ant_cuda_grid grid = ant_cuda_grid_1d(1, 256);
    grid.shared = 4 * (size_t)words;
    REQUIRE_OK(ant_cuda_launch(gpu, &fill, grid, ANT_CUDA_ARGS(&words, &out.address)));
    REQUIRE_OK(ant_cuda_download(gpu, &sum, out.address, sizeof sum));
    EXPECT(sum == (unsigned long long)words * (words - 1) / 2, "the sum is %llu", sum);
    ant_cuda_free(gpu, &out);
}

static void with_program(void (*check)(ant_cuda_program *))
{
    ant_cuda_program *program = open_program();
    if (program != NULL)
        check(program);
    ant_cuda_program_free(program);
}

static void scale_and_graph(void)
{
    with_program(check_scale);
}

static void random_numbers(void)
{
    with_program(check_draw);
}

static void grid_barrier(void)
{
    with_program(check_meet);
}

static void shared_memory(void)
{
    with_program(check_shared);
}

static void too_much_memory(void)
{
    ant_cuda_buffer huge = {0};
    EXPECT(ant_cuda_alloc(gpu, (size_t)1 << 46, "a test", &huge) == ANTLER_ERROR_DEVICE &&
               strstr(antler_message(), "are free") != NULL,
           "%s", antler_message());
    ant_cuda_free(gpu, &huge);
}

static void second_time_from_the_cache(void)
{
    ant_cuda_program *program = open_program();
    ant_cuda_program_free(program);
    program = open_program();
    EXPECT(program != NULL && ant_cuda_program_was_cached(program), "the kernel was compiled twice");
    ant_cuda_program_free(program);
}

int main(int argc, char **argv)
{
    static const gpu_test tests[] = {
        GPU_TEST(scale_and_graph), GPU_TEST(random_numbers),  GPU_TEST(grid_barrier),
        GPU_TEST(shared_memory),   GPU_TEST(too_much_memory), GPU_TEST(second_time_from_the_cache),
    };
    return gpu_main(tests, sizeof tests / sizeof tests[0], argc, argv);
}
