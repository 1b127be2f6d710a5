#!/usr/bin/env python3
"""Write the seed inputs of the fuzzers into tests/fuzz/corpus.

Each seed is one byte that chooses the load options (see fuzz.h) and a small, valid file. Those of checkpoints and run
folders come from a training (fuzz_training.h), so the package must be there: PYTHONPATH=python and a build.
"""
import gzip
import io
import pathlib
import re
import struct
import tempfile
import zipfile

import antler

HERE = pathlib.Path(__file__).parent / "corpus"


def npy(descr, shape, data, fortran=False, version=1):
    text = "{'descr': %s, 'fortran_order': %s, 'shape': %s, }" % (descr, fortran, shape)
    length = struct.pack("<H" if version == 1 else "<I", len(text) + 1)
    return b"\x93NUMPY" + bytes([version, 0]) + length + text.encode() + b"\n" + data


def npz(members, method=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name), data, compress_type=method)
    return out.getvalue()


def write(kind, name, data, options=0):
    folder = HERE / kind
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(bytes([options]) + data)


f8 = struct.pack("<6d", 1, 2, 3.5, -4, 5e-3, 6)
write("npy", "f8_2d", npy("'<f8'", "(3, 2)", f8))
write("npy", "f8_fortran", npy("'<f8'", "(3, 2)", f8, fortran=True), 1)
write("npy", "f4_big_1d", npy("'>f4'", "(4,)", struct.pack(">4f", 1, 2, 3, 4), version=2))
write("npy", "i2_3d", npy("'<i2'", "(2, 2, 2)", struct.pack("<8h", *range(8)), version=3), 8)
write("npy", "bool", npy("'|b1'", "(3,)", b"\0\1\0"))
write("npy", "u8", npy("'<u8'", "(2L, 1L)", struct.pack("<2Q", 1, 2**64 - 1)))
write("npy", "structured", npy("[('a', '<f8'), ('b', '<i4', (2,))]", "(1,)", b"\0" * 16))
write("npy", "object", npy("'|O'", "(1,)", b"\x80\x04N."))
write("npy", "complex", npy("'<c16'", "(1,)", b"\0" * 16))
write("npy", "datetime", npy("'<M8[ns]'", "(1,)", b"\0" * 8))

names = npy("'<U2'", "(2,)", "x\0y2".encode("utf-32-le"))
x = npy("'<f8'", "(3, 2)", f8)
s = npy("'<f4'", "(3, 1)", struct.pack("<3f", 1, 2, 3))
dt = npy("'<f8'", "()", struct.pack("<d", 0.5))
two = npy("'<f8'", "(2,)", struct.pack("<2d", 1, 2))
own = [("x_000.npy", x), ("s_000.npy", s), ("names.npy", names), ("dt.npy", dt), ("mean.npy", two), ("scale.npy", two)]
table = npy("'<f8'", "(3, 2)", f8)
days, seconds = struct.pack("<3q", 18000, 18001, 18003), struct.pack("<3d", 0, 0.5, 1)
write("npz", "time", npz([("x.npy", table), ("time.npy", npy("'<M8[D]'", "(3,)", days))]))
write("npz", "time_numbers", npz([("data.npy", table), ("time.npy", npy("'<f8'", "(3,)", seconds))]))
write("npz", "unlike", npz([("train.npy", table), ("test.npy", table)]))
write("npz", "own", npz(own))
write("npz", "own_deflated", npz(own, zipfile.ZIP_DEFLATED))
write("npz", "foreign", npz([("a.npy", x), ("b.npy", x), ("dt.npy", dt), ("note.txt", b"hello")]))
write("npz", "plain_x", npz([("x.npy", x), ("s.npy", s)], zipfile.ZIP_DEFLATED), 16)


def members(pairs):
    """What fuzz_npz packs into an archive itself."""
    return b"".join(bytes([len(name)]) + name.encode() + struct.pack("<H", len(data)) + data for name, data in pairs)


packed = [(name[:-4], data) for name, data in own]
write("npz", "packed_own", members(packed), 0x80)
write("npz", "packed_foreign", members([("a", x), ("b", x), ("dt", dt)]), 0x81)

