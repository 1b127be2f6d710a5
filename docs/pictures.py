"""pictures.py FOLDER - the pictures of the site: from a small training made on the spot, and from kept results."""

import csv
import os
import sys
import tempfile

import matplotlib

matplotlib.use("Agg")
import numpy as np

import antler
from antler import plot
from antler.plot import style


def trained(folder):
    """Lorenz-63: the true orbit to compare with, in user units, a good run, and a short one by Newton's method."""
    x, y = antler.simulate("lorenz63", 40_000), antler.simulate("lorenz63", 40_000, seed=2)
    np.save(os.path.join(folder, "train.npy"), x)
    settings = dict(
        data=os.path.join(folder, "train.npy"), results=folder, dt=0.01, latent_dim=5, hidden_dim=50, log_interval=20
    )
    good = antler.train(settings, updates=8000, threads=1, verbose=False)[0]
    shown = antler.train(settings, name="newton", updates=800, batch_size=4, solver="deer", threads=1, verbose=False)[0]
    return y, good, shown


class Step:
    """The step of a model and its Jacobian in plain NumPy, in the model's units."""

    def __init__(self, model):
        self.A, self.W, self.V, self.b, self.h, self.B = (np.asarray(getattr(model, name), float) for name in "AWVbhB")
        self.pull = np.linalg.pinv(self.B)

    def __call__(self, z):
        return self.A * z + self.W @ np.maximum(self.V @ z + self.b, 0.0) + self.h

    def jacobian(self, z):
        return np.diag(self.A) + (self.W * (self.V @ z + self.b > 0)) @ self.V

    def force(self, z, x, alpha):
        return z + alpha * self.pull @ (x - self.B @ z)


def forced(step, x, alpha):
    """z_0 … z_T under forcing, one step after the other; x: (T + 1, N) in the model's units."""
    z = [step.pull @ x[0]]
    for t in range(1, len(x)):
        z.append(step(step.force(z[-1], x[t - 1], alpha if t > 1 else 0.0)))
    return np.array(z)


def newton(step, x, alpha, iterations):
    """States after each Newton iteration on all of them, from z_t = B+ x_t; the linear recurrence is plain here."""
    z, found, keep = x @ step.pull.T, [], np.eye(len(step.A)) - alpha * step.pull @ step.B
    for _ in range(iterations):
        found.append(z.copy())
        change, new = np.zeros(z.shape[1]), z.copy()
        for t in range(1, len(z)):
            before, P = (z[t - 1], np.eye(len(step.A))) if t == 1 else (step.force(z[t - 1], x[t - 1], alpha), keep)
            change = step.jacobian(before) @ P @ change - (z[t] - step(before))
            new[t] += change
        z = new
    return found


def forcing_picture(step, x, dt):
    with style.context():
        _, axes = style.subplots(3, 1, (style.PAGE, 3.3), sharex=True, sharey=True)
        t = np.arange(len(x)) * dt
        for ax, alpha in zip(axes[:, 0], (0.0, 0.15, 1.0)):
            ax.plot(t, x[:, 0], color=style.TRUE, linewidth=1.8)
            ax.plot(t, (forced(step, x, alpha) @ step.B.T)[:, 0], color=style.GENERATED, linewidth=0.9)
            ax.set_title(rf"$\alpha$ = {alpha:g}", loc="left", pad=2)
            ax.set_ylabel("x")
            ax.margins(x=0)
        axes[-1, 0].set_xlabel("time")
        style.orbit_legend(axes[0, 0], loc="lower right", bbox_to_anchor=(1, 1), ncol=2, borderaxespad=0.1)
    return axes


