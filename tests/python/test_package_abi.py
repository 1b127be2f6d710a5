"""The structs and functions that the package declares are those of the header."""

import ctypes
import inspect
import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest

from antler import _lib, _structs

HEADER = Path(__file__).resolve().parents[2] / "include" / "antler" / "antler.h"
STRUCTS = {
    name: struct
    for name, struct in inspect.getmembers(_structs, inspect.isclass)
    if issubclass(struct, ctypes.Structure) and struct not in (ctypes.Structure, _structs.Sized)
}


def c_name(name):
    return "antler" + re.sub("([A-Z])", lambda match: "_" + match.group(1).lower(), name)


def test_every_struct_is_laid_out_as_in_the_header(tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not HEADER.exists():
        pytest.skip("needs the header and a C compiler")
    lines = []
    for name, struct in STRUCTS.items():
        kind = c_name(name)
        lines.append(f'printf("{name} size %zu\\n", sizeof({kind}));')
        for field in struct._fields_:
            place = f"offsetof({kind}, {field[0]}), sizeof((({kind} *)0)->{field[0]})"
            lines.append(f'printf("{name} {field[0]} %zu %zu\\n", {place});')
    source = tmp_path / "layout.c"
    source.write_text(
        "#include <antler/antler.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void)\n{\n"
        + "\n".join(lines)
        + "\nreturn 0;\n}\n"
    )
    program = tmp_path / "layout"
    subprocess.run([compiler, "-I", HEADER.parents[1], source, "-o", program], check=True)
    said = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    here = []
    for name, struct in STRUCTS.items():
        here.append(f"{name} size {ctypes.sizeof(struct)}")
        for field in struct._fields_:
            at = getattr(struct, field[0])
            here.append(f"{name} {field[0]} {at.offset} {at.size}")
    assert here == said


def test_every_function_has_the_arguments_of_the_header():
    if not HEADER.exists():
        pytest.skip("needs the header")
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.S)
    declared = {
        name: 0 if arguments.strip() == "void" else arguments.count(",") + 1
        for name, arguments in re.findall(r"ANTLER_API[^;(]*?antler_(\w+)\(([^;]*)\);", text)
    }
    for name, (_result, arguments) in _lib._FUNCTIONS.items():
        assert declared[name] == len(arguments) + len(_structs.SIZED.get(name, ())), name


def test_the_structs_are_what_the_script_writes():
    script = HEADER.parents[2] / "scripts" / "structs.py"
    if not script.exists():
        pytest.skip("needs the source tree")
    assert Path(_structs.__file__).read_text() == runpy.run_path(str(script))["text"](), "run scripts/structs.py"


@pytest.mark.parametrize("enum", ["device", "dstsp_kind", "inputs_end"])
def test_values_of_enums_have_the_names_of_the_library(enum):
    function = getattr(_lib.lib(), f"antler_{enum}_name")
    function.restype = ctypes.c_char_p
    names = getattr(_structs, enum.upper())
    assert [function(value).decode() for value in range(len(names))] == list(names)
    assert function(len(names)).decode() not in names
