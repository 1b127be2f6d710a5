/* A kernel that writes where nothing is: the sentence, and that the process survives. */
#include "gpu/gpu.h"

static void illegal_address(void)
{
    ant_cuda_program *program = NULL;
    ant_cuda_kernel fault;
    const char *const options[] = {"-DBLOCK=256"};
    ant_cu_pointer nowhere = 64;
    REQUIRE_OK(ant_cuda_program_create(gpu, "selftest.cu", options, 1, &program));
    REQUIRE_OK(ant_cuda_program_kernel(program, "fault", &fault));
    REQUIRE_OK(ant_cuda_launch(gpu, &fault, ant_cuda_grid_1d(1, 32), ANT_CUDA_ARGS(&nowhere)));
    EXPECT(ant_cuda_wait(gpu) == ANTLER_ERROR_DEVICE && strstr(antler_message(), "is lost") != NULL, "%s",
           antler_message());
    ant_cuda_buffer buffer = {0}; /* from here on every call says so, and none crashes */
    EXPECT(ant_cuda_alloc(gpu, 1024, "a test", &buffer) == ANTLER_ERROR_DEVICE, "memory of a lost device");
    ant_cuda_free(gpu, &buffer);
    ant_cuda_program_free(program);
}

int main(int argc, char **argv)
{
    static const gpu_test tests[] = {GPU_TEST_NEEDS(illegal_address, GPU_ALONE | GPU_PLAIN)};
    return gpu_main(tests, sizeof tests / sizeof tests[0], argc, argv);
}
