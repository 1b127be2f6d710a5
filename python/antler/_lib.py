"""The C library behind the package: found, loaded once, its functions declared.

Three rules hold for every call:

- ctypes releases the GIL, so other Python threads go on.
- A status that is not OK becomes its exception, with the sentence of the thread that made the call.
- A long call runs on a thread of its own while the main thread waits for it in Python, where Ctrl-C can
  reach it. The interrupt raises a flag that the C code polls; when the call has come to rest the
  interrupt is raised again.
"""

from __future__ import annotations

import contextlib
import ctypes as c
import ctypes.util
import os
import re
import signal
import threading
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from . import _structs as s
from .exceptions import LibraryError, from_status

_handle = c.c_void_p
_out = c.POINTER(c.c_void_p)
_size = c.c_size_t
_text = c.c_char_p
_double = c.c_double

# name: (result, arguments). "status" is checked by `call`. The sizes of structs, which `sizes` gives, are left out.
_FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {
    "version": (_text, []),
    "build_info": (_text, []),
    "message": (_text, []),
    "threads": (c.c_int, []),
    "write_file": ("status", [_text, _text]),
    "series_create": ("status", [_size, _size, _out]),
    "series_free": (None, [_handle]),
    "series_append_view": ("status", [_handle, _size, c.POINTER(s.View), c.POINTER(s.View)]),
    "series_count": (_size, [_handle]),
    "series_dim": (_size, [_handle]),
    "series_input_dim": (_size, [_handle]),
    "series_length": (_size, [_handle, _size]),
    "series_name": (_text, [_handle, _size]),
    "series_set_name": ("status", [_handle, _size, _text]),
    "series_dt": (_double, [_handle]),
    "series_set_dt": ("status", [_handle, _double]),
    "series_time": (c.POINTER(s.TimeAxis), [_handle]),
    "series_start": (_double, [_handle, _size]),
    "series_month_day": (c.c_int, [_handle, _size]),
    "series_note_count": (_size, [_handle]),
    "series_note": (_text, [_handle, _size]),
    "series_read_f64": ("status", [_handle, _size, _size, _size, c.c_void_p, c.c_void_p]),
    "series_scaling": (c.c_bool, [_handle, c.c_void_p, c.c_void_p]),
    "series_check": ("status", [_handle, _size]),
    "series_save": ("status", [_handle, _text]),
    "load_opts_default": (None, [c.POINTER(s.LoadOpts)]),
    "series_load": ("status", [c.POINTER(_text), _size, c.POINTER(s.LoadOpts), _out]),
    "system_count": (_size, []),
    "system_at": (c.POINTER(s.SystemInfo), [_size]),
    "simulate_opts_default": ("status", [_text, c.POINTER(s.SimulateOpts)]),
    "simulate_opts_set": ("status", [c.POINTER(s.SimulateOpts), _text, _double]),
    "simulate": ("status", [c.POINTER(s.SimulateOpts), _out]),
    "measure_opts_default": (None, [c.POINTER(s.MeasureOpts)]),
    "measure": ("status", [_handle, _handle, c.POINTER(s.MeasureOpts), c.POINTER(s.MeasureResult)]),
    "measure_result_clear": (None, [c.POINTER(s.MeasureResult)]),
    "measure_count": (_size, []),
    "measure_at": (c.POINTER(s.MeasureInfo), [_size]),
    "measure_worst": (_double, [_size]),
    "dstsp_kind_name": (_text, [c.c_int]),
    "forecast_error": ("status", [_text, c.c_void_p, c.c_void_p, _size, _size, _double, s.DoubleP]),
    "embed": ("status", [c.c_void_p, _size, _size, _size, _size, c.c_void_p]),
    "log_density": (
        "status",
        [c.c_void_p, _size, _size, c.c_void_p, c.c_void_p, _size, c.c_int, s.Progress, c.c_void_p],
    ),
    "power_spectrum": ("status", [c.c_void_p, _size, _size, _double, c.c_void_p]),
    "hellinger": (_double, [c.c_void_p, c.c_void_p, _size]),
    "model_load": ("status", [_text, _out]),
    "model_load_memory": ("status", [_text, _size, _out]),
    "model_save": ("status", [_handle, _text]),
    "model_free": (None, [_handle]),
    "model_kind": (_text, [_handle]),
    "model_dim": (_size, [_handle]),
    "model_latent_dim": (_size, [_handle]),
    "model_state_dim": (_size, [_handle]),
    "model_hidden_dim": (_size, [_handle]),
    "model_input_dim": (_size, [_handle]),
    "model_rank": (_size, [_handle]),
    "model_clipped": (c.c_bool, [_handle]),
    "model_free_diagonal": (c.c_bool, [_handle]),
    "model_precision": (c.c_int, [_handle]),
    "model_dt": (_double, [_handle]),
    "model_name": (_text, [_handle, _size]),
    "model_settings": (_text, [_handle]),
    "model_provenance": (_text, [_handle]),
    "model_scaling": (c.c_bool, [_handle, c.c_void_p, c.c_void_p]),
    "model_parameter_count": (_size, [_handle]),
    "model_parameter_at": ("status", [_handle, _size, c.POINTER(s.Parameter)]),
    "generate_opts_default": (None, [c.POINTER(s.GenerateOpts)]),
    "generate_into": (
        "status",
        [_handle, c.POINTER(s.GenerateOpts), c.c_void_p, c.c_void_p, c.POINTER(_size)],
    ),
    "lyapunov_opts_default": (None, [c.POINTER(s.LyapunovOpts)]),
    "lyapunov": ("status", [_handle, c.POINTER(s.LyapunovOpts), c.POINTER(s.LyapunovResult)]),
    "lyapunov_result_clear": (None, [c.POINTER(s.LyapunovResult)]),
    "rmse_opts_default": (None, [c.POINTER(s.RmseOpts)]),
    "rmse": ("status", [_handle, _handle, c.POINTER(s.RmseOpts), c.POINTER(s.RmseResult)]),
    "forecast": ("status", [_handle, _handle, _text, c.POINTER(s.RmseOpts), c.POINTER(s.RmseResult)]),
    "evaluate_opts_default": (None, [c.POINTER(s.EvaluateOpts)]),
    "evaluate": ("status", [_handle, _handle, c.POINTER(s.EvaluateOpts), c.POINTER(s.EvaluateResult)]),
    "evaluate_wants": (c.c_bool, [c.POINTER(s.EvaluateOpts), _size]),
    "evaluate_result_clear": (None, [c.POINTER(s.EvaluateResult)]),
    "verdict_name": (_text, [c.c_int]),
    "setting_count": (_size, []),
    "setting_at": (c.POINTER(s.SettingInfo), [_size]),
    "settings_bytes": (_size, []),
    "settings_default": (None, [c.c_void_p]),
    "settings_load": ("status", [_text, c.c_void_p]),
    "settings_set": ("status", [c.c_void_p, _text]),
    "settings_get": ("status", [c.c_void_p, _text, c.c_char_p, _size]),
    "settings_check": ("status", [c.c_void_p, _handle]),
    "settings_unused": (c.c_bool, [c.c_void_p, _handle, c.c_char_p, _size]),
    "settings_write": ("status", [c.c_void_p, _text]),
    "trainer_create": ("status", [c.c_void_p, _handle, _out]),
    "trainer_free": (None, [_handle]),
    "trainer_run": ("status", [_handle, c.POINTER(s.TrainEvents), c.POINTER(s.TrainResult)]),
    "trainer_model": ("status", [_handle, _size, _out]),
    "trainer_best_model": ("status", [_handle, _size, c.POINTER(s.Validation), _out]),
    "stop_when_set": (c.c_int, [c.c_void_p]),
    "save_when_raised": (c.c_int, [c.c_void_p]),
    "train_series": (
        "status",
        [c.c_void_p, _handle, _size, c.c_bool, c.POINTER(s.TrainEvents), c.POINTER(s.TrainResult)],
    ),
    "train_resume_series": (
        "status",
        [_text, c.c_void_p, _handle, c.POINTER(s.TrainEvents), c.POINTER(s.TrainResult)],
    ),
    "problem_create": ("status", [c.c_void_p, _size, _size, _out]),
    "problem_free": (None, [_handle]),
    "problem_choice": (_text, [_handle]),
    "problem_bytes": (_size, [_handle]),
    "problem_parameter_total": (_size, [_handle]),
    "problem_initialise": (None, [_handle]),
    "problem_set_parameters": (None, [_handle, c.c_void_p]),
    "problem_set_model": ("status", [_handle, _handle]),
    "problem_set_data": (None, [_handle, c.c_void_p, c.c_void_p]),
    "problem_solve": ("status", [_handle, c.POINTER(s.SolveReport)]),
    "problem_check": ("status", [_handle, c.POINTER(s.SolveReport), s.DoubleP, s.DoubleP]),
    "problem_states": (None, [_handle, _size, c.c_void_p]),
    "problem_adjoint": ("status", [_handle, _size, c.c_void_p]),
    "problem_gradient": (None, [_handle, c.c_void_p]),
    "look_at": ("status", [_handle, c.POINTER(s.Look)]),
    "fit_opts_default": (None, [c.POINTER(s.FitOpts)]),
    "fit": ("status", [_handle, c.POINTER(s.FitOpts), c.POINTER(s.FitEvents), c.POINTER(s.FitResult)]),
    "statistics_of": ("status", [c.c_void_p, _size, c.POINTER(s.Statistics)]),
}

