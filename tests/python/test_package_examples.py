"""The example that runs a model with nothing but NumPy does what the library does."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import antler

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "numpy_only.py"
if not EXAMPLE.exists():
    EXAMPLE = EXAMPLE.parents[2] / "examples" / "numpy_only.py"


@pytest.mark.parametrize("change", [{}, {"clipped": True}, {"rank": 2}, {"standardise": False}])
def test_numpy_runs_a_model(tmp_path, lorenz, small, change):
    example = runpy.run_path(str(EXAMPLE))
    model = antler.Reconstructor(**{**small, "precision": "double", **change}, verbose=False).fit(lorenz)
    model.save(tmp_path / "model.npz")
    arrays = example["load"](tmp_path / "model.npz")
    got = example["run"](arrays, 20, example["warm_up"](arrays, lorenz[:31]))
    np.testing.assert_allclose(got, model.generate(20, context=lorenz, warmup=30), rtol=1e-8, atol=1e-8)
