"""Write arrays with NumPy for Antler to read, and read back with NumPy what Antler wrote.

    numpy_interop.py write FOLDER      files, the values expected from each, and list.txt
    numpy_interop.py compare FOLDER    what FILE.out.npz holds against what was expected of FILE

list.txt has one line per file: its name, and the columns to be chosen, "transpose" or nothing.
"""
import os
import sys

import numpy

TYPES = ["f8", "f4", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"]


def save(name, array, version):
    with open(name, "wb") as file:
        numpy.lib.format.write_array(file, array, version=version)


def cases():
    """Name of a file, its array, the trajectories that it means, how to load it."""
    random = numpy.random.default_rng(3)
    for letter in TYPES:
        for order in "<>":
            for layout in "CF":
                base = random.normal(size=(2, 40, 3)) * 50 + 60
                typed = base > 60 if letter == "?" else base.astype(order + letter)
                for rank, values in ((1, typed[0, :, 0]), (2, typed[0]), (3, typed)):
                    array = numpy.array(values, order=layout)
                    ends = "little" if order == "<" else "big"
                    name = "%s_%s_%s_%d.npy" % (letter.replace("?", "b"), ends, layout, rank)
                    rows = {1: [values[:, None]], 2: [values], 3: list(values)}[rank]
                    yield name, array, rows, ""
    base = random.normal(size=(40, 3))
    yield "transposed.npy", base.T, [base], "transpose"
    yield "transposed_f.npy", numpy.asfortranarray(base.T), [base], "transpose"
    yield "strided.npy", base[::2, ::-1], [base[::2, ::-1]], ""
    yield "columns.npy", base, [base[:, [2, 0]]], "3,1"


def write():
    lines = []
    for count, (name, array, rows, option) in enumerate(cases()):
        save(name, array, [(1, 0), (2, 0), (3, 0)][count % 3])
        numpy.savez(name + ".want.npz", *[row.astype(float) for row in rows])
        lines.append(name + " " + option)
    a, b = numpy.arange(12.0).reshape(4, 3) ** 2, numpy.arange(6.0).reshape(2, 3) / 7
    numpy.savez("plain.npz", a, b)
    numpy.savez_compressed("packed.npz", run_1=a, run_2=b, dt=0.125, note="text")
    for name in ("plain.npz", "packed.npz"):
        numpy.savez(name + ".want.npz", a, b)
        lines.append(name)
    numpy.savetxt("spaces.txt", a)
    numpy.savetxt("commas.csv", a / 7, delimiter=",", header="x,y,z", comments="")
    numpy.savez("spaces.txt.want.npz", a)
    numpy.savez("commas.csv.want.npz", a / 7)
    lines += ["spaces.txt", "commas.csv"]
    with open("list.txt", "w") as file:
        file.write("".join(line + "\n" for line in lines))


def compare():
    names = [line.split()[0] for line in open("list.txt")]
    for name in names:
        want, got = numpy.load(name + ".want.npz"), numpy.load(name + ".out.npz")
        keys = [key for key in got if key.startswith("x_")]
        assert len(keys) == len(want), name
        for index, key in enumerate(sorted(keys)):
            expected = want["arr_%d" % index]
            assert got[key].dtype == numpy.float64 and got[key].shape == expected.shape, (name, got[key].shape)
            assert numpy.array_equal(got[key], expected), name
        unnamed = ["x%d" % (i + 1) for i in range(expected.shape[1])]
        assert list(got["names"]) == (["x", "y", "z"] if name == "commas.csv" else unnamed), name
    assert float(numpy.load("packed.npz.out.npz")["dt"]) == 0.125


os.chdir(sys.argv[2])
if sys.argv[1] == "write":
    write()
else:
    compare()
