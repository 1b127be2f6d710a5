#!/usr/bin/env python3
"""structs.py - write python/antler/_structs.py, the structs of include/antler/antler.h as ctypes has them.

After a change of the header: run `scripts/structs.py`. A test fails while the file is not the one that this script
writes. The parser knows the header's own regular form and refuses what it does not know: a type that is not in TYPES,
a declaration that is no field.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADER = ROOT / "include" / "antler" / "antler.h"
TARGET = ROOT / "python" / "antler" / "_structs.py"
TYPES = {
    "bool": "c.c_bool",
    "char": "c.c_char",
    "int": "c.c_int",
    "double": "c.c_double",
    "size_t": "c.c_size_t",
    "ptrdiff_t": "c.c_ssize_t",
    "uint64_t": "c.c_uint64",
}
POINTERS = {"char": "c.c_char_p", "double": "DoubleP", "void": "c.c_void_p"}
BUILD = r"VERSION_\w+|API|H"  # macros that are no constants of the interface

HEAD = '''\
"""The structs of antler.h, field by field. Written by scripts/structs.py from the header: do not edit."""

from __future__ import annotations

import ctypes as c

DoubleP = c.POINTER(c.c_double)


class Sized(c.Structure):
    """A struct that begins with its own size, by which the library knows its fields."""

    def __init__(self, *values: object, **named: object) -> None:
        super().__init__(c.sizeof(type(self)), *values, **named)

    @classmethod
    def names(cls) -> list[str]:
        """The fields that carry something."""
        return [field[0] for field in cls._fields_ if field[0] not in ("struct_size", "room")]

'''


def python_name(name):
    """antler_measure_opts: MeasureOpts"""
    return "".join(word.capitalize() for word in name.split("_")[1:])


class Header:
    """What the header declares, as lines of Python in its own order."""

    def __init__(self, text):
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        self.types = dict(TYPES)
        self.lines = []
        self.constants(text)
        sized = re.findall(r"^#define antler_(\w+)\(\.\.\.\)(.*?[^\\])$", text, flags=re.M | re.S)
        named = re.findall(r"antler_(\w+)_name\(antler_\1 ", text)  # enums whose values have names
        text = re.sub(r"^\s*#.*$", "", text.replace("\\\n", " "), flags=re.M)
        for function, enum, struct, body in re.findall(
            r"typedef (?:(int \(\*\w+\)\([^;]*\));|(?:enum (\w+)|struct (\w+)) \{(.*?)\} \w+;)", text, flags=re.S
        ):
            if function:
                name, kind = self.function(function)
                self.types[name] = python_name(name)
                self.lines += ["", f"{python_name(name)} = {kind}"]
            elif enum:
                self.types[enum] = "c.c_int"
                if enum.split("_", 1)[1] in named and "(" not in body:
                    self.names(enum, re.findall(r"\w+", body))
            else:
                self.struct(struct, body)
        self.lines += ["", "# functions that take the sizes of these structs as their last arguments", "SIZED = {"]
        for function, body in sized:
            structs = "".join(python_name(name) + ", " for name in re.findall(r"sizeof\((\w+)\)", body)).rstrip()
            self.lines.append(f'    "{function}": ({structs if structs.count(",") == 1 else structs[:-1]}),')
        self.lines += ["}"]

    def constants(self, text):
        for name, value in re.findall(r"^#define ANTLER_(\w+) +(\w+)$", text, flags=re.M):
            if not re.fullmatch(BUILD, name):
                self.lines.append(f"{name} = " + ("c.c_size_t(-1).value" if value == "SIZE_MAX" else value))

    def names(self, enum, members):
        """The names of an enum's values, by value: ANTLER_DSTSP_GMM_FIXED is "gmm-fixed"."""
        words = [member.split("_") for member in members]
        same = 0
        while len({tuple(word[: same + 1]) for word in words}) == 1:
            same += 1
        names = ", ".join('"' + "-".join(word[same:]).lower() + '"' for word in words)
        self.lines += ["", f"{enum.split('_', 1)[1].upper()} = ({names})"]

    def function(self, text):
        """Name and type of `int (*name)(void *cookie, double fraction)`."""
        result, name, arguments = re.fullmatch(r"(\w+) \(\*(\w+)\)\((.*)\)", text, flags=re.S).groups()
        kinds = [self.field(argument)[0][1] for argument in arguments.split(",")]
        return name, f"c.CFUNCTYPE({', '.join(['None' if result == 'void' else self.types[result], *kinds])})"

    def field(self, text):
        """Names and types of `const double *state`, `double mean, sd`, `char key[128]`."""
        base, rest = re.fullmatch(r"(?:const )?(\w+) (.+)", " ".join(text.split())).groups()
        found = []
        for declared in rest.split(", "):
            stars, name, count = re.fullmatch(r"([* a-z]*?)(\w+)(?:\[(\w+(?: - \d+)?)\])?", declared).groups()
            kind = self.pointer(base, stars.count("*")) if "*" in stars else self.types[base]
            length = count and count.replace("ANTLER_", "")
            length = f"({length})" if length and " " in length else length
            found.append((name, kind if length is None else f"{kind} * {length}"))
        return found

    def pointer(self, base, depth):
        if base in POINTERS:
            kind = POINTERS[base]
        else:  # to a struct of the header, or to one that only the library knows
            kind = f"c.POINTER({self.types[base]})" if base in self.types else "c.c_void_p"
        return kind if depth == 1 else f"c.POINTER({kind})"

    def struct(self, struct, body):
        fields, functions = [], []
        for text in filter(None, (part.strip() for part in body.split(";"))):
            if "(*" in text:
                name, kind = self.function(text)
                alias = python_name(struct) + name.capitalize()
                functions.append(f"{alias} = {kind}")
                fields.append((name, alias))
            else:
                fields += self.field(text)
        self.types[struct] = python_name(struct)
        self.lines += ["", *functions] if functions else []
        base = "Sized" if fields[0][0] == "struct_size" else "c.Structure"
        self.lines += ["", "", f"class {python_name(struct)}({base}):", "    _fields_ = ["]
        self.lines += [f'        ("{name}", {kind}),' for name, kind in fields] + ["    ]", ""]


def text():
    """The whole file."""
    return re.sub(r"\n{4,}", "\n\n\n", HEAD + "\n".join(["", *Header(HEADER.read_text()).lines])).rstrip("\n") + "\n"


if __name__ == "__main__":
    TARGET.write_text(text())
    print(f"{TARGET}: written")
