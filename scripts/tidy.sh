#!/usr/bin/env bash
# tidy.sh [FILE...] - clang-tidy 14 with the checks of .clang-tidy over these or all C sources.
# Each file once: templates as they are compiled for float, kernels of the CPU as for its plain instruction set.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset clang -B build/tidy -DANTLER_ONLY_OWN_TESTS=OFF >/dev/null # with the tests that `make clang` leaves out
database=build/tidy/once
mkdir -p "$database"
mapfile -t files < <(/usr/bin/python3 - "$database" "$@" <<'PYTHON'
import json
import pathlib
import sys

wanted = {str(pathlib.Path(name).resolve()) for name in sys.argv[2:]}
once = {}
for entry in json.loads(pathlib.Path("build/tidy/compile_commands.json").read_text()):
    inside = pathlib.Path(entry["file"]).relative_to(pathlib.Path.cwd())
    if inside.suffix == ".c" and inside.parts[0] != "build" and (not wanted or entry["file"] in wanted):
        once.setdefault(entry["file"], entry)
(pathlib.Path(sys.argv[1]) / "compile_commands.json").write_text(json.dumps(list(once.values())))
print("\n".join(once))
PYTHON
)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! printf '%s\n' "${files[@]}" | xargs -P "${JOBS:-$(nproc)}" -n 8 clang-tidy-14 -p "$database" --quiet >"$log" 2>&1; then
    grep -vE '^[0-9]+ (warnings?|errors?) ' "$log" >&2
    exit 1
fi
echo "clang-tidy: nothing in ${#files[@]} files."
