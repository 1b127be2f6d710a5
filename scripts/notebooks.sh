#!/usr/bin/env bash
# notebooks.sh BUILD [OUT] - execute every notebook of docs/notebooks; with OUT, write them there as pages with their output.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 out=${2:-}
export PYTHONPATH=$PWD/python ANTLER_LIBRARY=$PWD/$build/libantler.so PYTHONDONTWRITEBYTECODE=1 OMP_WAIT_POLICY=passive
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# A kernel of the very Python that is used, whatever else is registered on this machine.
/usr/bin/python3 -m ipykernel install --prefix "$work" --name python3 >/dev/null 2>&1
export JUPYTER_PATH=$work/share/jupyter JUPYTER_PREFER_ENV_PATH=1
for notebook in docs/notebooks/*.ipynb; do
    name=$(basename "$notebook" .ipynb)
    cp "$notebook" "$work/"
    (cd "$work" && /usr/bin/python3 -m nbconvert --to markdown --execute --ExecutePreprocessor.timeout=1200 --output "$name" "$name.ipynb" >log 2>&1) ||
        { cat "$work/log" >&2; echo "The notebook $notebook failed." >&2; exit 1; }
    echo "$notebook: executed"
    if [ -n "$out" ]; then
        cp -r "$work/$name.md" "$out/"
        [ ! -d "$work/${name}_files" ] || cp -r "$work/${name}_files" "$out/"
    fi
done
