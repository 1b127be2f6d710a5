"""Pictures for papers, on matplotlib: one style, colour-blind safe, vector or PNG by the ending of the file.

Every function takes arrays, paths, runs, models or a Reconstructor, draws on the axes that are given or on new ones,
and returns them:

    import antler.plot as plot

    plot.save(plot.attractor("test.npz", "free.npz"), "attractor.pdf", "attractor.png")

On the command line:

    python3 -m antler.plot attractor test.npz free.npz --out attractor.png
    python3 -m antler.plot training Results/lorenz63/full/001 Results/lorenz63/full/002 --out training.pdf
    python3 -m antler.plot strip Results/lorenz63-sweep/metrics.csv --by gtf_alpha --out strip.pdf
"""

from . import _needed  # noqa: F401
from .orbits import attractor, forecast, heatmap, latent, series, spectra
from .style import save
from .sweeps import against, iterations, runtime, strip
from .training import agreement, training

__all__ = [
    "against",
    "agreement",
    "attractor",
    "forecast",
    "heatmap",
    "iterations",
    "latent",
    "runtime",
    "save",
    "series",
    "spectra",
    "strip",
    "training",
]
