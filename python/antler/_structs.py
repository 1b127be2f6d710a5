"""The structs of antler.h, field by field. Written by scripts/structs.py from the header: do not edit."""

from __future__ import annotations

import ctypes as c

DoubleP = c.POINTER(c.c_double)


class Sized(c.Structure):
    """A struct that begins with its own size, by which the library knows its fields."""

    def __init__(self, *values: object, **named: object) -> None:
        super().__init__(c.sizeof(type(self)), *values, **named)

    @classmethod
    def names(cls) -> list[str]:
        """The fields that carry something."""
        return [field[0] for field in cls._fields_ if field[0] not in ("struct_size", "room")]


ROOM = 8
SYSTEM_MAX_DIM = 64
SYSTEM_MAX_PARAMETERS = 24
MEASURE_MAX = 32
WARMUP_AUTO = c.c_size_t(-1).value

ProgressFn = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_char_p, c.c_double)


class Progress(c.Structure):
    _fields_ = [
        ("fn", ProgressFn),
        ("cookie", c.c_void_p),
    ]


DEVICE = ("auto", "cpu", "cuda")


class View(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("values", c.c_void_p),
        ("dtype", c.c_char_p),
        ("row_step", c.c_ssize_t),
        ("column_step", c.c_ssize_t),
    ]


class TimeAxis(c.Structure):
    _fields_ = [
        ("kind", c.c_int),
        ("name", c.c_char * 64),
        ("unit", c.c_char * 16),
        ("step", c.c_double),
        ("months", c.c_size_t),
    ]


class VariableStats(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("mean", c.c_double),
        ("sd", c.c_double),
        ("min", c.c_double),
        ("max", c.c_double),
        ("nan", c.c_size_t),
        ("inf", c.c_size_t),
        ("bad_row", c.c_size_t),
        ("bad_trajectory", c.c_size_t),
    ]


class LoadOpts(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("transpose", c.c_bool),
        ("columns", c.c_char_p),
        ("inputs", c.c_char_p),
        ("delimiter", c.c_char),
        ("header", c.c_int),
        ("dt", c.c_double),
        ("max_bytes", c.c_uint64),
        ("missing_values", c.c_char_p),
        ("time", c.c_char_p),
        ("resample", c.c_char_p),
        ("resample_method", c.c_int),
        ("subject", c.c_char_p),
        ("key", c.c_char_p),
    ]


class ArrayInfo(c.Structure):
    _fields_ = [
        ("key", c.c_char * 128),
        ("dtype", c.c_char * 16),
        ("rank", c.c_size_t),
        ("shape", c.c_size_t * 8),
        ("fortran", c.c_bool),
        ("bytes", c.c_uint64),
    ]


class FileInfo(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("format", c.c_char * 48),
        ("bytes", c.c_uint64),
        ("array_count", c.c_size_t),
        ("arrays", c.POINTER(ArrayInfo)),
    ]


class SystemParameter(c.Structure):
    _fields_ = [
        ("name", c.c_char_p),
        ("value", c.c_double),
        ("meaning", c.c_char_p),
    ]


