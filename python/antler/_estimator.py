"""Parameters of an estimator by name, as scikit-learn uses them: get, set, clone and print."""

from __future__ import annotations

import inspect
from typing import Any, Dict, List, TypeVar

from . import _settings
from .exceptions import ArgumentError

_Self = TypeVar("_Self", bound="Estimator")

# Settings that are no parameters: the data are given to fit, and random_state is the seed.
ELSEWHERE = {
    "data": "give the values to fit",
    "columns": "choose columns of the array that you give to fit",
    "inputs": "give them to fit",
    "transpose": "give X.T to fit",
    "max_bytes": "it limits the size of files",
    "validation_data": "it names files; validation=0.2 holds back the last rows of what you give to fit",
    "missing_values": "write nan into what you give to fit",
    "time": "it names a column of a file",
    "resample": "give even times to fit",
    "resample_method": "give even times to fit",
    "subject": "give a list of arrays to fit, one per subject",
    "key": "it names arrays of a file",
    "holdout": "keep rows back and give them to score",
    "test_data": "it names files; give the values to score",
    "seed": "it is called random_state here",
}


def _same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and a == b)


class Estimator:
    """The parameters are those of ``__init__``, and settings of the library that it does not list."""

    def _signature(self) -> Dict[str, inspect.Parameter]:
        """Parameters that ``__init__`` lists, in its order."""
        parameters = inspect.signature(type(self)).parameters
        return {name: p for name, p in parameters.items() if p.kind is not inspect.Parameter.VAR_KEYWORD}

    def _take(self, settings: Dict[str, Any]) -> None:
        """Settings that the signature does not list."""
        known = _settings.table() if settings else {}
        for name, value in settings.items():
            if name in ELSEWHERE:
                raise ArgumentError(f"'{name}' is no parameter of a {type(self).__name__}: {ELSEWHERE[name]}")
            if name not in known:
                _settings.Settings().set(name, value)  # raises, with the nearest name
            setattr(self, name, value)

    def _names(self) -> List[str]:
        """All parameters: those of the signature, then other settings that were given."""
        own = list(self._signature())
        others = [name for name in vars(self) if name not in own and not name.startswith("_") and name[-1] != "_"]
        return own + others

    def get_params(self, deep: bool = True) -> Dict[str, Any]:
        """All parameters by name. ``deep`` has no effect; scikit-learn passes it."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self: _Self, **parameters: Any) -> _Self:
        """Change parameters by name; they take effect at the next ``fit``."""
        known, strange = self._names(), {}
        for name, value in parameters.items():
            if name in known:
                setattr(self, name, value)
            else:
                strange[name] = value
        self._take(strange)
        return self

    def _changed(self) -> Dict[str, Any]:
        """Parameters that do not have their default."""
        signature = self._signature()
        return {
            name: value
            for name, value in self.get_params().items()
            if name not in signature or not _same(value, signature[name].default)
        }

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._changed().items())})"
