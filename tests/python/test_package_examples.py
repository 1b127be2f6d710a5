"""Examples do what they say: the one with nothing but NumPy, and the first lines of the documentation."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

import antler

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
if not EXAMPLES.exists():
    EXAMPLES = ROOT / "examples"


@pytest.mark.parametrize("change", [{}, {"clipped": True}, {"rank": 2}, {"standardise": False}])
def test_numpy_runs_a_model(tmp_path, lorenz, small, change):
    example = runpy.run_path(str(EXAMPLES / "numpy_only.py"))
    model = antler.Reconstructor(**{**small, "precision": "double", **change}, verbose=False).fit(lorenz)
    model.save(tmp_path / "model.npz")
    arrays = example["load"](tmp_path / "model.npz")
    got = example["run"](arrays, 20, example["warm_up"](arrays, lorenz[:31]))
    np.testing.assert_allclose(got, model.generate(20, context=lorenz, warmup=30), rtol=1e-8, atol=1e-8)


def test_a_frame_with_dates(tmp_path, capsys):
    pandas = pytest.importorskip("pandas")
    example = runpy.run_path(str(EXAMPLES / "frame_with_dates.py"))
    table = example["main"](tmp_path / "forecast.csv", rows=1500, updates=20, horizon=12)
    assert table.shape == (12, 9) and "dt = 10 min" in capsys.readouterr().out
    assert table.index[0] == pandas.Timestamp("2024-01-01") + pandas.Timedelta(minutes=10 * 1500)
    assert len(pandas.read_csv(tmp_path / "forecast.csv", header=[0, 1], index_col=0)) == 12


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_the_first_lines_of_the_documentation_run(page, capsys):
    if not (ROOT / page).exists():
        pytest.skip("needs the source tree")
    block = re.search(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.S).group(1)
    assert "Reconstructor" in block
    shorter = block.replace("20_000", "2_000").replace("10_000", "500").replace("5_000", "50, verbose=False")
    names = {}
    exec(compile(shorter, page, "exec"), names)
    assert names["orbit"].shape == (500, 3) and "dstsp" in capsys.readouterr().out
