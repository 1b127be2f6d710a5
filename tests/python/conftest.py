"""The package is tested as it lies in the tree, on the library that the build has just made.

Installed elsewhere (from a wheel, say) the same tests run on the installed package: set ANTLER_INSTALLED.
"""

import os
import sys
from pathlib import Path

import pytest

if not os.environ.get("ANTLER_INSTALLED"):
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

import antler  # noqa: E402


@pytest.fixture(scope="session")
def lorenz():
    """3,000 rows of Lorenz-63 in user units."""
    return antler.simulate("lorenz63", 3000)


@pytest.fixture(scope="session")
def small():
    """Settings of a training that takes a moment."""
    sizes = dict(latent_dim=4, hidden_dim=8, sequence_length=30, batch_size=4)
    rest = dict(kappa=0.9995, gtf_alpha=0.15, start_lr=1e-3, validation=0.0)
    return dict(sizes, **rest, updates=60, log_interval=10, threads=1)