# The library's sentences name options of the command; here each becomes what a Python user has in its place:
# (where files are read, where arrays are given).
_OPTIONS = {
    "--columns": ("columns=", "X[:, columns]"),
    "--inputs": ("inputs=", "inputs="),
    "--transpose": ("transpose=True", "X.T"),
    "--dt": ("dt=", "dt="),
    "--max-bytes": ("max_bytes=", "max_bytes="),
    "--time": ("time=", "time="),
    "--resample": ("resample=", "resample="),
    "--key": ("key=", "key="),
    "--subject": ("'antler convert --subject'", "a list of arrays"),
    "--resume": ("resume()", "resume()"),
    "--overwrite": ("overwrite=True", "overwrite=True"),
}
_OPTION = re.compile("(?:" + "|".join(_OPTIONS) + r")\b")
_READS_FILES = ("series_load", "train_series", "train_resume_series")

_library: Optional[c.CDLL] = None
_loading = threading.Lock()


def _candidates() -> List[str]:
    """Where the library may be: named by the user, inside the package, in a source tree, on the system."""
    named = os.environ.get("ANTLER_LIBRARY")
    if named:
        return [named]
    here = Path(__file__).resolve().parent
    found = sorted((here / "lib").glob("libantler.so*")) + [here.parents[1] / "build" / "libantler.so"]
    system = ctypes.util.find_library("antler")
    return [str(path) for path in found if path.exists()] + ([system] if system else [])


