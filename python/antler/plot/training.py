"""Training: loss, Newton iterations, and how well the parallel answer agrees with the sequential one."""

from __future__ import annotations

import os
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np
from matplotlib.ticker import MaxNLocator

from ..exceptions import ArgumentError
from ..tables import Columns, as_run, table
from . import style

FLOAT_EPSILON = 2.0**-23


def logs_of(source: Any) -> List[Columns]:
    """The columns of log.csv, {name: (rows,) array}, of a run, a run folder, a file, or a mapping of columns.

    A Reconstructor has a log for each of its runs, and a model that of the folder it was loaded from.
    """
    if hasattr(source, "log"):
        return [dict(source.log)]
    if hasattr(source, "logs_"):
        return [dict(log) for log in source.logs_]
    if hasattr(source, "parameters"):
        return [_log_of_model(source)]
    if isinstance(source, (str, os.PathLike)) and os.path.isdir(source):
        return [as_run(source).log]
    return [table(source)]


def _log_of_model(model: Any) -> Columns:
    folder = model.path if model.path is None or os.path.isdir(model.path) else os.path.dirname(model.path)
    if folder is None or not os.path.exists(os.path.join(folder, "log.csv")):
        raise ArgumentError("a model has no log of its training; give the Reconstructor, the run, or its folder")
    return as_run(folder).log


def _finite(log: Columns, name: str) -> Tuple[np.ndarray, np.ndarray]:
    """update and column where the column has a number."""
    update, values = log["update"], log.get(name, np.full(len(log["update"]), np.nan)).astype(float)
    kept = np.isfinite(values)
    return update[kept], values[kept]


def _colours(count: int) -> List[str]:
    return [style.GROUPS[i % len(style.GROUPS)] for i in range(count)]


def training(*runs: Any, labels: Optional[Sequence[str]] = None, axes: Any = None) -> Any:
    """Loss above, Newton iterations below, over the updates, one line per run; axes (2,).

    Each run is a run, its folder or log.csv, a Reconstructor with all of its runs, a model that was loaded from the
    folder of a run, or a mapping with the columns update, loss, iterations.
    """
    logs = [log for run in runs for log in logs_of(run)]
    with style.context():
        if axes is None:
            _, axes = style.subplots(2, 1, (style.COLUMN, 3.2), sharex=True, gridspec_kw={"height_ratios": (3, 2)})
        axes = np.ravel(axes)
        for log, colour in zip(logs, _colours(len(logs))):
            axes[0].semilogy(*_finite(log, "loss"), color=colour)
            update, iterations = _finite(log, "iterations")
            if np.any(iterations > 0):  # solvers without Newton log zeros
                axes[1].plot(update, iterations, color=colour)
        axes[0].set_ylabel("loss")
        axes[1].set_ylabel("Newton iterations")
        axes[1].set_ylim(bottom=0)
        axes[1].set_xlabel("update")
        axes[1].yaxis.set_major_locator(MaxNLocator(5, integer=True))
        if not axes[1].get_lines():
            axes[1].annotate(
                "no Newton iterations:\nevery step was solved exactly",
                (0.5, 0.5),
                xycoords="axes fraction",
                ha="center",
                va="center",
                color=style.QUIET,
                fontsize=7,
            )
            axes[1].set_yticks([])
        axes[0].margins(x=0.01)
        if labels or len(logs) > 1:
            names = labels or [f"run {i + 1}" for i in range(len(logs))]
            axes[0].legend(axes[0].get_lines()[: len(names)], names[:8], loc="upper right", ncol=1 + (len(names) > 4))
        axes[0].figure.align_ylabels(axes)
    return axes


def agreement(*runs: Any, ax: Any = None) -> Any:
    """Largest relative difference between the parallel and the sequential solver, as logged by check_interval."""
    with style.context():
        ax = style.subplots(1, 1, (style.COLUMN, 2.2))[1][0, 0] if ax is None else ax
        for log in (log for run in runs for log in logs_of(run)):
            for name, colour, marker in (("states_agree", style.BLUE, "o"), ("gradient_agrees", style.ORANGE, "s")):
                update, values = _finite(log, name)
                ax.semilogy(update, np.maximum(values, 1e-17), marker, color=colour, linestyle="-", linewidth=0.6)
        ax.axhline(FLOAT_EPSILON, color=style.QUIET, linewidth=0.7, linestyle="--", zorder=0)
        ax.annotate(
            "one rounding in float32",
            (1, FLOAT_EPSILON),
            xycoords=("axes fraction", "data"),
            xytext=(-2, 2),
            textcoords="offset points",
            ha="right",
            color=style.QUIET,
            fontsize=7,
        )
        ax.set_xlabel("update")
        ax.set_ylabel("relative difference")
        ax.legend(
            ax.get_lines()[:2],
            ["states", "gradient"],
            loc="lower right",
            bbox_to_anchor=(1, 1),
            ncol=2,
            borderaxespad=0.1,
        )
    return ax
