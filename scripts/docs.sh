#!/usr/bin/env bash
# docs.sh BUILD - the site: pages of docs/, the command line's own help, pictures and the notebook, made anew; warnings are errors.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
site=$build/docs
python=/usr/bin/python3
rm -rf "$site"
mkdir -p "$site/source/static"
cp docs/*.md docs/conf.py "$site/source/"
cp docs/math.js "$site/source/static/"
cp -rL /usr/share/javascript/katex "$site/source/static/"
cp CHANGELOG.md "$site/source/changelog.md"
for folder in decisions notebook; do
    [ ! -d "docs/$folder" ] || cp -r "docs/$folder" "$site/source/"
done
export ANTLER_SOURCE=$PWD PYTHONPATH=$PWD/python ANTLER_LIBRARY=$PWD/$build/libantler.so PYTHONDONTWRITEBYTECODE=1 OMP_WAIT_POLICY=passive

antler=$build/antler
{
    echo "# Command line"
    echo
    echo "As \`antler --help\` and \`antler COMMAND --help\` print it."
    printf '\n```text\n'
    "$antler" --help
    echo '```'
    commands=$("$antler" --help | sed -nE '/^Commands:/,/^$/s/^  ([a-z]+) .*/\1/p')
    for command in $commands report; do
        printf '\n## antler %s\n\n```text\n' "$command"
        "$antler" "$command" --help
        echo '```'
    done
} >"$site/source/cli.md"
{
    echo "# C reference"
    echo
    echo "One header, which reads like a manual."
    printf '\n```c\n'
    cat include/antler/antler.h
    echo '```'
} >"$site/source/c_api.md"

$python docs/pictures.py "$site/source/pictures"
if [ -d docs/notebooks ]; then
    mkdir -p "$site/source/notebooks"
    scripts/notebooks.sh "$build" "$site/source/notebooks"
fi
$python -m sphinx -W --keep-going -q -b html "$site/source" "$site/html"
echo "The site: $site/html/index.html"