def _open() -> c.CDLL:
    tried = []
    for path in _candidates():
        try:
            library = c.CDLL(path)
            for name, (result, arguments) in _FUNCTIONS.items():
                function = getattr(library, "antler_" + name)
                function.restype = c.c_int if result == "status" else result
                function.argtypes = arguments + [_size] * len(s.SIZED.get(name, ()))
            return library
        except OSError as error:
            tried.append(str(error))
        except AttributeError as error:
            tried.append(f"{path}: is of another version: {error}")
    raise LibraryError(
        "the library libantler.so cannot be loaded: "
        + ("; ".join(tried) or "it is neither in the package nor in build/ nor on the system")
        + "; install the wheel, or run 'make' in the source tree, or set ANTLER_LIBRARY to its path"
    )


def lib() -> Any:
    """The library, loaded at the first call."""
    global _library
    if _library is None:
        with _loading:
            if _library is None:
                _library = _open()
    return _library


def function(name: str) -> Any:
    return getattr(lib(), "antler_" + name)


def text(raw: Optional[bytes]) -> str:
    return (raw or b"").decode("utf-8", "replace")


def shown(sentence: str) -> str:
    """For a terminal: control characters, which names of files may hold, become '?'."""
    return "".join(character if character.isprintable() else "?" for character in sentence)


def sizes(name: str) -> List[int]:
    """The last arguments of a function that fills structs; settings lie in a buffer of the library's size."""
    structs = s.SIZED.get(name, ())
    return [lib().antler_settings_bytes() if struct is s.Settings else c.sizeof(struct) for struct in structs]


def plain(name: str, *arguments: Any) -> Any:
    """Call a function that cannot fail."""
    return function(name)(*arguments, *sizes(name))


def in_python(sentence: str, name: str) -> str:
    """The sentence of a function for somebody who has arguments and no command line."""
    sentence = re.sub(r"--columns (-\d+)\b", r"columns='\1'", sentence)
    return _OPTION.sub(lambda option: _OPTIONS[option.group()][name not in _READS_FILES], sentence)


