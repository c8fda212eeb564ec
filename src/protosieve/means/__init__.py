"""The mean embedding of the target: what the prototypes are to match."""

from protosieve.means._base import FixedMean, Mean, MeanState
from protosieve.means._exact import ExactMean
from protosieve.means._members import Members
from protosieve.means._reservoir import Reservoir, ReservoirMean, RunningMean

__all__ = ["ExactMean", "FixedMean", "Mean", "MeanState", "Members", "Reservoir", "ReservoirMean", "RunningMean"]
