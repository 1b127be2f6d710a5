"""Every function of the header with NULL for each pointer, with indices out of range, and with sizes of structs that no
version has: a status, never a signal.

The calls are made from the header's text. Each function has its own process, which starts again after a call that has
ended it, so that one fault does not hide the next.
"""

import array
import ctypes as c
import os
import re
import signal
from pathlib import Path

import pytest

from antler import _lib, _structs

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "include" / "antler" / "antler.h"
MODEL = ROOT / "tests" / "models" / "lorenz63.npz"
ARGUMENT = -1  # ANTLER_ERROR_ARGUMENT
DOUBLES = 1 << 15
NUMBERS = array.array("d", [(i * 7919 % 1000 + 1) / 1000.0 for i in range(DOUBLES)])
ROWS = 400

if not HEADER.exists():
    pytest.skip("needs the header", allow_module_level=True)

# Pointers that the header allows to be NULL.
OPTIONAL = {
    ("series_append", "inputs"),  # a series without inputs
    ("series_append_view", "inputs"),
    ("series_read_f64", "inputs"),
    ("series_read_f32", "inputs"),
    ("series_load", "opts"),
    ("generate", "latent"),
    ("generate_into", "z"),
    ("settings_check", "series"),
    ("trainer_run", "events"),
    ("trainer_run", "result"),
    ("train", "events"),
    ("train", "result"),
    ("train_series", "series"),  # NULL: the files of the settings
    ("train_series", "events"),
    ("train_series", "result"),
    ("train_resume", "settings"),
    ("train_resume", "events"),
    ("train_resume", "result"),
    ("train_resume_series", "settings"),
    ("train_resume_series", "series"),
    ("train_resume_series", "events"),
    ("train_resume_series", "result"),
    ("train_resume_check", "settings"),
    ("train_resume_check", "series"),
    ("grid_load", "set"),
    ("problem_set_data", "inputs"),
    ("dstsp_samples", "error"),
    ("problem_solve", "report"),
    ("problem_check", "report"),
    ("judge", "training"),
    ("verdict_on", "training"),
    ("trainer_best_model", "validation"),
    ("fit", "events"),
}
INDICES = {"trajectory", "variable", "index", "run", "key", "sequence", "first"}
ENUMS = {f"antler_{name}" for name in re.findall(r"typedef enum antler_(\w+) \{", HEADER.read_text())}


def functions():
    """(name, result, [(type, name)]) of every function."""
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.S)
    text = re.sub(r"^\s*#.*$", "", text.replace("\\\n", " "), flags=re.M)
    found = []
    for result, name, body in re.findall(r"ANTLER_API\s+([^;()]*?)antler_(\w+)\(([^;]*)\);", text):
        parameters = [] if body.strip() == "void" else [re.sub(r"\s+", " ", word).strip() for word in body.split(",")]
        split = [re.fullmatch(r"(.*?)(\w+)", word).groups() for word in parameters]
        found.append((name, result.strip(), [(kind.replace("const ", "").strip(), word) for kind, word in split]))
    return found


FUNCTIONS = functions()


def struct_of(kind):
    return getattr(_structs, "".join(word.capitalize() for word in kind.split("_")[1:]), None)


SIZES = ("struct_size", "floors_size", "verdict_size")

# Structs that a program fills: those with a `_default`.
FILLED = {f"antler_{name[: -len('_default')]} *" for name, *_ in FUNCTIONS if name.endswith("_default")}


def writes(function, kind):
    """Whether the function fills a struct of this type, so that it need not read what was there."""
    return struct_of(kind.replace(" *", "")) in _structs.SIZED.get(function, ())


class BadSize:
    """A struct_size for an argument that is otherwise good."""

    def __init__(self, size):
        self.size = size

    def put_into(self, argument):
        block = bytearray(bytes(argument if isinstance(argument, c.Array) else argument._obj))
        block[:8] = self.size.to_bytes(8, "little")
        return (c.c_char * len(block)).from_buffer(block)


def size_of(struct):
    return c.c_size_t(c.sizeof(struct))