def outcome(name: str, *arguments: Any) -> Tuple[int, str]:
    """Call a function that returns a status: (status, sentence)."""
    status = function(name)(*arguments, *sizes(name))
    return status, "" if status == 0 else in_python(text(plain("message")), name)


def call(name: str, *arguments: Any) -> None:
    """Call a function that returns a status; anything but OK is raised."""
    status, sentence = outcome(name, *arguments)
    if status != 0:
        raise from_status(status, sentence)


def create(name: str, *arguments: Any) -> int:
    """Call a function whose last argument receives a new object."""
    made = c.c_void_p()
    call(name, *arguments, c.byref(made))
    assert made.value is not None
    return made.value


def path_bytes(path: Any) -> bytes:
    return os.fsencode(os.fspath(path))


def followed(path: Any) -> bytes:
    """The name of a file to write, through a symbolic link to a file; the library would replace the link.

    A link of another user in a folder such as /tmp is not followed, as the library does not either.
    """
    name = os.fspath(path)
    if not os.path.islink(name) or (os.path.exists(name) and not os.path.isfile(name)):
        return os.fsencode(name)
    folder, link = os.stat(os.path.dirname(name) or "."), os.lstat(name)
    planted = folder.st_mode & 0o1002 == 0o1002 and link.st_uid not in (os.geteuid(), folder.st_uid)
    return os.fsencode(name if planted else os.path.realpath(name))


def address(array: Any) -> Optional[int]:
    """Where the first value of an array lies; None for None."""
    return None if array is None else array.ctypes.data


class Interrupt:
    """A flag that C code polls, raised when the caller is interrupted; behind it the number of checkpoints to write."""

    def __init__(self) -> None:
        self._both = (c.c_int * 2)()
        self.flag = c.c_int.from_buffer(self._both)
        self.saves = c.c_int.from_buffer(self._both, c.sizeof(c.c_int))

    def raised(self) -> bool:
        return self.flag.value != 0

    @property
    def pointer(self) -> int:
        return c.addressof(self._both)


@contextlib.contextmanager
def saving_on_signal(interrupt: Interrupt) -> Iterator[None]:
    """SIGUSR1 writes a checkpoint of a training on disk, where Python's signals arrive and it has no other handler."""
    here = threading.current_thread() is threading.main_thread()
    if not here or signal.getsignal(signal.SIGUSR1) is not signal.SIG_DFL:
        yield
        return

    def count(_number: int, _frame: Any) -> None:
        interrupt.saves.value += 1

    signal.signal(signal.SIGUSR1, count)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, signal.SIG_DFL)


def interruptible(job: Callable[[], Any], interrupt: Interrupt) -> Any:
    """Run a long job so that Ctrl-C reaches it: see the head of this file."""
    if threading.current_thread() is not threading.main_thread():
        return job()
    finished = threading.Lock()
    finished.acquire()
    result: List[Any] = []
    failure: List[BaseException] = []

    def work() -> None:
        try:
            result.append(job())
        except BaseException as error:
            failure.append(error)
        finally:
            finished.release()

    stopped_by: Optional[BaseException] = None
    try:
        threading.Thread(target=work, name="antler", daemon=True).start()
    except BaseException:
        interrupt.flag.value = 1
        raise
    while True:
        try:
            finished.acquire()
            break
        except BaseException as error:  # KeyboardInterrupt, or what another signal handler raises
            interrupt.flag.value = 1
            stopped_by = stopped_by or error
    if stopped_by is not None:
        raise stopped_by
    if failure:
        raise failure[0]
    return result[0]


def watched(interrupt: Interrupt, report: Optional[Callable[[str, float], None]] = None) -> s.Progress:
    """An antler_progress that stops at the interrupt. Keep the struct as long as the call runs."""

    def progress(_cookie: Any, what: bytes, fraction: float) -> int:
        if report is not None:
            report(text(what), fraction)
        return interrupt.flag.value

    return s.Progress(s.ProgressFn(progress), None)


def long_call(name: str, *arguments: Any, interrupt: Interrupt) -> Tuple[int, str]:
    """`outcome` of a long call that can be interrupted."""
    found: Tuple[int, str] = interruptible(lambda: outcome(name, *arguments), interrupt)
    return found
