"""scripts/check_docs.py: for each rule a small tree that breaks it and one that keeps it."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_docs.py"

TABLE = """/* settings_table.c - settings. */
static const ant_setting table[] = {
    {{"seed", "run", "whole number below 2^64", NULL, "1", 0.0, 1.0, false, false, "Of windows."},
     ANT_SETTING_SEED, FIELD(seed), false},
    TEXT("run", name, "run", true, "Folder."),
    CHOICE("forcing", teacher, teachers, "flow",
           "Gradient through the teacher signal."),
    REAL("model", kappa, "0.9995", 0.0, true, 1.0, true, "Diagonal of A."),
    COUNT("forcing", batch_size, "16", 1, 1e6, false, "Windows."),
    BOOL("model", clipped, "false", "Bounded."),
    TEXT("data", columns, "", false, "Variables."),
    REAL("solver", tolerance, "0", 0.0, false, 1.0, false, "Newton stops."),
};
"""
SETTINGS = """# Settings

| name | default | values | meaning |
| --- | --- | --- | --- |
| `seed` | `1` | whole number | Of windows. |
| `name` | `run` | text | Folder. |
| `teacher` | `flow` | `flow`, `stop` | Gradient. |
| `kappa` | `0.9995` | number | Diagonal of A. |
| `batch_size` | `16` | whole number | Windows. |
| `clipped` | `false` | true or false | Bounded. |
| `columns` |  | text | Variables. |
| `tolerance` | `0` | number | Newton stops. 0: 1e-4 in float and 1e-10 in double. |
"""
SPEC = """# Specification

## 1 Models

## 3 Solvers

| solver and device | compared | float | double |
| --- | --- | --- | --- |
| `deer`, `quasi-deer`, CPU and GPU | max abs(dz) | 1e-4 | 1e-10 |
| `shooting`, GPU | gap | 1e-6 | 1e-12 |

## 8 Measures

