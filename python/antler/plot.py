"""Pictures of true and generated orbits, on matplotlib alone.

Every function takes arrays or paths (.npy, .npz, .csv as written by `antler`), draws on the axes that are
given or on new ones, and returns them. Colours are Okabe and Ito's, which colour-blind readers can tell
apart; the generated orbit is also thinner and drawn on top, so that the difference survives grey printing.

    python3 -m antler.plot attractor test.npz free.npz --out attractor.png
    python3 -m antler.plot series    test.npz free.npz --out series.pdf --rows 1500
    python3 -m antler.plot spectra   test.npz free.npz --out spectra.png
"""

import argparse
import os
import sys

import numpy as np
import matplotlib

TRUE, GENERATED = "#56B4E9", "#D55E00"
STYLE = {
    "figure.dpi": 100, "savefig.dpi": 200, "font.size": 9, "axes.titlesize": 9, "axes.labelsize": 9,
    "xtick.labelsize": 8, "ytick.labelsize": 8, "legend.fontsize": 8, "legend.frameon": False,
    "axes.spines.top": False, "axes.spines.right": False, "axes.linewidth": 0.8, "lines.linewidth": 0.8,
    "lines.solid_joinstyle": "round", "path.simplify_threshold": 0.1, "agg.path.chunksize": 10000,
}


class Orbit:
    """One trajectory: x is (T, N) as stored, with names, dt (0: unknown) and the way back to user units."""

    def __init__(self, x, names=None, dt=0.0, mean=None, scale=None):
        x = np.asarray(x, dtype=float)
        self.x = x[:, None] if x.ndim == 1 else x[0] if x.ndim == 3 else x
        self.names = list(names) if names is not None else [f"x{i + 1}" for i in range(self.x.shape[1])]
        self.dt, self.mean, self.scale = float(dt), mean, scale

    def user(self):
        """The values in user units."""
        return self.x if self.scale is None else self.x * self.scale + self.mean


def _load_npz(path):
    with np.load(path, allow_pickle=False) as file:
        keys = [key for key in file.files if key.startswith("x_")] or file.files
        field = {key: file[key] for key in ("names", "dt", "mean", "scale") if key in file.files}
        names = [str(name) for name in field["names"]] if "names" in field else None
        return Orbit(file[keys[0]], names, field.get("dt", 0.0), field.get("mean"), field.get("scale"))


def _load_csv(path):
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file if line.strip() and not line.startswith("#")]
    delimiter = next((mark for mark in (",", "\t", ";") if mark in lines[0]), None)
    try:
        [float(word) for word in lines[0].split(delimiter)]
        names = None
    except ValueError:
        names = [word.strip() for word in lines[0].split(delimiter)]
    return Orbit(np.loadtxt(lines[0 if names is None else 1:], delimiter=delimiter, ndmin=2), names)


def load(source):
    """An Orbit from an Orbit, an array, or a path."""
    if isinstance(source, Orbit):
        return source
    if not isinstance(source, (str, os.PathLike)):
        return Orbit(source)
    path = os.fspath(source)
    if path.endswith(".npz"):
        return _load_npz(path)
    return Orbit(np.load(path, allow_pickle=False)) if path.endswith(".npy") else _load_csv(path)


def _pair(true, generated):
    """Both orbits in units that can share an axis: the user's when both know them."""
    true, generated = load(true), load(generated)
    if true.x.shape[1] != generated.x.shape[1]:
        raise ValueError(f"the true orbit has {true.x.shape[1]} variables, the generated one {generated.x.shape[1]}")
    both = (true.scale is None) == (generated.scale is None)
    x, y = (true.user(), generated.user()) if both else (true.x, generated.x)
    names = true.names if not true.names[0].startswith("x1") else generated.names
    return x, y, names, true.dt or generated.dt


def _choose(names, variables):
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


def _delay(x, tau):
    return np.column_stack([x[2 * tau:, 0], x[tau:-tau, 0], x[:-2 * tau, 0]])


def _legend(figure_or_axes, **place):
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=TRUE, linewidth=2.5), Line2D([], [], color=GENERATED, linewidth=1.5)]
    return figure_or_axes.legend(handles, ["true", "generated"], **place)


def attractor(true, generated, variables=None, rows=4000, delay=10, ax=None):
    """Draw the generated orbit over the true one, in the first two or three variables or in those named.

    A single variable is drawn against itself `delay` and 2 `delay` rows before. Only the first `rows` rows are
    drawn, because a longer orbit fills its attractor and hides the other one.
    """
    import matplotlib.pyplot as plt

    x, y, names, _ = _pair(true, generated)
    if x.shape[1] == 1:
        x, y = _delay(x, delay), _delay(y, delay)
        names = [f"{names[0]}(t)", f"{names[0]}(t − {delay})", f"{names[0]}(t − {2 * delay})"]
    columns = _choose(names, variables)
    x, y = x[:rows, columns], y[:rows, columns]
    with plt.rc_context(STYLE):
        flat = len(columns) == 2
        if ax is None:
            figure = plt.figure(figsize=(4.2, 3.4) if flat else (4.4, 3.6))
            ax = figure.add_subplot() if flat else figure.add_axes((0.0, 0.0, 0.94, 0.96), projection="3d")
        ax.plot(*x.T, color=TRUE, linewidth=1.5, alpha=0.65)
        ax.plot(*y.T, color=GENERATED, linewidth=0.5)
        labels = [names[column] for column in columns]
        ax.set_xlabel(labels[0])
        ax.set_ylabel(labels[1])
        if not flat:
            ax.set_zlabel(labels[2])
            _tidy_3d(ax)
        _legend(ax, loc="lower right", bbox_to_anchor=(1.0, 1.0 if flat else 0.92), ncol=2, borderaxespad=0.2)
    return ax


