"""Orbits: attractors, time series, power spectra, heat maps, latent units.

Every function takes arrays, files or a run, draws on the axes that are given or on new ones, and returns them.
"""

from __future__ import annotations

import os
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np
from matplotlib.ticker import MaxNLocator

from ..curves import envelope, limits, logarithmic_rows
from ..measures import embed, hellinger, power_spectrum
from ..runs import load_run
from ..tables import default_warmup, free_run, orbit
from . import style
from .style import GENERATED, TRUE


def _model_of(source: Any) -> Any:
    """The model of a Reconstructor, a run, the folder of one, or a fit; a model itself; None for anything else."""
    if isinstance(source, (str, os.PathLike)) and os.path.isdir(source):
        source = load_run(source)
    known = (getattr(source, "model_", None), getattr(source, "model", None), source)
    return next((model for model in known if hasattr(model, "generate")), None)


def pair(
    true: Any, generated: Any, offset: Optional[int] = None
) -> Tuple[np.ndarray, np.ndarray, List[str], float, bool]:
    """Both orbits with what is known of them: x (T, N), y (T', N), names, dt, whether y goes on where x ends.

    In place of a generated orbit a run, a model or a Reconstructor may be given: it is warmed up on the first rows
    of the true orbit and runs free from there on. The true orbit is shown from the row on that the first generated row
    stands for: what `offset` says, or what a free run has, or else its first row.
    """
    true, model = orbit(true), _model_of(generated)
    if model is None:
        made = orbit(generated)
        first = made.first_row if offset is None else offset
    else:
        first = default_warmup(model, len(true.x)) + 1
        made = free_run(model, true, len(true.x) - first, first - 1)
    if true.x.shape[1] != made.x.shape[1]:
        raise ValueError(f"the true orbit has {true.x.shape[1]} variables, the generated one {made.x.shape[1]}")
    follows = first is not None and first >= len(true.x)
    x = true.x if first is None or follows else true.x[first:]
    return x, made.x, true.names if true.named else made.names, true.dt or made.dt, follows


def choose(names: Sequence[str], variables: Optional[Sequence[Any]]) -> List[int]:
    """Column numbers from names or numbers counted from 1; None: the first three."""
    if variables is None:
        return list(range(min(3, len(names))))
    chosen = []
    for word in variables:
        if word in names:
            chosen.append(names.index(word))
        elif str(word).isdigit() and 1 <= int(word) <= len(names):
            chosen.append(int(word) - 1)
        else:
            raise ValueError(f"there is no variable '{word}'; there are {', '.join(names)}")
    return chosen


def attractor(
    true: Any,
    generated: Any,
    variables: Optional[Sequence[Any]] = None,
    rows: int = 4000,
    delay: int = 10,
    ax: Any = None,
) -> Any:
    """Draw the generated orbit over the true one, in the first two or three variables or in those named.

    A single variable is drawn against itself `delay` and 2 `delay` rows before. Only the first `rows` rows are
    drawn, because a longer orbit fills its attractor and hides the other one.
    """
    x, y, names, *_ = pair(true, generated)
    if x.shape[1] == 1:
        x, y = embed(x, 3, delay), embed(y, 3, delay)
        names = [f"{names[0]}(t)", f"{names[0]}(t − {delay})", f"{names[0]}(t − {2 * delay})"]
    columns = choose(names, variables)
    x, y = x[:rows, columns], y[:rows, columns]
    with style.context():
        flat = len(columns) == 2
        if ax is None and flat:
            ax = style.subplots(1, 1, (style.COLUMN, 2.7))[1][0, 0]
        elif ax is None:
            ax = style.solid_axes((style.COLUMN, 2.9))
        ax.plot(*x.T, color=TRUE, linewidth=1.4, alpha=0.7)
        ax.plot(*y.T, color=GENERATED, linewidth=0.5)
        for axis, column in zip("xyz", columns):
            getattr(ax, f"set_{axis}label")(names[column])
        for axis, i in zip("xyz", range(len(columns))):
            getattr(ax, f"set_{axis}lim")(limits(x[:, i], y[:, i]))
        if not flat:
            _tidy_3d(ax)
        style.orbit_legend(
            ax, loc="lower right", bbox_to_anchor=(1.0, 1.0 if flat else 0.88), ncol=2, borderaxespad=0.1
        )
    return ax


def _tidy_3d(ax: Any) -> None:
    """Plain walls, a light grid, and an angle from which both wings of a butterfly are seen."""
    ax.view_init(elev=18, azim=-62)
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.set_pane_color((1.0, 1.0, 1.0, 0.0))
        axis._axinfo["grid"].update(color="#e3e3e3", linewidth=0.5)
        axis.set_major_locator(MaxNLocator(4))
        axis.labelpad = -6
    ax.tick_params(pad=-3)
    ax.tick_params(axis="z", pad=0)
    ax.set_box_aspect((4, 4, 3), zoom=1.0)


