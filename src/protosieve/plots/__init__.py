"""Pictures of a result with matplotlib: what stands behind ``result.plot``."""

from protosieve.plots._plots import Plots

__all__ = ["Plots"]
