"""The structs of antler.h, field by field. A test compares their layout with the header's."""

from __future__ import annotations

import ctypes as c

ProgressFn = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_char_p, c.c_double)
StopFn = c.CFUNCTYPE(c.c_int, c.c_void_p)
DoubleP = c.POINTER(c.c_double)

MEASURE_MAX = 32
SYSTEM_MAX_DIM = 64
SYSTEM_MAX_PARAMETERS = 24
WARMUP_AUTO = c.c_size_t(-1).value


class Progress(c.Structure):
    _fields_ = [("fn", ProgressFn), ("cookie", c.c_void_p)]


class View(c.Structure):
    _fields_ = [
        ("values", c.c_void_p),
        ("dtype", c.c_char_p),
        ("row_step", c.c_ssize_t),
        ("column_step", c.c_ssize_t),
    ]


class VariableStats(c.Structure):
    _fields_ = [
        *[(name, c.c_double) for name in ("mean", "sd", "min", "max")],
        *[(name, c.c_size_t) for name in ("nan", "inf", "bad_row", "bad_trajectory")],
    ]


class LoadOpts(c.Structure):
    _fields_ = [
        ("transpose", c.c_bool),
        ("columns", c.c_char_p),
        ("inputs", c.c_char_p),
        ("delimiter", c.c_char),
        ("header", c.c_int),
        ("dt", c.c_double),
    ]


class SystemParameter(c.Structure):
    _fields_ = [("name", c.c_char_p), ("value", c.c_double), ("meaning", c.c_char_p)]


class SystemInfo(c.Structure):
    _fields_ = [
        *[(name, c.c_char_p) for name in ("name", "title", "equations", "source")],
        ("dim", c.c_size_t),
        ("observed", c.c_size_t),
        ("variables", c.POINTER(c.c_char_p)),
        ("parameters", c.POINTER(SystemParameter)),
        ("parameter_count", c.c_size_t),
        ("dt", c.c_double),
        ("length", c.c_size_t),
        ("transient", c.c_double),
        ("period", c.c_double),
        ("lyapunov", c.c_double),
    ]


class SimulateOpts(c.Structure):
    _fields_ = [
        ("system", c.c_char_p),
        ("parameters", c.c_double * SYSTEM_MAX_PARAMETERS),
        ("length", c.c_size_t),
        ("dt", c.c_double),
        ("transient", c.c_double),
        ("has_initial", c.c_bool),
        ("initial", c.c_double * SYSTEM_MAX_DIM),
        ("has_t0", c.c_bool),
        ("t0", c.c_double),
        ("all_variables", c.c_bool),
        ("noise", c.c_double),
        ("standardise", c.c_bool),
        ("tolerance", c.c_double),
        ("seed", c.c_uint64),
        ("progress", Progress),
    ]


class MeasureOpts(c.Structure):
    _fields_ = [
        ("dstsp", c.c_int),
        ("samples", c.c_size_t),
        ("seed", c.c_uint64),
        ("bins", c.c_size_t),
        ("bin_margin", c.c_double),
        ("bin_laplace", c.c_double),
        ("embed_dim", c.c_size_t),
        ("embed_delay", c.c_size_t),
        ("smoothing", c.c_double),
        ("threads", c.c_int),
        ("progress", Progress),
        ("device", c.c_int),
        ("variance", c.c_double),
        ("unit", DoubleP),
    ]


class MeasureInfo(c.Structure):
    _fields_ = [
        *[(name, c.c_char_p) for name in ("name", "label", "unit")],
        ("better", c.c_int),
        ("digits", c.c_int),
        *[(name, c.c_char_p) for name in ("json", "meaning")],
        *[(name, c.c_bool) for name in ("standard", "forecast")],
        ("steps", c.c_size_t),
    ]


class MeasureResult(c.Structure):
    _fields_ = [
        ("dstsp", c.c_double),
        ("dstsp_error", c.c_double),
        ("bandwidth", c.c_double),
        ("dstsp_dim", c.c_size_t),
        ("true_points", c.c_size_t),
        ("generated_points", c.c_size_t),
        ("kernels", c.c_double),
        ("seconds", c.c_double),
        ("cpu", c.c_char_p),
        ("threads", c.c_int),
        ("device", c.c_char_p),
        ("break_even", c.c_double),
        ("bins_filled", c.c_size_t),
        ("hellinger", c.c_double),
        ("hellinger_rows", c.c_size_t),
        ("dim", c.c_size_t),
        *[(name, DoubleP) for name in ("hellinger_each", "mean_true", "mean_generated", "sd_true", "sd_generated")],
    ]


class Parameter(c.Structure):
    _fields_ = [
        ("name", c.c_char_p),
        ("axes", c.c_size_t),
        ("rows", c.c_size_t),
        ("columns", c.c_size_t),
        ("values", DoubleP),
    ]


class RunStart(c.Structure):
    _fields_ = [
        ("context", c.c_void_p),
        ("trajectory", c.c_size_t),
        ("first", c.c_size_t),
        ("warmup", c.c_size_t),
        ("model_units", c.c_bool),
        ("state", DoubleP),
        ("inputs", c.c_void_p),
        ("inputs_end", c.c_int),
    ]


