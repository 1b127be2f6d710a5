# shellcheck shell=bash
# Sourced: settings that every sanitizer run needs.  archer tells ThreadSanitizer about OpenMP's own synchronisation.
# LeakSanitizer of clang 14 crashes now and then on dynamic thread-local memory of threads that have ended.
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:allocator_may_return_null=1:intercept_tls_get_addr=0
# What LLVM's OpenMP library keeps for its threads until the process ends is no leak of ours.
suppressions=$PWD/build/lsan.txt
echo leak:libomp.so >"$suppressions.$$" && mv "$suppressions.$$" "$suppressions" # a test may read it at this moment
export LSAN_OPTIONS=suppressions=$suppressions:print_suppressions=0
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=ignore_noninstrumented_modules=1:allocator_may_return_null=1
archer=$(find /usr/lib/llvm-* -name libarcher.so 2>/dev/null | sort | head -n 1) || true
[ -z "$archer" ] || export OMP_TOOL_LIBRARIES=$archer
