#!/usr/bin/env bash
# test_browser.sh BUILD - open the report in headless Chromium; skipped, by name, where Chromium cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
if ! scripts/setup.sh browser; then
    echo "skipped: the test of the report in a browser, because Chromium and Selenium are not here"
    exit 0
fi
export ANTLER=$PWD/$build/antler ANTLER_LIBRARY=$PWD/$build/libantler.so PYTHONPATH=$PWD/python PYTHONDONTWRITEBYTECODE=1 OMP_WAIT_POLICY=passive
export SCREENSHOTS=$PWD/$build/screenshots
/usr/bin/python3 -m pytest -q -rs -p no:cacheprovider tests/browser/test_report_page.py
echo "Screenshots to look at: $build/screenshots"
