"""mix.py ANTLER NAME FOLDER - 64 noisy channels mixed from Lorenz-63 (mixed63) or Lorenz-96 (mixed96), as .npy."""

import subprocess
import sys
from pathlib import Path

import numpy as np

antler, name, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
options = {"mixed63": ["lorenz63"], "mixed96": ["lorenz96", "--param", "A=0", "--param", "F0=8"]}[name]
draw = np.random.default_rng(7)
mixing = None
for part, seed in (("train", 1), ("test", 2001)):
    orbit = folder / f"{name}_orbit.npy"
    command = [antler, "simulate", *options, "--length", "12500", "--dt", "0.02", "--seed", str(seed), "--quiet"]
    subprocess.run([*command, "--out", orbit], check=True)
    x = np.load(orbit)
    orbit.unlink()
    if mixing is None:
        mixing = draw.normal(size=(x.shape[1], 64)) / np.sqrt(x.shape[1])
    y = x @ mixing
    y += 0.1 * y.std(axis=0) * draw.normal(size=y.shape)
    np.save(folder / f"{name}_{part}.npy", y.astype(np.float32))