class GenerateOpts(c.Structure):
    _fields_ = [
        ("start", RunStart),
        ("steps", c.c_size_t),
        ("user_units", c.c_bool),
        ("progress", Progress),
        ("orbits", c.c_size_t),
        ("device", c.c_int),
    ]


class LyapunovOpts(c.Structure):
    _fields_ = [
        ("start", RunStart),
        ("steps", c.c_size_t),
        ("transient", c.c_size_t),
        ("interval", c.c_size_t),
        ("exponents", c.c_size_t),
        ("progress", Progress),
        ("device", c.c_int),
    ]


class LyapunovResult(c.Structure):
    _fields_ = [
        ("count", c.c_size_t),
        ("exponents", DoubleP),
        ("error", DoubleP),
        ("spread", DoubleP),
        ("dt", c.c_double),
        ("sum", c.c_double),
        ("kaplan_yorke", c.c_double),
        ("steps", c.c_size_t),
        ("diverged_step", c.c_size_t),
    ]


class RmseOpts(c.Structure):
    _fields_ = [
        ("steps", c.c_size_t),
        ("windows", c.c_size_t),
        ("warmup", c.c_size_t),
        ("model_units", c.c_bool),
        ("user_units", c.c_bool),
        ("device", c.c_int),
        ("exponent", c.c_double),
    ]


class RmseResult(c.Structure):
    _fields_ = [
        ("mean", c.c_double),
        ("median", c.c_double),
        ("sd", c.c_double),
        ("windows", c.c_size_t),
        ("diverged", c.c_size_t),
        ("warmup", c.c_size_t),
        ("steps", c.c_size_t),
        ("censored", c.c_size_t),
    ]


class EvaluateOpts(c.Structure):
    _fields_ = [
        ("measure", MeasureOpts),
        ("rmse", RmseOpts),
        ("lyapunov", LyapunovOpts),
        ("with_dstsp", c.c_bool),
        ("with_rmse", c.c_bool),
        ("with_lyapunov", c.c_bool),
        ("steps", c.c_size_t),
        ("warmup", c.c_size_t),
        ("model_units", c.c_bool),
        ("user_units", c.c_bool),
        ("inputs_end", c.c_int),
        ("horizon", c.c_size_t * MEASURE_MAX),
    ]


class EvaluateResult(c.Structure):
    _fields_ = [
        ("diverged", c.c_bool),
        ("diverged_step", c.c_size_t),
        ("diverged_trajectory", c.c_size_t),
        ("free_steps", c.c_size_t),
        ("warmup", c.c_size_t),
        ("plain", MeasureResult),
        ("has_embedded", c.c_bool),
        ("embedded", MeasureResult),
        ("rmse", RmseResult),
        ("lyapunov", LyapunovResult),
        ("values", c.c_double * MEASURE_MAX),
        ("forecasts", RmseResult * MEASURE_MAX),
    ]


class SettingInfo(c.Structure):
    _fields_ = [
        ("name", c.c_char_p),
        ("group", c.c_char_p),
        ("kind", c.c_char_p),
        ("choices", c.POINTER(c.c_char_p)),
        ("standard", c.c_char_p),
        ("lowest", c.c_double),
        ("highest", c.c_double),
        ("lowest_open", c.c_bool),
        ("highest_open", c.c_bool),
        ("meaning", c.c_char_p),
    ]


class TrainRow(c.Structure):
    _fields_ = [
        ("run", c.c_size_t),
        ("update", c.c_size_t),
        ("updates", c.c_size_t),
        *[(name, c.c_double) for name in ("loss", "mar", "readout", "singular", "total", "iterations")],
        ("fallbacks", c.c_size_t),
        *[
            (name, c.c_double)
            for name in ("lr", "alpha", "gradient_norm", "seconds", "states_agree", "gradient_agrees")
        ],
        ("solver", c.c_char_p),
    ]


class TrainNote(c.Structure):
    _fields_ = [
        ("run", c.c_size_t),
        ("runs", c.c_size_t),
        ("update", c.c_size_t),
        ("updates", c.c_size_t),
        ("status", c.c_int),
        ("text", c.c_char_p),
        ("folder", c.c_char_p),
    ]


NoteFn = c.CFUNCTYPE(None, c.c_void_p, c.POINTER(TrainNote))
RowFn = c.CFUNCTYPE(None, c.c_void_p, c.POINTER(TrainRow))


class TrainEvents(c.Structure):
    _fields_ = [("cookie", c.c_void_p), ("begin", NoteFn), ("row", RowFn), ("end", NoteFn), ("stop", StopFn)]


class TrainResult(c.Structure):
    _fields_ = [
        *[(name, c.c_size_t) for name in ("finished", "stopped", "diverged", "failed", "run")],
        ("folder", c.c_char * 1400),
    ]


class SolveReport(c.Structure):
    _fields_ = [
        ("loss", c.c_double),
        ("outcome", c.c_int),
        ("iterations", c.c_int),
        ("last_change", c.c_double),
        ("fallbacks", c.c_size_t),
        ("seconds", c.c_double),
    ]


class Statistics(c.Structure):
    _fields_ = [
        ("count", c.c_size_t),
        ("diverged", c.c_size_t),
        *[(name, c.c_double) for name in ("median", "mad", "mean", "sem")],
    ]
