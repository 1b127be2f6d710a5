"""One exception per status of the C library, with the library's message.

The classes also derive from the built-in exception of the same meaning, so that ``except ValueError`` and
``except FileNotFoundError`` catch them.
"""

from __future__ import annotations

import builtins
from typing import Any, Dict, Type

__all__ = [
    "AntlerError",
    "ArgumentError",
    "CancelledError",
    "DataError",
    "DeviceError",
    "DivergedError",
    "ExtraError",
    "FormatError",
    "InternalError",
    "LibraryError",
    "MachineError",
    "MemoryError",
    "NonFiniteError",
    "NotConvergedError",
    "NotFittedError",
    "NotFoundError",
]


class AntlerError(Exception):
    """Base of all exceptions of Antler; ``status`` is the number in ``antler.h``."""

    status = 0


class NotConvergedError(AntlerError, ArithmeticError):
    """An iteration did not converge within its limit."""

    status = 1


class DivergedError(AntlerError, ArithmeticError):
    """A training or an orbit diverged. ``partial`` has the last good model, or the rows before; None without any."""

    status = 2
    partial: Any = None


class NonFiniteError(AntlerError, ArithmeticError):
    """A result is not finite."""

    status = 3


class CancelledError(AntlerError):
    """Stopped by the caller."""

    status = 4


class ArgumentError(AntlerError, ValueError):
    """An argument or a setting is out of its range."""

    status = -1


class NotFoundError(AntlerError, FileNotFoundError, LookupError):
    """There is no such file, system or name."""

    status = -2


class FormatError(AntlerError, ValueError):
    """The file is not in a format that Antler reads."""

    status = -3


class DataError(AntlerError, ValueError):
    """The data cannot be used as they are."""

    status = -4


class MemoryError(AntlerError, builtins.MemoryError):
    """Out of memory."""

    status = -5


class MachineError(AntlerError, OSError):
    """The system could not read or write."""

    status = -6


class DeviceError(AntlerError, RuntimeError):
    """The device failed."""

    status = -7


class InternalError(AntlerError, RuntimeError):
    """A fault in Antler."""

    status = -8


class LibraryError(AntlerError, ImportError):
    """The C library cannot be found or is of another version."""


class ExtraError(AntlerError, ImportError):
    """A library that is not required is not installed; the sentence names the extra that brings it."""


class NotFittedError(AntlerError, ValueError, AttributeError):
    """The estimator has no model yet. scikit-learn expects this name."""


_BY_STATUS: Dict[int, Type[AntlerError]] = {
    kind.status: kind
    for kind in (
        NotConvergedError,
        DivergedError,
        NonFiniteError,
        CancelledError,
        ArgumentError,
        NotFoundError,
        FormatError,
        DataError,
        MemoryError,
        MachineError,
        DeviceError,
        InternalError,
    )
}


def from_status(status: int, sentence: str) -> AntlerError:
    """The exception of a status."""
    return _BY_STATUS.get(status, AntlerError)(sentence)
