#!/usr/bin/env python3
"""release.py make|use FOLDER - the files of one release: a run of each kind of model, stopped half-way, and its end.

make  write them with the present version; scripts/release_files.sh calls this
use   in a copy of FOLDER: load every file, evaluate, generate, and resume every run; fails unless the results are those
      that the release recorded

FOLDER has data.npy, structs.txt (the layout of the public structs), Results/release/KIND/001 (the stopped run with its
checkpoint), KIND.npz (its model at the end) and KIND_orbit.npy (a free run of that model). Results depend on the
instruction set and on the machine's libraries, so ENVIRONMENT holds those to their lowest.
"""

import ctypes
import os
import shutil
import sys
import tempfile
from pathlib import Path

ENVIRONMENT = {
    "ANTLER_CPU": "base",
    "OPENBLAS_CORETYPE": "Prescott",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F",
}
SMALL = {
    "data": "data.npy", "results": "Results", "experiment": "release", "runs": 1, "threads": 1, "device": "cpu",
    "latent_dim": 4, "hidden_dim": 4, "sequence_length": 12, "batch_size": 2, "updates": 8, "log_interval": 1,
    "checkpoint_interval": 4, "validation": 0.5, "validation_interval": 2, "seed": 3,
}  # fmt: skip
KINDS = {
    "shplrnn": {"model": "shplrnn", "precision": "double", "solver": "sequential"},
    "shplrnn_float": {"model": "shplrnn", "precision": "float", "clipped": True, "rank": 1, "solver": "sequential"},
    "lssm": {"model": "lssm", "precision": "double"},
    "mamba2": {"model": "mamba2", "precision": "float"},
}
STOP, STEPS = 4, 12


def run_folder(kind):
    return Path("Results") / "release" / kind / "001"


def layout():
    """The public structs: `NAME size BYTES`, and `NAME FIELD OFFSET BYTES` of every field."""
    from antler import _structs

    lines = []
    for name, struct in sorted(vars(_structs).items()):
        if not isinstance(struct, type) or not issubclass(struct, ctypes.Structure) or not hasattr(struct, "_fields_"):
            continue
        lines.append(f"{name} size {ctypes.sizeof(struct)}")
        lines += [f"{name} {f[0]} {getattr(struct, f[0]).offset} {getattr(struct, f[0]).size}" for f in struct._fields_]
    return "\n".join(lines) + "\n"


def make_data():
    import numpy as np

    t = np.arange(220)[:, None] * np.array([0.31, 0.47])
    return (np.sin(t) + 0.3 * np.cos(1.7 * t)).astype(np.float32)


def orbit_of(model, data):
    return model.generate(STEPS, data[:40], warmup=5)


def make(folder):
    import numpy as np

    import antler

    np.save(folder / "data.npy", make_data())
    (folder / "structs.txt").write_text(layout())
    os.chdir(folder)
    data = np.load("data.npy")
    for kind, settings in KINDS.items():
        chosen = {**SMALL, **settings, "name": kind}
        antler.train(chosen, verbose=False, callback=lambda row: row["update"] >= STOP)
        with tempfile.TemporaryDirectory() as scratch:
            antler.train({**chosen, "results": scratch}, verbose=False)
            shutil.copy(Path(scratch) / "release" / kind / "001" / "model.npz", f"{kind}.npz")
        np.save(f"{kind}_orbit.npy", orbit_of(antler.Model.load(f"{kind}.npz"), data))


def same_parameters(a, b):
    left, right = a.parameters, b.parameters
    return left.keys() == right.keys() and all(left[name].tobytes() == right[name].tobytes() for name in left)


def use_kind(kind, data):
    import numpy as np

    import antler

    end, run = antler.Model.load(f"{kind}.npz"), run_folder(kind)
    stopped = antler.Model.load(run)
    assert not same_parameters(stopped, end), "the kept run has not stopped half-way"
    checkpoints = sorted((run / "checkpoints").iterdir())
    assert checkpoints, "no checkpoint"
    for file in [*checkpoints, *run.glob("*.npz")]:
        antler.Model.load(file)
    assert end.kind == KINDS[kind]["model"] and end.settings["updates"] == SMALL["updates"]
    found = end.evaluate(data, n=5, windows=5, samples=50, lyapunov_steps=20, verdict=False)
    assert np.isfinite(found["rmse"]["value"]), found
    orbit = orbit_of(end, data)
    assert np.allclose(orbit, np.load(f"{kind}_orbit.npy"), rtol=1e-12, atol=1e-12), "another free run"
    log = antler.load_run(run).log
    assert log["update"].tolist() == list(range(1, STOP + 1))
    (resumed,) = antler.resume(run, verbose=False)
    assert resumed.log["update"].tolist() == list(range(1, SMALL["updates"] + 1))
    assert same_parameters(resumed.model, end), "resumed to other bytes"


def use(folder):
    import numpy as np

    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "release"
        shutil.copytree(folder, copy)
        os.chdir(copy)
        data = np.load("data.npy")
        for kind in sorted(path.stem for path in Path().glob("*.npz")):
            use_kind(kind, data)
            print(f"{kind}: loaded, evaluated, generated, resumed")
        os.chdir(folder)


if __name__ == "__main__":
    if any(os.environ.get(name) != value for name, value in ENVIRONMENT.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **ENVIRONMENT})
    {"make": make, "use": use}[sys.argv[1]](Path(sys.argv[2]).resolve())