class SystemInfo(c.Structure):
    _fields_ = [
        ("name", c.c_char_p),
        ("title", c.c_char_p),
        ("equations", c.c_char_p),
        ("source", c.c_char_p),
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


class SimulateOpts(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
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


DSTSP_KIND = ("gmm", "gmm-silverman", "bins", "gmm-fixed")


class MeasureOpts(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
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
        ("match_noise", c.c_bool),
        ("room", c.c_uint64 * ROOM),
    ]


class MeasureResult(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
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
        ("hellinger_each", DoubleP),
        ("mean_true", DoubleP),
        ("mean_generated", DoubleP),
        ("sd_true", DoubleP),
        ("sd_generated", DoubleP),
        ("room", c.c_uint64 * ROOM),
    ]


class MeasureInfo(c.Structure):
    _fields_ = [
        ("name", c.c_char_p),
        ("label", c.c_char_p),
        ("unit", c.c_char_p),
        ("better", c.c_int),
        ("digits", c.c_int),
        ("json", c.c_char_p),
        ("meaning", c.c_char_p),
        ("standard", c.c_bool),
        ("forecast", c.c_bool),
        ("steps", c.c_size_t),
    ]


class Parameter(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("name", c.c_char_p),
        ("axes", c.c_size_t),
        ("rows", c.c_size_t),
        ("columns", c.c_size_t),
        ("values", DoubleP),
    ]


INPUTS_END = ("stop", "hold", "repeat")


class RunStart(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("context", c.c_void_p),
        ("trajectory", c.c_size_t),
        ("first", c.c_size_t),
        ("warmup", c.c_size_t),
        ("model_units", c.c_bool),
        ("state", DoubleP),
        ("inputs", c.c_void_p),
        ("inputs_end", c.c_int),
        ("from_end", c.c_size_t),
        ("room", c.c_uint64 * (ROOM - 1)),
    ]


class GenerateOpts(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("start", RunStart),
        ("steps", c.c_size_t),
        ("user_units", c.c_bool),
        ("progress", Progress),
        ("orbits", c.c_size_t),
        ("device", c.c_int),
    ]


class LyapunovOpts(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("start", RunStart),
        ("steps", c.c_size_t),
        ("transient", c.c_size_t),
        ("interval", c.c_size_t),
        ("exponents", c.c_size_t),
        ("progress", Progress),
        ("device", c.c_int),
        ("room", c.c_uint64 * ROOM),
    ]


class LyapunovResult(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("count", c.c_size_t),
        ("exponents", DoubleP),
        ("error", DoubleP),
        ("spread", DoubleP),
        ("dt", c.c_double),
        ("sum", c.c_double),
        ("kaplan_yorke", c.c_double),
        ("steps", c.c_size_t),
        ("diverged_step", c.c_size_t),
        ("unforced", DoubleP),
        ("unforced_count", c.c_size_t),
        ("kaplan_yorke_reduced", c.c_double),
        ("room", c.c_uint64 * ROOM),
    ]


class RmseOpts(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("steps", c.c_size_t),
        ("windows", c.c_size_t),
        ("warmup", c.c_size_t),
        ("model_units", c.c_bool),
        ("user_units", c.c_bool),
        ("device", c.c_int),
        ("exponent", c.c_double),
        ("room", c.c_uint64 * ROOM),
    ]


class RmseResult(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("mean", c.c_double),
        ("median", c.c_double),
        ("sd", c.c_double),
        ("windows", c.c_size_t),
        ("diverged", c.c_size_t),
        ("warmup", c.c_size_t),
        ("steps", c.c_size_t),
        ("censored", c.c_size_t),
        ("persistence", c.c_double),
        ("average", c.c_double),
        ("skill", c.c_double),
        ("skill_steps", c.c_size_t),
        ("room", c.c_uint64 * ROOM),
    ]


class Verdict(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("kind", c.c_int),
        ("figure", c.c_char_p),
        ("value", c.c_double),
        ("floor", c.c_double),
        ("limit", c.c_double),
        ("text", c.c_char * 320),
        ("advice", c.c_char * 320),
        ("room", c.c_uint64 * ROOM),
    ]


class Floors(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("values", c.c_double * MEASURE_MAX),
        ("rows", c.c_size_t),
        ("correlation", c.c_double),
        ("slowest", c.c_size_t),
        ("shift", c.c_double),
        ("shifted", c.c_size_t),
        ("white", c.c_size_t),
        ("narrow", c.c_double),
        ("room", c.c_uint64 * (ROOM - 2)),
    ]


class LossCurve(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("count", c.c_size_t),
        ("update", DoubleP),
        ("loss", DoubleP),
        ("lr", DoubleP),
    ]


class EvaluateOpts(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
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
        ("range_factor", c.c_double),
        ("with_verdict", c.c_bool),
        ("floors", c.POINTER(Floors)),
        ("training", c.POINTER(LossCurve)),
    ]


class EvaluateResult(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
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
        ("reach", c.c_double),
        ("reach_variable", c.c_size_t),
        ("left_range", c.c_bool),
        ("spread", c.c_double),
        ("missing", c.c_size_t),
        ("true_values", c.c_size_t),
        ("floors", Floors),
        ("verdict", Verdict),
    ]


class Settings(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("experiment", c.c_char * 128),
        ("name", c.c_char * 128),
        ("results", c.c_char * 1024),
        ("runs", c.c_size_t),
        ("threads", c.c_size_t),
        ("device", c.c_int),
        ("log_interval", c.c_size_t),
        ("checkpoint_interval", c.c_size_t),
        ("data", c.c_char * 8192),
        ("columns", c.c_char * 1024),
        ("inputs", c.c_char * 1024),
        ("transpose", c.c_bool),
        ("dt", c.c_double),
        ("standardise", c.c_bool),
        ("max_bytes", c.c_size_t),
        ("missing_values", c.c_char * 256),
        ("time", c.c_char * 128),
        ("resample", c.c_char * 64),
        ("resample_method", c.c_int),
        ("subject", c.c_char * 128),
        ("key", c.c_char * 256),
        ("missing", c.c_int),
        ("missing_interpolate", c.c_size_t),
        ("model", c.c_int),
        ("latent_dim", c.c_size_t),
        ("hidden_dim", c.c_size_t),
        ("rank", c.c_size_t),
        ("clipped", c.c_bool),
        ("diagonal", c.c_int),
        ("initialisation", c.c_int),
        ("kappa", c.c_double),
        ("initialise_A", c.c_int),
        ("initialise_weights", c.c_int),
        ("initialise_B", c.c_int),
        ("sequence_length", c.c_size_t),
        ("batch_size", c.c_size_t),
        ("warmup", c.c_size_t),
        ("gtf_alpha", c.c_double),
        ("gtf_alpha_method", c.c_int),
        ("gtf_alpha_interval", c.c_size_t),
        ("gtf_alpha_decay", c.c_double),
        ("gtf_alpha_schedule", c.c_int),
        ("gtf_alpha_end", c.c_double),
        ("forcing_interval", c.c_size_t),
        ("forcing_interval_method", c.c_int),
        ("lyapunov_exponent", c.c_double),
        ("teacher", c.c_int),
        ("noise", c.c_double),
        ("solver", c.c_int),
        ("adjoint", c.c_int),
        ("start", c.c_int),
        ("tolerance", c.c_double),
        ("max_iterations", c.c_size_t),
        ("fallback", c.c_bool),
        ("segments", c.c_size_t),
        ("check_interval", c.c_size_t),
        ("updates", c.c_size_t),
        ("optimiser", c.c_int),
        ("beta1", c.c_double),
        ("beta2", c.c_double),
        ("epsilon", c.c_double),
        ("start_lr", c.c_double),
        ("end_lr", c.c_double),
        ("schedule", c.c_int),
        ("gradient_clip", c.c_double),
        ("validation", c.c_double),
        ("validation_data", c.c_char * 8192),
        ("validation_interval", c.c_size_t),
        ("holdout", c.c_double),
        ("test_data", c.c_char * 8192),
        ("MAR_lambda", c.c_double),
        ("MAR_p", c.c_size_t),
        ("MAR_initial_scale", c.c_bool),
        ("regularised_units", c.c_size_t),
        ("readout_lambda", c.c_double),
        ("singular_lambda", c.c_double),
        ("latent_lambda", c.c_double),
        ("observation_lambda", c.c_double),
        ("condition_lambda", c.c_double),
        ("precision", c.c_int),
        ("seed", c.c_uint64),
        ("sampling_start", c.c_double),
        ("sampling_end", c.c_double),
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
        ("loss", c.c_double),
        ("mar", c.c_double),
        ("readout", c.c_double),
        ("singular", c.c_double),
        ("total", c.c_double),
        ("iterations", c.c_double),
        ("fallbacks", c.c_size_t),
        ("lr", c.c_double),
        ("alpha", c.c_double),
        ("gradient_norm", c.c_double),
        ("seconds", c.c_double),
        ("states_agree", c.c_double),
        ("gradient_agrees", c.c_double),
        ("solver", c.c_char_p),
        ("val_dstsp", c.c_double),
        ("val_hellinger", c.c_double),
        ("val_prediction_error", c.c_double),
    ]


class Validation(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("update", c.c_size_t),
        ("score", c.c_double),
        ("dstsp", c.c_double),
        ("hellinger", c.c_double),
        ("prediction_error", c.c_double),
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


TrainEventsBegin = c.CFUNCTYPE(None, c.c_void_p, c.POINTER(TrainNote))
TrainEventsRow = c.CFUNCTYPE(None, c.c_void_p, c.POINTER(TrainRow))
TrainEventsEnd = c.CFUNCTYPE(None, c.c_void_p, c.POINTER(TrainNote))
TrainEventsStop = c.CFUNCTYPE(c.c_int, c.c_void_p)
TrainEventsNote = c.CFUNCTYPE(None, c.c_void_p, c.c_char_p)
TrainEventsSave = c.CFUNCTYPE(c.c_int, c.c_void_p)


class TrainEvents(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("cookie", c.c_void_p),
        ("begin", TrainEventsBegin),
        ("row", TrainEventsRow),
        ("end", TrainEventsEnd),
        ("stop", TrainEventsStop),
        ("note", TrainEventsNote),
        ("save", TrainEventsSave),
        ("room", c.c_uint64 * (ROOM - 1)),
    ]


class TrainResult(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("finished", c.c_size_t),
        ("stopped", c.c_size_t),
        ("diverged", c.c_size_t),
        ("failed", c.c_size_t),
        ("run", c.c_size_t),
        ("folder", c.c_char * 1400),
        ("elsewhere", c.c_size_t),
        ("before", c.c_size_t),
    ]


class Statistics(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("count", c.c_size_t),
        ("diverged", c.c_size_t),
        ("median", c.c_double),
        ("mad", c.c_double),
        ("mean", c.c_double),
        ("sem", c.c_double),
    ]


class SolveReport(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("loss", c.c_double),
        ("outcome", c.c_int),
        ("iterations", c.c_int),
        ("last_change", c.c_double),
        ("fallbacks", c.c_size_t),
        ("seconds", c.c_double),
    ]


class DeviceInfo(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("ordinal", c.c_size_t),
        ("name", c.c_char * 128),
        ("capability_major", c.c_int),
        ("capability_minor", c.c_int),
        ("multiprocessors", c.c_size_t),
        ("memory", c.c_size_t),
        ("memory_free", c.c_size_t),
        ("problem", c.c_char * 512),
    ]


class DeviceSoftware(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("driver_major", c.c_int),
        ("driver_minor", c.c_int),
        ("nvrtc_major", c.c_int),
        ("nvrtc_minor", c.c_int),
        ("nvrtc_path", c.c_char * 1024),
        ("driver_problem", c.c_char * 512),
        ("nvrtc_problem", c.c_char * 512),
        ("cache_path", c.c_char * 1024),
        ("cache_problem", c.c_char * 512),
    ]


class Look(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("trajectories", c.c_size_t),
        ("rows", c.c_size_t),
        ("usual", c.c_size_t),
        ("dim", c.c_size_t),
        ("input_dim", c.c_size_t),
        ("dt", c.c_double),
        ("decay", c.c_double),
        ("slow", c.c_double),
        ("period", c.c_double),
        ("noise", c.c_double),
        ("dimension", c.c_size_t),
        ("delay", c.c_size_t),
        ("error", c.c_double),
        ("error_delays", c.c_double),
        ("hidden", c.c_bool),
        ("white", c.c_size_t),
        ("room", c.c_uint64 * (ROOM - 1)),
    ]


class FitOpts(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("base", c.POINTER(Settings)),
        ("around", c.c_bool),
        ("minutes", c.c_double),
        ("validation", c.c_double),
    ]


class FitNote(c.Structure):
    _fields_ = [
        ("rung", c.c_size_t),
        ("rungs", c.c_size_t),
        ("trial", c.c_size_t),
        ("trials", c.c_size_t),
        ("settings", c.POINTER(Settings)),
        ("reason", c.c_char_p),
        ("score", c.c_double),
        ("dstsp", c.c_double),
        ("hellinger", c.c_double),
        ("prediction_error", c.c_double),
        ("leads", c.c_bool),
    ]


FitEventsLooked = c.CFUNCTYPE(None, c.c_void_p, c.POINTER(Look))
FitEventsBegin = c.CFUNCTYPE(None, c.c_void_p, c.POINTER(FitNote))
FitEventsEnd = c.CFUNCTYPE(None, c.c_void_p, c.POINTER(FitNote))


class FitEvents(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("cookie", c.c_void_p),
        ("looked", FitEventsLooked),
        ("begin", FitEventsBegin),
        ("end", FitEventsEnd),
        ("train", TrainEvents),
    ]


class FitResult(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("look", Look),
        ("run", c.c_size_t),
        ("trials", c.c_size_t),
        ("validation", c.c_double),
        ("score", c.c_double),
        ("dstsp", c.c_double),
        ("hellinger", c.c_double),
        ("prediction_error", c.c_double),
        ("dstsp_floor", c.c_double),
        ("hellinger_floor", c.c_double),
        ("prediction_error_floor", c.c_double),
        ("verdict", Verdict),
        ("reason", c.c_char * 200),
        ("folder", c.c_char * 1400),
        ("run_folder", c.c_char * 1500),
    ]


# functions that take the sizes of these structs as their last arguments
SIZED = {
    "view_default": (View,),
    "series_stats": (VariableStats,),
    "load_opts_default": (LoadOpts,),
    "file_inspect": (FileInfo,),
    "simulate_opts_default": (SimulateOpts,),
    "measure_opts_default": (MeasureOpts,),
    "measure": (MeasureResult,),
    "model_parameter_at": (Parameter,),
    "run_start_default": (RunStart,),
    "generate_opts_default": (GenerateOpts,),
    "lyapunov_opts_default": (LyapunovOpts,),
    "lyapunov": (LyapunovResult,),
    "rmse_opts_default": (RmseOpts,),
    "rmse": (RmseResult,),
    "forecast": (RmseResult,),
    "loss_curve_default": (LossCurve,),
    "evaluate_opts_default": (EvaluateOpts,),
    "evaluate": (EvaluateResult,),
    "floors_of": (Floors,),
    "judge": (Verdict,),
    "verdict_on": (Floors, Verdict),
    "settings_default": (Settings,),
    "settings_load": (Settings,),
    "train_events_default": (TrainEvents,),
    "trainer_run": (TrainResult,),
    "trainer_best_model": (Validation,),
    "train": (TrainResult,),
    "train_series": (TrainResult,),
    "train_shared": (TrainResult,),
    "train_resume": (TrainResult,),
    "train_resume_series": (TrainResult,),
    "train_resume_check": (TrainResult,),
    "grid_settings": (Settings,),
    "statistics_of": (Statistics,),
    "problem_solve": (SolveReport,),
    "problem_check": (SolveReport,),
    "device_at": (DeviceInfo,),
    "device_software_get": (DeviceSoftware,),
    "look_at": (Look,),
    "fit_opts_default": (FitOpts,),
    "fit_events_default": (FitEvents,),
    "fit": (FitResult,),
}
