#!/usr/bin/env bash
# run.sh [FOLDER] [OPTION...] - forecasts from 512 rows of twelve chaotic flows, by Antler and by two trained peers.
# The peers (requirements.txt) are installed from PyPI into FOLDER/venv, about 6 GB with PyTorch; Antler must be built.
# Options are those of short.py, for example --starts 3 --methods antler,esn --minutes 30.  A second call continues
# where the first one stopped, and ends with the table.  FOLDER is experiments/short/results unless given.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
folder=$here/results
if [ $# -gt 0 ] && [ "${1#--}" = "$1" ]; then folder=$1 && shift; fi
mkdir -p "$folder"
python=${SHORT_PYTHON:-$folder/venv/bin/python}
if [ ! -x "$python" ]; then
    if ! { python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" install -q -r "$here/requirements.txt"; }; then
        rm -rf "$folder/venv"
        {
            echo "The peers could not be installed. Make a Python environment with these packages, and name its python in"
            echo "SHORT_PYTHON; a python with NumPy alone serves with --methods antler."
            cat "$here/requirements.txt"
        } >&2
        exit 2
    fi
fi
export ANTLER_LIBRARY=${ANTLER_LIBRARY:-$root/build/libantler.so} PYTHONPATH=$root/python OMP_NUM_THREADS=1
exec "$python" "$here/short.py" "$folder" "$@"