def series(
    true: Any,
    generated: Any,
    rows: int = 1500,
    offset: Optional[int] = None,
    dt: Optional[float] = None,
    full: bool = True,
    axes: Any = None,
) -> Any:
    """The variables one below the other, true and generated: `rows` rows on the left, the whole on the right.

    The first row of a generated orbit stands for row `offset` of the true one: the warm-up plus one. What `generate`
    returned, a run or a model is brought into line by itself; a free run that goes on where the true orbit ends is
    drawn behind it, from time 0 on. Returns axes (N, 2), or (N, 1) without `full`.
    """
    x, y, names, known, follows = pair(true, generated, offset)
    step, windows = dt or known, (rows, min(len(x), len(y)))[: 1 + full]
    with style.context():
        if axes is None:
            ratios = {"width_ratios": (2, 3)} if full else {}
            size = (style.PAGE, 0.5 + 0.75 * x.shape[1])
            _, axes = style.subplots(x.shape[1], len(windows), size, sharex="col", sharey="row", gridspec_kw=ratios)
        axes = np.asarray(axes).reshape(x.shape[1], len(windows))
        for n, w in np.ndindex(axes.shape):
            before = x[-windows[w] :, n] if follows else x[: windows[w], n]
            begin = -len(before) if follows else 0
            for values, first, colour, width in (
                (before, begin, TRUE, 1.5),
                (y[: windows[w], n], 0, GENERATED, 0.8),
            ):
                t, drawn = envelope(values)
                axes[n, w].plot((t + first) * (step or 1), drawn, color=colour, linewidth=width * (1 - 0.5 * (w > 0)))
            axes[n, w].margins(x=0.0)
            axes[n, w].set_ylim(limits(before, y[: windows[w], n]))
        for n, name in enumerate(names):
            axes[n, 0].set_ylabel(name)
        for ax in axes[-1]:
            ax.set_xlabel("time" if step else "row")
        style.orbit_legend(axes[0, -1], loc="lower right", bbox_to_anchor=(1.0, 1.0), ncol=2, borderaxespad=0.2)
        axes[0, 0].figure.align_ylabels(axes[:, 0])
    return axes


def forecast(found: Any, past: Any = None, rows: int = 200, variables: Optional[Sequence[Any]] = None) -> Any:
    """The median of a forecast with its band, one variable below the other; axes (variables,).

    `found` is what `forecast` returned. `past` has the data: the last `rows` rows before the forecast, and those of
    the same time where there are some. The forecast begins at time 0.
    """
    median, lower, upper = (orbit(part) for part in (found.median, found.lower, found.upper))
    columns = choose(list(found.names), variables)
    step, count = median.dt or 1.0, len(median.x)
    with style.context():
        _, axes = style.subplots(len(columns), 1, (style.PAGE, 0.6 + 1.1 * len(columns)), sharex=True)
        for ax, column in zip(axes[:, 0], columns):
            if past is not None:
                begin = max(0, found.first_row - rows)
                known = orbit(past).x[begin : found.first_row + count, column]
                ax.plot((begin - found.first_row + np.arange(len(known))) * step, known, color=TRUE, linewidth=1.5)
            t = np.arange(count) * step
            ax.fill_between(t, lower.x[:, column], upper.x[:, column], color=GENERATED, alpha=0.25, linewidth=0)
            ax.plot(t, median.x[:, column], color=GENERATED)
            ax.set_ylabel(found.names[column])
            ax.margins(x=0.0)
        axes[-1, 0].set_xlabel("time" if median.dt else "row")
        if past is not None:
            style.orbit_legend(axes[0, 0], loc="lower right", bbox_to_anchor=(1.0, 1.0), ncol=2, borderaxespad=0.2)
        axes[0, 0].figure.align_ylabels(axes[:, 0])
    return axes[:, 0]


