#!/usr/bin/env bash
# lint.sh - shellcheck over all shell scripts, ruff over all Python files, mypy over the Python package.
# ruff and mypy come from PyPI into build/lint, in the versions of scripts/lint.txt: each version finds other things.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=build/lint
if ! cmp -s scripts/lint.txt "$tools/lint.txt"; then
    rm -rf "$tools"
    /usr/bin/python3 -m venv "$tools"
    "$tools/bin/pip" install --no-compile --quiet --disable-pip-version-check -r scripts/lint.txt
    cp scripts/lint.txt "$tools/"
fi
failures=0
mapfile -t shell < <(git ls-files --cached --others --exclude-standard '*.sh' .ci/run cmake/antler-extension.in | while read -r f; do [ -f "$f" ] && echo "$f"; done)
shellcheck "${shell[@]}" || failures=$((failures + 1))
"$tools/bin/ruff" check --cache-dir "$tools/ruff" . || failures=$((failures + 1))
"$tools/bin/mypy" --cache-dir "$tools/mypy" || failures=$((failures + 1))
[ "$failures" = 0 ] || exit 1
echo "shellcheck: nothing in ${#shell[@]} scripts."
