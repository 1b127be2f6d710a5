#!/usr/bin/env python3
"""Write tests/golden/sparse: sparse teacher forcing (spec 10) in plain NumPy, gradients by complex steps.

Independent of the library: states by the formulas of spec 1, 2 and 10, and the derivative of the loss by each number
from a step of 1e-30 along the imaginary axis, which is exact to rounding.
"""

import pathlib

import numpy as np

M, N, L, T, BATCH, WARMUP, INTERVAL = 5, 3, 16, 64, 2, 9, 7


def pinv(B):
    """For M > N; polynomial in B but for the inverse, so it takes complex numbers."""
    return B.T @ np.linalg.inv(B @ B.T)


def strength(t):
    """a_t: 0 at the start, 1 in the warm-up and at every INTERVAL-th step after it, else 0."""
    return 0.0 if t == 0 else float(t <= WARMUP or t % INTERVAL == 0)


def solve(p, x, frozen=None):
    """All states (T, M) and the sum of squared errors; frozen: B of the teacher, where it is a constant."""
    B = p["B"]
    teacher_B = B if frozen is None else frozen
    P = pinv(teacher_B)
    z, states, square = P @ x[0], [], 0.0
    for t in range(T):
        z = z + strength(t) * (P @ (x[t] - teacher_B @ z))
        hidden = p["V"] @ z + p["b"]
        z = np.tanh(p["Abar"]) * z + p["W"] @ np.where(hidden.real > 0, hidden, 0.0) + p["h"]
        states.append(z)
        if t + 1 > WARMUP:
            error = x[t + 1] - B @ z
            square = square + error @ error
    return np.array(states), square


def loss(p, xs, frozen=None):
    return sum(solve(p, x, frozen)[1] for x in xs) / (BATCH * N * (T - WARMUP))


def gradient(p, xs, name, frozen=None):
    out = np.zeros(p[name].shape)
    for at in np.ndindex(out.shape):
        moved = {k: v.astype(complex) for k, v in p.items()}
        moved[name][at] += 1e-30j
        out[at] = np.imag(loss(moved, xs, frozen)) / 1e-30
    return out


def main():
    folder = pathlib.Path(__file__).parent / "golden" / "sparse"
    folder.mkdir(exist_ok=True)
    random = np.random.default_rng(16)
    p = {
        "Abar": 1.2 + 0.2 * random.standard_normal(M),
        "W": 0.12 * random.standard_normal((M, L)),
        "V": 0.4 * random.standard_normal((L, M)),
        "b": 0.3 * random.standard_normal(L),
        "h": 0.05 * random.standard_normal(M),
        "B": np.eye(N, M) + 0.2 * random.standard_normal((N, M)),
    }
    time = np.arange(T + 1)[:, None]
    xs = [np.sin(0.3 * time * (1 + 0.3 * np.arange(N)) + random.uniform(0, 6, N)) for _ in range(BATCH)]
    arrays = {f"param_{k}": v for k, v in p.items()}
    arrays["x"] = np.array(xs)
    arrays["z"] = np.array([solve(p, x)[0] for x in xs])
    arrays["loss"] = np.array(loss(p, xs))
    for name in p:
        arrays[f"grad_flow_{name}"] = gradient(p, xs, name)
        arrays[f"grad_stop_{name}"] = gradient(p, xs, name, p["B"])
    for name, value in arrays.items():
        np.save(folder / f"{name}.npy", np.ascontiguousarray(value))
    sizes = {"M": M, "L": L, "N": N, "K": 0, "T": T, "warmup": WARMUP, "alpha": 0, "interval": INTERVAL}
    lines = ["model shplrnn", *(f"{k} {v}" for k, v in sizes.items()), "rank 0", f"batch {BATCH}"]
    (folder / "case.txt").write_text("\n".join(lines) + "\n")
    print(f"loss {arrays['loss']:.6g}, largest state {np.abs(arrays['z']).max():.3g}")


if __name__ == "__main__":
    main()
