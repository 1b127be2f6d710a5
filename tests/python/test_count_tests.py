"""scripts/count_tests.py: fewer tests and unexpected skips are faults."""

import runpy
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "count_tests.py"
if not SCRIPT.exists():
    pytest.skip("needs the source tree", allow_module_level=True)
compare = runpy.run_path(str(SCRIPT))["compare"]

LOG = """\
 1/3 Test  #1: unit/test_a ..............   Passed    0.05 sec
 2/3 Test  #2: cli/test_b ...............***Skipped   0.02 sec
100% tests passed, 0 tests failed out of 3
"""
INNER = """\
[  SKIPPED ] test_x
[  SKIPPED ] 1 test(s), listed below:
[  PASSED  ] 7 test(s).
SKIPPED [1] tests/python/test_c.py:9: could not import 'sklearn'
5 passed, 1 skipped in 0.10s
"""
EXPECTED = """\
# a remark
test ctest 3
test cmocka 7
test pytest 5
skip test cli/test_b: needs a GPU
skip * test_x: others can only be made by root
skip test 'sklearn': the wheel's tests have it
"""


def test_what_is_expected_is_no_fault():
    assert compare("test", [LOG, INNER], EXPECTED) == ([], [])


@pytest.mark.parametrize("kind, more", [("ctest 3", "ctest 4"), ("cmocka 7", "cmocka 8"), ("pytest 5", "pytest 6")])
def test_fewer_tests_are_a_fault(kind, more):
    faults, _ = compare("test", [LOG, INNER], EXPECTED.replace(kind, more))
    assert len(faults) == 1 and "1 fewer" in faults[0]


def test_no_test_at_all_is_a_fault():
    faults, _ = compare("test", ["No tests were found!!!\n"], EXPECTED)
    assert len(faults) == 4


@pytest.mark.parametrize("line", [line for line in EXPECTED.splitlines() if line.startswith("skip")])
def test_a_skip_that_is_not_listed_is_a_fault(line):
    faults, _ = compare("test", [LOG, INNER], EXPECTED.replace(line + "\n", ""))
    assert len(faults) == 1 and "not expected" in faults[0]


def test_a_skip_of_another_step_is_a_fault():
    faults, _ = compare("asan", [LOG], EXPECTED)
    assert faults == ["asan: skipped, and not expected: cli/test_b"]


@pytest.mark.parametrize(
    "log",
    [
        "skipped: the test of the report in a browser, because Chromium and Selenium are not here",
        "check-kernels: skipped, because NVRTC is neither installed nor to be had from PyPI.",
        "  lssm    skipped: this build has no 'lssm'",
    ],
)
def test_scripts_that_skip(log):
    assert len(compare("browser", [log], EXPECTED)[0]) == 1


def test_fuzzers_and_kernels_are_counted():
    log = "fuzz_npy: no fault in 1 runs, 20 s\nfuzz_csv: no fault in 2 runs, 20 s\n"
    assert compare("fuzz", [log], "fuzz fuzzers 3")[0] == ["fuzz: 2 fuzzers tests, 1 fewer than expected"]
    log = "lssm.cu              sm_90   forward     40 registers    0 B shared\n"
    assert compare("kernels", [log], "kernels kernels 1") == ([], [])
    assert compare("kernels", [log], "") == ([], ["kernels kernels 1"])
