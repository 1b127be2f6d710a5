#!/usr/bin/env bash
# no_threads.sh COMMAND... - run a test, and fail when it starts a thread: the build for ThreadSanitizer leaves it out.
# Where no process can be traced, the test runs alone.
set -uo pipefail
trace=$(mktemp)
trap 'rm -f "$trace"' EXIT
strace=(strace -f -qq --seccomp-bpf -e "trace=clone,clone3" -e signal=none -o "$trace")
"${strace[@]}" true 2>/dev/null || exec "$@"
code=0
"${strace[@]}" "$@" || code=$?
if grep -q CLONE_THREAD "$trace"; then
    echo "It starts threads: take it out of without_threads in tests/CMakeLists.txt." >&2
    exit 1
fi
exit "$code"
