#!/usr/bin/env bash
# run.sh [FOLDER] - Lorenz-63 with missing values (gaps.py); minutes per model on one core.  Resumes where it stopped.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
export PYTHONPATH=$root/python ANTLER_LIBRARY=${ANTLER_LIBRARY:-$root/build/libantler.so}
exec python3 gaps.py "${1:-results}" "${@:2}"
