#!/usr/bin/env python3
"""Derive the constants of src/measure/mixture_vector.h: polynomials for 2^f and the tables that go with them.

2^t = table[j] * 2^n * p(f),  with  t = n + j/entries + f  and  |f| <= 1 / (2 entries).

p is the polynomial of the given degree whose largest relative error is smallest (Remez exchange).  It is
divided by its leading coefficient, which moves into the table: the first step of Horner's rule is then an
addition, and on many machines additions have execution units that fused multiply-adds cannot use.

    scripts/exp2_polynomial.py            print the constants in use
    scripts/exp2_polynomial.py 6 4        degree 6, 4 table entries

Needs the standard library only.
"""
import struct
import sys
from decimal import Decimal, getcontext
from math import cos, pi

getcontext().prec = 50
IN_USE = [("base", 9, 1), ("avx2", 7, 2), ("avx512", 5, 8)]


def solve(rows):
    """Gaussian elimination with pivoting of the augmented matrix `rows`."""
    n = len(rows)
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(i + 1, n):
            factor = rows[r][i] / rows[i][i]
            rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i])]
    x = [Decimal(0)] * n
    for i in reversed(range(n)):
        x[i] = (rows[i][n] - sum(rows[i][j] * x[j] for j in range(i + 1, n))) / rows[i][i]
    return x


def evaluate(coefficients, f):
    value = Decimal(0)
    for c in reversed(coefficients):
        value = value * f + c
    return value


def extrema(error):
    """The index of the largest |error| between each two changes of its sign."""
    found, best = [], 0
    for k in range(1, len(error)):
        if (error[k] > 0) != (error[best] > 0):
            found.append(best)
            best = k
        elif abs(error[k]) > abs(error[best]):
            best = k
    return found + [best]


def minimax(degree, half_width):
    """Coefficients, lowest power first, and the largest relative error on [-half_width, half_width]."""
    grid = [Decimal(-cos(pi * k / 2000)) * half_width for k in range(2001)]
    power = [Decimal(2) ** f for f in grid]
    points = [round(2000 * k / (degree + 1)) for k in range(degree + 2)]
    for _ in range(8):
        system = [[grid[k] ** j / power[k] for j in range(degree + 1)] + [Decimal((-1) ** i), Decimal(1)]
                  for i, k in enumerate(points)]
        coefficients = solve(system)[:-1]
        error = [evaluate(coefficients, f) / p - 1 for f, p in zip(grid, power)]
        moved = extrema(error)
        if len(moved) != degree + 2:
            raise ArithmeticError("the exchange lost an extremum: raise the precision")
        if moved == points:
            break
        points = moved
    return coefficients, max(abs(e) for e in error)


def constants(name, degree, entries):
    coefficients, error = minimax(degree, Decimal(1) / (2 * entries))
    leading = coefficients[degree]
    print(f"{name}: degree {degree}, {entries} table entries, largest relative error {float(error):.2g}")
    print("  polynomial, lowest power first:")
    for c in coefficients[:degree]:
        print(f"    {float(c / leading).hex()}")
    print("  table:")
    for j in range(entries):
        value = float(leading * Decimal(2) ** (Decimal(j) / entries))
        bits = struct.unpack("<Q", struct.pack("<d", value))[0]
        bits_less_index = bits - (j << 52) // entries
        print(f"    {value.hex()}   bits less the index: 0x{bits_less_index:016x}")


def main():
    cases = [("given", int(sys.argv[1]), int(sys.argv[2]))] if len(sys.argv) == 3 else IN_USE
    for case in cases:
        constants(*case)


if __name__ == "__main__":
    main()
