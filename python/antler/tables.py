"""Files as they lie on disk: orbits, CSV tables, the folders of runs. NumPy is all that is needed.

Nothing here computes; it is where pictures and reports take their numbers from.
"""

import csv
import json
import os

import numpy as np


# measure: where metrics.json keeps it
MEASURES = {
    "dstsp": ("dstsp", "value"), "dstsp_embedded": ("dstsp_embedded", "value"), "hellinger": ("hellinger", "value"),
    "rmse": ("rmse", "value"), "lyapunov_max": ("lyapunov", "exponents"), "kaplan_yorke": ("lyapunov", "kaplan_yorke"),
}
# Settings that tell runs apart without being a choice between methods.
BOOKKEEPING = ("experiment", "name", "results", "runs", "threads", "log_interval", "checkpoint_interval")


class Orbit:
    """One trajectory: x is (T, N) as stored, with names, dt (0: unknown) and the way back to user units."""

    def __init__(self, x, names=None, dt=0.0, mean=None, scale=None):
        x = np.asarray(x, dtype=float)
        self.x = x[:, None] if x.ndim == 1 else x[0] if x.ndim == 3 else x
        self.named = names is not None
        self.names = list(names) if self.named else [f"x{i + 1}" for i in range(self.x.shape[1])]
        self.dt, self.mean, self.scale = float(dt or 0.0), mean, scale

    def user(self):
        """The values in user units."""
        return self.x if self.scale is None else self.x * self.scale + self.mean

    def columns(self, numbers):
        """The same orbit with these variables only."""
        part = (None if values is None else np.asarray(values)[numbers] for values in (self.mean, self.scale))
        return Orbit(self.x[:, numbers], [self.names[n] for n in numbers], self.dt, *part)


def _orbit_from_npz(path, trajectory):
    with np.load(path, allow_pickle=False) as file:
        keys = sorted(key for key in file.files if key.startswith("x_")) or file.files
        field = {key: file[key] for key in ("names", "dt", "mean", "scale") if key in file.files}
        names = [str(name) for name in field["names"]] if "names" in field else None
        return Orbit(file[keys[trajectory]], names, field.get("dt", 0.0), field.get("mean"), field.get("scale"))


def _orbit_from_text(path):
    with open(path, encoding="utf-8-sig") as file:
        lines = [line for line in file if line.strip() and not line.startswith("#")]
    delimiter = next((mark for mark in (",", "\t", ";") if mark in lines[0]), None)
    try:
        [float(word) for word in lines[0].split(delimiter)]
        names = None
    except ValueError:
        names = [word.strip().strip('"') for word in lines[0].split(delimiter)]
    return Orbit(np.loadtxt(lines[0 if names is None else 1:], delimiter=delimiter, ndmin=2), names)


def orbit(source, trajectory=0):
    """An Orbit from an Orbit, an array, a pandas frame, or a path (.npy, .npz, .csv as written by `antler`)."""
    if isinstance(source, Orbit):
        return source
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        if path.endswith(".npz"):
            return _orbit_from_npz(path, trajectory)
        return Orbit(np.load(path, allow_pickle=False)) if path.endswith(".npy") else _orbit_from_text(path)
    names = [str(name) for name in source.columns] if hasattr(source, "columns") else None
    return Orbit(source, names)


def settings(path):
    """The flat settings of a config.yaml as {name: text}, in the order of the file."""
    found = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            name, colon, value = line.partition(":")
            if colon and name.strip() and not name.startswith((" ", "#", "-")):
                found[name.strip()] = value.strip().strip('"')
    return found


def _column(words):
    """Numbers where every field is one or empty (then NaN), text elsewhere."""
    try:
        return np.array([float(word) if word else np.nan for word in words])
    except ValueError:
        return np.array(words, dtype=str)


def table(source):
    """Columns by name, {name: (rows,) array}, from a CSV file, a folder of runs, a mapping of columns or a pandas frame."""
    if isinstance(source, (str, os.PathLike)) and os.path.isdir(source):
        return gather(runs_below(source))
    if isinstance(source, (str, os.PathLike)):
        with open(source, newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        if not rows:
            return {}
        body = [row for row in rows[1:] if len(row) == len(rows[0])]
        return {name: _column([row[i] for row in body]) for i, name in enumerate(rows[0])}
    return {str(name): np.asarray(source[name]) for name in source}


class RunFiles:
    """What a run left on disk. Missing files give empty values, so that a run that is still under way can be looked at."""

    def __init__(self, folder):
        self.folder = os.fspath(folder)
        if not os.path.isfile(os.path.join(self.folder, "config.yaml")):
            raise FileNotFoundError(f"{self.folder}: there is no config.yaml, so this is no folder of a run")
        self.settings = settings(self._path("config.yaml"))
        self.log = table(self._path("log.csv")) if self._has("log.csv") else {}
        self.metrics = self._json("metrics.json")
        self.diverged_because = self._text("diverged.txt")

    def _path(self, name):
        return os.path.join(self.folder, name)

    def _has(self, name):
        return os.path.isfile(self._path(name))

    def _text(self, name):
        if not self._has(name):
            return ""
        with open(self._path(name), encoding="utf-8") as file:
            return file.read().strip()

    def _json(self, name):
        text = self._text(name)
        return json.loads(text) if text else {}

    @property
    def name(self):
        """name/001, as users speak of it."""
        parts = os.path.normpath(os.path.abspath(self.folder)).split(os.sep)
        return "/".join(parts[-2:])

    @property
    def diverged(self):
        """In training, or in its free run."""
        return bool(self.diverged_because) or bool(self.metrics.get("diverged"))

    def measures(self):
        """{measure: value}: infinite where the free run diverged, absent where it was not measured."""
        found = {}
        for name, (part, key) in MEASURES.items():
            value = self.metrics.get(part, {}).get(key)
            value = value[0] if isinstance(value, list) else value
            if value is not None:
                found[name] = float(value)
            elif self.diverged and name != "dstsp_embedded":
                found[name] = np.inf
        return found

    def model(self):
        """The arrays of model.npz by the paper's letters; empty when there is none yet."""
        if not self._has("model.npz"):
            return {}
        with np.load(self._path("model.npz"), allow_pickle=False) as file:
            return {key: file[key] for key in file.files}


def is_run(folder):
    """Is this the folder of a run?"""
    return os.path.isfile(os.path.join(os.fspath(folder), "config.yaml"))


def runs_below(folder):
    """The runs in a folder of runs or of experiments, sorted by path; the folder itself when it is one."""
    if is_run(folder):
        return [RunFiles(folder)]
    found = [path for path, _, files in os.walk(folder) if "config.yaml" in files]
    return [RunFiles(path) for path in sorted(found)]


def varying(runs):
    """Names of the settings in which these runs differ, less the bookkeeping."""
    names = [name for name in runs[0].settings if name not in BOOKKEEPING] if runs else []
    return [name for name in names if len({run.settings.get(name) for run in runs}) > 1]


def gather(runs):
    """One row per run: the settings in which they differ, the end of their logs, their measures."""
    logged = ("loss", "iterations", "fallbacks", "seconds")
    rows = []
    for run in runs:
        row = {name: run.settings.get(name, "") for name in varying(runs)}
        row.update(name=run.settings.get("name", ""), run=os.path.basename(os.path.normpath(run.folder)))
        row.update(diverged=int(run.diverged))
        row.update({name: run.log[name][-1] for name in logged if len(run.log.get(name, ())) > 0})
        row.update(run.measures())
        rows.append(row)
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: _column([str(row.get(name, "")) for row in rows]) for name in names}
