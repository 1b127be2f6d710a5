"""series.py NAME FOLDER - series that antler simulate does not have: NAME_train.npy, NAME_test.npy of another start.

Flows and delay equations are integrated by the classical Runge-Kutta method in small steps.  The comment of each
function says what is observed.
"""

import math
import sys
from pathlib import Path

import numpy as np

ROWS = 50_000


def integrate(slope, state, dt, rows, steps=20):
    """(rows, N) of a flow; `slope(state, time)`, `steps` steps for each row."""
    out = np.empty((rows, state.size))
    h = dt / steps
    for row in range(rows):
        out[row] = state
        for i in range(steps):
            t = row * dt + i * h
            a = slope(state, t)
            b = slope(state + h / 2 * a, t + h / 2)
            c = slope(state + h / 2 * b, t + h / 2)
            d = slope(state + h * c, t + h)
            state = state + h / 6 * (a + 2 * b + 2 * c + d)
    return out


def mackey_glass(draw):
    """x alone of a delay equation: delay 17, one row a unit of time; the state is a function of 17 units."""
    rows, per_unit, delay = 20_000, 10, 170
    x = np.empty((rows + 1000) * per_unit + delay)
    x[:delay] = 0.5 + 0.7 * draw.random() + 0.1 * np.sin(np.arange(delay) / 20 + draw.random())
    for i in range(delay, x.size):  # Runge-Kutta, with the delayed value constant over a step
        p, before = x[i - 1], x[i - delay]
        force, h = 0.2 * before / (1 + before**10), 1 / per_unit
        a = force - 0.1 * p
        b = force - 0.1 * (p + h / 2 * a)
        c = force - 0.1 * (p + h / 2 * b)
        d = force - 0.1 * (p + h * c)
        x[i] = p + h / 6 * (a + 2 * b + 2 * c + d)
    return x[delay + 1000 * per_unit :: per_unit][:rows, None]


def duffing(draw):
    """x and v of a chaotic driven oscillator; the phase of its drive is hidden."""
    rows, phase = 20_000, draw.random() * 2 * np.pi

    def slope(s, t):
        return np.array([s[1], s[0] - s[0] ** 3 - 0.3 * s[1] + 0.5 * np.cos(1.2 * t + phase)])

    return integrate(slope, draw.normal(size=2), 0.1, rows + 1000, 5)[1000:]


def pendulum(draw):
    """A chaotic driven pendulum with its drive: sin and cos of the angle, speed, sin and cos of the phase."""
    rows, phase = 20_000, draw.random() * 2 * np.pi

    def slope(s, t):
        return np.array([s[1], -0.5 * s[1] - np.sin(s[0]) + 1.15 * np.cos(2 / 3 * t + phase)])

    x = integrate(slope, draw.normal(size=2), 0.1, rows + 1000, 5)[1000:]
    t = 2 / 3 * 0.1 * np.arange(1000, rows + 1000) + phase
    return np.column_stack([np.sin(x[:, 0]), np.cos(x[:, 0]), x[:, 1], np.sin(t), np.cos(t)])


def vanderpol(draw):
    """x and v of a relaxation oscillator, a limit cycle, with 5 % noise."""
    x = integrate(lambda s, t: np.array([s[1], 3 * (1 - s[0] ** 2) * s[1] - s[0]]), draw.normal(size=2), 0.05, 20_000)
    return x + 0.05 * x.std(axis=0) * draw.normal(size=x.shape)


def torus(draw):
    """The sum of two sines whose frequencies have no common multiple, alone."""
    t, phase = 0.1 * np.arange(20_000), draw.random(2) * 2 * np.pi
    return (np.sin(t + phase[0]) + 0.7 * np.sin((1 + 5**0.5) / 2 * t + phase[1]))[:, None]


def two_scales(draw):
    """Two Lorenz-63 systems, one ten times as slow, each driven by the other."""

    def slope(s, t):
        x, y, z, u, v, w = s
        return np.array(
            [
                10 * (y - x) - 0.08 * (u + 11),
                28 * x - y - x * z + 0.08 * (v + 11),
                x * y - 8 / 3 * z,
                0.1 * (10 * (v - u) - (x - 11)),
                0.1 * (28 * u - v - u * w + (y + 11)),
                0.1 * (u * v - 8 / 3 * w),
            ]
        )

    return integrate(slope, 5 + draw.normal(size=6), 0.02, ROWS + 2000, 2)[2000:]


def seasons63(draw):
    """Lorenz-63 whose parameter rho swings between 22 and 46 once in 5,000 rows: a slow forcing that is not seen."""
    phase = draw.random() * 2 * np.pi

    def slope(s, t):
        rho = 34 + 12 * np.sin(2 * np.pi * t / 100 + phase)
        return np.array([10 * (s[1] - s[0]), s[0] * (rho - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2]])

    return integrate(slope, draw.normal(size=3) + [0, 0, 25], 0.02, ROWS, 2)


def henon(draw):
    """Both variables of a map: no row resembles the one before."""
    x = np.empty((10_100, 2))
    x[0] = 0.1 * draw.random(2)
    for i in range(1, len(x)):
        x[i] = 1 - 1.4 * x[i - 1, 0] ** 2 + x[i - 1, 1], 0.3 * x[i - 1, 0]
    return x[100:]


def logistic(draw):
    """One variable of a map, 3.9 x (1 - x)."""
    x = np.empty((10_100, 1))
    x[0] = 0.2 + 0.6 * draw.random()
    for i in range(1, len(x)):
        x[i] = 3.9 * x[i - 1] * (1 - x[i - 1])
    return x[100:]


