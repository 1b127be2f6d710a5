"""Run a trained shPLRNN with nothing but NumPy: python3 numpy_only.py model.npz [steps] [context.npy]

A model file is a NumPy archive with the paper's letters, so that it outlives the tool that made it:

    z_t = A z_{t-1} + W relu(V z_{t-1} + b) + C s_t + h        x_t = B z_t, user units: x_t * scale + mean
"""

import sys

import numpy as np


def load(path):
    """The arrays of a model; a low-rank W is multiplied out."""
    with np.load(path) as file:
        model = {key: file[key] for key in file.files}
    if str(model["kind"]) != "shplrnn":
        raise SystemExit(f"{path}: is a {model['kind']}, and this example runs the shplrnn")
    if "W" not in model:
        model["W"] = model["WL"] @ model["WR"]
    return {key: value.astype(float) if value.dtype.kind == "f" else value for key, value in model.items()}


def step(model, z):
    """One step of the map, without inputs."""
    hidden = model["V"] @ z
    active = np.maximum(hidden + model["b"], 0)
    if model["clipped"]:
        active -= np.maximum(hidden, 0)
    return model["A"] * z + model["W"] @ active + model["h"]


def warm_up(model, rows):
    """The latent state after rows (user units) that force the observed part of it fully."""
    x = (rows - model["mean"]) / model["scale"] if "mean" in model else rows
    pinv = np.linalg.pinv(model["B"])
    z = pinv @ x[0]
    for row in x[1:]:
        z = step(model, z)
        z = z + pinv @ (row - model["B"] @ z)
    return z


def run(model, steps, z):
    """A free run from the latent state z: (steps, N) in user units."""
    x = np.empty((steps, model["B"].shape[0]))
    for t in range(steps):
        z = step(model, z)
        x[t] = model["B"] @ z
    return x * model["scale"] + model["mean"] if "mean" in model else x


def main():
    model = load(sys.argv[1])
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    z = warm_up(model, np.load(sys.argv[3])) if len(sys.argv) > 3 else np.zeros(len(model["A"]))
    orbit = run(model, steps, z)
    print(f"{steps} steps: mean {orbit.mean(0)}, standard deviation {orbit.std(0)}")


if __name__ == "__main__":
    main()
