"""The settings of a training: one table in the C library, reached by name."""

from __future__ import annotations

import ctypes as c
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from . import _lib
from .exceptions import ArgumentError

_TEXT_ROOM = 16384


class Setting(NamedTuple):
    """One row of the table; docs/settings.md shows it."""

    name: str
    group: str
    kind: str
    choices: Optional[Tuple[str, ...]]
    default: Any
    bounds: str  # of a number, as text: " in [0, 1)"
    meaning: str


def _value(kind: str, raw: str) -> Any:
    """A setting's text as the Python value that belongs to it."""
    if kind.startswith("whole number"):
        return int(raw)
    if kind == "number":
        return float(raw)
    if kind == "true or false":
        return raw == "true"
    return raw


def _raw(value: Any) -> str:
    """A Python value as text that the library reads."""
    if isinstance(value, (bool,)) or type(value).__name__ in ("bool_", "bool"):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(str(item) for item in value)
    return repr(float(value)) if isinstance(value, float) else str(value)


def _bounds(info: Any) -> str:
    """The bounds of a number, to be written after the name of its type; "" for other kinds of values."""
    if _lib.text(info.kind) not in ("number", "whole number"):
        return ""
    if info.highest == float("inf"):
        return f", {'above' if info.lowest_open else 'at least'} {info.lowest:.10g}"
    left, right = "(" if info.lowest_open else "[", ")" if info.highest_open else "]"
    return f" in {left}{info.lowest:.10g}, {info.highest:.10g}{right}"


def table() -> Dict[str, Setting]:
    """All settings by name."""
    found = {}
    for i in range(_lib.plain("setting_count")):
        info = _lib.plain("setting_at", i).contents
        choices: List[str] = []
        while info.choices and info.choices[len(choices)] is not None:
            choices.append(_lib.text(info.choices[len(choices)]))
        name, kind, standard = _lib.text(info.name), _lib.text(info.kind), _lib.text(info.standard)
        default = _value(kind, standard) if standard else ""
        found[name] = Setting(
            name, _lib.text(info.group), kind, tuple(choices) or None, default, _bounds(info), _lib.text(info.meaning)
        )
    return found


class Settings:
    """An antler_settings, as bytes that only the library looks into."""

    def __init__(self) -> None:
        self._bytes = c.create_string_buffer(_lib.plain("settings_bytes"))
        _lib.plain("settings_default", self.pointer)

    @property
    def pointer(self) -> int:
        return c.addressof(self._bytes)

    @classmethod
    def load(cls, path: Any) -> "Settings":
        """A YAML file over the defaults."""
        settings = cls()
        _lib.call("settings_load", _lib.path_bytes(path), settings.pointer)
        return settings

    def set(self, name: str, value: Any) -> None:
        if value is None:
            raise ArgumentError(f"{name} is None; leave it out to have its default")
        _lib.call("settings_set", self.pointer, f"{name}={_raw(value)}".encode())

    def get(self, name: str) -> Any:
        room = c.create_string_buffer(_TEXT_ROOM)
        _lib.call("settings_get", self.pointer, name.encode(), room, _TEXT_ROOM)
        return _value(table()[name].kind, _lib.text(room.value))

    def as_dict(self) -> Dict[str, Any]:
        return {name: self.get(name) for name in table()}

    def write(self, path: Any) -> None:
        """All settings as commented YAML."""
        _lib.call("settings_write", self.pointer, _lib.path_bytes(path))
