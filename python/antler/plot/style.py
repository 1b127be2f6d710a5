"""The one look of all pictures: colours, sizes, and how a picture is written.

Colours are Okabe and Ito's, which colour-blind readers can tell apart. What is generated is also thinner and
drawn on top, and lines of different groups differ in their markers, so that the difference survives grey printing.
"""

from __future__ import annotations

import contextlib
from typing import Any, Iterator, Tuple

import matplotlib
import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from .._measure_table import table as measure_table

BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILLION, PURPLE = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#F0E442",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
)
TRUE, GENERATED, QUIET = SKY, VERMILLION, "#767676"
GROUPS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
COLUMN, PAGE = 3.4, 7.0  # inches: a column and a page of a journal

STYLE = {
    "figure.dpi": 110,
    "savefig.dpi": 220,
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 1.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "xtick.minor.width": 0.5,
    "ytick.minor.width": 0.5,
    "lines.linewidth": 0.9,
    "lines.markersize": 3.5,
    "lines.solid_joinstyle": "round",
    "path.simplify_threshold": 0.1,
    "agg.path.chunksize": 10000,
    "mathtext.default": "regular",
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "image.cmap": "cividis",
    "figure.constrained_layout.use": True,
}

LABELS = {
    "sequence_length": "sequence length T",
    "gtf_alpha": r"forcing strength $\alpha$",
    "latent_dim": "latent units M",
    "hidden_dim": "hidden units L",
    "batch_size": "batch size",
    "loss": "loss",
    "iterations": "Newton iterations",
    "seconds": "seconds of training",
    "fallbacks": "sequences solved again",
    "start_lr": "learning rate",
}


def label(name: str) -> str:
    """A name of a setting or measure as it stands on an axis."""
    measure = measure_table().get(name)
    return measure.tex if measure is not None else LABELS.get(name, name.replace("_", " "))


@contextlib.contextmanager
def context(**changes: Any) -> Iterator[None]:
    """Our style, for as long as a picture is drawn.

    Only what the style sets is put back after. matplotlib's own rc_context would also undo the choice of a backend,
    which a notebook makes at its first figure, and all further figures would stay away.
    """
    wanted = {**STYLE, **changes}
    before = {name: matplotlib.rcParams[name] for name in wanted}
    matplotlib.rcParams.update(wanted)
    try:
        yield
    finally:
        matplotlib.rcParams.update(before)


def subplots(rows: int, columns: int, size: Tuple[float, float], **more: Any) -> Any:
    """A figure in our style and its axes as a (rows, columns) array."""
    import matplotlib.pyplot as plt

    return plt.subplots(rows, columns, figsize=size, squeeze=False, **more)


def solid_axes(size: Tuple[float, float]) -> Any:
    """3-D axes that fill a new figure; a layout engine would shrink them."""
    import matplotlib.pyplot as plt

    with context(**{"figure.constrained_layout.use": False}):
        figure = plt.figure(figsize=size)
        # matplotlib forgets labels of 3-D axes when it cuts off margins; an invisible frame keeps them.
        figure.add_artist(Rectangle((0, 0), 1, 1, transform=figure.transFigure, fill=False, linewidth=0))
        return figure.add_axes((0.0, 0.0, 0.9, 1.0), projection="3d")


def orbit_legend(where: Any, **place: Any) -> Any:
    handles = [Line2D([], [], color=TRUE, linewidth=2.5), Line2D([], [], color=GENERATED, linewidth=1.5)]
    return where.legend(handles, ["true", "generated"], **place)


def save(axes: Any, *paths: Any) -> None:
    """Write the figure of these axes, once per path; the ending chooses the format (.png, .pdf, .svg)."""
    figure = np.ravel(axes)[0].figure
    with context(**{"figure.constrained_layout.use": False}):  # the layout was chosen when the figure was made
        for path in paths:
            figure.savefig(path, bbox_inches="tight", pad_inches=0.04)
