# shellcheck shell=bash
# Sourced: settings that every sanitizer run needs.  archer tells ThreadSanitizer about OpenMP's own synchronisation.
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:allocator_may_return_null=1
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=ignore_noninstrumented_modules=1:allocator_may_return_null=1
archer=$(find /usr/lib/llvm-* -name libarcher.so 2>/dev/null | sort | head -n 1)
[ -z "$archer" ] || export OMP_TOOL_LIBRARIES=$archer
