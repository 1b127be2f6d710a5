"""Chaotic flows of the library against the same equations in NumPy."""

import numpy as np
import pytest

import antler


def lorenz63(x, y, z, sigma, rho, beta):
    return sigma * (y - x), x * (rho - z) - y, x * y - beta * z


def roessler(x, y, z, a, b, c):
    return -y - z, x + a * y, b + z * (x - c)


def burke_shaw(x, y, z, s, v):
    return -s * (x + y), -y - s * x * z, s * x * y + v


def chen(x, y, z, a, b, c):
    return a * (y - x), (c - a) * x - x * z + c * y, x * y - b * z


def chua(x, y, z, alpha, beta, m0, m1):
    current = m0 * x if abs(x) < 1 else m1 * x + (m0 - m1) * np.sign(x)
    return alpha * (y - current), x - y + z, -beta * y


def dadras(x, y, z, a, b, c, d, e):
    return y - a * x + b * y * z, c * y - x * z + z, d * x * y - e * z


def halvorsen(x, y, z, a):
    return -a * x - 4 * (y + z) - y**2, -a * y - 4 * (z + x) - z**2, -a * z - 4 * (x + y) - x**2


def hyperroessler(x, y, z, w, a, b, c, d):
    return -y - z, x + a * y + w, b + x * z, d * w - c * z


def lorenz84(x, y, z, a, b, F, G):
    return -(y**2) - z**2 - a * x + a * F, x * y - b * x * z - y + G, b * x * y + x * z - z


def rucklidge(x, y, z, kappa, **drive):
    return (drive["lambda"] - z) * y - kappa * x, x, y**2 - z


def sprott_b(x, y, z):
    return y * z, x - y, 1 - x * y


def thomas(x, y, z, b):
    return np.sin(y) - b * x, np.sin(z) - b * y, np.sin(x) - b * z


FLOWS = [
    lorenz63, roessler, burke_shaw, chen, chua, dadras, halvorsen, hyperroessler, lorenz84, rucklidge, sprott_b, thomas
]  # fmt: skip


def classical_runge_kutta(rate, x, h, steps):
    rows = [x]
    for _ in range(steps):
        k1 = rate(x)
        k2 = rate(x + h / 2 * k1)
        k3 = rate(x + h / 2 * k2)
        k4 = rate(x + h * k3)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        rows.append(x)
    return np.array(rows)


@pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: flow.__name__)
def test_orbits_are_those_of_the_equations(flow):
    """Most of a Lyapunov time on the attractor, with default parameters and with each of them changed."""
    system = antler.systems()[flow.__name__]
    start = antler.simulate(system.name, 1, all_variables=True)[0]
    changed = [{name: 1.1 * value} for name, value in system.parameters.items()]
    dt = 0.6 / system.lyapunov / 300
    given = dict(dt=dt, transient=0, initial=start, all_variables=True)
    plain = antler.simulate(system.name, 301, **given)
    for change in [{}, *changed]:
        parameters = {**system.parameters, **change}
        expected = classical_runge_kutta(lambda x, p=parameters: np.array(flow(*x, **p)), start, dt / 8, 2400)[::8]
        found = antler.simulate(system.name, 301, **given, **change)
        assert np.abs(found - expected).max() < 1e-5 * np.abs(expected).max(), change
        assert not change or np.abs(found - plain).max() > 1e-3 * np.abs(expected).max(), change


def test_exponents_are_in_the_table():
    known = {name: system.lyapunov for name, system in antler.systems().items()}
    assert known["neuron"] == 0
    assert known["lorenz63"] == pytest.approx(0.906, abs=0.001)
    assert known["roessler"] == pytest.approx(0.0714, abs=0.001)
    assert all(value > 0 for name, value in known.items() if name != "neuron")
