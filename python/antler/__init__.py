"""Reconstruct dynamical systems from time series.

Simulate a system, train a model on it, run the model free and evaluate it on other data::

    import antler

    x = antler.simulate("lorenz63", 20_000)
    model = antler.Reconstructor(latent_dim=5, hidden_dim=50, updates=2_000).fit(x)
    orbit = model.generate(10_000, context=x)
    print(model.evaluate(antler.simulate("lorenz63", 20_000, seed=2), samples=10_000).summary())

Time runs down the rows of every array: (T, N). Values are in the user's units, both in arguments and in results.
A call of the C library that fails raises an exception of ``antler.exceptions`` with the library's message.
"""

from __future__ import annotations

from typing import Any

from . import exceptions, formats, measures
from ._containers import FreeRun
from ._evaluation import Evaluation, Measuring, Verdict
from ._time import GapWarning
from ._training import UnusedWarning
from .data import System, load, simulate, systems
from .exceptions import AntlerError
from .fitting import Fit, fit, look
from .forecasting import Forecast, Skill
from .model import Lyapunov, Model
from .reconstructor import DivergenceWarning, Reconstructor
from .runs import Run, load_run, load_runs, resume, train
from .solver import Problem, Solution, solve

__all__ = [
    "AntlerError",
    "DivergenceWarning",
    "Evaluation",
    "Fit",
    "Forecast",
    "FreeRun",
    "GapWarning",
    "Lyapunov",
    "Measuring",
    "Model",
    "Problem",
    "Reconstructor",
    "Run",
    "Skill",
    "Solution",
    "System",
    "UnusedWarning",
    "Verdict",
    "build_info",
    "exceptions",
    "fit",
    "formats",
    "load",
    "load_run",
    "load_runs",
    "look",
    "measures",
    "resume",
    "simulate",
    "solve",
    "systems",
    "train",
]


def build_info() -> str:
    """One line for bug reports: version, git revision, compiler, flags, instruction set."""
    from . import _lib

    return _lib.text(_lib.plain("build_info"))


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from . import _lib

        return _lib.text(_lib.plain("version"))
    if name in ("convert", "plot", "report"):  # loaded when they are used
        import importlib

        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'antler' has no attribute '{name}'")