write("csv", "comma", b"x,y,z\n1,2,3\n4,5,6\n-7.5,8e-3,.9\n")
write("csv", "plain", b"1 2\n3 4\n5 6\n", 1)
write("csv", "semicolon", b'"a ""b""";c\r\n1.5;2\r\n"3";4 # end\r\n')
write("csv", "own", b"# antler: dt=0.01\n# antler: mean=1,2\n# antler: scale=1,2\n# antler: inputs=1\n"
      b"x,y,u\n1,2,3\n4,5,6\n")
write("csv", "tab", b"\xef\xbb\xbf t\tv\n\n1\t2\n nan\t-inf\n1D3\t1e400\n")
write("csv", "time", b"time [s],a\n0,1\n0.5,2\n1.0,\n2.5,4\n3,NA\n")
write("csv", "dates", b"date;a;b\n2024-02-28T12:00:00+01:00;1,5;2\n2024-02-29T12:00:00+01:00;2,5;3\n"
      b"2024-03-01T12:00:00Z;1;2\n", 5 << 5)
write("csv", "subjects", b"id,t,a\nann,0,1\nbob,0,2\nann,1,3\nbob,1,4\nann,2,5\n", 3 << 5)
write("csv", "units", b"time,a\nms,mV\n0,1\n4,2\n8,3\n16,5\n", 4 << 5)
write("csv", "missing", b"a,b,\n1,-9999,\ngone,2,\n,3,\n", 6 << 5)
write("csv", "thousands", b"31.01.2024;1.234,5\n01.02.2024;1'000\n", 7 << 5)
write("csv", "first", b"".join(b"%d,%d\n" % (i, i * i % 7) for i in range(12)))
write("csv", "gzip", gzip.compress(b"time,a\n0,1\n1,2\n2,1\n", mtime=0))
wide = "\ufeffTag\ta\u00e4\U0001d465\r\n31/01/2024 1:30 PM\t1\r\n01/02/2024 1:30 PM\t2\r\n"
write("csv", "utf16", wide.encode("utf-16-le"))
write("csv", "utf16_big", wide.encode("utf-16-be"), 1)
write("csv", "utf16_plain", "time,a\n0,1\n1,2\n2,3\n".encode("utf-16-le"))
write("csv", "latin", "Höhe;Tier\n1,5;Bär\n2,5;Bär\n3,5;Öl\n".encode("cp1252"), 3 << 5)
write("csv", "orders", b"date,a\n03/04/2024,1\n2024-03-05,2\n03/06/2024,3\n03/13/2024,4\n")
write("csv", "dots", b"date a\n1.2.2024 1\n2.2.2024 2\n3.2.2024 3\n")
rows = ((i * 37 % 101, 9000 if i == 50 else min(i * 53 % 97, 90)) for i in range(120))
write("csv", "spikes", b"a,b\n" + b"".join(b"%d,%d\n" % row for row in rows))
write("csv", "digits", b"0.1234567890123456789,1.7976931348623157e308\n4.9e-324,123456789012345678901234567890\n")


def archive_members(path):
    with zipfile.ZipFile(path) as archive:
        return members([(name[:-4], archive.read(name)) for name in archive.namelist()])


def training():
    """A checkpoint of update 2 and the log up to there."""
    lines = re.findall(r'"(\w+: [^"\\]*)\\n"', (pathlib.Path(__file__).parent / "fuzz_training.h").read_text())
    settings = dict(line.split(": ") for line in lines)
    x = [[(i * 2 + k) * 7919 % 1000 / 1000 for k in range(2)] for i in range(60)]
    with tempfile.TemporaryDirectory() as scratch:
        (run,) = antler.train(
            {**settings, "results": scratch, "data": "none"}, x, verbose=False, callback=lambda row: row["update"] == 2
        )
        log = (run.path / "log.csv").read_bytes()
        (checkpoint,) = sorted((run.path / "checkpoints").iterdir())
        return ("\n".join(lines) + "\n").encode(), log, archive_members(checkpoint)


text, log, state = training()
write("checkpoint", "packed", state, 0x80)
folder = HERE / "run"
folder.mkdir(parents=True, exist_ok=True)
(folder / "stopped").write_bytes(struct.pack("<H", len(text)) + text + struct.pack("<H", len(log)) + log + state)
(folder / "without_checkpoint").write_bytes(struct.pack("<H", len(text)) + text + struct.pack("<H", 0))