def ikeda(draw):
    """Both variables of Ikeda's map."""
    x = np.empty((10_100, 2))
    x[0] = 0.1 * draw.random(2)
    for i in range(1, len(x)):
        p, q = x[i - 1]
        t = 0.4 - 6 / (1 + p * p + q * q)
        x[i] = 1 + 0.9 * (p * np.cos(t) - q * np.sin(t)), 0.9 * (p * np.sin(t) + q * np.cos(t))
    return x[100:]


def ricker(draw):
    """One variable of a map of populations, x exp(2.9 (1 - x)), with 2 % noise."""
    x = np.empty((10_100, 1))
    x[0] = 0.2 + 0.6 * draw.random()
    for i in range(1, len(x)):
        x[i] = x[i - 1] * np.exp(2.9 * (1 - x[i - 1]))
    return x[100:] * (1 + 0.02 * draw.normal(size=(10_000, 1)))


def henon_x(draw):
    """One variable of the Henon map: the other is the value before."""
    return henon(draw)[:, :1]


def ar2(draw):
    """Noise through a resonance: no deterministic system.  One variable, a period of about 40 rows."""
    x, r, w = np.zeros(21_000), 0.98, 2 * np.pi / 40
    for i in range(2, x.size):
        x[i] = 2 * r * np.cos(w) * x[i - 1] - r * r * x[i - 2] + draw.normal()
    return x[1000:, None]


def season(draw):
    """A seasonal course of 365 rows and AR(2) noise of the same size, alone: half of it can be predicted."""
    noise = ar2(draw)[:, 0]
    t = 2 * np.pi / 365 * np.arange(noise.size) + 2 * np.pi * draw.random()
    return (np.sin(t) + 0.7 * noise / noise.std())[:, None]


def langevin(draw):
    """Random jumps between two wells: a system, but not a deterministic one.  One variable."""
    x, h = np.zeros(400_000), 0.02
    kicks = draw.normal(size=x.size) * (2 * 0.15 * h) ** 0.5
    for i in range(1, x.size):
        x[i] = x[i - 1] + h * (x[i - 1] - x[i - 1] ** 3) + kicks[i]
    return x[::20, None]


def tent(draw):
    """One variable of a skew tent map: slopes 0.98 / 0.37 and -0.98 / 0.63."""
    x = np.empty((10_100, 1))
    x[0] = 0.2 + 0.6 * draw.random()
    for i in range(1, len(x)):
        p = x[i - 1, 0]
        x[i] = 0.98 * (p / 0.37 if p < 0.37 else (1 - p) / 0.63)
    return x[100:]


def cubic(draw):
    """One variable of a map with two humps, 2.8 x (1 - x^2)."""
    x = np.empty((10_100, 1))
    x[0] = 0.1 + 0.6 * draw.random()
    for i in range(1, len(x)):
        x[i] = 2.8 * x[i - 1] * (1 - x[i - 1] ** 2)
    return x[100:]


def gauss(draw):
    """One variable of a map, exp(-6.2 x^2) - 0.5."""
    x = np.empty((10_100, 1))
    x[0] = 0.1 + 0.6 * draw.random()
    for i in range(1, len(x)):
        x[i] = np.exp(-6.2 * x[i - 1] ** 2) - 0.5
    return x[100:]


def duffing_map(draw):
    """x and v of the driven oscillator of `duffing`, once in each period of its drive."""
    rows, steps, period, x, v = 10_000, 60, 2 * math.pi / 1.2, *draw.normal(size=2)
    h = period / steps
    drive = [0.5 * math.cos(1.2 * h / 2 * k) for k in range(2 * steps + 1)]

    def force(p, q, k):
        return p - p**3 - 0.3 * q + drive[k]

    out = np.empty((rows + 100, 2))
    for row in range(len(out)):
        out[row] = x, v
        for i in range(0, 2 * steps, 2):
            a = force(x, v, i)
            b, vb = force(x + h / 2 * v, v + h / 2 * a, i + 1), v + h / 2 * a
            c, vc = force(x + h / 2 * vb, v + h / 2 * b, i + 1), v + h / 2 * b
            vd = v + h * c
            d = force(x + h * vc, vd, i + 2)
            x, v = x + h / 6 * (v + 2 * vb + 2 * vc + vd), v + h / 6 * (a + 2 * b + 2 * c + d)
    return out[100:]


def brusselator(draw):
    """Both variables of a limit cycle with 0.1 % noise: a thin attractor of a flow."""
    rows, state = 20_000, 1 + draw.random(2)

    def slope(s, t):
        turn = s[0] ** 2 * s[1]
        return np.array([1 + turn - 4 * s[0], 3 * s[0] - turn])

    x = integrate(slope, state, 0.05, rows + 2000, 4)[2000:]
    return x + 1e-3 * x.std(axis=0) * draw.normal(size=x.shape)


def white(draw):
    """Two variables of white noise: nothing to predict."""
    return draw.normal(size=(10_000, 2))


def walk(draw):
    """Two variables of a random walk."""
    return draw.normal(size=(10_000, 2)).cumsum(axis=0)


def main(name, folder):
    for number, part in enumerate(("train", "test")):
        draw = np.random.default_rng([11, number])
        np.save(Path(folder) / f"{name}_{part}.npy", globals()[name](draw))


main(*sys.argv[1:])
