"""The mean embedding of the target: what the prototypes are to match."""

from protosieve.means._base import FixedMean, Mean, MeanState, Sampled, SettledMean
from protosieve.means._compressed import CompressedMean
from protosieve.means._exact import ExactMean
from protosieve.means._members import Members
from protosieve.means._reservoir import ReservoirMean
from protosieve.means._sample import Reservoir
from protosieve.means._sampling import SamplingError, sampling_error

__all__ = [
    "CompressedMean",
    "ExactMean",
    "FixedMean",
    "Mean",
    "MeanState",
    "Members",
    "Reservoir",
    "ReservoirMean",
    "Sampled",
    "SamplingError",
    "SettledMean",
    "sampling_error",
]