def _tidy_3d(ax):
    """Plain walls, a light grid, and an angle from which both wings of a butterfly are seen."""
    ax.view_init(elev=18, azim=-62)
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.set_pane_color((1.0, 1.0, 1.0, 0.0))
        axis._axinfo["grid"].update(color="#e3e3e3", linewidth=0.5)
        axis.set_major_locator(matplotlib.ticker.MaxNLocator(5))
        axis.labelpad = -2
    ax.tick_params(pad=-1)
    ax.set_box_aspect((4, 4, 3), zoom=1.05)


def series(true, generated, rows=1500, offset=0, dt=None, axes=None):
    """The variables one below the other, true and generated, over `rows` rows.

    The first generated row stands for row `offset` of the true orbit: the warm-up plus one.
    """
    import matplotlib.pyplot as plt

    x, y, names, known = _pair(true, generated)
    step = dt or known
    x, count = x[offset:], x.shape[1]
    with plt.rc_context(STYLE):
        if axes is None:
            _, axes = plt.subplots(count, 1, sharex=True, squeeze=False, figsize=(6.4, 0.6 + 1.1 * count))
            axes = axes[:, 0]
        axes = np.atleast_1d(axes)
        for n, ax in enumerate(axes):
            for values, colour, width in ((x, TRUE, 1.6), (y, GENERATED, 0.9)):
                t = np.arange(min(rows, len(values))) * (step or 1)
                ax.plot(t, values[: len(t), n], color=colour, linewidth=width)
            ax.set_ylabel(names[n])
            ax.margins(x=0.0)
        axes[-1].set_xlabel("time" if step else "row")
        _legend(axes[0], loc="lower right", bbox_to_anchor=(1.0, 1.0), ncol=2, borderaxespad=0.2)
        axes[0].figure.align_ylabels(axes)
    return axes


def power_spectrum(x, sigma=20.0):
    """|rfft|^2 of a standardised variable, smoothed by a Gaussian of `sigma` bins, normalised to sum 1."""
    x = (x - x.mean()) / x.std(ddof=1)
    power = np.abs(np.fft.rfft(x)) ** 2
    if sigma > 0:
        reach = int(4 * sigma + 0.5)
        kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
        power = np.convolve(np.pad(power, reach, mode="symmetric"), kernel / kernel.sum(), mode="valid")
    return power / power.sum()


def spectra(true, generated, sigma=20.0, dt=None, axes=None):
    """Power spectra, as the Hellinger distance compares them, on logarithmic axes."""
    import matplotlib.pyplot as plt

    x, y, names, known = _pair(true, generated)
    step = dt or known or 1.0
    rows = min(len(x), len(y))
    count = x.shape[1]
    with plt.rc_context(STYLE):
        if axes is None:
            _, axes = plt.subplots(1, count, sharey=True, squeeze=False, figsize=(0.9 + 2.0 * count, 2.4))
            axes = axes[0]
        axes = np.atleast_1d(axes)
        frequency = np.fft.rfftfreq(rows, step)
        for n, ax in enumerate(axes):
            for values, colour, width in ((x, TRUE, 2.2), (y, GENERATED, 0.9)):
                ax.loglog(frequency[1:], power_spectrum(values[:rows, n], sigma)[1:], color=colour, linewidth=width)
            ax.set_title(names[n])
            ax.set_xlabel("frequency" if dt or known else "frequency per row")
        axes[0].set_ylabel("power")
        _legend(axes[0], loc="lower left")
    return axes


def _main(arguments):
    parser = argparse.ArgumentParser(prog="python3 -m antler.plot", description="Draw true and generated orbits.")
    parser.add_argument("kind", choices=["attractor", "series", "spectra"])
    parser.add_argument("true", help="file with the true orbit")
    parser.add_argument("generated", help="file with the generated orbit")
    parser.add_argument("--out", required=True, help="picture to write: .png, .pdf or .svg")
    parser.add_argument("--variables", help="for attractor: two or three, by name or number, such as x,z")
    parser.add_argument("--rows", type=int, help="rows to draw")
    parser.add_argument("--offset", type=int, default=0,
                        help="for series: row of the true orbit that the first generated row stands for")
    parser.add_argument("--title")
    chosen = parser.parse_args(arguments)
    matplotlib.use("Agg")
    options = {"rows": chosen.rows} if chosen.rows and chosen.kind != "spectra" else {}
    if chosen.variables and chosen.kind == "attractor":
        options["variables"] = chosen.variables.split(",")
    if chosen.kind == "series":
        options["offset"] = chosen.offset
    try:
        drawn = {"attractor": attractor, "series": series, "spectra": spectra}[chosen.kind](
            chosen.true, chosen.generated, **options)
        figure = np.atleast_1d(drawn)[0].figure
        if chosen.title:
            figure.suptitle(chosen.title, fontsize=10)
        with matplotlib.rc_context(STYLE):
            flat = not hasattr(np.atleast_1d(drawn)[0], "zaxis")
            figure.savefig(chosen.out, bbox_inches="tight" if flat else None, pad_inches=0.08)
    except (OSError, ValueError) as fault:
        print(f"antler.plot: {fault}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