class Good:
    """Arguments that work, made in the process that uses them."""

    def __init__(self, folder):
        self.folder = folder
        self.library = c.CDLL(_lib.lib()._name)
        self.kept = []
        self.numbers = (c.c_double * DOUBLES).from_buffer_copy(NUMBERS)
        self.settings = c.create_string_buffer(self.call("settings_bytes", result=c.c_size_t))
        self.call("settings_default", self.settings, c.c_size_t(len(self.settings)))
        for line in (
            "latent_dim=5",
            "hidden_dim=8",
            "sequence_length=10",
            "batch_size=2",
            "updates=2",
            "validation=0",
            "device=cpu",
            "threads=1",
            "data=data.npy",
            "checkpoint_interval=2",
            "log_interval=1",
        ):
            assert self.call("settings_set", self.settings, line.encode()) == 0
        self.series = self.made("series_create", c.c_size_t(3), c.c_size_t(0))
        assert self.call("series_append", self.series, c.c_size_t(ROWS), self.numbers, None) == 0
        self.model = self.made("model_load", os.fsencode(MODEL))
        if not os.path.exists("data.npy"):
            assert self.call("series_save", self.series, b"data.npy") == 0
            assert self.call("settings_write", self.settings, b"settings.yaml") == 0
            Path("grid.yaml").write_text("data: data.npy\ngrid:\n  gtf_alpha: [0.1, 0.2]\n")

    def call(self, name, *arguments, result=c.c_int):
        function = getattr(self.library, "antler_" + name)
        function.restype, function.argtypes = result, None
        return function(*arguments)

    def made(self, name, *arguments):
        handle = c.c_void_p()
        assert self.call(name, *arguments, c.byref(handle)) == 0, name
        return handle

    def handle(self, kind):
        if kind == "antler_series *":
            return self.series
        if kind == "antler_model *":
            return self.model
        if kind == "antler_trainer *":
            return self.made("trainer_create", self.settings, self.series)
        if kind == "antler_grid *":
            return self.made("grid_load", b"grid.yaml", None, c.c_size_t(0))
        problem = self.made("problem_create", self.settings, c.c_size_t(3), c.c_size_t(0))
        self.call("problem_initialise", problem, result=None)
        self.call("problem_set_data", problem, self.numbers, None, result=None)
        return problem

    def struct(self, function, kind):
        value = struct_of(kind.replace(" *", ""))()
        name = kind.replace("antler_", "").replace(" *", "")
        if name == "simulate_opts":
            assert self.call("simulate_opts_default", b"lorenz63", c.byref(value), size_of(value)) == 0
            value.length = 10
        elif name.endswith("_opts") and not function.endswith("_default"):
            self.call(f"{name}_default", c.byref(value), size_of(value), result=None)
            if name == "generate_opts":
                value.steps = 10
            if name == "lyapunov_opts":
                value.steps, value.transient = 10, 1
            if name == "fit_opts":
                value.validation = 0.0  # refused: a whole fit would take minutes
        elif name == "view":
            value.values, value.dtype = c.addressof(self.numbers), b"float64"
            value.row_step, value.column_step = 24, 8
        self.kept.append(value)
        return c.byref(value)

    def text(self, function, name):
        names = {
            "measure": b"rmse",
            "parameter": b"sigma",
            "system": b"lorenz63",
            "assignment": b"updates=3",
            "name": b"x",
            "folder": b"Results/none",
            "text": b"some text",
            "word": b"lorens",
        }
        paths = {
            "model_load": os.fsencode(MODEL),
            "settings_load": b"settings.yaml",
            "grid_load": b"grid.yaml",
            "file_inspect": b"data.npy",
            "series_save": b"again.npy",
        }
        names["name"] = {"system_find": b"lorenz63", "settings_get": b"updates"}.get(function, b"x")
        return names[name] if name in names else paths.get(function, b"written")

    def argument(self, function, kind, name):
        if kind == "antler_settings *":
            return self.settings
        if kind in ("antler_series *", "antler_model *", "antler_trainer *", "antler_grid *", "antler_problem *"):
            return self.handle(kind)
        if kind == "char *":
            return (
                c.create_string_buffer(4096)
                if (function, name) in (("settings_get", "text"), ("claim_look", "holder"))
                else self.text(function, name)
            )
        if kind == "char **":
            texts = (c.c_char_p * 2)(b"data.npy", b"data.npy")
            self.kept.append(texts)
            return texts
        if kind in ("double *", "float *", "void *", "size_t *", "bool *"):
            return (
                (c.c_double * DOUBLES).from_buffer_copy(NUMBERS)
                if kind == "double *"
                else c.create_string_buffer(1 << 18)
            )
        if kind.endswith("**"):
            return c.byref(c.c_void_p())
        if kind.removesuffix(" *") in ENUMS and kind.endswith("*"):
            return c.byref(c.c_int())
        if kind.endswith("*"):
            return self.struct(function, kind)
        if kind in ENUMS or kind == "int":
            return c.c_int(1)
        if kind == "double":
            return c.c_double(0.5)
        if kind == "bool":
            return c.c_bool(False)
        if name in SIZES:
            structs = _structs.SIZED[function]
            return size_of(structs[-1] if name != "floors_size" else structs[0])
        if kind in ("size_t", "uint64_t"):
            sizes = {
                "dim": 3,
                "input_dim": 0,
                "length": 50,
                "min_length": 2,
                "m": 2,
                "tau": 1,
                "bytes": 4096,
                "run": 1,
                "trajectory": 0,
                "variable": 0,
                "index": 0,
                "first": 0,
                "key": 0,
                "sequence": 0,
                "updates": 1,
            }
            return c.c_size_t(sizes.get(name, 2))
        value = struct_of(kind)  # by value
        assert value is not None, f"{function}: the test does not know the type {kind}"
        return value()


