#!/usr/bin/env bash
# docs.sh BUILD - make the site: pages of docs/, the help of the command line, both references, pictures and the notebook.
# Warnings are errors, and every page is checked, in Chromium where it can be had.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
site=$build/docs
python=/usr/bin/python3
rm -rf "$site"
mkdir -p "$site/source/static"
cp docs/*.md docs/conf.py "$site/source/"
cp docs/math.js docs/site.css "$site/source/static/"
$python docs/theme.py "$site/source/static"
cp -rL /usr/share/javascript/katex "$site/source/static/"
cp CHANGELOG.md "$site/source/changelog.md"
for folder in decisions notebook pictures; do
    [ ! -d "docs/$folder" ] || cp -r "docs/$folder" "$site/source/"
done
export ANTLER_SOURCE=$PWD PYTHONPATH=$PWD/python ANTLER_LIBRARY=$PWD/$build/libantler.so PYTHONDONTWRITEBYTECODE=1 OMP_WAIT_POLICY=passive

step() { echo "Docs: $*"; }

step "pages of the command line and of the C header"
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
$python docs/c_reference.py include/antler/antler.h >"$site/source/c_api.rst"

step "pictures, from a training"
$python docs/pictures.py "$site/source/pictures"
if [ -d docs/notebooks ]; then
    step "the notebooks, executed"
    mkdir -p "$site/source/notebooks"
    scripts/notebooks.sh "$build" "$site/source/notebooks"
fi
step "the site, by Sphinx"
$python -m sphinx -W --keep-going -q -b html "$site/source" "$site/html"
step "every page in a browser"
scripts/setup.sh browser || true
SITE=$site/html SCREENSHOTS=$PWD/$build/screenshots $python -m pytest -q -rs -p no:cacheprovider tests/browser/test_site.py
echo "The site: $site/html/index.html; screenshots to look at: $build/screenshots"
