#!/usr/bin/env python3
"""parameters.py - write python/antler/_parameters.py from the library's table of settings.

After a change of src/train/settings_table.c: build, then run `PYTHONPATH=python scripts/parameters.py`. A test compares
the file with the table. The file is part of the tree, so that `import antler`, type checkers and editors know the
parameters without the library.
"""

import re
import textwrap
from pathlib import Path

from antler import _settings
from antler._estimator import ELSEWHERE

TARGET = Path(__file__).resolve().parents[1] / "python" / "antler" / "_parameters.py"
POSITIONAL = ("model", "latent_dim", "hidden_dim")  # the others are given by name
LAST = ("data", "run")  # groups of settings that follow those of the method

HEAD = '''\
"""The parameters of a Reconstructor. Written by scripts/parameters.py from the table of settings: do not edit."""
# ruff: noqa: E501 - numpydoc wants name, values and default of a parameter on one line

from __future__ import annotations

from typing import Any, Optional

from ._estimator import Estimator


class Parameters(Estimator):
    """One parameter per setting of a training, with the default of the table."""

'''


class Parameter:
    """One parameter: name, annotation and default as source text, kind of value and meaning as text."""

    def __init__(self, name, annotation, default, values, meaning):
        self.name, self.annotation, self.default, self.values, self.meaning = name, annotation, default, values, meaning

    @classmethod
    def of(cls, setting):
        annotation = type(setting.default).__name__
        values = annotation + setting.bounds
        if setting.choices:
            values = "{" + ", ".join(f"'{choice}'" for choice in setting.choices) + "}"
        return cls(setting.name, annotation, _literal(setting.default), values, setting.meaning)

    def entry(self):
        """Lines of the docstring, as numpydoc writes them."""
        head = f"{self.name} : {self.values}, default {self.default}".replace('"', "'")
        meaning = re.sub("(?<!`)`(?!`)", "``", self.meaning)
        return [head, *textwrap.wrap(meaning, 108, initial_indent="    ", subsequent_indent="    ")]


def _literal(value):
    return '"' + value + '"' if isinstance(value, str) else repr(value)


def parameters():
    """All parameters in the order of the signature."""
    table = _settings.table()
    own = {
        "results": Parameter(
            "results", "Optional[str]", "None", "str or None",
            "None: train in memory and write nothing. A folder: train on disk as ``antler train`` does, in "
            "``<results>/<experiment>/<name>/<001>/``, with log, checkpoints and models.",
        ),
        "random_state": Parameter(
            "random_state", "Any", _literal(table["seed"].default), "int, NumPy generator or None",
            f"The setting ``seed``. {table['seed'].meaning} None: draw a seed by chance.",
        ),
        "verbose": Parameter("verbose", "bool", "True", "bool", "Show a progress bar where tqdm is installed."),
    }  # fmt: skip
    first = [Parameter.of(table[name]) for name in POSITIONAL]
    rest = [row for row in table.values() if row.name not in (*POSITIONAL, *ELSEWHERE, *own)]
    rest.sort(key=lambda row: row.group in LAST)  # stable: otherwise the order of the table
    return first, [Parameter.of(row) for row in rest] + list(own.values())


def text():
    """The whole file."""
    first, rest = parameters()
    lines = ["def __init__(", "    self,"]
    lines += [f"    {p.name}: {p.annotation} = {p.default}," for p in first] + ["    *,"]
    lines += [f"    {p.name}: {p.annotation} = {p.default}," for p in rest]
    lines += ["    **settings: Any,", ") -> None:"]
    body = ['"""``fit`` checks the values; a name that is no setting is refused at once.', ""]
    body += ["Parameters", "----------"]
    for parameter in first + rest:
        body += parameter.entry()
    body += ["**settings", "    Settings that a newer library has, by name.", '"""']
    body += [f"self.{p.name} = {p.name}" for p in first + rest] + ["self._take(settings)"]
    return HEAD + textwrap.indent("\n".join(lines + [textwrap.indent("\n".join(body), "    ")]) + "\n", "    ")


if __name__ == "__main__":
    TARGET.write_text(text())
    print(f"{TARGET}: written")
