"""Training on a GPU from Python, on the emulated one of the unit tests: the same windows, the same parameters."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import antler
t = np.arange(400)
x = np.stack([np.cos(0.2 * t), np.cos(0.2 * t + 1) + 0.1 * np.sin(0.05 * t)], 1)
settings = dict(latent_dim=3, hidden_dim=8, sequence_length=12, batch_size=8, updates=6, precision="double",
                kappa=0.7, gtf_alpha=0.15, start_lr=1e-2, validation=0.0, random_state=3, verbose=False)
cpu = antler.Reconstructor(device="cpu", **settings).fit(x).model_.parameters
gpu = antler.Reconstructor(device="cuda", **settings).fit(x).model_.parameters
start = antler.Reconstructor(device="cpu", **dict(settings, updates=1)).fit(x).model_.parameters
assert any(np.abs(start[k] - cpu[k]).max() > 1e-6 for k in cpu)
print(max(np.abs(np.asarray(cpu[k]) - np.asarray(gpu[k])).max() for k in cpu))
"""


@pytest.mark.skipif("ANTLER_TEST_FAKES" not in os.environ, reason="needs the emulated GPU of the build tree")
def test_the_estimator_trains_on_a_gpu():
    fakes = Path(os.environ["ANTLER_TEST_FAKES"])
    emulated = dict(os.environ, ANTLER_CUDA_DRIVER=str(fakes / "libfake_cuda.so"), FAKE_CUDA_MULTIPROCESSORS="1",
                    ANTLER_NVRTC=str(fakes / "libfake_nvrtc.so"), ANTLER_CACHE="/proc/nothing")
    package = "" if os.environ.get("ANTLER_INSTALLED") else str(Path(__file__).resolve().parents[2] / "python")
    done = subprocess.run([sys.executable, "-c", SCRIPT, package], env=emulated, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 1e-12