def variants(function, parameters):
    """The bad calls of a function: (what, {parameter number: bad value}, must be refused)."""
    pointers = [i for i, (kind, _) in enumerate(parameters) if kind.endswith("*")]
    for i in pointers:
        yield f"{parameters[i][1]} NULL", {i: None}, (function, parameters[i][1]) not in OPTIONAL
    if len(pointers) > 1:
        yield (
            "all NULL",
            {i: None for i in pointers},
            any((function, parameters[i][1]) not in OPTIONAL for i in pointers),
        )
    for i, (kind, name) in enumerate(parameters):
        if kind == "char **":
            yield f"NULL in {name}", {i: (c.c_char_p * 2)(None, None)}, True
        if kind == "size_t" and name in INDICES:
            for bad in (1000000, 2**63, 2**64 - 1):
                yield f"{name} {bad}", {i: c.c_size_t(bad)}, True
        if kind in ENUMS:
            for bad in (-1, 9999):
                yield f"{name} {bad}", {i: c.c_int(bad)}, True
        if name in SIZES:
            for bad in (0, 1, 8, 2**40, 2**64 - 8):
                yield f"{name} {bad}", {i: c.c_size_t(bad)}, True
        elif kind in ("size_t", "uint64_t") and name not in INDICES:
            yield f"{name} 0", {i: c.c_size_t(0)}, False
        if kind in FILLED and not writes(function, kind):
            for bad in (0, 1, 8, 2**40, 2**64 - 8):
                yield f"{name}->struct_size {bad}", {i: BadSize(bad)}, True


def make_calls(function, result, parameters, folder, first, pipe):
    """In a process of its own: the calls from number `first` on; what happens is written to the pipe, a line each."""
    os.chdir(folder)
    good = Good(folder)
    kind = {
        "void": None,
        "antler_status": c.c_int,
        "double": c.c_double,
        "size_t": c.c_size_t,
        "bool": c.c_bool,
        "int": c.c_int,
    }.get(result, c.c_void_p if result.endswith("*") else struct_of(result))
    for number, (what, bad, refused) in enumerate(variants(function, parameters)):
        if number < first:
            continue
        arguments = [
            bad[i] if i in bad and not isinstance(bad[i], BadSize) else good.argument(function, kind_of, name)
            for i, (kind_of, name) in enumerate(parameters)
        ]
        for i, value in bad.items():
            if isinstance(value, BadSize):
                arguments[i] = value.put_into(arguments[i])
        os.write(pipe, f"{number} {what}\n".encode())
        signal.alarm(60)
        status = good.call(function, *arguments, result=kind)
        signal.alarm(0)
        if result == "antler_status" and refused and status != ARGUMENT:
            os.write(pipe, f"! antler_{function} with {what}: status {status} instead of {ARGUMENT}\n".encode())


def faults(function, result, parameters, folder):
    first, found = 0, []
    total = len(list(variants(function, parameters)))
    while first < total:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            code = 1
            try:
                make_calls(function, result, parameters, folder, first, writing)
                code = 0
            finally:
                os._exit(code)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            lines = pipe.read().splitlines()
        _, ended = os.waitpid(child, 0)
        found += [line[2:] for line in lines if line.startswith("! ")]
        calls = [line for line in lines if not line.startswith("! ")]
        if ended == 0:
            return found
        if os.WIFEXITED(ended) or not calls:
            return [*found, f"antler_{function}: the test itself failed after {calls[-1:]}"]
        number, what = calls[-1].split(" ", 1)
        found.append(f"antler_{function} with {what}: ended by {signal.Signals(os.WTERMSIG(ended)).name}")
        first = int(number) + 1
    return found


def test_the_header_is_read_whole():
    assert len(FUNCTIONS) == len(re.findall(r"^ANTLER_API ", HEADER.read_text(), flags=re.M))


def test_there_are_many_bad_calls():
    must_be_refused = [
        what
        for function, result, parameters in FUNCTIONS
        for what, _, refused in variants(function, parameters)
        if refused and result == "antler_status"
    ]
    assert len(must_be_refused) >= 400


@pytest.mark.parametrize("function, result, parameters", FUNCTIONS, ids=[f[0] for f in FUNCTIONS])
def test_bad_calls_are_statuses(function, result, parameters, tmp_path):
    assert faults(function, result, parameters, tmp_path) == []