def spectra(true: Any, generated: Any, sigma: float = 20.0, dt: Optional[float] = None, axes: Any = None) -> Any:
    """Power spectra, as D_H compares them, on logarithmic axes, with D_H above each; axes (N,)."""
    x, y, names, known, _ = pair(true, generated)
    rows, count = min(len(x), len(y)), x.shape[1]
    with style.context():
        if axes is None:
            across = min(count, 4)
            size = (min(style.PAGE, 0.6 + 1.9 * across), 0.3 + 1.7 * -(-count // across))
            _, axes = style.subplots(-(-count // across), across, size, sharex=True, sharey=True)
            for ax in axes.ravel()[count:]:
                ax.set_visible(False)
        flat = np.atleast_1d(axes).ravel()[:count]
        frequency = np.fft.rfftfreq(rows, dt or known or 1.0)
        drawn = logarithmic_rows(len(frequency))
        p, q = (power_spectrum(values[:rows], smoothing=sigma) for values in (x, y))
        distances = hellinger(x, y, smoothing=sigma, each=True)
        for n, ax in enumerate(flat):
            ax.loglog(frequency[drawn], p[drawn, n], color=TRUE, linewidth=2.0)
            ax.loglog(frequency[drawn], q[drawn, n], color=GENERATED, linewidth=0.8)
            ax.set_title(f"{names[n]}   $D_H$ = {distances[n]:.3f}")
            ax.label_outer()
        flat[0].figure.supxlabel("frequency" if dt or known else "frequency per row", fontsize=8)
        flat[0].figure.supylabel("power", fontsize=8)
        style.orbit_legend(flat[0], loc="lower left")
    return flat


def heatmap(
    true: Any, generated: Any, rows: int = 1500, offset: Optional[int] = None, dt: Optional[float] = None,
    axes: Any = None,
) -> Any:
    """All variables at once, for N > 10: true above, generated below, one colour scale; axes (2,).

    Values are standardised by the true orbit, so that variables of different size can be compared.
    """
    x, y, names, known, follows = pair(true, generated, offset)
    mean, sd = x.mean(0), x.std(0)
    shown = [(values - mean) / sd for values in (x[-rows:] if follows else x[:rows], y[:rows])]
    step, limit = dt or known or 1.0, np.percentile(np.abs(shown[0]), 99)
    with style.context():
        if axes is None:
            _, axes = style.subplots(2, 1, (style.PAGE, 0.9 + 0.13 * 2 * max(8, min(len(names), 24))), sharex=True)
        axes = np.ravel(axes)
        for ax, values, title in zip(axes, shown, ("true", "generated")):
            extent = (0, len(values) * step, len(names) + 0.5, 0.5)
            image = ax.imshow(values.T, aspect="auto", extent=extent, vmin=-limit, vmax=limit, interpolation="nearest")
            ax.set_title(title, loc="left")
            ax.set_ylabel("variable")
            ax.yaxis.set_major_locator(MaxNLocator(6, integer=True))
            ax.spines[["left", "bottom"]].set_visible(False)
        axes[-1].set_xlabel("time" if dt or known else "row")
        axes[0].figure.colorbar(
            image, ax=list(axes), label="standard deviations", fraction=0.03, pad=0.01, extend="both"
        )
    return axes


def latent(
    states: Any, forcing: Any, units: Optional[Sequence[int]] = None, dt: Optional[float] = None, axes: Any = None
) -> Any:
    """Latent units (slow ones, say) over the hidden forcing that drove the data; axes (units,).

    states is (T, M) and forcing (T,) on the same rows; `units` are numbers counted from 1, all of them by
    default. A unit carries the forcing up to sign and size, so each is standardised and turned the right way
    round; r is the correlation.
    """
    z, drive = orbit(states), np.asarray(forcing, dtype=float).ravel()
    if len(drive) != len(z.x):
        raise ValueError(f"there are {len(z.x)} rows of states and {len(drive)} of the forcing")
    numbers = list(units) if units is not None else list(range(1, z.x.shape[1] + 1))
    step = dt or z.dt
    drive = (drive - drive.mean()) / drive.std()
    with style.context():
        if axes is None:
            size = (style.PAGE, 0.6 + 0.85 * len(numbers))
            _, axes = style.subplots(len(numbers), 1, size, sharex=True)
        axes = np.ravel(axes)
        for ax, number in zip(axes, numbers):
            unit = z.x[:, number - 1]
            unit = (unit - unit.mean()) / unit.std()
            r = float(np.mean(unit * drive))
            for values, colour, width in ((drive, style.BLACK, 1.4), (unit * np.sign(r), GENERATED, 0.8)):
                rows, drawn = envelope(values)
                ax.plot(rows * (step or 1), drawn, color=colour, linewidth=width)
            ax.set_ylabel(f"$z_{{{number}}}$")
            ax.set_title(f"r = {r:+.2f}", loc="right", pad=2)
            ax.margins(x=0.0)
        axes[-1].set_xlabel("time" if step else "row")
        axes[0].legend(
            axes[0].get_lines(),
            ["forcing", "latent unit"],
            loc="lower left",
            ncol=2,
            bbox_to_anchor=(0, 1.0),
            borderaxespad=0.1,
        )
    return axes