**White.** |z| ≤ √(2 ln(1.645 N² k² / 0.001)), and nowhere less than 2 √(2 ln(3 N / 0.001) / (1000 q)).
"""
CODE = {
    "src/solve/plan_tmpl.c": "/* plan_tmpl.c - a plan. */\n"
    "void f(void)\n{\n    o.tolerance = sizeof(real) == sizeof(float) ? 1e-4 : 1e-10;\n}\n",
    "src/engine/cuda/deer.c": "/* deer.c - DEER. */\n"
    "void f(void)\n{\n    p.tolerance = set->tolerance > 0.0 ? set->tolerance : single ? 1e-4 : 1e-10;\n}\n",
    "src/engine/cuda/shplrnn_pass.c": "/* shplrnn_pass.c - a pass. */\n"
    "void f(void)\n{\n    p.tolerance = set->tolerance > 0.0 ? set->tolerance\n"
    "                  : single             ? 1e-6\n                                       : 1e-12;\n}\n",
    "src/measure/white.c": "/* white.c - white noise. */\nstatic const double CHANCE = 1e-3;\n",
}
GOOD = {
    "src/train/settings_table.c": TABLE,
    "docs/settings.md": SETTINGS,
    "docs/spec.md": SPEC,
    **CODE,
}


@pytest.fixture(scope="module")
def checker():
    if not SCRIPT.exists():
        pytest.skip("the scripts are not beside the tests")
    spec = importlib.util.spec_from_file_location("check_docs", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def check(checker, tmp_path, capsys):
    """check(rule, files): exit code and lines of a tree of GOOD and these files."""

    def run(rule, files):
        for path, text in {**GOOD, **files}.items():
            target = tmp_path / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        code = checker.main(["--root", str(tmp_path)] + (["--only", rule] if rule else []))
        return code, capsys.readouterr().out.splitlines()

    return run


def test_a_good_tree_passes_every_rule(check):
    code, lines = check(None, {})
    assert (code, lines) == (0, ["sections: 0", "files: 0", "defaults: 0", "lines: 0", "functions: 0", "heads: 0"])


@pytest.mark.parametrize(
    "path, text, line",
    [
        ("src/a.c", "/*\n * a.c - of SPEC\n * 2.\n */\n", 2),
        ("src/a.c", "/* a.c - something. */\nint x; // see spec 9\n", 2),
        ("src/a.cu", "// a.cu - first,\n// then (SPEC section\n// 7)\n", 2),
        ("python/antler/a.py", '"""What spec 3 and 4 say."""\n', 1),
        ("scripts/a.sh", "#!/bin/sh\n# a.sh - spec 12\n", 2),
        ("docs/page.md", "# Page\n\nAs in spec 1, 5.\n", 3),
        ("CHANGELOG.md", "as spec 6 says\n", 1),
    ],
)
def test_a_section_that_does_not_exist(check, path, text, line):
    code, lines = check("sections", {path: text})
    assert code == 1 and len(lines) == 2 and lines[0].startswith(f"{path}:{line}: sections: cites spec ")


def test_sections_that_exist(check):
    text = "/* a.c - spec 1, SPEC 3, spec 1 and 8, SPEC section 8; spec 3, 200 steps. */\n"
    text += 'const char *text = "spec 99"; // no comment\n'
    page = "# Old\n\nspec 77\n"
    code, lines = check("sections", {"src/a.c": text, "docs/notebook/old.md": page})
    assert (code, lines) == (0, ["sections: 0"])


@pytest.mark.parametrize(
    "path, text, name",
    [
        ("docs/page.md", "see `gone.c`\n", "gone.c"),
        ("docs/page.md", "see [there](gone.md#part)\n", "gone.md"),
        ("docs/page.md", "run `scripts/gone.sh`\n", "scripts/gone.sh"),
        ("docs/page.md", "`src/train/plan_tmpl.c` is elsewhere\n", "src/train/plan_tmpl.c"),
        ("docs/page.md", "all of `*_gone.c`\n", "*_gone.c"),
        ("README.md", "(`kernels/gone.cuh`)\n", "kernels/gone.cuh"),
        ("CONTRIBUTING.md", "tests/unit/test_gone.c, and more\n", "tests/unit/test_gone.c"),
        ("src/a.c", "/* gone_tmpl.c - what was renamed */\n", "gone_tmpl.c"),
        ("python/antler/a.py", '"""A module."""\nx = 1  # as in gone.py\n', "gone.py"),
    ],
)
def test_a_file_that_does_not_exist(check, path, text, name):
    code, lines = check("files", {path: text})
    assert code == 1 and len(lines) == 2 and lines[0].endswith(f": files: names {name}, which does not exist")


def test_files_that_exist(check):
    page = "`plan_tmpl.c`, `solve/plan_tmpl.c`, `src/solve/plan_tmpl.c`, [spec](spec.md), [up](../docs/spec.md#1), "
    page += "`*_tmpl.c`, `NAME.cu`, `run_FILE.h`, <https://example.org/a.c>, `mpi.h`, `run.yaml`, z.c\n"
    files = {"docs/page.md": page, "docs/notebook/old.md": "`gone.c`\n", "CHANGELOG.md": "`gone.c`\n"}
    assert check("files", files) == (0, ["files: 0"])


def test_defaults_of_the_settings_page(check):
    wrong = SETTINGS.replace("| `kappa` | `0.9995`", "| `kappa` | `0.9`").replace("| `clipped`", "| `cliped`")
    code, lines = check("defaults", {"docs/settings.md": wrong})
    assert code == 1 and lines == [
        "docs/settings.md:1: defaults: has no row for the setting clipped",
        "docs/settings.md:8: defaults: kappa: 0.9, but it is 0.9995",
        "docs/settings.md:10: defaults: there is no setting cliped",
        "defaults: 3",
    ]


@pytest.mark.parametrize(
    "quoted",
    [
        "`kappa` (default 0.9)",
        "`batch_size` (default `32`)",
        "`teacher: stop` (the default)",
        "`teacher: stop` (default)",
        "`gone: 1` (the default)",
    ],
)
def test_a_quoted_default_that_is_not_true(check, quoted):
    code, lines = check("defaults", {"docs/page.md": f"# Page\n\nWith {quoted} it works.\n"})
    assert code == 1 and len(lines) == 2 and lines[0].startswith("docs/page.md:3: defaults: ")


def test_quoted_defaults_that_are_true(check):
    page = "`kappa` (default 9.995e-1), `batch_size` (default `16`), `teacher: flow` (the default)\n"
    page += "`samples` (default 9) is no setting\n"
    assert check("defaults", {"docs/page.md": page}) == (0, ["defaults: 0"])


@pytest.mark.parametrize(
    "path, old, new",
    [
        ("docs/spec.md", "| 1e-4 | 1e-10 |", "| 1e-5 | 1e-10 |"),
        ("docs/spec.md", "| 1e-6 | 1e-12 |", "| 1e-6 | 1e-13 |"),
        ("docs/spec.md", "k² / 0.001", "k² / 0.01"),
        ("docs/spec.md", "3 N / 0.001", "3 N / 0.01"),
        ("docs/settings.md", "1e-4 in float", "1e-5 in float"),
        ("docs/settings.md", " 0: 1e-4 in float and 1e-10 in double.", ""),
        ("src/solve/plan_tmpl.c", "1e-4", "1e-3"),
        ("src/engine/cuda/deer.c", "1e-10", "1e-9"),
        ("src/engine/cuda/shplrnn_pass.c", "1e-6", "1e-7"),
        ("src/solve/plan_tmpl.c", "sizeof(real) == sizeof(float)", "single"),
    ],
)
def test_numbers_are_those_of_the_code(check, path, old, new):
    assert GOOD[path].count(old) == 1
    code, lines = check("defaults", {path: GOOD[path].replace(old, new)})
    assert code == 1 and ": defaults: " in lines[0]


@pytest.mark.parametrize(
    "path",
    ["docs/page.md", "docs/decisions/0001-a.md", "docs/notebook/old.md", "src/kernels/README.md", "CHANGELOG.md"],
)
def test_a_long_line_of_prose(check, path):
    code, lines = check("lines", {path: "# Page\n\n" + "ab " * 40 + "c\n"})
    assert (code, lines) == (1, [f"{path}:3: lines: has 121 characters", "lines: 1"])


def test_long_lines_in_lists_are_prose(check):
    prose = "ab " * 45 + "\n"
    code, lines = check("lines", {"docs/page.md": f"1. a list\n\n    {prose}- more\n  {prose}"})
    assert code == 1 and lines[-1] == "lines: 2"


def test_lines_that_may_be_long(check):
    row, code = "| " + "ab " * 50 + "|\n", "ab " * 50 + "\n"
    page = f"# Page\n\n{row}\n```text\n{code}```\n\nSo:\n\n    {code}    {code}\n"
    page += f"The end {'ä' * 100} of it.\n{'a' * 130}\n"
    assert check("lines", {"docs/page.md": page}) == (0, ["lines: 0"])


FUNCTIONS = {
    "src/solve/scan.c": "/* scan.c - a scan. */\nstatic void join(int a)\n{\n    open_file(a);\n}\n",
    "src/solve/plan_tmpl.c": "/* plan_tmpl.c - a plan. */\nint ANT_FN(ant_plan)(void)\n{\n    join(1);\n}\n",
    "src/engine/a.cu": '// a.cu - a kernel.\nextern "C" __global__ void __launch_bounds__(32) solve(args p)\n{\n}\n',
}


@pytest.mark.parametrize(
    "text, fault",
    [
        ("Calls `gone()`.\n", "gone() is not in src"),
        ("Calls `open_file()`.\n", "open_file() is not in src"),  # called, and defined elsewhere
        ("| `src/solve/plan_tmpl.c` | `join()` |\n", "join() is not in src/solve/plan_tmpl.c"),
        ("Here `join()` in\n`plan_tmpl.c`.\n", "join() is not in plan_tmpl.c"),
        ("| `scan.c` | `join()`, `solve()` |\n", "solve() is not in scan.c"),
    ],
)
def test_a_function_that_is_not_there(check, text, fault):
    code, lines = check("functions", {**FUNCTIONS, "docs/walk.md": "# Walk\n\n" + text})
    assert (code, lines) == (1, [f"docs/walk.md:3: functions: {fault}", "functions: 1"])


def test_functions_that_are_there(check):
    text = (
        "Then `ant_plan()` in `src/solve/plan_tmpl.c` calls `join()`,\nand `join` is called.\n\n"
        "| `src/solve/scan.c` | `join()` |\n| `a.cu` | `solve()` |\n"
    )
    files = {**FUNCTIONS, "docs/walk.md": text, "docs/python.md": "`fit()` of Python is not checked.\n"}
    assert check("functions", files) == (0, ["functions: 0"])


@pytest.mark.parametrize(
    "path, text",
    [
        ("src/a.c", '#include "b.h"\n\n/* too late */\n'),
        ("tests/fake/run_a.cpp", "#define M 4\n"),
        ("src/kernels/a.cuh", "#ifndef A\n// late\n#endif\n"),
        ("python/antler/a.py", "import os\n"),
        ("scripts/a.sh", "#!/bin/sh\nset -e\n# late\n"),
        ("cmake/a.cmake", "set(A 1)\n"),
        ("tests/CMakeLists.txt", "add_test(NAME a COMMAND a)\n"),
        ("src/base/version.h.in", "#define VERSION 1\n"),
    ],
)
def test_a_file_without_head(check, path, text):
    code, lines = check("heads", {path: text})
    assert (code, lines) == (1, [f"{path}:1: heads: has no head comment", "heads: 1"])


def test_a_head_with_the_name_of_another_file(check):
    code, lines = check("heads", {"src/new.c": "/* old.c - what it is. */\n"})
    assert (code, lines) == (1, ["src/new.c:1: heads: calls itself old.c", "heads: 1"])


def test_heads(check):
    files = {
        "src/a.c": "/*\n * a.c - what it is.\n */\n",
        "src/a.cuh": "\n// a.cuh - what it is.\n",
        "python/antler/a.py": '#!/usr/bin/env python3\n"""What it is."""\n',
        "python/antler/b.py": "# What it is.\nimport os\n",
        "python/antler/__init__.py": "",
        "scripts/a.sh": "#!/usr/bin/env bash\n# a.sh FILE - what it does\n",
        "examples/a.yaml": "data: train.npy\n",
    }
    assert check("heads", files) == (0, ["heads: 0"])


def test_counts(checker, check, tmp_path, capsys):
    body = "    step();\n" * 58
    long_one = f"static int f(int a,\n             int b)\n{{\n{body}}}\n"  # 62 lines
    short = f"static int g(void)\n{{\n{body[: len(body) // 58 * 57]}}}\n"  # 60 lines
    files = {
        "src/a/x.c": "/* x.c - a shadow of the crowds. */\n" + short + "\n" + long_one,
        "src/b/x.c": "int next_chunk, chunkSize, trailing, shadowy;\n",
        "scripts/long.py": '"""What it is."""\ndef f():\n' + "    pass\n" * 60,  # 61 lines
        "scripts/short.py": '"""What it is."""\ndef f():\n' + "    pass\n" * 59,
        "docs/page.md": "A relay.\n",
        "docs/notebook/old.md": "A relay and a crew.\n",
    }
    check("lines", files)
    assert checker.main(["--root", str(tmp_path), "--counts"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["functions over 60 lines: 2", "  scripts/long.py:2: 61 lines", "  src/a/x.c:63: 62 lines"]
    assert "titles over 72 characters of the last 100 commits: 0" in lines
    assert "files without a head comment: 1" in lines
    assert lines[lines.index("duplicated file names in src: 1") + 1] == "  x.c: src/a/x.c src/b/x.c"
    assert "retired words in src and docs: 5" in lines
    assert "  chunk: 2 in 1 files" in lines and "  crew: 0 in 0 files" in lines


def test_rules_run_alone(check):
    files = {"src/a.c": "int x; // spec 99 in gone.c\n"}
    assert [check(rule, files)[1][-1] for rule in ("sections", "files", "lines", "heads")] == [
        "sections: 1",
        "files: 1",
        "lines: 0",
        "heads: 1",
    ]