def newton_picture(step, x):
    with style.context():
        _, axes = style.subplots(1, 1, (style.COLUMN, 2.3))
        ax = axes[0, 0]
        for alpha, colour, marker in zip((0.05, 0.15, 0.5), style.GROUPS, style.MARKERS):
            exact = forced(step, x, alpha)
            errors = [np.abs(z - exact).max() for z in newton(step, x, alpha, 10)]
            ax.semilogy(errors, marker=marker, color=colour, label=rf"$\alpha$ = {alpha:g}")
        ax.set_xlabel("Newton iteration")
        ax.set_ylabel("largest error of a state")
        ax.legend()
    return axes


def scan_picture(leaves=16):
    """A tree of pairwise joins, from the steps at the tips to the whole at the root."""
    with style.context():
        _, axes = style.subplots(1, 1, (style.PAGE, 2.0))
        ax = axes[0, 0]
        places, level = np.arange(leaves, dtype=float), 0
        while len(places) > 1:
            joined = places.reshape(-1, 2).mean(1)
            for child, place in enumerate(places):
                bend = np.linspace(0, 1, 30)
                ax.plot(
                    place + (joined[child // 2] - place) * bend**2,
                    level + bend,
                    color=style.BLUE,
                    linewidth=0.8 + 0.9 * level,
                    solid_capstyle="round",
                )
            places, level = joined, level + 1
        ax.plot(np.arange(leaves), np.zeros(leaves), "o", color=style.GENERATED, markersize=3)
        ax.set_xticks(range(leaves), [f"{t + 1}" for t in range(leaves)])
        ax.set_yticks(range(level + 1), ["steps", "pairs", "fours", "eights", "all"][: level + 1])
        ax.invert_yaxis()
        ax.xaxis.tick_top()
        ax.spines[["left", "bottom"]].set_visible(False)
        ax.tick_params(length=0)
    return axes


def short_picture():
    """Valid prediction time from 512 rows: each start a point, the median of a flow a bar, per method."""
    path = os.path.join(os.path.dirname(__file__), "..", "experiments", "short", "results", "forecasts.csv")
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    flows, methods = (sorted({row[key] for row in rows}) for key in ("flow", "method"))
    names = {"antler": "Antler", "esn": "echo state network", "nbeats": "N-BEATS"}
    with style.context():
        _, axes = style.subplots(1, 1, (style.PAGE, 2.6))
        ax = axes[0, 0]
        for number, (method, colour) in enumerate(zip(methods, style.GROUPS)):
            for place, flow in enumerate(flows):
                found = [float(row["valid_time"]) for row in rows if (row["method"], row["flow"]) == (method, flow)]
                if not found:
                    continue
                at = place + 0.26 * (number - (len(methods) - 1) / 2)
                ax.bar(at, np.median(found), 0.24, color=colour, label=names[method] if place == 0 else None)
                ax.plot(np.full(len(found), at), found, ".", color=style.BLACK, markersize=1.5, alpha=0.6)
        ax.set_xticks(range(len(flows)), flows, rotation=30, ha="right")
        ax.set_ylabel("Lyapunov times")
        ax.set_title("valid prediction time after 512 rows", loc="left")
        ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncol=len(methods), borderaxespad=0.1)
    return axes


def main(folder):
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        y, run, by_newton = trained(work)
        model, warmup = run.model, 100
        free = model.generate(30_000, context=y, warmup=warmup)
        mean, scale = model.scaling
        x, step = (y[:1500] - mean) / scale, Step(model)
        true = antler.tables.Orbit(y, ["x", "y", "z"], 0.01)
        drawn = {
            "attractor": plot.attractor(true, free),
            "series": plot.series(true, free, offset=warmup + 1),
            "spectra": plot.spectra(true, free),
            "training": plot.training(by_newton),
            "delays": plot.attractor(y[:, :1], free[:, :1], delay=10),
            "forcing": forcing_picture(step, x[:800], 0.01),
            "newton": newton_picture(step, x[:500]),
            "scan": scan_picture(),
            "short": short_picture(),
        }
        for name, axes in drawn.items():
            plot.save(axes, os.path.join(folder, f"{name}.svg"))


if __name__ == "__main__":
    main(sys.argv[1])
