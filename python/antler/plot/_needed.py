"""matplotlib must be there: imported before everything else of the package, so that without it there is a sentence."""

from .._extras import need

need("matplotlib", "plot", "antler.plot")
